"""Marking lists of texts: `markbook.measure`.

Theory of operation
-------------------
Callers bring columns: lists, arrays, columns of data frames. `as_rows` takes them by position (a data frame's index is ignored,
since it may be in another order), and what cannot be a column of rows, such as one text or a set, is refused with what to pass.

Every metric then gives a column of measurements, one a row, in the order of the rows; nothing is ever left out, so columns can
be put side by side. A metric is asked in one of two ways:

- `measure_rows` takes the raw cells. Metrics whose candidate is not one text have it (pass@k, whose cell is a list).
- `measure` takes `Item`s. A row without a text has a problem, which becomes its measurement; meanwhile an empty item stands in its
  place, so that the index of an item is the index of its row.

Metrics of one class are asked together (`measure_together`): ROUGE-1 and ROUGE-L read each text once. If that raises, each row is
tried alone, so a crash costs the rows that cause it and not the column. A value outside the range that its metric states becomes
a failure too, because everything later (policies, intervals, gates) relies on the range.

With an executor the rows are cut into pieces. Only plain values travel: a worker makes the metrics itself from their names and
options, and pieces come back in order. A metric whose value depends on the other rows (`whole_batch`) is not cut.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence, Set as AbstractSet
from concurrent.futures import Executor
from typing import Literal, overload

from markbook import plugins
from markbook.errors import ConfigError, MarkbookError, UsageError
from markbook.metrics import NO_STATS, drop_missing_references, held_to_range, measurement, missing_error, problem
from markbook.text import Table
from markbook.text.format import format_number
from markbook.text.table import as_text
from markbook.types import Attempt, Item, Measurement, Metric, Missing, Sample, TaskRow

# Rows as callers keep them (lists, data frame columns, arrays), taken by position.

_TO_LIST = ("to_pylist", "to_list", "tolist")
"""How the columns of pyarrow, of polars and pandas, and numpy's arrays become lists."""


def as_rows(values: object, what: str) -> list[object]:
    """Return a column's values by position, whatever its index says; a cell that is a column itself becomes a list.

    Args:
        values: a list, tuple, iterator, numpy array, or a column of pandas, polars or pyarrow.
        what: what it is called, for the message.

    Raises:
        UsageError: one text, a mapping or a data frame, where the rows would be letters, keys or column names; a
            set, which has no order; no collection at all.
    """
    # A text is a sequence as well, and each of its letters would become a row.
    if isinstance(values, str | bytes):
        raise UsageError(f"{what} is one text", hint="pass a list, also for a single row")
    if isinstance(values, Mapping | AbstractSet) or hasattr(values, "columns"):
        raise UsageError(f"{what} is a {type(values).__name__}", hint="pass a list or one column")
    rows = values if isinstance(values, list | tuple) else _to_list(values)
    if not isinstance(rows, list | tuple):
        # An iterator can be read only once, so it becomes a list before anything looks at it.
        try:
            rows = list(rows)  # type: ignore[call-overload]  # what cannot be iterated is told just below
        except TypeError:
            raise UsageError(f"{what} is of type {type(values).__name__}", hint="pass a list") from None
    # Most cells are texts, and asking those for three methods each would be in vain.
    return [row if type(row) is str else _to_list(row) for row in rows]


def _to_list(values: object) -> object:
    """Return a column as the list of what stands in it, anything else as it is."""
    for name in _TO_LIST:
        convert = getattr(values, name, None)
        if callable(convert):
            return convert()
    return values


ALIASES: Mapping[str, tuple[str, ...]] = {
    "bertscore": ("bertscore_precision", "bertscore_recall", "bertscore_f1"),
    "bleu_score": ("bleu",),
    "code_bleu": ("codebleu",),
    "context_adherence_score": ("context_adherence",),
    "cosine_score": ("tfidf_cosine",),
    "jaccard_score": ("jaccard",),
    "meteor_score": ("meteor",),
    "pass@k": ("pass_at_k",),
    "pass^k": ("pass_hat_k",),
    "performance_awareness_score": ("performance_awareness",),
    "rouge": ("rouge1", "rouge2", "rougeL"),
    "rouge_score": ("rouge1", "rouge2", "rougeL"),
    "security_compliance_score": ("security_compliance",),
    "semantic_score": ("bertscore_f1",),
    "style_compliance_score": ("style_compliance",),
}
"""The documents' spellings, and what they stand for."""

_SHARDS = 32
_SMALLEST_SHARD = 16


