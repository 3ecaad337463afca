"""An exam in a few numbers."""

from __future__ import annotations

from typing import Any

from markbook.runs.exam.view import ExamView
from markbook.types import Summary


def overview(view: ExamView) -> dict[str, Any]:
    """Return what the exam is and its main numbers as plain JSON: every value beside its n and what is missing."""
    return {
        "schema": 1,
        "command": "exam",
        "config": dict(view.config),
        "isolation": view.isolation,
        "models": {model: _exam(view, model) for model in view.tallies},
    }


def _exam(view: ExamView, model: str) -> dict[str, Any]:
    tally = view.tallies[model]
    found: dict[str, Any] = {
        "exam_score": summary_record(tally.exam_score()),
        "attempted_score": summary_record(tally.attempted_score()),
        "error_rate": tally.error_rate,
        "errors": dict(sorted(tally.errors.items())),
        "attempts": tally.evaluated,
        "separated_share": tally.separated_share,
        "unchecked": tally.unchecked,
        "unchecked_share": tally.unchecked_share,
    }
    for k in tally.pass_ks():
        one = tally.pass_at(k)
        found[f"pass@{k}"] = {"value": one.value, "low": one.low, "high": one.high, "n": one.n, "note": one.note}
    return found


def summary_record(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain JSON."""
    interval = summary.interval
    return {
        "value": summary.value,
        "n": summary.n,
        "n_missing": dict(summary.n_missing),
        "interval": None if interval is None else [interval.low, interval.high],
        "method": None if interval is None else interval.method,
        "bounds": None if summary.bounds is None else list(summary.bounds),
        "policy": summary.policy,
        "direction": summary.direction,
        "note": summary.note,
    }
