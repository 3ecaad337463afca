"""A run's answers as what is judged and labelled: each sample and model once, with its score and where its answers lie."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from markbook.errors import DataError
from markbook.files.jsonl import Line
from markbook.results.kind import Results, get_sheet, open_results
from markbook.results.sheet import Sheet
from markbook.store import open_run


@dataclass(slots=True)
class JudgedAnswers:
    """What a model gave for a sample."""

    sample: str
    model: str
    score: float | None = None
    """Its mark, the mean over several answers."""
    locations: list[int] = field(default_factory=list)
    """By which `Results.show_attempt` finds each answer."""
    is_empty: bool = True
    """Whether there is nothing to show."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run, one metric of it, and the answers that it marked."""

    results: Results
    sheet: Sheet
    answers: list[JudgedAnswers]
    path: Path
    """The run's folder, or the file that it was read from."""
    n_empty: int = 0
    """Samples of models that are left out because they have no answer to show."""

    def on_unit(self, score: float | None) -> float | None:
        """Return a mark on 0..1; None where there is none or the metric has no ends."""
        low, high = self.sheet.range
        if score is None or not 0 < high - low < float("inf"):
            return None
        return (score - low) / (high - low)


def read_judged(
    path: str | os.PathLike[str], metric: str | None = None, *, fails: bool = False, empty: bool = False
) -> JudgedRun:
    """Return a run's answers with their marks by one metric, its first if none is named; with `fails` only those that failed.

    `empty`: also samples without an answer, where a mark counts for them: nothing can be shown of these.

    Raises:
        DataError: the run is not finished, or has no answer.
        UsageError: the run has no such metric.
    """
    run = open_run(path)
    results = open_results(run)
    sheet = get_sheet(results, metric)
    answers_by_key: dict[tuple[str, str], JudgedAnswers] = {}
    without: set[tuple[str, str]] = set()
    for entry in results.entries():
        key = (entry.sample, entry.model)
        is_empty = entry.status in ("absent", "empty")
        if is_empty and not empty:
            without.add(key)
            continue
        if fails and entry.status in ("passed", "scored"):
            continue
        answers = answers_by_key.setdefault(key, JudgedAnswers(*key))
        answers.locations.append(entry.location)
        answers.is_empty &= is_empty
    if not answers_by_key:
        raise DataError("the run has no answer" + (" that failed" if fails else ""), at=str(path))
    # A single model may be named in the sheet otherwise than in its rows, as in a table without a column for it.
    alone = len({model for _, model in answers_by_key}) == len(sheet.marks) == 1
    for answers in answers_by_key.values():
        model = next(iter(sheet.marks)) if alone else answers.model
        cell = sheet.marks.get(model, {}).get(answers.sample)
        answers.score = None if cell is None else cell.value
    # A sample is left out only where none of its answers can be shown.
    return JudgedRun(
        results, sheet, list(answers_by_key.values()), run.folder, n_empty=len(without - set(answers_by_key))
    )


def judged_rows(judged: JudgedRun) -> tuple[list[Line], frozenset[tuple[str, str]]]:
    """Return a run's answers as rows (`id`, `system`, `score`, what is known of the sample), and which of them are empty."""
    meta = judged.sheet.meta
    rows = [
        Line(
            {**meta.get(answer.sample, {}), "id": answer.sample, "system": answer.model, "score": answer.score},
            f"{judged.path}: {answer.sample}",
        )
        for answer in judged.answers
    ]
    return rows, frozenset((answer.sample, answer.model) for answer in judged.answers if answer.is_empty)
