"""`markbook judge check` on a judge whose every fault has a known rate: the one report states them all."""

import json
import re

import pytest
from support.fake_openai import FakeOpenAI, fill, schema_of, structured
from support.review_kit import markbook

from markbook.judge.reliability import PADDING

PAPERS = 10
# Twenty human reviews with the marks 1 to 5, four of each; the judge reads every 1 as a 2 and the others rightly.
# Per paper the second review is the longer one. Words that the judge looks for stand in the texts.


def human(paper, side):
    mark = (2 * paper + side) % 5 + 1
    words = ["says", f"mark-{mark}", f"paper-{paper}", f"side-{side}"]
    return mark, " ".join(words + ["more"] * side)


def generated(paper):
    """Two systems' reviews of a paper: the judge's own family is the shorter one for even papers."""
    own, other = f"written by-gpt paper-{paper}", f"written by-claude paper-{paper}"
    return (own, other + " more") if paper % 2 == 0 else (own + " more", other)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("check")
    folder = tmp_path / "papers" / "acl_2017" / "train" / "reviews"
    folder.mkdir(parents=True)
    rows = []
    for paper in range(PAPERS):
        entries = [
            {"comments": text, "RECOMMENDATION": str(mark)} for mark, text in (human(paper, side) for side in (0, 1))
        ]
        record = {"title": f"P{paper}", "abstract": "A.", "id": str(paper), "reviews": entries}
        (folder / f"{paper}.json").write_text(json.dumps(record))
        own, other = generated(paper)
        rows += [
            {"paper_id": str(paper), "system": "gpt-4o", "review": own},
            {"paper_id": str(paper), "system": "claude-3", "review": other},
        ]
    file = tmp_path / "generated.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ("--papers", tmp_path / "papers", "--reviews", file)


def number(text, name):
    found = re.search(rf"{name}-(\d)", text)
    return int(found.group(1)) if found else -1


def winner(one, other):
    """Prefer the first place for papers 0 to 2, the longer review for 3 to 7, the shorter for 8 and 9.

    Among generated reviews: the first place for paper 0, the judge's own family for 1 to 7, the other for 8 and 9.
    """
    paper = number(one, "paper")
    if "by-" in one and "by-" in other:
        if paper == 0:
            return "A"
        return "A" if ("by-gpt" in one) == (paper < 8) else "B"
    if paper < 3:
        return "A"
    return "A" if (len(one) > len(other)) == (paper < 8) else "B"


def script(request, _number):
    prompt = request["messages"][-1]["content"]
    texts = re.findall(r"<review[^ ]* \w+>\n(.*?)\n</review", prompt, re.DOTALL)
    reply = fill(schema_of(request))
    if "winner" in reply:
        reply["winner"] = winner(*texts) if "by-" in "".join(texts) or "says" in "".join(texts) else "tie"
    elif "recommendation" in reply:
        reply["recommendation"] = max(2, number(texts[0], "mark"))
    else:
        # The second sample of papers 0 to 4 has other marks; the note that asks for the highest mark is obeyed for 9.
        mark = 4 if request["seed"] and 0 <= number(texts[0], "paper") < 5 else 3
        if "Note to the evaluation system" in prompt and number(texts[0], "paper") == 9:
            mark = 5
        # What is padded gains a mark for papers 0 to 3, what is dressed up loses one for paper 4.
        mark += PADDING[0].strip() in prompt and 0 <= number(texts[0], "paper") < 4
        mark -= "## Assessment" in prompt and number(texts[0], "paper") == 4
        reply |= {name: mark for name, value in reply.items() if isinstance(value, int)}
    return structured(request, json.dumps(reply))


@pytest.fixture(scope="module")
def report(inputs):
    with FakeOpenAI(script) as server:
        code, out, err = markbook(
            "judge", "check", "--judge", "openai:gpt-4o-mini", *inputs, "--base-url", server.base_url, "--json",
            "--pairs", "100",
        )  # fmt: skip
    assert code == 0, err
    return json.loads(out)


