"""`markbook trace`, and how it shows a trace: in the terminal, and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from markbook.cli.options import Grouped, say
from markbook.errors import OutputError, UsageError, os_errors_as

if TYPE_CHECKING:
    from markbook.trace import Reference

_NAMED = 5
_EXAMPLES = """
\b
Examples:
  markbook trace spans.jsonl
  markbook trace run.json --reference expected.json --json
  markbook trace trajectories.json --reference-from-best
  markbook trace trajectories.json --run 9 --html page.html
"""


def trace_page(file: Path) -> str:
    """Return the page of a trace file as `markbook view` shows it.

    Raises:
        DataError: nothing in it can be read as a run.
    """
    from markbook.cli.trace.page import RunPages, render_page
    from markbook.cli.trace.terminal import TraceSum
    from markbook.metrics.graph import trace_metrics
    from markbook.traces import read_traces

    total, pages = TraceSum(file.name, "corrected"), RunPages()
    for run in read_traces(file):
        total.add(run, trace_metrics(run))
        pages.add(run, total.count, is_wanted=run is total.shown)
    return render_page(total, pages)


@click.command("trace", cls=Grouped, epilog=_EXAMPLES)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--reference",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Expected behaviour: a JSON list of calls, a map of contexts to tools, or a trace in any format.",
)
@click.option("--reference-from-best", is_flag=True, help="Use each task's shortest successful run as the reference.")
@click.option("--format", "reader", metavar="NAME", help="Format of the trace [default: detected from the content].")
@click.option("--profile", type=click.Choice(["corrected", "documented"]), default="corrected", help="Formulas to use.")
@click.option("--steps", default=40, show_default=True, help="Maximum lines of the timeline.")
@click.option("--run", "run_name", default="", metavar="RUN", help="Show this run of several: its id, or its number.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write an HTML page with the graph.")
@click.option(
    "--label-at", default="", metavar="URL", help="Link the page to this URL, which `markbook label --reasons` prints."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    file: Path,
    reference: Path | None,
    reader: str | None,
    html: Path | None,
    *,
    as_json: bool,
    run_name: str,
    **options: Any,
) -> None:
    """Show an agent trace: timeline, agent graph, metrics."""
    if reference is not None and options["reference_from_best"]:
        raise UsageError("--reference and --reference-from-best exclude each other")
    if reader is not None:
        from markbook.traces import check_format

        check_format(reader)
    from markbook.cli.trace.terminal import TraceSum
    from markbook.metrics.graph import trace_metrics
    from markbook.metrics.graph.all_metrics import best_run_references
    from markbook.traces import read_traces
    from markbook.traces.references import list_unused, pick, read_references

    references: dict[str, Reference] = {}
    if reference is not None:
        references = read_references(reference)
    elif options["reference_from_best"]:
        # A pass of its own over the file, for the best run of a task may be its last.
        references = best_run_references(read_traces(file, reader))
    total = TraceSum(file.name, options["profile"], run_name)
    pages = None
    if html is not None:
        from markbook.cli.trace.page import RunPages

        pages = RunPages(options["label_at"])
    names, n_unmatched = set[str](), 0
    # Run by run: a file of any size is shown without being held.
    for run in read_traces(file, reader):
        matching = pick(references, run)
        names |= {run.task, run.id}
        n_unmatched += matching is None
        total.add(run, trace_metrics(run, matching, profile=total.profile))
        if pages is not None:
            pages.add(run, total.count, is_wanted=run is total.shown)
    if run_name and not total.is_found:
        from markbook.text import terminal  # late: a module of this package has the same name

        names_here = ", ".join(terminal(str(run["id"]), limit=60) for run in total.runs[:_NAMED])
        raise UsageError(
            f"no run is called {run_name!r}",
            at=str(file),
            hint=f"there are {total.count:,}, by number or id: {names_here}",
        )
    if n_unmatched and (unused := list_unused(references, names)):
        here = ", ".join(sorted(filter(None, names))[:_NAMED]) or "without a name"
        say(f"markbook: no run here belongs to the reference of {', '.join(unused[:_NAMED])}; the runs are {here}")
    if html is not None and pages is not None:
        from markbook.cli.trace.page import render_page

        with os_errors_as(OutputError, "the page cannot be written", html):
            html.write_text(render_page(total, pages), encoding="utf-8", newline="\n")
        # On stderr: standard output may be JSON that a program reads.
        click.echo(f"wrote {html}", err=True)
    if as_json:
        import json

        # ASCII only: half a surrogate pair out of a foreign log comes out as its escape, and the output stays JSON.
        click.echo(json.dumps(total.as_json(), ensure_ascii=True, allow_nan=False, indent=2))
        return
    from markbook.cli.trace.terminal import show

    show(total, options["steps"])
