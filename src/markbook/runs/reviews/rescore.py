"""A finished review scored again under another configuration: nothing is measured, no judge is asked."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from markbook.errors import UsageError
from markbook.results.files_view import read_part
from markbook.runs.conductor import conduct
from markbook.runs.kind import Ended, Kind, Planned, Watcher
from markbook.runs.machines import Machines
from markbook.runs.options import RunOptions
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.reviews.finished import ReviewResults
from markbook.runs.reviews.pages.files import reports
from markbook.runs.reviews.scoring.from_journal import read_journal, score
from markbook.store import Manifest, Run, RunWriter

_log = logging.getLogger(__name__)
_KINDS = ("tier1", "tier3_gap", "tier3", "unanswerable", "judgement", "judgement_gap", "human")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request(RunOptions):
    run: Run
    config: ReviewConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan(Planned):
    run: Run
    config: ReviewConfig


class _Rescore(Kind[_Request, _Plan]):
    """Makes a review out of another one's journal."""

    def plan(self, request: _Request, machines: Machines) -> _Plan:  # noqa: ARG002 - the protocol's
        run, config, old = request.run, request.config, request.run.manifest
        if run.command != "review":
            what = f"this run was made by `markbook {run.command}`"
            raise UsageError(what, at=str(run.folder), hint="name a review run")
        measured = set(old["config"]["review"]["similarity"])
        if not set(config.similarity) <= measured:
            lacking = ", ".join(sorted(set(config.similarity) - measured))
            config = replace(config, similarity=tuple(name for name in config.similarity if name in measured))
            _log.warning("%s was not measured in that run and is left out", lacking)
        if config.tool_reference is not None:
            _log.warning("the tool reference has no effect: what the traces were measured against stands")
        if old["config"]["review"]["profile"] != config.profile:
            raise UsageError("a run is re-scored under its own profile", at=str(run.folder))
        manifest = Manifest(
            "review",
            {**old["config"], "review": config.as_record()},
            old["inputs"],
            {"rescored_from": run.folder.name, "papers": old.get("papers", {})},
        )
        return _Plan(manifest=manifest, run=run, config=config)

    def work(self, plan: _Plan, journal: RunWriter, machines: Machines, watch: Watcher) -> Ended:  # noqa: ARG002 - the protocol's
        for kind in _KINDS:
            for row in plan.run.rows(kind):
                journal.add(kind, row.key, row.data, remember=False)
        reviews, human = read_journal(journal.rows)
        old = plan.run.manifest
        models = read_part(plan.run, "judge_models", list[str], [])
        papers = read_part(plan.run, "papers_read", list[str], [])
        rows, summary = score(reviews, human, plan.config, papers, judge_asked=bool(models), models=models)
        same = {name: old[name] for name in ("incomplete", "papers_read", "judge_models", "similarity") if name in old}
        files = reports(rows, summary)
        return Ended(status="done" if plan.run.status == "done" else "incomplete", facts=same, files=files)

    def results(self, run: Run) -> ReviewResults:
        return ReviewResults(run)


def rescore(run: Run, config: ReviewConfig, output: Path) -> Run:
    """Score a finished review run again under another configuration; nothing is measured, no judge is asked.

    Raises:
        UsageError: it is no review run, or the configuration needs something that was not measured.
    """
    return conduct(_Rescore(), _Request(run=run, config=config, output=output))
