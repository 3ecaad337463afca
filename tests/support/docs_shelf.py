"""What lies in the folder in which the blocks of README.md and docs/ run: small data under the names that the pages use."""

import gzip
import json
import os
import shutil
import sys
from pathlib import Path

from markbook.traces.recorder import Recorder
from support import foreign_files, review_kit
from support.fake_openai import Reply, fill as filled, schema_of, structured, text
from support.paths import ROOT

START = ROOT / "examples" / "start"
PAIRS = [
    {"candidate": "The cat sat on the mat.", "reference": "The cat is on the mat."},
    {"candidate": "A dog barks at night.", "reference": "At night the dog barks."},
    {"candidate": "It rains.", "reference": ["It is raining.", "It rains."]},
]
PROMPT = 'def twice(x):\n    """Return two times x."""\n'
HUMAN_EVAL = [
    {
        "task_id": f"HumanEval/{n}",
        "prompt": PROMPT,
        "entry_point": "twice",
        "canonical_solution": "    return 2 * x\n",
        "test": f"def check(candidate):\n    assert candidate({n}) == {2 * n}\n    assert candidate(2.5) == 5\n",
    }
    for n in range(3)
]
SAMPLES = ["    return 2 * x\n", "    return x + x\n", "    return x ** 2\n"]
CITIES = {"France": "Paris", "Kenya": "Nairobi", "Peru": "Lima"}


def fill(folder):
    """Write the files, make a finished run in `generated`, and return the folder."""
    _exam(folder)
    _task(folder)
    _review(folder)
    _rows(folder / "rows.jsonl", PAIRS)
    _traces(folder)
    _elsewhere(folder)
    _labelled(folder)
    code, _, told = review_kit.markbook(
        "exam", "--benchmark", folder / "benchmark.jsonl", "--solutions", folder / "answers.jsonl",
        "--output", folder / "generated", "--isolation", "weak",
    )  # fmt: skip
    assert code == 0, told
    run = review_kit.only_run(folder / "generated")
    run.rename(folder / "generated" / "evaluation_1790000000")
    for name in ("old", "new"):
        shutil.copytree(folder / "generated" / "evaluation_1790000000", folder / name)
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


def _exam(folder):
    shutil.copytree(START / "exam", folder, dirs_exist_ok=True)
    for name in ("benchmark", "benchmarks"):
        (folder / name).mkdir()
        shutil.copy(folder / "benchmark.jsonl", folder / name)
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    for model, name in (("first", "gpt-4"), ("second", "claude-3")):
        mine = [{key: value for key, value in row.items() if key != "model"} for row in rows if row["model"] == model]
        _rows(folder / name / "solutions.jsonl", mine)
    (folder / "HumanEval.jsonl.gz").write_bytes(gzip.compress(_lines(HUMAN_EVAL).encode()))
    ids = [row["task_id"] for row in HUMAN_EVAL]
    _rows(folder / "samples.jsonl", [{"task_id": i, "completion": code} for i, code in zip(ids, SAMPLES, strict=True)])


def _task(folder):
    shutil.copytree(START / "task", folder / "capitals")
    for name in ("task.yaml", "questions.jsonl"):
        shutil.copy(START / "task" / name, folder)
    shutil.copy(START / "task" / "answers.jsonl", folder / "replies.jsonl")


def _review(folder):
    shutil.copytree(START / "review", folder, dirs_exist_ok=True)
    for paper in ("p1", "p2"):
        place = folder / "traces" / f"{paper}.json"
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps(review_kit.TRACE))


def _traces(folder):
    for name in ("trace.json", "run.json"):
        (folder / name).write_text(json.dumps(review_kit.TRACE))
    with (
        Recorder(folder / "spans.jsonl") as record,
        record.agent("manager"),
        record.tool("search", {"q": "bleu"}) as call,
    ):
        call.result = "found"
    said = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}]}
    run = {"reward": 1.0, "info": {"task": {"actions": [{"name": "search", "kwargs": {}}]}}, "traj": [said]}
    (folder / "trajectories.json").write_text(json.dumps([{"task_id": 0, "trial": n, **run} for n in range(2)]))


def _elsewhere(folder):
    """Write what other tools leave."""
    foreign_files.lm_eval(folder / "lm_eval_output", 0)
    (folder / "logs").mkdir()
    foreign_files.inspect_log(folder / "logs", 1).rename(folder / "logs" / "2026-01-01.eval")
    solved = {
        sample: [{"task_id": sample, "solution": "x", "base_status": "pass", "plus_status": "pass"}]
        for sample in ("lists/1", "text/1", "classes/1")
    }
    for name in ("old_eval_results.json", "gpt.eval_results.json"):
        (folder / name).write_text(json.dumps({"date": "2026-01-02 03:04", "hash": "abc", "eval": solved}))
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
