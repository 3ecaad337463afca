"""Count the assertions of every test file now and at a commit, and end with 1 where a file has fewer.

    python scripts/count_assertions.py [COMMIT]

An assertion is an `assert` statement, a call of `pytest.raises`, `pytest.warns` or `pytest.fail`, or a call of a function
whose name begins with `assert_`, in tests and in their helpers. A file that was moved counts as one that has fewer.
Without COMMIT the working tree is compared with HEAD.
"""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CALLS = {"raises", "warns", "fail"}
CORPORA = ("tests/security/attacks/", "tests/security/honest/", "tests/data/", "tests/fuzz_corpus/")
"""Programs that are marked, whose asserts are none of ours."""


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
    return path.endswith(".py") and not path.startswith(CORPORA)


def now() -> dict[str, int]:
    """Return the counts of the working tree, by path."""
    paths = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")]
    return {path: count((ROOT / path).read_text(encoding="utf-8")) for path in paths if is_ours(path)}


def before(commit: str) -> dict[str, int]:
    """Return the counts of a commit, by path."""
    listed = git("ls-tree", "-r", "--name-only", commit, "tests").splitlines()
    return {path: count(git("show", f"{commit}:{path}")) for path in listed if is_ours(path)}


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> int:
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    old, new = before(commit), now()
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
