"""Plain values from hostile ones: the bounds and conversions that every reader shares."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from markbook.files.jsonl import BAD, decode_json
from markbook.trace import CostSum, Step, StepKind, Trace, add_known
from markbook.types import Record

MAX_DEPTH = 24
"""Nesting below this is cut to its text: no recursion of ours goes deeper, whatever a file holds."""
MAX_ARGUMENTS = 65_536
"""Characters of one call's arguments that are parsed and kept."""
MAX_TEXT = 2_000
"""Characters of a message or result that are kept for the eye; no metric reads them."""
MAX_NAME = 200
"""Characters of an agent's or tool's name."""
_BUDGET = 1 << 22
"""Characters of one value that are kept: lists that hold one another are larger written out than in memory."""
_PER_VALUE = 16
"""Characters that a value counts for beside those of its text."""
_LARGEST = (1 << 63) - 1
_VAST = 1e100
"""Numbers beyond it cannot be times or costs: their sums and differences would be infinite."""
_MOST_DIGITS = 10**4000
"""Python refuses to write integers of more than 4,300 digits."""


def read_text(value: object, limit: int = MAX_TEXT) -> str:
    """Return a value as text, cut at the limit."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value[:limit]
    if isinstance(value, list):
        parts = [
            read_text(block.get("text") or block.get("content"), limit) for block in value if isinstance(block, dict)
        ]
        if any(parts):
            return "\n".join(part for part in parts if part)[:limit]
    return dump(value)[:limit]


def dump(value: object) -> str:
    """Return any value as JSON text; what JSON cannot hold becomes its `str`."""
    return json.dumps(bound_value(value), ensure_ascii=False, sort_keys=True)


def read_name(value: object) -> str:
    """Return a name: a trimmed string, empty for anything that is none."""
    return value.strip()[:MAX_NAME] if isinstance(value, str) else ""


def record(value: object) -> Record:
    """Return a JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def to_list(value: object) -> list[Any]:
    """Return a JSON array, or an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def rows(value: object) -> list[Record]:
    """Return the objects of a JSON array, an empty list for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def whole(value: object) -> int | None:
    """Return a count that a log may write as a number or as a string; None for what is not a count."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        if not value.strip().isascii() or not value.strip().isdigit() or len(value) > 20:
            return None
        value = int(value)
    if isinstance(value, float):
        if not math.isfinite(value) or value != int(value):
            return None
        value = int(value)
    return value if isinstance(value, int) and 0 <= value <= _LARGEST else None


def number(value: object) -> float | None:
    """Return a number that can be added to others, also from a string; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    return result if abs(result) <= _VAST else None  # nor NaN


def moment(value: object) -> float | None:
    """Return a time in seconds from seconds, an ISO string, or None; one without a zone is UTC wherever it is read."""
    seconds = number(value)
    if seconds is not None:
        return seconds
    if not isinstance(value, str) or not value:
        return None
    try:
        date = datetime.fromisoformat(value)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def bound_value(value: object) -> object:
    """Return a JSON value no deeper and no larger than the limits, non-finite numbers turned to None.

    What is beyond a limit is "..."; what JSON cannot hold becomes its `str`.
    """
    return _Bounded().value(value, MAX_DEPTH)


