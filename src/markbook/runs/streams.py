"""Marking programs that read and write in turns: other languages than Python, checkers, interaction, passes, groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markbook.languages import Toolchain, find
from markbook.languages.whole import RUNTIME_BYTES, Whole, whole
from markbook.runs.judging import (
    as_bytes,
    build_phases,
    judge_phases,
    judge_run,
    judge_seconds,
    not_built,
    ready,
    said_by,
    said_by_all,
    says,
)
from markbook.runs.program_why import Raw, compiler_said, stream_failed, streams_why
from markbook.sandbox.guest.examination import rules
from markbook.sandbox.job import Job, limits_for, wall_limits
from markbook.sandbox.outcomes import LOST, all_failed, clean
from markbook.sandbox.program import Executed, Phase, ProgramRun
from markbook.sandbox.turns import Lost, Seat, Seats, Steps, Turn, WorkerRole
from markbook.sandbox.worker import Interpreter
from markbook.sandbox.worker_pool import WorkerPool
from markbook.stdio import checkers
from markbook.stdio.checkers import Checked, Result
from markbook.stdio.judge import Judge
from markbook.stdio.scoring import Group, grade, largest, next_test
from markbook.types import ErrorKind, Isolation, Limits, Outcome, ProblemType, Sample, Test, TestResult, Verdict

_OUT_OF_TIME = 10
"""After so many tests that the limit ended a program's further tests are not run, whatever was asked for."""
_NOT_RUN = TestResult(
    passed=False,
    verdict=Verdict.SEPARATED,
    error_type="NotRun",
    error_message="not run: an earlier test failed",
    result="-",
)
_KINDS: Mapping[Result, tuple[ErrorKind | None, str]] = {
    "WA": (None, "WrongAnswer"),
    "TLE": (ErrorKind.TIMEOUT, "TimeoutError"),
    "MLE": (ErrorKind.OTHER, "MemoryError"),
    "RTE": (ErrorKind.OTHER, "RuntimeError"),
    "OLE": (ErrorKind.OTHER, "OutputLimitError"),
    "CE": (ErrorKind.SYNTAX, "CompileError"),
    "JE": (None, "JudgeError"),
}
_LIMITS: Mapping[Result, str] = {"TLE": "cpu", "MLE": "memory", "OLE": "output"}


def goes_in_turns(sample: Sample) -> bool:
    """Whether a problem's answers are marked here: one that reads and writes, and wants more than Python and a rule."""
    if sample.problem_type is not ProblemType.STDIN:
        return False
    return bool(sample.language or sample.judge is not None or sample.group is not None)


def language_of(sample: Sample) -> str:
    """Return the language in which a problem's answers are built and run; empty for Python as the examiner meets it."""
    return sample.language or ("python" if goes_in_turns(sample) else "")


@dataclass(frozen=True, slots=True)
class _Tested:
    """What became of one test."""

    checked: Checked
    rule: str = ""
    limit: str = ""
    seconds: float = 0.0
    wall: float = 0.0
    ran: Executed | None = None
    """Until it is known why it failed."""
    why: Raw | None = None


