"""The records that flow through the pipeline.

    Sample -> Attempt -> Outcome -> Measurement -> Summary

Frozen, slotted, standard library only. A score inside is 0..1; a time is seconds. Nothing here is ever NaN:
a value that could not be had is a `Missing` with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, Self, TypedDict

from markbook.codec import JsonRecord, as_json
from markbook.measurements import (
    CONFIDENCE,
    SIGNIFICANCE,
    Direction,
    Interval,
    IntervalRecord,
    Measurement,
    MeasurementRecord,
    Missing,
    MissingKind,
    Summary,
    SummaryRecord,
    missing_kinds,
    nothing,
    range_record,
    read_range,
)
from markbook.option import Limits, Profile
from markbook.why import Why, read_why

if TYPE_CHECKING:
    from markbook.programs.checkers import Group, Judge

__all__ = [
    "CONFIDENCE",
    "PYTHON",
    "SIGNIFICANCE",
    "Attempt",
    "Direction",
    "ErrorKind",
    "Interval",
    "IntervalRecord",
    "Isolation",
    "Item",
    "Key",
    "Limits",
    "Measurement",
    "MeasurementRecord",
    "Metric",
    "Missing",
    "MissingKind",
    "Outcome",
    "OutcomeRecord",
    "ProblemType",
    "Profile",
    "Record",
    "Sample",
    "Summary",
    "SummaryRecord",
    "TaskRow",
    "Test",
    "TestResult",
    "Verdict",
    "digest_text",
    "missing_kinds",
    "names_python",
    "range_record",
    "read_range",
]

Key = tuple[str | int, ...]
"""What a piece of work is known by, and kept under in a run's journal."""

Record = Mapping[str, object]
"""A JSON object as somebody wrote it: nothing is known of a value until it has been looked at."""


def digest_text(text: str) -> str:
    """Return the SHA-256 of a text as hexadecimal digits, which are the same in every version and on every machine.

    Half a character (a lone surrogate) is encoded as it stands: what a model wrote never keeps a run from being written.
    """
    import hashlib  # late: the page of a command's options does without OpenSSL

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


PYTHON = ("python", "python3", "py")
"""Names of the language whose answers the examiner marks from outside, as are those of problems that name none."""


def names_python(language: str) -> bool:
    """Whether answers in a language go the way of Python: by one of its names, or without any."""
    return language.lower() in ("", *PYTHON)


@dataclass(frozen=True, slots=True)
class Test:
    """One test of a code problem. It passes only if all the parts that it has do.

    Either `program` alone (HumanEval, MBPP: a whole test program), or the documented parts.
    """

    __test__ = False  # not a test of ours: keeps pytest from collecting it

    setup: str = ""
    """Statements run before the assertion (`ctx` in the benchmark)."""
    assertion: str = ""
    """An expression; the test fails unless it is true."""
    inspection: tuple[str, ...] = ()
    """Names or keywords that the solution's syntax tree must use, such as `yield from` or `asyncio.gather`."""
    pattern: str = ""
    """A regular expression that the solution's source must match (`keyword` in older benchmarks)."""
    program: str = ""
    """Statements that raise if the solution is wrong; the entry point is bound under its own name."""
    stdin: str | None = None
    """What the program reads, where the solution is a program that reads and writes; None for every other test."""
    stdout: str = ""
    """What it is to print."""
    checker: str = ""
    """How the two are compared, such as `float:1e-6`; `tokens` if empty. See `markbook.sandbox.guest.examination.rules`."""
    points: float | None = None
    """What it is worth, where tests are not all or nothing."""
    judge_flags: tuple[str, ...] | None = None
    """What the problem's own judge is told about this test, where that is not the same for all."""


class ProblemType(StrEnum):
    """What a problem asks for, and so what its tests get hold of."""

    FUNCTION = "function"
    CLASS = "class"
    TEXT = "text"
    STDIN = "stdin"
    """A whole program that reads its standard input and writes its standard output."""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """The row of a task that a sample was made of."""

    record: Mapping[str, object]
    place: int = 0
    """Its place among the task's rows, from 0: the `doc_id` of answers and results."""
    has_turns: bool = False
    """Whether worked examples are asked before it as turns of their own."""


