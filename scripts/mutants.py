"""Change the product in one place at a time, and see whether a test command notices: how much a suite holds, as a number.

    python scripts/mutants.py --each 10 --seed 1 -- make test
    python scripts/mutants.py --packages stats text --each 3 -- .venv/bin/python -m pytest -q -x tests/unit/stats/test_stats.py
    python scripts/mutants.py --each 10 --seed 11 --near --first 100

Of every package of `src/markbook` (its modules of no package count as one) `--each` mutants are drawn by the seed, the same
for the same sources. Each is made in a copy of the tree, where the command is run: a mutant is killed where the command
fails or takes longer than `--seconds`. The first run is that of the unchanged copy, which has to pass. Survivors of `make
test` may then be tried with `make test-all`: `--only 3,17` runs those numbers.

`--near` is the cheap way: of each mutant only the test files that concern its module are run, those that are likely to notice
it first; what is not noticed within `--seconds` is undecided. The test that failed is run once more with the change,
where it has to fail again, and without it, where it has to pass. Packages take turns, so the `--first` so many mutants are of all of them.
"""

import argparse
import ast
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = Path("src/markbook")
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "generated", "build", "__pycache__", ".*_cache", ".hypothesis")
COMPARISONS = {ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Is: "is not",
               ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}  # fmt: skip
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*"}


@dataclass(frozen=True)
class Mutant:
    """One change: the text between two places of a file becomes another."""

    path: Path
    line: int
    begin: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        """Say where it is and what it changes."""
        return f"{self.path}:{self.line}: {brief(self.old)} -> {brief(self.new)}"


