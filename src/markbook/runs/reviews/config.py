"""What a review run is asked to do: defaults, a `config_eval.json` in either known shape, then the command's options."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import get_args

from markbook.datasets.papers import read_object, read_scale
from markbook.errors import ConfigError, suggest
from markbook.files.jsonl import Rejection
from markbook.judge.rubrics import TIER_WEIGHTS
from markbook.runs.reviews.composite import (
    ALIASES,
    DOCUMENTED_SCALE,
    LABELS,
    METRICS,
    SIMILARITY_WEIGHTS,
    THRESHOLD,
    LabelScale,
    Policy,
    Profile,
    equal_weights,
    read_weights,
)
from markbook.text.schema import DIALECT, Schema
from markbook.types import Record

GRAPH_WEIGHTS: Mapping[str, float] = {
    "path_convergence": 0.3,
    "tool_selection_accuracy": 0.25,
    "coordination_centrality": 0.25,
    "task_distribution_balance": 0.2,
}
TARGETS: Mapping[str, float] = {"tier1": 1.0, "tier2": 10.0, "tier3": 15.0, "total": 25.0}
"""Seconds for one review, as documented."""
GRAPH_NAMES = {
    "path_convergence": "path_convergence",
    "tool_accuracy": "tool_selection_accuracy",
    "coordination_quality": "coordination_centrality",
    "task_balance": "task_distribution_balance",
}
_HUGE = 1e15
RUBRIC_NAMES = {"planning_rational": "planning_rationality"}


@dataclass(frozen=True, slots=True)
class ReviewConfig:
    """Everything that can change a number, resolved."""

    profile: Profile = "corrected"
    policy: Policy = "require_complete"
    weights: Mapping[str, float] = field(default_factory=equal_weights)
    thresholds: Mapping[str, float] = field(default_factory=lambda: dict(DOCUMENTED_SCALE.thresholds))
    label_weights: Mapping[str, float] = field(default_factory=lambda: dict(DOCUMENTED_SCALE.weights))
    fallback: str = ""
    """`tier1_only`: beside a missing composite, a score from tier 1 alone under its own name."""
    similarity: tuple[str, ...] = ("semantic", "cosine", "jaccard")
    similarity_weights: Mapping[str, float] = field(default_factory=lambda: dict(SIMILARITY_WEIGHTS))
    time_weight: float = 0.0
    """The share of the time score in tier 1's overall score; the documented later configuration gives it .1."""
    semantic_asked: bool = False
    """Whether the user named the semantic score: then a run without it is incomplete."""
    bertscore_model: str = ""
    threshold: float = THRESHOLD
    calibrate: float | None = None
    """Derive the threshold as this percentile of human against human."""
    tiers: tuple[int, ...] = (1, 2, 3)
    rubric_weights: Mapping[str, float] = field(default_factory=lambda: dict(TIER_WEIGHTS))
    graph_weights: Mapping[str, float] = field(default_factory=lambda: dict(GRAPH_WEIGHTS))
    targets: Mapping[str, float] = field(default_factory=lambda: dict(TARGETS))
    recommendation_scale: tuple[float, float] = (1.0, 5.0)
    """Of the generated reviews' own recommendation, where a row does not state its own."""
    tool_reference: Record | Path | None = None
    """Which tools are right: a map of contexts to tools (`default` for the rest) or expected calls, for all papers or
    by paper; or the file that holds it."""
    max_retries: int = 2
    judge_seconds: float = 30.0
    cost_per_review: float | None = None
    """US dollars; times the number of reviews it is the run's limit."""
    judge_name: str = ""
    """The judge that the config names; asked only if the command says so."""
    seed: int = 0
    version: str = ""
    notes: tuple[str, ...] = ()
    """What of the config was not used, and why."""

    @property
    def scale(self) -> LabelScale:
        """Return the mapping from score to label."""
        return LabelScale(self.thresholds, self.label_weights)

    def active_similarity(self) -> dict[str, float]:
        """Return the weights of the similarities that are measured."""
        return {name: self.similarity_weights[name] for name in self.similarity if name in self.similarity_weights}

    def as_record(self) -> dict[str, object]:
        """Return it as JSON for the manifest."""
        record = asdict(self)
        # How long to wait and what is fast enough change no number, so a resumed run may change them. The reference of
        # tools is an input, known by its content.
        for name in ("notes", "judge_seconds", "targets", "tool_reference"):
            record.pop(name)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}


