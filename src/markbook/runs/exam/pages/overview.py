"""An exam in a few numbers."""

from __future__ import annotations

from typing import Any

from markbook.runs.exam.view import ExamView


def overview(view: ExamView) -> dict[str, object]:
    """Return what the exam is and its main numbers as plain JSON: every value beside its n and what is missing."""
    return {
        "schema": 1,
        "command": "exam",
        "config": dict(view.config),
        "isolation": view.isolation,
        **({"stopped": dict(view.stop_record)} if view.stop_record else {}),
        "models": {model: _exam(view, model) for model in view.tallies},
    }


def _exam(view: ExamView, model: str) -> dict[str, object]:
    tally = view.tallies[model]
    record: dict[str, Any] = {
        "exam_score": tally.exam_score().to_record(),
        "attempted_score": tally.attempted_score().to_record(),
        "error_rate": tally.error_rate,
        "errors": dict(sorted(tally.errors.items())),
        "attempts": tally.n_evaluated,
        "separated_share": tally.separated_share,
        "unchecked": tally.unchecked,
        "unchecked_share": tally.unchecked_share,
    }
    for k in tally.pass_ks():
        record[f"pass@{k}"] = tally.pass_at(k).to_record()
    return record
