"""The completions protocol: a text that is continued, and how likely a given continuation is (`echo` with log-probabilities).

vLLM, llama.cpp, TGI and lm-evaluation-harness use it so. Which tokens belong to the continuation is told by the places at
which they begin: white space at the end of a context counts to what follows, as in the harness.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from markbook.model.budget import Weight
from markbook.model.chat import (
    ChatAnswer,
    ChatReply,
    ReplyTokens,
    ServerQuestion,
    choices_of,
    finish_of,
    tokens_of,
    whole_text,
)
from markbook.model.faults import Garbled, RequestFault

_HUGE = 1e300
_CERTAIN = 0.01
"""Logarithms of probabilities end at 0; rounding may lift one a little above it, and anything more is none."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What one request brought."""

    choices: Sequence[Mapping[str, Any]]
    usage: ReplyTokens


class Continue(ServerQuestion):
    """A text on its way to be continued, or to be weighed where the request names its continuation."""

    __slots__ = ()

    @property
    def weight(self) -> Weight:
        """What decides the most that it may cost."""
        return Weight(self.request.size, 1) if self.is_weighing else super().weight

    @property
    def is_weighing(self) -> bool:
        """Whether a likelihood is asked for."""
        return self.request.continuation is not None

    async def send(self) -> Answered:
        """Send it once."""
        reply = await self.server.post("completions", self.payload())
        return Answered(choices_of(reply)[: self.count], tokens_of(reply))

    def payload(self) -> dict[str, object]:
        """Return what is sent."""
        request, name = self.request, self.server.name
        if request.continuation is None:
            return {"model": name, "prompt": request.system + request.prompt, **self.settings()}
        text = request.system + request.prompt + request.continuation
        return {"model": name, "prompt": text, "temperature": 0, "max_tokens": 1, "logprobs": 1, "echo": True}

    def read(self, response: Answered) -> ChatReply:
        """Return what a reply holds."""
        return self.heard([self._read_choice(choice) for choice in response.choices], response.usage)

    def _read_choice(self, choice: Mapping[str, object]) -> ChatAnswer:
        request, finish = self.request, finish_of(choice)
        if finish == "error" or request.continuation is None:
            text = choice.get("text", "" if finish == "error" else None)
            if not isinstance(text, str):
                raise RequestFault("the reply holds no text", is_free=False)
            return ChatAnswer(whole_text(text), finish)
        try:
            likelihood = likelihood_of(choice, request.system + request.prompt, request.continuation)
        except Garbled as error:
            raise RequestFault(str(error), is_free=False) from error
        return ChatAnswer(json.dumps(likelihood), "stop")


def likelihood_of(choice: Mapping[str, object], context: str, continuation: str) -> tuple[float, bool]:
    """Return a continuation's log-likelihood and whether a model that takes the likeliest token would write it.

    Raises:
        Garbled: the numbers do not belong to the text.
        RequestFault: the server does not say them.
    """
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict) or not isinstance(logprobs.get("token_logprobs"), list):
        detail = "the server gives no log-probabilities of the prompt (`echo` with `logprobs`)"
        raise RequestFault(detail, again=False, unsupported=True, fatal=True)
    numbers, tops = logprobs["token_logprobs"], logprobs.get("top_logprobs") or []
    starts = _starts(logprobs, len(numbers))
    begin, end = len(context.rstrip()), len(context) + len(continuation)
    places = [index for index, start in enumerate(starts) if begin <= start < end]
    if context and not places:
        raise Garbled("no token of the reply is the continuation's")
    if not context and places and numbers[places[0]] is None:
        places = places[1:]  # nothing stands before a text's first token that it could follow from
    values = [numbers[index] for index in places]
    if not all(map(_is_logarithm, values)):
        raise Garbled("a token of the continuation has no log-probability")
    return math.fsum(values), all(_is_likeliest(numbers[index], tops, index) for index in places)


def _starts(logprobs: Mapping[str, object], count: int) -> Sequence[int]:
    """Return at which character each token begins."""
    offsets = logprobs.get("text_offset")
    if isinstance(offsets, list) and len(offsets) == count and all(isinstance(offset, int) for offset in offsets):
        return [offset - offsets[0] for offset in offsets]
    tokens = logprobs.get("tokens")
    if not isinstance(tokens, list) or len(tokens) != count or not all(isinstance(token, str) for token in tokens):
        raise Garbled("the reply does not say which token is where")
    return list(itertools.accumulate((len(token) for token in tokens[:-1]), initial=0))


def _is_logarithm(stated: object) -> TypeGuard[float]:
    """Whether this can be a probability's logarithm: finite, and above 0 by rounding only."""
    return isinstance(stated, int | float) and not isinstance(stated, bool) and -_HUGE < stated < _CERTAIN


def _is_likeliest(value: float, tops: object, index: int) -> bool:
    """Whether no other token was likelier; where the server does not say, it is not known and counts as no."""
    top = tops[index] if isinstance(tops, list) and index < len(tops) else None
    if not isinstance(top, dict) or not top or not all(map(_is_logarithm, top.values())):
        return False
    return bool(value >= max(top.values()))
