"""One door for attempts in any language: Python goes to the sandbox, the rest is built and run test by test."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from markbook.errors import EnvironmentUnfitError
from markbook.languages import Toolchain, find
from markbook.languages.language import Batch
from markbook.languages.toolchain import Prebuilt
from markbook.programs import ensure_marks, goes_in_turns, program_language
from markbook.programs.executions import (
    Found,
    MarkedRun,
    Written,
    build_limits,
    judge_phases,
    make_run,
    not_built,
    program_failed,
    programs_why,
    write_test_program,
)
from markbook.programs.streams import StreamMarker
from markbook.programs.verdict_cache import VerdictCache
from markbook.sandbox import Job, Sandbox
from markbook.sandbox.job import LOST, all_failed
from markbook.sandbox.program import Executed, Phase, ProgramRun, ProgramSandbox
from markbook.sandbox.record_store import NO_CACHE, CacheFiles
from markbook.types import ErrorKind, Isolation, Limits, Outcome, Sample, Test, TestResult

# Building many programs in one process: what waits for one another, and what came of each.

_LENGTH = struct.Struct(">i")
_OUTPUT = 64 << 20
_LONGEST_NAME = 200
"""A file's name that is longer may be none where programs run."""
Built = Mapping[str, bytes] | str
"""The files that came of a program, or what the compiler said of it."""