def brief(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def changes(node: ast.AST) -> Iterator[str]:
    """Yield what an expression or statement may become."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield f"({ast.unparse(left)} {COMPARISONS[type(operator)]} {ast.unparse(right)})"
        case ast.BoolOp(op=operator, values=values):
            word = " or " if isinstance(operator, ast.And) else " and "
            yield "(" + word.join(f"({ast.unparse(value)})" for value in values) + ")"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"bool({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            yield f"(({ast.unparse(left)}) {OPERATORS[type(operator)]} ({ast.unparse(right)}))"
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield f"({value!r} + 1)"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield f"(({ast.unparse(orelse)}) if ({ast.unparse(test)}) else ({ast.unparse(body)}))"
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None"
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Continue() | ast.Break():
            yield "pass"


def mutants(path: Path) -> list[Mutant]:
    """Return every change that can be made to a module."""
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for one in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if one is not None
        for inner in ast.walk(one)
    }
    in_text = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for inner in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if id(node) in annotations | in_text:
            continue
        for new in changes(node):
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            found.append(Mutant(path, node.lineno, begin, end, source[begin:end].decode(), new))
    return found


def package_of(path: Path) -> str:
    inner = path.relative_to(PRODUCT).parts
    return inner[0] if len(inner) > 1 else "(modules)"


def drawn(each: int, seed: str, packages: list[str]) -> list[Mutant]:
    """Return so many mutants of each package, each module as likely as it has places to change."""
    pools: dict[str, list[Mutant]] = {}
    for path in sorted(file.relative_to(ROOT) for file in (ROOT / PRODUCT).rglob("*.py")):
        if not packages or package_of(path) in packages:
            pools.setdefault(package_of(path), []).extend(mutants(path))
    if unknown := set(packages) - pools.keys():
        sys.exit(f"no such package: {', '.join(sorted(unknown))}")
    return [
        one
        for name in sorted(pools)
        for one in random.Random(f"{seed} {name}").sample(pools[name], min(each, len(pools[name])))
    ]


def in_turn(numbered: dict[int, Mutant]) -> dict[int, Mutant]:
    """Return the first mutant of every package, then the second of every package, and so on, with their numbers."""
    turns: Counter[str] = Counter()
    places = {}
    for number, one in numbered.items():
        places[number] = turns[package_of(one.path)]
        turns[package_of(one.path)] += 1
    return {number: numbered[number] for number in sorted(numbered, key=lambda number: (places[number], number))}


NAMED_OTHERWISE = {"testcode": "benchmarks", "languages": "programs", "text": "report", "cli": "", "(modules)": ""}
"""By package, the folder of `tests/unit` where its tests stand, where it has another name."""
RUNS_PROGRAMS = {"benchmarks", "languages", "programs", "runs", "sandbox", "testcode"}
"""Packages that the security tests concern."""


def near(path: Path) -> list[list[Path]]:
    """Return the test files that concern a module, in stages: the next one is run where nothing has failed in one."""
    package, module = package_of(path), ".".join(path.with_suffix("").relative_to("src").parts)
    texts = {
        file.relative_to(ROOT): file.read_text(encoding="utf-8") for file in sorted((ROOT / "tests").rglob("test_*.py"))
    }
    own = Path("tests/unit", NAMED_OTHERWISE.get(package, package))
    rest = ["tests/commands", "tests/documents", "tests/docs", "tests/oracles", "tests/suite"]
    rest += ["tests/security"] if package in RUNS_PROGRAMS else []
    stages = [
        [
            file
            for file, text in texts.items()
            if re.search(rf"\b{re.escape(module)}\b", text) or file.stem.endswith(path.stem)
        ],
        [file for file in texts if file.parent == own],
        [file for file, text in texts.items() if f"markbook.{package}." in text and file.parts[1] == "unit"],
        *([file for file in texts if file.is_relative_to(folder)] for folder in rest),
    ]
    return [
        chosen
        for place, stage in enumerate(stages)
        if (chosen := [file for file in stage if not any(file in earlier for earlier in stages[:place])])
    ]


FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::[^\s\[]+)?)", re.MULTILINE)


@contextlib.contextmanager
def mutated(one: Mutant, folder: Path) -> Iterator[None]:
    """Have a mutant in the copy of the tree."""
    file = folder / one.path
    whole = file.read_bytes()
    file.write_bytes(whole[: one.begin] + one.new.encode() + whole[one.end :])
    try:
        yield
    finally:
        file.write_bytes(whole)


def try_near(one: Mutant, folder: Path, seconds: float, log: Path) -> str:
    """Return "killed" and by which test, "survived", or "undecided" where there was no more time."""
    pytest = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "-x", "--level", "test", "-p", "no:cacheprovider",
              "-p", "no:randomly"]  # fmt: skip
    deadline = time.monotonic() + seconds
    unsteady: list[str] = []
    stages = near(one.path)
    for place, stage in enumerate(stages):
        result = ""
        while result != "passed":
            left_out = [f"--deselect={name}" for name in unsteady]
            with mutated(one, folder):
                result = passes([*pytest, *left_out, *map(str, stage)], folder, deadline - time.monotonic(), log)
            if result == "too long":
                return f"undecided: {place} of {len(stages)} stages took all the time"
            if result == "failed":
                (name, *_) = FAILED.findall(log.read_text(encoding="utf-8", errors="replace")) or [str(stage[0])]
                with mutated(one, folder):
                    fails_again = passes([*pytest, name], folder, seconds, log) == "failed"
                if name in unsteady or (fails_again and passes([*pytest, name], folder, seconds, log) == "passed"):
                    return f"killed by {name}"
                unsteady.append(name)  # it fails without any change, or by chance
    return "survived"


def try_command(one: Mutant, command: list[str], folder: Path, seconds: float, log: Path) -> str:
    """Return "killed" or "survived"."""
    with mutated(one, folder):
        return "survived" if passes(command, folder, seconds, log) == "passed" else "killed"


def passes(command: list[str], folder: Path, seconds: float, log: Path) -> str:
    """Return "passed", "failed" or "too long"."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1",
                   "MARKBOOK_TEST_DRAW": "mutants"}  # fmt: skip
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=said, stderr=said, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            return "failed" if process.wait(timeout=seconds) else "passed"
        except subprocess.TimeoutExpired:
            return "too long"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=10, help="mutants of each package (10)")
    parser.add_argument("--seed", default="1", help="what they are drawn by (1)")
    parser.add_argument("--packages", nargs="*", default=[], help="only these")
    parser.add_argument("--near", action="store_true", help="run the tests that concern a mutant's module, no command")
    parser.add_argument("--first", type=int, help="only so many")
    parser.add_argument("--only", default="", help="only these numbers, between commas")
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long the command may take (3600)")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("command", nargs="*", help="the test command, after --")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    numbered = dict(enumerate(drawn(options.each, options.seed, options.packages), 1))
    if options.only:
        numbered = {number: numbered[number] for number in map(int, options.only.split(","))}
    if options.near:
        numbered = in_turn(numbered)
    numbered = dict(list(numbered.items())[: options.first])
    if options.list or not (options.command or options.near):
        print(*(f"{number:3} {one}" for number, one in numbered.items()), sep="\n")
        return 0
    results = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as parent:
        folder, log = Path(parent) / "tree", Path(parent) / "log"
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT, symlinks=True)
        for name, target in ((Path("tree/.venv"), ROOT / ".venv"), (Path("shared"), ROOT.parent / "shared")):
            if target.exists():
                (Path(parent) / name).symlink_to(target.resolve())
        if not options.near and (result := passes(options.command, folder, options.seconds, log)) != "passed":
            print(log.read_text(errors="replace")[-3000:], f"the command {result} without any change", sep="\n")
            return 2
        for number, one in numbered.items():
            began = time.monotonic()
            if options.near:
                verdict = try_near(one, folder, options.seconds, log)
            else:
                verdict = try_command(one, options.command, folder, options.seconds, log)
            word, _, more = verdict.partition(" ")
            results[word.rstrip(":")] += 1
            print(f"{number:3} {word:9} {time.monotonic() - began:5.0f} s  {one}  {more}".rstrip(), flush=True)
    print(
        f"{results['killed']} of {len(numbered)} killed, {results['survived']} survived, {results['undecided']} undecided"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
