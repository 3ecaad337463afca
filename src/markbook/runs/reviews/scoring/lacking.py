"""What keeps a composite from being complete, and what the user would have to give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from markbook.results.rows import reasons_of
from markbook.runs.reviews.scoring.records import Lack, ReviewRow, SystemSummary

NO_TRACE = "there is no trace of the run"
NOT_ASKED = "no judge was asked"
NO_TIME = "no execution time was given"
NO_TOOLS = "there is no reference that names tools"
NO_MODEL = "no model was named"

_TRACES, _JUDGE, _TOOLS = "--traces DIR", "--judge PROVIDER:NAME", "--tool-reference FILE"
_TEXTS = "--similarity cosine,jaccard, or bertscore_model in --config"
_GIVE: tuple[tuple[str, str, str], ...] = (
    ("time_taken", NO_TIME, f"execution_time in the rows of --reviews, or {_TRACES} with times"),
    ("task_success", NO_MODEL, _TEXTS),
    ("output_similarity", NO_MODEL, _TEXTS),
    ("planning_rationality", NOT_ASKED, _JUDGE),
    ("planning_rationality", NO_TRACE, _TRACES),
    ("coordination_quality", NO_TRACE, _TRACES),
    ("tool_efficiency", NO_TRACE, f"{_TRACES} and {_TOOLS}"),
    ("tool_efficiency", NO_TOOLS, _TOOLS),
)
"""By metric and the words of a reason: what would give it a value."""


def lacking(rows: Sequence[ReviewRow], weights: Mapping[str, float]) -> list[Lack]:
    """Return each metric that some composite lacks: of how many reviews, the most frequent reason, what to give.

    `give` is empty where nothing that one could give is known to help.
    """
    lacks: list[Lack] = []
    for metric in (name for name, weight in weights.items() if weight > 0):
        gone = [row for row in rows if metric in reasons_of(row["composite"])]
        if not gone:
            continue
        reasons = Counter(reasons_of(row["composite"])[metric].detail for row in gone)
        reason = reasons.most_common(1)[0][0]
        lacks.append({"metric": metric, "reviews": len(gone), "reason": reason, "give": _give(metric, reason, gone)})
    return lacks


def _give(metric: str, reason: str, rows: Sequence[ReviewRow]) -> str:
    give = next((words for name, part, words in _GIVE if name == metric and part in reason), "")
    graphs = (reasons_of(row["tier3"]).get("path_convergence") for row in rows)
    if give == _JUDGE and any(reason is not None and reason.detail == NO_TRACE for reason in graphs):
        give += f" and {_TRACES}"
    return give


def lines(system: SystemSummary) -> list[str]:
    """Return in words what a system's composites lack; nothing where all are complete."""
    lacks = system.get("lacking") or []
    sentences = [
        f"{lack['metric']} is missing for {lack['reviews']} of {system['reviews']} reviews ({lack['reason']})"
        + (f": give {lack['give']}" if lack["give"] else "")
        for lack in lacks
    ]
    score = system["metrics"]["composite.composite_score"]
    if sentences and score["value"] is None:
        sentences.append("--policy renormalise makes a composite of what there is")
    return sentences
