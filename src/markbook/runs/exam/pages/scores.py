"""The two documented JSON files of a model: scores and errors. Bare numbers first, what we add behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from markbook.runs.exam.marks import GROUPINGS, Grouping
from markbook.runs.exam.tally import Tally
from markbook.types import Interval, Summary

_DOCUMENTED: Mapping[Grouping, str] = {
    "topic": "by_topic",
    "complexity": "by_complexity",
    "problem_type": "by_problem_type",
}


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
    record: dict[str, Any] = {"model": tally.model, "total": percent(total.value)}
    for grouping in GROUPINGS:
        record[_DOCUMENTED[grouping]] = {name: percent(exam.value) for name, (exam, _) in groups[grouping].items()}
    record.update(_pass_records(tally))
    record["error_policy"] = tally.policy
    record["total_by_policy"] = {
        "zero": percent(tally.exam_score(policy="zero").value),
        "partial": percent(tally.exam_score(policy="partial").value),
    }
    record["statistics"] = {"total": _statistics(total, tally.attempted_score())}
    for grouping in GROUPINGS:
        record["statistics"][_DOCUMENTED[grouping]] = {
            name: _statistics(exam, attempted) for name, (exam, attempted) in groups[grouping].items()
        }
    record["summary"] = {
        "total_problems": len(tally.samples),
        "solutions_provided": tally.answered,
        "solutions_absent": len(tally.samples) - tally.answered,
        "attempts": tally.evaluated,
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
    }
    if tally.results:
        record["verdicts"]["results"] = dict(sorted(tally.results.items()))
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
        "n": tally.evaluated,
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
        "total_evaluated": tally.evaluated,
        "fully_correct": grades["fully_correct"],
        "partially_correct": grades["partially_correct"],
        "incorrect": grades["incorrect"],
        "syntax_errors": grades["SyntaxError"],
        "name_errors": grades["NameError"],
        "timeout_errors": grades["TimeoutError"],
        "no_completion_errors": grades["NoCompletionError"],
        "other_errors": grades["Error"],
    }


def interval_record(interval: Interval | None) -> dict[str, object] | None:
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
    found = {}
    for group in tally.groups(grouping):
        places = tally.places(grouping, group)
        found[group] = tally.exam_score(places, group=group), tally.attempted_score(places, group=group)
    return found


def _statistics(exam: Summary, attempted: Summary) -> dict[str, object]:
    absent = exam.n_missing.get("absent", 0)
    record: dict[str, Any] = {
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
    if exam.interval is None:
        record["note"] = exam.note
    return record


def _pass_records(tally: Tally) -> dict[str, object]:
    scores: dict[str, Any] = {}
    details: dict[str, Any] = {}
    for k in tally.pass_ks():
        found = tally.pass_at(k)
        if found.value is None:
            details[f"pass@{k}"] = {"missing": found.note}
            continue
        scores[f"pass@{k}"] = percent(found.value)
        details[f"pass@{k}"] = {
            "low": percent(found.low),
            "high": percent(found.high),
            "standard_error": percent(found.se),
            "method": found.method,
            "n": found.n,
        }
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
