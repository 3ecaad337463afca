"""One attempt with its marks, as kinds of run publish it and as readers of other tools' results give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markbook.types import Direction, Missing


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

    def record(self) -> dict[str, Any]:
        """Return it as a line of results.jsonl holds it."""
        lost = {name: value for name, value in self.metrics.items() if isinstance(value, Missing)}
        found: dict[str, Any] = {
            "model": self.model,
            "id": self.id,
            "index": self.index,
            "prompt": self.prompt,
            "text": self.text,
            "metrics": {name: None if name in lost else value for name, value in self.metrics.items()},
            "missing": {name: why.to_record() for name, why in lost.items()},
        }
        if self.cluster:
            found["cluster"] = self.cluster
        return found | {"content": self.content} if self.content else found


@dataclass(frozen=True, slots=True)
class Column:
    """What a reader has to know of a metric."""

    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"
