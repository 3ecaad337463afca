"""`markbook judge`: how far a judge can be trusted, and scores corrected for what it gets wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from markbook.cli.options import Grouped, Number, fail_under_option, json_option, options_of, say
from markbook.errors import IncompleteError, OutputError, UsageError, os_errors_as
from markbook.judge.judge_options import JudgeOptions
from markbook.measurements import CONFIDENCE
from markbook.option import record_from
from markbook.text import terminal
from markbook.text.format import Scale, format_level, format_number, format_p

if TYPE_CHECKING:
    from markbook.judge.correction import Corrected
    from markbook.judge.probes import AgreementRecord, People
    from markbook.judge.reliability import Examined
    from markbook.results.gates import GateMark


# `markbook judge correct`.

_FILE = click.Path(path_type=Path)
_EXAMPLES = """
\b
Examples:
  markbook judge correct --judged generated/latest --score helpful \\
      --labels generated/latest/labels
  markbook judge correct --judged judged.jsonl --labels labels.jsonl \\
      --systems new old --by topic
"""


@click.command("correct", cls=Grouped, epilog=_EXAMPLES)
@click.option(
    "--judged", type=_FILE, required=True, help='A run, or a file of {"id": .., "score": ..} with every item.'
)
@click.option(
    "--labels",
    type=_FILE,
    required=True,
    multiple=True,
    help='Human labels of some items: {"id": .., "label": ..}; a file, or the folder that `label` writes to. Repeatable.',
)
@click.option(
    "--score", help="Key of the judge's score in a row or its `metrics` [default: score, or the run's first metric]."
)
@click.option(
    "--systems", nargs=2, metavar="A B", help="Correct the difference A - B of two systems instead of the mean."
)
@click.option("--cluster", default="", metavar="KEY", help="Key that defines the clusters [default: the item's id].")
@click.option("--stratum", default="", metavar="KEY", help="Key of the stratum in which labels were sampled.")
@click.option("--by", default="", metavar="KEY", help="Show the judge's errors by the groups of this key.")
@click.option(
    "--target", type=Number(min=0, min_open=True), help="Half-width to plan labels for [default: half the current one]."
)
@click.option(
    "--confidence", type=Number(0, 1, min_open=True, max_open=True), default=CONFIDENCE, show_default=True,
    help="Confidence level of the interval.",
)  # fmt: skip
@json_option
def correct_command(*, as_json: bool, systems: tuple[str, str] | None, **options: Any) -> int:
    """Correct a judge's mean by human labels of some items, with a valid interval.

    A label may state the `probability` with which its item was drawn; several labels of an item are averaged. If the labels
    cannot support an interval, the command prints the reason and exits with code 3.
    """
    from markbook.judge.correction import CorrectionRequest, correct

    judged: Any = options.pop("judged")
    score = options.pop("score")
    of_run: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    # A run and a file of rows come by the same option: only a run is a folder, and `latest` stands for one.
    if judged.is_dir() or judged.name == "latest":
        from markbook.results.judged import judged_rows, read_judged

        run = read_judged(judged, score, empty=True)  # an empty answer is marked 0, and that is part of the mean
        judged, of_run["unanswered"] = judged_rows(run)
        score, of_run["signatures"] = "score", list(run.sheet.signatures.values())
        of_run["limits"], notes = run.sheet.range, run.sheet.notes
    elif (judged.parent / "run.json").is_file() and judged.name == "results.jsonl":
        from markbook.results.kind import open_results
        from markbook.store import open_run

        # the rows of a run as a file: the run says by which rubric they are marked
        of_run["signatures"] = list(open_results(open_run(judged.parent)).sheet(score).signatures.values())
    report = correct(
        CorrectionRequest(judged=judged, score=score or "score", systems=systems or (), **of_run, **options)
    )
    report["problems"] = [*notes, *report["problems"]]
    for problem in report["problems"]:
        say(f"markbook: {problem}")
    if as_json:
        click.echo(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False, sort_keys=True))
    else:
        # A file's rows do not say between which ends they lie.
        _show(report, Scale(of_run["limits"]) if "limits" in of_run else Scale(digits=4))
    # The report is printed in either case, for its reason says what labels are lacking.
    return 0 if report["corrected"]["value"] is not None else 3


def _mean(stats: Mapping[str, float], name: str, scale: Scale) -> str:
    """Return a mean of what one side says alone, with its interval where there is one."""
    between = f"   {scale.spread(stats[f'{name}_low'], stats[f'{name}_high'])}" if f"{name}_low" in stats else ""
    return f"{scale.value(stats[f'{name}_mean'])}{between}"


def _show(report: Corrected, scale: Scale) -> None:
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
    click.echo(f"  judge alone   {_mean(stats, 'judge', scale)}   (biased by what the judge gets wrong)")
    click.echo(f"  labels alone  {_mean(stats, 'labels', scale)}")
    unit = "   (points of 100)" if scale.factor == 100 else ""
    click.echo(f"  corrected     {scale.value(corrected['value'])}   {scale.interval(interval)}{unit}")
    if "width_of_labels_alone" in stats:
        times = format_number(stats["width_of_labels_alone"], 2)
        click.echo(f"  the interval is {times} times as wide as that of the labels alone")
    if corrected["note"]:
        click.echo(f"  beware: {corrected['note']}")
    for group in report["errors_by_group"]:
        error = group["judge_minus_label"]
        between = "" if error["interval"] is None else f" {scale.interval(error['interval'], signed=True)}"
        p = "" if group["p_adjusted"] is None else f", p {format_p(group['p_adjusted'])}"
        name = terminal(group["group"], limit=40)
        click.echo(f"  {name}: judge - label {scale.gap(error['value'])}{between}, n {error['n']}{p}")
    plan = report["plan"]
    if plan["more"] is not None:
        click.echo(f"  {plan['more']} more labels bring the half-width to {scale.value(plan['half_width'])}")
        named = ", ".join(terminal(label["id"], limit=40) for label in plan["next"][:5])
        if named:
            others = "all of them with --json, or by `markbook label` with a larger --count"
            click.echo(f"  the next ones: {named}, ... ({others})")
    elif "clusters" in stats:
        click.echo(f"  {plan['note']}")
    elif plan["note"]:
        half = scale.value(plan["half_width"])
        click.echo(f"  no number of labels brings the half-width to {half}: {plan['note']}")


# `markbook judge check` and `markbook judge correct`.

_JUDGE_EXAMPLES = """
\b
Examples:
  markbook judge check --judge openai:gpt-4o-mini --papers papers/ \\
      --cassette check.jsonl
  markbook judge check --judge openai:gpt-4o-mini \\
      --rows labelled.jsonl --rubric helpfulness