class StreamMarker:
    """Marks answers that read and write, each test judged outside of the program."""

    def __init__(
        self,
        programs: WorkerPool,
        *,
        isolation: Literal["auto", "strict", "weak"],
        at_most: Isolation,
        explain: bool = False,
    ) -> None:
        """Set up, starting nothing.

        Args:
            programs: the workers that answers run in.
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
        for key, found in seats.run(self._attempts(jobs, under)):
            job = under.pop(key)
            yield job, self._lost(job, found) if isinstance(found, Lost) else found

    def _attempts(
        self, jobs: Iterable[Job], under: dict[str, Job]
    ) -> Iterator[tuple[str, Callable[[Seat[Outcome]], Steps[Outcome]]]]:
        for number, job in enumerate(jobs):
            under[str(number)] = job
            yield str(number), AttemptInTurns(job, lambda: self.level, explain=self._explain).steps

    def _lost(self, job: Job, lost: Lost) -> Outcome:
        message = f"the worker of the {lost.side} was lost twice while it ran"
        found = all_failed(
            job.sample, ErrorKind.OTHER, message=message, isolation=self.level, error_type="Crash", flags=(LOST,)
        )
        if lost.side is WorkerRole.PROGRAM:
            return replace(found, flags=("crash",))
        tests = tuple(replace(test, result="JE") for test in found.tests)
        return replace(found, tests=tests, error=None, benchmark_fault=message)


class AttemptInTurns:
    """One answer on its way: built, run test by test, each judged."""

    def __init__(self, job: Job, level: Callable[[], Isolation], *, explain: bool = False) -> None:
        self._explain = explain
        self._job = job
        self._sample = job.sample
        self._level = level
        self._tool = find(job.sample.language or "python")
        self._limits = _limits(job, self._tool)
        self._cpu = 0.0
        self._wall = 0.0

    def steps(self, seat: Seat[Outcome]) -> Steps[Outcome]:
        """Yield its turns, and return its outcome."""
        self._cpu = self._wall = 0.0
        if not self._job.code.strip() and not self._job.files:
            message = "the solution is empty"
            return all_failed(self._sample, ErrorKind.NO_COMPLETION, message=message, isolation=self._level())
        judge, fault = self._sample.judge, ""
        if judge is not None:
            fault = yield from ready(seat, judge)
        try:
            made = whole(self._tool, self._job.files or self._job.code)
        except ValueError as error:
            return self._outcome({}, refused=Checked("CE", str(error)))
        if fault:
            return self._outcome({}, refused=Checked("JE", fault))
        turn = Turn(
            program=ProgramRun("build", made.files, build_phases(made, self._tool), programs=made.programs, stays=True)
        )
        built = (yield turn)[WorkerRole.PROGRAM]
        self._spent(built)
        if built and not built[0].is_good:
            said = compiler_said(built[0], made.files) if self._explain else None
            return self._outcome({}, refused=Checked("CE", not_built(self._tool, built[0])), built=said)
        found: dict[int, _Tested] = {}
        while (place := self._next(found)) is not None:
            found[place] = yield from self._test(made, place)
        return self._outcome(found)

    def _next(self, found: Mapping[int, _Tested]) -> int | None:
        """Return the place of the test that is to be run next, None after the last."""
        slow = sum(one.checked.result == "TLE" for one in found.values())
        meets_all = self._job.meets_all and slow < _OUT_OF_TIME
        if self._sample.group is not None and not meets_all:
            name = next_test(self._sample.group, {str(place): one.checked for place, one in found.items()})
            return None if name is None else int(name)
        if not meets_all and any(one.checked.result != "AC" for one in found.values()):
            return None
        return len(found) if len(found) < len(self._sample.tests) else None

    def _test(self, made: Whole, place: int) -> Steps[_Tested]:
        judge, test = self._sample.judge, self._sample.tests[place]
        given = as_bytes(test.stdin or "")
        kept: Mapping[str, bytes] = {}
        cpu, wall = self._cpu, self._wall
        for left in range(judge.passes if judge else 1, 0, -1):
            phase = Phase(made.run, self._limits, stdin=given, environment=made.environment)
            if judge is not None and judge.is_interactive:
                tested, kept = yield from self._talk(phase, made, test, kept, left - 1)
            else:
                ran = (yield Turn(program=_going_on(phase, made)))[WorkerRole.PROGRAM][0]
                self._spent([ran])
                tested, kept = yield from self._checked(ran, judge, test, kept, left - 1)
            following = tested.checked.next_input
            if tested.checked.result != "AC" or following is None:
                break
            given = following
            kept = {name: content for name, content in kept.items() if name != "nextpass.in"}
        why = self._why(place, given, made, tested) if self._explain else None
        return replace(tested, seconds=self._cpu - cpu, wall=self._wall - wall, ran=None, why=why)

    def _why(self, place: int, given: bytes, made: Whole, tested: _Tested) -> Raw | None:
        checked, ran = tested.checked, tested.ran
        if ran is None or checked.result in ("AC", "JE"):
            return None
        words = "" if checked.result == "WA" and self._sample.judge is None else clean(checked.message)
        return stream_failed(place, given, self._sample.tests[place].stdout, ran, made.files, words)

    def _checked(
        self, ran: Executed, judge: Judge | None, test: Test, kept: Mapping[str, bytes], left: int
    ) -> Steps[tuple[_Tested, Mapping[str, bytes]]]:
        """Judge what a program printed."""
        state = self._state(ran)
        if state.result != "AC":
            return _Tested(state, limit=ran.limit, ran=ran), kept
        if judge is None:
            said = rules.parse(test.checker).judge(as_bytes(test.stdout), ran.stdout)
            checked = Checked("AC") if said.accepted else Checked("WA", said.message)
            return _Tested(checked, rule=said.by, ran=ran), kept
        phases = judge_phases(judge, test, kept, ran.stdout)
        heard = (yield Turn(judge=judge_run(phases, judge)))[WorkerRole.JUDGE]
        return _Tested(said_by_all(judge, heard, left), rule=judge.convention, ran=ran), heard[-1].files

    def _talk(
        self, phase: Phase, made: Whole, test: Test, kept: Mapping[str, bytes], left: int
    ) -> Steps[tuple[_Tested, Mapping[str, bytes]]]:
        """Let a program and its interactor talk, and say whose fault it is if that went wrong."""
        judge = self._sample.judge
        assert judge is not None
        wall = sum(wall_limits(self._limits)) + judge_seconds()
        judging = judge_phases(judge, test, kept, None)[0]
        judging = replace(judging, is_linked=True, limits=replace(judging.limits, wall_seconds=wall))
        turn = Turn(
            program=_going_on(replace(phase, stdin=b"", is_linked=True), made),
            judge=judge_run((judging,), judge),
            stops=lambda heard: said_by(judge, heard, left).result == "WA",
        )
        found = yield turn
        ran, heard = found[WorkerRole.PROGRAM][0], found[WorkerRole.JUDGE][0]
        self._spent([ran])
        state = Checked("AC") if ran.limit == "stopped" else self._state(ran)
        said = said_by(judge, heard, left)
        first = heard.ended < ran.ended
        checked = checkers.interactive(said, state.result, validator_first=first, validator_hung=bool(heard.limit))
        if checked.result == state.result and state.result != "AC":
            checked = state
        limit = ran.limit if checked is state else ""
        return _Tested(checked, rule=judge.convention, limit=limit, ran=ran), heard.files

    def _state(self, ran: Executed) -> Checked:
        """Return what is to be said of a run before anybody looks at what it printed; `AC` if nothing is."""
        failures = self._tool.language.failures
        if ran.limit == "output":
            return Checked("OLE", "the solution printed more than it may")
        if ran.limit in ("cpu", "wall") or ran.seconds > self._limits.seconds:
            return Checked("TLE", "the time limit was reached")
        if ran.limit == "memory":
            return Checked("MLE", "the memory limit was reached")
        if ran.limit:
            return Checked("RTE", f"the limit was reached: {ran.limit}")
        if ran.status == 0:
            return Checked("AC")
        said = ran.stderr.decode("utf-8", "replace")
        if says(failures.memory, said) or says(r"^MemoryError", said):
            return Checked("MLE", "the memory limit was reached")
        how = (
            f"the process was ended by signal {ran.signal}"
            if ran.signal
            else f"the process ended with status {ran.status}"
        )
        last = checkers.shown(said.rstrip().rpartition("\n")[2].encode("utf-8", "replace"))
        return Checked("RTE", ran.refused or (f"{how}: {last}" if last else how))

    def _spent(self, found: Iterable[Executed]) -> None:
        for one in found:
            self._cpu += one.seconds
            self._wall += one.wall_seconds

    def _outcome(
        self, found: Mapping[int, _Tested], refused: Checked | None = None, built: Raw | None = None
    ) -> Outcome:
        """Return what all tests come to; `refused`: why none could be run, `built`: what the compiler said."""
        count = len(self._sample.tests)
        if refused is not None:
            found = {place: _Tested(refused) for place in range(count)}
        first = next((one for _, one in sorted(found.items()) if one.checked.result not in ("AC", "WA", "JE")), None)
        fault = next((one.checked.message for one in found.values() if one.checked.result == "JE"), "")
        kind, name = _KINDS[first.checked.result] if first else (None, "")
        score, fault = self._score(found, fault)
        return Outcome(
            tests=tuple(_result(found[place]) if place in found else _NOT_RUN for place in range(count)),
            error=kind,
            error_type=name,
            error_message=clean(first.checked.message) if first else "",
            limit=(first.limit or _LIMITS.get(first.checked.result, "")) if first else "",
            benchmark_fault=clean(fault),
            isolation=self._level(),
            seconds=self._cpu,
            wall_seconds=self._wall,
            score=score,
            slowest=max((one.seconds for one in found.values()), default=0.0),
            why=streams_why((one.why for _, one in sorted(found.items()) if one.why), built),
        )

    def _score(self, found: Mapping[int, _Tested], fault: str) -> tuple[float | None, str]:
        group = self._sample.group
        if fault:
            return None, fault
        if group is None:
            checked = {place: one.checked for place, one in found.items()}
            return shares(self._sample.tests, checked), ""
        return share(
            group, {str(place): one.checked for place, one in found.items()}, is_judged=self._sample.judge is not None
        )


def shares(tests: Sequence[Test], found: Mapping[int, Checked]) -> float | None:
    """Return the share of the points of tests that judges gave; None where none of them spoke of shares."""
    if all(one.points is None and one.multiplier is None for one in found.values()):
        return None
    worth = [1.0 if test.points is None else test.points for test in tests]
    earned = [_share(found[place], most) * most for place, most in enumerate(worth) if place in found]
    total = math.fsum(worth)
    return min(1.0, math.fsum(earned) / total) if total else None


def _share(checked: Checked, most: float) -> float:
    """Return the share, 0..1, of a test's points that an output earned."""
    if checked.result != "AC":
        return 0.0
    if checked.points is not None:
        return min(1.0, max(0.0, checked.points / most)) if most else 0.0
    return 1.0 if checked.multiplier is None else checked.multiplier


