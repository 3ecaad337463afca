"""`markbook exam`."""

from __future__ import annotations

import click


@click.command("exam")
def command() -> None:
    """Run model solutions against a benchmark's tests and score them like an exam."""
