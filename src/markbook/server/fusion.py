"""SandboxFusion's shapes: a program as its clients send it, and what became of it in its words."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TypedDict

from markbook.languages import Toolchain
from markbook.languages.whole import whole
from markbook.rewards.languages import UnsupportedLanguage, toolchain
from markbook.sandbox.program import Executed, Phase, ProgramRun
from markbook.server.guard import Refused
from markbook.server.marking import seconds
from markbook.types import Limits

_SECONDS, _MOST_SECONDS = 10.0, 600.0
_MOST_CODE = 1 << 20
_MOST_LANGUAGE = 80
_MOST_FILES = 64
_MOST_NAME = 255
"""Bytes of a file's name, without those of its folders: as many as file systems take."""
_MEMORY = 2 << 30
_BUILD_FILES = 256 << 20
_BUILD_PROCESSES = 256
_FOLDERS = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
"""What a program in Python may read beside its own files."""
_MAIN = ".markbook-main.py"
"""What a program in Python is called beside the caller's files."""


class PhaseAnswer(TypedDict):
    """What became of one phase."""

    status: str
    execution_time: float
    return_code: int | None
    stdout: str
    stderr: str


class ProgramAnswer(TypedDict):
    """What became of a program."""

    status: str
    message: str
    compile_result: PhaseAnswer | None
    run_result: PhaseAnswer | None
    executor_pod_name: None
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """A program that somebody wants run."""

    run: ProgramRun
    language: str
    folders: tuple[str, ...]
    """What it may read beside its own files."""
    builds: bool
    """Whether its first phase is that of a compiler."""


def read_program(body: Mapping[str, object], python: str) -> ProgramRequest:
    """Return the program of a request.

    Raises:
        Refused: a field is missing or wrong.
    """
    code = body.get("code")
    if not isinstance(code, str):
        raise Refused(400, "'code' is missing or no string")
    if len(code) > _MOST_CODE:
        raise Refused(413, f"'code' has {len(code)} characters; at most {_MOST_CODE} are taken")
    name = body.get("language")
    if not isinstance(name, str):
        raise Refused(400, "'language' is missing or no string")
    if len(name) > _MOST_LANGUAGE:
        raise Refused(400, f"'language' has {len(name)} characters")
    try:
        tool = toolchain(name)
    except UnsupportedLanguage as error:
        raise Refused(400, str(error)) from None
    stdin = body.get("stdin")
    if stdin is not None and not isinstance(stdin, str):
        raise Refused(400, "'stdin' is neither a string nor null")
    compiling = seconds(body, "compile_timeout", _SECONDS, _MOST_SECONDS)
    running = seconds(body, "run_timeout", _SECONDS, _MOST_SECONDS)
    code_request = _Given(
        code=code,
        stdin=(stdin or "").encode(),
        limits=Limits(seconds=running, wall_seconds=running, memory_bytes=_memory(body)),
        files=_files(body),
        fetched=tuple(_read_fetched(body)),
    )
    program_request = _in_python(code_request, python) if tool is None else _elsewhere(code_request, tool, compiling)
    for name in program_request.run.files:
        if both := next(
            (str(path) for path in PurePosixPath(name).parents if str(path) in program_request.run.files), ""
        ):
            raise Refused(400, f"files: {both!r} is a file and a folder of another")
    return program_request


@dataclass(frozen=True, slots=True)
class _Given:
    """What a request says of a program."""

    code: str
    stdin: bytes
    limits: Limits
    files: dict[str, bytes]
    fetched: tuple[str, ...]


