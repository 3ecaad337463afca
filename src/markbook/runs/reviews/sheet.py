"""The marks of a run of peer reviews."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from markbook.errors import DataError, UsageError
from markbook.plugins import suggest
from markbook.results.alignment import digest
from markbook.results.rows import value_of
from markbook.results.sheet import Cell, Sheet, cell_of
from markbook.runs.reviews.scoring.records import ReviewsView, tier_of
from markbook.types import Missing, MissingKind

COMPOSITE = "composite.composite_score"


def review_sheet(view: ReviewsView, metric: str | None) -> Sheet:
    """Return one number's marks by system and paper; a paper with several reviews of a system has their mean.

    Args:
        view: the run.
        metric: such as `tier1.cosine_score`; the composite if none.

    Raises:
        UsageError: a review has no such number.
    """
    chosen = metric or COMPOSITE
    systems = view.summary["systems"]
    keys = list(dict.fromkeys(key for record in systems.values() for key in record["metrics"]))
    if chosen not in keys:
        raise UsageError(f"a review has no number {chosen!r}", hint=suggest(chosen, keys))
    tier, _, field = chosen.partition(".")
    values: dict[str, dict[str, list[float | Missing]]] = {system: {} for system in systems}
    for row in view.rows():
        part = tier_of(row, tier)
        if row["system"] not in values:
            raise DataError(
                f"results.jsonl is damaged: the summary has no system {row['system']!r:.60}", at=str(view.run.folder)
            )
        values[row["system"]].setdefault(str(row["paper_id"]), []).append(value_of(part, field, part))
    all_values = [
        row for papers in values.values() for rows in papers.values() for row in rows if isinstance(row, float)
    ]
    # The document's formulas leave 0..1, so there the range is what was seen; elsewhere only a damaged file leaves it.
    is_documented = view.summary["profile"] == "documented"
    limits = (min([0.0, *all_values]), max([1.0, *all_values])) if is_documented else (0.0, 1.0)
    absent = Cell(None, Missing(MissingKind.ABSENT, "nobody reviewed the paper"))
    every = list(
        dict.fromkeys([*view.summary.get("paper_ids", ()), *(paper for papers in values.values() for paper in papers)])
    )
    marks = {
        system: {paper: cell_of(papers[paper], limits) if paper in papers else absent for paper in every}
        for system, papers in values.items()
    }
    return Sheet(
        chosen,
        marks,
        range=limits,
        digests=_paper_digests(every, view.manifest.get("inputs", {})),
        signatures=review_signatures(view.manifest.get("config", {}), chosen),
    )


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
    parts = [f"{name}:{json.dumps(review_config[name], sort_keys=True)}" for name in names if name in review_config]
    if tier not in ("tier1", "tier3"):
        judge_config = None if judge is None else {name: judge[name] for name in _OF_JUDGES if name in judge}
        parts.append(f"judge:{json.dumps(judge_config, sort_keys=True)}")
    return {"": "|".join((metric, *parts))}


def _paper_digests(papers: Sequence[str], inputs: Mapping[str, str]) -> dict[str, str]:
    """Return what the files of each paper are known by; nothing for one that shares its file with others."""
    files: dict[str, list[str]] = {}
    for name, content in sorted(inputs.items()):
        kind, _, path = name.partition("/")
        base = path.rpartition("/")[2]
        ends = [at for at, sign in enumerate(base) if sign == "."] if kind == "papers" else []
        for end in ends:
            files.setdefault(base[:end], []).append(content)
    return {paper: digest(files[paper]) for paper in papers if paper in files}