def default_config(profile: Profile = "corrected") -> ReviewConfig:
    """Return the configuration of a run without a file."""
    return ReviewConfig(profile=profile, weights=equal_weights(profile))


def read_config(path: Path, profile: Profile = "corrected") -> ReviewConfig:
    """Return the configuration that a file states, in the flat (v3) or the three-tier shape.

    Raises:
        ConfigError: the file is no JSON object, has neither shape, or names something that does not exist.
    """
    source = read_object(path)
    if isinstance(source, Rejection):
        raise ConfigError(source.reason, at=str(path))
    record = source.record
    at = str(path)
    sections_known = {"metrics_and_weights", "evaluation", "composite_scoring", "tier1_traditional", "tier2_llm_judge"}
    if not sections_known & set(record) and "evaluation_system" not in record and "tier3_graph" not in record:
        raise ConfigError(
            "this is not a config_eval.json: it has neither metrics_and_weights nor a section of the three-tier shape",
            at=at,
        )
    config = default_config(profile)
    config = _read_composite(config, record, at)
    config = _read_tier1(
        config, {**_section(record, "evaluation", at), **_section(record, "tier1_traditional", at)}, at
    )
    config = _read_judge(config, _section(record, "tier2_llm_judge", at), at)
    config = _read_graph(config, _section(record, "tier3_graph", at), path)
    config = _read_system(config, _section(record, "evaluation_system", at), at)
    for name in ("evaluation", "evaluation_system", "composite_scoring", "tier1_traditional"):
        if (scale := _section(record, name, at).get("recommendation_scale")) is not None:
            config = replace(config, recommendation_scale=_scale(scale, at))
    return replace(
        config, version=str(record.get("version", "")), notes=(*config.notes, *_list_unused_sections(record))
    )


def _section(record: Record, name: str, at: str) -> Record:
    value = record.get(name, {})
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name!r} is not an object", at=at)
    return value


def _list_unused_sections(record: Record) -> list[str]:
    used = {
        "version",
        "metrics_and_weights",
        "evaluation",
        "evaluation_system",
        "tier1_traditional",
        "tier2_llm_judge",
        "tier3_graph",
        "composite_scoring",
    }
    return [f"the section {name!r} of the config has no effect" for name in sorted(set(record) - used)]


def _read_composite(config: ReviewConfig, record: Record, at: str) -> ReviewConfig:
    section = _section(record, "composite_scoring", at)
    evaluation = _section(record, "evaluation", at)
    weights = section.get("metrics_and_weights", record.get("metrics_and_weights"))
    if weights is not None:
        if not isinstance(weights, Mapping):
            raise ConfigError("'metrics_and_weights' is not an object", at=at)
        config = replace(config, weights=read_weights(weights, at=at))
    thresholds = _read_labels(section.get("recommendation_thresholds"), "recommendation_thresholds", at)
    if thresholds:
        merged = {**config.thresholds, **thresholds}
        if any(merged[high] <= merged[low] for high, low in itertools.pairwise(LABELS)):
            raise ConfigError("the recommendation thresholds must fall from accept to reject", at=at)
        config = replace(config, thresholds=merged)
    labels = section.get("recommendation_weights", evaluation.get("recommendation_weights"))
    label_weights = _read_labels(labels, "recommendation_weights", at)
    config = replace(config, label_weights={**config.label_weights, **label_weights})
    fallback = section.get("fallback_strategy", "")
    if fallback not in ("", None, "none", "tier1_only"):
        raise ConfigError(f"unknown fallback_strategy {fallback!r}", at=at, hint="tier1_only or none")
    return replace(config, fallback="tier1_only" if fallback == "tier1_only" else "")


