"""Answers that exist already, behind the same door as a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from markbook.model.records import ModelReply, PromptRequest
from markbook.types import Missing, MissingKind


class Replay:
    """Answers from a table; a question that it lacks is absent, not empty."""

    def __init__(self, texts: Mapping[tuple[str | int, ...], str]) -> None:
        self._texts = texts

    def generate(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        """Call `on_reply` once for every request, in order."""
        for request in requests:
            text = self._texts.get(request.key)
            if text is None:
                on_reply(ModelReply(request.key, missing=Missing(MissingKind.ABSENT, "nobody answered it")))
            else:
                on_reply(ModelReply(request.key, text=text, raw=text))


def replay(*, texts: Mapping[tuple[str | int, ...], str]) -> Replay:
    """Return a generator that answers from a table.

    Args:
        texts: the answers by the key of their request.
    """
    return Replay(texts)
