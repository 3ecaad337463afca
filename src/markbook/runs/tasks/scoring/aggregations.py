"""From what rows gave to one number, where that is not their mean: the aggregations that task files name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markbook import plugins
from markbook.config import Function, Use
from markbook.errors import ConfigError
from markbook.load.filters import unregistered_error
from markbook.load.foreign import Find, ForeignError, call_user_function
from markbook.plugins import suggest
from markbook.types import Attempt, Item, Sample


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Sums rows up."""

    name: str
    over: Callable[[Sequence[Any]], float]
    """Raises `ForeignError` or `ValueError` where there is no number."""
    one: Callable[[Any], float] | None = None
    """What a single row's is for reading; None where that says nothing."""
    resamples: bool = True
    """Whether it is quick enough, and known well enough, to be computed a thousand times for an interval."""

    version: int = 1
    """Goes up when a row's own number changes."""

    @property
    def signature(self) -> str:
        """What a number that was summed up so is known by."""
        return self.name if self.version == 1 else f"{self.name}-v{self.version}"

    def of_one(self, raw: object) -> float | None:
        """Return a single row's number, None where it has none."""
        if self.one is None:
            return None
        try:
            return self.one(raw)
        except (TypeError, ValueError, ArithmeticError, LookupError):
            return None


def aggregation_of(use: Use, find: Find) -> Aggregation | None:
    """Return how an entry of a metric list is summed up; None is the mean.

    Raises:
        ConfigError: an aggregation that is neither known nor a function that may be called.
    """
    named = use.aggregation
    if isinstance(named, Function):
        own = find(named)
        if own is None:
            raise unregistered_error("aggregation", named, list(AGGREGATIONS))
        return Aggregation(named.name, lambda raws: _foreign(named, own, raws), resamples=False)
    if named in ("", "mean"):
        return None
    if named not in AGGREGATIONS:
        raise ConfigError(
            f"unknown aggregation {named!r}",
            at=use.place_of("aggregation"),
            hint=suggest(named, ["mean", *AGGREGATIONS]),
        )
    return AGGREGATIONS[named]


def _foreign(function: Function, own: Callable[..., Any], raws: Sequence[Any]) -> float:
    value = call_user_function(function, own, list(raws))
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ForeignError(f"{function.name} gives {value!r:.100}, which is no number") from error


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _weighted_mean(pairs: Sequence[tuple[float, float]]) -> float:
    return math.fsum(value for value, _ in pairs) / math.fsum(weight for _, weight in pairs)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]  # the upper of the two in the middle, as the harness has it


def _without_nan(values: Sequence[float]) -> float:
    numbers = [value for value in values if not math.isnan(value)]
    if not numbers:
        raise ValueError("no row has a number")
    return _mean(numbers)


def _f1(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Return F1 of the label 1."""
    if not {label for pair in pairs for label in pair} <= {0, 1}:
        raise ValueError("F1 is of two labels, 0 and 1")
    hits = sum(gold == predicted == 1 for gold, predicted in pairs)
    named = sum(predicted == 1 for _, predicted in pairs) + sum(gold == 1 for gold, _ in pairs)
    return 2 * hits / named if named else 0.0


def _matthews(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Return the correlation of two labellings (Gorodkin 2004), 0 where one of them never changes."""
    golds: dict[Any, int] = {}
    founds: dict[Any, int] = {}
    for gold, predicted in pairs:
        golds[gold] = golds.get(gold, 0) + 1
        founds[predicted] = founds.get(predicted, 0) + 1
    n, right = len(pairs), sum(gold == predicted for gold, predicted in pairs)
    both = right * n - sum(golds.get(label, 0) * count for label, count in founds.items())
    spread = (n * n - sum(count**2 for count in golds.values())) * (n * n - sum(c**2 for c in founds.values()))
    return both / math.sqrt(spread) if spread else 0.0


def _brier(pair: tuple[int, Sequence[float]]) -> float:
    gold, chances = pair
    return math.fsum((chance - (index == gold)) ** 2 for index, chance in enumerate(chances))


def _same(pair: tuple[Any, Any]) -> float:
    return float(pair[0] == pair[1])


def _bits(pairs: Sequence[tuple[float, float]]) -> float:
    return -_weighted_mean(pairs) / math.log(2)


def _weighted_perplexity(pairs: Sequence[tuple[float, float]]) -> float:
    return math.exp(-_weighted_mean(pairs))


def _corpus(metric: str, pairs: Sequence[tuple[Any, Any]]) -> float:
    """Return a metric of all texts together, of pairs of right answers and texts."""
    metric_made = plugins.create("metrics", metric)
    items = []
    for number, (gold, text) in enumerate(pairs):
        references = tuple(map(str, gold)) if isinstance(gold, list | tuple) else (str(gold),)
        items.append(Item(Sample(str(number), references=references), Attempt(str(number), str(text))))
    value = metric_made.summarise(metric_made.measure(items))
    if value is None:
        raise ValueError("no row has a number")
    return float(value)


def _of_corpus(name: str) -> Aggregation:
    return Aggregation(name, lambda pairs: _corpus(f"corpus_{name}", pairs), resamples=False)


AGGREGATIONS: Mapping[str, Aggregation] = {
    "bits_per_byte": Aggregation("bits_per_byte", _bits, lambda pair: _bits([pair])),
    "bleu": _of_corpus("bleu"),
    "brier_score": Aggregation("brier_score", lambda pairs: _mean(list(map(_brier, pairs))), _brier),
    "chrf": _of_corpus("chrf"),
    "f1": Aggregation("f1", _f1, _same),
    "matthews_corrcoef": Aggregation("matthews_corrcoef", _matthews, _same),
    "median": Aggregation("median", _median),
    "nanmean": Aggregation("nanmean", _without_nan),
    "perplexity": Aggregation(
        "perplexity", lambda values: math.exp(-_mean(values)), lambda value: math.exp(-value), version=2
    ),
    "ter": _of_corpus("ter"),
    "weighted_perplexity": Aggregation(
        "weighted_perplexity", _weighted_perplexity, lambda pair: _weighted_perplexity([pair])
    ),
}
"""By the names that lm-evaluation-harness gives them; `mean` is none of them."""
