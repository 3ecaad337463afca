"""What a sandbox is asked, and what came out: jobs for it, and outcomes made of a worker's results."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from markbook.testcode.programs import complete_program
from markbook.types import PASSED, ErrorKind, Isolation, Limits, Outcome, ProblemType, Sample, TestResult, Verdict
from markbook.why import Why, read_why

if TYPE_CHECKING:
    from markbook.sandbox.guest.wire_records import RawTest, WorkerAnswer


# One attempt to execute, and its form on the wire.

WALL_FACTOR = 3.0
"""How many times its CPU limit an attempt that mostly sleeps may take; see `wall_limits`."""
BUSY_FACTOR = 20.0
"""The same for one that computes, or waits for a processor that others use."""
STDIN_SECONDS = 10.0
"""CPU seconds for one test of a program that reads and writes, where neither its problem nor a shorter limit says."""


_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_][\w., \t]*)", re.MULTILINE)
_ASSIGNMENT = re.compile(r"^[A-Za-z_][^\n(]*=", re.MULTILINE)
_DEFINITION = re.compile(r"^(?:async[ \t]+)?def\b", re.MULTILINE)
_USUAL = frozenset(
    [
        "array", "ast", "base64", "bisect", "cmath", "contextlib", "copy", "difflib", "dis", "enum", "fnmatch",
        "functools", "glob", "json", "locale", "numbers", "platform", "pprint", "re", "signal", "socket", "string",
        "textwrap", "traceback", "typing", "unicodedata", "weakref",
    ]
)  # fmt: skip
"""Modules of the standard library that take half a millisecond and more to import: as much as an attempt does."""
_SLOW = frozenset(
    [
        "argparse", "asyncio", "calendar", "concurrent", "csv", "ctypes", "dataclasses", "datetime", "decimal", "email",
        "fractions", "hashlib", "html", "http", "inspect", "jinja2", "logging", "multiprocessing", "pathlib", "queue",
        "random", "secrets", "shutil", "sqlite3", "statistics", "subprocess", "tempfile", "threading",
        "unittest", "urllib", "uuid", "xml", "zipfile",
    ]
)  # fmt: skip
"""Those that import many others, or libraries."""
_HEAVY = frozenset(["networkx", "numpy", "pandas", "scipy", "sklearn", "sympy"])
"""Packages that take a tenth of a second and more, and make every later fork dearer."""
_PARTS = {"numpy": "testing", "unittest": "mock"}
"""What takes its time as well and is not loaded with its package."""
PRELOADED = sorted({*_USUAL, *_SLOW, *_HEAVY, *(f"{name}.{part}" for name, part in _PARTS.items())})
"""All that `preload` ever names."""
LIGHT, HEAVY = 0, 3


def preload(code: str) -> tuple[int, list[str]]:
    """Return how heavy the modules are that a solution imports (0 to 3), and those that are worth loading before it.

    It is read off the text: what is missed, or only looks like an import, costs time and changes nothing else.
    """
    names = {
        name.strip().partition(" ")[0].partition(".")[0]
        for imported in _IMPORT.findall(code)
        for name in imported.split(" import ")[0].split(",")
    }
    tiers = [sorted(names & tier) for tier in (_USUAL, _SLOW, _HEAVY)]
    weight = max((number for number, tier in enumerate(tiers, 1) if tier), default=LIGHT)
    parts = [f"{name}.{part}" for name, part in _PARTS.items() if name in names and re.search(rf"\b{part}\b", code)]
    return weight, [name for tier in reversed(tiers) for name in tier] + parts


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt to execute."""

    key: str
    """The caller's own name for it."""
    code: str
    """The complete source to run: prompt and completion assembled, fences removed."""
    sample: Sample
    limits: Limits = field(default_factory=Limits)
    """Of the whole attempt; of a program that reads and writes those of each of its tests."""
    all_tests: bool = False
    """Whether a program that reads and writes meets its further tests once it has failed one."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The files of a program that is more than one text; nothing else counts then."""
    model: str = ""
    """Whose answer it is: what examines those of one model never examines another's."""

    @property
    def meets_all(self) -> bool:
        """Whether every test is run: as asked for, or because tests are worth points of their own."""
        return self.all_tests or any(test.points is not None for test in self.sample.tests)

    @property
    def most_tests(self) -> int:
        """How many tests may each use its limits."""
        return max(1, len(self.sample.tests)) if self.sample.problem_type is ProblemType.STDIN else 1


def limits_for(job: Job) -> Limits:
    """Return the limits of a job: for a test of a program that reads and writes those of its problem, where it has any."""
    sample, limits = job.sample, job.limits
    if sample.problem_type is not ProblemType.STDIN:
        return limits
    return replace(
        limits,
        seconds=sample.seconds or min(limits.seconds, STDIN_SECONDS),
        memory_bytes=sample.memory_bytes or limits.memory_bytes,
    )


