"""A leaderboard as static pages: it opens from a file, loads nothing, and the same marks give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from markbook.report import charts
from markbook.report.html import policy, render_template, show_picture, style
from markbook.report.words import folder_names, missing_text
from markbook.results.leaderboard import Leaderboard, Standing
from markbook.results.sheet import Cell, Sheet
from markbook.text import cut
from markbook.text.format import NOTHING, Scale, format_level
from markbook.types import Interval

if TYPE_CHECKING:
    from markupsafe import Markup

_NAME, _DRAWN = 48, 40
"""Characters of a name in the headline, and models in the chart."""


def pages(sheet: Sheet, board: Leaderboard, *, title: str, alpha: float) -> Iterator[tuple[str, str]]:
    """Yield path and content of every page: the index, one a model, one an item."""
    models, items = folder_names(sheet.models), folder_names(sheet.samples)
    yield "index.html", _index(sheet, board, title, alpha, models, items)
    scale = Scale(sheet.range)
    about: dict[str, Any] = {"root": "../", "metric": sheet.metric}
    for standing in board.standings:
        marks = sheet.marks[standing.model]
        rows = [(items[sample], sample, *_format_cell(marks.get(sample), scale)) for sample in sheet.samples]
        facts = [
            (sheet.metric, scale.value(standing.summary.value)),
            (f"{format_level(usual=1 - alpha)} CI", _interval(standing.summary.interval, scale)),
            ("Scored", f"{standing.summary.n} of {len(sheet.samples)}"),
            ("Missing", _lacking(standing, sheet)),
            ("Groups", " ".join(standing.group) or NOTHING),
        ]
        page = _render(
            "list.html.j2", title=standing.model, facts=facts, heading="Item", rows=rows, folder="items", **about
        )
        yield f"models/{models[standing.model]}.html", page
    for sample in sheet.samples:
        cells = _cells(sheet, sample)
        names = [standing.model for standing in board.standings]
        rows = [(models[model], model, *_format_cell(cells[model], scale)) for model in names]
        facts = list(sheet.meta.get(sample, {}).items())
        page = _render("list.html.j2", title=sample, facts=facts, heading="Model", rows=rows, folder="models", **about)
        yield f"items/{items[sample]}.html", page


def _index(
    sheet: Sheet, board: Leaderboard, title: str, alpha: float, models: Mapping[str, str], items: Mapping[str, str]
) -> str:
    scale = Scale(sheet.range)
    rows = [
        {
            "group": " ".join(standing.group) or NOTHING,
            "model": standing.model,
            "file": models[standing.model],
            "value": scale.value(standing.summary.value),
            "interval": _interval(standing.summary.interval, scale),
            "scored": f"{standing.summary.n} of {len(sheet.samples)}",
            "missing": _lacking(standing, sheet),
            "ranks": NOTHING if standing.rank_low is None else f"{standing.rank_low}\u2013{standing.rank_high}",
        }
        for standing in board.standings
    ]
    listed = []
    for sample in sheet.samples:
        values = [cell.value for cell in _cells(sheet, sample).values() if cell is not None and cell.value is not None]
        mean = sum(values) / len(values) if values else None
        scored = f"{len(values)} of {len(sheet.models)}"
        listed.append({"item": sample, "file": items[sample], "value": scale.value(mean), "scored": scored})
    return _render(
        "index.html.j2", title=title, root="", method=board.method, alpha=f"{alpha:g}", level=format_level(usual=1 - alpha), better=sheet.direction.capitalize(),
        notes=sheet.notes, metric=sheet.metric, rows=rows, items=listed, headline=_headline(board, scale), picture=_picture(board, sheet),
    )  # fmt: skip


def _headline(board: Leaderboard, scale: Scale) -> str:
    """Return in a sentence whom the letters leave at the top."""
    best, *below = board.standings
    others = [standing for standing in below if standing.summary.value is not None]
    if not others or best.summary.value is None:
        return ""
    near = [standing.model for standing in others if set(standing.group) & set(best.group)]
    score = f"{cut(best.model, _NAME)} ({scale.value(best.summary.value)})"
    if not near:
        return f"{score} is significantly better than all {len(others)} others."
    named = " and ".join(cut(model, _NAME) for model in near) if len(near) < 3 else f"{len(near)} others"
    rest = len(others) - len(near)
    return f"{score} does not differ significantly from {named}" + (
        f"; it is better than the other {rest}." if rest else "."
    )


def _picture(board: Leaderboard, sheet: Sheet) -> Markup | None:
    """Return the intervals of the first models as a chart."""
    rows: list[dict[str, float | str]] = []
    factor = Scale(sheet.range).factor
    for standing in board.standings[:_DRAWN]:
        value, ends = standing.summary.value, standing.summary.interval
        if value is not None and ends is not None and standing.model not in [row["name"] for row in rows]:
            low, high = factor * ends.low, factor * ends.high
            rows.append({"name": standing.model, "value": factor * value, "low": low, "high": high})
    if not rows:
        return None
    domain = (factor * sheet.range[0], factor * sheet.range[1]) if max(map(abs, sheet.range)) < 1e6 else None
    picture = charts.intervals(rows, [str(row["name"]) for row in rows], sheet.metric, domain)
    return show_picture(picture)


def _cells(sheet: Sheet, sample: str) -> dict[str, Cell | None]:
    return {model: cells.get(sample) for model, cells in sheet.marks.items()}


def _format_cell(cell: Cell | None, scale: Scale) -> tuple[str, str]:
    if cell is None:
        return NOTHING, "not there"
    return scale.value(cell.value), ", ".join(f"{count} {kind}" for kind, count in sorted(cell.gaps.items()))


def _lacking(standing: Standing, sheet: Sheet) -> str:
    """Return what is missing by kind, with the samples that this model's run does not know."""
    unknown = len(sheet.samples) - len(sheet.marks[standing.model])
    words = missing_text(standing.summary.n_missing) if standing.summary.n_missing else ""
    return ", ".join(part for part in (words, f"{unknown} not there" if unknown else "") if part) or NOTHING


def _interval(interval: Interval | None, scale: Scale) -> str:
    return NOTHING if interval is None else scale.spread(interval.low, interval.high)


def _render(template: str, **values: Any) -> str:
    return render_template(f"board/{template}", policy=policy(style(), ""), **values)
