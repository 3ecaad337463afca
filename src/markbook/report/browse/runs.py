"""Runs as the list of runs shows them: what they are called, what they came to, and how that changed from run to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markbook.report.browse.local import NotFound
from markbook.report.browse.rendering import render
from markbook.store import Run
from markbook.text import cut
from markbook.text.numbers import Scale

_MODELS = 12
_TREND = 60


@dataclass(frozen=True, slots=True)
class Score:
    """One model's score in words, and in points for a chart."""

    model: str
    value: str
    span: str
    points: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A line of the list of runs."""

    number: int
    name: str
    label: str
    tags: tuple[str, ...]
    notes: str
    command: str
    status: str
    what: str
    models: str
    started: str
    scores: tuple[Score, ...]
    group: tuple[str, ...]
    """What runs of one benchmark have in common."""
    alike: int = 1
    """How many of the runs shown are of its benchmark."""

    @property
    def words(self) -> str:
        """What a search looks through."""
        return " ".join(
            (self.name, self.label, *self.tags, self.notes, self.command, self.status, self.what, self.models)
        )


def listed_run(number: int, name: str, run: Run) -> ListedRun:
    """Return what the list says of a run; whatever its run.json holds."""
    manifest = run.manifest
    config, inputs = _object(manifest.get("config")), _object(manifest.get("inputs"))
    what = str(config.get("benchmark_name") or ", ".join(_names(config.get("tasks"))) or run.command)
    tags = manifest.get("tags") if isinstance(manifest.get("tags"), list) else []
    scores = manifest.get("scores") if isinstance(manifest.get("scores"), list) else []
    return ListedRun(
        number=number,
        name=name,
        label=cut(str(manifest.get("name") or ""), 200),
        tags=tuple(cut(str(tag), 60) for tag in (tags or ())[:20]),
        notes=cut(str(manifest.get("notes") or ""), 500),
        command=run.command,
        status=run.status,
        what=what,
        models=", ".join(_names(config.get("models"))),
        started=str(manifest.get("started", "")),
        scores=tuple(score for record in (scores or ())[:_MODELS] if (score := _score(record)) is not None),
        group=(run.command, what, str(inputs.get("benchmark", ""))),
    )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: object) -> list[str]:
    """Return the names in a list, or the keys of an object; none of anything else that stands in its place."""
    return [str(name) for name in value] if isinstance(value, list | Mapping) else []


def _score(record: Any) -> Score | None:
    if not isinstance(record, Mapping) or not isinstance(record.get("value"), int | float):
        return None
    limits = record.get("range")
    scale = Scale((0.0, 1.0) if limits == [0.0, 1.0] else (0.0, 0.0))
    value = float(record["value"])
    low, high = (record.get(end) if isinstance(record.get(end), int | float) else value for end in ("low", "high"))
    has_interval = low != high
    points = (scale.factor * value, scale.factor * float(low or 0.0), scale.factor * float(high or 0.0))
    return Score(
        cut(str(record.get("model", "")), 80),
        scale.value(value),
        scale.spread(low, high) if has_interval else "",
        points,
    )


def alike(runs: Sequence[ListedRun]) -> list[ListedRun]:
    """Return the runs, each with how many of them have scores on its benchmark."""
    counts = Counter(run.group for run in runs if run.scores)
    return [replace(run, alike=counts[run.group] if run.scores else 1) for run in runs]


def trend_page(number: int, runs: Sequence[ListedRun]) -> str:
    """Return the scores of runs of one benchmark, one below the other.

    Raises:
        NotFound: none of them has a score.
    """
    from markupsafe import Markup

    from markbook.report import charts

    ordered = sorted((run for run in runs if run.scores), key=lambda run: (run.started, run.name))[-_TREND:]
    if not ordered:
        raise NotFound("No run of this benchmark has a score.")
    marks: list[dict[str, Any]] = []
    rows = []
    for run in ordered:
        for score in run.scores:
            name = f"{cut(run.label or run.name, 28)} {cut(score.model, 28)}"
            name = f"{name} ({len(marks) + 1})" if any(mark["name"] == name for mark in marks) else name
            value, low, high = (round(point, 2) for point in score.points)
            marks.append({"name": name, "value": value, "low": low, "high": high})
            rows.append((run.number, run.label or run.name, run.started, score))
    picture = charts.intervals(marks, [str(mark["name"]) for mark in marks], "Score")
    return render(
        "trend.html.j2",
        title=f"{ordered[-1].what}: {len(ordered)} run{'s' if len(ordered) > 1 else ''}",
        number=number,
        rows=rows,
        picture=Markup(picture.wide + picture.narrow),  # noqa: S704 - its words are escaped where it is drawn
    )
