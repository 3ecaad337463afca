"""What runs in the forked child of one attempt: load the solution, then run its tests beside it."""

from __future__ import annotations

import _socket
import builtins
import gc
import marshal
import os
import sys
from types import CodeType, ModuleType

from . import explained, wire
from .exchange.peer import Peer
from .explained import MODULE, build_namespace
from .marking import Result, failure, mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    Guard = Callable[[int], None]
    """Hardens the process whose number it is given, before any of the candidate's code runs."""

CONFUSED_EXIT = 90
"""The exit status of a child that did not understand what crossed."""
OUTPUT_EXIT = 91
"""The exit status of a child that printed more than it may."""
_HEAD = 1000
"""Characters in which a solution may name its encoding."""
_REHEARSALS = 8
"""After so many runs the interpreter has adapted the code to what it sees."""


_NOBODY = wire.PipePair(-1, -1)


class Output:
    """Standard output or error of the candidate: counted, kept only while somebody wants to see it."""

    encoding = "utf-8"
    errors = "replace"
    closed = False
    mode = "w"
    line_buffering = False
    newlines = None

    def __init__(self, number: int, account: Output | None = None) -> None:
        """Take its descriptor's number, and where another output counts for both."""
        self.number = number
        self.name = "<stdout>" if number == 1 else "<stderr>"
        self.account = account or self
        self.left = 0
        """Characters that may still be printed."""
        self.kept: Any = None
        self.at_rest: Any = None
        """Where it is kept while nobody in particular wants to see it."""

    def write(self, text: str) -> int:
        """Take the text; past the limit the process ends."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        size = len(text)
        account = self.account
        account.left -= size
        if account.left < 0:
            # at once, since the solution could catch an error
            os._exit(OUTPUT_EXIT)
        if self.kept is not None:
            self.kept.append(text)
        return size

    def writelines(self, lines: Any) -> None:
        """Take every line."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Binary:
        """The stream of bytes below it."""
        return Binary(self)

    def reconfigure(self, **_options: Any) -> None:
        """Stay as it is: what is written is text all the same."""

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
        return self.number


class Binary:
    """Standard output or error of the candidate for those that write bytes."""

    def __init__(self, text: Output) -> None:
        self.flush, self.isatty, self.fileno = text.flush, text.isatty, text.fileno
        self._text = text

    def write(self, data: Any) -> int:
        """Take the bytes."""
        self._text.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


class Stage:
    """What every attempt begins with, made before the fork."""

    def __init__(self, *channels: int) -> None:
        self._channels = channels
        """The descriptors that the zygote is spoken to by."""
        self.output = Output(1)
        errors = Output(2, self.output)
        self.builtins = dict(vars(builtins))
        """What tests have for built-in functions, whatever the solution makes of its own."""
        module = ModuleType(MODULE)
        self.namespace: dict[str, Any] = module.__dict__
        self.peer = Peer(_NOBODY, examines=False)
        self.peer.outputs = (self.output, errors)
        self.peer.operations = {**self.peer.operations, "names": self.get_named}
        sys.stdout, sys.stderr = self.output, errors
        sys.modules[MODULE] = module

    def leave(self) -> None:
        """Keep nothing that the zygote is spoken to by."""
        for channel in self._channels:
            os.close(channel)

    def get_named(self, wanted: list[str]) -> dict[str, object]:
        """Return those of the solution's objects that have these names."""
        namespace = self.namespace
        found: dict[str, object] = {}
        for name in wanted:  # no comprehension, which is one more function to a fresh process
            if name in namespace:
                found[name] = namespace[name]
        return found

    def load(self, code: Any, seed: bool) -> Result | None:
        """Execute the solution in the namespace; return what went wrong if something did."""
        if seed:
            import random  # only where the solution or its tests speak of it: the import costs more than the rest

            random.seed(0)
            seed_numpy()
        if type(code) is str:
            try:
                code = compile_solution(code)
            except Exception as error:
                return {**failure(error), "k": "s"}
        try:
            exec(code, self.namespace)
        # an exit too: a solution that ends its process while it is loaded is not there for its tests
        except BaseException as error:
            return failure(error)
        return None


def seed_numpy() -> None:
    """Have numpy draw the same numbers in every run, where it is loaded: nothing loads it for that."""
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(0)


def compile_solution(text: str) -> CodeType:
    """Compile a solution as the module that it becomes.

    Raises:
        Exception: it is not Python; which exception depends on what is wrong with it.
    """
    # as the file that it would be: only of bytes Python looks for an encoding in the first two lines
    source = text.encode("utf-8", "surrogatepass") if "coding" in text[:_HEAD] else text
    # the `__future__` import of this module is not the solution's
    return compile(source, f"<{MODULE}>", "exec", dont_inherit=True)


