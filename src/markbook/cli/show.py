"""`markbook show` and `markbook view`: one item in the terminal, runs in a local page."""

from __future__ import annotations

import json

import click

from markbook.cli.options import Grouped, completing, run_names
from markbook.errors import UsageError, suggest

# `markbook view`.


@click.command("view", cls=Grouped)
@click.argument("folder", type=click.Path(), default="generated", metavar="[DIR]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1 [default: a free one].")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
def view_command(folder: str, port: int, *, open_browser: bool) -> int:
    """Browse the runs in a folder in a local page, until interrupted.

    Lists runs and traces, filters attempts, shows an attempt with its code and tests, and compares up to six side by side. The
    printed address works on this machine only, and nothing is written.
    """
    from markbook.cli.trace import trace_page
    from markbook.report.browser import BrowseServer
    from markbook.store.reader import latest_run

    path = latest_run(folder)
    if not path.is_dir():
        raise UsageError("there is no such folder", at=folder, hint="name the folder that runs were written to")
    with BrowseServer(path, port, trace_page=trace_page) as server:
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
"""Attempts at one item that a terminal is shown; JSON has all."""


@click.command("show", epilog=_EXAMPLES)
@click.argument("run", type=click.Path(), shell_complete=completing(run_names, files=True))
@click.argument("item")
@click.option("--model", default="", help="Only this model's attempts.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list with one object per attempt.")
def command(run: str, item: str, model: str, *, as_json: bool) -> int:
    """Show one ITEM of a RUN: prompt, each model's answer, every test, and why it failed.

    RUN is a run's folder, a folder with a single run in it, or `latest`.
    """
    from markbook.report.item import as_record, render_lines
    from markbook.results.kind import open_results
    from markbook.store import open_run

    # Also of a run that broke off: a single attempt is what it is, whatever the others come to.
    results = open_results(open_run(run), partial=True)
    entries = list(results.entries())
    # Item and model one after the other, so that the message names the one that does not exist.
    at_it = [entry for entry in entries if entry.sample == item]
    if not at_it:
        names = list(dict.fromkeys(entry.sample for entry in entries))
        raise UsageError(f"the run has no attempt at {item!r}", hint=suggest(item, names) if names else "it is empty")
    chosen = [entry for entry in at_it if not model or entry.model == model]
    if not chosen:
        names = list(dict.fromkeys(entry.model for entry in at_it))
        raise UsageError(f"{model!r} made no attempt at {item!r}", hint=suggest(model, names))
    if as_json:
        records = [as_record(results.show_attempt(entry.location)) for entry in chosen]
        click.echo(json.dumps(records, indent=2, ensure_ascii=False))
        return 0
    prompt: str | None = None
    for position, entry in enumerate(chosen[:_MOST]):
        attempt = results.show_attempt(entry.location)
        if position:
            click.echo()
        # What was asked stands once, and again where somebody was asked otherwise.
        for line in render_lines(attempt, prompt=attempt.prompt != prompt):
            click.echo(line)
        prompt = attempt.prompt
    if len(chosen) > _MOST:
        click.echo(f"\n... and {len(chosen) - _MOST} more attempts: --json shows all, --model those of one model")
    return 0
