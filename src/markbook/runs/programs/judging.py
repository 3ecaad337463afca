"""Calling a benchmark's own judge, and understanding what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from markbook.errors import MarkbookError
from markbook.languages import Toolchain, find
from markbook.languages.whole import Whole, whole
from markbook.sandbox.program import BUILD, EVERY, WORK, Executed, Phase, ProgramRun
from markbook.sandbox.turns import Seat, Steps, Turn, WorkerRole
from markbook.stdio import checkers
from markbook.stdio.checkers import Checked
from markbook.stdio.judge import FUNCTION, Judge
from markbook.types import Limits, Test

T = TypeVar("T")
JUDGE_LIMITS = Limits(seconds=30.0, output_bytes=64 << 20)
"""What a checker may use for one test."""
_BUILD_FILES = 256 << 20
_BUILD_PROCESSES = 256


def judge_seconds() -> float:
    """Return the CPU seconds that a judge may use for one test."""
    return JUDGE_LIMITS.seconds


def build_phases(program: Whole, tool: Toolchain) -> tuple[Phase, ...]:
    """Return the phase that builds a program; none where its text is run."""
    if not program.build:
        return ()
    language = tool.language
    limits = Limits(
        seconds=language.build_seconds,
        memory_bytes=language.build_memory_bytes,
        file_bytes=_BUILD_FILES,
        processes=_BUILD_PROCESSES,
    )
    return (Phase(program.build, limits, builds=True, environment=program.build_environment),)


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
def made_of(judge: Judge) -> JudgeCommands:
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
        return _add_scripts(dict(judge.files))
    if judge.convention != "function":
        return whole(tool, dict(judge.files))
    judge_files = {name or "checker.py": content for name, content in judge.files}
    program = whole(tool, {"main.py": FUNCTION.encode()})
    return replace(program, files={**program.files, **judge_files})


def _add_scripts(files: Mapping[str, bytes]) -> Whole:
    """Return a program that brings its own scripts: `build` by whom its first line names, since no mode says it may be run."""
    line = files.get("build", b"").partition(b"\n")[0].decode("utf-8", "replace")
    by = tuple(line[2:].split(None, 1)) if line.startswith("#!") else ()
    build = (*(by or ("/bin/sh",)), "build") if "build" in files else ()
    return Whole(files, build, (f"{BUILD}/run",), programs=(EVERY,))


def ready(seat: Seat[T], judge: Judge) -> Steps[str]:
    """Have a judge built in a seat's own worker if it is not yet; return why it cannot be."""
    if seat.holds == judge.name:
        return ""
    try:
        commands = made_of(judge)
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
    """Return the run of each judge on one test.

    Args:
        judge: the first of them.
        test: has the answer.
        stdin: what the program was given, in this pass.
        feedback: what was left of an earlier pass.
        printed: by the program; None where the judge hears the program itself.
    """
    files = {"input": stdin, "answer": as_bytes(test.stdout), "feedback/": b""}
    files |= {f"feedback/{name}": content for name, content in feedback.items()}
    if printed is not None and judge.convention != "icpc":
        files["output"] = printed
    flags = judge.flags if test.judge_flags is None else test.judge_flags
    input_path, output, answer = (f"{WORK}/{name}" for name in ("input", "output", "answer"))
    if judge.convention == "icpc":
        words = checkers.icpc_arguments(input_path, answer, f"{WORK}/feedback", flags)
    elif judge.convention == "function":
        words = [_place_word(BUILD, "0"), input_path, output, answer]
    else:
        words = [*checkers.testlib_arguments(input_path, output, answer), *flags]
    heard = printed or b"" if judge.convention == "icpc" else b""
    return tuple(
        replace(call, argv=(*call.argv, *words), stdin=heard, work=files, takes="feedback")
        for call in made_of(judge).calls
    )


def judge_run(phases: tuple[Phase, ...], judge: Judge) -> ProgramRun:
    """Return the run of a judge that its worker has built."""
    return ProgramRun("judge", {}, phases, programs=made_of(judge).programs, goes_on=True, stays=True)


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
    return _read_returned(heard, status)


def _read_returned(heard: Executed, status: int) -> Checked:
    try:
        reply = json.loads(heard.files["returned.json"])
        if "returned" in reply:
            return checkers.python_function(reply["returned"])
        return Checked("JE", f"the checker raised {reply['raised']}")
    except (KeyError, TypeError, ValueError, RecursionError):
        return Checked("JE", f"the checker ended with status {status} and returned nothing")


@lru_cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


def says(pattern: str, text: str) -> bool:
    """Whether a pattern is found in what a program said."""
    return _pattern(pattern).search(text) is not None


def as_bytes(text: str) -> bytes:
    """Return what a text of a benchmark stands for: bytes that are no UTF-8 too."""
    return text.encode("utf-8", "surrogateescape") if _is_escaped(text) else text.encode("utf-8", "surrogatepass")


def _is_escaped(text: str) -> bool:
    """Whether a text stands for bytes that were no UTF-8."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
