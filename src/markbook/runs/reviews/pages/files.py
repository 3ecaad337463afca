"""The files of a review run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from markbook.runs.reviews.pages.markdown import markdown
from markbook.runs.reviews.scoring.records import ReviewRow, ReviewSummary
from markbook.store import encode


def reports(rows: Sequence[ReviewRow], summary: ReviewSummary) -> dict[str, str | Iterator[str]]:
    """Return the files of a review run, made from its rows alone: no times are in them."""
    return {
        "results.jsonl": (encode(row) + "\n" for row in rows),
        "summary.json": json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n",
        "evaluation_summary.md": markdown(summary),
    }
