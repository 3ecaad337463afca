"""Whether a benchmark's own solutions pass its tests, every time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from markbook.benchmarks.benchmark import TestFault, is_package, language_fault, load_benchmark, without_faults
from markbook.benchmarks.packages import Submission, package_benchmark, read_package
from markbook.errors import MarkbookError
from markbook.languages import find
from markbook.languages.toolchain import detect_language
from markbook.option import TIME_LIMIT
from markbook.programs.executions import JobExecutor
from markbook.programs.marker import ProgramMarker
from markbook.programs.sandboxes import BoxSettings, open_sandboxes
from markbook.runs.exam.grading import mark
from markbook.runs.exam.plan import available, list_languages
from markbook.sandbox import Job
from markbook.types import Limits, Outcome, ProblemType, Sample, Verdict, join_words

# Whether the authors' submissions of a problem package get the verdict that their folder promises.

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
class _Runnable:
    submission: Submission
    language: str
    files: dict[str, bytes]

    def job(self, sample: Sample, limits: Limits, seconds: float | None) -> Job:
        mine = replace(sample, language=self.language, seconds=seconds)
        return Job(self.submission.name, "", mine, limits, files=self.files)


def _check_submission(submission: Submission, outcome: Outcome) -> Submitted:
    results = [test.result for test in outcome.tests if test.result not in ("AC", "-")]
    # A judge that failed says nothing of the submission, however it was promised to end.
    result = "JE" if "JE" in results or outcome.benchmark_fault else next(iter(results), "AC")
    if outcome.score is not None and result != "JE":
        share = outcome.score
        # Points decide here: part of them means some and not all, and accepted means all of them.
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


_CONSTANTS = ("None", "True", "False", "0", "1", "-1", "''", "[]", "{}", "()")
"""What an answer to a problem may return without looking at it; of all its tests hardly one that asks for something passes."""
_BRIEF, _QUICK = 5.0, 0.25
"""Seconds that such an answer may take; it is tried only where the benchmark's own takes less than this."""
_CALLED = (ProblemType.FUNCTION, None)
_EMPTY = {"float('nan')": "", "np.empty((0, 3))": "import numpy as np\n"}
"""What compares as if it were anything where a test is careless, each with what it needs: no test asks for it."""
ROUNDS = 2
"""How often each canonical solution is run; a verdict that differs between rounds flips."""


@dataclass(frozen=True, slots=True)
class FaultyProblem:
    """A problem whose own solution does not pass, or not every time."""

    task_id: str
    kind: Literal["fails", "flips", "no_solution"]
    passed: int
    """Tests that passed in the first round."""
    total: int
    detail: str


@dataclass(frozen=True, slots=True)
class WeakTest:
    """Tests that an answer passes which looks at nothing."""

    task_id: str
    answer: str
    """What it returns, whatever it is asked."""
    tests: tuple[int, ...]
    total: int


@dataclass(frozen=True, slots=True)
class BenchmarkCheck:
    """What running a benchmark's canonical solutions showed."""

    benchmark: str
    total: int
    problems: tuple[FaultyProblem, ...]
    faults: tuple[TestFault, ...]
    """Tests that do not parse."""
    rejected_rows: int
    isolation: str
    separated_share: float | None
    """The share of tests whose verdict came from separate processes."""
    verdicts: dict[str, int]
    """How many tests got each verdict in the first round: every label, also those that none got."""
    submissions: tuple[Submitted, ...] = ()
    """Of a problem package: what its authors' submissions got, beside what their folders promise."""
    not_run: tuple[str, ...] = ()
    """Submissions in languages that are not here, with the reason."""
    time_limit: float | None = None
    """Of a problem package: the limit that its submissions met, in seconds."""
    weak: tuple[WeakTest, ...] = ()
    """Problems that an answer passes which always returns the same, and tests that one passes which returns nothing that
    anybody asks for: not a number, or an empty array. A hint: the benchmark holds all the same."""

    @property
    def holds(self) -> bool:
        """Whether every item does what it says: each solution passes every time, and every test parses."""
        return not self.problems and not self.faults

    def record(self) -> dict[str, object]:
        """Return it as JSON values."""
        return asdict(self)