def wall_limits(limits: Limits) -> tuple[float, float]:
    """Return the wall time for an attempt that sleeps, and for one that keeps computing.

    Only the CPU limit decides about the second kind, so that a loaded machine changes no verdict; its wall limit is
    there against a worker that gets no processor at all.
    """
    if limits.wall_seconds is not None:
        return limits.wall_seconds, max(limits.wall_seconds, BUSY_FACTOR * limits.seconds)
    return WALL_FACTOR * limits.seconds + 2, BUSY_FACTOR * limits.seconds + 10


def limits_on_wire(limits: Limits) -> list[float]:
    """Return the limits in the order that the examiner expects."""
    sleeping, busy = wall_limits(limits)
    numbers = [limits.memory_bytes, limits.file_bytes, limits.processes, limits.output_bytes]
    return [limits.seconds, sleeping, busy, *numbers]


def task_text(sample: Sample) -> str:
    """Return what the examiner needs of a sample, as text: the same text for the same tests."""
    if sample.problem_type is ProblemType.STDIN:
        runs = [{"stdin": test.stdin or "", "stdout": test.stdout, "checker": test.checker} for test in sample.tests]
        return json.dumps({"object": "stdin", "name": "", "tests": runs}, separators=(",", ":"))
    tests = [
        {
            name: value
            for name, value in (
                ("setup", test.setup),
                ("assertion", test.assertion),
                ("inspection", list(test.inspection)),
                ("pattern", test.pattern),
                ("program", complete_program(test.program, sample.entry_point)),
            )
            if value
        }
        for test in sample.tests
    ]
    is_program = sample.is_program and sample.problem_type is not ProblemType.TEXT
    spec: dict[str, object] = {
        "object": "program" if is_program else str(sample.problem_type or ProblemType.FUNCTION),
        "name": sample.entry_point,
        "prompt": sample.prompt_code,
        "tests": tests,
    }
    is_longer = _ASSIGNMENT.search(sample.prompt_code) or len(_DEFINITION.findall(sample.prompt_code)) > 1
    if sample.references and is_longer:
        from markbook.sandbox.guest.examination.prompts import list_reassigned  # late: few prompts have so much

        spec["changed"] = list_reassigned(sample.references[0], sample.prompt_code)
    return json.dumps(spec, sort_keys=True, separators=(",", ":"))


def task_name(sample: Sample) -> str:
    """Return a name for all of a sample that an outcome depends on: its tests, what judges and counts them, its own limits."""
    judge = sample.judge
    judged = judge and (judge.name, judge.flags, judge.is_interactive, judge.passes)
    points = [test.points for test in sample.tests if test.points is not None]
    flags = [test.judge_flags for test in sample.tests]
    own = (
        sample.language,
        sample.canonical_language,
        sample.seconds,
        sample.memory_bytes,
        points,
        judged,
        sample.group,
        *([flags] if any(flag is not None for flag in flags) else []),
    )
    return digest(task_text(sample), repr(own), *sample.references[:1])


def code_of_tests(sample: Sample) -> str:
    """Return what a sample's tests execute, as one text."""
    return "\n".join(part for test in sample.tests for part in (test.setup, test.assertion, test.program) if part)


def digest(*parts: str) -> str:
    """Return a name for these texts together."""
    total = hashlib.blake2b(digest_size=20)
    for part in parts:
        # each with its length, so that no other texts come to the same when they are joined
        data = part.encode("utf-8", "surrogatepass")
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


# What the examiner sent, as the record that the pipeline reads.

LOST = "crash"
"""The flag of an outcome whose worker was lost again and again: it says nothing of the attempt."""
_OF_THE_MACHINE = ("wall", "processes", "file")
"""Limits that depend on what else the machine does, or on how full it is."""
MESSAGE_LENGTH = 300
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_KINDS = {
    "n": ErrorKind.NAME,
    "s": ErrorKind.SYNTAX,
    "t": ErrorKind.TIMEOUT,
    "o": ErrorKind.OTHER,
    "m": ErrorKind.OTHER,
}
_FILE_ERRORS = ("[Errno 27]", "[Errno 28]")
_PROCESS_ERRORS = ("can't start new thread", "[Errno 11]")


def may_be_remembered(outcome: Outcome) -> bool:
    """Whether another run of the same job would end alike; all that keep outcomes ask here."""
    # Equal jobs that wait at the same time share one run and its outcome, whatever it is: that is one run, not another.
    return outcome.limit not in _OF_THE_MACHINE and LOST not in outcome.flags and not outcome.benchmark_fault


