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
        key, _, place = part.key.rpartition("#")
        one = under[key]
        one.found[place] = outcome
        if len(one.found) == one.waits:
            del under[key]
            yield one.job, _together(one)


def _parts(jobs: Iterable[Job], under: dict[str, _Under]) -> Iterator[Job]:
    known: dict[str, tuple[Sample, list[Sample]]] = {}
    for number, job in enumerate(jobs):
        key, sample = str(number), job.sample
        one = under[key] = _Under(job, 1)
        if len(sample.tests) > 1 and sample.problem_type is not ProblemType.STDIN and job.code.strip():
            if sample.id not in known or known[sample.id][0] is not sample:
                known[sample.id] = (sample, _singles(sample))
            one.waits += len(sample.tests)
            for place, single in enumerate(known[sample.id][1]):
                yield replace(job, key=f"{key}#{place}", sample=single)
        yield replace(job, key=f"{key}#{_WHOLE}")


def _singles(sample: Sample) -> list[Sample]:
    return [replace(sample, id=f"{sample.id}#{place}", tests=(test,)) for place, test in enumerate(sample.tests)]


def _together(one: _Under) -> Outcome:
    """Return what the tests come to that had a solution each."""
    whole = one.found.pop(_WHOLE)
    singles = [one.found[str(place)] for place in range(len(one.found))]
    if not singles:
        return whole
    tests = tuple(single.tests[0] for single in singles)
    bad = next((single for single in singles if single.error is not None), None)
    differs = [test.passed for test in tests] != [test.passed for test in whole.tests]
    flags = [flag for outcome in (whole, *singles) for flag in outcome.flags]
    return replace(
        whole,
        tests=tests,
        error=bad.error if bad else None,
        error_type=bad.error_type if bad else "",
        error_message=bad.error_message if bad else "",
        limit=next((single.limit for single in singles if single.limit), ""),
        benchmark_fault=next((single.benchmark_fault for single in singles if single.benchmark_fault), ""),
        isolation=max(single.isolation for single in singles),
        flags=tuple(dict.fromkeys([*flags, ORDER] if differs else flags)),
        seconds=_sum(outcome.seconds for outcome in (whole, *singles)),
        wall_seconds=_sum(outcome.wall_seconds for outcome in (whole, *singles)),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
