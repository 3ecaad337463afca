"""How much memory the processes of a program may share, which no limit of the kernel's counts.

Who asks for it waits until the supervisor, which is not confined, has put it to the program's account. There it stays when
it is unmapped, for what it holds can outlive that: until nothing is shared any more by a program of one thread.
"""

from __future__ import annotations

import _socket
import ctypes
import errno
import fcntl
import os
import struct

from . import linux, seccomp

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# System calls that wait until somebody outside has answered (`seccomp_unotify(2)`).
#
# The process whose calls these are installs a filter, and hands over where its questions arrive to one that is not confined.

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _NEW_LISTENER = 1, 8
# SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND and SECCOMP_USER_NOTIF_FLAG_CONTINUE
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
    asking = seccomp.SyscallFilter(program)
    return linux.syscall(
        _SECCOMP[linux.MACHINE],
        ctypes.c_uint(_SET_FILTER), ctypes.c_uint(_NEW_LISTENER), ctypes.byref(asking.program), what="seccomp listener",
    )  # fmt: skip


def hand_over(channel: _socket.socket, listener: int) -> None:
    """Give somebody outside the descriptor, which is closed here."""
    channel.sendmsg([b"listener"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _DESCRIPTOR.pack(listener))])
    os.close(listener)


def receive_listener(channel: _socket.socket) -> tuple[bytes, int]:
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
    # the kernel refuses a buffer that is not all zeros
    question = bytearray(_QUESTION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, question)
        number, thread, *arguments = _QUESTION.unpack(question)
        error = decide(thread, arguments)
        # only numbers that the call itself carried were looked at: no other thread can change them before it goes on
        fcntl.ioctl(listener, _SEND, _ANSWER.pack(number, 0, -error, 0 if error else _CONTINUE))
    except OSError:
        return  # who asked is not there any more


_SHARED = b"/dev/zero (deleted)"
"""What the kernel calls anonymous memory that is shared."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class SharedGrants:
    """What one program has been granted to share."""

    def __init__(self, most: int) -> None:
        """Open it, before the program is forked; `most` is in bytes."""
        self._most = most
        self._near, self._far = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self.listener = -1
        """The descriptor at which questions arrive; -1 where nothing is shared."""
        self.granted = 0
        """Bytes."""

    def enter(self) -> None:
        """Have the calling process, the program to be, ask from now on; where the kernel knows no questions it gets none.

        Raises:
            OSError: the kernel has no filters.
        """
        try:
            listener = ask(seccomp.sharing_filter(asks=True))
        except OSError:  # or somebody outside listens already
            seccomp.SyscallFilter(seccomp.sharing_filter(asks=False)).install()
            return
        hand_over(self._far, listener)

    def listen(self) -> None:
        """Take over where the questions arrive, once the program is forked."""
        self._far.close()
        _, self.listener = receive_listener(self._near)
        if self.listener >= 0:
            os.set_inheritable(self.listener, False)

    def answer(self, tasks: Callable[[], int]) -> None:
        """Grant a program of so many tasks what it asks for, or refuse it as the kernel does where memory is short."""

        def refusal(thread: int, arguments: Sequence[int]) -> int:
            size = -(-arguments[1] // _PAGE) * _PAGE
            if self.granted + size > self._most and tasks() == 1 and not _shares(thread):
                self.granted = 0
            if self.granted + size > self._most:
                return errno.ENOMEM
            self.granted += size
            return 0

        answer(self.listener, refusal)

    def close(self) -> None:
        """Close it."""
        self._near.close()
        self._far.close()
        if self.listener >= 0:
            os.close(self.listener)


def _shares(process: int) -> bool:
    """Whether a process has anonymous memory that is shared, as far as can be seen."""
    try:
        with open(f"/proc/{process}/maps", "rb") as file:
            return _SHARED in file.read()
    # of a process that cannot be looked at nothing is taken off the account
    except OSError:
        return True


# How many threads an attempt may have, where the kernel would count the user's other processes with them.
#
# Who starts a thread waits until the supervisor, which is not confined, has counted those that there are.

_COUNT = struct.Struct("<i")


class SharingClient:
    """The side of the zygote, whose children have to ask from now on."""

    def __init__(self, channel: _socket.socket) -> None:
        """Install the filter and hand over where the questions arrive.

        Raises:
            OSError: the kernel has no such filters, or somebody outside uses one.
        """
        self._channel = channel
        hand_over(channel, ask(seccomp.asking_filter()))  # no child is to have it

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
        message, listener = receive_listener(self._channel)
        if listener >= 0:
            self.listener = listener
        elif message:
            (self._most,) = _COUNT.unpack(message)
        return bool(message)

    def answer(self) -> None:
        """Grant the thread that is asked for, or refuse it as the kernel does where there are too many."""
        answer(self.listener, self._refusal)

    def _refusal(self, thread: int, _given: Sequence[int]) -> int:
        # a folder has two links and one more for each folder in it, which here is one for each thread
        there = os.stat(f"/proc/{thread}/task").st_nlink - 2
        return errno.EAGAIN if there >= self._most > 0 else 0
