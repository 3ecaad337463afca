"""From a review run's journal to its rows and summary: pure, so a finished run is scored again without measuring anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from markbook.errors import DataError
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.reviews.scoring.records import ReviewRow, ReviewSummary
from markbook.runs.reviews.scoring.rows import JournaledReview, row_of
from markbook.runs.reviews.scoring.summary import add_label_stability, summarise
from markbook.runs.reviews.scoring.yardstick import Yardstick, measure_yardstick, percentile
from markbook.runs.reviews.tiers import from_json
from markbook.store import Run
from markbook.types import Missing

Key = tuple[str | int, ...]
Rows = Callable[[str], Iterator[Any]]


class HumanRecord(TypedDict):
    """What a journal keeps of a paper's human reviews."""

    reviews: int
    pairs: list[dict[str, float | dict[str, str]]]
    """For each pair of two reviews its similarities, or the reasons for having none."""


def read_journal(rows: Rows) -> tuple[list[JournaledReview], dict[str, HumanRecord]]:
    """Return what a journal keeps of each review, in order of paper, system and index, and of human pairs."""
    kept: dict[Key, JournaledReview] = {}

    def at(key: Key) -> JournaledReview:
        paper, system, index = str(key[0]), str(key[1]), int(key[2])
        return kept.setdefault((paper, system, index), JournaledReview(paper, system, index))

    for row in rows("tier1"):
        at(row.key).tier1 = row.data
    for kind in ("tier3_gap", "tier3"):
        for row in rows(kind):
            at(row.key).tier3 = row.data
    for row in rows("unanswerable"):
        at(row.key).unanswerable = row.data
    answered: set[Key] = set()
    for kind in ("judgement", "judgement_gap"):
        for row in rows(kind):
            if row.key not in answered:
                answered.add(row.key)
                at(row.key).judgements.append(row.data)
    ordered = sorted(kept.values(), key=lambda item: (item.paper_id, item.system, item.index))
    for item in ordered:
        # Answers arrive in any order; the reports must not show it.
        item.judgements.sort(key=lambda row: (row["rubric"], row["model"], row["sample"], row["part"]))
    return ordered, {str(row.key[0]): row.data for row in rows("human")}


def systems_of(run: Run) -> list[str]:
    """Return the systems that a run has measured anything of, by name."""
    kept, _ = read_journal(run.rows)
    return sorted({item.system for item in kept})


def score(
    kept: Sequence[JournaledReview],
    human: Mapping[str, HumanRecord],
    config: ReviewConfig,
    papers: Sequence[str],
    *,
    judge_asked: bool,
    models: Sequence[str],
) -> tuple[list[ReviewRow], ReviewSummary]:
    """Return the rows and the summary of what was kept. Pure and idempotent."""
    yardstick = _yardstick(human, config)
    config, threshold_from = _calibrated(config, yardstick)
    rows = [row_of(item, config, judge_asked=judge_asked, models=models) for item in kept]
    add_label_stability(rows, config)
    summary = summarise(rows, config, papers=papers, yardstick=yardstick, threshold_from=threshold_from)
    return rows, summary


def _yardstick(human: Mapping[str, HumanRecord], config: ReviewConfig) -> Yardstick:
    papers = []
    for record in (human[paper] for paper in sorted(human)):
        pairs: list[dict[str, float | Missing]] = [
            {name: from_json(value) for name, value in row.items()} for row in record["pairs"]
        ]
        papers.append((record["reviews"], pairs))
    return measure_yardstick(papers, config.active_similarity())


def _calibrated(config: ReviewConfig, yardstick: Yardstick) -> tuple[ReviewConfig, str]:
    if config.calibrate is None:
        return config, "the configuration" if config.threshold != 0.8 else "the document"
    if not yardstick.combined:
        raise DataError(
            "the threshold cannot be calibrated: no paper has two human reviews with every similarity",
            hint="leave out what is not available with --similarity cosine,jaccard",
        )
    threshold = percentile(yardstick.combined, config.calibrate)
    source = (
        f"percentile {config.calibrate:g} of {len(yardstick.combined)} human reviews against their closest other one"
    )
    return replace(config, threshold=threshold), source
