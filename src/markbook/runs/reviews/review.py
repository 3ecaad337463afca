"""A run of reviews: planned, judges checked, measured, judged, scored.

Theory of operation
-------------------
Generated peer reviews are measured in three tiers: 1 similarity to human reviews of the same paper, 2 language models as
judges, 3 the trace of the agents that wrote them. `plan_review` reads papers and reviews and finds out whether the judges
can be asked. `ReviewWork` runs the tiers beside one another: traces first, because a judge may read what the agents did, then
each review is given to the judges as soon as its trace is known, and texts are compared while the judges think.

The journal keeps what was measured (similarity per reference, judges' raw answers, trace metrics), under the key (paper,
system, number of the review), not what follows from it. Every number of the reports is computed from these rows by
`summary.score`. So a run can be resumed at any point, and scored again with other weights at no cost (`finished.rescore`).
What failed for a reason of ours goes under a kind of its own (`judgement_gap`, `tier3_gap`): it is shown, and tried again.
A budget counts both kinds, because what brought nothing has cost something too.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from markbook import plugins
from markbook.datasets.generated_reviews import Generated
from markbook.datasets.papers import EntryKind, Paper, Papers
from markbook.errors import DataError, UsageError
from markbook.files.content import check_readable
from markbook.files.jsonl import Rejection
from markbook.judge.assess import JudgeInput, JudgeQuestion, find_unreadable_rubrics, make_review_questions
from markbook.judge.client import Judged
from markbook.judge.judge_options import JUDGE_ADDRESSES, JudgeOptions
from markbook.judge.panel import JudgePlan, JudgeWork, PanelSession, check_plan, plan_panel
from markbook.judge.probes import KnownText
from markbook.judge.reliability import REVIEWS, Examined, examine, five_point, read_earlier, spread_evenly
from markbook.model import connect
from markbook.model.budget import AccountRecord
from markbook.results.files import collect_reasons
from markbook.runs.asking import sum_paid
from markbook.runs.kind import Planned, Progress, Skipped, Start, Watcher, WorkEnd
from markbook.runs.reviews.config import ReviewConfig, default_config
from markbook.runs.reviews.config_file import resolve_config
from markbook.runs.reviews.reports import reports
from markbook.runs.reviews.review_options import ReviewOptions
from markbook.runs.reviews.review_rows import ReviewRow, Tier
from markbook.runs.reviews.summary import read_journal, score
from markbook.runs.reviews.tiers import (
    Similarities,
    TraceFolder,
    human_rows,
    reference_for,
    tier1_rows,
    tier3_rows,
    to_json,
    tool_references,
    useless_references,
)
from markbook.store import Manifest, RunWriter
from markbook.text import terminal
from markbook.trace import Reference
from markbook.types import Attempt, Key, MissingKind, digest_text

# Tier 2: the plan for a run's judges, with what its configuration says where the caller says nothing.


def make_plan(models: Sequence[str], config: ReviewConfig, options: JudgeOptions, *, reviews: int = 0) -> JudgePlan:
    """Return the plan for these judges; what is not said comes from the configuration.

    The number of reviews turns the configuration's budget a review into the run's.

    Raises:
        UsageError: as `plan_panel` and `check_plan`.
        ExtraMissingError: as `check_plan`.
    """
    plan = plan_panel(
        models,
        options,
        seed=config.seed,
        retries=config.max_retries,
        seconds=config.judge_seconds,
        profile=config.profile,
    )
    prices = [connect.find_price(model, plan.address(model), plan.price) for model in plan.settings.models]
    if options.max_cost is None and config.cost_per_review is not None and reviews and None not in prices:
        # A judge of unknown price cannot be held to a budget, so the configuration's default applies only where all
        # prices are known.
        plan = replace(plan, patience=replace(plan.patience, max_cost=config.cost_per_review * reviews))
    check_plan(plan)
    return plan


# `markbook judge check`: one judge examined on reviews whose writers' own scores are known.


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
    by_paper = []
    for paper in papers.papers:
        entries = [entry for entry in paper.entries if entry.kind is EntryKind.HUMAN]
        marks = [
            None
            if entry.recommendation is None or paper.scale is None
            else five_point(entry.recommendation, paper.scale)
            for entry in entries
        ]
        by_paper.append([KnownText(paper.id, entry.text, mark) for entry, mark in zip(entries, marks, strict=True)])
    reviews = choose(by_paper, request.limit)
    if not reviews:
        raise DataError("there is no human review with text to examine the judge on", at=str(request.papers))
    if request.reviews is not None:
        check_readable(request.reviews)
        generated = plugins.create("loaders", "generated_reviews").load(request.reviews)
        reviews += [
            KnownText(attempt.sample_id, attempt.text, system=attempt.model)
            for attempt in spread_evenly(generated.attempts, request.limit)
        ]
    plan = make_plan((request.judge,), request.config, request.options)
    return asyncio.run(examine(plan, reviews, REVIEWS, pairs=request.pairs, before=before))


def choose(by_paper: Sequence[Sequence[KnownText]], most: int) -> list[KnownText]:
    """Return at most `most` reviews, evenly over the papers and at least two of each, so that there are pairs."""
    several = [reviews for reviews in by_paper if len(reviews) > 1] or [reviews for reviews in by_paper if reviews]
    if not several:
        return []
    # Rounded up: enough of each paper that all of them together come to `most`.
    per_paper = max(2, -(-most // len(several)))
    papers_chosen = spread_evenly(several, max(1, most // per_paper))
    return [review for reviews in papers_chosen for review in reviews[:per_paper]][:most]


# What a review will do: its options, and its inputs read and checked before anything is written or asked.

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPlan(Planned):
    """What is about to be evaluated."""

    options: ReviewOptions
    config: ReviewConfig
    papers: Papers
    attempts: Sequence[Attempt]
    traces: TraceFolder
    judging: JudgePlan | None
    """Who is asked, and how; None for nobody."""
    references: Mapping[str, Reference]
    """Which tools are right, by paper."""


def plan_review(options: ReviewOptions) -> ReviewPlan:
    """Read papers and generated reviews, and find out whether the judges can be asked.

    Raises:
        DataError: no paper or no generated review can be read.
        ConfigError: a configuration that cannot be honoured.
        UsageError: a judge that cannot be used, traces that are not a folder, neither papers nor reviews.
    """
    # Not left to click: with --resume both come from the run, and --rescore needs neither.
    if options.papers is None or options.reviews is None:
        raise UsageError("--papers and --reviews are needed", hint="or --resume RUN or --rescore RUN alone")
    config = resolve_config(options)
    for path in (options.papers, options.reviews):
        check_readable(path)
    papers: Papers = plugins.create("loaders", "peerread").load(options.papers)
    generated: Generated = plugins.create("loaders", "generated_reviews").load(options.reviews)
    attempts = generated.attempts[: options.limit]
    rejections = (*papers.rejections, *generated.rejections)
    _log_inputs(options, config, papers, attempts, rejections)
    traces = TraceFolder(options.traces)
    judges, judging = [name for name in options.judges if name != "off"], None
    # A run that `--strict` is about to refuse tries no judge first.
    if judges and not (options.strict and rejections):
        judging = make_plan(judges, config, options.judging, reviews=len(attempts))
    references = tool_references(config)
    identity: dict[str, object] = {
        "review": config.as_record(),
        "limit": options.limit,
        "judge": judging and judging.as_record(),
    }
    if judging:
        identity[JUDGE_ADDRESSES] = judging.list_addresses()
    inputs = {f"papers/{name}": digest for name, digest in papers.digests.items()}
    inputs |= {f"reviews/{name}": digest for name, digest in generated.digests.items()}
    if options.traces is not None:
        content = hashlib.sha256()
        for file in sorted(options.traces.rglob("*")):
            if file.is_file():
                # The name ends in a byte that no name can hold, and a digest has one length: no two folders give the
                # same bytes.
                content.update(os.fsencode(file.relative_to(options.traces).as_posix()) + b"\0")
                with file.open("rb") as stream:
                    content.update(hashlib.file_digest(stream, "sha256").digest())
        inputs["traces"] = content.hexdigest()
    if references:
        text = json.dumps({name: asdict(reference) for name, reference in sorted(references.items())}, sort_keys=True)
        inputs["tool_reference"] = digest_text(text)
    notes = {
        "asked": options.asked(),
        "papers": dict(papers.counts),
        "paper_notes": {paper.id: list(paper.notes) for paper in papers.papers if paper.notes},
        "unknown_papers": sorted({attempt.sample_id for attempt in attempts} - set(papers.by_id())),
        "config_notes": list(config.notes),
        "rejected": [f"{item.at}: {item.reason}" for item in rejections][:1000],
    }
    return ReviewPlan(
        manifest=Manifest("review", identity, inputs, notes, recent=(JUDGE_ADDRESSES,)),
        skipped=Skipped(len(rejections), next(iter(rejections), None)),
        options=options,
        config=config,
        papers=papers,
        attempts=attempts,
        traces=traces,
        judging=judging,
        references=references,
    )


def _log_inputs(
    options: ReviewOptions,
    config: ReviewConfig,
    papers: Papers,
    attempts: Sequence[Attempt],
    rejections: Sequence[Rejection],
) -> None:
    """Say in the log what was read, what of it is odd, and what the configuration does not use."""
    counts = ", ".join(f"{name} {count}" for name, count in papers.counts.items())
    _log.info("papers from %s: %s", options.papers, counts)
    systems = Counter(attempt.model for attempt in attempts)
    named = ", ".join(f"{terminal(name, limit=60)} {count}" for name, count in sorted(systems.items()))
    _log.info("reviews from %s: %d of %d systems (%s)", options.reviews, len(attempts), len(systems), named)
    for item in rejections:
        _log.info("not read: %s: %s", item.at, item.reason)
    for note in config.notes:
        _log.info("%s", note)
    for paper in papers.papers:
        for note in paper.notes:
            _log.debug("paper %s: %s", paper.id, note)
    for attempt in attempts:
        for word in attempt.meta.get("notes", ()):  # type: ignore[attr-defined]  # the loader's tuple
            _log.debug("%s: %s", attempt.source, word)


# What a review run says in its log.


def log_answer(key: Key, judged: Judged) -> None:
    """Say what became of a question to a judge: an answer at debug level, a missing one at info."""
    paper, system, _index, rubric, model, part, sample = key
    ended = "answered" if judged.missing is None else f"missing ({judged.missing.kind}: {judged.missing.detail})"
    _log.log(
        logging.DEBUG if judged.missing is None else logging.INFO,
        "%s on %s of %s by %s, part %s, sample %s: %s after %d requests, %.2f s, %d and %d tokens%s",
        terminal(str(model), limit=60),
        rubric,
        terminal(str(paper), limit=60),
        terminal(str(system), limit=60),
        part,
        sample,
        terminal(ended, limit=400),
        judged.requests,
        judged.seconds,
        judged.input_tokens,
        judged.output_tokens,
        ", from the cassette" if judged.replayed else "",
    )


# How long each tier of a review run took.


class TierTime(TypedDict):
    """How long a tier took, beside its target."""

    seconds: float
    seconds_per_review: float
    target: float | None
    met: bool


@dataclass(slots=True)
class Clock:
    """How long each tier took. Tiers run beside one another, so the whole takes less than their sum."""

    start: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Add what is done within to a tier's time."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - start)

    def add(self, name: str, seconds: float) -> None:
        """Add seconds to a tier's time."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        _log.info("%s took %.3f s", name, seconds)

    def report(self, reviews: int, targets: Mapping[str, float]) -> dict[str, TierTime]:
        """Return the time of each tier for one review beside its documented target."""
        seconds_by_tier = {**self.seconds, "total": time.perf_counter() - self.start}
        return {
            name: {
                "seconds": round(seconds, 6),
                "seconds_per_review": round(seconds / max(1, reviews), 6),
                "target": targets.get(name),
                "met": name not in targets or seconds / max(1, reviews) <= targets[name],
            }
            for name, seconds in seconds_by_tier.items()
        }


