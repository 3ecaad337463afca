"""Answers that are whole programs, with nothing of ours in them: how each language builds and starts one."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from markbook.errors import MarkbookError
from markbook.languages.language import Language
from markbook.languages.toolchain import Toolchain, language as find_language, names


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole program as it is written, built and started."""

    files: Mapping[str, bytes]
    build: tuple[str, ...]
    """The command that makes it; empty where its text is run."""
    run: tuple[str, ...]
    programs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    build_environment: Mapping[str, str] = field(default_factory=dict)


def whole(tool: Toolchain, given: str | Mapping[str, bytes]) -> Whole:
    """Return how a program is made of its text, or of several files."""
    language, alone = tool.language, tool.language.alone
    files = _name_files(language, given)
    text = next(iter(files.values())).decode("utf-8", "replace")
    words = dict(language.words(text)) if language.words else {}
    words |= alone.words(text, tuple(files)) if alone.words else {}
    endings = _endings(language)
    sources = tuple(name for name in files if name.rpartition(".")[2].lower() in endings)
    build = language.build if alone.build is None else alone.build
    place = build.index("{sources}") if "{sources}" in build else len(build)
    around = {**tool.places.environment, **language.environment}
    return Whole(
        files=files,
        build=tool.command((*build[:place], *sources, *build[place + 1 :]) if place < len(build) else build, words),
        run=tool.command(alone.run or language.run, words),
        programs=language.programs,
        environment={**around, **alone.environment},
        build_environment={
            name: tool.fill_words(text, words) for name, text in {**around, **language.build_environment}.items()
        },
    )


def language_of(name: str, content: bytes) -> str:
    """Return the language of a file by its name, empty if none of ours is written so."""
    language = _by_suffix().get(name.rpartition(".")[2].lower())
    if language is None or re.match(language.unlike.encode(), content):
        return ""
    return language.name


@functools.cache
def _by_suffix() -> dict[str, Language]:
    known: dict[str, Language] = {}
    for name in names():
        try:
            language = find_language(name)
        except MarkbookError:
            continue  # a broken plugin says so to whoever asks for that language
        for suffix in language.suffixes:
            known.setdefault(suffix, language)
    return known


def _name_files(language: Language, content: str | Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a program, the one that is started first; a single one has the name that its language wants."""
    if isinstance(content, str):
        content = {"": (language.prelude + content).encode("utf-8", "surrogatepass")}
    endings = _endings(language)
    sources = [name for name in content if not name or name.rpartition(".")[2].lower() in endings]
    if not sources:
        raise ValueError(f"none of its files is {language.title}")
    first = min(sources, key=lambda name: (PurePosixPath(name).stem not in ("__main__", "main", "Main"), name))
    others = {name: text for name, text in content.items() if name != first}
    alone = language.alone
    name = alone.name(content[first].decode("utf-8", "replace")) if alone.name else alone.source or language.source
    return {name: content[first], **others}


def _endings(language: Language) -> tuple[str, ...]:
    """Return how the names of a language's files end."""
    return language.suffixes or (language.source.rpartition(".")[2],)
