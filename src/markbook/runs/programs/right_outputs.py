"""What a judge says of outputs that are known to be right: where it takes one of a test, it is not the judge that is broken."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from markbook.languages import find
from markbook.runs.programs.judging import as_bytes, judge_phases, judge_run, said_by_all
from markbook.sandbox.job import Job, task_name
from markbook.sandbox.turns import Seat, Steps, Turn, WorkerRole
from markbook.types import Outcome, Sample

Begin = Callable[[Job], Callable[[Seat[Outcome]], Steps[Outcome]]]
"""Makes the steps of an attempt."""


class RightOutputs:
    """Remembers by which tests a judge has taken a right output."""

    def __init__(self, languages: Collection[str]) -> None:
        """Take the languages in which a canonical solution can be run."""
        self._languages = languages
        self._expected: dict[str, bool] = {}
        self._canonical: dict[str, bool] = {}

    def accepts_expected(self, sample: Sample, index: int) -> Steps[bool]:
        """Return whether the judge takes a test's expected output; not where there is none."""
        judge, test = sample.judge, sample.tests[index]
        if judge is None or judge.is_interactive or not test.stdout.strip():
            return False
        name = task_name(_only(sample, index))
        if name not in self._expected:
            phases = judge_phases(judge, test, as_bytes(test.stdin or ""), {}, as_bytes(test.stdout))
            heard = (yield Turn(judge=judge_run(phases, judge)))[WorkerRole.JUDGE]
            self._expected[name] = said_by_all(judge, heard, judge.passes - 1).result == "AC"
        return self._expected[name]

    def has_canonical(self, sample: Sample) -> bool:
        """Whether there is a canonical solution that can be run here."""
        return bool(sample.references) and find(sample.canonical_language or "python").language.name in self._languages

    def is_known(self, sample: Sample, index: int) -> bool:
        """Whether `canonical` knows its answer without running anything."""
        return task_name(_only(sample, index)) in self._canonical

    def canonical(self, job: Job, index: int, begin: Begin, seat: Seat[Outcome]) -> Steps[bool]:
        """Return whether the judge takes what the canonical solution does on a test; it is built where the answer was."""
        sample = _only(job.sample, index)
        name = task_name(sample)
        if name not in self._canonical:
            alone = replace(sample, references=(), language=sample.canonical_language or "python")
            outcome = yield from begin(Job("", sample.references[0], alone, job.limits))(seat)
            self._canonical[name] = outcome.tests[0].result == "AC"
        return self._canonical[name]


def _only(sample: Sample, index: int) -> Sample:
    """Return a problem with one of its tests."""
    return replace(sample, tests=(sample.tests[index],), group=None)
