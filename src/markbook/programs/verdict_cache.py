"""An outcome as JSON values: what journals and the verdicts that are kept from run to run hold of an attempt."""

from __future__ import annotations

import functools
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

import markbook
from markbook.languages import Toolchain, find
from markbook.languages.language import as_text
from markbook.sandbox.job import Job, digest, limits_for, may_be_remembered, task_name
from markbook.sandbox.record_store import RecordStore
from markbook.types import ErrorKind, Isolation, Outcome, TestResult, Verdict
from markbook.why import read_why


class OutcomeRecord(TypedDict):
    """An outcome as JSON values."""

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


def outcome_record(outcome: Outcome) -> OutcomeRecord:
    """Return an outcome as JSON values."""
    record: OutcomeRecord = {
        "tests": [_test_record(result) for result in outcome.tests],
        "error": outcome.error.value if outcome.error else None,
        "error_type": outcome.error_type,
        "error_message": outcome.error_message,
        "limit": outcome.limit,
        "benchmark_fault": outcome.benchmark_fault,
        "isolation": outcome.isolation.value,
        "flags": list(outcome.flags),
        "seconds": outcome.seconds,
        "wall_seconds": outcome.wall_seconds,
    }
    if outcome.score is not None:
        record["score"] = outcome.score
    if outcome.why:
        record["why"] = outcome.why.to_record()
    return record


def as_outcome_record(recorded: Mapping[str, object]) -> OutcomeRecord:
    """Return a journal's row of an attempt as what was written there."""
    return cast("OutcomeRecord", recorded)


def read_outcome(recorded: Mapping[str, object]) -> Outcome:
    """Return the outcome that a record was made of."""
    record = as_outcome_record(recorded)
    return Outcome(
        tests=tuple(_test_result(test) for test in record["tests"]),
        error=ErrorKind(record["error"]) if record["error"] else None,
        error_type=record["error_type"],
        error_message=record["error_message"],
        limit=record["limit"],
        benchmark_fault=record["benchmark_fault"],
        isolation=Isolation(record["isolation"]),
        flags=tuple(record["flags"]),
        seconds=record["seconds"],
        wall_seconds=record["wall_seconds"],
        score=record.get("score"),
        why=read_why(record.get("why")),
    )


def _test_record(result: TestResult) -> list[Any]:
    # A list and not an object: a run has many of these, and their keys would be most of the journal.
    parts = [_test_record(part) for part in result.parts]
    stream = [result.result, result.rule] if result.result else []
    return [
        int(result.passed),
        result.verdict.value,
        result.error_type,
        result.error_message,
        int(result.own_operator),
        parts,
        *stream,
    ]


def _test_result(record: Sequence[Any]) -> TestResult:
    passed, verdict, error_type, message, own, parts, *stream = record
    results = tuple(_test_result(part) for part in parts)
    return TestResult(bool(passed), Verdict(verdict), error_type, message, bool(own), results, *stream)


# Outcomes of programs that are known already: of equal answers in this run, and on request of earlier runs.

_MOST = 10_000
"""Outcomes that are remembered for equal answers."""
_OURS = ("languages", "programs", "sandbox", "testcode")
"""The packages that hold what a verdict depends on."""
Run = Callable[[Iterable[Job]], Iterator[tuple[Job, Outcome]]]


