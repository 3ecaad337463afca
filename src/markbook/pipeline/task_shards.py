"""Measuring many answers in several processes: only plain values travel, and the order of the rows is kept."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markbook import plugins
from markbook.pipeline.task_metrics import Bound, together
from markbook.types import Attempt, Item, Measurement, Missing, MissingKind, Sample

MANY = 2_000
"""From so many answers on the workers' start is worth it."""
_MANY_BYTES = 1 << 19
_PIECE = 256

_Row = tuple[str, str, tuple[str, ...], str, int, str]
_Found = tuple[float | None, tuple[str, str] | None, dict[str, object]]


@contextlib.contextmanager
def workers(engine: str, count: int | None, answers: Path | None) -> Iterator[Executor | None]:
    """Yield where measuring may run; None for this process.

    The workers start at once and import while the caller still reads. A caller who names no number of workers gets
    none: fresh processes import the caller's script, which has to be written for that.

    Args:
        engine: of `markbook list engines`.
        count: how many workers.
        answers: the answers' file or folder; small ones are not worth a worker.
    """
    if count is None or (count == 1 and engine == "local") or not _is_large(answers):
        yield None
        return
    executor: Executor = plugins.create("engines", engine, workers=count)
    try:
        for _ in range(count):
            executor.submit(_warm)
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _is_large(answers: Path | None) -> bool:
    """Whether so many answers are likely, judged by size alone: nothing is read yet."""
    if answers is None:
        return False  # a model is asked first, and marking is quicker than any model
    if answers.is_file():
        return answers.stat().st_size >= _MANY_BYTES
    return answers.is_dir() and sum(each.stat().st_size for each in answers.glob("*") if each.is_file()) >= _MANY_BYTES


def _warm() -> None:
    """Import what the first piece will need."""
    import numpy  # noqa: F401, ICN001 - imported for its effect: it is the slowest part


def measure_items(bound: Sequence[Bound], items: Sequence[Item], executor: Executor | None) -> list[list[Measurement]]:
    """Return each metric's measurements of the items, in order, as one process would give them."""
    if executor is None or len(items) < MANY or not all(_travels(each) for each in bound):
        return together(bound, items)
    rows = [
        (
            item.sample.id,
            item.attempt.text,
            item.sample.references,
            item.attempt.model,
            item.attempt.index,
            str(item.sample.meta.get("context", "")),
        )
        for item in items
    ]
    chosen = list(bound)
    futures = [
        executor.submit(_measure_piece, chosen, rows[start : start + _PIECE]) for start in range(0, len(rows), _PIECE)
    ]
    found: list[list[Measurement]] = [[] for _ in bound]
    for piece, future in enumerate(futures):
        for column, each, values in zip(found, bound, future.result(), strict=True):
            for place, (value, missing, stats) in enumerate(values, piece * _PIECE):
                why = None if missing is None else Missing(MissingKind(missing[0]), missing[1])
                item = items[place]
                column.append(
                    Measurement(
                        each.metric.name,
                        value,
                        why,
                        sample_id=item.sample.id,
                        index=item.attempt.index,
                        model=item.attempt.model,
                        stats=MappingProxyType(stats),
                        signature=each.metric.signature,
                    )
                )
    return found


def _travels(bound: Bound) -> bool:
    """Whether a metric can be sent to a worker, and needs no more of a sample than what is sent."""
    if getattr(bound.metric, "whole_batch", False):
        return False
    try:
        pickle.dumps(bound)
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True


def _measure_piece(bound: list[Bound], rows: list[_Row]) -> list[list[_Found]]:
    """Measure a piece in a worker."""
    items = [
        Item(Sample(name, references=references, meta={"context": context}), Attempt(name, text, model, index))
        for name, text, references, model, index, context in rows
    ]
    return [[_plain(one) for one in column] for column in together(bound, items)]


def _plain(one: Any) -> _Found:
    missing = None if one.missing is None else (one.missing.kind.value, one.missing.detail)
    return one.value, missing, dict(one.stats)