def share(group: Group, found: Mapping[str, Checked], *, is_judged: bool) -> tuple[float | None, str]:
    """Return the share of what a group is worth, or why there is none."""
    graded, most = grade(group, found), largest(group, is_judged=is_judged)
    if graded.fault:
        return None, graded.fault
    if not most:
        return (1.0 if graded.result == "AC" else 0.0), ""
    return min(1.0, max(0.0, graded.score / most)), ""


def _result(tested: _Tested) -> TestResult:
    checked = tested.checked
    if checked.result == "AC":
        return TestResult(passed=True, verdict=Verdict.SEPARATED, result="AC", rule=tested.rule)
    return TestResult(
        passed=False,
        verdict=Verdict.SEPARATED,
        error_type=_KINDS[checked.result][1],
        error_message=clean(checked.message),
        result=checked.result,
        rule=tested.rule,
    )


def _limits(job: Job, tool: Toolchain) -> Limits:
    """Return the limits of each test; the threads and the memory of a runtime are not the program's."""
    limits, name = limits_for(job), tool.language.name
    memory = limits.memory_bytes + RUNTIME_BYTES.get(name, 0)
    return replace(limits, processes=max(limits.processes, tool.language.processes), memory_bytes=memory)


def _going_on(phase: Phase, made: Whole) -> ProgramRun:
    return ProgramRun("run", {}, (phase,), programs=made.programs, goes_on=True, stays=True)
