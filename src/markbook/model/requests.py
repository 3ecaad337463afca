"""What a model is asked and what comes back; light, because every run knows these records and few ask over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from markbook.types import Missing


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """What a model is told beside the prompt; None leaves it to the server."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    """Answer number i is asked for with seed + i."""


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """One question."""

    key: tuple[str | int, ...]
    """What its answer is kept under."""
    prompt: str
    system: str = ""
    settings: GenerationSettings = field(default_factory=GenerationSettings)
    turns: tuple[tuple[str, str], ...] = ()
    """Worked examples put before the prompt, where they are turns of their own: each a question and its answer."""
    continuation: str | None = None
    """Set where the answer is how likely this text is behind the prompt."""

    @property
    def seed(self) -> int | None:
        """The seed of this answer among several to one question."""
        index, seed = self.key[-1], self.settings.seed
        return seed + index if seed is not None and isinstance(index, int) else seed

    @property
    def size(self) -> int:
        """How many UTF-8 bytes it asks with."""
        texts = (self.prompt, self.system, self.continuation or "", *(text for turn in self.turns for text in turn))
        return sum(len(text.encode("utf-8", "replace")) for text in texts)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What became of one question: a text, or the reason why there is none."""

    key: tuple[str | int, ...]
    text: str = ""
    """Cut at the first stop text."""
    raw: str = ""
    """As it came, where that differs."""
    missing: Missing | None = None
    finish: str = ""
    """Why the model stopped: `stop`, `length`, `content_filter`."""
    input_tokens: int | None = None
    """None where the server did not say."""
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars over all its requests; None where that is not known (no price, a request that timed out)."""
    cost_at_most: float | None = None
    """The same with requests of unknown cost at their dearest; None where no price is known."""
    requests: int = 0
    """How many requests it took."""
    seconds: float = 0.0
    """From the first request to the answer; kept out of the deterministic files."""

    def as_record(self) -> dict[str, object]:
        """Return an answered question as JSON."""
        names = ("text", "raw", "finish", "input_tokens", "output_tokens", "cost", "cost_at_most", "requests")
        return {**{name: getattr(self, name) for name in names}, "seconds": round(self.seconds, 6)}


class Generator(Protocol):
    """Answers questions; a factory with keyword options in the group `markbook.generators` makes it."""

    def generate(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        """Call `on_reply` once for every request, in any order, from this thread."""