class _Bounded:
    """One walk over a value, which ends where the budget is spent."""

    def __init__(self) -> None:
        self.left = _BUDGET

    def value(self, value: object, depth: int) -> object:
        self.left -= _PER_VALUE
        if depth <= 0 or self.left < 0:
            return "..."
        if isinstance(value, Mapping):
            return {self._words(key): self.value(item, depth - 1) for key, item in self._within(value.items())}
        if isinstance(value, list | tuple):
            return [self.value(item, depth - 1) for item in self._within(value)]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int) and abs(value) < _MOST_DIGITS:
            return value
        return self._words(value)

    def _within(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            yield item
            if self.left < 0:
                return

    def _words(self, value: object) -> str:
        if not isinstance(value, str):
            try:
                value = str(value)
            except Exception:  # noqa: BLE001 - a stranger's __repr__ may raise anything, and a log breaks no call
                value = f"<{type(value).__name__}>"
        text = value[: max(self.left, 0)]
        self.left -= len(text)
        return text


def parse_arguments(value: object) -> object:
    """Return arguments as JSON values: many logs write them as a string of JSON.

    Text that is not JSON stays text; what is longer than the limit is cut and stays text.
    """
    if not isinstance(value, str):
        return bound_value(value)
    if len(value) > MAX_ARGUMENTS:
        return value[:MAX_ARGUMENTS]
    if value[:1] not in "{[":
        return value
    parsed = decode_json(value, any_integer=True)
    return value if parsed is BAD else bound_value(parsed)


def write_arguments(value: object) -> str:
    """Return a call's arguments as text, one character beyond the limit where they are longer: `parse_arguments` leaves those be."""
    text = value if isinstance(value, str) else "" if value is None else dump(value)
    return text[: MAX_ARGUMENTS + 1]


def make_trace(
    steps: Sequence[Step], *, reader: str, agents: Iterable[str] = (), model_calls: Sequence[Step] = (), **facts: Any
) -> Trace:
    """Return a trace of these steps, in order, with its totals counted.

    `agents` act although no step may carry their name; `model_calls` is every call of a model, where the log has a
    step for each, else those that carry tokens or a price; `facts` are further fields of `Trace`: token sums and
    times come from the steps where they are not given.
    """
    steps = tuple(steps)
    named = (name for step in steps for name in (step.agent, step.target))
    names_seen = dict.fromkeys(name for name in (*named, *agents) if name)
    calls = sum(step.kind is StepKind.TOOL for step in steps)
    starts = [step.start for step in steps if step.start is not None]
    ends = [step.end for step in steps if step.end is not None]
    counted: dict[str, Any] = {
        "agents": tuple(names_seen),
        "tool_calls": calls,
        "messages": len(steps) - calls,
        "input_tokens": add_known(step.input_tokens for step in steps),
        "output_tokens": add_known(step.output_tokens for step in steps),
        "start": min(starts, default=None),
        # where logs note only one moment of all, how long the run took is not known
        "end": max(starts + ends) if ends or len(set(starts)) > 1 else None,
    }
    # What has tokens was a model's call, and one without a price would count as free in a sum of the others.
    paid = [step for step in steps if (step.cost, step.input_tokens, step.output_tokens) != (None, None, None)]
    cost = CostSum("model calls", (step.cost for step in paid))
    counted["cost"] = cost.total
    if cost.note and "cost" not in facts:
        facts["notes"] = (*facts.get("notes", ()), cost.note)
    partial = {}
    for name in ("input_tokens", "output_tokens"):
        counts = [getattr(step, name) for step in model_calls or paid if name not in facts]
        partial[name] = len(counts) - counts.count(None), len(counts)
    counted["partial"] = {name: (n_known, count) for name, (n_known, count) in partial.items() if 0 < n_known < count}
    counted |= facts
    if (counted["cost"] or 0) < 0:
        counted["cost"] = None  # nobody is paid for a call: it would hide what others cost
    return Trace(format=reader, steps=steps, **counted)


class PlainCall(NamedTuple):
    """A tool call that a model asks for."""

    name: str
    id: str
    arguments: object


def call_list(calls: Iterable[Record]) -> str:
    """Return calls that a model asks for as JSON; the limit of arguments is each call's own."""
    return json.dumps([
        {
            "name": read_name(call.get("name")),
            "id": read_text(call.get("id"), MAX_NAME),
            "arguments": write_arguments(arguments) if isinstance(arguments, str | dict | list) else bound_value(arguments),
        }
        for call in calls
        for arguments in (call.get("arguments"),)
    ])  # fmt: skip


def maybe_call(text: str) -> list[PlainCall]:
    """Return the calls of a JSON list of name, id and arguments, which `call_list` made."""
    calls = rows(json.loads(text))
    return [
        PlainCall(
            read_name(call.get("name")), read_text(call.get("id"), MAX_NAME), parse_arguments(call.get("arguments"))
        )
        for call in calls
    ]
