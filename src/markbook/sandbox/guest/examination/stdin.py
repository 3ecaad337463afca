"""A program that reads and writes, as the examiner sees it: one process a test, fed, read within limits, and compared here."""

from __future__ import annotations

import _socket
import fcntl
import marshal
import os
import select
import struct

from .. import zygote
from . import explaining, expressions
from .results import make_crash_result, timed_out
from .tasks import STDIN as KIND, CompiledTests

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ..marking import Result
    from .tasks import ExaminerJob


# What programs that read and write are given: files in memory that nobody can change once they are handed over.

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class GivenFile:
    """A file in memory, another one for every program.

    A standard input is a file where people run programs by hand: its size is known, and it can be read again. Whatever
    a program does to it (flags, locks, mode, times, attributes) is gone with it.
    """

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.descriptor = -1
        """From where it is read."""

    def hold(self, data: bytes) -> None:
        """Let it be a new file that holds this, to be read from the beginning."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(self.descriptor, remaining) :]
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)


class Given:
    """What one program is given."""

    def __init__(self) -> None:
        self.code = GivenFile()
        """What it executes, with what else is to be known before."""
        self.input = GivenFile()
        """Its standard input."""


__all__ = ["JUDGE_SECONDS", "KIND", "examine"]

JUDGE_SECONDS = 5.0
"""Seconds of the examiner's own processor time for the feeding and comparing of one test: far more than any takes."""
_MOST_SLOW = 10
"""After so many tests that the limit ended a program's further tests are not run, whatever was asked for."""
_MOST_EXPLAINED = 10
_PIECE = 1 << 16
_SOON = 0.01
"""Seconds within which most programs end; until then nothing that they write wakes this process."""
_TAIL = 2000
"""Bytes of standard error that are looked at."""
_NOT_RUN: Result = {"p": False, "k": "a", "t": "NotRun", "m": "not run: an earlier test failed", "result": "-"}
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_FILE_ERRORS = ("[Errno 27]", "[Errno 28]")


class ProcessResult:
    """What became of one process."""

    __slots__ = ("cpu", "errors", "flooded", "hit", "output", "status", "wall")

    def __init__(self, output: bytes, errors: bytes, *, flooded: bool) -> None:
        self.output = output
        self.errors = errors
        """The last of what it wrote to standard error."""
        self.flooded = flooded
        """Whether it wrote more than it may."""
        self.status, self.cpu, self.wall, self.hit = 0, 0.0, 0.0, b""


def examine(
    channel: _socket.socket,
    files: Given,
    task: CompiledTests,
    job: ExaminerJob,
    compiled: tuple[Any, dict[str, Any] | None],
) -> dict[str, Any]:
    """Return the record of one solution: every test in order, or up to the first that fails."""
    code, refused = compiled
    if refused is not None:
        error = {**refused["error"], "result": "CE"}
        return {**refused, "error": error, "tests": [{**error, "v": "separated"}] * len(task.tests)}
    files.code.hold(marshal.dumps((code, expressions.speaks_of_random(job["code"]))))
    results: list[Result] = []
    cpu, wall, hit = 0.0, 0.0, ""
    slow, stopped = 0, False
    why: list[dict[str, Any]] = []
    for index, test in enumerate(task.tests):
        if task.faults[index]:
            results.append({"p": False, "k": "f", "t": "", "m": task.faults[index], "result": "JE"})
            continue
        if stopped:
            results.append(_NOT_RUN)
            continue
        files.input.hold(test["stdin"].encode("utf-8", "surrogatepass"))
        run = _run(channel, files, job)
        result = _judge_test(task, index, run, compiled=type(code) is not str)
        results.append(result)
        cpu, wall = cpu + run.cpu, wall + run.wall
        if not result["p"]:
            if job.get("explain") and len(why) < _MOST_EXPLAINED:
                why.append(explaining.explain_output(index, test["stdin"], test["stdout"], run.output, run.errors))
            limit = {"OLE": "output", "MLE": "memory"}.get(result["result"], run.hit.decode("ascii"))
            hit = hit or ("file" if str(result["m"]).startswith(_FILE_ERRORS) else limit)
            slow += result["result"] == "TLE"
            stopped = not job.get("all") or slow >= _MOST_SLOW
    tests = [{**result, "v": "separated"} for result in results]
    record = {"tests": tests, "error": None, "cpu": cpu, "wall": wall, "hit": hit}
    return {**record, "why": explaining.with_lines({"tests": why}, job["code"])} if why else record


