"""The JSON schema of a `config_eval.json`, out of the names by which `markbook.runs.reviews.config` reads one."""

from __future__ import annotations

from collections.abc import Iterable

from markbook.judge.rubrics import TIER_WEIGHTS
from markbook.runs.reviews.config import GRAPH_NAMES, GRAPH_WEIGHTS, RUBRIC_NAMES
from markbook.runs.reviews.scoring.composite import ALIASES, LABELS, METRICS
from markbook.runs.reviews.scoring.formulas import SIMILARITY_WEIGHTS
from markbook.text.schema import DIALECT, Schema

_NUMBER: Schema = {"type": "number", "minimum": 0}
_ABOVE: Schema = {"type": "number", "exclusiveMinimum": 0}


def config_schema() -> Schema:
    """Return the schema; sections that have no effect are allowed, as the reader allows them."""
    weights = _metric_weights()
    sections = _sections(weights)
    named = {name: {"type": "object", "properties": properties} for name, properties in sections.items()}
    return {
        "$schema": DIALECT,
        "title": "Markbook review config (config_eval.json)",
        "type": "object",
        "properties": {"version": {}, "metrics_and_weights": weights, **named},
        "anyOf": [{"required": [name]} for name in ("metrics_and_weights", *sections)],
    }


def _metric_weights() -> Schema:
    return _weights((*METRICS, *ALIASES), "How much each metric counts; what is left out is not used.")


def _sections(weights: Schema) -> dict[str, Schema]:
    """Return what each section may hold."""
    scale = {"description": 'The lowest and the highest mark: [1, 6] or "1-6".', "type": ["array", "string"]}
    tier1 = {
        "similarity_metrics": {"type": "array", "minItems": 1, "items": {"enum": [*SIMILARITY_WEIGHTS]}},
        "confidence_threshold": _NUMBER,
        "bertscore_model": {},
        "tier1_weights": _weights((*SIMILARITY_WEIGHTS, "time_taken")),
        "recommendation_scale": scale,
    }
    labels = {
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {n: {"type": "number"} for n in LABELS},
    }
    composite = {
        "metrics_and_weights": weights,
        "recommendation_thresholds": labels,
        "recommendation_weights": labels,
        "fallback_strategy": {"enum": ["", None, "none", "tier1_only"]},
        "recommendation_scale": scale,
    }
    graph = {
        "tool_reference": {"type": ["string", "object", "null"]},
        "graph_weights": _nullable(_weights((*GRAPH_NAMES, *GRAPH_WEIGHTS))),
    }
    system = {
        "tiers_enabled": {"type": ["array", "null"], "minItems": 1, "items": {"enum": [1, 2, 3]}},
        "performance_targets": {},
        "recommendation_scale": scale,
    }
    return {
        "composite_scoring": composite,
        "evaluation": {**tier1, "recommendation_weights": labels},
        "tier1_traditional": tier1,
        "tier2_llm_judge": _judge(),
        "tier3_graph": graph,
        "evaluation_system": system,
    }


def _judge() -> Schema:
    return {
        "max_retries": _NUMBER,
        "timeout_seconds": _ABOVE,
        "cost_budget_usd": {"type": ["number", "null"], "minimum": 0},
        "model": {},
        "weights": _nullable(_weights((*TIER_WEIGHTS, *RUBRIC_NAMES))),
        "paper_excerpt_length": {},
    }


def _weights(names: Iterable[str], about: str = "") -> Schema:
    schema: Schema = {"type": "object", "additionalProperties": False, "minProperties": 1}
    schema["properties"] = dict.fromkeys(names, _NUMBER)
    return {**schema, **({"description": about} if about else {})}


def _nullable(schema: Schema) -> Schema:
    return {**schema, "type": ["object", "null"]}
