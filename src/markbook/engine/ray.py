"""Work on a Ray cluster: many machines, or processes of this one, behind the executor that all work goes through."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, TypeVar

from markbook.errors import ConfigError, IncompleteError
from markbook.plugins import need

_T = TypeVar("_T")

RETRIES = 3
"""How often Ray does a piece of work again whose worker or machine was lost. What the work itself raises is final."""
AHEAD = 4
"""Pieces given out for each processor: enough that none waits, few enough that what waits stays small."""


def ray(workers: int | None = None) -> Executor:
    """Return an executor on a Ray cluster.

    It joins the cluster that `RAY_ADDRESS` names, or that the program has joined already. Otherwise it starts one on
    this machine for as long as it lives, which takes orders only from who has its token, made for it alone. Ray's usage
    reports are switched off. The machines need the same Python and the same Markbook.

    Args:
        workers: how many pieces run at once; None means one for each processor of the cluster.

    Raises:
        ConfigError: fewer than one worker.
        ExtraMissingError: Ray is not installed.
        IncompleteError: the cluster cannot be joined or started.
    """
    if workers is not None and workers < 1:
        raise ConfigError(f"{workers} workers can do no work", hint="--workers 1 or more")
    # Say what Ray reads from the environment when it is imported; what the user has set stands
    variables = {"RAY_USAGE_STATS_ENABLED": "0"}
    # Ray warns otherwise that a later version will leave the accelerators of a task without any alone.
    variables["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    if not os.environ.get("RAY_ADDRESS") and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        # A cluster's ports are open to the network, and a task is any code.
        variables |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    for name, value in variables.items():
        os.environ.setdefault(name, value)
    package = need("ray", extra="ray")
    owned = not package.is_initialized()
    if owned:
        address = os.environ.get("RAY_ADDRESS", "")
        options: dict[str, Any] = {"address": address, "log_to_driver": False, "configure_logging": False}
        if not address:
            options |= {"address": "local", "include_dashboard": False}
            if workers is not None:
                options["num_cpus"] = workers
        before = signal.getsignal(signal.SIGTERM)
        try:
            package.init(**options)
        except (ConnectionError, OSError, RuntimeError, TimeoutError, ValueError) as error:
            raise IncompleteError(
                f"the Ray cluster cannot be joined: {error}", at=address, hint="is RAY_ADDRESS right?"
            ) from error
        finally:
            if before is not None and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, before)  # Ray puts its own in its place
    # a part of a processor, or none beside the machine that was joined, is room for one piece: none would wait for ever
    processors = max(1, int(package.cluster_resources().get("CPU", 1)))
    return RayExecutor(package, window=workers or AHEAD * processors, owned=owned)


class RayExecutor(Executor):
    """An executor whose work runs as Ray tasks, a bounded number of them at a time. Made by `ray`."""

    def __init__(self, package: Any, *, window: int, owned: bool) -> None:
        self._package = package
        self._task = package.remote(num_cpus=1, max_retries=RETRIES)(_call)
        self._window = window
        self._owned = owned
        self._lock = threading.Condition()
        self._waiting: deque[tuple[Future[Any], Callable[..., Any], Any, Any]] = deque()
        self._flying: dict[Future[Any], Any] = {}
        self._open = True

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """Have the function called on the cluster; the future cannot be cancelled."""
        future: Future[_T] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            if not self._open:
                raise RuntimeError("the executor was shut down")
            self._waiting.append((future, fn, args, kwargs))
        self._fill()
        return future

    def _fill(self) -> None:
        """Give out what waits, up to the window."""
        while True:
            with self._lock:
                if not self._waiting or len(self._flying) >= self._window:
                    return
                future, fn, args, kwargs = self._waiting.popleft()
                try:
                    reference = self._flying[future] = self._task.remote(fn, args, kwargs)
                except Exception as error:  # noqa: BLE001 - it cannot be sent, say: whoever waits for its result is told
                    future.set_exception(error)
                    continue
            reference.future().add_done_callback(lambda done, future=future: self._on_landing(future, done))

    def _on_landing(self, future: Future[Any], done: Future[Any]) -> None:
        error = done.exception()
        with self._lock:
            self._flying.pop(future, None)
            self._lock.notify_all()
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(self._cause(error))
        self._fill()

    def _cause(self, error: BaseException) -> BaseException:
        """Return what the work raised, or that Ray could not have it done."""
        if isinstance(error, self._package.exceptions.RayTaskError):
            cause: BaseException = getattr(error, "cause", error)
            return cause
        if isinstance(error, self._package.exceptions.RayError):
            lost = IncompleteError(f"a Ray worker was lost: {type(error).__name__}", hint="continue with --resume")
            lost.__cause__ = error
            return lost
        return error

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - the standard library's signature
        """Take no more work, and leave the cluster; one that was started here ends."""
        with self._lock:
            self._open = False
            dropped = list(self._waiting) if cancel_futures else []
            flying = list(self._flying.values()) if cancel_futures else []
            if cancel_futures:
                self._waiting.clear()
        for future, *_ in dropped:
            future.set_exception(CancelledError())
        for reference in flying:
            self._package.cancel(reference, force=True)
        if wait:
            with self._lock:
                self._lock.wait_for(lambda: not (self._flying or self._waiting))
        if self._owned and self._package.is_initialized():
            self._package.shutdown()


def _call(fn: Callable[..., _T], args: tuple[Any, ...], kwargs: dict[str, object]) -> _T:
    return fn(*args, **kwargs)