def clean(text: object) -> str:
    """Return a message without memory addresses, on one cut line, the same in every run."""
    scrubbed = _ADDRESS.sub("0x...", str(text))
    # half of a surrogate pair could not be written to any file
    return scrubbed[:MESSAGE_LENGTH].encode("utf-8", "replace").decode("utf-8")


_PLAIN = frozenset(("p", "v"))


def test_result(raw: RawTest) -> TestResult:
    """Return one test's record."""
    return _result(raw, raw.get("v", Verdict.IN_PROCESS))


def _result(raw: RawTest, verdict: str) -> TestResult:
    passed = raw.get("p") is True
    if passed and verdict in PASSED and raw.keys() <= _PLAIN:
        return PASSED[verdict]
    return TestResult(
        passed=passed and verdict != Verdict.FLAGGED,
        verdict=Verdict(verdict),
        error_type="" if passed else clean(raw.get("t", "")),
        error_message="" if passed else clean(raw.get("m", "")),
        own_operator=bool(raw.get("own")),
        # what a part says of itself comes from where the test ran; how far that is to be trusted is said of the whole
        parts=tuple(_result(part, verdict) for part in raw.get("parts", ())),
        result=str(raw.get("result", "")),
        rule=str(raw.get("rule", "")),
    )


def outcome(record: WorkerAnswer, isolation: Isolation) -> Outcome:
    """Return the outcome of one attempt from the examiner's record of it."""
    tests = record["tests"]
    # without a wrong answer (`a`), which is not an error of the code
    first = record.get("error") or next((raw for raw in tests if not raw.get("p") and raw.get("k") in _KINDS), None)
    hit = record.get("hit") or ""
    if not hit and first is not None:
        # no limit of ours was seen to be hit: the kernel had refused what the code asked for, and the code says so
        message = str(first.get("m", ""))
        refusals = {"memory": first.get("k") == "m", "file": message.startswith(_FILE_ERRORS)}
        refusals["processes"] = message.startswith(_PROCESS_ERRORS)
        hit = next((limit for limit, is_hit in refusals.items() if is_hit), "")
    return Outcome(
        tests=tuple(test_result(raw) for raw in tests),
        error=_KINDS.get(first.get("k", "o"), ErrorKind.OTHER) if first else None,
        error_type=clean(first.get("t", "")) if first else "",
        error_message=clean(first.get("m", "")) if first else "",
        limit=clean(hit),
        benchmark_fault=clean(record.get("fault", "")),
        isolation=isolation,
        flags=tuple(map(clean, record.get("flags", ()))),
        seconds=_seconds(record.get("cpu")),
        wall_seconds=_seconds(record.get("wall")),
        why=why_said(record.get("why")),
    )


def _seconds(value: float | None) -> float | None:
    """Return a time that the examiner says; ValueError if it is not one."""
    # a bool is an int to Python, and NaN fails the comparison
    if value is not None and not (type(value) in (int, float) and 0 <= value < math.inf):
        raise ValueError("not a time")
    return None if value is None else float(value)


_WHY = {"tests": "failures", "out": "stdout", "err": "stderr", "again": "is_again"}
_FAILURE = {"op": "operator", "err": "printed"}


def why_said(explanation: object) -> Why | None:
    """Return why tests failed, as the examiner and the solution's own process say it: checked, and without addresses."""
    if not isinstance(explanation, dict):
        return None
    fields = {_WHY.get(str(name), str(name)): _scrub(value) for name, value in explanation.items()}
    tests = fields.get("failures")
    fields["failures"] = [
        {_FAILURE.get(name, name): value for name, value in test.items()}
        for test in (tests if isinstance(tests, list) else ())
        if isinstance(test, dict)
    ]
    return read_why(fields)


def _scrub(value: object) -> object:
    if isinstance(value, str):
        return _ADDRESS.sub("0x...", value)
    if isinstance(value, list):
        return [_scrub(item) for item in value]
    return {name: _scrub(item) for name, item in value.items()} if isinstance(value, dict) else value


def all_failed(
    sample: Sample,
    error: ErrorKind,
    *,
    message: str,
    isolation: Isolation,
    verdict: Verdict = Verdict.IN_PROCESS,
    **more: Any,
) -> Outcome:
    """Return the outcome of an attempt none of whose tests could run to its end."""
    failed = TestResult(passed=False, verdict=verdict, error_type=str(error), error_message=message)
    return Outcome(
        tests=(failed,) * len(sample.tests),
        error=error,
        error_type=more.pop("error_type", str(error)),
        error_message=message,
        isolation=isolation,
        **more,
    )
