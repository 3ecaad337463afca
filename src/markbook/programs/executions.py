"""Test programs in any language, executed as jobs, and why they failed."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from markbook.languages import Language, Toolchain
from markbook.sandbox.guest.examination.explaining import explain_output
from markbook.sandbox.job import Job, clean, why_said
from markbook.sandbox.program import Executed, Phase, ProgramRun
from markbook.types import ErrorKind, Limits, Outcome, Test, TestResult, Verdict
from markbook.why import Why


class JobExecutor(Protocol):
    """What executes jobs: a sandbox here, what marks other languages, both together, or sandboxes on an engine's workers."""

    def run(self, jobs: Iterable[Job], /) -> Iterator[tuple[Job, Outcome]]:
        """Execute every job; yield each with its outcome, in no promised order."""


# Why a program failed, out of what was seen when it was marked: no second run is made for it.

MOST = 10
"""Failed tests of an attempt that are explained."""
_HEAD, _TAIL = 1_200, 700
_LINES = 8
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_HASH = re.compile(r"@[0-9a-f]{6,8}\b")
Raw = Mapping[str, object]
"""A failed test as the sandbox's own explanations are sent."""


def stream_failed(index: int, fed: bytes, expected: str, ran: Executed, files: Mapping[str, bytes], words: str) -> Raw:
    """Return why a program that reads and writes failed a test; `words` are what its judge said, or how it ended."""
    heard = cut_output(ran.stderr)
    explanation = explain_output(index, fed.decode("utf-8", "replace"), expected, ran.stdout, b"")
    return {**explanation, "err": heard, "error": words, "lines": _in_first(heard, files)}


def streams_why(tests: Iterable[Raw], built: Raw | None = None) -> Why | None:
    """Return why an attempt failed: its tests, or what its compiler said."""
    some = list(tests)
    if not some and not built:
        return None
    return why_said({**(built or {}), "tests": some[:MOST], "left_out": len(some[MOST:])})


def compiler_said(ran: Executed, files: Mapping[str, bytes]) -> Raw:
    """Return what a compiler said of a program, with the lines that it names."""
    words = cut_output(ran.stderr or ran.stdout)
    return {"error": words, "lines": _in_first(words, files)}


def program_failed(index: int, program: Written, answer: str, heard: str, ran: Executed | None) -> Raw:
    """Return why a test program failed with an answer, its lines counted in the answer; `heard` is what its compiler said."""
    words = cut_output(heard.encode("utf-8", "replace")) if heard else cut_output(ran.stderr) if ran else ""
    out = cut_output(ran.stdout) if ran and not heard else ""
    for secret in (program.token, program.nonce):  # words of this one run are not shown
        words, out = words.replace(secret, ""), out.replace(secret, "")
    text, source = program.text, program.tool.language.source
    at = text.find(answer.rstrip("\n"))
    lines = [] if at < 0 else named_lines(source, words, answer, text.count("\n", 0, at))
    return {"test": index, "part": -1, "error": words.strip(), "lines": lines, "out": out.strip()}


def programs_why(tests: Iterable[Raw]) -> Why | None:
    """Return why an attempt failed whose tests are programs of their own; one compiler's words stand for all of them."""
    some = [dict(raw) for raw in tests]
    if not some:
        return None
    outs = [str(raw.pop("out", "")) for raw in some]
    return why_said({"tests": some[:MOST], "left_out": len(some[MOST:]), "out": next(filter(None, outs), "")})


def cut_output(data: bytes) -> str:
    """Return the beginning and the end of what a program said, without what would move a terminal, the same in every run."""
    text = _HASH.sub("@...", _TERMINAL.sub("", data.decode("utf-8", "replace")))
    remaining = len(text) - _HEAD - _TAIL
    return text if remaining <= 0 else f"{text[:_HEAD]}\n... {remaining} characters ...\n{text[-_TAIL:]}"


def named_lines(source: str, words: str, answer: str, before: int) -> list[list[object]]:
    """Return the answer's lines that a compiler or a runtime names, each once; so many lines stand `before` it in the file."""
    lines = answer.split("\n")
    matches = re.finditer(rf"{re.escape(source)}\"?(?:, line |[:(])(\d{{1,6}})", words)
    inside = [
        number for number in dict.fromkeys(int(match[1]) - before for match in matches) if 0 < number <= len(lines)
    ]
    return [[number, "", lines[number - 1].strip()] for number in inside[:_LINES]]


