"""A run in a few numbers, for the JSON report and for loggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markbook.aggregate.exam_view import ExamView
from markbook.report.records import Files
from markbook.types import Summary


def overview(view: ExamView | Files) -> dict[str, Any]:
    """Return what the run is and its main numbers as plain JSON: every value beside its n and what is missing."""
    if isinstance(view, ExamView):
        return {
            "schema": 1,
            "command": "exam",
            "config": dict(view.config),
            "isolation": view.isolation,
            "models": {model: _exam(view, model) for model in view.tallies},
        }
    return {
        "schema": 1,
        "command": view.manifest.get("command", ""),
        "config": view.manifest.get("config", {}),
        "summary": view.summary,
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


def numbers(view: ExamView | Files) -> dict[str, float]:
    """Return every number of the overview under a flat name, for loggers that take such; missing ones are left out."""
    found: dict[str, float] = {}
    record = overview(view)
    _collect("", record.get("models", record.get("summary", {})), found)
    return found


def _collect(name: str, value: Any, found: dict[str, float]) -> None:
    if isinstance(value, Mapping):
        for key, part in value.items():
            _collect(f"{name}/{key}" if name else str(key), part, found)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found[name] = float(value)
