"""What only a reader can have: other tools' results and labelled rows, under the names that two pages use."""

import json
import os
import sys
from pathlib import Path

from support import foreign_files, review_kit
from support.fake_openai import Reply, fill as filled, schema_of, structured, text
from support.paths import ROOT

START = ROOT / "examples" / "start"
OWN_FILES = {"docs/other-tools.md": "stand for your own files", "docs/judge.md": "are your own files"}
"""The pages whose commands read files that only the reader can have, and the words with which they say so."""
CITIES = {"France": "Paris", "Kenya": "Nairobi", "Peru": "Lima"}


def fill(folder):
    """Write what other tools leave, labelled rows and a finished run in `generated`; return the folder."""
    _elsewhere(folder)
    _labelled(folder)
    code, _, told = review_kit.markbook(
        "exam", "--benchmark", START / "exam" / "benchmark.jsonl", "--solutions", START / "exam" / "answers.jsonl",
        "--output", folder / "generated", "--isolation", "weak",
    )  # fmt: skip
    assert code == 0, told
    return folder


def environment(base_url):
    """Return the variables under which the blocks run: a provider that is our own server, and a terminal of 100 columns."""
    return {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": base_url,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }


def reply(request, _number=0):
    """Answer a judge's question with marks, any other as a model of middling gifts would."""
    if schema_of(request):
        return structured(request, json.dumps(filled(schema_of(request))))
    asked = request["messages"][-1]["content"] if "messages" in request else str(request.get("prompt", ""))
    found: Reply = text(next((city for land, city in CITIES.items() if land in asked), "def f(x):\n    return x"))
    return found


def _elsewhere(folder):
    """Write what other tools leave."""
    foreign_files.lm_eval(folder / "lm_eval_output", 0)
    (folder / "logs").mkdir()
    foreign_files.inspect_log(folder / "logs", 1).rename(folder / "logs" / "2026-01-01.eval")
    solved = {
        sample: [{"task_id": sample, "solution": "x", "base_status": "pass", "plus_status": "pass"}]
        for sample in ("lists/1", "text/1", "classes/1")
    }
    evaluated = {"date": "2026-01-02 03:04", "hash": "abc", "eval": solved}
    (folder / "gpt.eval_results.json").write_text(json.dumps(evaluated))
    rows = [f"q{n},{system},{int(n % 3 > place)}" for n in range(9) for place, system in enumerate(("new", "old"))]
    (folder / "answers.csv").write_text("question_id,system,correct\n" + "\n".join(rows) + "\n")


def _labelled(folder):
    """Write a judge's scores of two systems, people's labels of a part, and answers that people marked."""
    ids = [str(n) for n in range(60)]
    judged = [
        {"id": i, "system": system, "tone": (int(i) * 7 % 10) / 10, "topic": "ab"[int(i) % 2]}
        for i in ids
        for system in ("new", "old")
    ]
    _rows(folder / "judged.jsonl", judged)
    labels = [
        {
            "id": row["id"],
            "system": row["system"],
            "label": abs(row["tone"] - (int(row["id"]) % (4 if row["system"] == "new" else 3)) / 20),
            "rater": "ann",
        }
        for row in judged[:60]
    ]
    _rows(folder / "labels.jsonl", labels)
    marked = [
        {"id": i, "question": f"What is {i}?", "candidate": f"{i} is {i}.", "label": int(i) % 5 / 4, "system": "new"}
        for i in ids[:6]
    ]
    _rows(folder / "labelled.jsonl", marked)


def _rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_lines(rows), encoding="utf-8")


def _lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)