def check_benchmark(
    path: Path,
    *,
    format_name: str = "auto",
    timeout: float = TIME_LIMIT,
    workers: int | None = None,
    isolation: Literal["auto", "strict", "weak"] = "auto",
    python: Path | None = None,
) -> BenchmarkCheck:
    """Run the canonical solutions twice, by the given interpreter or this one, and report what fails or flips.

    Raises:
        DataError: no valid problem.
        UsageError: the interpreter is none.
        EnvironmentUnfitError: as for the exam.
    """
    if format_name == "auto" and is_package(path):
        return _check_package(path, timeout=timeout, workers=workers, isolation=isolation)
    benchmark, faults = without_faults(load_benchmark(path, format_name), language_fault)
    available(benchmark, skip=False)
    outcomes: dict[str, list[Outcome]] = {sample.id: [] for sample in benchmark.samples}
    names = list_languages(benchmark)
    # With `dedupe` the second round would take the outcomes of the first, and nothing could flip.
    settings = BoxSettings(
        workers=workers, isolation=isolation, python=str(python or ""), dedupe=False, languages=names
    )
    limits = Limits(seconds=timeout)
    jobs = (
        Job(f"{round_}:{sample.id}", sample.references[0], sample, limits)
        for round_ in range(ROUNDS)
        for sample in benchmark.samples
        if sample.references
    )
    with open_sandboxes("local", settings) as box:
        for job, outcome in box.run(jobs):
            outcomes[job.sample.id].append(outcome)
        level = box.level.value
        # Ten constants to every problem: where one run takes long, all of them would take hours.
        quick = [
            sample
            for sample in benchmark.samples
            if all((outcome.seconds or 0.0) < _QUICK for outcome in outcomes[sample.id])
        ]
        weak = _weak(quick, box, Limits(seconds=min(timeout, _BRIEF)))
    problems = [problem for sample in benchmark.samples if (problem := _judge(sample, outcomes[sample.id]))]
    labels = Counter(
        test.verdict
        for outcomes_of_sample in outcomes.values()
        for outcome in outcomes_of_sample[:1]
        for test in outcome.tests
    )
    return BenchmarkCheck(
        benchmark=benchmark.name,
        total=len(benchmark.samples),
        problems=tuple(problems),
        faults=tuple(faults),
        rejected_rows=len(benchmark.rejections),
        isolation=level,
        separated_share=_separated_share(labels),
        verdicts={verdict.value: labels[verdict] for verdict in Verdict},
        weak=weak,
    )


def _weak(samples: Sequence[Sample], box: JobExecutor, limits: Limits) -> tuple[WeakTest, ...]:
    """Run answers that always return the same."""
    answers = dict.fromkeys(_CONSTANTS, "") | _EMPTY
    jobs = [
        Job(
            answer,
            f"{imports}def {sample.entry_point}(*_arguments, **_options):\n    return {answer}\n",
            sample,
            limits,
        )
        for sample in samples
        if sample.entry_point.isidentifier() and not sample.language and sample.problem_type in _CALLED and sample.tests
        for answer, imports in answers.items()
    ]
    weak_tests: dict[str, list[WeakTest]] = {}
    for job, outcome in box.run(jobs):
        passed = tuple(number for number, test in enumerate(outcome.tests) if test.passed)
        # Some test may well ask for 0 or True; an empty array or not-a-number is never what a single test asks for.
        if passed and (job.key in _EMPTY or len(passed) == len(outcome.tests)):
            weak_test = WeakTest(job.sample.id, job.key, passed, len(outcome.tests))
            weak_tests.setdefault(job.sample.id, []).append(weak_test)
    order = list(answers)
    # Of several constants that pass, the one that passes most shows the problem best.
    best = {
        name: min(some, key=lambda candidate: (-len(candidate.tests), order.index(candidate.answer)))
        for name, some in weak_tests.items()
    }
    return tuple(best[sample.id] for sample in samples if sample.id in best)


