"""`markbook report` and `markbook site`: reports of finished runs, and a leaderboard of many."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from markbook.cli.options import (
    Grouped,
    Number,
    completing,
    map_option,
    open_all_runs,
    options_of,
    part_names,
    run_names,
    runs_argument,
)
from markbook.errors import UsageError
from markbook.measurements import SIGNIFICANCE
from markbook.runs.options import StoppingOptions

if TYPE_CHECKING:
    from markbook.store import Run


# `markbook site`.

_EXAMPLES = """
\b
Examples:
  markbook site generated -o public/
  markbook site lm_eval_output/ logs/ -o public/ --metric acc --metric match
"""


@click.command("site", cls=Grouped, epilog=_EXAMPLES)
@runs_argument
@click.option(
    "-o", "--output", required=True, type=click.Path(), help="Folder for the pages: new, empty, or an earlier site."
)
@click.option("--title", default="Leaderboard", show_default=True, help="Title of the site.")
@click.option("--metric", multiple=True, help="The metric. Repeatable: each run uses the first one that it has.")
@options_of(StoppingOptions, only=("allow_different_measures",))
@map_option
@click.option("--alpha", type=Number(0.0001, 0.5), default=SIGNIFICANCE, show_default=True, help="Family error rate.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of resampling.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def site_command(runs: tuple[str, ...], output: str, **options: Any) -> int:
    """Write a leaderboard as static pages that open from a file.

    The pages show groups of models that do not differ significantly, ranges of ranks, intervals, and the number of scored
    samples. Each model and each item has its own page. The same runs give identical pages.
    """
    from markbook.report.board import pages
    from markbook.report.exports import new_site
    from markbook.results.compare import read_sheets
    from markbook.results.leaderboard import leaderboard

    opened = open_all_runs(runs, options["columns"])
    # One sheet for all runs, so that models of different runs stand in one ranking over common samples.
    sheet = read_sheets(opened, metric=options["metric"], allow_different_measures=options["allow_different_measures"])
    board = leaderboard(sheet, alpha=options["alpha"], seed=options["seed"])
    files = pages(sheet, board, title=options["title"], alpha=options["alpha"])
    count = new_site(Path(output), files)
    index = str(Path(output) / "index.html")
    report = {"index": index, "pages": count, "models": len(sheet.models), "items": len(sheet.samples)}
    click.echo(json.dumps(report, indent=2) if options["as_json"] else index)
    return 0


# `markbook report`.

INCOMPLETE = 3
_REPORT_EXAMPLES = """
\b
Examples:
  markbook report generated/evaluation_1790000000
  markbook report generated/evaluation_1790000000 --format junit \\
      --output build/
  markbook report generated/evaluation_1790000000 --format csv --output -
  markbook report latest --format latex --output paper/
  markbook report latest --figures paper/figures/
"""


@click.command("report", cls=Grouped, epilog=_REPORT_EXAMPLES)
@click.argument("run", type=click.Path(), shell_complete=completing(run_names, files=True))
@click.option(
    "--format",
    "format_name",
    shell_complete=completing(part_names("reports")),
    default="html",
    show_default=True,
    help="html, md, latex, junit, csv, json, lm-eval, parquet, every-eval-ever, documented, or a report plugin.",
)
@click.option(
    "-o", "--output", type=click.Path(), help="Folder for the report, or - for stdout [default: the run's own folder]."
)
@click.option(
    "--figures", type=click.Path(), metavar="DIR", help="Write only the charts, as SVG and PNG files, to this folder."
)
@map_option
@click.option("--json", "as_json", is_flag=True, help="Print the files' paths as JSON.")
def command(
    run: str,
    format_name: str,
    output: str | None,
    figures: str | None,
    columns: dict[str, str] | None,
    *,
    as_json: bool,
) -> int:
    """Write a report of a finished run. Nothing is executed again."""
    from markbook.report.exports import INSTALL, write_figures, write_report
    from markbook.store import open_run

    opened = open_run(run, columns=columns)
    if columns:
        from markbook.foreign.reading import check_map

        check_map([opened.folder], columns)
    # Say on stderr how much of a run that broke off is marked
    if opened.status != "done":
        from markbook.results.kind import open_results

        note = open_results(opened, partial=True).partial_note()
        if note:
            click.echo(note, err=True)
    if figures is not None:
        paths, is_whole = write_figures(opened, Path(figures))
        _say_paths("figures", paths, as_json=as_json)
        if not is_whole:
            click.echo(f"PNG needs an extra package: {INSTALL}", err=True)
        return 0 if is_whole else INCOMPLETE
    if output == "-":
        return _print(opened, format_name)
    # A run of ours is a folder; another tool's results may be a single file, beside which we write nothing.
    if output is None and not opened.folder.is_dir():
        raise UsageError(
            "no report is written into the folder of another tool's results", hint="name a folder with --output"
        )
    paths = write_report(opened, format_name, Path(output) if output else opened.folder)
    _say_paths(format_name, paths, as_json=as_json)
    return 0


def _say_paths(what: str, paths: list[Path], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"format": what, "files": [str(path) for path in paths]}, indent=2))
        return
    for path in paths:
        click.echo(str(path))


def _print(run: Run, format_name: str) -> int:
    """Print a report of one file on stdout; UsageError for one of several."""
    import shutil
    import tempfile

    from markbook.report.exports import write_report

    # Written out first: how many files a report has is known only when they are there, and half a report is never
    # printed.
    with tempfile.TemporaryDirectory() as folder:
        paths = write_report(run, format_name, Path(folder))
        text = [path for path in paths if path.suffix != ".png"]
        if len(text) != 1:
            raise UsageError(f"the report {format_name!r} has {len(text)} files", hint="name a folder with --output")
        with text[0].open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()  # what cannot be written is to be known here, not when the interpreter ends
    return 0