BASE_TESTS = "base_tests"
"""Where a sample's meta says how many of its first tests are those of the benchmark that this one extends."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The question: one exam problem, one row of a task, or one paper."""

    id: str
    input: str = ""
    """What the model was asked."""
    references: tuple[str, ...] = ()
    """Right answers: the canonical solution, reference texts, or human reviews."""
    tests: tuple[Test, ...] = ()
    entry_point: str = ""
    """The name that the solution must define; empty where the problem states none."""
    meta: Mapping[str, object] = field(default_factory=nothing)
    """What the user's data say besides, to group by or to show: topic, complexity, and the like, and `BASE_TESTS`."""
    source: str = ""
    """`file:line` where it was read."""
    problem_type: ProblemType | None = None
    """What a code problem asks for; None where the benchmark does not say."""
    prompt_code: str = ""
    """The code that an answer may go on with; empty where an answer is always whole."""
    preloaded: tuple[str, ...] = ()
    """What an answer may use without importing it, because the benchmark's own runner had: modules by name, all names of one
    (`from math import *`), or a statement that its runner executed before."""
    method: str = ""
    """The function that an answer may define by itself or in a class `Solution`; empty where it is to be `entry_point`."""
    system: str = ""
    """The system prompt."""
    context: str | None = None
    """What the problem states beside its question, such as rules for the code; None where it has no such part."""
    canonical: tuple[str, ...] = ()
    """Right programs of a task with tests, whatever `references` compares the answers' text to."""
    row: TaskRow | None = None
    """The row of a task that it was made of."""
    language: str = ""
    """What its answers are written in, where that is a program: `setup`, answer and `program` of each test are one text
    then. Empty for answers in Python that an examiner marks from outside."""
    canonical_language: str = ""
    """What the canonical solution of a program that reads and writes is written in; empty for Python."""
    seconds: float | None = None
    """CPU seconds that the problem itself allows for one test of a program that reads and writes."""
    memory_bytes: int | None = None
    """What it allows such a program of memory."""
    judge: Judge | None = None
    """The benchmark's own program that judges what such a program prints, or talks to it."""
    group: Group | None = None
    """How the tests of such a program are graded together; they are named there by their places, from 0."""

    @property
    def is_program(self) -> bool:
        """Whether its tests are whole programs, whose asserts stand or fall together (HumanEval, MBPP, EvalPlus)."""
        return bool(self.tests) and all(test.program for test in self.tests)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer to a sample. An absent attempt is not a row; an empty one has empty text."""

    sample_id: str
    text: str
    model: str = ""
    index: int = 0
    """0..n-1 among the model's attempts at this sample: what pass@k counts."""
    seconds: float | None = None
    """How long the model or agent took, where it is known."""
    cost: float | None = None
    """In US dollars, where the price is known."""
    meta: Mapping[str, object] = field(default_factory=nothing)
    """How the text came about (extraction step, raw reply, trace)."""
    source: str = ""
    """`file:line` where it was read."""
    language: str = ""
    """What it is written in, where its problem leaves that to the answers; empty for Python."""


class ErrorKind(StrEnum):
    """The five documented kinds. A failed test or inspection is none of them."""

    SYNTAX = "SyntaxError"
    NAME = "NameError"
    TIMEOUT = "TimeoutError"
    NO_COMPLETION = "NoCompletionError"
    OTHER = "Error"


class Verdict(StrEnum):
    """How a test's verdict came about, from the most to the least trustworthy."""

    SEPARATED = "separated"
    """The examiner and the candidate were different processes: it cannot be forged."""
    IN_PROCESS = "in_process"
    """The test ran beside the candidate's code; where it passed, it failed with something wrong in it, as it should."""
    UNCHECKED = "unchecked"
    """It passed beside the candidate's code, and no wrong version of it could show anything: it may be forged."""
    FLAGGED = "flagged"
    """It claimed to pass, and passed a deliberately wrong expectation too: counted as not passed."""


