"""Colours for Python code: one pass, never fails, and everything that is not a token of ours is escaped text."""

from __future__ import annotations

import builtins
import html
import keyword
import re

from markbook.text import visible

_WORDS = "|".join(sorted({*keyword.kwlist, "match", "case", "self"}, key=len, reverse=True))
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
