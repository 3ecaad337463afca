"""A program that reads and writes, as the examiner sees it: a process, fed, read within limits, and compared here.

Each test has a process of its own, with one exception. A program whose source shows that it leaves nothing behind
(`stateless`) goes on to its next test in the process in which it has passed one. The first test of a process is what it would
be in any case; of a later one only a pass counts. Whatever else becomes of it, it is run again, as the first of another process.
So sharing can change a verdict only by a pass that rests on what an earlier test of the same answer has left, and that there is
not. A process holds the program and the input of one test at a time, never an expected output, never two answers.
"""

from __future__ import annotations

import _socket
import fcntl
import marshal
import os
import select
import struct
import time

from .. import zygote
from . import explaining, expressions, stateless
from .results import make_crash_result, timed_out
from .tasks import STDIN as KIND, CompiledTests

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ..marking import Result
    from .tasks import ExaminerJob


# What programs that read and write are given: files in memory that nobody can change once they are handed over.

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


def _make_file(data: bytes, *, sealed: bool = True) -> int:
    """Return a new file in memory that holds this, to be read from the beginning.

    A standard input is a file where people run programs by hand: its size is known, and it can be read again. Whatever
    a program does to it (flags, locks, mode, times, attributes) is gone with it.
    """
    file = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    _fill(file, data)
    if sealed:
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
    return file


def _fill(file: int, data: bytes) -> None:
    """Let a file hold this; where it is read is left to who reads it."""
    os.ftruncate(file, len(data))
    written = 0
    while written < len(data):
        written += os.pwrite(file, memoryview(data)[written:], written)


__all__ = ["JUDGE_SECONDS", "KIND", "examine"]

JUDGE_SECONDS = 5.0
"""Seconds of the examiner's own processor time for the feeding and comparing of one test: far more than any takes."""
_MOST_SLOW = 10
"""After so many tests that the limit ended a program's further tests are not run, whatever was asked for."""
_MOST_EXPLAINED = 10
_PIECE = 1 << 16
_PATIENCE = 0.5
"""Seconds that a test may take in a process that has run another: what takes longer gains nothing by it."""
_SOON = 0.01
"""Seconds within which most programs end; until then nothing that they write wakes this process."""
_TAIL = 2000
"""Bytes of standard error that are looked at."""
_NOT_RUN: Result = {"p": False, "k": "a", "t": "NotRun", "m": "not run: an earlier test failed", "result": "-"}
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_FILE_ERRORS = ("[Errno 27]", "[Errno 28]")


class ProcessResult:
    """What became of one run of a program."""

    __slots__ = ("cpu", "errors", "flooded", "hit", "is_first", "output", "status", "wall")

    def __init__(self, output: bytes, errors: bytes, *, flooded: bool) -> None:
        self.output = output
        self.errors = errors
        """The last of what it wrote to standard error."""
        self.flooded = flooded
        """Whether it wrote more than it may."""
        self.status, self.cpu, self.wall, self.hit = 0, 0.0, 0.0, b""
        self.is_first = True
        """Whether it was the first in its process."""


def examine(
    channel: _socket.socket, task: CompiledTests, job: ExaminerJob, compiled: tuple[Any, dict[str, Any] | None]
) -> dict[str, Any]:
    """Return the record of one solution: every test in order, or up to the first that fails."""
    code, refused = compiled
    if refused is not None:
        error = {**refused["error"], "result": "CE"}
        return {**refused, "error": error, "tests": [{**error, "v": "separated"}] * len(task.tests)}
    shares = type(code) is not str and len(task.sound) > 1 and stateless.leaves_nothing(job["code"])
    runs = ProgramRuns(channel, job, code, shares=shares)
    results: list[Result] = []
    hit = ""
    slow, stopped = 0, False
    why: list[dict[str, Any]] = []
    for index, test in enumerate(task.tests):
        if task.faults[index]:
            results.append({"p": False, "k": "f", "t": "", "m": task.faults[index], "result": "JE"})
            continue
        if stopped:
            results.append(_NOT_RUN)
            continue
        data = test["stdin"].encode("utf-8", "surrogatepass")
        run = runs.run(data)
        result = _judge_test(task, index, run, compiled=type(code) is not str)
        if not run.is_first and not result["p"]:
            runs.end()
            run = runs.run(data)
            result = _judge_test(task, index, run, compiled=type(code) is not str)
            runs.shares = runs.shares and not result["p"]
        results.append(result)
        if not result["p"]:
            if job.get("explain") and len(why) < _MOST_EXPLAINED:
                why.append(explaining.explain_output(index, test["stdin"], test["stdout"], run.output, run.errors))
            limit = {"OLE": "output", "MLE": "memory"}.get(result["result"], run.hit.decode("ascii"))
            hit = hit or ("file" if str(result["m"]).startswith(_FILE_ERRORS) else limit)
            slow += result["result"] == "TLE"
            stopped = not job.get("all") or slow >= _MOST_SLOW
    runs.end()
    tests = [{**result, "v": "separated"} for result in results]
    record = {"tests": tests, "error": None, "cpu": runs.cpu, "wall": runs.wall, "hit": hit}
    return {**record, "why": explaining.with_lines({"tests": why}, job["code"])} if why else record


