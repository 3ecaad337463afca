"""One program, started by exec under every wall, watched, and ended with all that it started."""

from __future__ import annotations

import math
import os
import resource
import select
import time

from . import scratch
from .walls import isolation, landlock, linux, sharing

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

    from .file_transfer import StreamRelay
    from .walls.seccomp import SyscallFilter
else:
    import _signal as signal

_FIRST_LOOK, _LAST_LOOK = 0.02, 0.2
"""Seconds between two looks at what the processes of a program use: few at first, then longer."""
_CLOSED_SECONDS = 0.1
"""For so long who has closed what it prints to may yet be about to end."""
_OPEN_FILES = 1024
_CHUNK = 1 << 16
_OWN_PROCESSES = 2
"""Those of a worker that run as the programs' user: its first one, and the one that forks."""
_ERRORS_KEPT = 1 << 16
"""Bytes of standard error that are given back; all of it counts as output."""


# What the processes of a program use, as the kernel says it of those that are there, and of those that were.

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ROUNDED = 2
"""Ticks that may be missing from what the kernel says of one process."""

Process = tuple[int, int]
"""Its number and when it began."""


class Usage:
    """What the processes of one group have used since it was made, looked at from time to time."""

    def __init__(self) -> None:
        self._before = _measure_children()
        self._last: dict[Process, tuple[int, int]] = {}
        """Faults and ticks of those that were there at the last look, without what their children had."""
        self._faults = self._ticks = 0
        """The same of all that were gone by the last look."""
        self.cpu = 0.0
        """Seconds of all processes."""
        self.tasks = 0
        self.resident = 0
        """Bytes that they hold now, what several share as often as they do."""
        self.shared = 0
        """Bytes of that which may be shared."""
        self.is_incomplete = False
        """Whether a process has ended whose time was added to nobody's: its parent had said that it does not wait."""

    def look(self, group: int, *, shares: bool) -> None:
        """Take in what there is now; `shares`: also what is shared."""
        processes: dict[Process, tuple[int, int]] = {}
        faults = ticks = self.tasks = pages = self.shared = 0
        running = 0
        for number, fields in _processes(group):
            own = sum(map(int, fields[11:13]))
            children = sum(map(int, fields[13:15]))
            # with its start, because the number of a process that has ended is given to another one
            processes[number, int(fields[19])] = int(fields[7]), own
            faults += int(fields[8])
            ticks += children
            running += own
            self.tasks += int(fields[17])
            pages += int(fields[21])
            if not shares:
                continue
            try:  # what is resident, and neither its own nor a file's
                with open(f"/proc/{number}/status", "rb") as file:
                    line = file.read().partition(b"\nRssShmem:")[2]
            except OSError:
                continue
            self.shared += int(line.split(maxsplit=1)[0]) << 10 if line else 0
        self.resident = pages * _PAGE
        ended_faults, ended = self._measure_ended()
        self.cpu = ended + ((running + ticks) / _TICKS if processes else _measure_first(group))
        self._compare(faults + ended_faults, ticks + ended * _TICKS + _ROUNDED * (len(processes) + 1))
        for process, (its_faults, its_ticks) in self._last.items():
            if process not in processes:
                self._faults += its_faults
                self._ticks += its_ticks
        self._last = processes

    def end(self) -> None:
        """Take in that no process is there any more."""
        faults, self.cpu = self._measure_ended()
        self._faults += sum(its for its, _ in self._last.values())
        self._ticks += sum(its for _, its in self._last.values())
        self._last = {}
        self._compare(faults, self.cpu * _TICKS + _ROUNDED)

    def _compare(self, faults: int, ticks: float) -> None:
        """Compare those that have gone with what was added to their parents.

        A parent has its child's faults, of which every forked one has some, exactly, and its time rounded. It has them
        before the child's number is gone, and parents are looked at behind their children: nothing is missed on the way.
        """
        self.is_incomplete = self.is_incomplete or self._faults > faults or self._ticks > ticks

    def _measure_ended(self) -> tuple[int, float]:
        now = _measure_children()
        return now[0] - self._before[0], now[1] - self._before[1]


