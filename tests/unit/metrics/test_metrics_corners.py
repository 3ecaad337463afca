"""Corners of metrics: columns of any kind, batches, budgets, references that are empty, and what stands around a call."""

from __future__ import annotations

import json
import sys

import pytest

from markbook import measure
from markbook.errors import UsageError
from markbook.metrics.adapters import Accumulator, Compute, process_results
from markbook.metrics.code import codebleu
from markbook.metrics.graph import trace_metrics
from markbook.testcode import programs
from markbook.testcode.programs import Suites
from markbook.text import redact
from markbook.trace import ExpectedCall, Reference, Step, StepKind, Trace

ADHERE = ["def f(x):\n    return x\n"] * 2
RULES = ["Use type hints for all functions.", "Use type hints for all functions."]


@pytest.mark.parametrize("what", ["questions", "contexts"])
@pytest.mark.parametrize("rows", ["ab", {"a": "x", "b": "y"}, {"x", "y"}])
def test_questions_and_contexts_are_columns_too(what, rows):
    with pytest.raises(UsageError, match=what):
        measure("context_adherence", ADHERE, context="stated", **{what: rows})


def test_contexts_are_taken_by_position():
    pandas = pytest.importorskip("pandas")
    marked = measure("context_adherence", ADHERE, context="stated", contexts=RULES)
    assert [one.value for one in marked] == [0.0, 0.0]

    for rows in (iter(RULES), pandas.Series(RULES, index=[7, 3])):
        found = measure("context_adherence", ADHERE, context="stated", contexts=rows)
        assert [one.value for one in found] == [0.0, 0.0]


def trace_of(*calls):
    return Trace(steps=tuple(Step(StepKind.TOOL, "a", name, ok=True, arguments=given) for name, given in calls))


def graph(name, trace, reference=None):
    return trace_metrics(trace, reference)[name]


def test_the_order_of_an_objects_keys_makes_no_other_call():
    assert graph("wasted_steps", trace_of(("f", {"x": 1, "y": 2}), ("f", {"y": 2, "x": 1}))).value == 0.5
    assert graph("wasted_steps", trace_of(("f", {"x": 1}), ("f", {"x": True}))).value == 0.0


def test_true_is_not_the_number_one():
    expected = Reference((ExpectedCall(("f",), {"flag": 1, "n": 1}),))
    assert graph("tool_argument_f1", trace_of(("f", {"flag": True, "n": 1.0})), expected).value == 0.5


def test_selection_has_the_budget_of_the_others():
    expected = Reference(tuple(ExpectedCall(("f", "g")) for _ in range(2_000)))
    found = graph("tool_selection_accuracy", trace_of(*[("f", {})] * 600), expected)
    assert (found.value, found.missing.kind.value) == (None, "budget")


def one(metric, answer, references=None, **options):
    (found,) = measure(metric, [answer], None if references is None else [references], **options)
    return found


def test_of_several_checks_one_that_needs_no_reference_may_hold():
    checks = [{"name": "regex", "options": {"pattern": "a"}}, "contains"]
    assert one("one_of", "a", checks=checks).value == 1.0
    assert one("one_of", "b", checks=checks).missing.detail == "no reference"
    assert one("one_of", "b", ["b"], checks=checks).value == 1.0
    assert one("all_of", "b", checks=checks).value == 0.0
    assert one("all_of", "a", checks=checks).missing.detail == "no reference"


def test_a_fence_within_the_value_is_no_end_of_the_block():
    assert one("json_schema", '```json\n{"code": "```py\\nx\\n```"}\n```').value == 1.0


@pytest.mark.parametrize("answer", ["[" * 3_000 + "]" * 3_000, "1" * 5_000])
def test_json_beyond_our_limits_is_missing_and_not_wrong(answer):
    assert one("json_schema", answer).missing.kind.value == "budget"


def test_a_number_beyond_all_is_no_json():
    assert one("json_schema", "1e400").value == 0.0
    assert one("json_schema", "[1e30]").value == 1.0


def test_an_empty_reference_stands_in_no_answer():
    assert one("contains", "anything", [""]).missing.kind.value == "undefined"
    assert one("contains", "anything", ["", "xyz"]).value == 0.0
    assert one("not_contains", "anything", ["", "xyz"]).value == 1.0


def test_chrf_has_a_budget():
    found = one("chrf", "a" * 1_000_001, ["a"])
    assert (found.value, found.missing.kind.value) == (None, "budget")


TEXTS = [["the cat sat", "a dog ran far", "the end"], ["the cat sat down", "a dog ran", "an end it is"]]


@pytest.mark.parametrize("metric", ["tfidf_cosine_corpus", "corpus_bleu"])
def test_batches_change_no_number(metric):
    whole, parts = Accumulator(metric), Accumulator(metric)
    whole.update(*TEXTS)
    for row in zip(*TEXTS, strict=True):
        parts.update(*([text] for text in row))

    assert parts.compute() == pytest.approx(whole.compute(), abs=1e-15)
    assert (parts.n, len(parts.measurements)) == (3, 3)


@pytest.mark.parametrize("metric", ["tfidf_cosine_corpus", "corpus_bleu"])
def test_a_metric_of_the_whole_batch_is_no_harness_row(metric):
    with pytest.raises(UsageError, match="over all rows"):
        process_results(metric)


def test_absent_references_are_missing_and_no_traceback():
    compute = Compute("exact_match")
    compute.add_batch(predictions=["a"], references=None)
    assert compute.compute() == {"exact_match": None, "exact_match_missing": 1}
    metric = Accumulator("exact_match")
    metric.update(["a"], None)
    assert metric.n_missing == {"undefined": 1}
    with pytest.raises(UsageError, match="no reply"):
        process_results("exact_match")({"target": "a"}, [])


def deep(frames, call):
    return call() if frames == 0 else deep(frames - 1, call)


def test_codebleu_does_not_depend_on_how_deep_its_caller_is():
    pytest.importorskip("tree_sitter_python")
    code = "y = f(" + "[ " * 300 + "1" + " ]" * 300 + ")\nz = y\n"
    other = code.replace("1", "2")

    def marked():
        codebleu._READERS.clear()
        (found,) = measure("codebleu", [code], [other])
        return found.value

    limit = sys.getrecursionlimit()
    top = marked()
    assert deep(500, marked) == top
    assert sys.getrecursionlimit() == limit


def test_classes_of_classes_are_looked_at_once():
    lines = ["class T0: pass"] + [
        f"class T{at}(T{at - 1}, T{at - 1}):\n    def test_{at}(self): pass" for at in range(1, 60)
    ]
    suites = Suites(programs.parse_python("\n".join(lines)))

    assert len(suites.methods(suites.classes["T59"])) == 59  # 2 ** 59 visits where nothing is remembered
    assert not suites.is_case(suites.classes["T59"])


def test_classes_that_are_made_of_one_another_end():
    suites = Suites(programs.parse_python("class A(B): pass\nclass B(A):\n    def test(self): pass"))
    assert list(suites.methods(suites.classes["A"])) == ["test"]
    assert not suites.is_case(suites.classes["A"])


def test_an_addresss_password_is_redacted_still():
    assert redact("at //user:pass:word@host/") == "at //[redacted]@host/"
    assert json.dumps(redact("//" + ":" * 50)) == json.dumps("//" + ":" * 50)
