"""What an exception of a model client means for the next step."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from markbook.text import redact
from markbook.types import MissingKind

_AGAIN = frozenset({408, 409, 425, 429})
_FATAL = frozenset({401, 402, 403, 404})
_UNSUPPORTED = frozenset({400, 415, 422})
"""What servers say to a way of asking that they do not know."""
_ASKED_FOR = ("tool", "response_format", "json_schema", "structured")
"""Words by which a server that answers 404 means the way of asking and not the model."""
_PAY_FIRST = ("insufficient_quota", "billing_hard_limit", "billing_not_active", "credit balance is too low")
"""Words by which a server means that nothing will be answered until somebody pays."""
_NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol", "InvalidURL", "PoolTimeout"})  # fmt: skip
"""Exceptions of HTTP clients, of whichever package, after which the server has seen nothing."""
_MAX_DETAIL = 300
_MOST_COMPLAINTS = 3


class RequestFault(Exception):  # noqa: N818 - what a server did, not what a program did
    """A request that brought no answer that counts."""

    def __init__(
        self,
        detail: str,
        *,
        kind: MissingKind = MissingKind.UNAVAILABLE,
        again: bool = True,
        wait: float | None = None,
        fatal: bool = False,
        unsupported: bool = False,
        is_free: bool = True,
        is_reply: bool = False,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.kind = kind
        self.again = again
        """Whether the same question may be asked once more."""
        self.wait = wait
        """How many seconds the server asked us to wait."""
        self.fatal = fatal
        """Whether no other question can succeed either: a refused key, an unknown model, an empty account."""
        self.unsupported = unsupported
        """Whether the server may not know this way of asking."""
        self.is_free = is_free
        """Whether the request surely cost nothing; one that was sent and brought no bill may have cost all it could."""
        self.is_reply = is_reply
        """Whether the model did answer, and the answer does not count."""


class BadStatus(Exception):  # noqa: N818 - what a server said, not what a program did
    """A reply with a status that is no success."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.body = body
        """As JSON where it is some, else as text."""
        self.headers = headers


class Unreached(Exception):  # noqa: N818 - what a network did, not what a program did
    """The server has seen nothing: no connection came about."""


class Garbled(Exception):  # noqa: N818 - what a server did, not what a program did
    """What came back is no HTTP or no answer, or not all of it came."""


class NotFollowed(Exception):  # noqa: N818 - what a server asked for and we do not do
    """A redirect that is not followed."""


def fault_of(error: Exception) -> RequestFault:
    """Return what became of a request; the server's own words are cut, as a report will show them."""
    chain = list(_chain(error))
    stopped = next((exception for exception in chain if isinstance(exception, NotFollowed)), None)
    if stopped is not None:
        return RequestFault(str(stopped), again=False, fatal=True)
    if isinstance(error, Unreached | Garbled):
        return RequestFault(redact(str(error))[:_MAX_DETAIL], is_free=isinstance(error, Unreached))
    detail = redact(f"{type(error).__name__}: {error}")[:_MAX_DETAIL]
    if isinstance(error, BadStatus) or _is_theirs(error, "ModelHTTPError"):
        # The exception's own words are longer, and its class says no more than the status.
        status, body = int(getattr(error, "status_code", 0)), getattr(error, "body", None)
        detail = redact(f"status {status}: {_read_error_message(body)}")[:_MAX_DETAIL]
        return _of_status(status, body, detail, _wait(error))
    if _is_theirs(error, "UserError"):
        return RequestFault(detail, again=False, fatal=True)
    if (reason := _unreadable(chain)) is not None:
        return RequestFault(redact(f"the server's reply cannot be read: {reason}")[:_MAX_DETAIL], is_free=False)
    return RequestFault(detail, is_free=any(type(exception).__name__ in _NEVER_SENT for exception in chain))


def _unreadable(chain: Sequence[BaseException]) -> str | None:
    """Return what a client could not read in a reply; None for another kind of error."""
    for error in chain:
        if type(error).__name__ == "ValidationError" and callable(complaints := getattr(error, "errors", None)):
            listed = [
                f"{'.'.join(map(str, complaint['loc'])) or 'as a whole'}: {complaint['msg']}"
                for complaint in complaints()
            ]
            return "; ".join(listed[:_MOST_COMPLAINTS])
    if isinstance(chain[0], IndexError | KeyError | TypeError | AttributeError):
        return f"a part is missing or of another kind ({chain[0]})"
    return None


def _is_theirs(error: Exception, name: str) -> bool:
    """Whether an exception is one of pydantic-ai's of this name; where that is not imported, none is."""
    exceptions = sys.modules.get("pydantic_ai.exceptions")
    return exceptions is not None and isinstance(error, getattr(exceptions, name))


def _read_error_message(body: object) -> str:
    """Return a server's own words out of the body of an error."""
    message = body
    for key in ("error", "message"):
        message = message.get(key, message) if isinstance(message, dict) else message
    return message if isinstance(message, str) else json.dumps(message, default=str)


def _of_status(status: int, body: object, detail: str, wait: float | None) -> RequestFault:
    text = json.dumps(body, default=str).casefold()
    if any(words in text for words in _PAY_FIRST):
        return RequestFault(detail, again=False, fatal=True)
    if status in _AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return RequestFault(detail, wait=wait)
    if status == HTTPStatus.NOT_FOUND and any(word in text for word in _ASKED_FOR):
        return RequestFault(detail, again=False, unsupported=True)
    is_redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
    return RequestFault(detail, again=False, fatal=status in _FATAL or is_redirect, unsupported=status in _UNSUPPORTED)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and what it came of."""
    visited: set[int] = set()
    exception: BaseException | None = error
    while exception is not None and id(exception) not in visited:
        visited.add(id(exception))
        yield exception
        exception = exception.__cause__ or exception.__context__


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
    except (ValueError, OverflowError):  # a year of twenty digits
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
