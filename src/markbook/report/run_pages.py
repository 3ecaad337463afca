"""Pages about runs in the local site: the list, the matrix of attempts, one run, two beside each other."""

from __future__ import annotations

import contextlib
import csv
import difflib
import io
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markbook.errors import MarkbookError
from markbook.report import charts
from markbook.report.html import render_template as render, show_picture, without_prompt
from markbook.report.item import reason_lines
from markbook.report.local_server import NotFound, whole
from markbook.report.run_index import SORTS, TOPIC_MODELS, Index, Query, natural
from markbook.results.compare import differences
from markbook.results.kind import Entry, ReplyUsage, Shown
from markbook.results.sheet import SOLVES, STATUSES, Sheet, rank_attempt
from markbook.store import Run
from markbook.text import csv_cell, cut, markdown, markdown_table
from markbook.text.format import DIGITS, NOTHING, Scale, format_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Items by models: who solved what, where models differ, and which items come out differently from time to time.

ORDERS = {
    "differ": "models differ", "flaky": "flaky", "unsolved": "solved by no model", "worst": "worst first",
    "item": "by name",
}  # fmt: skip
"""Which items are shown and in what order, each in words."""
MODELS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Square:
    """What one model made of one item."""

    first: Entry
    """The worst of its attempts: the one to look at."""
    mean: float | None
    count: int
    level: int | None
    """From 0, the worst end of the scale, to 4, its best; None without a score."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A part of the items by the models."""

    models: list[str]
    rows: list[tuple[str, list[Square | None]]]
    total: int
    n_models: int = 0
    """How many models there are; the first of them are shown."""


