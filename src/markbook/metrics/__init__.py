"""Ways to mark an attempt, in rooms that do not know one another: text, code, quality, semantic, graph.

Each is a plugin: an object of `markbook.types.Metric` made by a factory with keyword options, which an entry point in
`markbook.metrics` names. `PairMetric` makes one out of a function from a candidate and its references to a score.
What lies here beside the rooms is what they share.
"""

from __future__ import annotations

from markbook.metrics.pairs import PairMetric, Score
from markbook.types import Metric

__all__ = ["Metric", "PairMetric", "Score"]
