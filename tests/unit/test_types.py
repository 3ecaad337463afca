"""A measurement has a value or a reason, never both, never neither."""

import copy
import json
import math
import pickle
from types import MappingProxyType

import pytest

from markbook.types import Attempt, Interval, Item, Measurement, Missing, MissingKind, Sample, Summary


def test_measurement_needs_value_or_reason():
    with pytest.raises(ValueError, match="exactly one"):
        Measurement("bleu")


def test_measurement_refuses_value_beside_reason():
    with pytest.raises(ValueError, match="exactly one"):
        Measurement("bleu", 0.0, Missing(MissingKind.UNDEFINED, "empty reference"))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_measurement_refuses_what_is_no_number(value):
    with pytest.raises(ValueError, match="say why it is missing"):
        Measurement("bleu", value)


def test_missing_kind_compares_as_its_documented_word():
    assert Missing(MissingKind.NO_COMPLETION).kind == "no_completion"


@pytest.mark.parametrize(
    "record",
    [
        Item(Sample("s", references=("a",)), Attempt("s", "b")),
        Item(Sample("s", meta=MappingProxyType({"topic": "lists"})), Attempt("s", "b", meta={"step": 1})),
        Measurement("bleu", 0.5),
        Measurement("bleu", missing=Missing(MissingKind.UNDEFINED, "no reference"), stats=MappingProxyType({"n": 1})),
    ],
)
def test_a_record_can_be_copied_and_travel_to_another_process(record):
    travelled = pickle.loads(pickle.dumps(record))

    assert travelled == record
    assert copy.deepcopy(record) == record


def test_a_read_only_mapping_is_still_read_only_after_its_travel():
    travelled = pickle.loads(pickle.dumps(Measurement("bleu", 0.5)))

    with pytest.raises(TypeError):
        travelled.stats["n"] = 1


@pytest.mark.parametrize(
    "record",
    [
        Missing(MissingKind.TIMEOUT, "after 60 s"),
        Interval(0.25, 0.75, "wilson", 0.9),
        Measurement("bleu", 0.5, sample_id="s", index=2, model="m", stats={"n": 1}, signature="bleu|v1"),
        Measurement("bleu", missing=Missing(MissingKind.UNDEFINED, "no reference")),
        Summary(
            "distance", "total", 2.5, 3, {"absent": 1}, Interval(2.0, 3.0, "t"), (2.0, 3.5), "exclude",
            range=(0.0, math.inf), direction="lower", note="n", signature="s", n_items=4, n_partial=1,
        ),
        Summary("bleu", "total", None, 0, {}, None, None, "exclude"),
    ],
)  # fmt: skip
def test_a_record_is_read_back_from_its_json_as_it_was(record):
    text = json.dumps(record.to_record(), allow_nan=False)

    assert type(record).from_record(json.loads(text)) == record


def test_the_open_end_of_a_range_is_null_in_json():
    summary = Summary("distance", "total", 2.5, 3, {}, None, None, "exclude", range=(0.0, math.inf))

    assert summary.to_record()["range"] == [0.0, None]


def test_a_kind_of_reason_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="'lost' is not a valid MissingKind"):
        Missing.from_record({"kind": "lost"})


def test_reasons_that_lie_in_what_should_have_worked_are_ours():
    ours = {kind.value for kind in MissingKind if kind.is_ours}

    assert ours == {"unavailable", "failed", "timeout", "budget"}
