"""What earlier jobs have shown: how each problem's tests are kept apart, how long it takes, and what came of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from markbook.sandbox import job as jobs
from markbook.sandbox.job_queue import SampleJobs
from markbook.sandbox.record_store import RecordStore
from markbook.types import Sample

if TYPE_CHECKING:
    from markbook.sandbox.guest.wire_records import PlanRecord


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """How the tests of one sample are kept apart from the candidate, found with its canonical solution."""

    record: PlanRecord | None
    """What the examiner is told; None where every test runs beside the candidate without being looked at."""
    seconds: float | None = None
    """CPU seconds that the canonical solution needed."""
    compiled: str = ""
    """The tests as an examiner has compiled them, which every later one of this sample is spared; empty if there is nothing."""


@dataclass
class Findings:
    """What earlier jobs have shown."""

    kept_plans: RecordStore
    kept_verdicts: RecordStore
    identity: str
    """What the kept ones depend on beside the job; see `kept.identity`."""
    plans: dict[str, SamplePlan] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """CPU time of the last attempt at a sample, by the sample's id."""
    duplicates: int = 0
    reused: int = 0
    sequence: Iterator[int] = field(default_factory=itertools.count)

    def plan(self, task: SampleJobs) -> SamplePlan | None:
        """Return the plan for a task, found now or in an earlier run."""
        if task.name not in self.plans:
            sample_plan = self.kept_plans.get(jobs.digest(self.identity, task.name, task.canonical))
            if sample_plan is not None:
                self.plans[task.name] = SamplePlan(
                    sample_plan["record"], sample_plan["seconds"], sample_plan["compiled"]
                )
        return self.plans.get(task.name)

    def learn(self, task: SampleJobs, plan: SamplePlan, *, keep: bool) -> None:
        """Note the plan for a task, and if it is to be kept, for later runs too."""
        self.plans[task.name] = plan
        if keep:
            self.kept_plans.put(jobs.digest(self.identity, task.name, task.canonical), asdict(plan))

    def forget(self, most: int) -> None:
        """Keep only the latest so many plans and times in memory."""
        for table in (self.plans, self.seconds):
            for name in list(itertools.islice(table, max(0, len(table) - most))):
                del table[name]

    def close(self) -> None:
        """Write what is to be kept."""
        self.kept_plans.close()
        self.kept_verdicts.close()


def beside(sample: Sample) -> PlanRecord:
    """Return the plan by which every test of a sample runs in the candidate's process."""
    return {"tests": [None] * len(sample.tests), "pins": {}, "sure": True}
