"""Published rows as other programs take them, and the values in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from markbook.results.kind import Case, Value
from markbook.types import Missing, MissingKind


def reasons_of(row: Mapping[str, object]) -> dict[str, Missing]:
    """Return why values of a row, or of a part of one, are missing: by the name of the value."""
    return {name: Missing.from_record(record) for name, record in _lost(row).items()}


def _lost(row: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    missing = row.get("missing")
    return missing if isinstance(missing, Mapping) else {}


def reasons_text(row: Mapping[str, object]) -> str:
    """Return why values of a row are missing, in one line."""
    return "; ".join(f"{name}: {reason.kind} {reason.detail}" for name, reason in reasons_of(row).items())


def value_of(values: Mapping[str, object], name: str, row: Mapping[str, object]) -> float | Missing:
    """Return a value, or the reason that its row gives for having none."""
    value = values.get(name)
    if isinstance(value, int | float):
        return float(value)
    record = _lost(row).get(name)
    return Missing(MissingKind.ABSENT, "the row gives no reason") if record is None else Missing.from_record(record)


def flat_rows(rows: Iterable[Mapping[str, object]]) -> Iterator[dict[str, Value]]:
    """Yield published rows with nested fields joined by dots and lists as JSON."""
    for row in rows:
        flat: dict[str, Value] = {}
        _flatten("", row, flat)
        if "text" in row and "reply" in row:
            flat["answered"] = row["text"] is not None  # CSV has no word for null: an empty cell may be an empty answer
        yield flat


def _flatten(name: str, value: Any, flat: dict[str, Value]) -> None:
    if isinstance(value, dict) and len(name.split(".")) <= 4:
        for key, part in value.items():
            _flatten(f"{name}.{key}" if name else str(key), part, flat)
    else:
        own, count = name, 1
        while own in flat:  # a key may hold the dot that joins keys
            count += 1
            own = f"{name} ({count})"
        flat[own] = json.dumps(value, ensure_ascii=False, allow_nan=False) if isinstance(value, dict | list) else value


def cases(rows: Iterable[Mapping[str, object]], command: str) -> Iterator[Case]:
    """Yield one case a published row: an error where a value is missing because something failed, skipped without any value."""
    for row in rows:
        reasons = reasons_of(row)
        broken = {field: reason for field, reason in reasons.items() if reason.kind.is_ours}
        suite = str(row.get("model") or row.get("system") or command)
        name = str(row.get("id") or row.get("paper_id") or "")
        name = f"{row['task']}/{name}" if row.get("task") else name
        name += f" [{row['index']}]" if row.get("index") else ""
        detail = _list_reasons(broken)
        tests = row.get("tests")
        if broken:
            yield Case(suite, name, "error", f"{len(broken)} values are missing", detail)
        elif isinstance(tests, dict) and not tests.get("passed"):
            words = str(tests.get("error") or "the tests failed")
            yield Case(suite, name, "failure", words, str(tests.get("detail") or ""))
        elif not isinstance(tests, dict) and _is_bare(row):
            first = next(iter(reasons.values()), Missing(MissingKind.ABSENT, "the row gives no reason"))
            yield Case(suite, name, "skipped", f"{first.kind}: {first.detail}", _list_reasons(reasons))
        else:
            yield Case(suite, name, "passed")


def _list_reasons(reasons: Mapping[str, Missing]) -> str:
    return "\n".join(f"{field}: {reason.kind}: {reason.detail}" for field, reason in reasons.items())


def _is_bare(row: Mapping[str, object]) -> bool:
    """Whether a row has metrics, and a value by none of them."""
    metrics = row.get("metrics")
    return isinstance(metrics, Mapping) and bool(metrics) and all(value is None for value in metrics.values())
