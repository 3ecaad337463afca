"""`markbook.measure` and `markbook.summarise`."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.load import PATIENCE

import markbook
from markbook import plugins
from markbook.engine import Inline, local
from markbook.errors import ConfigError, UsageError
from markbook.metrics import measure as home
from markbook.types import Attempt, Item, Measurement, Metric, Missing, MissingKind, Sample

CANDIDATES = ["the cat sat", "a dog", "x", None, "same same"]
REFERENCES = ["the cat sat down", ["a dog", "one dog"], "y", "z", "same same"]


def test_one_metric_gives_a_list_and_several_a_dict():
    one = markbook.measure("rougeL", CANDIDATES, REFERENCES)
    several = markbook.measure(["rouge1", "rougeL"], CANDIDATES, REFERENCES)

    assert [m.metric for m in one] == ["rougeL"] * 5
    assert list(several) == ["rouge1", "rougeL"]
    assert several["rougeL"] == one


def test_rouge1_by_hand():
    (one, *_) = markbook.measure("rouge1", CANDIDATES, REFERENCES)

    # 3 of 3 words found, 3 of 4 words covered: F1 = 2 * 1 * .75 / 1.75
    assert one.value == pytest.approx(1.5 / 1.75)
    assert one.stats["precision"] == 1.0
    assert one.stats["recall"] == 0.75


@pytest.mark.parametrize(
    ("spelling", "names"),
    [
        ("rouge_score", ["rouge1", "rouge2", "rougeL"]),
        ("rouge", ["rouge1", "rouge2", "rougeL"]),
        (["bleu_score", "meteor_score", "bleu"], ["bleu", "meteor"]),
    ],
)
def test_the_documents_spellings_stand_for_metrics(spelling, names):
    assert list(markbook.measure(spelling, CANDIDATES, REFERENCES)) == names


def test_a_spelling_of_one_metric_gives_its_list():
    assert markbook.measure("bleu_score", CANDIDATES, REFERENCES) == markbook.measure("bleu", CANDIDATES, REFERENCES)


def test_each_metric_takes_the_options_it_knows():
    found = markbook.measure(["rouge1", "bleu"], ["Cats"], ["cat"], stemmer=False, lowercase=True)

    assert "stem:no" in found["rouge1"][0].signature
    assert "case:lc" in found["bleu"][0].signature


def test_an_option_that_no_metric_knows_is_an_error():
    with pytest.raises(ConfigError, match=r"no option of rouge1, jaccard: lowercase \(known: stemmer, tokenizer\)"):
        markbook.measure(["rouge1", "jaccard"], ["a"], ["a"], lowercase=True)


NAMES = ["bleu", "rouge1", "rougeL", "meteor", "edit_distance", "tfidf_cosine", "tfidf_cosine_corpus"]


@pytest.mark.parametrize("make", [Inline, lambda: ThreadPoolExecutor(2)])
def test_an_executor_changes_nothing(make):
    candidates, references = CANDIDATES * 20, REFERENCES * 20
    with make() as executor:
        found = markbook.measure(NAMES, candidates, references, executor=executor)

    assert found == markbook.measure(NAMES, candidates, references)


class _ReadsItsRow(Metric):
    """1 for a row that says so, as a rubric of the row's own would."""

    name, signature, version, range, direction = "own", "own|v1", 1, (0.0, 1.0), "higher"
    needs_reference = False

    def measure(self, items):
        values = [0.0 if item.sample.row is None else item.sample.row.record["right"] for item in items]
        return [Measurement(self.name, value, signature=self.signature) for value in values]


def test_an_executor_takes_the_rows_along(monkeypatch):
    monkeypatch.setattr(home, "make", lambda *_: {"own": _ReadsItsRow()})
    with ThreadPoolExecutor(1) as executor:
        measured = markbook.measure("own", ["a", "b"], rows=[{"right": 1.0}, {"right": 0.0}], executor=executor)

    assert [measurement.value for measurement in measured] == [1.0, 0.0]


def test_worker_processes_change_nothing():
    candidates, references = CANDIDATES * 10, REFERENCES * 10
    with local(2) as executor:
        found = markbook.measure(NAMES, candidates, references, executor=executor, stemmer=False)

    assert found == markbook.measure(NAMES, candidates, references, stemmer=False)


@pytest.mark.parametrize("name", ["bleu", "rougeLsum", "meteor", "edit_distance", "tfidf_cosine", "exact_match"])
def test_a_metric_and_its_items_travel_to_a_worker_as_they_are(name):
    metric = plugins.create("metrics", name)
    items = [
        Item(Sample(str(i), references=(ref,) if isinstance(ref, str) else ()), Attempt(str(i), cand or ""))
        for i, (cand, ref) in enumerate(zip(CANDIDATES, REFERENCES, strict=True))
    ]
    with local(2) as executor:
        found = executor.submit(metric.measure, items).result(timeout=PATIENCE)

    assert found == metric.measure(items)


class _Rows:
    """A metric that reads raw rows, as pass@k does."""

    name, version, range, direction, signature = "rows", 1, (0.0, 1.0), "higher", "rows|v1"
    needs_reference = False

    def measure_rows(self, candidates, references):
        return [Measurement("rows", len(candidate) / 10) for candidate in candidates]

    def measure(self, items):
        raise AssertionError

    summarise = measure


