"""`markbook trace`, and how it shows a trace: in the terminal, and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from markbook.cli.options import say

if TYPE_CHECKING:
    from markbook.cli.trace.terminal import TraceSum
    from markbook.trace import Reference, Trace

_NAMED = 5
_EXAMPLES = """
\b
Examples:
  markbook trace spans.jsonl
  markbook trace run.json --reference expected.json --json
  markbook trace trajectories.json --reference-from-best
"""


@click.command("trace", epilog=_EXAMPLES)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--reference",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What a good run does: a JSON list of calls, a map of contexts to tools, or a trace in any format.",
)
@click.option("--reference-from-best", is_flag=True, help="Take each task's shortest successful run as the reference.")
@click.option("--format", "reader", metavar="NAME", help="The trace's format; found out from the content by default.")
@click.option("--profile", type=click.Choice(["corrected", "documented"]), default="corrected", show_default=True)
@click.option("--steps", default=40, show_default=True, help="Lines of the timeline.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the graph drawn.")
@click.option(
    "--label-at", default="", metavar="URL", help="What `markbook label --reasons` printed: the page links to it."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(  # noqa: PLR0913 - one argument an option
    file: Path,
    reference: Path | None,
    reader: str | None,
    profile: str,
    steps: int,
    html: Path | None,
    label_at: str,
    *,
    reference_from_best: bool,
    as_json: bool,
) -> None:
    """Show one trace: its timeline, its graph of agents, and its numbers."""
    from markbook.errors import UsageError

    if reference is not None and reference_from_best:
        raise UsageError("--reference and --reference-from-best exclude each other")
    if reader is not None:
        from markbook.traces import check_format

        check_format(reader)
    references = _references(file, reference, reader, from_best=reference_from_best)
    total = _sum_traces(file, reader, references, profile)
    if html is not None:
        from markbook.cli.trace.page import write_page

        write_page(total, html, label_at)
        click.echo(f"wrote {html}", err=True)
    if as_json:
        import json

        click.echo(json.dumps(total.as_json(), ensure_ascii=True, allow_nan=False, indent=2))
        return
    from markbook.cli.trace.terminal import show

    show(total, steps)


def _references(file: Path, reference: Path | None, reader: str | None, *, from_best: bool) -> dict[str, Reference]:
    if reference is not None:
        from markbook.traces.references import read_references

        return read_references(reference)
    if from_best:
        from markbook.metrics.graph.all_metrics import best_run_references

        return best_run_references(_runs(file, reader))
    return {}


def _runs(file: Path, reader: str | None) -> Iterator[Trace]:
    from markbook.traces import read_traces

    return read_traces(file, reader)


def _sum_traces(file: Path, reader: str | None, references: dict[str, Reference], profile: str) -> TraceSum:
    from markbook.cli.trace.terminal import TraceSum
    from markbook.metrics.graph import trace_metrics
    from markbook.traces.references import list_unused, pick

    total = TraceSum(file.name, profile)
    names, lacking = set[str](), 0
    for run in _runs(file, reader):
        reference = pick(references, run)
        names |= {run.task, run.id}
        lacking += reference is None
        total.add(run, trace_metrics(run, reference, profile=total.profile))
    if lacking and (unmatched := list_unused(references, names)):
        here = ", ".join(sorted(filter(None, names))[:_NAMED]) or "without a name"
        say(f"markbook: no run here belongs to the reference of {', '.join(unmatched[:_NAMED])}; the runs are {here}")
    return total