PAPERS_TOGETHER = 32
"""Papers measured together: enough for every worker, few enough that their texts' vectors fit into memory."""
_NAMED = 5


class ReviewWork:
    """The work of one run: `measure` what is not measured and ask the judges what is not answered, then `finish`."""

    def __init__(self, plan: ReviewPlan, journal: RunWriter, executor: Executor | None, watch: Watcher) -> None:
        self.plan, self.writer, self.watch, self.executor = plan, journal, watch, executor
        self.judging, self.papers, self.attempts, self.config = plan.judging, plan.papers, plan.attempts, plan.config
        self.known = plan.papers.by_id()
        self.similarities = Similarities(self.config, executor)
        self.clock = Clock()
        self.accounts: dict[str, AccountRecord] = {}
        self._sections: dict[str, list[str]] = {}

    def measure(self) -> None:
        """Measure all tiers side by side: while judges think, traces are read and texts compared."""
        judged = self.judging is not None and 2 in self.config.tiers
        done = sum(self.writer.has("tier1", self._key(attempt)) for attempt in self.attempts)
        self.watch.on_start(self.writer.folder, Start(len(self.attempts), done, done, f"{len(self.attempts)} reviews"))
        # Judges think for seconds where texts take milliseconds: everything else is done while they are asked.
        with self._asking() if judged else contextlib.nullcontext() as asking:
            start = time.perf_counter()
            if 3 in self.config.tiers or judged:
                with self.clock.measure("tier3"):
                    self._tier3(self.plan.traces, asking)
            if 1 in self.config.tiers:
                self._tier1(asking)
            if asking is not None:
                self.accounts = asking.finish()
                self.clock.add("tier2", time.perf_counter() - start)

    def finish(self) -> WorkEnd:
        """Return the files and what run.json says, made from the journal."""
        reviews, human = read_journal(self.writer.rows)
        models = self.judging.settings.models if self.judging else ()
        paper_ids = [paper.id for paper in self.papers.papers]
        rows, summary = score(
            reviews, human, self.config, paper_ids, judge_asked=self.judging is not None, models=models
        )
        _log.info("%d reviews scored; report in %s", len(rows), self.writer.folder)
        incomplete = self._incomplete(rows)
        for line in incomplete:
            _log.info("incomplete: %s", line)
        facts = {
            "performance": self.clock.report(len(self.attempts), self.config.targets),
            "judge_account": self.accounts,
            "similarity": self.similarities.signatures,
            "incomplete": incomplete,
            "papers_read": paper_ids,
            "judge_models": list(models),
        }
        return WorkEnd(status="incomplete" if incomplete else "done", facts=facts, files=reports(rows, summary))

    def _key(self, attempt: Attempt) -> Key:
        return (attempt.sample_id, attempt.model, attempt.index)

    def _tier1(self, asking: PanelSession | None) -> None:
        todo: dict[str, list[tuple[Attempt, Paper | None]]] = {}
        for attempt in self.attempts:
            if not self.writer.has("tier1", self._key(attempt)):
                todo.setdefault(attempt.sample_id, []).append((attempt, self.known.get(attempt.sample_id)))
        human = {paper.id: paper for paper in self.papers.papers if not self.writer.has("human", (paper.id,))}
        done = 0
        # A few papers at a time: what a semantic model has read of their human reviews is still at hand for the yardstick.
        # One empty piece where there are none, so that every tier has its time.
        paper_ids = list(dict.fromkeys((*todo, *human)))
        for start in range(0, max(1, len(paper_ids)), PAPERS_TOGETHER):
            names = paper_ids[start : start + PAPERS_TOGETHER]
            work = [pair for name in names for pair in todo.get(name, ())]
            with self.clock.measure("tier1"):
                for attempt, record in tier1_rows(self.similarities, work):
                    paper = self.known.get(attempt.sample_id)
                    about: dict[str, object] = {
                        "recommendation": attempt.meta.get("recommendation"),
                        "recommendation_scale": attempt.meta.get("recommendation_scale"),
                        "human_recommendations": paper.recommendations if paper else [],
                        "scale": list(paper.scale) if paper and paper.scale else None,
                        "accepted": paper.accepted if paper else None,
                    }
                    self.writer.add("tier1", self._key(attempt), record | about)
                    self.watch.did(Progress(f"{attempt.model} {attempt.sample_id} [{attempt.index}]"))
                    if asking is not None:
                        # A judge that broke off the run says so here, not after all texts are compared.
                        asking.check()
                    if (done := done + 1) % 500 == 0:
                        self.watch.on_note(f"tier 1: {done} of {sum(map(len, todo.values()))} reviews")
            with self.clock.measure("human_yardstick"):
                for paper_id, record in human_rows(self.similarities, [human[name] for name in names if name in human]):
                    self.writer.add("human", (paper_id,), record)
        self.watch.on_note(f"tier 1: {done} reviews measured")

    def _tier3(self, traces: TraceFolder, asking: PanelSession | None) -> None:
        """Read the traces; hand each review to the judges as soon as its trace is known."""
        summaries = {row.key: _read_trace_summary(row.data) for row in self.writer.rows("tier3")}
        paths = [
            None if self.writer.has("tier3", self._key(attempt)) else traces.find(attempt) for attempt in self.attempts
        ]
        work = [
            (path, reference_for(self.plan.references, attempt))
            for attempt, path in zip(self.attempts, paths, strict=True)
            if path is not None
        ]
        self._say_unused(traces, is_empty=not work and not summaries)
        measured = tier3_rows(work, self.config.profile, self.executor)
        for attempt, path in zip(self.attempts, paths, strict=True):
            key = self._key(attempt)
            if path is not None:
                # `tier3_rows` gives one record for each piece of `work`, in its order: one for each review that has a
                # path.
                record = next(measured)
                reason = record.get("reason")
                lacking = False
                if isinstance(reason, Mapping):
                    _log.info("trace %s: %s", path, reason["detail"])
                    # What this machine lacks is not kept: a resume where it is installed finds the trace.
                    lacking = reason["kind"] == MissingKind.UNAVAILABLE
                self.writer.add("tier3_gap" if lacking else "tier3", key, record)
                summaries[key] = ("", 1.0) if lacking else _read_trace_summary(record)
            if asking is not None:
                texts = self._judge_input(attempt, *summaries.pop(key, ("", 1.0)))
                reasons = {name: to_json(value) for name, value in find_unreadable_rubrics(texts).items()}
                self.writer.add("unanswerable", key, reasons)
                asking.give(JudgeWork(key, partial(self._questions, texts)))

    def _questions(self, texts: JudgeInput) -> list[JudgeQuestion]:
        assert self.judging is not None
        return make_review_questions(texts, self.judging.settings)

    def _asking(self) -> PanelSession:
        assert self.judging is not None
        counter = itertools.count(1)

        def keep(question: Any, judged: Judged, key: Key) -> None:
            # A reply out of the cassette was paid for in another run.
            paid = {} if judged.replayed else {"paid": judged.cost_at_most}
            row = question.record(judged) | paid
            self.writer.add("judgement" if judged.is_lasting else "judgement_gap", key, row)
            log_answer(key, judged)

        def tick() -> None:
            if (done := next(counter)) % 20 == 0:
                self.watch.on_note(f"tier 2: {done} answers")

        return PanelSession(
            self.judging,
            keep,
            is_done=lambda key: self.writer.has("judgement", key),
            tick=tick,
            spent=sum_paid(self.writer),
        )

    def _judge_input(self, attempt: Attempt, trace: str, share: float) -> JudgeInput:
        paper_id = attempt.sample_id
        if paper_id not in self._sections:
            # One copy a paper, however many systems reviewed it.
            paper = self.known.get(paper_id)
            parts = [f"{part.heading}\n{part.text}".strip() for part in paper.sections] if paper else []
            self._sections[paper_id] = [text for text in parts or [paper.abstract if paper else ""] if text]
        is_absent = bool(attempt.meta.get("absent"))
        return JudgeInput.from_review(
            attempt.text, self._sections[paper_id], trace, is_absent=is_absent, trace_share=share
        )

    def _say_unused(self, traces: TraceFolder, *, is_empty: bool) -> None:
        """Name traces and references that belong to no review."""
        if traces.folder is not None and is_empty:
            paper = self.attempts[0].sample_id.rpartition("/")[2] if self.attempts else "PAPER"
            self.watch.on_note(f"{traces.folder}: no trace is named after a reviewed paper, such as {paper}.json")
        elif self.plan.options.limit is None and (strays := traces.strays(self.attempts)):
            self.watch.on_note(f"{traces.folder}: named after no reviewed paper: {', '.join(strays[:_NAMED])}")
        if unused_references := useless_references(self.plan.references, self.attempts):
            self.watch.on_note(
                f"no reviewed paper belongs to the tool reference of {', '.join(unused_references[:_NAMED])}"
            )

    def _incomplete(self, rows: Sequence[ReviewRow]) -> list[str]:
        """Return what was asked for and could not do its work."""
        problems: list[str] = []
        if self.config.semantic_asked and 1 in self.config.tiers:
            problems += _gaps(rows, "tier1", ("semantic_score",))
        if self.judging is not None and 2 in self.config.tiers:
            problems += _gaps(rows, "tier2", ("technical_accuracy", "constructiveness", "planning_rationality"))
            # Samples that gave nothing where others did: the mean is of fewer than was asked for.
            details = [detail for row in rows for detail in row["tier2"].get("details", {}).values() if detail["marks"]]
            if lost := sum(detail["n_missing"] for detail in details):
                problems.append(f"tier2: {lost} of {lost + sum(d['n'] for d in details)} answers are missing")
        if self.plan.options.traces is not None and 3 in self.config.tiers:
            problems += _gaps(rows, "tier3", ("overall_score", "graph_complexity"), only=MissingKind.UNAVAILABLE)
            if not any(True for kind in ("tier3", "tier3_gap") for _ in self.writer.rows(kind)):
                problems.append("tier3: no trace is named after a reviewed paper")
        return problems


def _read_trace_summary(record: Mapping[str, object]) -> tuple[str, float]:
    """Return what a judge reads of a kept trace, and the share of its steps that this stands for."""
    share = record.get("summary_share")
    return str(record.get("summary", "")), float(share) if isinstance(share, int | float) else 1.0


def _gaps(rows: Sequence[ReviewRow], tier: Tier, names: Sequence[str], only: MissingKind | None = None) -> list[str]:
    gaps = []
    for name in names:
        reasons = (collect_reasons(row[tier]).get(name) for row in rows)
        ours = [
            reason for reason in reasons if reason is not None and reason.kind.is_ours and only in (None, reason.kind)
        ]
        if ours:
            gaps.append(f"{tier}.{name}: {len(ours)} of {len(rows)} ({ours[0].kind}: {ours[0].detail})")
    return gaps