class Measurements(list[Measurement]):
    """Measurements by row; a small table in the Python shell and in a notebook."""

    def _table(self) -> Table:
        first = self[:10]
        details = (item.missing.detail if item.missing else "" for item in first)
        rows = tuple((str(at), format_number(first[at].value), detail) for at, detail in enumerate(details))
        note = f"{len(self) - len(first):,} more rows" if len(self) > len(first) else ""
        return Table("", ("Row", self[0].metric, "Missing"), rows, frozenset({0, 1}), note)

    def __repr__(self) -> str:
        """Show the first rows."""
        return as_text([self._table().rich()]) if self else "[]"

    def _repr_html_(self) -> str:
        """Show the first rows in a notebook."""
        return self._table().html() if self else "[]"


@overload
def measure(  # type: ignore[overload-overlap]  # three spellings stand for several metrics
    metrics: Literal["rouge", "rouge_score", "bertscore"],
    candidates: Sequence[object],
    references: Sequence[object] | None = None,
    *,
    executor: Executor | None = None,
    questions: Sequence[object] | None = None,
    contexts: Sequence[object] | None = None,
    rows: Sequence[object] | None = None,
    **options: object,
) -> dict[str, list[Measurement]]: ...


@overload
def measure(  # type: ignore[overload-overlap]  # a str is a sequence of str, and is taken as one name
    metrics: str,
    candidates: Sequence[object],
    references: Sequence[object] | None = None,
    *,
    executor: Executor | None = None,
    questions: Sequence[object] | None = None,
    contexts: Sequence[object] | None = None,
    rows: Sequence[object] | None = None,
    **options: object,
) -> list[Measurement]: ...


@overload
def measure(
    metrics: Sequence[str],
    candidates: Sequence[object],
    references: Sequence[object] | None = None,
    *,
    executor: Executor | None = None,
    questions: Sequence[object] | None = None,
    contexts: Sequence[object] | None = None,
    rows: Sequence[object] | None = None,
    **options: object,
) -> dict[str, list[Measurement]]: ...


def measure(
    metrics: str | Sequence[str],
    candidates: Sequence[object],
    references: Sequence[object] | None = None,
    *,
    executor: Executor | None = None,
    questions: Sequence[object] | None = None,
    contexts: Sequence[object] | None = None,
    rows: Sequence[object] | None = None,
    **options: object,
) -> list[Measurement] | dict[str, list[Measurement]]:
    """Return one measurement a row: the candidate's mark against its reference or references.

    A row that cannot be marked is missing with its reason, alone: a None candidate, None or no reference, a
    candidate or reference that is not a text (a number, bytes). A None among other references is left out.

    Args:
        metrics: a name of `markbook list metrics` or a documented spelling (`bleu_score`, `rouge_score`, ...), or
            several of them; several of one family share one pass over the texts.
        candidates: the texts to mark: a list, an array or a column of a data frame, taken by position.
        references: for each candidate a text or a list of texts; None for metrics that need no reference.
        executor: where big batches run, such as `concurrent.futures.ProcessPoolExecutor()`; the measurements are
            the same. None means this process.
        questions: what each candidate answers, for metrics that read it (`judge`).
        contexts: what each question states beside itself, as above.
        rows: for each candidate a mapping of what else its row holds: criteria of its own, say, for the metric `judge`.
        options: of the metric, by keyword; with several metrics each takes those it knows.

    Returns:
        A list for one metric, a dict of lists by name for several (also for the spellings `rouge_score`, `rouge`
        and `bertscore`, which stand for three).

    Raises:
        UsageError: an unknown metric, lists of unequal length, one text where a list is asked for.
        ConfigError: an option that no named metric takes, or a value that one refuses.
    """
    names = expand([metrics] if isinstance(metrics, str) else metrics)
    texts, answers = paired_rows(candidates, references)
    beside = {
        name: as_rows(column, name)
        for name, column in (("questions", questions), ("contexts", contexts), ("rows", rows))
        if column is not None
    }
    for name, column in beside.items():
        if len(column) != len(texts):
            raise UsageError(f"{len(texts)} candidates and {len(column)} {name}", hint="one for each row")
    measured = measure_rows(make(names, options), texts, answers, options, executor=executor, **beside)
    columns: dict[str, list[Measurement]] = {name: Measurements(column) for name, column in measured.items()}
    return columns[names[0]] if isinstance(metrics, str) and len(names) == 1 else columns


def expand(names: Sequence[str]) -> list[str]:
    """Return the metrics that names and documented spellings stand for, each once, in order."""
    # A metric that is named twice, directly and by a family's name, is measured once.
    return list(dict.fromkeys(itertools.chain.from_iterable(ALIASES.get(name, (name,)) for name in names)))


