"""Folder names for models: the model's own name where that is safe, else a readable part of it with a hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=@ -]{0,79}(?<![. ])")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d) *(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices: the part before the first dot counts, whatever follows it."""
_RESERVED = re.compile(r"journal|lock|run\.json|report\..*|.*model_comparison.*", re.IGNORECASE)
"""Names that a run folder has files of its own under."""


def folder_names(models: Iterable[str]) -> dict[str, str]:
    """Return a folder name for each model; no two are equal even where the file system ignores case.

    The name does not depend on the machine. A name never contains a separator, never begins with a dot and is at
    most 80 characters long, so that it cannot leave its folder.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for model in models:
        name = model if _is_safe(model) else _with_hash(model)
        while name.casefold() in taken:
            name = _with_hash(model, name)  # another model is called what this one's folder would be
        names[model] = name
        taken.add(name.casefold())
    return names


def _is_safe(model: str) -> bool:
    return bool(_SAFE.fullmatch(model)) and not _DEVICE.fullmatch(model) and not _RESERVED.fullmatch(model)


def _with_hash(model: str, but: str = "") -> str:
    """Return a readable part of the name with a hash; another one than `but`."""
    digest = hashlib.sha256((model + but).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    readable = _UNSAFE.sub("-", model).strip("-.")[:60].rstrip("-.")
    if not readable or _DEVICE.fullmatch(f"{readable}-{digest}"):
        readable = f"model-{readable}" if readable else "model"
    return f"{readable}-{digest}"
