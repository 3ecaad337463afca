"""Hostile candidates made up at random: pieces of Python that lie, replace, search, raise and write, before a wrong answer.

A piece stands by itself, so that any may be left out: what is left when none can be left out is what a find needs.
Everything is drawn from the generator that is handed in: the same seed makes the same candidates.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from pathlib import Path

from bench import _candidate_words as words

PARTS = Path(__file__).resolve().parents[1] / "tests" / "security" / "attacks" / "parts"
Piece = tuple[str, str]
"""What kind it is, and its text."""

_READS_EXPECTED = (
    "for frame in frames():\n    for value in constants(frame.f_code):\n"
    "        if frame.f_code.co_filename == '<test>' and value not in (None, 1, 2, 3, 4):\n"
    "            globals()['answer'] = lambda given, value=value: list(value) if type(value) is tuple else value"
)
_LEAVES = (
    None, True, False, 0, 1, -1, 4, 1.5, 1 << 70, "", "f", "__class__", "len", "int", "list", "module math", "x" * 300,
)  # fmt: skip
_BASES = (
    "", "int", "str", "list", "dict", "set", "type", "object", "BaseException", "collections:Counter", "fractions:Fraction",
)  # fmt: skip
_NAMES = (
    "functools:partial", "collections:Counter", "module random", "module os", "math:sqrt", "str.format",
)  # fmt: skip


class Maker:
    """Makes candidates."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self._made = 0

    def pieces(self) -> list[Piece]:
        """Return one to five pieces."""
        makers: list[Callable[[], Piece]] = [
            self._asks, self._asks, self._replaces, self._replaces, self._answers, self._answers, self._returns, self._raises,
            self._raw, self._walks, self._modules, self._sends, self._forges, self._threads,
        ]  # fmt: skip
        found = []
        for make in self.chance.choices(makers, k=self.chance.choice((1, 1, 2, 2, 3, 4, 5))):
            kind, text = make()
            if self.chance.random() < 0.12:
                when = self.chance.choice(
                    (
                        "os.urandom(1)[0] & 1",
                        "os.getpid() & 1",
                        "time.monotonic_ns() >> 12 & 1",
                        "id(object()) >> 4 & 1",
                    )
                )
                kind, text = f"sometimes {kind}", f"import os, time\nif {when}:\n{textwrap.indent(text, '    ')}"
            found.append((kind, f"try:\n{textwrap.indent(text, '    ')}\nexcept Exception:\n    pass\n"))
        return found

    def _pick(self, *pools: list[str]) -> str:
        return self.chance.choice(self.chance.choice(pools))

    def _name(self) -> str:
        self._made += 1
        return f"Made{self._made}"

    def value(self, depth: int = 0) -> str:
        """Return an expression for something that lies."""
        choice = self.chance.randrange(7 if depth < 2 else 4)
        if choice <= 2:
            return f"(lambda *given, **named: {self._result(depth)})"
        if choice == 3:
            return self.chance.choice(words.CONSTANTS).replace("self", "answer")
        if choice == 4:
            changes = ", ".join(
                f"{name!r}: {self.value(depth + 1)}"
                for name in self.chance.sample(words.SPACE, self.chance.randint(1, 4))
            )
            return f"rewriter({{{changes}}})"
        return self._liar(depth + 1)

    def _result(self, depth: int) -> str:
        if depth < 2 and self.chance.random() < 0.2:
            return self.value(depth + 1)
        return self.chance.choice(words.CONSTANTS).replace("self", "(given or [0])[0]")

    def _liar(self, depth: int = 0, base: str = "") -> str:
        methods = {}
        for _ in range(self.chance.choice((1, 2, 4, 8, 14))):
            name = self._pick(words.METHODS, words.COMPARING, words.ASKED)
            if self.chance.random() < 0.05:
                methods[name] = f"property(lambda self: {self.chance.choice(words.CONSTANTS)})"
            elif depth < 2 and self.chance.random() < 0.05:
                methods[name] = self.value(depth + 1)
            else:
                constant = self.chance.choice(("True", "self", self.chance.choice(words.CONSTANTS)))
                methods[name] = f"lambda self, *given, **named: {constant}"
        body = ", ".join(f"{name!r}: {text}" for name, text in methods.items())
        base = base or self.chance.choice(words.BASES)
        meta = ", meta=True" if self.chance.random() < 0.1 else ""
        if self.chance.random() < 0.3:
            meta += ", every=" + self.chance.choice(("True", "True", "[]", "'self'"))
        return f"liar({base!r}, {{{body}}}{meta})" if base != "kind" else f"liar(kind, {{{body}}}{meta})"

    def _asks(self) -> Piece:
        names = self.chance.sample(
            words.CALLED if self.chance.random() < 0.5 else words.NAMES, self.chance.randint(1, 5)
        )
        if self.chance.random() < 0.3:
            names.append("__builtins__")
        lines = [f"ask(*{names!r})"]
        for name in names:
            if name == "__builtins__":
                imports = [("__import__", self.value())] if self.chance.random() < 0.6 else []
                inner = [
                    *imports,
                    *(
                        (self._pick(words.NAMES, words.CALLED, words.SPACE), self.value())
                        for _ in range(self.chance.randint(0, 3))
                    ),
                ]
                changes = ", ".join(f"{key!r}: {value}" for key, value in inner)
                lines.append(f"globals()['__builtins__'] = {{**ALL, {changes}}}")
            else:
                lines.append(f"globals()[{name!r}] = {self.value()}")
        return "asks builtins" if "__builtins__" in names else "asks names", "\n".join(lines)

    def _replaces(self) -> Piece:
        place = self.chance.choice([*words.PLACES, *["random", "asyncio", "random", "asyncio", "unittest.TestCase"]])
        names = self.chance.sample(words.PLACES[place], min(len(words.PLACES[place]), self.chance.choice((1, 1, 2, 5))))
        if place == "asyncio" and self.chance.random() < 0.5:
            names = [self.chance.choice(("run", "run", "gather", "new_event_loop"))]
        elif place == "random" and self.chance.random() < 0.5:
            names = ["randint", "choice"][: self.chance.randint(1, 2)]
        module = ".".join(part for part in place.split(".") if part[0].islower())
        return f"replaces {place}", "\n".join(
            [f"import {module}", *(f"{place}.{name} = {self.value()}" for name in names)]
        )

    def _answers(self) -> Piece:
        kind = self.chance.random()
        value = self._liar(1, "kind" if kind < 0.5 else "")
        shaped = self.chance.choice(("{}", "{}", "{}", "[{}] * 4", "({},)", "{{'a': {}}}", "iter([{}] * 4)"))
        return (
            "answers with a liar",
            f"def answer(value):\n    kind = type(value)\n    return {shaped.format(value)}\nglobals()['answer'] = answer",
        )

    def _returns(self) -> Piece:
        body = self.chance.choice((
            f"return {self.value()}", f"yield {self.value()}", "return iter(())", "return given[0]", "return answer(given)", "return f",
            "return type(given[0])", "return None", "return globals()", "import sys; return sys._getframe()", "return [given] * 4",
            "return given[-1](0)", "return given[-1]()", "import os; os._exit(0)", "import os; os.closerange(3, 64)",
        ))  # fmt: skip
        asynchronous = self.chance.choice(("", "", "", "async "))
        return "returns otherwise", f"{asynchronous}def f(*given):\n    {body}\nglobals()['f'] = f"

    def _raises(self) -> Piece:
        quiet = ["StopIteration", "StopIteration", "KeyError", "TypeError", "ValueError", "IndexError", "GeneratorExit"]
        error = self._pick(quiet, words.ERRORS)
        when = self.chance.choice(("True", "True", "True", "len(calls) > 1", "len(calls) == 1", "given != (3,)"))
        asynchronous = self.chance.choice(("", "", "", "", "async "))
        text = (
            "import asyncio, unittest.case\ncalls = []\n"
            f"{asynchronous}def f(*given):\n    calls.append(given)\n    if {when}:\n        raise {error}\n    return answer(0)\n"
            "globals()['f'] = f\nglobals()['calls'] = calls\n"
            "class P:\n    area = side = __len__ = __getitem__ = f\nglobals()['P'] = P"
        )
        return f"raises {error}", text.replace("raise asyncio.", "import asyncio; raise asyncio.").replace(
            "raise unittest.", "import unittest.case; raise unittest."
        )

    def form(self, depth: int = 0) -> object:
        """Return something that may look like a value on the wire."""
        chance = self.chance
        if depth > 3 or chance.random() < 0.35:
            return chance.choice(_LEAVES)
        tag = chance.choice(words.TAGS)
        if tag == "h":
            return self._handle(depth)
        if tag == "n":
            return ["n", chance.choice([*words.NAMES, *_NAMES])]
        parts = [self.form(depth + 1) for _ in range(chance.randint(0, 4))]
        return [tag, parts] if chance.random() < 0.7 else [tag, *parts]

    def _handle(self, depth: int) -> list[object]:
        """Return what may look like a class, or an object of one, on the wire."""
        chance = self.chance
        methods = chance.sample(words.METHODS, chance.randint(0, 6))
        base = chance.choice(_BASES)
        name = chance.choice(["X", "int", "list"])
        kind = ["c", name, [], base, methods, methods[:2], chance.choice(["", "function", "module"]), methods[2:]]
        held = [self.form(depth + 1) for _ in range(chance.randint(0, 2))]
        number = chance.randint(0, 9)
        return ["h", number, ["i", ["h", chance.randint(10, 19), kind], held] if chance.random() < 0.7 else kind]

    def _raw(self) -> Piece:
        chance = self.chance
        lines = []
        for _ in range(chance.randint(1, 4)):
            kind = chance.randrange(4)
            if kind == 0:
                frame: object = [
                    "q",
                    chance.choice(words.OPERATIONS),
                    [self.form() for _ in range(chance.randint(0, 3))],
                    [],
                    chance.random() < 0.3,
                ]
            elif kind == 1:
                frame = ["x", ["e", chance.choice(words.ERRORS), [self.form()]]]
            elif kind == 2:
                names = chance.sample([*words.CALLED, *words.SPACE], chance.randint(1, 4))
                frame = ["v", ["D", [part for name in names for part in (name, self.form())]]]
            else:
                frame = ["v", self.form(), *([[[chance.randint(-1, 3), self.form()]]] if chance.random() < 0.3 else [])]
            lines.append(f"say({frame!r})" + ("; hear()" if chance.random() < 0.5 else ""))
        text = "\n".join(lines)
        if chance.random() < 0.6:
            text = f"def f(*given):\n{textwrap.indent(text, '    ')}\n    return answer([])\nglobals()['f'] = f"
        return "sends raw frames", text

    def _walks(self) -> Piece:
        name, value = self.chance.choice(words.SPACE), self.value()
        place = self.chance.choice(("f_globals", "f_locals", "f_builtins"))
        walk = self.chance.choice((
            f"for frame in frames():\n    if {name!r} in frame.{place} or {self.chance.random() < 0.3}:\n        frame.{place}[{name!r}] = {value}",
            f"import gc\nfor found in gc.get_objects():\n    if type(found) is dict and {name!r} in found:\n        found[{name!r}] = {value}",
            f"import gc\nfor found in gc.get_objects():\n    if hasattr(type(found), 'results'):\n        found.failed = {value}; found.done = set(range(50))",
            _READS_EXPECTED,
        ))  # fmt: skip
        if self.chance.random() < 0.6:
            walk = f"def f(*given):\n{textwrap.indent(walk, '    ')}\n    return answer([])\nglobals()['f'] = f"
        return "walks frames and memory", walk

    def _modules(self) -> Piece:
        names = self.chance.sample(
            ["random", "asyncio", "math", "unittest", "contextlib", "string", "time", "builtins", "marshal"], 2
        )
        return "replaces modules", "import sys\n" + "\n".join(
            f"sys.modules[{name!r}] = {self._liar()}" for name in names
        )

    def _sends(self) -> Piece:
        old, new = self.chance.choice(
            (('"p":false', '"p":true '), ('"x"', '"v"'), ("false", "true "), ("AssertionError", "ValueError"))
        )
        return "rewrites what is sent", (
            f"import os\nsent = os.write\nos.write = lambda number, data: sent(number, data.replace({old.encode()!r}, {new.encode()!r}))"
        )

    def _forges(self) -> Piece:
        return "forges reports", self.chance.choice(
            ("forge()", "def f(*given):\n    forge()\n    return answer(0)\nglobals()['f'] = f")
        )

    def _threads(self) -> Piece:
        _, text = self.chance.choice((self._walks, self._forges, self._sends))()
        start = self.chance.choice((
            "import threading\nthreading.Thread(target=work, daemon=True).start()", "import atexit\natexit.register(work)",
            "import sys\nsys.settrace(lambda *given: work())", "import sys\nsys.setprofile(lambda *given: work())",
            "import signal\nsignal.signal(signal.SIGALRM, lambda *given: work())\nsignal.setitimer(signal.ITIMER_REAL, 0.0005, 0.001)",
        ))  # fmt: skip
        return "works beside", f"def work():\n{textwrap.indent(text, '    ')}\n{start}"