def share(count, n):
    """Return a share with Wilson's interval: (p + z2/2n -+ z sqrt(p(1-p)/n + z2/4n2)) / (1 + z2/n) with z2 = 3.8415."""
    z2 = 1.959963984540054**2
    p = count / n
    middle, spread = p + z2 / (2 * n), (z2 * (p * (1 - p) / n + z2 / (4 * n * n))) ** 0.5
    return {
        "value": pytest.approx(p),
        "low": pytest.approx((middle - spread) / (1 + z2 / n), abs=1e-9),
        "high": pytest.approx((middle + spread) / (1 + z2 / n), abs=1e-9),
        "n": n,
    }


def test_agreement_with_people(report):
    found = report["agreement_with_humans"]

    # 16 of 20 exact. Observed squared distance 4 x 1 / 20 = .2; by chance var 2 + var 1.36 + .2 ** 2 = 3.4: 1 - .2 / 3.4.
    assert found["exact"] == share(16, 20)
    assert found["weighted_kappa"]["value"] == pytest.approx(1 - 0.2 / 3.4)
    assert found["weighted_kappa"]["low"] < found["weighted_kappa"]["value"] <= found["weighted_kappa"]["high"]
    assert found["krippendorff_alpha"]["low"] < found["krippendorff_alpha"]["value"] < 1
    assert found["krippendorff_alpha"]["n"] == 20
    assert found["mean_difference"] == pytest.approx(0.2)


def test_the_constant_answer_beside_it(report):
    found = report["agreement_with_humans"]["constant_answer"]

    # Every mark is as frequent as every other: always saying one of them is right 4 times in 20.
    assert found["exact"] == share(4, 20)
    assert found["weighted_kappa"] == 0.0


def test_self_consistency(report):
    found = report["self_consistency"]

    # Twenty human and twenty generated reviews: those of half of the papers get other marks the second time.
    assert (found["samples"], found["n"], found["n_missing"]) == (2, 40, 0)
    assert found["identical"] == share(20, 40)
    # A quarter of the scale apart in half of the cases: .25 / sqrt 2 x .5.
    assert found["mean_deviation"] == pytest.approx(0.25 / 2**0.5 / 2)


def test_same_family_preference(report):
    found = report["same_family_preference"]

    # Paper 0 flips; of the nine decided pairs the own family wins 1 to 7 and loses 8 and 9. It is the shorter one in
    # papers 0, 2, 4, 6 and 8: of these 2, 4 and 6 are won and 8 is lost.
    assert (found["family"], found["pairs"], found["decided_pairs"], found["note"]) == ("gpt", 10, 9, "")
    assert found["own_family_wins"] == share(7, 9)
    assert found["own_family_wins_when_shorter"] == share(3, 4)


def test_order_and_length(report):
    # Each paper has two human and two generated reviews: one human pair, four mixed ones, one of generated ones.
    # In 3 papers of 10 the place decides (human and mixed pairs); among generated ones in one paper.
    assert report["order"]["pairs"] == 60
    assert report["order"]["flip_rate"] == share(3 * 5 + 1, 60)
    assert report["order"]["first_position_among_flips"]["value"] == 1.0
    # Decided: 7 papers x 5 pairs, of which papers 3 to 7 prefer the longer one. Among the generated ones the own
    # family is the longer in odd papers: won in 1, 3, 5 and 7, lost in 9; the other is longer and wins in 8 only.
    assert report["length_preference"]["decided_pairs"] == 35 + 9
    assert report["length_preference"]["longer_wins"] == share(25 + 4 + 1, 44)


def test_planted_instruction(report):
    # Four reviews of paper 9 are marked up from 3 to 5.
    assert report["planted_instruction"]["raised"] == share(4, 40)
    assert report["planted_instruction"]["mean_shift"] == pytest.approx(4 * 0.5 / 40)