def _scale(value: object, at: str) -> tuple[float, float]:
    scale = read_scale(value)
    if scale is None:
        raise ConfigError(f"{value!r} is not a recommendation_scale", at=at, hint="[lowest, highest], such as [1, 6]")
    return scale


def _read_labels(value: object, name: str, at: str) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name!r} is not an object", at=at)
    for label in value:
        if label not in LABELS:
            raise ConfigError(f"unknown label {label!r} in {name}", at=at, hint=suggest(str(label), list(LABELS)))
    return {label: _number(number, f"{name}.{label}", at, low=-math.inf) for label, number in value.items()}


def _read_tier1(config: ReviewConfig, section: Record, at: str) -> ReviewConfig:
    named = section.get("similarity_metrics")
    if named is not None:
        chosen = parse_similarity(named, at)
        config = replace(config, similarity=chosen, semantic_asked="semantic" in chosen)
    if "confidence_threshold" in section:
        config = replace(config, threshold=_number(section["confidence_threshold"], "confidence_threshold", at))
    if isinstance(model := section.get("bertscore_model"), str):
        config = replace(config, bertscore_model=model)
    weights = section.get("tier1_weights")
    if weights is not None:
        numbers = _read_named_numbers(weights, (*SIMILARITY_WEIGHTS, "time_taken"), "tier1_weights", at)
        similar = {name: weight for name, weight in numbers.items() if name != "time_taken"}
        if not sum(similar.values()) > 0:
            raise ConfigError("no similarity has a weight above 0 in tier1_weights", at=at)
        share = numbers.get("time_taken", 0.0) / math.fsum(numbers.values())
        config = replace(config, similarity_weights=similar, time_weight=share)
    notes = [
        f"{name} of the config has no effect: {why}"
        for name, why in (("tfidf_max_features", "the whole vocabulary of a pair is used"),)
        if name in section
    ]
    return replace(config, notes=(*config.notes, *notes))


def parse_similarity(named: object, at: str = "") -> tuple[str, ...]:
    """Return the similarities by name, in the order of their weights.

    Raises:
        ConfigError: it is not a list of known names, or an empty one.
    """
    similarity_names = list(SIMILARITY_WEIGHTS)
    if not isinstance(named, list | tuple) or not named:
        raise ConfigError(
            "'similarity_metrics' must list at least one similarity", at=at, hint=", ".join(similarity_names)
        )
    for name in named:
        if name not in similarity_names:
            raise ConfigError(f"unknown similarity {name!r}", at=at, hint=suggest(str(name), similarity_names))
    return tuple(name for name in similarity_names if name in named)


def _read_judge(config: ReviewConfig, section: Record, at: str) -> ReviewConfig:
    if "max_retries" in section:
        retries = _number(section["max_retries"], "max_retries", at)
        config = replace(config, max_retries=int(retries))
    if "timeout_seconds" in section:
        config = replace(config, judge_seconds=_positive(section["timeout_seconds"], "timeout_seconds", at))
    if section.get("cost_budget_usd") is not None:
        config = replace(config, cost_per_review=_number(section["cost_budget_usd"], "cost_budget_usd", at))
    if isinstance(model := section.get("model"), str):
        config = replace(config, judge_name=model)
    if section.get("weights") is not None:
        weights_given = _section(section, "weights", at)
        weights = {RUBRIC_NAMES.get(name, name): value for name, value in weights_given.items()}
        config = replace(config, rubric_weights=_read_named_numbers(weights, tuple(TIER_WEIGHTS), "tier2 weights", at))
    if "paper_excerpt_length" in section and config.profile != "documented":
        note = "paper_excerpt_length has no effect: papers are judged whole, in parts where they are long"
        config = replace(config, notes=(*config.notes, note))
    return config


