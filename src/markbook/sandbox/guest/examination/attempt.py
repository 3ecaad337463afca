"""One running child as the examiner sees it."""

from __future__ import annotations

import _socket
import os
import struct

from .. import wire, zygote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .tasks import Job


class Attempt:
    """One running child as the examiner sees it."""

    def __init__(self, channel: _socket.socket, job: Job, *, beside: bool = False) -> None:
        self._channel = channel
        if beside:
            channel.send(zygote.BLUR)
        limits = job["limits"]
        modules = ",".join(dict.fromkeys([*job.get("preload", ()), *(job.get("imports", ()) if beside else ())]))
        request = zygote.JOB.pack(*limits[:3], *map(int, limits[3:6])) + modules.encode("ascii")
        (their_reader, writer), (reader, their_writer) = os.pipe(), os.pipe()
        descriptors = zygote.ENDS.pack(their_reader, their_writer)
        channel.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
        os.close(their_reader)
        os.close(their_writer)
        self.link = wire.Link(reader, writer, int(limits[3]))

    def end(self) -> dict[str, Any]:
        """Have the child killed if it still runs; return how it ended."""
        try:
            self._channel.send(zygote.STOP)
            status, seconds, wall, hit = zygote.END.unpack(self._channel.recv(zygote.END.size))
        except (OSError, struct.error):
            os._exit(3)  # the zygote is gone, and this worker with it
        self.link.close()  # not before: a child that hears of it would wake up only to be killed
        return {"status": status, "cpu": seconds, "wall": wall, "hit": hit.rstrip(b"\0").decode("ascii")}
