"""What every check is: a metric that says 1 or 0 of an answer, or why it cannot say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markbook.errors import ConfigError
from markbook.metrics.checks.bounded import Helper
from markbook.metrics.pairs import Score, drop_missing_references, measure_each
from markbook.types import Direction, Item, Measurement, Metric

_SHOWN = 80
MOST_TEXTS = 1_000


@dataclass(frozen=True, slots=True)
class Check(Metric):
    """A yes or no about each answer: 1 if it holds, 0 if it does not."""

    name: str
    signature: str
    holds: Callable[[str, tuple[str, ...], Helper], Score]
    """Takes the answer, the references and a helper for what may run away."""
    needs_reference: bool = False
    direction: Direction = "higher"
    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        with Helper() as helper:

            def score(item: Item) -> Score:
                return self.holds(item.attempt.text, drop_missing_references(item.sample.references), helper)

            return measure_each(self.name, self.signature, items, score, needs_reference=self.needs_reference)


def build_signature(name: str, options: Mapping[str, object]) -> str:
    """Return a signature that tells all options; what is long is told by its digest."""
    parts = []
    for key, value in options.items():
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
        if len(text) > _SHOWN or "|" in text:
            text = "sha256-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        parts.append(f"{key}:{text}")
    return "|".join((name, *parts, "v1"))


def texts_of(name: str, option: str, value: object) -> tuple[str, ...]:
    """Return an option that is a text or a list of texts.

    Raises:
        ConfigError: it is something else, empty, or holds an empty text, which stands in every answer.
    """
    texts = [value] if isinstance(value, str) else value
    hint = "a number or a yes must stand in quotes"
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"{name}: {option} must be a text or a list of texts, not {value!r:.60}", hint=hint)
    if not all(texts):
        raise ConfigError(f"{name}: {option} holds an empty text")
    if len(texts) > MOST_TEXTS:
        raise ConfigError(f"{name}: {option} holds {len(texts)} texts, and {MOST_TEXTS} is the most")
    return tuple(texts)


def truth(name: str, option: str, value: object) -> bool:
    """Return an option that is true or false.

    Raises:
        ConfigError: it is something else.
    """
    if not isinstance(value, bool):
        raise ConfigError(f"{name}: {option} must be true or false, not {value!r:.60}")
    return value