_PLAIN = {"PYTHONIOENCODING": "utf-8", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_COPYING = ("/bin/sh", "-c", 'cp -R "$0/." . && exec "$@"', "{build}/.given")
"""Puts the caller's files where a program that was compiled begins."""


def _in_python(program_request: _Given, python: str) -> ProgramRequest:
    files = {**program_request.files, _MAIN: program_request.code.encode()}
    command = (python, "-B", f"{{build}}/{_MAIN}")
    phase = Phase(
        command,
        program_request.limits,
        program_request.stdin,
        builds=True,
        environment=_PLAIN,
        fetches=program_request.fetched,
    )
    return ProgramRequest(ProgramRun("", files, (phase,)), "", _python_folders(python), builds=False)


def _python_folders(python: str) -> tuple[str, ...]:
    folders = dict.fromkeys([*_FOLDERS, sys.base_prefix, sys.prefix, str(Path(python).parent.parent)])
    return tuple(folder for folder in folders if folder.strip("/.") and Path(folder).exists())


def _elsewhere(program_request: _Given, tool: Toolchain, compiling: float) -> ProgramRequest:
    """Return a program in another language: what a compiler makes may only be run where it cannot be changed any more."""
    language = tool.language
    program = whole(tool, program_request.code)
    limits = replace(program_request.limits, processes=max(program_request.limits.processes, language.processes))
    files = {**program_request.files, **program.files}
    command = program.run
    if program.programs and program_request.files:
        files |= {f".given/{name}": data for name, data in program_request.files.items()}
        command = (*_COPYING, *command)
    phases = []
    if program.build:
        bounds = Limits(
            seconds=compiling,
            wall_seconds=compiling,
            memory_bytes=language.build_memory_bytes,
            file_bytes=_BUILD_FILES,
            processes=_BUILD_PROCESSES,
        )
        phases.append(Phase(program.build, bounds, builds=True, environment=program.build_environment))
    stays = not program.programs  # its text is interpreted: it may write beside it, and files are fetched from there
    environment = program.environment
    phases.append(
        Phase(
            command,
            limits,
            program_request.stdin,
            builds=stays,
            environment=environment,
            fetches=program_request.fetched,
        )
    )
    run = ProgramRun("", files, tuple(phases), programs=program.programs)
    return ProgramRequest(run, language.name, tool.folders, builds=bool(program.build))


def _memory(body: Mapping[str, object]) -> int:
    value = body.get("memory_limit_MB", -1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not (value == -1 or 16 <= value <= 65536):
        raise Refused(400, f"'memory_limit_MB' is {str(value)[:40]}, and has to be from 16 to 65536, or -1")
    return _MEMORY if value == -1 else int(value) << 20


def _name(name: object, at: str) -> str:
    """Return a file's name that stays in its folder.

    Raises:
        Refused: it does not.
    """
    is_good = isinstance(name, str) and 0 < len(name) <= 255 and name.isprintable() and name != _MAIN
    parts = name.split("/") if isinstance(name, str) else []
    if not is_good or any(part in ("", ".", "..") or len(part.encode()) > _MOST_NAME for part in parts):
        raise Refused(400, f"{at}: {str(name)[:40]!r} is no plain path within the program's own folder")
    return str(name)


def _files(body: Mapping[str, object]) -> dict[str, bytes]:
    files_given = body.get("files")
    if files_given is None:
        return {}
    if not isinstance(files_given, Mapping):
        raise Refused(400, "'files' is no object")
    if len(files_given) > _MOST_FILES:
        raise Refused(400, f"{len(files_given)} files are too many: at most {_MOST_FILES}")
    files: dict[str, bytes] = {}
    for name, text in files_given.items():
        if text is None:
            continue
        try:
            files[_name(name, "files")] = base64.b64decode(text, validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise Refused(400, f"files: {name[:40]!r} is no base64") from None
    return files


def _read_fetched(body: Mapping[str, object]) -> list[str]:
    names_given = body.get("fetch_files", [])
    if names_given is None:
        return []
    if not isinstance(names_given, list) or len(names_given) > _MOST_FILES:
        raise Refused(400, f"'fetch_files' is no list of at most {_MOST_FILES} paths")
    return [_name(name, "fetch_files") for name in names_given]


def answer(asked: ProgramRequest, found: Sequence[Executed], fault: str = "") -> ProgramAnswer:
    """Return what became of a program, in SandboxFusion's words."""
    if not found:
        return _answer("SandboxError", fault or "the worker was lost twice while the program ran")
    if refused := next((phase.refused for phase in found if phase.refused), ""):
        return _answer("SandboxError", refused)
    compiled = _phase(found[0]) if asked.builds else None
    ran = found[asked.builds : asked.builds + 1]
    last = ran[0] if ran else found[0]
    files = {name: base64.b64encode(data).decode() for name, data in last.files.items()}
    message = f"the {'program' if ran else 'compiler'} hit its limit: {last.limit}" if last.limit else ""
    status = "Success" if ran and last.is_good else "Failed"
    return _answer(status, message, compiled, _phase(last) if ran else None, files)


def _phase(phase: Executed) -> PhaseAnswer:
    is_late = phase.limit in ("cpu", "wall")
    return {
        "status": "TimeLimitExceeded" if is_late else "Finished",
        "execution_time": round(phase.wall_seconds, 6),
        "return_code": None if is_late else (phase.status if phase.status is not None else -phase.signal),
        "stdout": phase.stdout.decode("utf-8", "replace"),
        "stderr": phase.stderr.decode("utf-8", "replace"),
    }


def _answer(
    status: str,
    message: str,
    compiled: PhaseAnswer | None = None,
    ran: PhaseAnswer | None = None,
    files: dict[str, str] | None = None,
) -> ProgramAnswer:
    return {
        "status": status,
        "message": message,
        "compile_result": compiled,
        "run_result": ran,
        "executor_pod_name": None,
        "files": files or {},
    }
