"""Marking programs in any language: from an answer and its tests to runs in the sandbox, and from those to outcomes."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from markbook.errors import EnvironmentUnfitError
from markbook.languages import Toolchain, find
from markbook.runs.self_check import ensure_marks
from markbook.runs.streams import StreamMarker, goes_in_turns
from markbook.sandbox import Sandbox
from markbook.sandbox.job import Job
from markbook.sandbox.outcomes import all_failed, clean
from markbook.sandbox.program import Executed, Phase, ProgramRun
from markbook.sandbox.program_box import ProgramSandbox
from markbook.types import ErrorKind, Isolation, Limits, Outcome, Sample, Test, TestResult, Verdict

_AHEAD = 2
"""Attempts under way for each worker."""
_BUILD_FILES = 256 << 20
_BUILD_PROCESSES = 256
_RIGHT = "right"
_ENDED_EARLY = "the program ended before its tests did"
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class _Found:
    """What became of one test."""

    result: TestResult
    error: ErrorKind | None = None
    limit: str = ""
    fault: str = ""
    seconds: float = 0.0
    wall: float = 0.0


@dataclass(slots=True)
class _Under:
    """A job under way."""

    job: Job
    waits: int
    found: dict[int, _Found] = field(default_factory=dict)


class ProgramMarker:
    """Marks jobs whose samples name a language, as a `Sandbox` marks those in Python. A context manager's insides."""

    def __init__(
        self,
        languages: Iterable[str],
        *,
        workers: int | None = None,
        isolation: Literal["auto", "strict", "weak"] = "auto",
        at_most: Isolation = Isolation.A,
        pinned: bool = True,
        proves: bool = True,
    ) -> None:
        """Set up, starting nothing.

        Args:
            languages: those of the samples.
            workers: how many attempts run at once.
            isolation: as for `Sandbox`.
            at_most: leave out the layers above this level.
            pinned: give each worker a processor of its own.
            proves: run what passed once more with a claim that no honest program gets past; else passes are unchecked.

        Raises:
            EnvironmentUnfitError: the toolchain of one of them is not here.
            UsageError: there is no such language.
        """
        tools = {name: find(name) for name in languages}
        self._tools: dict[str, Toolchain] = {tool.language.name: tool for tool in tools.values()} | tools
        folders = dict.fromkeys(folder for tool in self._tools.values() for folder in tool.folders)
        self._box = ProgramSandbox(list(folders), workers=workers, isolation=isolation, at_most=at_most, pinned=pinned)
        self._streams = StreamMarker(self._box.crew, isolation=isolation, at_most=at_most)
        self._proves = proves
        self._is_tried = False

    @property
    def level(self) -> Isolation:
        """The level of isolation that was reached."""
        return self._streams.level

    def start(self) -> None:
        """Start the workers, and see that a right program of each language passes there and a wrong one does not.

        Raises:
            EnvironmentUnfitError: it is not so, for example where a toolchain lies among files that no worker may read.
        """
        if self._is_tried:
            return
        self._box.start()
        self._is_tried = True
        jobs = [job for name, tool in self._tools.items() if name == tool.language.name for job in _self_test(tool)]
        for job, outcome in self._run(jobs):
            passed = outcome.tests[0].passed
            if passed != (job.key == _RIGHT):
                self.close()
                title = self._tools[job.sample.language].language.title
                said = outcome.tests[0].error_message or "a wrong one passes"
                raise EnvironmentUnfitError(
                    f"{title} programs cannot be marked here: the {job.key} program of the self-test "
                    f"{'passes' if passed else 'fails'}: {said}",
                    hint="is its toolchain where every user of this machine may read it?",
                )

    def close(self) -> None:
        """End the workers and everything in them."""
        self._streams.close()
        self._box.close()
        self._is_tried = False

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Mark every job; yield each with its outcome as it is done, programs that read and write last."""
        self.start()
        streams: list[Job] = []
        yield from self._run(_among(jobs, lambda job: not goes_in_turns(job.sample), streams))
        if streams:
            yield from self._streams.run(streams)

    def _run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        source = iter(jobs)
        under: dict[str, _Under] = {}
        number = 0
        exhausted = False
        while True:
            while not exhausted and len(under) < _AHEAD * self._box.workers:
                job = next(source, None)
                if job is None:
                    exhausted = True
                elif not job.code.strip():
                    message = "the solution is empty"
                    yield job, all_failed(job.sample, ErrorKind.NO_COMPLETION, message=message, isolation=self.level)
                else:
                    number += 1
                    one = under[str(number)] = _Under(job, len(job.sample.tests))
                    self._submit(str(number), one)
                    if one.waits == len(one.found):
                        yield job, self._outcome(under.pop(str(number)))
            if not self._box.is_busy:
                if exhausted:
                    return
                continue
            run, executed = self._box.next_done()
            key, _, place = run.key.partition(":")
            one = under[key]
            one.found[int(place)] = self._judged(one.job, int(place), run, executed)
            if len(one.found) == one.waits:
                yield one.job, self._outcome(under.pop(key))

    def _submit(self, key: str, one: _Under) -> None:
        tool = self._tools[one.job.sample.language]
        for place, test in enumerate(one.job.sample.tests):
            try:
                self._box.submit(program_run(f"{key}:{place}", tool, one.job, test, proves=self._proves))
            except ValueError as error:
                failed = TestResult(passed=False, error_type="BenchmarkFault", error_message=str(error))
                one.found[place] = _Found(failed, ErrorKind.OTHER, fault=str(error))

    def _judged(self, job: Job, place: int, run: ProgramRun, executed: list[Executed]) -> _Found:
        del place
        return judged(self._tools[job.sample.language], run, executed, proves=self._proves)

    def _outcome(self, one: _Under) -> Outcome:
        found = [one.found[place] for place in range(one.waits)]
        bad = next((each for each in found if each.error is not None), None)
        return Outcome(
            tests=tuple(each.result for each in found),
            error=bad.error if bad else None,
            error_type=bad.result.error_type if bad else "",
            error_message=bad.result.error_message if bad else "",
            limit=next((each.limit for each in found if each.limit), ""),
            benchmark_fault=next((each.fault for each in found if each.fault), ""),
            isolation=self.level,
            seconds=sum(each.seconds for each in found),
            wall_seconds=sum(each.wall for each in found),
        )


def _self_test(tool: Toolchain) -> list[Job]:
    right, wrong, tests = tool.language.self_test
    sample = Sample(id="self-test", language=tool.language.name, tests=(Test(program=tests),))
    limits = Limits(seconds=20.0)
    return [Job(_RIGHT, right, sample, limits), Job("wrong", wrong, sample, limits)]


def program_run(key: str, tool: Toolchain, job: Job, test: Test, *, proves: bool) -> ProgramRun:
    """Return the run of an answer with one test: built once, run with a random word, and with the one that makes the claim.

    Raises:
        ValueError: the test has no end at which something could be added.
    """
    language = tool.language
    words = {"nonce": secrets.token_hex(16), "token": secrets.token_hex(16)}
    made = language.program(test.setup, job.code, test.program, words)
    files = {name: text.encode("utf-8", "surrogatepass") for name, text in made.files.items()}
    phases = []
    if language.build:
        limits = Limits(
            seconds=language.build_seconds,
            memory_bytes=language.build_memory_bytes,
            file_bytes=_BUILD_FILES,
            processes=_BUILD_PROCESSES,
        )
        around = {**tool.places.environment, **language.environment, **language.build_environment}
        phases.append(Phase(tool.command(language.build, made.words), limits, builds=True, environment=around))
    limits = job.limits if language.processes <= job.limits.processes else _with(job.limits, language.processes)
    around = {**tool.places.environment, **language.environment}
    said = [secrets.token_hex(16), words["nonce"]][: 1 + proves]
    command = tool.command(language.run, made.words)
    phases += [Phase(command, limits, stdin=word.encode(), environment=around) for word in said]
    return _Run(
        key, files, tuple(phases), language.drop if language.build else (), language.programs, token=words["token"]
    )


def _with(limits: Limits, processes: int) -> Limits:
    from dataclasses import replace

    return replace(limits, processes=processes)


@dataclass(frozen=True, slots=True)
class _Run(ProgramRun):
    """A run that knows what its program prints at its end."""

    token: str = ""


def judged(tool: Toolchain, run: ProgramRun, executed: list[Executed], *, proves: bool) -> _Found:
    """Return what the phases of a run come to."""
    assert isinstance(run, _Run)
    language = tool.language
    if not executed:
        failed = TestResult(passed=False, error_type="Crash", error_message="the worker was lost twice while it ran")
        return _Found(failed, ErrorKind.OTHER)
    seconds, wall = sum(one.seconds for one in executed), sum(one.wall_seconds for one in executed)
    runs = executed[bool(language.build) :]
    if not runs:
        return _Found(*_not_built(tool, executed[0]), seconds=seconds, wall=wall)
    first = runs[0]
    if _passes(language.failures.quiet, first, run.token):
        forged = proves and len(runs) > 1 and _passes(language.failures.quiet, runs[1], run.token)
        if forged:
            message = "it passed although a claim in its tests was wrong"
            failed = TestResult(passed=False, verdict=Verdict.FLAGGED, error_type="Forged", error_message=message)
            return _Found(failed, seconds=seconds, wall=wall)
        verdict = Verdict.IN_PROCESS if proves else Verdict.UNCHECKED
        return _Found(TestResult(passed=True, verdict=verdict), seconds=seconds, wall=wall)
    return _Found(*_failed(tool, first, run.token), seconds=seconds, wall=wall)


def _passes(quiet: str, found: Executed, token: str) -> bool:
    """Whether a program ended well, having printed on a line of its own what only the end of its tests prints."""
    if not found.is_good or token.encode() not in found.stdout.splitlines():
        return False
    return not (quiet and _pattern(quiet).search(_text(found.stderr)))


def _not_built(tool: Toolchain, found: Executed) -> tuple[TestResult, ErrorKind, str]:
    said = _text(found.stderr) + _text(found.stdout)
    message = _line(tool.language.failures.build, said) or found.refused or f"the compiler ended with {found.status}"
    if found.limit:
        message = f"the compiler reached its limit ({found.limit})"
    failed = TestResult(passed=False, error_type="CompileError", error_message=clean(message))
    return failed, ErrorKind.SYNTAX, found.limit


def _failed(tool: Toolchain, found: Executed, token: str) -> tuple[TestResult, ErrorKind | None, str]:
    failures = tool.language.failures
    said = _text(found.stderr) + "\n" + _text(found.stdout.replace(token.encode(), b""))
    kind: ErrorKind | None = ErrorKind.OTHER
    limit = found.limit
    if limit in ("cpu", "wall"):
        kind, name, message = ErrorKind.TIMEOUT, "TimeoutError", "the time limit was reached"
    elif limit or _pattern(failures.memory).search(said):
        limit = limit or "memory"
        name, message = "LimitError", f"the limit was reached: {limit}"
    elif found.status == 0 and not (failures.quiet and _pattern(failures.quiet).search(said)):
        name, message = "EndNotReached", _ENDED_EARLY
    elif line := _line(failures.syntax, said):
        kind, name, message = ErrorKind.SYNTAX, "CompileError", line
    elif line := _line(failures.names, said):
        kind, name, message = ErrorKind.NAME, "NameError", line
    elif _pattern(failures.tests).search(said.strip()):
        kind, name, message = None, "AssertionError", _line(failures.tests, said)
    else:
        name = f"signal {found.signal}" if found.signal else f"exit status {found.status}"
        message = found.refused or _line(r"\S", said)
    return TestResult(passed=False, error_type=name, error_message=clean(message)), kind, limit


@lru_cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


def _line(pattern: str, text: str) -> str:
    """Return the first line in which a pattern is found; empty if none."""
    return next((line.strip() for line in text.splitlines()[:2000] if _pattern(pattern).search(line)), "")


def _text(data: bytes) -> str:
    """Return what a program said, without what would move a terminal."""
    return _TERMINAL.sub("", data.decode("utf-8", "replace"))


class MixedBox:
    """Marks jobs in Python and those whose samples name another language, each where it belongs."""

    def __init__(self, box: Sandbox, marker: ProgramMarker) -> None:
        """Take both; that of Python starts only if there is something in Python."""
        self._box = box
        self._marker = marker
        self._used = False

    @property
    def level(self) -> Isolation:
        """The weakest level of isolation that was reached."""
        return max(self._marker.level, self._box.level) if self._used else self._marker.level

    @property
    def duplicates(self) -> int:
        """How many jobs in Python shared the outcome of an equal one."""
        return self._box.duplicates

    @property
    def reused(self) -> int:
        """How many of them got the outcome of an earlier run."""
        return self._box.reused

    def start(self) -> None:
        """Start what marks programs."""
        self._marker.start()

    def close(self) -> None:
        """End the workers and everything in them."""
        self._marker.close()
        self._box.close()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Mark every job; those in Python come last."""
        in_python: list[Job] = []
        elsewhere = _among(jobs, lambda job: bool(job.sample.language) or goes_in_turns(job.sample), in_python)
        yield from self._marker.run(elsewhere)
        if in_python:
            self._used = True
            ensure_marks(self._box)
            yield from self._box.run(in_python)


def _among(jobs: Iterable[Job], wanted: Callable[[Job], bool], others: list[Job]) -> Iterator[Job]:
    """Yield the jobs that are wanted, and put the others aside."""
    for job in jobs:
        if wanted(job):
            yield job
        else:
            others.append(job)
