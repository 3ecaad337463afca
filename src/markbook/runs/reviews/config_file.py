"""A `config_eval.json` in the flat (v3) or the three-tier shape: one declaration, by which it is read and its schema made.

Each section is a pydantic model. What a field may hold is checked before pydantic sees it, because a reader of the message
wants the setting's own words ("the weight of 'x' must be a number >= 0") and the nearest name. `config_schema` is the
models' own schema, so it cannot say otherwise than `read_config`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from markbook.datasets.papers import read_object, read_scale
from markbook.errors import ConfigError, suggest
from markbook.files.jsonl import Rejection
from markbook.judge.rubrics import TIER_WEIGHTS
from markbook.metrics.graph.all_metrics import WEIGHTS
from markbook.runs.reviews.composite import ALIASES, LABELS, METRICS, SIMILARITY_WEIGHTS, check_policy, read_weights
from markbook.runs.reviews.config import GRAPH_NAMES, TARGETS, ReviewConfig, default_config, parse_similarity
from markbook.runs.reviews.review_options import ReviewOptions
from markbook.text.schema import DIALECT, Schema
from markbook.types import Profile

_HUGE = 1e15


@dataclass(frozen=True, slots=True)
class _OneOf:
    """Says of a text which values it may have."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        """Return what pydantic checks by and makes the schema of."""
        return core_schema.literal_schema(list(dict.fromkeys(self.names)))


def _number(value: object, name: str, *, low: float = 0.0) -> float:
    # JSON's true is an int in Python, and its NaN fails the comparison.
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < _HUGE:
        raise ConfigError(f"{name} must be a number{'' if low == -math.inf else f' >= {low:g}'}, not {value!r}")
    return float(value)


def _positive(value: object, name: str) -> float:
    number = _number(value, name)
    if number == 0:
        raise ConfigError(f"{name} must be above 0")
    return number


def _mapping(value: object, info: ValidationInfo) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{info.field_name!r} is not an object")
    return value


def _read_labels(value: object, info: ValidationInfo) -> dict[str, float]:
    if value is None:
        return {}
    numbers = _mapping(value, info)
    for label in numbers:
        if label not in LABELS:
            raise ConfigError(f"unknown label {label!r} in {info.field_name}", hint=suggest(label, list(LABELS)))
    return {label: _number(number, f"{info.field_name}.{label}", low=-math.inf) for label, number in numbers.items()}


def _weights(
    what: str, names: Sequence[str], aliases: Mapping[str, str] | None = None
) -> Callable[[object, ValidationInfo], dict[str, float] | None]:
    """Return a reader of weights by name, at least one above 0; an alias stands for the name that it maps to."""

    def read(value: object, info: ValidationInfo) -> dict[str, float] | None:
        if value is None:
            return None
        weights = _mapping(value, info)
        for name in weights:
            if name not in names:
                raise ConfigError(f"unknown name {name!r} in {what}", hint=suggest(name, list(names)))
        numbers = {name: _number(number, f"{what}.{name}") for name, number in weights.items()}
        if not sum(numbers.values()) > 0:
            raise ConfigError(f"no weight above 0 in {what}")
        return {(aliases or {}).get(name, name): number for name, number in numbers.items()}

    return read


def _rename_rubrics(value: object) -> object:
    """Return rubrics' weights with the document's two spellings made one."""
    return {ALIASES.get(name, name): weight for name, weight in value.items()} if isinstance(value, Mapping) else value


def _read_scale(value: object) -> tuple[float, float] | None:
    if value is None:
        return None
    scale = read_scale(value)
    if scale is None:
        raise ConfigError(f"{value!r} is not a recommendation_scale", hint="[lowest, highest], such as [1, 6]")
    return scale


def _read_fallback(value: object) -> object:
    if value not in ("", None, "none", "tier1_only"):
        raise ConfigError(f"unknown fallback_strategy {value!r}", hint="tier1_only or none")
    return value


def _read_reference(value: object) -> object:
    if not isinstance(value, str | Mapping | None):
        raise ConfigError("'tool_reference' is neither a file nor a map of contexts to tools")
    return value


def _read_tiers(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, list) or not value or any(tier not in (1, 2, 3) for tier in value):
        raise ConfigError("'tiers_enabled' must list some of 1, 2 and 3")
    return sorted({int(tier) for tier in value})


def _read_targets(value: object) -> dict[str, float]:
    """Return the seconds by tier (`tier1_max_seconds` is tier 1's); what is not the number of a tier has no effect."""
    entries = value.items() if isinstance(value, Mapping) else ()
    return {
        short: _positive(number, f"performance_targets.{name}")
        for name, number in entries
        if (short := name.split("_")[0]) in TARGETS and isinstance(number, int | float) and not isinstance(number, bool)
    }


_Amount = Annotated[float, Field(ge=0, lt=_HUGE)]
_Number = Annotated[_Amount, BeforeValidator(lambda value, info: _number(value, info.field_name))]
_Labels = Annotated[dict[Annotated[str, _OneOf(LABELS)], float] | None, BeforeValidator(_read_labels)]
_MetricWeights = Annotated[
    dict[Annotated[str, _OneOf((*METRICS, *ALIASES))], _Amount] | None,
    Field(min_length=1, description="How much each metric counts; what is left out is not used."),
    BeforeValidator(lambda value, info: None if value is None else read_weights(_mapping(value, info))),
]
_Tier1Weights = Annotated[
    dict[Annotated[str, _OneOf((*SIMILARITY_WEIGHTS, "time_taken"))], _Amount] | None,
    Field(min_length=1),
    BeforeValidator(_weights("tier1_weights", (*SIMILARITY_WEIGHTS, "time_taken"))),
]
_RubricWeights = Annotated[
    dict[Annotated[str, _OneOf((*TIER_WEIGHTS, *ALIASES))], _Amount] | None,
    Field(min_length=1),
    BeforeValidator(_weights("tier2 weights", tuple(TIER_WEIGHTS))),
    BeforeValidator(_rename_rubrics),  # the last one is the first to run
]
_GraphWeights = Annotated[
    dict[Annotated[str, _OneOf((*GRAPH_NAMES, *WEIGHTS))], _Amount] | None,
    Field(min_length=1),
    BeforeValidator(_weights("graph_weights", (*GRAPH_NAMES, *WEIGHTS), GRAPH_NAMES)),
]
_Scale = Annotated[
    tuple[float, float] | None,
    BeforeValidator(_read_scale),
    WithJsonSchema(
        {"description": 'The lowest and the highest mark: [1, 6] or "1-6".', "type": ["array", "string", "null"]}
    ),
]


class _Section(BaseModel):
    """Keys that are not declared have no effect; no default here is a setting's own, for only what is stated counts."""

    model_config = ConfigDict(frozen=True)

    def get_stated(self) -> dict[str, Any]:
        """Return what the file says, without the defaults."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class _Tier1(_Section):
    similarity_metrics: Annotated[
        list[Annotated[str, _OneOf(tuple(SIMILARITY_WEIGHTS))]] | None,
        Field(min_length=1),
        BeforeValidator(lambda value: None if value is None else list(parse_similarity(value))),
    ] = None
    confidence_threshold: _Number = 0.0
    # Of any type: what is not a text is passed over when the file is resolved.
    bertscore_model: Any = None
    tfidf_max_features: Any = None
    tier1_weights: _Tier1Weights = None
    recommendation_scale: _Scale = None


class _Evaluation(_Tier1):
    recommendation_weights: _Labels = None


class _Composite(_Section):
    metrics_and_weights: _MetricWeights = None
    recommendation_thresholds: _Labels = None
    recommendation_weights: _Labels = None
    fallback_strategy: Annotated[Literal["", "none", "tier1_only"] | None, BeforeValidator(_read_fallback)] = None
    recommendation_scale: _Scale = None


class _Judge(_Section):
    max_retries: Annotated[
        _Amount, BeforeValidator(lambda value, info: _number(value, info.field_name)), AfterValidator(int)
    ] = 0
    timeout_seconds: Annotated[
        float, Field(gt=0, lt=_HUGE), BeforeValidator(lambda value: _positive(value, "timeout_seconds"))
    ] = 1.0
    cost_budget_usd: Annotated[
        _Amount | None, BeforeValidator(lambda value: None if value is None else _number(value, "cost_budget_usd"))
    ] = None
    model: Any = None
    weights: _RubricWeights = None
    paper_excerpt_length: Any = None


class _Graph(_Section):
    tool_reference: Annotated[str | dict[str, Any] | None, BeforeValidator(_read_reference)] = None
    graph_weights: _GraphWeights = None


class _System(_Section):
    tiers_enabled: Annotated[list[Literal[1, 2, 3]] | None, Field(min_length=1), BeforeValidator(_read_tiers)] = None
    performance_targets: Annotated[dict[str, float], BeforeValidator(_read_targets), WithJsonSchema({})] = {}
    recommendation_scale: _Scale = None


_IsObject = BeforeValidator(_mapping)


class ConfigFile(_Section):
    """Markbook review config (config_eval.json)."""

    version: Any = ""
    metrics_and_weights: _MetricWeights = None
    composite_scoring: Annotated[_Composite, _IsObject] = _Composite()
    evaluation: Annotated[_Evaluation, _IsObject] = _Evaluation()
    tier1_traditional: Annotated[_Tier1, _IsObject] = _Tier1()
    tier2_llm_judge: Annotated[_Judge, _IsObject] = _Judge()
    tier3_graph: Annotated[_Graph, _IsObject] = _Graph()
    evaluation_system: Annotated[_System, _IsObject] = _System()


_OF_JUDGE = {
    "max_retries": "max_retries",
    "timeout_seconds": "judge_seconds",
    "cost_budget_usd": "cost_per_review",
    "weights": "rubric_weights",
}
"""Settings of the judge's section, and what the configuration calls them."""
_SECTIONS = [name for name in ConfigFile.model_fields if name != "version"]


def config_schema() -> Schema:
    """Return the schema; sections that have no effect are allowed, as the reader allows them."""
    schema = ConfigFile.model_json_schema()
    # The models' defaults stand for what a file does not say; what then counts is the profile's.
    for section in (schema, *schema["$defs"].values()):
        for setting in section["properties"].values():
            setting.pop("default", None)
    title = schema.pop("description").rstrip(".")
    # As `read_config` refuses it: a file without any of these sections is another kind of file.
    return {"$schema": DIALECT, **schema, "title": title, "anyOf": [{"required": [name]} for name in _SECTIONS]}


def read_config(path: Path, profile: Profile = "corrected") -> ReviewConfig:
    """Return the configuration that a file states.

    Raises:
        ConfigError: the file is not a JSON object, has neither shape, or names something that does not exist.
    """
    source = read_object(path)
    if isinstance(source, Rejection):
        raise ConfigError(source.reason, at=str(path))
    if not set(_SECTIONS) & set(source.record):
        raise ConfigError(
            "this is not a config_eval.json: it has neither metrics_and_weights nor a section of the three-tier shape",
            at=str(path),
        )
    try:
        # A ConfigError of a reader comes through pydantic as it is, for pydantic catches ValueError and
        # AssertionError only.
        config = _resolve(ConfigFile.model_validate(source.record), default_config(profile), path.parent)
    except ConfigError as error:
        # The readers above know a setting's name, and only here is it known which file it stands in.
        raise ConfigError(error.message, at=str(path), hint=error.hint) from None
    unused = sorted(set(source.record) - set(ConfigFile.model_fields))
    notes = [f"the section {name!r} of the config has no effect" for name in unused]
    return replace(config, notes=(*config.notes, *notes))


def _resolve(file: ConfigFile, config: ReviewConfig, folder: Path) -> ReviewConfig:
    """Return the configuration with what the file states in place of the defaults.

    Where both shapes name a setting, that of the three-tier shape holds.
    """
    composite, judge = file.composite_scoring.get_stated(), file.tier2_llm_judge.get_stated()
    labels = composite.get("recommendation_weights", file.evaluation.recommendation_weights) or {}
    changes = {
        **_resolve_tier1({**file.evaluation.get_stated(), **file.tier1_traditional.get_stated()}),
        **{ours: judge[name] for name, ours in _OF_JUDGE.items() if judge.get(name) is not None},
        "version": str(file.version),
        "targets": {**config.targets, **file.evaluation_system.performance_targets},
        "label_weights": {**config.label_weights, **labels},
        "fallback": "tier1_only" if file.composite_scoring.fallback_strategy == "tier1_only" else "",
    }
    if isinstance(judge.get("model"), str):
        changes["judge_name"] = judge["model"]
    if (weights := composite.get("metrics_and_weights", file.metrics_and_weights)) is not None:
        changes["weights"] = weights
    if limits := file.composite_scoring.recommendation_thresholds:
        thresholds = {**config.thresholds, **limits}
        if any(thresholds[high] <= thresholds[low] for high, low in itertools.pairwise(LABELS)):
            raise ConfigError("the recommendation thresholds must fall from accept to reject")
        changes["thresholds"] = thresholds
    if (reference := file.tier3_graph.tool_reference) is not None:
        # A path in a file is meant from where the file lies, not from where the command is run.
        changes["tool_reference"] = folder / reference if isinstance(reference, str) else reference
    if file.tier3_graph.graph_weights is not None:
        changes["graph_weights"] = file.tier3_graph.graph_weights
    if file.evaluation_system.tiers_enabled is not None:
        changes["tiers"] = tuple(file.evaluation_system.tiers_enabled)
    # Several sections may state it: the last of this order holds.
    for section in (file.evaluation, file.evaluation_system, file.composite_scoring, file.tier1_traditional):
        if section.recommendation_scale is not None:
            changes["recommendation_scale"] = section.recommendation_scale
    notes = []
    if "tfidf_max_features" in file.evaluation.model_fields_set | file.tier1_traditional.model_fields_set:
        # Said and not passed over: the file's author expects it to change the numbers.
        notes.append("tfidf_max_features of the config has no effect: the whole vocabulary of a pair is used")
    if "paper_excerpt_length" in file.tier2_llm_judge.model_fields_set and config.profile != "documented":
        notes.append("paper_excerpt_length has no effect: papers are judged whole, in parts where they are long")
    return replace(config, **changes, notes=(*config.notes, *notes))


def _resolve_tier1(stated: Mapping[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if (similarity := stated.get("similarity_metrics")) is not None:
        changes |= {"similarity": tuple(similarity), "semantic_asked": "semantic" in similarity}
    if "confidence_threshold" in stated:
        changes["threshold"] = stated["confidence_threshold"]
    if isinstance(model := stated.get("bertscore_model"), str):
        changes["bertscore_model"] = model
    if (numbers := stated.get("tier1_weights")) is not None:
        similar = {name: weight for name, weight in numbers.items() if name != "time_taken"}
        if not sum(similar.values()) > 0:
            raise ConfigError("no similarity has a weight above 0 in tier1_weights")
        # Time is not a similarity: its weight becomes a share of the whole, and the similarities keep theirs among
        # themselves.
        share = numbers.get("time_taken", 0.0) / math.fsum(numbers.values())
        changes |= {"similarity_weights": similar, "time_weight": share}
    return changes


def resolve_config(options: ReviewOptions) -> ReviewConfig:
    """Return the configuration of a run: that of the file or made in Python, else the default, with what the options say.

    Raises:
        ConfigError: as `read_config`; an unknown policy or similarity.
    """
    config = options.config
    if config is None:
        path, profile = options.config_file, options.profile
        config = default_config(profile) if path is None else read_config(path, profile)
        config = replace(config, seed=options.seed, calibrate=options.calibrate)
    if options.policy:
        config = replace(config, policy=check_policy(options.policy))
    if options.similarity:
        names = tuple(name.strip() for name in options.similarity.split(","))
        config = replace(config, similarity=parse_similarity(names, "--similarity"), semantic_asked="semantic" in names)
    if options.tool_reference is not None:
        config = replace(config, tool_reference=options.tool_reference)
    if options.judging.retries is not None:
        config = replace(config, max_retries=options.judging.retries)
    if options.judging.seconds is not None:
        config = replace(config, judge_seconds=options.judging.seconds)
    return config
