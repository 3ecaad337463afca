"""What the processes of a program use, as the kernel says it of those that are there, and of those that were."""

from __future__ import annotations

import os
import resource
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ROUNDED = 2
"""Ticks that may be missing from what the kernel says of one process."""

Process = tuple[int, int]
"""Its number and when it began."""


class Usage:
    """What the processes of one group have used since it was made, looked at from time to time."""

    def __init__(self) -> None:
        self._before = _measure_children()
        self._last: dict[Process, tuple[int, int]] = {}
        """Faults and ticks of those that were there at the last look, without what their children had."""
        self._faults = self._ticks = 0
        """The same of all that were gone by the last look."""
        self.cpu = 0.0
        """Seconds of all processes."""
        self.tasks = 0
        self.resident = 0
        """Bytes that they hold now, what several share as often as they do."""
        self.shared = 0
        """Bytes of that which may be shared."""
        self.is_incomplete = False
        """Whether a process has ended whose time was added to nobody's: its parent had said that it does not wait."""

    def look(self, group: int, *, shares: bool) -> None:
        """Take in what there is now; `shares`: also what is shared."""
        processes: dict[Process, tuple[int, int]] = {}
        faults = ticks = self.tasks = pages = self.shared = 0
        running = 0
        for number, fields in _processes(group):
            own = sum(map(int, fields[11:13]))
            children = sum(map(int, fields[13:15]))
            # with its start, because the number of a process that has ended is given to another one
            processes[number, int(fields[19])] = int(fields[7]), own
            faults += int(fields[8])
            ticks += children
            running += own
            self.tasks += int(fields[17])
            pages += int(fields[21])
            if not shares:
                continue
            try:  # what is resident, and neither its own nor a file's
                with open(f"/proc/{number}/status", "rb") as file:
                    line = file.read().partition(b"\nRssShmem:")[2]
            except OSError:
                continue
            self.shared += int(line.split(maxsplit=1)[0]) << 10 if line else 0
        self.resident = pages * _PAGE
        ended_faults, ended = self._measure_ended()
        self.cpu = ended + ((running + ticks) / _TICKS if processes else _measure_first(group))
        self._compare(faults + ended_faults, ticks + ended * _TICKS + _ROUNDED * (len(processes) + 1))
        for process, (its_faults, its_ticks) in self._last.items():
            if process not in processes:
                self._faults += its_faults
                self._ticks += its_ticks
        self._last = processes

    def end(self) -> None:
        """Take in that no process is there any more."""
        faults, self.cpu = self._measure_ended()
        self._faults += sum(its for its, _ in self._last.values())
        self._ticks += sum(its for _, its in self._last.values())
        self._last = {}
        self._compare(faults, self.cpu * _TICKS + _ROUNDED)

    def _compare(self, faults: int, ticks: float) -> None:
        """Compare those that have gone with what was added to their parents.

        A parent has its child's faults, of which every forked one has some, exactly, and its time rounded. It has them
        before the child's number is gone, and parents are looked at behind their children: nothing is missed on the way.
        """
        self.is_incomplete = self.is_incomplete or self._faults > faults or self._ticks > ticks

    def _measure_ended(self) -> tuple[int, float]:
        now = _measure_children()
        return now[0] - self._before[0], now[1] - self._before[1]


def _measure_children() -> tuple[int, float]:
    """Return faults and CPU seconds of what this process has started and has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_minflt, usage.ru_utime + usage.ru_stime


def _processes(group: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield number and status of the processes of a group, the youngest first."""
    try:
        numbers = sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True)
    except OSError:
        return
    for number in numbers:
        try:
            with open(f"/proc/{number}/stat", "rb") as file:
                # after the name, which may hold brackets itself: the first field here is the third of proc(5)
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            yield number, fields


def _measure_first(group: int) -> float:
    """Return the CPU seconds of the first process of a group, where procfs is missing."""
    try:
        # the clock of another process's CPU time, as clock_getcpuclockid(3) makes its number
        return time.clock_gettime((~group << 3) | 2)
    except OSError:
        return 0.0


def tasks_of_user() -> int:
    """Return how many processes and threads the user of this process has."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                # a folder has two links and one more for each folder in it, which here is one for each thread
                count += os.stat(f"/proc/{name}/task").st_nlink - 2
        except OSError:
            continue
    return count
