"""How many threads an attempt may have, where the kernel would count the user's other processes with them.

Who starts a thread waits until the supervisor, which is not confined, has counted those that there are.
"""

from __future__ import annotations

import _socket
import errno
import os
import struct

from . import questions, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_COUNT = struct.Struct("<i")


class Asking:
    """The side of the zygote, whose children have to ask from now on."""

    def __init__(self, channel: _socket.socket) -> None:
        """Install the filter and hand over where the questions arrive.

        Raises:
            OSError: the kernel has no such filters, or somebody outside uses one.
        """
        self._channel = channel
        questions.hand_over(channel, questions.ask(seccomp.asking_filter()))  # no child is to have it

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
        message, listener = questions.heard(self._channel)
        if listener >= 0:
            self.listener = listener
        elif message:
            (self._most,) = _COUNT.unpack(message)
        return bool(message)

    def answer(self) -> None:
        """Grant the thread that is asked for, or refuse it as the kernel does where there are too many."""
        questions.answer(self.listener, self._refusal)

    def _refusal(self, thread: int, _given: Sequence[int]) -> int:
        there = os.stat(f"/proc/{thread}/task").st_nlink - 2
        return errno.EAGAIN if there >= self._most > 0 else 0
