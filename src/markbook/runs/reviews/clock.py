"""How long each tier of a review run took."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

_log = logging.getLogger(__name__)


class TierTime(TypedDict):
    """How long a tier took, beside its target."""

    seconds: float
    seconds_per_review: float
    target: float | None
    met: bool


@dataclass(slots=True)
class Clock:
    """How long each tier took. Tiers run beside one another, so the whole takes less than their sum."""

    start: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Add what is done within to a tier's time."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - start)

    def add(self, name: str, seconds: float) -> None:
        """Add seconds to a tier's time."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        _log.info("%s took %.3f s", name, seconds)

    def report(self, reviews: int, targets: Mapping[str, float]) -> dict[str, TierTime]:
        """Return the time of each tier for one review beside its documented target."""
        seconds_by_tier = {**self.seconds, "total": time.perf_counter() - self.start}
        return {
            name: {
                "seconds": round(seconds, 6),
                "seconds_per_review": round(seconds / max(1, reviews), 6),
                "target": targets.get(name),
                "met": name not in targets or seconds / max(1, reviews) <= targets[name],
            }
            for name, seconds in seconds_by_tier.items()
        }
