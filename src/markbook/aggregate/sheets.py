"""From what each command counts to the sheet that the comparison reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markbook.aggregate.exam import GROUPINGS, Tally, group_of
from markbook.aggregate.sheet import Cell, Sheet
from markbook.types import Sample


def exam_sheet(tallies: Sequence[Tally]) -> Sheet:
    """Return the sheet of an exam: a problem's score is the mean over the attempts, 0 if there is none.

    All tallies are over the same problems. A problem counts as passed if every attempt passed all its tests.
    """
    marks: dict[str, dict[str, Cell]] = {}
    for tally in tallies:
        marks[tally.model] = {
            sample.id: Cell(
                value=min(1.0, tally.problem_score(place) or 0.0),
                passed=0 < tally.attempts[place] == tally.right[place],
            )
            for place, sample in enumerate(tally.samples)
        }
    samples = tallies[0].samples if tallies else ()
    return Sheet(metric="exam_score", marks=marks, meta={sample.id: sample_meta(sample) for sample in samples})


def sample_meta(sample: Sample) -> Mapping[str, str]:
    """Return the groups that a sample belongs to, by grouping; the ones it lacks are left out."""
    found = {grouping: group_of(sample, grouping) for grouping in GROUPINGS}
    return {grouping: group for grouping, group in found.items() if group}


def merged(sheets: Sequence[tuple[str, Sheet]]) -> Sheet:
    """Return one sheet of several runs' sheets by the same metric.

    Args:
        sheets: each with its run's name, which is put behind a model that occurs in two of them.

    Raises:
        ValueError: the metrics, ranges or directions differ.
    """
    first = sheets[0][1]
    kinds = {(sheet.metric, sheet.range, sheet.direction) for _, sheet in sheets}
    if len(kinds) > 1:
        raise ValueError("the runs are marked by different metrics: " + ", ".join(sorted(kind[0] for kind in kinds)))
    seen: dict[str, int] = {}
    for _, sheet in sheets:
        for model in sheet.models:
            seen[model] = seen.get(model, 0) + 1
    marks: dict[str, Mapping[str, Cell]] = {}
    origins: dict[str, tuple[int, str]] = {}
    meta: dict[str, Mapping[str, Any]] = {}
    for at, (run, sheet) in enumerate(sheets):
        for model, cells in sheet.marks.items():
            name = model if seen[model] == 1 else f"{model} ({run})"
            number = 2
            while name in marks:
                name = f"{model} ({run} #{number})"
                number += 1
            marks[name] = cells
            origins[name] = at, model
        meta = {**sheet.meta, **meta}
    return Sheet(first.metric, marks, first.range, first.direction, meta, origins)
