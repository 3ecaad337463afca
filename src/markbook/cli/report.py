"""`markbook report`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from markbook.cli.options import map_option

if TYPE_CHECKING:
    from markbook.store import Run

_EXAMPLES = """
\b
Examples:
  markbook report generated/evaluation_1790000000
  markbook report generated/evaluation_1790000000 --format junit --output build/
  markbook report generated/evaluation_1790000000 --format csv --output -
"""


@click.command("report", epilog=_EXAMPLES)
@click.argument("run", type=click.Path())
@click.option(
    "--format",
    "format_name",
    default="html",
    show_default=True,
    help="html, md, junit, csv, json, lm-eval, parquet, every-eval-ever, documented, or a report plugin.",
)
@click.option("--output", type=click.Path(), help="Folder for it, or - for stdout [default: the run's own folder].")
@map_option
@click.option("--json", "as_json", is_flag=True, help="Print the files' paths as JSON.")
def command(run: str, format_name: str, output: str | None, columns: dict[str, str] | None, *, as_json: bool) -> int:
    """Write a new report from an old run. Nothing is executed again."""
    from pathlib import Path

    from markbook.errors import UsageError
    from markbook.report.renew import write_report
    from markbook.store import open_run

    found = open_run(run, columns=columns)
    _say_partial(found)
    if output == "-":
        return _print(found, format_name)
    if output is None and not found.folder.is_dir():
        raise UsageError(
            "another tool's results are only read, and nothing is written beside them",
            hint="name a folder with --output",
        )
    paths = write_report(found, format_name, Path(output) if output else found.folder)
    if as_json:
        click.echo(json.dumps({"format": format_name, "files": [str(path) for path in paths]}, indent=2))
    else:
        for path in paths:
            click.echo(str(path))
    return 0


def _say_partial(run: Run) -> None:
    """Say on stderr how much of a run that broke off is marked."""
    if run.status != "done":
        from markbook.results.kind import results_of

        note = results_of(run, partial=True).partial_note()
        if note:
            click.echo(note, err=True)


def _print(run: Run, format_name: str) -> int:
    """Print a report of one file on stdout.

    Raises:
        UsageError: the report has several files.
    """
    import shutil
    import tempfile
    from pathlib import Path

    from markbook.errors import UsageError
    from markbook.report.renew import write_report

    with tempfile.TemporaryDirectory() as folder:
        paths = write_report(run, format_name, Path(folder))
        text = [path for path in paths if path.suffix != ".png"]
        if len(text) != 1:
            raise UsageError(f"the report {format_name!r} has {len(text)} files", hint="name a folder with --output")
        with text[0].open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    return 0
