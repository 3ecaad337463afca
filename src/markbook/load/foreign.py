"""Running a Python file beside a task file, where the user said so with `--allow-code`; never otherwise."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from markbook.config import Function, Task
from markbook.errors import ConfigError
from markbook.load.filters import Step
from markbook.load.samples import Foreign
from markbook.types import Direction, Item, Measurement, Metric, Missing, MissingKind


@dataclass(frozen=True, slots=True)
class ForeignCode:
    """What the Python files beside a task bring; empty where nothing may be run."""

    rows: Foreign = field(default_factory=Foreign)
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """By the function's full name."""
    filter: Callable[[Function], Step] | None = None


class Rows(list[Any]):
    """Rows as a `process_docs` function expects them: a list with `filter`, `map` and `select`."""

    def filter(self, keep: Callable[[Any], object]) -> Rows:
        """Return the rows for which `keep` is true."""
        return Rows(row for row in self if keep(row))

    def map(self, change: Callable[[Any], Any]) -> Rows:
        """Return the rows with what `change` adds to each."""
        return Rows({**row, **change(row)} for row in self)

    def select(self, places: Iterator[int]) -> Rows:
        """Return the rows at these places."""
        return Rows(self[place] for place in places)


def foreign_code(task: Task) -> ForeignCode:
    """Import what a task's `!function` names stand for in Python files beside it.

    A name whose module is not there stays what it is: a registered name.

    Raises:
        ConfigError: a file leads outside the task's folder, fails to import, or lacks the function.
    """
    modules: dict[str, ModuleType | None] = {}

    def find(function: Function | None) -> Callable[..., Any] | None:
        if function is None:
            return None
        name, _, attribute = function.name.rpartition(".")
        if name not in modules:
            modules[name] = _import(task.file.parent, name, function) if name else None
        module = modules[name]
        if module is None:
            return None
        found = getattr(module, attribute, None)
        if not callable(found):
            raise ConfigError(f"{name}.py has no function {attribute!r}", at=function.at)
        return found  # type: ignore[no-any-return]  # callable, checked above

    select = find(task.process)
    rows = Foreign(
        select=None if select is None else lambda given: list(select(Rows(given))),
        prompt=find(task.prompt.function),
        target=find(task.references.function) if task.references is not None else None,
    )
    metrics: dict[str, Any] = {}
    for use in task.metrics:
        if isinstance(use.name, Function) and (function := find(use.name)) is not None:
            direction: Direction = "lower" if use.higher_is_better is False else "higher"
            name = use.key or use.name.name.rpartition(".")[2]
            signature = f"{name}|foreign:{inspect.getmodule(function) and function.__module__}|v1"
            metrics[use.name.name] = _ForeignMetric(name, signature, function, dict(use.options), direction)

    def filter_(function: Function) -> Step:
        found = find(function)
        if found is None:
            from markbook.load.filters import registered_filter

            return registered_filter(function)
        return lambda texts: [str(text) for text in _one(found([list(texts)], [{}]))]

    return ForeignCode(rows, metrics, filter_)


def _one(filtered: Any) -> Sequence[Any]:
    """Return what a filter made of the only row it was given; a text alone is one reply."""
    left = next(iter(filtered))
    return [left] if isinstance(left, str) else list(left)


def _import(folder: Path, name: str, function: Function) -> ModuleType | None:
    """Return a Python file of the task's folder as a module, None if there is none of this name."""
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    if not path.is_file():
        return None
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"{name}.py leads out of the task's folder", at=function.at)
    spec = importlib.util.spec_from_file_location(f"_markbook_foreign_{name.replace('.', '_')}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is no Python file", at=function.at)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the plugin border: whatever foreign code raises at import is its author's to read
        raise ConfigError(f"{path.name} fails: {type(error).__name__}: {error}", at=function.at) from error
    return module


@dataclass(frozen=True, slots=True)
class _ForeignMetric(Metric):
    """A metric function of lm-evaluation-harness: called with references and predictions, or with one list of both."""

    name: str
    signature: str
    """Name and origin: what it computes is its author's."""
    function: Callable[..., Any]
    options: Mapping[str, Any]
    direction: Direction
    version: int = 1
    range: tuple[float, float] = (float("-inf"), float("inf"))
    """A foreign function states none."""

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item; a function that raises gives a reason."""
        return [self._one(item) for item in items]

    def _one(self, item: Item) -> Measurement:
        value: float | None = None
        missing: Missing | None = None
        try:
            value = self._call(list(item.sample.references), item.attempt.text)
        except Exception as error:  # noqa: BLE001 - the measurement border: a crash becomes a record, the run goes on
            missing = Missing(MissingKind.FAILED, f"{type(error).__name__}: {error}"[:500])
        if value is not None and value - value != 0:
            value, missing = None, Missing(MissingKind.UNDEFINED, f"the function gives {value!r}")
        return Measurement(
            self.name,
            value,
            missing,
            sample_id=item.sample.id,
            index=item.attempt.index,
            model=item.attempt.model,
            signature=self.signature,
        )

    def _call(self, references: list[str], text: str) -> float:
        gold: Any = references if len(references) > 1 else (references or [""])[0]
        try:
            found = self.function(references=[gold], predictions=[text], **self.options)
        except TypeError:
            found = self.function([gold, text])
        if isinstance(found, Mapping):
            found = found.get(self.name, next(iter(found.values())))
        return float(found)
