"""A comparison in one sentence that its statistics bear, and what would tell more."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from markbook.errors import DataError, MarkbookError
from markbook.results.pairs import count_open, level_of
from markbook.stats.power import items_to_show
from markbook.text.numbers import Scale

if TYPE_CHECKING:
    from markbook.results.comparison import Comparison
    from markbook.results.kind import Results
    from markbook.results.pairs import Pair
    from markbook.results.sheet import Sheet
    from markbook.types import Summary

_NAMED = 4
"""So many models are named in a sentence; of more their number is said."""
_HOPELESS = 100_000
"""So many more samples are not worth advising."""
_WIDE = 48


@dataclass(frozen=True, slots=True)
class Headline:
    """What a report says first."""

    text: str = ""
    """Empty where there is nothing to say."""
    step: str = ""
    """What to do next to know more; empty where nothing is left open."""
    scores: tuple[tuple[str, str, str], ...] = ()
    """The best models, each with its score and its interval in words."""


def headline(comparison: Comparison, samples: str = "samples") -> Headline:
    """Return a comparison's headline.

    Args:
        comparison: of two models or more.
        samples: what its samples are called: problems, rows, papers.
    """
    names = _together(comparison)
    scale = Scale(comparison.range)
    best, pairs = names[0], {frozenset((pair.first, pair.second)): pair for pair in comparison.pairs}

    def apart(one: str, other: str) -> bool:
        return pairs[frozenset((one, other))].distinguishable

    turned = next((pair for pair in comparison.pairs if pair.better == pair.second), None)
    if turned is not None:
        better = "lower" if comparison.direction == "lower" else "higher"
        return Headline(
            f"On the {turned.n:,} {samples} that both have {_join_names([turned.second])} is better than {_join_names([turned.first])} by "
            f"{_span([turned], scale)}, though {_join_names([turned.first])} has the {better} mean over its own."
        )
    tied = [best, *(name for name in names[1:] if not apart(best, name))]
    rest = [name for name in names if name not in tied]
    on = _on(comparison, names, samples)
    value = next(standing.summary.value for standing in comparison.standings if standing.model == best)
    score = f" ({scale.value(value)})" if value is not None else ""
    if len(tied) == 1:
        text = f"{_join_names([best])}{score} is better than {_say_beaten(best, rest, pairs, scale)} on {on}."
    else:
        text = f"{_say_tied(tied, apart)} on {on}"
        beats = bool(rest) and all(apart(first, other) for first in tied for other in rest)
        if beats:
            gaps = _span([pairs[frozenset((first, other))] for first in tied for other in rest], scale)
            text += f"; {'both' if len(tied) == 2 else 'all'} are better than {_join_names(rest)} by {gaps}."
        elif rest:
            text += f"; {_join_names([best])}{score} is better than {_say_beaten(best, rest, pairs, scale)}."
        else:
            text += "."
    text += _left_out(comparison, names, samples)
    return Headline(text, _step(comparison, tied, rest, apart, pairs, samples))


def _on(comparison: Comparison, names: Sequence[str], samples: str) -> str:
    """Return over which samples these models are compared."""
    n = comparison.n_common
    if not n and len(names) == 2:
        n = comparison.pair(*names).n
    return f"these {n:,} {samples}" if n else f"the {samples} that they share"


def _left_out(comparison: Comparison, names: Sequence[str], samples: str) -> str:
    excluded = [standing.model for standing in comparison.standings if standing.model not in names]
    return f" Not compared with these, for want of {samples} in common: {_join_names(excluded)}." if excluded else ""


def _together(comparison: Comparison) -> list[str]:
    """Return the models, best first, of which every two share samples; what shares none with one before it is left out."""
    met = {frozenset((pair.first, pair.second)) for pair in comparison.pairs}
    names = {name for pair in met for name in pair}
    connected: list[str] = []
    for name in (standing.model for standing in comparison.standings if standing.model in names):
        if all(frozenset((name, other)) in met for other in connected):
            connected.append(name)
    return connected


def headline_of(sheet: Sheet, samples: str, *, comparison: Comparison | None = None, seed: int = 0) -> Headline:
    """Return the headline of a sheet, an empty one where there is nothing to compare.

    Args:
        sheet: of one model or more.
        samples: what its samples are called.
        comparison: of its models, if it is at hand.
        seed: of what is drawn.
    """
    from markbook.results.comparison import compare_sheet
    from markbook.results.standing import summaries

    if not sheet.models:
        return Headline()
    if len(sheet.models) == 1:
        summary = summaries(sheet, seed=seed)[sheet.models[0]]
        single = headline_of_one(sheet.models[0], summary, sheet.range, samples)
        return replace(single, scores=_scores([(sheet.models[0], summary)], Scale(sheet.range)))
    try:
        comparison = comparison or compare_sheet(sheet, seed=seed)
    except DataError:
        return Headline()  # no two share a sample: the tables say so
    ranked = [(standing.model, standing.summary) for standing in comparison.standings]
    return replace(headline(comparison, samples), scores=_scores(ranked, Scale(sheet.range)))


def _scores(ranked: Sequence[tuple[str, Summary]], scale: Scale) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (
            model,
            scale.value(summary.value),
            scale.spread(summary.interval.low, summary.interval.high) if summary.interval else "",
        )
        for model, summary in ranked[:_NAMED]
        if summary.value is not None
    )


def run_headline(results: Results, samples: str) -> Headline:
    """Return the headline of a run by its main metric, an empty one where it has none."""
    from markbook.results.kind import seed_of

    try:
        return headline_of(results.sheet(None), samples, seed=seed_of(results))
    except (MarkbookError, ValueError):
        return Headline()  # tasks that share no metric


def headline_of_one(model: str, summary: Summary, limits: tuple[float, float], samples: str = "samples") -> Headline:
    """Return the headline of a run of one model: its score and how sure it is."""
    scale, interval = Scale(limits), summary.interval
    if summary.value is None:
        return Headline(f"{_join_names([model])} has no score: none of {summary.n_items:,} {samples} could be scored.")
    score = f"{_join_names([model])} scores {scale.value(summary.value)} on {summary.n:,} {samples}"
    if interval is None:
        return Headline(f"{score}.")
    width = scale.value(interval.high - interval.low)
    step = f"Four times as many {samples}, {_about(4 * summary.n)}, would halve the width of that interval ({width})."
    text = f"{score}; with {100 * interval.confidence:g} % confidence {scale.value(interval.low)} to {scale.value(interval.high)}."
    return Headline(text, step if interval.high > interval.low else "")


def _join_names(names: Sequence[str]) -> str:
    """Return names for a sentence, or how many they are."""
    if len(names) > _NAMED:
        return f"{len(names)} others"
    names_shown = [name if len(name) <= _WIDE else name[: _WIDE - 1] + "…" for name in names]
    return names_shown[0] if len(names_shown) == 1 else f"{', '.join(names_shown[:-1])} and {names_shown[-1]}"


def _say_tied(tied: Sequence[str], apart: Callable[[str, str], bool]) -> str:
    if any(apart(first, other) for first, other in combinations(tied[1:], 2)):
        return f"{_join_names(tied[:1])} cannot be told apart from {_join_names(tied[1:]).replace(' and ', ' or ')}"
    if len(tied) > _NAMED:
        return f"{_join_names(tied[:1])} and {len(tied) - 1} others cannot be told apart"
    return f"{_join_names(tied)} cannot be told apart"


def _say_beaten(best: str, rest: Sequence[str], pairs: dict[frozenset[str], Pair], scale: Scale) -> str:
    return f"{_join_names(rest)} by {_span([pairs[frozenset((best, name))] for name in rest], scale)}"


def _span(pairs: Sequence[Pair], scale: Scale) -> str:
    """Return from the least to the most that the intervals of these differences leave open; each leaves out 0."""
    ends = [abs(end) for pair in pairs for end in (pair.difference.low, pair.difference.high) if end is not None]
    unit = " points" if scale.factor == 100 else ""
    low, high = (f"{scale.factor * end:.{0 if scale.factor == 100 else 3}f}" for end in (min(ends), max(ends)))
    if scale.factor == 100 and min(ends) < 0.01:
        low = scale.value(min(ends))
    return f"{low} to {high}{unit}"


def _step(
    comparison: Comparison, tied: Sequence[str], rest: Sequence[str], apart: Callable[[str, str], bool],
    pairs: dict[frozenset[str], Pair], samples: str,
) -> str:  # fmt: skip
    """Return how many samples would tell the best from the one it is nearest to, or else the first two that are tied."""
    nearest = (tied[0], tied[1]) if len(tied) > 1 else next(
        ((first, other) for first, other in pairwise(rest) if not apart(first, other)), None
    )  # fmt: skip
    if nearest is None:
        return ""
    pair = pairs[frozenset(nearest)]
    both = _join_names(nearest)
    gap = abs(pair.difference.value or 0.0)
    differences = pair.differences(comparison.range[1] - comparison.range[0])
    if gap == 0:
        return f"{both} scored alike here; other or harder {samples} may tell them apart, more of the same hardly."
    if differences is None:
        return _unsure(pair, both, samples)
    level = level_of(pair, count_open(comparison.pairs, comparison.alpha), comparison.alpha)
    needed = items_to_show(differences, gap, alpha=level, most=_HOPELESS)
    if needed is None:
        return f"The difference between {both} is so small here that more {samples} like these will hardly settle it."
    scale = Scale(comparison.range)
    unit = " points" if scale.factor == 100 else ""
    return (
        f"{_about(max(needed, pair.n + 1))} {samples} like these would settle {both}, "
        f"if they differ by the {scale.value(gap)}{unit} seen here."
    ).replace("about", "About", 1)


def _unsure(pair: Pair, both: str, samples: str) -> str:
    """Return why nothing says how many samples would tell two apart that differ."""
    if pair.n < 2:
        return f"{both} have a single one of the {samples} in common; more would tell how sure their difference is."
    if "n_clusters" in pair.difference.stats:
        why = pair.difference.note.removesuffix(": no interval")
        return (
            f"How sure the difference between {both} is cannot be said ({why}); {samples} of other clusters would tell."
        )
    return f"{both} differ by the same on all {pair.n:,} {samples} that both have; more would tell whether that holds."


def _about(number: int) -> str:
    """Return a number of samples, rounded up to two digits: more would claim too much."""
    digits = max(0, int(math.log10(number)) - 1)
    return f"about {math.ceil(number / 10**digits) * 10**digits:,}"
