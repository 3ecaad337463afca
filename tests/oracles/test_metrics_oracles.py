"""The metrics against the libraries that define them, live, on 2,000 generated pairs."""

import functools
import random
import re
import warnings
from importlib import resources

import pytest

from markbook.metrics.text.bleu import bleu, corpus_bleu
from markbook.metrics.text.edit_distance import edit_distance
from markbook.metrics.text.meteor import meteor
from markbook.metrics.text.rouge import Rouge, rouge1, rouge2, rouge_l, rouge_lsum
from markbook.metrics.text.tfidf import tfidf_cosine, tfidf_cosine_corpus
from markbook.types import Attempt, Item, Sample

N_PAIRS = 2000
ODD = [
    "don't",
    "(see",
    "3.1%)",
    "e.g.,",
    "U.S.",
    "\u201cquoted\u201d",
    "caf\u00e9",
    "x_1",
    "\u6a21\u578b",
    "--",
    "...",
    "a/b",
    "&amp;",
    "'s",
    "5-fold",
]


@pytest.fixture(scope="module")
def pairs(part):
    """Return (candidate, references): edits of a reference, one to three references, some lines and oddities."""
    rng = random.Random(20261121)
    table = resources.files("markbook.metrics.text").joinpath("data", "synonyms.tsv").read_text("ascii")
    words = [form for form in (line.split("\t")[0] for line in table.splitlines()) if form.isalpha()]
    common = rng.sample(words, 400)

    def word():
        return rng.choice(ODD) if rng.random() < 0.08 else rng.choice(common if rng.random() < 0.8 else words)

    def text(n):
        return "".join(word() + rng.choice([" "] * 12 + [", ", ". ", "\n", "  "]) for _ in range(n))

    def edited(source):
        tokens = source.split(" ")
        for i in range(len(tokens)):
            chance = rng.random()
            if chance < 0.1:
                tokens[i] = word()
            elif chance < 0.15:
                tokens[i] = ""
            elif chance < 0.2:
                tokens[i] += rng.choice(["s", "ed", "ing", ",", "."])
        if rng.random() < 0.3:
            cut = rng.randrange(len(tokens) + 1)
            tokens = tokens[cut:] + tokens[:cut]
        return " ".join(tokens)

    made = []
    for _ in range(N_PAIRS):
        references = [text(rng.choice([0, 1, 3, 8, 20, 40, 80])) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        candidate = edited(rng.choice(references)) if rng.random() < 0.8 else text(rng.choice([0, 2, 10, 40]))
        made.append((candidate, references))
    return part.of(made, 4)


def items(pairs):
    return [Item(Sample(str(i), references=tuple(refs)), Attempt(str(i), cand)) for i, (cand, refs) in enumerate(pairs)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tokenize": "intl"},
        {"tokenize": "zh", "lowercase": True},
        {"tokenize": "char", "smooth_method": "floor"},
        {"tokenize": "none", "smooth_method": "add-k", "effective_order": False},
    ],
)
def test_bleu_is_sacrebleu(pairs, options):
    import sacrebleu.metrics

    theirs = sacrebleu.metrics.BLEU(**{"effective_order": True, **options})

    measured = bleu(**options).measure(items(pairs))

    for one, (candidate, references) in zip(measured, pairs, strict=True):
        expected = theirs.sentence_score(candidate, references)
        assert one.value == pytest.approx(expected.score / 100, abs=1e-9)
        assert one.stats["sys_len"] == expected.sys_len
        assert one.stats["ref_len"] == expected.ref_len


@pytest.mark.parametrize("tokenize", ["13a", "none"])
def test_bleu_with_many_references_is_sacrebleu(pairs, tokenize):
    import sacrebleu.metrics

    rng = random.Random(8)
    texts = [text for candidate, references in pairs[:150] for text in (candidate, *references)]
    # few and many beside one another, references that repeat, are empty or equal the candidate
    rows = [
        (candidate, [rng.choice([candidate, "", *texts]) for _ in range(rng.choice([1, 7, 8, 9, 30, 120]))])
        for candidate, _ in pairs[:120]
    ]
    theirs = sacrebleu.metrics.BLEU(effective_order=True, tokenize=tokenize)

    measured = bleu(tokenize=tokenize).measure(items(rows))

    for one, (candidate, references) in zip(measured, rows, strict=True):
        expected = theirs.sentence_score(candidate, references)
        assert one.value == pytest.approx(expected.score / 100, abs=1e-9)
        assert one.stats["counts"] == expected.counts


def test_corpus_bleu_is_sacrebleu(pairs):
    import sacrebleu.metrics

    single = [(candidate, references[:1]) for candidate, references in pairs]
    metric = corpus_bleu()

    value = metric.summarise(metric.measure(items(single)))

    expected = sacrebleu.corpus_bleu([one for one, _ in single], [[refs[0] for _, refs in single]])
    assert value == pytest.approx(expected.score / 100, abs=1e-9)


