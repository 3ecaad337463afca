"""Every test of a function problem with a freshly loaded solution of its own, beside the usual run of all in one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from markbook.sandbox import Job
from markbook.types import Outcome, ProblemType, Sample

ORDER = "order"
"""The flag of an answer whose tests come out otherwise when each has a solution of its own: one that counts calls, say."""
_WHOLE = "whole"


class Box(Protocol):
    """What executes jobs."""

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Execute every job; yield each with its outcome, in no promised order."""
        ...


@dataclass(slots=True)
class _Under:
    """A job under way, in parts."""

    job: Job
    waits: int
    found: dict[str, Outcome] = field(default_factory=dict)


def run_fresh(box: Box, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
    """Execute every job once with its tests together, and once more test by test; yield what the latter come to.

    Where the two differ the outcome is flagged. A problem with one test, and a program that reads and writes, whose tests
    have processes of their own anyway, are executed once.
    """
    under: dict[str, _Under] = {}
    for part, outcome in box.run(_parts(jobs, under)):
        key, _, test_index = part.key.rpartition("#")
        pending = under[key]
        pending.found[test_index] = outcome
        if len(pending.found) == pending.waits:
            del under[key]
            yield pending.job, _together(pending)


def _parts(jobs: Iterable[Job], under: dict[str, _Under]) -> Iterator[Job]:
    singles_by_id: dict[str, tuple[Sample, list[Sample]]] = {}
    for number, job in enumerate(jobs):
        key, sample = str(number), job.sample
        pending = under[key] = _Under(job, 1)
        if len(sample.tests) > 1 and sample.problem_type is not ProblemType.STDIN and job.code.strip():
            if sample.id not in singles_by_id or singles_by_id[sample.id][0] is not sample:
                singles_by_id[sample.id] = (sample, _singles(sample))
            pending.waits += len(sample.tests)
            for index, single in enumerate(singles_by_id[sample.id][1]):
                yield replace(job, key=f"{key}#{index}", sample=single)
        yield replace(job, key=f"{key}#{_WHOLE}")


def _singles(sample: Sample) -> list[Sample]:
    return [replace(sample, id=f"{sample.id}#{index}", tests=(test,)) for index, test in enumerate(sample.tests)]


def _together(pending: _Under) -> Outcome:
    """Return what the tests come to that had a solution each."""
    outcome = pending.found.pop(_WHOLE)
    singles = [pending.found[str(index)] for index in range(len(pending.found))]
    if not singles:
        return outcome
    tests = tuple(single.tests[0] for single in singles)
    bad = next((single for single in singles if single.error is not None), None)
    differs = [test.passed for test in tests] != [test.passed for test in outcome.tests]
    flags = [flag for outcome in (outcome, *singles) for flag in outcome.flags]
    return replace(
        outcome,
        tests=tests,
        error=bad.error if bad else None,
        error_type=bad.error_type if bad else "",
        error_message=bad.error_message if bad else "",
        limit=next((single.limit for single in singles if single.limit), ""),
        benchmark_fault=next((single.benchmark_fault for single in singles if single.benchmark_fault), ""),
        isolation=max(single.isolation for single in singles),
        flags=tuple(dict.fromkeys([*flags, ORDER] if differs else flags)),
        seconds=_sum(outcome.seconds for outcome in (outcome, *singles)),
        wall_seconds=_sum(outcome.wall_seconds for outcome in (outcome, *singles)),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None
