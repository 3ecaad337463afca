"""`markbook.documented`: thin over the real metrics, in the shapes that the documents give."""

import inspect
import json

import pytest

import markbook
from markbook import documented
from markbook.errors import UsageError

CODE = "def add(first: int, second: int) -> int:\n    return first + second\n"


def test_every_name_is_there_and_says_what_it_returns():
    for name in documented.__all__:
        assert inspect.getdoc(getattr(documented, name)), name
    assert documented.__all__ == sorted(documented.__all__)


def test_a_text_and_a_list_of_one_are_the_same():
    for name in ("bleu_score", "rouge_score", "meteor_score", "code_bleu", "edit_distance", "style_compliance_score"):
        call = getattr(documented, name)
        assert call(["a right answer here", "a wrong answer here"]) == call(
            [["a right answer here"], ["a wrong answer here"]]
        )


def test_bleu_is_that_of_the_corpus_by_hugging_faces_convention(shared_data):
    file = shared_data / "metric-fixtures" / "code.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    compared = 0
    for row in rows:
        expected = row["expected"].get("hf_evaluate_bleu", {}).get("nosmooth")
        if expected is None:
            continue
        value = documented.bleu_score([[row["references"]], [row["candidate"]]])["bleu"]
        assert value == pytest.approx(expected.get("bleu", 0.0), abs=1e-9), row["id"]
        assert documented.code_bleu([[row["references"]], [row["candidate"]]]) == {"code_bleu": value}
        compared += 1
    assert compared > 50


def test_several_texts_are_one_corpus_for_bleu_and_a_mean_for_the_others():
    references = ["the cat sat on the mat today", "a dog ran over the green hill"]
    predictions = ["the cat sat on the mat today", "a dog walked over the green hill"]

    corpus = markbook.measure("corpus_bleu", predictions, references, convention="hf")
    assert documented.bleu_score([references, predictions])["bleu"] == pytest.approx(
        markbook.summarise("corpus_bleu", corpus, convention="hf").value
    )
    each = [documented.meteor_score([r, p])["meteor"] for r, p in zip(references, predictions, strict=True)]
    assert documented.meteor_score([references, predictions])["meteor"] == pytest.approx(sum(each) / 2)


def test_what_has_no_value_is_what_the_document_returns_on_failure():
    assert documented.bleu_score(["words", ""]) == {"bleu": 0.0}
    assert documented.bleu_score([[], []]) == {"bleu": 0.0}
    assert documented.rouge_score([[], []]) == {"rouge1": 0.0, "rouge2": 0.0, "rougeL": 0.0}
    assert documented.edit_distance([[], []]) == {"edit_distance": 1.0}
    assert documented.pass_at_k([], [], [1, 2]) == {"pass@1": 0.0, "pass@2": 0.0}
    assert documented.security_compliance_score([[], []]) == {"security_compliance_score": 0.0}


def test_unequal_lengths_are_refused_where_the_document_cuts_them_silently():
    for call in (documented.bleu_score, documented.edit_distance):
        with pytest.raises(UsageError, match="2 references and 1 predictions"):
            call([["a", "b"], ["a"]])
    with pytest.raises(UsageError, match="1 references and 0 predictions"):
        documented.pass_at_k(["assert True"], [])


@pytest.mark.parametrize("wrong", ["ab", ["a"], ["a", "b", "c"]])
def test_the_argument_is_references_and_predictions(wrong):
    with pytest.raises(UsageError, match=r"\[references, predictions\]"):
        documented.bleu_score(wrong)


def test_quality_scores_are_the_textual_checks_and_filters_may_nest_them():
    for name in ("context_adherence", "style_compliance", "security_compliance", "performance_awareness"):
        call = getattr(documented, f"{name}_score")
        expected = markbook.measure(name, [CODE], profile="documented")[0].value
        assert call(["", CODE]) == call([[""], [[CODE]]]) == {f"{name}_score": expected}


def test_empty_predictions_count_in_three_of_the_means():
    style = documented.style_compliance_score(["", CODE])["style_compliance_score"]
    context = documented.context_adherence_score(["", CODE])["context_adherence_score"]

    assert documented.style_compliance_score(["", [CODE, ""]])["style_compliance_score"] == style / 2
    assert documented.context_adherence_score(["", [CODE, ""]])["context_adherence_score"] == context


def test_pass_at_k_runs_programs_and_takes_one_k_or_several():
    programs = [["def add(a, b): return a + b", "def add(a, b): return a - b"]]
    tests = ["assert add(2, 3) == 5"]

    assert documented.pass_at_k(tests, programs, isolation="weak") == {"pass@1": 0.5}
    assert documented.pass_at_k(tests, programs, [1, 2], isolation="weak") == {"pass@1": 0.5, "pass@2": 1.0}
    assert documented.pass_at_k(tests, programs, k=2, isolation="weak") == {"pass@2": 1.0}
    with pytest.raises(UsageError, match="pass@3 needs 3 attempts, and problem 0 has 2"):
        documented.pass_at_k(tests, programs, 3, isolation="weak")


def test_a_problem_that_nobody_attempted_is_not_solved():
    found = documented.pass_at_k(["assert x == 1", "assert x == 1"], [["x = 1"], []], isolation="weak")

    assert found == {"pass@1": 0.5}