BEFORE = """
import builtins, collections, collections.abc, decimal, enum, fractions
ALL = dict(vars(builtins))


def rewriter(changes):
    def rewrite(*given, **named):
        for found in (*given, *named.values()):
            if type(found) is dict:
                found.update(changes)
        return ALL["__import__"](given[0]) if given and type(given[0]) is str else None
    return rewrite


def liar(base, body, meta=False, every=None):
    kind = eval(base, {**ALL, **globals()}) if type(base) is str else base
    if every is not None:
        same = lambda self, *given, **named: self if every == "self" else every
        body = {**{name: same for name in dir(kind) if not name.startswith("_")}, **body}
    body = {name: (lambda self: 0) if name == "__hash__" else value for name, value in body.items()}
    if meta:
        return type("Meta", (type,), {"__hash__": type.__hash__, **body})("Liar", (), {})
    try:
        return type("Liar", (kind,), {"__hash__": lambda self: 0, **body})()
    except Exception:
        return type("Liar", (), {"__hash__": lambda self: 0, **body})()
"""


def source(given: str, pieces: list[Piece]) -> str:
    """Return a candidate: the wrong answer, what the pieces lean on, the pieces."""
    leaned = [(PARTS / f"{name}.py").read_text() for name in ("frames", "raw", "forge")]
    return "\n".join([given, *leaned, BEFORE, *(text for _, text in pieces)])
