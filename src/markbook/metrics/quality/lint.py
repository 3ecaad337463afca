"""What ruff and bandit say about answers: evidence beside a score, never the score.

Their rules change from version to version, so the versions stand beside every finding. One process for the whole
batch: a process an answer costs 11 ms (ruff) or half a second (bandit).
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from markbook.errors import ExtraMissingError, IncompleteError, UsageError

TOOLS = ("ruff", "bandit")
_SECONDS = 600.0
_RUFF = (
    *("check", "--isolated", "--preview", "--no-cache", "--exit-zero", "--quiet", "--ignore-noqa"),
    *("--select", "E1,E2,E501,E7,F,D1,ANN,S,PERF,N,BLE", "--line-length", "80", "--output-format", "json"),
)
_BANDIT = ("-r", "-f", "json", "-q", "--ignore-nosec", "--exit-zero")


def check_tools(tools: Sequence[str]) -> tuple[str, ...]:
    """Return the tools' names, in order.

    Raises:
        UsageError: one of them is unknown.
        ExtraMissingError: one of them is not installed (extra `lint`).
    """
    for tool in tools:
        if tool not in TOOLS:
            raise UsageError(f"unknown evidence {tool!r}", hint="ruff, bandit")
        if importlib.util.find_spec(tool) is None:  # not imported: they run in a process of their own
            raise ExtraMissingError(f"this needs the package {tool!r}", hint="pip install 'markbook[lint]'")
    return tuple(tools)


def findings(tools: Sequence[str], sources: Sequence[str | None]) -> list[dict[str, object]]:
    """Return, for each source, `{tool: {"version", "rules": {rule id: count}}}`; empty for None."""
    findings_by_source: list[dict[str, object]] = [{} for _ in sources]
    if not tools or not any(source is not None for source in sources):
        return findings_by_source
    with tempfile.TemporaryDirectory(prefix="markbook-lint-") as folder:
        for index, source in enumerate(sources):
            if source is not None:
                # A lone surrogate cannot stand in a file; the linters then see a question mark in its place.
                text = source.encode("utf-8", "replace").decode("utf-8")
                (Path(folder) / f"answer_{index}.py").write_text(text, encoding="utf-8", newline="\n")
        for tool in tools:
            rules = (_ruff if tool == "ruff" else _bandit)(folder)
            version = metadata.version(tool)
            for index, source in enumerate(sources):
                if source is not None:
                    counted: Mapping[str, int] = rules.get(f"answer_{index}.py", Counter())
                    findings_by_source[index][tool] = {"version": version, "rules": dict(sorted(counted.items()))}
    return findings_by_source


def _ruff(folder: str) -> dict[str, Counter[str]]:
    rows = _run("ruff", [*_RUFF, folder])
    return _count((row["filename"], row["code"] or "syntax") for row in rows)


def _bandit(folder: str) -> dict[str, Counter[str]]:
    rows = _run("bandit", [*_BANDIT, folder])["results"]
    return _count((row["filename"], row["test_id"]) for row in rows)


def _run(tool: str, arguments: Sequence[str]) -> Any:
    command = [sys.executable, "-m", tool, *arguments]
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        message = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise IncompleteError(f"{tool} gave no findings (exit {done.returncode}): {message}") from error


def _count(pairs: Any) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for name, rule in pairs:
        counts.setdefault(Path(name).name, Counter())[rule] += 1
    return counts
