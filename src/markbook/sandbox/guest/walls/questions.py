"""System calls that wait until somebody outside has answered (`seccomp_unotify(2)`).

The process whose calls these are installs a filter, and hands over where its questions arrive to one that is not confined.
"""

from __future__ import annotations

import _socket
import ctypes
import os
import struct

from . import linux, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1
_QUESTION = struct.Struct("<QI20x6Q")
"""Its number, that of the thread that asks, and what the call was given."""
_ANSWER = struct.Struct("<QqiI")
_DESCRIPTOR = struct.Struct("i")


def ask(program: bytes) -> int:
    """Install a filter; return the descriptor at which its questions arrive.

    Raises:
        OSError: the kernel has no such filters, or somebody outside uses one.
    """
    asking = seccomp.Filter(program)
    return linux.syscall(
        _SECCOMP[linux.MACHINE],
        ctypes.c_uint(_SET_FILTER), ctypes.c_uint(_NEW_LISTENER), ctypes.byref(asking.program), what="seccomp listener",
    )  # fmt: skip


def hand_over(channel: _socket.socket, listener: int) -> None:
    """Give somebody outside the descriptor, which is closed here."""
    channel.sendmsg([b"listener"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _DESCRIPTOR.pack(listener))])
    os.close(listener)


def heard(channel: _socket.socket) -> tuple[bytes, int]:
    """Return what is said on a channel, and the descriptor that is handed over by it; -1 for none."""
    message, descriptors, _, _ = channel.recvmsg(64, _socket.CMSG_SPACE(_DESCRIPTOR.size))
    return message, _DESCRIPTOR.unpack(descriptors[0][2])[0] if descriptors else -1


def answer(listener: int, decide: Callable[[int, Sequence[int]], int]) -> None:
    """Answer a question.

    Args:
        listener: the descriptor at which it has arrived.
        decide: is given the thread that asks and what its call was given; returns the error with which that fails, 0 to
            let it go on.
    """
    import fcntl

    question = bytearray(_QUESTION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, question)
        number, thread, *arguments = _QUESTION.unpack(question)
        error = decide(thread, arguments)
        fcntl.ioctl(listener, _SEND, _ANSWER.pack(number, 0, -error, 0 if error else _CONTINUE))
    except OSError:
        return  # who asked is not there any more
