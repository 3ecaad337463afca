"""Outcomes of programs that are known already: of equal answers in this run, and on request of earlier runs."""

from __future__ import annotations

import functools
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import markbook
from markbook.languages import Toolchain, find
from markbook.languages.language import as_text
from markbook.sandbox.job import Job, digest, limits_for, may_be_remembered, task_name
from markbook.sandbox.record_store import RecordStore
from markbook.types import Isolation, Outcome

_MOST = 10_000
"""Outcomes that are remembered for equal answers."""
_OURS = ("languages", "programs", "sandbox", "testcode")
"""The packages that hold what a verdict depends on."""
Run = Callable[[Iterable[Job]], Iterator[tuple[Job, Outcome]]]


class VerdictCache:
    """Gives a job the outcome that an equal one had; `_key` holds all that makes two equal."""

    def __init__(self, *, dedupe: bool, verdicts: Path | None, proves: bool, explain: bool = False) -> None:
        """Set up; `verdicts` is the file in which outcomes are kept from run to run, None for none.

        What a verdict depends on: whether passes are proved (`proves`), and whether outcomes say why they failed
        (`explain`).
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
        twins_by_name: dict[str, list[Job]] = {}
        names: dict[int, str] = {}
        for job, outcome in run(self._select_unknown(jobs, ready, twins_by_name, names, level)):
            yield from _drain(ready)
            name = names.pop(id(job))
            self._learn(name, job, outcome, level())
            yield job, outcome
            for twin in twins_by_name.pop(name, ()):
                yield twin, outcome
        yield from _drain(ready)

    def _select_unknown(
        self,
        jobs: Iterable[Job],
        ready: deque[tuple[Job, Outcome]],
        twins_by_name: dict[str, list[Job]],
        names: dict[int, str],
        level: Callable[[], Isolation],
    ) -> Iterator[Job]:
        """Yield the jobs that have to be run; put the others with their outcomes, or with the equal one under way."""
        for job in jobs:
            files = [f"{name}:{hashlib.blake2b(text).hexdigest()}" for name, text in job.files.items()]
            name = digest(job.code, task_name(job.sample), repr((limits_for(job), job.limits, job.meets_all)), *files)
            if self._dedupe and name in twins_by_name:
                self.duplicates += 1
                twins_by_name[name].append(job)
                continue
            outcome = self._find_outcome(name, job, level)
            if outcome is not None:
                ready.append((job, outcome))
                continue
            names[id(job)] = name
            if self._dedupe:
                twins_by_name[name] = []
            yield job

    def _find_outcome(self, name: str, job: Job, level: Callable[[], Isolation]) -> Outcome | None:
        if self._dedupe and name in self._known:
            self.duplicates += 1
            return self._known[name]
        record = self._kept.get(self._key(name, job, level())) if self._kept.is_used else None
        if record is None:
            return None
        self.reused += 1
        return replace(Outcome.from_record(record), isolation=level())

    def _learn(self, name: str, job: Job, outcome: Outcome, level: Isolation) -> None:
        """Remember an outcome, unless another run may bring another one."""
        if not may_be_remembered(outcome):
            return
        if self._dedupe:
            self._known[name] = outcome
            if len(self._known) > _MOST:
                self._known.pop(next(iter(self._known)))
        if self._kept.is_used and job.code.strip():
            self._kept.put(self._key(name, job, level), outcome.to_record())

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
