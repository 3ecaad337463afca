"""Building many programs in one process: what waits for one another, and what came of each."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from markbook.languages import Toolchain
from markbook.languages.language import Batch
from markbook.runs.programs.executions import Written, build_limits
from markbook.sandbox.program import Executed, Phase, ProgramRun
from markbook.types import Limits

_LENGTH = struct.Struct(">i")
_OUTPUT = 64 << 20
_LONGEST_NAME = 200
"""A file's name that is longer may be none where programs run."""
Built = Mapping[str, bytes] | str
"""The files that came of a program, or what the compiler said of it."""


@dataclass(slots=True)
class PendingBuild:
    """Programs of one language that are to be built together."""

    tool: Toolchain
    batch: Batch
    waiting: dict[str, Written] = field(default_factory=dict)
    _under: dict[str, dict[str, Written]] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Whether it is time to build them."""
        return len(self.waiting) >= self.batch.size

    def run(self, key: str) -> ProgramRun:
        """Return the run that builds what waits; from here on it is under way."""
        self._under[key], self.waiting = self.waiting, {}
        texts = [written_program.files[self.tool.language.source] for written_program in self._under[key].values()]
        stdin = b"".join(_LENGTH.pack(len(text)) + text for text in texts)
        limits = build_limits(self.tool.language)
        limits = Limits(
            seconds=limits.seconds,
            memory_bytes=limits.memory_bytes,
            output_bytes=_OUTPUT,
            file_bytes=limits.file_bytes,
            processes=limits.processes,
        )
        files = {name: text.encode() for name, text in self.batch.files.items()}
        around = {**self.tool.places.environment, **self.tool.language.environment}
        command = self.tool.command(self.batch.command, {})
        return ProgramRun(key, files, (Phase(command, limits, stdin=stdin, environment=around),))

    def done(self, key: str, executed: list[Executed]) -> Iterator[tuple[str, Written, Built | None]]:
        """Yield the programs of a batch with what came of each; None where it is to be built by itself."""
        built_texts = _read(executed[0].stdout if executed else b"")
        for name, program in self._under.pop(key).items():
            yield name, program, next(built_texts, None)


def _read(data: bytes) -> Iterator[Built | None]:
    """Yield what was printed of each program, as far as it is whole."""
    at = 0

    def number() -> int:
        nonlocal at
        (value,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        return int(value)

    def text() -> bytes:
        nonlocal at
        length = number()
        if not 0 <= length <= len(data) - at:
            raise struct.error
        at += length
        return data[at - length : at]

    try:
        while at < len(data):
            kind, at = data[at : at + 1], at + 1
            if kind == b"F":
                files = {text().decode("utf-8", "replace"): text() for _ in range(number())}
                yield files if all(_is_name(name) for name in files) else None
            elif kind == b"E":
                yield text().decode("utf-8", "replace")
            else:
                return
    except struct.error:
        return


def _is_name(name: str) -> bool:
    parts = name.split("/")
    return "\0" not in name and ".." not in parts and all(0 < len(part.encode()) <= _LONGEST_NAME for part in parts)
