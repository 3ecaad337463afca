"""`markbook review`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import click

from markbook.cli.model_options import JudgeChoices, judge_choices, read_judge_options
from markbook.cli.options import (
    REVIEW,
    Grouped,
    KeptOption,
    Number,
    baseline_option,
    collect_kept_options,
    cost_text,
    describe_overwrite,
    ended_by_signal,
    engine_option,
    fail_under_option,
    fill_from_run,
    hold_against_baseline,
    judges_sent_a_key,
    label_options,
    read_baseline,
    resume_option,
    say,
    sent_a_key,
)
from markbook.cli.streams import LineFormatter
from markbook.runs.kind import Planned, Watcher
from markbook.text.format import format_number

if TYPE_CHECKING:
    from markbook.model.budget import AccountRecord
    from markbook.results.compare import Baseline
    from markbook.results.gates import GateMark
    from markbook.runs.reviews.config import ReviewConfig
    from markbook.runs.reviews.review import TierTime
    from markbook.runs.reviews.review_rows import ReviewSummary
    from markbook.store import Run

_FILE = click.Path(path_type=Path)
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


class _Asked(JudgeChoices):
    """What the command is asked, as far as it is read here."""

    papers: Path | None
    reviews: Path | None
    tool_reference: Path | None
    judges: tuple[str, ...]
    config_file: Path | None
    policy: str
    similarity: str
    calibrate: float | None
    output: Path
    rescored: Path | None
    profile: Literal["corrected", "documented"]
    seed: int


class _Review(Grouped):
    """Shows its options in sections."""

    sections: ClassVar = REVIEW


@click.command("review", cls=_Review, epilog=_EXAMPLES)
@click.option("--papers", type=_FILE, help="Papers and human reviews in the PeerRead layout (folder or file).")
@click.option("--reviews", type=_FILE, help="Generated reviews: JSON or JSON Lines, or a folder of them or of runs.")
@click.option("--traces", type=_FILE, help="A folder with one trace a paper, or <system>/<paper>.")
@click.option(
    "--tool-reference",
    type=_FILE,
    help="Which tools are right: JSON, a map of contexts to tools (`default` for the rest), for all papers or by paper.",
)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    default=("off",),
    help="PROVIDER:NAME, several times for a panel; @URL names its own server; or off.",
)
@judge_choices
@click.option("--config", "config_file", type=_FILE, help="A config_eval.json, in either known shape.")
@click.option("--policy", default="", help="require_complete (default), renormalise or bounds.")
@click.option("--similarity", default="", help="Which similarities: some of semantic,cosine,jaccard.")
@click.option(
    "--calibrate",
    type=Number(0, 100),
    help="Take the success threshold from this percentile of human reviews.",
)
@click.option(
    "-o", "--output", type=_FILE, default=Path("generated"), show_default=True, help="Where the run folder is made."
)
@label_options
@resume_option
@click.option(
    "--rescore",
    "rescored",
    type=_FILE,
    help="Score this run again with another --config or --policy; nothing is asked or measured.",
)
@click.option(
    "--profile",
    type=click.Choice(["corrected", "documented"]),
    default="corrected",
    show_default=True,
    help="documented reproduces the document's formulas with their faults.",
)
@click.option("--limit", type=click.IntRange(1), help="Only the first N generated reviews.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of resampling and of the judge.")
@fail_under_option("a number, such as composite_score or tier1.cosine_score")
@baseline_option
@engine_option
@click.option(
    "--workers", type=click.IntRange(1), help="Processes that compare texts and read traces [default: this one alone]."
)
@click.option("--strict", is_flag=True, help="Stop at the first file or row that cannot be read (exit 65).")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of the table.")
@click.option("--verbose", is_flag=True, help="Name every rejected row and log more.")
@click.option("--log-file", type=_FILE, help="Write the log to this file.")
def command(**options: Any) -> None:
    """Evaluate generated peer reviews in three tiers: similarity, judge, trace."""
    from markbook.results.gates import check_gates, parse_gates

    fill_from_run(options, "review", _KEPT)
    gates = parse_gates(options["fail_under"])
    check_gates(gates, _marks())
    baseline = read_baseline(options, "review")
    with _logging(options["log_file"], verbose=options["verbose"]), ended_by_signal():
        review_options = cast("_Asked", options)
        run = (
            _review(review_options, baseline)
            if review_options["rescored"] is None
            else _rescore(review_options, review_options["rescored"], baseline)
        )
    _show(run, as_json=options["as_json"], verbose=options["verbose"])
    from markbook.errors import IncompleteError
    from markbook.results.files import read_part
    from markbook.results.gates import hold_gates
    from markbook.runs.reviews.finished import ReviewResults

    hold_gates(gates, _marks(ReviewResults(run).summary))
    if run.status == "incomplete":
        raise IncompleteError(
            "incomplete: " + "; ".join(read_part(run, "incomplete", list[str], [])),
            at=str(run.folder),
            hint=f"markbook review --resume {run.folder} tries again",
        )
    hold_against_baseline(run, baseline, options["seed"])


_DANGERS: Mapping[str, Callable[[Any], str]] = {
    "base_url": sent_a_key,
    "judges": judges_sent_a_key,
    "cassette": describe_overwrite,
}
_KEPT = tuple(
    KeptOption(name, f"asked.{name}", _DANGERS.get(name, lambda _value: ""))
    for name in (
        "papers", "reviews", "traces", "tool_reference", "judges", "base_url", "cassette", "samples", "temperature",
        "judge_mode", "max_retries", "judge_timeout", "requests_per_minute", "judge_workers", "max_cost", "judge_price",
        "token_weights", "config_file", "policy", "similarity", "calibrate", "profile", "limit", "seed",
    )
)  # fmt: skip
"""Options that a run keeps."""


class _Lines(Watcher):
    """Progress on stderr."""

    def __init__(self, baseline: Baseline | None) -> None:
        self._baseline = baseline

    def on_plan(self, plan: Planned) -> None:
        """Refuse a baseline that nothing can be held against.

        Raises:
            UsageError: the baseline lacks a counterpart of a system.
        """
        from markbook.runs.reviews.finished import review_signatures
        from markbook.runs.reviews.review import ReviewPlan

        assert isinstance(plan, ReviewPlan)
        if self._baseline is not None:
            signatures = review_signatures(plan.manifest.config)
            self._baseline.check(sorted({attempt.model for attempt in plan.attempts}), signatures=signatures)

    def on_note(self, line: str, *, topic: str = "") -> None:
        """Say it."""
        say(line)

    def on_interrupt(self, folder: Path) -> None:
        """Say what goes on with it."""
        click.echo(f"go on with: markbook review --resume {folder}", err=True)


@contextmanager
def _logging(path: Path | None, *, verbose: bool) -> Iterator[None]:
    """Send the log to a file, or to stderr, for as long as the command runs."""
    logger = logging.getLogger("markbook")
    handler: logging.Handler = logging.StreamHandler()
    if path is not None:
        try:
            handler = logging.FileHandler(path, encoding="utf-8")
        except OSError as error:
            from markbook.errors import OutputError

            raise OutputError(f"the log cannot be written: {error.strerror}", at=str(path)) from error
    layout = "%(asctime)s %(levelname)s %(name)s: %(message)s" if path else "%(message)s"
    handler.setFormatter(LineFormatter(layout))
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.DEBUG if verbose else logging.INFO if path else logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
        handler.close()


def _config(options: _Asked) -> ReviewConfig:
    from dataclasses import replace

    from markbook.runs.reviews.config import check_policy, default_config, parse_similarity, read_config

    profile = options["profile"]
    config = read_config(options["config_file"], profile) if options["config_file"] else default_config(profile)
    config = replace(config, seed=options["seed"], calibrate=options["calibrate"])
    if options["policy"]:
        config = replace(config, policy=check_policy(options["policy"]))
    if options["similarity"]:
        names = tuple(name.strip() for name in options["similarity"].split(","))
        config = replace(config, similarity=parse_similarity(names, "--similarity"), semantic_asked="semantic" in names)
    if options["tool_reference"] is not None:
        config = replace(config, tool_reference=options["tool_reference"])
    if options["max_retries"] is not None:
        config = replace(config, max_retries=options["max_retries"])
    if options["judge_timeout"] is not None:
        config = replace(config, judge_seconds=options["judge_timeout"])
    return config


def _review(options: _Asked, baseline: Baseline | None) -> Run:
    from markbook.errors import UsageError
    from markbook.runs.conductor import conduct
    from markbook.runs.options import options_among
    from markbook.runs.reviews import Reviews
    from markbook.runs.reviews.review import ReviewRequest

    if options["papers"] is None or options["reviews"] is None:
        raise UsageError("--papers and --reviews are needed", hint="or --resume RUN or --rescore RUN alone")
    config = _config(options)
    for note in config.notes:
        say(f"markbook: {note}")
    models = tuple(model for model in options["judges"] if model != "off")
    if not models and config.judge_name:
        click.echo(
            f"markbook: the config names the judge {config.judge_name!r}; it is asked only with --judge", err=True
        )
    request_options = {
        **options,
        "config": config,
        "judges": models,
        "judge_options": read_judge_options(options),
        "asked": collect_kept_options(options, _KEPT, "asked"),
    }
    return conduct(Reviews(), options_among(ReviewRequest, request_options), _Lines(baseline))


def _rescore(options: _Asked, folder: Path, baseline: Baseline | None) -> Run:
    from markbook.runs.reviews.finished import rescore
    from markbook.runs.reviews.summary import list_systems
    from markbook.store import open_run

    run = open_run(folder)
    if baseline is not None:
        baseline.check(list_systems(run))
    return rescore(run, _config(options), options["output"])


def _show(run: Run, *, as_json: bool, verbose: bool) -> None:
    from markbook.model.budget import AccountRecord
    from markbook.results.files import read_part
    from markbook.runs.reviews.finished import ReviewResults
    from markbook.runs.reviews.review import TierTime
    from markbook.text import terminal

    if unknown := read_part(run, "unknown_papers", list[str], []):
        named = ", ".join(terminal(str(name), limit=100) for name in unknown[:5])
        click.echo(
            f"markbook: {len(unknown)} reviewed papers are not among the papers given: {named}",
            err=True,
        )
    if rejected := read_part(run, "rejected", list[str], []):
        click.echo(f"markbook: {len(rejected)} files or rows could not be read", err=True)
        for line in rejected if verbose else rejected[:3]:
            click.echo(f"  {terminal(line, limit=500)}", err=True)
    if as_json:
        click.echo(run.read("summary.json"), nl=False)
        return
    _tables(ReviewResults(run).summary)
    _times(read_part(run, "performance", dict[str, TierTime], {}))
    _judges(read_part(run, "judge_account", dict[str, AccountRecord], {}))
    click.echo(f"Report: {run.folder / 'report.html'}")


def _tables(summary: ReviewSummary) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from markbook.runs.reviews import review_rows as review_lacking
    from markbook.runs.reviews.reports import HEAD, short_rows
    from markbook.text import terminal

    # A file or pipe has no width of its own; there the table is as wide as it needs.
    console = Console(width=None if sys.stdout.isatty() else 110)
    for name, system in summary["systems"].items():
        table = Table(
            title=Text(f"{terminal(name, limit=60)}: {system['reviews']} reviews"), box=SIMPLE_HEAD, pad_edge=False
        )
        for head in HEAD:
            right = head in ("mean", "95 % interval", "scored")
            table.add_column(head, justify="right" if right else "left", no_wrap=head != "missing", overflow="fold")
        for row in short_rows(system):
            table.add_row(*map(Text, row))
        console.print(table)
        for line in review_lacking.lines(system):
            click.echo(terminal(line, limit=400))
    human = summary["human_yardstick"]["closest_other"]
    if human:
        parts = ", ".join(f"{name} {format_number(spread['median'])}" for name, spread in human.items())
        console.print(f"Human reviews against their closest other one, median: {parts}")


def _times(performance: Mapping[str, TierTime]) -> None:
    """Say what each tier took a review beside its target; a target that was missed is named as such."""
    parts = []
    for name, tier in sorted(performance.items(), key=lambda item: (item[0] == "total", item[0])):
        if (target := tier["target"]) is not None:
            ended = "" if tier["met"] else ", missed"
            parts.append(f"{name} {tier['seconds_per_review']:.3f} s (target {target:g} s{ended})")
    if parts:
        click.echo(f"Time for one review: {', '.join(parts)}")


def _judges(accounts: Mapping[str, AccountRecord]) -> None:
    """Say what each judge cost, apart from what the agents did; what is not known is said to be so."""
    from markbook.text import terminal

    for name, account in accounts.items():
        cost = cost_text(account)
        if account["requests"] and account["requests_without_price"] and account["cost"] is not None:
            cost += f" and {account['requests_without_price']} requests of unknown cost"
            if account.get("cost_at_most") is not None:
                cost += f", ${account['cost_at_most']:.4f} at most"
        click.echo(
            f"Judge {terminal(name, limit=60)}: {account['requests']} requests, {account['replayed']} answers from the cassette, "
            f"{account['input_tokens']} tokens in and {account['output_tokens']} out, {cost}, "
            f"{account['latency_seconds']:.1f} s of waiting in all"
        )


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
