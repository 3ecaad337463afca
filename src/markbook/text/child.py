"""What may run away, in a process of its own: a pattern or a schema out of a file, tried on a text out of a model.

One JSON line a question on standard input, one JSON line an answer on standard output. The process ends itself when a
question takes too much processor time or memory; whoever asked sees the end of the line. Standard library only, but
for the schema validator.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NotRequired, Self, TypedDict

if TYPE_CHECKING:
    from markbook.types import Missing

_MEMORY = 1 << 30
_WALL = 20
"""How many times its processor time a question may last: a machine may be busy."""


class TextQuestion(TypedDict):
    """What is asked: a `regex` and a `match` have a pattern, a `removal` patterns and texts, a `schema` a schema."""

    kind: str
    seconds: float
    text: NotRequired[str]
    texts: NotRequired[list[str]]
    pattern: NotRequired[str]
    patterns: NotRequired[list[str]]
    index: NotRequired[int]
    flags: NotRequired[int]
    whole: NotRequired[bool]
    schema: NotRequired[dict[str, object] | bool]
    path: NotRequired[list[str]]
    """Where the schema validator is imported from."""


class TextAnswer(TypedDict, total=False):
    """What is answered: whether it holds and why not, or why that cannot be told."""

    holds: bool
    match: str | list[str] | None
    texts: list[str]
    why: str
    where: str
    trouble: str


def main() -> None:
    """Answer questions until there are no more."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for line in sys.stdin.buffer:
        question: TextQuestion = json.loads(line)
        if question["kind"] == "schema":
            sys.path[:] = question["path"]
            import jsonschema  # noqa: F401 - its time is not the question's
            import referencing.exceptions  # noqa: F401 - as above
        # By default both signals end the process, whatever it is in the middle of.
        signal.setitimer(signal.ITIMER_PROF, question["seconds"])
        signal.setitimer(signal.ITIMER_REAL, question["seconds"] * _WALL)
        try:
            answer: TextAnswer = _ANSWERS[question["kind"]](question)
        except (TypeError, ValueError, RecursionError, MemoryError, OverflowError, re.error) as error:
            answer = {"trouble": f"{type(error).__name__}: {error}"[:300]}
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _regex(question: TextQuestion) -> TextAnswer:
    pattern = re.compile(question["pattern"], question["flags"])
    find = pattern.fullmatch if question["whole"] else pattern.search
    return {"holds": find(question["text"]) is not None}


def _match(question: TextQuestion) -> TextAnswer:
    """Answer with one of all matches, or its groups; null where there are not so many."""
    matches, index = re.findall(question["pattern"], question["text"]), question["index"]
    # A negative place counts from the end, as in a Python list.
    return {"match": matches[index] if -len(matches) <= index < len(matches) else None}


def _remove(question: TextQuestion) -> TextAnswer:
    """Answer with the texts, without what the patterns match, one after the other."""
    texts = question["texts"]
    for pattern in question["patterns"]:
        texts = [re.sub(pattern, "", text) for text in texts]
    return {"texts": texts}


def _schema(question: TextQuestion) -> TextAnswer:
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # An empty registry: a schema that refers to an address is not fetched, it is refused.
    validator = Draft202012Validator(question["schema"], registry=Registry())
    try:
        violation = next(iter(validator.iter_errors(json.loads(question["text"]))), None)
    except Unresolvable as error:
        return {"trouble": f"the schema refers to what is not in it: {error}"[:300]}
    if violation is None:
        return {"holds": True}
    return {"holds": False, "why": violation.message[:300], "where": violation.json_path[:300]}


_ANSWERS: dict[str, Callable[[TextQuestion], TextAnswer]] = {
    "match": _match,
    "regex": _regex,
    "removal": _remove,
    "schema": _schema,
}


# Questions to a process that can be given up: started when the first is asked, started anew when one was too much.

SECONDS = 1.0
"""Processor time for one question."""
_TOO_LONG = {-signal.SIGPROF, -signal.SIGALRM}


class Helper:
    """One process for a batch of questions; a context manager. Nothing is started before the first question."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(self, kind: str, **question: object) -> TextAnswer | Missing:
        """Return the answer to a question, or why there is none: it took too long, or could not be answered."""
        from markbook.types import Missing, MissingKind  # late: the process itself has the standard library only

        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        # One line a question, ASCII by `json.dumps`: no text of a model can end it early.
        line = json.dumps({"kind": kind, "seconds": SECONDS, **question}) + "\n"
        try:
            process.stdin.write(line.encode())
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        # A process that was ended by its own limit closes the pipe without a line.
        if not answer.endswith(b"\n"):
            # Its exit code says by which signal it ended, and so whether time ran out.
            code = self._end()
            if code in _TOO_LONG:
                return Missing(MissingKind.TIMEOUT, f"the {kind} takes longer than {SECONDS:g} s on this text")
            return Missing(MissingKind.FAILED, f"the {kind} could not be tried on this text (exit {code})")
        text_answer: TextAnswer = json.loads(answer)
        return Missing(MissingKind.FAILED, text_answer["trouble"]) if "trouble" in text_answer else text_answer

    def _start(self) -> subprocess.Popen[bytes]:
        # Isolated: nothing that lies in the working folder or the user's site is imported.
        command = [sys.executable, "-I", "-S", __file__]
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
        # A child that hangs after its input has ended must not hold up the run.
        try:
            return process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


if __name__ == "__main__":
    main()
