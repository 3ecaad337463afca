"""A measurement has a value or a reason, never both, never neither."""

import copy
import math
import pickle
from types import MappingProxyType

import pytest

from markbook.types import Attempt, Item, Measurement, Missing, MissingKind, Sample


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