def _in_first(words: str, files: Mapping[str, bytes]) -> list[list[object]]:
    name = next(iter(files), "")
    return named_lines(name, words, files[name].decode("utf-8", "replace"), 0) if name else []


# From an answer and a test to a run in the sandbox, and from what became of that to a result.

_BUILD_FILES = 256 << 20
_BUILD_PROCESSES = 256
_ENDED_EARLY = "the program ended before its tests did"


@dataclass(frozen=True, slots=True)
class Found:
    """What became of one test."""

    result: TestResult
    error: ErrorKind | None = None
    limit: str = ""
    fault: str = ""
    seconds: float = 0.0
    wall: float = 0.0
    is_lost: bool = False
    """Whether nothing was found out, because its worker was lost."""
    why: Raw | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """An answer with one test, as it is written and started."""

    tool: Toolchain
    files: Mapping[str, bytes]
    words: Mapping[str, str]
    """Those of its commands."""
    nonce: str
    token: str

    @property
    def text(self) -> str:
        """Its program."""
        return self.files[self.tool.language.source].decode("utf-8", "surrogatepass")

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return what stands around its commands, and what more there is to be."""
        around = {**self.tool.places.environment, **self.tool.language.environment, **more}
        return {name: self.tool.fill_words(value, self.words) for name, value in around.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRun(ProgramRun):
    """A run that knows what its program prints at its end."""

    written: Written
    said: str
    """What the true run is given to read."""
    place: int = 0
    """Which of its runs that is; where it proves itself, drawn by lot."""

    @property
    def token(self) -> str:
        """What its program prints at its end."""
        return self.written.token

    def in_order(self, executed: list[Executed]) -> list[Executed]:
        """Return what became of its runs, the true one first; empty where it was not built."""
        runs = executed[self.phases[0].builds :]
        return runs[self.place :] + runs[: self.place]


def write_test_program(tool: Toolchain, job: Job, test: Test) -> Written:
    """Return the program of an answer with one test.

    Raises:
        ValueError: the test has no end at which something could be added.
    """
    words = {"nonce": secrets.token_hex(16), "token": secrets.token_hex(16)}
    program = tool.language.program(test.setup, job.code, test.program, words)
    files = {name: text.encode("utf-8", "surrogatepass") for name, text in program.files.items()}
    return Written(tool, files, program.words, words["nonce"], words["token"])


def make_run(
    key: str, program: Written, limits: Limits, *, proves: bool, built: Mapping[str, bytes] | None = None
) -> MarkedRun:
    """Return the run of a program: built where that is to be done, then run, with every word that proves something.

    `proves`: it is run once more with a wrong claim. `built` are the files that it was built into already.
    """
    language = program.tool.language
    is_to_build = bool(language.build) and built is None
    build: tuple[Phase, ...] = ()
    if is_to_build:
        command = program.tool.command(language.build, program.words)
        environment = program.environment(language.build_environment)
        build = (Phase(command, build_limits(language), builds=True, environment=environment),)
    around = program.environment({})
    if language.processes > limits.processes:
        limits = replace(limits, processes=language.processes)
    end_line = secrets.token_hex(16)
    words = [end_line]
    if proves and not language.ending.catches:
        words.insert(secrets.randbelow(2), program.nonce)
    command = program.tool.command(language.run, program.words)
    phases = (*build, *(Phase(command, limits, stdin=word.encode(), environment=around) for word in words))
    index = words.index(end_line)
    return MarkedRun(
        key, program.files if built is None else built, phases, drop=language.drop if is_to_build else (),
        programs=language.programs, written=program, said=end_line, place=index,
    )  # fmt: skip


def build_limits(language: Language) -> Limits:
    """Return what a compiler may use."""
    return Limits(
        seconds=language.build_seconds,
        memory_bytes=language.build_memory_bytes,
        file_bytes=_BUILD_FILES,
        processes=_BUILD_PROCESSES,
    )


def judge_phases(tool: Toolchain, run: MarkedRun, executed: list[Executed], *, proves: bool) -> Found:
    """Return what the phases of a run come to."""
    if not executed:
        failed = TestResult(passed=False, error_type="Crash", error_message="the worker was lost twice while it ran")
        return Found(failed, ErrorKind.OTHER, is_lost=True)
    seconds, wall = sum(phase.seconds for phase in executed), sum(phase.wall_seconds for phase in executed)
    runs = run.in_order(executed)
    if not runs:
        built = executed[0]
        line = _line(tool.language.failures.build, _text(built.stderr) + _text(built.stdout))
        message = line or built.refused or f"the compiler ended with {built.status}"
        if built.limit:
            message = f"the compiler reached its limit ({built.limit})"
        failed = TestResult(passed=False, error_type="CompileError", error_message=clean(message))
        return Found(failed, ErrorKind.SYNTAX, built.limit, seconds=seconds, wall=wall)
    quiet = tool.language.failures.quiet
    passed = _prints(runs[0], run.token + run.said if tool.language.ending.catches else run.token, quiet)
    forged = _prints(runs[0], run.written.nonce + run.said, quiet)
    forged |= passed and len(runs) > 1 and _prints(runs[1], run.token, quiet)
    if forged:
        message = "it passed although a claim in its tests was wrong"
        failed = TestResult(passed=False, verdict=Verdict.FLAGGED, error_type="Forged", error_message=message)
        return Found(failed, seconds=seconds, wall=wall)
    if passed:
        verdict = Verdict.IN_PROCESS if proves else Verdict.UNCHECKED
        return Found(TestResult(passed=True, verdict=verdict), seconds=seconds, wall=wall)
    return Found(*_explain_failure(tool, runs[0], run), seconds=seconds, wall=wall)


def _prints(executed: Executed, line: str, quiet: str) -> bool:
    """Whether a program ended well, having printed on a line of its own what only the end of its tests prints."""
    if not executed.is_good or line.encode() not in executed.stdout.splitlines():
        return False
    return not (quiet and says(quiet, _text(executed.stderr)))


def not_built(tool: Toolchain, compiler_output: str) -> Found:
    """Return what a program comes to that the compiler refused with these words."""
    line = _line(tool.language.failures.build, _text(compiler_output.encode("utf-8", "replace")))
    message = clean(line or "the compiler refused it")
    return Found(TestResult(passed=False, error_type="CompileError", error_message=message), ErrorKind.SYNTAX)


def _explain_failure(tool: Toolchain, executed: Executed, run: MarkedRun) -> tuple[TestResult, ErrorKind | None, str]:
    failures = tool.language.failures
    out = executed.stdout.replace(run.token.encode(), b"").replace(run.written.nonce.encode(), b"")
    output = f"{_text(executed.stderr)}\n{_text(out)}"
    kind: ErrorKind | None = ErrorKind.OTHER
    limit = executed.limit
    if limit in ("cpu", "wall"):
        kind, name, message = ErrorKind.TIMEOUT, "TimeoutError", "the time limit was reached"
    elif limit or says(failures.memory, output):
        limit = limit or "memory"
        name, message = "LimitError", f"the limit was reached: {limit}"
    elif executed.status == 0 and not (failures.quiet and says(failures.quiet, output)):
        name, message = "EndNotReached", _ENDED_EARLY
    elif line := _line(failures.syntax, output):
        kind, name, message = ErrorKind.SYNTAX, "CompileError", line
    elif line := _line(failures.names, output):
        kind, name, message = ErrorKind.NAME, "NameError", line
    elif says(failures.tests, output.strip()):
        kind, name, message = None, "AssertionError", _line(failures.tests, output)
    else:
        name = f"signal {executed.signal}" if executed.signal else f"exit status {executed.status}"
        message = executed.refused or _line(r"\S", output)
    return TestResult(passed=False, error_type=name, error_message=clean(message)), kind, limit


@lru_cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


def says(pattern: str, text: str) -> bool:
    """Whether a pattern is found in what a program said; `^` and `$` are those of a line."""
    return _pattern(pattern).search(text) is not None


def _line(pattern: str, text: str) -> str:
    """Return the first line in which a pattern is found; empty if none."""
    return next((line.strip() for line in text.splitlines()[:2000] if says(pattern, line)), "")


def _text(data: bytes) -> str:
    """Return what a program said, without what would move a terminal."""
    return _TERMINAL.sub("", data.decode("utf-8", "replace"))