def make(names: Sequence[str], options: Mapping[str, object]) -> dict[str, Metric]:
    """Return the metrics by name, each with those of the options that it takes.

    Raises:
        UsageError: an unknown metric.
        ConfigError: an option that none of the metrics takes, or a value that one refuses.
    """
    parameters = {
        name: inspect.signature(plugins.factory("metrics", name, allow_code=True)).parameters for name in names
    }
    metrics: dict[str, Metric] = {}
    # An option is an error only if none of the metrics takes it.
    unused = set(options)
    for name in names:
        taken = parameters[name]
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
        options_taken = {key: value for key, value in options.items() if takes_any or key in taken}
        unused -= set(options_taken)
        metrics[name] = plugins.make("metrics", name, options_taken, allow_code=True)
    if unused:
        known = sorted({key for taken in parameters.values() for key in taken})
        raise ConfigError(
            f"no option of {', '.join(names)}: {', '.join(sorted(unused))}",
            hint=f"known: {', '.join(known)}" if known else "they take none",
        )
    return metrics


def paired_rows(
    candidates: object, references: object | None, *, names: tuple[str, str] = ("candidates", "references")
) -> tuple[list[object], list[object] | None]:
    """Return candidates and references by position; see `as_rows`.

    Raises:
        UsageError: one of them is a single text, a mapping or a data frame, or they are of unequal length.
    """
    rows = as_rows(candidates, names[0])
    answers = None if references is None else as_rows(references, names[1])
    if answers is not None and len(rows) != len(answers):
        raise UsageError(f"{len(rows)} {names[0]} and {len(answers)} {names[1]}", hint="one for each row")
    return rows, answers


def measure_rows(
    made: Mapping[str, Metric],
    candidates: Sequence[object],
    references: Sequence[object] | None,
    options: Mapping[str, object],
    *,
    executor: Executor | None = None,
    questions: Sequence[object] | None = None,
    contexts: Sequence[object] | None = None,
    rows: Sequence[object] | None = None,
) -> dict[str, list[Measurement]]:
    """Return each metric's measurements of rows that were checked before; see `measure`."""
    measurements: dict[str, list[Measurement]] = {}
    pairwise = {}
    for name, metric in made.items():
        measured = metric.measure_rows(candidates, references)
        if measured is None:
            pairwise[name] = metric
        else:
            measurements[name] = held_to_range(metric.range, measured)
    items: list[Item] = []
    problems: dict[int, Missing] = {}
    for i, candidate in enumerate(candidates):
        reference = references[i] if references is not None else None
        # A single reference and a list of them are the same from here on.
        several = list(reference) if isinstance(reference, list | tuple) else [reference]
        missing = problem(candidate, several, needs_reference=references is not None)
        if missing is not None:
            problems[i] = missing  # an empty item stands in for it, so that indices stay those of the rows
        question, context, row = (None if column is None else column[i] for column in (questions, contexts, rows))
        sample = Sample(
            str(i),
            input=question if isinstance(question, str) else "",
            references=drop_missing_references([text for text in several if isinstance(text, str)]),
            context=context if isinstance(context, str) else None,
            row=TaskRow(row, i) if isinstance(row, Mapping) else None,
        )
        items.append(Item(sample, Attempt(str(i), candidate if isinstance(candidate, str) else "")))
    for name, metric in pairwise.items():
        # Refused here, because every single row would be missing for this one reason.
        if references is None and metric.needs_reference:
            raise UsageError(f"{name} needs references")
    sharded = {} if executor is None else {n: m for n, m in pairwise.items() if not m.whole_batch}
    if executor is not None and sharded:
        measurements |= _shard(executor, sharded, options, items)
    here = [name for name in pairwise if name not in sharded]
    measurements |= zip(here, measure_together([pairwise[name] for name in here], items), strict=True)
    # Rows with a problem were measured as empty items, whose values are replaced by the reason.
    for name, metric in pairwise.items():
        for i, missing in problems.items():
            if metric.needs_reference or problem(candidates[i], (), needs_reference=False) is not None:
                measurements[name][i] = Measurement(
                    metric.name, missing=missing, sample_id=str(i), signature=metric.signature
                )
    # In the order of the names that were asked for, which shards and families have mixed.
    return {name: measurements[name] for name in made}


