"""One worker as the controller holds it: started, fed, read, and replaced when anything about it surprises."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from markbook.errors import EnvironmentUnfitError, UsageError
from markbook.installed import count_processors
from markbook.sandbox.guest import scratch, wire
from markbook.sandbox.guest.walls.isolation import SCRATCH
from markbook.sandbox.job import PRELOADED
from markbook.types import Isolation

if TYPE_CHECKING:
    from markbook.sandbox.guest.wire_records import Hello, WorkerAnswer, WorkerSettings


_log = logging.getLogger(__name__)

HERE = Path(__file__).parent
_TESTS = "-tests"
"""What is added to the name of the folder of attempts for that of tests, where they write to one outside."""
START_SECONDS = 20.0
"""How long a worker may take to say hello; it takes a tenth of a second."""
_BOOT = "import gc, sys; gc.disable(); sys.path.insert(0, sys.argv.pop(2)); from guest.{} import main; main()"


_PREFIX = "markbook-worker-"
_SETTLED = 60.0
"""Seconds after which a scratch folder that nobody claims is nobody's: it is claimed right after it was made."""
_OLDEST = (3, 11)
"""The oldest Python that runs what lies in `guest`."""


class WorkerLost(Exception):
    """The worker is gone, or said something that it never says."""


class InterpreterFacts(TypedDict):
    """What an interpreter says of itself."""

    path: list[str]
    prefix: str
    stdlib: list[str]
    version: str
    release: list[int]


class Stopped(Exception):
    """Whoever asked for the outcomes does not want them any more; what ran was ended."""


class Interpreter:
    """The Python that runs the candidates, and the folders that it needs."""

    def __init__(self, python: Path | None = None) -> None:
        self.python = str(python or sys.executable)
        if python is None:
            printed: list[str] = []
            exec(_ASK, {"print": printed.append})  # noqa: S102 - our own few lines, the same that another one is asked
            self.facts: InterpreterFacts = json.loads(printed[0])
        else:
            self.facts = self._ask_interpreter()

    def _ask_interpreter(self) -> InterpreterFacts:
        """Return what the interpreter says of itself; UsageError if it is none, or too old."""
        try:
            completed = subprocess.run(
                [self.python, "-c", _ASK], capture_output=True, text=True, timeout=60, check=True
            )
            facts: InterpreterFacts = json.loads(completed.stdout)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise UsageError(
                f"{self.python} cannot be run as a Python: {error}", hint="--python wants one such as .venv/bin/python"
            ) from None
        if tuple(facts["release"]) < _OLDEST:
            has, wants = (".".join(map(str, release)) for release in (facts["release"], _OLDEST))
            raise UsageError(f"{self.python} is Python {has}", hint=f"a worker needs {wants} or newer")
        return facts

    @property
    def path(self) -> list[str]:
        """The module search path of a candidate: the standard library and installed packages, nothing of the user's."""
        return self.facts["path"]


_ASK = (
    "import json, os, sys, sysconfig\n"
    "keep = ('site-packages', 'dist-packages')\n"
    "own = [p for p in sys.path if os.path.basename(p) in keep and os.path.isdir(p)]\n"
    "std = [sysconfig.get_path('stdlib'), os.path.join(sysconfig.get_path('stdlib'), 'lib-dynload')]\n"
    "std = [p for p in dict.fromkeys(std + [sysconfig.get_path('platstdlib')]) if os.path.isdir(p)]\n"
    "print(json.dumps({'path': std + [p for p in own if p not in std], 'prefix': sys.base_prefix,"
    " 'version': sys.version, 'release': sys.version_info[:2], 'stdlib': std}))\n"
)


_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "HOME": SCRATCH,
    "TMPDIR": SCRATCH,
    "PATH": "/usr/bin:/bin",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
"""Nothing of the user's: what a solution does is to depend neither on it nor on how many processors there are."""
_PLAINLY = ("-s", "-S", "-P", "-X", "no_debug_ranges")
"""No packages, no folder of its own; and no columns in code, whose widths would tell what stood there before it was made wrong."""


def _remove_scratch(folder: str) -> None:
    """Remove a scratch folder, and what tests could write to beside it first; OSError if that cannot be done."""
    for path in (Path(folder + _TESTS), Path(folder)):
        if os.path.lexists(path):
            scratch.empty(str(path))
            path.rmdir()


