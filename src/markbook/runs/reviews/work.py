"""`markbook.review`: generated reviews against human ones, judged and traced, composed and kept in a run folder.

The journal keeps what was measured (similarities per reference, judges' raw answers, trace metrics); every number of the
reports is computed from that. So a run can be resumed at any point and re-scored with other weights at no cost.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from markbook import plugins
from markbook.errors import StrictDataError
from markbook.files.jsonl import Rejection
from markbook.judge.assess import Subject, unreadable
from markbook.judge.client import Judged
from markbook.load.peerread import Paper, Papers
from markbook.load.peerread_generated import Generated
from markbook.results.rows import reasons_of
from markbook.runs.engines import lost_workers, other_engine
from markbook.runs.reviews.asking import Asking, Work
from markbook.runs.reviews.clock import Clock
from markbook.runs.reviews.config import ReviewConfig, default_config
from markbook.runs.reviews.judge import JudgeOptions, JudgePlan, make_plan
from markbook.runs.reviews.log import log_answer
from markbook.runs.reviews.score import publish, read_journal, score
from markbook.runs.reviews.tiers import (
    Similarities,
    TraceFolder,
    human_rows,
    reference_for,
    tier1_rows,
    tier3_rows,
    to_json,
    tool_references,
)
from markbook.store import Manifest, Run, RunWriter, open_run
from markbook.text import terminal
from markbook.trace import Reference
from markbook.types import Attempt, MissingKind

_log = logging.getLogger(__name__)

Key = tuple[str | int, ...]
PAPERS_TOGETHER = 32
"""Papers measured together: enough for every worker, few enough that their texts' vectors fit into memory."""


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What to evaluate, and how."""

    papers: Path
    reviews: Path
    traces: Path | None = None
    config: ReviewConfig = field(default_factory=default_config)
    judges: tuple[str, ...] = ()
    judge_options: JudgeOptions = field(default_factory=JudgeOptions)
    output: Path = Path("generated")
    resume: Path | None = None
    limit: int | None = None
    strict: bool = False
    workers: int | None = None
    """Processes that compare texts and read traces, None for this one; judges are asked beside them in any case."""
    engine: str = "local"
    """Where those run: `local`, `ray`, or another of `markbook list engines`."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What the caller asked for, by the names of the command's options: kept for whoever goes on with the run."""
    progress: Callable[[str], None] = lambda _line: None
    planned: Callable[[Collection[str]], None] = lambda _systems: None
    """Is told which systems are evaluated, before anything is written, measured or asked."""


def run_review(request: ReviewRequest) -> Run:
    """Evaluate generated reviews and return the finished run.

    Raises:
        DataError: no paper or no generated review can be read.
        UsageError: a judge, config or run folder that cannot be used.
    """
    papers: Papers = plugins.create("loaders", "peerread").load(request.papers)
    generated: Generated = plugins.create("loaders", "generated_reviews").load(request.reviews)
    attempts = generated.attempts[: request.limit]
    rejections = (*papers.rejections, *generated.rejections)
    _log_inputs(request, papers, attempts, rejections)
    if request.strict and rejections:
        raise StrictDataError(rejections[0].reason, at=rejections[0].at)
    request.planned(sorted({attempt.model for attempt in attempts}))
    plan = None
    if request.judges:
        plan = make_plan(request.judges, request.config, request.judge_options, reviews=len(attempts))
    references = tool_references(request.config)
    manifest = _manifest(request, plan, papers, generated, attempts)
    if references:
        text = json.dumps({name: asdict(held) for name, held in sorted(references.items())}, sort_keys=True)
        inputs = {**manifest.inputs, "tool_reference": hashlib.sha256(text.encode()).hexdigest()}
        manifest = replace(manifest, inputs=inputs)
    if request.resume is not None:
        writer = RunWriter.resume(request.resume, manifest)
    else:
        writer = RunWriter.create(request.output, manifest)
    with writer:
        _Conductor(request, plan, papers, attempts, writer, references).run()
    return open_run(writer.folder)


def _manifest(
    request: ReviewRequest, plan: JudgePlan | None, papers: Papers, generated: Generated, attempts: Sequence[Attempt]
) -> Manifest:
    config: dict[str, Any] = {"review": request.config.as_record(), "limit": request.limit}
    config["judge"] = plan.as_record() if plan else None
    inputs = {f"papers/{name}": digest for name, digest in papers.digests.items()}
    inputs |= {f"reviews/{name}": digest for name, digest in generated.digests.items()}
    if request.traces is not None:
        inputs["traces"] = _digest_folder(request.traces)
    known = papers.by_id()
    unknown = sorted({attempt.sample_id for attempt in attempts} - set(known))
    extra = {
        "asked": dict(request.asked),
        "papers": dict(papers.counts),
        "paper_notes": {paper.id: list(paper.notes) for paper in papers.papers if paper.notes},
        "unknown_papers": unknown,
        "config_notes": list(request.config.notes),
        "rejected": [f"{item.at}: {item.reason}" for item in (*papers.rejections, *generated.rejections)][:1000],
    }
    return Manifest("review", config, inputs, extra)


