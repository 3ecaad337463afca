"""Runs that stop when they have seen enough: what the kinds of run that can do so share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from markbook.errors import DataError, UsageError
from markbook.results.alignment import digest
from markbook.results.kind import Results, results_of
from markbook.results.sheet import Cell, Sheet
from markbook.results.stopping import StoppedRecord, Stopping
from markbook.store import RunWriter, find_runs, open_run

ORDER = "order"
"""The kind of journal row that holds the drawn order of the samples."""

Marks = Mapping[str, Mapping[str, Cell]]
"""By model and sample."""


def open_against(against: str | os.PathLike[str] | None, when: str) -> Results | None:
    """Return the run that `--against` names: of any kind, or another tool's.

    Raises:
        UsageError: there is one and nothing says when to stop.
        DataError: it is no run, not finished, or several.
    """
    if against is None:
        return None
    if not when:
        raise UsageError("--against says nothing without a moment to stop", hint="--stop-when decided, or precise:0.03")
    paths = find_runs(against)
    if len(paths) > 1:
        raise DataError(f"{len(paths)} runs lie here, and one is the baseline", at=os.fspath(against), hint="name it")
    return results_of(open_run(paths[0]))


def identity_of(stopping: Stopping, baseline: Sheet | None) -> dict[str, object]:
    """Return what run.json holds of it: with another rule or another baseline a run cannot go on."""
    values = {} if baseline is None else {model: _values(cells) for model, cells in baseline.marks.items()}
    return {"when": stopping.rule.text, "baseline": digest(values) if values else None}


def _values(cells: Mapping[str, Cell]) -> dict[str, float | None]:
    return {sample: cell.value for sample, cell in cells.items()}


def until_enough(
    stopping: Stopping, journal: RunWriter, planned: int, step: Callable[[Sequence[str]], Marks]
) -> StoppedRecord:
    """Do batches of samples in the drawn order until every model's difference is known well enough.

    Args:
        stopping: knows the order and what is enough.
        journal: keeps the order, so that a resumed run has the same.
        planned: samples that there would be without a rule.
        step: does the samples of a batch, or finds them done, and returns the marks of all that were done so far.

    Returns:
        What is to be said of the end (`results.stopping.words_of`).
    """
    order_row = next(iter(journal.rows(ORDER)), None)
    if order_row is not None:
        stopping.order = list(order_row.data["samples"])
    journal.add(ORDER, (0,), {"samples": stopping.order})
    journal.commit()
    done, marks = 0, dict[str, Mapping[str, Cell]]()
    for batch in stopping.batches():
        marks = dict(step(batch))
        done += len(batch)
        if stopping.is_enough(done, marks):
            break
    return stopping.record(done, planned, stopping.stands(done, marks))
