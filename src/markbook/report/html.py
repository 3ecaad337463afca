"""A page as one HTML file: it opens offline, loads nothing, and whatever a model wrote stays words.

The content-security policy admits exactly the style and the script that are in the file, by their digests. Every
expression in the template is escaped, and controls in it are spelled out.
"""

from __future__ import annotations

import base64
import builtins
import contextlib
import functools
import hashlib
import html
import importlib.util
import keyword
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markbook.installed import version
from markbook.report.charts import Picture
from markbook.report.page import Page, show_start
from markbook.results.sheet import STATUSES
from markbook.text import Table, keep_order, visible
from markbook.text.format import NOTHING, format_level, format_number
from markbook.types import digest_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment
    from markupsafe import Markup


# Colours for Python code: one pass, never fails, and everything that is not a token of ours is escaped text.

_WORDS = "|".join(sorted({*keyword.kwlist, "match", "case", "self"}))
_BUILTINS = "|".join(sorted(name for name in dir(builtins) if name.isidentifier() and not name.startswith("_")))
_LONG_TEXT = r"""\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\\?\Z)|'''(?:\\.|[^\\])*?(?:'''|\\?\Z)"""
"""A text in three quotes; one without an end goes on to the end of the code, as Python reads it."""
_TOKEN = re.compile(
    rf"""(?P<c>\#[^\n]*)
    |(?P<s>\b[rbfuRBFU]{{0,2}}(?:{_LONG_TEXT}))
    |(?P<t>{_LONG_TEXT}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<u>"(?:\\.|[^"\\\n])*|'(?:\\.|[^'\\\n])*)
    |(?P<k>\b(?:{_WORDS})\b)
    |(?P<b>\b(?:{_BUILTINS})\b)
    |(?P<n>\b\d[\w.]*)""",
    re.VERBOSE | re.DOTALL,
)
_CLASS = {"c": "c", "s": "s", "t": "s", "k": "k", "b": "b", "n": "n"}


def highlight(code: str) -> str:
    """Return HTML of the code: text escaped, tokens in spans with a class of one letter, controls spelled out."""
    code = visible(code)
    parts = []
    at = 0
    for token in _TOKEN.finditer(code):
        if token.lastgroup == "u":  # an apostrophe in prose; matched, so that nothing of it is looked through again
            continue
        kind = _CLASS[token.lastgroup or "t"]
        parts.append(html.escape(code[at : token.start()]))
        parts.append(f'<span class="{kind}">{html.escape(token.group())}</span>')
        at = token.end()
    parts.append(html.escape(code[at:]))
    return "".join(parts)


_WHOLE = 26
"""Characters of a name that is kept on one line."""
_SIGNS = re.compile(r"[-/_]")
_BREAKS = re.compile(rf"[^-/_:]{{{_WHOLE}}}|[^-/_:]*[-/_:](?=\w)|.{{1,{_WHOLE}}}", re.DOTALL)
_CODE = re.compile(
    r"^\s*(?:def|class|import|from|return|#include|func|fn|let|var|const)\b|[;{}:]\s*$|\w\(.*\)\s*$|\w\s*[-+*/]?=",
    re.MULTILINE,
)
_FOLDED = 12
"""Longer tables are folded."""


def render(page: Page) -> str:
    """Return the page as a whole HTML document."""
    script = read_part("page.js")
    pictures = {section.id: show_picture(section.chart.picture) for section in page.sections if section.chart}
    outcomes = {status for problem in page.problems for _, status, _ in problem.outcomes}
    return render_template(
        "page.html.j2",
        page=page,
        policy=policy(style(), script),
        script=trust(script),
        pictures=pictures,
        statuses=[status for status in STATUSES if status in outcomes],
        topic_number={topic: str(number) for number, topic in enumerate(page.topics)} | {"": ""},
        version=version(),
        show_table=show_table,
        places={problem.id: number for number, problem in enumerate(page.problems, start=1)},
        folded=_FOLDED,
    )


def trust(text: str) -> Markup:
    """Return text that stands in a page as it is: our own files, and what has escaped every foreign word already.

    Nothing else in the project makes markup of text, so that its callers are all that there is to look through.
    """
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - see above


