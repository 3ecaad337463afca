"""The models of what a caller sends are the one declaration of its fields: what is checked, and what `/openapi.json` says."""

import ast
from pathlib import Path

import pytest

pytest.importorskip("starlette")

import markbook.serve
from markbook.errors import UsageError
from markbook.serve import requests
from markbook.serve.serve import document

FOLDER = Path(markbook.serve.__file__).parent


@pytest.mark.parametrize(
    "model",
    [requests.MarkRequest, requests.MarkItem, requests.ScoreRequest, requests.RewardRequest, requests.RunCodeRequest],
)
def test_openapi_has_the_fields_that_are_checked(model):
    schema = document("1")["components"]["schemas"][model.__name__]

    assert list(schema["properties"]) == [field.alias or name for name, field in model.model_fields.items()]


def test_every_schema_that_openapi_names_is_there():
    described = document("1")
    names = {text.partition('"')[0] for text in repr(described).replace("'", '"').split("#/components/schemas/")[1:]}

    assert names <= described["components"]["schemas"].keys()
    assert {
        "MarkRequest",
        "MarkItem",
        "StreamTest",
        "Rewards",
        "Scores",
        "RunCodeRequest",
        "ProgramAnswer",
        "Refusal",
    } <= names


def test_openapi_says_which_fields_a_request_must_have():
    schemas = document("1")["components"]["schemas"]

    assert {
        name: schemas[name].get("required", [])
        for name in ("MarkRequest", "MarkItem", "ScoreRequest", "RunCodeRequest", "RewardRequest")
    } == {
        "MarkRequest": ["items"],
        "MarkItem": [],
        "ScoreRequest": ["metrics", "items"],
        "RunCodeRequest": ["code", "language"],
        "RewardRequest": ["query", "labels"],
    }


def test_a_bound_of_the_server_settings_is_named():
    with pytest.raises(UsageError, match=r"^at: 'timeout' is 9, and has to be a number above 0 and at most 8$"):
        requests.check(requests.MarkItem, {"timeout": 9}, "at", {"timeout": 8.0})


def test_half_a_character_is_named_with_its_place():
    for model, key in (
        (requests.MarkItem, "code"),
        (requests.PythonTest, "assertion"),
        (requests.StreamTest, "stdout"),
    ):
        with pytest.raises(UsageError, match=rf"'{key}' holds half a character, at 2 \(a lone surrogate\)"):
            requests.check(model, {key: "ab\ud800"})


def test_half_a_character_in_a_list_is_refused():
    with pytest.raises(UsageError, match="'inspection' holds half a character, at 0"):
        requests.check(requests.PythonTest, {"inspection": ["\ud800"]})


def test_an_unknown_field_is_named_before_a_wrong_one():
    with pytest.raises(UsageError, match=r"unknown field 'cod' \(did you mean 'code'"):
        requests.check(requests.MarkItem, {"timeout": "x", "cod": "1"})


def test_unknown_fields_are_refused_in_one_place():
    """No other module of the server says "unknown field", and none lists the fields of a request for itself."""
    texts = {
        path.name: [
            node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)
        ]
        for path in FOLDER.glob("*.py")
    }

    assert [name for name, values in texts.items() if any("unknown field" in str(value) for value in values)] == [
        "requests.py"
    ]
