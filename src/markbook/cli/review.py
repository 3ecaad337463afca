"""`markbook review`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from markbook.cli.options import (
    Grouped,
    baseline_option,
    command_option,
    ended_by_signal,
    fail_under_option,
    fill_from_run,
    hold_run,
    options_of,
    read_baseline,
    verbose_option,
)
from markbook.cli.streams import LineFormatter
from markbook.judge.judge_options import JudgeOptions
from markbook.option import GATES, PRINTED, record_from
from markbook.runs.options import StoppingOptions
from markbook.runs.reviews.review_options import ReviewOptions
from markbook.text import Table, terminal
from markbook.text.format import format_percent

if TYPE_CHECKING:
    from markbook.results.gates import GateMark
    from markbook.runs.reviews.review_rows import ReviewSummary
    from markbook.store import Run

_EXAMPLES = """
\b
Examples:
  markbook review --papers papers/ --reviews reviews.jsonl
  markbook review --papers papers/ --reviews runs/ \\
      --judge openai:gpt-4o-mini --cassette judge.jsonl
  markbook review --resume generated/evaluation_1790000000
  markbook review --rescore generated/evaluation_1790000000 \\
      --config other_weights.json
"""


@click.command("review", cls=Grouped, epilog=_EXAMPLES)
@fail_under_option("a score, such as composite_score or tier1.cosine_score", GATES)
@baseline_option(GATES)
@options_of(StoppingOptions, only=("allow_different_measures",), section=GATES)
@command_option("--json", "as_json", section=PRINTED, is_flag=True, help="Print summary.json instead of the table.")
@verbose_option("Name every rejected row and log more.")
@options_of(ReviewOptions, JudgeOptions)
@command_option("--log-file", section=PRINTED, type=click.Path(path_type=Path), help="Write the log to this file.")
def command(**options: Any) -> None:
    """Evaluate generated peer reviews in three tiers: similarity, judge, trace."""
    from markbook.cli.terminal import ReviewTerminal
    from markbook.results.files import read_part
    from markbook.results.gates import GateMark, check_gates, parse_gates
    from markbook.runs.conductor import conduct
    from markbook.runs.reviews import Reviews
    from markbook.runs.reviews.config_file import resolve_config
    from markbook.runs.reviews.finished import COMPOSITE, ReviewResults, rescore
    from markbook.runs.reviews.summary import list_systems
    from markbook.store import open_run

    fill_from_run(options, "review")
    gates = parse_gates(options["fail_under"])
    # Before anything is read or paid: a misspelt number would otherwise be noticed after the judges were asked.
    check_gates(gates, _marks())
    baseline = read_baseline(options, "review")
    stated = record_from(ReviewOptions, options, judging=record_from(JudgeOptions, options))
    with _logging(options["log_file"], verbose=options["verbose"]), ended_by_signal():
        if stated.rescored is None:
            with ReviewTerminal(baseline=baseline) as watcher:
                run = conduct(Reviews(), stated, watcher)
        else:
            old = open_run(stated.rescored)
            if baseline is not None:
                baseline.check(list_systems(old), GateMark(COMPOSITE, (COMPOSITE,)))
            run = rescore(old, resolve_config(stated), stated.output)
    _show(run, as_json=options["as_json"], verbose=options["verbose"])
    lacking = "; ".join(read_part(run, "incomplete", list[str], []))
    hint = (
        ""
        if stated.rescored is None
        else f"markbook review --resume {stated.rescored} finishes it; then score it again"
    )
    hold_run(
        run, gates, lambda: _marks(ReviewResults(run).summary), baseline, options["seed"], lacking=lacking, hint=hint
    )


@contextmanager
def _logging(path: Path | None, *, verbose: bool) -> Iterator[None]:
    """Send the log to a file, or to stderr, for as long as the command runs."""
    logger = logging.getLogger("markbook")
    # The library configures no handlers: a program that imports it has its own.
    handler: logging.Handler = logging.StreamHandler()
    if path is not None:
        from markbook.errors import OutputError, os_errors_as

        with os_errors_as(OutputError, "the log cannot be written", path):
            handler = logging.FileHandler(path, encoding="utf-8")
    layout = "%(asctime)s %(levelname)s %(name)s: %(message)s" if path else "%(message)s"
    handler.setFormatter(LineFormatter(layout))
    logger.addHandler(handler)
    # The logger belongs to the process: a program that calls the command in-process gets it back as it was.
    before = logger.level
    logger.setLevel(logging.DEBUG if verbose else logging.INFO if path else logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
        handler.close()


def _show(run: Run, *, as_json: bool, verbose: bool) -> None:
    from markbook.cli.terminal import output_console
    from markbook.model.budget import AccountRecord
    from markbook.report.words import account_text
    from markbook.results.files import read_part
    from markbook.runs.reviews import review_rows
    from markbook.runs.reviews.finished import ReviewResults
    from markbook.runs.reviews.reports import short_rows, tier_head
    from markbook.runs.reviews.review import TierTime

    if unknown := read_part(run, "unknown_papers", list[str], []):
        named = ", ".join(terminal(str(name), limit=100) for name in unknown[:5])
        click.echo(f"markbook: {len(unknown)} reviewed papers are not among the papers given: {named}", err=True)
    if rejected := read_part(run, "rejected", list[str], []):
        click.echo(f"markbook: {len(rejected)} files or rows could not be read", err=True)
        for line in rejected if verbose else rejected[:3]:
            click.echo(f"  {terminal(line, limit=500)}", err=True)
    if as_json:
        click.echo(run.read("summary.json"), nl=False)
        return
    console, summary = output_console(), ReviewResults(run).summary
    for name, system in summary["systems"].items():
        title = f"{terminal(name, limit=60)}: {system['reviews']} reviews"
        table = Table(title, tier_head(system), tuple(short_rows(summary, name)), numeric=frozenset({2, 3, 4}))
        console.print(table.rich())
        for line in review_rows.lines(system):
            click.echo(terminal(line, limit=400))
    if human := summary["human_yardstick"]["closest_other"]:
        parts = ", ".join(f"{name} {format_percent(spread['median'])}" for name, spread in human.items())
        console.print(f"Similarity of a human review to the most similar other one (median): {parts}")
    tiers = []
    performance = read_part(run, "performance", dict[str, TierTime], {})
    # By name, and the total last.
    for name, tier in sorted(performance.items(), key=lambda item: (item[0] == "total", item[0])):
        if (target := tier["target"]) is not None:
            ended = "" if tier["met"] else ", missed"
            tiers.append(f"{name} {tier['seconds_per_review']:.3f} s (target {target:g} s{ended})")
    if tiers:
        click.echo(f"Time for one review: {', '.join(tiers)}")
    # What judges cost stands apart from what the agents did, and what is not known is said to be so.
    for name, account in read_part(run, "judge_account", dict[str, AccountRecord], {}).items():
        click.echo(f"Judge {terminal(name, limit=60)}: {account_text(account)}")
    click.echo(f"Report: {run.folder / 'report.html'}")


def _marks(summary: ReviewSummary | None = None) -> list[GateMark]:
    """Return what gates may be about: every number of each system; before the work, of none."""
    from markbook.results.gates import GateMark
    from markbook.runs.reviews.summary import FIELDS

    systems = (
        {"": None}
        if summary is None
        else {name: system_summary["metrics"] for name, system_summary in summary["systems"].items()}
    )
    return [
        GateMark(f"{key} of {system}", (key, name), None if metrics is None else metrics[key]["value"])
        for system, metrics in systems.items()
        for key, name in ((f"{tier}.{name}", name) for tier, name in FIELDS)
    ]
