"""What a model's tokens cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markbook.errors import UsageError

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float

    def of(self, read: float, written: float) -> float:
        """Return what these tokens cost, cached ones at the full price."""
        return (read * self.input + written * self.output) / _MILLION


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


def listed_price(provider: str, name: str) -> Price | None:
    """Return the price of a model in the table that comes with the extra `judge`; None where it has none."""
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:
        return None
    try:
        read = calc_price(Usage(input_tokens=_MILLION, output_tokens=0), model_ref=name, provider_id=provider)
        written = calc_price(Usage(input_tokens=0, output_tokens=_MILLION), model_ref=name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return Price(float(read.total_price), float(written.total_price))
