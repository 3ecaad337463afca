r"""The documented profile: the plain textual checks, with every false hit and miss that they have.

Each decides exactly what the original regular expression decides, in time linear in the text: the expressions
`\[.*for.*in.*\]` and the like take minutes on one long line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_WORD = re.compile(r"\b[a-z_][a-z0-9_]*\b")
_SECRET = re.compile(r"(password|secret|key|token|api_key)\s*=\s*[\"'][^\"']+[\"']", re.IGNORECASE)
_UNSAFE = re.compile(r"\b(eval|exec|compile)\s*\(")
_FAST = ("sum(", "max(", "min(", "any(", "all(", "enumerate(", "zip(")


def _long_word(text: str) -> bool:
    return any(len(word) > 2 for word in _WORD.findall(text))


def _long_words(text: str) -> bool:
    words = _WORD.findall(text)
    return sum(len(word) > 2 for word in words) >= len(words) * 0.8


def _hints(text: str) -> bool:
    return "->" in text or ": " in text


def _docstring(text: str) -> bool:
    return '"""' in text or "'''" in text


def _lines(text: str) -> bool:
    return all(len(line) <= 80 for line in text.split("\n"))


def _structure(text: str) -> bool:
    return "def " in text and "return" in text


def _indentation(text: str) -> bool:
    lines = (line for line in text.split("\n") if line.strip() and line.startswith(" "))
    return all((len(line) - len(line.lstrip(" "))) % 4 == 0 for line in lines)


def _operators(text: str) -> bool:
    r"""As `\w\s*[+\-*/=]\s*\w`: every operator character is looked at once, with its neighbours."""
    for match in re.finditer(r"[+\-*/=]", text):
        start, right = match.start() - 1, match.end()
        while start >= 0 and text[start].isspace():
            start -= 1
        while right < len(text) and text[right].isspace():
            right += 1
        if start >= 0 and right < len(text) and _is_word(text[start]) and _is_word(text[right]):
            return True
    return False


def _is_word(character: str) -> bool:
    return character == "_" or character.isalnum()


def _validation(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in ("validate", "check", "verify", "isinstance", "assert"))


def _errors(text: str) -> bool:
    return any(word in text for word in ("try:", "except", "raise", "ValueError", "TypeError"))


def _credentials(text: str) -> bool:
    return _SECRET.search(text) is None


def _unsafe_calls(text: str) -> bool:
    return _UNSAFE.search(text) is None


def _in_order(line: str, parts: tuple[str, ...]) -> bool:
    """Tell whether the parts stand in the line one after the other, as `a.*b.*c` does."""
    position = 0
    for part in parts:
        index = line.find(part, position)
        if index < 0:
            return False
        position = index + len(part)
    return True


def _loop_bodies(text: str) -> Iterator[str]:
    """Yield the next line that is not blank after each line that has a `for` and ends in a colon."""
    is_head = False
    for line in text.split("\n"):
        stripped = line.rstrip()
        if not stripped:
            continue
        if is_head:
            yield line
        is_head = stripped.endswith(":") and "for" in stripped[:-1]


def _comprehension(text: str) -> bool:
    if any(_in_order(line, ("[", "for", "in", "]")) for line in text.split("\n")):
        return True
    return not any("append" in body for body in _loop_bodies(text))


def _generator(text: str) -> bool:
    return any(_in_order(line, ("(", "for", "in", ")")) for line in text.split("\n"))


def _nested_loops(text: str) -> bool:
    return not any(_in_order(body, ("for", ":")) for body in _loop_bodies(text))


def _built_ins(text: str) -> bool:
    return any(call in text for call in _FAST)


CHECKS: dict[str, dict[str, Callable[[str], bool]]] = {
    "context_adherence": {
        "names": _long_word,
        "hints": _hints,
        "docstring": _docstring,
        "lines": _lines,
        "structure": _structure,
    },
    "style_compliance": {
        "indentation": _indentation,
        "names": _long_words,
        "docstring": _docstring,
        "hints": _hints,
        "lines": _lines,
        "operators": _operators,
    },
    "security_compliance": {
        "validation": _validation,
        "errors": _errors,
        "credentials": _credentials,
        "unsafe_calls": _unsafe_calls,
    },
    "performance_awareness": {
        "comprehension": _comprehension,
        "generator": _generator,
        "nested_loops": _nested_loops,
        "built_ins": _built_ins,
    },
}
"""The documented checks of each score, by the id of the point."""
