"""A server for this machine only: a random token for each who may come, one host name, nothing loaded from elsewhere."""

from __future__ import annotations

import hmac
import html
import http.server
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from markbook.errors import MarkbookError, OutputError
from markbook.report.html import content_digest, render_template, style

COOKIE = "markbook_token"
MOST_FIELDS = 50
FORM_BYTES = 16_384
_log = logging.getLogger(__name__)


class NotFound(Exception):
    """No page has this address."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, by somebody who may."""

    path: str
    query: Mapping[str, str]
    who: str
    """For whom the token was made."""
    form: Mapping[str, str] | None = None
    """What was filled in; None for a page that is only looked at."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back."""

    body: str | bytes
    status: HTTPStatus = HTTPStatus.OK
    kind: str = "text/html"
    headers: Mapping[str, str] = field(default_factory=dict)


class Pages(Protocol):
    """What is served."""

    def answer(self, request: Request) -> Reply:
        """Return the reply to a request.

        Raises:
            NotFound: no page has this address.
        """


class LocalServer(http.server.ThreadingHTTPServer):
    """Serves pages on the loopback interface."""

    daemon_threads = True

    def __init__(
        self, pages: Pages, port: int = 0, *, who: Sequence[str] = ("",), script: str = "", takes_forms: bool = False
    ) -> None:
        """Bind to a port of 127.0.0.1, 0 for a free one; each `who` that may come has an address of his own.

        `script` is the one script that pages may hold. Without `takes_forms` nothing can be written.

        Raises:
            OutputError: the port cannot be used.
        """
        try:
            super().__init__(("127.0.0.1", port), _FormHandler if takes_forms else _Handler)
        except OSError as error:
            raise OutputError(f"port {port} cannot be used: {error.strerror or error}") from error
        self.pages = pages
        # From the operating system's randomness, so that another user of this machine cannot guess it.
        self.tokens = {name: secrets.token_urlsafe(24) for name in who}
        # Only our own style and script are allowed, by their digests: a script in a model's text would not run even if
        # it were not escaped.
        allowed = f"script-src {content_digest(script)}; " if script else ""
        self.policy = (
            f"default-src 'none'; style-src {content_digest(style())}; {allowed}form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'"
        )

    @property
    def host(self) -> str:
        """What a browser names in its Host header."""
        return f"127.0.0.1:{self.server_address[1]}"

    def get_address(self, who: str) -> str:
        """Return the address to open, with the token."""
        return f"http://{self.host}/?token={self.tokens[who]}"

    def who(self, token: str) -> str | None:
        """Return for whom a token was made; None for nobody."""
        # Compared in constant time: how long it takes must not say how much of a token is right.
        token_bytes = token.encode()
        return next((name for name, own in self.tokens.items() if hmac.compare_digest(token_bytes, own.encode())), None)


