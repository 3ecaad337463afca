"""Marks weighed by token probabilities, from a server's log probabilities to the row of results.jsonl."""

import json
import math
import re

import pytest
from support.fake_openai import FakeOpenAI, fill, good, schema_of, text
from support.review_kit import markbook, only_run, papers, reviews, rows_of

PAIR = ("--similarity", "cosine,jaccard")
WEIGHTS = ("--judge", "openai:m", "--judge-token-weights")
# What the judge nearly said, by criterion: probabilities of tokens in the place of the mark.
NEARLY = {
    "actionable_feedback": {"4": 0.6, "3": 0.3, " 5": 0.04, "5": 0.01, "none": 0.05},
    "balanced_critique": {"4": 0.5, "2": 0.5},
    "improvement_guidance": {"4": 1.0},
}
# actionable_feedback: (4 x .6 + 3 x .3 + 5 x .05) / .95 = 3.55 / .95 over a mass of .95: two spellings of 5 add up, a
# token that is not a mark takes no part. balanced_critique: (4 + 2) / 2 = 3. improvement_guidance: 4.
MARKS = {"actionable_feedback": 3.55 / 0.95, "balanced_critique": 3.0, "improvement_guidance": 4.0}
# Their mean is (3.73684 + 3 + 4) / 3 = 3.57895, and as a score (3.57895 - 1) / 4 = .644737; the plain marks would give .75.
SCORE = 0.6447368421052632


def tokens(content, nearly):
    """Spell a reply in tokens as a server does: words, and each mark a token of its own with its alternatives."""
    found = []
    name = ""
    for piece in re.findall(r'"\w+"|[1-5]|[^"1-5]+|"', content):
        name = piece.strip('"') if piece.startswith('"') and len(piece) > 1 else name
        likely = nearly.get(name, {piece: 1.0}) if piece in "12345" else {piece: 0.9}
        found.append(
            {
                "token": piece,
                "logprob": math.log(likely.get(piece, 1.0)),
                "bytes": None,
                "top_logprobs": [
                    {"token": other, "logprob": math.log(share), "bytes": None} for other, share in likely.items()
                ],
            }
        )
    assert "".join(token["token"] for token in found) == content
    return found


def weighing(request, _number=0):
    content = json.dumps(fill(schema_of(request)))
    return text(content, logprobs={"content": tokens(content, NEARLY), "refusal": None})


@pytest.fixture
def inputs(tmp_path):
    return ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path))


def run(tmp_path, inputs, script, name, *more):
    with FakeOpenAI(script) as server:
        code, _, err = markbook(
            "review", *inputs, *PAIR, *WEIGHTS, *more, "--base-url", server.base_url, "--output", tmp_path / name
        )
    assert code == 0, err
    return only_run(tmp_path / name), server


def test_the_expected_mark_is_the_one_that_counts(tmp_path, inputs):
    folder, server = run(tmp_path, inputs, weighing, "out")

    tier2 = rows_of(folder)["one/mas/0"]["tier2"]
    assert tier2["details"]["constructiveness"]["marks"] == pytest.approx(MARKS)
    assert tier2["constructiveness"] == pytest.approx(SCORE)
    request = server.requests[0]
    assert (request["logprobs"], request["top_logprobs"]) == (True, 10)
    assert "tools" not in request  # log probabilities come with text, not with a tool call
    assert request["response_format"]["type"] == "json_schema"


def test_the_mass_that_the_marks_hold_is_kept(tmp_path, inputs):
    from markbook.store import open_run

    folder, _ = run(tmp_path, inputs, weighing, "out")

    kept = next(row.data for row in open_run(folder).rows("judgement") if row.data["rubric"] == "constructiveness")
    assert {name: pair[1] for name, pair in kept["weighted"].items()} == pytest.approx(
        {"actionable_feedback": 0.95, "balanced_critique": 1.0, "improvement_guidance": 1.0}
    )


def test_a_cassette_and_new_weights_keep_the_weighed_marks(tmp_path, inputs):
    tape = ("--cassette", tmp_path / "tape.jsonl")
    live, _ = run(tmp_path, inputs, weighing, "live", *tape)
    taped, server = run(tmp_path, inputs, good, "taped", *tape)
    config = tmp_path / "other.json"
    config.write_text(json.dumps({"metrics_and_weights": {"output_similarity": 1}}))
    code, _, _ = markbook("review", "--rescore", live, *PAIR, "--config", config, "--output", tmp_path / "again")

    assert server.calls == code == 0
    assert (live / "results.jsonl").read_bytes() == (taped / "results.jsonl").read_bytes()
    assert rows_of(only_run(tmp_path / "again"))["one/mas/0"]["tier2"]["constructiveness"] == pytest.approx(SCORE)


def test_a_server_without_log_probabilities_leaves_the_plain_marks(tmp_path, inputs):
    folder, _ = run(tmp_path, inputs, good, "out")

    assert rows_of(folder)["one/mas/0"]["tier2"]["constructiveness"] == 0.75


@pytest.mark.parametrize("spoil", ["other text", "no alternatives", "ruled out", "no probability"])
def test_log_probabilities_that_do_not_fit_the_reply_weigh_nothing(tmp_path, inputs, spoil):
    def script(request, _number):
        content = json.dumps(fill(schema_of(request)))
        found = tokens(content, NEARLY)
        if spoil == "other text":
            found = found[1:]
        for token in found:
            if spoil == "no alternatives":
                token["top_logprobs"] = []
            elif spoil == "ruled out":
                ruled_out = [{**one, "logprob": -9999.0} for one in token["top_logprobs"]]
                token["top_logprobs"] = [*ruled_out, *({**one, "token": " " + one["token"]} for one in ruled_out)]
            elif spoil == "no probability":
                token["top_logprobs"] = [{**one, "logprob": 1000.0} for one in token["top_logprobs"]]
        return text(content, logprobs={"content": found, "refusal": None})

    folder, _ = run(tmp_path, inputs, script, "out")

    assert rows_of(folder)["one/mas/0"]["tier2"]["constructiveness"] == 0.75


def test_a_resume_that_does_not_name_the_weights_keeps_them(tmp_path, inputs):
    folder, server = run(tmp_path, inputs, weighing, "out", "--judge-mode", "native")
    before = (folder / "results.jsonl").read_bytes()

    code, _, err = markbook(
        "review", *inputs, *PAIR, "--judge", "openai:m", "--judge-mode", "native", "--base-url", server.base_url,
        "--resume", folder,
    )  # fmt: skip

    assert code == 0, err
    assert (folder / "results.jsonl").read_bytes() == before
    assert rows_of(folder)["one/mas/0"]["tier2"]["constructiveness"] == pytest.approx(SCORE)


def test_a_resume_with_the_weights_of_a_run_without_them_is_another_run(tmp_path, inputs):
    with FakeOpenAI(good) as server:
        args = ("review", *inputs, *PAIR, "--judge", "openai:m", "--base-url", server.base_url)
        assert markbook(*args, "--output", tmp_path / "out")[0] == 0

        code, _, err = markbook(*args, "--judge-token-weights", "--resume", only_run(tmp_path / "out"))

    assert code == 2
    assert "config.judge" in err
