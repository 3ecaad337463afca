"""`model_comparison.json`: the documented side-by-side numbers of several models."""

from __future__ import annotations

from collections.abc import Sequence

from markbook.results.comparison import compare_sheet
from markbook.runs.exam.marks import Grouping
from markbook.runs.exam.pages.scores import interval_record, percent
from markbook.runs.exam.sheet import exam_sheet
from markbook.runs.exam.tally import Tally


def comparison_record(tallies: Sequence[Tally]) -> dict[str, object]:
    """Return the comparison; every model has marked the same problems."""
    return {
        "models_evaluated": [tally.model for tally in tallies],
        "overall_scores": {tally.model: percent(tally.exam_score().value) for tally in tallies},
        "category_comparison": _by_group(tallies, "topic"),
        "complexity_comparison": {
            group.removeprefix("level_"): scores for group, scores in _by_group(tallies, "complexity").items()
        },
        "object_type_comparison": _by_group(tallies, "problem_type"),
        "error_rate_comparison": {tally.model: percent(tally.error_rate) for tally in tallies},
        "statistics": {tally.model: _statistics(tally) for tally in tallies},
        "comparison": compare_sheet(exam_sheet(tallies), seed=tallies[0].seed).to_json(),
    }


def ranking(tallies: Sequence[Tally]) -> list[Tally]:
    """Return the models from the best score to the worst; equal scores by name."""
    return sorted(tallies, key=lambda tally: (-(tally.exam_score().value or 0.0), tally.model))


def strengths(tallies: Sequence[Tally], grouping: Grouping = "topic") -> dict[str, tuple[list[str], list[str]]]:
    """Return each model's strongest and weakest groups: those farthest above and below the other models' mean.

    A group counts as a strength or weakness from 5 points of distance on; at most three each.
    """
    found: dict[str, tuple[list[str], list[str]]] = {}
    scores = _by_group(tallies, grouping)
    for tally in tallies:
        gaps = []
        for group, values in scores.items():
            own = values[tally.model]
            others = [value for model, value in values.items() if model != tally.model and value is not None]
            if own is not None and others:
                gaps.append((own - sum(others) / len(others), group))
        above = [
            f"{group} ({gap:+.1f})" for gap, group in sorted(gaps, key=lambda pair: (-pair[0], pair[1])) if gap >= 5
        ]
        below = [f"{group} ({gap:+.1f})" for gap, group in sorted(gaps) if gap <= -5]
        found[tally.model] = above[:3], below[:3]
    return found


def _by_group(tallies: Sequence[Tally], grouping: Grouping) -> dict[str, dict[str, float | None]]:
    groups = tallies[0].groups(grouping) if tallies else []
    return {
        group: {tally.model: percent(tally.exam_score(tally.places(grouping, group)).value) for tally in tallies}
        for group in groups
    }


def _statistics(tally: Tally) -> dict[str, object]:
    total = tally.exam_score()
    return {
        "n": total.n,
        "n_missing": total.n_missing.get("absent", 0),
        "interval": interval_record(total.interval),
        "attempted_score": percent(tally.attempted_score().value),
    }
