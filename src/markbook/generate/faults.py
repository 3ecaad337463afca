"""What an exception of a model client means for the next step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from markbook.text import redact

_AGAIN = frozenset({408, 409, 425, 429})
_FATAL = frozenset({401, 402, 403, 404})
_MAX_DETAIL = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request brought no answer."""

    detail: str
    again: bool = True
    """Whether the same question may be asked once more."""
    wait: float | None = None
    """How many seconds the server asked us to wait."""
    fatal: bool = False
    """Whether no other question can succeed either: a refused key, an unknown model."""


def fault_of(error: Exception) -> Fault:
    """Return what became of a request; the server's own words are cut, as a report will show them."""
    from pydantic_ai import exceptions

    detail = redact(f"{type(error).__name__}: {error}")[:_MAX_DETAIL]
    if isinstance(error, exceptions.ModelHTTPError):
        status = error.status_code
        if status in _AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Fault(detail, wait=_wait(error))
        return Fault(detail, again=False, fatal=status in _FATAL)
    if isinstance(error, exceptions.UserError):
        return Fault(detail, again=False, fatal=True)
    return Fault(detail)


def _wait(error: Exception) -> float | None:
    """Return the seconds of a Retry-After header, given as seconds or as a date."""
    headers = getattr(error, "headers", None) or {}
    if not headers:
        headers = getattr(getattr(error.__cause__, "response", None), "headers", None) or {}
    return parse_retry_after(headers.get("retry-after"), datetime.now(UTC))


def parse_retry_after(stated: object, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for, from 0 up; None if it says nothing usable."""
    if not isinstance(stated, str):
        return None
    try:
        seconds = float(stated)
    except ValueError:
        pass
    else:
        return seconds if 0 <= seconds < float("inf") else None
    try:
        moment = parsedate_to_datetime(stated)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
