"""What the judges of a review said beside their marks."""

from __future__ import annotations

from collections.abc import Mapping

from markbook.evidence import Evidence
from markbook.results.evidence import read_judge_marks
from markbook.runs.reviews.scoring.records import Numbers


def judges_said(tier2: Numbers) -> tuple[Evidence, ...]:
    """Return marks, reasons and quotes by rubric, out of a published row's second tier."""
    details = tier2.get("details") or {}
    evidence = (
        read_judge_marks(str(name).replace("_", " "), detail)
        for name, detail in details.items()
        if isinstance(detail, Mapping)
    )
    return tuple(evidence_item for evidence_item in evidence if evidence_item is not None)