class Isolation(StrEnum):
    """What stood between the candidate and the machine; see SECURITY.md."""

    A = "A"
    """Namespaces, read-only root, landlock, seccomp, resource limits."""
    B = "B"
    """Landlock, seccomp, resource limits."""
    C = "C"
    """Seccomp and resource limits: files of the user can be read and deleted."""
    D = "D"
    """Resource limits only: protects against accidents."""


def join_words(*parts: str) -> str:
    """Return the parts that are not empty with colons between them, such as an error's type and its message."""
    return ": ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class TestResult:
    """What became of one test."""

    __test__ = False

    passed: bool
    verdict: Verdict = Verdict.IN_PROCESS
    error_type: str = ""
    """The exception's class name; `AssertionError` for a false assertion, `InspectionError` for a failed inspection."""
    error_message: str = ""
    """Its text, memory addresses scrubbed, cut at a fixed length."""
    own_operator: bool = False
    """An operator of the candidate's own classes took part in the comparison."""
    parts: tuple[TestResult, ...] = ()
    """One entry per assert statement of a `program` test, in source order; empty for other tests."""
    result: str = ""
    """Of a program that reads and writes: AC WA TLE MLE RTE OLE CE JE, or `-` where the test was not run; else empty."""
    rule: str = ""
    """How its output was compared; empty where it was not."""


PASSED = {verdict.value: TestResult(passed=True, verdict=verdict) for verdict in Verdict if verdict != Verdict.FLAGGED}
"""What most results are, by their verdicts; each is there once."""
_WRITTEN: dict[int, list[object]] = {id(result): [1, verdict, "", "", 0, []] for verdict, result in PASSED.items()}


def _write_results(results: Iterable[TestResult]) -> list[list[object]]:
    # By position and not by name: a run has many of these, and their keys would be most of the journal.
    return [
        _WRITTEN.get(id(result))
        or [
            int(result.passed),
            result.verdict.value,
            result.error_type,
            result.error_message,
            int(result.own_operator),
            _write_results(result.parts),
            *([result.result, result.rule] if result.result else []),
        ]
        for result in results
    ]


def _read_results(records: Iterable[Sequence[Any]]) -> tuple[TestResult, ...]:
    return tuple(
        PASSED[verdict]
        if passed and verdict in PASSED and not (error_type or message or own or parts or stream)
        else TestResult(bool(passed), Verdict(verdict), error_type, message, bool(own), _read_results(parts), *stream)
        for passed, verdict, error_type, message, own, parts, *stream in records
    )