def test_a_metric_may_read_the_raw_rows(monkeypatch):
    monkeypatch.setattr(plugins, "factory", lambda *_, **__: _Rows)

    assert [one.value for one in markbook.measure("rows", [["a", "b"], ["c"]])] == [0.2, 0.1]


def test_the_mean_is_summarised_with_its_n_and_bounds():
    found = markbook.measure("exact_match", CANDIDATES, REFERENCES)

    summary = markbook.summarise("exact_match", found)

    assert summary.value == 0.5  # two of four
    assert summary.n == 4
    assert summary.n_missing == {"absent": 1}
    assert summary.bounds == (2 / 5, 3 / 5)
    assert summary.interval.method == "wilson"
    assert summary.signature == found[0].signature


def test_several_attempts_at_a_sample_are_one_sample():
    values = [[1.0] * 20, [0.0] * 20] * 5
    attempts = [
        Measurement("exact_match", value, sample_id=str(i), index=index, model="m")
        for i, row in enumerate(values)
        for index, value in enumerate(row)
    ]
    lost = dataclasses.replace(attempts[0], value=None, missing=Missing(MissingKind.ABSENT))

    once, whole = (markbook.summarise("exact_match", some) for some in (attempts[::20], attempts))
    partial = markbook.summarise("exact_match", [lost, *attempts[1:]], policy="worst")

    assert whole == once
    assert (whole.n, whole.n_items) == (10, 10)
    assert (partial.value, partial.n, partial.n_partial) == (pytest.approx(0.495), 10, 1)
    # Two calls of `measure` number their rows alike: nothing says that these are attempts at the same samples.
    batches = markbook.measure("exact_match", ["a", "b"], ["a", "a"]) * 2
    assert markbook.summarise("exact_match", batches).n == 4


def test_measurements_of_two_models_are_an_error():
    found = [Measurement("exact_match", 1.0, sample_id="a", model=model) for model in ("m", "n")]

    with pytest.raises(UsageError, match="the measurements are of several models: m and n"):
        markbook.summarise("exact_match", found)


def test_the_worst_value_of_a_distance_is_one():
    found = markbook.measure("edit_distance", ["a", None], ["a", "b"])

    assert markbook.summarise("edit_distance", found, policy="worst").value == 0.5


def test_corpus_bleu_is_no_mean_and_has_a_bootstrap_interval():
    candidates = [f"the cat number {i} sat on the mat and slept" for i in range(30)]
    references = [f"the cat number {i % 7} sat on a mat and slept" for i in range(30)]
    found = markbook.measure("corpus_bleu", candidates, references)

    summary = markbook.summarise("corpus_bleu", found, seed=3)

    assert summary.value != pytest.approx(sum(one.value for one in found) / 30)
    assert summary.interval.low < summary.value < summary.interval.high
    assert summary == markbook.summarise("corpus_bleu", found, seed=3)
    assert summary.interval != markbook.summarise("corpus_bleu", found, seed=4).interval


def test_a_corpus_score_of_one_text_has_no_interval():
    summary = markbook.summarise("corpus_bleu", markbook.measure("corpus_bleu", ["a b c d e"], ["a b c d f"]))

    assert summary.interval is None
    assert summary.note == "fewer than two values: no interval"


def test_an_empty_answer_still_costs_the_corpus_score():
    full = markbook.measure("corpus_bleu", ["a b c d e", "f g h i j"], ["a b c d e", "f g h i j"], convention="hf")
    holed = markbook.measure("corpus_bleu", ["a b c d e", ""], ["a b c d e", "f g h i j"], convention="hf")

    assert markbook.summarise("corpus_bleu", full, convention="hf").value == pytest.approx(1.0)
    assert markbook.summarise("corpus_bleu", holed, convention="hf").value < 0.4


def test_nothing_scored_is_no_number():
    lost = [Measurement("corpus_bleu", missing=Missing(MissingKind.ABSENT))]

    summary = markbook.summarise("corpus_bleu", lost)

    assert summary.value is None
    assert summary.n == 0


def test_measurements_of_another_metric_are_an_error():
    with pytest.raises(UsageError, match="bleu cannot be summarised as rouge1"):
        markbook.summarise("rouge1", markbook.measure("bleu", ["a"], ["a"]))


def test_attempts_of_a_corpus_score_are_resampled_as_one_row():
    found = [
        dataclasses.replace(one, sample_id=str(i), index=index)
        for i, one in enumerate(markbook.measure("corpus_bleu", CANDIDATES[:2] * 2, REFERENCES[:2] * 2))
        for index in range(3)
    ]

    assert (markbook.summarise("corpus_bleu", found).n, markbook.summarise("corpus_bleu", found[::3]).n) == (4, 4)


def test_a_missing_row_of_a_corpus_score_has_no_worst_value():
    with pytest.raises(UsageError, match="is not a mean"):
        markbook.summarise("corpus_bleu", markbook.measure("corpus_bleu", ["a"], ["a"]), policy="worst")


def test_every_alias_stands_for_something_else():
    for spelling, names in home.ALIASES.items():
        assert spelling not in names
        assert names
