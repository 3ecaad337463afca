"""The benchmark's own program that judges outputs: what it is made of, and how it is called."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Convention = Literal["testlib", "icpc", "function"]


@dataclass(frozen=True, slots=True)
class Judge:
    """A checker, an output validator or an interactor, as source."""

    language: str
    files: tuple[tuple[str, bytes], ...]
    """Names and contents."""
    convention: Convention
    """How it is called and what its end means; `function` is a Python file that defines `check`."""
    flags: tuple[str, ...] = ()
    """Further words of its command."""
    is_interactive: bool = False
    """Whether it talks to the program while that runs."""
    passes: int = 1
    """How often the program may be run on one test."""
    is_scripted: bool = False
    """Whether its files bring the scripts `build` and `run` by which it is made and started."""
    others: tuple[Judge, ...] = ()
    """Further ones: all have to accept what a program printed, and the last says how much it is worth."""

    @property
    def all(self) -> tuple[Judge, ...]:
        """This one and the others."""
        return (self, *self.others)

    @property
    def languages(self) -> set[str]:
        """The languages that they are built and run in."""
        return {judge.language for judge in self.all}

    @property
    def name(self) -> str:
        """A name for its files, and those of the others: what has it is built alike."""
        total = hashlib.blake2b(digest_size=16)
        for judge in self.all:
            total.update(repr((judge.language, judge.convention, judge.is_scripted, len(judge.files))).encode())
            for name, content in judge.files:
                total.update(f"{len(name)}:{len(content)}:{name}".encode("utf-8", "surrogatepass") + content)
        return total.hexdigest()


FUNCTION = '''"""Calls `check` of a benchmark with what a program read, printed, and was to print."""

import json
import sys
import traceback

sys.path.insert(0, sys.argv[1])
texts = [open(name, encoding="utf-8", errors="surrogateescape", newline="").read() for name in sys.argv[2:5]]
try:
    from checker import check

    found = check(*texts)
    if isinstance(found, (list, tuple)) and len(found) == 2:
        found = [found[0], str(found[1])[:300]]
    said = {"returned": found}
    text = json.dumps(said)
except BaseException as error:
    text = json.dumps({"raised": f"{type(error).__name__}: {error}"[:300]})
with open("feedback/returned.json", "w", encoding="utf-8") as file:
    file.write(text)
'''
"""The program around a checker that is a function."""
