"""A leaderboard as static pages: it opens from a file, loads nothing, and the same marks give the same bytes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

from markbook.report.html import policy
from markbook.report.names import folder_names
from markbook.report.words import missing_text
from markbook.results.leaderboard import Leaderboard
from markbook.results.sheet import Cell, Sheet
from markbook.results.standing import Standing
from markbook.text import cut, visible
from markbook.text.numbers import NOTHING, Scale
from markbook.types import Interval

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_NAME, _DRAWN = 48, 40
"""Characters of a name in the headline, and models in the chart."""


def pages(sheet: Sheet, board: Leaderboard, *, title: str, alpha: float) -> Iterator[tuple[str, str]]:
    """Yield path and content of every page: the index, one a model, one an item."""
    models, items = folder_names(sheet.models), folder_names(sheet.samples)
    yield "index.html", _index(sheet, board, title, alpha, models, items)
    for one in board.standings:
        yield f"models/{models[one.model]}.html", _model(sheet, one, items)
    for sample in sheet.samples:
        yield f"items/{items[sample]}.html", _item(sheet, board, sample, models)


def _index(
    sheet: Sheet, board: Leaderboard, title: str, alpha: float, models: Mapping[str, str], items: Mapping[str, str]
) -> str:
    scale = Scale(sheet.range)
    rows = [
        {
            "group": " ".join(one.group) or NOTHING,
            "model": one.model,
            "file": models[one.model],
            "value": scale.value(one.summary.value),
            "interval": _interval(one.summary.interval, scale),
            "scored": f"{one.summary.n} of {len(sheet.samples)}",
            "missing": _lacking(one, sheet),
            "ranks": NOTHING if one.rank_low is None else f"{one.rank_low}\u2013{one.rank_high}",
        }
        for one in board.standings
    ]
    listed = []
    for sample in sheet.samples:
        known = [cell.value for cell in _cells(sheet, sample).values() if cell is not None and cell.value is not None]
        mean = sum(known) / len(known) if known else None
        scored = f"{len(known)} of {len(sheet.models)}"
        listed.append({"item": sample, "file": items[sample], "value": scale.value(mean), "scored": scored})
    return _render(
        "index.html.j2", title=title, root="", method=board.method, alpha=f"{alpha:g}", better=sheet.direction.capitalize(),
        notes=sheet.notes, metric=sheet.metric, rows=rows, items=listed, headline=_headline(board, scale), picture=_picture(board, sheet),
    )  # fmt: skip


def _headline(board: Leaderboard, scale: Scale) -> str:
    """Return in a sentence whom the letters leave at the top."""
    best, *below = board.standings
    others = [one for one in below if one.summary.value is not None]
    if not others or best.summary.value is None:
        return ""
    near = [one.model for one in others if set(one.group) & set(best.group)]
    score = f"{cut(best.model, _NAME)} ({scale.value(best.summary.value)})"
    if not near:
        return f"{score} stands apart from all {len(others)} others."
    named = " and ".join(cut(one, _NAME) for one in near) if len(near) < 3 else f"{len(near)} others"
    rest = len(others) - len(near)
    return f"{score} cannot be told apart from {named}" + (f"; it stands apart from the other {rest}." if rest else ".")


def _picture(board: Leaderboard, sheet: Sheet) -> Markup | None:
    """Return the intervals of the first models as a chart."""
    from markupsafe import Markup

    from markbook.report import charts

    rows: list[dict[str, float | str]] = []
    factor = Scale(sheet.range).factor
    for one in board.standings[:_DRAWN]:
        value, ends = one.summary.value, one.summary.interval
        if value is not None and ends is not None and one.model not in [row["name"] for row in rows]:
            low, high = factor * ends.low, factor * ends.high
            rows.append({"name": one.model, "value": factor * value, "low": low, "high": high})
    if not rows:
        return None
    domain = (factor * sheet.range[0], factor * sheet.range[1]) if max(map(abs, sheet.range)) < 1e6 else None
    picture = charts.intervals(rows, [str(row["name"]) for row in rows], sheet.metric, domain)
    return Markup(picture.wide + picture.narrow)  # noqa: S704 - its words are escaped where it is drawn


def _model(sheet: Sheet, one: Standing, items: Mapping[str, str]) -> str:
    cells, scale = sheet.marks[one.model], Scale(sheet.range)
    rows = [(items[sample], sample, *_shown(cells.get(sample), scale)) for sample in sheet.samples]
    facts = [
        (sheet.metric, scale.value(one.summary.value)),
        ("95 % interval", _interval(one.summary.interval, scale)),
        ("Scored", f"{one.summary.n} of {len(sheet.samples)}"),
        ("Missing", _lacking(one, sheet)),
        ("Groups", " ".join(one.group) or NOTHING),
    ]
    return _render(
        "list.html.j2", title=one.model, root="../", facts=facts, heading="Item", metric=sheet.metric, rows=rows,
        folder="items",
    )  # fmt: skip


def _item(sheet: Sheet, board: Leaderboard, sample: str, models: Mapping[str, str]) -> str:
    cells, scale = _cells(sheet, sample), Scale(sheet.range)
    rows = [(models[one.model], one.model, *_shown(cells[one.model], scale)) for one in board.standings]
    facts = list(sheet.meta.get(sample, {}).items())
    return _render(
        "list.html.j2", title=sample, root="../", facts=facts, heading="Model", metric=sheet.metric, rows=rows,
        folder="models",
    )  # fmt: skip


def _cells(sheet: Sheet, sample: str) -> dict[str, Cell | None]:
    return {model: cells.get(sample) for model, cells in sheet.marks.items()}


def _shown(cell: Cell | None, scale: Scale) -> tuple[str, str]:
    if cell is None:
        return NOTHING, "not there"
    return scale.value(cell.value), ", ".join(f"{count} {kind}" for kind, count in sorted(cell.gaps.items()))


def _lacking(one: Standing, sheet: Sheet) -> str:
    """Return what is missing by kind, with the samples that this model's run does not know."""
    unknown = len(sheet.samples) - len(sheet.marks[one.model])
    words = missing_text(one.summary.n_missing) if one.summary.n_missing else ""
    return ", ".join(part for part in (words, f"{unknown} not there" if unknown else "") if part) or NOTHING


def _interval(found: Interval | None, scale: Scale) -> str:
    return NOTHING if found is None else scale.spread(found.low, found.high)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    folder = resources.files("markbook.report").joinpath("templates")

    def plain(value: object) -> object:
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = Environment(
        loader=FunctionLoader(lambda name: folder.joinpath("board", name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=plain,
        trim_blocks=True,
    )
    style = folder.joinpath("page.css").read_text(encoding="utf-8")
    made.globals["style"] = Markup(style)  # noqa: S704 - our own file
    made.globals["policy"] = policy(style, "")
    return made


def _render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)
