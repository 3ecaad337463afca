"""What a run of tasks shows on a terminal, and the gates that a user may set."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
from rich.console import Console

from markbook.aggregate.task_tables import tables
from markbook.cli.options import cost_text
from markbook.errors import GateFailed, UsageError
from markbook.pipeline.task import Watcher
from markbook.plugins import suggest
from markbook.text import terminal

if TYPE_CHECKING:
    from markbook.model import Reply
    from markbook.pipeline.task_plan import Plan
    from markbook.store import Run

_EVERY = 5.0
"""Seconds between two lines of progress."""
_TERMINAL_EVERY = 0.5
_MAX_NAMED = 1000


class Terminal(Watcher):
    """Progress on stderr, a line now and then."""

    def __init__(self, *, verbose: bool = False, gates: Sequence[Gate] = ()) -> None:
        self._verbose = verbose
        self._gates = gates
        self._total = self._done = self._failed = 0
        self._start = self._last = time.monotonic()
        self._reasons: dict[str, int] = {}
        self._on_terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._total:
            self._line()
            if self._on_terminal:
                click.echo(err=True)
        for reason, count in self._reasons.items():
            click.echo(f"no answer ({count} of {self._total}): {reason}", err=True)

    def planned(self, plan: Plan) -> None:
        """Say what was skipped; refuse a gate that nothing can pass.

        Raises:
            UsageError: no task has a gate's metric.
        """
        known = [(each.task.name, key) for each in plan.tasks for key in each.keys]
        for gate in self._gates:
            task, _, metric = gate.name.rpartition("/")
            if not any(metric == key and task in ("", name) for name, key in known):
                hint = suggest(metric, list(dict.fromkeys(key for _name, key in known)))
                raise UsageError(f"--fail-under {gate.name}: no task has this metric", hint=hint)
        for warning in plan.warnings:
            click.echo(f"warning: {terminal(warning, limit=500)}", err=True)
        if self._verbose:
            for each in plan.rejections[:_MAX_NAMED]:
                click.echo(f"  {terminal(each.at)}: {terminal(each.reason, limit=300)}", err=True)

    def started(self, folder: Path, questions: int, done_before: int) -> None:
        """Say how much there is to do."""
        self._total, self._done = questions, done_before
        before = f", {done_before} answered before" if done_before else ""
        click.echo(f"{folder}: {questions} questions{before}", err=True)

    def replied(self, reply: Reply) -> None:
        """Count."""
        self._done += 1
        if reply.missing is not None:
            self._failed += 1
            reason = terminal(reply.missing.detail, limit=200)
            self._reasons[reason] = self._reasons.get(reason, 0) + 1
        now = time.monotonic()
        if now - self._last >= (_TERMINAL_EVERY if self._on_terminal else _EVERY):
            self._last = now
            self._line()

    def _line(self) -> None:
        failed = f", {self._failed} without an answer" if self._failed else ""
        text = f"{self._done} of {self._total} answered{failed}, {time.monotonic() - self._start:.0f} s"
        click.echo(f"\r{text}" if self._on_terminal else text, err=True, nl=not self._on_terminal)


def show_run(run: Run, summary: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the results on stdout."""
    usage = run.manifest.get("usage")
    if as_json:
        record = {"folder": str(run.folder), "status": run.status, "usage": usage, **summary}
        click.echo(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False))
        return
    console = Console()
    for table in tables(summary):
        console.print(table.rich())
    if usage:
        cost = cost_text(usage)
        tokens = "unknown" if usage["input_tokens"] is None else f"{usage['input_tokens']} + {usage['output_tokens']}"
        click.echo(f"{usage['replies']} replies, {usage['requests']} requests, tokens {tokens}, {cost}")
    if run.status == "incomplete":
        broken = ", ".join(f"{count} x {what}" for what, count in run.manifest.get("broken", {}).items())
        click.echo(f"incomplete: {terminal(broken)}; `--resume {run.folder}` tries again", err=True)
    click.echo(f"{run.folder}")


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold that the user set."""

    name: str
    limit: float


def parse_gates(texts: Sequence[str]) -> list[Gate]:
    """Return gates from `NAME=X`.

    Raises:
        UsageError: it is not a name and a number.
    """
    gates = []
    for text in texts:
        name, sign, limit = text.rpartition("=")
        try:
            gates.append(Gate(name, float(limit)))
        except ValueError:
            sign = ""
        if not sign or not name:
            raise UsageError(
                f"{text!r} is no gate", hint="NAME=X, such as bleu=0.3 or python_code_repair/exact_match=0.5"
            )
    return gates


def check_gates(summary: Mapping[str, Any], gates: Sequence[Gate]) -> None:
    """Hold the results against the gates; a metric without a value does not pass.

    Raises:
        UsageError: no task has the metric.
        GateFailed: one is worse than its gate.
    """
    failed = []
    for gate in gates:
        task, _, metric = gate.name.rpartition("/")
        found = [
            (name, record["metrics"][metric])
            for name, record in summary["tasks"].items()
            if task in ("", name) and metric in record["metrics"]
        ]
        if not found:
            raise UsageError(f"--fail-under {gate.name}: no task has this metric")
        for name, record in found:
            value = record["value"]
            worse = value is None or (value < gate.limit if record["direction"] == "higher" else value > gate.limit)
            if worse:
                shown = "has no value" if value is None else f"is {value:.4f}"
                failed.append(f"{name}/{metric} {shown}, the gate is {gate.limit:g}")
    if failed:
        raise GateFailed("; ".join(failed))
