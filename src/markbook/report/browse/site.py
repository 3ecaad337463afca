"""The pages of the local site: what each address shows. Every page is made on the server; there is no script."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from markbook.errors import MarkbookError
from markbook.report.browse.index import STATUSES, Index
from markbook.report.browse.local import NotFound
from markbook.report.browse.rendering import render
from markbook.results.kind import Shown, results_of
from markbook.store import Run, open_run
from markbook.store.foreign import foreign_paths

PAGE_ROWS = 50
MOST_RUNS = 5_000
_DEPTH = 3
_EVERY = 1 << 62
_SHORT_LOOK = 0.4
_FIRST_LOOK = 1.0
"""Seconds that a page waits for the index before it shows what there is."""


@dataclass(frozen=True, slots=True)
class Side:
    """One attempt, and where it lies."""

    run: int
    location: int
    shown: Shown


def find_runs(folder: Path) -> list[Path]:
    """Return the run folders in a folder, to a depth of three, and other tools' files; newest name first, no links."""
    found: list[Path] = []
    waiting = [(folder, 0)]
    while waiting and len(found) < MOST_RUNS:
        here, depth = waiting.pop()
        if (here / "run.json").is_file():
            found.append(here)
        elif depth < _DEPTH:
            waiting += [(one, depth + 1) for one in here.iterdir() if one.is_dir() and not one.is_symlink()]
    found += foreign_paths(folder)[: MOST_RUNS - len(found)]
    return sorted(found, key=lambda path: (path.name, str(path)), reverse=True)


class Site:
    """All pages over the runs of one folder; the runs are found anew whenever the list is shown."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers: dict[Path, int] = {}
        self._runs: list[Run | str] = []
        self._indexes: dict[int, Index] = {}
        self._checked: set[tuple[int, object]] = set()
        """The runs that were found whole."""
        self._lock = threading.Lock()
        self.refresh()

    def refresh(self) -> None:
        """Look for runs again; a run keeps its number."""
        with self._lock:
            for path in find_runs(self.folder):
                if path not in self._numbers:
                    self._numbers[path] = len(self._runs)
                    self._runs.append("")
                try:
                    self._runs[self._numbers[path]] = open_run(path, check=False)
                except MarkbookError as error:
                    self._runs[self._numbers[path]] = f"{path.name}: {error.message}"

    def run(self, number: int) -> Run:
        """Return a run by its number.

        Raises:
            NotFound: there is none, or it cannot be read.
        """
        if not 0 <= number < len(self._runs):
            raise NotFound
        found = self._runs[number]
        if isinstance(found, Run) and (number, found.manifest.get("updated")) not in self._checked:
            try:
                found.check()
            except MarkbookError as error:
                raise NotFound(f"{found.folder.name}: {error}") from error
            self._checked.add((number, found.manifest.get("updated")))
        if isinstance(found, str):
            raise NotFound(found)
        return found

    def index(self, number: int) -> Index:
        """Return the index of a run, started."""
        run = self.run(number)
        with self._lock:
            if number not in self._indexes:
                self._indexes[number] = Index(results_of(run, partial=True))
            index = self._indexes[number]
            index.start()
        return index

    def page(self, path: str, query: Mapping[str, str]) -> str:
        """Return the HTML of an address.

        Raises:
            NotFound: there is no such page.
        """
        parts = [part for part in path.split("/") if part]
        if not parts:
            return self._list(query)
        if parts[0] == "run" and len(parts) == 2:
            return self._run(_whole(parts[1]), query)
        if parts[0] == "attempt" and len(parts) == 3:
            return self._attempt(_whole(parts[1]), _whole(parts[2]))
        if parts == ["compare"]:
            return self._compare(query)
        raise NotFound

    def _list(self, query: Mapping[str, str]) -> str:
        self.refresh()
        wanted = query.get("q", "").casefold()
        rows, broken = [], []
        for path, number in sorted(self._numbers.items(), key=lambda item: item[0].name, reverse=True):
            run = self._runs[number]
            if isinstance(run, str):
                broken.append(run)
                continue
            config = run.manifest.get("config", {})
            what = str(config.get("benchmark_name") or ", ".join(config.get("tasks", {})) or run.command)
            models = ", ".join(map(str, config.get("models", [])))
            row = (number, path.name, run.command, run.status, what, models, str(run.manifest.get("started", "")))
            if wanted in " ".join(map(str, row)).casefold():
                rows.append(row)
        return render("list.html.j2", title="Runs", rows=rows, broken=broken, query=query, folder=str(self.folder))

    def _run(self, number: int, query: Mapping[str, str]) -> str:
        index, run = self.index(number), self.run(number)
        start = _whole(query.get("start", "0") or "0")
        filters = {name: query.get(name, "") for name in ("model", "status", "sample")}
        is_plain = not any(filters.values())
        index.wait(_EVERY, _SHORT_LOOK)  # a small run is read whole in that time, and its counts are final
        index.wait(start + PAGE_ROWS if is_plain else _EVERY, _FIRST_LOOK)
        rows, total = index.search(**filters, start=start, count=PAGE_ROWS)
        facts = [("Command", run.command), ("Status", run.status), ("Started", str(run.manifest.get("started", "")))]
        facts += [
            (name, str(run.manifest[name])) for name in ("isolation", "attempts", "answers") if name in run.manifest
        ]
        return render(
            "run.html.j2",
            title=run.folder.name,
            number=number,
            facts=facts,
            rows=rows,
            total=total,
            start=start,
            size=PAGE_ROWS,
            filters=filters,
            indexed=len(index),
            is_done=index.is_done,
            failure=index.failure,
            models=list(index.models),
            statuses=STATUSES,
            has_report=(run.folder / "report.html").is_file(),
        )

    def _attempt(self, number: int, location: int) -> str:
        index = self.index(number)
        side = self._shown(number, location)
        index.wait(_EVERY, _SHORT_LOOK)
        others = [one for one in index.of_sample(side.shown.sample) if one.location != location][:200]
        return render(
            "attempt.html.j2",
            title=f"{side.shown.sample}: {side.shown.model}",
            one=side,
            others=others,
            is_done=index.is_done,
        )

    def _compare(self, query: Mapping[str, str]) -> str:
        sides = []
        for name in ("a", "b"):
            run, _, location = query.get(name, "").partition(":")
            sides.append(self._shown(_whole(run), _whole(location)))
        old, new = (side.shown.text.splitlines() for side in sides)
        lines = list(difflib.unified_diff(old[:2000], new[:2000], lineterm="", n=3))[2:]
        return render("compare.html.j2", title="Two attempts", sides=sides, lines=lines)

    def _shown(self, number: int, location: int) -> Side:
        try:
            return Side(number, location, self.index(number).results.shown(location))
        except (MarkbookError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NotFound from error  # a made-up location points into the middle of some row


def _whole(text: str) -> int:
    """Return a number of an address.

    Raises:
        NotFound: it is none.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NotFound
    return int(text)