@dataclass(slots=True)
class PendingBuild:
    """Programs of one language that are to be built together."""

    tool: Toolchain
    batch: Batch
    waiting: dict[str, Written] = field(default_factory=dict)
    _under: dict[str, dict[str, Written]] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Whether it is time to build them."""
        return len(self.waiting) >= self.batch.size

    def run(self, key: str) -> ProgramRun:
        """Return the run that builds what waits; from here on it is under way."""
        self._under[key], self.waiting = self.waiting, {}
        texts = [written_program.files[self.tool.language.source] for written_program in self._under[key].values()]
        stdin = b"".join(_LENGTH.pack(len(text)) + text for text in texts)
        limits = replace(build_limits(self.tool.language), output_bytes=_OUTPUT)
        files = {name: text.encode() for name, text in self.batch.files.items()}
        around = {**self.tool.places.environment, **self.tool.language.environment}
        command = self.tool.command(self.batch.command, {})
        return ProgramRun(key, files, (Phase(command, limits, stdin=stdin, environment=around),))

    def done(self, key: str, executed: list[Executed]) -> Iterator[tuple[str, Written, Built | None]]:
        """Yield the programs of a batch with what came of each; None where it is to be built by itself."""
        built_texts = _read(executed[0].stdout if executed else b"")
        for name, program in self._under.pop(key).items():
            yield name, program, next(built_texts, None)


def _read(data: bytes) -> Iterator[Built | None]:
    """Yield what was printed of each program, as far as it is whole."""
    at = 0

    def number() -> int:
        nonlocal at
        (value,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        return int(value)

    def text() -> bytes:
        nonlocal at
        length = number()
        if not 0 <= length <= len(data) - at:
            raise struct.error
        at += length
        return data[at - length : at]

    try:
        while at < len(data):
            kind, at = data[at : at + 1], at + 1
            if kind == b"F":
                files = {text().decode("utf-8", "replace"): text() for _ in range(number())}
                yield files if all(_is_name(name) for name in files) else None
            elif kind == b"E":
                yield text().decode("utf-8", "replace")
            else:
                return
    except struct.error:
        return


def _is_name(name: str) -> bool:
    parts = name.split("/")
    return "\0" not in name and ".." not in parts and all(0 < len(part.encode()) <= _LONGEST_NAME for part in parts)


# Marking programs in any language: from an answer and its tests to runs in the sandbox, and from those to outcomes.

_AHEAD = 2
"""Attempts under way for each worker."""
_BATCH = "batch "
_RIGHT = "right"


@dataclass(slots=True)
class _Under:
    """A job under way."""

    job: Job
    found: dict[int, Found] = field(default_factory=dict)


class ProgramMarker:
    """Marks jobs whose samples name a language, as a `Sandbox` marks those in Python. A context manager's insides."""

    def __init__(  # noqa: PLR0913 - one argument an option
        self,
        languages: Iterable[str],
        *,
        workers: int | None = None,
        isolation: Literal["auto", "strict", "weak"] = "auto",
        at_most: Isolation = Isolation.A,
        pinned: bool = True,
        proves: bool = True,
        dedupe: bool = False,
        cache: CacheFiles = NO_CACHE,
        explain: bool = False,
    ) -> None:
        """Set up, starting nothing, for samples in these languages; the other options are those of `Sandbox`.

        `proves`: run what passed once more with a claim that no honest program gets past; else passes are unchecked.

        Raises:
            EnvironmentUnfitError: the toolchain of one of them is not here.
            UsageError: the language is unknown.
        """
        toolchains = {name: find(name) for name in languages}
        self._names = {name: tool.language.name for name, tool in toolchains.items()}
        self._tools: dict[str, Toolchain] = {tool.language.name: tool for tool in toolchains.values()}
        self._names |= {name: name for name in self._tools}
        self._prebuilt = Prebuilt(cache.built)
        folders = dict.fromkeys(folder for tool in self._tools.values() for folder in tool.folders)
        self._box = ProgramSandbox(
            [*folders, str(self._prebuilt.folder)], workers=workers, isolation=isolation, at_most=at_most, pinned=pinned
        )
        batches = ((tool, tool.language.batch) for tool in self._tools.values())
        self._batches = {tool.language.name: PendingBuild(tool, batch) for tool, batch in batches if batch is not None}
        self._streams = StreamMarker(
            self._box.worker_pool,
            languages=frozenset(self._tools),
            isolation=isolation,
            at_most=at_most,
            explain=explain,
        )
        self._explain = explain
        self._proves = proves
        self._cache = VerdictCache(dedupe=dedupe, verdicts=cache.verdicts, proves=proves, explain=explain)
        self._under: dict[str, _Under] = {}
        self._number = 0
        self._is_tried = False

    def _tool(self, job: Job) -> Toolchain:
        return self._tools[self._names[job.sample.language]]

    @property
    def level(self) -> Isolation:
        """The level of isolation that was reached."""
        return self._streams.level

    @property
    def duplicates(self) -> int:
        """How many jobs shared the outcome of an equal one."""
        return self._cache.duplicates

    @property
    def reused(self) -> int:
        """How many jobs got the outcome of an earlier run."""
        return self._cache.reused

    def start(self) -> None:
        """Start the workers, and see that a right program of each language passes there and a wrong one does not.

        Raises:
            EnvironmentUnfitError: it is not so, for example where a toolchain lies among files that no worker may read.
        """
        if self._is_tried:
            return
        self._prebuilt.start()
        self._box.start()
        self._prebuilt.seen_at(self._box.seen_at(str(self._prebuilt.folder)))
        self._is_tried = True
        jobs = []
        for tool in self._tools.values():
            right, wrong, tests = tool.language.self_test
            sample = Sample(id="self-test", language=tool.language.name, tests=(Test(program=tests),))
            limits = Limits(seconds=20.0)
            jobs += [Job(_RIGHT, right, sample, limits), Job("wrong", wrong, sample, limits)]
        for job, outcome in self._run(jobs):
            passed = outcome.tests[0].passed
            if passed != (job.key == _RIGHT):
                self.close()
                title = self._tool(job).language.title
                message = outcome.tests[0].error_message or "a wrong one passes"
                raise EnvironmentUnfitError(
                    f"{title} programs cannot be marked here: the {job.key} program of the self-test "
                    f"{'passes' if passed else 'fails'}: {message}",
                    hint="is its toolchain where every user of this machine may read it?",
                )

    def end_on(self, stop: int) -> None:
        """End what runs, and the workers, once a descriptor is readable; this marker is of no use any more then."""
        self._box.stop = self._streams.stop = stop

    def close(self) -> None:
        """End the workers and everything in them."""
        self._cache.close()
        self._streams.close()
        self._box.close()
        self._prebuilt.close()
        self._is_tried = False

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Mark every job; yield each with its outcome as it is done, programs that read and write last."""
        self.start()
        yield from self._cache.run(jobs, self._each, lambda: self.level)

    def _each(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        streams: list[Job] = []
        yield from self._run(_among(jobs, lambda job: not goes_in_turns(job.sample), streams))
        if streams:
            yield from self._streams.run(streams)

    def _run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        source = iter(jobs)
        exhausted = False
        # Those that are built together wait for one another.
        ahead = (_AHEAD + sum(batch.batch.size for batch in self._batches.values())) * self._box.workers
        while True:
            while not exhausted and len(self._under) < ahead:
                job = next(source, None)
                if job is None:
                    exhausted = True
                elif not job.code.strip():
                    message = "the solution is empty"
                    yield job, all_failed(job.sample, ErrorKind.NO_COMPLETION, message=message, isolation=self.level)
                else:
                    yield from self._begin(job)
            if exhausted or not self._box.is_busy:
                # Build what waits for more of its kind, as no more is to come now.
                for batch in self._batches.values():
                    if len(batch.waiting) >= batch.batch.fewest:
                        self._build(batch)
                    for key, program in batch.waiting.items():
                        limits = self._under[key.partition(":")[0]].job.limits
                        self._box.submit(make_run(key, program, limits, proves=self._proves))
                    batch.waiting = {}
            if self._box.is_busy:
                yield from self._next()
            elif exhausted:
                return

    def _begin(self, job: Job) -> Iterator[tuple[Job, Outcome]]:
        """Submit a job's programs; yield what is decided already."""
        self._number += 1
        key = str(self._number)
        pending = self._under[key] = _Under(job)
        for index, test in enumerate(job.sample.tests):
            self._submit(f"{key}:{index}", pending, test)
        yield from self._yield_ended(key)

    def _submit(self, key: str, pending: _Under, test: Test) -> None:
        index = int(key.partition(":")[2])
        try:
            program = write_test_program(self._tool(pending.job), pending.job, test)
        except ValueError as error:
            failed = TestResult(passed=False, error_type="BenchmarkFault", error_message=str(error))
            pending.found[index] = Found(failed, ErrorKind.OTHER, fault=str(error))
            return
        program = self._prebuilt_for(program)
        batch = self._batches.get(program.tool.language.name)
        if batch is None:
            self._box.submit(make_run(key, program, pending.job.limits, proves=self._proves))
            return
        batch.waiting[key] = program
        if batch.is_full:
            self._build(batch)

    def _prebuilt_for(self, program: Written) -> Written:
        """Return a program that uses what is compiled once for many."""
        tool = self._prebuilt.prepare(program.tool, program.text)
        self._tools[tool.language.name] = tool
        text, head = self._prebuilt.with_headers(tool, program.text)
        if not head:
            return replace(program, tool=tool)
        files = {**program.files, tool.language.source: text.encode("utf-8", "surrogatepass")}
        return replace(program, tool=tool, files=files, words={**program.words, "head": head})

    def _build(self, batch: PendingBuild) -> None:
        self._number += 1
        self._box.submit(batch.run(f"{_BATCH}{self._number}:{batch.tool.language.name}"))

    def _next(self) -> Iterator[tuple[Job, Outcome]]:
        """Wait for a run to be done; yield the outcomes of the jobs that it was the last of."""
        run, executed = self._box.next_done()
        if run.key.startswith(_BATCH):
            yield from self._built(run.key, executed)
            return
        assert isinstance(run, MarkedRun)
        key, _, index = run.key.partition(":")
        pending = self._under[key]
        result = judge_phases(self._tool(pending.job), run, executed, proves=self._proves)
        if self._explain and executed and not result.result.passed:
            built = run.phases[0].builds
            heard = executed[0].stderr + executed[0].stdout if built and len(executed) == 1 else b""
            ran = next(iter(run.in_order(executed)), None)
            words = heard.decode("utf-8", "replace")
            result = replace(result, why=program_failed(int(index), run.written, pending.job.code, words, ran))
        pending.found[int(index)] = result
        yield from self._yield_ended(key)

    def _built(self, key: str, executed: list[Executed]) -> Iterator[tuple[Job, Outcome]]:
        """Run what a batch has built; what it did not come to is built by itself."""
        for name, program, built in self._batches[key.partition(":")[2]].done(key, executed):
            number, _, index = name.partition(":")
            pending = self._under[number]
            if isinstance(built, str):
                result = not_built(program.tool, built)
                if self._explain:
                    result = replace(result, why=program_failed(int(index), program, pending.job.code, built, None))
                pending.found[int(index)] = result
                yield from self._yield_ended(number)
            else:
                self._box.submit(make_run(name, program, pending.job.limits, proves=self._proves, built=built))

    def _yield_ended(self, key: str) -> Iterator[tuple[Job, Outcome]]:
        """Yield the outcome of a job, if every test of it is decided."""
        pending = self._under[key]
        if len(pending.found) == len(pending.job.sample.tests):
            del self._under[key]
            yield pending.job, self._outcome(pending)

    def _outcome(self, pending: _Under) -> Outcome:
        results = [pending.found[index] for index in range(len(pending.job.sample.tests))]
        bad = next((result for result in results if result.error is not None), None)
        return Outcome(
            tests=tuple(result.result for result in results),
            error=bad.error if bad else None,
            error_type=bad.result.error_type if bad else "",
            error_message=bad.result.error_message if bad else "",
            flags=(LOST,) if any(result.is_lost for result in results) else (),
            limit=next((result.limit for result in results if result.limit), ""),
            benchmark_fault=next((result.fault for result in results if result.fault), ""),
            isolation=self.level,
            seconds=sum(result.seconds for result in results),
            wall_seconds=sum(result.wall for result in results),
            why=programs_why(result.why for result in results if result.why),
        )


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
        """How many jobs shared the outcome of an equal one."""
        return self._box.duplicates + self._marker.duplicates

    @property
    def reused(self) -> int:
        """How many jobs got the outcome of an earlier run."""
        return self._box.reused + self._marker.reused

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
        elsewhere = _among(jobs, lambda job: bool(program_language(job.sample)), in_python)
        yield from self._marker.run(elsewhere)
        if in_python:
            self._used = True
            ensure_marks(self._box)
            yield from self._box.run(in_python)


def _among(jobs: Iterable[Job], is_wanted: Callable[[Job], bool], others: list[Job]) -> Iterator[Job]:
    """Yield the jobs that are wanted, and put the others aside."""
    for job in jobs:
        if is_wanted(job):
            yield job
        else:
            others.append(job)
