"""Programs that read and write: what a test feeds, what is right, what came out, alone or in turns with an interactor.

Theory of operation
-------------------
An answer in Python whose output a fixed rule compares is marked by the examiner like any other. Everything else that
reads and writes comes here: another language, a judge of the benchmark's own (checker, output validator, interactor),
several passes, groups of tests.

*Two workers to a seat.* An answer and a judge never share a process tree: a `Seat` has one worker for programs and one
for judges, both inside the sandbox, for a judge is somebody else's code too. Each builds what it runs once (`stays`)
and then runs it test by test (`goes_on`). `seat.holds` names the judge that is built, so that the next answer to the
same problem does not build it again.

*Attempts are generators.* `AttemptInTurns.steps` yields `Turn`s (what either worker is to do next) and is sent what
became of them; it never waits itself. `Seats` drives as many attempts as there are workers and begins one again, once,
whose worker was lost. An attempt may be begun twice, so `steps` sets back whatever it counts.

*What crosses.* To the program: a test's input, on its standard input or, with an interactor, through a pipe that joins
the two (`is_linked`). To the judge: files with the input, the answer and what the program printed. From the judge: its
status, its words and the files of its feedback folder. The program never sees the answer, and nothing that it prints
is read as anything but output: the verdict comes from the judge's process or from a rule that is applied out here.

*Whose fault.* With an interactor both can hang or die. Who ended first and who used up time of their own decides
(`checkers.interactive`). A judge that fails (`JE`) is the benchmark's fault unless it takes an output of that test that
is known to be right, the expected one or the canonical solution's: then this program's output broke it, which is a
wrong answer (`RightOutputs`, asked only when a judge has failed).

*Scores.* Tests that were not reached stay `-`. Without groups and points the share passed is the score; else a judge's
points or a group's grade is, and a fault in the benchmark leaves no score at all instead of a zero.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeVar

from markbook.errors import MarkbookError
from markbook.languages import Toolchain, find
from markbook.languages.toolchain import Whole, whole
from markbook.programs import checkers
from markbook.programs.checkers import FUNCTION, Checked, Judge, Result, grade, largest, next_test
from markbook.programs.executions import Raw, build_limits, compiler_said, says, stream_failed, streams_why
from markbook.sandbox.guest.examination import rules
from markbook.sandbox.job import LOST, Job, all_failed, clean, limits_for, task_name, wall_limits
from markbook.sandbox.program import BUILD, EVERY, WORK, Executed, Phase, ProgramRun
from markbook.sandbox.turns import Lost, Seat, Seats, Steps, Turn, WorkerRole
from markbook.sandbox.worker import Interpreter, WorkerPool
from markbook.types import ErrorKind, Isolation, Limits, Outcome, Sample, Test, TestResult, Verdict

# Calling a benchmark's own judge, and understanding what it says.

T = TypeVar("T")
JUDGE_LIMITS = Limits(seconds=30.0, output_bytes=64 << 20)
"""What a checker may use for one test."""


def build_phases(program: Whole, tool: Toolchain) -> tuple[Phase, ...]:
    """Return the phase that builds a program; none where its text is run."""
    if not program.build:
        return ()
    return (Phase(program.build, build_limits(tool.language), builds=True, environment=program.build_environment),)


def not_built(tool: Toolchain, executed: Executed) -> str:
    """Return why a program was not built: what its compiler says."""
    if executed.limit:
        return f"the compiler reached its limit ({executed.limit})"
    output = (executed.stderr + executed.stdout).decode("utf-8", "replace")
    lines = [line.strip() for line in output.splitlines()[:2000]]
    line = next((line for line in lines if says(tool.language.failures.build, line)), "")
    return checkers.clean_message(line.encode()) or executed.refused or f"the compiler ended with {executed.status}"


@dataclass(frozen=True, slots=True)
class JudgeCommands:
    """How judges that decide together are built and called: each in a folder of its own."""

    files: Mapping[str, bytes]
    build: tuple[Phase, ...]
    built_by: tuple[Toolchain, ...]
    """The toolchain of each phase that builds."""
    programs: tuple[str, ...]
    calls: tuple[Phase, ...]
    """The command of each, without what it is told of a test."""


_IN_FOLDER = ("/bin/sh", "-c", 'cd "$0" && exec "$@"')


@lru_cache(maxsize=64)
def describe_judge(judge: Judge) -> JudgeCommands:
    """Return how a judge and the others that decide with it are built and started."""
    files: dict[str, bytes] = {}
    build: list[Phase] = []
    built_by, programs, calls = [], [], []
    for index, member in enumerate(judge.all):
        folder, tool = str(index), find(member.language)
        program = _whole(member, tool)
        files |= {f"{folder}/{name}": content for name, content in program.files.items()}
        programs += [f"{folder}/{name}" for name in program.programs]
        for phase in build_phases(program, tool):
            command = (*_IN_FOLDER, folder, *(_place_word(word, folder) for word in phase.argv))
            around = {name: _place_word(word, folder) for name, word in phase.environment.items()}
            build.append(replace(phase, argv=command, environment=around))
            built_by.append(tool)
        limits = replace(JUDGE_LIMITS, processes=max(JUDGE_LIMITS.processes, tool.language.processes))
        around = {name: _place_word(word, folder) for name, word in program.environment.items()}
        calls.append(Phase(tuple(_place_word(word, folder) for word in program.run), limits, environment=around))
    return JudgeCommands(files, tuple(build), tuple(built_by), tuple(programs), tuple(calls))


def _place_word(word: str, folder: str) -> str:
    return word.replace(BUILD, f"{BUILD}/{folder}")


def _whole(judge: Judge, tool: Toolchain) -> Whole:
    """Return how one judge is built and started."""
    if judge.is_scripted:
        files = dict(judge.files)
        line = files.get("build", b"").partition(b"\n")[0].decode("utf-8", "replace")
        by = tuple(line[2:].split(None, 1)) if line.startswith("#!") else ()
        build = (*(by or ("/bin/sh",)), "build") if "build" in files else ()
        return Whole(files, build, (f"{BUILD}/run",), programs=(EVERY,))
    if judge.convention != "function":
        return whole(tool, dict(judge.files))
    judge_files = {name or "checker.py": content for name, content in judge.files}
    program = whole(tool, {"main.py": FUNCTION.encode()})
    return replace(program, files={**program.files, **judge_files})


def ready(seat: Seat[T], judge: Judge) -> Steps[str]:
    """Have a judge built in a seat's own worker if it is not yet; return why it cannot be."""
    if seat.holds == judge.name:
        return ""
    try:
        commands = describe_judge(judge)
    except (MarkbookError, ValueError) as error:
        return f"the judge cannot be made: {error}"
    seat.holds = ""
    turn = Turn(judge=ProgramRun("judge", commands.files, commands.build, programs=commands.programs, stays=True))
    built = (yield turn)[WorkerRole.JUDGE]
    if built and not built[-1].is_good:
        return f"the judge cannot be built: {not_built(commands.built_by[len(built) - 1], built[-1])}"
    seat.holds = judge.name
    return ""


