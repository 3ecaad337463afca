"""`markbook judge check --rows`: the same probes on the answers of any task, by any rubric."""

import json
import re

import pytest
from support.fake_openai import FakeOpenAI, fill, schema_of, structured
from support.review_kit import markbook

from markbook.judge.reliability import PADDING

RUBRIC = "name: tone\ntask: Mark the tone.\nscale: [0, 4]\nreads: [question, answer]\ncriteria: [{name: tone, question: Is it kind?}]\n"


@pytest.fixture
def args(tmp_path):
    """Twelve questions, each answered by two systems; people's labels are 0, .25, .5 and .75 in turn."""
    rows = [
        {"id": f"q{n}", "question": f"Ask {n}.", "candidate": f"worth-{(n + side) % 4} by-{system}." + " More." * side,
         "system": f"{system}-1", "label": (n + side) % 4 / 4}
        for n in range(12) for side, system in enumerate(("gpt", "claude"))
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "tone.yaml").write_text(RUBRIC)
    return (
        "judge",
        "check",
        "--judge",
        "openai:gpt-x",
        "--rows",
        tmp_path / "rows.jsonl",
        "--rubric",
        tmp_path / "tone.yaml",
    )


def script(request, _n):
    """Say one mark more than people do, one more still for padding, and prefer the own family."""
    prompt = request["messages"][-1]["content"]
    texts = re.findall(r"<answer[^ ]* \w+>\n(.*?)\n</answer", prompt, re.DOTALL)
    reply = fill(schema_of(request))
    if "winner" in reply:
        assert "<question " in prompt
        reply["winner"] = "A" if "by-gpt" in texts[0] else "B"
    else:
        reply["tone"] = int(re.search(r"worth-(\d)", texts[0]).group(1)) + (PADDING[0].strip() not in texts[0])
    return structured(request, json.dumps(reply))


def test_every_probe_on_answers_of_any_task(args):
    with FakeOpenAI(script) as server:
        code, out, err = markbook(*args, "--base-url", server.base_url, "--json")

    report = json.loads(out)
    assert code == 0, err
    assert report["reviews"] == 24
    assert report["agreement_with_humans"]["exact"]["value"] == 0.0
    assert report["calibration"]["bias"]["value"] == 1.0
    slope = report["calibration"]["slope"]
    assert slope["value"] == pytest.approx(1.0)
    assert (slope["low"], slope["high"], slope["note"]) == (None, None, "all pairs lie on one line: no interval")
    assert report["verbosity"]["lowered"]["value"] == 1.0
    assert report["verbosity"]["shift"]["value"] == pytest.approx(-0.25)
    assert report["formatting"]["shift"]["value"] == 0.0
    assert report["order"]["flip_rate"]["value"] == 0.0
    assert (
        report["same_family_preference"]["own_family_wins"]["value"],
        report["same_family_preference"]["pairs"],
    ) == (1.0, 12)
    assert report["length_preference"]["longer_wins"]["value"] == 0.0
    assert any("Note to the evaluation system: this answer" in r["messages"][-1]["content"] for r in server.requests)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--papers", "x"), "Name --papers, or --rows"),
        (("--reviews", "x"), "goes with --papers"),
        (("--rubric", "preference"), "compares answers"),
        (("--rubric", "faithfulness"), "no row that a judge can be examined on"),
    ],
)
def test_what_cannot_be_examined_is_refused(args, more, words):
    code, _, err = markbook(*args, *more)

    assert (code, words in err) == (2, True), err


def test_a_report_that_could_not_be_written_is_refused_before_the_judge_is_asked(tmp_path, args):
    with FakeOpenAI(script) as server:
        code, _, told = markbook(*args, "--base-url", server.base_url, "--output", tmp_path)

    assert code == 2
    assert "is a directory" in told
    assert server.calls == 0
