"""Answers that are whole programs, with nothing of ours in them: how each language builds and starts one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from markbook.languages.language import Language
from markbook.languages.toolchain import Toolchain, names

_C = ("c",)
_CPP = ("cc", "cpp", "cxx", "c++")
SUFFIXES = {
    "c": _C, "cpp": _CPP, "java": ("java",), "python": ("py", "py3"), "javascript": ("js",), "typescript": ("ts",),
    "rust": ("rs",), "go": ("go",), "bash": ("sh",),
}  # fmt: skip
"""How files of a language are called where their name decides; of any other it is the end of `source`."""
RUNTIME_BYTES = {"java": 512 << 20, "javascript": 512 << 20, "typescript": 512 << 20, "go": 128 << 20}
"""What a language's runtime holds by itself, beside what a program asks for."""
_JAVA_CLASS = re.compile(
    r"^\s*(public\s+)?(?:final\s+|abstract\s+|strictfp\s+)*(?:class|enum|record)\s+(\w+)", re.MULTILINE
)
_PYTHON2 = re.compile(rb"^#!.*python2")


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
    language = tool.language
    files = _named(language, given)
    words = dict(language.words(_main_text(files))) if language.words else {}
    build, run = _commands(language, files, words)
    around = {**tool.places.environment, **language.environment}
    return Whole(
        files=files,
        build=tool.command(build, words),
        run=tool.command(run, words),
        programs=language.programs,
        environment={**around, "PYTHONHASHSEED": "0"} if language.name == "python" else around,
        build_environment={
            name: tool.filled(text, words) for name, text in {**around, **language.build_environment}.items()
        },
    )


def language_of(name: str, content: bytes) -> str:
    """Return the language of a file by its name, empty if none of ours is written so."""
    ending = name.rpartition(".")[2].lower()
    if ending == "py" and _PYTHON2.match(content):
        return ""
    known = names()
    return next((one for one, endings in SUFFIXES.items() if ending in endings and one in known), "")


def _named(language: Language, given: str | Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a program, the one that is started first; a single one has the name that its language wants."""
    if isinstance(given, str):
        given = {"": (language.prelude + given).encode("utf-8", "surrogatepass")}
    mine = SUFFIXES.get(language.name, (language.source.rpartition(".")[2],))
    sources = [name for name in given if not name or name.rpartition(".")[2].lower() in mine]
    if not sources:
        raise ValueError(f"none of its files is {language.title}")
    first = min(sources, key=lambda name: (PurePosixPath(name).stem not in ("__main__", "main", "Main"), name))
    others = {name: text for name, text in given.items() if name != first}
    if language.name == "java":
        return {_java_name(given[first]): given[first], **others}
    return {language.source if language.name != "go" else "main.go": given[first], **others}


def _java_name(content: bytes) -> str:
    """Return what a file has to be called: by its public class, if it has one."""
    found = _JAVA_CLASS.findall(content.decode("utf-8", "replace"))
    return f"{next((name for is_public, name in found if is_public), 'Main')}.java"


def _main_text(files: Mapping[str, bytes]) -> str:
    return next(iter(files.values())).decode("utf-8", "replace")


def _commands(
    language: Language, files: Mapping[str, bytes], words: dict[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return how it is built and run, where that is not as for functions with their tests."""
    mine = SUFFIXES.get(language.name, ())
    sources = [name for name in files if name.rpartition(".")[2].lower() in mine]
    match language.name:
        case "c":
            return ("{gcc}", "-std=gnu17", "-O2", "-o", "main", *sources, "-lm"), language.run
        case "cpp":
            return ("{g++}", "-std=gnu++17", "-O2", "-o", "main", *sources), language.run
        case "go":
            return ("{go}", "build", "-o", "main", *sources), ("{build}/main",)
        case "rust":
            return (*language.build[:1], "-O", *language.build[1:]), language.run
        case "java":
            words["main"] = _java_main(_main_text(files), sources[0])
            at = language.build.index("Main.java")
            return (*language.build[:at], *sources, *language.build[at + 1 :]), language.run
        case "python":
            alone = ("-P",) if len(files) == 1 else ()
            return (), ("{python3}", "-s", *alone, "-B", "{build}/main.py")
        case _:
            return language.build, language.run


def _java_main(text: str, source: str) -> str:
    """Return the class that is started: that of the file's name if it has a `main`, else the one before `main`."""
    before = text.partition("static void main")[0]
    found = [name for _, name in _JAVA_CLASS.findall(before)]
    stem = source.removesuffix(".java")
    return stem if stem in found or not found else found[-1]
