"""From templates to pages: everything shown is escaped, and what cannot be seen is made visible."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING, Any

from markbook.report.highlight import highlight
from markbook.text import visible

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from jinja2 import Environment


def style() -> str:
    """Return the style of every page."""
    return resources.files("markbook.report").joinpath("templates", "page.css").read_text(encoding="utf-8")


def label_script() -> str:
    """Return the script of the pages where people label: it turns keys into choices."""
    return resources.files("markbook.report").joinpath("templates", "browse", "label.js").read_text(encoding="utf-8")


def keys_script() -> str:
    """Return the script of the pages over runs: keys that follow the page's own links."""
    return resources.files("markbook.report").joinpath("templates", "browse", "keys.js").read_text(encoding="utf-8")


def _template(name: str) -> Traversable:
    """Return a template of this site, or else one that it shares with the reports."""
    folder = resources.files("markbook.report").joinpath("templates")
    own = folder.joinpath("browse", name)
    return own if own.is_file() else folder.joinpath(name)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    def plain(value: object) -> object:
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(
        loader=FunctionLoader(lambda name: _template(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=plain,
        trim_blocks=True,
    )
    environment.globals["style"] = Markup(style())  # noqa: S704 - our own file
    environment.globals["label_script"] = Markup(label_script())  # noqa: S704 - our own file
    environment.globals["keys_script"] = Markup(keys_script())  # noqa: S704 - our own file
    environment.filters["code"] = lambda text: Markup(highlight(text))  # noqa: S704 - highlight escapes
    return environment


def render(template: str, **values: Any) -> str:
    """Return the HTML of a template in `templates/browse`."""
    return _environment().get_template(template).render(**values)
