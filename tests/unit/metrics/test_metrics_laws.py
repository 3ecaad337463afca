"""What every metric promises: each law takes all that are registered, so that a new one is held to them unasked."""

import os
import pickle
import random
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st
from support.load import PATIENCE
from support.metric_kit import REGISTERED, TEXT, item, items, made
from support.paths import ROOT, TESTS

from markbook.metrics import overlaps
from markbook.metrics.text.edit_distance import positions
from markbook.metrics.tokens import Vocabulary
from markbook.types import Measurement, Missing, MissingKind

SYMMETRIC = ("rouge1", "rouge2", "rougeL", "edit_distance", "edit_similarity", "exact_match", "jaccard", "tfidf_cosine")
WORDS = st.lists(st.sampled_from(["cat", "cats", "the", "ran", "running", "dog", "hound", "a,", "b.", "don't", "\n"]))
CODE = st.lists(
    st.sampled_from(["x = y", "def f(x):\n    return x", "if x:\n    y = 1", "# note", "print(x, y)", "(("])
)
TEXTS = st.one_of(st.text(max_size=60), WORDS.map(" ".join), CODE.map("\n".join))
ROWS = st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=6)


def values(name, rows):
    """Return each row's value, or the kind of reason why there is none."""
    return [one.missing.kind if one.missing else one.value for one in made(name).measure(items(rows))]


def alike(row, other):
    """Tell whether two rows' values are the same but for the last bits of a network's arithmetic."""
    return len(row) == len(other) and all(
        a == b or a == pytest.approx(b, abs=1e-6) for a, b in zip(row, other, strict=True)
    )


@pytest.mark.parametrize("name", REGISTERED)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
@settings(max_examples=30, deadline=None)
def test_every_row_has_a_value_in_the_range_or_a_reason(name, candidate, references):
    metric = made(name)

    (one,) = metric.measure(items([(candidate, *references)]))

    low, high = metric.range
    assert (one.value is None) != (one.missing is None)
    assert one.value is None or low <= one.value <= high
    assert (one.metric, one.sample_id, one.index) == (metric.name, "s0", 0)
    assert metric.signs(one.signature)


@pytest.mark.parametrize("name", TEXT)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_every_pair_of_texts_has_a_value(name, candidate, references):
    (one,) = made(name).measure(items([(candidate, *references)]))

    assert one.missing is None


@pytest.mark.parametrize("name", REGISTERED)
def test_a_metric_says_what_it_is(name):
    metric = made(name)

    assert metric.name == name
    assert metric.direction in ("higher", "lower")
    assert metric.range[0] < metric.range[1]
    assert metric.version >= 1
    assert metric.signature.startswith(name)
    assert metric.measure([]) == []
    assert metric.summarise([]) is None


@pytest.mark.parametrize("name", REGISTERED)
def test_the_laws_see_a_value_of_every_metric(name):
    found = values(name, [("a b c a", "a b c a"), ("def f(x):\n    y = x\n    return y", "def g(x):\n    return x")])

    if set(found) == {"unavailable"}:
        pytest.skip("the package of the small model is not installed")
    assert any(isinstance(one, float) for one in found)


@pytest.mark.parametrize("name", REGISTERED)
def test_a_page_describes_every_metric(name):
    pages = ROOT.joinpath("docs", "metrics").glob("*.md")

    assert any(f"`{name}`" in page.read_text("utf-8") for page in pages)


@pytest.mark.parametrize("name", REGISTERED)
@given(ROWS, st.randoms(use_true_random=False))
@settings(max_examples=12, deadline=None)
def test_the_order_of_the_rows_does_not_matter(name, rows, rng: random.Random):
    order = list(range(len(rows)))
    rng.shuffle(order)

    shuffled, straight = values(name, [rows[i] for i in order]), values(name, rows)

    assert alike(shuffled, [straight[i] for i in order])


@pytest.mark.parametrize("name", [name for name in REGISTERED if not made(name).whole_batch])
@given(ROWS)
@settings(max_examples=12, deadline=None)
def test_a_row_has_the_same_value_alone_and_among_others(name, rows):
    assert alike(values(name, rows), [values(name, [row])[0] for row in rows])


@pytest.mark.parametrize("name", [name for name in REGISTERED if made(name).needs_reference])
@given(TEXTS, TEXTS)
@settings(max_examples=30, deadline=None)
def test_no_text_is_a_better_match_than_the_reference_itself(name, reference, other):
    itself, others = values(name, [(reference, reference)]), values(name, [(other, reference)])

    if isinstance(itself[0], float) and isinstance(others[0], float):
        better = max if made(name).direction == "higher" else min
        assert better(itself[0], others[0]) == pytest.approx(itself[0], abs=1e-6)


