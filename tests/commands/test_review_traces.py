"""Logs of other tools as the traces of a review, the user's way: `markbook review --traces FOLDER`."""

import gzip
import json
import os
import re
from pathlib import Path

import pytest
from support.review_kit import GENERATED, TRACE, markbook, only_run, papers, reviews, rows_of, traces
from test_traces_exports import TEMPO, without_decoders, zstd_log
from test_traces_formats import LOGS, session_log

from markbook.store import open_run

# format: document, as lines, agents, tool calls, messages, tokens in and out; counted by hand beside the logs
EVERY = {
    **LOGS,
    "claude-code-session": (session_log(ids=True), True, ("main", "scout", "critic"), 4, None, 5, None),
    "tempo": (TEMPO, False, ("a",), 1, 0, None, None),
}
COMPLEXITY = {"adk": 4, "atif": 5, "codex": 3, "jaeger": 3, "langfuse": 3, "mini-swe-agent": 2, "tau2-bench": 4}
"""Agents and the tools that they called, counted by hand in the logs."""


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory):
    """Review one paper by a system for each format, its log beside it, packed where the system's place is even."""
    folder = tmp_path_factory.mktemp("reviewed")
    rows = [{"paper_id": "one", "system": name, "review": GENERATED, "execution_time": 5} for name in EVERY]
    for place, (name, (document, lines, *_)) in enumerate(EVERY.items()):
        text = "\n".join(json.dumps(row) for row in document) if lines else json.dumps(document)
        file = folder / "traces" / name / ("one.jsonl" if lines else "one.json")
        file.parent.mkdir(parents=True)
        if place % 2:
            file.write_text(text)
        else:
            file.with_name(file.name + ".gz").write_bytes(gzip.compress(text.encode()))
    args = ("--papers", papers(folder), "--reviews", reviews(folder, rows), "--similarity", "cosine,jaccard")
    code, _, err = markbook("review", *args, "--traces", folder / "traces", "--output", folder / "out")
    assert code == 0, err
    run = only_run(folder / "out")
    return rows_of(run), {row.key[1]: row.data for row in open_run(run).rows("tier3")}


@pytest.mark.parametrize("name", EVERY)
def test_a_review_reads_the_log_beside_it(reviewed, name):
    _, _, agents, calls, messages, tokens_in, tokens_out = EVERY[name]
    kept = reviewed[1][name]
    head = dict(part.split(": ", 1) for part in kept["summary"].splitlines()[0].split("; "))

    assert {agent for agent, steps in kept["graph"]["agents"].items() if steps} == set(agents)
    assert int(head["tool calls"]) == calls
    if messages is not None:
        assert int(head["messages"]) == messages
    if tokens_out is not None:
        assert head["tokens"] == f"{tokens_in} in, {tokens_out} out"


@pytest.mark.parametrize("name", COMPLEXITY)
def test_a_review_has_the_numbers_of_its_log(reviewed, name):
    tier = reviewed[0][f"one/{name}/0"]["tier3"]

    assert tier["graph_complexity"] == COMPLEXITY[name]
    if name == "tau2-bench":  # it brings its expected actions along
        assert tier["tool_selection_accuracy"] == 1
    else:
        assert tier["missing"]["tool_selection_accuracy"]["detail"] == "there is no reference that names tools"


def test_an_inspect_log_packed_with_zstandard_says_in_a_review_what_to_install(tmp_path, monkeypatch):
    without_decoders(monkeypatch)
    place = tmp_path / "traces"
    place.mkdir()
    zstd_log(tmp_path).rename(place / "one.eval")
    row = {"paper_id": "one", "system": "mas", "review": GENERATED, "execution_time": 5}
    args = ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path, [row]), "--similarity", "cosine,jaccard")

    code, _, err = markbook("review", *args, "--traces", place, "--output", tmp_path / "out")

    gap = rows_of(only_run(tmp_path / "out"))["one/mas/0"]["tier3"]["missing"]["path_convergence"]
    assert code == 3, err
    assert gap["kind"] == "unavailable"
    assert "markbook[inspect]" in gap["detail"]


def test_a_traces_name_that_is_not_text_is_one_like_any_other(tmp_path):
    folder = traces(tmp_path)
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.json"))).write_text("{}")

    code, _, err = markbook("review", "--papers", papers(tmp_path), "--reviews", reviews(tmp_path),
                                       "--traces", folder, "--similarity", "cosine,jaccard", "--output", tmp_path / "out")  # fmt: skip

    assert code == 0, err


def test_the_same_systems_agents_are_shown_whatever_the_order_of_the_reviews(tmp_path):
    systems = ["ash", "birch", "cedar", "dogwood", "elm"]
    pages = []
    for number, order in enumerate((systems, systems[::-1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        rows = [{"paper_id": "one", "system": name, "review": GENERATED, "execution_time": 5} for name in order]
        for place, name in enumerate(systems):
            trace = folder / "traces" / name / "one.json"
            trace.parent.mkdir(parents=True)
            trace.write_text(json.dumps({**TRACE, "tool_calls": TRACE["tool_calls"][place % 3 :]}))
        args = ("--papers", papers(folder), "--reviews", reviews(folder, rows), "--similarity", "cosine,jaccard")
        code, _, err = markbook("review", *args, "--traces", folder / "traces", "--output", folder / "out")
        assert code == 0, err
        assert markbook("report", only_run(folder / "out"), "--format", "latex", "--output", folder)[0] == 0
        text = (folder / "report.tex").read_text()
        pages.append(
            re.findall(r"Messages between agents: (\w+).*?\\label\{tab:(agents-\d)\}(.*?)\\bottomrule", text, re.DOTALL)
        )

    assert [(system, label) for system, label, _ in pages[0]] == [
        (name, f"agents-{number}") for number, name in enumerate(systems[:4], 1)
    ]  # the first four have a graph
    assert pages[0] == pages[1]
