"""What runs in the forked child of one attempt: load the solution, then run its tests beside it."""

from __future__ import annotations

import marshal
import os
import socket
import sys
from types import ModuleType
from typing import Any, NoReturn

from . import wire
from .marking import Result, failure, mark
from .peer import Peer

MODULE = "solution"
"""The name of the module that a solution becomes."""
OUTPUT_EXIT = 91
"""The exit status of a child that printed more than it may."""


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


def load(job: dict[str, Any], output: Output) -> tuple[dict[str, Any], Result | None]:
    """Compile and execute the solution; return its namespace, and what went wrong if something did."""
    if job["seed"]:
        import random  # only where the solution or its tests speak of it: the import costs more than the rest

        random.seed(0)
    sys.stdout = output
    sys.stderr = output
    module = ModuleType(MODULE)
    sys.modules[MODULE] = module
    namespace = module.__dict__
    try:
        code = compile(job["code"], f"<{MODULE}>", "exec", dont_inherit=True)
    except Exception as error:
        return namespace, {**failure(error), "k": "s"}
    try:
        exec(code, namespace)  # noqa: S102 - running code is what this is for
    except BaseException as error:
        return namespace, failure(error)
    return namespace, None


def run(sock: socket.socket) -> NoReturn:
    """Serve one attempt whose job waits in the socket, then end the process."""
    try:
        job = marshal.loads(wire.receive(sock))  # noqa: S302 - from the examiner, which is trusted
        output = Output(job["output"])
        if job["mode"] == "in":
            _in_process(sock, job, output)
        else:
            _separated(sock, job, output)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _separated(sock: socket.socket, job: dict[str, Any], output: Output) -> None:
    namespace, error = load(job, output)
    wire.write(sock, {"error": error})
    if error is not None:
        return
    peer = Peer(sock, examines=False)
    peer.output = output
    peer.operations = {
        **peer.operations,
        "names": lambda wanted: {name: namespace[name] for name in wanted if name in namespace},
    }
    while True:
        frame = wire.decode(wire.receive(sock).decode("utf-8"))
        peer.serve(frame)


def _in_process(sock: socket.socket, job: dict[str, Any], output: Output) -> None:
    nonce = job["nonce"]
    namespace, error = load(job, output)
    names = {name: name in namespace for name in job["ask"]}
    wire.write(sock, {"k": "loaded", "nonce": nonce, "error": error, "names": names})
    if error is not None:
        return
    tests = marshal.loads(wire.receive(sock))  # noqa: S302 - from the examiner, which is trusted
    namespace = dict(namespace)  # what the tests define must not reach the solution's own functions
    bind(namespace, tests)
    for code in tests["before"]:
        exec(code, namespace)  # noqa: S102 - helpers from the benchmark's prompt
    for index, test in tests["run"]:
        result = mark(test, namespace)
        wire.write(sock, {"k": "test", "nonce": nonce, "i": index, "r": result})
    wire.write(sock, {"k": "end", "nonce": nonce})


def bind(namespace: dict[str, Any], tests: dict[str, Any]) -> None:
    """Give the solution's object the names that the tests call it by."""
    namespace["candidate_solution"] = tests["text"]
    found = namespace.get(tests["entry"]) if tests["entry"] else None
    for alias in tests["aliases"]:
        if found is not None:
            namespace[alias] = found
