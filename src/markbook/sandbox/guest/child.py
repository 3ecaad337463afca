"""What runs in the forked child of one attempt: load the solution, then run its tests beside it."""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from types import CodeType, ModuleType
from typing import Any, NoReturn

from . import wire
from .marking import Result, failure, mark
from .peer import Peer

MODULE = "solution"
"""The name of the module that a solution becomes."""
OUTPUT_EXIT = 91
"""The exit status of a child that printed more than it may."""
_REHEARSALS = 8
"""After so many runs the interpreter has adapted the code to what it sees."""


class Output:
    """Standard output of the candidate: counted, kept only while somebody wants to see it."""

    encoding = "utf-8"
    errors = "replace"
    closed = False
    name = "<stdout>"
    mode = "w"
    line_buffering = False
    newlines = None

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.kept: list[str] | None = None

    def write(self, text: str) -> int:
        """Take the text; past the limit the process ends."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        size = len(text)
        self._left -= size
        if self._left < 0:
            os._exit(OUTPUT_EXIT)
        if self.kept is not None:
            self.kept.append(text)
        return size

    def writelines(self, lines: Any) -> None:
        """Take every line."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def close(self) -> None:
        """Stay open: later prints must not fail for an earlier close."""

    def isatty(self) -> bool:
        """Return False: nobody is watching."""
        return False

    def writable(self) -> bool:
        """Return True."""
        return True

    def readable(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False."""
        return False

    def fileno(self) -> int:
        """Return the descriptor of the null device."""
        return 1


def load(code: Any, seed: bool, output: Output) -> tuple[dict[str, Any], Result | None]:  # noqa: FBT001 - from the wire
    """Execute the solution; return its namespace, and what went wrong if something did."""
    if seed:
        import random  # only where the solution or its tests speak of it: the import costs more than the rest

        random.seed(0)
    sys.stdout = output
    sys.stderr = output
    module = ModuleType(MODULE)
    sys.modules[MODULE] = module
    namespace = module.__dict__
    if type(code) is str:
        try:
            code = compile_solution(code)
        except Exception as error:
            return namespace, {**failure(error), "k": "s"}
    try:
        exec(code, namespace)  # noqa: S102 - running code is what this is for
    except BaseException as error:
        return namespace, failure(error)
    return namespace, None


def compile_solution(text: str) -> CodeType:
    """Compile a solution as the module that it becomes.

    Raises:
        Exception: it is no Python; which exception depends on what is wrong with it.
    """
    return compile(text, f"<{MODULE}>", "exec", dont_inherit=True)


def run(descriptor: int) -> NoReturn:
    """Serve one attempt whose job waits in the socket, then end the process."""
    try:
        serve(wire.Link(descriptor))
    except BaseException:
        os._exit(1)
    os._exit(0)


def serve(link: wire.Ends) -> None:
    """Serve one attempt: `(beside, code, seed, characters of output, names asked for)`, and beside a nonce."""
    beside, code, seed, limit, asked, *nonce = marshal.loads(wire.receive(link))  # noqa: S302 - from the examiner
    output = Output(limit)
    namespace, error = load(code, seed, output)
    if beside:
        _beside(link, namespace, error, asked, nonce[0])
    elif error is not None:
        wire.write(link, {"error": error})
    else:
        _apart(link, namespace, output, asked)


def _apart(link: wire.Ends, namespace: dict[str, Any], output: Output, asked: list[str]) -> None:
    """Answer what the examiner asks, the first time before it does: which of these names there are."""
    peer = Peer(link, examines=False)
    peer.output = output
    peer.operations = {
        **peer.operations,
        "names": lambda wanted: {name: namespace[name] for name in wanted if name in namespace},
    }
    peer.open({name: namespace[name] for name in asked if name in namespace})
    while True:
        peer.serve(wire.decode(wire.receive(link).decode("utf-8")))


def _beside(link: wire.Ends, namespace: dict[str, Any], error: Result | None, asked: list[str], nonce: str) -> None:
    names = [name for name in asked if name in namespace]
    wire.write(link, {"nonce": nonce, "error": error, "names": names})
    if error is not None:
        return
    tests = marshal.loads(wire.receive(link))  # noqa: S302 - from the examiner, which is trusted
    namespace = dict(namespace)  # what the tests define must not reach the solution's own functions
    bind(namespace, tests)
    for code in tests["before"]:
        exec(code, namespace)  # noqa: S102 - helpers from the benchmark's prompt
    left = len(tests["run"])
    for index, test in tests["run"]:
        result = mark(test, namespace)
        left -= 1
        wire.write(link, {"nonce": nonce, "i": index, "left": left, "r": result})


def bind(namespace: dict[str, Any], tests: dict[str, Any]) -> None:
    """Give the solution's object the names that the tests call it by."""
    namespace["candidate_solution"] = tests["text"]
    found = namespace.get(tests["entry"]) if tests["entry"] else None
    for alias in tests["aliases"]:
        if found is not None:
            namespace[alias] = found


def rehearse() -> None:
    """Run two attempts of our own here, so that the interpreter has met this code before it is copied for each.

    What it notes in code that runs often is then noted once, not in every child, each time in a page of its own.
    """
    kept = sys.stdout, sys.stderr
    text = "def f(a):\n    return a"
    code = compile_solution(text)
    test = compile("f(1) == 1", "<test>", "eval")
    tests = {"text": text, "entry": "f", "aliases": ["func"], "before": [], "run": [(0, ("a", None, test, 0))]}
    call = wire.encode(["q", "c", [["b", 0], 1], [], False]).encode("ascii")
    scripts = [
        [marshal.dumps((True, code, False, 9, ["f"], "nonce")), marshal.dumps(tests)],
        [marshal.dumps((False, code, False, 9, ["f"])), *[call] * 4],
    ]
    for script in scripts * _REHEARSALS:
        with contextlib.suppress(wire.Gone):
            serve(_Script(script))
    del sys.modules[MODULE]
    sys.stdout, sys.stderr = kept


class _Script:
    """The other side of a rehearsal."""

    def __init__(self, payloads: list[bytes]) -> None:
        self._left = [wire.pack(payload) for payload in reversed(payloads)]

    def recv(self, _size: int) -> bytes:
        return self._left.pop() if self._left else b""

    def sendall(self, data: bytes) -> None:
        """Hear it out."""
