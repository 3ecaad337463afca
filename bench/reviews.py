"""Tier 1 over 1,000 review pairs, beside the documented code run as it is written, in one process and one run.

The documented code fits a new TfidfVectorizer for each pair and builds two sets; both sides compute cosine and Jaccard.
Texts are human reviews where real ones lie beside the checkout, else made ones of the same length.

    python -m bench.reviews [pairs]
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path

from markbook.datasets.papers import PeerRead
from markbook.errors import DataError
from markbook.runs.reviews.config import default_config
from markbook.runs.reviews.tiers import Similarities

ROUNDS = 3


def documented(pairs):
    """Run the document's two functions, word for word."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    found = []
    for text1, text2 in pairs:
        vectorizer = TfidfVectorizer(stop_words="english", ngram_range=(1, 2))
        tfidf_matrix = vectorizer.fit_transform([text1, text2])
        similarity = cosine_similarity(tfidf_matrix[0:1], tfidf_matrix[1:2])
        words1 = set(text1.lower().split())
        words2 = set(text2.lower().split())
        intersection = len(words1.intersection(words2))
        union = len(words1.union(words2))
        found.append((float(similarity[0][0]), intersection / union if union > 0 else 0.0))
    return found


def ours(pairs):
    from dataclasses import replace

    similarities = Similarities(replace(default_config(), similarity=("cosine", "jaccard")))
    return [(row["cosine"], row["jaccard"]) for row in similarities.measure(pairs)]


def human_texts():
    """Return real human reviews, or made ones."""
    folder = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "peerread-format"
    try:
        texts = [entry.text for paper in PeerRead().load(folder).papers for entry in paper.human]
    except DataError:
        rng = random.Random(0)
        words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 10))) for _ in range(4000)]
        return [" ".join(rng.choices(words, k=rng.randint(200, 700))) for _ in range(200)], "made"
    return texts, "real"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    texts, kind = human_texts()
    rng = random.Random(1)
    # As a run meets them: each generated review against the few human reviews of its paper.
    pairs = [(texts[number // 4 % len(texts)], rng.choice(texts)) for number in range(count)]
    documented(pairs[:5])
    ours(pairs[:5])
    times: dict[str, list[float]] = {"documented": [], "markbook": []}
    for _ in range(ROUNDS):
        for name, run in (("documented", documented), ("markbook", ours)):
            start = time.perf_counter()
            found = run(pairs)
            times[name].append(time.perf_counter() - start)
            if name == "documented":
                expected = found
    worst = max(abs(a - b) for one, other in zip(expected, found, strict=True) for a, b in zip(one, other, strict=True))
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"{count} pairs of {kind} reviews, {statistics.mean(map(len, texts)):.0f} characters on average")
    for name, seconds in medians.items():
        print(
            f"{name:11} {seconds:8.3f} s   {count / seconds:8.0f} pairs/s   rounds {min(times[name]):.3f}-{max(times[name]):.3f} s"
        )
    print(f"ratio {medians['documented'] / medians['markbook']:.1f} x, largest difference of a value {worst:.1e}")


if __name__ == "__main__":
    main()
