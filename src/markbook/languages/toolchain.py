"""Compilers and interpreters: finding them, their versions, headers precompiled once a machine, and what whole programs need."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from markbook import plugins
from markbook.errors import EnvironmentUnfitError, MarkbookError, UsageError, suggest
from markbook.languages.language import Headers, Language, Places, Prepared, as_text, fill_template

# Which languages there are, and which of their toolchains this machine has.

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


def _definitions() -> Iterator[tuple[str, Language]]:
    """Yield every language by its name, but those whose plugin is broken: it says so to whoever asks for that language."""
    for name in names():
        try:
            definition = language(name)
        except MarkbookError:
            continue
        yield name, definition


@functools.cache
def _aliases() -> dict[str, str]:
    return {alias: name for name, definition in reversed([*_definitions()]) for alias in definition.aliases}


@functools.cache
def language(name: str) -> Language:
    """Return a language by its name or another that data use for it.

    Raises:
        UsageError: there is none.
    """
    known_names = names()
    canonical = name if name in known_names else _aliases().get(name.lower(), name.lower())
    if canonical not in known_names:
        raise UsageError(f"there is no language {name!r}", hint=suggest(name, known_names))
    definition: Language = plugins.create("languages", canonical)
    return definition


@functools.cache
def find(name: str) -> Toolchain:
    """Return the toolchain of a language.

    Raises:
        UsageError: the language is unknown.
        EnvironmentUnfitError: its toolchain is not here; the hint has the package's name.
    """
    definition = language(name)
    places = definition.locate() if definition.locate is not None else _usual(definition)
    version_text = ""
    if places is not None:
        command = [places.commands[definition.commands[0]], *definition.version]
        try:
            completed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.SubprocessError):
            lines = []
        else:
            lines = [line.strip() for line in (completed.stdout + completed.stderr).splitlines()]
        version_text = next((match[0] for line in lines if (match := _NUMBER.search(line))), "")
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
            folders.append(installed_prefix(real))
    return Places(commands, tuple(folders))


def installed_prefix(command: str) -> str:
    """Return the folder of an installed program's tree, its own folder without a tree."""
    folder = os.path.dirname(command)
    return os.path.dirname(folder) if os.path.basename(folder) in ("bin", "sbin") else folder


# What is compiled once for many programs, of the toolchain's own text only: libraries, caches, headers.

_SEEN = 2
"""So many programs begin with the same headers before these are compiled, for the next ones and the next run: that takes as
long as five programs."""
_MOST = 16
_MOST_BYTES = 1 << 30
_KEPT_BYTES = 256 << 20
"""Bytes of headers that are kept from run to run; those go that were not wanted for longest."""
_SECONDS = 600
_HEAD = re.compile(r"\s+|//[^\n\\]*(?=\n)|/\*(?:(?!\*/)[^\\])*\*/|#[ \t]*include[ \t]*<([\w./+]+)>[ \t]*(?=\n|//)")
"""What may stand before and between the headers that a program begins with."""


class Prebuilt:
    """A folder that programs may read, made for one run, and what lies there."""

    def __init__(self, cache: Path | None = None) -> None:
        """Choose the folder; what takes long is also kept in `cache`, for the next one."""
        self.folder = Path(tempfile.gettempdir(), f"markbook-prebuilt-{secrets.token_hex(8)}")
        self._seen_at = self.folder
        self._cache = cache
        self._seen: Counter[str] = Counter()
        self._under: dict[str, subprocess.Popen[bytes]] = {}
        self._ready: dict[str, Path] = {}
        self._made: dict[str, tuple[Path, Path | None]] = {}
        """Where each header lies once it is compiled, and where it is kept."""

    def start(self) -> None:
        """Make the folder."""
        self.folder.mkdir()
        self.folder.chmod(0o755)  # programs run as other users

    def seen_at(self, path: str) -> None:
        """Say where programs find the folder."""
        self._seen_at = Path(path)

    def close(self) -> None:
        """End what is being compiled, keep what has been since, and remove the folder."""
        for head, process in self._under.items():
            if process.poll() == 0 and head not in self._ready:
                _put(*self._made[head])
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # the compiler's own processes, too
                process.wait()
        self._under, self._ready, self._made = {}, {}, {}
        shutil.rmtree(self.folder, ignore_errors=True)

    def prepare(self, tool: Toolchain, text: str) -> Toolchain:
        """Return a toolchain that knows the folder in which what a program's text wants lies ready, made now or earlier."""
        preparation = tool.language.prepared
        if (
            preparation is None
            or "kept" in tool.places.commands
            or not any(word in text for word in preparation.wanted)
        ):
            return tool
        folder = self.folder / tool.language.name
        if not folder.exists():
            self._prepare(tool, preparation, folder)
        return replace(
            tool,
            places=replace(tool.places, commands={**tool.places.commands, "kept": str(self._seen_at / folder.name)}),
        )

    def _prepare(self, tool: Toolchain, preparation: Prepared, folder: Path) -> None:
        cached = self._cache and self._cache / f"{tool.language.name}-{_digest(tool.state, as_text(preparation))}"
        if cached is not None and cached.is_dir():
            shutil.copytree(cached, folder)
        else:
            folder.mkdir()
            with tempfile.TemporaryDirectory() as work:
                for name, text in preparation.files.items():
                    path = Path(work, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
                words = {"kept": str(folder)}
                around = {**tool.places.environment, **preparation.environment}
                environment = {**os.environ, **{name: fill_template(value, words) for name, value in around.items()}}
                # where it fails what there is has to do, and the self-test says what does not work
                with contextlib.suppress(OSError, subprocess.SubprocessError):
                    subprocess.run(
                        tool.command(preparation.command, words),
                        cwd=work,
                        env=environment,
                        capture_output=True,
                        timeout=_SECONDS,
                        check=False,
                    )
            if cached is not None and any(folder.iterdir()):
                with contextlib.suppress(OSError, shutil.Error):  # nothing depends on the copy for the next run
                    cached.parent.mkdir(parents=True, exist_ok=True)
                    with tempfile.TemporaryDirectory(dir=cached.parent) as copy:
                        shutil.copytree(folder, Path(copy, "made"))
                        Path(copy, "made").replace(cached)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)

    def with_headers(self, tool: Toolchain, text: str) -> tuple[str, str]:
        """Return a program's text and the word of its command by which the headers that it begins with are there.

        Headers that have not been seen often are left where they stand. Lines keep their numbers.
        """
        headers = tool.language.headers
        if headers is None:
            return text, ""
        names, places = begins_with(text, headers.names)
        if not names:
            return text, ""
        head = "".join(f"#include <{name}>\n" for name in sorted(names))
        self._seen[head] += 1
        header = self._find_compiled(tool, headers, head)
        if header is None:
            return text, ""
        for start, end in reversed(places):
            text = text[:start] + text[end:]
        return text, fill_template(headers.option, {"header": str(self._seen_at / header.name)})

    def _find_compiled(self, tool: Toolchain, headers: Headers, head: str) -> Path | None:
        """Return the header that lies compiled, of this run or an earlier one; None as long as there is none."""
        if head in self._ready:
            return self._ready[head]
        path = self.folder / f"{_digest(tool.language.name, head)}.h"
        if head not in self._made:
            cached = self._cache and self._cache / "headers" / _digest(tool.state, as_text(headers), head)
            self._made[head] = Path(f"{path}.new"), cached
        fresh, cached = self._made[head]
        process = self._under.get(head)
        if process is None:
            if len(self._under.keys() | self._ready.keys()) >= _MOST or self._size() >= _MOST_BYTES:
                return None
            path.write_text(head)
            if self._seen[head] > 1 or not _copy_cached(cached, fresh):
                if self._seen[head] >= _SEEN:
                    command = tool.command(headers.command, {"header": str(path), "made": str(fresh)})
                    self._under[head] = subprocess.Popen(
                        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
                    )
                return None
        elif process.poll() != 0:
            return None
        else:
            _put(fresh, cached)
        header = Path(f"{path}{headers.suffix}")
        fresh.replace(header)
        path.chmod(0o644)
        header.chmod(0o644)
        self._ready[head] = path
        return path

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self.folder.glob("*.h*"))