class OutcomeRecord(TypedDict):
    """An `Outcome` as JSON, as the journal has it."""

    tests: list[list[Any]]
    """Of each test: whether it passed, its verdict, the error's type and message, its operator, its parts, its stream."""
    error: str | None
    error_type: str
    error_message: str
    limit: str
    benchmark_fault: str
    isolation: str
    flags: list[str]
    seconds: float | None
    wall_seconds: float | None
    score: NotRequired[float]
    why: NotRequired[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Outcome(JsonRecord[OutcomeRecord]):
    """What the sandbox saw of one attempt."""

    tests: tuple[TestResult, ...] = field(metadata=as_json(_write_results, _read_results))
    """One entry per test of the sample, in order, also when the solution did not load."""
    error: ErrorKind | None = None
    """The first error that a test or the loading raised, by kind; None if the solution ran."""
    error_type: str = ""
    """The class name of that exception, such as `TypeError`."""
    error_message: str = ""
    limit: str = ""
    """The limit that was hit: cpu, wall, memory, output, file, processes; empty if none."""
    benchmark_fault: str = ""
    """The test itself is broken (does not parse, bad pattern): never charged to the model."""
    isolation: Isolation = Isolation.D
    flags: tuple[str, ...] = ()
    """Such as `name_mismatch`: the solution defines one function under another name, and it was used."""
    seconds: float | None = None
    """CPU seconds used; kept out of the deterministic files."""
    wall_seconds: float | None = None
    score: float | None = None
    """The share, 0..1, of what the problem is worth, where its tests are graded in groups; None where they are not."""
    slowest: float | None = None
    """CPU seconds of the slowest test of a program that reads and writes, where they were taken; in no file."""
    why: Why | None = field(default=None, metadata=as_json(Why.to_record, read_why))
    """Why tests failed, where that was asked for."""

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(result.passed for result in self.tests)

    @property
    def is_right(self) -> bool:
        """Whether the attempt passed every test without an error: a flagged test is not passed, and no test is not a pass.

        The one rule for exams, tasks, pass@k and rewards.
        """
        passed_all = all(result.passed and result.verdict is not Verdict.FLAGGED for result in self.tests)
        return bool(self.tests) and passed_all and self.error is None

    @property
    def error_words(self) -> str:
        """The error as people read it: `TypeError: unsupported operand`, or the one of the two that there is."""
        return join_words(self.error_type, self.error_message)

    @property
    def unchecked(self) -> int:
        """How many tests passed beside the solution with nothing to show that their verdict is not forged."""
        return sum(result.verdict is Verdict.UNCHECKED for result in self.tests)

    @property
    def weakest(self) -> Verdict | None:
        """The least trustworthy verdict among the tests; None without tests."""
        verdicts = {result.verdict for result in self.tests}
        return next((verdict for verdict in reversed(Verdict) if verdict in verdicts), None)


@dataclass(frozen=True, slots=True)
class Item:
    """What a metric reads: an attempt beside its sample."""

    sample: Sample
    attempt: Attempt
    outcome: Outcome | None = None


class Metric(Protocol):
    """One way to mark an attempt. Stateless and batched; a factory with keyword options makes it.

    A metric derives from this class: it gives the first five members and `measure`, and whatever else is not as it
    stands here. An object that does not derive from it will do too, if it has these and `summarise`: the plugin door
    (`markbook.plugins`) adds what it leaves out.
    """

    __slots__ = ()

    name: str
    version: int
    """Raised whenever a number can change."""
    range: tuple[float, float]
    direction: Direction
    signature: str
    """Of its options; a measurement's own may say more."""

    needs_reference: bool = True
    """Whether it compares with a right answer, so that a row without one has no value."""
    needs_trace: bool = False
    """Whether it reads the trace of an attempt instead of its text."""
    whole_batch: bool = False
    """Whether dividing a batch would change its values."""
    averages: bool = True
    """Whether its summary is the mean of the values."""
    assumes_direction: bool = False
    """Whether its name alone says which way is better."""

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order. It never raises for what lies in the data."""

    def measure_rows(
        self, candidates: Sequence[object], references: Sequence[object] | None
    ) -> list[Measurement] | None:
        """Return one measurement a raw row; None for a metric that reads items, whose candidate is one text."""
        return None

    @classmethod
    def together(cls, metrics: Sequence[Self], items: Sequence[Item]) -> list[list[Measurement]]:
        """Return the measurements of several metrics of this class: one after the other, or sharing one pass."""
        return [metric.measure(items) for metric in metrics]

    def summarise(self, measurements: Sequence[Measurement]) -> float | None:
        """Return the number over many measurements, None if there is nothing to compute from.

        The mean of the values there are; corpus BLEU computes its own from the measurements' `stats`.
        """
        values = [measurement.value for measurement in measurements if measurement.value is not None]
        return math.fsum(values) / len(values) if values else None

    def resample(self, measurements: Sequence[Measurement], draws: Iterable[Iterable[int]]) -> list[float]:
        """Return the summary of each resampling that has one; `draws` holds for each the indices of its measurements."""
        summaries = (self.summarise([measurements[i] for i in draw]) for draw in draws)
        return [value for value in summaries if value is not None]

    def signs(self, signature: str) -> bool:
        """Tell whether a measurement so signed was made with this metric's options."""
        return signature == self.signature
