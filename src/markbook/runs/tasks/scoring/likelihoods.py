"""Scoring rows that are answered by log-likelihoods, and what a function of the task's own makes of a row."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from markbook.config import Function, Task, Use
from markbook.errors import ConfigError
from markbook.load.choices import Weighing
from markbook.load.filters import unregistered_error
from markbook.load.foreign import Find, call_user_function
from markbook.plugins import suggest
from markbook.runs.tasks.scoring.aggregations import AGGREGATIONS
from markbook.runs.tasks.scoring.scorers import (
    UNBOUNDED,
    RowAnswer,
    Scored,
    Scorer,
    code_digest,
    scored_of,
    sign_aggregation,
)
from markbook.types import Missing, MissingKind

Score = Callable[[Weighing, Sequence[float], Sequence[Any]], Any]
"""From a weighing, its log-likelihoods and whether each was what the model would have written itself."""

_UNIT = (0.0, 1.0)


def row_scorer(task: Task, find: Find) -> Scorer | None:
    """Return what marks whole rows of a task; None where its metrics mark texts.

    Raises:
        ConfigError: a function that may not be called, a metric that this kind of answer has not.
    """
    if task.results is not None:
        return _by_function(task, task.results, find)
    if task.output == "generate_until":
        return None
    by_name = {
        "multiple_choice": CHOICE,
        "loglikelihood": CONTINUATION,
        "loglikelihood_rolling": ROLLING,
    }[task.output]
    scored: dict[str, Scored] = {}
    scores: dict[str, Score] = {}
    for use in task.metrics:
        name = use.name.name if isinstance(use.name, Function) else use.name
        if name not in by_name:
            raise ConfigError(
                f"metric {name!r} is not one of output_type {task.output}", at=use.at, hint=suggest(name, list(by_name))
            )
        score, limits, aggregation = by_name[name]
        scores[use.key or name] = score
        scored[use.key or name] = _make_scored(use, name, find, limits, aggregation)
    return Scorer(scored, lambda row: _score(row, scores), f"{task.output}|v1")


def _make_scored(use: Use, name: str, find: Find, limits: tuple[float, float], aggregation: str) -> Scored:
    key = use.key or name
    scored = scored_of(key, use, find, f"{name}|log-likelihoods|v1", limits)
    if use.aggregation == "" and aggregation:
        scored = sign_aggregation(scored, AGGREGATIONS[aggregation])
    lower = name in _LOWER if use.higher_is_better is None else not use.higher_is_better
    return replace(scored, direction="lower" if lower else "higher")


_DEFAULTS: Mapping[str, str] = {
    "bits_per_byte": "bits_per_byte",
    "bleu": "bleu",
    "brier_score": "brier_score",
    "byte_perplexity": "weighted_perplexity",
    "chrf": "chrf",
    "f1": "f1",
    "mcc": "matthews_corrcoef",
    "perplexity": "perplexity",
    "ter": "ter",
    "word_perplexity": "weighted_perplexity",
}
"""How lm-evaluation-harness sums up its own metrics where an entry names no aggregation; all others are means."""


def _with_default(name: str, use: Use, scored: Scored) -> Scored:
    """Return how what a function gives under a metric's name is summed up: as that metric, where the file says nothing."""
    direction = "lower" if use.higher_is_better is None and name in _LOWER | {"ter"} else scored.direction
    if use.aggregation == "" and name in _DEFAULTS:
        return sign_aggregation(replace(scored, direction=direction), AGGREGATIONS[_DEFAULTS[name]])
    return replace(scored, direction=direction)


def _by_function(task: Task, function: Function, find: Find) -> Scorer:
    own = find(function)
    if own is None:
        raise unregistered_error("result function", function, [])
    scored_by_name: dict[str, Scored] = {}
    for use in task.metrics:
        name = use.name.name.rpartition(".")[2] if isinstance(use.name, Function) else use.name
        signature = f"{name}|foreign:{function.name}|code:{code_digest(own)}|v1"
        scored_by_name[name] = _with_default(name, use, scored_of(name, use, find, signature))

    def give(row: RowAnswer) -> Mapping[str, object]:
        results: list[Any] = [row.result] if row.texts else []
        if row.weighing is not None:
            likelihoods, greedy = read_likelihoods(row.texts[0])
            is_rolling = task.output == "loglikelihood_rolling"
            results = list(likelihoods) if is_rolling else list(zip(likelihoods, greedy, strict=True))
        doc = {} if row.sample.row is None else dict(row.sample.row.record)
        values: Mapping[str, object] = call_user_function(function, own, doc, results)
        return values

    return Scorer(scored_by_name, give, f"foreign:{function.name}|v1")