def execute(channel: _socket.socket, job: ExaminerJob, code: Any) -> dict[str, Any]:
    """Return what became of one run of a program whose output is judged elsewhere, as a runner of programs says it."""
    run = ProgramRuns(channel, job, code).run(job["stdin"].encode("latin-1"))
    number = os.WTERMSIG(run.status) if os.WIFSIGNALED(run.status) else 0
    out = run.output[: int(job["limits"][6])].decode("latin-1")
    return {
        "exit": None if number else os.WEXITSTATUS(run.status), "signal": number, "out": out, "err": run.errors.decode("latin-1"),
        "hit": "output" if run.flooded else run.hit.decode("ascii"), "cpu": run.cpu, "wall": run.wall, "memory": 0,
        "refused": "", "ended": 0.0,
    }  # fmt: skip


class ProgramRuns:
    """The runs of one program, each in a process of its own unless it `shares` one with its next."""

    def __init__(self, channel: _socket.socket, job: ExaminerJob, code: Any, *, shares: bool = False) -> None:
        self._channel = channel
        self._code = marshal.dumps((code, expressions.speaks_of_random(job["code"])))
        limits = job["limits"]
        modules = ",".join(job.get("preload", ())).encode("ascii")
        self._request = zygote.JOB.pack(*limits[:3], *map(int, limits[3:6])) + modules
        self._most, self._half = int(limits[6]), limits[0] / 2
        self.shares = shares
        self.cpu = self.wall = 0.0
        """Seconds of all processes that have ended."""
        self._open: list[int] = []
        """Of the process that there is: its output, its standard error, and what is spoken by if it may go on."""
        self._input = -1
        """Its standard input."""
        self._began = 0.0

    def run(self, data: bytes) -> ProcessResult:
        """Run the program with this input, where it may in the process that there is; return what became of it."""
        began = time.monotonic()
        # a process has the limits of one test: it gets another test only while it is far from them
        if self._open and self.shares and began - self._began < self._half:
            _fill(self._input, data)
            try:
                os.write(self._open[2], b"\0")
            except OSError:
                pass  # it has been ended since
            else:
                return self._read(began + min(_PATIENCE, self._half))
        self.end()
        code, self._input = _make_file(self._code), _make_file(data, sealed=not self.shares)
        (output, their_output), (errors, their_errors) = os.pipe(), os.pipe()
        self._open, theirs = [output, errors], [their_output, their_errors]
        if self.shares:
            near, far = _socket.socketpair()
            self._open.append(near.detach())
            theirs.append(far.detach())
        descriptors = struct.pack(f"{2 + len(theirs)}i", code, self._input, *theirs)
        self._channel.sendmsg([self._request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
        # while the writing ends were open here too, no end of either stream would ever be seen
        for descriptor in (code, *theirs):
            os.close(descriptor)
        self._began = began
        return self._read(None)

    def _read(self, deadline: float | None) -> ProcessResult:
        """Read what it writes until it has closed that, has said that it is done, or has written or taken too much."""
        output, _, *control = self._open
        select.select([self._channel.fileno(), *control], [], [], _SOON)
        poll = select.poll()
        for descriptor in self._open:
            poll.register(descriptor, select.POLLIN)
        written: list[bytes] = []
        size, is_open, is_done, tail = 0, 2, False, b""
        while is_open and size <= self._most:
            wait = 0.0 if is_done else None if deadline is None else max(0.0, deadline - time.monotonic())
            events = poll.poll(wait if wait is None else 1000 * wait)
            for descriptor, _ in events:
                try:
                    part = os.read(descriptor, _PIECE)
                except ConnectionResetError:  # it has ended without having heard of this test
                    part = b""
                if not part or descriptor in control:
                    poll.unregister(descriptor)
                if descriptor in control:
                    is_done = bool(part)
                    continue
                is_open -= not part
                size += len(part)
                if descriptor == output:
                    written.append(part)
                else:
                    tail = (tail + part)[-_TAIL:]
            if not events:
                break  # nothing is left of what it wrote until it was done, or it has had its time
        run = ProcessResult(b"".join(written), tail, flooded=size > self._most)
        run.is_first = deadline is None
        if not is_done or run.flooded:
            # one that still writes nobody reads on: it could only wait in a write until some limit ends it
            self._end(run, is_running=is_open > 0 or run.flooded)
            if not run.is_first:
                run.status = run.status or 1  # only one that goes on has ended as it should
        return run

    def end(self) -> None:
        """End the process that there is, if there is one."""
        if self._open:
            self._end(ProcessResult(b"", b"", flooded=False), is_running=True)

    def _end(self, run: ProcessResult, *, is_running: bool) -> None:
        """Take how the process has ended, or has to end now."""
        try:
            if is_running:
                self._channel.send(zygote.STOP)
            run.status, run.cpu, run.wall, hit = zygote.END.unpack(self._channel.recv(zygote.END.size))
        except (OSError, struct.error):
            os._exit(3)  # the zygote is gone, and this worker with it
        run.hit = hit.rstrip(b"\0")
        self.cpu, self.wall = self.cpu + run.cpu, self.wall + run.wall
        for descriptor in (self._input, *self._open):
            os.close(descriptor)
        self._open = []


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
