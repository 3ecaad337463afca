"""Change the product in one place at a time, and see whether a test command notices: how much a suite holds, as a number.

    python scripts/mutants.py --each 10 --seed 1 -- make test
    python scripts/mutants.py --packages stats text --each 3 -- .venv/bin/python -m pytest -q -x tests/unit/stats/test_stats.py
    python scripts/mutants.py --each 10 --seed 11 --reach --first 100

Of every package of `src/markbook` (its modules of no package count as one) `--each` mutants are drawn by the seed, the same
for the same sources. Each is made in a copy of the tree, where the command is run: a mutant is killed where the command
fails or takes longer than `--seconds`. The first run is that of the unchanged copy, which has to pass. Survivors of `make
test` may then be tried with `make test-all`: `--only 3,17` runs those numbers.

`--reach` is the cheap way. `make test` is run once with a mark at the statement of every mutant, which records the tests that come
there; then of each mutant those tests alone are run, the shortest first, until one fails. That test is run once more with the
change, where it has to fail again, and without it, where it has to pass. A mutant outside of functions, whose statement runs at
import, and one of what runs inside the sandbox are tried with the test files that name the module, then with every test. What is not noticed within `--seconds` is
undecided. Packages take turns, so the `--first` so many mutants are of all of them.
"""

import argparse
import ast
import contextlib
import json
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
GUEST = PRODUCT / "sandbox/guest"
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


MARK = "getattr(__import__('builtins'), '_reach', int)({number})\n"
AT_START = """
import builtins, mmap, os
if os.environ.get("MUTANTS_REACHED"):
    try:
        with open(os.environ["MUTANTS_REACHED"], "r+b") as file:
            reached = mmap.mmap(file.fileno(), 0)
        builtins._reach = lambda number: reached.__setitem__(number, 1)
    except OSError:  # an interpreter inside the sandbox
        pass
"""
"""`sitecustomize` of every interpreter that a test starts: a process that it forks, a sandbox included, writes to the same memory."""
PLUGIN = """
import json, os, sys, time
import pytest
FOLDER, SIZE = os.environ["MUTANTS_FOLDER"], int(os.environ["MUTANTS_SIZE"])
NAME = os.path.join(FOLDER, os.environ.get("PYTEST_XDIST_WORKER", "alone"))
os.environ["MUTANTS_REACHED"] = NAME
with open(NAME, "wb") as file:
    file.write(bytes(SIZE))
sys.modules.pop("sitecustomize", None)
import sitecustomize
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    began = time.perf_counter()
    result = yield
    marks = sitecustomize.reached
    row = [item.nodeid, time.perf_counter() - began, [place for place in range(SIZE) if marks[place]]]
    marks[:] = bytes(SIZE)
    with open(NAME + ".jsonl", "a") as file:
        print(json.dumps(row), file=file)
    return result
"""


def place_of_mark(one: Mutant, text: str) -> tuple[int, int] | None:
    """Return line and column of the statement that evaluates a mutant, or None if that happens at import."""
    lines, found = text.splitlines(), None
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.body[0].lineno <= one.line:
            for node in ast.walk(function):
                if isinstance(node, ast.stmt) and node is not function and node.lineno <= one.line <= node.end_lineno:
                    begun = lines[node.lineno - 1]
                    if not (begun[: node.col_offset].strip() or begun[node.col_offset :].startswith("elif")):
                        found = max(found or (0, 0), (node.lineno, node.col_offset))
    return found


def mark(numbered: dict[int, Mutant], folder: Path) -> list[int]:
    """Mark the statements of all mutants in a copy of the tree; return the numbers of those that have none."""
    unmarked = []
    places: dict[Path, list[tuple[int, int, int]]] = {}
    for number, one in numbered.items():
        place = place_of_mark(one, (ROOT / one.path).read_text(encoding="utf-8"))
        if one.path.is_relative_to(GUEST):
            place = None  # a worker of the sandbox has an environment of its own: nothing would tell that it came there
        if place is None:
            unmarked.append(number)
        else:
            places.setdefault(one.path, []).append((*place, number))
    for path, marks in places.items():
        lines = (folder / path).read_text(encoding="utf-8").splitlines(keepends=True)
        for line, column, number in sorted(marks, reverse=True):
            lines.insert(line - 1, " " * column + MARK.format(number=number))
        (folder / path).write_text("".join(lines), encoding="utf-8")
    return unmarked


def record(numbered: dict[int, Mutant], folder: Path, log: Path) -> dict[int, list[str]]:
    """Run the suite and return by mutant the tests that reach it, the shortest first; a mutant that runs at import has none here."""
    whole = {one.path: (folder / one.path).read_bytes() for one in numbered.values()}
    unmarked = mark(numbered, folder)
    notes = folder.parent / "reached"
    notes.mkdir()
    extra = {"MUTANTS_FOLDER": str(notes), "MUTANTS_SIZE": str(max(numbered) + 1)}
    for name, text in (("sitecustomize", AT_START), ("reach_plugin", PLUGIN)):
        (folder / "src" / f"{name}.py").write_text(text)
    passes([*PYTEST, *PARALLEL, "-p", "reach_plugin"], folder, 3600, log, extra)
    said = log.read_text(encoding="utf-8", errors="replace")
    print(said.splitlines()[-1], *FAILED.findall(said), sep="\n", flush=True)
    for path, text in whole.items():
        (folder / path).write_bytes(text)
    rows = [json.loads(line) for file in notes.glob("*.jsonl") for line in file.read_text().splitlines()]
    rows.sort(key=lambda row: row[1])
    return {
        number: [name for name, _, reached in rows if number in reached]
        for number in numbered if number not in unmarked
    }  # fmt: skip


