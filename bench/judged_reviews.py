"""Human-scored reviews as labels: how often the corrected mean of 100 of them holds the mean of all.

python -m bench.judged_reviews PAPERS [--judge PROVIDER:NAME --base-url URL --cassette FILE] [--labels 100] [--trials 2000]

Every review of a paper whose writer recommended something is an item; its label is that recommendation on 1 to 5, as 0..1.
Without --judge three stand-ins mark them: one that counts words of praise and blame, another reviewer of the same paper,
and a useless one. Each line: the judge's mean beside people's, correlation, coverage of 95 % over draws without replacement
(of the mean of these very reviews; drawing many of few, it errs on the safe side) and from a population that they are a sample
of (each trial draws all anew with replacement), the mean width over that of the labels alone, and how often the judge's own
interval holds people's mean.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np

from markbook import plugins
from markbook.judge.labels import LabelItem, draw
from markbook.judge.reliability import RECOMMENDATION, five_point
from markbook.stats import corrected_mean, t_interval

PRAISE = r"convinc|novel|strong|clear|well[- ]written|solid|interesting|sound|excellent|thorough|accept|significant|impressive"
BLAME = (
    r"unclear|limited|lack|weak|incremental|miss|concern|reject|confus|marginal|insufficient|not convinced|fail|however"
)


def items(folder):
    """Return paper, text and recommendation on 0..1 of every review with both."""
    papers = plugins.create("loaders", "peerread").load(folder).papers
    return [
        (paper.id, entry.text, (five_point(entry.recommendation, paper.scale) - 1) / 4)
        for paper in papers
        if paper.scale is not None
        for entry in paper.entries
        if entry.recommendation is not None and entry.text.strip()
    ]


def word_counter(found):
    """Mark a text by its words of praise and blame."""
    ratio = [
        (1 + len(re.findall(PRAISE, text, re.IGNORECASE)))
        / (2 + len(re.findall(f"{PRAISE}|{BLAME}", text, re.IGNORECASE)))
        for _, text, _ in found
    ]
    return np.round(np.clip(ratio, 0, 1) * 4) / 4


def another_reviewer(found):
    """Mark a review as the next one of the same paper does, a quarter too kindly."""
    by_paper = {}
    for at, (paper, _, _) in enumerate(found):
        by_paper.setdefault(paper, []).append(at)
    scores = np.zeros(len(found))
    for several in by_paper.values():
        for place, at in enumerate(several):
            scores[at] = min(1.0, found[several[(place + 1) % len(several)]][2] + 0.25)
    return scores


def asked(found, args):
    """Ask a real judge."""
    from markbook import measure

    metric = {"rubric": RECOMMENDATION, "models": args.judge, "base_url": args.base_url, "cassette": args.cassette}
    said = measure("judge", [text for _, text, _ in found], **metric)
    lost = [place for place, one in enumerate(said) if one.value is None]
    for place in reversed(lost):
        del found[place]
    print(f"{len(lost)} reviews have no mark")
    return np.array([one.value for one in said if one.value is not None])


def trial(rng, scores, labels, count, anew):
    """Return the estimate of one draw, and the width of the labels alone."""
    at = rng.integers(0, len(scores), len(scores)) if anew else np.arange(len(scores))
    known = set(rng.choice(len(scores), count, replace=False).tolist())
    given = [float(labels[one]) if place in known else None for place, one in enumerate(at)]
    found = corrected_mean(scores[at], given)
    alone = t_interval([one for one in given if one is not None])
    return found, alone.high - alone.low


def useful(seed, scores, labels, count):
    """Return the estimate of one draw as `markbook label` makes it."""
    drawn = draw([LabelItem(str(at), score=float(score)) for at, score in enumerate(scores)], count, seed=seed)
    chances = {int(one.item.id): one.probability for one in drawn}
    given = [float(label) if at in chances else None for at, label in enumerate(labels)]
    return corrected_mean(scores, given, probabilities=[chances.get(at, 1.0) for at in range(len(labels))])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", type=Path)
    parser.add_argument("--judge", default="")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--cassette", type=Path)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--trials", type=int, default=2000)
    args = parser.parse_args()
    found = items(args.papers)
    rng = np.random.default_rng(0)
    if args.judge:
        judges = {args.judge: asked(found, args)}
    else:
        judges = {
            "counts words": word_counter(found),
            "another reviewer": another_reviewer(found),
            "useless": rng.integers(0, 5, len(found)) / 4,
        }
    labels = np.array([label for _, _, label in found])
    truth = labels.mean()
    print(f"{len(found)} reviews of {len({paper for paper, _, _ in found})} papers, people's mean {truth:.4f}")
    print("judge              its mean     r  coverage: these  population  as drawn by label   width  judge alone")
    for name, scores in judges.items():
        own = t_interval(scores.tolist())
        hits, widths, alone = [0, 0, 0], [], []
        for seed in range(args.trials):
            for place, anew in enumerate((False, True)):
                one, plain = trial(rng, scores, labels, args.labels, anew)
                hits[place] += one.low <= truth <= one.high
                if anew:
                    widths.append(one.high - one.low)
                    alone.append(plain)
            one = useful(seed, scores, labels, args.labels)
            hits[2] += one.low <= truth <= one.high
        share = [f"{100 * hit / args.trials:5.1f}%" for hit in hits]
        r = float(np.corrcoef(scores, labels)[0, 1])
        print(
            f"{name:<18} {scores.mean():7.4f}  {r:5.2f}          {share[0]}      {share[1]}             {share[2]}   "
            f"{np.mean(widths) / np.mean(alone):5.2f}  {'holds' if own.low <= truth <= own.high else 'misses'}"
        )


if __name__ == "__main__":
    main()
