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
from markbook.runs.programs.tested import KINDS, LIMITS, NOT_RUN, JudgedTest, result_of, score_tests
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
            program = whole(self._tool, self._job.files or self._job.code)
        except ValueError as error:
            return self._outcome({}, refused=Checked("CE", str(error)))
        if fault:
            return self._outcome({}, refused=Checked("JE", fault))
        built = yield from self._built(program)
        self._spent(built)
        if built and not built[0].is_good:
            compiler_output = compiler_said(built[0], program.files) if self._explain else None
            return self._outcome({}, refused=Checked("CE", not_built(self._tool, built[0])), built=compiler_output)
        judged_tests: dict[int, JudgedTest] = {}
        while (index := self._next(judged_tests)) is not None:
            judged_tests[index] = yield from self._test(program, index, seat)
        return self._outcome(judged_tests)

    def _built(self, program: Whole) -> Steps[list[Executed]]:
        """Have the program built in its worker; return what became of that."""
        turn = Turn(
            program=ProgramRun(
                "build", program.files, build_phases(program, self._tool), programs=program.programs, stays=True
            )
        )
        return (yield turn)[WorkerRole.PROGRAM]

    def _settle_fault(self, tested: JudgedTest, program: Whole, index: int, seat: Seat[Outcome]) -> Steps[JudgedTest]:
        """Charge an output on which the judge failed with that, if the judge takes what is known to be right."""
        if tested.checked.result != "JE" or tested.checked.is_own_fault:
            return tested
        takes = yield from self._right.accepts_expected(self._sample, index)
        if not takes and self._right.has_canonical(self._sample):
            was_known = self._right.is_known(self._sample, index)
            takes = yield from self._right.canonical(self._job, index, self._begin, seat)
            if not was_known:
                yield from self._built(program)
        return replace(tested, checked=checkers.broken_by_output(tested.checked)) if takes else tested

    def _begin(self, job: Job) -> Callable[[Seat[Outcome]], Steps[Outcome]]:
        return AttemptInTurns(job, self._level, self._right).steps

    def _next(self, judged_tests: Mapping[int, JudgedTest]) -> int | None:
        """Return the place of the test that is to be run next, None after the last."""
        slow = sum(judged.checked.result == "TLE" for judged in judged_tests.values())
        meets_all = self._job.meets_all and slow < _OUT_OF_TIME
        if self._sample.group is not None and not meets_all:
            name = next_test(self._sample.group, {str(index): judged.checked for index, judged in judged_tests.items()})
            return None if name is None else int(name)
        if not meets_all and any(judged.checked.result != "AC" for judged in judged_tests.values()):
            return None
        return len(judged_tests) if len(judged_tests) < len(self._sample.tests) else None

    def _test(self, program: Whole, index: int, seat: Seat[Outcome]) -> Steps[JudgedTest]:
        judge, test = self._sample.judge, self._sample.tests[index]
        stdin = as_bytes(test.stdin or "")
        feedback: Mapping[str, bytes] = {}
        cpu, wall = self._cpu, self._wall
        for passes_left in range(judge.passes if judge else 1, 0, -1):
            phase = Phase(program.run, self._limits, stdin=stdin, environment=program.environment)
            if judge is not None and judge.is_interactive:
                tested, feedback = yield from self._talk(phase, program, test, feedback, passes_left - 1)
            else:
                ran = (yield Turn(program=_going_on(phase, program)))[WorkerRole.PROGRAM][0]
                self._spent([ran])
                tested, feedback = yield from self._check_output(ran, stdin, test, feedback, passes_left - 1)
            following = tested.checked.next_input
            if tested.checked.result != "AC" or following is None:
                break
            stdin = following
            feedback = {name: content for name, content in feedback.items() if name != "nextpass.in"}
        tested = yield from self._settle_fault(tested, program, index, seat)
        why = self._why(index, stdin, program, tested) if self._explain else None
        return replace(tested, seconds=self._cpu - cpu, wall=self._wall - wall, ran=None, why=why)

    def _why(self, index: int, stdin: bytes, program: Whole, tested: JudgedTest) -> Raw | None:
        checked, ran = tested.checked, tested.ran
        if ran is None or checked.result in ("AC", "JE"):
            return None
        words = "" if checked.result == "WA" and self._sample.judge is None else clean(checked.message)
        return stream_failed(index, stdin, self._sample.tests[index].stdout, ran, program.files, words)

    def _check_output(
        self, ran: Executed, stdin: bytes, test: Test, feedback: Mapping[str, bytes], passes_left: int
    ) -> Steps[tuple[JudgedTest, Mapping[str, bytes]]]:
        """Judge what a program printed that was given this."""
        judge = self._sample.judge
        state = self._state(ran)
        if state.result != "AC":
            return JudgedTest(state, limit=ran.limit, ran=ran), feedback
        if judge is None:
            verdict = rules.parse(test.checker).judge(as_bytes(test.stdout), ran.stdout)
            checked = Checked("AC") if verdict.accepted else Checked("WA", verdict.message)
            return JudgedTest(checked, rule=verdict.by, ran=ran), feedback
        phases = judge_phases(judge, test, stdin, feedback, ran.stdout)
        heard = (yield Turn(judge=judge_run(phases, judge)))[WorkerRole.JUDGE]
        return JudgedTest(said_by_all(judge, heard, passes_left), rule=judge.convention, ran=ran), heard[-1].files

    def _talk(
        self, phase: Phase, program: Whole, test: Test, feedback: Mapping[str, bytes], passes_left: int
    ) -> Steps[tuple[JudgedTest, Mapping[str, bytes]]]:
        """Let a program and its interactor talk, and say whose fault it is if that went wrong."""
        judge = self._sample.judge
        assert judge is not None
        wall = sum(wall_limits(self._limits)) + judge_seconds()
        judging = judge_phases(judge, test, phase.stdin, feedback, None)[0]
        judging = replace(judging, is_linked=True, limits=replace(judging.limits, wall_seconds=wall))
        turn = Turn(
            program=_going_on(replace(phase, stdin=b"", is_linked=True), program),
            judge=judge_run((judging,), judge),
            stops=lambda heard: said_by(judge, heard, passes_left).result == "WA",
        )
        executed_by_role = yield turn
        ran, heard = executed_by_role[WorkerRole.PROGRAM][0], executed_by_role[WorkerRole.JUDGE][0]
        self._spent([ran])
        state = Checked("AC") if ran.limit == "stopped" else self._state(ran)
        verdict = said_by(judge, heard, passes_left)
        first = heard.ended < ran.ended
        # who used up its own time or room had not waited, however long the other took for what it was sent
        hung = bool(heard.limit) and ran.limit not in ("cpu", "output", "memory")
        checked = checkers.interactive(verdict, state.result, validator_first=first, validator_hung=hung)
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
        stderr = ran.stderr.decode("utf-8", "replace")
        if says(failures.memory, stderr) or says(r"^MemoryError", stderr):
            return Checked("MLE", "the memory limit was reached")
        how = (
            f"the process was ended by signal {ran.signal}"
            if ran.signal
            else f"the process ended with status {ran.status}"
        )
        last = checkers.clean_message(stderr.rstrip().rpartition("\n")[2].encode("utf-8", "replace"))
        return Checked("RTE", ran.refused or (f"{how}: {last}" if last else how))

    def _spent(self, phases: Iterable[Executed]) -> None:
        for phase in phases:
            self._cpu += phase.seconds
            self._wall += phase.wall_seconds

    def _outcome(
        self, judged_tests: Mapping[int, JudgedTest], refused: Checked | None = None, built: Raw | None = None
    ) -> Outcome:
        """Return what all tests come to; `raise_last_error`: why none could be run, `built`: what the compiler said."""
        count = len(self._sample.tests)
        if refused is not None:
            judged_tests = {index: JudgedTest(refused) for index in range(count)}
        first = next(
            (judged for _, judged in sorted(judged_tests.items()) if judged.checked.result not in ("AC", "WA", "JE")),
            None,
        )
        fault = next((judged.checked.message for judged in judged_tests.values() if judged.checked.result == "JE"), "")
        kind, name = KINDS[first.checked.result] if first else (None, "")
        score, fault = score_tests(self._sample, judged_tests, fault)
        return Outcome(
            tests=tuple(result_of(judged_tests[index]) if index in judged_tests else NOT_RUN for index in range(count)),
            error=kind,
            error_type=name,
            error_message=clean(first.checked.message) if first else "",
            limit=(first.limit or LIMITS.get(first.checked.result, "")) if first else "",
            benchmark_fault=clean(fault),
            isolation=self._level(),
            seconds=self._cpu,
            wall_seconds=self._wall,
            score=score,
            slowest=max((judged.seconds for judged in judged_tests.values()), default=0.0),
            why=streams_why((judged.why for _, judged in sorted(judged_tests.items()) if judged.why), built),
        )


def _limits(job: Job, tool: Toolchain) -> Limits:
    """Return the limits of each test; the threads and the memory of a runtime are not the program's."""
    limits, language = limits_for(job), tool.language
    memory = limits.memory_bytes + language.runtime_bytes
    return replace(limits, processes=max(limits.processes, language.processes), memory_bytes=memory)


def _going_on(phase: Phase, program: Whole) -> ProgramRun:
    return ProgramRun("run", {}, (phase,), programs=program.programs, goes_on=True, stays=True)
