"""Charts as files."""

from __future__ import annotations

from markbook.plugins import need
from markbook.report.drawing import Picture

INSTALL = "pip install 'markbook[report]'"


def png(picture: Picture, *, scale: float = 2.0) -> bytes:
    """Return the chart as a PNG on white, dark text.

    Raises:
        ExtraMissingError: what makes PNG of SVG is not installed.
    """
    image: bytes = need("vl_convert", extra="report").svg_to_png(_on_white(picture), scale=scale)
    return image


def svg(picture: Picture) -> str:
    """Return the chart as a whole SVG file on white, dark text."""
    return _on_white(picture) + "\n"


def _on_white(picture: Picture) -> str:
    """Return the drawing with the page's colours settled, since a picture has no page to take them from."""
    drawn = picture.wide.replace('"currentColor"', '"#222222"')  # words cannot hold the marks around it
    head, _, rest = drawn.partition(">")
    return f'{head}><rect width="100%" height="100%" fill="#ffffff"/>{rest}'
