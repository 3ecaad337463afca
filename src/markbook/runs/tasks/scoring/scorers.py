"""Marking a row as a whole, under names that a function may bring only when it is called.

What a scorer gives for a row need not be a number: an aggregation of the task's own may want pairs, lists, anything.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from markbook.config import Function, Task, Use
from markbook.load.choices import Weighing
from markbook.load.foreign import Find, ForeignError, call_user_function
from markbook.runs.tasks.scoring.aggregations import Aggregation, aggregation_of
from markbook.types import Attempt, Direction, Measurement, Missing, MissingKind, Sample

_PAIRED = {"bleu": "bleu", "chrf": "chrf", "f1": "f1", "mcc": "matthews_corrcoef", "ter": "ter"}
"""Metrics of the harness that say nothing of one row, with their usual aggregations."""
NOTHING_SAID = Missing(MissingKind.UNDEFINED, "nothing was said of this row")
UNBOUNDED = (float("-inf"), float("inf"))
"""A function of a task's own states no range."""


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """What a scorer sees of a row."""

    sample: Sample
    attempt: Attempt
    """The first answer."""
    texts: Sequence[str]
    """Of all answers, after the filters."""
    missing: Missing | None
    """Why there is nothing to score."""
    weighing: Weighing | None = None
    is_list: bool = False
    """Whether the filters left a list of texts; where it is of one, that is another thing than the text alone."""

    @property
    def result(self) -> Any:
        """What the harness hands to a function: a text, or a list of texts."""
        return self.texts[0] if len(self.texts) == 1 and not self.is_list else list(self.texts)


@dataclass(frozen=True, slots=True)
class Scored:
    """One name in results and how its rows are summed up."""

    key: str
    signature: str
    direction: Direction = "higher"
    range: tuple[float, float] = UNBOUNDED
    aggregation: Aggregation | None = None
    """None is the mean of the rows."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """Marks rows."""

    known: Mapping[str, Scored]
    """What the task file names, by key."""
    give: Callable[[RowAnswer], Mapping[str, Any] | Missing]
    """Returns what it has to say of an answered row, or why it has nothing; raises `ForeignError` where it fails."""
    signature: str
    renames: bool = False
    """Whether the names are the function's to choose: then one that never comes is none."""
    name: str = ""
    """The function, which stands before a name that another metric of the task has already."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The names in results, as far as they are known before it is called."""
        return tuple(self.known)

    def with_signature(self, part: str) -> Scorer:
        """Return the same scorer with one more part in every signature."""
        scored_by_name = {
            key: replace(scored, signature=f"{scored.signature}|{part}") for key, scored in self.known.items()
        }
        return replace(self, known=scored_by_name, signature=f"{self.signature}|{part}")

    def get_scored(self, key: str) -> Scored:
        """Return how a key is summed up; what a function adds is summed up as the entry that names it."""
        if key in self.known:
            return self.known[key]
        if self.renames:
            (entry,) = self.known.values()
            return replace(entry, key=key)
        return Scored(key, self.signature)


@dataclass(frozen=True, slots=True)
class RowScore:
    """What a row's scorers gave."""

    measurements: dict[str, Measurement] = field(default_factory=dict)
    raws: dict[str, object] = field(default_factory=dict)
    lacking: list[Missing | None] = field(default_factory=list)
    """Of each scorer why it had nothing to say at all; None where it spoke."""


