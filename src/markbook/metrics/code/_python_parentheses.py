"""Where parentheses stand around Python expressions, which `ast` forgets and tree-sitter's tree holds."""

from __future__ import annotations

import ast
import functools
import re
from itertools import accumulate
from typing import Any

_SPACE = b" \t\n\f\\"
_SKIPPED = re.compile(rb"(?:[ \t\n\f\\]|#[^\n]*)*")
_CLOSING = frozenset(b")]}'\"")
"""After one of these, or after a name, a parenthesis opens a call's list."""
_LAST_WORD = re.compile(rb"[\w\x80-\xff]+\Z")
_KEYWORDS = frozenset(
    b"and as assert await del elif else except for from if import in is lambda not or raise return while with yield".split()
)
_TAILS = frozenset(word[-2:] for word in _KEYWORDS)
_WORD = frozenset(bytes([byte]) for byte in range(256) if byte >= 128 or chr(byte).isalnum() or byte == 95)
_BRACKETS = re.compile(rb"""'''(?:\\.|(?!''').)*'''|\"\"\"(?:\\.|(?!\"\"\").)*\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|#[^\n]*|[()]""", re.DOTALL)  # fmt: skip


class Parentheses:
    """The places of one source, in bytes, as `ast` counts columns."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self.data = source.encode("utf-8", "surrogatepass")
        self._tree = tree
        lines = self.data.split(b"\n")
        self._starts = [0, *accumulate(map(len, lines))]
        self.before: dict[int, int] = {}
        """For the place of an expression's first character, the parenthesis before it that groups."""
        self.groups: set[int] = set()
        """The places of those parentheses."""
        self._find()

    def start(self, node: Any) -> int:
        """Return where a node starts."""
        line: int = node.lineno - 1
        return self._starts[line] + line + int(node.col_offset)

    def _end(self, node: Any) -> int:
        line: int = node.end_lineno - 1
        return self._starts[line] + line + int(node.end_col_offset)

    def text(self, node: ast.expr) -> str:
        """Return a node's source."""
        return self.data[self.start(node) : self._end(node)].decode("utf-8", "replace")

    def _find(self) -> None:
        """Note every parenthesis that may group: those in texts and comments are no expression's neighbours."""
        data, place = self.data, -1
        while (place := data.find(b"(", place + 1)) >= 0:
            last = data[place - 1 : place]
            # Most stand right after the name of a function, which is told from a keyword by its last two letters.
            if (last not in _WORD or data[place - 2 : place] in _TAILS) and self._is_group(place):
                self.note(place)

    def note(self, place: int) -> None:
        """Note a parenthesis that groups."""
        after = _SKIPPED.match(self.data, place + 1)
        assert after is not None
        self.before[after.end()] = place
        self.groups.add(place)

    def _is_group(self, place: int) -> bool:
        """Tell whether a parenthesis groups; otherwise it opens the list of a call or a definition."""
        data, left = self.data, place - 1
        while left >= 0 and data[left] in _SPACE:
            left -= 1
            if data[left + 1] == 10:
                # What stands on the line before may be a comment, or end the statement before.
                if place in self._first_places:
                    return True
                data = self._code
        if left < 0:
            return True
        last = data[left]
        if last in _CLOSING:
            return False
        if last >= 128 or last == 95 or 48 <= last <= 57 or 65 <= last <= 90 or 97 <= last <= 122:
            word = _LAST_WORD.search(data, max(0, left - 9), left + 1)
            return word is not None and word[0] in _KEYWORDS
        return True

    @functools.cached_property
    def _first_places(self) -> frozenset[int]:
        return frozenset(self.start(node) for node in ast.walk(self._tree) if isinstance(node, ast.stmt))

    def around(self, node: ast.expr) -> int:
        """Return how many pairs of parentheses stand around an expression."""
        start, pairs = self.start(node), 0
        if start not in self.before:
            return 0
        end = self._end(node)
        while (left := self.before.get(start)) is not None:
            after = _SKIPPED.match(self.data, end)
            assert after is not None
            end = after.end()
            if self.data[end : end + 1] != b")":
                break
            start, end, pairs = left, end + 1, pairs + 1
        return pairs

    def is_group(self, node: ast.expr) -> bool:
        """Tell whether a node starts with a parenthesis that groups, its own one."""
        return self.start(node) in self.groups

    def is_bracketed(self, node: ast.expr) -> bool:
        """Tell whether a tuple has its own parentheses; `(a), (b)` has not."""
        start = self.start(node)
        return self.data[start] == 40 and self._pairs.get(start) == self._end(node) - 1

    def between(self, node: ast.Subscript) -> list[ast.expr]:
        """Return what stands between the brackets of a subscript, divided at the commas."""
        inside = node.slice
        if isinstance(inside, ast.Tuple) and inside.elts and not self.is_bracketed(inside):
            return inside.elts
        return [inside]

    @functools.cached_property
    def _code(self) -> bytes:
        """The source with its comments blanked out."""
        return _BRACKETS.sub(lambda match: b" " * len(match[0]) if match[0][:1] == b"#" else match[0], self.data)

    @functools.cached_property
    def _pairs(self) -> dict[int, int]:
        """For every opening parenthesis of the code, the one that closes it."""
        opened, pairs = [], {}
        for match in _BRACKETS.finditer(self.data):
            if match[0] == b"(":
                opened.append(match.start())
            elif match[0] == b")" and opened:
                pairs[opened.pop()] = match.start()
        return pairs
