"""Marking programs that read and write in turns: other languages than Python, checkers, interaction, passes, groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from markbook.languages import find
from markbook.runs.programs.right_outputs import RightOutputs
from markbook.runs.programs.turns import AttemptInTurns
from markbook.sandbox.job import Job
from markbook.sandbox.outcomes import LOST, all_failed
from markbook.sandbox.turns import Lost, Seat, Seats, Steps, WorkerRole
from markbook.sandbox.worker import Interpreter
from markbook.sandbox.worker_pool import WorkerPool
from markbook.types import ErrorKind, Isolation, Outcome, ProblemType, Sample


def goes_in_turns(sample: Sample) -> bool:
    """Whether a problem's answers are marked here: one that reads and writes, and wants more than Python and a rule."""
    if sample.problem_type is not ProblemType.STDIN:
        return False
    return bool(sample.language or sample.judge is not None or sample.group is not None)


def language_of(sample: Sample) -> str:
    """Return the language in which a problem's answers are built and run; empty for Python as the examiner meets it."""
    return sample.language or ("python" if goes_in_turns(sample) else "")


def languages_for(sample: Sample) -> tuple[str, ...]:
    """Return every language that marking a problem's answers takes, sorted: theirs, and that of a right one for its judge."""
    names = {language_of(sample)} - {""}
    if sample.judge is not None and sample.references:
        names.add(sample.canonical_language or "python")
    return tuple(sorted(names))


class StreamMarker:
    """Marks answers that read and write, each test judged outside of the program."""

    def __init__(
        self,
        programs: WorkerPool,
        *,
        languages: Collection[str],
        isolation: Literal["auto", "strict", "weak"],
        at_most: Isolation,
        explain: bool = False,
    ) -> None:
        """Set up, starting nothing.

        Args:
            programs: the workers that answers run in.
            languages: those that can be built and run there.
            isolation: as for `Sandbox`.
            at_most: leave out the layers above this level.
            explain: say why attempts failed.
        """
        self._explain = explain
        self._programs = programs
        self._isolation = isolation
        self._at_most = at_most
        self.stop: int | None = None
        """A descriptor; once it is readable, what runs is ended, and so are the workers."""
        self._judges: WorkerPool | None = None
        self._judged_by: set[str] = set()
        self._right = RightOutputs(languages)

    @property
    def level(self) -> Isolation:
        """The weakest level of isolation that was reached."""
        return max(self._programs.level, self._judges.level) if self._judges else self._programs.level

    def close(self) -> None:
        """End the judges' workers."""
        if self._judges is not None:
            self._judges.close()
            self._judges = None

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Mark every job, an answer to a problem for which `goes_in_turns`; yield each with its outcome as it is done.

        Raises:
            EnvironmentUnfitError: the toolchain of a judge is not here.
        """
        names = {name for job in jobs if job.sample.judge is not None for name in job.sample.judge.languages}
        if names - self._judged_by:
            self.close()
        if names and self._judges is None:
            self._judged_by |= names
            folders = dict.fromkeys(folder for name in sorted(self._judged_by) for folder in find(name).folders)
            self._judges = WorkerPool(
                count=self._programs.count,
                isolation=self._isolation,
                interpreter=Interpreter(),
                at_most=self._at_most,
                pinned=self._programs.is_pinned,
                main="runner",
                folders=tuple(folders),
            )
        under: dict[str, Job] = {}
        seats: Seats[Outcome] = Seats(self._programs, self._judges if names else None, self.stop)
        for key, result in seats.run(self._attempts(jobs, under)):
            job = under.pop(key)
            yield job, self._lost(job, result) if isinstance(result, Lost) else result

    def _attempts(
        self, jobs: Iterable[Job], under: dict[str, Job]
    ) -> Iterator[tuple[str, Callable[[Seat[Outcome]], Steps[Outcome]]]]:
        for number, job in enumerate(jobs):
            under[str(number)] = job
            yield str(number), AttemptInTurns(job, lambda: self.level, self._right, explain=self._explain).steps

    def _lost(self, job: Job, lost: Lost) -> Outcome:
        message = f"the worker of the {lost.side} was lost twice while it ran"
        outcome = all_failed(
            job.sample, ErrorKind.OTHER, message=message, isolation=self.level, error_type="Crash", flags=(LOST,)
        )
        if lost.side is WorkerRole.PROGRAM:
            return replace(outcome, flags=("crash",))
        tests = tuple(replace(test, result="JE") for test in outcome.tests)
        return replace(outcome, tests=tests, error=None, benchmark_fault=message)
