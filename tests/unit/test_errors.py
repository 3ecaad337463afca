"""Each error says what, where and what to do, and carries the documented exit code."""

import pytest

from markbook import errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError, 2),
        (errors.ConfigError, 2),
        (errors.DataError, 2),
        (errors.DamagedError, 2),
        (errors.StrictDataError, 65),
        (errors.GateFailed, 1),
        (errors.IncompleteError, 3),
        (errors.ExtraMissingError, 3),
        (errors.EnvironmentUnfitError, 4),
        (errors.OutputError, 73),
        (errors.StorageError, 74),
        (errors.RunInUseError, 75),
    ],
)
def test_exit_codes_are_the_documented_ones(error, code):
    assert error("x").exit_code == code
    assert issubclass(error, errors.MarkbookError)


def test_message_names_place_and_remedy():
    error = errors.ConfigError("unknown metric 'blue'", at="task.yaml:4:5", hint="did you mean 'bleu'?")

    assert str(error) == "task.yaml:4:5: unknown metric 'blue' (did you mean 'bleu'?)"
