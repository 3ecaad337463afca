"""From a task's metric list to metrics that can measure, under the names that results carry."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markbook import plugins
from markbook.config import Task, Use
from markbook.config.tree import Function
from markbook.datasets.filters import METRICS, Documented, last, unregistered_error
from markbook.errors import ConfigError, MarkbookError, UsageError, suggest
from markbook.judge.judge_options import split_judge
from markbook.judge.metric import JudgeMetric
from markbook.metrics import PairMetric
from markbook.types import Metric, Profile, names_python

PASS_AT_K = "pass_at_k"  # noqa: S105 - a metric, not a password
_CORPUS = {"bleu": "corpus_bleu", "chrf": "corpus_chrf", "ter": "corpus_ter"}
"""Metrics whose lm-evaluation-harness aggregation works on the corpus: the aggregation's name, and ours."""
_QUALITY = frozenset({"context_adherence", "style_compliance", "security_compliance", "performance_awareness"})
_RUNS_CODE = ("pass_hat_k",)
_NOT_FROM_FILES = ("isolation", "run")
"""How untrusted programs are run is the user's to say, not a task file's."""
JUDGE = "judge"
_NOT_OF_JUDGES = ("base_url", "cassette", "folder", "max_cost", "price")
_SPELLINGS = {"ignore_case": "lowercase"}
"""Options of lm-evaluation-harness's exact_match, and ours."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A metric of a task."""

    key: str
    """Its name in results."""
    metric: Metric
    at: str

    @property
    def is_criterion(self) -> bool:
        """Whether it is one criterion of a judge's rubric, or its verdict: another metric speaks of the whole."""
        return isinstance(self.metric, JudgeMetric) and self.metric.is_part


@dataclass(frozen=True, slots=True)
class RowPassAtK:
    """pass@k of a task: computed from the tests' outcomes of all answers to a row."""

    ks: tuple[int, ...]
    at: str
    language: str = ""
    """What answers and tests are written in; empty for Python."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The names in results."""
        return tuple(f"pass@{k}" for k in self.ks)


def bind(
    task: Task,
    profile: Profile,
    *,
    has_references: bool,
    has_tests: bool,
    own: Collection[Function | str],
    allow_code: bool = False,
    judging: Mapping[str, object] = MappingProxyType({}),
) -> tuple[list[Bound], RowPassAtK | None]:
    """Return a task's metrics, in its order, and its pass@k if it asks for it.

    Args:
        task: the task.
        profile: `documented` computes what the document's code computes, also where that is a misnomer.
        has_references: whether the task says what a right answer is; a row without one is missing for itself.
        has_tests: whether any sample has tests.
        own: what marks rows by itself: functions of a Python file beside the task, pairs for its aggregations.
        allow_code: whether a metric may be named `package.module:factory`.
        judging: options of the metric `judge` that only the user may state, over what the task says.

    Raises:
        ConfigError: an unknown metric, an option or aggregation that it does not take, a metric that does not fit
            the task, two of one name; each at its place.
        ExtraMissingError: a metric needs a package that is not installed.
    """
    bound: list[Bound] = []
    passes: RowPassAtK | None = None
    for use in task.metrics:
        if use.name in own:
            continue
        for entry in _expand(use, task):
            if entry.metric == PASS_AT_K:
                if not has_tests:
                    raise ConfigError("pass_at_k needs tests, and this task's rows have none", at=use.at)
                passes = _bind_passes(use, passes)
                continue
            documented = _configure_judge(entry, use, judging) if entry.metric == JUDGE else entry
            metric = _make(documented, use, profile, allow_code=allow_code)
            if metric.needs_reference and not has_references:
                raise ConfigError(f"{metric.name} compares with a right answer, and this task has none", at=use.at)
            if metric.needs_trace:
                raise ConfigError(f"{metric.name} does not mark texts", at=use.at)
            if use.higher_is_better is not None and isinstance(metric, PairMetric) and metric.assumes_direction:
                metric = replace(metric, direction="higher" if use.higher_is_better else "lower")
            # A file that turns a metric upside down would turn its comparisons and gates with it.
            if use.higher_is_better not in (None, metric.direction == "higher"):
                stated = f"higher_is_better: {str(use.higher_is_better).lower()}"
                contradicted = f"{stated} contradicts {metric.name}, where {metric.direction} is better"
                raise ConfigError(contradicted, at=use.find_place("higher_is_better"))
            bound.append(Bound(entry.key, metric, use.at))
            if isinstance(metric, JudgeMetric):
                bound += [
                    Bound(f"{entry.key}.{name}", criterion_metric, use.at)
                    for name, criterion_metric in metric.by_criterion().items()
                ]
    # Results are kept by name: the second metric of a name would silently take the place of the first.
    first_places: dict[str, str] = {}
    for entry_bound in bound:
        if entry_bound.key in first_places:
            hint = f"the first is at {first_places[entry_bound.key]}"
            raise ConfigError(f"two metrics are named {entry_bound.key!r}", at=entry_bound.at, hint=hint)
        first_places[entry_bound.key] = entry_bound.at
    return bound, passes