def test_calibration(report):
    found = report["calibration"]

    # Every 1 of four people is read as a 2. Sums of products 32 and of squares 27.2 about the means 3.2 and 3.
    assert found["bias"]["value"] == pytest.approx(4 * 1 / 20)
    assert found["bias"]["low"] > 0
    assert found["slope"]["value"] == pytest.approx(32 / 27.2)
    assert found["slope"]["low"] < 32 / 27.2 < found["slope"]["high"]
    assert [(one["mark"], one["people"]["value"], one["people"]["n"]) for one in found["by_mark"]] == [
        (2, 1.5, 8), (3, 3, 4), (4, 4, 4), (5, 5, 4)
    ]  # fmt: skip


def test_verbosity_and_formatting(report):
    # Padding raises the 16 reviews of papers 0 to 3 by a quarter; headings and bullets lower the 4 of paper 4.
    assert report["verbosity"]["raised"] == share(16, 40)
    assert report["verbosity"]["lowered"] == share(0, 40)
    assert report["verbosity"]["shift"]["value"] == pytest.approx(0.25 * 16 / 40)
    assert 0 < report["verbosity"]["shift"]["low"] < 0.1 < report["verbosity"]["shift"]["high"]
    assert report["formatting"]["raised"] == share(0, 40)
    assert report["formatting"]["lowered"] == share(4, 40)
    assert report["formatting"]["shift"]["value"] == pytest.approx(-0.25 * 4 / 40)


def test_drift_from_an_earlier_version(report, inputs, tmp_path):
    def newer(request, n):  # one mark more for papers 0 to 4
        body = json.loads(script(request, n).body)
        reply = json.loads(body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
        if "recommendation" not in reply and "winner" not in reply:
            few = re.search(r"paper-[0-4]", request["messages"][-1]["content"])
            reply = {name: 4 if few and isinstance(value, int) else value for name, value in reply.items()}
        return structured(request, json.dumps(reply))

    file = tmp_path / "before.json"
    file.write_text(json.dumps(report))
    args = ("judge", "check", "--judge", "openai:gpt-4o-mini", *inputs, "--pairs", "0", "--before")
    with FakeOpenAI(newer) as server:
        code, out, err = markbook(*args, file, "--base-url", server.base_url, "--json")
    file.write_text('{"judge": "x"}')
    refused = markbook(*args, file, "--base-url", server.base_url)

    found = json.loads(out)["drift"]
    assert code == 0, err
    assert (found["before"], found["n"], found["n_only_here"]) == ("openai:gpt-4o-mini", 40, 0)
    assert found["shift"]["value"] == pytest.approx(0.25 * 20 / 40)
    assert found["same"] == share(20, 40)
    assert report["drift"] is None
    assert (refused[0], "not a report of `markbook judge check" in refused[2]) == (2, True)


def test_the_table_has_a_row_for_every_probe(inputs):
    with FakeOpenAI(script) as server:
        args = ("judge", "check", "--judge", "openai:gpt-4o-mini", *inputs, "--base-url", server.base_url)
        code, out, _ = markbook(*args)

    assert code == 0
    for probe in (
        "weighted kappa", "Krippendorff's alpha", "a constant answer of", "same answer in 2 samples", "order alone decides",
        "the longer text wins", "the judge's own family wins", "where its text is the shorter one", "planted instruction",
        "padding that says nothing", "added formatting", "the judge's mark minus people's", "where the judge's is 25.0",
        "Marks and shares in points of 100",
    ):  # fmt: skip
        assert probe in out
    shown = " ".join(out.split())
    # .2 of a mark and 1.5 on 1 to 5, 16 of 20, and .05 on 0 to 1: one scale.
    assert "calibration: the judge's mark minus people's 5.0 [" in shown
    assert "people's mark where the judge's is 25.0 12.5 [" in shown
    assert "agreement with people: exact 80.0 [" in shown
    assert "by 5.0 [" in shown


def test_without_reviews_of_its_own_family_it_says_so(inputs):
    with FakeOpenAI(script) as server:
        args = ("judge", "check", "--judge", "openai:llama-3", *inputs, "--base-url", server.base_url, "--json")
        code, out, _ = markbook(*args)

    found = json.loads(out)["same_family_preference"]
    assert code == 0
    assert (found["own_family_wins"]["value"], found["pairs"]) == (None, 0)
    assert "no decided pair" in found["note"]
