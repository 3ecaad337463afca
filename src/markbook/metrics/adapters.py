"""Markbook's metrics in the shapes that other libraries call: none of those is imported.

- `Compute` has the `compute(predictions=, references=)` of Hugging Face's evaluate.
- `Accumulator` has the `update`, `compute`, `reset` of torchmetrics.
- `process_results` and `aggregate` are for `!function` in an lm-evaluation-harness YAML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from markbook.errors import UsageError
from markbook.metrics.measure import expand, make, measure_rows, paired_rows
from markbook.types import Measurement, missing_kinds

_NAMES = ("predictions", "references")


class Compute:
    """Metrics as an object with `compute`, `add` and `add_batch`.

    >>> Compute("exact_match").compute(predictions=["a", "b"], references=["a", "c"])
    {'exact_match': 0.5, 'exact_match_missing': 0}
    """

    def __init__(self, *metrics: str, **options: object) -> None:
        """Take metric names or documented spellings, and options by keyword."""
        self._options = options
        self._metrics = make(expand(metrics), options)
        self._predictions: list[object] = []
        self._references: list[object] = []

    def add(self, *, prediction: object, reference: object = None) -> None:
        """Remember one row for the next `compute`."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Sequence[object], references: Sequence[object] | None) -> None:
        """Remember rows for the next `compute`.

        Raises:
            UsageError: the lists are of unequal length, or one of them is a single text.
        """
        rows, answers = paired_rows(predictions, references, names=_NAMES)
        self._predictions += rows
        self._references += [None] * len(rows) if answers is None else answers

    def compute(
        self, *, predictions: Sequence[object] | None = None, references: Sequence[object] | None = None
    ) -> dict[str, float | int | None]:
        """Return each metric's number over all rows, None if there is none, and `<name>_missing`, how many lack it.

        Rows that were added before are included and then forgotten.

        Raises:
            UsageError: the lists are of unequal length, one of them is a single text, or references come alone.
        """
        if predictions is None and references is not None:
            raise UsageError("there are references and no predictions")
        if predictions is not None:
            rows, _ = paired_rows(predictions, None, names=_NAMES)
            self.add_batch(predictions=rows, references=[None] * len(rows) if references is None else references)
        rows, answers = self._predictions, self._references
        self._predictions, self._references = [], []
        numbers: dict[str, float | int | None] = {}
        for name, measured in measure_rows(self._metrics, rows, answers, self._options).items():
            numbers[name] = self._metrics[name].summarise(measured)
            numbers[f"{name}_missing"] = sum(measurement.missing is not None for measurement in measured)
        return numbers


class Accumulator:
    """A metric that is fed batch by batch: `update(preds, target)`, `compute()`, `reset()`.

    >>> metric = Accumulator("edit_distance")
    >>> metric.update(["fest"], ["test"])
    >>> metric.compute()
    0.25
    >>> metric.n, metric.n_missing
    (1, {})
    """

    def __init__(self, metric: str, **options: object) -> None:
        """Take one metric's name and its options."""
        names = expand([metric])
        if len(names) != 1:
            raise UsageError(f"{metric!r} stands for {', '.join(names)}", hint="make one accumulator for each")
        self._options = options
        self._metrics = make(names, options)
        (self._metric,) = self._metrics.values()
        self._texts: tuple[list[object], list[object]] = [], []
        self._measured: list[Measurement] = []

    def update(self, preds: Sequence[object], target: Sequence[object] | None) -> None:
        """Mark a batch and keep its measurements; of a metric whose values hang on the whole batch, the texts.

        Raises:
            UsageError: the lists are of unequal length, or one of them is a single text.
        """
        rows, answers = paired_rows(preds, target, names=("preds", "target"))
        answers = [None] * len(rows) if answers is None else answers
        if self._metric.whole_batch:
            self._texts[0].extend(rows)
            self._texts[1].extend(answers)
            self._measured = []
        else:
            self._measured += self._measure_rows(rows, answers)

    def _measure_rows(self, rows: Sequence[object], answers: Sequence[object]) -> list[Measurement]:
        (measured,) = measure_rows(self._metrics, rows, answers, self._options).values()
        return measured

    @property
    def _measure_once(self) -> list[Measurement]:
        if not self._measured and self._texts[0]:
            self._measured = self._measure_rows(*self._texts)
        return self._measured

    def compute(self) -> float | None:
        """Return the metric over everything since the last reset, None if nothing could be marked.

        What could not is left out of it, and counted in `n_missing`.
        """
        return self._metric.summarise(self._measure_once)

    @property
    def n(self) -> int:
        """How many rows have a value since the last reset."""
        return sum(measurement.missing is None for measurement in self._measure_once)

    @property
    def n_missing(self) -> dict[str, int]:
        """How many rows have none since the last reset, by the kind of reason."""
        return missing_kinds(self._measure_once)

    def reset(self) -> None:
        """Forget everything."""
        self._texts = [], []
        self._measured = []

    @property
    def measurements(self) -> list[Measurement]:
        """The measurements since the last reset, in order."""
        return list(self._measure_once)


def process_results(
    *metrics: str, target: str = "target", **options: object
) -> Callable[[Mapping[str, object], Sequence[object]], dict[str, float]]:
    """Return a function for `process_results: !function my_module.name` of an lm-evaluation-harness task.

    In the module beside the YAML: `marks = process_results("rougeL", "bleu", target="answer")`. A row that a
    metric cannot mark has no key for it, so the harness leaves it out of that mean.

    Args:
        metrics: names or documented spellings.
        target: the document's field that holds the reference or references.
        options: of the metrics.

    Raises:
        UsageError: a metric whose number over all rows is not the mean of the rows' numbers, which is all the harness takes;
            from the function, a row without a reply.
    """
    metrics_made = make(expand(metrics), options)
    for name, metric in metrics_made.items():
        if metric.whole_batch or not metric.averages:
            raise UsageError(
                f"{name} is a number over all rows, and the harness means the rows' numbers", hint="Compute has it"
            )

    def mark(doc: Mapping[str, object], results: Sequence[object]) -> dict[str, float]:
        if not results:
            raise UsageError("the harness gave no reply to mark")
        measured = measure_rows(metrics_made, [results[0]], [doc.get(target)], options)
        return {name: measurement.value for name, (measurement,) in measured.items() if measurement.value is not None}

    return mark


def aggregate(values: Sequence[float]) -> float:
    """Return the mean, for `aggregation: !function`.

    Raises:
        UsageError: nothing is given.
    """
    if not values:
        raise UsageError("no value to aggregate")
    return sum(values) / len(values)
