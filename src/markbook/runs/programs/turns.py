"""One answer that goes in turns: built, run test by test, each judged outside of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from markbook.languages import Toolchain, find
from markbook.languages.whole import Whole, whole
from markbook.runs.programs.failures import Raw, compiler_said, stream_failed, streams_why
from markbook.runs.programs.judging import (
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
from markbook.runs.programs.right_outputs import RightOutputs
from markbook.runs.programs.tested import KINDS, LIMITS, NOT_RUN, JudgedTest, result_of, scored
from markbook.sandbox.guest.examination import rules
from markbook.sandbox.job import Job, limits_for, wall_limits
from markbook.sandbox.outcomes import all_failed, clean
from markbook.sandbox.program import Executed, Phase, ProgramRun
from markbook.sandbox.turns import Seat, Steps, Turn, WorkerRole
from markbook.stdio import checkers
from markbook.stdio.checkers import Checked
from markbook.stdio.scoring import next_test
from markbook.types import ErrorKind, Isolation, Limits, Outcome, Test

_OUT_OF_TIME = 10
"""After so many tests that the limit ended a program's further tests are not run, whatever was asked for."""


class AttemptInTurns:
    """One answer on its way: built, run test by test, each judged."""

    def __init__(self, job: Job, level: Callable[[], Isolation], right: RightOutputs, *, explain: bool = False) -> None:
        self._explain = explain
        self._job = job
        self._sample = job.sample
        self._level = level
        self._right = right
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
        built = yield from self._built(made)
        self._spent(built)
        if built and not built[0].is_good:
            said = compiler_said(built[0], made.files) if self._explain else None
            return self._outcome({}, refused=Checked("CE", not_built(self._tool, built[0])), built=said)
        found: dict[int, JudgedTest] = {}
        while (place := self._next(found)) is not None:
            found[place] = yield from self._test(made, place, seat)
        return self._outcome(found)

    def _built(self, made: Whole) -> Steps[list[Executed]]:
        """Have the program built in its worker; return what became of that."""
        turn = Turn(
            program=ProgramRun("build", made.files, build_phases(made, self._tool), programs=made.programs, stays=True)
        )
        return (yield turn)[WorkerRole.PROGRAM]

    def _settled(self, tested: JudgedTest, made: Whole, place: int, seat: Seat[Outcome]) -> Steps[JudgedTest]:
        """Charge an output on which the judge failed with that, if the judge takes what is known to be right."""
        if tested.checked.result != "JE" or tested.checked.is_own_fault:
            return tested
        takes = yield from self._right.expected(self._sample, place)
        if not takes and self._right.has_canonical(self._sample):
            was_known = self._right.is_known(self._sample, place)
            takes = yield from self._right.canonical(self._job, place, self._begin, seat)
            if not was_known:
                yield from self._built(made)
        return replace(tested, checked=checkers.broken_by_output(tested.checked)) if takes else tested

    def _begin(self, job: Job) -> Callable[[Seat[Outcome]], Steps[Outcome]]:
        return AttemptInTurns(job, self._level, self._right).steps

    def _next(self, found: Mapping[int, JudgedTest]) -> int | None:
        """Return the place of the test that is to be run next, None after the last."""
        slow = sum(one.checked.result == "TLE" for one in found.values())
        meets_all = self._job.meets_all and slow < _OUT_OF_TIME
        if self._sample.group is not None and not meets_all:
            name = next_test(self._sample.group, {str(place): one.checked for place, one in found.items()})
            return None if name is None else int(name)
        if not meets_all and any(one.checked.result != "AC" for one in found.values()):
            return None
        return len(found) if len(found) < len(self._sample.tests) else None

    def _test(self, made: Whole, place: int, seat: Seat[Outcome]) -> Steps[JudgedTest]:
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
                tested, kept = yield from self._checked(ran, given, test, kept, left - 1)
            following = tested.checked.next_input
            if tested.checked.result != "AC" or following is None:
                break
            given = following
            kept = {name: content for name, content in kept.items() if name != "nextpass.in"}
        tested = yield from self._settled(tested, made, place, seat)
        why = self._why(place, given, made, tested) if self._explain else None
        return replace(tested, seconds=self._cpu - cpu, wall=self._wall - wall, ran=None, why=why)

    def _why(self, place: int, given: bytes, made: Whole, tested: JudgedTest) -> Raw | None:
        checked, ran = tested.checked, tested.ran
        if ran is None or checked.result in ("AC", "JE"):
            return None
        words = "" if checked.result == "WA" and self._sample.judge is None else clean(checked.message)
        return stream_failed(place, given, self._sample.tests[place].stdout, ran, made.files, words)

    def _checked(
        self, ran: Executed, given: bytes, test: Test, kept: Mapping[str, bytes], left: int
    ) -> Steps[tuple[JudgedTest, Mapping[str, bytes]]]:
        """Judge what a program printed that was given this."""
        judge = self._sample.judge
        state = self._state(ran)
        if state.result != "AC":
            return JudgedTest(state, limit=ran.limit, ran=ran), kept
        if judge is None:
            said = rules.parse(test.checker).judge(as_bytes(test.stdout), ran.stdout)
            checked = Checked("AC") if said.accepted else Checked("WA", said.message)
            return JudgedTest(checked, rule=said.by, ran=ran), kept
        phases = judge_phases(judge, test, given, kept, ran.stdout)
        heard = (yield Turn(judge=judge_run(phases, judge)))[WorkerRole.JUDGE]
        return JudgedTest(said_by_all(judge, heard, left), rule=judge.convention, ran=ran), heard[-1].files

    def _talk(
        self, phase: Phase, made: Whole, test: Test, kept: Mapping[str, bytes], left: int
    ) -> Steps[tuple[JudgedTest, Mapping[str, bytes]]]:
        """Let a program and its interactor talk, and say whose fault it is if that went wrong."""
        judge = self._sample.judge
        assert judge is not None
        wall = sum(wall_limits(self._limits)) + judge_seconds()
        judging = judge_phases(judge, test, phase.stdin, kept, None)[0]
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
        # who used up its own time or room had not waited, however long the other took for what it was sent
        hung = bool(heard.limit) and ran.limit not in ("cpu", "output", "memory")
        checked = checkers.interactive(said, state.result, validator_first=first, validator_hung=hung)
        if checked.result == state.result and state.result != "AC":
            checked = state
        limit = ran.limit if checked is state else ""
        return JudgedTest(checked, rule=judge.convention, limit=limit, ran=ran), heard.files

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
        self, found: Mapping[int, JudgedTest], refused: Checked | None = None, built: Raw | None = None
    ) -> Outcome:
        """Return what all tests come to; `refused`: why none could be run, `built`: what the compiler said."""
        count = len(self._sample.tests)
        if refused is not None:
            found = {place: JudgedTest(refused) for place in range(count)}
        first = next((one for _, one in sorted(found.items()) if one.checked.result not in ("AC", "WA", "JE")), None)
        fault = next((one.checked.message for one in found.values() if one.checked.result == "JE"), "")
        kind, name = KINDS[first.checked.result] if first else (None, "")
        score, fault = scored(self._sample, found, fault)
        return Outcome(
            tests=tuple(result_of(found[place]) if place in found else NOT_RUN for place in range(count)),
            error=kind,
            error_type=name,
            error_message=clean(first.checked.message) if first else "",
            limit=(first.limit or LIMITS.get(first.checked.result, "")) if first else "",
            benchmark_fault=clean(fault),
            isolation=self._level(),
            seconds=self._cpu,
            wall_seconds=self._wall,
            score=score,
            slowest=max((one.seconds for one in found.values()), default=0.0),
            why=streams_why((one.why for _, one in sorted(found.items()) if one.why), built),
        )


def _limits(job: Job, tool: Toolchain) -> Limits:
    """Return the limits of each test; the threads and the memory of a runtime are not the program's."""
    limits, language = limits_for(job), tool.language
    memory = limits.memory_bytes + language.runtime_bytes
    return replace(limits, processes=max(limits.processes, language.processes), memory_bytes=memory)


def _going_on(phase: Phase, made: Whole) -> ProgramRun:
    return ProgramRun("run", {}, (phase,), programs=made.programs, goes_on=True, stays=True)