def show_picture(picture: Picture) -> Markup:
    """Return a chart for both widths of screen; its words are escaped where it is drawn."""
    return trust(picture.wide + picture.narrow)


def show_table(table: Table, places: Mapping[str, int]) -> Any:
    """Return a table as HTML that scrolls sideways where the screen is narrow; a sample leads to its place below."""
    return environment().get_template("table.html.j2").module.show(table, places)  # type: ignore[attr-defined]  # a macro's name is not typed


def whole_names(text: str) -> Markup:
    """Return words as HTML in which short names with hyphens and slashes are whole, and long words may break."""
    from markupsafe import Markup, escape

    words = []
    for word in keep_order(visible(text)).split(" "):
        if len(word) > _WHOLE:
            words.append(Markup("<wbr>").join(map(escape, _BREAKS.findall(word))))
        else:
            words.append(Markup("<span class=name>{}</span>").format(word) if _SIGNS.search(word) else escape(word))
    return Markup(" ").join(words)


def is_code(text: str) -> bool:
    """Return whether a line of an answer looks like code; colours and unbroken lines only hurt prose."""
    return _CODE.search(text) is not None


def policy(style: str, script: str) -> str:
    """Return the policy: nothing from anywhere, and only the style and script of this file."""
    allowed = f"script-src {content_digest(script)}; " if script else ""
    return f"default-src 'none'; {allowed}style-src {content_digest(style)}; base-uri 'none'; form-action 'none'"


def content_digest(text: str) -> str:
    """Return the digest by which a policy admits a style or a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# From templates to pages: one environment for all of them, in which everything that is shown is escaped and made visible.


@functools.cache
def read_part(name: str) -> str:
    """Return a file of the templates' folder."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


style = functools.partial(read_part, "page.css")
label_script = functools.partial(read_part, "browse/label.js")
"""The script of the pages where people label: it turns keys into choices."""
keys_script = functools.partial(read_part, "browse/keys.js")
"""The script of the pages over runs: keys that follow the page's own links."""


@functools.cache
def environment() -> Environment:
    """Return the environment of every HTML page: reports, `view`, `label`, `site` and the page of a trace.

    There is one, so that a new page cannot forget to escape: autoescape is on, controls are spelled out, and a name that
    a template misspells is an error.
    """
    import jinja2
    from markupsafe import Markup

    # Autoescape leaves control and direction characters as they are: they could reorder words, or hide some.
    def make_visible(value: object) -> object:
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    # Compiled templates lie where Python keeps compiled modules, and only where it does: to compile them takes a tenth of a
    # short run. Whether they escape is part of their code, so those that this file made otherwise have another name.
    folder = Path(importlib.util.cache_from_source(str(Path(__file__).parent / "templates" / "page.py"))).parent
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
    is_kept = not sys.dont_write_bytecode and os.access(folder, os.W_OK)
    made_by = digest_text(f"{jinja2.__version__} {Path(__file__).read_text(encoding='utf-8')}")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read_part),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        bytecode_cache=jinja2.FileSystemBytecodeCache(str(folder), f"%s.{made_by[:20]}.j2c") if is_kept else None,
        finalize=make_visible,
        trim_blocks=True,
    )
    scripts = {"label_script": trust(label_script()), "keys_script": trust(keys_script())}
    environment.globals.update(scripts, style=trust(style()), nothing=NOTHING, format_level=format_level)
    environment.tests["code"] = is_code
    environment.filters.update(
        code=lambda text: trust(highlight(text) if is_code(text) else html.escape(visible(text))), whole=whole_names, without=without_prompt, number=format_number, start=show_start
    )  # fmt: skip
    return environment


def without_prompt(answer: str, prompt: str) -> str:
    """Return an answer without the prompt that it may repeat, as completions of code do."""
    answer, prompt = answer.strip(), prompt.strip()
    return answer.removeprefix(prompt).strip() or answer


def render_template(template: str, **values: Any) -> str:
    """Return the HTML of a template, named by its place in `templates`."""
    return environment().get_template(template).render(**values)
