"""Broken tests: those that no answer can pass, that every answer passes, or that would never end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from markbook.benchmarks.problems import Benchmark
from markbook.errors import DataError, UsageError
from markbook.languages import language
from markbook.testcode import programs
from markbook.types import Sample, Test

# Tests in other languages than Python that nobody can be marked by.


def language_fault(name: str, test: Test) -> str:
    """Return why nothing can be marked by a test in a language, empty if something can; so for an unknown language."""
    try:
        return language(name).find_fault(test.program)
    except UsageError:
        return ""


# Faults of a benchmark itself: tests that do not parse, would pass whatever is tested, or end before it is seen that they passed.
#
# They are set aside before anybody is marked by them.


@dataclass(frozen=True, slots=True)
class TestFault:
    """A test by which nobody can be marked because it is broken."""

    task_id: str
    test_index: int
    """From 0, in the benchmark's own numbering."""
    reason: str


def without_faults(
    benchmark: Benchmark, elsewhere: Callable[[str, Test], str] = lambda _language, _test: ""
) -> tuple[Benchmark, list[TestFault]]:
    """Return the benchmark without its broken tests, and without problems that have no other; and what was set aside.

    Args:
        benchmark: as it was read.
        elsewhere: says why a test in a language of its own is broken, empty if it is not.

    Raises:
        DataError: no test is left.
    """
    faults: list[TestFault] = []
    samples: list[Sample] = []
    for sample in benchmark.samples:
        test_faults = [
            TestFault(sample.id, index, reason)
            for index, test in enumerate(sample.tests)
            if (
                reason := elsewhere(sample.language, test)
                # A test with an input is compared by rules that are the same for all languages; only a test in code
                # needs its language.
                if sample.language and test.stdin is None
                else find_fault(test, sample.entry_point)
            )
        ]
        if not test_faults:
            samples.append(sample)
            continue
        faults += test_faults
        # Only the broken ones go: a problem with a single bad test can still be marked by its other tests.
        broken = {fault.test_index for fault in test_faults}
        sound = tuple(test for index, test in enumerate(sample.tests) if index not in broken)
        # A problem without any sound test is dropped for all models alike; kept, it would count against each of them.
        if sound:
            samples.append(replace(sample, tests=sound))
    if not samples:
        raise DataError(
            f"no problem has a test that can be passed; the first fault, in {faults[0].task_id}: {faults[0].reason}",
            at=benchmark.samples[0].source,
        )
    return replace(benchmark, samples=tuple(samples)), faults


def find_fault(test: Test, entry: str = "") -> str:
    """Return why a test is broken, empty if it is not. Its code is parsed, never run.

    Args:
        test: the test.
        entry: what it tests is called.
    """
    fault = programs.find_fault(test, entry)
    if fault or test.stdin is None:
        return fault
    from markbook.sandbox.guest.examination import rules  # late: few benchmarks compare what programs print

    try:
        rules.parse(test.checker)
    except ValueError as error:
        return str(error)
    return ""
