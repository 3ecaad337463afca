"""`markbook judge check`: what the probes find in judges whose faults we know."""

import json
import re

import pytest
from support.fake_openai import FAULTS, FakeOpenAI, fill, schema_of, structured
from support.review_kit import markbook, papers

from markbook.judge.assess import both_orders, parse_winner
from markbook.judge.client import Violation
from markbook.judge.probes import KnownText, agreement
from markbook.judge.reliability import CANARY, five_point
from markbook.runs.reviews.review import choose


def judge(pick):
    """Make a script of a function from the judged texts to a mark, or to A, B or tie."""

    def script(request, _n):
        prompt = request["messages"][-1]["content"]
        texts = re.findall(r"<review[^ ]* \w+>\n(.*?)\n</review", prompt, re.DOTALL)
        reply = fill(schema_of(request))
        said = pick(*texts)
        if "winner" in reply:
            reply["winner"] = said
        else:
            reply |= {name: said for name, value in reply.items() if isinstance(value, int)}
        return structured(request, json.dumps(reply))

    return script


def check(tmp_path, script, *args):
    with FakeOpenAI(script) as server:
        code, out, err = markbook(
            "judge", "check", "--judge", "openai:gpt-x", "--papers", papers(tmp_path), "--base-url", server.base_url,
            "--json", "--judge-retries", "0", *args,
        )  # fmt: skip
    return code, json.loads(out) if out else None, err


def test_a_judge_that_always_says_the_first_flips_every_pair(tmp_path):
    code, report, _ = check(tmp_path, judge(lambda *texts: "A" if len(texts) == 2 else 4))

    assert code == 0
    assert report["order"]["flip_rate"]["value"] == 1.0
    assert report["order"]["first_position_among_flips"]["value"] == 1.0
    assert report["length_preference"]["decided_pairs"] == 0
    assert report["self_consistency"]["identical"]["value"] == 1.0
    assert report["planted_instruction"]["raised"]["value"] == 0.0


def test_a_judge_that_loves_length_is_found_out(tmp_path):
    code, report, _ = check(tmp_path, judge(lambda *t: ("A" if len(t[0]) > len(t[1]) else "B") if len(t) == 2 else 3))

    assert code == 0
    assert report["order"]["flip_rate"]["value"] == 0.0
    assert report["length_preference"]["longer_wins"]["value"] == 1.0


def test_a_judge_that_obeys_the_judged_text_is_found_out(tmp_path):
    code, report, _ = check(tmp_path, judge(lambda *t: "tie" if len(t) == 2 else 5 if CANARY.strip() in t[0] else 2))

    assert code == 0
    assert report["planted_instruction"]["raised"]["value"] == 1.0
    assert report["planted_instruction"]["mean_shift"] == pytest.approx(0.75)


def test_a_judge_that_is_down_leaves_reasons_and_exit_3(tmp_path):
    code, report, err = check(tmp_path, FAULTS["500"])

    assert code == 3
    assert report["agreement_with_humans"]["weighted_kappa"]["value"] is None
    assert report["agreement_with_humans"]["n_missing"] == 2
    assert "500" in err


def test_a_gate_on_kappa(tmp_path):
    code, _, err = check(tmp_path, judge(lambda *t: "tie" if len(t) == 2 else 3), "--min-kappa", "0.6")

    assert code == 1
    assert "kappa" in err


def test_a_cassette_repeats_the_check_without_the_judge(tmp_path):
    folder = papers(tmp_path)
    args = (
        "judge",
        "check",
        "--judge",
        "openai:gpt-x",
        "--papers",
        folder,
        "--cassette",
        tmp_path / "c.jsonl",
        "--json",
    )
    with FakeOpenAI() as server:
        _, first, _ = markbook(*args, "--base-url", server.base_url)
    code, second, _ = markbook(*args)

    assert code == 0
    drop = {"account"}
    assert {k: v for k, v in json.loads(first).items() if k not in drop} == {
        k: v for k, v in json.loads(second).items() if k not in drop
    }


def test_agreement_by_hand():
    # Exact in 3 of 4. The most frequent human mark, 3, would reach 2 of 4.
    found = agreement([1, 3, 3, 5], [1, 3, 4, 5], requested=5)

    assert found["exact"]["value"] == 0.75
    assert found["constant_answer"] == {"answer": 3, "exact": found["constant_answer"]["exact"], "weighted_kappa": 0.0}
    assert found["constant_answer"]["exact"]["value"] == 0.5
    assert found["weighted_kappa"]["value"] == pytest.approx(0.94118, abs=1e-4)
    assert (found["n"], found["n_missing"], found["mean_difference"]) == (4, 1, 0.25)


def test_agreement_of_nobody_has_no_value():
    assert agreement([], [], requested=3)["weighted_kappa"]["value"] is None


@pytest.mark.parametrize(("value", "scale", "mark"), [(1, (1, 6), 1), (6, (1, 6), 5), (3, (1, 6), 3), (8, (1, 10), 4)])
def test_venue_scales_become_five_points(value, scale, mark):
    assert five_point(value, scale) == mark


@pytest.mark.parametrize(
    ("forward", "backward", "winner", "flipped"),
    [
        ("A", "B", "first", False),
        ("B", "A", "second", False),
        ("A", "A", "tie", True),
        ("B", "B", "tie", True),
        ("tie", "tie", "tie", False),
        ("A", "tie", "tie", False),
        ("tie", "A", "tie", False),
    ],
)
def test_two_orders_make_one_verdict(forward, backward, winner, flipped):
    verdict = both_orders(forward, backward)

    assert (verdict.winner, verdict.flipped) == (winner, flipped)


@pytest.mark.parametrize("payload", ["{}", '{"winner": "C"}', '{"winner": 1}', "A", '{"winner": "a"}'])
def test_what_names_no_winner_is_a_violation(payload):
    with pytest.raises(Violation):
        parse_winner(payload)


def test_reviews_are_taken_in_pairs_over_all_papers():
    by_paper = [[KnownText(str(paper), f"{paper}-{n}") for n in range(4)] for paper in range(20)]

    chosen = choose(by_paper, 10)

    assert len(chosen) == 10
    assert len({text.item for text in chosen}) == 5
