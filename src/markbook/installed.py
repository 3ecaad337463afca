"""What there is to work with: the parts that packages declare, our own version, the examples, and the processors.

Packages are read from the names and files on disk. `importlib.metadata` says the same and brings the reading of mail
and archives with it: forty milliseconds of each command. It is asked where packages lie somewhere else than in plain
folders.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from markbook.errors import DataError

_KINDS = (".dist-info", ".egg-info")
_SEPARATORS = re.compile(r"[-_.]+")


def entry_points(group: str) -> dict[str, str]:
    """Return the targets that installed packages declare in a group, by name."""
    if not _in_folders():
        from importlib import metadata

        return {point.name: point.value for point in metadata.entry_points(group=group)}
    targets: dict[str, str] = {}
    for text in _declarations():
        inside = False
        for line in map(str.strip, text.splitlines()):
            if line.startswith("["):
                inside = line == f"[{group}]"
            elif inside and line and not line.startswith("#"):
                name, _, value = line.partition("=")
                targets[name.strip()] = value.strip()
    return targets


@functools.cache  # every record of a run is written with it
def version() -> str:
    """Return our version."""
    for name, folder in _distributions() if _in_folders() else ():
        if name == "markbook" and folder.suffix == ".dist-info":
            return folder.name.removesuffix(".dist-info").partition("-")[2]
    from importlib import metadata

    return metadata.version("markbook")


@functools.cache
def _declarations() -> tuple[str, ...]:
    """Return the text of every package's declarations that concern us."""
    texts = []
    for _, folder in _distributions():
        try:
            text = (folder / "entry_points.txt").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if "[markbook." in text:
            texts.append(text)
    return tuple(texts)


def _in_folders() -> bool:
    """Whether packages can only lie in folders: no archive is on the path, and nobody else finds packages."""
    others = (finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "PathFinder")
    return not any(hasattr(finder, "find_distributions") for finder in others) and not any(
        Path(entry).is_file() for entry in sys.path
    )


def _distributions() -> Iterator[tuple[str, Path]]:
    """Yield each installed package's plain name with its folder; of two of one name, the one that is imported."""
    names_read = set()
    for entry in sys.path:
        try:
            folders = sorted(entry.name for entry in os.scandir(entry or ".") if entry.name.endswith(_KINDS))
        except OSError:
            continue
        for folder in folders:
            name = _SEPARATORS.sub("_", folder.rpartition(".")[0].partition("-")[0]).lower()
            if name not in names_read:
                names_read.add(name)
                yield name, Path(entry, folder)


# What of the machine is ours.


def count_processors() -> int:
    """Return how many processors this process may use: in a container they can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Where the bundled examples lie, in a checkout and in an installed package.


def example(name: str) -> Path:
    """Return the folder of a bundled example.

    Raises:
        DataError: this installation carries no examples.
    """
    here = Path(__file__).resolve().parent
    for root in (here / "examples_data", here.parents[1] / "examples"):
        if (root / name).is_dir():
            return root / name
    raise DataError(f"this installation carries no example {name!r}", hint="get a checkout of the project")
