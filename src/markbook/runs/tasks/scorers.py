"""What scores an answer of a task: metrics, the user's functions, likelihoods of choices, and how scores are aggregated."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from markbook import plugins
from markbook.config import Task, Use
from markbook.config.tree import Function
from markbook.datasets.choices import Weighing
from markbook.datasets.filters import unregistered_error
from markbook.datasets.user_code import Find, ForeignError, call_user_function, code_digest
from markbook.errors import ConfigError, suggest
from markbook.files.jsonl import check_whole
from markbook.measurements import choose_direction, find_direction
from markbook.stats.arrays import is_missing
from markbook.types import Attempt, Direction, Item, Measurement, Missing, MissingKind, Sample

# From what rows gave to one number, where that is not their mean: the aggregations that task files name.


def _number(raw: object) -> float | None:
    """Return what a function gave as a number; None if it is none."""
    # `float("3")` would do: a text that looks like a number is still not a number that a function gave.
    if isinstance(raw, str | bytes | tuple | list | Mapping) or raw is None:
        return None
    try:
        value = float(raw)  # type: ignore[arg-type]  # whatever can be a number may be one
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None  # a number of a class of the task's own, or a tensor, fails in its own way
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Sums rows up."""

    name: str
    over: Callable[[Sequence[Any]], float]
    """Raises `ForeignError` or `ValueError` where rows have no number."""
    one: Callable[[Any], float | None] = _number
    """What a single row's is for reading; None where it has none."""
    resamples: bool = True
    """Whether it is quick enough, and known well enough, to be computed a thousand times for an interval."""

    is_mean: bool = False
    """Whether it is the mean of the rows that have a number, as our own mean is: then `over` is not asked."""
    version: int = 1
    """Goes up when a row's own number changes."""

    @property
    def signature(self) -> str:
        """What a number that was summed up so is known by."""
        return self.name if self.version == 1 else f"{self.name}-v{self.version}"

    def of_one(self, raw: object) -> float | None:
        """Return a single row's number, None where it has none."""
        try:
            value = self.one(raw)
        except (TypeError, ValueError, ArithmeticError, LookupError):
            return None
        return value if value is None or math.isfinite(value) else None


def make_aggregation(use: Use, find: Find) -> Aggregation | None:
    """Return how an entry of a metric list is summed up; None is the mean.

    Raises:
        ConfigError: an aggregation that is neither known nor a function that may be called.
    """
    named = use.aggregation
    if isinstance(named, Function):
        own = find(named)
        if own is None:
            raise unregistered_error("aggregation", named, list(AGGREGATIONS))
        return Aggregation(named.name, lambda raws: _foreign(named, own, raws), resamples=False)
    if named in ("", "mean"):
        return None
    if named not in AGGREGATIONS:
        raise ConfigError(
            f"unknown aggregation {named!r}",
            at=use.find_place("aggregation"),
            hint=suggest(named, ["mean", *AGGREGATIONS]),
        )
    return AGGREGATIONS[named]


def _foreign(function: Function, own: Callable[..., Any], raws: Sequence[Any]) -> float:
    value = call_user_function(function, own, list(raws), row="")
    number = _number(value)
    if number is None:
        raise ForeignError(f"{function.name} gives what is not a number ({type(value).__name__})")
    return number


