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
    cached: float | None = None
    """For what the server had read before; None where that costs as much as the rest."""

    def of(self, read: float, written: float, cached: float = 0) -> float:
        """Return what these tokens cost, `cached` of those read at their own price."""
        n_cached = min(cached, read) if self.cached is not None else 0
        return ((read - n_cached) * self.input + n_cached * (self.cached or 0.0) + written * self.output) / _MILLION


def parse_price(text: str) -> Price:
    """Return the price that `IN/OUT` or `IN/OUT/CACHED` states, in dollars for a million tokens.

    >>> parse_price("0.15/0.6")
    Price(input=0.15, output=0.6, cached=None)

    Raises:
        UsageError: it is not two or three numbers from 0 up.
    """
    try:
        stated = [float(part) for part in text.split("/")]
    except ValueError:
        stated = []
    if len(stated) not in (2, 3) or not all(number >= 0 and math.isfinite(number) for number in stated):
        raise UsageError(f"{text!r} is no price", hint="IN/OUT in dollars for a million tokens, such as 0.15/0.6")
    return Price(*stated)


def listed_price(provider: str, name: str) -> Price | None:
    """Return the price of a model in the table that comes with the extra `judge`; None where it has none."""
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:
        return None
    try:
        read = calc_price(Usage(input_tokens=_MILLION, output_tokens=0), model_ref=name, provider_id=provider)
        written = calc_price(Usage(input_tokens=0, output_tokens=_MILLION), model_ref=name, provider_id=provider)
        usage = Usage(input_tokens=_MILLION, cache_read_tokens=_MILLION, output_tokens=0)
        cached = calc_price(usage, model_ref=name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return Price(float(read.total_price), float(written.total_price), float(cached.total_price))
