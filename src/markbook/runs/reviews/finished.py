"""A finished run of reviews, as every command and report reads it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from markbook import plugins
from markbook.errors import DataError, MarkbookError, UsageError, suggest
from markbook.report.page import Page, of_run
from markbook.results.alignment import digest
from markbook.results.comparison import run_headline
from markbook.results.files import get_value, read_part, reasons_text
from markbook.results.kind import Entry, Shown
from markbook.results.sheet import Cell, Sheet, find_status, make_cell
from markbook.runs.conductor import conduct
from markbook.runs.kind import Kind, Machines, Planned, Watcher, WorkEnd
from markbook.runs.options import RunOptions
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.reviews.reports import REPEATED, judges_said, metric_scale, reports, review_page, show_field
from markbook.runs.reviews.review_rows import ReviewsView, get_tier
from markbook.runs.reviews.summary import read_journal, score
from markbook.store import Manifest, Run, RunWriter
from markbook.text import cut
from markbook.types import Direction, Missing, MissingKind

# The marks of a run of peer reviews.

COMPOSITE = "composite.composite_score"


_OF_TIER: Mapping[str, tuple[str, ...]] = {
    "tier1": (
        "profile",
        "similarity",
        "similarity_weights",
        "time_weight",
        "bertscore_model",
        "threshold",
        "calibrate",
    ),
    "tier2": ("profile", "rubric_weights"),
    "tier3": ("profile", "graph_weights"),
}
"""What of a review's configuration a tier's numbers depend on."""
_OF_COMPOSITE = ("policy", "weights", "tiers", "fallback")
_OF_JUDGES = ("models", "samples", "temperature", "max_tokens", "mode", "part_chars", "token_weights")


def review_signatures(config: Mapping[str, Any], metric: str = COMPOSITE) -> Mapping[str, str]:
    """Return what a number of reviews is measured by, of what run.json says of it."""
    review_config, judge = config.get("review", {}), config.get("judge")
    tier = metric.partition(".")[0]
    names = _OF_TIER.get(tier, (*dict.fromkeys(name for part in _OF_TIER.values() for name in part), *_OF_COMPOSITE))
    # How a tier's own mean treats what is missing is settled by the policy, and so is the composite.
    names = (*names, "policy") if metric in ("tier2.overall_score", "tier3.overall_score") else names
    parts = [f"{name}:{json.dumps(review_config[name], sort_keys=True)}" for name in names if name in review_config]
    if tier not in ("tier1", "tier3"):
        judge_config = None if judge is None else {name: judge[name] for name in _OF_JUDGES if name in judge}
        # Also where nobody was asked: a composite without a judge is another number than one with.
        parts.append(f"judge:{json.dumps(judge_config, sort_keys=True)}")
    return {"": "|".join((metric, *parts))}


_TEXT_CAP = 200_000
_TIERS = ("tier1", "tier2", "tier3", "composite")


class ReviewResults(ReviewsView):
    """The results of a run of reviews."""

    def sheet(self, metric: str | None) -> Sheet:
        """Return one number's marks by system and paper; a paper with several reviews of a system has their mean.

        A metric is such as `tier1.cosine_score`; the composite if none.

        Raises:
            UsageError: a review has no such number.
        """
        chosen = metric or COMPOSITE
        systems = self.summary["systems"]
        keys = list(dict.fromkeys(key for record in systems.values() for key in record["metrics"]))
        if chosen not in keys:
            raise UsageError(f"a review has no number {chosen!r}", hint=suggest(chosen, keys))
        tier, _, field = chosen.partition(".")
        values: dict[str, dict[str, list[float | Missing]]] = {system: {} for system in systems}
        parts_by_system: dict[str, set[str]] = {system: set() for system in systems}
        for row in self.rows():
            part = get_tier(row, tier)
            if row["system"] not in values:
                raise DataError(
                    f"results.jsonl is damaged: the summary has no system {row['system']!r:.60}",
                    at=str(self.run.folder),
                )
            value = get_value(part, field, part)
            values[row["system"]].setdefault(str(row["paper_id"]), []).append(value)
            weights_used = part.get("weights_used")
            if chosen == COMPOSITE and isinstance(value, float) and isinstance(weights_used, Mapping):
                parts_by_system[row["system"]].add(", ".join(sorted(map(str, weights_used))))
        all_values = [
            row for papers in values.values() for rows in papers.values() for row in rows if isinstance(row, float)
        ]
        # The document's formulas leave 0..1, so there the range is what was seen; elsewhere only a damaged file leaves it.
        is_documented = self.summary["profile"] == "documented"
        limits = (min([0.0, *all_values]), max([1.0, *all_values])) if is_documented else (0.0, 1.0)
        # Papers that a system left out are in its column too, or a system could choose what it is compared on.
        absent = Cell(None, Missing(MissingKind.ABSENT, "nobody reviewed the paper"))
        every = list(
            dict.fromkeys(
                [*self.summary.get("paper_ids", ()), *(paper for papers in values.values() for paper in papers)]
            )
        )
        marks = {
            system: {paper: make_cell(papers[paper], limits) if paper in papers else absent for paper in every}
            for system, papers in values.items()
        }
        # What the files of each paper are known by; nothing for one that shares its file with others.
        files: dict[str, list[str]] = {}
        for name, content in sorted(self.manifest.get("inputs", {}).items()):
            kind, _, path = name.partition("/")
            base = path.rpartition("/")[2]
            # A paper's id may hold dots, so every part before one may be it.
            for end in (at for at, sign in enumerate(base) if sign == "." and kind == "papers"):
                files.setdefault(base[:end], []).append(content)
        # By `--policy renormalise` a composite is over what there is: one without its time is another number than one with.
        all_parts = sorted({part for parts in parts_by_system.values() for part in parts})
        lists = "; ".join(
            f"{system}: {' or '.join(sorted(parts))}" for system, parts in parts_by_system.items() if parts
        )
        note = f"Composites use different metrics; leaving out a low one raises the score ({lists})."
        signature = review_signatures(self.manifest.get("config", {}), chosen)[""]
        return Sheet(
            chosen,
            marks,
            range=limits,
            digests={paper: digest(files[paper]) for paper in every if paper in files},
            signatures={"": f"{signature}|parts:{all_parts[0]}" if len(all_parts) == 1 else signature},
            notes=(note,) if len(all_parts) > 1 else (),
        )

    def page(self) -> Page:
        """Return everything that a review's report shows."""
        return of_run(replace(review_page(self), headline=run_headline(self, "papers")), self.manifest)

    @property
    def direction(self) -> Direction:
        """Which way is better: a higher score."""
        return "higher"

    def entries(self) -> Iterator[Entry]:
        """Yield every review."""
        for location, row in self.located_rows():
            score = row["composite"].get("composite_score")
            status = find_status(is_complete=score is not None)
            yield Entry(location, str(row["system"]), str(row["paper_id"]), status, score)

    def show_attempt(self, location: int) -> Shown:
        """Return the review whose row begins at a place of results.jsonl.

        Raises:
            ValueError: none begins there.
        """
        row = self.row_at(location)
        facts = tuple(
            (f"{tier} {name}", show_field(name, value, scale))
            for tier in _TIERS
            for name, value in get_tier(row, tier).items()
            if name not in REPEATED
            and isinstance(value, int | float | str)
            and value != ""
            and (scale := metric_scale(self.summary, f"{tier}.{name}"))
        )
        text = self._texts.get((str(row["paper_id"]), str(row["system"]), int(row.get("index") or 0)), "")
        return Shown(
            str(row["system"]), str(row["paper_id"]), "scored", facts, "", cut(text, _TEXT_CAP), reasons_text(row),
            evidence=judges_said(row["tier2"]),
        )  # fmt: skip

    @cached_property
    def _texts(self) -> Mapping[tuple[str, str, int], str]:
        """The reviews themselves, which no run keeps: out of the file that was named, while it is what it was."""
        named = read_part(self.run, "asked", dict[str, Any], {}).get("reviews")
        if not isinstance(named, str):
            return {}
        try:
            generated = plugins.create("loaders", "generated_reviews").load(Path(named))
        except MarkbookError:
            return {}
        inputs = self.manifest.get("inputs") or {}
        # Another file under the old name would be shown as what was judged.
        if any(inputs.get(f"reviews/{name}") != digest for name, digest in generated.digests.items()):
            return {}
        return {(attempt.sample_id, attempt.model, attempt.index): attempt.text for attempt in generated.attempts}


