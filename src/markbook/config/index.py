"""Which YAML files of a folder give themselves which names and tags, found without reading them as YAML."""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markbook.config.lmeval import TASK_KEYS

SUFFIXES = (".yaml", ".yml")
_MOST_FILES = 20_000
_MOST_ENTRIES = 100_000
_MOST_CHARACTERS = 1 << 20
_MOST_INCLUDES = 8
_NAMED = re.compile(r"^(name|task|group):[ \t]*[\"']?([^\s\"'#\[{]+)", re.MULTILINE)
_KEY = re.compile(r"^([a-z_]+):", re.MULTILINE)
_INCLUDED = re.compile(r"^include:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_TAGS = re.compile(
    r"^(tag|group):[ \t]*(?:\[([^\]]*)\]|([^\s#\[][^\n#]*)|((?:#[^\n]*)?(?:\n[ \t]*-[^\n]*)+))", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class FolderIndex:
    """Names and tags of a folder's files."""

    names: dict[str, Path] = field(default_factory=dict)
    tags: dict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))


def named_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the names that the files of a folder give themselves, not those of its own folders."""
    if not folder.is_dir():
        return
    for number, path in enumerate(sorted(folder.iterdir())):
        if number >= _MOST_FILES:
            return
        if path.suffix in SUFFIXES and path.is_file():
            name = _name(_text(path))
            if name:
                yield name, path


@functools.lru_cache(maxsize=8)
def index_of(folder: Path) -> FolderIndex:
    """Return the names and tags of all files in a folder and its own folders; of two equal names the first counts."""
    folder_index = FolderIndex()
    for path in _files(folder):
        text = _text(path)
        name = _name(text)
        if name:
            folder_index.names.setdefault(name, path)
            for tag in _tags(path, text):
                if tag != name:
                    folder_index.tags[tag].append(path)
    return folder_index


def _name(text: str) -> str:
    """Return what a file calls itself, empty if it has no name. In a task's file `group` is a tag."""
    named = dict(reversed(_NAMED.findall(text)))
    naming = ("name", "task", "group") if _is_task(text) else ("name", "group", "task")
    return next((named[key] for key in naming if key in named), "")


def _is_task(text: str) -> bool:
    """Whether a file of lm-evaluation-harness with both `group` and `task` is a task: what a task is made of tells."""
    return bool((TASK_KEYS | {"include"}).intersection(_KEY.findall(text)))


def _files(folder: Path) -> Iterator[Path]:
    files = entries = 0
    for directory, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            entries += 1
            path = Path(directory, name)
            if path.suffix in SUFFIXES and path.is_file():
                files += 1
                yield path
        if files >= _MOST_FILES or entries >= _MOST_ENTRIES:
            return


def _tags(path: Path, text: str) -> list[str]:
    """Return a task's tags: its own, else those of what it includes; none of a file that is a group itself."""
    for _ in range(_MOST_INCLUDES):
        matches = [match for match in _TAGS.finditer(text) if match[1] == "tag" or _is_task(text)]
        if matches:
            parts = [part for match in matches for part in re.split(r"[,\n]", match[2] or match[3] or match[4])]
            tags = (part.partition("#")[0].strip().removeprefix("-").strip(" \t\"'") for part in parts)
            return list(dict.fromkeys(tag for tag in tags if tag))
        included = _INCLUDED.search(text)
        if included is None:
            break
        path = path.parent / included[1]
        text = _text(path) if path.is_file() else ""
    return []


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_CHARACTERS)
    except OSError:
        return ""