def begins_with(text: str, allowed: frozenset[str]) -> tuple[set[str], list[tuple[int, int]]]:
    """Return the headers that a program includes before anything else, and where it says so."""
    names: set[str] = set()
    places: list[tuple[int, int]] = []
    at = 0
    while match := _HEAD.match(text, at):
        if match[1] is not None:
            if match[1] not in allowed:
                break
            names.add(match[1])
            places.append(match.span())
        at = match.end()
    return names, places


def _digest(*parts: str) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=10).hexdigest()


def _copy_cached(cached: Path | None, target: Path) -> bool:
    """Whether there was a kept file, which is copied then."""
    if cached is None:
        return False
    try:
        shutil.copyfile(cached, target)
        os.utime(cached)
    except OSError:
        target.unlink(missing_ok=True)
        return False
    return True


def _put(source: Path, cached: Path | None) -> None:
    """Keep a copy of a file for the next run, and remove the oldest where there are too many; nothing depends on it."""
    if cached is None:
        return
    with contextlib.suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent) as folder:
            shutil.copyfile(source, Path(folder, "made"))
            Path(folder, "made").replace(cached)
        entries = [(path.stat().st_mtime_ns, path) for path in cached.parent.iterdir() if path.is_file()]
        total = sum(path.stat().st_size for _, path in entries)
        for _, path in sorted(entries):
            if total <= _KEPT_BYTES:
                return
            total -= path.stat().st_size
            path.unlink()


# Answers that are whole programs, with nothing of ours in them: how each language builds and starts one.


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


def whole(tool: Toolchain, content: str | Mapping[str, bytes]) -> Whole:
    """Return how a program is made of its text, or of several files; the one that is started comes first."""
    language, alone = tool.language, tool.language.alone
    if isinstance(content, str):
        content = {"": (language.prelude + content).encode("utf-8", "surrogatepass")}
    endings = language.suffixes or (language.source.rpartition(".")[2],)
    sources = tuple(name for name in content if not name or name.rpartition(".")[2].lower() in endings)
    if not sources:
        raise ValueError(f"none of its files is {language.title}")
    first = min(sources, key=lambda name: (PurePosixPath(name).stem not in ("__main__", "main", "Main"), name))
    source = alone.name(content[first].decode("utf-8", "replace")) if alone.name else alone.source or language.source
    files = {source: content[first], **{name: data for name, data in content.items() if name != first}}
    text = next(iter(files.values())).decode("utf-8", "replace")
    words = dict(language.words(text)) if language.words else {}
    words |= alone.words(text, tuple(files)) if alone.words else {}
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


def detect_language(name: str, content: bytes) -> str:
    """Return the language of a file by its name, empty if none of ours is written so."""
    language = _by_suffix().get(name.rpartition(".")[2].lower())
    if language is None or re.match(language.unlike.encode(), content):
        return ""
    return language.name


@functools.cache
def _by_suffix() -> dict[str, Language]:
    return {suffix: definition for _, definition in reversed([*_definitions()]) for suffix in definition.suffixes}