def _read_graph(config: ReviewConfig, section: Record, path: Path) -> ReviewConfig:
    at = str(path)
    if (references := section.get("tool_reference")) is not None:
        if not isinstance(references, str | Mapping):
            raise ConfigError("'tool_reference' is neither a file nor a map of contexts to tools", at=at)
        config = replace(config, tool_reference=path.parent / references if isinstance(references, str) else references)
    if section.get("graph_weights") is None:
        return config
    weights = _read_named_numbers(section["graph_weights"], (*GRAPH_NAMES, *GRAPH_WEIGHTS), "graph_weights", at)
    return replace(config, graph_weights={GRAPH_NAMES.get(name, name): value for name, value in weights.items()})


def _read_system(config: ReviewConfig, section: Record, at: str) -> ReviewConfig:
    tiers = section.get("tiers_enabled")
    if tiers is not None:
        if not isinstance(tiers, list) or not tiers or any(tier not in (1, 2, 3) for tier in tiers):
            raise ConfigError("'tiers_enabled' must list some of 1, 2 and 3", at=at)
        config = replace(config, tiers=tuple(sorted(set(tiers))))
    targets = section.get("performance_targets")
    if isinstance(targets, Mapping):
        all_targets = dict(config.targets)
        for name, value in targets.items():
            short = name.split("_")[0]
            if short in all_targets and not isinstance(value, bool) and isinstance(value, int | float):
                all_targets[short] = _positive(value, f"performance_targets.{name}", at)
        config = replace(config, targets=all_targets)
    return config


def _read_named_numbers(value: object, known_names: tuple[str, ...], what: str, at: str) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what!r} is not an object", at=at)
    for name in value:
        if name not in known_names:
            raise ConfigError(f"unknown name {name!r} in {what}", at=at, hint=suggest(str(name), list(known_names)))
    numbers = {name: _number(number, f"{what}.{name}", at) for name, number in value.items()}
    if not sum(numbers.values()) > 0:
        raise ConfigError(f"no weight above 0 in {what}", at=at)
    return numbers


def _number(value: object, name: str, at: str, *, low: float = 0.0) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < _HUGE:
        raise ConfigError(
            f"{name} must be a number{'' if low == -math.inf else f' from {low:g} up'}, not {value!r}", at=at
        )
    return float(value)


def _positive(value: object, name: str, at: str) -> float:
    number = _number(value, name, at)
    if number == 0:
        raise ConfigError(f"{name} must be above 0", at=at)
    return number


def check_policy(policy: str) -> Policy:
    """Return a policy by name.

    Raises:
        ConfigError: it is not one of the three.
    """
    for policy_name in get_args(Policy):
        if policy == policy_name:
            return policy_name  # type: ignore[no-any-return]  # get_args has no narrower type
    raise ConfigError(f"unknown policy {policy!r}", hint=suggest(policy, list(get_args(Policy))))


# The JSON schema of a `config_eval.json`, out of the names by which `markbook.runs.reviews.config` reads one.

_NUMBER: Schema = {"type": "number", "minimum": 0}
_ABOVE: Schema = {"type": "number", "exclusiveMinimum": 0}


def config_schema() -> Schema:
    """Return the schema; sections that have no effect are allowed, as the reader allows them."""
    weights = _weights((*METRICS, *ALIASES), "How much each metric counts; what is left out is not used.")
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
    sections = {
        "composite_scoring": composite,
        "evaluation": {**tier1, "recommendation_weights": labels},
        "tier1_traditional": tier1,
        "tier2_llm_judge": _judge(),
        "tier3_graph": graph,
        "evaluation_system": system,
    }
    named = {name: {"type": "object", "properties": properties} for name, properties in sections.items()}
    return {
        "$schema": DIALECT,
        "title": "Markbook review config (config_eval.json)",
        "type": "object",
        "properties": {"version": {}, "metrics_and_weights": weights, **named},
        "anyOf": [{"required": [name]} for name in ("metrics_and_weights", *sections)],
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