def whole(text: str) -> int:
    """Return a number of an address.

    Raises:
        NotFound: it is none.
    """
    # At most 18 digits, which fit into 64 bits.
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NotFound
    return int(text)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: LocalServer
    server_version = "markbook"
    sys_version = ""
    # A connection that says nothing is closed after so many seconds and does not hold its thread.
    timeout = 30

    def do_GET(self) -> None:
        """Answer a page."""
        if not self._is_meant():
            return
        parts = self._parts()
        query = None if parts is None else self._fields(parts.query)
        if parts is None or query is None:
            return
        if "token" in query and self.server.who(query["token"]) is not None:
            # From here on a cookie: the token leaves the address bar, the history and any screenshot.
            cookie = f"{self._cookie}={query['token']}; HttpOnly; SameSite=Strict; Path=/"
            rest = urlencode({name: value for name, value in query.items() if name != "token"})
            # Two slashes at the start of an address name another host: this redirect must stay here.
            self._admit(("/" + quote(parts.path.lstrip("/\\"), safe="/.") + (f"?{rest}" if rest else "")), cookie)
            return
        self._answer(parts.path, query)

    def _admit(self, address: str, cookie: str) -> None:
        """Lead on with the cookie; who comes from another page is led by a page of ours, or the cookie would not go along."""
        headers = {"Set-Cookie": cookie}
        # A link in a mail or a chat: SameSite=Strict withholds the cookie from a redirect that another site began.
        if self.headers.get("Sec-Fetch-Site") == "cross-site":
            body = f'<!doctype html><title>Markbook</title><meta http-equiv="refresh" content="0;url={html.escape(address)}">'
            self._send(Reply(body, headers=headers))
        else:
            self._send(Reply("", HTTPStatus.SEE_OTHER, "text/plain", {"Location": address, **headers}))

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def _is_meant(self) -> bool:
        """Whether the request names this server; another name that points here is DNS rebinding."""
        # A page of somebody else may have its own name point to 127.0.0.1 and then read what is served here as its own.
        if self.headers.get("Host") == self.server.host:
            return True
        self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "This server answers to its own address only.")
        return False

    def _parts(self) -> SplitResult | None:
        """Return the parts of the address; None, with a reply sent, where it is none."""
        try:
            return urlsplit(self.path)
        except ValueError:
            self._refuse(HTTPStatus.BAD_REQUEST, "This is not an address.")
            return None

    def _fields(self, text: str) -> dict[str, str] | None:
        """Return the fields of an address or a form; None, with a reply sent, where there are too many."""
        try:
            pairs = parse_qsl(text, max_num_fields=MOST_FIELDS, keep_blank_values=True)
        except ValueError:
            self._refuse(HTTPStatus.BAD_REQUEST, "There are too many fields.")
            return None
        fields: dict[str, str] = {}
        for name, value in pairs:  # what is ticked several times is one list
            fields[name] = f"{fields[name]},{value}" if name == "at" and name in fields else value
        return fields

    def _answer(self, path: str, query: Mapping[str, str], form: Mapping[str, str] | None = None) -> None:
        who = self.server.who(self._read_cookie())
        if who is None:
            self._refuse(HTTPStatus.FORBIDDEN, "Open the address that the command printed.")
            return
        try:
            # From here on somebody with a token asks: what goes wrong may be said in full.
            reply = self.server.pages.answer(Request(path, query, who, form))
        except NotFound as error:
            self._explain(HTTPStatus.NOT_FOUND, str(error) or "This address has no page.")
        except MarkbookError as error:  # what is wrong with one run is said on its page, not by a closed connection
            self._explain(
                HTTPStatus.CONFLICT, f"{error.at}: {error.message}" if error.at else error.message, error.hint
            )
        except Exception as error:  # noqa: BLE001 - a server's border: whatever lies in a run, the others are shown
            _log.exception("the page %s cannot be made", path)
            self._explain(
                HTTPStatus.INTERNAL_SERVER_ERROR, f"This page cannot be made: {type(error).__name__}: {error}"
            )
        else:
            self._send(reply)

    def _read_cookie(self) -> str:
        pairs = (part.strip().partition("=") for part in self.headers.get("Cookie", "").split(";"))
        cookies = {name: value for name, _, value in pairs}
        return cookies.get(self._cookie, cookies.get(COOKIE, ""))

    @property
    def _cookie(self) -> str:
        """The cookie's name: browsers keep one jar for all ports of a machine, where several servers may run."""
        return f"{COOKIE}_{self.server.server_address[1]}"

    def _refuse(self, status: HTTPStatus, words: str) -> None:
        self._send(Reply(words, status, "text/plain"))

    def _explain(self, status: HTTPStatus, words: str, hint: str = "") -> None:
        """Show somebody who may come why a page is not there."""
        title = "Not found" if status is HTTPStatus.NOT_FOUND else "This page cannot be shown"
        self._send(Reply(render_template("browse/refused.html.j2", title=title, words=words, hint=hint), status))

    def _send(self, reply: Reply) -> None:
        data = reply.body.encode() if isinstance(reply.body, str) else reply.body
        self.send_response(reply.status)
        headers = {
            "Content-Type": f"{reply.kind}; charset=utf-8",
            "Content-Length": str(len(data)),
            "Content-Security-Policy": self.server.policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            # A page's own headers go before these: a run's own report has a policy of its own.
            **reply.headers,
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Log to our logger, and never the token."""
        _log.debug(format.replace("%", "%%") if not args else format, *(str(arg).split("token=")[0] for arg in args))


class _FormHandler(_Handler):
    """Takes filled-in forms too, from its own pages only."""

    def do_POST(self) -> None:
        """Take a form."""
        if not self._is_meant():
            return
        # Browsers state the origin of every form that another page sends: such a form would carry the cookie along.
        if self.headers.get("Origin", f"http://{self.server.host}") != f"http://{self.server.host}":
            self._refuse(HTTPStatus.FORBIDDEN, "This form came from another page.")
            return
        # Read by its stated length only: without one a caller could keep the thread reading for ever.
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 9 and int(length) <= FORM_BYTES):
            self.close_connection = True  # what follows is not read
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "This form is too long.")
            return
        form = self._fields(self.rfile.read(int(length)).decode("utf-8", "replace"))
        parts = self._parts()
        if form is not None and parts is not None:
            self._answer(parts.path, {}, form)
