"""chrF and TER, of texts and of all texts together, held against sacrebleu."""

import pytest
import sacrebleu
from hypothesis import HealthCheck, given, settings, strategies as st
from sacrebleu.metrics import CHRF, TER

import markbook
from markbook.errors import ConfigError
from markbook.metrics.text.chrf_ter import chrf

TEXTS = st.lists(
    st.tuples(st.text("ab c.ä\n漢", max_size=12), st.lists(st.text("ab c.ä\n漢", max_size=8), min_size=1, max_size=2)),
    min_size=1,
    max_size=3,
)
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Their search for shifts takes long for what it is."""
HYPOTHESES = ["the cat sat on the mat", "a dog", "", "the mat sat on the cat quickly"]
REFERENCES = ["the cat is on the mat", "a dog barked loudly", "nothing", "the cat sat quickly on the mat"]


def test_chrf_by_hand():
    # Characters of "ab" and "abc": 1-grams 2 of 2 and 2 of 3, 2-grams 1 of 1 and 1 of 2; no 3-gram in the first.
    precision, recall = 1.0, (2 / 3 + 1 / 2) / 2

    found = markbook.measure("chrf", ["ab"], ["a b c"])[0].value

    assert found == pytest.approx(5 * precision * recall / (4 * precision + recall))


@FEW
@given(TEXTS)
def test_chrf_of_a_text_is_sacrebleus(rows):
    oracle = CHRF()
    for text, references in rows:
        found = markbook.measure("chrf", [text], [references])[0]

        assert found.value == pytest.approx(oracle.sentence_score(text, references).score / 100, abs=1e-12)


@FEW
@given(st.lists(st.tuples(st.text("ab c.", max_size=9), st.text("ab c.", max_size=9)), min_size=1, max_size=6))
def test_chrf_of_a_corpus_is_sacrebleus(rows):
    texts, references = [row[0] for row in rows], [row[1] for row in rows]

    found = markbook.summarise("corpus_chrf", markbook.measure("corpus_chrf", texts, references))

    assert found.value == pytest.approx(sacrebleu.corpus_chrf(texts, [references]).score / 100, abs=1e-12)


@FEW
@given(st.lists(st.tuples(st.text("ab ", max_size=14), st.text("ab ", max_size=14)), min_size=1, max_size=6))
def test_ter_is_sacrebleus(rows):
    texts, references = [row[0] for row in rows], [row[1] for row in rows]

    measured = markbook.measure("corpus_ter", texts, references)

    assert markbook.summarise("corpus_ter", measured).value == pytest.approx(
        sacrebleu.corpus_ter(texts, [references]).score / 100, abs=1e-12
    )
    oracle = TER()
    assert [one.value for one in markbook.measure("ter", texts, references)] == pytest.approx(
        [oracle.sentence_score(text, [reference]).score / 100 for text, reference in rows], abs=1e-12
    )


def test_a_shifted_phrase_is_one_edit():
    # "a b c d" becomes "c d a b" by one shift of two words; four words, so a quarter.
    assert markbook.measure("ter", ["c d a b"], ["a b c d"])[0].value == 0.25


@pytest.mark.parametrize("name", ["corpus_chrf", "corpus_ter"])
def test_the_corpus_number_is_no_mean_and_has_a_bootstrap_interval(name):
    summary = markbook.summarise(name, markbook.measure(name, HYPOTHESES, REFERENCES), seed=3)

    assert summary.interval.method.startswith("bootstrap")
    expected = getattr(sacrebleu, name)(HYPOTHESES, [REFERENCES]).score / 100
    assert summary.value == pytest.approx(expected, abs=1e-12)
    assert summary.interval.low <= summary.value <= summary.interval.high


@pytest.mark.parametrize("options", [{"char_order": 0}, {"char_order": 99}, {"beta": 0.0}, {"beta": float("nan")}])
def test_chrf_out_of_range_is_refused(options):
    with pytest.raises(ConfigError, match="char_order is 1 to 20 and beta above 0"):
        chrf(**options)
