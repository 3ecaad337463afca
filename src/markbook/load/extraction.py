"""Finding the code in a model's raw reply: a ladder of steps, each recorded, none of which deletes a line of code.

A reply that compiles as it stands is taken as it stands. Otherwise what a model thought aloud is no part of it; of the
rest a fenced block is taken, then the text between markers such as [PYTHON] and [/PYTHON], then code with prose before or
behind it. Text with no trace of a reply around it (a truncated solution, say) is left alone: its SyntaxError is the
model's own.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from markbook.text import python
from markbook.text.thoughts import without_thoughts

Step = Literal["as_is", "fence", "markers", "prose", "none"]

PARSE_CAP = 1 << 20
"""Longer texts, in characters, are not parsed here; the sandbox meets them as they are."""

_FENCE = re.compile(
    r"^[ \t]{0,3}(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^\n]*+\n(.*?)(?:^[ \t]{0,3}\1[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PYTHON_TAGS = {"", "py", "python", "python3", "py3", "pycon"}
_MARKER = re.compile(r"^[ \t]*\[/?[A-Za-z]{2,12}\][ \t]*$", re.MULTILINE)
_BARE_MARKER = re.compile(r"^\[/?(?:END|DONE|BEGIN|PYTHON|CODE|ANSWER|SOLUTION)\]\s*$", re.MULTILINE)
"""`[END]` alone on a line is Python, a list of one unknown name; in a reply it is where the code ends."""
_CODE_START = re.compile(r"^(?:@\w|def |async def |class |import |from \w[\w.]* import )", re.MULTILINE)
_PROSE = re.compile(
    r"^(?:#{1,6} |[-*\u2022] |\d+[.)] )?[\"'(*_]*[A-Z][\w'\u2019-]*[,:]?(?: +[^\s=]+){2,}", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The code of a reply, and how it was found."""

    text: str
    step: Step
    """`as_is`, or the step that found code that compiles, or `none`: nothing did, and the text is the whole reply."""


def extract_code(reply: str, entry_point: str = "") -> Extraction:
    """Return the code in a reply.

    Args:
        reply: what the model wrote.
        entry_point: the name that the code should define; among several blocks the one that does is taken.
    """
    return extract(reply, compiles, entry_point)


def extract(reply: str, is_code: Callable[[str], bool], entry_point: str = "") -> Extraction:
    """As `extract_code`, for a caller with a notion of its own of what compiles (a body behind a prompt)."""
    is_all_code = len(reply) > PARSE_CAP or is_code(reply)
    if is_all_code and not _BARE_MARKER.search(reply):
        return Extraction(reply, "as_is")
    if not is_all_code and (answer := without_thoughts(reply)) != reply:
        return extract(answer, is_code, entry_point)
    extraction: Extraction | None = Extraction(reply, "as_is") if is_all_code else None
    for step, text in _candidates(reply):
        if not text.strip() or not is_code(text):
            continue
        if not entry_point or defines(text, entry_point):
            return Extraction(text, step)
        extraction = extraction or Extraction(text, step)
    return extraction or Extraction(reply, "none")


def compiles(text: str) -> bool:
    """Whether the text is a Python module by its syntax; it is only parsed, never compiled or run."""
    return _names(text) is not None


def defines(text: str, name: str) -> bool:
    """Whether a module binds a name at its top level; False if it does not parse."""
    names = _names(text)
    return names is not None and name in names


def top_level_names(tree: ast.Module) -> set[str]:
    """Return the functions, classes, assigned and imported names of a module's top level, also behind a condition."""
    names = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        else:
            waiting += _that_bind(node)
    return names


def _that_bind(node: ast.AST) -> Iterator[ast.AST]:
    """Yield those parts of a statement or target that may bind names in the scope it stands in."""
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return
    for part in ast.iter_child_nodes(node):
        stored = isinstance(getattr(part, "ctx", None), ast.Store) and not isinstance(
            part, ast.Attribute | ast.Subscript
        )
        if stored or isinstance(part, ast.stmt | ast.alias | ast.ExceptHandler | ast.match_case | ast.withitem):
            yield part


@functools.lru_cache(maxsize=8)  # an answer is asked for three times over before it is known what it is
def _names(text: str) -> frozenset[str] | None:
    """Return the names of a module's top level, None if it does not parse."""
    tree = _parse(text)
    return None if tree is None else frozenset(top_level_names(tree))


def _parse(text: str) -> ast.Module | None:
    return None if len(text) > PARSE_CAP else python.parse(text)


def _candidates(reply: str) -> Iterator[tuple[Step, str]]:
    for match in _FENCE.finditer(reply):
        if match[2].lower() in _PYTHON_TAGS:
            yield "fence", match[3]
    if _MARKER.search(reply):
        for part in _MARKER.split(reply):
            yield "markers", part
    for text in (reply, *_from_first_code(reply)):
        yield from (("prose", candidate) for candidate in _before_prose(text))


def _from_first_code(reply: str) -> Iterator[str]:
    start = _CODE_START.search(reply)
    if start and start.start() and _PROSE.search(reply, 0, start.start()):
        yield reply[start.start() :]


def _before_prose(text: str) -> Iterator[str]:
    yield text
    for count, match in enumerate(_PROSE.finditer(text)):
        if count == 8:
            return  # prose that late has code-like lines before it that do not parse either
        if match.start():
            yield text[: match.start()]
