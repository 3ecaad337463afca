"""The metrics in the shapes of other libraries."""

import pytest

from markbook.errors import UsageError
from markbook.metrics.adapters import Accumulator, Compute, aggregate, process_results
from markbook.metrics.measure import measure
from markbook.metrics.text.bleu import corpus_bleu


def test_compute_takes_predictions_and_references():
    found = Compute("rouge_score", "exact_match").compute(predictions=["a b", "c"], references=["a b", ["d", "e"]])

    assert found == {
        "rouge1": 0.5,
        "rouge1_missing": 0,
        "rouge2": 0.5,
        "rouge2_missing": 0,
        "rougeL": 0.5,
        "rougeL_missing": 0,
        "exact_match": 0.5,
        "exact_match_missing": 0,
    }


def test_compute_includes_what_was_added_and_then_forgets_it():
    metric = Compute("exact_match")
    metric.add(prediction="a", reference="a")
    metric.add_batch(predictions=["b"], references=["c"])

    assert metric.compute()["exact_match"] == 0.5
    assert metric.compute()["exact_match"] is None


def test_compute_tells_what_is_missing():
    found = Compute("bleu").compute(predictions=["a", None], references=["a", "b"])

    assert found == {"bleu": 1.0, "bleu_missing": 1}


def test_compute_refuses_unequal_lists():
    with pytest.raises(UsageError, match="2 predictions and 1 references"):
        Compute("bleu").compute(predictions=["a", "b"], references=["a"])


def test_the_accumulator_gives_the_corpus_score_of_all_batches():
    candidates = ["the cat sat on the mat", "a dog ran over the hill", "x y z"]
    references = ["the cat sat on a mat", "the dog ran over the hill", "x y z w"]
    metric = Accumulator("corpus_bleu")

    metric.update(candidates[:1], references[:1])
    metric.update(candidates[1:], references[1:])

    expected = corpus_bleu().summarise(measure("corpus_bleu", candidates, references))
    assert metric.compute() == expected
    assert len(metric.measurements) == 3


def test_the_accumulator_starts_anew_after_a_reset():
    metric = Accumulator("exact_match")
    metric.update(["a"], ["b"])

    metric.reset()

    assert metric.compute() is None


def test_an_accumulator_of_a_spelling_for_several_is_an_error():
    with pytest.raises(UsageError, match="stands for rouge1, rouge2, rougeL"):
        Accumulator("rouge_score")


def test_a_harness_task_gets_a_number_for_each_metric():
    mark = process_results("rougeL", "exact_match", target="answer")

    assert mark({"answer": ["a b", "c"]}, ["c"]) == {"rougeL": 1.0, "exact_match": 1.0}
    assert mark({"answer": None}, ["c"]) == {}
    assert aggregate([1.0, 0.0]) == 0.5


def test_nothing_to_aggregate_is_an_error():
    with pytest.raises(UsageError):
        aggregate([])
