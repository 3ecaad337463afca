"""`model_comparison.json`: the documented side-by-side numbers of several models."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markbook.errors import DataError
from markbook.results.comparison import MOST_COMPARED, Comparison, compare_sheet, too_many
from markbook.results.summary import summarise_values
from markbook.runs.exam.marks import Grouping
from markbook.runs.exam.pages.scores import interval_record, percent
from markbook.runs.exam.sheet import exam_sheet
from markbook.runs.exam.tally import Tally
from markbook.text.numbers import Scale
from markbook.types import Summary


def comparison_record(tallies: Sequence[Tally]) -> dict[str, object]:
    """Return the comparison; every model has marked the same problems.

    Of more models than are compared two by two `comparison` is null, and `comparison_note` says so.
    """
    comparison = comparison_of(tallies)
    record: dict[str, object] = {
        "models_evaluated": [tally.model for tally in tallies],
        "overall_scores": {tally.model: percent(tally.exam_score().value) for tally in tallies},
        "category_comparison": _by_group(tallies, "topic"),
        "complexity_comparison": {
            group.removeprefix("level_"): scores for group, scores in _by_group(tallies, "complexity").items()
        },
        "object_type_comparison": _by_group(tallies, "problem_type"),
        "error_rate_comparison": {tally.model: percent(tally.error_rate) for tally in tallies},
        "statistics": {tally.model: _statistics(tally) for tally in tallies},
        "comparison": None if comparison is None else comparison.to_json(),
    }
    return record | {"comparison_note": too_many(len(tallies))} if len(tallies) > MOST_COMPARED else record


def comparison_of(tallies: Sequence[Tally]) -> Comparison | None:
    """Return the comparison of several models; None of one alone, of too many, and where no two share a problem with a value."""
    try:
        is_compared = 1 < len(tallies) <= MOST_COMPARED
        return compare_sheet(exam_sheet(tallies), seed=tallies[0].seed) if is_compared else None
    except DataError:
        return None


def ranking(tallies: Sequence[Tally]) -> list[Tally]:
    """Return the models from the best score to the worst, those without one last; equal scores by name."""
    values = {tally.model: tally.exam_score().value for tally in tallies}

    def sort_key(tally: Tally) -> tuple[bool, float, str]:
        value = values[tally.model]
        return value is None, -(value or 0.0), tally.model

    return sorted(tallies, key=sort_key)


def strengths(tallies: Sequence[Tally], grouping: Grouping = "topic") -> dict[str, tuple[list[str], list[str]]]:
    """Return each model's strongest and weakest groups: those farthest above and below the other models' mean.

    A group counts as a strength or weakness from 5 points of distance on; at most three each, with their intervals.
    """
    strengths_by_model: dict[str, tuple[list[str], list[str]]] = {}
    for tally in tallies:
        others = [other for other in tallies if other is not tally]
        gaps = []
        for group in tally.groups(grouping):
            gap = _gap(tally, others, tally.places(grouping, group))
            if gap.value is not None:
                gaps.append((100 * gap.value, f"{group} ({_in_points(gap)})"))
        above = [words for gap, words in sorted(gaps, key=lambda pair: (-pair[0], pair[1])) if gap >= 5]
        below = [words for gap, words in sorted(gaps) if gap <= -5]
        strengths_by_model[tally.model] = above[:3], below[:3]
    return strengths_by_model


def _gap(tally: Tally, others: Sequence[Tally], places: Sequence[int]) -> Summary:
    """Return how far a model is from the mean of the others, problem by problem."""
    gaps = []
    for index in places:
        own, *rest = (side.cell(index).value for side in (tally, *others))
        others_known = [value for value in rest if value is not None]
        if own is not None and others_known:
            gaps.append(own - math.fsum(others_known) / len(others_known))
    return summarise_values(gaps, range=(-1.0, 1.0), seed=tally.seed)


def _in_points(gap: Summary) -> str:
    assert gap.value is not None
    low, high = (None, None) if gap.interval is None else (gap.interval.low, gap.interval.high)
    return Scale((0.0, 1.0)).with_gap_spread(gap.value, low, high)


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