def measure_together(metrics: Sequence[Metric], items: Sequence[Item]) -> list[list[Measurement]]:
    """Return each metric's measurements of the items; those of one class can share a pass over the texts."""
    families: dict[type[Metric], list[int]] = {}
    # By class and not by name: ROUGE's three metrics are of one class and read the texts together.
    for index, metric in enumerate(metrics):
        families.setdefault(type(metric), []).append(index)
    measurements: dict[int, list[Measurement]] = {}
    for places in families.values():
        family = [metrics[index] for index in places]
        measurements.update(zip(places, _measure_guarded(family, items), strict=True))
    return [held_to_range(metric.range, measurements[index]) for index, metric in enumerate(metrics)]


def _measure_guarded(family: Sequence[Metric], items: Sequence[Item]) -> list[list[Measurement]]:
    """Return what metrics of one class measure; where one raises, each of its rows is tried for itself.

    The border of a metric: a plugin that raises costs the rows that it raises for, never the run.
    """
    try:
        columns = family[0].together(family, items)
        # A plugin that returns fewer values than items would shift the rows: then each is measured alone.
        if [len(column) for column in columns] == [len(items)] * len(family):
            return columns
    except MarkbookError:
        raise  # it says what is missing and what to do
    except Exception:  # noqa: BLE001, S110 - what fails is measured row by row below
        pass
    return [[_alone(metric, item) for item in items] for metric in family]


def _alone(metric: Metric, item: Item) -> Measurement:
    try:
        (measured,) = metric.measure([item])
    # An error of ours says what the user has to change, and would be the same for every row.
    except MarkbookError:
        raise
    except Exception as error:  # noqa: BLE001 - the border of a metric: a crash becomes a record, the run goes on
        return measurement(metric.name, metric.signature, item, missing_error(error), NO_STATS)
    return measured


_Row = tuple[str, tuple[str, ...], str, str | None, TaskRow | None]
_Found = tuple[float | None, Missing | None, dict[str, object], str]


def _shard(
    executor: Executor, metrics: Mapping[str, Metric], options: Mapping[str, object], items: Sequence[Item]
) -> dict[str, list[Measurement]]:
    """Measure in pieces; only plain values travel, and the order of the rows is the order of the pieces."""
    # Few large pieces: a worker makes the metrics anew for each, and its caches start empty.
    size = max(_SMALLEST_SHARD, -(-len(items) // _SHARDS))
    rows: list[_Row] = [
        (item.attempt.text, item.sample.references, item.sample.input, item.sample.context, item.sample.row)
        for item in items
    ]
    pieces = [rows[start : start + size] for start in range(0, len(rows), size)]
    futures = [executor.submit(_measure_shard, list(metrics), dict(options), piece) for piece in pieces]
    measurements: dict[str, list[Measurement]] = {name: [] for name in metrics}
    for future in futures:
        for name, measured in future.result().items():
            for value, missing, stats, signature in measured:
                i = str(len(measurements[name]))
                measurements[name].append(
                    Measurement(
                        metrics[name].name, value, missing, sample_id=i, stats=stats or NO_STATS, signature=signature
                    )
                )
    return measurements


def _measure_shard(names: list[str], options: dict[str, object], rows: list[_Row]) -> dict[str, list[_Found]]:
    """Measure a piece in a worker, with metrics made there."""
    items = [
        Item(Sample(str(i), references=references, input=question, context=context, row=row), Attempt(str(i), text))
        for i, (text, references, question, context, row) in enumerate(rows)
    ]
    columns = measure_together(list(make(names, options).values()), items)
    return {
        name: [(mark.value, mark.missing, dict(mark.stats), mark.signature) for mark in column]
        for name, column in zip(names, columns, strict=True)
    }


# A piece of a task's answers in a worker. It lies here because this module is quickly imported: every worker does so first.

_SampleRow = tuple[str, str, tuple[str, ...], str, int, str | None]
"""What travels of an answer: sample, text, references, model, index, context."""


def warm() -> None:
    """Import what the first piece will need."""
    import numpy  # noqa: F401, ICN001 - imported for its effect: it is the slowest part


def measure_piece(metrics: Sequence[Metric], rows: Sequence[_SampleRow]) -> list[list[_Found]]:
    """Measure a piece in a worker; plain values come and go."""
    items = [
        Item(Sample(name, references=references, context=context), Attempt(name, text, model, index))
        for name, text, references, model, index, context in rows
    ]
    return [
        [
            (
                measurement.value,
                measurement.missing,
                dict(measurement.stats),
                # The usual one is put back on the other side, so that it need not travel with every row.
                "" if measurement.signature == metric.signature else measurement.signature,
            )
            for measurement in column
        ]
        for metric, column in zip(metrics, measure_together(metrics, items), strict=True)
    ]
