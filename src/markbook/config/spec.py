"""A task as the rest of the program sees it, whichever format its file was written in."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from markbook.config.tree import Function, Node, find, plain
from markbook.errors import ConfigError

# From a tree to a pydantic model, with every complaint at its place in the file.

ModelT = TypeVar("ModelT", bound=BaseModel)

_MOST = 20
"""How many complaints are listed."""


def check(model: type[ModelT], node: Node) -> ModelT:
    """Return the node as a model.

    Raises:
        ConfigError: with one line a complaint, each with `file:line:column`, unknown keys with the nearest known.
    """
    if not isinstance(node.value, dict):
        raise ConfigError(f"a mapping is needed here, not {_kind(node)}", at=node.at)
    try:
        return model.model_validate(plain(node))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        paths = [_steps(node, problem["loc"], problem["type"]) for problem in problems]
        # Where a value may be of two kinds, every kind complains; the complaint that goes deepest is meant.
        problems_kept = [
            (path, problem)
            for path, problem in zip(paths, problems, strict=True)
            if not any(len(other) > len(path) and other[: len(path)] == path for other in paths)
        ]
        problems_kept.sort(
            key=lambda pair: pair[1]["type"] != "extra_forbidden"
        )  # a misspelt key explains a missing one
        complaints = list(dict.fromkeys(_complaint(model, node, path, problem) for path, problem in problems_kept))
        first, rest = complaints[0], complaints[1:_MOST]
        raise ConfigError("; ".join([first[1], *(f"{at}: {text}" for at, text in rest)]), at=first[0]) from None


_PLAIN = frozenset({"string_type", "int_type", "float_type", "bool_type"})
"""Complaints of a value that may be text, a number or true and false: of a list, all of them say the same."""


def _complaint(model: type[BaseModel], node: Node, steps: Sequence[int | str], error: Any) -> tuple[str, str]:
    """Return where and what."""
    key_path = ".".join(str(part) for part in steps)
    if error["type"] == "extra_forbidden":
        parent = find(node, steps[:-1])
        key = str(steps[-1])
        loc = error["loc"][:-1]
        current: list[type[BaseModel]] = [model]
        for step in loc:
            if isinstance(step, int):
                continue
            by_class = [cls for cls in current if cls.__name__ == step]
            nested = [
                inner
                for cls in current
                for name, info in cls.model_fields.items()
                if step in (name, info.alias)
                for inner in _models_in(info.annotation)
            ]
            current = by_class or nested or current
        names = {info.alias or name for cls in current for name, info in cls.model_fields.items()}
        fields = sorted(names)
        near = difflib.get_close_matches(key, fields, n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(fields)}"
        return parent.key_at(key), f"unknown key {key_path!r} ({hint})"
    target = find(node, steps)
    if error["type"] == "missing":
        return target.at, f"{key_path!r} is missing"
    if error["type"] == "list_type":
        return target.at, f"{key_path!r} must be a list, not {_kind(target)}"
    if error["type"] in _PLAIN and isinstance(target.value, list | dict):
        return target.at, f"{key_path!r} must be a single value, not {_kind(target)}"
    return target.at, f"{key_path}: {error['msg'].removeprefix('Value error, ')}".removeprefix(": ")


def _steps(node: Node, loc: Sequence[int | str], kind: str) -> tuple[int | str, ...]:
    """Return an error's path in the file: without pydantic's names for the branches of a union."""
    steps: list[int | str] = []
    for position, step in enumerate(loc):
        inner = find(node, (step,))
        if inner is not node:
            node = inner
            steps.append(step)
        elif kind == "missing" and position == len(loc) - 1:
            steps.append(step)
    return tuple(steps)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


def _kind(node: Node) -> str:
    return {list: "a list", str: "a text", type(None): "nothing"}.get(type(node.value), type(node.value).__name__)


Output = Literal["generate_until", "multiple_choice", "loglikelihood", "loglikelihood_rolling"]
"""How a task is answered: by a text, or by how likely given texts are."""

ContextMode = Literal["full", "minimal", "none"]
"""How much of a row's `context` reaches the prompt."""

CONTEXT_MODES: tuple[ContextMode, ...] = ("full", "minimal", "none")


