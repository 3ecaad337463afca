"""Published rows as other programs take them, and the values in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from markbook.results.kind import Case, Value
from markbook.types import Missing, MissingKind


def value_of(value: float | None, reason: Mapping[str, str] | None) -> float | Missing:
    """Return a row's value, or its reason for having none."""
    if value is not None:
        return float(value)
    if reason is None:
        return Missing(MissingKind.ABSENT, "the row gives no reason")
    return Missing(MissingKind(reason["kind"]), reason.get("detail", ""))


def flat_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Value]]:
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
    elif isinstance(value, dict | list):
        flat[name] = json.dumps(value, ensure_ascii=False, allow_nan=False)
    else:
        flat[name] = value


def cases(rows: Iterable[Mapping[str, Any]], command: str) -> Iterator[Case]:
    """Yield one case a published row: an error where a value is missing because something failed, else passed."""
    for row in rows:
        missing = row.get("missing") or {}
        broken = {
            name: reason
            for name, reason in missing.items()
            if isinstance(reason, dict) and reason.get("kind") in ("failed", "timeout", "unavailable", "budget")
        }
        suite = str(row.get("model") or row.get("system") or command)
        name = str(row.get("id") or row.get("paper_id") or "")
        name = f"{row['task']}/{name}" if row.get("task") else name
        name += f" [{row['index']}]" if row.get("index") else ""
        detail = "\n".join(f"{field}: {one['kind']}: {one.get('detail', '')}" for field, one in broken.items())
        tests = row.get("tests")
        if broken:
            yield Case(suite, name, "error", f"{len(broken)} values are missing", detail)
        elif isinstance(tests, dict) and not tests.get("passed"):
            words = str(tests.get("error") or "the tests failed")
            yield Case(suite, name, "failure", words, str(tests.get("detail") or ""))
        else:
            yield Case(suite, name, "passed")