# A finished review scored again under another configuration: nothing is measured, no judge is asked.

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

    def plan(self, request: _Request, machines: Machines) -> _Plan:
        run, config, old = request.run, request.config, request.run.manifest
        if run.command != "review":
            what = f"this run was made by `markbook {run.command}`"
            raise UsageError(what, at=str(run.folder), hint="name a review run")
        measured = set(old["config"]["review"]["similarity"])
        # Nothing is measured here: a similarity that the run does not have can only be left out.
        if not set(config.similarity) <= measured:
            lacking = ", ".join(sorted(set(config.similarity) - measured))
            config = replace(config, similarity=tuple(name for name in config.similarity if name in measured))
            _log.warning("%s was not measured in that run and is left out", lacking)
        if config.tool_reference is not None:
            _log.warning("the tool reference has no effect: what the traces were measured against stands")
        if old["config"]["review"]["profile"] != config.profile:
            raise UsageError("a run is re-scored under its own profile", at=str(run.folder))
        # The inputs of the old run: what was measured is the same, and only what follows from it is new.
        manifest = Manifest(
            "review",
            {**old["config"], "review": config.as_record()},
            old["inputs"],
            {"rescored_from": run.folder.name, "papers": old.get("papers", {})},
        )
        return _Plan(manifest=manifest, run=run, config=config)

    def work(self, plan: _Plan, journal: RunWriter, machines: Machines, watch: Watcher) -> WorkEnd:
        for kind in _KINDS:
            for row in plan.run.rows(kind):
                # Copied as it stands: the new run can be read, and scored again, without the old one.
                journal.add(kind, row.key, row.data, remember=False)
        reviews, human = read_journal(journal.rows)
        old = plan.run.manifest
        models = read_part(plan.run, "judge_models", list[str], [])
        papers = read_part(plan.run, "papers_read", list[str], [])
        rows, summary = score(reviews, human, plan.config, papers, judge_asked=bool(models), models=models)
        same = {name: old[name] for name in ("incomplete", "papers_read", "judge_models", "similarity") if name in old}
        status = plan.run.status
        if status != "done" and not same.get("incomplete"):
            same["incomplete"] = [f"the run that was scored again is {status}, and what it has not measured is missing"]
        return WorkEnd(status="done" if status == "done" else "incomplete", facts=same, files=reports(rows, summary))

    def results(self, run: Run) -> ReviewResults:
        return ReviewResults(run)


def rescore(run: Run, config: ReviewConfig, output: Path) -> Run:
    """Score a finished review run again under another configuration; nothing is measured, no judge is asked.

    Raises:
        UsageError: it is not a review run, or the configuration needs something that was not measured.
    """
    return conduct(_Rescore(), _Request(run=run, config=config, output=output))