@dataclass(frozen=True, slots=True)
class Text:
    """Where a text of a row, or what stands for one, comes from: exactly one of the four is set."""

    template: str | None = None
    """A Jinja template over the row's fields."""
    fields: tuple[str, ...] = ()
    """Names of fields whose values are taken as they are; a list gives several references."""
    function: Function | None = None
    """A registered name."""
    constant: object = None
    """The same for every row: a place among the choices, or the choices themselves."""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Data:
    """Where the rows are."""

    paths: tuple[str, ...]
    """Files, relative to the folder of the task file that names them, read one after the other."""
    folder: Path
    """That folder."""
    where: Mapping[str, object] = field(default_factory=dict)
    """Only rows whose fields have these values."""
    remote: str = ""
    """A data set of the hub: fetched where the user allowed it; a file that the user gives may stand in for it."""
    config: str = ""
    split: str = ""
    """Which part of that."""
    id_field: str = ""
    """The field that names a row; empty means its place, counted from 0 after `where`."""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Use:
    """One entry of a task's metric list."""

    name: str | Function
    key: str = ""
    """The name in results; empty means the metric's own."""
    options: Mapping[str, object] = field(default_factory=dict)
    aggregation: str | Function = "mean"
    higher_is_better: bool | None = None
    at: str = ""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where each key of the entry stands."""

    def find_place(self, key: str) -> str:
        """Return where a key of the entry stands, as `file:line:column`; where the entry stands if it has no such key."""
        return self.places.get(key, self.at)


@dataclass(frozen=True, slots=True)
class Filter:
    """One step between a raw reply and the text that is marked."""

    name: str | Function
    options: Mapping[str, object] = field(default_factory=dict)
    at: str = ""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Filters in their order, under the name that results carry where a task has several."""

    name: str = "none"
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a model is told beside the prompt."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """In tokens of the model."""
    stop: tuple[str, ...] = ()
    seed: int | None = None
    samples: int = 1
    """Answers per row."""
    beams: int = 1
    """Of a beam search, which no server offers: with more than one a model is not asked."""


@dataclass(frozen=True, slots=True)
class FewShot:
    """Worked examples put before the question."""

    count: int = 0
    paths: tuple[str, ...] = ()
    """Files of rows; empty means the task's own rows."""
    folder: Path | None = None
    """Where those files are looked for, if not where the task's data is."""
    rows: tuple[Mapping[str, object], ...] = ()
    """Rows that stand in the task file; they come before files."""
    rows_by: Function | None = None
    """What gives those rows, in their place."""
    sampler: Literal["default", "first_n"] = "first_n"
    """`default` draws as lm-evaluation-harness does, `first_n` takes the first."""
    excludes_self: bool = True
    """Whether a row is not an example of itself."""
    split: str = ""
    """The split that should be read, where it is not here: the task's own rows stand in for it, with a warning."""
    prompt: Text | None = None
    """How an example asks, if not as the task does."""
    references: Text | None = None
    delimiters: tuple[str, str] | None = None
    prefix: str | None = None
    """How an answer begins, if not as the task's; a field's name or a template."""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A task: which rows, what to ask, what is right, how to mark."""

    name: str
    file: Path
    version: str
    data: Data
    prompt: Text
    references: Text | None
    metrics: tuple[Use, ...]
    format: Literal["markbook", "lm-eval"] = "markbook"
    output: Output = "generate_until"
    choices: Text | None = None
    """In multiple choice: the texts to choose from."""
    prefix: str = ""
    """How the reply begins, put behind the question; a field's name or a template."""
    notes: tuple[str, ...] = ()
    """Keys of the file that change nothing here, and why."""
    tests: str = ""
    """The field that holds the test statements."""
    entry_point: str = ""
    """The field that holds the name to define."""
    context: ContextMode = "full"
    system: str = ""
    description: str = ""
    """In lm-evaluation-harness files: text put before the prompt."""
    process: Function | None = None
    """A registered row selection."""
    results: Function | None = None
    """What marks a row instead of the metrics, which then only say how its numbers are summed up."""
    pipelines: tuple[Pipeline, ...] = (Pipeline(),)
    sampling: Sampling = Sampling()
    few_shot: FewShot = FewShot()
    delimiters: tuple[str, str] = (" ", "\n\n")
    """Between a worked example's question and answer, and between examples."""
    tags: tuple[str, ...] = ()
    alias: str = ""
    unsafe_at: str = ""
    """Where the file says that its own code runs what a model writes; empty where it does not."""
    resolved: Mapping[str, object] = field(default_factory=dict)
    """The file with everything it extends merged in, as plain values: what the run folder records."""


@dataclass(frozen=True, slots=True)
class GroupMetric:
    """How a group sums up one metric of its tasks."""

    metric: str
    weight_by_size: bool = True
    pipelines: tuple[str, ...] = ()
    """Only what these pipelines gave; empty means all."""
    at: str = ""
    """`file:line:column`."""


@dataclass(frozen=True, slots=True)
class Member:
    """A task or group that a group names."""

    name: str
    alias: str = ""
    at: str = ""
    inline: TaskGroup | None = None
    """A group that stands in the place of a name."""
    over: Node | None = None
    """Keys over the task's own."""


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Several tasks under one name."""

    name: str
    file: Path
    members: tuple[Member, ...]
    aggregates: tuple[GroupMetric, ...] = ()
    alias: str = ""
    version: str = ""
    format: Literal["markbook", "lm-eval"] = "markbook"
    resolved: Mapping[str, object] = field(default_factory=dict)