def judge_phases(
    judge: Judge, test: Test, stdin: bytes, feedback: Mapping[str, bytes], printed: bytes | None
) -> tuple[Phase, ...]:
    """Return the run of each judge on one test, of which `judge` is the first.

    `feedback` is what was left of an earlier pass; nothing is `printed` where the judge hears the program itself.
    """
    files = {"input": stdin, "answer": as_bytes(test.stdout), "feedback/": b""}
    files |= {f"feedback/{name}": content for name, content in feedback.items()}
    if printed is not None and judge.convention != "icpc":
        files["output"] = printed
    flags = judge.flags if test.judge_flags is None else test.judge_flags
    input_path, output, answer = (f"{WORK}/{name}" for name in ("input", "output", "answer"))
    if judge.convention == "icpc":
        words = [input_path, answer, f"{WORK}/feedback/", *flags]  # it reads the output on its standard input
    elif judge.convention == "function":
        words = [_place_word(BUILD, "0"), input_path, output, answer]
    else:
        words = [input_path, output, answer, *flags]
    heard = printed or b"" if judge.convention == "icpc" else b""
    return tuple(
        replace(call, argv=(*call.argv, *words), stdin=heard, work=files, takes="feedback")
        for call in describe_judge(judge).calls
    )


def judge_run(phases: tuple[Phase, ...], judge: Judge) -> ProgramRun:
    """Return the run of a judge that its worker has built."""
    return ProgramRun("judge", {}, phases, programs=describe_judge(judge).programs, goes_on=True, stays=True)


def said_by_all(judge: Judge, heard: Sequence[Executed], passes_left: int) -> Checked:
    """Return what judges say that have to agree: the first that does not accept decides, else the last."""
    verdicts = [said_by(judge, executed, passes_left) for executed in heard]
    return next((verdict for verdict in verdicts if verdict.result != "AC"), verdicts[-1])


def said_by(judge: Judge, heard: Executed, passes_left: int) -> Checked:
    """Return what a judge says by its end, or that it failed itself."""
    if heard.limit:
        return Checked("JE", f"the judge reached its limit ({heard.limit})")
    if heard.refused:
        return Checked("JE", f"the judge could not be started: {heard.refused}", is_own_fault=True)
    status = -heard.signal if heard.status is None else heard.status
    if judge.convention == "icpc":
        return checkers.icpc(status, heard.files, passes_left=passes_left)
    if judge.convention == "testlib":
        return checkers.testlib(status, heard.stderr)
    try:
        reply = json.loads(heard.files["returned.json"])
        if "returned" in reply:
            return checkers.python_function(reply["returned"])
        return Checked("JE", f"the checker raised {reply['raised']}")
    except (KeyError, TypeError, ValueError, RecursionError):
        return Checked("JE", f"the checker ended with status {status} and returned nothing")


