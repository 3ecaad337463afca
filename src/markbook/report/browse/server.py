"""The server behind `markbook view`: GET and HEAD, nothing is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from markbook.report.browse.local import LocalServer, NotFound, Reply, Request
from markbook.report.browse.rendering import keys_script
from markbook.report.browse.site import Site


class Server(LocalServer):
    """Serves one folder of runs on the loopback interface."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        """Bind to a free port (or the named one) of 127.0.0.1."""
        self.site = Site(folder)
        super().__init__(_Runs(self.site), port, script=keys_script())
        self.token = self.tokens[""]

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return self.address_of("")


class _Runs:
    """The pages over runs, and their own reports."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def answer(self, request: Request) -> Reply:
        """Return a page, or a run's own report.html.

        Raises:
            NotFound: there is none.
        """
        if request.path.startswith("/report/"):
            return self._report(request.path.removeprefix("/report/"))
        if request.path.startswith("/copy/"):
            return self._copy(request.path.removeprefix("/copy/"), request.query)
        return Reply(self._site.page(request.path, request.query))

    def _copy(self, name: str, query: Mapping[str, str]) -> Reply:
        """Return a list of attempts as a file."""
        body = "".join(self._site.copy(name, query))
        form = "csv" if name.endswith(".csv") else "md"
        named = {"Content-Disposition": f'attachment; filename="attempts.{form}"'}
        return Reply(body, kind={"csv": "text/csv", "md": "text/markdown"}[form], headers=named)

    def _report(self, number: str) -> Reply:
        """Return a run's own report.html, shut off from this site."""
        if not (number.isascii() and number.isdigit() and len(number) < 12):
            raise NotFound
        path = self._site.run(int(number)).folder / "report.html"
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            raise NotFound from error
        with os.fdopen(handle, "rb") as file:
            return Reply(file.read(), headers={"Content-Security-Policy": "sandbox allow-scripts"})
