"""Checks: what holds, what does not, what cannot be said, and what would run away."""

import json
import re
import time

import pytest
from support.review_kit import markbook

from markbook import measure, plugins
from markbook.errors import ConfigError
from markbook.metrics.checks import numbers_in
from markbook.text import child as bounded

DEEP = {"name": "length", "options": {"at_most": 1}}
for _ in range(5):
    DEEP = {"name": "all_of", "options": {"checks": [DEEP]}}


def said(name, answer, *references, **options):
    """Return the value of one answer, or the kind of reason."""
    (one,) = measure(name, [answer], [list(references)] if references else None, **options)
    return one.missing.kind.value if one.missing else one.value


def test_the_limit_of_a_question_is_over_with_its_answer():
    with bounded.Helper() as helper:
        for pause in (1.2, 0):  # longer than a second, which is the limit
            assert helper.ask("regex", pattern="b+", flags=0, whole=False, text="abc") == {"holds": True}
            time.sleep(pause)


@pytest.mark.parametrize(
    ("name", "answer", "options", "value"),
    [
        ("contains", "a refund is due", {"text": "refund"}, 1),
        ("contains", "a Refund is due", {"text": "refund"}, 0),
        ("contains", "a Refund is due", {"text": "rEfund", "lowercase": True}, 1),
        ("contains", "STRASSE", {"text": "straße", "lowercase": True}, 1),
        ("contains", "a voucher", {"text": ["refund", "voucher"]}, 1),
        ("contains", "a voucher", {"text": ["refund", "voucher"], "every": True}, 0),
        ("contains", "cats and scat", {"text": "cat", "words": True}, 0),
        ("contains", "cats and cat.", {"text": "cat", "words": True}, 1),
        ("not_contains", "a voucher", {"text": ["refund", "voucher"]}, 0),
        ("not_contains", "a voucher", {"text": ["refund", "voucher"], "every": True}, 1),
        ("not_contains", "", {"text": "x"}, 1),
        ("regex", "Order 17 shipped", {"pattern": r"\d+"}, 1),
        ("regex", "Order 17 shipped", {"pattern": r"\d+", "whole": True}, 0),
        ("regex", "Order 17 shipped", {"pattern": r"\d+", "absent": True}, 0),
        ("regex", "a\nB", {"pattern": "^b$", "ignore_case": True, "multiline": True}, 1),
        ("regex", "a\nb", {"pattern": "a.b", "dot_all": True}, 1),
        ("regex", "a\nb", {"pattern": "a.b"}, 0),
        ("length", "one two  three", {"at_most": 3, "unit": "words"}, 1),
        ("length", "one two  three", {"at_least": 4, "unit": "words"}, 0),
        ("length", "añb", {"at_least": 3, "at_most": 3}, 1),
        ("length", "a\nb", {"at_most": 1, "unit": "lines"}, 0),
        ("length", "", {"at_most": 0}, 1),
        ("one_of", " Yes ", {"values": ["yes", "no"], "lowercase": True}, 1),
        ("one_of", " yes ", {"values": ["yes"], "strip": False}, 0),
        ("one_of", "yes and no", {"values": ["yes", "no"]}, 0),
        ("numeric", "It is 1.1.", {"value": 1, "absolute": 0.1}, 1),
        ("numeric", "It is 1.11", {"value": 1, "absolute": 0.1}, 0),
        ("numeric", "1,200.5 EUR", {"value": 1200.5}, 1),
        ("numeric", "99", {"value": 100, "relative": 0.01}, 1),
        ("numeric", "98.9", {"value": 100, "relative": 0.01}, 0),
        ("numeric", "2 + 2 = 4", {"value": 4}, 0),
        ("numeric", "2 + 2 = 4", {"value": 4, "pick": "last"}, 1),
        ("numeric", "2 + 2 = 4", {"value": 2, "pick": "first"}, 1),
        ("numeric", "4, yes, 4", {"value": 4}, 1),
        ("numeric", "none", {"value": 4}, 0),
        ("numeric", "\u22125", {"value": -5}, 1),
        ("numeric", "1e999999999", {"value": 5, "relative": 1}, 0),
        ("json_schema", '{"a": 1}', {}, 1),
        ("json_schema", '```json\n{"a": 1}\n```', {}, 1),
        ("json_schema", 'Here: {"a": 1}', {}, 0),
        ("json_schema", '{"a": NaN}', {}, 0),
        ("json_schema", '{"a": 1, "a": 2}', {}, 0),
        ("json_schema", '{"a": 1}', {"schema": {"required": ["b"]}}, 0),
        ("json_schema", '{"a": 1}', {"schema": {"properties": {"a": {"type": "integer"}}}}, 1),
        ("json_schema", "[" * 100_000, {}, 0),
        ("all_of", "a refund of 5", {"checks": [{"name": "contains", "options": {"text": "refund"}},
                                               {"name": "numeric", "options": {"value": 5}}]}, 1),
        ("all_of", "a refund of 6", {"checks": [{"name": "contains", "options": {"text": "refund"}},
                                               {"name": "numeric", "options": {"value": 5}}]}, 0),
        ("one_of", "a refund of 6", {"checks": [{"name": "contains", "options": {"text": "refund"}},
                                               {"name": "numeric", "options": {"value": 5}}]}, 1),
    ],
)  # fmt: skip
def test_a_check_by_hand(name, answer, options, value):
    assert said(name, answer, **options) == value