@pytest.mark.parametrize("name", REGISTERED)
@given(ROWS)
@settings(max_examples=8, deadline=None)
def test_a_metric_that_has_travelled_measures_and_summarises_the_same(name, rows):
    metric = made(name)
    measured = metric.measure(items(rows))

    copy = pickle.loads(pickle.dumps(metric))

    assert alike([one.value for one in copy.measure(items(rows))], [one.value for one in measured])
    assert copy.summarise(measured) == metric.summarise(measured)


@pytest.mark.parametrize("name", REGISTERED)
@given(ROWS)
@settings(max_examples=8, deadline=None)
def test_a_summary_lies_between_its_values_and_is_their_mean_where_it_says_so(name, rows):
    metric = made(name)
    measured = metric.measure(items(rows))
    found = [one.value for one in measured if one.value is not None]

    summary = metric.summarise(measured)

    if not found:
        assert summary is None
    elif metric.averages:
        assert summary == pytest.approx(sum(found) / len(found), abs=1e-12)
    else:
        assert metric.range[0] <= summary <= metric.range[1]
    draws = [list(range(len(measured)))] * 2
    assert metric.resample(measured, draws) == [summary] * 2 if found else metric.resample(measured, draws) == []


@pytest.mark.parametrize("name", REGISTERED)
@given(ROWS)
@settings(max_examples=8, deadline=None)
def test_other_ids_change_no_value_and_no_summary(name, rows):
    metric = made(name)
    renamed = [item(*row, name=f"{len(rows) - place} é") for place, row in enumerate(rows)]

    measured, others = metric.measure(items(rows)), metric.measure(renamed)

    assert alike([other.value for other in others], [row.value for row in measured])
    assert metric.summarise(others) == metric.summarise(measured)


@pytest.mark.parametrize("name", REGISTERED)
@given(ROWS, st.integers(0, 2))
@settings(max_examples=8, deadline=None)
def test_rows_without_a_value_move_no_summary(name, rows, place):
    metric = made(name)
    measured = metric.measure(items(rows))
    gap = Measurement(name, missing=Missing(MissingKind.FAILED, "no answer"))

    assert metric.summarise([*measured[:place], gap, *measured[place:], gap]) == metric.summarise(measured)
    assert metric.summarise([gap]) is None


@pytest.mark.parametrize("name", REGISTERED)
@pytest.mark.parametrize("candidate", [None, 3, b"x", ["x"]])
def test_a_row_that_is_no_text_is_missing_alone(name, candidate):
    metric = made(name)
    plain = [one.value for one in metric.measure(items([("a b c a", "a b c a")]))]

    first, second = metric.measure([*items([(candidate, "x")]), *items([("", ""), ("a b c a", "a b c a")])[1:]])

    if not metric.needs_trace and not metric.whole_batch:
        assert first.missing is not None
    assert metric.whole_batch or alike([second.value], plain)


@pytest.mark.parametrize("name", SYMMETRIC)
@given(TEXTS, TEXTS)
@settings(max_examples=60, deadline=None)
def test_order_of_the_two_texts_does_not_matter_where_it_should_not(name, a, b):
    assert alike(values(name, [(a, b)]), values(name, [(b, a)]))


@given(st.integers(1, 12))
def test_meteor_of_a_text_with_itself_misses_one_by_its_penalty(n):
    text = " ".join(f"word{i}" for i in range(n))

    # one chunk of n matches: 1 - .5 (1/n)^3
    assert values("meteor", [(text, text)]) == [pytest.approx(1 - 0.5 / n**3)]


@pytest.mark.slow
def test_the_hash_seed_changes_nothing(part):
    program = (
        "from support.metric_kit import REGISTERED, items, made\n"
        "rows = [('the quick brown fox, it jumps over 3.5 lazy dogs\\nand runs', 'a fast brown fox jumped', 'x'),\n"
        "        ('cars are driven', 'automobiles drive'), ('b c b c d b', 'c b c b d d b'),\n"
        "        ('def f(a, b):\\n    c = a\\n    return c', 'def g(x, y):\\n    z = x + y\\n    return z')]\n"
        "for name in REGISTERED:\n"
        "    print([(one.metric, one.value, one.missing, dict(one.stats)) for one in made(name).measure(items(rows))])\n"
    )

    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)},
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        ).stdout
        for seed in ("0", *part.of(("1", "4242"), 2))
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