@cache
def sweep_scratch() -> None:
    """Remove, once a process, the scratch folders of processes of this user that were killed."""
    import fcntl  # only here, as above

    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if folder.name.endswith(_TESTS):
            continue  # it goes with the folder that it belongs to, which is the one that is claimed
        try:
            entry = folder.lstat()
            if os.getuid() not in (0, entry.st_uid) or time.time() - entry.st_mtime < _SETTLED:
                continue
            claim = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            # a lock goes with its holder, however that ended: what can be locked is nobody's
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_scratch(str(folder))
        except OSError:
            continue  # it is claimed, or holds what cannot be removed
        finally:
            os.close(claim)


class Worker:
    """One supervised pair of examiner and zygote."""

    def __init__(
        self,
        interpreter: Interpreter,
        level: Isolation,
        *,
        number: int,
        processor: int | None,
        main: str = "supervisor",
        folders: Sequence[str] = (),
    ) -> None:
        """Start it; `main` is the module in `guest` that it is: of solutions in Python, or the `runner` of programs.

        It keeps to one processor and tries for the level of isolation; `folders` is what programs may read and run.
        """
        self.number = number
        self.jobs: list[Any] = []
        """What it has been given and not answered, oldest first."""
        self.group: tuple[str, str | None] | None = None
        """The task and the model whose attempts its examiner has been given; no model if it has only calibrated."""
        self.has_mixed = False
        """Whether a test has run in a solution's process since its examiner began."""
        self.weight = 0
        """How heavy the modules are that it has loaded; see `job.preload`."""
        self.since = time.monotonic()
        """When the oldest of them was begun."""
        self.hello: Hello = {}
        self.alarmed = False
        """Whether, now that it has ended, its examiner was ended for the processor time that it used."""
        import fcntl  # only here: this module is imported on systems without it

        sweep_scratch()
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        claim = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        # held as long as this process lives, however it ends: `sweep_scratch` removes only what it can lock
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._scratch, self._claim = folder, claim
        self.sock = self._door = self._start(interpreter, main, str(level), processor, list(folders))
        """Where it is given jobs: where its process is, of which each examiner gets another one."""
        self.sock.setblocking(False)
        self._buffer = memoryview(bytearray(wire.CHUNK))
        self._stream = wire.Stream(self.sock, self._buffer)

    def _start(
        self, interpreter: Interpreter, main: str, level: str, processor: int | None, folders: list[str]
    ) -> socket.socket:
        """Start the process, and return our end of the pipe to it."""
        ours, theirs = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        config: WorkerSettings = {
            "control": theirs.fileno(),
            "lifeline": lifeline,
            "level": level,
            "scratch": self._scratch,
            "path": interpreter.path,
            "prefix": interpreter.facts["prefix"],
            "stdlib": interpreter.facts["stdlib"],
            "processor": processor,
            "folders": folders,
            "tests_scratch": self._scratch + _TESTS,
            "modules": PRELOADED,
        }
        try:
            self._process = subprocess.Popen(
                [interpreter.python, *_PLAINLY, "-c", _BOOT.format(main), json.dumps(config), str(HERE)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("MARKBOOK_SANDBOX_DEBUG") else subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), lifeline),
                env=_ENVIRONMENT | ({"PYTHONDONTWRITEBYTECODE": "1"} if sys.dont_write_bytecode else {}),
                # in a session of its own, so that Ctrl-C at the terminal reaches only us: the lifeline ends the worker
                start_new_session=True,
            )
        except OSError as error:  # no process can be made now, or the interpreter has gone
            ours.close()
            os.close(self._lifeline)
            Path(self._scratch).rmdir()
            os.close(self._claim)
            raise EnvironmentUnfitError(
                f"a worker of the sandbox cannot be started: {error}", hint="--resume goes on with a run"
            ) from None
        finally:
            theirs.close()
            os.close(lifeline)
        return ours

    @property
    def is_fresh(self) -> bool:
        """Whether nothing was ever examined by it."""
        return self.sock is self._door

    @property
    def pid(self) -> int:
        """The process id of the supervisor."""
        return self._process.pid

    def greet(self) -> Hello:
        """Wait for the hello, which says what isolation was reached.

        Raises:
            WorkerLost: it did not come.
        """
        self.sock.settimeout(START_SECONDS)
        try:
            hello = self._stream.next()
        except (OSError, wire.Gone) as error:
            raise WorkerLost(str(error)) from None
        finally:
            self.sock.setblocking(False)
        if hello is None or not hello.get("hello"):
            raise WorkerLost("it ended before it was ready")
        self.hello = cast("Hello", hello)
        return self.hello

    def examine_anew(self, modules: Sequence[str] = ()) -> None:
        """Have the jobs from here on examined by a process that knows of none before, after loading these modules.

        Raises:
            WorkerLost: it is gone.
        """
        ours, theirs = socket.socketpair()
        self.group, self.has_mixed, last = None, False, self.sock
        try:
            # a descriptor needs at least one byte to travel with, so no modules are a comma
            socket.send_fds(self._door, [",".join(modules).encode("ascii") or b","], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise WorkerLost(str(error)) from None
        finally:
            theirs.close()
        ours.setblocking(False)
        self.sock, self._stream = ours, wire.Stream(ours, self._buffer)
        # the door stays open: every later examiner is asked for through it
        if last is not self._door:
            last.close()

    def give(self, job: Any, record: dict[str, object]) -> None:
        """Send a job.

        Raises:
            WorkerLost: it is gone.
        """
        if not self.jobs:
            self.since = time.monotonic()
        self.jobs.append(job)
        self.sock.settimeout(START_SECONDS)
        try:
            wire.write(self.sock, record)
        except wire.Gone as error:
            raise WorkerLost(str(error)) from None
        finally:
            self.sock.setblocking(False)

    def read(self) -> list[WorkerAnswer]:
        """Return the answers that have arrived.

        Raises:
            WorkerLost: it is gone, or what it sent is not an answer.
        """
        alive = self._stream.feed()
        try:
            answers = cast("list[WorkerAnswer]", self._stream.records())
        except wire.Gone as error:
            raise WorkerLost(str(error)) from None
        # what was answered before the end still counts; the next read finds nothing and says so
        if not alive and not answers:
            raise WorkerLost("closed")
        return answers

    def close(self) -> None:
        """End the worker and everything in it, and remove its scratch folder."""
        self.sock.close()
        self._door.close()
        # the supervisor watches the other end of this pipe: closing it ends all that runs in the worker
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        try:
            self.alarmed = self._process.wait(2) == signal.SIGVTALRM
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        try:
            _remove_scratch(self._scratch)
        except Exception as error:  # noqa: BLE001 - the border of what candidates made: it must not end the run
            _log.warning("the folder %s of a worker could not be removed: %s", self._scratch, error)
        if self._claim >= 0:
            os.close(self._claim)
            self._claim = -1


# The workers of a sandbox: started at the best isolation that this machine allows, replaced, and ended.

_STARTS = 3
"""How often a worker is started that is to take another's place."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the isolation, as it was found by trying."""

    name: str
    ok: bool
    detail: str = ""
    """The errno and what was attempted, where it failed."""


class WorkerPool:
    """So many workers, at one level of isolation."""

    def __init__(
        self,
        *,
        count: int | None,
        isolation: Literal["auto", "strict", "weak"],
        interpreter: Interpreter,
        at_most: Isolation,
        pinned: bool,
        first: int = 0,
        main: str = "supervisor",
        folders: Sequence[str] = (),
    ) -> None:
        """Set up, starting nothing; the arguments are those of `Sandbox` and `Worker`."""
        self._main = main
        self._folders = folders
        self._processors = sorted(os.sched_getaffinity(0)) if pinned and hasattr(os, "sched_getaffinity") else []
        self._count = count or count_processors()
        self._first = first
        self._isolation = isolation
        self._interpreter = interpreter
        self._at_most = at_most
        self.workers: list[Worker] = []
        self.layers: list[Layer] = []
        self.level = self._target = Isolation.D

    @property
    def count(self) -> int:
        """How many workers there are to be."""
        return self._count

    @property
    def is_pinned(self) -> bool:
        """Whether each keeps to a processor."""
        return bool(self._processors)

    def begin(self, most: int | None = 1) -> None:
        """Let workers start while the caller prepares the work, at most so many of them; `start` waits for them."""
        if not self.workers:
            self._target = next(level for level in Isolation if level >= self._at_most)
            self._begin_all(self._count if most is None else min(self._count, most))

    def start(self, most: int | None = None) -> None:
        """Start the workers, at most so many; does nothing if they run.

        Raises:
            EnvironmentUnfitError: the isolation that this machine allows is below what was asked for.
        """
        if self.workers and self.workers[0].hello:
            return
        count = self._count if most is None else max(1, min(self._count, most))
        # from the best level down: the first at which the worker comes up and does not call itself unfit
        for level in (level for level in Isolation if level >= self._at_most):
            self._target = self.level = level
            self._begin_all(count)
            try:
                hello = self.workers[0].greet()
            except WorkerLost as error:
                hello = {"unfit": str(error), "layers": [{"name": "start", "ok": False, "detail": str(error)}]}
            self.layers = [Layer(layer["name"], layer["ok"], layer["detail"]) for layer in hello["layers"]]
            if "unfit" not in hello:
                break
            self.close()
        else:
            raise EnvironmentUnfitError("the sandbox's workers do not start", hint="markbook doctor says more")
        self.level = reduce_level(level, self.layers)
        least = {"strict": Isolation.A, "auto": Isolation.B, "weak": Isolation.D}[self._isolation]
        if self.level > least:
            failed = "; ".join(f"{layer.name} ({layer.detail})" for layer in self.layers if not layer.ok)
            self.close()
            raise EnvironmentUnfitError(
                f"isolation level {least} is wanted and this machine allows {self.level}: {failed or 'not Linux'}",
                hint="--isolation weak runs the code all the same; only for code that you trust",
            )
        # the others were started beside the first one, and each must reach what it reached
        try:
            for worker in self.workers[1:]:
                self._greet(worker)
        except WorkerLost as error:
            self.close()
            raise EnvironmentUnfitError(f"a worker of the sandbox does not start: {error}") from None

    def _begin_all(self, count: int) -> None:
        """Have so many workers start side by side."""
        try:
            while len(self.workers) < count:
                self.workers.append(self._worker(len(self.workers)))
        except EnvironmentUnfitError:
            self.close()
            raise

    def _greet(self, worker: Worker) -> None:
        """Wait for a worker that joins others, and refuse one that is less isolated than they are.

        Raises:
            EnvironmentUnfitError: it is; what it ran would be reported at a level that it does not have.
            WorkerLost: it does not start.
        """
        layers = [Layer(layer["name"], layer["ok"], layer["detail"]) for layer in worker.greet()["layers"]]
        level = reduce_level(self._target, layers)
        if level > self.level:
            self.close()
            lost = "; ".join(f"{layer.name} ({layer.detail})" for layer in layers if not layer.ok)
            raise EnvironmentUnfitError(
                f"a worker that takes another's place reaches isolation level {level}, where {self.level} was: {lost}",
                hint="markbook doctor says what this machine allows now; --resume goes on with the run",
            )

    def close(self) -> None:
        """End the workers and everything in them."""
        for worker in self.workers:
            worker.close()
        self.workers = []

    def replace(self, worker: Worker) -> Worker:
        """End a worker and return the one that takes its place.

        Raises:
            EnvironmentUnfitError: none starts, though it was tried again.
        """
        worker.close()
        index = self.workers.index(worker)
        for _ in range(_STARTS):
            replacement = self.workers[index] = self._worker(worker.number)
            try:
                self._greet(replacement)
            except WorkerLost as lost:
                replacement.close()
                error = lost
            else:
                return replacement
        self.close()
        raise EnvironmentUnfitError(f"a worker of the sandbox does not start any more: {error}")

    def _worker(self, number: int) -> Worker:
        processor = self._processors[(self._first + number) % len(self._processors)] if self._processors else None
        return Worker(
            self._interpreter, self._target, number=number, processor=processor, main=self._main, folders=self._folders
        )


def reduce_level(target: Isolation, layers: list[Layer]) -> Isolation:
    """Return the level that these layers amount to."""
    # a layer that does not apply here is in neither of the two
    good = {layer.name for layer in layers if layer.ok}
    bad = {layer.name for layer in layers if not layer.ok}
    if "seccomp" not in good or "limits" not in good or "self-test" in bad:
        return Isolation.D
    if good.isdisjoint(("landlock", "private root")):
        return Isolation.C
    layers_needed = {"namespaces", "private root", "landlock", "capabilities", "no new privileges"}
    return Isolation.A if target == Isolation.A and layers_needed <= good else Isolation.B
