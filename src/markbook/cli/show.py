"""`markbook show` and `markbook view`: one item in the terminal, runs in a local page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from markbook.cli.options import completing, run_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markbook.results.kind import Results, Shown


# `markbook view`.


@click.command("view")
@click.argument("folder", type=click.Path(), default="generated", metavar="[DIR]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of 127.0.0.1 [default: a free one].")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
def view_command(folder: str, port: int, *, open_browser: bool) -> int:
    """Browse the runs in a folder in a local page, until interrupted.

    Lists runs, filters attempts, opens one with its code and tests, and sets two side by side. It answers this
    machine only, to whoever has the printed address, and writes nothing.
    """
    from markbook.errors import OutputError, UsageError
    from markbook.report.browser import BrowseServer
    from markbook.store.reader import latest_run

    path = latest_run(folder)
    if not path.is_dir():
        raise UsageError("there is no such folder", at=folder, hint="name the folder that runs were written to")
    try:
        server = BrowseServer(path, port)
    except OSError as error:
        raise OutputError(f"port {port} cannot be used: {error.strerror or error}") from error
    with server:
        click.echo(server.address)
        click.echo("Press Ctrl-C to stop.", err=True)
        if open_browser:
            import webbrowser

            webbrowser.open(server.address)
        server.serve_forever()
    return 0


# `markbook show`.

_EXAMPLES = """
\b
Examples:
  markbook show latest HumanEval/39
  markbook show generated/evaluation_1790000000 HumanEval/39 \\
      --model starcoder
  markbook show latest HumanEval/39 --json
"""
_MOST = 200
"""Attempts at one item that are shown."""


@click.command("show", epilog=_EXAMPLES)
@click.argument("run", type=click.Path(), shell_complete=completing(run_names, files=True))
@click.argument("item")
@click.option("--model", default="", help="Only this model's attempts.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list with one object an attempt.")
def command(run: str, item: str, model: str, *, as_json: bool) -> int:
    """Show one ITEM of a RUN: what was asked, what each model answered, every test, and why it failed.

    RUN is a run's folder, a folder with a single run in it, or `latest`.
    """
    from markbook.report.item import as_record, render_lines
    from markbook.results.kind import open_results
    from markbook.store import open_run

    attempts = _attempts(open_results(open_run(run), partial=True), item, model)
    if as_json:
        click.echo(json.dumps([as_record(attempt) for attempt in attempts], indent=2, ensure_ascii=False))
        return 0
    for position, attempt in enumerate(attempts):
        if position:
            click.echo()
        for line in render_lines(attempt, prompt=position == 0):
            click.echo(line)
    return 0


def _attempts(results: Results, item: str, model: str) -> Sequence[Shown]:
    """Return every attempt at an item.

    Raises:
        UsageError: there is none, or the model made none.
    """
    from markbook.errors import UsageError, suggest

    entries = list(results.entries())
    at_it = [entry for entry in entries if entry.sample == item]
    if not at_it:
        names = list(dict.fromkeys(entry.sample for entry in entries))
        raise UsageError(f"the run has no attempt at {item!r}", hint=suggest(item, names) if names else "it is empty")
    chosen = [entry for entry in at_it if not model or entry.model == model]
    if not chosen:
        names = list(dict.fromkeys(entry.model for entry in at_it))
        raise UsageError(f"{model!r} made no attempt at {item!r}", hint=suggest(model, names))
    return [results.show_attempt(entry.location) for entry in chosen[:_MOST]]
