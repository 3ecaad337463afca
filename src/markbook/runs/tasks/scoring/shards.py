"""Measuring many answers in several processes: only plain values travel, and the order of the rows is kept."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from markbook import plugins
from markbook.engine import deaf
from markbook.metrics.measure import measure_together
from markbook.runs.engines import lost_workers, other_engine
from markbook.runs.tasks.scoring import measuring as task_pieces
from markbook.runs.tasks.scoring.measuring import Found, Row, measure_piece, warm
from markbook.types import Item, Measurement, Metric

MANY = 2_000
"""From so many answers on further processes on this machine are worth their start."""
_MANY_BYTES = 1 << 19
_PIECE = 500
_NOTHING: MappingProxyType[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Workers:
    """Where work may run beside this process."""

    executor: Executor
    many: int
    """From so many answers on it is worth it."""
    is_local: bool
    """Whether the workers see this machine's files."""


@contextlib.contextmanager
def start_workers(engine: str, count: int | None, answers: Path | None) -> Iterator[Workers | None]:
    """Yield where measuring may run; None for this process.

    The workers start at once and import while the caller still reads. On this machine a caller who names no number
    of workers gets none: fresh processes import the caller's script, which has to be written for that.

    Args:
        engine: of `markbook list engines`.
        count: how many workers; on this machine the caller is one of them.
        answers: the answers' file or folder; small ones are not worth a process here.
    """
    if engine != "local":
        with other_engine(engine, count) as other:
            assert other is not None
            yield Workers(other, 1, is_local=False)
        return
    if count is None or count == 1 or not _is_large(answers):
        yield None
        return
    executor: Executor = plugins.create("engines", engine, workers=count, with_caller=True)
    try:
        with deaf():
            for _ in range(count - 1):
                executor.submit(warm)
        executor.submit(task_pieces.prepare_reports)  # while this process still reads
        with lost_workers():
            yield Workers(executor, MANY, is_local=True)
    except BaseException:
        executor.shutdown(cancel_futures=True)  # the pieces under way are short, and nothing is left behind
        raise
    executor.shutdown(wait=False, cancel_futures=True)


def _is_large(answers: Path | None) -> bool:
    """Whether so many answers are likely, judged by size alone: nothing is read yet."""
    if answers is None:
        return False  # a model is asked first, and marking is quicker than any model
    if answers.is_file():
        return answers.stat().st_size >= _MANY_BYTES
    return answers.is_dir() and sum(path.stat().st_size for path in answers.glob("*") if path.is_file()) >= _MANY_BYTES


def measure_items(metrics: Sequence[Metric], items: Sequence[Item], workers: Workers | None) -> list[list[Measurement]]:
    """Return each metric's measurements of the items, in order, as one process would give them.

    Args:
        metrics: what measures.
        items: what is measured.
        workers: where; None for this process.
    """
    if workers is None or len(items) < workers.many:
        return measure_together(metrics, items) if items else [[] for _ in metrics]
    away = [index for index, metric in enumerate(metrics) if _travels(metric)]
    measured: list[list[Measurement]] = [[] for _ in metrics]
    for index, column in zip(
        away, _in_pieces([metrics[index] for index in away], items, workers.executor), strict=True
    ):
        measured[index] = column
    here = [index for index in range(len(metrics)) if index not in away]
    for index, column in zip(here, measure_together([metrics[index] for index in here], items), strict=True):
        measured[index] = column
    return measured


def _in_pieces(metrics: Sequence[Metric], items: Sequence[Item], executor: Executor) -> list[list[Measurement]]:
    """Measure piece by piece in the workers; what none has begun when this process has nothing to do, it does."""
    pieces = [items[start : start + _PIECE] for start in range(0, len(items), _PIECE)]
    futures = [executor.submit(measure_piece, metrics, [_row(item) for item in piece]) for piece in pieces]
    own: dict[int, list[list[Measurement]]] = {}
    for index in range(len(pieces) - 1, -1, -1):
        if not futures[index].cancel():
            break
        own[index] = measure_together(metrics, pieces[index])
    measured: list[list[Measurement]] = [[] for _ in metrics]
    for index, piece in enumerate(pieces):
        if index in own:  # also where it is empty: without a metric that travels there are no columns
            columns = own[index]
        else:
            columns = [
                [_read(metric, item, plain) for item, plain in zip(piece, column, strict=True)]
                for metric, column in zip(metrics, futures[index].result(), strict=True)
            ]
        for column_measured, part in zip(measured, columns, strict=True):
            column_measured.extend(part)
    return measured


def _row(item: Item) -> Row:
    sample, attempt = item.sample, item.attempt
    return sample.id, attempt.text, sample.references, attempt.model, attempt.index, sample.context


def _read(metric: Metric, item: Item, plain: Found) -> Measurement:
    value, missing, stats, signature = plain
    return Measurement(
        metric.name,
        value,
        missing,
        sample_id=item.sample.id,
        index=item.attempt.index,
        model=item.attempt.model,
        stats=_NOTHING if stats is None else MappingProxyType(stats),
        signature=signature or metric.signature,
    )


def _travels(metric: Metric) -> bool:
    """Whether a metric can be sent to a worker, and needs no more of a sample than what is sent.

    A user's own metric may read any field of a sample, of which only some are sent.
    """
    if metric.whole_batch or not type(metric).__module__.startswith("markbook.metrics."):
        return False
    try:
        pickle.dumps(metric)
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True
