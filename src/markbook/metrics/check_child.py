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
import sys
from collections.abc import Callable
from typing import NotRequired, TypedDict

_MEMORY = 1 << 30
_WALL = 20
"""How many times its processor time a question may last: a machine may be busy."""


class TextQuestion(TypedDict):
    """What is asked: a `regex` has a pattern, a `schema` a schema."""

    kind: str
    seconds: float
    text: str
    pattern: NotRequired[str]
    flags: NotRequired[int]
    whole: NotRequired[bool]
    schema: NotRequired[dict[str, object] | bool]
    path: NotRequired[list[str]]
    """Where the schema validator is imported from."""


class TextAnswer(TypedDict, total=False):
    """What is answered: whether it holds and why not, or why that cannot be told."""

    holds: bool
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
            _import_validator(question["path"])  # its time is not the question's
        # By default both signals end the process, whatever it is in the middle of.
        signal.setitimer(signal.ITIMER_PROF, question["seconds"])
        signal.setitimer(signal.ITIMER_REAL, question["seconds"] * _WALL)
        try:
            answer: TextAnswer = _ANSWERS[question["kind"]](question)
        except (ValueError, RecursionError, MemoryError, OverflowError, re.error) as error:
            answer = {"trouble": f"{type(error).__name__}: {error}"[:300]}
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _regex(question: TextQuestion) -> TextAnswer:
    pattern = re.compile(question["pattern"], question["flags"])
    find = pattern.fullmatch if question["whole"] else pattern.search
    return {"holds": find(question["text"]) is not None}


def _import_validator(path: list[str]) -> None:
    sys.path[:] = path
    import jsonschema  # noqa: F401 - imported for its effect
    import referencing.exceptions  # noqa: F401 - as above


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


_ANSWERS: dict[str, Callable[[TextQuestion], TextAnswer]] = {"regex": _regex, "schema": _schema}

if __name__ == "__main__":
    main()
