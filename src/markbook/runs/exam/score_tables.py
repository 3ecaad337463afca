"""The scores of an exam as tables: for each model, group and pair, in JSON and Markdown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NotRequired, TypedDict

from markbook.errors import DataError
from markbook.results.comparison import MOST_COMPARED, Comparison, compare_sheet, too_many
from markbook.results.summary import summarise_values
from markbook.runs.exam.grading import GROUPINGS, Grouping, Tally, exam_sheet
from markbook.stats.intervals import NARROW
from markbook.text import markdown, markdown_code, markdown_table
from markbook.text.format import NOTHING, Scale, format_level, format_percent
from markbook.types import Interval, Summary

# The two documented JSON files of a model: scores and errors. Bare numbers first, what we add behind them.

_DOCUMENTED: Mapping[Grouping, str] = {
    "topic": "by_topic",
    "complexity": "by_complexity",
    "problem_type": "by_problem_type",
}


class PercentInterval(TypedDict):
    """An interval in percent."""

    low: float | None
    high: float | None
    confidence: float
    method: str


class ScoreStatistics(TypedDict):
    """What stands behind a score, in percent."""

    n: int
    n_missing: int
    coverage: float | None
    interval: PercentInterval | None
    attempted_score: float | None
    attempted_n: int
    attempted_interval: PercentInterval | None
    n_partial: NotRequired[int]
    bounds: NotRequired[list[float | None]]
    note: NotRequired[str]


class PassRecord(TypedDict, total=False):
    """What stands behind a pass@k, in percent, or why there is none."""

    low: float | None
    high: float | None
    standard_error: float | None
    method: str
    n: int
    missing: str
    note: str


class TotalStatistics(TypedDict):
    """The statistics of the total, beside which those of each grouping stand."""

    total: ScoreStatistics


class AnswerCounts(TypedDict):
    """How many problems there are, and how many were answered."""

    total_problems: int
    solutions_provided: int


class VerdictCounts(TypedDict):
    """How far verdicts are to be believed."""

    separated_share: float | None
    unchecked: int
    by_kind: Mapping[str, int]


class ScoreRecord(TypedDict):
    """What a reader needs of `test_results_score.json`; each pass@k stands there by its own name."""

    total: float | None
    statistics: TotalStatistics
    summary: AnswerCounts
    verdicts: VerdictCounts
    pass_at_k: NotRequired[Mapping[str, PassRecord]]


class ErrorRecord(TypedDict):
    """What a reader needs of `test_results_errors.json`."""

    total_errors: int
    error_rate: float | None
    error_counts: Mapping[str, int]


def percent(value: float | None) -> float | None:
    """Return a 0..1 number as the documented files show it: 0..100 with two decimals."""
    # Adding 0.0 turns -0.0, which would be printed with its sign, into 0.0.
    return None if value is None else round(100 * value, 2) + 0.0


def as_json(record: Mapping[str, object]) -> str:
    """Return the text of a documented JSON file: keys in the order in which the document shows them."""
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def score_record(tally: Tally, *, isolation: str, faults: list[dict[str, object]]) -> dict[str, object]:
    """Return `test_results_score.json`."""
    total = tally.exam_score()
    groups: dict[Grouping, dict[str, tuple[Summary, Summary]]] = {grouping: {} for grouping in GROUPINGS}
    for grouping, summaries in groups.items():
        for group in tally.groups(grouping):
            places = tally.places(grouping, group)
            summaries[group] = tally.exam_score(places, group=group), tally.attempted_score(places, group=group)
    record: dict[str, object] = {"model": tally.model, "total": percent(total.value)}
    for grouping in GROUPINGS:
        record[_DOCUMENTED[grouping]] = {name: percent(exam.value) for name, (exam, _) in groups[grouping].items()}
    record.update(_pass_records(tally))
    record["error_policy"] = tally.policy
    # Both policies, whichever decides: a reader can see what the choice is worth.
    record["total_by_policy"] = {
        "zero": percent(tally.exam_score(policy="zero").value),
        "partial": percent(tally.exam_score(policy="partial").value),
    }
    by_group = {
        _DOCUMENTED[grouping]: {name: _statistics(*pair) for name, pair in groups[grouping].items()}
        for grouping in GROUPINGS
    }
    record["statistics"] = {"total": _statistics(total, tally.attempted_score()), **by_group}
    record["summary"] = {
        "total_problems": len(tally.samples),
        "solutions_provided": tally.n_answered,
        "solutions_absent": len(tally.samples) - tally.n_answered,
        "attempts": tally.n_evaluated,
        "overall_stats": overall_stats(tally),
    }
    record["verdicts"] = {
        "isolation": isolation,
        "separated_share": None if tally.separated_share is None else round(tally.separated_share, 4),
        "unchecked": tally.n_unchecked,
        "unchecked_share": None if tally.unchecked_share is None else round(tally.unchecked_share, 4),
        "by_kind": dict(sorted(tally.verdicts.items())),
        "flags": dict(sorted(tally.flags.items())),
        "limits_hit": dict(sorted(tally.limits.items())),
        **({"results": dict(sorted(tally.results.items()))} if tally.results else {}),
    }
    record["benchmark_faults"] = faults
    return record


def error_record(tally: Tally) -> dict[str, object]:
    """Return `test_results_errors.json`."""
    total = sum(tally.errors.values())
    shares = _rank_errors(tally)
    counts = {
        grouping: {
            group: dict(sorted(tally.errors_by.get(grouping, {}).get(group, {}).items()))
            for group in tally.groups(grouping)
        }
        for grouping in GROUPINGS
    }
    return {
        "total_errors": total,
        "error_rate": percent(tally.error_rate),
        # Without errors there are no shares either, so nothing is divided by 0.
        "error_breakdown": {kind: percent(count / total) for kind, count in shares},
        "model": tally.model,
        "n": tally.n_evaluated,
        "error_counts": dict(shares),
        **{_DOCUMENTED[grouping]: counts[grouping] for grouping in GROUPINGS},
        "category_error_rates": _error_rates(tally, "topic"),
        "complexity_error_rates": _error_rates(tally, "complexity"),
        "error_examples": {kind: tally.examples[kind] for kind, _ in shares},
    }


def _rank_errors(tally: Tally) -> list[tuple[str, int]]:
    # Most frequent first, equal ones by name: no file must depend on the order in which answers were run.
    return sorted(tally.errors.items(), key=lambda item: (-item[1], item[0]))


def overall_stats(tally: Tally) -> dict[str, int]:
    """Return the partition of the attempts: everything behind `total_evaluated` adds up to it."""
    grades = tally.grades
    return {
        "total_evaluated": tally.n_evaluated,
        "fully_correct": grades["fully_correct"],
        "partially_correct": grades["partially_correct"],
        "incorrect": grades["incorrect"],
        "syntax_errors": grades["SyntaxError"],
        "name_errors": grades["NameError"],
        "timeout_errors": grades["TimeoutError"],
        "no_completion_errors": grades["NoCompletionError"],
        "other_errors": grades["Error"],
    }


def interval_record(interval: Interval | None) -> PercentInterval | None:
    """Return an interval in percent, with its method; None where there is none."""
    if interval is None:
        return None
    return {
        "low": percent(interval.low),
        "high": percent(interval.high),
        "confidence": interval.confidence,
        "method": interval.method,
    }


def _statistics(exam: Summary, attempted: Summary) -> ScoreStatistics:
    absent = exam.n_missing.get("absent", 0)
    record: ScoreStatistics = {
        "n": exam.n,
        "n_missing": absent,
        "coverage": percent(attempted.n / exam.n) if exam.n else None,
        "interval": interval_record(exam.interval),
        "attempted_score": percent(attempted.value),
        "attempted_n": attempted.n,
        "attempted_interval": interval_record(attempted.interval),
    }
    if exam.n_partial and exam.bounds is not None:
        record["n_partial"] = exam.n_partial
        record["bounds"] = [percent(end) for end in exam.bounds]
    # Of the notes only those about the interval: what is missing has numbers of its own above.
    if exam.interval is None or NARROW in exam.note:
        record["note"] = exam.note
    return record


def _pass_records(tally: Tally) -> dict[str, object]:
    scores: dict[str, float | None] = {}
    details: dict[str, PassRecord] = {}
    for name, estimate in tally.passes():
        if estimate.value is None:
            # The documented key holds a number: a pass@k without one stands in the details only, with the reason.
            details[name] = {"missing": estimate.note}
            continue
        scores[name] = percent(estimate.value)
        details[name] = {
            "low": percent(estimate.low),
            "high": percent(estimate.high),
            "standard_error": percent(estimate.se),
            "method": estimate.method,
            "n": estimate.n,
        }
        if estimate.note:
            details[name]["note"] = estimate.note
    return {**scores, "pass_at_k": details} if details else {}


def _error_rates(tally: Tally, grouping: Grouping) -> dict[str, float | None]:
    errors = tally.errors_by.get(grouping, {})
    attempts: Mapping[str, int] = tally.attempts_by.get(grouping, {})
    return {
        group: percent(sum(errors.get(group, {}).values()) / attempts[group]) if attempts.get(group) else None
        for group in tally.groups(grouping)
    }


# `model_comparison.json`: the documented side-by-side numbers of several models.


def comparison_record(tallies: Sequence[Tally]) -> dict[str, object]:
    """Return the comparison; every model has marked the same problems.

    Of more models than are compared two by two `comparison` is null, and `comparison_note` says so.
    """
    comparison = compare_tallies(tallies)
    record: dict[str, object] = {
        "models_evaluated": [tally.model for tally in tallies],
        "overall_scores": {tally.model: percent(tally.exam_score().value) for tally in tallies},
        "category_comparison": _by_group(tallies, "topic"),
        # The documented comparison names levels by their bare numbers, the scores of a model by `level_`.
        "complexity_comparison": {
            group.removeprefix("level_"): scores for group, scores in _by_group(tallies, "complexity").items()
        },
        "object_type_comparison": _by_group(tallies, "problem_type"),
        "error_rate_comparison": {tally.model: percent(tally.error_rate) for tally in tallies},
        "statistics": {
            tally.model: {
                "n": (total := tally.exam_score()).n,
                "n_missing": total.n_missing.get("absent", 0),
                "interval": interval_record(total.interval),
                "attempted_score": percent(tally.attempted_score().value),
            }
            for tally in tallies
        },
        "comparison": None if comparison is None else comparison.to_json(),
    }
    return record | {"comparison_note": too_many(len(tallies))} if len(tallies) > MOST_COMPARED else record


def compare_tallies(tallies: Sequence[Tally]) -> Comparison | None:
    """Return the comparison of several models; None of one alone, of too many, and where no two share a problem with a value."""
    try:
        # Pairs grow with the square of the models, and their adjusted p values say less with each.
        is_compared = 1 < len(tallies) <= MOST_COMPARED
        return compare_sheet(exam_sheet(tallies), seed=tallies[0].seed) if is_compared else None
    except DataError:
        return None


def ranking(tallies: Sequence[Tally]) -> list[Tally]:
    """Return the models from the best score to the worst, those without one last; equal scores by name."""
    values = {tally.model: tally.exam_score().value for tally in tallies}

    def sort_key(tally: Tally) -> tuple[bool, float, str]:
        value = values[tally.model]
        # By name at last: the order of equals must not hang on the order of the files.
        return value is None, -(value or 0.0), tally.model

    return sorted(tallies, key=sort_key)


def strengths(tallies: Sequence[Tally]) -> dict[str, tuple[list[str], list[str]]]:
    """Return each model's strongest and weakest topics: those farthest above and below the other models' mean.

    A topic counts as a strength or weakness from 5 points of distance on; at most three each, with their intervals.
    """
    strengths_by_model: dict[str, tuple[list[str], list[str]]] = {}
    for tally in tallies:
        others = [other for other in tallies if other is not tally]
        gaps = []
        for topic in tally.groups("topic"):
            # How far it is from the mean of the others, problem by problem: hard problems weigh on both sides alike.
            differences = []
            for index in tally.places("topic", topic):
                own = tally.cell(index).value
                rest = [value for other in others if (value := other.cell(index).value) is not None]
                if own is not None and rest:
                    differences.append(own - math.fsum(rest) / len(rest))
            gap = summarise_values(differences, range=(-1.0, 1.0), seed=tally.seed)
            if gap.value is not None:
                words = Scale((0.0, 1.0)).with_interval(gap.value, gap.interval, signed=True)
                gaps.append((100 * gap.value, f"{topic} ({words})"))
        above = [words for gap, words in sorted(gaps, key=lambda pair: (-pair[0], pair[1])) if gap >= 5]
        below = [words for gap, words in sorted(gaps) if gap <= -5]
        strengths_by_model[tally.model] = above[:3], below[:3]
    return strengths_by_model


def _by_group(tallies: Sequence[Tally], grouping: Grouping) -> dict[str, dict[str, float | None]]:
    groups = tallies[0].groups(grouping) if tallies else []
    return {
        group: {tally.model: percent(tally.exam_score(tally.places(grouping, group)).value) for tally in tallies}
        for group in groups
    }


# The two documented Markdown reports: a model's summary, and the comparison.

_TITLES: tuple[tuple[Grouping, str, str], ...] = (
    ("topic", "By topic", "Topic"),
    ("complexity", "By complexity", "Level"),
    ("problem_type", "By problem type", "Type"),
)
NOT_SEPARATED = (
    "Verdicts were not separated (--in-process): the tests ran in the solution's process, and every pass is "
    "unchecked, because a solution can forge it."
)
"""What stands in the head of every report of such a run."""


def head_notes(config: Mapping[str, object]) -> list[str]:
    """Return what stands in the head of every report of a run with this config, a sentence each."""
    unavailable = config.get("unavailable")
    notes = [] if config.get("separate", True) else [NOT_SEPARATED]
    return [*notes, *map(str, unavailable if isinstance(unavailable, list | tuple) else ())]


_POLICIES = {
    "zero": "an attempt that raised an error scores 0",
    "partial": "an attempt keeps the share of tests that passed, also if another test raised an error",
}


def summary_text(tally: Tally, *, isolation: str, benchmark: str, notes: Sequence[str] = ()) -> str:
    """Return `evaluation_summary.md`."""
    total, attempted = tally.exam_score(), tally.attempted_score()
    head = f"{format_level([total.interval, attempted.interval])} CI"
    lines = [
        f"# Evaluation summary: {markdown(tally.model)}",
        "",
        f"Benchmark {markdown(benchmark)}, {len(tally.samples)} problems. Absent answers count 0; {_POLICIES[tally.policy]}.",
        "",
        *_head(notes),
        "## Overall performance",
        "",
        *_table(
            ("", "Score", head, "n", "absent"),
            [
                ("**Exam score**", _format(total.value), _interval(total), str(total.n), str(_absent(total))),
                ("Attempted only", _format(attempted.value), _interval(attempted), str(attempted.n), ""),
            ],
        ),
    ]
    passes = []
    for name, estimate in tally.passes():
        note = estimate.note if estimate.value is None else ""
        if estimate.value is not None and estimate.low is not None:
            note = f"{_SCALE.interval(estimate.interval)} ({estimate.method})"
        passes.append((name, _format(estimate.value), note))
    lines += _table(("", "Share of problems", head), passes) if passes else []
    for grouping, title, name in _TITLES:
        rows = []
        for group in tally.groups(grouping):
            places = tally.places(grouping, group)
            exam, attempted = tally.exam_score(places), tally.attempted_score(places)
            n, absent = str(exam.n), str(_absent(exam))
            rows.append((markdown(group), _format(exam.value), _interval(exam), _format(attempted.value), n, absent))
        if rows:
            heads = (name, "Score", head, "Attempted only", "n", "absent")
            lines += [f"## {title}", "", *_table(heads, rows)]
    return "\n".join([*lines, *_error_lines(tally), *_quality_lines(tally, isolation)]) + "\n"


def comparison_text(tallies: Sequence[Tally], *, benchmark: str, notes: Sequence[str] = ()) -> str:
    """Return `model_comparison_summary.md`."""
    best = ranking(tallies)
    level = format_level(tally.exam_score().interval for tally in best)
    lines = [
        "# Model comparison",
        "",
        f"{len(tallies)} models on {markdown(benchmark)}, {len(best[0].samples)} problems. Absent answers count 0.",
        "",
        *_head(notes),
        "## Ranking",
        "",
        *_table(
            ("#", "Model", "Score", f"{level} CI", "Absent", "Error rate", "Separated", "Unchecked"),
            [
                (
                    str(rank),
                    markdown(tally.model),
                    _format(tally.exam_score().value),
                    _interval(tally.exam_score()),
                    str(_absent(tally.exam_score())),
                    _format(tally.error_rate),
                    _format(tally.separated_share),
                    str(tally.n_unchecked),
                )
                for rank, tally in enumerate(best, start=1)
            ],
        ),
        "Two models whose intervals overlap may still differ, or not: `markbook compare` tests the paired difference.",
        "",
    ]
    for grouping, title, head in _TITLES:
        groups = best[0].groups(grouping)
        if groups:
            rows = []
            for group in groups:
                scores = [tally.exam_score(tally.places(grouping, group)) for tally in best]
                spreads = [f" {_SCALE.interval(score.interval)}" if score.interval else "" for score in scores]
                rows.append(
                    (
                        markdown(group),
                        *(_format(score.value) + spread for score, spread in zip(scores, spreads, strict=True)),
                    )
                )
            lines += [f"## {title}", "", *_table((head, *(markdown(tally.model) for tally in best)), rows)]
    if len(best) <= MOST_COMPARED:
        lines += _strength_lines(best)
    return "\n".join(lines) + "\n"


_SCALE = Scale((0.0, 1.0), digits=2)
"""Two decimals in words, as `percent` gives the numbers of the other files of an exam whose format is documented."""


def _head(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in (f"**{markdown(note)}**", "")]


def _strength_lines(best: Sequence[Tally]) -> list[str]:
    strengths_by_model = strengths(best)
    if not any(above or below for above, below in strengths_by_model.values()):
        return []
    rows = [
        (markdown(model), markdown("; ".join(above)) or NOTHING, markdown("; ".join(below)) or NOTHING)
        for model, (above, below) in strengths_by_model.items()
    ]
    return [
        "## Strengths and weaknesses",
        "",
        (
            f"Topics farthest above and below the mean of the other models, in points with the {format_level()} CI over the topic's "
            "problems, from 5 points on. Where an interval holds 0, chance may be all of it."
        ),
        "",
        *_table(("Model", "Strengths", "Weaknesses"), rows),
    ]


def _error_lines(tally: Tally) -> list[str]:
    total = sum(tally.errors.values())
    lines = [
        "## Errors",
        "",
        f"{total} of {tally.n_evaluated} attempts raised an error ({_format(tally.error_rate)}).",
        "Failed tests and missing answers are not errors.",
        "",
    ]
    if total:
        rows = [(kind, str(count), _format(count / total)) for kind, count in _rank_errors(tally)]
        lines += _table(("Error", "Count", "Share of errors"), rows)
        lines += ["Examples:", ""]
        for kind, _, _ in rows:
            lines += [
                f"- {kind} in {markdown(example['task_id'])}: {markdown_code(example['message'], limit=200)}"
                for example in tally.examples[kind]
            ]
        lines.append("")
    return lines


def _quality_lines(tally: Tally, isolation: str) -> list[str]:
    stats = overall_stats(tally)
    count = stats["total_evaluated"]
    rows = [
        (name.replace("_", " "), str(value), _format(value / count) if count else NOTHING)
        for name, value in stats.items()
        if name != "total_evaluated"
    ]
    share = tally.separated_share
    separated = "no verdict"
    if share is not None:
        separated = f"{_format(share)} of the verdicts from separate processes, {tally.n_unchecked} unchecked"
    return [
        "## Solution quality",
        "",
        *_table(("Attempts", "Count", "Share"), rows),
        f"Isolation level {isolation}; {separated}.",
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [*markdown_table(head, rows), ""]


def _format(value: float | None) -> str:
    return format_percent(value, _SCALE.digits)


def _interval(summary: Summary) -> str:
    method = "" if summary.interval is None else f" ({summary.interval.method})"
    return f"{_SCALE.interval(summary.interval)}{method}"


def _absent(summary: Summary) -> int:
    return summary.n_missing.get("absent", 0)
