"""What a review will do: its options, and its inputs read and checked before anything is written or asked."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from markbook import plugins
from markbook.files.folders import check_readable
from markbook.files.jsonl import Rejection
from markbook.judge.panel import JudgeOptions, JudgePlan
from markbook.load.peerread.generated import Generated
from markbook.load.peerread.papers import Papers
from markbook.runs.kind import Planned, Skipped
from markbook.runs.options import RunOptions, RunSettings, aside
from markbook.runs.reviews.config import ReviewConfig, default_config
from markbook.runs.reviews.judge import make_plan
from markbook.runs.reviews.tiers import tool_references
from markbook.store import Manifest
from markbook.text import terminal
from markbook.trace import Reference
from markbook.types import Attempt

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequest(RunOptions):
    """What to evaluate, and how. `workers` compare texts and read traces; judges are asked beside them in any case."""

    papers: Path
    reviews: Path
    traces: Path | None = aside(None)
    config: ReviewConfig = field(default_factory=default_config)
    judges: Sequence[str] = aside(())
    judge_options: JudgeOptions = field(default_factory=JudgeOptions)
    limit: int | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What the caller asked for, by the names of the command's options: kept for whoever goes on with the run."""

    def identity(self) -> dict[str, object]:
        """Return the options that can change a result; what of the judges can is in their plan."""
        return {"review": self.config.as_record(), "limit": self.limit}


class ReviewSettings(RunSettings, total=False):
    """The fields of `ReviewRequest` as keyword arguments of `review`, but for those that it names itself."""

    limit: int | None
    reports: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPlan(Planned):
    """What is about to be evaluated."""

    request: ReviewRequest
    papers: Papers
    attempts: Sequence[Attempt]
    judging: JudgePlan | None
    """Who is asked, and how; None for nobody."""
    references: Mapping[str, Reference]
    """Which tools are right, by paper."""


def plan_review(request: ReviewRequest) -> ReviewPlan:
    """Read papers and generated reviews, and find out whether the judges can be asked.

    Raises:
        DataError: no paper or no generated review can be read.
        UsageError: a judge or config that cannot be used.
    """
    for path in (request.papers, request.reviews):
        check_readable(path)
    papers: Papers = plugins.create("loaders", "peerread").load(request.papers)
    generated: Generated = plugins.create("loaders", "generated_reviews").load(request.reviews)
    attempts = generated.attempts[: request.limit]
    rejections = (*papers.rejections, *generated.rejections)
    _log_inputs(request, papers, attempts, rejections)
    judging = None
    if request.judges and not (request.strict and rejections):
        judging = make_plan(request.judges, request.config, request.judge_options, reviews=len(attempts))
    references = tool_references(request.config)
    config = {**request.identity(), "judge": judging.as_record() if judging else None}
    inputs = _inputs(request, papers, generated, references)
    return ReviewPlan(
        manifest=Manifest("review", config, inputs, _notes(request, papers, attempts, rejections)),
        skipped=Skipped(len(rejections), next(iter(rejections), None)),
        request=request,
        papers=papers,
        attempts=attempts,
        judging=judging,
        references=references,
    )


def _inputs(
    request: ReviewRequest, papers: Papers, generated: Generated, references: Mapping[str, Reference]
) -> dict[str, str]:
    inputs = {f"papers/{name}": digest for name, digest in papers.digests.items()}
    inputs |= {f"reviews/{name}": digest for name, digest in generated.digests.items()}
    if request.traces is not None:
        inputs["traces"] = _digest_folder(request.traces)
    if references:
        text = json.dumps({name: asdict(reference) for name, reference in sorted(references.items())}, sort_keys=True)
        inputs["tool_reference"] = hashlib.sha256(text.encode()).hexdigest()
    return inputs


def _notes(
    request: ReviewRequest, papers: Papers, attempts: Sequence[Attempt], rejections: Sequence[Rejection]
) -> dict[str, object]:
    """Return what a reader of run.json wants to know."""
    return {
        "asked": dict(request.asked),
        "papers": dict(papers.counts),
        "paper_notes": {paper.id: list(paper.notes) for paper in papers.papers if paper.notes},
        "unknown_papers": sorted({attempt.sample_id for attempt in attempts} - set(papers.by_id())),
        "config_notes": list(request.config.notes),
        "rejected": [f"{item.at}: {item.reason}" for item in rejections][:1000],
    }


def _digest_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")) if folder.is_dir() else []:
        if file.is_file():
            digest.update(os.fsencode(file.relative_to(folder).as_posix()) + b"\0")
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def _log_inputs(
    request: ReviewRequest, papers: Papers, attempts: Sequence[Attempt], rejections: Sequence[Rejection]
) -> None:
    """Say in the log what was read, what of it is odd, and what the configuration does not use."""
    counts = ", ".join(f"{name} {count}" for name, count in papers.counts.items())
    _log.info("papers from %s: %s", request.papers, counts)
    systems = Counter(attempt.model for attempt in attempts)
    named = ", ".join(f"{terminal(name, limit=60)} {count}" for name, count in sorted(systems.items()))
    _log.info("reviews from %s: %d of %d systems (%s)", request.reviews, len(attempts), len(systems), named)
    for item in rejections:
        _log.info("not read: %s: %s", item.at, item.reason)
    for note in request.config.notes:
        _log.info("%s", note)
    for paper in papers.papers:
        for note in paper.notes:
            _log.debug("paper %s: %s", paper.id, note)
    for attempt in attempts:
        for word in attempt.meta.get("notes", ()):  # type: ignore[attr-defined]  # the loader's tuple
            _log.debug("%s: %s", attempt.source, word)
