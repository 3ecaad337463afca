"""One attempt with its marks, as kinds of run publish it and as readers of other tools' results give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from markbook.measurements import MissingRecord
from markbook.types import Direction, Missing

OTHER_TOOL = "tool:"
"""How the signature begins that another tool's file has: it says less than ours, and differs from those of the tool alone."""
RIGHT_ANSWER = "right answer of "
"""How the part of another tool's signature begins that says which answer to one sample is right."""


class RowRecord(TypedDict):
    """A `Row` as a line of results.jsonl."""

    model: str
    id: str
    index: int
    prompt: str
    text: str
    metrics: dict[str, float | None]
    missing: dict[str, MissingRecord]
    cluster: NotRequired[str]
    content: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt with its marks."""

    model: str
    id: str
    """Which sample it is at."""
    metrics: Mapping[str, float | Missing]
    index: int = 0
    """Which attempt of several."""
    prompt: str = ""
    text: str = ""
    """What was handed in."""
    content: str = ""
    """What the sample is known by beside its id: who says so, a colon, and a digest of what was asked."""
    cluster: str = ""
    """What samples it belongs together with, such as a passage that several ask about; empty of one by itself."""

    def record(self) -> RowRecord:
        """Return it as a line of results.jsonl holds it."""
        lost = {name: value for name, value in self.metrics.items() if isinstance(value, Missing)}
        record: RowRecord = {
            "model": self.model,
            "id": self.id,
            "index": self.index,
            "prompt": self.prompt,
            "text": self.text,
            "metrics": {name: None if isinstance(value, Missing) else value for name, value in self.metrics.items()},
            "missing": {name: why.to_record() for name, why in lost.items()},
        }
        if self.cluster:
            record["cluster"] = self.cluster
        if self.content:
            record["content"] = self.content
        return record


@dataclass(frozen=True, slots=True)
class Column:
    """What a reader has to know of a metric."""

    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"
    is_verdict: bool = False
    """Whether its values are verdicts of tests: 1 where all passed."""
    note: str = ""
    """What a reader has to know of the direction, where only the metric's name says it."""
