"""The work of a review: generated reviews against human ones, judged and traced, each piece kept in the journal.

The journal keeps what was measured (similarities per reference, judges' raw answers, trace metrics); every number of the
reports is computed from that. So a run can be resumed at any point and re-scored with other weights at no cost.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

from markbook.judge.asking import Asking, JudgeWork
from markbook.judge.assess import JudgeQuestion, Subject, questions, unreadable
from markbook.judge.client import Judged
from markbook.load.peerread.papers import Paper
from markbook.model.budget import AccountRecord
from markbook.results.rows import reasons_of
from markbook.runs.kind import Ended, Start, Step, Watcher
from markbook.runs.machines import Machines
from markbook.runs.reviews.clock import Clock
from markbook.runs.reviews.log import log_answer
from markbook.runs.reviews.pages.files import reports
from markbook.runs.reviews.plan import ReviewPlan
from markbook.runs.reviews.scoring.from_journal import read_journal, score
from markbook.runs.reviews.scoring.records import ReviewRow, Tier
from markbook.runs.reviews.tiers import (
    Similarities,
    TraceFolder,
    human_rows,
    reference_for,
    tier1_rows,
    tier3_rows,
    to_json,
    useless_references,
)
from markbook.store import RunWriter
from markbook.types import Attempt, MissingKind

_log = logging.getLogger(__name__)

Key = tuple[str | int, ...]
PAPERS_TOGETHER = 32
"""Papers measured together: enough for every worker, few enough that their texts' vectors fit into memory."""
_NAMED = 5


