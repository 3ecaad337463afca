"""The local site: which runs there are, and which page an address means. Every page is made on the server."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markbook.errors import DataError, MarkbookError
from markbook.files.content import looking_into
from markbook.foreign.reading import files_in
from markbook.report import run_pages
from markbook.report.board import comparison_page
from markbook.report.html import keys_script, render as render_page, render_template as render
from markbook.report.local_server import LocalServer, NotFound, Reply, Request, whole
from markbook.report.page import show_start
from markbook.report.run_index import Index, Query
from markbook.report.run_pages import SIDES, ListedRun, address, alike, describe_run, find_side, read_query, trend_page
from markbook.report.words import costs
from markbook.results.compare import read_sheets
from markbook.results.comparison import compare_sheet
from markbook.results.kind import get_sheet, open_results
from markbook.results.sheet import Sheet
from markbook.store import Run, open_run
from markbook.store.reader import foreign_paths
from markbook.traces import detect

__all__ = ["NotFound", "RunSite", "find_runs"]

PAGE_ROWS = run_pages.PAGE_ROWS
MOST_RUNS = 5_000
_DEPTH = 3
_EVERY = 1 << 62
_SHORT_LOOK = 0.2
_FIRST_LOOK = 1.0
"""Seconds that a page waits for the index before it shows what there is."""
_COUNTS = ("isolation", "attempts", "answers")
_OTHERS = 200
"""Attempts at the same item that the page of one names."""
_LIVE_SECONDS = 3.0
"""A run that is going on is read anew after so long, if it has grown."""
_TRACE_SUFFIXES = (".json", ".jsonl", ".eval", ".gz", ".traj")
_TRACE_BYTES = 64 << 20
"""Larger files with traces are not listed: `markbook trace --html` writes their page."""


def find_runs(folder: Path) -> list[Path]:
    """Return the run folders in a folder, to a depth of three, and other tools' files; newest name first, no links."""
    folders: list[Path] = []
    waiting = [(folder, 0)]
    while waiting and len(folders) < MOST_RUNS:
        here, depth = waiting.pop()
        # Links are not followed: they may lead out of the folder, or in circles.
        with looking_into(here):
            if (here / "run.json").is_file():
                folders.append(here)
            elif depth < _DEPTH:
                waiting += [(path, depth + 1) for path in here.iterdir() if path.is_dir() and not path.is_symlink()]
    try:
        folders += foreign_paths(folder)[: MOST_RUNS - len(folders)]
    except DataError:  # too much to look through for other tools' files: our own runs are shown all the same
        if not folders:
            raise
    return sorted(folders, key=lambda path: (path.name, str(path)), reverse=True)


@dataclass
class _Opened:
    """A run by its path."""

    path: Path
    run: Run | str
    """The words that say why, where it cannot be read."""
    index: Index | None = None
    checked: object = None
    """The state of its manifest in which it was found whole."""
    read: float = 0.0
    indexed: tuple[str, object] = ("", None)
    """The run's status and its last change when the index was begun."""
    measures: tuple[object, Sheet | None] | None = None
    """How its numbers were measured, with the run's status and last change when that was read."""


