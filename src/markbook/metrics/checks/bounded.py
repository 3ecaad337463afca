"""Questions to a process that can be given up: started when the first is asked, started anew when one was too much."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from markbook.metrics.checks.child import TextAnswer
from markbook.types import Missing, MissingKind

SECONDS = 1.0
"""Processor time for one question."""
_CHILD = Path(__file__).with_name("child.py")
_TOO_LONG = {-signal.SIGPROF, -signal.SIGALRM}


class Helper:
    """One process for a batch of questions; a context manager. Nothing is started before the first question."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def ask(self, kind: str, **question: object) -> TextAnswer | Missing:
        """Return the answer to a question, or why there is none: it took too long, or could not be answered."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        line = json.dumps({"kind": kind, "seconds": SECONDS, **question}) + "\n"
        try:
            process.stdin.write(line.encode())
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer.endswith(b"\n"):
            code = self._end()
            if code in _TOO_LONG:
                return Missing(MissingKind.TIMEOUT, f"the {kind} takes longer than {SECONDS:g} s on this text")
            return Missing(MissingKind.FAILED, f"the {kind} could not be tried on this text (exit {code})")
        text_answer: TextAnswer = json.loads(answer)
        return Missing(MissingKind.FAILED, text_answer["trouble"]) if "trouble" in text_answer else text_answer

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-I", "-S", str(_CHILD)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return self._process

    def _end(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it is gone already
            process.stdin.close()
        process.stdout.close()
        try:
            return process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