def _bind_passes(use: Use, first: RowPassAtK | None) -> RowPassAtK:
    """Return an entry of pass_at_k, joined with those before it: a task has one, with all their k. ConfigError for two languages."""
    from markbook.languages import language

    if unknown := sorted(set(use.options) - {"k", "language"}):
        hint = "k, one number or a list, and language"
        raise ConfigError(f"pass_at_k has no option {unknown[0]!r}", at=use.find_place(unknown[0]), hint=hint)
    k_option = use.options.get("k", [1])
    ks: list[Any] = k_option if isinstance(k_option, list) else [k_option]
    if not ks or any(not isinstance(k, int) or isinstance(k, bool) or k < 1 for k in ks):
        wrong = f"k must be a whole number from 1 up, or a list of them, not {k_option!r}"
        raise ConfigError(wrong, at=use.find_place("k"))
    name = use.options.get("language", "")
    if not isinstance(name, str):
        raise ConfigError(f"language is a name, not {name!r}", at=use.find_place("language"))
    try:
        own = "" if names_python(name) else language(name).name
    except UsageError as error:
        raise ConfigError(error.message, at=use.find_place("language"), hint=error.hint) from None
    if first is not None and first.language != own:
        raise ConfigError("two entries of pass_at_k name two languages, and a task has one", at=use.at)
    at = use.at if first is None else first.at
    return RowPassAtK(tuple(sorted({*ks, *(first.ks if first is not None else ())})), at, own)


def result_keys(name: str) -> tuple[str, ...]:
    """Return the names in results that a group's metric name stands for."""
    entries = METRICS.get(last(name))
    return tuple(entry.key for entry in entries) if entries else (name,)


def _expand(use: Use, task: Task) -> Iterator[Documented]:
    """Yield the metrics of ours that one entry stands for."""
    if isinstance(use.name, Function):
        entries = METRICS.get(last(use.name.name))
        if entries is None:
            raise unregistered_error("metric", use.name, list(METRICS))
        if use.aggregation not in ("", "mean"):
            aggregation_name = use.aggregation.name if isinstance(use.aggregation, Function) else use.aggregation
            raise ConfigError(
                f"aggregation {aggregation_name!r} is not supported here: mean", at=use.find_place("aggregation")
            )
        # One function of the documented code may come to several metrics of ours, each under its own name.
        for entry in entries:
            yield Documented(entry.metric, use.key or entry.key, {**entry.options, **use.options}, entry.documented)
        return
    name = use.name
    if task.format == "lm-eval" and name in _CORPUS and use.aggregation in (name, ""):
        yield Documented(_CORPUS[name], use.key or name, use.options)
        return
    if use.aggregation not in ("", "mean"):
        aggregation_name = (
            f"!function {use.aggregation.name}" if isinstance(use.aggregation, Function) else repr(use.aggregation)
        )
        raise ConfigError(
            f"aggregation {aggregation_name} of {name!r} is not supported: mean", at=use.find_place("aggregation")
        )
    options = {_SPELLINGS.get(key, key): value for key, value in use.options.items()}
    key = use.key or name
    as_documented = next((entry.documented for group in METRICS.values() for entry in group if entry.key == key), None)
    yield Documented(name, key, options, as_documented)


def _configure_judge(entry: Documented, use: Use, judging: Mapping[str, object]) -> Documented:
    """Return the metric `judge` with what the user says of it; a task decides neither where a key is sent nor what is paid."""
    for option in entry.options:
        if option in _NOT_OF_JUDGES:
            raise ConfigError(f"{option!r} of 'judge' is not for a task file to choose", at=use.find_place(option))
    for option in ("model", "models"):
        named = entry.options.get(option, ())
        for judge in [named] if isinstance(named, str) else named if isinstance(named, list | tuple) else ():
            if isinstance(judge, str) and split_judge(judge)[1] is not None:
                reason = "the address of a judge is not for a task file to choose"
                raise ConfigError(reason, at=use.find_place(option), hint="--judge PROVIDER:NAME@URL")
    # A rubric lies beside the file that names it, also when another file extends that one.
    folder = Path(use.at.rsplit(":", 2)[0]).parent
    return Documented(entry.metric, entry.key, {**entry.options, **judging, "folder": folder})


def _make(entry: Documented, use: Use, profile: Profile, *, allow_code: bool) -> Metric:
    name, options = entry.metric, dict(entry.options)
    if profile == "documented":
        if entry.documented is not None:
            name, options = entry.documented[0], {**entry.documented[1]}
        elif name in _QUALITY:
            options["profile"] = "documented"
    # A task file comes from anybody: how untrusted programs are run is not for it to say.
    for option in _NOT_FROM_FILES if name in _RUNS_CODE else ():
        if option in options:
            raise ConfigError(f"{option!r} of {name!r} is not for a task file to choose", at=use.find_place(option))
    try:
        factory = plugins.factory("metrics", name, allow_code=allow_code)
        try:
            # Asked before it is called: the message can then name the option's own place in the task file.
            parameters = inspect.signature(factory).parameters
        except (TypeError, ValueError):
            parameters = None  # a callable that does not say what it takes refuses it when it is called
        if parameters is not None and all(part.kind is not part.VAR_KEYWORD for part in parameters.values()):
            for option in (option for option in options if option not in parameters):
                hint = suggest(option, list(parameters)) if parameters else "it takes none"
                spelled = (key for key, ours in _SPELLINGS.items() if ours == option and key in use.options)
                at = use.find_place(next(spelled, option))
                raise ConfigError(f"the metric {name!r} has no option {option!r}", at=at, hint=hint)
        metric: Metric = plugins.make("metrics", name, options, allow_code=allow_code)
    except MarkbookError as error:
        # A place that is named already is nearer to the fault than the entry's own.
        if error.at or not isinstance(error, ConfigError | UsageError):
            raise
        raise ConfigError(error.message, at=use.at, hint=error.hint) from error
    return metric