@pytest.mark.parametrize("stemmer", [True, False])
def test_rouge_is_rouge_score(pairs, stemmer):
    from rouge_score.rouge_scorer import RougeScorer

    kinds = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    theirs = RougeScorer(kinds, use_stemmer=stemmer)
    metrics = [make(stemmer=stemmer) for make in (rouge1, rouge2, rouge_l, rouge_lsum)]

    measured = Rouge.together(metrics, items(pairs))

    for row, (candidate, references) in enumerate(pairs):
        expected = theirs.score_multi(references, candidate)
        for kind, column in zip(kinds, measured, strict=True):
            assert column[row].value == pytest.approx(expected[kind].fmeasure, abs=1e-9)
            assert column[row].stats["precision"] == pytest.approx(expected[kind].precision, abs=1e-9)
            assert column[row].stats["recall"] == pytest.approx(expected[kind].recall, abs=1e-9)


class _Lemma:
    def __init__(self, word):
        self._word = word

    def name(self):
        return self._word


class _Synset:
    def __init__(self, words):
        self._words = words

    def lemmas(self):
        return [_Lemma(word) for word in self._words]


class _WordNet:
    """Gives NLTK our table's synonyms, since its own WordNet reader needs files that no package brings."""

    def __init__(self, lookup):
        self._lookup = lookup

    def synsets(self, word):
        return [_Synset(sorted(self._lookup(word)))]


@pytest.mark.parametrize("synonyms", [True, False])
@pytest.mark.parametrize("tokenizer", ["treebank", "whitespace"])
def test_meteor_is_nltk(pairs, tokenizer, synonyms):
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.meteor_score import meteor_score

    from markbook.metrics.text.meteor import synonyms as lookup

    split = NLTKWordTokenizer().tokenize if tokenizer == "treebank" else str.split
    wordnet = _WordNet(lookup if synonyms else lambda word: {word})

    measured = meteor(tokenizer, synonyms=synonyms).measure(items(pairs))

    for one, (candidate, references) in zip(measured, pairs, strict=True):
        expected = meteor_score([split(text) for text in references], split(candidate), wordnet=wordnet)
        assert one.value == pytest.approx(expected, abs=1e-9)


def test_treebank_tokens_are_nltks_on_texts_of_nothing_but_odd_pieces():
    from nltk.tokenize import NLTKWordTokenizer

    from markbook.metrics.text.tokenizers import pieces, tokens

    rng = random.Random(11)
    parts = [
        *("cannot", "Gimme", "gonna", "d'ye", "more'n", "'tis", "'Twas", "wanna", "don't", "he'll", "'s", "a", "3.5"),
        *(
            "1,000",
            ",",
            ".",
            ":",
            ";",
            '"',
            "''",
            "'",
            "' '",
            "``",
            "`",
            "(",
            ")",
            "[",
            "]",
            "--",
            "...",
            "?",
            "!",
            "*",
        ),
        *("\u201c", "\u2019", "\u00ab", "\u2014", " ", "\n", "\t", "g\u0130mme", "gon\u017fna", "%", "x_1", "U.S."),
    ]
    texts = ["".join(rng.choice(parts) + rng.choice(["", " "]) for _ in range(rng.randrange(12))) for _ in range(8000)]
    split = NLTKWordTokenizer().tokenize

    differing = [
        text
        for text in texts
        if [token for piece in tokens(pieces(text)) for token in piece] != [token.lower() for token in split(text)]
    ]

    assert differing == []


@functools.cache
def adversarial(n):
    """Return texts of characters on which `re` and `regex` differ, beside those that the rules look at."""
    import sys
    import unicodedata

    import regex

    rng = random.Random(2026)
    tables = [
        (re.compile(one), regex.compile(other)) for one, other in ((r"\w", r"\w"), (r"\s", r"\s"), (r"\d", r"\d"))
    ]
    letters = "".join(map(chr, range(sys.maxunicode + 1)))
    differing = set().union(*(set(one.findall(letters)) ^ set(other.findall(letters)) for one, other in tables))
    unassigned = {one for one in regex.findall(r"[\p{N}\p{P}\p{S}]", letters) if unicodedata.category(one) == "Cn"}
    odd = sorted(differing | unassigned)
    parts = [
        "'",
        "a",
        "s",
        " ",
        ".",
        ",",
        ":",
        "3",
        '"',
        "''",
        "(",
        "we'd",
        "n't",
        "'ll",
        "\u00bd",
        "\x1c",
        "\u20c4",
        "e\u0301",
    ]

    def text():
        return "".join(
            rng.choice(odd) if rng.random() < 0.35 else rng.choice(parts) for _ in range(rng.randrange(2, 14))
        )

    return [text() for _ in range(n)]