class RunSite:
    """All pages over the runs of one folder; the runs are found anew whenever the list is shown."""

    def __init__(self, folder: Path, trace_page: Callable[[Path], str] | None = None) -> None:
        self.folder = folder
        self._trace_page = trace_page
        self._formats: dict[tuple[Path, int, int], str] = {}
        """Of each file by its size and last change: the format of its traces, empty for a file without any."""
        self._opened: dict[int, _Opened] = {}
        self._numbers: dict[Path, int] = {}
        self._lock = threading.Lock()
        self.refresh()

    def refresh(self) -> None:
        """Look for runs again; a run keeps its number, here and whenever the folder is served again."""
        with self._lock:
            for path in find_runs(self.folder):
                # A number once given stays, also when the folder is gone: open pages hold it.
                if path not in self._numbers:
                    number = self._number(path)
                    self._numbers[path] = number
                    self._opened[number] = _Opened(path, "")
                self._open(self._opened[self._numbers[path]])

    def _number(self, path: Path) -> int:
        """Return a number for a run that depends on its place in the folder alone, so that links stay."""
        name = str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)
        number = int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=4).digest())
        while number in self._opened:
            number += 1
        return number

    @staticmethod
    def _open(opened: _Opened) -> None:
        try:
            # The check reads the whole journal, so it waits until the run is opened: see `run`.
            opened.run = open_run(opened.path, check=False)
        except MarkbookError as error:
            opened.run = f"{opened.path.name}: {error.message}"

    def run(self, number: int) -> Run:
        """Return a run by its number.

        Raises:
            NotFound: there is none, or it cannot be read.
        """
        opened = self._opened.get(number)
        if opened is None:
            raise NotFound
        run = opened.run
        if isinstance(run, str):
            raise NotFound(run)
        # Checked once for each state of the manifest: it reads the whole journal, which takes seconds for large runs.
        if opened.checked != (state := ("whole", run.manifest.get("updated"))):
            try:
                run.check()
            except MarkbookError as error:
                raise NotFound(f"{run.folder.name}: {error}") from error
            opened.checked = state
        return run

    def index(self, number: int) -> Index:
        """Return the index of a run, started; of one that is going on, what it holds by now."""
        run = self.run(number)
        opened = self._opened[number]
        with self._lock:
            is_old = (
                opened.index is not None and opened.index.is_done and time.monotonic() - opened.read > _LIVE_SECONDS
            )
            if run.status == "running" and is_old:
                self._open(opened)
                opened.index = None
                run = opened.run if isinstance(opened.run, Run) else run
            # The list of runs reads them anew, so that a run may have ended meanwhile: its attempts are then others.
            state = (run.status, run.manifest.get("updated") if run.status != "running" else None)
            if opened.index is None or opened.indexed != state:
                opened.index = Index(open_results(run, partial=True))
                opened.read, opened.indexed = time.monotonic(), state
            opened.index.start()
            return opened.index

    def page(self, path: str, query: Mapping[str, str]) -> str:
        """Return the HTML of an address.

        Raises:
            NotFound: no page has this address.
        """
        parts = [part for part in path.split("/") if part]
        if not parts:
            return self._list(query)
        if parts == ["compare"]:
            return self._compare(query)
        number = whole(parts[1]) if len(parts) > 1 else -1
        if parts[0] == "run" and len(parts) == 2:
            return self._run(number, query)
        if parts[0] == "matrix" and len(parts) == 2:
            index = self.index(number)
            index.wait(_EVERY, _FIRST_LOOK)
            run = self.run(number)
            return run_pages.matrix_page(index, number, describe_run(number, run.folder.name, run).title, query)
        if parts[0] == "trend" and len(parts) == 2:
            return self._trend(number)
        if parts[0] == "attempt" and len(parts) == 3:
            return self._attempt(number, whole(parts[2]), query)
        raise NotFound

    def copy(self, name: str, query: Mapping[str, str]) -> Iterator[str]:
        """Yield a list of attempts as CSV or Markdown.

        Raises:
            NotFound: no run or form has this name.
        """
        number, _, form = name.partition(".")
        if form not in ("csv", "md"):
            raise NotFound
        index = self.index(whole(number))
        index.wait(_EVERY, 30.0)
        return run_pages.copy_attempts(index, read_query(query, "sample"), query.get("text", "").strip()[:500], form)

    def changes(self, query: Mapping[str, str]) -> str:
        """Return the comparison of the named runs, the oldest first, as the page that `markbook compare --html` writes.

        Raises:
            NotFound: one of them is not there, or none is named.
            DataError: they cannot be compared.
        """
        if not query.get("at"):
            raise NotFound("Tick the runs to compare in the list of runs.")
        runs = [self.run(whole(number)) for number in query["at"].split(",")[:SIDES]]
        runs.sort(key=lambda run: (str(run.manifest.get("started", "")), str(run.folder)))
        sheet = read_sheets(runs)
        return render_page(comparison_page(runs, sheet, compare_sheet(sheet)))

    def traces(self) -> dict[str, str]:
        """Return the files below the folder that hold traces, by their place in it, each with its format."""
        formats: dict[str, str] = {}
        # What is too much to look through, or cannot be read, is not listed: the runs are shown all the same.
        with contextlib.suppress(MarkbookError, OSError):
            for path in files_in(self.folder, _TRACE_SUFFIXES) if self._trace_page else ():
                about = path.stat()
                key = path, about.st_size, about.st_mtime_ns
                if key not in self._formats:
                    self._formats[key] = ""
                    with contextlib.suppress(MarkbookError, OSError):
                        self._formats[key] = detect(path) if about.st_size <= _TRACE_BYTES else ""
                if self._formats[key]:
                    formats[str(path.relative_to(self.folder))] = self._formats[key]
        return dict(sorted(formats.items()))

    def trace(self, name: str) -> str:
        """Return the page of a file with traces.

        Raises:
            NotFound: none has this name.
            DataError: it cannot be read.
        """
        if self._trace_page is None or name not in self.traces():
            raise NotFound
        return self._trace_page(self.folder / name)

    def _runs(self) -> Iterator[ListedRun]:
        for path, number in sorted(self._numbers.items(), key=lambda item: item[0].name, reverse=True):
            run = self._opened[number].run
            if isinstance(run, Run):
                yield describe_run(number, path.name, run)

    def _list(self, query: Mapping[str, str]) -> str:
        self.refresh()
        words = query.get("q", "").casefold()
        broken = [opened.run for opened in self._opened.values() if isinstance(opened.run, str)]
        rows = alike([run for run in self._runs() if words in run.words.casefold()])
        return render(
            "browse/list.html.j2", title="Runs", rows=rows, broken=broken, query=query, folder=str(self.folder), most=MOST_RUNS, traces=self.traces(),
            is_cut=len(self._numbers) >= MOST_RUNS, search=lambda words: address("/", Query(), q=words), trace_at=lambda file: address("/trace", Query(), file=file),
        )  # fmt: skip

    def _trend(self, number: int) -> str:
        this = describe_run(number, "", self.run(number))
        runs = [run for run in self._runs() if run.group == this.group]
        return trend_page(number, runs, self._measures)

    def _measures(self, number: int) -> Sheet | None:
        """Return the sheet of a run with no marks but those that lack something; None of one that cannot be read."""
        opened = self._opened[number]
        if not isinstance(run := opened.run, Run):
            return None
        state = (run.status, run.manifest.get("updated"))
        if opened.measures is None or opened.measures[0] != state:
            sheet = None
            with contextlib.suppress(*run_pages.UNREADABLE):  # its scores stand in its run.json all the same
                sheet = get_sheet(open_results(run), None)
                # What `differences` reads: a whole sheet would be as large as the run.
                lacking = {
                    model: {sample: cell for sample, cell in cells.items() if cell.gaps}
                    for model, cells in sheet.marks.items()
                }
                sheet = replace(sheet, marks=lacking, digests={}, meta={}, aliases=dict)
            opened.measures = (state, sheet)
        return opened.measures[1]

    def _run(self, number: int, query: Mapping[str, str]) -> str:
        index = self.index(number)
        run = self.run(number)
        start = whole(query.get("start", "0") or "0")
        index.wait(_EVERY, _SHORT_LOOK)  # a small run is read whole in that time, and its counts are final
        is_plain = read_query(query).is_plain and not query.get("text")
        index.wait(start + PAGE_ROWS if is_plain else _EVERY, _FIRST_LOOK)
        if index.is_done:
            index.wait_for_headline(_FIRST_LOOK)
        manifest = run.manifest
        facts = [("Command", run.command), ("Status", run.status), ("Started", show_start(manifest.get("started")))]
        facts += [(name.capitalize(), str(manifest[name])) for name in _COUNTS if name in manifest]
        listed = describe_run(number, run.folder.name, run)
        metric, models = listed.group[-1], {score.model for score in listed.scores}
        # The latest with a model of this run, or else the latest of this benchmark.
        older = [
            (not models.isdisjoint(score.model for score in other.scores), other.started, other.number)
            for other in self._runs()
            if models and other.scores and other.group == listed.group and other.started < listed.started
        ]  # fmt: skip
        facts += [("Tags", ", ".join(listed.tags))] if listed.tags else []
        facts += costs(manifest)
        facts += [
            (score.model, " ".join(filter(None, (score.value, metric, score.span)))) for score in listed.scores[:12]
        ]
        about: dict[str, Any] = {
            "title": listed.title, "facts": facts, "failure": index.failure,
            "has_report": (run.folder / "report.html").is_file(), "is_live": run.status == "running",
            "planned": getattr(index.results, "n_planned", 0) if run.status == "running" else 0,  # the whole journal says it
            "headline": index.headline,
            "previous": max(older)[-1] if older else None,
            "metric": metric,
        }  # fmt: skip
        return run_pages.run_page(index, number, about, query)

    def _attempt(self, number: int, location: int, parameters: Mapping[str, str]) -> str:
        index = self.index(number)
        side = find_side(index, number, location)
        index.wait(_EVERY, _SHORT_LOOK)
        query = read_query(parameters, "sample")
        position, total, before, after = index.beside(query, location)
        others = [entry for entry in index.of_sample(side.shown.sample) if entry.location != location]
        near = [location, *(entry.location for entry in others)][:SIDES]

        def at(other: int | None) -> str:
            return "" if other is None else address(f"/attempt/{number}/{other}", query)

        start = position // PAGE_ROWS * PAGE_ROWS if position >= PAGE_ROWS else ""
        return render(
            "browse/attempt.html.j2", title=f"{side.shown.sample}: {side.shown.model}", one=side, others=others[:_OTHERS],
            others_left=max(0, len(others) - _OTHERS), is_done=index.is_done, place=position, total=total, before=at(before), after=at(after),
            all_others_at=address(f"/run/{number}", Query(sample=f"={side.shown.sample}")),
            list_at=address(f"/run/{number}", query, start=start), all_at=",".join(f"{number}:{location_}" for location_ in near),
        )  # fmt: skip

    def _compare(self, query: Mapping[str, str]) -> str:
        several = query.get("at", "").split(",") if query.get("at") else [query.get("a", ""), query.get("b", "")]
        sides = []
        for name in several[:SIDES]:
            run, _, location = name.partition(":")
            number = whole(run)
            sides.append(find_side(self.index(number), number, whole(location)))
        return run_pages.compare_page(sides)


