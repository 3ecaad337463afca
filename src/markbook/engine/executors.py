"""Handing work to an engine other than this process, and getting the results back in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from typing import Any, TypeVar

from markbook import plugins
from markbook.errors import IncompleteError

_T = TypeVar("_T")

_IN_FLIGHT = 64
"""Calls given to the engine at a time; memory does not grow beyond them."""


@contextmanager
def other_engine(name: str, workers: int | None) -> Iterator[Executor | None]:
    """Yield the executor of an engine, None for the local one: then this process does the work.

    Raises:
        UsageError: there is no such engine.
        ExtraMissingError: its package is not installed.
        IncompleteError: its workers were lost.
    """
    if name == "local":
        yield None
        return
    executor: Executor = plugins.create_typed("engines", name, workers=workers)
    with lost_workers():
        try:
            yield executor
        finally:
            executor.shutdown(wait=False, cancel_futures=True)  # what still runs is of no use to anybody


@contextmanager
def lost_workers() -> Iterator[None]:
    """Turn the loss of worker processes into what it is for the user: an incomplete run."""
    try:
        yield
    except BrokenExecutor as error:
        raise IncompleteError(f"a worker was lost: {error}", hint="go on with --resume") from error


def in_order(executor: Executor, function: Callable[..., _T], calls: Iterable[tuple[Any, ...]]) -> Iterator[_T]:
    """Yield the results of the calls in their order; a bounded number is under way at a time."""
    flying: deque[Future[_T]] = deque()
    for arguments in calls:
        flying.append(executor.submit(function, *arguments))
        if len(flying) >= _IN_FLIGHT:
            yield flying.popleft().result()
    while flying:
        yield flying.popleft().result()
