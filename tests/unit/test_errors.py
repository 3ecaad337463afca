"""Each error says what, where and what to do, and carries the documented exit code."""

import pytest
from support.paths import ROOT

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


def test_a_hint_names_what_is_spelled_alike_or_what_there_is():
    assert errors.suggest("rouge", ["rouge1", "rouge2", "bleu"]) == "did you mean 'rouge2' or 'rouge1'?"
    assert errors.suggest("x", ["bleu"], there_is="it has") == "it has bleu"
    assert errors.suggest("x", []) == "there is none"


def test_a_key_is_misspelt_only_where_it_can_be_nothing_else():
    assert errors.misspelt("check", ["checker", "points"]) == "checker"
    assert errors.misspelt("problem_id", ["problem"]) == ""
    assert errors.misspelt("callz", ["path_length", "calls"]) == "calls"
    assert errors.misspelt("tag", ["tap"]) == ""


def test_spellings_are_compared_in_one_place():
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "markbook").rglob("*.py")}

    assert {path.name for path, source in sources.items() if "get_close_matches" in source} == {"errors.py"}
    asking = {path.name for path, source in sources.items() if "did you mean " in source}
    assert asking == {"errors.py", "codeeval.py", "references.py"}  # those two ask about one key, by `misspelt`