def execute(channel: _socket.socket, files: Given, job: ExaminerJob, code: Any) -> dict[str, Any]:
    """Return what became of one run of a program whose output is judged elsewhere, as a runner of programs says it."""
    files.code.hold(marshal.dumps((code, expressions.speaks_of_random(job["code"]))))
    files.input.hold(job["stdin"].encode("latin-1"))
    run = _run(channel, files, job)
    number = os.WTERMSIG(run.status) if os.WIFSIGNALED(run.status) else 0
    out = run.output[: int(job["limits"][6])].decode("latin-1")
    return {
        "exit": None if number else os.WEXITSTATUS(run.status), "signal": number, "out": out, "err": run.errors.decode("latin-1"),
        "hit": "output" if run.flooded else run.hit.decode("ascii"), "cpu": run.cpu, "wall": run.wall, "memory": 0,
        "refused": "", "ended": 0.0,
    }  # fmt: skip


def _run(channel: _socket.socket, files: Given, job: ExaminerJob) -> ProcessResult:
    """Have one process made which is given that, and read what it writes until it has closed that, or has written too much."""
    limits = job["limits"]
    request = zygote.JOB.pack(*limits[:3], *map(int, limits[3:6])) + ",".join(job.get("preload", ())).encode("ascii")
    (output, their_output), (errors, their_errors) = os.pipe(), os.pipe()
    theirs = (files.code.descriptor, files.input.descriptor, their_output, their_errors)
    channel.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, zygote.STREAMS.pack(*theirs))])
    # while the writing ends were open here too, no end of either stream would ever be seen
    os.close(their_output)
    os.close(their_errors)
    poll = select.poll()
    poll.register(output, select.POLLIN)
    poll.register(errors, select.POLLIN)
    written: list[bytes] = []
    size, most, is_open, tail = 0, int(limits[6]), 2, b""
    select.select([channel], [], [], _SOON)
    while is_open and size <= most:
        for descriptor, _ in poll.poll():
            part = os.read(descriptor, _PIECE)
            size += len(part)
            if not part:
                poll.unregister(descriptor)
                is_open -= 1
            elif descriptor == output:
                written.append(part)
            else:
                tail = (tail + part)[-_TAIL:]
    run = ProcessResult(b"".join(written), tail, flooded=size > most)
    try:
        if run.flooded:
            # nobody reads on, so it could only wait in a write until some limit ends it
            channel.send(zygote.STOP)
        run.status, run.cpu, run.wall, hit = zygote.END.unpack(channel.recv(zygote.END.size))
    except (OSError, struct.error):
        os._exit(3)  # the zygote is gone, and this worker with it
    run.hit = hit.rstrip(b"\0")
    os.close(output)
    os.close(errors)
    return run


def _judge_test(task: CompiledTests, index: int, run: ProcessResult, *, compiled: bool) -> Result:
    """Return the verdict on one test; `compiled`: the solution's text is known to be Python."""
    if run.flooded:
        text = "the solution printed more than it may"
        return {"p": False, "k": "o", "t": "OutputLimitError", "m": text, "result": "OLE"}
    if run.hit in (b"cpu", b"wall"):
        return {**timed_out(), "result": "TLE"}
    if run.hit == b"file" or os.WIFSIGNALED(run.status):
        return {**make_crash_result({"hit": run.hit.decode("ascii"), "status": run.status}), "result": "RTE"}
    if run.status:
        # the last line that an interpreter writes names the error
        kind, _, message = run.errors.rstrip(b"\n").rpartition(b"\n")[2].decode("utf-8", "replace").partition(": ")
        if not kind.isidentifier():
            kind, message = "ProcessExited", f"the process ended with status {os.WEXITSTATUS(run.status)}"
        # only a text that is not known to compile may fail to: a program that raises a SyntaxError itself has crashed
        if kind in _SYNTAX and not compiled:
            return {"p": False, "k": "s", "t": kind, "m": message, "result": "CE"}
        result = "MLE" if kind == "MemoryError" else "RTE"
        return {"p": False, "k": "n" if kind == "NameError" else "o", "t": kind[:100], "m": message, "result": result}
    judgement = task.rules[index].judge(task.tests[index]["stdout"].encode("utf-8", "surrogatepass"), run.output)
    if judgement.accepted:
        return {"p": True, "result": "AC", "rule": judgement.by}
    return {"p": False, "k": "a", "t": "WrongAnswer", "m": judgement.message, "result": "WA", "rule": judgement.by}