def _finite(values: Iterable[float]) -> list[float]:
    numbers = list(map(float, values))
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a row gives NaN or an infinite number")
    return numbers


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _median(values: Sequence[float]) -> float:
    """Return the middle value, of an even number the upper of the two, as the harness has it."""
    return sorted(_finite(values))[len(values) // 2]


def _perplexity(values: Sequence[float]) -> float:
    return math.exp(-_mean(_finite(values)))


def _weighted_mean(pairs: Sequence[tuple[float, float]]) -> float:
    return math.fsum(_finite(value for value, _ in pairs)) / math.fsum(_finite(weight for _, weight in pairs))


def _f1(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Return F1 of the label 1."""
    if not {label for pair in pairs for label in pair} <= {0, 1}:
        raise ValueError("F1 is of two labels, 0 and 1")
    # 2 TP / (2 TP + FP + FN): predicted ones and right ones together count each hit twice.
    hits = sum(gold == predicted == 1 for gold, predicted in pairs)
    named = sum(predicted == 1 for _, predicted in pairs) + sum(gold == 1 for gold, _ in pairs)
    return 2 * hits / named if named else 0.0


def _matthews(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Return the correlation of two labellings (Gorodkin 2004), 0 where one of them never changes."""
    golds, predictions = Counter(gold for gold, _ in pairs), Counter(predicted for _, predicted in pairs)
    if any(map(is_missing, (*golds, *predictions))):
        raise ValueError("a label is null or NaN")
    n, right = len(pairs), sum(gold == predicted for gold, predicted in pairs)
    both = right * n - sum(golds[label] * count for label, count in predictions.items())
    # Sums of squares of whole numbers: exact, and 0 exactly where one labelling never changes.
    spread = (n * n - sum(count**2 for count in golds.values())) * (
        n * n - sum(count**2 for count in predictions.values())
    )
    return both / math.sqrt(spread) if spread else 0.0


def _brier(pair: tuple[int, Sequence[float]]) -> float:
    gold, chances = pair
    if gold not in range(len(chances)):
        raise ValueError(f"the index of the correct choice, {gold!r:.40}, is not one of the {len(chances)} choices")
    return math.fsum((chance - (index == gold)) ** 2 for index, chance in enumerate(chances))


def _same(pair: tuple[Any, Any]) -> float:
    return float(pair[0] == pair[1])


def _bits(pairs: Sequence[tuple[float, float]]) -> float:
    return -_weighted_mean(pairs) / math.log(2)


def _weighted_perplexity(pairs: Sequence[tuple[float, float]]) -> float:
    return math.exp(-_weighted_mean(pairs))


def _of_corpus(name: str) -> Aggregation:
    """Return a metric of all texts together, of pairs of right answers and texts."""

    def over(pairs: Sequence[tuple[Any, Any]]) -> float:
        metric = plugins.create("metrics", f"corpus_{name}")
        items = []
        for number, (gold, text) in enumerate(pairs):
            golds = gold if isinstance(gold, list | tuple) else [gold]
            if text is None or None in golds:
                raise ValueError("a right answer or a reply is null")
            references = tuple(map(str, golds))
            items.append(Item(Sample(str(number), references=references), Attempt(str(number), str(text))))
        value = metric.summarise(metric.measure(items))
        if value is None:
            raise ValueError("no row has a number")
        return float(value)

    return Aggregation(name, over, resamples=False)


AGGREGATIONS: Mapping[str, Aggregation] = {
    "bits_per_byte": Aggregation("bits_per_byte", _bits, lambda pair: _bits([pair])),
    "bleu": _of_corpus("bleu"),
    "brier_score": Aggregation("brier_score", lambda pairs: _mean(list(map(_brier, pairs))), _brier),
    "chrf": _of_corpus("chrf"),
    "f1": Aggregation("f1", _f1, _same),
    "matthews_corrcoef": Aggregation("matthews_corrcoef", _matthews, _same),
    "median": Aggregation("median", _median),
    "nanmean": Aggregation("nanmean", _mean, is_mean=True),
    "perplexity": Aggregation("perplexity", _perplexity, lambda value: _perplexity([value]), version=2),
    "ter": _of_corpus("ter"),
    "weighted_perplexity": Aggregation(
        "weighted_perplexity", _weighted_perplexity, lambda pair: _weighted_perplexity([pair])
    ),
}
"""By the names that lm-evaluation-harness gives them; `mean` is none of them."""


# Marking a row as a whole, under names that a function may bring only when it is called.
#
# What a scorer gives for a row need not be a number: an aggregation of the task's own may want pairs, lists, anything.

_PAIRED = ("bleu", "chrf", "f1", "mcc", "ter")
"""Metrics of the harness that say nothing of one row."""
_USUAL: Mapping[str, str] = {
    "bits_per_byte": "bits_per_byte",
    "bleu": "bleu",
    "brier_score": "brier_score",
    "byte_perplexity": "weighted_perplexity",
    "chrf": "chrf",
    "f1": "f1",
    "mcc": "matthews_corrcoef",
    "perplexity": "perplexity",
    "ter": "ter",
    "word_perplexity": "weighted_perplexity",
}
"""How lm-evaluation-harness sums up its own metrics where an entry names no aggregation; all others are means."""
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
    def name(self) -> str:
        """What tells it from other rows, and answers to the same row from each other."""
        return repr((self.sample.id, list(self.texts)))

    @property
    def result(self) -> Any:
        """What the harness hands to a function: a text, or a list of texts."""
        return self.texts[0] if len(self.texts) == 1 and not self.is_list else list(self.texts)


@dataclass(frozen=True, slots=True)
class Scored:
    """One name in results and how its rows are summed up."""

    key: str
    signature: str
    stated: Direction | None = None
    """Which way is better, if the task file or the metric says it."""
    range: tuple[float, float] = UNBOUNDED
    aggregation: Aggregation | None = None
    """None is the mean of the rows."""

    @property
    def direction(self) -> Direction:
        """Which way is better, by the name where nothing else says it."""
        return choose_direction(self.stated, self.key)


@dataclass(frozen=True, slots=True)
class Scorer:
    """Marks rows."""

    known: Mapping[str, Scored]
    """What the task file names, by key: the names in results, as far as they are known before it is called."""
    give: Callable[[RowAnswer], Mapping[str, Any] | Missing]
    """Returns what it has to say of an answered row, or why it has nothing; raises `ForeignError` where it fails."""
    signature: str
    renames: bool = False
    """Whether the names are the function's to choose: then one that never comes is none."""
    name: str = ""
    """The function, which stands before a name that another metric of the task has already."""

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
            # A function that chooses its names has one entry in the task file.
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
        """Start with those that are known before anything is scored; `others` are the names of the task's other metrics."""
        self._scorers = scorers
        self._came: list[dict[str, None]] = [
            {} if scorer.renames else dict.fromkeys(scorer.known) for scorer in scorers
        ]
        self._owners: dict[str, int | None] = {name: n for n, came in enumerate(self._came) for name in came}
        self._owners.update(dict.fromkeys(others))

    def get_published_name(self, number: int, name: str) -> str:
        """Return under which name a scorer's value stands in results: a name that is taken gets its function before it."""
        # Whoever says a name first keeps it for all rows to come.
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
                came.update(dict.fromkeys(self.get_published_name(number, key) for key in scorer.known))


def function_scorers(task: Task, find: Find) -> dict[Function | str, Scorer]:
    """Return what marks rows by itself, by the names of its entries: functions that may be called, and bare pairs."""
    scorers: dict[Function | str, Scorer] = {}
    for use in task.metrics if task.results is None else ():
        if isinstance(use.name, Function):
            if (function := find(use.name)) is not None:
                scorers[use.name] = _of_function(task, use.name, use, function, find)
        elif task.format == "lm-eval" and task.output == "generate_until" and use.name in _PAIRED:
            # These only hand right answer and reply on, to an aggregation that has to be known here. Of the usual ones the
            # corpus metrics are bound as our own (`metrics.bind`).
            if isinstance(use.aggregation, Function):
                is_known = find(use.aggregation) is not None
            else:
                is_known = use.name in ("f1", "mcc") and use.aggregation in ("", _USUAL[use.name])
            if is_known:
                scorers[use.name] = _of_pairs(task, use.name, use, find)
    return scorers


def _known_references(row: RowAnswer, task: Task) -> tuple[str, ...] | Missing:
    """Return a row's right answers, one empty text where the task names none; of a row without one an empty reply is not right."""
    if not row.sample.references and task.references is not None:
        return Missing(MissingKind.UNDEFINED, "the row has no right answer")
    return row.sample.references or ("",)


def _of_pairs(task: Task, name: str, use: Use, find: Find) -> Scorer:
    key = use.key or name
    takes_lists = isinstance(use.aggregation, Function)

    def give(row: RowAnswer) -> Mapping[str, object] | Missing:
        references = _known_references(row, task)
        if isinstance(references, Missing):
            return references
        text: Any = row.result if takes_lists or len(row.texts) != 1 else row.texts[0]
        return {key: (references[0] if len(references) == 1 else list(references), text)}

    signature = f"{name}|pairs|v1"
    return Scorer({key: make_scorer(key, use, find, signature, usual=name)}, give, signature)


def _of_function(task: Task, name: Function, use: Use, function: Callable[..., Any], find: Find) -> Scorer:
    """Return a metric function of lm-evaluation-harness: it takes references and predictions, or one list of both."""
    key = use.key or name.name.rpartition(".")[2]
    options = json.dumps(use.options, sort_keys=True, default=str) if use.options else ""
    parts = [
        key,
        f"foreign:{name.name}",
        f"code:{_digest_file(function)}",
        *([f"options:{options}"] if options else []),
    ]
    signature = "|".join((*parts, "v1"))

    # The harness has two conventions for such functions: the signature says which of them one follows. A TypeError of the
    # call would not: it may be the function's own.
    takes_both = plugins.takes(function, references=[], predictions=[], **use.options)

    def once(reference: str, result: str | list[str]) -> Any:
        if takes_both:
            return _read_result(function(references=[reference], predictions=[result], **use.options))
        return _read_result(function([reference, result]))

    def give(row: RowAnswer) -> Mapping[str, object] | Missing:
        references = _known_references(row, task)
        if isinstance(references, Missing):
            return references
        if len(references) == 1:
            value = call_user_function(name, once, references[0], row.result, row=row.name)
            return value if isinstance(value, Mapping) else {key: value}
        values = [call_user_function(name, once, reference, row.result, row=row.name) for reference in references]
        if any(isinstance(value, Mapping) and key not in value for value in values):
            return {}
        values = [value[key] if isinstance(value, Mapping) else value for value in values]
        numbers = [_number(value) for value in values]
        if None in numbers:
            return {key: values[numbers.index(None)]}  # what is not a number makes the row neither right nor wrong
        return {key: float(any(numbers))}  # one right answer of several is enough, as in the harness

    return Scorer({key: make_scorer(key, use, find, signature)}, give, signature, renames=True, name=name.name)


def _read_result(result: object) -> object:
    """Return what a function of a task's own gave, numbers by name as a plain mapping: reading it runs more of its code."""
    return {str(name): value for name, value in result.items()} if isinstance(result, Mapping) else result


def make_scorer(
    key: str, use: Use, find: Find, signature: str, limits: tuple[float, float] = UNBOUNDED, *, usual: str = ""
) -> Scored:
    """Return how an entry of a metric list is summed up; one that names no aggregation as the harness's metric `usual` is.

    Raises:
        ConfigError: an aggregation that is neither known nor a function that may be called.
    """
    # The harness's own metrics are known, also under another key.
    direction = find_direction(usual) if usual in _USUAL or usual != key else None
    if use.higher_is_better is not None:
        direction = "higher" if use.higher_is_better else "lower"
    if use.aggregation == "" and usual in _USUAL:
        use = replace(use, aggregation=_USUAL[usual])
    aggregation = make_aggregation(use, find)
    # In the signature too: of one name two aggregations are two numbers.
    full_signature = signature if aggregation is None else f"{signature}|aggregation:{aggregation.signature}"
    return Scored(key, full_signature, direction, limits, None if aggregation and aggregation.is_mean else aggregation)


def _digest_file(function: Callable[..., Any]) -> str:
    """Return what the Python file of a function is known by; empty where it has none."""
    try:
        path = inspect.getsourcefile(function)
        return "" if path is None else code_digest(Path(path))[:12]
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
    try:
        check_whole(list(values))
    except UnicodeEncodeError:
        return Missing(MissingKind.FAILED, "the function gives a name that holds half a character")
    return values


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
        value = _number(raw) if scored.aggregation is None else scored.aggregation.of_one(raw)
        if value is None and scored.aggregation is not None:
            why = f"a row has no number of its own: {scored.aggregation.name} is of all rows together"
            missing = Missing(MissingKind.UNDEFINED, why)
        elif value is None:
            missing = Missing(MissingKind.UNDEFINED, f"the function gives {raw!r:.100}, which is not a number")
    attempt = row.attempt
    return Measurement(
        scored.key, value, missing, row.sample.id, attempt.index, attempt.model, signature=scored.signature
    )


# Scoring rows that are answered by log-likelihoods, and what a function of the task's own makes of a row.

Score = Callable[[Weighing, Sequence[float], Sequence[Any]], Any]
"""From a weighing, its log-likelihoods and whether each was what the model would have written itself."""

_UNIT = (0.0, 1.0)


def row_scorer(task: Task, find: Find) -> Scorer | None:
    """Return what marks whole rows of a task; None where its metrics mark texts.

    Raises:
        ConfigError: a function that may not be called, a metric that this kind of answer has not.
    """
    if task.results is not None:
        return _by_function(task, task.results, find)
    if task.output == "generate_until":
        return None
    by_name = {"multiple_choice": CHOICE, "loglikelihood": CONTINUATION, "loglikelihood_rolling": ROLLING}[task.output]
    scored: dict[str, Scored] = {}
    scores: dict[str, Score] = {}
    for use in task.metrics:
        name = use.name.name if isinstance(use.name, Function) else use.name
        if name not in by_name:
            raise ConfigError(
                f"metric {name!r} is not one of output_type {task.output}", at=use.at, hint=suggest(name, list(by_name))
            )
        score, limits = by_name[name]
        key = use.key or name
        scores[key] = score
        scored[key] = make_scorer(key, use, find, f"{name}|log-likelihoods|v1", limits, usual=name)
    return Scorer(scored, lambda row: _score(row, scores), f"{task.output}|v1")


def _by_function(task: Task, function: Function, find: Find) -> Scorer:
    own = find(function)
    if own is None:
        raise unregistered_error("result function", function, [])
    scored_by_name: dict[str, Scored] = {}
    for use in task.metrics:
        name = use.name.name.rpartition(".")[2] if isinstance(use.name, Function) else use.name
        signature = f"{name}|foreign:{function.name}|code:{_digest_file(own)}|v1"
        # What a function gives under a metric's name is summed up as that metric where the file says nothing.
        scored_by_name[name] = make_scorer(name, use, find, signature, usual=name)

    def give(row: RowAnswer) -> Mapping[str, object]:
        results: list[Any] = [row.result] if row.texts else []
        if row.weighing is not None:
            likelihoods, greedy = read_likelihoods(row.texts[0])
            is_rolling = task.output == "loglikelihood_rolling"
            results = list(likelihoods) if is_rolling else list(zip(likelihoods, greedy, strict=True))
        doc = {} if row.sample.row is None else dict(row.sample.row.record)
        values: Mapping[str, object] = call_user_function(
            function, lambda: _read_result(own(doc, results)), row=row.name
        )
        return values

    return Scorer(scored_by_name, give, f"foreign:{function.name}|v1")


def read_likelihoods(text: str) -> tuple[list[float], list[Any]]:
    """Return log-likelihoods and whether each was the likeliest text, out of an answer."""
    pairs = json.loads(text)
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _score(row: RowAnswer, scores: Mapping[str, Score]) -> dict[str, object] | Missing:
    assert row.weighing is not None  # the task's rows have one each
    likelihoods, greedy = read_likelihoods(row.texts[0])
    if len(likelihoods) != len(row.weighing.pairs):
        detail = f"{len(likelihoods)} log-likelihoods for {len(row.weighing.pairs)} texts that were weighed"
        return Missing(MissingKind.UNDEFINED, detail)
    if row.weighing.choices and not row.weighing.golds:
        return Missing(MissingKind.UNDEFINED, "the row does not say which choice is right")
    values = {key: score(row.weighing, likelihoods, greedy) for key, score in scores.items()}
    return {key: value for key, value in values.items() if value is not None}


def _best(values: Sequence[float]) -> int:
    """Return the place of the largest, of equal ones the first."""
    return max(range(len(values)), key=lambda index: (values[index], -index))


def right_places(weighing: Weighing) -> list[int]:
    """Return the places that are right, of what is none of the choices nothing."""
    choices = weighing.choices
    places = [choices.index(gold) if isinstance(gold, str) and gold in choices else gold for gold in weighing.golds]
    return [index for index in places if isinstance(index, int) and 0 <= index < len(choices)]


def _accuracy(size: Callable[[str], float]) -> Score:
    def score(weighing: Weighing, likelihoods: Sequence[float], _greedy: Sequence[Any]) -> float:
        # There may be twice as many likelihoods: the second half, without the question, is for `acc_mutual_info`.
        values = [value / size(text) for value, text in zip(likelihoods, weighing.choices, strict=False)]
        return float(_best(values) in right_places(weighing))

    return score


def _any_likeliest(greedy: Sequence[bool | None]) -> float | None:
    """Return whether one of the right texts was the likeliest; None where that is not recorded."""
    return None if None in greedy and not any(greedy) else float(any(greedy))


def _mutual(weighing: Weighing, likelihoods: Sequence[float], _greedy: Sequence[Any]) -> float | None:
    count = len(weighing.choices)
    if len(likelihoods) < 2 * count:
        return None
    # The second half of the pairs weighs each choice without its question: what is left is what the question adds.
    values = [likelihoods[index] - likelihoods[count + index] for index in range(count)]
    return float(_best(values) in right_places(weighing))


def _pair(weighing: Weighing, likelihoods: Sequence[float], _greedy: Sequence[Any]) -> tuple[int, int] | None:
    golds = right_places(weighing)
    return (golds[0], _best(likelihoods[: len(weighing.choices)])) if golds else None


def _chances(
    weighing: Weighing, likelihoods: Sequence[float], _greedy: Sequence[Any]
) -> tuple[int, list[float]] | None:
    golds = right_places(weighing)
    values = likelihoods[: len(weighing.choices)]
    # The largest taken off first: exp of a log-likelihood of -2,000 is 0, and chances cannot be shares of a sum of zeros.
    top = max(values)
    shares = [math.exp(value - top) for value in values]
    return (golds[0], [share / math.fsum(shares) for share in shares]) if golds else None


def _weight(size: Callable[[str], int]) -> Score:
    return lambda weighing, likelihoods, _greedy: (likelihoods[0], size(str(weighing.gold)))


def _words(text: str) -> int:
    # Empty pieces at the ends count as words: a perplexity by another count could not be set beside the harness's.
    return len(re.split(r"\s+", text))


def _bytes(text: str) -> int:
    # JSON may hold half a surrogate pair, at which a plain encoding would fail.
    return len(text.encode("utf-8", "surrogatepass"))


CHOICE: Mapping[str, tuple[Score, tuple[float, float]]] = {
    "acc": (_accuracy(lambda _text: 1), _UNIT),
    "acc_norm": (_accuracy(len), _UNIT),
    "acc_bytes": (_accuracy(_bytes), _UNIT),
    "acc_mutual_info": (_mutual, _UNIT),
    "exact_match": (
        lambda weighing, _likelihoods, greedy: _any_likeliest([greedy[index] for index in right_places(weighing)]),
        _UNIT,
    ),
    "f1": (_pair, _UNIT),
    "mcc": (_pair, (-1.0, 1.0)),
    "brier_score": (_chances, (0.0, 2.0)),
}
"""The metrics of multiple choice: the score of a row and its range."""
CONTINUATION: Mapping[str, tuple[Score, tuple[float, float]]] = {
    "acc": (lambda _weighing, _likelihoods, greedy: _any_likeliest(greedy[:1]), _UNIT),
    "perplexity": (lambda _weighing, likelihoods, _greedy: likelihoods[0], UNBOUNDED),
}
ROLLING: Mapping[str, tuple[Score, tuple[float, float]]] = {
    "word_perplexity": (_weight(_words), UNBOUNDED),
    "byte_perplexity": (_weight(_bytes), UNBOUNDED),
    "bits_per_byte": (_weight(_bytes), UNBOUNDED),
}
