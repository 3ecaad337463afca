"""`markbook demo`."""

from __future__ import annotations

import shlex
from typing import Literal

import click

from markbook.cli.options import ended_by_signal, isolation_option, output_option

_SECONDS = 2.0
"""The demo's CPU limit: one of its answers loops for ever, and nobody wants to wait a minute to see that."""


@click.command("demo")
@output_option
@isolation_option
def command(output: str, isolation: Literal["auto", "strict", "weak"]) -> int:
    """Mark three recorded models on the bundled exam: no network, no key, a few seconds."""
    from markbook.cli.terminal.exam import ExamTerminal, show_run
    from markbook.examples import example
    from markbook.runs.exam.work import exam

    folder = example("exam")
    models = [folder / name for name in ("scholar-70b", "apprentice-13b", "novice-1b")]
    terminal = ExamTerminal()
    with ended_by_signal(), terminal:
        run = exam(folder / "benchmark", models, output, watcher=terminal, timeout=_SECONDS, isolation=isolation)
    show_run(run, as_json=False)
    click.echo("\nThe same, written out:")
    named = shlex.join(["--benchmark", str(folder / "benchmark"), "--solutions", *map(str, models)])
    click.echo(f"  markbook exam {named} --timeout {_SECONDS:g}")
    click.echo(f"\nReports: {run.folder}/")
    return 0
