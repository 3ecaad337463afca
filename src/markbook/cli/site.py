"""`markbook site`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from markbook.cli.options import different_measures_option, map_option, opened_runs, runs_argument
from markbook.cli.options.number import Number

_EXAMPLES = """
\b
Examples:
  markbook site generated -o public/
  markbook site lm_eval_output/ logs/ -o public/ --metric acc --metric match
"""


@click.command("site", epilog=_EXAMPLES)
@runs_argument
@click.option(
    "-o", "--output", required=True, type=click.Path(), help="Folder for the pages; a new or empty one, or a site."
)
@click.option("--title", default="Leaderboard", show_default=True, help="What it is called.")
@click.option("--metric", multiple=True, help="By this metric; several times, each run by the first that it has.")
@different_measures_option
@map_option
@click.option("--alpha", type=Number(0.0001, 0.5), default=0.05, show_default=True, help="Error of all claims.")
@click.option("--seed", type=int, default=0, show_default=True, help="For what is drawn.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def command(runs: tuple[str, ...], output: str, **options: Any) -> int:
    """Write a leaderboard as static pages that open from a file.

    Groups of models that cannot be told apart instead of bare ranks, intervals, scored M of N, and a page for each model and
    each item. The same runs give the same bytes.
    """
    from markbook.report.board import pages
    from markbook.report.renew import new_site
    from markbook.results.compare import read_sheets
    from markbook.results.leaderboard import leaderboard

    opened = opened_runs(runs, options["columns"])
    sheet = read_sheets(opened, metric=options["metric"], allow_different_measures=options["allow_different_measures"])
    board = leaderboard(sheet, alpha=options["alpha"], seed=options["seed"])
    files = pages(sheet, board, title=options["title"], alpha=options["alpha"])
    count = new_site(Path(output), files)
    index = str(Path(output) / "index.html")
    report = {"index": index, "pages": count, "models": len(sheet.models), "items": len(sheet.samples)}
    click.echo(json.dumps(report, indent=2) if options["as_json"] else index)
    return 0