def _measure_children() -> tuple[int, float]:
    """Return faults and CPU seconds of what this process has started and has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_minflt, usage.ru_utime + usage.ru_stime


def _processes(group: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield number and status of the processes of a group, the youngest first."""
    try:
        numbers = sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True)
    except OSError:
        return
    for number in numbers:
        try:
            with open(f"/proc/{number}/stat", "rb") as file:
                # after the name, which may hold brackets itself: the first field here is the third of proc(5)
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            yield number, fields


def _measure_first(group: int) -> float:
    """Return the CPU seconds of the first process of a group, where procfs is missing."""
    try:
        # the clock of another process's CPU time, as clock_getcpuclockid(3) makes its number
        return time.clock_gettime((~group << 3) | 2)
    except OSError:
        return 0.0


def tasks_of_user() -> int:
    """Return how many processes and threads the user of this process has."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                # a folder has two links and one more for each folder in it, which here is one for each thread
                count += os.stat(f"/proc/{name}/task").st_nlink - 2
        except OSError:
            continue
    return count


# Places and programs.


class Place:
    """Where programs of one worker run, and behind what."""

    def __init__(self, folder: str, *, private: bool, owner: bool) -> None:
        """Make the folders.

        Args:
            folder: the folder that an attempt may write to.
            private: whether it is the worker's own file system, in a namespace in which this process is the first.
            owner: whether processes of this user are this worker's alone, as the kernel counts them.
        """
        self.build = os.path.join(folder, "build")
        self.work = os.path.join(folder, "work")
        self.private = private
        self.owner = owner
        self.rules: dict[bool, int] = {}
        """Descriptors of what may be reached while building, and while running; empty without landlock."""
        self.filter: SyscallFilter | None = None
        for path in (self.build, self.work):
            os.makedirs(path, mode=0o700, exist_ok=True)

    def confine(self, *, builds: bool) -> None:
        """Put the calling process behind the walls, for good."""
        if self.rules:
            landlock.enter(self.rules[builds])
        if self.filter is not None:
            self.filter.install(os.getpid())

    def fill_in(self, argument: str) -> str:
        """Return a word of a command with the folders' names in it; a path of the machine's is where it is found here."""
        if self.private and argument.startswith("/"):
            argument = isolation.inside(argument)
        return argument.replace("{build}", self.build).replace("{work}", self.work)


class CommandSpec:
    """What is to be executed, as the host says it."""

    def __init__(self, record: dict[str, Any], folders: Place) -> None:
        self.argv = [folders.fill_in(word) for word in record["argv"]]
        self.environment = {name: folders.fill_in(value) for name, value in record["environment"].items()}
        self.builds: bool = record["builds"]
        self.stdin = record["stdin"].encode("latin-1")
        limits = record["limits"]
        self.cpu, self.sleeping, self.busy = limits[:3]
        self.memory, self.file, self.processes, self.output = limits[3:]


class Execution:
    """A phase under way."""

    def __init__(
        self, phase: CommandSpec, folders: Place, note: Callable[[int], None], link: StreamRelay | None = None
    ) -> None:
        """Prepare; `note` is told the number of the process that is started, `link` is what it reads from and writes to."""
        self._link = link
        self._phase = phase
        self._place = folders
        self._note = note
        self._hit = ""
        self._status: int | None = None
        self._peak = 0
        self._seen: dict[int, bytearray] = {}
        self._printed = 0
        self._usage = Usage()
        self._account = sharing.SharedGrants(phase.memory) if folders.filter is not None else None

    def run(self) -> dict[str, Any]:
        """Execute and return what became of it."""
        started = time.monotonic()
        link = self._link
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        fault, fault_end = os.pipe()
        if link is not None:
            stdin = link.reader
        elif not self._phase.stdin:
            stdin = os.open(os.devnull, os.O_RDONLY)
        else:  # a file of its own: its size is known, and the program may go back in it
            stdin = os.memfd_create("stdin")
            view = memoryview(self._phase.stdin)
            while view:
                view = view[os.write(stdin, view) :]
            os.lseek(stdin, 0, os.SEEK_SET)
        self._pid = os.fork()
        if self._pid == 0:
            _become(self._phase, self._place, (stdin, out_end, err_end), fault_end, self._account)
        self._note(self._pid)
        for descriptor in (stdin, out_end, err_end, fault_end):
            os.close(descriptor)
        if self._account is not None:
            self._account.listen()
        self._seen = {out: bytearray(), err: bytearray()}
        try:
            self._watch(started)
            ended = time.monotonic()
            self.end()
            # only now: what lived on could have printed further, and what was printed before is in the pipes still
            for descriptor in self._seen:
                while self._take(descriptor):
                    pass
            if link is not None and not self._hit:  # what a limit ended has lost, whatever the other says of the rest
                link.flush(self._seen[out], self._phase.busy)
            refused = os.read(fault, 200).decode("utf-8", "replace")
        finally:
            for descriptor in (out, err, fault):
                os.close(descriptor)
            if self._account is not None:
                self._account.close()
        self._usage.end()
        spent = self._spent(ended - started)
        record = {"cpu": spent, "wall": ended - started, "ended": ended, "memory": self._peak, "refused": refused}
        return {**record, **self._report_end(self._seen[out], self._seen[err], spent)}

    def _report_end(self, out: bytearray, err: bytearray, spent: float) -> dict[str, Any]:
        """Return how it ended and what it printed."""
        status = self._status or 0
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        return {
            "exit": None if number else os.WEXITSTATUS(status),
            "signal": number,
            "hit": self._hit or self._by_signal(number, spent),
            "out": out[: self._phase.output].decode("latin-1"),
            "err": err[:_ERRORS_KEPT].decode("latin-1"),
        }

    def _by_signal(self, number: int, spent: float) -> str:
        if number == signal.SIGXFSZ:
            return "file"
        # with no soft limit below the hard one the kernel ends who has used up its time by SIGKILL
        late = number == signal.SIGKILL or self._usage.is_incomplete
        if number == signal.SIGXCPU or (late and spent >= self._phase.cpu):
            return "cpu"
        if not self._place.private and scratch.is_full(os.path.dirname(self._place.work)):
            return "file"
        return ""

    def _watch(self, started: float) -> None:
        """Read what is printed until the program ends or a limit is hit."""
        handle = os.pidfd_open(self._pid)
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        for descriptor in self._seen:
            os.set_blocking(descriptor, False)
            poll.register(descriptor, select.POLLIN)
        if self._link is not None:
            poll.register(self._link.stop, select.POLLIN)
        account = self._account
        if account is not None and account.listener >= 0:
            poll.register(account.listener, select.POLLIN)
        look = _FIRST_LOOK
        following = started + look
        try:
            while not self._hit:
                ready = [descriptor for descriptor, _ in poll.poll(max(1.0, 1000 * (following - time.monotonic())))]
                closed = [descriptor for descriptor in ready if descriptor in self._seen and not self._take(descriptor)]
                for descriptor in closed:
                    # closed at the other end it would be ready every time
                    poll.unregister(descriptor)
                if handle in ready:
                    return
                if account is not None and account.listener in ready:
                    account.answer(self._tasks)
                if self._link is not None:
                    self._pass_on(self._link, poll, ready, closed)
                now = time.monotonic()
                if now >= following:
                    self._hit = self._hit or self._look(now - started)
                    look = min(_LAST_LOOK, 2 * look)
                    following = now + look
        finally:
            os.close(handle)

    def _pass_on(self, link: StreamRelay, poll: select.poll, ready: list[int], closed: list[int]) -> None:
        """Give what was printed to the program that this one is joined to, as far as that takes it now."""
        if link.stop in ready:
            self._hit = "stopped"
        out = next(iter(self._seen))
        link.forward(self._seen[out])
        if out in closed:
            link.closed = time.monotonic()
        if self._seen[out]:
            poll.register(link.writer, select.POLLOUT)
        elif link.writer in ready:
            poll.unregister(link.writer)
        if link.closed and not self._seen[out] and time.monotonic() - link.closed > _CLOSED_SECONDS:
            link.shut()  # it lives on and prints no more

    def _take(self, descriptor: int) -> bool:
        """Read what has arrived; False when there is nothing now, or nothing any more."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        room = max(0, self._phase.output - self._printed)  # how much more was read depends on luck
        self._printed += len(data)
        self._seen[descriptor] += data[:room]
        if self._printed > self._phase.output:
            self._hit = self._hit or "output"
            return False
        return bool(data)

    def _tasks(self) -> int:
        return self._take_in().tasks

    def _take_in(self) -> Usage:
        """Return what is used now."""
        self._usage.look(self._pid, shares=self._account is not None and self._account.granted > 0)
        return self._usage

    def _spent(self, wall: float) -> float:
        """Return the CPU seconds by now; where some were hidden, those that there may have been."""
        return max(self._usage.cpu, wall) if self._usage.is_incomplete else self._usage.cpu

    def _look(self, wall: float) -> str:
        """Return the limit that is hit by now, empty if none."""
        self._reap(os.WNOHANG)
        usage_now = self._take_in()
        spent = self._spent(wall)
        memory = usage_now.resident
        if self._account is not None:  # what was granted may be held by nobody's page table
            memory += max(0, self._account.granted - usage_now.shared)
        self._peak = max(self._peak, memory)
        phase = self._phase
        if spent >= phase.cpu:
            return "cpu"
        # one that waits for the processor rather than sleeping is given the longer limit
        if wall >= phase.busy or (wall >= phase.sleeping and spent < wall * 0.05):
            return "wall"
        if memory > phase.memory:
            return "memory"
        if usage_now.tasks >= phase.processes:
            return "processes"
        if not self._place.private and scratch.is_full(os.path.dirname(self._place.work)):
            return "file"
        return ""

    def end(self) -> None:
        """End whatever runs: nobody can leave the group."""
        try:  # noqa: SIM105 - `contextlib` is not needed for anything else here
            os.killpg(self._pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        if self._place.private:
            try:  # noqa: SIM105 - as above
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._reap(0)

    def _reap(self, how: int) -> None:
        try:
            while True:
                pid, status, usage = os.wait4(-1, how)
                if pid == 0:
                    return
                self._peak = max(self._peak, usage.ru_maxrss << 10)
                if pid == self._pid:
                    self._status = status
        except ChildProcessError:
            return


def _become(
    phase: CommandSpec, folders: Place, standard: tuple[int, int, int], fault: int, account: sharing.SharedGrants | None
) -> NoReturn:
    """Turn the calling process, a child, into the program."""
    try:
        os.setpgid(0, 0)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            # what the worker ignores would be ignored by the program too: that outlives an exec
            signal.signal(number, signal.SIG_DFL)
        for place_of, descriptor in enumerate(standard):
            os.dup2(descriptor, place_of)
        os.chdir(folders.build if phase.builds else folders.work)
        os.umask(0o077)
        # Set hard limits: the kernel's own ends of what is looked at from time to time
        # Many kernels count this limit by sampled ticks, a quarter more than was used where a machine is busy: it may only
        # end what nobody looks at any more, for a look tells the time that was used.
        cpu = math.ceil(2 * phase.cpu) + 5
        limits = [
            (resource.RLIMIT_CPU, cpu),
            (resource.RLIMIT_DATA, phase.memory),
            (resource.RLIMIT_FSIZE, phase.file),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, _OPEN_FILES),
            (resource.RLIMIT_MEMLOCK, 1 << 16),
        ]
        # the kernel counts by user: where that is not one of the worker's own, what else he runs is counted too
        others = _OWN_PROCESSES if folders.owner else tasks_of_user()
        limits.append((resource.RLIMIT_NPROC, others + phase.processes))
        for kind, value in limits:
            hard = resource.getrlimit(kind)[1]
            allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (allowed, allowed))
        if account is not None:
            account.enter()
        # last, since behind the walls not all of this is allowed any more
        folders.confine(builds=phase.builds)
        os.execve(phase.argv[0], phase.argv, phase.environment)  # noqa: S606 - without one, that is the point
    except BaseException as error:
        # an exec that succeeds closes this pipe, so it stays empty
        os.write(fault, f"{phase.argv[0]}: {error}".encode("utf-8", "replace"))
    os._exit(127)
