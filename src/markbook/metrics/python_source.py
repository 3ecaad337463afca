"""Python source out of what a model wrote: the parse ladder that all code metrics share.

A model's answer is a whole program, a fenced block inside prose, an indented method, or only the body of a function
whose head stands in the prompt. Each rung of the ladder is tried in turn, and the rung that worked is recorded.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from markbook.testcode import programs

MAX_CHARACTERS = 1_000_000
"""Longer texts are not parsed: a syntax tree takes about a hundred times the memory of its text."""

# Nothing that is passed is given back: a line of accents alone would else be looked through for each of its lengths.
_FENCE = re.compile(
    r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^\n]*+\n(.*?)(?:^[ \t]*+\1|\Z)", re.DOTALL | re.MULTILINE
)
_PYTHON = frozenset({"python", "py", "python3", "py3"})


@dataclass(frozen=True, slots=True)
class PythonSource:
    """Python source that parses."""

    tree: ast.Module
    text: str
    """What was parsed, with `\\n` line ends."""
    rung: str
    """How it was found: `as-is`, `fenced`, `dedent`, `continued` or `body`."""
    line_offset: int = 0
    """Add it to a line number of the tree to get the line in the answer."""


def read(text: str) -> PythonSource | str:
    """Return the Python source in an answer, or why there is none.

    The rungs, in order: the text as it is; a fenced block (one tagged as Python first, one with a definition
    before one without); the text dedented; the text whose first line lost the indent of the others; a function
    body followed by other code.
    """
    if len(text) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS:,} characters"
    clean = text.removeprefix("\ufeff")
    if "\r" in clean:
        clean = clean.replace("\r\n", "\n").replace("\r", "\n")
    problem = ""
    for rung, source, offset in _rungs(clean):
        tree = _parse(source)
        if isinstance(tree, ast.Module):
            return PythonSource(tree, source, rung, offset)
        problem = problem or tree
    return problem


def _rungs(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (rung, source, line offset), cheapest and likeliest first."""
    yield "as-is", text, 0
    if "```" in text or "~~~" in text:
        for body, offset in _find_fenced_blocks(text):
            yield "fenced", textwrap.dedent(body), offset
    dedented = textwrap.dedent(text)
    if dedented != text:
        yield "dedent", dedented, 0
    first, _, rest = text.lstrip("\n").partition("\n")
    indents = [len(line) - len(line.lstrip()) for line in rest.split("\n") if line.strip()]
    shared = min(indents, default=0)
    if shared:
        blank_lines = len(text) - len(text.lstrip("\n"))
        yield "continued", textwrap.dedent(" " * shared + first.lstrip() + "\n" + rest), blank_lines
    yield "body", "def _():\n" + text, -1


def _find_fenced_blocks(text: str) -> list[tuple[str, int]]:
    """Return the fenced blocks with their line offsets, the likeliest to be the answer first."""
    blocks = []
    lines = counted = 0
    for position, match in enumerate(_FENCE.finditer(text)):
        lines += text.count("\n", counted, match.start(3))
        counted = match.start(3)
        language, body = match[2].lower(), match[3]
        if language and language not in _PYTHON:
            continue
        defines = re.search(r"^[ \t]*(?:async[ \t]+def|def|class)\b", body, re.MULTILINE) is not None
        blocks.append((language not in _PYTHON, not defines, position, body, lines))
    return [(body, offset) for *_, body, offset in sorted(blocks)]


def _parse(source: str) -> ast.Module | str:
    """Return the tree, or in one line why there is none."""
    try:
        return programs.parse_python(source)
    except (SyntaxError, ValueError) as error:  # ValueError: NUL bytes
        line = getattr(error, "lineno", None)
        return f"{error.args[0] if error.args else error}" + (f" (line {line})" if line else "")
    except (RecursionError, MemoryError):
        return "nested too deeply to parse"
