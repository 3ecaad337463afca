"""A judge's scores beside people's labels: the corrected mean or difference, and what the judge gets wrong by group."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markbook.errors import DataError, UsageError
from markbook.files.jsonl import Line, Rejection, read_jsonl
from markbook.stats import corrected_mean, holm, labels_needed, t_interval
from markbook.stats.records import Estimate

_Key = tuple[str, str]
"""Item and system."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is corrected, and by what."""

    judged: Path
    labels: Path
    score: str = "score"
    """The key of the judge's score: at a row's top, or in its `metrics`."""
    systems: tuple[str, ...] = ()
    """Two systems: their paired difference, first minus second. Empty: the mean over all rows."""
    cluster: str = ""
    stratum: str = ""
    by: str = ""
    """The key whose groups the judge's errors are told for."""
    target: float | None = None
    """A half-width to plan for; None: half of what it is now."""
    confidence: float = 0.95


@dataclass(slots=True)
class _Read:
    """Both files, joined."""

    rows: dict[_Key, Mapping[str, Any]] = field(default_factory=dict)
    scores: dict[_Key, float] = field(default_factory=dict)
    labels: dict[_Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    probabilities: dict[_Key, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    without_score: int = 0
    without_answer: int = 0
    """Labels that say that nobody can say."""


def correct(asked: Asked) -> dict[str, Any]:
    """Return the report: the estimate or the reason why there is none, the judge's errors by group, the plan.

    Raises:
        DataError: no judged row, no label, a row twice, labels of which none belongs to a judged row.
        UsageError: systems that the rows do not have.
    """
    read = _read(asked)
    pairs = _paired(read, asked) if asked.systems else None
    keys = list(read.scores) if pairs is None else [(item, asked.systems[0]) for item in pairs]
    scores = [read.scores[key] for key in keys] if pairs is None else [score for score, _ in pairs.values()]
    labels = [_label(read, key) for key in keys] if pairs is None else [label for _, label in pairs.values()]
    found = corrected_mean(
        scores,
        labels,
        probabilities=_probabilities(read, keys, labels),
        clusters=_column(read, keys, asked.cluster),
        strata=_column(read, keys, asked.stratum),
        confidence=asked.confidence,
    )
    half = found.stats.get("half_width", 0.0) / 2 if asked.target is None else asked.target
    needed = labels_needed(found, half) if half > 0 else Estimate(None, note=found.note)
    return {
        "what": "mean" if pairs is None else f"{asked.systems[0]} - {asked.systems[1]}",
        "corrected": found.to_record(),
        "stats": dict(found.stats),
        "items": len(scores),
        "labels": found.n,
        "without_score": read.without_score,
        "cannot_say": read.without_answer,
        "problems": read.problems,
        "errors_by_group": _errors(read, asked) if asked.by else [],
        "plan": {
            "half_width": half or None,
            "labels": None if needed.value is None else int(needed.value),
            "more": None if needed.value is None else max(0, int(needed.value) - found.n),
            "note": needed.note,
        },
    }


def _read(asked: Asked) -> _Read:
    read = _Read()
    for line in _lines(asked.judged, read):
        key = _key(line)
        if key in read.rows:
            hint = "one row an item and system; name two systems' rows by `system`"
            raise DataError(f"the item {key[0]!r:.60} stands twice", at=line.at, hint=hint)
        read.rows[key] = line.record
        value = _number(line.record, asked.score)
        if value is None:
            read.without_score += 1
        else:
            read.scores[key] = value
    if not read.scores:
        raise DataError(f"no row has a number {asked.score!r}", at=str(asked.judged), hint="--score names the key")
    strangers = 0
    for line in _lines(asked.labels, read):
        key = _key(line)
        if key not in read.rows and (key[0], "") in read.rows:
            key = (key[0], "")
        if key not in read.scores:
            strangers += 1
            continue
        value = _number(line.record, "label")
        if value is None:
            read.without_answer += 1
            continue
        read.labels[key].append(value)
        if (probability := _number(line.record, "probability")) is not None:
            if not 0 < probability <= 1:
                raise DataError(f"a probability is {probability:g}: it must lie above 0 and be at most 1", at=line.at)
            read.probabilities[key] = probability
    if strangers:
        read.problems.append(f"{strangers} labels belong to no judged row")
    if not read.labels:
        raise DataError("no label belongs to a judged row", at=str(asked.labels), hint='{"id": .., "label": ..} a line')
    return read


def _lines(path: Path, read: _Read) -> list[Line]:
    found = []
    for line in read_jsonl(path):
        if isinstance(line, Rejection):
            read.problems.append(f"{line.at}: {line.reason}: row skipped")
        elif not isinstance(line.record.get("id"), str | int):
            read.problems.append(f"{line.at}: no key 'id': row skipped")
        else:
            found.append(line)
    return found


def _key(line: Line) -> _Key:
    system = line.record.get("system", line.record.get("model", ""))
    index = line.record.get("index", 0)
    name = str(line.record["id"])
    return (name if index in (0, None) else f"{name}#{index}", str(system or ""))


def _number(record: Mapping[str, Any], name: str) -> float | None:
    value = record.get(name)
    if value is None and isinstance(record.get("metrics"), Mapping):
        value = record["metrics"].get(name)
    if isinstance(value, bool):
        return float(value)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _label(read: _Read, key: _Key) -> float | None:
    """Return the mean of what the raters say, None where nobody said anything."""
    said = read.labels.get(key)
    return math.fsum(said) / len(said) if said else None


def _paired(read: _Read, asked: Asked) -> dict[str, tuple[float, float | None]]:
    one, other = asked.systems
    held = {system for _, system in read.scores}
    for system in asked.systems:
        if system not in held:
            raise UsageError(f"no judged row is of the system {system!r:.60}", hint=", ".join(sorted(held)[:10]))
    found: dict[str, tuple[float, float | None]] = {}
    for item, system in read.scores:
        if system == one and (item, other) in read.scores:
            first, second = _label(read, (item, one)), _label(read, (item, other))
            gap = None if first is None or second is None else first - second
            found[item] = (read.scores[item, one] - read.scores[item, other], gap)
    return found


def _probabilities(read: _Read, keys: Sequence[_Key], labels: Sequence[float | None]) -> list[float] | None:
    """Return with what probability each item was drawn; None where no label states one.

    Raises:
        DataError: some labels state one and others do not.
    """
    if not read.probabilities:
        return None
    labelled = [key for key, label in zip(keys, labels, strict=True) if label is not None]
    if lacking := [key for key in labelled if key not in read.probabilities]:
        raise DataError(
            f"{len(lacking)} labels state no probability and others do; the first is of {lacking[0][0]!r:.60}"
        )
    # Of items without a label it is not used: those stand for themselves by the judge's score.
    return [read.probabilities.get(key, 1.0) for key in keys]


def _column(read: _Read, keys: Sequence[_Key], name: str) -> list[str] | None:
    if not name:
        return None
    if not any(name in read.rows[key] for key in keys):
        raise UsageError(f"no judged row has a key {name!r:.60}")
    return [str(read.rows[key].get(name, "")) for key in keys]


def _errors(read: _Read, asked: Asked) -> list[dict[str, Any]]:
    """Return for each group how far the judge's scores are from the labels: mean, interval, Holm's p."""
    groups: dict[str, list[float]] = defaultdict(list)
    names = dict(zip(read.scores, _column(read, list(read.scores), asked.by) or [], strict=True))
    for key, name in names.items():
        if (label := _label(read, key)) is not None:
            groups[name].append(read.scores[key] - label)
    found = {name: t_interval(gaps, confidence=asked.confidence) for name, gaps in sorted(groups.items())}
    adjusted = holm([_p(estimate) for estimate in found.values()])
    return [
        {"group": name, "judge_minus_label": estimate.to_record(), "p_adjusted": p}
        for (name, estimate), p in zip(found.items(), adjusted, strict=True)
    ]


def _p(found: Estimate) -> float | None:
    from markbook.stats import student

    if found.value is None or not found.se or found.n < 2:
        return None
    return student.two_sided(found.value / found.se, found.n - 1)