def read_likelihoods(text: str) -> tuple[list[float], list[Any]]:
    """Return log-likelihoods and whether each was the likeliest text, out of an answer."""
    pairs = json.loads(text)
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _score(row: RowAnswer, scores: Mapping[str, Score]) -> dict[str, object] | Missing:
    assert row.weighing is not None  # the task's rows have one each
    likelihoods, greedy = read_likelihoods(row.texts[0])
    if len(likelihoods) != len(row.weighing.pairs):
        detail = f"{len(likelihoods)} log-likelihoods for {len(row.weighing.pairs)} texts that were weighed"
        return Missing(MissingKind.UNDEFINED, detail)
    values = {key: score(row.weighing, likelihoods, greedy) for key, score in scores.items()}
    return {key: value for key, value in values.items() if value is not None}


def _best(values: Sequence[float]) -> int:
    """Return the place of the largest, of equal ones the first."""
    return max(range(len(values)), key=lambda index: (values[index], -index))


def right_places(weighing: Weighing) -> list[int]:
    """Return the places that are right, of what is none of the choices nothing."""
    gold, choices = weighing.gold, weighing.choices
    several = gold if isinstance(gold, list) else [gold]
    places = [
        choices.index(choice) if isinstance(choice, str) and choice in choices else choice
        for choice in several
        if isinstance(choice, int) or choice in choices
    ]
    return [index for index in places if isinstance(index, int) and index < len(choices)]


def _accuracy(size: Callable[[str], float]) -> Score:
    def score(weighing: Weighing, likelihoods: Sequence[float], _greedy: Sequence[Any]) -> float:
        values = [value / size(text) for value, text in zip(likelihoods, weighing.choices, strict=False)]
        return float(_best(values) in right_places(weighing))

    return score


def _mutual(weighing: Weighing, likelihoods: Sequence[float], _greedy: Sequence[Any]) -> float | None:
    count = len(weighing.choices)
    if len(likelihoods) < 2 * count:
        return None
    values = [likelihoods[index] - likelihoods[count + index] for index in range(count)]
    return float(_best(values) in right_places(weighing))


def _exact(weighing: Weighing, _likelihoods: Sequence[float], greedy: Sequence[Any]) -> float:
    return float(any(greedy[index] for index in right_places(weighing)))


def _pair(weighing: Weighing, likelihoods: Sequence[float], _greedy: Sequence[Any]) -> tuple[int, int] | None:
    golds = right_places(weighing)
    return (golds[0], _best(likelihoods[: len(weighing.choices)])) if golds else None


def _chances(
    weighing: Weighing, likelihoods: Sequence[float], _greedy: Sequence[Any]
) -> tuple[int, list[float]] | None:
    golds = right_places(weighing)
    values = likelihoods[: len(weighing.choices)]
    top = max(values)
    shares = [math.exp(value - top) for value in values]
    return (golds[0], [share / math.fsum(shares) for share in shares]) if golds else None


def _weight(size: Callable[[str], int]) -> Score:
    return lambda weighing, likelihoods, _greedy: (likelihoods[0], size(str(weighing.gold)))


def _words(text: str) -> int:
    return len(re.split(r"\s+", text))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


_LOWER = frozenset({"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score"})
CHOICE: Mapping[str, tuple[Score, tuple[float, float], str]] = {
    "acc": (_accuracy(lambda _text: 1), _UNIT, ""),
    "acc_norm": (_accuracy(len), _UNIT, ""),
    "acc_bytes": (_accuracy(_bytes), _UNIT, ""),
    "acc_mutual_info": (_mutual, _UNIT, ""),
    "exact_match": (_exact, _UNIT, ""),
    "f1": (_pair, _UNIT, "f1"),
    "mcc": (_pair, (-1.0, 1.0), "matthews_corrcoef"),
    "brier_score": (_chances, (0.0, 2.0), "brier_score"),
}
"""The metrics of multiple choice: the score of a row, its range, and the aggregation where a task states none."""
CONTINUATION: Mapping[str, tuple[Score, tuple[float, float], str]] = {
    "acc": (lambda _weighing, _likelihoods, greedy: float(bool(greedy[0])), _UNIT, ""),
    "perplexity": (lambda _weighing, likelihoods, _greedy: likelihoods[0], UNBOUNDED, "perplexity"),
}
ROLLING: Mapping[str, tuple[Score, tuple[float, float], str]] = {
    "word_perplexity": (_weight(_words), UNBOUNDED, "weighted_perplexity"),
    "byte_perplexity": (_weight(_bytes), UNBOUNDED, "weighted_perplexity"),
    "bits_per_byte": (_weight(_bytes), UNBOUNDED, "bits_per_byte"),
}
