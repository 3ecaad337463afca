"""The attempts of a run as pages and files: listed, searched, as a matrix, side by side."""

from __future__ import annotations

import csv
import difflib
import io
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from urllib.parse import urlencode

from markbook.errors import MarkbookError
from markbook.report.browse.index import SORTS, STATUSES, TOPIC_MODELS, Index, Query
from markbook.report.browse.local import NotFound, whole
from markbook.report.browse.matrix import ORDERS, Square, matrix_of
from markbook.report.browse.rendering import render
from markbook.results.kind import Entry, Shown
from markbook.text import csv_cell, cut, markdown

PAGE_ROWS = 50
MATRIX_ROWS = 20
COPIED_ROWS = 10_000
SIDES = 6
"""Answers that are set side by side at most."""
_TEXT_SECONDS = 2.0
"""For so long texts are looked through before a page says how far it came."""
_CELL = 240
_LINES = 2_000


@dataclass(frozen=True, slots=True)
class Side:
    """One attempt, and where it lies."""

    run: int
    location: int
    shown: Shown


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of attempts."""

    rows: list[Entry]
    total: int
    following: int | None
    """Where the next page begins; None at the end."""
    looked: int | None = None
    """How many attempts were looked through for words; None where none were asked for."""


def query_of(parameters: Mapping[str, str], default: str = "") -> Query:
    """Return what an address asks for."""
    values = {field.name: parameters.get(field.name, "")[:500] for field in fields(Query)}
    if values["sort"].removeprefix("-") not in SORTS:
        values["sort"] = default
    return Query(**values)


def address(path: str, query: Query, **more: object) -> str:
    """Return an address that asks for the same again: what a permanent link is."""
    values = {name: value for name, value in {**asdict(query), **more}.items() if value not in ("", None)}
    return f"{path}?{urlencode(values)}" if values else path


def list_attempts(index: Index, query: Query, words: str, start: int) -> Listed:
    """Return the attempts from `start` on, with certain words in them if any are given."""
    if not words:
        table, places = index.places(query)
        rows = [index.get_entry(table, int(at)) for at in places[start : start + PAGE_ROWS]]
        following = start + PAGE_ROWS if start + PAGE_ROWS < places.size or not index.is_done else None
        return Listed(rows, int(places.size), following)
    table, places = index.places(query)
    words_searched = words.casefold().split()
    until = time.monotonic() + _TEXT_SECONDS
    entries: list[Entry] = []
    at = start
    while at < places.size and len(entries) < PAGE_ROWS and time.monotonic() < until:
        entry = index.get_entry(table, int(places[at]))
        at += 1
        text = _text(index, entry)
        if all(word in text for word in words_searched):
            entries.append(entry)
    return Listed(entries, int(places.size), at if at < places.size else None, at - start)


def _text(index: Index, entry: Entry) -> str:
    """Return all words of an attempt in small letters, nothing where it cannot be read."""
    try:
        attempt = index.results.show_attempt(entry.location)
    except (MarkbookError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    why = str(attempt.why.to_record()) if attempt.why else ""
    return f"{attempt.sample}\n{attempt.text}\n{attempt.error}\n{why}".casefold()


def shown_at(index: Index, number: int, location: int) -> Side:
    """Return an attempt.

    Raises:
        NotFound: a made-up location points into the middle of some row.
    """
    try:
        return Side(number, location, index.results.show_attempt(location))
    except (MarkbookError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotFound from error


def matrix_page(index: Index, number: int, name: str, parameters: Mapping[str, str]) -> str:
    """Return the page of items by models, with the beginning of each answer."""
    order = parameters.get("order", "differ") if parameters.get("order") in ORDERS else "differ"
    start = whole(parameters.get("start", "0") or "0")
    matrix = matrix_of(index, order, start, MATRIX_ROWS)

    def words(square: Square | None) -> str:
        if square is None:
            return ""
        try:
            return cut(index.results.show_attempt(square.first.location).text.strip(), _CELL)
        except (MarkbookError, OSError, ValueError, KeyError, TypeError, AttributeError):
            return ""

    rows = [(item, [(square, words(square)) for square in squares]) for item, squares in matrix.rows]
    return render(
        "matrix.html.j2",
        title=f"{name}: items by models",
        number=number,
        order=order,
        orders=ORDERS,
        start=start,
        size=MATRIX_ROWS,
        models=matrix.models,
        n_models=matrix.n_models,
        rows=rows,
        total=matrix.total,
        is_done=index.is_done,
        at_of=lambda squares: ",".join(
            f"{number}:{squares_of_row.first.location}" for squares_of_row, _ in squares if squares_of_row
        )[:400],
    )


def compare_page(sides: list[Side]) -> str:
    """Return several answers side by side, each with its difference from the first."""
    first = sides[0].shown.text
    differences = [(_difference(first, side.shown.text), side.shown.text == first) for side in sides[1:]]
    title = "Two attempts" if len(sides) == 2 else f"{len(sides)} attempts"
    return render("compare.html.j2", title=title, sides=sides, differences=differences, compared=_LINES)


def _difference(first: str, other: str) -> list[str]:
    return list(difflib.unified_diff(first.splitlines()[:_LINES], other.splitlines()[:_LINES], lineterm="", n=3))[2:]


def copy_attempts(index: Index, query: Query, form: str) -> Iterator[str]:
    """Yield the attempts that are asked for as CSV or Markdown, at most `COPIED_ROWS`."""
    table, places = index.places(query)
    heads = ("item", "model", "result", "score", "error", "topic", "seconds")
    rows = ((entry.sample, entry.model, entry.status, entry.score, entry.error, entry.topic, entry.seconds)
            for entry in (index.get_entry(table, int(at)) for at in places[:COPIED_ROWS]))  # fmt: skip
    if form == "md":
        yield "| " + " | ".join(heads) + " |\n|" + "---|" * len(heads) + "\n"
        for row in rows:
            yield (
                "| "
                + " | ".join(
                    markdown("" if cell is None else f"{cell:g}" if isinstance(cell, float) else cell) for cell in row
                )
                + " |\n"
            )
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow([csv_cell(cell) for cell in row])
    yield buffer.getvalue()


def _sorted_by(column: str, query: Query) -> dict[str, object]:
    """Return what the list is asked for sorted by a column, the other way round where it is by now."""
    falls = query.sort == column or (query.sort.lstrip("-") != column and column in ("score", "seconds"))
    return {**asdict(query), "sort": f"-{column}" if falls else column}


def run_page(index: Index, number: int, about: Mapping[str, object], parameters: Mapping[str, str]) -> str:
    """Return the page of one run: what it is, its topics and errors, and its attempts.

    Args:
        index: its attempts.
        number: its number in addresses.
        about: what the page says of the run besides.
        parameters: what the address asks for.
    """
    start, words = whole(parameters.get("start", "0") or "0"), parameters.get("text", "").strip()[:500]
    is_done = index.is_done  # before any count: what is counted while the last rows come is not final
    query = query_of(parameters, "sample" if is_done else "")
    listing = list_attempts(index, query, words, start)
    path = f"/run/{number}"
    return render(
        "run.html.j2",
        number=number,
        found=listing,
        start=start,
        query=query,
        text=words,
        statuses=STATUSES,
        sorts=SORTS,
        counts=index.counts(),
        by_status=index.statuses(),
        topics=index.by_topic() if is_done else None,
        is_done=is_done,
        topic_models=index.models[:TOPIC_MODELS],
        index=index,
        indexed=len(index),
        at=lambda **more: address(path, query, **{"text": words, **more}),
        by=lambda column: address(path, Query(), **_sorted_by(column, query), text=words),
        of=lambda location: address(f"/attempt/{number}/{location}", query),
        plain=lambda **more: address(path, Query(), **more),
        copy_at=lambda form: address(f"/copy/{number}.{form}", query),
        **about,
    )
