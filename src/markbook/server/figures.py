"""What the server counts, as Prometheus reads it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markbook.rewards.pool import Pool

_EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Figures:
    """Requests by path and status, and how long items took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self._slots = [0] * (len(_EDGES) + 1)
        self._sum = 0.0

    def took(self, seconds: float) -> None:
        """Count an answered item, from the arrival of its request to its reward."""
        self._slots[bisect_left(_EDGES, seconds)] += 1
        self._sum += seconds

    def text(self, pool: Pool) -> str:
        """Return all of it."""
        return "".join(f"{line}\n" for line in self._lines(pool))

    def _lines(self, pool: Pool) -> Iterator[str]:
        yield from _metric("markbook_items_waiting", "gauge", "Items in the queue.", [("", pool.waiting)])
        yield from _metric("markbook_items_running", "gauge", "Items in a sandbox.", [("", pool.running)])
        yield from _metric("markbook_workers", "gauge", "Items that run at once.", [("", len(pool.lanes))])
        about = f'{{level="{pool.level.value}"}}'
        yield from _metric("markbook_isolation", "gauge", "The level of isolation.", [(about, 1)])
        kinds = [(f'{{result="{name}"}}', count) for name, count in sorted(pool.counts.items())]
        yield from _metric("markbook_items_total", "counter", "Items by what became of them.", kinds)
        why: Counter[str] = Counter()
        for lane in pool.lanes:
            why.update(lane.replaced)
        replaced = [(f'{{why="{name}"}}', count) for name, count in sorted(why.items())]
        yield from _metric("markbook_workers_replaced_total", "counter", "Workers that were replaced.", replaced)
        request_counts = [
            (f'{{path="{path}",status="{status}"}}', count) for (path, status), count in sorted(self.requests.items())
        ]
        yield from _metric("markbook_requests_total", "counter", "Requests.", request_counts)
        yield from self._histogram()

    def _histogram(self) -> Iterator[str]:
        name = "markbook_item_seconds"
        total = 0
        yield f"# HELP {name} Seconds from a request's arrival to an item's reward."
        yield f"# TYPE {name} histogram"
        for edge, count in zip((*map(str, _EDGES), "+Inf"), self._slots, strict=True):
            total += count
            yield f'{name}_bucket{{le="{edge}"}} {total}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {total}"

    def quantile(self, share: float) -> float | None:
        """Return the edge below which this share of the items lies, None without items."""
        total = sum(self._slots)
        cumulative = 0
        for edge, count in zip((*_EDGES, float("inf")), self._slots, strict=True):
            cumulative += count
            if total and cumulative >= share * total:
                return edge
        return None


def _metric(name: str, kind: str, words: str, values: Sequence[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        yield f"{name}{labels} {value}"