def test_treebank_tokens_are_nltks_where_re_and_regex_differ(part):
    from nltk.tokenize import NLTKWordTokenizer

    from markbook.metrics.text.tokenizers import pieces, tokens

    split = NLTKWordTokenizer().tokenize
    found = {
        text: [token for piece in tokens(pieces(text)) for token in piece] for text in part.of(adversarial(8000), 4)
    }

    assert [text for text, held in found.items() if held != [token.lower() for token in split(text)]] == []


def test_international_bleu_tokens_are_sacrebleus_where_the_tables_differ(part):
    from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International

    from markbook.metrics.text.tokenizers import cutter

    split, ours = TokenizerV14International(), cutter("intl", lowercase=False, keep_end=True)

    assert [text for text in part.of(adversarial(8000), 4) if ours(text) != split(text).split()] == []


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("word", r"\w"),
        ("space", r"\s"),
        ("digit", r"\d"),
        ("number", r"\p{N}"),
        ("mark", r"\p{P}"),
        ("symbol", r"\p{S}"),
    ],
)
def test_the_table_of_character_classes_is_that_of_regex(name, pattern):
    import sys

    import regex

    from markbook.metrics.text.tokenizers import members

    ours, theirs = re.compile(f"[{members(name)}]"), regex.compile(pattern)
    differing = [
        point for point in range(sys.maxunicode + 1) if bool(ours.match(chr(point))) != bool(theirs.match(chr(point)))
    ]

    assert differing == [], "python scripts/build_unicode.py follows a newer regex"


def test_tfidf_is_the_documented_scikit_learn_call(pairs):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    measured = tfidf_cosine().measure(items([(candidate, refs[:1]) for candidate, refs in pairs]))

    for one, (candidate, references) in zip(measured, pairs, strict=True):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                matrix = TfidfVectorizer(stop_words="english", ngram_range=(1, 2)).fit_transform(
                    [candidate, references[0]]
                )
        except ValueError:  # empty vocabulary
            assert one.stats["empty_vocabulary"]
            continue
        assert one.value == pytest.approx(float(cosine_similarity(matrix[0], matrix[1])[0, 0]), abs=1e-9)


def test_tfidf_of_a_corpus_is_scikit_learn_fitted_once(pairs):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    some = [(candidate, refs[:1]) for candidate, refs in pairs[:300]]

    measured = tfidf_cosine_corpus().measure(items(some))

    texts = [candidate for candidate, _ in some] + [refs[0] for _, refs in some]
    matrix = TfidfVectorizer(stop_words="english", ngram_range=(1, 2)).fit_transform(texts)
    for i, one in enumerate(measured):
        if "empty_vocabulary" not in one.stats:
            expected = float(cosine_similarity(matrix[i], matrix[len(some) + i])[0, 0])
            assert one.value == pytest.approx(expected, abs=1e-9)


def test_edit_distance_is_rapidfuzz(pairs):
    from rapidfuzz.distance import Levenshtein

    measured = edit_distance().measure(items(pairs))

    for one, (candidate, references) in zip(measured, pairs, strict=True):
        expected = min(Levenshtein.normalized_distance(candidate, reference) for reference in references)
        assert one.value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alphabet", ["ab", "abcdefgh \n", "".join(map(chr, range(0x4E00, 0x4F00)))])
def test_edit_distance_of_long_texts_is_rapidfuzz_however_much_they_differ(alphabet):
    from rapidfuzz.distance import Levenshtein

    rng = random.Random(5)
    long = []
    for share in (0, 0.01, 0.05, 0.2, 0.5, 1) * 20:
        reference = "".join(rng.choices(alphabet, k=rng.randrange(60, 900)))
        edited = (rng.choice(alphabet) * rng.choice([0, 1, 2]) if rng.random() < share else one for one in reference)
        long.append(("".join(edited), [reference]))

    measured = edit_distance().measure(items(long))

    expected = [Levenshtein.distance(candidate, reference) for candidate, (reference,) in long]
    assert [one.stats["edits"] for one in measured] == expected


def test_the_stemmer_is_nltks_on_every_word_of_the_table_and_on_made_up_ones():
    from nltk.stem.porter import PorterStemmer

    from markbook.metrics.text.porter import stem

    table = resources.files("markbook.metrics.text").joinpath("data", "synonyms.tsv").read_text("ascii")
    words = [line.split("\t")[0] for line in table.splitlines()]
    rng = random.Random(7)
    endings = [
        "ed",
        "ing",
        "ies",
        "s",
        "ly",
        "ness",
        "ational",
        "izer",
        "bli",
        "alli",
        "logi",
        "fulli",
        "ied",
        "eed",
        "y",
        "ll",
        "*ding",
    ]
    made_up = [rng.choice(words)[: rng.randrange(1, 9)] + rng.choice(endings) for _ in range(20_000)]
    theirs = PorterStemmer()

    differing = [word for word in words[::3] + made_up if stem(word) != theirs.stem(word)]

    assert differing == []
