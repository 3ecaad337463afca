"""Which languages there are, and which of their toolchains this machine has."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from markbook import plugins
from markbook.errors import EnvironmentUnfitError, MarkbookError, UsageError
from markbook.languages.language import Language, Places, fill_template

SYSTEM = (
    "/bin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec",
    "/etc/alternatives", "/etc/ld.so.cache", "/usr/share/zoneinfo",
)  # fmt: skip
"""What every program may read: programs and libraries of the system, nothing of a user's."""
_NUMBER = re.compile(r"\d+(?:\.\d+)+\S*|\bv?\d+\b")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A language whose toolchain is here."""

    language: Language
    places: Places
    version: str
    """What the first command says of itself, in a line."""

    def command(self, argv: tuple[str, ...], words: Mapping[str, str]) -> tuple[str, ...]:
        """Return a command with the paths of this machine and a program's words in it; empty words fall away."""
        filled_words = [self.fill_words(word, words) for word in argv]
        return tuple(word for word, word_given in zip(filled_words, argv, strict=True) if word or not word_given)

    def fill_words(self, text: str, words: Mapping[str, str]) -> str:
        """Return a text with the paths of this machine and a program's words in it."""
        return fill_template(fill_template(text, words), {"kept": "{work}", **self.places.commands})

    @property
    def state(self) -> str:
        """Say everything about what is installed that what it makes depends on, as far as versions and times show it."""
        libraries = [path for library in self.language.libraries for path in library.places]
        files = sorted({*self.places.commands.values(), *self.folders, *libraries})
        # a package that is installed or removed changes the time of its folder
        times = [(path, os.stat(path).st_mtime_ns) for path in files if os.path.exists(path)]
        return json.dumps([self.version, times, dict(self.places.environment)])

    @property
    def folders(self) -> tuple[str, ...]:
        """What its programs may read and run."""
        return (*SYSTEM, *self.language.folders, *self.places.folders)


def names() -> list[str]:
    """Return the names of all languages, sorted."""
    return plugins.names("languages")


@functools.cache
def _aliases() -> dict[str, str]:
    aliases: dict[str, str] = {}
    for name in names():
        try:
            definition = plugins.create("languages", name)
        except MarkbookError:
            continue  # it says what is wrong with it to whoever asks for it
        for alias in definition.aliases:
            aliases.setdefault(alias, name)
    return aliases


@functools.cache
def language(name: str) -> Language:
    """Return a language by its name or another that data use for it.

    Raises:
        UsageError: there is none.
    """
    known_names = names()
    canonical = name if name in known_names else _aliases().get(name.lower(), name.lower())
    if canonical not in known_names:
        raise UsageError(f"there is no language {name!r}", hint=plugins.suggest(name, known_names))
    definition: Language = plugins.create("languages", canonical)
    return definition


@functools.cache
def find(name: str) -> Toolchain:
    """Return the toolchain of a language.

    Raises:
        UsageError: there is no such language.
        EnvironmentUnfitError: its toolchain is not here; the hint has the package's name.
    """
    definition = language(name)
    places = definition.locate() if definition.locate is not None else _usual(definition)
    version_text = _version(definition, places) if places is not None else ""
    if places is None or not version_text:
        absent = next(
            (command for command in definition.commands if shutil.which(command) is None), definition.commands[0]
        )
        raise EnvironmentUnfitError(
            f"{definition.title} programs cannot be run here: there is no {absent}",
            hint=f"apt install {definition.package}; --skip-unavailable leaves their problems out, as missing",
        )
    return Toolchain(definition, places, version_text)


def versions() -> dict[str, str | None]:
    """Return every language's version here, None where its toolchain is not."""
    found_versions: dict[str, str | None] = {}
    for name in names():
        try:
            found_versions[name] = find(name).version
        except MarkbookError:
            found_versions[name] = None
    return found_versions


def _usual(definition: Language) -> Places | None:
    commands, folders = {}, []
    for name in definition.commands:
        path = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:" + os.environ.get("PATH", ""))
        if path is None:
            return None
        real = os.path.realpath(path)
        commands[name] = real
        if not any(real.startswith(f"{folder}/") for folder in SYSTEM):
            folders.append(prefix_of(real))
    return Places(commands, tuple(folders))


def prefix_of(command: str) -> str:
    """Return the folder of an installed program's tree, its own folder if there is no tree."""
    folder = os.path.dirname(command)
    return os.path.dirname(folder) if os.path.basename(folder) in ("bin", "sbin") else folder


def _version(definition: Language, places: Places) -> str:
    command = places.commands[definition.commands[0]]
    try:
        completed = subprocess.run(
            [command, *definition.version], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = [line.strip() for line in (completed.stdout + completed.stderr).splitlines() if line.strip()]
    line = next((line for line in lines if _NUMBER.search(line)), "")
    match = _NUMBER.search(line)
    return match[0] if match else ""
