"""How much memory the processes of a program may share, which no limit of the kernel's counts.

Who asks for it waits until the supervisor, which is not confined, has put it to the program's account. There it stays when
it is unmapped, for what it holds can outlive that: until nothing is shared any more by a program of one thread.
"""

from __future__ import annotations

import _socket
import errno
import fcntl  # noqa: F401 - for `questions`: no module can be found any more when there are some
import os

from . import questions, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
        try:
            listener = questions.ask(seccomp.sharing_filter(asks=True))
        except OSError:  # or somebody outside listens already
            seccomp.Filter(seccomp.sharing_filter(asks=False)).install()
            return
        questions.hand_over(self._far, listener)

    def listen(self) -> None:
        """Take over where the questions arrive, once the program is forked."""
        self._far.close()
        _, self.listener = questions.heard(self._near)
        if self.listener >= 0:
            os.set_inheritable(self.listener, False)

    def answer(self, tasks: Callable[[], int]) -> None:
        """Grant a program of so many tasks what it asks for, or refuse it as the kernel does where there is no memory."""

        def refusal(thread: int, arguments: Sequence[int]) -> int:
            size = -(-arguments[1] // _PAGE) * _PAGE
            if self.granted + size > self._most and tasks() == 1 and not _shares(thread):
                self.granted = 0
            if self.granted + size > self._most:
                return errno.ENOMEM
            self.granted += size
            return 0

        questions.answer(self.listener, refusal)

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
