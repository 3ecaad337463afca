"""Folder names for models: the model's own name where that is safe, else a readable part of it with a hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=@ -]{0,79}(?<![. ])")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|journal|lock|run\.json|report\..*|.*model_comparison.*", re.IGNORECASE
)
"""Names that Windows keeps for devices, and those that a run folder has files of its own under."""


def folder_names(models: Iterable[str]) -> dict[str, str]:
    """Return a folder name for each model; no two are equal even where the file system ignores case.

    The name does not depend on the machine. A name never contains a separator, never begins with a dot and is at
    most 80 characters long, so that it cannot leave its folder.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for model in models:
        name = model
        if not _SAFE.fullmatch(model) or _RESERVED.fullmatch(model) or model.casefold() in taken:
            name = _with_hash(model)
        names[model] = name
        taken.add(name.casefold())
    return names


def _with_hash(model: str) -> str:
    digest = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    readable = _UNSAFE.sub("-", model).strip("-.")[:60].rstrip("-.")
    return f"{readable}-{digest}" if readable else f"model-{digest}"
