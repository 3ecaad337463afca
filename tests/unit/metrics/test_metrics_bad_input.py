"""Whatever stands in a row, there is a value or a reason, for that row alone."""

import math
import unicodedata

import pytest
from support.metric_kit import TEXT

import markbook
from markbook.errors import ConfigError, UsageError
from markbook.metrics.tokens import Vocabulary

STRANGE = {
    "empty": "",
    "white space": " \t\n\x0c\u00a0\u2028 ",
    "chinese": "\u6a21\u578b\u5f88\u597d\u3002",
    "emoji": "\U0001f469\u200d\U0001f4bb\U0001f44d\U0001f3fd ok",
    "nfc": unicodedata.normalize("NFC", "caf\u00e9 r\u00e9sum\u00e9"),
    "nfd": unicodedata.normalize("NFD", "caf\u00e9 r\u00e9sum\u00e9"),
    "nul": "a\x00b \x00",
    "lone surrogate": "a \ud800 b",
    "direction": "abc \u202e cba",
    "long word": "y" * 20_000,
    "quotes": "'' \" ` ' ''' \"\"\"",
    "final sigma": "\u039f\u0394\u039f\u03a3 \u0130stanbul",
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_strange_texts_have_a_value_on_either_side(strange):
    candidates = [strange, "a plain text", strange]
    references = ["a plain text", [strange, "another"], strange]

    found = markbook.measure(TEXT, candidates, references)

    for name, row in found.items():
        for one in row:
            assert one.missing is None, (name, one.missing)
            assert math.isfinite(one.value)


@pytest.mark.parametrize(
    ("candidate", "reference", "kind", "part"),
    [
        (None, "x", "absent", "no candidate"),
        ("x", None, "undefined", "no reference"),
        ("x", [], "undefined", "no reference"),
        ("x", [None, None], "undefined", "no reference"),
        (3, "x", "undefined", "the candidate is a number (3), not a text"),
        (float("nan"), "x", "undefined", "the candidate is a number (nan), not a text"),
        (b"x", "x", "undefined", "of type bytes"),
        (["x"], "x", "undefined", "of type list"),
        ("x", 3, "undefined", "a reference is a number (3), not a text"),
        ("x", ["y", 3], "undefined", "a reference is a number"),
    ],
)
def test_a_row_that_is_no_text_is_missing_alone(candidate, reference, kind, part):
    found = markbook.measure(TEXT, [candidate, "same"], [reference, "same"])

    for first, second in found.values():
        assert first.value is None
        assert first.missing.kind == kind
        assert part in first.missing.detail
        assert second.value is not None


def test_a_none_among_other_references_is_left_out():
    (one,) = markbook.measure("edit_distance", ["same"], [[None, "same"]])

    assert one.value == 0.0


def test_unequal_lists_are_an_error():
    with pytest.raises(UsageError, match="2 candidates and 1 references"):
        markbook.measure("bleu", ["a", "b"], ["a"])


@pytest.mark.parametrize("lists", [("one text", ["one text"]), (["one text"], "one text")])
def test_one_text_in_the_place_of_a_list_is_an_error(lists):
    with pytest.raises(UsageError, match="is one text"):
        markbook.measure("bleu", *lists)


def test_an_unknown_metric_is_an_error_with_the_nearest_names():
    with pytest.raises(UsageError, match="did you mean 'rouge1'"):
        markbook.measure("rouge11", ["a"], ["a"])


def test_no_references_at_all_is_an_error_for_a_metric_that_needs_them():
    with pytest.raises(UsageError, match="bleu needs references"):
        markbook.measure("bleu", ["a"])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bleu", {"tokenize": "spm"}),
        ("bleu", {"smooth_method": "best"}),
        ("bleu", {"convention": "nltk"}),
        ("bleu", {"convention": "hf", "smooth_method": "exp"}),
        ("bleu", {"convention": "hf", "effective_order": True}),
        ("bleu", {"colour": "blue"}),
        ("meteor", {"tokenizer": "spacy"}),
        ("rougeL", {"tokenizer": "spacy"}),
        ("bertscore_f1", {"long": "summarise"}),
        ("bertscore_f1", {"batch_size": 0}),
    ],
)
def test_an_option_that_cannot_be_honoured_is_an_error(name, options):
    with pytest.raises(ConfigError):
        markbook.measure(name, ["a"], ["a"], **options)


@pytest.mark.parametrize("name", ["bleu", "rouge1", "meteor"])
def test_a_row_that_crashes_is_missing_alone(name, monkeypatch):
    # A block of rows is scored together; whichever row cannot be, it must not take the others with it.
    whole = Vocabulary.tokens

    def tokens(self, texts):
        kept = list(texts)
        if any("boom" in text for text in kept):
            raise MemoryError("too much")
        return whole(self, kept)

    candidates, references = ["a b", "c d", "boom x", "e f", "a b"], ["a b", "c", "y", "e f", "b"]
    without = markbook.measure(name, candidates[:2] + candidates[3:], references[:2] + references[3:])
    monkeypatch.setattr(Vocabulary, "tokens", tokens)

    found = markbook.measure(name, candidates, references)

    assert found[2].missing.kind == "failed"
    assert "MemoryError: too much" in found[2].missing.detail
    assert [one.value for one in found if one.missing is None] == [one.value for one in without]


def test_a_tokeniser_that_crashes_leaves_the_vocabulary_as_it_was():
    def split(pieces):
        if "boom" in pieces:
            raise MemoryError
        return [[piece] for piece in pieces]

    words = Vocabulary(split)
    words.tokens([["a"]])
    with pytest.raises(MemoryError):
        words.tokens([["b", "boom"]])

    assert words.tokens([["c", "a", "c"]]).lists() == [[2, 3, 2]]


def test_no_rows_give_no_measurements():
    assert markbook.measure(TEXT, [], []) == {name: [] for name in TEXT}


@pytest.mark.slow
def test_ten_megabytes_have_a_value_or_a_reason(part):
    """Of `make test` one megabyte, which has the same values and reasons."""
    smaller = 1 if part.is_whole else 10
    text = "the quick brown fox jumps over the lazy dog. " * (233_000 // smaller)
    other = "a slow red hen walks under the eager cat, twice. " * (214_000 // smaller)
    assert len(text) > 10_000_000 // smaller

    found = markbook.measure(TEXT, [text, text], [other, "the quick brown fox"])

    for name, row in found.items():
        for one in row:
            assert one.value is not None or one.missing.kind == "budget", name
    assert found["bleu"][0].value is not None
    assert found["edit_distance"][0].missing.kind == "budget"
    assert found["edit_distance"][1].value == pytest.approx(1, abs=1e-5 * smaller)


@pytest.mark.parametrize("options", [{}, {"normalized": True}, {"asian_support": True}])
def test_ter_of_texts_that_are_too_long_is_missing_and_takes_no_memory(options):
    pytest.importorskip("sacrebleu")
    text = "!a" * 2_100 if options else "a " * 2_100

    [one] = markbook.measure("ter", [text], [text + " b"], **options)

    assert one.missing.kind == "budget"
