"""The two documented JSON files of a model: scores and errors. Bare numbers first, what we add behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NotRequired, TypedDict

from markbook.runs.exam.marks import GROUPINGS, Grouping
from markbook.runs.exam.tally import Tally
from markbook.stats.intervals import SHORT
from markbook.types import Interval, Summary

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
    return None if value is None else round(100 * value, 2) + 0.0


def as_json(record: Mapping[str, object]) -> str:
    """Return the text of a documented JSON file: keys in the order in which the document shows them."""
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def score_record(tally: Tally, *, isolation: str, faults: list[dict[str, object]]) -> dict[str, object]:
    """Return `test_results_score.json`."""
    total = tally.exam_score()
    groups = {grouping: _group_summaries(tally, grouping) for grouping in GROUPINGS}
    record: dict[str, object] = {"model": tally.model, "total": percent(total.value)}
    for grouping in GROUPINGS:
        record[_DOCUMENTED[grouping]] = {name: percent(exam.value) for name, (exam, _) in groups[grouping].items()}
    record.update(_pass_records(tally))
    record["error_policy"] = tally.policy
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
        "unchecked": tally.unchecked,
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
    shares = sorted(tally.errors.items(), key=lambda item: (-item[1], item[0]))
    return {
        "total_errors": total,
        "error_rate": percent(tally.error_rate),
        "error_breakdown": {kind: percent(count / total) for kind, count in shares},
        "model": tally.model,
        "n": tally.n_evaluated,
        "error_counts": dict(shares),
        **{_DOCUMENTED[grouping]: _error_counts(tally, grouping) for grouping in GROUPINGS},
        "category_error_rates": _error_rates(tally, "topic"),
        "complexity_error_rates": _error_rates(tally, "complexity"),
        "error_examples": {kind: tally.examples[kind] for kind, _ in shares},
    }


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


def _group_summaries(tally: Tally, grouping: Grouping) -> dict[str, tuple[Summary, Summary]]:
    summaries = {}
    for group in tally.groups(grouping):
        places = tally.places(grouping, group)
        summaries[group] = tally.exam_score(places, group=group), tally.attempted_score(places, group=group)
    return summaries


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
    if exam.interval is None or SHORT in exam.note:
        record["note"] = exam.note
    return record


def _pass_records(tally: Tally) -> dict[str, object]:
    scores: dict[str, float | None] = {}
    details: dict[str, PassRecord] = {}
    for k in tally.pass_ks():
        estimate = tally.pass_at(k)
        if estimate.value is None:
            details[f"pass@{k}"] = {"missing": estimate.note}
            continue
        scores[f"pass@{k}"] = percent(estimate.value)
        details[f"pass@{k}"] = {
            "low": percent(estimate.low),
            "high": percent(estimate.high),
            "standard_error": percent(estimate.se),
            "method": estimate.method,
            "n": estimate.n,
        }
        if estimate.note:
            details[f"pass@{k}"]["note"] = estimate.note
    return {**scores, "pass_at_k": details} if details else {}


def _error_counts(tally: Tally, grouping: Grouping) -> dict[str, dict[str, int]]:
    counts = tally.errors_by.get(grouping, {})
    return {group: dict(sorted(counts.get(group, {}).items())) for group in tally.groups(grouping)}


def _error_rates(tally: Tally, grouping: Grouping) -> dict[str, float | None]:
    errors = tally.errors_by.get(grouping, {})
    attempts: Mapping[str, int] = tally.attempts_by.get(grouping, {})
    return {
        group: percent(sum(errors.get(group, {}).values()) / attempts[group]) if attempts.get(group) else None
        for group in tally.groups(grouping)
    }
