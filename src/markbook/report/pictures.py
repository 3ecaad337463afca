"""From a specification to a picture: inline SVG for the page, files for Markdown, slides and print."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from markbook.errors import ExtraMissingError
from markbook.plugins import need

VEGA_LITE = "5.20"
INSTALL = "pip install 'markbook[report]'"
_IDS = re.compile(r'(\bid="|url\(#)([\w-]+)')
_HIDDEN = re.compile(r'<text [^>]*opacity="0">[^<]*</text>')
_ROLES = re.compile(r' (?:role|aria-roledescription|aria-label|xmlns:xlink)="[^"]*"')
_TAG = re.compile(r"<[^>]*>")  # the renderer writes &lt; and &gt; wherever they are not part of a tag
_NUMBERS = re.compile(r"\d+\.\d{3,}")


FAILED = '<p class="missing">This chart could not be drawn; the table has its numbers.</p>'

_log = logging.getLogger(__name__)


def svg(spec: Mapping[str, Any], *, name: str) -> str | None:
    """Return the chart as an SVG element, or None where the renderer is not installed.

    A chart that cannot be drawn is a sentence that says so, and a warning in the log: it must not cost the report.

    It reads no address: the data are in the specification. Labels that the axis hides are left out, and numbers are
    cut to two decimals, which nobody can see.

    Args:
        spec: a Vega-Lite specification with its data inside.
        name: our own word; makes the ids inside unlike those of other charts in the page.
    """
    try:
        convert = need("vl_convert", extra="report")
    except ExtraMissingError:
        return None
    try:
        drawn: str = convert.vegalite_to_svg(dict(spec), vl_version=VEGA_LITE, allowed_base_urls=[])
    except ValueError as error:
        _log.warning("the chart %s could not be drawn: %s", name, error)
        return FAILED
    drawn = _HIDDEN.sub("", drawn)
    ids: dict[str, str] = {}
    drawn = _TAG.sub(lambda tag: _plain_tag(tag.group(), name, ids), drawn)
    return drawn.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)


def _plain_tag(tag: str, name: str, ids: dict[str, str]) -> str:
    """Return a tag without what the page does not need; the words between tags are not touched.

    Ids are numbered afresh, because the renderer counts on from chart to chart.
    """
    tag = _ROLES.sub("", tag)
    tag = _NUMBERS.sub(lambda number: f"{float(number.group()):.2f}", tag)
    return _IDS.sub(lambda found: found.group(1) + ids.setdefault(found.group(2), f"{name}-{len(ids)}"), tag)


def png(spec: Mapping[str, Any], *, scale: float = 2.0) -> bytes:
    """Return the chart as a PNG on white, dark text.

    Raises:
        ExtraMissingError: the renderer is not installed.
    """
    convert = need("vl_convert", extra="report")
    made: bytes = convert.vegalite_to_png(_on_white(spec), vl_version=VEGA_LITE, scale=scale, allowed_base_urls=[])
    return made


def pdf(spec: Mapping[str, Any]) -> bytes:
    """Return the chart as a PDF.

    Raises:
        ExtraMissingError: the renderer is not installed.
    """
    convert = need("vl_convert", extra="report")
    made: bytes = convert.vegalite_to_pdf(_on_white(spec), vl_version=VEGA_LITE, allowed_base_urls=[])
    return made


def _on_white(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the specification with the page's colours settled, since a picture has no page to take them from."""

    def settled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: part if key == "values" else settled(part) for key, part in value.items()}
        if isinstance(value, list):
            return [settled(part) for part in value]
        return "#222222" if value == "currentColor" else value

    made: dict[str, Any] = settled(dict(spec))
    made["background"] = "white"
    made["padding"] = 12
    return made