"""


@click.group("judge")
def command() -> None:
    """Check an LLM judge, and correct its scores by human labels."""


command.add_command(correct_command)


@command.command("check", cls=Grouped, epilog=_JUDGE_EXAMPLES)
@click.option("--judge", required=True, help="PROVIDER:NAME of the judge.")
@click.option("--papers", type=_FILE, help="Human reviews with their scores, in the PeerRead layout.")
@click.option("--rows", type=_FILE, help='Answers of any task with human labels: {"candidate": .., "label": 0 to 1}.')
@click.option("--rubric", help="Rubric for the rows: a built-in name, or a .yaml file.")
@click.option("--reviews", type=_FILE, help="Generated reviews with `system` names, to measure same-family bias.")
@click.option("--limit", type=click.IntRange(2), default=40, show_default=True, help="Maximum reviews or rows.")
@click.option("--pairs", type=click.IntRange(0), default=30, show_default=True, help="Maximum pairs to compare.")
@click.option("--before", type=_FILE, metavar="REPORT", help="Report of an earlier check, to measure drift from it.")
@click.option("--min-kappa", metavar="X", help="The same as --fail-under weighted_kappa=X.")
@fail_under_option("weighted_kappa, krippendorff_alpha or exact: the agreement with people")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the judge.")
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="Also write the report as JSON to this file."
)
@options_of(JudgeOptions)
@json_option
def check(**options: Any) -> None:
    """Measure a judge's consistency, biases and agreement with human labels."""
    from markbook.results.gates import check_gates, hold_gates, parse_gates
    from markbook.runs.reviews.config import default_config
    from markbook.runs.reviews.review import CheckRequest, check_judge

    conditions = [*options["fail_under"], *([f"weighted_kappa={options['min_kappa']}"] if options["min_kappa"] else [])]
    gates = parse_gates(conditions)
    check_gates(gates, _marks())
    if (options["papers"] is None) == (options["rows"] is None) or (options["rows"] is None) != (
        options["rubric"] is None
    ):
        raise click.UsageError("Name --papers, or --rows with the --rubric that they are judged by.")
    if options["rows"] is not None and options["reviews"] is not None:
        raise click.UsageError("--reviews goes with --papers; rows name their `system`.")
    if options["rows"] is None:
        request = CheckRequest(
            options=record_from(JudgeOptions, options),
            config=replace(default_config(), seed=options["seed"]),
            **{name: options[name] for name in ("judge", "papers", "reviews", "limit", "pairs", "before")},
        )
        report = check_judge(request)
    else:
        report = _check_on_rows(options)
    text = json.dumps(report, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    if options["output"]:
        with os_errors_as(OutputError, "the report cannot be written", options["output"]):
            options["output"].write_text(text, encoding="utf-8", newline="\n")
    if options["as_json"]:
        click.echo(text, nl=False)
    else:
        from markbook.cli.terminal import output_console
        from markbook.text import Table, terminal

        rows = []
        for name, estimate, scale in _rows(report):
            interval = scale.spread(estimate["low"], estimate["high"])
            rows.append((name, scale.value(estimate["value"]), interval, str(estimate["n"])))
        title = f"{terminal(report['judge'], limit=60)} on {report['reviews']} texts"
        heads = ("probe", "value", f"{format_level()} CI", "n")
        note = "Marks and shares in points of 100; kappa, alpha, ICC and the slope are coefficients."
        table = Table(title, heads, tuple(rows), numeric=frozenset((1, 2, 3)), note=note)
        output_console().print(table.rich())
        if note := report["same_family_preference"]["note"]:
            say(f"Same family: {note}.")
        if report["drift"] and (note := report["drift"]["note"]):
            say(f"Drift: {note}.")
    if report["unanswered"]:
        reasons = "; ".join(f"{count} x {reason}" for reason, count in report["unanswered"].items())
        raise IncompleteError(f"not every question was answered: {reasons}")
    # After the report: who fails a gate wants to see by what.
    hold_gates(gates, _marks(report["agreement_with_humans"]))


def _check_on_rows(options: Mapping[str, Any]) -> Examined:
    import asyncio

    from markbook.judge.panel import plan_panel
    from markbook.judge.reliability import examine, get_question_form, read_earlier, read_known
    from markbook.judge.rubrics import read_rubric

    rubric = read_rubric(options["rubric"])
    if rubric.row:
        raise UsageError(
            "this rubric has criteria of each row's own: a check needs one rubric for all rows",
            hint="leave `row` out of it",
        )
    texts, problems = read_known(options["rows"], rubric, most=options["limit"])
    for problem in problems:
        say(f"markbook: {problem}")
    before = None if options["before"] is None else read_earlier(options["before"])
    plan = plan_panel((options["judge"],), record_from(JudgeOptions, options), seed=options["seed"])
    return asyncio.run(examine(plan, texts, get_question_form(rubric), pairs=options["pairs"], before=before))


def _marks(agreement: People | None = None) -> list[GateMark]:
    """Return what gates may be about; before the work, without values."""
    from markbook.results.gates import GateMark

    return [
        GateMark(f"{name} with people", (name,), None if estimate is None else estimate["value"], limits)
        for name, estimate, limits in (
            ("weighted_kappa", agreement and agreement["weighted_kappa"], (-1.0, 1.0)),
            ("krippendorff_alpha", agreement and agreement["krippendorff_alpha"], (-1.0, 1.0)),
            ("exact", agreement and agreement["exact"], (0.0, 1.0)),
        )
    ]


_POINTS, _COEFFICIENT = Scale((0.0, 1.0)), Scale()


def _rows(report: Examined) -> Iterator[tuple[str, AgreementRecord, Scale]]:
    """Yield what a table shows: marks on 0..1 and shares in points of 100, coefficients as they are."""
    people, again, calibrated = report["agreement_with_humans"], report["self_consistency"], report["calibration"]
    low, high = calibrated["scale"]
    constant = people["constant_answer"]
    yield "agreement with people: weighted kappa", people["weighted_kappa"], _COEFFICIENT
    yield "agreement with people: Krippendorff's alpha", people["krippendorff_alpha"], _COEFFICIENT
    yield "agreement with people: exact", people["exact"], _POINTS
    if constant["answer"] is not None:
        answer = _POINTS.value((constant["answer"] - low) / (high - low))
        yield f"  a constant answer of {answer} reaches", constant["exact"], _POINTS
    yield "calibration: the judge's mark minus people's", _move(calibrated["bias"], 0, high - low), _POINTS
    yield "  people's mark rises with the judge's by", calibrated["slope"], _COEFFICIENT
    for level in calibrated["by_mark"]:
        mark = _POINTS.value((level["mark"] - low) / (high - low))
        yield f"  people's mark where the judge's is {mark}", _move(level["people"], low, high - low), _POINTS
    yield f"same answer in {again['samples']} samples", again["identical"], _POINTS
    yield "self-consistency: ICC", again["icc"], _COEFFICIENT
    yield "order alone decides (flip rate)", report["order"]["flip_rate"], _POINTS
    yield "the longer text wins", report["length_preference"]["longer_wins"], _POINTS
    family = report["same_family_preference"]
    yield "the judge's own family wins", family["own_family_wins"], _POINTS
    yield "  where its text is the shorter one", family["own_family_wins_when_shorter"], _POINTS
    for words, change in (
        ("a planted instruction", report["planted_instruction"]),
        ("padding that says nothing", report["verbosity"]),
        ("added formatting", report["formatting"]),
    ):
        yield f"{words} raises the mark", change["raised"], _POINTS
        yield "  it lowers it", change["lowered"], _POINTS
        yield "  by", change["shift"], _POINTS
    if drift := report["drift"]:
        yield f"drift from {terminal(drift['before'], limit=40)}", drift["shift"], _POINTS
        yield "  the same mark as before", drift["same"], _POINTS
        yield "  Krippendorff's alpha with it", drift["krippendorff_alpha"], _COEFFICIENT


def _move(estimate: AgreementRecord, low: float, width: float) -> AgreementRecord:
    """Return an estimate on the rubric's scale as one on 0..1."""
    value, start, end = (
        None if number is None else (number - low) / width
        for number in (estimate["value"], estimate["low"], estimate["high"])
    )
    return {**estimate, "value": value, "low": start, "high": end}