def _check_package(
    path: Path, *, timeout: float, workers: int | None, isolation: Literal["auto", "strict", "weak"]
) -> BenchmarkCheck:
    """Run every submission whose language is here; one that does not get what its folder promises is a faulty problem.

    Raises:
        DataError: as `package_benchmark`.
        EnvironmentUnfitError: as for the exam.
    """
    package = read_package(path)
    sample = package_benchmark(path).samples[0]
    runnable: list[_Runnable] = []
    not_run: list[str] = []
    for submission in package.submissions:
        files = {PurePosixPath(name).name: package.bundle.read(name) for name in submission.files}
        # A submission is one program: files of two languages say of neither how it is to be built.
        languages = {name for path, content in files.items() if (name := detect_language(path, content))}
        if len(languages) != 1:
            not_run.append(f"{submission.name}: in no language that is known here")
            continue
        (language,) = languages
        try:
            find(language)
            runnable.append(_Runnable(submission, language, files))
        except MarkbookError as error:
            not_run.append(f"{submission.name}: {error.message}")
    limits = Limits(seconds=min(timeout, MEASURING_SECONDS), memory_bytes=package.memory_bytes or Limits().memory_bytes)
    if package.output_bytes:
        limits = replace(limits, output_bytes=package.output_bytes)
    marker = ProgramMarker(sorted({program.language for program in runnable}), workers=workers, isolation=isolation)
    with closing(marker):
        # Right ones first: where the package states no limit, the slowest of them sets it for all others.
        right = [program for program in runnable if program.submission.promised == ("AC",)]
        usual = package.seconds or limits.seconds
        ran = marker.run([program.job(sample, limits, usual) for program in right])
        outcomes = {job.key: outcome for job, outcome in ran}
        # The slowest accepted submission times the package's multiplier, rounded up to whole seconds.
        slowest = max((outcome.slowest or 0.0 for outcome in outcomes.values()), default=0.0)
        seconds = package.seconds or max(LEAST_SECONDS, math.ceil(slowest * package.time_multiplier))
        others = [program for program in runnable if program.submission.promised != ("AC",)]
        ran = marker.run([program.job(sample, limits, seconds) for program in others])
        outcomes |= {job.key: outcome for job, outcome in ran}
        level = marker.level.value
    submissions = [_check_submission(program.submission, outcomes[program.submission.name]) for program in runnable]
    verdicts = Counter(test.verdict for outcome in outcomes.values() for test in outcome.tests if test.result != "-")
    problems = tuple(
        FaultyProblem(submission.name, "fails", int(submission.result == "AC"), 1, submission.detail)
        for submission in submissions
        if not submission.holds
    )
    return BenchmarkCheck(
        benchmark=path.name.removesuffix(".zip"),
        total=len(submissions),
        problems=problems,
        faults=(),
        rejected_rows=0,
        isolation=level,
        separated_share=_separated_share(verdicts),
        verdicts={verdict.value: verdicts[verdict] for verdict in Verdict},
        submissions=tuple(submissions),
        not_run=tuple(not_run),
        time_limit=seconds,
    )


def _separated_share(verdicts: Counter[Verdict]) -> float | None:
    return verdicts[Verdict.SEPARATED] / verdicts.total() if verdicts else None


def _judge(sample: Sample, outcomes: list[Outcome]) -> FaultyProblem | None:
    if not outcomes:
        return FaultyProblem(sample.id, "no_solution", 0, len(sample.tests), "the row has no canonical solution")
    marks = [mark(sample, outcome) for outcome in outcomes]
    patterns = {tuple(test.passed for test in outcome.tests) for outcome in outcomes}
    # By test and not by score: two rounds that fail in different places flip, though both are worth the same.
    if len(patterns) > 1:
        detail = "passed " + " and then ".join(f"{got.passed} of {got.total}" for got in marks)
        return FaultyProblem(sample.id, "flips", marks[0].passed, marks[0].total, detail)
    if marks[0].all_passed:
        return None
    first = outcomes[0]
    why = first.error_words or first.error.value if first.error else ""
    if not first.error:
        number, test = next((number, test) for number, test in enumerate(first.tests) if not test.passed)
        why = join_words(f"test {number}", test.error_type or "AssertionError", test.error_message)
    return FaultyProblem(sample.id, "fails", marks[0].passed, marks[0].total, why)