def stages_of(one: Mutant, reaching: list[str] | None) -> list[list[str]]:
    """Return what is run for a mutant, one after the other."""
    if reaching is not None:
        return [part for part in (reaching[:30], reaching[30:]) if part]
    module = ".".join(one.path.with_suffix("").relative_to("src").parts)
    naming = [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if re.search(rf"\b{re.escape(module)}\b", file.read_text(encoding="utf-8")) or file.stem.endswith(one.path.stem)
    ]
    return [part for part in (naming, ["tests"]) if part]


PYTEST = [".venv/bin/python", "-m", "pytest", "-q", "--level", "test", "-p", "no:cacheprovider",
          "-p", "no:randomly"]  # fmt: skip
PARALLEL = ["-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]
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


def try_reaching(one: Mutant, reaching: list[str] | None, folder: Path, seconds: float, log: Path) -> str:
    """Return "killed" and by which test, "survived", or "undecided" where there was no more time."""
    deadline = time.monotonic() + seconds
    unsteady: list[str] = []
    stages = stages_of(one, reaching)
    names = folder.parent / "names"
    for place, stage in enumerate(stages):
        result = ""
        while result != "passed":
            names.write_text("\n".join(name for name in stage if name not in unsteady))
            command = [
                *PYTEST,
                "-x",
                *(PARALLEL if place else []),
                *(f"--deselect={name}" for name in unsteady),
                f"@{names}",
            ]
            with mutated(one, folder):
                result = passes(command, folder, deadline - time.monotonic(), log)
            if result == "too long":
                return f"undecided: {place} of {len(stages)} stages took all the time"
            if result == "failed":
                (name, *_) = FAILED.findall(log.read_text(encoding="utf-8", errors="replace")) or [stage[0]]
                with mutated(one, folder):
                    fails_again = passes([*PYTEST, name], folder, seconds, log) == "failed"
                if name in unsteady or (fails_again and passes([*PYTEST, name], folder, seconds, log) == "passed"):
                    return f"killed by {name}"
                unsteady.append(name)  # it fails without any change, or by chance
    return f"survived {'no test comes there' if reaching == [] else f'{len(reaching)} tests' if reaching else ''}"


def try_command(one: Mutant, command: list[str], folder: Path, seconds: float, log: Path) -> str:
    """Return "killed" or "survived"."""
    with mutated(one, folder):
        return "survived" if passes(command, folder, seconds, log) == "passed" else "killed"


def passes(command: list[str], folder: Path, seconds: float, log: Path, extra: dict[str, str] | None = None) -> str:
    """Return "passed", "failed" or "too long"."""
    environment = {**os.environ, **(extra or {}), "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1",
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


def make_environment(folder: Path, installed: Path) -> None:
    """Make an environment whose Markbook is the copy's, also where a test sets PYTHONPATH, and whose other packages are installed."""
    subprocess.run([installed / "bin/python", "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    (packages,) = (folder / ".venv").glob("lib/python*/site-packages")
    (others,) = installed.glob("lib/python*/site-packages")
    (packages / "copy.pth").write_text(f"{folder / 'src'}\nimport site; site.addsitedir({str(others)!r})\n")
    for path in installed.glob(".*installed"):
        (folder / ".venv" / path.name).touch()  # `make` has nothing to install
    if (command := installed / "bin/markbook").exists():
        _, _, script = command.read_text(encoding="utf-8").partition("\n")
        (folder / ".venv/bin/markbook").write_text(f"#!{folder}/.venv/bin/python\n{script}", encoding="utf-8")
        (folder / ".venv/bin/markbook").chmod(0o755)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=10, help="mutants of each package (10)")
    parser.add_argument("--seed", default="1", help="what they are drawn by (1)")
    parser.add_argument("--packages", nargs="*", default=[], help="only these")
    parser.add_argument("--reach", action="store_true", help="run the tests that come to a mutant's place, no command")
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
    if options.reach:
        numbered = in_turn(numbered)
    numbered = dict(list(numbered.items())[: options.first])
    if options.list or not (options.command or options.reach):
        print(*(f"{number:3} {one}" for number, one in numbered.items()), sep="\n")
        return 0
    results = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as parent:
        folder, log = Path(parent) / "tree", Path(parent) / "log"
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT, symlinks=True)
        if (shared := ROOT.parent / "shared").exists():
            (Path(parent) / "shared").symlink_to(shared.resolve())
        if (installed := ROOT / ".venv").exists():
            make_environment(folder, installed.resolve())
        if not options.reach and (result := passes(options.command, folder, options.seconds, log)) != "passed":
            print(log.read_text(errors="replace")[-3000:], f"the command {result} without any change", sep="\n")
            return 2
        reaching = record(numbered, folder, log) if options.reach else {}
        for number, one in numbered.items():
            began = time.monotonic()
            if options.reach:
                verdict = try_reaching(one, reaching.get(number), folder, options.seconds, log)
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