def _digest_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")) if folder.is_dir() else []:
        if file.is_file():
            digest.update(file.relative_to(folder).as_posix().encode() + b"\0")
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


class _Conductor:
    """One run, from measuring to the reports."""

    def __init__(
        self,
        request: ReviewRequest,
        plan: JudgePlan | None,
        papers: Papers,
        attempts: Sequence[Attempt],
        writer: RunWriter,
        references: Mapping[str, Reference],
    ) -> None:
        self.references = references
        self.request, self.plan, self.papers, self.attempts, self.writer = request, plan, papers, attempts, writer
        self.config = request.config
        self.known = papers.by_id()
        self.clock = Clock()
        self.accounts: dict[str, Any] = {}
        self._sections: dict[str, list[str]] = {}

    def run(self) -> None:
        with self._workers() as executor:
            self.similarities = Similarities(self.config, executor)
            self._measure(executor)
        self._report()

    @contextlib.contextmanager
    def _workers(self) -> Iterator[Executor | None]:
        """Yield where measuring runs; None for this process."""
        request = self.request
        if request.engine != "local" or request.workers in (None, 1):
            with other_engine(request.engine, request.workers) as executor:
                yield executor
            return
        local: Executor = plugins.create("engines", "local", workers=request.workers)
        with lost_workers():
            try:
                yield local
            finally:
                local.shutdown(wait=False, cancel_futures=True)

    def _measure(self, executor: Executor | None) -> None:
        """Measure all tiers side by side: while judges think, traces are read and texts compared."""
        traces = TraceFolder(self.request.traces)
        judged = self.plan is not None and 2 in self.config.tiers
        with self._asking() if judged else contextlib.nullcontext() as asking:
            start = time.perf_counter()
            if 3 in self.config.tiers or judged:
                with self.clock.measure("tier3"):
                    self._tier3(traces, executor, asking)
            if 1 in self.config.tiers:
                self._tier1(asking)
            if asking is not None:
                self.accounts = asking.finish()
                self.clock.add("tier2", time.perf_counter() - start)

    def _report(self) -> None:
        kept, human = read_journal(self.writer.rows)
        models = self.plan.settings.models if self.plan else ()
        paper_ids = [paper.id for paper in self.papers.papers]
        rows, summary = score(kept, human, self.config, paper_ids, judge_asked=self.plan is not None, models=models)
        publish(self.writer, rows, summary)
        _log.info("%d reviews scored; report in %s", len(rows), self.writer.folder)
        incomplete = self._incomplete(rows)
        for line in incomplete:
            _log.info("incomplete: %s", line)
        extra = {
            "performance": self.clock.report(len(self.attempts), self.config.targets),
            "judge_account": self.accounts,
            "similarity": self.similarities.signatures,
            "incomplete": incomplete,
            "papers_read": paper_ids,
            "judge_models": list(models),
        }
        if self.writer.was_done and not incomplete:
            # Nothing was done again; what the first run measured stands.
            old = open_run(self.writer.folder).manifest
            extra |= {name: old[name] for name in ("performance", "judge_account") if name in old}
        self.writer.finish("incomplete" if incomplete else "done", extra)

    def _key(self, attempt: Attempt) -> Key:
        return (attempt.sample_id, attempt.model, attempt.index)

    def _tier1(self, asking: Asking | None) -> None:
        todo: dict[str, list[tuple[Attempt, Paper | None]]] = {}
        for attempt in self.attempts:
            if not self.writer.has("tier1", self._key(attempt)):
                todo.setdefault(attempt.sample_id, []).append((attempt, self.known.get(attempt.sample_id)))
        human = {paper.id: paper for paper in self.papers.papers if not self.writer.has("human", (paper.id,))}
        done = 0
        # A few papers at a time: what a semantic model has read of their human reviews is still at hand for the yardstick.
        for names in _batches(dict.fromkeys((*todo, *human)), PAPERS_TOGETHER):
            work = [pair for name in names for pair in todo.get(name, ())]
            with self.clock.measure("tier1"):
                for attempt, record in tier1_rows(self.similarities, work):
                    paper = self.known.get(attempt.sample_id)
                    self.writer.add("tier1", self._key(attempt), record | _recommendations(attempt, paper))
                    if asking is not None:
                        asking.check()
                    if (done := done + 1) % 500 == 0:
                        self.request.progress(f"tier 1: {done} of {sum(map(len, todo.values()))} reviews")
            with self.clock.measure("human_yardstick"):
                for paper_id, record in human_rows(self.similarities, [human[name] for name in names if name in human]):
                    self.writer.add("human", (paper_id,), record)
        self.request.progress(f"tier 1: {done} reviews measured")

    def _tier3(self, traces: TraceFolder, executor: Executor | None, asking: Asking | None) -> None:
        """Read the traces; hand each review to the judges as soon as its trace is known."""
        summaries = {row.key: _summary_of(row.data) for row in self.writer.rows("tier3")}
        found = [
            None if self.writer.has("tier3", self._key(attempt)) else traces.find(attempt) for attempt in self.attempts
        ]
        work = [
            (path, reference_for(self.references, attempt))
            for attempt, path in zip(self.attempts, found, strict=True)
            if path is not None
        ]
        measured = tier3_rows(work, self.config.profile, executor)
        for attempt, path in zip(self.attempts, found, strict=True):
            key = self._key(attempt)
            if path is not None:
                record = next(measured)
                reason = record.get("reason")
                if reason is not None:
                    _log.info("trace %s: %s", path, reason["detail"])
                # What this machine lacks is not kept: a resume where it is installed finds the trace.
                lacking = reason is not None and reason["kind"] == MissingKind.UNAVAILABLE
                self.writer.add("tier3_gap" if lacking else "tier3", key, record)
                summaries[key] = ("", 1.0) if lacking else _summary_of(record)
            if asking is not None:
                subject = self._subject(attempt, *summaries.pop(key, ("", 1.0)))
                reasons = {name: to_json(value) for name, value in unreadable(subject).items()}
                self.writer.add("unanswerable", key, reasons)
                asking.give(Work(key, subject))

    def _asking(self) -> Asking:
        assert self.plan is not None
        counter = itertools.count(1)

        def keep(question: Any, judged: Judged, key: Key) -> None:
            paid = {} if judged.replayed else {"paid": judged.cost_at_most}
            row = question.record(judged) | paid
            self.writer.add("judgement" if judged.is_lasting else "judgement_gap", key, row)
            log_answer(key, judged)

        def tick() -> None:
            if (done := next(counter)) % 20 == 0:
                self.request.progress(f"tier 2: {done} answers")

        return Asking(
            self.plan, keep, is_done=lambda key: self.writer.has("judgement", key), tick=tick, spent=self._spent()
        )

    def _spent(self) -> dict[str, float]:
        """Return what each judge has cost in the run so far: a budget is for all of it, however often it is resumed."""
        spent: dict[str, float] = {}
        for row in itertools.chain(self.writer.rows("judgement"), self.writer.rows("judgement_gap")):
            model = str(row.data["model"])
            spent[model] = spent.get(model, 0.0) + (row.data.get("paid") or 0.0)
        return spent

    def _subject(self, attempt: Attempt, trace: str, share: float) -> Subject:
        paper_id = attempt.sample_id
        if paper_id not in self._sections:
            # One copy a paper, however many systems reviewed it.
            paper = self.known.get(paper_id)
            parts = [f"{part.heading}\n{part.text}".strip() for part in paper.sections] if paper else []
            self._sections[paper_id] = [text for text in parts or [paper.abstract if paper else ""] if text]
        is_absent = bool(attempt.meta.get("absent"))
        return Subject(attempt.text, self._sections[paper_id], trace, is_absent=is_absent, trace_share=share)

    def _incomplete(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return what was asked for and could not do its work."""
        found: list[str] = []
        if self.config.semantic_asked and 1 in self.config.tiers:
            found += _gaps(rows, "tier1", ("semantic_score",))
        if self.plan is not None and 2 in self.config.tiers:
            found += _gaps(rows, "tier2", ("technical_accuracy", "constructiveness", "planning_rationality"))
            found += _lost_answers(rows)
        if self.request.traces is not None and 3 in self.config.tiers:
            found += _gaps(rows, "tier3", ("overall_score", "graph_complexity"), only=MissingKind.UNAVAILABLE)
        return found


def _batches(names: Iterable[str], size: int) -> Iterator[list[str]]:
    """Yield the names in lists of a size; one empty list where there are none, so that every tier has its time."""
    iterator = iter(names)
    yield list(itertools.islice(iterator, size))
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def _summary_of(record: Mapping[str, Any]) -> tuple[str, float]:
    """Return what a judge reads of a kept trace, and the share of its steps that this stands for."""
    return str(record.get("summary", "")), float(record.get("summary_share", 1.0))


def _lost_answers(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how many samples or judges of a panel gave nothing where others did."""
    details = [detail for row in rows for detail in row["tier2"].get("details", {}).values() if detail["n"]]
    lost = sum(detail["n_missing"] for detail in details)
    return [f"tier2: {lost} of {lost + sum(detail['n'] for detail in details)} answers are missing"] if lost else []


def _gaps(
    rows: Sequence[Mapping[str, Any]], tier: str, names: Sequence[str], only: MissingKind | None = None
) -> list[str]:
    gaps = []
    for name in names:
        reasons = (reasons_of(row[tier]).get(name) for row in rows)
        ours = [one for one in reasons if one is not None and one.kind.is_ours and only in (None, one.kind)]
        if ours:
            gaps.append(f"{tier}.{name}: {len(ours)} of {len(rows)} ({ours[0].kind}: {ours[0].detail})")
    return gaps


def _recommendations(attempt: Attempt, paper: Paper | None) -> dict[str, Any]:
    return {
        "recommendation": attempt.meta.get("recommendation"),
        "recommendation_scale": attempt.meta.get("recommendation_scale"),
        "human_recommendations": paper.recommendations if paper else [],
        "scale": list(paper.scale) if paper and paper.scale else None,
        "accepted": paper.accepted if paper else None,
    }
