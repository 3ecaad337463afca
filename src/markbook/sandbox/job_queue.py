"""Jobs that wait: what imports little first, then the longest, and those of one sample and model by one worker.

Each sample and model has an examiner of its own, which costs milliseconds, and compiles the tests. So a worker stays with
the jobs of one sample and model until none is left, goes on with what is most like them, and takes over another worker's
when it has no work of its own.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from markbook.sandbox.job import Job
from markbook.types import ProblemType

Priority = tuple[int, float, int]
"""How heavy the modules are that it imports (-1: it calibrates), minus the expected seconds, and when it came."""
_Key = tuple[int, str, str]
"""How heavy, whose tests, and whose answers: the jobs that stay together."""


class SampleJobs(NamedTuple):
    """What jobs of one sample have in common."""

    text: str
    """The tests, as the examiner reads them."""
    name: str
    """A digest of the text and of the canonical solution: how tests are kept apart was found out with that one."""
    canonical: str
    weight: int = 0
    """How heavy the modules are that the tests import."""
    imports: tuple[str, ...] = ()
    """Those of them that are worth loading before tests run beside a solution."""


@dataclass(eq=False)
class QueuedJob:
    """A job on its way."""

    priority: tuple[int, float, int]
    """What calibrates first; then what imports little, the longest first; then as it came."""
    job: Job
    task: SampleJobs
    digest: str = ""
    """The same for equal jobs."""
    token: str = ""
    """What its answer has to begin with, so that a stray write to the worker's socket is none."""
    tries: int = 0
    twins: list[Job] = field(default_factory=list)
    """Jobs that are exactly the same and get the same outcome."""
    modules: list[str] = field(default_factory=list)
    """What its worker loads before it."""
    weight: int = 0
    """How heavy these are."""
    later: dict[str, Any] | None = None
    """What has become of it apart, where some of its tests are still to run beside it."""
    calibrates: bool = False
    """Whether this is a canonical solution, run to see how the tests that others wait for can be kept apart."""

    @property
    def is_program(self) -> bool:
        """Whether its solution is a program that reads and writes: always apart from what it is to print."""
        return self.job.sample.problem_type is ProblemType.STDIN

    def __lt__(self, other: QueuedJob) -> bool:
        """Whether it runs before the other."""
        return self.priority < other.priority


class JobQueue:
    """Jobs in groups, each the work of one worker as long as there is other work for the others."""

    def __init__(self) -> None:
        self._groups: dict[_Key, list[QueuedJob]] = {}
        self._current: dict[int, _Key] = {}
        """What each worker took last."""
        self._owners: dict[_Key, int | None] = {}
        self._last: dict[str, int] = {}
        """The worker that last took a job of a task."""
        self._queues: defaultdict[int | None, list[tuple[Priority, _Key]]] = defaultdict(list)
        """The first job of each group, by the group's owner; one that has been overtaken or taken stays until met."""
        self._size = 0

    def __len__(self) -> int:
        """Return how many wait."""
        return self._size

    def push(self, entry: QueuedJob) -> None:
        """Let a job wait."""
        key = (entry.priority[0], entry.task.name, entry.job.model)
        if key not in self._groups:
            self._groups[key] = []
            self._owners[key] = self._last.get(entry.task.name)
        group = self._groups[key]
        heapq.heappush(group, entry)
        self._size += 1
        if group[0] is entry:
            heapq.heappush(self._queues[self._owners[key]], (entry.priority, key))

    def pop(self, worker: int, *, stays: bool = False) -> QueuedJob | None:
        """Return the next job for a worker: of its own samples or new ones, and only then of another's.

        Args:
            worker: its number.
            stays: only one that its examiner may have, too.

        Returns:
            None if there is none.
        """
        key = self._current.get(worker)
        if key is None or self._owners.get(key) != worker:
            key = None if stays else self._next(worker)
        if key is None:
            return None
        self._current[worker] = key
        group = self._groups[key]
        entry = heapq.heappop(group)
        self._size -= 1
        self._last[key[1]] = worker
        if group:
            self._owners[key] = worker
            heapq.heappush(self._queues[worker], (group[0].priority, key))
        else:
            del self._groups[key], self._owners[key]
        return entry

    def _next(self, worker: int) -> _Key | None:
        fronts = [front for owner in (worker, None) if (front := self._front(owner))]
        fronts = fronts or [front for owner in list(self._queues) if (front := self._front(owner))]
        last = self._current.get(worker, (0, "", ""))[1]
        return min(fronts, key=lambda front: (front[1][0], front[1][1] != last, front))[1] if fronts else None

    def least_weight(self) -> int:
        """Return how heavy the modules are that the lightest of them imports; none waiting counts as the heaviest."""
        return min((front[0][0] for owner in list(self._queues) if (front := self._front(owner))), default=1 << 30)

    def _front(self, owner: int | None) -> tuple[Priority, _Key] | None:
        queue = self._queues[owner]
        while queue:
            priority, key = queue[0]
            group = self._groups.get(key)
            if group and group[0].priority == priority and self._owners[key] == owner:
                return queue[0]
            heapq.heappop(queue)
        return None
