"""A review run's summary as Markdown and as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from markbook import text
from markbook.measurements import IntervalRecord
from markbook.report.words import interval_text, missing_text
from markbook.runs.reviews.scoring import lacking as review_lacking
from markbook.runs.reviews.scoring.records import ReviewSummary, SystemSummary, WeightSensitivityRecord
from markbook.runs.reviews.scoring.summary import FIELDS
from markbook.text.numbers import NOTHING, format_interval, format_number, format_percent
from markbook.types import Summary

_SHORT = {"tier1": "1", "tier2": "2", "tier3": "3", "composite": "composite"}


def cells(metric: Summary) -> tuple[str, str, str, str]:
    """Return value, interval, n and what is missing, as text; a value that is not there is a dash."""
    value = format_number(metric.value)
    spread = interval_text(metric.interval)
    return value, spread, f"{metric.n} of {metric.n_items}", missing_text(metric.n_missing)


def tier_rows(system: SystemSummary) -> list[tuple[str, ...]]:
    """Return the tier table of one system: tier, metric, value, 95 % interval, scored, missing."""
    return [
        (_SHORT[tier], name, *cells(Summary.from_record(system["metrics"][f"{tier}.{name}"]))) for tier, name in FIELDS
    ]


def short_rows(system: SystemSummary) -> list[tuple[str, ...]]:
    """Return the tier table for a terminal: a tier in which nothing has a value is one row."""
    rows = tier_rows(system)
    empty = {tier for tier, *_ in rows if all(row[2] == NOTHING for row in rows if row[0] == tier)}
    table_rows: list[tuple[str, ...]] = []
    for row in rows:
        if row[0] not in empty:
            table_rows.append(row)
        elif not any(earlier[0] == row[0] for earlier in table_rows):
            table_rows.append((row[0], "all" if row[0] != "composite" else row[1], *row[2:]))
    return table_rows


HEAD = ("tier", "metric", "mean", "95 % interval", "scored", "missing")


def markdown(summary: ReviewSummary) -> str:
    """Return evaluation_summary.md; foreign names are escaped."""
    lines = [
        "# Review evaluation",
        "",
        (
            f"{summary['reviews']} reviews by {len(summary['systems'])} systems, {summary['papers']} papers; "
            f"policy `{summary['policy']}`, profile `{summary['profile']}`."
        ),
    ]
    for name, system in summary["systems"].items():
        lines += ["", f"## {text.markdown(name)}", "", *_table(HEAD, tier_rows(system)), "", *_below(system)]
    lines += ["", "## Human reviews against one another", "", *_human(summary)]
    lines += ["", "## How much hangs on the weights", "", *_sensitivity(summary["weight_sensitivity"])]
    if summary["judge_agreement"]:
        lines += ["", "## Agreement of the judges (Krippendorff's alpha, ordinal)", ""]
        rows = [
            (
                name,
                format_number(agreement["value"]),
                _format_interval(agreement["interval"]),
                str(agreement["n"]),
            )
            for name, agreement in sorted(summary["judge_agreement"].items())
        ]
        lines += _table(("rubric", "alpha", "95 % interval", "marks"), rows)
    return "\n".join(lines) + "\n"


def _format_interval(ends: IntervalRecord | None) -> str:
    return NOTHING if ends is None else format_interval(ends["low"], ends["high"])


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    rule = "|" + "---|" * len(head)
    return ["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)]


def _below(system: SystemSummary) -> list[str]:
    labels = ", ".join(f"{count} {name}" for name, count in system["recommendations"].items()) or "none"
    own = system["own_recommendation"]
    lines = [f"Recommendations by composite: {labels}."]
    if gaps := review_lacking.lines(system):
        lines += ["", "What the composite lacks:", "", *(f"- {text.markdown(gap)}" for gap in gaps), ""]
    if own["n"]:
        lines.append(
            f"The reviews' own recommendations differ from the human mean by {format_number(own['mean_absolute_difference'])} "
            f"{_format_interval(own.get('mean_absolute_difference_interval'))} of the scale on average ({own['n']} reviews; "
            f"{format_number(own['mean_difference'], signed=True)} {_format_interval(own.get('mean_difference_interval'))} signed)."
        )
    read = system["paper_read"]
    if read["in_part"]:
        lines.append(
            f"{read['in_part']} of {read['n']} reviews were judged on a part of their paper only; the least share read is "
            f"{format_percent(read['least_share'], 0)}."
        )
    if system["papers_without_review"]:
        lines.append(f"{system['papers_without_review']} papers have no review by this system.")
    return lines


def _human(summary: ReviewSummary) -> list[str]:
    yardstick = summary["human_yardstick"]
    if not yardstick["papers"]:
        return ["No paper has two human reviews."]
    rows = []
    for part in ("every_pair", "closest_other", "closest_pair_of_paper"):
        for name, spread in yardstick[part].items():
            numbers = (format_number(spread[key]) for key in ("median", "min", "max"))
            rows.append((part.replace("_", " "), name, str(spread["n"]), *numbers))
    threshold = summary["task_success_threshold"]
    lines = [*_table(("compared", "similarity", "n", "median", "min", "max"), rows), ""]
    lines.append(f"Task success asks for {format_number(threshold['value'])} ({threshold['from']}).")
    if yardstick["success_rate"] is not None:
        lines.append(f"{format_percent(yardstick['success_rate'])} of the human reviews would reach it.")
    elif yardstick["most_possible_combined"] is not None:
        lines.append(
            f"Even with a semantic score of 1 everywhere, the best human review would reach "
            f"{format_number(yardstick['most_possible_combined'])}."
        )
    return lines


def _sensitivity(sensitivity: WeightSensitivityRecord) -> list[str]:
    if not sensitivity["reviews"]:
        return ["No composite is complete, so there is none to vary the weights of."]
    lines = [
        (
            f"Over weights drawn around the stated ones, {format_percent(sensitivity['label_changes'])} of the labels change "
            f"({sensitivity['reviews']} complete composites)."
        )
    ]
    for system, rank_record in (sensitivity["ranks"] or {}).items():
        shares = ", ".join(format_percent(share, 0) for share in rank_record["rank_shares"])
        lines.append(f"- {text.markdown(system)}: rank {rank_record['rank']}; shares of ranks 1, 2, ...: {shares}")
    return lines
