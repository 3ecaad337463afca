"""A task as the rest of the program sees it, whichever format its file was written in.

Reading such files is in `loading`, which needs pydantic: a command without a task does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from markbook.config.tree import Function, Node

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
    places: Mapping[str, str] = field(default_factory=dict)
    """Where each option stands."""


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
