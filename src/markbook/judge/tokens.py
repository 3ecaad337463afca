"""Weighing a mark by the probabilities of the tokens that could have stood in its place.

A judge that says 4 may have been as close to 3 as to 5; where a server gives log probabilities, the mark is the mean of
the scale's marks under them, as in G-Eval (arXiv 2303.16634), and the probability mass that they hold is kept beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from markbook.judge.reply import parse_object

_DIGITS = tuple("0123456789")
_CERTAIN = 0.01
"""Log probabilities end at 0; rounding may lift one a little above it, and anything more is none."""


class TokenRecord(TypedDict):
    """One token, and the log probabilities of the digits that could have stood in its place."""

    token: str
    digits: dict[str, float]


def token_of(record: object) -> TokenRecord:
    """Return a token as it was kept; what is not well formed is a token that spells nothing."""
    token = record if isinstance(record, Mapping) else {}
    digits = token.get("digits")
    entries = digits.items() if isinstance(digits, Mapping) else ()
    return TokenRecord(
        token=str(token.get("token", "")),
        digits={
            str(name): float(value) for name, value in entries if isinstance(value, int | float) and abs(value) < 1e300
        },
    )


def reduce_logprobs(tokens: Iterable[Mapping[str, object]]) -> tuple[TokenRecord, ...]:
    """Return each token with the log probabilities of the digits among its alternatives, all that is needed."""
    reduced = []
    for token in tokens:
        digits: dict[str, float] = {}
        listed = token.get("top_logprobs")
        for alternative in listed if isinstance(listed, list) else ():
            if not isinstance(alternative, Mapping):
                continue
            name, value = str(alternative.get("token", "")).strip(), alternative.get("logprob")
            if name in _DIGITS and isinstance(value, int | float) and -1e300 < value < _CERTAIN:
                # Two spellings of one digit (with and without a space) add up.
                digits[name] = _log_sum(digits.get(name, -math.inf), min(0.0, float(value)))
        reduced.append(TokenRecord(token=str(token.get("token", "")), digits=digits))
    return tuple(reduced)


def _log_sum(first: float, other: float) -> float:
    """Return the logarithm of the sum of two probabilities given by theirs, however small they are."""
    high = max(first, other)
    return high + math.log(math.exp(first - high) + math.exp(other - high))


def weigh(
    payload: str, tokens: Sequence[TokenRecord], name: str, scale: tuple[int, int] = (1, 5)
) -> tuple[float, float] | None:
    """Return the expected mark of a criterion and the probability mass it rests on.

    None if the tokens do not spell the payload, or the mark's own token holds no probability for its digit or for any, or
    the key stands twice.

    Args:
        payload: the reply, one JSON object that was read before.
        tokens: as `reduce_logprobs` returns them.
        name: the criterion's key in the reply.
        scale: its ends; marks of more than one digit are not weighed.
    """
    allowed = {str(mark) for mark in range(scale[0], scale[1] + 1)}
    if not allowed <= set(_DIGITS):
        return None
    text = "".join(token["token"] for token in tokens)
    if text.strip() != payload.strip():
        return None
    # A quote inside a JSON string is escaped, so a judged text that cites the key cannot match.
    places = list(re.finditer(rf'"{re.escape(name)}"\s*:\s*([0-9])(?![\d.eE])', text))
    # Another object in the reply may hold the key too: then nothing says which digit is the mark.
    if len(places) != 1 or parse_object(payload).get(name) != int(places[0].group(1)):
        return None
    (match,) = places
    position = 0
    for token in tokens:
        spelled = token["token"]
        if position <= match.start(1) < position + len(spelled):
            digits = token["digits"]
            if spelled.strip() != match.group(1) or match.group(1) not in digits or match.group(1) not in allowed:
                return None
            weights = {digit: math.exp(min(0.0, digits[digit])) for digit in digits if digit in allowed}
            mass = math.fsum(weights.values())
            if mass == 0.0:
                return None  # servers say -9999 for what they rule out
            mean = math.fsum(int(digit) * weight for digit, weight in weights.items()) / mass
            marks = [int(digit) for digit in weights]
            # Rounding may carry the mean beyond the highest mark by its last digit.
            return min(float(max(marks)), max(float(min(marks)), mean)), min(1.0, mass)
        position += len(spelled)
    return None
