"""The process that forks one child per attempt, limits it, and reports how it ended. Single-threaded; it holds no test.

Theory of operation. A request is one message: limits (`JOB`), names of modules to load first, and the descriptors of two
pipes, or four or five for a program that reads and writes. The zygote forks; the child takes the pipes and runs the solution
(`child`, `program`); the zygote closes its copies, waits, and answers with one `END` record: wait status, CPU and wall
seconds, and the limit that was hit. It then empties the scratch folder and is ready for the next.

Why it is safe: the child talks to the examiner over the pipes alone and closes the zygote's channels first, so it cannot
forge an `END` record. CPU time is read from the kernel, not from the child. Limits and filters are the zygote's own and are
inherited; a child cannot raise them. At level A the zygote is the first process of its namespace: what a child leaves
running is found and killed before the next attempt. What is open is opened anew for every attempt, since a shared file offset, flag or
lock would carry something from one to the next.

An examiner may be hostile. Each has a channel of its own, handed over by the process that forked it (`examination.pristine`).
A new channel ends what is under way on the old one. What is malformed is not a request; only modules that any solution may have
loaded are loaded; no descriptor of an examiner's stays here.

What an attempt costs is mostly memory pages: every page of this process that it or its child writes to after a fork is
copied, and counting a reference is writing. Hence few modules, few objects and straight functions here and in `child`.
"""

from __future__ import annotations

import _socket
import os
import resource
import select
import struct
import sys
import time

from . import child, program, scratch, side_channels, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Sequence
    from typing import NoReturn
else:
    import _signal as signal

JOB = struct.Struct("<dddqqq")
"""CPU seconds, wall seconds, wall seconds of one that keeps computing, memory, file size, processes.

A request may go on with the names of modules to load first, between commas.
"""
_REQUEST = 1024
ENDS = struct.Struct("ii")
"""The descriptors that come with a request: where a child reads, where it writes."""
STREAMS = struct.Struct("iiiii")
"""Those of a program that reads and writes: its code, its standard input, output and error, and where it hears of more tests.

The last is there only for one that may meet several (`program`)."""
END = struct.Struct("<idd4s")
"""Wait status, CPU seconds, wall seconds, the limit that was hit."""
STOP = b"end"
_LOOK = 0.1
"""Seconds after which the files of an attempt are counted where nothing else counts them, again and again."""
BLUR = b"blur"
"""Comes before a request: nothing of earlier attempts is to be recognised in this one."""

_BOUND = 1 << 62
"""More than any limit."""
_DESCRIPTOR = struct.Struct("i")
_READABLE, _KILL = select.POLLIN, int(signal.SIGKILL)

Limits = tuple[float, float, float, int, int, int]


