"""Which tasks of a folder can be run: lm-evaluation-harness's own, or any other.

python -m bench.task_language FOLDER [--json]

FOLDER is a checkout's `lm_eval/tasks`. Each YAML file is read as `markbook run` reads it, then its filters, metrics and
functions are looked up. Nothing of the folder is executed: with `--allow-code` a `!function` counts as found where the
Python file beside the YAML file defines the name; whether it would import is not tried. A family is a folder at the top.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markbook import config
from markbook.config import Task, TaskGroup
from markbook.config.tree import Function
from markbook.datasets.filters import build
from markbook.datasets.samples import check_sources
from markbook.datasets.user_code import Find, nothing
from markbook.errors import MarkbookError
from markbook.runs.tasks.metrics import bind
from markbook.runs.tasks.scorers import function_scorers, row_scorer


@functools.cache
def _names(path: Path) -> frozenset[str]:
    """Return the names that a Python file defines or imports at its top, without running it."""
    if not path.is_file():
        return frozenset()
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8", errors="replace"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(found)


def defined(function: Function) -> Callable[..., Any] | None:
    """Return something callable where a `!function` names what its file defines."""
    module, _, name = function.name.rpartition(".")
    path = function.folder.joinpath(*module.split(".")).with_suffix(".py") if module else Path()
    return _never if name in _names(path) or _makes_names(path) else None


@functools.cache
def _makes_names(path: Path) -> bool:
    """Whether a file makes functions under names that only running it would tell."""
    return path.is_file() and "globals()" in path.read_text(encoding="utf-8", errors="replace")


def _never(*_given: object, **_options: object) -> object:
    raise AssertionError("nothing of the folder is executed")


def reason_of(path: Path, find: Find) -> tuple[str, str]:
    """Return what a file is (`task`, `group`, `other`), and why it cannot be run; empty where it can."""
    try:
        kind = _kind(path)
        found = config.load(path)
        if isinstance(found, TaskGroup):
            return "group", ""
        check_task(found, find)
    except MarkbookError as error:
        return kind, _general(error.message)
    return "task", ""


def check_task(task: Task, find: Find) -> None:
    """Look everything up that a task names, but its rows.

    Raises:
        MarkbookError: what cannot be honoured.
    """
    check_sources(task, find)
    for pipeline in task.pipelines:
        build(pipeline, find)
    whole, own = row_scorer(task, find), function_scorers(task, find)
    if whole is None:
        bind(task, "corrected", has_references=task.references is not None, has_tests=False, own=set(own))


def _kind(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    if re.search(r"""^["']?group["']?:""", text, re.MULTILINE) and not re.search(
        r"^(doc_to|dataset_path|include)", text, re.MULTILINE
    ):
        return "group"
    return "task" if re.search(r"""^["']?task["']?:""", text, re.MULTILINE) else "other"


def _general(message: str) -> str:
    """Return a message without what is one task's own."""
    line = message.splitlines()[0]
    return re.sub(r"!function \S+", "!function X", re.sub(r"\d+", "N", line))[:110]


def main() -> None:
    """Print shares and reasons."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    files = sorted(args.folder.rglob("*.yaml"))
    record: dict[str, Any] = {"files": len(files)}
    for name, find in (("as they are", nothing), ("with --allow-code", defined)):
        record[name] = _measure(args.folder, files, find)
    if args.json:
        print(json.dumps(record, indent=2))
        return
    for name in ("as they are", "with --allow-code"):
        found = record[name]
        print(
            f"{name}: {found['tasks']} of {found['of_tasks']} tasks, {found['families']} of {found['of_families']} families"
        )
        for reason, (count, families) in found["refused"].items():
            print(f"  {count:6} {families:4}  {reason}")


def _measure(folder: Path, files: list[Path], find: Find) -> dict[str, Any]:
    whole: set[str] = set()
    good: set[str] = set()
    tasks = resolved = 0
    reasons: Counter[str] = Counter()
    where: dict[str, set[str]] = defaultdict(set)
    for path in files:
        kind, reason = reason_of(path, find)
        if kind != "task":
            continue
        family = path.relative_to(folder).parts[0]
        tasks += 1
        whole.add(family)
        if reason:
            reasons[reason] += 1
            where[reason].add(family)
        else:
            resolved += 1
            good.add(family)
    listed = {reason: (count, len(where[reason])) for reason, count in reasons.most_common(40)}
    return {"tasks": resolved, "of_tasks": tasks, "families": len(good), "of_families": len(whole), "refused": listed}


if __name__ == "__main__":
    main()