def as_bytes(text: str) -> bytes:
    """Return what a text of a benchmark stands for, which may be bytes that are not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


# What a judge says of outputs that are known to be right: where it takes one of a test, it is not the judge that is broken.

Begin = Callable[[Job], Callable[[Seat[Outcome]], Steps[Outcome]]]
"""Makes the steps of an attempt."""


class RightOutputs:
    """Remembers by which tests a judge has taken a right output."""

    def __init__(self, languages: Collection[str]) -> None:
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


# What became of the tests of a program that goes in turns, and what they come to together.

NOT_RUN = TestResult(
    passed=False,
    verdict=Verdict.SEPARATED,
    error_type="NotRun",
    error_message="not run: an earlier test failed",
    result="-",
)
KINDS: Mapping[Result, tuple[ErrorKind | None, str]] = {
    "WA": (None, "WrongAnswer"),
    "TLE": (ErrorKind.TIMEOUT, "TimeoutError"),
    "MLE": (ErrorKind.OTHER, "MemoryError"),
    "RTE": (ErrorKind.OTHER, "RuntimeError"),
    "OLE": (ErrorKind.OTHER, "OutputLimitError"),
    "CE": (ErrorKind.SYNTAX, "CompileError"),
    "JE": (None, "JudgeError"),
}
LIMITS: Mapping[Result, str] = {"TLE": "cpu", "MLE": "memory", "OLE": "output"}


@dataclass(frozen=True, slots=True)
class JudgedTest:
    """What became of one test."""

    checked: Checked
    rule: str = ""
    limit: str = ""
    seconds: float = 0.0
    wall: float = 0.0
    ran: Executed | None = None
    """Until it is known why it failed."""
    why: Raw | None = None


def score_tests(sample: Sample, found: Mapping[int, JudgedTest], fault: str) -> tuple[float | None, str]:
    """Return the share, 0..1, of what a problem's tests are worth where that is not the share passed, or why there is none."""
    group = sample.group
    if fault:
        return None, fault
    if group is None:
        return shares(sample.tests, {index: judged.checked for index, judged in found.items()}), ""
    checked = {str(index): judged.checked for index, judged in found.items()}
    graded, most = grade(group, checked), largest(group, is_judged=sample.judge is not None)
    if graded.fault:
        return None, graded.fault
    if not most:
        return (1.0 if graded.result == "AC" else 0.0), ""
    return min(1.0, max(0.0, graded.score / most)), ""


def shares(tests: Sequence[Test], checks: Mapping[int, Checked]) -> float | None:
    """Return the share of the points of tests that judges gave; None where none of them spoke of shares."""
    if all(checked.points is None and checked.multiplier is None for checked in checks.values()):
        return None
    worth = [1.0 if test.points is None else test.points for test in tests]
    earned = []
    for index, most in enumerate(worth):
        checked = checks.get(index)
        if checked is None or checked.result != "AC":
            continue
        if checked.points is None:
            earned.append(most if checked.multiplier is None else checked.multiplier * most)
        elif most:  # no output earns more than its test is worth, or less than nothing
            earned.append(min(1.0, max(0.0, checked.points / most)) * most)
    total = math.fsum(worth)
    return min(1.0, math.fsum(earned) / total) if total else None


def to_test_result(tested: JudgedTest) -> TestResult:
    """Return a test's result as every report shows it."""
    checked = tested.checked
    if checked.result == "AC":
        return TestResult(passed=True, verdict=Verdict.SEPARATED, result="AC", rule=tested.rule)
    return TestResult(
        passed=False,
        verdict=Verdict.SEPARATED,
        error_type=KINDS[checked.result][1],
        error_message=clean(checked.message),
        result=checked.result,
        rule=tested.rule,
    )


# One answer that goes in turns: built, run test by test, each judged outside of the program.

_OUT_OF_TIME = 10
"""After so many tests that the limit ended a program's further tests are not run, whatever was asked for."""


def is_plain_python(job: Job) -> bool:
    """Whether an answer can be run without an interpreter's start: one text in Python that talks to nobody."""
    judge, is_python = job.sample.judge, find(job.sample.language or "python").language.name == "python"
    return is_python and not job.files and not (judge is not None and judge.is_interactive)


