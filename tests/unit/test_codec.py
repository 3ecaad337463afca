"""The JSON form of records: what is written can be read, in the keys that the record's shape names, and in one place only."""

from __future__ import annotations

import ast
import importlib
import json
import math
import pkgutil
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import markbook
from markbook.codec import JsonRecord
from markbook.judge.labels import Label
from markbook.runs.tasks import grading
from markbook.types import (
    ErrorKind,
    Interval,
    Isolation,
    Measurement,
    Missing,
    MissingKind,
    Outcome,
    Summary,
    TestResult,
    Verdict,
)
from markbook.why import Evidence, Failure, Finding, TracebackLine, Why

SOURCE = Path(markbook.__file__).parent
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.integers(0, 1 << 30)
NAMES = st.tuples(WORDS, WORDS).map(tuple)

MISSING = st.builds(Missing, st.sampled_from(MissingKind), WORDS)
INTERVALS = st.builds(Interval, NUMBERS, NUMBERS, WORDS, NUMBERS)
TESTS = st.recursive(
    st.builds(TestResult, st.booleans(), st.sampled_from(Verdict), WORDS, WORDS, st.booleans()),
    lambda parts: st.builds(
        TestResult, st.booleans(), parts=st.tuples(parts), result=st.sampled_from(["AC", "WA"]), rule=WORDS
    ),
    max_leaves=4,
)
LINES = st.lists(st.builds(TracebackLine, COUNTS, WORDS, WORDS), max_size=3).map(tuple)
FAILURES = st.builds(Failure, COUNTS, st.integers(-1, 3), source=WORDS, got=WORDS, error=WORDS, lines=LINES)
WHYS = st.builds(
    Why, st.lists(FAILURES, max_size=3).map(tuple), COUNTS, WORDS, lines=LINES, limit=WORDS, is_again=st.booleans()
)
FINDINGS = st.builds(Finding, WORDS, WORDS, st.none() | COUNTS, WORDS, NAMES)
RECORDS = {
    Missing: MISSING,
    Interval: INTERVALS,
    Measurement: st.builds(Measurement, WORDS, NUMBERS, stats=st.dictionaries(WORDS, NUMBERS), index=COUNTS)
    | st.builds(Measurement, WORDS, missing=MISSING, signature=WORDS),
    Summary: st.builds(
        Summary, WORDS, WORDS, st.none() | NUMBERS, COUNTS, st.dictionaries(WORDS, COUNTS), st.none() | INTERVALS,
        st.none() | st.tuples(NUMBERS, NUMBERS), WORDS,
        range=st.sampled_from([(0.0, 1.0), (-math.inf, 3.0), (0.0, math.inf)]),
        direction=st.sampled_from(["higher", "lower"]), n_items=COUNTS,
    ),
    Outcome: st.builds(
        Outcome, st.lists(TESTS, max_size=3).map(tuple), st.none() | st.sampled_from(ErrorKind), WORDS, WORDS, WORDS,
        isolation=st.sampled_from(Isolation), flags=NAMES, seconds=st.none() | NUMBERS, score=st.none() | NUMBERS,
        why=st.none() | WHYS,
    ),
    Failure: FAILURES,
    Why: WHYS,
    Finding: FINDINGS,
    Evidence: st.builds(
        Evidence, WORDS, WORDS, st.lists(FINDINGS, max_size=2).map(tuple),
        st.dictionaries(WORDS, NAMES).map(lambda lists: tuple(lists.items())),
        st.lists(st.tuples(st.sampled_from(["same", "lost"]), WORDS), max_size=2).map(tuple), WORDS,
    ),
    grading.Tested: st.builds(grading.Tested, st.booleans(), WORDS, WORDS, WORDS, WORDS, st.none() | WHYS),
    Label: st.builds(
        Label, WORDS, st.none() | NUMBERS, WORDS, WORDS, WORDS, st.none() | NUMBERS, st.dictionaries(WORDS, COUNTS),
        WORDS, WORDS, WORDS,
    ),
}  # fmt: skip


def test_every_record_with_a_json_form_is_held_to_the_round_trip():
    for module in pkgutil.walk_packages(markbook.__path__, "markbook."):
        if "JsonRecord" in Path(module.module_finder.find_spec(module.name).origin).read_text(encoding="utf-8"):
            importlib.import_module(module.name)

    # A slotted dataclass is made twice; the class that its module holds is the one that counts.
    named = {
        record
        for record in JsonRecord.__subclasses__()
        if getattr(importlib.import_module(record.__module__), record.__name__) is record
    }

    assert named - set(RECORDS) == set()


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_record_is_read_back_from_its_json_as_it_was(record, data):
    value = data.draw(RECORDS[record])

    written = json.dumps(value.to_record(), allow_nan=False)

    assert record.from_record(json.loads(written)) == value


def test_the_keys_are_written_in_the_order_of_the_shape_and_an_optional_one_only_if_it_says_something():
    outcome = Outcome((TestResult(passed=True, verdict=Verdict.SEPARATED),), isolation=Isolation.A, slowest=1.0)

    assert outcome.to_record() == {
        "tests": [[1, "separated", "", "", 0, []]], "error": None, "error_type": "", "error_message": "", "limit": "",
        "benchmark_fault": "", "isolation": "A", "flags": [], "seconds": None, "wall_seconds": None,
    }  # fmt: skip
    assert list(outcome.to_record())[:3] == ["tests", "error", "error_type"]
    assert Outcome((), score=0.0, why=Why(stdout="x")).to_record()["why"] == {"stdout": "x"}
    assert Outcome((), score=0.0).to_record()["score"] == 0.0


def test_an_absent_key_has_the_default_and_an_unknown_key_is_ignored():
    assert Missing.from_record({"kind": "absent", "colour": "red"}) == Missing(MissingKind.ABSENT)
    with pytest.raises(KeyError, match="high"):
        Interval.from_record({"low": 0.0, "method": "t"})


def test_the_first_assertion_of_a_test_is_still_the_first_when_it_is_read_back():
    """0 is a place, not an absent value: it was left out, and the reason was then found at no assertion."""
    why = Why((Failure(0, 0, "assert f(1) == 2"),))

    assert Outcome.from_record(Outcome((), why=why).to_record()).why.of(0, 0).source == "assert f(1) == 2"


OTHER_FORMS = {
    "Call",
    "Comparison",
    "Estimate",
    "ModelNoise",
    "ModelReply",
    "Pair",
    "Paper",
    "Reward",
    "Row",
    "Tested",
    "TraceSum",
    "_Read",
}
"""What they write is a view, a reply or a request: it has other keys than the record has fields, or is nowhere read back."""


def test_no_record_beside_the_codec_lists_its_own_fields():
    """A dict of `"name": self.name` three times over is the codec, written again."""
    copies = []
    for path in SOURCE.rglob("*.py"):
        for record in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(record, ast.ClassDef) and record.name not in OTHER_FORMS:
                forms = (node for node in ast.walk(record) if isinstance(node, ast.Dict))
                copies += [f"{record.name}: {ast.unparse(form)}" for form in forms if _count_own(form) > 2]

    assert copies == []


def _count_own(form: ast.Dict) -> int:
    return sum(
        isinstance(key, ast.Constant) and ast.unparse(value) == f"self.{key.value}"
        for key, value in zip(form.keys, form.values, strict=True)
    )
