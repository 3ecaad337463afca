"""Right programs and their wrong siblings, as they stand in the files of `honest/`, and what Python itself says of them.

A file holds entries of this form; what follows `|` and the last two sections may be left out:

    #== name | needs numpy | slow | class P
    the program that is marked
    #-- canonical
    a right solution of another shape; the program itself where there is none
    #-- tests
    tests with an empty line between them: statements whose last one is an expression that must be true, or asserts
    #-- wrong
    a program that at least one of the tests fails
"""

import ast
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

from markbook.sandbox import Job
from markbook.types import Limits, ProblemType, Sample, Test
from support.paths import TESTS

FOLDER = TESTS / "security" / "honest"
LIMITS = Limits(seconds=10.0)
_PLAIN = """
import json, random, sys, types
spec = json.load(sys.stdin)
random.seed(0)
module = types.ModuleType("solution")
sys.modules["solution"] = module
space = module.__dict__
found = []
try:
    exec(compile(spec["code"], "<solution>", "exec"), space)
except BaseException as error:
    found = [f"{type(error).__name__}: {error}"] * len(spec["tests"])
    spec["tests"] = []
for setup, assertion in spec["tests"]:
    try:
        exec(setup, space)
        found.append("pass" if eval(assertion, space) else "false")
    except BaseException as error:
        found.append(f"{type(error).__name__}: {error}")
print("\\n" + json.dumps(found), file=sys.__stdout__)
"""


@dataclass(frozen=True, slots=True)
class Program:
    """One entry."""

    name: str
    code: str
    canonical: str
    tests: tuple[Test, ...]
    wrong: str
    needs: tuple[str, ...]
    slow: bool
    class_name: str

    def job(self, code: str, key: str, *, canonical: bool) -> Job:
        """Return the job that marks this text by the entry's tests."""
        sample = Sample(
            id=self.name,
            tests=self.tests,
            entry_point=self.class_name or "f",
            references=(self.canonical,) if canonical else (),
            problem_type=ProblemType.CLASS if self.class_name else ProblemType.FUNCTION,
        )
        return Job(key, code, sample, LIMITS)


def read_programs() -> list[Program]:
    """Return every entry of every file."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py")))
    return [_program(part) for text in texts for part in re.split(r"^#== ", text, flags=re.MULTILINE)[1:]]


@cache
def slow() -> frozenset[str]:
    """Return the names of the programs that take seconds."""
    return frozenset(program.name for program in read_programs() if program.slow)


@cache
def files() -> dict[str, str]:
    """Return the file of every entry, by its name."""
    return {
        re.split(r"[|\n]", part)[0].strip(): path.name
        for path in sorted(FOLDER.glob("*.py"))
        for part in re.split(r"^#== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    }


def _program(text: str) -> Program:
    header, _, body = text.partition("\n")
    name, *options = [word.strip() for word in header.split("|")]
    code, *sections = re.split(r"^#-- (canonical|tests|wrong)\n", body, flags=re.MULTILINE)
    part = dict(zip(sections[::2], sections[1::2], strict=True))
    said = {option.partition(" ")[0]: option.partition(" ")[2] for option in options}
    unknown = said.keys() - {"needs", "slow", "class"}
    if unknown:
        raise ValueError(f"{name}: unknown {unknown}")
    return Program(
        name=name,
        code=code,
        canonical=part.get("canonical", code),
        tests=tuple(_test(block) for block in re.split(r"\n\s*\n", part["tests"].strip("\n"))),
        wrong=part.get("wrong", ""),
        needs=tuple(said.get("needs", "").split()),
        slow="slow" in said,
        class_name=said.get("class", ""),
    )


def _test(text: str) -> Test:
    last = ast.parse(text).body[-1]
    if not isinstance(last, ast.Expr):
        return Test(program=text)
    lines = text.splitlines()
    return Test(setup="\n".join(lines[: last.lineno - 1]), assertion="\n".join(lines[last.lineno - 1 :]))


def plain_verdicts(code: str, tests: tuple[Test, ...]) -> list[str]:
    """Return what running this beside its tests in a fresh interpreter says of each test: `pass`, or why not."""
    spec = {"code": code, "tests": [(test.setup or test.program, test.assertion or "True") for test in tests]}
    done = subprocess.run(
        [sys.executable, "-I", "-c", _PLAIN],
        input=json.dumps(spec),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found
