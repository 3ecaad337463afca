"""`markbook judge check`: one judge examined on reviews whose writers' own scores are known."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from markbook import plugins
from markbook.errors import DataError
from markbook.files.folders import check_readable
from markbook.judge.marked_texts import read_earlier
from markbook.judge.panel import JudgeOptions
from markbook.judge.probes import KnownText
from markbook.judge.reliability import REVIEWS, Examined, examine, five_point
from markbook.load.peerread.papers import EntryKind, Paper
from markbook.runs.reviews.config import ReviewConfig, default_config
from markbook.runs.reviews.judge import make_plan

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """Which judge to examine, on what."""

    judge: str
    papers: Path
    reviews: Path | None = None
    """Generated reviews: then pairs of systems tell a preference for the judge's own family."""
    options: JudgeOptions = field(default_factory=JudgeOptions)
    config: ReviewConfig = field(default_factory=default_config)
    limit: int = 40
    """The most human reviews, taken evenly over the papers."""
    pairs: int = 30
    before: Path | None = None
    """The report of an earlier check, to tell the drift from."""


def check_judge(request: CheckRequest) -> Examined:
    """Return the reliability report of a judge.

    Raises:
        DataError: no human review with text is there.
        UsageError: a judge that cannot be used.
        ExtraMissingError: the `judge` extra is not installed.
    """
    before = None if request.before is None else read_earlier(request.before)
    check_readable(request.papers)
    papers = plugins.create("loaders", "peerread").load(request.papers)
    reviews = choose([_human(paper) for paper in papers.papers], request.limit)
    if not reviews:
        raise DataError("there is no human review with text to examine the judge on", at=str(request.papers))
    if request.reviews is not None:
        check_readable(request.reviews)
        generated = plugins.create("loaders", "generated_reviews").load(request.reviews)
        reviews += [
            KnownText(attempt.sample_id, attempt.text, system=attempt.model)
            for attempt in spread(list(generated.attempts), request.limit)
        ]
    plan = make_plan((request.judge,), request.config, request.options)
    return asyncio.run(examine(plan, reviews, REVIEWS, pairs=request.pairs, before=before))


def choose(by_paper: Sequence[Sequence[KnownText]], most: int) -> list[KnownText]:
    """Return at most `most` reviews, evenly over the papers and at least two of each, so that there are pairs."""
    several = [reviews for reviews in by_paper if len(reviews) > 1] or [reviews for reviews in by_paper if reviews]
    if not several:
        return []
    per_paper = max(2, -(-most // len(several)))
    papers_chosen = spread(several, max(1, most // per_paper))
    return [review for reviews in papers_chosen for review in reviews[:per_paper]][:most]


def _human(paper: Paper) -> list[KnownText]:
    return [
        KnownText(
            paper.id,
            entry.text,
            None
            if entry.recommendation is None or paper.scale is None
            else five_point(entry.recommendation, paper.scale),
        )
        for entry in paper.entries
        if entry.kind is EntryKind.HUMAN
    ]


def spread(items: Sequence[_T], most: int) -> list[_T]:
    """Return at most `most` of the items, evenly over their order.

    >>> spread([0, 1, 2, 3, 4, 5], 3)
    [0, 2, 4]
    """
    if len(items) <= most:
        return list(items)
    return [items[index * len(items) // most] for index in range(most)]
