"""Quality gates in a test suite: `assert_marks` for pytest, or any other runner."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from markbook.text.format import format_interval, format_number

if TYPE_CHECKING:
    from markbook.results.leaderboard import Standing
    from markbook.store import Run


def assert_marks(
    run: Run | str | os.PathLike[str],
    *,
    at_least: float | Mapping[str, float] | None = None,
    metric: str | None = None,
    surely: bool = False,
    not_worse_than: Run | str | os.PathLike[str] | None = None,
) -> None:
    """Fail unless a finished run's marks are good enough.

    Args:
        run: a run or its folder.
        at_least: what every model's mean must reach, or the threshold by model or metric; in the metric's range (0..1). Where
            lower is better it is what must not be exceeded.
        metric: which metric, where the run has several.
        surely: hold the near end of the interval against the threshold instead of the mean: a run too small to be
            sure then fails.
        not_worse_than: a baseline run of the same models on the same samples; fails only if the whole interval of a
            difference lies on the worse side.

    Raises:
        AssertionError: a mark is missing or not good enough; the message has them all.
        DataError: the run is not finished or cannot be read.
        UsageError: a threshold names neither a model of the run nor its metric, or lies outside the metric's range.
    """
    __tracebackhide__ = True
    from markbook.results.compare import read_sheets
    from markbook.results.gates import Gate, GateMark, check_gates
    from markbook.results.leaderboard import standings

    failed: list[str] = []
    if at_least is not None:
        sheet = read_sheets([run], metric=metric)
        by_model, limits = {standing.model: standing for standing in standings(sheet)}, sheet.range
        thresholds = dict(at_least) if isinstance(at_least, Mapping) else dict.fromkeys(by_model, at_least)
        marks = [
            GateMark(model, (model, standing.summary.metric), range=limits, direction=standing.summary.direction)
            for model, standing in by_model.items()
        ]
        check_gates([Gate(model, threshold) for model, threshold in thresholds.items()], marks)
        for name, threshold in thresholds.items():
            for model in by_model if name not in by_model else [name]:
                failed += _below(by_model[model], threshold, surely=surely)
    if not_worse_than is not None:
        from markbook.errors import GateFailed
        from markbook.results.compare import baseline_pairs
        from markbook.results.comparison import compare_sheet
        from markbook.results.gates import check_worse

        both = read_sheets([run, not_worse_than], metric=metric)
        try:
            check_worse(compare_sheet(both), baseline_pairs(both, str(not_worse_than), last_run=1))
        except GateFailed as error:
            failed.append(error.message)
    if failed:
        raise AssertionError("\n".join(failed))


def _below(standing: Standing, threshold: float, *, surely: bool) -> list[str]:
    """Return what is wrong with a mark, nothing if it is good enough."""
    from markbook.results.gates import reaches

    summary = standing.summary
    higher = summary.direction == "higher"
    interval = summary.interval
    bound = summary.value
    if surely:
        bound = None if interval is None else interval.low if higher else interval.high
    if reaches(bound, threshold, summary.direction):
        return []
    value = "missing" if summary.value is None else format_number(summary.value, 3)
    span = f" {format_interval(interval.low, interval.high, 3)}" if interval else " (no interval)"
    word = "at least" if higher else "at most"
    why = f"; {summary.note}" if summary.note else ""
    sure = "surely " if surely else ""
    return [
        f"{standing.model}: {summary.metric} is {value}{span} over {summary.n}, wanted {sure}{word} {threshold:g}{why}"
    ]
