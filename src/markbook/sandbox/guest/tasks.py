"""One sample's tests, compiled once."""

from __future__ import annotations

import ast
import marshal
from dataclasses import dataclass, field
from typing import Any

from . import inspection, wire
from .marking import Compiled
from .programs import BrokenTest, compile_test
from .separation import names_used, runs_beside


@dataclass
class Task:
    """One sample's tests, compiled once."""

    size: int
    """Characters of its text."""
    kind: str
    name: str
    tests: list[dict[str, Any]]
    compiled: list[Compiled]
    faults: list[str]
    patterns: list[Any]
    before: list[Any] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)
    """What the tests may want of the solution: the identifiers that they use and the name of what they test."""
    speaks_of_random: bool = False
    beside: list[bool] = field(default_factory=list)
    """Which tests say by their text that they need the candidate's process."""
    perturbed: list[Compiled | None] | None = None
    """Each test with its expected literals replaced by wrong ones; made when first wanted."""
    _bytes: bytes = b""

    @property
    def aliases(self) -> list[str]:
        """What tests may call the solution's object besides its name."""
        return {"function": ["func"], "class": ["cls"]}.get(self.kind, [])

    def handed_over(self, compiled: list[Compiled], entry: str, more: list[str]) -> bytes:
        """Return tests as an attempt's process takes them: the object they test, its other names, helpers, the tests."""
        usual = compiled is self.compiled and entry == self.name
        if usual and self._bytes:
            return self._bytes
        wanted = [(i, test) for i, test in enumerate(compiled) if not self.faults[i]]
        made = marshal.dumps((entry, [*self.aliases, *more], self.before, wanted))
        if usual:
            self._bytes = made
        return made


def make_task(text: str) -> Task:
    """Compile the tests of a sample."""
    spec = wire.decode(text)
    tests, name = spec["tests"], spec["name"]
    compiled: list[Compiled] = []
    faults, patterns, beside = [], [], []
    used: set[str] = set()
    for test in tests:
        program = inspection.parse(test["program"]) if test.get("program") else None
        trees = [program, *(inspection.parse(test.get(part, "").strip()) for part in ("setup", "assertion"))]
        nodes = [node for tree in trees if tree is not None for node in inspection.nodes(tree)]
        beside.append(runs_beside(nodes, name))
        used |= names_used(nodes)
        fault = ""
        try:
            compiled.append(compile_test(test, program))
        except BrokenTest as error:
            compiled.append(("a", None, None, 0))
            fault = str(error)
        pattern, bad = inspection.compile_pattern(test["pattern"]) if test.get("pattern") else (None, "")
        patterns.append(pattern)
        faults.append(fault or bad)
    before = []
    if spec.get("prompt"):
        helpers = prompt_helpers(spec["prompt"], name)
        before = [helpers] if helpers is not None else []
    return Task(
        size=len(text),
        kind=spec["object"],
        name=name,
        tests=tests,
        compiled=compiled,
        faults=faults,
        patterns=patterns,
        before=before,
        speaks_of_random="random" in text,
        asks=sorted({*used, name} - {""}),
        beside=beside,
    )


def prompt_helpers(prompt: str, entry: str) -> Any:
    """Return the prompt's definitions other than the entry point's, compiled; None if there are none."""
    tree = inspection.parse(prompt) or inspection.parse(prompt.rstrip() + "\n    pass\n")
    if tree is None:
        return None
    defines = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    helpers = [node for node in tree.body if isinstance(node, defines) and node.name != entry]
    if not helpers:
        return None
    keep = [node for node in tree.body if not (isinstance(node, defines) and node.name == entry)]
    return compile(ast.Module(keep, []), "<prompt>", "exec", dont_inherit=True)
