"""The process that forks one child per attempt, limits it, and says how it ended. Single-threaded, holds nothing."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import NoReturn

from . import child

JOB = struct.Struct("<dddqqq")
"""CPU seconds, wall seconds, wall seconds of one that keeps computing, memory, file size, processes."""
END = struct.Struct("<idd4s")
"""Wait status, CPU seconds, wall seconds, the limit that was hit."""
STOP = b"end"
_INFINITY = resource.RLIM_INFINITY


class Zygote:
    """Forks children on request. `before_child` hardens a child before any of the candidate's code runs."""

    def __init__(self, sock: socket.socket, scratch: str, before_child: Callable[[], None], *, alone: bool) -> None:
        self._sock = sock
        self._scratch = scratch
        self._before_child = before_child
        self._alone = alone
        """Whether it is the first process of its own namespace, so that a kill of everything is a kill of its own."""
        self._poll = select.poll()
        self._poll.register(sock.fileno(), select.POLLIN)

    def serve(self) -> NoReturn:
        """Answer requests until the examiner goes away."""
        gc.collect()
        gc.freeze()
        gc.disable()
        while True:
            request, descriptors, _, _ = socket.recv_fds(self._sock, JOB.size, 1)
            if not request:
                os._exit(0)
            if len(request) != JOB.size:
                continue  # the end of an attempt whose child had ended by itself
            self._attempt(JOB.unpack(request), descriptors[0])

    def _attempt(self, limits: tuple[float, float, float, int, int, int], descriptor: int) -> None:
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            self._child(limits, descriptor)
        os.close(descriptor)
        handle = os.pidfd_open(pid)
        self._poll.register(handle, select.POLLIN)
        hit = self._watch(pid, limits, started)
        self._poll.unregister(handle)
        os.close(handle)
        if hit is not None:
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        self._clean()
        seconds = usage.ru_utime + usage.ru_stime
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            hit = b"cpu"
        self._sock.send(END.pack(status, seconds, time.monotonic() - started, hit or b""))

    def _child(self, limits: tuple[float, float, float, int, int, int], descriptor: int) -> NoReturn:
        try:
            self._sock.close()
            seconds, _, _, memory, file_size, processes = limits
            whole = int(seconds) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 2))
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
            if processes and self._alone:  # elsewhere the kernel would count the user's other processes too
                resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
            self._before_child()
            gc.enable()
            child.run(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, descriptor))
        finally:
            os._exit(1)

    def _watch(self, pid: int, limits: tuple[float, float, float, int, int, int], started: float) -> bytes | None:
        """Wait until the child ends, the examiner has enough of it (returns b""), or a limit is hit."""
        cpu_limit, wall_limit, busy_limit = limits[:3]
        clock = (~pid << 3) | 2  # the kernel's encoding of "CPU time of that process"
        while True:
            spent = 0.0
            with contextlib.suppress(OSError):  # it has ended in this moment: poll says so below
                spent = time.clock_gettime(clock)
            wall = time.monotonic() - started
            if spent >= cpu_limit:
                return b"cpu"
            if wall >= busy_limit or (wall >= wall_limit and spent < wall * 0.05):
                return b"wall"
            # one that waits for the processor rather than sleeping is given the longer limit
            wait = min(cpu_limit - spent, (wall_limit if wall < wall_limit else busy_limit) - wall, 3600.0)
            events = self._poll.poll(max(1.0, wait * 1000 + 1))
            if events:
                ended = all(descriptor == self._sock.fileno() for descriptor, _ in events)
                if ended and not self._sock.recv(len(STOP)):
                    os._exit(0)
                return b"" if ended else None

    def _clean(self) -> None:
        if self._alone:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.wait()
        if os.listdir(self._scratch):
            wipe(self._scratch)


def wipe(folder: str) -> None:
    """Remove what is in a folder, following no link. Whatever cannot be removed raises, and the worker is replaced."""
    with os.scandir(folder) as entries:
        found = list(entries)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)
            wipe(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)