class AttemptInTurns:
    """One answer on its way: built, run test by test, each judged."""

    def __init__(self, job: Job, level: Callable[[], Isolation], right: RightOutputs, *, explain: bool = False) -> None:
        self._explain = explain
        self._job = job
        self._sample = job.sample
        self._level = level
        self._right = right
        self._tool = find(job.sample.language or "python")
        limits, language = limits_for(job), self._tool.language
        memory = limits.memory_bytes + language.runtime_bytes
        self._limits = replace(limits, processes=max(limits.processes, language.processes), memory_bytes=memory)
        self._cpu = 0.0
        self._wall = 0.0

    def steps(self, seat: Seat[Outcome]) -> Steps[Outcome]:
        """Yield its turns, and return its outcome."""
        self._is_built = self._has_run = False
        self._cpu = self._wall = 0.0  # anew: after the loss of a worker an attempt is begun a second time
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
        built = [] if is_plain_python(self._job) else (yield from self._built(program))
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
        self._is_built = True
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
                # the canonical solution was built and run where the answer had been
                self._has_run = False
                if self._is_built:
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
                ran = yield from self._run(phase, program)
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

    def _run(self, phase: Phase, program: Whole) -> Steps[Executed]:
        """Run the program once.

        Python runs without an interpreter's start. There it may do less than in an interpreter of its own: where that may be
        why it failed, and only there, an interpreter decides.
        """
        if is_plain_python(self._job):
            text = ProgramRun("run", program.files, (replace(phase, argv=()),), goes_on=self._has_run)
            self._has_run = True
            ran = (yield Turn(python=text))[WorkerRole.PYTHON][0]
            if ran.is_good or ran.limit in ("cpu", "output"):
                return ran
        if not self._is_built:
            yield from self._built(program)
        return (yield Turn(program=_going_on(phase, program)))[WorkerRole.PROGRAM][0]

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
        wall = sum(wall_limits(self._limits)) + JUDGE_LIMITS.seconds
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
        # which of the two ended first says whose end the other one met: a closed pipe is not the fault of who finds it
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
            tests=tuple(
                to_test_result(judged_tests[index]) if index in judged_tests else NOT_RUN for index in range(count)
            ),
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


def _going_on(phase: Phase, program: Whole) -> ProgramRun:
    return ProgramRun("run", {}, (phase,), programs=program.programs, goes_on=True, stays=True)


# Marking programs that read and write in turns: other languages than Python, checkers, interaction, passes, groups.


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
        """Set up, starting nothing; answers in these languages run in the workers `programs`, the rest is as for `Sandbox`."""
        self._explain = explain
        self._programs = programs
        self._isolation = isolation
        self._at_most = at_most
        self.stop: int | None = None
        """A descriptor; once it is readable, what runs is ended, and so are the workers."""
        self._judges: WorkerPool | None = None
        self._pythons: WorkerPool | None = None
        self._judged_by: set[str] = set()
        self._right = RightOutputs(languages)

    @property
    def level(self) -> Isolation:
        """The weakest level of isolation that was reached."""
        return max(pool.level for pool in (self._programs, self._judges, self._pythons) if pool is not None)

    def close(self) -> None:
        """End the judges' workers, and those of Python."""
        for pool in (self._judges, self._pythons):
            if pool is not None:
                pool.close()
        self._judges = self._pythons = None

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
            self._judges = self._pool("runner", folders)
        in_python = any(map(is_plain_python, jobs))
        if in_python and self._pythons is None:
            self._pythons = self._pool("supervisor")
        under = {str(number): job for number, job in enumerate(jobs)}
        attempts = (
            (key, AttemptInTurns(job, lambda: self.level, self._right, explain=self._explain).steps)
            for key, job in list(under.items())
        )
        seats: Seats[Outcome] = Seats(
            self._programs, self._judges if names else None, self._pythons if in_python else None, self.stop
        )
        for key, result in seats.run(attempts):
            job = under.pop(key)
            yield job, self._lost(job, result) if isinstance(result, Lost) else result

    def _pool(self, main: str, folders: Iterable[str] = ()) -> WorkerPool:
        return WorkerPool(
            count=self._programs.count,
            isolation=self._isolation,
            interpreter=Interpreter(),
            at_most=self._at_most,
            pinned=self._programs.is_pinned,
            main=main,
            folders=tuple(folders),
        )

    def _lost(self, job: Job, lost: Lost) -> Outcome:
        message = f"the worker of the {lost.side} was lost twice while it ran"
        outcome = all_failed(
            job.sample, ErrorKind.OTHER, message=message, isolation=self.level, error_type="Crash", flags=(LOST,)
        )
        if lost.side is not WorkerRole.JUDGE:
            return replace(outcome, flags=("crash",))
        tests = tuple(replace(test, result="JE") for test in outcome.tests)
        return replace(outcome, tests=tests, error=None, benchmark_fault=message)
