"""The process that forks an examiner for each problem and model, and that never sees a test itself.

Theory of operation. Tests run in an examiner; should a solution get code of its own into it, that code must reach nothing
beyond the answers of the same model to the same problem. So an examiner lives for these alone. The host says where the next
ones begin: through the door, which only this process holds, it sends a socket by which it will hand out jobs. This process
then ends the last examiner, empties the folder that it could write to, forks another one from what it is itself, and hands
the zygote the other end of a new channel, by which whatever the last one left under way is ended.

- *Before the fork* this process is inside every wall that an attempt is inside of (namespaces, landlock, seccomp, no
  capabilities), and has loaded what examiners need. It reads the door only, where no examiner can write; packages that tests import are
  loaded here by names that the host says. Where there is more to do than a few attempts, it examines an answer of our own first.
- *After it* the examiner closes the door and the line to the zygote, gives up what it does not need (`seccomp.child_filter`:
  no new processes, signals and limits for nobody but itself) and waits for jobs on its own socket. The text of the tests
  comes with the first of them. It cannot answer for another examiner: it holds no other socket, and each answer has to begin
  with the token of its job.
- *When it ends by itself*, so do this process and the worker. The supervisor inherits it and tells the host if it was the
  alarm.
"""

from __future__ import annotations

import _socket
import gc
import os
import select
import struct
import sys
from _random import Random

from .. import scratch, side_channels, wire
from ..walls import linux
from .examiner import Examiner
from .separation import refuse_execution
from .tasks import CompiledTests

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, NoReturn

    from ..child import Guard
else:
    import _signal as signal

_register_at_fork = os.register_at_fork
_DESCRIPTOR = struct.Struct("i")
_NAMES = 4096
"""Bytes of the names of modules."""


_REHEARSALS = 9
"""After so many runs the interpreter has adapted the code to what it sees."""
_WORTHWHILE = 3
"""The examiner before which that pays: it takes as long as twenty attempts, and a run of few answers needs no third one."""
_REHEARSED = "def f(a):\n    return [a]\n"
_CLAIMS = "".join(f"    assert candidate({value}) == [{value}]\n" for value in ("1", "'a'", "[2.5, (1, 2)]"))
_TEST = {"program": f"def check(candidate):\n{_CLAIMS}check(f)\n"}
_TASK = wire.encode({"object": "function", "name": "f", "prompt": "def f(a):\n", "tests": [_TEST]})
_LIMITS = [9.0, 9.0, 9.0, 1 << 31, 1 << 26, 64, 1 << 22]


class Pristine:
    """Forks examiners."""

    def __init__(self, door: _socket.socket, line: _socket.socket, folder: str, guard: Guard | None) -> None:
        """Prepare.

        Args:
            door: where the host asks for the next examiner.
            line: how the zygote is given its channel.
            folder: what tests may write to.
            guard: hardens an examiner; None where the kernel has no filters.
        """
        self._door = door
        self._line = line
        self._path = folder
        self._folder = side_channels.ScratchFolder(folder)
        self._guard = guard
        self._examiner = -1
        self._buffer = memoryview(bytearray(wire.CHUNK))
        """Of every examiner a copy: made in each, all its pages would be filled there."""
        side_channels.settle()

    def _rehearse(self) -> None:
        """Examine an answer of our own here, so that the interpreter has met this code before it is copied for each."""
        channel, control, compiled = self._new_channel(), _socket.socketpair(), ""
        job: dict[str, Any] = {"id": "", "code": _REHEARSED, "limits": _LIMITS}
        for number in range(1 + _REHEARSALS):
            how = {"compiled": compiled, "defers": True} if number else {"calibrate": True}
            wire.write(control[1], job | {"task": _TASK} | how)
            # another examiner and so another task each time, as each has one
            Examiner(control[0], channel, self._buffer).answer()
            record = wire.read(control[1].recv(1 << 16)[4:])
            if not number:
                job["plan"], compiled = record["plan"], record["compiled"]
        for _ in range(_REHEARSALS):
            CompiledTests(_TASK)  # by itself: an attempt for each, forked by the zygote, would cost four times as much
        for end in (channel, *control):
            end.close()
        side_channels.settle()

    def _new_channel(self) -> _socket.socket:
        """Hand the zygote a new channel, which ends the last one, and return the other end of it."""
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._line.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _DESCRIPTOR.pack(theirs.fileno()))])
        theirs.close()
        return ours

    def serve(self) -> NoReturn:
        """Fork an examiner whenever the host asks for one, until the host goes away."""
        poll = select.poll()
        poll.register(self._door.fileno(), select.POLLIN)
        handle, count = -1, 0
        while True:
            if self._door.fileno() not in dict(poll.poll()):
                os._exit(3)  # it has ended by itself; how, the supervisor learns, who inherits it
            names, descriptors, _, _ = self._door.recvmsg(_NAMES, _socket.CMSG_SPACE(_DESCRIPTOR.size))
            if not names:
                os._exit(0)
            if handle >= 0:
                self._end_examiner()
                poll.unregister(handle)
                os.close(handle)
            _load(names.decode("ascii").split(","))
            (control,) = _DESCRIPTOR.unpack(descriptors[0][2])
            count += 1
            if count == _WORTHWHILE:
                self._rehearse()
            self._fork(control)
            handle = os.pidfd_open(self._examiner)
            poll.register(handle, select.POLLIN)

    def _fork(self, control: int) -> None:
        channel = self._new_channel()
        self._examiner = os.fork()
        if self._examiner == 0:
            self._door.close()
            self._line.close()
            if linux.SUPPORTED:
                linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            if self._guard is not None:
                self._guard(os.getpid())
            refuse_execution()
            gc.enable()
            jobs = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, control)
            Examiner(jobs, channel, self._buffer).serve()
        os.close(control)
        channel.close()

    def _end_examiner(self) -> None:
        """End the examiner, and leave the next one nothing of it."""
        os.kill(self._examiner, signal.SIGKILL)
        os.waitpid(self._examiner, 0)
        self._folder.renew()  # before it is looked into: it may have been closed
        if os.listdir(self._path):
            scratch.empty(self._path)
            self._folder.renew()


def _load(names: list[str]) -> None:
    """Import what tests import, here once instead of in each of the examiners."""
    missing = [name for name in names if name and name not in sys.modules]
    os.register_at_fork = _register
    for name in missing:
        try:
            __import__(name)
        except Exception:  # noqa: S112 - not installed, or broken: the test that imports it is told the same
            continue
    os.register_at_fork = _register_at_fork
    if missing:
        side_channels.settle()


def _register(**calls: Any) -> None:
    """Register what a module wants to be called at a fork, but for `random`.

    It would seed its generator in every examiner, which nothing draws from: tests have one of their own.
    """
    if not isinstance(getattr(calls.get("after_in_child"), "__self__", None), Random):
        _register_at_fork(**calls)