@pytest.mark.parametrize(
    ("name", "answer", "references", "value"),
    [
        ("contains", "the Eiffel Tower", ["Louvre", "Eiffel Tower"], 1),
        ("not_contains", "the Eiffel Tower", ["Eiffel Tower"], 0),
        ("numeric", "42", ["about 42 of them"], 1),
        ("numeric", "42", ["forty-two"], "undefined"),
        ("numeric", "42", ["1 or 2"], "undefined"),
        ("numeric", "5", ["1e99999999"], 0),
        ("numeric", "1e99999999", ["1e99999999"], 1),
    ],
)
def test_without_options_the_references_are_meant(name, answer, references, value):
    assert said(name, answer, *references) == value


SLOW = {"pattern": "(a+)+$"}


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(bounded, "SECONDS", 0.1)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 40 + "!"),
        ("(a|a)*$", "a" * 40 + "!"),
        ("(.*)*x", "y" * 40),
        (r"(\w+\s?)+$", "word " * 12 + "!"),
        ("(?:a?){28}a{28}", "a" * 28),
    ],
)
def test_a_hostile_pattern_costs_its_own_row_only(short, pattern, text):
    start = time.process_time()

    rows = measure("regex", ["aa", text, "aa"], pattern=pattern)

    assert [one.missing.kind.value if one.missing else "value" for one in rows] == ["value", "timeout", "value"]
    assert time.process_time() - start < 5


def test_a_hostile_pattern_in_a_schema_is_given_up_too(short):
    rows = measure("json_schema", [json.dumps("a" * 40 + "!"), '"a"'], schema=SLOW)

    assert [one.missing.kind.value if one.missing else one.value for one in rows] == ["timeout", 1.0]


def test_a_schema_fetches_nothing():
    (one,) = measure("json_schema", ["{}"], schema={"$ref": "http://127.0.0.1:9/schema.json"})

    assert one.missing.kind.value == "failed"
    assert "not in it" in one.missing.detail


def test_a_schema_says_what_did_not_fit_and_where():
    (one,) = measure(
        "json_schema", ['{"a": {"b": "x"}}'], schema={"properties": {"a": {"properties": {"b": {"type": "integer"}}}}}
    )

    assert dict(one.stats) == {"why": "'x' is not of type 'integer'", "where": "$.a.b"}


