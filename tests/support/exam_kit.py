"""Small exams for tests: write a benchmark and answers, mark them, read the files back."""

import json

from markbook.runs.api import exam


def problem(
    task_id, *, name="f", canonical="def f(x):\n    return x\n", tests=None, topic="t", kind="function", level=1
):
    return {
        "task_id": task_id,
        "name": name,
        "problem": f"Write {name}.",
        "canonical_solution": canonical,
        "tests": tests or [{"assertion": "func(1) == 1"}],
        "topic": topic,
        "object": kind,
        "complexity": level,
    }


def answer(task_id, text, model="gpt", **more):
    return {"task_id": task_id, "model": model, "candidate_solution": text, **more}


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def hold(tmp_path, problems, answers, **options):
    """Mark answers and return the run."""
    benchmark = write_rows(tmp_path / "in" / "benchmark.jsonl", problems)
    solutions = write_rows(tmp_path / "in" / "answers.jsonl", answers)
    options = {"workers": 1, "isolation": "weak", "timeout": 5.0, **options}
    return exam(benchmark, solutions, tmp_path / "out", **options)


def scores(run, model="gpt"):
    return json.loads(run.read(f"{model}/test_results_score.json"))


def errors(run, model="gpt"):
    return json.loads(run.read(f"{model}/test_results_errors.json"))


def rows(run, model="gpt"):
    return [json.loads(line) for line in run.read(f"{model}/test_results.jsonl").splitlines()]
