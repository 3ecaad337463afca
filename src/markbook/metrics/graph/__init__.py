"""Tier 3: what a trace says about a run of agents, by graph and by sequence.

Each documented metric keeps its name and, under `profile="documented"`, its arithmetic to the letter; better-defined
companions stand beside it under names of their own. What has no value for a trace is missing with its reason, never
"perfect". `docs/metrics/graph.md` has every formula.
"""

from __future__ import annotations

from markbook.metrics.graph.all_metrics import PRIMARY, trace_metrics

__all__ = ["PRIMARY", "trace_metrics"]
