"""One attempt in a sandbox, for tests of verdicts and their labels."""

from markbook.sandbox import Job
from markbook.types import Limits, ProblemType, Sample, Test


def run(box, code, *tests, canonical=None, kind="function", name="f", seconds=2.0):
    """Return what becomes of a solution; it is its own canonical one where none is given, and `""` is none."""
    reference = code if canonical is None else canonical
    sample = Sample(
        id="x",
        tests=tuple(test if isinstance(test, Test) else Test(*test) for test in tests),
        entry_point=name,
        references=(reference,) if reference else (),
        problem_type=None if kind == "program" else ProblemType(kind),
    )
    ((_, outcome),) = box.run([Job("k", code, sample, Limits(seconds=seconds))])
    return outcome


def labels(box, code, *tests, **options):
    """Return of each test whether it passed, and by what right that is said."""
    found = run(box, code, *tests, **options)
    return [(result.passed, result.verdict.value) for result in found.tests]
