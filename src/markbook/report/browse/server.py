"""The server behind `markbook view`: this machine only, a random token, GET and HEAD, nothing is written."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import logging
import os
import secrets
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from markbook.report.browse.site import NotFound, Site, style

COOKIE = "markbook_token"
_log = logging.getLogger(__name__)


class Server(http.server.ThreadingHTTPServer):
    """Serves one folder of runs on the loopback interface."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        """Bind to a free port (or the named one) of 127.0.0.1."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.site = Site(folder)
        self.token = secrets.token_urlsafe(24)
        digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
        self.policy = f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    @property
    def host(self) -> str:
        """What a browser names in its Host header."""
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return f"http://{self.host}/?token={self.token}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server
    server_version = "markbook"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer a page."""
        if self.headers.get("Host") != self.server.host:  # another name that points here: DNS rebinding
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "This server answers to its own address only.")
            return
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, max_num_fields=20, keep_blank_values=True))
        if "token" in query and self._is_token(query["token"]):
            # From here on a cookie: the token leaves the address bar, the history and any screenshot.
            self._send(HTTPStatus.SEE_OTHER, "", {"Location": "/", "Set-Cookie": self._cookie()})
            return
        if not self._is_token(self._given()):
            self._send(HTTPStatus.FORBIDDEN, "Open the address that `markbook view` printed.")
            return
        try:
            if parts.path.startswith("/report/"):
                self._report(parts.path.removeprefix("/report/"))
            else:
                self._send(HTTPStatus.OK, self.server.site.page(parts.path, query), kind="text/html")
        except NotFound as error:
            self._send(HTTPStatus.NOT_FOUND, str(error) or "There is no such page.")

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def _report(self, number: str) -> None:
        """Send a run's own report.html, shut off from this site."""
        if not (number.isascii() and number.isdigit() and len(number) < 9):
            raise NotFound
        path = self.server.site.run(int(number)).folder / "report.html"
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            raise NotFound from error
        with os.fdopen(handle, "rb") as file:
            content = file.read()
        self._send(HTTPStatus.OK, content, {"Content-Security-Policy": "sandbox allow-scripts"}, kind="text/html")

    def _cookie(self) -> str:
        return f"{COOKIE}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"

    def _given(self) -> str:
        pairs = (part.strip().partition("=") for part in self.headers.get("Cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == COOKIE), "")

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.server.token.encode())

    def _send(
        self, status: HTTPStatus, body: str | bytes, more: dict[str, str] | None = None, kind: str = "text/plain"
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(data)),
            "Content-Security-Policy": self.server.policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            **(more or {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's signature
        """Log to our logger, and never the token."""
        _log.debug(format.replace("%", "%%") if not args else format, *(str(arg).split("token=")[0] for arg in args))
