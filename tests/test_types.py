"""A measurement has a value or a reason, never both, never neither."""

import math

import pytest

from markbook.types import Measurement, Missing, MissingKind


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
