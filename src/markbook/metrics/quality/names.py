"""What a name or a constant says: its words, whether it promises validation, whether it holds a secret."""

from __future__ import annotations

import ast
import functools
import itertools
import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = frozenset(
    [
        "password",
        "passwords",
        "passwd",
        "pwd",
        "passphrase",
        "secret",
        "secrets",
        "token",
        "tokens",
        "apikey",
        "credential",
        "credentials",
    ]
)
_SECRET_KEYS = frozenset(["api", "access", "private", "secret", "auth", "encryption", "signing"])
_VALIDATING = ("valid", "sanitiz", "sanitis")
_VALIDATING_WORDS = frozenset(["check", "checks", "checked", "verify", "verifies", "verified", "ensure", "ensures"])


@functools.cache
def words(name: str) -> tuple[str, ...]:
    """Return the lower-case words of a snake_case or camelCase name."""
    return tuple(word.lower() for word in _WORD.findall(name))


@functools.lru_cache(maxsize=4096)
def is_credential(name: str) -> bool:
    """Tell whether a name is one that secrets are bound to: `password`, `API_KEY`, `authToken`, not `tokenizer`."""
    parts = words(name)
    return any(word in _SECRET_WORDS for word in parts) or any(
        second == "key" and first in _SECRET_KEYS for first, second in itertools.pairwise(parts)
    )


@functools.lru_cache(maxsize=4096)
def is_validating(name: str) -> bool:
    """Tell whether a called name promises validation: `validate_age`, `check`, `isValid`, not `checksum`."""
    return any(word.startswith(_VALIDATING) or word in _VALIDATING_WORDS for word in words(name))


def constant_text(value: ast.expr) -> str | None:
    """Return a non-empty text constant, also of bytes, f-strings without fields and concatenations."""
    match value:
        case ast.Constant(value=str() as text):
            return text or None
        case ast.Constant(value=bytes() as data):
            return data.decode("latin-1") or None
        case ast.JoinedStr(values=parts) if all(isinstance(part, ast.Constant) for part in parts):
            return "".join(str(part.value) for part in parts if isinstance(part, ast.Constant)) or None
    return None


def is_opaque_key(name: str, text: str) -> bool:
    """Tell whether a bare `key` holds what looks like a secret and not, say, a column's name."""
    return (
        words(name)[-1:] == ("key",)
        and len(text) >= 16
        and text.isascii()
        and (not any(map(str.isspace, text)) and any(map(str.isdigit, text)) and any(map(str.isalpha, text)))
    )


def spell(node: ast.expr) -> str:
    """Return a short spelling of an expression for a person: a dotted name, or what kind of thing it is."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute(value=ast.Name() as owner):
            return f"{owner.id}.{node.attr}"
        case ast.Subscript(value=ast.Name() as owner):
            return f"{owner.id}[…]"
        case ast.Constant():
            return repr(node.value)[:40]
    return "…"
