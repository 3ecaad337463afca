"""What stands in Python's text constants: their escapes, and the parts of an f-string that are no expressions."""

from __future__ import annotations

import re

STRING = re.compile(r"""([A-Za-z]*)('''|\"\"\"|'|")((?:\\.|(?!\2).)*)\2""", re.DOTALL)
"""A text constant: prefix, quotes, content."""
_ESCAPE = re.compile(r"\\(?:\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[\\'\"abfnrtv])")
_BACKSLASH = re.compile(rf"(?P<escape>{_ESCAPE.pattern})|\\")
_PART = re.compile(rf"(?P<escape>{_ESCAPE.pattern})|(?P<brace>\{{\{{|\}}\}})|(?P<open>\{{)|.", re.DOTALL)
_INSIDE = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[{}]""", re.DOTALL)


def escapes_in(content: str) -> list[str]:
    """Return the kind of each escape in a text that is not raw, `""` for a backslash that escapes nothing."""
    return ["escape_sequence" if one["escape"] else "" for one in _BACKSLASH.finditer(content)]


def literal_parts(text: str) -> list[list[str]]:
    """Return, for each stretch of an f-string between its expressions, the kinds of the escapes in it."""
    match = STRING.match(text)
    if match is None:
        return []
    content, is_raw = match[3], "r" in match[1].lower()
    found: list[list[str]] = []
    place, stretch = 0, None
    while place < len(content):
        part = _PART.match(content, place)
        assert part is not None
        place = part.end()
        if part["open"]:
            place = _closing(content, place)
            stretch = None
            continue
        if stretch is None:
            stretch = list[str]()
            found.append(stretch)
        if part["brace"]:
            stretch.append("escape_interpolation")
        elif not is_raw and part[0][0] == "\\":
            stretch.append("escape_sequence" if part["escape"] else "")
    return found


def _closing(content: str, place: int) -> int:
    """Return the place after the brace that closes the one before a place."""
    level = 1
    for match in _INSIDE.finditer(content, place):
        level += (match[0] == "{") - (match[0] == "}")
        if not level:
            return match.end()
    return len(content)