class ScoreNames:
    """The names under which scorers have spoken so far."""

    def __init__(self, scorers: Sequence[Scorer], others: Iterable[str] = ()) -> None:
        """Start with those that are known before anything is scored.

        Args:
            scorers: the task's.
            others: the names of its other metrics.
        """
        self._scorers = scorers
        self._came: list[dict[str, None]] = [{} if scorer.renames else dict.fromkeys(scorer.keys) for scorer in scorers]
        self._owners: dict[str, int | None] = {name: n for n, came in enumerate(self._came) for name in came}
        self._owners.update(dict.fromkeys(others))

    def get_published_name(self, number: int, name: str) -> str:
        """Return under which name a scorer's value stands in results: a name that is taken gets its function before it."""
        if self._owners.setdefault(name, number) == number:
            return name
        return f"{self._scorers[number].name}.{name}"

    def of(self, number: int) -> list[str]:
        """Return one scorer's."""
        return list(self._came[number])

    def add(self, number: int, names: Iterable[str]) -> None:
        """Take the names that came for a row."""
        self._came[number].update(dict.fromkeys(names))

    def finish(self) -> None:
        """Fall back on what the task file says where a function that may choose its names never spoke."""
        for number, (scorer, came) in enumerate(zip(self._scorers, self._came, strict=True)):
            if not came:
                came.update(dict.fromkeys(self.get_published_name(number, key) for key in scorer.keys))


def function_scorers(task: Task, find: Find) -> dict[Function | str, Scorer]:
    """Return what marks rows by itself, by the names of its entries: functions that may be called, and bare pairs."""
    scorers: dict[Function | str, Scorer] = {}
    for use in task.metrics if task.results is None else ():
        if isinstance(use.name, Function):
            if (function := find(use.name)) is not None:
                scorers[use.name] = _of_function(use.name, use, function, find)
        elif task.format == "lm-eval" and task.output == "generate_until" and _is_of_pairs(use, find):
            scorers[use.name] = _of_pairs(use.name, use, find)
    return scorers


def _is_of_pairs(use: Use, find: Find) -> bool:
    """Whether a metric of the harness only hands right answer and reply on, to an aggregation that is known here."""
    if use.name not in _PAIRED:
        return False
    if isinstance(use.aggregation, Function):
        return find(use.aggregation) is not None
    return use.aggregation in ("", _PAIRED[str(use.name)]) and use.name in ("f1", "mcc")


def _of_pairs(name: str, use: Use, find: Find) -> Scorer:
    key = use.key or name
    takes_lists = isinstance(use.aggregation, Function)

    def give(row: RowAnswer) -> Mapping[str, object]:
        references = row.sample.references or ("",)
        text: Any = row.result if takes_lists or len(row.texts) != 1 else row.texts[0]
        return {key: (references[0] if len(references) == 1 else list(references), text)}

    signature = f"{name}|pairs|v1"
    use_with_aggregation = use if use.aggregation else replace(use, aggregation=_PAIRED[name])
    return Scorer({key: scored_of(key, use_with_aggregation, find, signature)}, give, signature)


def _of_function(name: Function, use: Use, function: Callable[..., Any], find: Find) -> Scorer:
    """Return a metric function of lm-evaluation-harness: it takes references and predictions, or one list of both."""
    key = use.key or name.name.rpartition(".")[2]
    options = json.dumps(use.options, sort_keys=True, default=str) if use.options else ""
    parts = [key, f"foreign:{name.name}", f"code:{code_digest(function)}", *([f"options:{options}"] if options else [])]
    signature = "|".join((*parts, "v1"))

    def once(reference: str, result: str | list[str]) -> Any:
        try:
            return function(references=[reference], predictions=[result], **use.options)
        except TypeError:
            return function([reference, result])

    def give(row: RowAnswer) -> Mapping[str, object]:
        references = row.sample.references or ("",)
        if len(references) == 1:
            value = call_user_function(name, once, references[0], row.result)
            return value if isinstance(value, Mapping) else {key: value}
        values = [call_user_function(name, once, reference, row.result) for reference in references]
        values = [value.get(key) if isinstance(value, Mapping) else value for value in values]
        return {key: float(any(values))}  # one right answer of several is enough, as in the harness

    return Scorer({key: scored_of(key, use, find, signature)}, give, signature, renames=True, name=name.name)


