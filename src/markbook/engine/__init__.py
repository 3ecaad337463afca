"""Where work runs: a factory of `concurrent.futures.Executor`. No other code starts workers."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import Any, TypeVar

from markbook import plugins
from markbook.errors import ConfigError, IncompleteError
from markbook.installed import count_processors

_T = TypeVar("_T")


def local(workers: int | None = None, *, with_caller: bool = False) -> Executor:
    """Return an executor on this machine: worker processes, or this very process for one worker.

    The workers are fresh interpreters (`spawn`), so threads and open files of this process never reach them; a
    script that uses them needs the usual `if __name__ == "__main__":`.

    Args:
        workers: how many; None means one for each CPU that this process may use.
        with_caller: the caller is one of them: it takes back what no process has begun (`Future.cancel`) and does it
            itself, so one process fewer is started.

    Raises:
        ConfigError: fewer than one worker.
    """
    if workers is None:
        workers = count_processors()
    if workers < 1:
        raise ConfigError(f"{workers} workers can do no work", hint="--workers 1 or more")
    if workers == 1:
        return Inline()
    from concurrent.futures import ProcessPoolExecutor  # late: it loads multiprocessing, and most runs have one worker
    from multiprocessing import get_context

    workers -= with_caller
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent)


@contextmanager
def deaf() -> Iterator[None]:
    """Let the processes that are started inside ignore Ctrl-C, which the terminal sends to all: their parent ends them."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_workers(executor: Executor) -> None:
    """End the processes of a local executor, whatever they are at: it may take them minutes."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    for process in processes:
        process.terminate()
    executor.shutdown(wait=bool(processes), cancel_futures=True)


def _end_with_parent() -> None:
    """Let this worker end when the process that started it does, also where that was killed.

    A killed parent closes nothing properly: without this, workers would wait for their next work for ever.
    """
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, name="markbook-parent", daemon=True).start()


class Inline(Executor):
    """An executor that does the work when it is submitted, in the caller's thread."""

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """Call the function now and return its finished future."""
        future: Future[_T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - an executor hands every error on to whoever asks for the result
            future.set_exception(error)
        return future


# Handing work to an engine other than this process, and getting the results back in order.

_IN_FLIGHT = 64
"""Calls given to the engine at a time; memory does not grow beyond them."""


@contextmanager
def other_engine(name: str, workers: int | None) -> Iterator[Executor | None]:
    """Yield the executor of an engine, None for the local one: then this process does the work.

    Raises:
        UsageError: the engine is unknown.
        ExtraMissingError: its package is not installed.
        IncompleteError: its workers were lost.
    """
    if name == "local":
        yield None
        return
    with open_engine(name, workers) as executor:
        yield executor


@contextmanager
def open_engine(name: str, workers: int | None) -> Iterator[Executor]:
    """Yield the executor of an engine, raising as `other_engine` does."""
    executor: Executor = plugins.create_typed("engines", name, workers=workers)
    with lost_workers():
        try:
            yield executor
        except BaseException:
            end_workers(executor)  # what still runs is of no use to anybody
            raise
        executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def lost_workers() -> Iterator[None]:
    """Turn the loss of worker processes into what it is for the user: an incomplete run."""
    try:
        yield
    except BrokenExecutor as error:
        raise IncompleteError(f"a worker was lost: {error}", hint="continue with --resume") from error


def in_order(executor: Executor, function: Callable[..., _T], calls: Iterable[tuple[Any, ...]]) -> Iterator[_T]:
    """Yield the results of the calls in their order; a bounded number is under way at a time."""
    flying: deque[Future[_T]] = deque()
    for arguments in calls:
        flying.append(executor.submit(function, *arguments))
        if len(flying) >= _IN_FLIGHT:
            yield flying.popleft().result()
    while flying:
        yield flying.popleft().result()
