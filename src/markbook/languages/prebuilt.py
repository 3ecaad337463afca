"""What is compiled once for many programs, of the toolchain's own text only: libraries, caches, headers."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from markbook.languages.language import Headers, Prepared, as_text, fill_template
from markbook.languages.toolchain import Toolchain

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
            process.kill()
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
            _make(tool, preparation, folder)
            if cached is not None:
                _keep(folder, cached)
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
                    self._under[head] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def _make(tool: Toolchain, preparation: Prepared, target: Path) -> None:
    """Run the command; where it fails what there is has to do, and the self-test says what does not work."""
    target.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in preparation.files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        words = {"kept": str(target)}
        around = {**tool.places.environment, **preparation.environment}
        environment = {**os.environ, **{name: fill_template(value, words) for name, value in around.items()}}
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                tool.command(preparation.command, words),
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )


def _keep(source: Path, cached: Path) -> None:
    """Keep a copy for the next run, if there is anything; nothing depends on it."""
    if not any(source.iterdir()):
        return
    with contextlib.suppress(OSError, shutil.Error):
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent) as folder:
            shutil.copytree(source, Path(folder, "made"))
            Path(folder, "made").replace(cached)