def scored_of(key: str, use: Use, find: Find, signature: str, limits: tuple[float, float] = UNBOUNDED) -> Scored:
    """Return how an entry of a metric list is summed up.

    Raises:
        ConfigError: an aggregation that is neither known nor a function that may be called.
    """
    direction: Direction = "lower" if use.higher_is_better is False else "higher"
    return sign_aggregation(Scored(key, signature, direction, limits), aggregation_of(use, find))


def sign_aggregation(scored: Scored, aggregation: Aggregation | None) -> Scored:
    """Return how rows are summed up, with that in the signature; of one name two aggregations are two numbers."""
    if aggregation is None:
        return scored
    signature = f"{scored.signature}|aggregation:{aggregation.signature}"
    return replace(scored, signature=signature, aggregation=aggregation)


def code_digest(function: Callable[..., Any]) -> str:
    """Return what the Python file of a function is known by; empty where it has none."""
    try:
        path = inspect.getsourcefile(function)
        return "" if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
    except (TypeError, OSError):
        return ""


def score_rows(scorers: Sequence[Scorer], rows: Sequence[RowAnswer], names: ScoreNames) -> list[RowScore]:
    """Return what the scorers say of the next rows, each under all names that came so far, with a reason where it lacks."""
    scores = [RowScore() for _ in rows]
    for number, scorer in enumerate(scorers):
        values_by_row = [_collect_values(scorer, row) for row in rows]
        values_by_row = [
            values
            if isinstance(values, Missing)
            else {names.get_published_name(number, key): value for key, value in values.items()}
            for values in values_by_row
        ]
        for values in values_by_row:
            names.add(number, () if isinstance(values, Missing) else values)
        keys = names.of(number)
        for row, values, score in zip(rows, values_by_row, scores, strict=True):
            score.lacking.append(values if isinstance(values, Missing) else None)
            for key in keys:
                score.measurements[key] = _measure_row(scorer.get_scored(key), values, row)
                if not isinstance(values, Missing) and key in values:
                    score.raws[key] = values[key]
    return scores


def _collect_values(scorer: Scorer, row: RowAnswer) -> Mapping[str, object] | Missing:
    if row.missing is not None:
        return row.missing
    try:
        values: object = scorer.give(row)
    except ForeignError as error:
        return Missing(MissingKind.FAILED, f"the function {error}")
    if isinstance(values, Missing):
        return values
    if not isinstance(values, Mapping):
        return Missing(MissingKind.FAILED, f"the function gives {type(values).__name__}, not numbers by name")
    return {str(key): value for key, value in values.items()}


def _measure_row(scored: Scored, values: Mapping[str, object] | Missing, row: RowAnswer) -> Measurement:
    value: float | None = None
    missing: Missing | None = None
    if isinstance(values, Missing):
        missing = values
    elif scored.key not in values:
        missing = NOTHING_SAID
    else:
        raw = values[scored.key]
        # A row's number must be of the same kind as the number over all rows, or comparisons read it upside down.
        if scored.aggregation is not None and scored.aggregation.one is not None:
            value = scored.aggregation.of_one(raw)
        else:
            value = _number(raw)
        if value is None:
            missing = Missing(MissingKind.UNDEFINED, _no_number(values[scored.key], scored))
    attempt = row.attempt
    return Measurement(
        scored.key, value, missing, row.sample.id, attempt.index, attempt.model, signature=scored.signature
    )


def _no_number(raw: object, scored: Scored) -> str:
    if scored.aggregation is not None:
        return f"a row has no number of its own: {scored.aggregation.name} is of all rows together"
    return f"the function gives {raw!r:.100}, which is no number"


def _number(raw: object) -> float | None:
    """Return what a function gave as a number; None if it is none."""
    if isinstance(raw, str | bytes | tuple | list | Mapping) or raw is None:
        return None
    try:
        value = float(raw)  # type: ignore[arg-type]  # whatever can be a number may be one
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None
