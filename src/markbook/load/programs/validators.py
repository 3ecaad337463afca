"""The output validators of a problem package: which files each is made of, and what judges with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from markbook.errors import DataError
from markbook.files.bundle import Bundle
from markbook.stdio.judge import Judge

SCRIPTS = ("build", "run")
"""Of a program that brings how it is made and started, instead of being in a language that is known."""
_LANGUAGES = {".py": "python", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".c": "c", ".java": "java", ".rs": "rust"}
"""The languages of output validators, by the endings of their files."""


def judge_of(bundle: Bundle, names: Sequence[str], flags: tuple[str, ...], *, talks: bool, passes: int) -> Judge:
    """Return the judge that a package's output validators make together: an output is right if all accept it.

    Args:
        bundle: the package.
        names: the files below its folder of validators; at least one.
        flags: further words of their commands.
        talks: whether the validator talks to the program.
        passes: how often a program may be run on one test.

    Raises:
        DataError: one of them is in no language that is built here, or several are to talk to one program.
    """
    judges = [_judge(bundle, files) for files in programs_of(names)]
    if len(judges) > 1 and (talks or passes > 1):
        raise DataError(
            f"{len(judges)} output validators cannot all talk to one program, or ask it for another pass",
            at=bundle.at(names[0]),
            hint="an interactive or multi-pass problem has one",
        )
    first, *others = (replace(judge, flags=flags, is_interactive=talks, passes=passes) for judge in judges)
    return replace(first, others=tuple(others))


def programs_of(names: Sequence[str]) -> list[dict[str, str]]:
    """Return the files of each program in a folder: by their names in it, their names in the package.

    A program is a folder, or a file that lies beside such folders. What is no source and lies there belongs to each file.
    """
    alone: dict[str, str] = {}
    folders: dict[str, dict[str, str]] = {}
    for name in names:
        _, first, *rest = name.split("/")
        if rest:
            folders.setdefault(first, {})["/".join(rest)] = name
        else:
            alone[first] = name
    if any(script in alone for script in SCRIPTS):
        return [{name.partition("/")[2]: name for name in names}]
    sources = [name for name in alone if PurePosixPath(name).suffix.lower() in _LANGUAGES]
    shared = {name: path for name, path in alone.items() if name not in sources}
    programs = {**folders, **{name: {name: alone[name], **shared} for name in sources}}
    return [programs[name] for name in sorted(programs)] or [alone]


def _judge(bundle: Bundle, files: Mapping[str, str]) -> Judge:
    if any(script in files for script in SCRIPTS):
        own = tuple((name, bundle.read(path)) for name, path in files.items())
        return Judge("bash", own, "icpc", is_scripted=True)
    flat = tuple((PurePosixPath(name).name, bundle.read(path)) for name, path in files.items())
    endings = {PurePosixPath(name).suffix.lower() for name, _ in flat}
    language = next((candidate for ending, candidate in _LANGUAGES.items() if ending in endings), None)
    if language is None or len(dict(flat)) < len(flat):
        raise DataError(
            "the output validator is in none of the languages that are built here",
            at=bundle.at(next(iter(files.values()))),
            hint=f"its files end in one of {', '.join(_LANGUAGES)}, or it has the scripts build and run",
        )
    return Judge(language, flat, "icpc")
