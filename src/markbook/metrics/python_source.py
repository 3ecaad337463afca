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
_DEFINITION = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class)\b", re.MULTILINE)
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
        try:
            return PythonSource(programs.parse_python(source), source, rung, offset)
        except (SyntaxError, ValueError) as error:  # ValueError: NUL bytes
            line = getattr(error, "lineno", None)
            why = f"{error.args[0] if error.args else error}" + (f" (line {line})" if line else "")
        except (RecursionError, MemoryError):
            why = "nested too deeply to parse"
        problem = problem or why  # what is wrong with the text as it is says most
    return problem


def _rungs(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (rung, source, line offset), cheapest and likeliest first."""
    yield "as-is", text, 0
    if "```" in text or "~~~" in text:
        blocks = []
        lines = counted = 0
        for position, match in enumerate(_FENCE.finditer(text)):
            # Counted on from the last block: from the start each time, many blocks would take quadratic time.
            lines += text.count("\n", counted, match.start(3))
            counted = match.start(3)
            language, body = match[2].lower(), match[3]
            if not language or language in _PYTHON:
                defines = _DEFINITION.search(body) is not None
                blocks.append((language not in _PYTHON, not defines, position, body, lines))
        for *_, body, offset in sorted(blocks):
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
