"""What a judge's tokens cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markbook.errors import UsageError
from markbook.judge.live import Answer

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float

    def for_tokens(self, read: float, written: float) -> float:
        """Return what these tokens cost, cached ones at the full price."""
        return (read * self.input + written * self.output) / _MILLION

    def of(self, answer: Answer) -> float | None:
        """Return what an answer cost; its provider's own figure where there is one, None if tokens are unknown."""
        if answer.cost is not None:
            return answer.cost
        if answer.input_tokens is None or answer.output_tokens is None:
            return None
        return self.for_tokens(answer.input_tokens, answer.output_tokens)


def parse_price(text: str) -> Price:
    """Return the price that `IN/OUT` states, in dollars for a million tokens.

    >>> parse_price("0.15/0.6")
    Price(input=0.15, output=0.6)

    Raises:
        UsageError: it is not two numbers from 0 up.
    """
    try:
        read, written = map(float, text.split("/"))
    except ValueError:
        read = written = math.nan
    if not (read >= 0 and written >= 0 and math.isfinite(read + written)):
        raise UsageError(f"{text!r} is no price", hint="IN/OUT in dollars for a million tokens, such as 0.15/0.6")
    return Price(read, written)


def known_price(model: str) -> Price | None:
    """Return the listed price of `PROVIDER:NAME`; None where the table that comes with the extra has none."""
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:
        return None
    provider, _, name = model.partition(":")
    try:
        read = calc_price(Usage(input_tokens=_MILLION, output_tokens=0), model_ref=name, provider_id=provider)
        written = calc_price(Usage(input_tokens=0, output_tokens=_MILLION), model_ref=name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return Price(float(read.total_price), float(written.total_price))
