"""The metrics against stored values of the reference libraries, to 1e-9."""

import json

import pytest

from markbook.metrics.text.bleu import bleu, corpus_bleu
from markbook.metrics.text.edit_distance import jaccard
from markbook.metrics.text.meteor import meteor
from markbook.metrics.text.rouge import Rouge, rouge1, rouge2, rouge_l, rouge_lsum
from markbook.metrics.text.tfidf import tfidf_cosine
from markbook.types import Attempt, Item, Sample


def item(candidate, references):
    return Item(Sample("s", references=tuple(references)), Attempt("s", candidate))


@pytest.fixture(scope="module")
def rows(shared_data):
    folder = shared_data / "metric-fixtures"
    files = [folder / "text.jsonl", folder / "code.jsonl"]
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def having(rows, family):
    found = [row for row in rows if family in row["expected"]]
    assert len(found) > 100
    return found


def bleu_options(key):
    """Read `13a-exp-eff-lc` and the like."""
    tokenize, smooth, *flags = key.split("-")
    options = {"tokenize": tokenize, "effective_order": "eff" in flags, "lowercase": "lc" in flags}
    if smooth.startswith("floor"):
        return {**options, "smooth_method": "floor", "smooth_value": float(smooth[5:])}
    if smooth.startswith("addk"):
        return {**options, "smooth_method": "add-k", "smooth_value": float(smooth[4:])}
    return {**options, "smooth_method": smooth}


def test_bleu_equals_sacrebleus_values(rows):
    rows = having(rows, "sacrebleu_sentence")
    for key in sorted({key for row in rows for key in row["expected"]["sacrebleu_sentence"]}):
        some = [row for row in rows if key in row["expected"]["sacrebleu_sentence"]]
        measured = bleu(**bleu_options(key)).measure([item(row["candidate"], row["references"]) for row in some])
        for one, row in zip(measured, some, strict=True):
            expected = row["expected"]["sacrebleu_sentence"][key]
            assert one.value == pytest.approx(expected["score"] / 100, abs=1e-9), (key, row["id"])
            if "addk" not in key:  # sacrebleu's own counts have the added k in them
                assert one.stats["counts"] == expected["counts"]
                assert one.stats["totals"] == expected["totals"]


@pytest.mark.parametrize(("key", "options"), [("nosmooth", {}), ("smooth", {"smooth_method": "add-k"})])
def test_bleu_by_the_other_convention_equals_hugging_faces_values(rows, key, options):
    rows = having(rows, "hf_evaluate_bleu")

    measured = bleu(convention="hf", **options).measure([item(row["candidate"], row["references"]) for row in rows])

    for one, row in zip(measured, rows, strict=True):
        expected = row["expected"]["hf_evaluate_bleu"][key]
        if "error" in expected:
            assert one.missing.kind == "undefined"
        else:
            assert one.value == pytest.approx(expected["bleu"], abs=1e-9), row["id"]


def test_corpus_bleu_equals_the_values_of_both_conventions(rows, shared_data):
    by_id = {row["id"]: row for row in rows}
    for line in (shared_data / "metric-fixtures" / "corpus.jsonl").read_text("utf-8").splitlines():
        group = json.loads(line)
        n = group["num_references"]
        items = [item(by_id[i]["candidate"], by_id[i]["references"][:n]) for i in group["ids"]]
        wanted = [(bleu_options(key), value["score"] / 100) for key, value in group["sacrebleu_corpus"].items()]
        wanted += [({"convention": "hf"}, group["hf_evaluate_bleu"]["nosmooth"]["bleu"])]
        wanted += [({"convention": "hf", "smooth_method": "add-k"}, group["hf_evaluate_bleu"]["smooth"]["bleu"])]
        for options, expected in wanted:
            metric = corpus_bleu(**options)
            assert metric.summarise(metric.measure(items)) == pytest.approx(expected, abs=1e-9), (group, options)


@pytest.mark.parametrize(("family", "stemmer"), [("rouge_score_stem", True), ("rouge_score_nostem", False)])
def test_rouge_equals_rouge_scores_values(rows, family, stemmer):
    rows = having(rows, family)
    metrics = [make(stemmer=stemmer) for make in (rouge1, rouge2, rouge_l, rouge_lsum)]

    columns = Rouge.together(metrics, [item(row["candidate"], row["references"]) for row in rows])

    for metric, column in zip(metrics, columns, strict=True):
        for one, row in zip(column, rows, strict=True):
            expected = row["expected"][family][metric.name]
            assert one.value == pytest.approx(expected["fmeasure"], abs=1e-9), row["id"]
            assert one.stats["precision"] == pytest.approx(expected["precision"], abs=1e-9)
            assert one.stats["recall"] == pytest.approx(expected["recall"], abs=1e-9)