@pytest.mark.parametrize(
    ("name", "checks", "value"),
    [
        # The reference is not a number: `numeric` cannot say. What settles it all the same, settles it.
        ("all_of", ["numeric", {"name": "length", "options": {"at_most": 1}}], 0),
        ("all_of", ["numeric", {"name": "length", "options": {"at_most": 9}}], "undefined"),
        ("one_of", ["numeric", {"name": "length", "options": {"at_most": 9}}], 1),
        ("one_of", ["numeric", {"name": "length", "options": {"at_most": 1}}], "undefined"),
    ],
)
def test_what_cannot_be_said_is_neither_yes_nor_no(name, checks, value):
    assert said(name, "42 x", "not a number", checks=checks) == value


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("contains", {"text": 42}, "must stand in quotes"),
        ("contains", {"text": ""}, "empty string"),
        ("contains", {"text": []}, "a text or a list"),
        ("contains", {"text": "a", "words": "yes"}, "words must be true or false"),
        ("regex", {"pattern": "("}, "cannot be used"),
        ("regex", {"pattern": "(" * 5000 + ")" * 5000}, "cannot be used"),
        ("regex", {"pattern": "a" * 20_000}, "longer than"),
        ("length", {}, "needs at_least or at_most"),
        ("length", {"at_least": 5, "at_most": 4}, "above"),
        ("length", {"at_most": 1.5}, "whole number"),
        ("length", {"at_most": 1, "unit": "tokens"}, "unit must be"),
        ("numeric", {"absolute": -1}, "of at least 0"),
        ("numeric", {"value": "x"}, "must be a number"),
        ("numeric", {"value": float("nan")}, "must be a number"),
        ("numeric", {"pick": "best"}, "pick must be"),
        ("json_schema", {"schema": {"type": "wrong"}}, "not a schema"),
        ("json_schema", {"schema": {"const": float("nan")}}, "not JSON"),
        ("one_of", {}, "exactly one"),
        ("one_of", {"values": ["a"], "checks": ["length"]}, "exactly one"),
        ("all_of", {"checks": []}, "list of checks"),
        ("all_of", {"checks": ["rouge1"]}, "is not a check"),
        ("all_of", {"checks": [{"name": "contains", "options": {"txt": "a"}}]}, "did you mean 'text'"),
        ("all_of", {"checks": ["contains"] * 51}, "more than 50"),
        ("all_of", {"checks": [DEEP]}, "deeper than 5"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_before_any_row(name, options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        plugins.make("metrics", name, options)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("-3, +4 and .5", ["-3", "4", "0.5"]),
        ("v1.2.3 on the 2nd of 1.2.2024", []),
        ("5-3", ["5", "3"]),
        ("1,200 or 1,20", ["1200"]),
        ("12,345,678.9e-1", ["1234567.89"]),
        ("x2 y_3 4z", []),
        ("9" * 500, []),
    ],
)
def test_the_numbers_of_a_text(text, numbers):
    assert [format(number.normalize(), "f") for number in numbers_in(text)] == numbers


def test_a_signature_tells_every_option():
    one, other = (plugins.create("metrics", "contains", text="x" * 200 + end).signature for end in "ab")

    assert (
        plugins.create("metrics", "contains", text="a", lowercase=True).signature
        == 'contains|text:["a"]|lowercase:true|v1'
    )
    assert one != other
    assert len(one) < 60


TASK = """
name: t
data: {path: rows.jsonl}
prompt: "{{ q }}"
reference: "{{ a }}"
metrics:
  - {name: contains, options: {text: refund}}
  - {name: regex, options: {pattern: "(a+)+$"}}
  - {name: all_of, key: both, options: {checks: [numeric, {name: length, options: {at_most: 20}}]}}
"""


def test_checks_in_a_task_file(tmp_path, short):
    (tmp_path / "t.yaml").write_text(TASK)
    (tmp_path / "rows.jsonl").write_text('{"q": "x", "a": "5"}\n{"q": "y", "a": "6"}\n')
    answers = [{"id": "0", "prediction": "refund 5"}, {"id": "1", "prediction": "a" * 40 + "!"}]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))

    code, _, _ = markbook(
        "run",
        tmp_path / "t.yaml",
        "--predictions",
        tmp_path / "answers.jsonl",
        "--output",
        tmp_path / "out",
        "--workers",
        "1",
    )

    (folder,) = (tmp_path / "out").glob("evaluation_*")
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert code == 3  # a value is missing because a pattern ran away: the run says so
    assert [row["metrics"] for row in rows] == [
        {"contains": 1.0, "regex": 0.0, "both": 1.0},
        {"contains": 0.0, "regex": None, "both": 0.0},
    ]
    assert rows[1]["missing"]["regex"]["kind"] == "timeout"


def test_checks_on_the_command_line(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"candidate": "a refund of 5 EUR"}\n{"candidate": "no"}\n')

    code, out, _ = markbook(
        "score",
        "contains,regex",
        tmp_path / "rows.jsonl",
        "--option",
        "text=refund",
        "--option",
        "pattern=[0-9]+ EUR",
        "--rows",
    )

    assert code == 0
    assert [(row["contains"], row["regex"]) for row in map(json.loads, out.splitlines())] == [(1.0, 1.0), (0.0, 0.0)]