def evaluate(plan: ReviewPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> Ended:
    """Measure what is not measured yet, ask the judges what is not answered yet, and score."""
    review = _Review(plan, journal, machines.executor, watch)
    review.measure()
    return review.finish()


class _Review:
    """The work of one run."""

    def __init__(self, plan: ReviewPlan, journal: RunWriter, executor: Executor | None, watch: Watcher) -> None:
        self.plan, self.writer, self.watch, self.executor = plan, journal, watch, executor
        self.request, self.judging, self.papers, self.attempts = plan.request, plan.judging, plan.papers, plan.attempts
        self.config = plan.request.config
        self.known = plan.papers.by_id()
        self.similarities = Similarities(self.config, executor)
        self.clock = Clock()
        self.accounts: dict[str, AccountRecord] = {}
        self._sections: dict[str, list[str]] = {}

    def measure(self) -> None:
        """Measure all tiers side by side: while judges think, traces are read and texts compared."""
        traces = TraceFolder(self.request.traces)
        judged = self.judging is not None and 2 in self.config.tiers
        done = sum(self.writer.has("tier1", self._key(attempt)) for attempt in self.attempts)
        self.watch.on_start(self.writer.folder, Start(len(self.attempts), done, done, f"{len(self.attempts)} reviews"))
        with self._asking() if judged else contextlib.nullcontext() as asking:
            start = time.perf_counter()
            if 3 in self.config.tiers or judged:
                with self.clock.measure("tier3"):
                    self._tier3(traces, asking)
            if 1 in self.config.tiers:
                self._tier1(asking)
            if asking is not None:
                self.accounts = asking.finish()
                self.clock.add("tier2", time.perf_counter() - start)

    def finish(self) -> Ended:
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
        return Ended(status="incomplete" if incomplete else "done", facts=facts, files=reports(rows, summary))

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
                    self.watch.did(Step(f"{attempt.model} {attempt.sample_id} [{attempt.index}]"))
                    if asking is not None:
                        asking.check()
                    if (done := done + 1) % 500 == 0:
                        self.watch.on_note(f"tier 1: {done} of {sum(map(len, todo.values()))} reviews")
            with self.clock.measure("human_yardstick"):
                for paper_id, record in human_rows(self.similarities, [human[name] for name in names if name in human]):
                    self.writer.add("human", (paper_id,), record)
        self.watch.on_note(f"tier 1: {done} reviews measured")

    def _tier3(self, traces: TraceFolder, asking: Asking | None) -> None:
        """Read the traces; hand each review to the judges as soon as its trace is known."""
        summaries = {row.key: _summary_of(row.data) for row in self.writer.rows("tier3")}
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
                record = next(measured)
                reason = record.get("reason")
                lacking = False
                if isinstance(reason, Mapping):
                    _log.info("trace %s: %s", path, reason["detail"])
                    # What this machine lacks is not kept: a resume where it is installed finds the trace.
                    lacking = reason["kind"] == MissingKind.UNAVAILABLE
                self.writer.add("tier3_gap" if lacking else "tier3", key, record)
                summaries[key] = ("", 1.0) if lacking else _summary_of(record)
            if asking is not None:
                subject = self._subject(attempt, *summaries.pop(key, ("", 1.0)))
                reasons = {name: to_json(value) for name, value in unreadable(subject).items()}
                self.writer.add("unanswerable", key, reasons)
                asking.give(JudgeWork(key, partial(self._questions, subject)))

    def _questions(self, subject: Subject) -> list[JudgeQuestion]:
        assert self.judging is not None
        return questions(subject, self.judging.settings)[0]

    def _asking(self) -> Asking:
        assert self.judging is not None
        counter = itertools.count(1)

        def keep(question: Any, judged: Judged, key: Key) -> None:
            paid = {} if judged.replayed else {"paid": judged.cost_at_most}
            row = question.record(judged) | paid
            self.writer.add("judgement" if judged.is_lasting else "judgement_gap", key, row)
            log_answer(key, judged)

        def tick() -> None:
            if (done := next(counter)) % 20 == 0:
                self.watch.on_note(f"tier 2: {done} answers")

        return Asking(
            self.judging, keep, is_done=lambda key: self.writer.has("judgement", key), tick=tick, spent=self._spent()
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

    def _say_unused(self, traces: TraceFolder, *, is_empty: bool) -> None:
        """Name traces and references that belong to no review."""
        if traces.folder is not None and is_empty:
            paper = self.attempts[0].sample_id.rpartition("/")[2] if self.attempts else "PAPER"
            self.watch.on_note(f"{traces.folder}: no trace is named after a reviewed paper, such as {paper}.json")
        elif self.request.limit is None and (strays := traces.strays(self.attempts)):
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
            problems += _lost_answers(rows)
        if self.request.traces is not None and 3 in self.config.tiers:
            problems += _gaps(rows, "tier3", ("overall_score", "graph_complexity"), only=MissingKind.UNAVAILABLE)
            if not any(True for kind in ("tier3", "tier3_gap") for _ in self.writer.rows(kind)):
                problems.append("tier3: no trace is named after a reviewed paper")
        return problems


def _batches(names: Iterable[str], size: int) -> Iterator[list[str]]:
    """Yield the names in lists of a size; one empty list where there are none, so that every tier has its time."""
    iterator = iter(names)
    yield list(itertools.islice(iterator, size))
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def _summary_of(record: Mapping[str, object]) -> tuple[str, float]:
    """Return what a judge reads of a kept trace, and the share of its steps that this stands for."""
    share = record.get("summary_share")
    return str(record.get("summary", "")), float(share) if isinstance(share, int | float) else 1.0


def _lost_answers(rows: Sequence[ReviewRow]) -> list[str]:
    """Return how many samples or judges of a panel gave nothing where others did."""
    details = [detail for row in rows for detail in row["tier2"].get("details", {}).values() if detail["n"]]
    lost = sum(detail["n_missing"] for detail in details)
    return [f"tier2: {lost} of {lost + sum(detail['n'] for detail in details)} answers are missing"] if lost else []


def _gaps(rows: Sequence[ReviewRow], tier: Tier, names: Sequence[str], only: MissingKind | None = None) -> list[str]:
    gaps = []
    for name in names:
        reasons = (reasons_of(row[tier]).get(name) for row in rows)
        ours = [
            reason for reason in reasons if reason is not None and reason.kind.is_ours and only in (None, reason.kind)
        ]
        if ours:
            gaps.append(f"{tier}.{name}: {len(ours)} of {len(rows)} ({ours[0].kind}: {ours[0].detail})")
    return gaps


def _recommendations(attempt: Attempt, paper: Paper | None) -> dict[str, object]:
    return {
        "recommendation": attempt.meta.get("recommendation"),
        "recommendation_scale": attempt.meta.get("recommendation_scale"),
        "human_recommendations": paper.recommendations if paper else [],
        "scale": list(paper.scale) if paper and paper.scale else None,
        "accepted": paper.accepted if paper else None,
    }