class Recall:
    """Gives a job the outcome that an equal one had."""

    def __init__(self, *, dedupe: bool, verdicts: Path | None, proves: bool, explain: bool = False) -> None:
        """Set up.

        Args:
            dedupe: run exactly equal jobs once.
            verdicts: the file in which outcomes are kept from run to run; None for none.
            proves: whether passes are proved, on which a verdict depends.
            explain: whether outcomes say why they failed.
        """
        self._dedupe = dedupe
        self._kept = RecordStore(verdicts)
        self._ways = proves, explain
        self._known: dict[str, Outcome] = {}
        self.duplicates = 0
        """How many jobs shared the outcome of an equal one."""
        self.reused = 0
        """How many got the outcome of an earlier run."""

    def close(self) -> None:
        """Write what is to be kept."""
        self._kept.close()

    def run(self, jobs: Iterable[Job], run: Run, level: Callable[[], Isolation]) -> Iterator[tuple[Job, Outcome]]:
        """Yield every job with its outcome; only those of which none is known are given to `run`."""
        if not (self._dedupe or self._kept.is_used):
            yield from run(jobs)
            return
        ready: deque[tuple[Job, Outcome]] = deque()
        under: dict[str, list[Job]] = {}
        names: dict[int, str] = {}
        for job, outcome in run(self._select_unknown(jobs, ready, under, names, level)):
            yield from _drain(ready)
            name = names.pop(id(job))
            self._learn(name, job, outcome, level())
            yield job, outcome
            for twin in under.pop(name, ()):
                yield twin, outcome
        yield from _drain(ready)

    def _select_unknown(
        self,
        jobs: Iterable[Job],
        ready: deque[tuple[Job, Outcome]],
        under: dict[str, list[Job]],
        names: dict[int, str],
        level: Callable[[], Isolation],
    ) -> Iterator[Job]:
        """Yield the jobs that have to be run; put the others with their outcomes, or with the equal one under way."""
        for job in jobs:
            files = [f"{name}:{hashlib.blake2b(text).hexdigest()}" for name, text in job.files.items()]
            name = digest(job.code, task_name(job.sample), repr((limits_for(job), job.limits, job.meets_all)), *files)
            if self._dedupe and name in under:
                self.duplicates += 1
                under[name].append(job)
                continue
            outcome = self._find_outcome(name, job, level)
            if outcome is not None:
                ready.append((job, outcome))
                continue
            names[id(job)] = name
            if self._dedupe:
                under[name] = []
            yield job

    def _find_outcome(self, name: str, job: Job, level: Callable[[], Isolation]) -> Outcome | None:
        if self._dedupe and name in self._known:
            self.duplicates += 1
            return self._known[name]
        record = self._kept.get(self._key(name, job, level())) if self._kept.is_used else None
        if record is None:
            return None
        self.reused += 1
        return replace(read_outcome(record), isolation=level())

    def _learn(self, name: str, job: Job, outcome: Outcome, level: Isolation) -> None:
        """Remember an outcome, unless another run may bring another one."""
        if not may_be_remembered(outcome):
            return
        if self._dedupe:
            self._known[name] = outcome
            if len(self._known) > _MOST:
                self._known.pop(next(iter(self._known)))
        if self._kept.is_used and job.code.strip():
            self._kept.put(self._key(name, job, level), outcome_record(outcome))

    def _key(self, name: str, job: Job, level: Isolation) -> str:
        sample = job.sample
        languages = [sample.language or "python", *(sorted(sample.judge.languages) if sample.judge else ())]
        return digest(
            "program", name, repr((level.value, *self._ways)), *(identity(find(language)) for language in languages)
        )


def _drain(ready: deque[tuple[Job, Outcome]]) -> Iterator[tuple[Job, Outcome]]:
    while ready:
        yield ready.popleft()


@functools.lru_cache(maxsize=64)
def _ours() -> str:
    """Return a name for our own code that makes and judges programs."""
    total = hashlib.blake2b(digest_size=20)
    folder = Path(markbook.__file__).parent
    for package in _OURS:
        for path in sorted((folder / package).rglob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()


def identity(tool: Toolchain) -> str:
    """Return a name for everything but the job that a verdict in a language depends on: our code, its own, its toolchain."""
    language = tool.language
    functions = (language.locate, language.words, language.where)
    sources = {code.co_filename for function in functions if (code := getattr(function, "__code__", None)) is not None}
    texts = [Path(path).read_text("utf-8", "replace") for path in sorted(sources) if Path(path).exists()]
    return digest(_ours(), as_text(language), *texts, tool.state)
