"""Every kind of run made of one table of marks, by the command that a user types, so that laws can be held to all of them.

A mark is a whole number of quarters, 0 to 4, or None where there is none. What a kind makes of it: the score of a row (import),
so many letters of four that are right (run), so many tests of four that pass (exam), so many words of the human review and that
grade by the judge (review).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from support.exam_kit import answer, problem, write_rows
from support.fake_openai import FakeOpenAI, fill, schema_of, structured
from support.review_kit import FIRST, SECOND, TRACE, markbook


class Row(NamedTuple):
    """One mark."""

    model: str
    item: str
    mark: int | None


class Asked(NamedTuple):
    """What a run is made of."""

    rows: Sequence[Row]
    items: Sequence[str]
    """The samples in their order, also those that nobody has a mark of."""
    workers: int = 1
    is_lower: bool | None = None
    """Whether less is better; None where the kind has its usual metric."""

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(row.model for row in self.rows))

    def of(self, model: str) -> "Asked":
        return self._replace(rows=[row for row in self.rows if row.model == model])


Runs = Mapping[str, Path]
"""Folders of runs; by model where each has its own, else under no name."""


def run_command(*args: object) -> None:
    """Run a command that has to end well; an exit of 3 says that something is missing."""
    code, out, err = markbook(*args)
    assert code in (0, 3), (args, out, err)


def _find_run(output: Path) -> Path:
    (run,) = [path.parent for path in output.glob("*/run.json")]
    return run


def make_import(folder: Path, asked: Asked) -> Runs:
    """Keep a plain table; where a direction is asked for, lm-evaluation-harness's files, which state one, and a run a model."""
    if asked.is_lower is None:
        rows = [
            {"item": row.item, "model": row.model, "score": None if row.mark is None else row.mark / 4}
            for row in asked.rows
        ]
        run_command("import", write_rows(folder / "marks.jsonl", rows), "--output", folder / "out")
        return {"": _find_run(folder / "out")}
    return {
        model: import_file(write_lm_eval(folder / model, asked.of(model)), folder / f"{model} out")
        for model in asked.models
    }


def import_file(path: Path, output: Path) -> Path:
    """Keep another tool's file as a run."""
    run_command("import", path, "--output", output)
    return _find_run(output)


def write_lm_eval(folder: Path, asked: Asked) -> Path:
    """Write one model's marks as lm-evaluation-harness does; turned round where less is to be better."""
    (model,) = asked.models
    samples = []
    for row in asked.rows:
        score = None if row.mark is None else (4 - row.mark if asked.is_lower else row.mark) / 4
        samples.append(
            {"doc_id": asked.items.index(row.item), "doc": {"name": row.item}, "target": "x", "arguments": [["q", {}]],
             "resps": [["y"]], "filtered_resps": ["y"], "filter": "none", "metrics": ["score"], "score": score}
        )  # fmt: skip
    write_rows(folder / "samples_sums_2026-01-02T03-04-05.678901.jsonl", samples)
    about = {
        "results": {"sums": {"alias": "sums"}}, "config": {"model_args": model}, "versions": {}, "model_name": model,
        "higher_is_better": {"sums": {"score": not asked.is_lower}},
    }  # fmt: skip
    path = folder / "results_2026-01-02T03-04-05.678901.json"
    path.write_text(json.dumps(about))
    return path


def make_run(folder: Path, asked: Asked) -> Runs:
    """Run one task for each model."""
    metrics = {None: "edit_similarity, rougeL", False: "edit_similarity", True: "edit_distance"}[asked.is_lower]
    data = [{"name": item, "q": f"Spell number {number}.", "a": "abcd"} for number, item in enumerate(asked.items)]
    write_rows(folder / "data.jsonl", data)
    (folder / "task.yaml").write_text(
        "name: spelling\ndata: {path: data.jsonl, id: name}\nprompt: '{{ q }}'\nreference: '{{ a }}'\n"
        f"metrics: [{metrics}]\n"
    )
    runs = {}
    for model in asked.models:
        said = [
            {"id": row.item, "model": model, "prediction": None if row.mark is None else "abcd"[: row.mark] + "-" * (4 - row.mark)}
            for row in asked.of(model).rows
        ]  # fmt: skip
        path = write_rows(folder / model / "said.jsonl", said)
        output = folder / f"{model} out"
        run_command("run", folder / "task.yaml", "--predictions", path, "--workers", asked.workers, "--output", output)
        runs[model] = _find_run(output)
    return runs


def make_exam(folder: Path, asked: Asked) -> Runs:
    """Hold one exam of all models; a mark that is missing is an answer that is absent."""
    tests = [{"assertion": f"func({at}) == {at}"} for at in range(4)]
    problems = [
        problem(item, tests=tests, topic=("strings", "numbers")[number % 2], level=1 + number % 2)
        for number, item in enumerate(asked.items)
    ]
    answers = [
        answer(row.item, f"def f(x):\n    return x if x < {row.mark} else -1\n", row.model)
        for row in asked.rows
        if row.mark is not None
    ]
    bank, said = write_rows(folder / "bank.jsonl", problems), write_rows(folder / "said.jsonl", answers)
    run_command(
        "exam", "--benchmark", bank, "--solutions", said, "--isolation", "weak", "--workers", asked.workers, "--output",
        folder / "out",
    )  # fmt: skip
    return {"": _find_run(folder / "out")}


def make_review(folder: Path, asked: Asked, server: FakeOpenAI) -> Runs:
    """Evaluate the reviews of all systems with a judge and traces; a mark that is missing is a review that nobody wrote."""
    papers = folder / "papers" / "acl_2017" / "train"
    for number, item in enumerate(asked.items):
        humans = [{"comments": FIRST, "RECOMMENDATION": "4"}, {"comments": SECOND, "RECOMMENDATION": "3"}][
            : 1 + number % 2
        ]
        record = {"title": f"Paper {number}", "abstract": "Sparse attention.", "id": item, "reviews": humans}
        path = papers / "reviews" / f"{item}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    reviews = []
    for row in asked.rows:
        if row.mark is not None:
            words = " ".join(FIRST.split()[: 6 * row.mark + 4])
            text = {"comments": f"{words} Grade {row.mark}.", "recommendation": 1 + row.mark}
            reviews.append({"paper_id": row.item, "system": row.model, "review": text, "execution_time": 2 + row.mark})
            trace = folder / "traces" / row.model / f"{row.item}.json"
            trace.parent.mkdir(parents=True, exist_ok=True)
            trace.write_text(json.dumps({**TRACE, "tool_calls": TRACE["tool_calls"][: 1 + row.mark]}))
    run_command(
        "review", "--papers", folder / "papers", "--reviews", write_rows(folder / "reviews.jsonl", reviews), "--traces",
        folder / "traces", "--similarity", "cosine,jaccard", "--policy", "renormalise", "--judge", "openai:m", "--base-url",
        server.base_url, "--workers", asked.workers, "--output", folder / "out",
    )  # fmt: skip
    return {"": _find_run(folder / "out")}


def grade(request, _number=0):
    """Judge a review by the grade that it names."""
    found = re.search(r"Grade (\d)", json.dumps(request["messages"]))
    return structured(request, json.dumps(fill(schema_of(request), integer=1 + int(found[1]) if found else 1)))


MAKERS: Mapping[str, Callable[..., Runs]] = {
    "exam": make_exam,
    "import": make_import,
    "review": make_review,
    "run": make_run,
}
"""By the name of a kind of run."""
