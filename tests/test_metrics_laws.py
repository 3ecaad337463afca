"""What holds for every text: range, identity, symmetry, and that neither order nor hash seed changes a value."""

import os
import random
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from markbook import plugins
from markbook.metrics import overlaps
from markbook.metrics.text.lcs import positions
from markbook.metrics.tokens import Vocabulary
from markbook.types import Attempt, Item, Sample

TEXT_METRICS = (
    *("bleu", "corpus_bleu", "rouge1", "rouge2", "rougeL", "rougeLsum", "meteor", "edit_distance"),
    *("edit_similarity", "exact_match", "jaccard", "tfidf_cosine", "tfidf_cosine_corpus"),
)
SYMMETRIC = ("rouge1", "rouge2", "rougeL", "edit_distance", "edit_similarity", "exact_match", "jaccard", "tfidf_cosine")
WORDS = st.lists(st.sampled_from(["cat", "cats", "the", "ran", "running", "dog", "hound", "a,", "b.", "don't", "\n"]))
TEXTS = st.one_of(st.text(), WORDS.map(" ".join))


def item(candidate, *references):
    return Item(Sample("s", references=references), Attempt("s", candidate))


def values(name, pairs):
    return [one.value for one in plugins.create("metrics", name).measure([item(*pair) for pair in pairs])]


@pytest.mark.parametrize("name", TEXT_METRICS)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
@settings(max_examples=60)
def test_every_pair_of_texts_has_a_value_in_the_range(name, candidate, references):
    metric = plugins.create("metrics", name)

    (one,) = metric.measure([item(candidate, *references)])

    assert one.missing is None
    assert metric.range[0] <= one.value <= metric.range[1]
    assert one.signature == metric.signature


@pytest.mark.parametrize(
    "name", ["bleu", "rouge1", "rougeL", "rougeLsum", "edit_similarity", "exact_match", "jaccard", "tfidf_cosine"]
)
@given(WORDS.map(lambda words: " ".join(["first", *words])))
@settings(max_examples=40)
def test_a_text_is_its_own_best_match(name, text):
    assert values(name, [(text, text)]) == [pytest.approx(1.0, abs=1e-12)]


@given(st.integers(1, 12))
def test_meteor_of_a_text_with_itself_misses_one_by_its_penalty(n):
    text = " ".join(f"word{i}" for i in range(n))

    # one chunk of n matches: 1 - .5 (1/n)^3
    assert values("meteor", [(text, text)]) == [pytest.approx(1 - 0.5 / n**3)]


@pytest.mark.parametrize("name", SYMMETRIC)
@given(TEXTS, TEXTS)
@settings(max_examples=60)
def test_order_of_the_two_texts_does_not_matter_where_it_should_not(name, a, b):
    assert values(name, [(a, b)]) == [pytest.approx(values(name, [(b, a)])[0], abs=1e-12)]


@pytest.mark.parametrize("name", TEXT_METRICS)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=8), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_the_order_of_the_rows_does_not_matter(name, pairs, rng: random.Random):
    order = list(range(len(pairs)))
    rng.shuffle(order)

    shuffled = values(name, [pairs[i] for i in order])

    straight = values(name, pairs)
    assert shuffled == [straight[i] for i in order]


@pytest.mark.parametrize("name", [name for name in TEXT_METRICS if name != "tfidf_cosine_corpus"])
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=6))
@settings(max_examples=25)
def test_a_row_has_the_same_value_alone_and_among_others(name, pairs):
    assert values(name, pairs) == [values(name, [pair])[0] for pair in pairs]


def test_the_hash_seed_changes_nothing():
    program = (
        "from markbook.metrics.measure import measure\n"
        "a = ['the quick brown fox, it jumps over 3.5 lazy dogs\\nand runs', 'cars are driven', 'b c b c d b']\n"
        "b = [['a fast brown fox jumped over the lazy hound\\nit ran', 'x'], 'automobiles drive', 'c b c b d d b']\n"
        f"found = measure({list(TEXT_METRICS)!r}, a, b)\n"
        "print([(one.metric, one.value, dict(one.stats)) for row in found.values() for one in row])\n"
    )

    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "4242")
    }

    assert len(outputs) == 1


NUMBERS = st.lists(st.integers(0, 5), max_size=40)


def tokens_of(texts):
    return Vocabulary(lambda pieces: [[piece] for piece in pieces]).tokens(
        [[str(number) for number in text] for text in texts]
    )


def counted(candidate, references, order):
    """Return the clipped counts by the definition."""
    found = []
    for n in range(1, order + 1):
        ours, *theirs = (
            Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) for text in (candidate, *references)
        )
        found.append(sum(min(count, max(one[gram] for one in theirs)) for gram, count in ours.items()))
    return found


@given(
    st.lists(st.tuples(NUMBERS, st.lists(NUMBERS, min_size=1, max_size=9)), min_size=1, max_size=5),
    st.sampled_from([1, 2, 4]),
)
def test_matching_ngrams_are_those_of_the_definition(rows, order):
    texts = [text for candidate, references in rows for text in (candidate, *references)]
    places = iter(range(len(texts)))
    numbered = [(next(places), tuple(next(places) for _ in references)) for _, references in rows]

    found = overlaps.overlaps(tokens_of(texts), numbered, order)

    assert found.tolist() == [counted(candidate, references, order) for candidate, references in rows]


@pytest.mark.parametrize("n_words", [300, 40_000])
def test_rows_of_so_many_words_that_an_ngram_needs_more_than_64_bits_have_the_same_counts(n_words):
    rng = random.Random(3)
    texts = [[rng.randrange(n_words) for _ in range(n_words)] for _ in range(4)]
    texts += [texts[0][100:] + texts[1][:100], texts[2][:50]]
    rows = [(4, (0, 1)), (5, (2,)), (3, (3,)), (0, (1, 2, 3, 4, 5, 0, 1, 2))]

    found = overlaps.overlaps(tokens_of(texts), rows, 4)

    assert found.tolist() == [counted(texts[row], [texts[one] for one in refs], 4) for row, refs in rows]


def lcs_by_table(reference, candidate):
    """The textbook table and the way back through it that rouge-score takes."""
    table = [[0] * (len(candidate) + 1) for _ in range(len(reference) + 1)]
    for i, a in enumerate(reference, 1):
        for j, b in enumerate(candidate, 1):
            table[i][j] = table[i - 1][j - 1] + 1 if a == b else max(table[i - 1][j], table[i][j - 1])
    found, i, j = [], len(reference), len(candidate)
    while i and j:
        if reference[i - 1] == candidate[j - 1]:
            found.append(i - 1)
            i, j = i - 1, j - 1
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return found


@given(NUMBERS, NUMBERS)
def test_the_subsequence_is_the_one_that_the_table_gives(reference, candidate):
    assert positions(reference, candidate) == lcs_by_table(reference, candidate)
