"""`markbook judge correct`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from markbook.cli.options import json_option, say
from markbook.cli.options.number import Number
from markbook.text.numbers import format_interval, format_number, format_p

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markbook.judge.correction import Corrected

_FILE = click.Path(path_type=Path)
_EXAMPLES = """
\b
Examples:
  markbook judge correct --judged generated/latest --score helpful \\
      --labels generated/latest/labels
  markbook judge correct --judged judged.jsonl --labels labels.jsonl \\
      --systems new old --by topic
"""


@click.command("correct", epilog=_EXAMPLES)
@click.option(
    "--judged", type=_FILE, required=True, help='A run, or a file of {"id": .., "score": ..} with every item.'
)
@click.option(
    "--labels",
    type=_FILE,
    required=True,
    multiple=True,
    help='People\'s labels of some: {"id": .., "label": ..}; a file, or the folder that `label` writes to. Repeat to merge.',
)
@click.option(
    "--score",
    help="The key of the judge's score, in a row or its `metrics` [default: score; of a run its first metric].",
)
@click.option(
    "--systems", nargs=2, metavar="A B", help="The paired difference A - B of two systems instead of the mean."
)
@click.option("--cluster", default="", metavar="KEY", help="Items that share this are not independent.")
@click.option("--stratum", default="", metavar="KEY", help="Labels were drawn in each of these parts.")
@click.option("--by", default="", metavar="KEY", help="Tell the judge's errors by these groups.")
@click.option("--target", type=Number(min=0, min_open=True), help="Half-width to plan for [half of what it is].")
@click.option(
    "--confidence", type=Number(0, 1, min_open=True, max_open=True), default=0.95, show_default=True,
    help="Of the interval.",
)  # fmt: skip
@json_option
def command(*, as_json: bool, systems: tuple[str, str] | None, **options: Any) -> int:
    """Correct a judge's mean by people's labels of some items, with a valid interval.

    A label may state the `probability` with which its item was drawn; several labels of an item are averaged. Exit code 3
    where the labels cannot support an interval; the reason is said.
    """
    from markbook.judge.correction import CorrectionRequest, correct

    judged: Any = options.pop("judged")
    score = options.pop("score")
    unanswered: Any = ()
    if judged.is_dir() or judged.name == "latest":
        from markbook.results.judged import judged_rows

        judged, unanswered = judged_rows(judged, score)
        score = "score"
    report = correct(
        CorrectionRequest(
            judged=judged, score=score or "score", systems=systems or (), unanswered=unanswered, **options
        )
    )
    for problem in report["problems"]:
        say(f"markbook: {problem}")
    if as_json:
        click.echo(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False, sort_keys=True))
    else:
        _show(report)
    return 0 if report["corrected"]["value"] is not None else 3


def _mean(stats: Mapping[str, float], name: str) -> str:
    """Return a mean of what one side says alone, with its interval where there is one."""
    between = f"   {format_interval(stats[f'{name}_low'], stats[f'{name}_high'], 4)}" if f"{name}_low" in stats else ""
    return f"{format_number(stats[f'{name}_mean'], 4)}{between}"


def _show(report: Corrected) -> None:
    from markbook.text import terminal

    corrected, stats = report["corrected"], report["stats"]
    click.echo(f"{terminal(report['what'], limit=120)}: {report['items']} items, {report['labels']} labels")
    if report["without_score"]:
        click.echo(f"  {report['without_score']} judged rows have no score and are left out")
    if report["cannot_say"]:
        click.echo(f"  {report['cannot_say']} labels say that nobody can say")
    if corrected["value"] is None:
        click.echo(f"no corrected value: {corrected['note']}")
        return
    interval = corrected["interval"]
    click.echo(f"  judge alone   {_mean(stats, 'judge')}   (biased by what the judge gets wrong)")
    click.echo(f"  labels alone  {_mean(stats, 'labels')}")
    click.echo(
        f"  corrected     {format_number(corrected['value'], 4)}   {format_interval(interval['low'], interval['high'], 4)}"
    )
    if "width_of_labels_alone" in stats:
        click.echo(
            f"  the interval is {format_number(stats['width_of_labels_alone'], 2)} times as wide as that of the labels alone"
        )
    if corrected["note"]:
        click.echo(f"  beware: {corrected['note']}")
    for group in report["errors_by_group"]:
        error = group["judge_minus_label"]
        between = (
            ""
            if error["interval"] is None
            else f" {format_interval(error['interval']['low'], error['interval']['high'], signed=True)}"
        )
        p = "" if group["p_adjusted"] is None else f", p {format_p(group['p_adjusted'])}"
        name = terminal(group["group"], limit=40)
        click.echo(f"  {name}: judge - label {format_number(error['value'], signed=True)}{between}, n {error['n']}{p}")
    plan = report["plan"]
    if plan["more"] is not None:
        click.echo(f"  {plan['more']} more labels bring the half-width to {format_number(plan['half_width'], 4)}")
        named = ", ".join(terminal(label["id"], limit=40) for label in plan["next"][:5])
        if named:
            click.echo(
                f"  the next ones: {named}, ... (all of them with --json, or by `markbook label` with a larger --count)"
            )
    elif plan["note"]:
        click.echo(
            f"  no number of labels brings the half-width to {format_number(plan['half_width'], 4)}: {plan['note']}"
        )