class Zygote:
    """Forks children on request."""

    def __init__(
        self, line: _socket.socket, folder: str, guard: child.Guard | None, rehearsed: child.Guard,
        bound: Callable[[int], None] | None, files: Sequence[tuple[int, str]] = (), modules: Iterable[str] = (), *,
        alone: bool,
    ) -> None:  # fmt: skip
        """Prepare.

        Args:
            line: where the channels of the examiners come from.
            folder: the folder that an attempt may write to, emptied after each.
            guard: hardens a child, and forbids it to change its limits; None where there is none that could.
            rehearsed: does nothing, in the same way.
            bound: has children held to so many threads, where the kernel cannot be told to; None where nobody does.
            files: what libraries keep open, by descriptor and path.
            modules: what may be loaded before an attempt.
            alone: whether this is the first process of its own namespace, so that a kill of everything is a kill of
                its own, and nothing within can end it.
        """
        self._line = line
        self._channel = _socket.socket(line.family, line.type, 0, os.dup(line.fileno()))
        """That of the examiner of the day, always by the same descriptor."""
        self._scratch = folder
        self._folder = side_channels.ScratchFolder(folder)
        nothing = os.stat(os.devnull).st_rdev
        self._silent = [number for number in range(3) if os.fstat(number).st_rdev == nothing]
        """The standard descriptors that lead nowhere: all of them, but for a standard error that is to be seen."""
        self._files = files
        self._guard = guard or _for_good
        self._rehearsed = rehearsed
        self._bound = bound
        self._alone = alone
        self._limits: Limits = (0.0, 0.0, 0.0, 0, 0, 0)
        """The limits of the last attempt: memory, file size and processes are put in place here and so in every child."""
        self._at_once = 0
        """Milliseconds for which no limit on time can be reached."""
        self._loadable = set(modules)
        """What may be loaded and is not."""
        self._poll = select.poll()
        self._poll.register(line.fileno(), select.POLLIN)
        self._poll.register(self._channel.fileno(), select.POLLIN)

    def prepare(self) -> None:
        """Make ready to fork. Whatever fails here fails before the worker is said to be there."""
        child.rehearse(self._rehearsed)
        program.prepare()
        self._stage = child.Stage(self._line.fileno(), self._channel.fileno())
        side_channels.settle()

    def serve(self) -> NoReturn:
        """Answer the requests of one examiner after the other, once prepared, until there are none any more."""
        while True:
            message, descriptors, _, _ = self._line.recvmsg(1, _socket.CMSG_SPACE(_DESCRIPTOR.size))
            if not message:
                os._exit(0)
            (channel,) = _DESCRIPTOR.unpack(descriptors[0][2])
            # under the same number, so that what waits for it waits for the new one
            os.dup2(channel, self._channel.fileno())
            os.close(channel)
            self._serve()

    def _serve(self) -> None:
        """Answer the requests of one examiner until it is gone or says what is not a request."""
        receive, send, size = self._channel.recvmsg, self._channel.send, _socket.CMSG_SPACE(STREAMS.size)
        while True:
            try:
                request, descriptors, _, _ = receive(_REQUEST, size)
            except OSError:
                return
            ends = [end for (end,) in _DESCRIPTOR.iter_unpack(descriptors[0][2])] if descriptors else []
            limits: Limits | None = JOB.unpack_from(request) if len(request) >= JOB.size else None
            # a limit that is not a number fails every comparison, and the request with it
            if len(ends) in (2, 4, 5) and limits is not None and all(0 <= limit < _BOUND for limit in limits):
                if len(request) > JOB.size:
                    self._load(request[JOB.size :].decode("ascii", "replace"))
                ended = self._attempt(limits, ends)
                try:
                    send(ended)
                except OSError:
                    return
                continue
            # what comes with a message that is not a request is not to stay open here
            for end in ends:
                os.close(end)
            if request == BLUR:
                side_channels.blur(self._scratch)
            elif request != STOP:  # which comes after the end of a child that ended by itself, too
                return

    def _attempt(self, limits: Limits, ends: list[int]) -> bytes:
        if limits != self._limits:
            if limits[3:] != self._limits[3:]:
                self._limit(limits[3:])
            self._at_once = int(1000 * min(*limits[:2], 1.0 if self._alone else _LOOK))
            self._limits = limits
        self._renew()
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            if len(ends) > 2:  # those of a program
                program.run(ends, self._stage, self._guard)
            child.run(wire.PipePair(*ends), self._stage, self._guard)
        for descriptor in ends:
            os.close(descriptor)
        handle = os.pidfd_open(pid)
        poll = self._poll
        poll.register(handle, _READABLE)
        # Most attempts end before any limit is near. Nothing is computed for these: each object that is touched here is
        # likely to lie in a page that the fork has left to be copied.
        events = poll.poll(self._at_once)
        if handle in dict(events):
            hit = None
        elif events:  # the examiner has enough of it or is gone
            hit = b""
        else:
            hit = self._watch(pid, handle, limits, started)
        poll.unregister(handle)
        os.close(handle)
        if hit is not None:
            # it was not waited for yet, so its number cannot be another's
            os.kill(pid, _KILL)
        _, status, usage = os.wait4(pid, 0)
        if self._alone:
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pass  # it left no process behind: in a namespace of its own this one would be its parent
            else:
                end_all()
        self._folder.renew()  # before it is looked into: it may have been closed
        if os.listdir(self._scratch):
            scratch.empty(self._scratch)  # what cannot be removed raises, and the worker is replaced
            self._folder.renew()
        return END.pack(status, usage.ru_utime + usage.ru_stime, time.monotonic() - started, hit or b"")

    def _renew(self) -> None:
        """Open anew what is open: it is shared with every child, and so are its place, its flags and its lock."""
        opened = os.open(os.devnull, os.O_RDWR)
        for number in self._silent:
            os.dup2(opened, number)
        os.close(opened)
        for number, path in self._files:
            opened = os.open(path, os.O_RDONLY)
            os.dup2(opened, number)
            os.close(opened)

    def _load(self, names: str) -> None:
        """Import what many solutions will: once here, instead of in the child of each that does."""
        missing = [name for name in names.split(",") if name in self._loadable]
        self._loadable.difference_update(missing)
        self._stage.output.left = sys.maxsize  # some say something as they are imported
        for name in missing:
            try:
                __import__(name)
            except Exception:  # noqa: S112 - not installed, or broken: whoever imports it will be told the same
                continue
        self._stage.output.left = 0
        if missing:
            side_channels.settle()

    def _limit(self, limits: tuple[int, int, int]) -> None:
        """Limit this process and so its children, who under the guard cannot change it."""
        memory, file_size, processes = limits
        _lower(resource.RLIMIT_AS, memory)
        _lower(resource.RLIMIT_FSIZE, file_size)
        if self._alone:  # elsewhere the kernel would count the user's other processes too
            _lower(resource.RLIMIT_NPROC, processes or _BOUND)
        elif self._bound is not None:
            self._bound(min(processes, 1 << 30))

    def _watch(self, pid: int, handle: int, limits: Limits, started: float) -> bytes | None:
        """Go on waiting until the child ends, its examiner has enough of it or is gone (returns b""), or a limit is hit."""
        cpu_limit, wall_limit, busy_limit = limits[:3]
        clock = (~pid << 3) | 2  # the kernel's encoding of "CPU time of that process"
        most = 3600.0 if self._alone else _LOOK
        while True:
            try:
                spent = time.clock_gettime(clock)
            except OSError:  # it has ended in this moment: poll says so next
                spent = 0.0
            wall = time.monotonic() - started
            if spent >= cpu_limit:
                return b"cpu"
            if wall >= busy_limit or (wall >= wall_limit and spent < wall * 0.05):
                return b"wall"
            if not self._alone and scratch.is_full(self._scratch):  # elsewhere the file system itself has an end
                return b"file"
            # one that waits for the processor rather than sleeping is given the longer limit
            wait = min(cpu_limit - spent, (wall_limit if wall < wall_limit else busy_limit) - wall, most)
            # a little longer, so that the limit is past when this wakes up
            events = self._poll.poll(max(1.0, wait * 1000 + 1))
            if events:
                return None if handle in dict(events) else b""


def _lower(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _for_good(_pid: int) -> None:
    """Make the limits hard, where no guard keeps a child from raising them."""
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        soft, _ = resource.getrlimit(kind)
        resource.setrlimit(kind, (soft, soft))


def end_all() -> None:
    """End whatever else there is in this namespace."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return  # nothing, as it should be
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return
