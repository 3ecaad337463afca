"""From a review run's journal to its rows and summary: pure, so a finished run is scored again without measuring anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

from markbook.errors import DataError
from markbook.measurements import MissingRecord
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.reviews.scoring.records import ReviewRow, ReviewSummary
from markbook.runs.reviews.scoring.rows import JournaledReview, row_of
from markbook.runs.reviews.scoring.summary import add_label_stability, summarise
from markbook.runs.reviews.scoring.yardstick import Yardstick, measure_yardstick, percentile
from markbook.runs.reviews.tiers import from_json
from markbook.store import Run
from markbook.text import cut
from markbook.text.schema import check_of
from markbook.types import Missing

Key = tuple[str | int, ...]
Rows = Callable[[str], Iterator[Any]]


class HumanRecord(TypedDict):
    """What a journal keeps of a paper's human reviews."""

    reviews: int
    pairs: list[dict[str, float | MissingRecord]]
    """For each pair of two reviews its similarities, or the reasons for having none."""


class Tier1Measured(TypedDict, total=False):
    """What a journal keeps of a review's text and time."""

    references: list[dict[str, float | MissingRecord]]
    reason: MissingRecord
    seconds: float | None
    recommendation: Any
    recommendation_scale: list[float] | None
    human_recommendations: list[float]
    scale: list[float] | None
    accepted: bool | None


class Tier3Measured(TypedDict, total=False):
    """What a journal keeps of a trace, beside what is told of it."""

    metrics: dict[str, float | MissingRecord]
    reason: MissingRecord
    seconds: float | None


class Judgement(TypedDict):
    """What a journal keeps of a judge's answer, beside the answer itself (`judge.client.from_record`)."""

    rubric: str
    model: str
    sample: int
    part: int
    chars: int
    coverage: float
    weighted: NotRequired[dict[str, list[float]] | None]
    quotes: NotRequired[int]
    quotes_found: NotRequired[int]
    cost: NotRequired[float | None]


_HELD: Mapping[str, Any] = {
    "tier1": Tier1Measured,
    "tier3": Tier3Measured,
    "tier3_gap": Tier3Measured,
    "unanswerable": dict[str, MissingRecord],
    "judgement": Judgement,
    "judgement_gap": Judgement,
    "human": HumanRecord,
}
"""What a row of each kind is held against: a journal may come from anybody, and a checksum only says that it is whole."""


def read_journal(journaled: Rows) -> tuple[list[JournaledReview], dict[str, HumanRecord]]:
    """Return what a journal keeps of each review, in order of paper, system and index, and of human pairs.

    Raises:
        DataError: a row of it is not one of a review.
    """
    reviews: dict[Key, JournaledReview] = {}

    def rows(kind: str) -> Iterator[Any]:
        check = check_of(_HELD[kind])
        size = 1 if kind == "human" else 3
        for row in journaled(kind):
            if len(row.key) < size or (size == 3 and type(row.key[2]) is not int):
                raise DataError(f"the journal is damaged: {cut(str(row.key), 80)} is not the key of a {kind}")
            if (place := check(row.data)) is not None:
                where = f"{kind} of {cut(', '.join(map(str, row.key)), 80)}"
                raise DataError(
                    f"the journal is damaged: {cut(place.removeprefix('.'), 80)!r} in the {where} is not what stands there"
                )
            yield row

    def at(key: Key) -> JournaledReview:
        paper, system, index = str(key[0]), str(key[1]), int(key[2])
        return reviews.setdefault((paper, system, index), JournaledReview(paper, system, index))

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
    ordered = sorted(reviews.values(), key=lambda item: (item.paper_id, item.system, item.index))
    for item in ordered:
        # Answers arrive in any order; the reports must not show it.
        item.judgements.sort(key=lambda row: (row["rubric"], row["model"], row["sample"], row["part"]))
    return ordered, {str(row.key[0]): row.data for row in rows("human")}


def systems_of(run: Run) -> list[str]:
    """Return the systems that a run has measured anything of, by name."""
    reviews, _ = read_journal(run.rows)
    return sorted({item.system for item in reviews})


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
    config, threshold_from = _calibrate(config, yardstick)
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


def _calibrate(config: ReviewConfig, yardstick: Yardstick) -> tuple[ReviewConfig, str]:
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