# The server behind `markbook view`: GET and HEAD, nothing is written.


class BrowseServer(LocalServer):
    """Serves one folder of runs on the loopback interface."""

    def __init__(self, folder: Path, port: int = 0, *, trace_page: Callable[[Path], str] | None = None) -> None:
        """Bind to a free port (or the named one) of 127.0.0.1; `trace_page` makes the page of a file with traces."""
        self.site = RunSite(folder, trace_page)
        super().__init__(_Runs(self.site), port, script=keys_script())
        self.token = self.tokens[""]

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return self.get_address("")


# The scripts of a report may run, but under an origin of their own: one that came from elsewhere reads nothing of this site.
_APART = {"Content-Security-Policy": "sandbox allow-scripts"}


class _Runs:
    """The pages over runs, and their own reports."""

    def __init__(self, site: RunSite) -> None:
        self._site = site

    def answer(self, request: Request) -> Reply:
        """Return a page, or a run's own report.html; NotFound if there is none."""
        if request.path.startswith("/report/"):
            return self._report(request.path.removeprefix("/report/"))
        if request.path.startswith("/copy/"):
            return self._copy(request.path.removeprefix("/copy/"), request.query)
        if request.path == "/changes":
            return Reply(self._site.changes(request.query), headers=_APART)
        if request.path == "/trace":
            return Reply(self._site.trace(request.query.get("file", "")), headers=_APART)
        return Reply(self._site.page(request.path, request.query))

    def _copy(self, name: str, query: Mapping[str, str]) -> Reply:
        """Return a list of attempts as a file."""
        body = "".join(self._site.copy(name, query))
        form = "csv" if name.endswith(".csv") else "md"
        named = {"Content-Disposition": f'attachment; filename="attempts.{form}"'}
        return Reply(body, kind={"csv": "text/csv", "md": "text/markdown"}[form], headers=named)

    def _report(self, number: str) -> Reply:
        """Return a run's own report.html, shut off from this site."""
        path = self._site.run(whole(number)).folder / "report.html"
        try:
            # A run folder may come from anybody: a link in it could point at any file of the user.
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            raise NotFound from error
        with os.fdopen(handle, "rb") as file:
            return Reply(file.read(), headers=_APART)
