"""Rows as data frames, arrays and metric libraries hand them over: by position, never by label or letter."""

import math

import numpy as np
import pyarrow as pa
import pytest

import markbook
from markbook.errors import UsageError
from markbook.metrics.adapters import Accumulator, Compute, process_results

CANDIDATES = ["a b", "c d", "e f"]
REFERENCES = ["a b", "x", "e f"]
VALUES = [1.0, 0.0, 1.0]


class LabelledColumn:
    """A column as a filtered data frame gives it: an index of labels, which `column[i]` goes by."""

    def __init__(self, values, labels):
        self._values, self._labels = list(values), list(labels)

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(self._values)

    def __getitem__(self, label):
        return self._values[self._labels.index(label)] if label in self._labels else self._absent(label)

    def _absent(self, label):
        raise KeyError(label)

    def tolist(self):
        return list(self._values)


class Frame(dict):
    columns = ("candidate", "reference")


COLUMNS = {
    "reversed labels": lambda values: LabelledColumn(values, [2, 1, 0]),
    "filtered": lambda values: LabelledColumn(values, [5, 7, 9]),
    "numpy objects": lambda values: np.array(values, dtype=object),
    "numpy texts": np.array,
    "arrow": pa.array,
    "arrow in chunks": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "iterator": iter,
    "tuple": tuple,
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_are_taken_by_position(kind):
    make = COLUMNS[kind]
    found = markbook.measure("exact_match", make(CANDIDATES), make(REFERENCES))
    metric = Accumulator("exact_match")
    metric.update(make(CANDIDATES), make(REFERENCES))

    assert [one.value for one in found] == VALUES
    assert [one.value for one in metric.measurements] == VALUES
    assert Compute("exact_match").compute(predictions=make(CANDIDATES), references=make(REFERENCES)) == {
        "exact_match": pytest.approx(2 / 3),
        "exact_match_missing": 0,
    }


@pytest.mark.parametrize("nest", [np.array, tuple, pa.array, lambda values: LabelledColumn(values, [3, 9])])
def test_a_cell_may_be_a_column_of_references(nest):
    several = [nest(["x", "a b"]), nest(["y", "z"]), nest(["e f", "g"])]

    assert [one.value for one in markbook.measure("exact_match", CANDIDATES, several)] == VALUES


@pytest.mark.parametrize("nothing", [None, math.nan, np.float64("nan")])
def test_no_value_is_missing_and_not_a_text(nothing):
    found = markbook.measure("exact_match", ["a", nothing, "", "d"], ["a", "b", "c", nothing])

    assert [one.value for one in found] == [1.0, None, 0.0, None]
    assert [one.missing.kind for one in found if one.missing] == [
        "absent" if nothing is None else "undefined",
        "undefined",
    ]


WRONG = {
    "text": ("hello", "is one text"),
    "bytes": (b"hello", "is one text"),
    "mapping": ({"a": 1}, "is a dict"),
    "set": ({"a", "b"}, "is a set"),
    "data frame": (Frame(), "is a Frame"),
    "number": (7, "is of type int"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_column_is_refused_by_name_everywhere(wrong):
    value, words = WRONG[wrong]
    calls = {
        "candidates": lambda: markbook.measure("exact_match", value, ["a"] * 5),
        "references": lambda: markbook.measure("exact_match", ["a"] * 5, value),
        "preds": lambda: Accumulator("exact_match").update(value, ["a"] * 5),
        "target": lambda: Accumulator("exact_match").update(["a"] * 5, value),
        "predictions": lambda: Compute("exact_match").compute(predictions=value, references=["a"] * 5),
    }

    for what, call in calls.items():
        with pytest.raises(UsageError, match=f"{what} {words}"):
            call()
    with pytest.raises(UsageError, match=f"references {words}"):
        Compute("exact_match").add_batch(predictions=["a"] * 5, references=value)


def test_the_accumulator_counts_what_is_missing():
    metric = Accumulator("exact_match")
    metric.update(["a", None, ""], ["a", "b", "c"])
    metric.update(["d"], [None])

    assert (metric.compute(), metric.n, metric.n_missing) == (0.5, 2, {"absent": 1, "undefined": 1})
    metric.reset()
    assert (metric.n, metric.n_missing) == (0, {})


def test_references_alone_are_refused():
    with pytest.raises(UsageError, match="no predictions"):
        Compute("exact_match").compute(references=["a"])


def test_a_harness_answer_of_null_has_no_mark():
    assert process_results("exact_match")({"target": "a"}, [None]) == {}


@pytest.mark.parametrize(
    ("metric", "made", "asked"),
    [
        ("corpus_bleu", {"lowercase": True}, {}),
        ("corpus_bleu", {}, {"lowercase": True}),
        ("bleu", {"tokenize": "char"}, {}),
        ("rougeL", {"stemmer": False}, {"stemmer": True}),
        ("meteor", {"synonyms": False}, {}),
    ],
)
def test_a_summary_of_other_options_is_refused(metric, made, asked):
    found = markbook.measure(metric, ["The Cat sat here"], ["the cat sat there"], **made)

    with pytest.raises(UsageError, match="is asked for"):
        markbook.summarise(metric, found, **asked)
    assert markbook.summarise(metric, found, **made).signature == found[0].signature


def test_a_summary_of_mixed_options_is_refused():
    mixed = [
        *markbook.measure("bleu", ["A b c d"], ["a b c d"]),
        *markbook.measure("bleu", ["A b c d"], ["a b c d"], lowercase=True),
    ]

    for options in ({}, {"lowercase": True}):
        with pytest.raises(UsageError, match=r"different options.*case:lc.*and.*case:mixed"):
            markbook.summarise("bleu", mixed, **options)
