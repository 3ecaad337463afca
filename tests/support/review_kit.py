"""A small set of papers and reviews of our own, and the commands that evaluate them."""

import contextlib
import io
import json
import re
from pathlib import Path

from markbook.cli import main

FIRST = (
    "The paper proposes a sparse attention layer for long documents. The experiments are convincing, but the ablation of "
    "the window size is missing. Please add a comparison with the dense baseline at equal cost."
)
SECOND = (
    "A clear study of sparse attention. I miss an ablation of the window size and a discussion of memory. The authors "
    "should report the variance over seeds and compare with a dense baseline."
)
THIRD = "The writing is hard to follow and the claims about speed are not supported by any measurement."
GENERATED = (
    "This work studies sparse attention for long documents. Strengths: clear experiments. Weaknesses: no ablation of the "
    "window size and no dense baseline at equal cost. The authors should report variance over seeds."
)
TRACE = {
    "execution_id": "run-1",
    "start_time": 10.0,
    "end_time": 15.0,
    "agent_interactions": [
        {"from": "manager", "to": "researcher", "type": "task_request", "query": "find prior work", "timestamp": 10.5},
        {"from": "researcher", "to": "manager", "type": "result_delivery", "content": "done", "timestamp": 13.0},
    ],
    "tool_calls": [
        {"agent_id": "manager", "tool_name": "get_paper", "success": True, "duration": 0.5, "timestamp": 10.0},
        {"agent_id": "researcher", "tool_name": "search", "success": True, "duration": 1.0, "timestamp": 11.0},
        {"agent_id": "manager", "tool_name": "save_review", "success": True, "duration": 0.1, "timestamp": 14.0},
    ],
    "coordination_events": [{"coordination_type": "delegation", "target_agents": ["researcher"]}],
}


def papers(folder: Path) -> Path:
    """Write three papers: two human reviews and a text, one human review, none."""
    root = folder / "papers" / "acl_2017" / "train"
    (root / "reviews").mkdir(parents=True)
    (root / "parsed_pdfs").mkdir()

    def write(name, reviews):
        record = {"title": f"Paper {name}", "abstract": "Sparse attention.", "id": name, "reviews": reviews}
        (root / "reviews" / f"{name}.json").write_text(json.dumps(record))

    write("one", [{"comments": FIRST, "RECOMMENDATION": "4"}, {"comments": SECOND, "RECOMMENDATION": "3"}])
    write("two", [{"comments": THIRD, "RECOMMENDATION": "2"}])
    write("three", [])
    sections = [{"heading": "1 Introduction", "text": "We propose sparse attention. " * 20}]
    text = {"name": "one.pdf", "metadata": {"title": "Paper one", "sections": sections}}
    (root / "parsed_pdfs" / "one.pdf.json").write_text(json.dumps(text))
    return folder / "papers"


def reviews(folder: Path, rows=None) -> Path:
    """Write generated reviews; by default one good, one empty, one of a paper without human reviews."""
    rows = rows or [
        {
            "paper_id": "one",
            "system": "mas",
            "review": {"comments": GENERATED, "recommendation": 4},
            "execution_time": 5,
        },
        {"paper_id": "two", "system": "mas", "review": "", "execution_time": -3},
        {"paper_id": "three", "system": "mas", "review": "Fine.", "execution_time": 0.5},
    ]
    file = folder / "reviews.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def traces(folder: Path) -> Path:
    """Write a trace for paper one."""
    place = folder / "traces"
    place.mkdir()
    (place / "one.json").write_text(json.dumps(TRACE))
    return place


def markbook(*args: object) -> tuple[int, str, str]:
    """Run the command line in this process; return exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(arg) for arg in args])
        except SystemExit as stop:
            return int(stop.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def only_run(output: Path) -> Path:
    """Return the one run folder of an output folder."""
    (run,) = [path for path in output.iterdir() if path.name.startswith("evaluation_")]
    return run


def reports_of(run: Path) -> dict[str, bytes]:
    """Return the files of results of a run; the minute in which it started, which the page says, is left out."""
    names = ("results.jsonl", "summary.json", "evaluation_summary.md", "report.html")
    found = {name: (run / name).read_bytes() for name in names}
    started = json.loads((run / "run.json").read_text())["started"][:16].replace("T", " ")
    found["report.html"], times = re.subn(started.encode(), b"MINUTE", found["report.html"])
    assert times == 1
    return found


def rows_of(run: Path) -> dict[str, dict]:
    """Return the rows of results.jsonl by paper and system."""
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    return {f"{row['paper_id']}/{row['system']}/{row['index']}": row for row in rows}