@pytest.mark.parametrize("tokenizer", ["treebank", "whitespace"])
@pytest.mark.parametrize("synonyms", [True, False])
def test_meteor_equals_nltks_values(rows, tokenizer, synonyms):
    key = f"{tokenizer}_{'wordnet30' if synonyms else 'nosyn'}"
    rows = [row for row in having(rows, "nltk_meteor") if key in row["expected"]["nltk_meteor"]]

    measured = meteor(tokenizer, synonyms=synonyms).measure([item(row["candidate"], row["references"]) for row in rows])

    for one, row in zip(measured, rows, strict=True):
        assert one.value == pytest.approx(row["expected"]["nltk_meteor"][key], abs=1e-9), row["id"]


def test_tfidf_and_jaccard_equal_the_documented_calls_values(rows):
    for row in having(rows, "sklearn_tfidf_pair"):
        jaccards = row["expected"].get("jaccard_lower_whitespace", [None] * len(row["references"]))
        for reference, cosine, index in zip(
            row["references"], row["expected"]["sklearn_tfidf_pair"], jaccards, strict=True
        ):
            (one,) = tfidf_cosine().measure([item(row["candidate"], [reference])])
            if isinstance(cosine, dict):  # scikit-learn raised: no term in either text
                assert one.stats["empty_vocabulary"]
                assert one.value == float(row["candidate"].lower().split() == reference.lower().split())
            else:
                assert one.value == pytest.approx(cosine, abs=1e-9), row["id"]
            if index is not None:
                (one,) = jaccard().measure([item(row["candidate"], [reference])])
                assert one.value == pytest.approx(index, abs=1e-9), row["id"]


def test_bleu_equals_sacrebleus_own_test_cases(shared_data):
    cases = json.loads((shared_data / "text-metrics" / "bleu_sacrebleu.json").read_text("utf-8"))
    for case in cases["corpus_bleu"]:
        metric = corpus_bleu(**case["kwargs"])
        references = zip(*case["refs"], strict=True)
        items = [item(text, several) for text, several in zip(case["hyp"], references, strict=True)]

        assert metric.summarise(metric.measure(items)) * 100 == pytest.approx(case["score"], abs=1e-5)


def test_bleu_equals_sacrebleus_raw_test_cases(shared_data):
    cases = json.loads((shared_data / "text-metrics" / "bleu_sacrebleu.json").read_text("utf-8"))
    raw = {"tokenize": "none", "smooth_method": "floor", "smooth_value": 0.01}
    wanted = [(raw, case) for case in cases["raw_corpus_bleu_smooth_floor_0.01"]]
    wanted += [({**raw, "effective_order": True}, case) for case in cases["effective_order"]]
    for options, case in wanted:
        # The case that states its counts was computed with the default floor of 0.1.
        metric = corpus_bleu(**options | ({"smooth_value": None} if "ngram_correct" in case else {}))
        references = zip(*case["refs"], strict=True)
        items = [item(text, several) for text, several in zip(case["hyp"], references, strict=True)]

        assert metric.summarise(metric.measure(items)) == pytest.approx(case["score"], abs=1e-9)


def test_rouge_equals_its_perl_original(shared_data):
    makers = {"rouge1": rouge1, "rouge2": rouge2, "rougeL": rouge_l, "rougeLsum": rouge_lsum}
    cases = json.loads((shared_data / "text-metrics" / "rouge_google.json").read_text("utf-8"))["cases"]
    cases = [case for case in cases if case["rouge_type"] in makers]
    assert len(cases) > 10
    for case in cases:
        metric = makers[case["rouge_type"]](stemmer=case["use_stemmer"])
        (one,) = metric.measure([item(case["prediction"], [case["target"]])])

        assert one.value == pytest.approx(case["fmeasure"], abs=1e-5)


def test_meteor_equals_nltks_doctests(shared_data):
    cases = json.loads((shared_data / "text-metrics" / "meteor_nltk.json").read_text("utf-8"))["cases"]
    for case in cases:
        (one,) = meteor("whitespace").measure([item(case["hypothesis"], case["references"])])

        assert one.value == pytest.approx(case["meteor"], abs=5e-5)


def test_bleu_equals_eighty_published_values(shared_data):
    rows = (shared_data / "text-metrics" / "tpc_ees_code_pairs.jsonl").read_text("utf-8").splitlines()
    pairs = [json.loads(row) for row in rows]
    metric = corpus_bleu()  # the publication took corpus BLEU of each single text
    key = next(key for key in pairs[0] if "sacre" in key.lower())

    for pair in pairs:
        value = metric.summarise(metric.measure([item(pair["prediction"], [pair["reference"]])]))

        assert value * 100 == pytest.approx(pair[key], abs=5.1e-5)  # published with four decimals
