"""Whether the authors' submissions of a problem package get the verdict that their folder promises."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from markbook.errors import MarkbookError
from markbook.languages import find
from markbook.languages.whole import language_of
from markbook.load.programs.package import Package, Submission, package_benchmark, read_package
from markbook.runs.programs.marker import ProgramMarker
from markbook.sandbox import Job
from markbook.types import Limits, Outcome, Sample

MEASURING_SECONDS = 60.0
"""What an accepted submission may take for a test where the limit follows from it."""
LEAST_SECONDS = 1.0
"""No time limit that follows from submissions is below this."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of one submission."""

    name: str
    promised: tuple[str, ...]
    result: str
    score: float | None
    """The share of the points, where there are any."""
    seconds: float
    """CPU seconds of its slowest test."""
    holds: bool
    detail: str


@dataclass(frozen=True, slots=True)
class PackageCheck:
    """What running the submissions showed."""

    submissions: tuple[Submitted, ...]
    not_run: tuple[str, ...]
    """Submissions in languages that are not here, with the reason."""
    seconds: float
    """The time limit: the package's, or the one that follows from its accepted submissions."""
    isolation: str
    verdicts: Counter[str]
    """How many tests got each verdict label."""


@dataclass(frozen=True, slots=True)
class _Runnable:
    submission: Submission
    language: str
    files: dict[str, bytes]

    def job(self, sample: Sample, limits: Limits, seconds: float | None) -> Job:
        mine = replace(sample, language=self.language, seconds=seconds)
        return Job(self.submission.name, "", mine, limits, files=self.files)


def check_package(
    path: Path, *, timeout: float, workers: int | None, isolation: Literal["auto", "strict", "weak"]
) -> PackageCheck:
    """Run every submission whose language is here.

    Raises:
        DataError: as `package_benchmark`.
        EnvironmentUnfitError: as for the exam.
    """
    package = read_package(path)
    sample = package_benchmark(path).samples[0]
    runnable, not_run = _runnable(package)
    limits = Limits(seconds=min(timeout, MEASURING_SECONDS), memory_bytes=package.memory_bytes or Limits().memory_bytes)
    if package.output_bytes:
        limits = replace(limits, output_bytes=package.output_bytes)
    marker = ProgramMarker(
        sorted({submission.language for submission in runnable}), workers=workers, isolation=isolation
    )
    with closing(marker):
        right = [submission for submission in runnable if submission.submission.promised == ("AC",)]
        usual = package.seconds or limits.seconds
        outcomes = dict(_ran(marker, [submission.job(sample, limits, usual) for submission in right]))
        seconds = package.seconds or _limit(package, outcomes)
        others = [submission for submission in runnable if submission.submission.promised != ("AC",)]
        outcomes |= dict(_ran(marker, [submission.job(sample, limits, seconds) for submission in others]))
        level = marker.level.value
    return PackageCheck(
        submissions=tuple(
            _check_submission(submission.submission, outcomes[submission.submission.name]) for submission in runnable
        ),
        not_run=tuple(not_run),
        seconds=seconds,
        isolation=level,
        verdicts=Counter(
            test.verdict.value for outcome in outcomes.values() for test in outcome.tests if test.result != "-"
        ),
    )


def _ran(marker: ProgramMarker, jobs: Sequence[Job]) -> Iterator[tuple[str, Outcome]]:
    for job, outcome in marker.run(jobs):
        yield job.key, outcome


def _limit(package: Package, outcomes: dict[str, Outcome]) -> float:
    """Return the time limit that follows from the accepted submissions, in whole seconds."""
    slowest = max((outcome.slowest or 0.0 for outcome in outcomes.values()), default=0.0)
    return max(LEAST_SECONDS, math.ceil(slowest * package.time_multiplier))


def _runnable(package: Package) -> tuple[list[_Runnable], list[str]]:
    """Return the submissions that can be run here, and of the others why not."""
    runnable: list[_Runnable] = []
    not_run: list[str] = []
    for submission in package.submissions:
        files = {PurePosixPath(name).name: package.bundle.read(name) for name in submission.files}
        languages = {language_name for name, content in files.items() if (language_name := language_of(name, content))}
        if len(languages) != 1:
            not_run.append(f"{submission.name}: in no language that is known here")
            continue
        (language,) = languages
        try:
            find(language)
        except MarkbookError as error:
            not_run.append(f"{submission.name}: {error.message}")
            continue
        runnable.append(_Runnable(submission, language, files))
    return runnable, not_run


def _check_submission(submission: Submission, outcome: Outcome) -> Submitted:
    result = _result(outcome)
    if outcome.score is not None and result != "JE":
        share = outcome.score
        holds = 0 < share < 1 if submission.is_partial else (share == 1.0) == (submission.promised == ("AC",))
        result = "AC" if share == 1.0 else result
        holds = holds and (submission.is_partial or result in submission.promised)
    else:
        holds = result in submission.promised
    failed = next(((n, test) for n, test in enumerate(outcome.tests) if not test.passed and test.result != "-"), None)
    why = f"test {failed[0]}: {failed[1].error_message}" if failed else ""
    promised = "part of the points" if submission.is_partial else " or ".join(submission.promised)
    got = result if outcome.score is None else f"{result} with {100 * outcome.score:g} % of the points"
    return Submitted(
        submission.name,
        submission.promised,
        result,
        outcome.score,
        outcome.slowest or 0.0,
        holds,
        f"promised {promised}, got {got}" + (f" ({why})" if why and not holds else ""),
    )


def _result(outcome: Outcome) -> str:
    """Return the result of the whole: the judge's fault, else the first test's that failed."""
    results = [test.result for test in outcome.tests if test.result not in ("AC", "-")]
    return "JE" if "JE" in results or outcome.benchmark_fault else next(iter(results), "AC")