def _say(link: wire.Ends, record: dict[str, object]) -> None:
    link.send(wire.encode(record).encode("ascii"))


def run(link: wire.PipePair, stage: Stage, guard: Guard) -> NoReturn:
    """Serve one attempt, then end the process."""
    try:
        serve(link, stage, guard)
    except BaseException:
        os._exit(CONFUSED_EXIT if stage.peer.is_confused else 1)
    os._exit(0)


def serve(link: wire.Ends, stage: Stage, guard: Guard) -> None:
    """Serve one attempt: `(beside, code, seed, characters of output, names asked for)`.

    Tests come later, when the solution has loaded: while it does, nothing of them is in this process.
    """
    stage.leave()
    guard(os.getpid())
    gc.enable()
    beside, code, seed, stage.output.left, names = marshal.loads(link.receive())
    if beside == explained.EXPLAIN:
        explained.serve(lambda record: _say(link, record), stage, code, seed, names)
        return
    if beside == explained.APART:
        seconds, names = names
        why = explained.load_apart(stage, code, seed, seconds)
        if why is not None:
            _say(link, why)
        else:
            _apart(link, stage, names)
        return
    error = stage.load(code, seed)
    if error is not None:
        _say(link, {"error": error})
    elif beside:
        _beside(link, stage, names)
    else:
        _apart(link, stage, names)


def _apart(link: wire.Ends, stage: Stage, names: list[str]) -> None:
    """Answer what the examiner asks, the first time before it does: which of these names there are."""
    peer = stage.peer
    peer.link = link
    peer.open(stage.get_named(names), stage.namespace)
    while True:
        # until the examiner closes its end, at which `receive` raises `Gone`
        peer.serve(wire.decode(link.receive().decode("utf-8")))


def _beside(link: wire.Ends, stage: Stage, names: list[str]) -> None:
    """Say which of the names there are, take one test after the other, and say what became of it."""
    _say(link, {"names": [name for name in names if name in stage.namespace]})
    nonce, text, entry, aliases, before, living, remaining, *test_part = wire.load_code(link.receive())
    namespace = build_namespace(stage.namespace, stage.builtins, text, entry, aliases, before, living)
    while True:
        index, test = test_part
        done: dict[int, int] = {}
        result = mark(test, namespace, done)
        remaining -= 1
        _say(
            link, {"nonce": nonce, "i": index, "left": remaining, "r": result, "done": sorted(map(list, done.items()))}
        )
        if not remaining:
            return
        test_part = wire.load_code(link.receive())


_REHEARSED = """
def f(a):
    return [a]
"""
_REHEARSED_TEST = """
def check(candidate):
    try:
        assert candidate(1) == [1]
    except BaseException as __markbook_error__:
        __markbook_part__(0, __markbook_error__)
    else:
        __markbook_part__(0)
check(f)
"""


def rehearse(guard: Guard) -> None:
    """Run attempts of our own here, so that the interpreter has met this code before it is copied for each.

    What it notes in code that runs often is then noted once, not in every child, each time in a page of its own.
    """
    code = compile_solution(_REHEARSED)
    program = compile(_REHEARSED_TEST, "<test>", "exec")
    wrong, unknown = (compile(text, "<test>", "eval") for text in ("f(1) == 2", "f(g)"))
    tests_to_run = [(0, ("p", None, program, 1)), (1, ("a", None, wrong, 0)), (2, ("a", None, unknown, 0))]
    tests = [("nonce", _REHEARSED, "f", ["func"], [], [], len(tests_to_run), *tests_to_run[0]), *tests_to_run[1:]]
    calls = [wire.encode(["q", "c", [["b", 0], argument], [], False]).encode() for argument in (1, "a", ["L", [1, 2]])]
    scripts = [
        [marshal.dumps((True, code, False, 9, ["f"])), *map(marshal.dumps, tests)],
        [marshal.dumps((False, code, False, 9, ["f"])), *calls],
    ]
    for script in scripts * _REHEARSALS:
        near, far = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)  # one message at a time
        for payload in script:
            far.send(wire.pack(payload))
        far.shutdown(_socket.SHUT_WR)
        try:  # noqa: SIM105 - `contextlib` would be in the memory of every attempt
            serve(wire.PipePair(near.fileno(), near.fileno()), Stage(os.dup(far.fileno())), guard)
        except wire.Gone:
            pass  # it has heard everything
        near.close()
        far.close()
