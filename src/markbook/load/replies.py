"""The answer in a reply that is written in another language than Python: no parser, only lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from markbook.text.thoughts import without_thoughts

_FENCE = re.compile(
    r"^[ \t]{0,3}(`{3,}+|~{3,}+)[^\n]*+\n(.*?)(?:^[ \t]{0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_IMPORT = re.compile(r"\s*(?:(?:using|import|use)\s[^()]*;?|#\s*include\b.*)\s*")
_COMMENT = ("//", "#", "--", ";", "%", "*", "/*")


def answer_of(
    reply: str, prompt: str, tests: str, *, raw: bool = True
) -> tuple[str, Literal["as_is", "fence"], Literal["whole", "completion"]]:
    """Return a reply's answer with the prompt that it completes, how it was found, and which of the two it was.

    An answer that repeats the last line of the prompt is whole, also with other names of parameters: what stands before
    that line is kept in the place of the prompt, with those of its imports that it lacks, or behind the prompt if it has
    no line of what the prompt defines before; what stands behind the end of that definition is left out, for tests of its own and a `main` would stand in the way of the benchmark's. Where the tests begin with
    the brace that ends the definition, it is left to them.

    Args:
        reply: what a model wrote.
        prompt: what the benchmark begins the program with.
        tests: what it puts behind it.
        raw: leave out what the model thought aloud, and look for fenced code.
    """
    begun = _begun(prompt)
    code, step = _extract_fenced(without_thoughts(reply), begun) if raw else (reply, "as_is")
    if prompt.lstrip().startswith("<?php"):
        code = code.rstrip().removesuffix("?>")  # the benchmark's tests behind it would be no code
    lines = code.split("\n")
    first_line = next((number for number, line in enumerate(lines) if begun and _same(line, begun)), None)
    if first_line is None and begun:
        first_line = next((number for number, line in enumerate(lines) if _defines_alike(line, begun)), None)
    if not begun or first_line is None:
        is_complete = bool(begun) and bool(re.search(rf"\b{re.escape(_name(begun))}\s*[(<=]", code)) and step == "fence"
        return (code, step, "whole") if is_complete or not prompt else (prompt + code, step, "completion")  # type: ignore[return-value]
    head = lines[:first_line]
    before = prompt[: prompt.rstrip().rfind("\n") + 1]
    outermost = [line for line in before.split("\n") if line[:1].strip() and _WORD.search(line)]
    frame = [line for line in outermost if not line.startswith(_COMMENT) and not _IMPORT.fullmatch(line)]
    if frame and not any(_same(line, other) for line in head for other in frame):
        head = [before.rstrip("\n"), *head]
    else:
        lines_known = {_SPACE.sub("", line) for line in head}
        imports = (line for line in before.split("\n") if _IMPORT.fullmatch(line))
        head = [*(line for line in imports if _SPACE.sub("", line) not in lines_known), *head]
    body = _until_its_end(lines[first_line:], closed_by_tests=tests.lstrip().startswith("}"))
    return "\n".join([*head, *body]) + "\n", step, "whole"  # type: ignore[return-value]  # one of the two


def with_imports(text: str, setup: str, packages: Sequence[str]) -> str:
    """Return a text in Go behind the imports of those packages that it uses and that neither it nor its set-up imports."""
    imports_wanted = (
        package
        for package in packages
        if re.search(rf"\b{package.rpartition('/')[2]}\.", text) and f'"{package}"' not in setup + text
    )
    return "".join(f'import "{package}"\n' for package in imports_wanted) + text


def _begun(prompt: str) -> str:
    """Return the line by which a prompt begins the definition that is asked for."""
    last = prompt.rstrip().rpartition("\n")[2]
    return last if _WORD.search(last) and not last.strip().startswith(_COMMENT) else ""


def _same(line: str, other: str) -> bool:
    """Whether two lines say the same; the brace that opens a definition may stand on the next."""
    return _SPACE.sub("", line).removesuffix("{") == _SPACE.sub("", other).removesuffix("{")


def _defines_alike(line: str, begun: str) -> bool:
    """Whether a line begins the same definition with other parameters."""
    head, bracket, _ = _SPACE.sub("", begun).partition("(")
    other, other_bracket, rest = _SPACE.sub("", line).partition("(")
    return bool(bracket and other_bracket) and head == other and not rest.endswith(";")


def _name(line: str) -> str:
    match = re.search(r"(\w+)\s*(?:\(|<-|=)", line)
    return match[1] if match else line.strip()


def _extract_fenced(reply: str, begun: str) -> tuple[str, str]:
    blocks = [match[2] for match in _FENCE.finditer(reply)]
    if not blocks:
        return reply, "as_is"
    with_it = [block for block in blocks if begun and any(_same(line, begun) for line in block.split("\n"))]
    named = [block for block in blocks if begun and _name(begun) in block]
    return (with_it or named or blocks)[0], "fence"


def _until_its_end(lines: list[str], *, closed_by_tests: bool) -> list[str]:
    """Return a definition from its first line to the brace that stands as far in as that line; all, if none does."""
    first = lines[0]
    if not "".join(lines[:2] if first.rstrip().endswith(")") else lines[:1]).rstrip().endswith("{"):
        return lines
    inset = first[: len(first) - len(first.lstrip())]
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in (f"{inset}}}", f"{inset}}};"):
            return lines[: number if closed_by_tests else number + 1]
    return lines
