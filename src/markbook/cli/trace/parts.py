"""The numbers of a trace's page by what they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markbook.metrics.graph import balance, centrality, communication, paths, tools
from markbook.metrics.graph.all_metrics import METRICS, PRIMARY
from markbook.metrics.graph.measuring import GraphMetric
from markbook.text import terminal
from markbook.types import Measurement

_GROUPS: tuple[tuple[str, Sequence[GraphMetric]], ...] = (
    ("The run as a whole", PRIMARY),
    ("Tools", tools.METRICS),
    ("The way that was gone", paths.METRICS),
    ("Messages", communication.METRICS),
    ("The graph of agents", centrality.METRICS),
    ("How work was shared", balance.METRICS),
)


def group_metrics(metrics: Mapping[str, Measurement]) -> list[dict[str, object]]:
    """Return the numbers by what they are about; those that cannot be had once for each reason."""
    about = {metric.name: metric for metric in METRICS}
    groups, grouped_names = [], set()
    for title, members in _GROUPS:
        names = [metric.name for metric in members if metric.name in metrics]
        grouped_names.update(names)
        groups.append(_group(title, {name: metrics[name] for name in names}, about))
    rest = {name: metric for name, metric in metrics.items() if name not in grouped_names}
    return [*groups, _group("Across runs", rest, about)] if rest else groups


def _group(title: str, metrics: Mapping[str, Measurement], about: Mapping[str, GraphMetric]) -> dict[str, object]:
    rows: list[dict[str, object]] = []
    missing: dict[str, list[str]] = {}
    for name, measurement in metrics.items():
        if measurement.missing is not None:
            missing.setdefault(terminal(measurement.missing.detail, limit=300), []).append(name)
            continue
        metric = about.get(name)
        rows.append({
            "name": name, "value": f"{measurement.value:.4g}", "n": measurement.stats.get("n", 1),
            "better": {"higher": "↑ higher", "lower": "↓ lower"}[metric.direction] if metric else "",
            "meaning": metric.meaning if metric else "",
        })  # fmt: skip
    return {"title": title, "rows": rows, "missing": [(why, ", ".join(names)) for why, names in missing.items()]}