def build_matrix(index: Index, order: str, start: int, count: int) -> Matrix:
    """Return so many items from `start` on, in one of `ORDERS`."""
    import numpy as np

    table = index.table()
    # Asked for once, after the rows: the thread that reads the run may meet a new model between two questions.
    models, samples = index.models, index.samples
    if not len(table):
        return Matrix(models[:MODELS_SHOWN], [], 0)
    places = table[:, 2].astype(np.int64) * len(models) + table[:, 1].astype(np.int64)
    size = len(samples) * len(models)
    has_score = ~np.isnan(table[:, 4])  # a missing score is not a 0: it neither flips nor differs
    cells, values = places[has_score], table[has_score, 4]
    tries = np.bincount(cells, minlength=size).reshape(len(samples), -1)
    sums = np.bincount(cells, weights=values, minlength=size).reshape(len(samples), -1)
    squares = np.bincount(cells, weights=values**2, minlength=size).reshape(len(samples), -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / tries
        # The mean of squares minus the square of the mean may come out a little below 0.
        spread = np.where(tries > 1, np.maximum(0.0, squares / tries - means**2), 0.0)
    sign = -1.0 if index.results.direction == "lower" else 1.0
    chosen = np.array(sorted(range(len(samples)), key=lambda at: natural(samples[at])))  # by name, as among equals
    if order != "item":
        ranks = -spread.max(axis=1) if order == "flaky" else _mean(sign * means, 1)
        chosen = chosen[np.argsort(ranks[chosen], kind="stable")]
    if order == "flaky":
        chosen = chosen[spread.max(axis=1)[chosen] > 0]
    elif order == "differ":
        low_marks, high_marks = (np.where(np.isnan(means), at, means) for at in (np.inf, -np.inf))
        chosen = chosen[(high_marks.max(axis=1) > low_marks.min(axis=1))[chosen]]
    elif order == "unsolved":
        # A metric that says neither right nor wrong does not say that nobody solved it either.
        is_right = np.isin(table[:, 3], [STATUSES.index("passed"), STATUSES.index("scored")])
        right, wrong = (
            np.bincount(places[rows], minlength=size).reshape(tries.shape) for rows in (is_right, has_score & ~is_right)
        )
        chosen = chosen[~((right > 0) & (wrong == 0)).any(axis=1)[chosen]]
    ranked_models = [models[at] for at in np.argsort(-_mean(sign * means, 0), kind="stable")[:MODELS_SHOWN]]
    low, high = index.limits() or (0.0, 1.0)
    entries_by_square: dict[tuple[str, str], list[Entry]] = {}
    for row in np.flatnonzero(np.isin(table[:, 2], chosen[start : start + count])):
        entry = index.get_entry(table[row])
        entries_by_square.setdefault((entry.sample, entry.model), []).append(entry)

    def square(entries: list[Entry]) -> Square | None:
        if not entries:
            return None
        worst = min(entries, key=lambda entry: rank_attempt(entry.status, entry.score, index.results.direction))
        scores = [entry.score for entry in entries if entry.score is not None]
        if not scores:
            return Square(worst, None, len(entries), None)
        mean = sum(scores) / len(scores)
        share = (mean - low) / (high - low) if high > low else 1.0
        return Square(worst, mean, len(entries), round(4 * (share if sign > 0 else 1.0 - share)))

    rows = [
        (sample, [square(entries_by_square.get((sample, model), [])) for model in ranked_models])
        for sample in (samples[at] for at in chosen[start : start + count])
    ]
    return Matrix(ranked_models, rows, len(chosen), len(models))


def _mean(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return means over what is known; NaN, which sorts last, where nothing is."""
    import numpy as np

    has_value = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(has_value, values, 0.0).sum(axis=axis) / has_value.sum(axis=axis))


# The attempts of a run as pages and files: listed, searched, as a matrix, side by side.

PAGE_ROWS = 50
MATRIX_ROWS = 40
COPIED_ROWS, _COPIED_TEXT = 10_000, 4_000
"""Attempts of a list that is copied, and characters of each text in it."""
SIDES = 6
"""Answers that are set side by side at most."""
_TEXT_SECONDS = 2.0
"""For so long texts are looked through before a page says how far it came."""
_CELL = 400
_LINES = 2_000
UNREADABLE = (MarkbookError, OSError, ValueError, KeyError, TypeError, AttributeError)
"""What an attempt's row raises that is damaged, or does not begin where an address says."""


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


def read_query(parameters: Mapping[str, str], default: str = "") -> Query:
    """Return what an address asks for."""
    values = {field.name: parameters.get(field.name, "")[:500] for field in fields(Query)}
    if values["sort"].removeprefix("-") not in SORTS:
        values["sort"] = default
    return Query(**values)


def address(path: str, query: Query, **more: object) -> str:
    """Return an address that asks for the same again: what a permanent link is."""
    values = {name: value for name, value in {**asdict(query), **more}.items() if value not in ("", None)}
    # Half a character, as a damaged run.json may hold one, cannot stand in an address.
    return f"{path}?{urlencode(values, errors='replace')}" if values else path


def list_attempts(index: Index, query: Query, words: str, start: int) -> Listed:
    """Return the attempts from `start` on, with certain words in them if any are given."""
    if not words:
        table, places = index.places(query)
        rows = [index.get_entry(table[at]) for at in places[start : start + PAGE_ROWS]]
        following = start + PAGE_ROWS if start + PAGE_ROWS < places.size or not index.is_done else None
        return Listed(rows, int(places.size), following)
    table, places = index.places(query)
    # Texts stay in the journal, so a search reads attempt by attempt; the next page goes on where this one stopped.
    until = time.monotonic() + _TEXT_SECONDS
    entries: list[Entry] = []
    at = start
    while at < places.size and len(entries) < PAGE_ROWS and time.monotonic() < until:
        entry = index.get_entry(table[places[at]])
        at += 1
        if has_words(index, entry, words):
            entries.append(entry)
    return Listed(entries, int(places.size), at if at < places.size else None, at - start)


def has_words(index: Index, entry: Entry, words: str) -> bool:
    """Return whether an attempt has each of these words in its name, its answer or what is said of it."""
    try:
        attempt = index.results.show_attempt(entry.location)
    except UNREADABLE:
        return False
    why = str(attempt.why.to_record()) if attempt.why else ""
    text = f"{attempt.sample}\n{attempt.text}\n{attempt.error}\n{why}".casefold()
    return all(word in text for word in words.casefold().split())


def find_side(index: Index, number: int, location: int) -> Side:
    """Return an attempt.

    Raises:
        NotFound: a made-up location points into the middle of some row.
    """
    try:
        return Side(number, location, index.results.show_attempt(location))
    except UNREADABLE as error:
        raise NotFound from error


def matrix_page(index: Index, number: int, name: str, parameters: Mapping[str, str]) -> str:
    """Return the page of items by models, a heat map: a cell says why it failed, or how its answer begins after the prompt."""
    order = parameters.get("order", "differ") if parameters.get("order") in ORDERS else "differ"
    start = whole(parameters.get("start", "0") or "0")
    matrix = build_matrix(index, order, start, MATRIX_ROWS)

    def words(square: Square | None) -> str:
        if square is None:
            return ""
        try:
            attempt = index.results.show_attempt(square.first.location)
            return cut(attempt.error or without_prompt(attempt.text, attempt.prompt), _CELL)
        except UNREADABLE:
            return ""

    rows = [(item, [(square, words(square)) for square in squares]) for item, squares in matrix.rows]
    return render(
        "browse/matrix.html.j2", title=f"{name}: samples by models", number=number, order=order, orders=ORDERS, solves=SOLVES,
        start=start, size=MATRIX_ROWS, matrix=matrix, rows=rows, scale=index.scale(), better=index.results.direction, is_done=index.is_done,
        at_of=lambda squares: ",".join([f"{number}:{square.first.location}" for square, _ in squares if square][:SIDES]),
    )  # fmt: skip


def compare_page(sides: list[Side]) -> str:
    """Return several answers side by side, each with its difference from the first."""
    first = sides[0].shown.text
    differences = []
    for side in sides[1:]:
        before, after = (text.splitlines()[:_LINES] for text in (first, side.shown.text))
        # Without the two lines of file names, which are not files here.
        lines = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
        # Long answers come with an ellipsis for their end: of such, equal texts say nothing of what follows.
        differences.append((lines, side.shown.text == first, first.endswith("…")))
    title = "Two attempts" if len(sides) == 2 else f"{len(sides)} attempts"
    return render("browse/compare.html.j2", title=title, sides=sides, differences=differences, compared=_LINES)


def copy_attempts(index: Index, query: Query, words: str, form: str) -> Iterator[str]:
    """Yield those of the first `COPIED_ROWS` attempts with these words: as Markdown, or as CSV with what was asked and answered."""
    table, places = index.places(query)
    heads = ("item", "model", "result", "score", "error", "topic", "seconds")
    entries = [index.get_entry(table[at]) for at in places[:COPIED_ROWS]]
    entries = [entry for entry in entries if not words or has_words(index, entry, words)]
    rows = [
        (entry.sample, entry.model, entry.status, entry.score, entry.error, entry.topic,
         None if entry.seconds is None else round(entry.seconds, 4))
        for entry in entries
    ]  # fmt: skip
    if form == "md":
        cells = (
            [markdown(NOTHING if cell is None else f"{cell:g}" if isinstance(cell, float) else cell) for cell in row]
            for row in rows
        )
        yield "\n".join(markdown_table(heads, cells)) + "\n"
        if places.size > COPIED_ROWS:
            yield f"\nThe first {COPIED_ROWS:,} of {places.size:,} attempts.\n"
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow((*heads, "prompt", "answer", "reason", "tokens in", "tokens out", "cost", "latency"))
    for entry, row in zip(entries, rows, strict=True):
        texts: tuple[str, ...] = ("", "", "")
        usage = ReplyUsage()
        with contextlib.suppress(*UNREADABLE):  # the row is there, with what its list says of it
            attempt = index.results.show_attempt(entry.location)
            reason = attempt.error or ("\n".join(reason_lines(attempt.why)) if attempt.why else "")
            texts, usage = (attempt.prompt, attempt.text, reason), attempt.usage
        writer.writerow([csv_cell(cell) for cell in (*row, *(cut(text, _COPIED_TEXT) for text in texts), *usage)])
    yield buffer.getvalue()


def run_page(index: Index, number: int, about: Mapping[str, object], parameters: Mapping[str, str]) -> str:
    """Return the page of one run: what it is, its topics and errors, and its attempts; `about` is what it says of the run besides."""
    start, words = whole(parameters.get("start", "0") or "0"), parameters.get("text", "").strip()[:500]
    is_done = index.is_done  # before any count: what is counted while the last rows come is not final
    query = read_query(parameters, "sample" if is_done else "")
    listing = list_attempts(index, query, words, start)
    path = f"/run/{number}"

    def sort_by(column: str) -> str:
        """Return the address of the list sorted by a column, the other way round where it is by now."""
        falls = query.sort == column or (query.sort.lstrip("-") != column and column in ("score", "seconds"))
        return address(path, replace(query, sort=f"-{column}" if falls else column), text=words)

    return render(
        "browse/run.html.j2", number=number, found=listing, start=start, query=query, text=words, statuses=STATUSES, size=PAGE_ROWS,
        copied=COPIED_ROWS, counts=index.counts(), by_status=index.statuses(), topics=index.by_topic() if is_done else None,
        is_done=is_done, topic_models=sorted(index.models)[:TOPIC_MODELS], scale=index.scale(), index=index, indexed=len(index),
        at=lambda **more: address(path, query, **{"text": words, **more}),
        by=sort_by,
        of=lambda location: address(f"/attempt/{number}/{location}", query),
        plain=lambda **more: address(path, Query(), **more),
        copy_at=lambda form: address(f"/copy/{number}.{form}", query, text=words),
        **about,
    )  # fmt: skip


# Runs as the list of runs shows them: what they are called, what they came to, and how that changed from run to run.

_MODELS = 12
_TREND = 60
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Score:
    """One model's score in words, and in points for a chart."""

    model: str
    value: str
    span: str
    points: tuple[float, float, float]
    is_percent: bool = True
    """Whether it lies between 0 and 100 points; else the chart is as wide as its values."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A line of the list of runs."""

    number: int
    folder: str
    name: str
    """What its user called it; empty for a run without a name."""
    tags: tuple[str, ...]
    notes: str
    command: str
    status: str
    what: str
    models: str
    started: str
    scores: tuple[Score, ...]
    group: tuple[str, ...]
    """What runs of one benchmark have in common whose scores are measured alike; the metric comes last."""
    n_more: int = 0
    """Models with a score beyond those in `scores`."""
    alike: int = 1
    """How many of the runs shown are of its benchmark."""

    @property
    def title(self) -> str:
        """Its name, or its folder's where it has none."""
        return self.name or self.folder

    @property
    def words(self) -> str:
        """What a search looks through."""
        return " ".join(
            (self.folder, self.name, *self.tags, self.notes, self.command, self.status, self.what, self.models)
        )


def describe_run(number: int, folder: str, run: Run) -> ListedRun:
    """Return what the list says of a run; whatever its run.json holds."""
    manifest = run.manifest
    config, inputs = _object(manifest.get("config")), _object(manifest.get("inputs"))
    what = str(config.get("benchmark_name") or ", ".join(_names(config.get("tasks"))) or run.command)
    tags = manifest.get("tags") if isinstance(manifest.get("tags"), list) else []
    scores = manifest.get("scores") if isinstance(manifest.get("scores"), list) else []
    metric = next((cut(str(_object(record).get("metric") or ""), 80) for record in scores or ()), "")
    return ListedRun(
        number=number,
        folder=folder,
        name=cut(str(manifest.get("name") or ""), 200),
        tags=tuple(cut(str(tag), 60) for tag in (tags or ())[:20]),
        notes=cut(str(manifest.get("notes") or ""), 500),
        command=run.command,
        status=run.status,
        what=what,
        models=", ".join(_names(config.get("models"))),
        started=str(manifest.get("started") or ""),
        scores=tuple(score for record in (scores or ())[:_MODELS] if (score := _score(record)) is not None),
        n_more=max(0, len(scores or ()) - _MODELS),
        group=(run.command, what, str(inputs.get("benchmark", "")), str(config.get("error_policy")), metric),
    )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: object) -> list[str]:
    """Return the names in a list, or the keys of an object; none of anything else that stands in its place."""
    return [str(name) for name in value] if isinstance(value, list | Mapping) else []


def _score(record: Any) -> Score | None:
    if not isinstance(record, Mapping) or (value := _to_drawn(record.get("value"))) is None:
        return None
    scale = Scale(record.get("range"))
    low, high = (_to_drawn(record.get(end)) for end in ("low", "high"))
    if low is None or high is None:  # one end alone makes no interval
        low = high = value
    points = (scale.factor * value, scale.factor * low, scale.factor * high)
    name, span = cut(str(record.get("model", "")), 80), scale.spread(low, high) if low != high else ""
    return Score(name, scale.value(value), span, points, is_percent=scale.factor == 100)


def _to_drawn(value: object) -> float | None:
    """Return a number that a chart can show: neither infinite nor larger than its pixels can be computed of."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LARGEST:
        return None
    return float(value)


def alike(runs: Sequence[ListedRun]) -> list[ListedRun]:
    """Return the runs, each with how many of them have scores on its benchmark."""
    counts = Counter(run.group for run in runs if run.scores)
    return [replace(run, alike=counts[run.group] if run.scores else 1) for run in runs]


def trend_page(number: int, runs: Sequence[ListedRun], read_measures: Callable[[int], Sheet | None]) -> str:
    """Return the scores of runs of one benchmark over time, one line a model and way of measuring.

    The page of the run `number` leads here; `read_measures` returns how the numbers of a run were measured, None
    where it does not say.

    Raises:
        NotFound: none of them has a score.
    """
    scored = sorted((run for run in runs if run.scores), key=lambda run: (run.started, run.folder))
    ordered = scored[-_TREND:]
    if not ordered:
        raise NotFound("No run of this benchmark has a score.")
    labels: dict[int, str] = {}
    for run in ordered:
        labels[run.number] = f"{run.title} ({len(labels) + 1})" if run.title in labels.values() else run.title
    marks: list[dict[str, Any]] = []
    rows = []
    before: dict[str, float] = {}
    # By model, how the runs of its present line were measured: what compares with none of them begins another line.
    lines: dict[str, list[tuple[str, Sheet]]] = {}
    for run in ordered:
        measures = read_measures(run.number)
        for score in run.scores:
            value, low, high = score.points
            line = lines.setdefault(score.model, [])
            own = [(labels[run.number], measures)] if measures is not None else []
            pairs = [[other, *own] for other in line if own]
            turned = (f"{new.direction} is better" for (_, old), (_, new) in pairs if old.direction != new.direction)
            breaks = next(itertools.chain(turned, filter(None, map(differences, pairs))), "")
            lines[score.model] = [*([] if breaks else line), *own]
            ends = {"low": low, "high": high, "breaks": bool(breaks)}
            marks.append({"series": score.model, "x": labels[run.number], "value": value, **ends})
            last = None if breaks else before.get(score.model)
            change = None if last is None else value - last
            change_text = format_number(change, 1 if score.is_percent else DIGITS, signed=True)
            rows.append((run.number, run.title, run.started, score, change_text, breaks))
            before[score.model] = value
    is_percent = all(row[3].is_percent for row in rows)
    domain = (0.0, 100.0) if is_percent else charts.round_range(mark[end] for mark in marks for end in ("low", "high"))
    picture = charts.curves(
        marks, list(before), x_title="Run, the oldest first", y_title=ordered[-1].group[-1] or "Score", band=False,
        x_order=list(labels.values()), domain=domain,
    )  # fmt: skip
    title = f"{ordered[-1].what}: {len(ordered)} run{'s' if len(ordered) > 1 else ''}"
    n_older = len(scored) - len(ordered)
    is_lower = next((sheet.direction for sheet in map(read_measures, labels) if sheet), "higher") == "lower"
    return render(
        "browse/trend.html.j2", title=title, number=number, n_older=n_older, rows=rows, picture=show_picture(picture),
        is_lower=is_lower,
    )  # fmt: skip
