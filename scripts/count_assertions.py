"""Count the assertions of every test file now and at a commit, and end with 1 where a file has fewer.

    python scripts/count_assertions.py [COMMIT]

An assertion is an `assert` statement, a call of `pytest.raises`, `pytest.warns` or `pytest.fail`, or a call of a function
whose name begins with `assert_`, in tests and in their helpers. A file that was moved is compared with itself, by its name.
Without COMMIT the working tree is compared with HEAD.
"""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CALLS = {"raises", "warns", "fail"}
CORPORA = {"attacks", "honest", "data", "fuzz_corpus"}
"""Folders of programs that are marked: their asserts are not the suite's."""


def count(text: str) -> int:
    """Return the assertions of a module."""
    return sum(is_assertion(node) for node in ast.walk(ast.parse(text)))


def is_assertion(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    of_pytest = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "pytest"
    return (of_pytest and name in CALLS) or name.startswith("assert_")


def is_ours(path: str) -> bool:
    return path.endswith(".py") and not CORPORA & set(path.split("/")[:-1])


def now() -> dict[str, int]:
    """Return the counts of the working tree, by path."""
    paths = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")]
    return {path: count((ROOT / path).read_text(encoding="utf-8")) for path in paths if is_ours(path)}


def before(commit: str) -> dict[str, int]:
    """Return the counts of a commit, by path."""
    listed = git("ls-tree", "-r", "--name-only", commit, "tests").splitlines()
    return {path: count(git("show", f"{commit}:{path}")) for path in listed if is_ours(path)}


def follow_moves(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    """Return the old counts under the paths of today: a file that went, and one of the same name that came, are the same."""
    came = new.keys() - old.keys()
    counts: Counter[str] = Counter()
    for path, number in old.items():
        targets = [other for other in came if Path(other).name == Path(path).name] if path not in new else []
        counts[targets[0] if len(targets) == 1 else path] += number
    return counts


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> int:
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    new = now()
    old = follow_moves(before(commit), new)
    fewer = 0
    for path in sorted(old.keys() | new.keys()):
        was, is_now = old.get(path, 0), new.get(path, 0)
        fewer += is_now < was
        if was != is_now:
            print(f"{path}: {was} -> {is_now}{' (fewer)' if is_now < was else ''}")
    print(f"all: {sum(old.values())} at {commit} -> {sum(new.values())} now; {fewer} files have fewer")
    return 1 if fewer else 0


if __name__ == "__main__":
    sys.exit(main())
