"""`markbook noise`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from markbook.cli.options import map_option, opened_runs, runs_argument

_EXAMPLES = """
\b
Examples:
  markbook noise run-1 run-2 run-3   (the same model, run three times)
  markbook noise trajectories.json   (tau-bench: four trials a task)
"""


@click.command("noise", epilog=_EXAMPLES)
@runs_argument
@click.option("--metric", multiple=True, help="By this metric, where a run has several.")
@map_option
@click.option("--seed", type=int, default=0, show_default=True, help="For the halves that are drawn.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(runs: tuple[str, ...], **options: Any) -> int:
    """Say how much a result moves when nothing changes.

    How often an item flips between identical runs, the difference that two single runs must show, how many repeats a
    difference needs, how reliable the items are, and pass^k. A model of several runs is the same one, run again.
    """
    from markbook.results.compare import sheets_of
    from markbook.results.noise import noise, tables

    opened = opened_runs(runs, options["columns"])
    noises = noise(opened, metric=options["metric"], seed=options["seed"])
    metric = sheets_of(opened, options["metric"])[0][1].metric
    if options["as_json"]:
        click.echo(
            json.dumps({"metric": metric, "models": [model.to_record() for model in noises]}, indent=2, allow_nan=False)
        )
        return 0
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=200)
    for table in tables(noises, metric):
        console.print(table.rich())
    return 0
