"""What a run is called and what it came to, kept in run.json for lists of runs: nothing of it makes it another run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from markbook.errors import MarkbookError
from markbook.results.kind import Results, seed_of
from markbook.runs.options import RunOptions
from markbook.store import Manifest, open_manifest
from markbook.text import cut

_MOST_MODELS = 50
_MOST_TAGS = 20


def label_manifest(manifest: Manifest, request: RunOptions) -> Manifest:
    """Return the manifest with the run's name, tags and notes; a run that goes on keeps those that are not given anew."""
    labels: dict[str, Any] = {
        "name": cut(request.name.strip(), 200),
        "tags": [cut(tag.strip(), 60) for tag in request.tags if tag.strip()][:_MOST_TAGS],
        "notes": cut(request.notes.strip(), 2_000),
    }
    old = (open_manifest(request.resume) or {}) if request.resume is not None else {}
    merged = {name: value or old.get(name) for name, value in labels.items()}
    return replace(manifest, extra={**manifest.extra, **{name: value for name, value in merged.items() if value}})


def scores_of(results: Results) -> list[dict[str, object]]:
    """Return each model's mean by the run's main metric with its interval, best first; nothing where there is none."""
    from markbook.results.standing import summaries

    try:
        sheet = results.sheet(None)
        summaries_by_model = summaries(sheet, seed=seed_of(results))
    except (MarkbookError, ValueError):
        return []  # no model, or tasks that share no metric
    return [
        {
            "model": model,
            "metric": sheet.metric,
            "value": summary.value,
            "low": summary.interval.low if summary.interval else None,
            "high": summary.interval.high if summary.interval else None,
            "n": summary.n,
            "n_missing": dict(summary.n_missing),
            "range": list(sheet.range) if all(map(_is_finite, sheet.range)) else None,
        }
        for model, summary in list(summaries_by_model.items())[:_MOST_MODELS]
    ]


def _is_finite(value: float) -> bool:
    return abs(value) != float("inf")
