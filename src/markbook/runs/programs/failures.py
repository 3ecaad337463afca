"""Why a program failed, out of what was seen when it was marked: no second run is made for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markbook.sandbox.guest.examination.explaining import explain_output
from markbook.sandbox.outcomes import why_said
from markbook.sandbox.program import Executed
from markbook.why import Why

MOST = 10
"""Failed tests of an attempt that are explained."""
_HEAD, _TAIL = 1_200, 700
_LINES = 8
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_HASH = re.compile(r"@[0-9a-f]{6,8}\b")
Raw = Mapping[str, object]
"""A failed test as the sandbox's own explanations are sent."""


def stream_failed(index: int, fed: bytes, expected: str, ran: Executed, files: Mapping[str, bytes], words: str) -> Raw:
    """Return why a program that reads and writes failed a test.

    Args:
        index: of the test.
        fed: what it read.
        expected: what it was to print.
        ran: what became of it.
        files: the program.
        words: what its judge said, or how it ended.
    """
    heard = cut_output(ran.stderr)
    explanation = explain_output(index, fed.decode("utf-8", "replace"), expected, ran.stdout, b"")
    return {**explanation, "err": heard, "error": words, "lines": _in_first(heard, files)}


def streams_why(tests: Iterable[Raw], built: Raw | None = None) -> Why | None:
    """Return why an attempt failed: its tests, or what its compiler said."""
    some = list(tests)
    if not some and not built:
        return None
    return why_said({**(built or {}), "tests": some[:MOST], "left_out": len(some[MOST:])})


def compiler_said(ran: Executed, files: Mapping[str, bytes]) -> Raw:
    """Return what a compiler said of a program, with the lines that it names."""
    words = cut_output(ran.stderr or ran.stdout)
    return {"error": words, "lines": _in_first(words, files)}


@dataclass(frozen=True, slots=True)
class Program:
    """An answer with one of its tests, as it was written."""

    source: str
    """The file's name."""
    text: str
    answer: str
    secrets: tuple[str, ...]
    """Words of this one run, that are not shown."""


def program_failed(index: int, program: Program, heard: str, ran: Executed | None) -> Raw:
    """Return why a test program failed with an answer, its lines counted in the answer.

    Args:
        index: of the test.
        program: the program.
        heard: what its compiler said; empty where it was built.
        ran: what became of it then.
    """
    words = cut_output(heard.encode("utf-8", "replace")) if heard else cut_output(ran.stderr) if ran else ""
    out = cut_output(ran.stdout) if ran and not heard else ""
    for secret in program.secrets:
        words, out = words.replace(secret, ""), out.replace(secret, "")
    at = program.text.find(program.answer.rstrip("\n"))
    lines = [] if at < 0 else named_lines(program.source, words, program.answer, program.text.count("\n", 0, at))
    return {"test": index, "part": -1, "error": words.strip(), "lines": lines, "out": out.strip()}


def programs_why(tests: Iterable[Raw]) -> Why | None:
    """Return why an attempt failed whose tests are programs of their own; one compiler's words stand for all of them."""
    some = [dict(raw) for raw in tests]
    if not some:
        return None
    outs = [str(raw.pop("out", "")) for raw in some]
    return why_said({"tests": some[:MOST], "left_out": len(some[MOST:]), "out": next(filter(None, outs), "")})


def cut_output(data: bytes) -> str:
    """Return the beginning and the end of what a program said, without what would move a terminal, the same in every run."""
    text = _HASH.sub("@...", _TERMINAL.sub("", data.decode("utf-8", "replace")))
    remaining = len(text) - _HEAD - _TAIL
    return text if remaining <= 0 else f"{text[:_HEAD]}\n... {remaining} characters ...\n{text[-_TAIL:]}"


def named_lines(source: str, words: str, answer: str, before: int) -> list[list[object]]:
    """Return the answer's lines that a compiler or a runtime names, each once.

    Args:
        source: what the file is called.
        words: what was said.
        answer: the text.
        before: so many lines stand before it in the file.
    """
    lines = answer.split("\n")
    matches = re.finditer(rf"{re.escape(source)}\"?(?:, line |[:(])(\d{{1,6}})", words)
    inside = [
        number for number in dict.fromkeys(int(match[1]) - before for match in matches) if 0 < number <= len(lines)
    ]
    return [[number, "", lines[number - 1].strip()] for number in inside[:_LINES]]


def _in_first(words: str, files: Mapping[str, bytes]) -> list[list[object]]:
    name = next(iter(files), "")
    return named_lines(name, words, files[name].decode("utf-8", "replace"), 0) if name else []
