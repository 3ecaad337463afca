"""How many threads an attempt may have, where the kernel would count the user's other processes with them.

Who starts a thread waits until the supervisor, which is not confined, has counted those that there are.
"""

from __future__ import annotations

import _socket
import ctypes
import errno
import os
import struct

from . import linux, seccomp

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1
_QUESTION = struct.Struct("<QI68x")
"""Its number, and that of the thread that asks."""
_ANSWER = struct.Struct("<QqiI")
_DESCRIPTOR = struct.Struct("i")
_COUNT = struct.Struct("<i")


class Asking:
    """The side of the zygote, whose children have to ask from now on."""

    def __init__(self, channel: _socket.socket) -> None:
        """Install the filter and hand over where the questions arrive.

        Raises:
            OSError: the kernel has no such filters, or somebody outside uses one.
        """
        self._channel = channel
        asking = seccomp.Filter(seccomp.asking_filter())
        listener = linux.syscall(
            _SECCOMP[linux.MACHINE],
            ctypes.c_uint(_SET_FILTER), ctypes.c_uint(_NEW_LISTENER), ctypes.byref(asking.program), what="seccomp listener",
        )  # fmt: skip
        channel.sendmsg([b"listener"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _DESCRIPTOR.pack(listener))])
        os.close(listener)  # no child is to have it

    def limit(self, threads: int) -> None:
        """Say how many threads the next attempts may have."""
        self._channel.send(_COUNT.pack(threads))


class Granting:
    """The side of the supervisor."""

    def __init__(self, channel: _socket.socket) -> None:
        self._channel = channel
        self.listener = -1
        """The descriptor at which questions arrive."""
        self._most = 0

    def fileno(self) -> int:
        """Return the descriptor at which the zygote is heard."""
        return self._channel.fileno()

    def hear(self) -> bool:
        """Take what the zygote says; False when it has nothing to say any more."""
        said, descriptors, _, _ = self._channel.recvmsg(64, _socket.CMSG_SPACE(_DESCRIPTOR.size))
        if descriptors:
            (self.listener,) = _DESCRIPTOR.unpack(descriptors[0][2])
        elif said:
            (self._most,) = _COUNT.unpack(said)
        return bool(said)

    def answer(self) -> None:
        """Grant the thread that is asked for, or refuse it as the kernel does where there are too many."""
        import fcntl

        asked = bytearray(_QUESTION.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, asked)
            number, thread = _QUESTION.unpack(asked)
            there = os.stat(f"/proc/{thread}/task").st_nlink - 2
            refused = there >= self._most > 0
            reply = _ANSWER.pack(number, 0, -errno.EAGAIN if refused else 0, 0 if refused else _CONTINUE)
            fcntl.ioctl(self.listener, _SEND, reply)
        except OSError:
            return  # who asked is not there any more
