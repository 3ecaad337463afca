"""How much memory the processes of a program may share, which no limit of the kernel's counts.

Who asks for it waits until the supervisor, which is not confined, has put it to the program's account. There it stays when
it is unmapped, for what it holds can outlive that: until nothing is shared any more by a program of one thread.
"""

from __future__ import annotations

import _socket
import ctypes
import errno
import fcntl  # no module can be found any more when there are questions
import os
import struct

from . import linux, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1
_QUESTION = struct.Struct("<QI28xQ32x")
"""Its number, that of the thread that asks, and how many bytes it wants."""
_ANSWER = struct.Struct("<QqiI")
_DESCRIPTOR = struct.Struct("i")
_SHARED = b"/dev/zero (deleted)"
"""What the kernel calls anonymous memory that is shared."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Account:
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
        asking = seccomp.Filter(seccomp.sharing_filter(asks=True))
        try:
            listener = linux.syscall(
                _SECCOMP[linux.MACHINE],
                ctypes.c_uint(_SET_FILTER), ctypes.c_uint(_NEW_LISTENER), ctypes.byref(asking.program), what="listener",
            )  # fmt: skip
        except OSError:  # or somebody outside listens already
            seccomp.Filter(seccomp.sharing_filter(asks=False)).install()
            return
        self._far.sendmsg([b"listener"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, _DESCRIPTOR.pack(listener))])
        os.close(listener)

    def listen(self) -> None:
        """Take over where the questions arrive, once the program is forked."""
        self._far.close()
        _, descriptors, _, _ = self._near.recvmsg(64, _socket.CMSG_SPACE(_DESCRIPTOR.size))
        if descriptors:
            (self.listener,) = _DESCRIPTOR.unpack(descriptors[0][2])
            os.set_inheritable(self.listener, False)

    def answer(self, tasks: Callable[[], int]) -> None:
        """Grant a program of so many tasks what it asks for, or refuse it as the kernel does where there is no memory."""
        asked = bytearray(_QUESTION.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, asked)
            number, thread, size = _QUESTION.unpack(asked)
            size = -(-size // _PAGE) * _PAGE
            if self.granted + size > self._most and tasks() == 1 and not _shares(thread):
                self.granted = 0
            refused = self.granted + size > self._most
            self.granted += 0 if refused else size
            reply = _ANSWER.pack(number, 0, -errno.ENOMEM if refused else 0, 0 if refused else _CONTINUE)
            fcntl.ioctl(self.listener, _SEND, reply)
        except OSError:
            return  # who asked is not there any more

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
    except OSError:
        return True
