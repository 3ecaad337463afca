"""`POST /run_code`, in SandboxFusion's shapes: one program, its input, what it prints."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markbook.errors import EnvironmentUnfitError
from markbook.rewards.languages import UnsupportedLanguage, language
from markbook.sandbox.program import Executed, Phase, ProgramRun
from markbook.sandbox.program_box import ProgramSandbox
from markbook.server.answers import as_json
from markbook.server.guard import Refused
from markbook.types import Limits

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from markbook.rewards.pool import Pool, PoolSettings
    from markbook.server.guard import Guard

_FIELDS = ("compile_timeout", "run_timeout", "memory_limit_MB", "code", "stdin", "language", "files", "fetch_files")
_MOST_SECONDS = 600.0
_MOST_CODE = 1 << 20
_MOST_FILES = 64
_MEMORY = 2 << 30
_FOLDERS = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
"""What a program may read beside its own files."""
_WAITING = 64
"""Programs a worker that may wait for it."""
_AGE = 5000
"""Programs after which a worker is replaced."""
_FETCH = """\
import base64, json, sys
found = {}
for name in json.loads(sys.argv[1]):
    try:
        with open(name, "rb") as file:
            found[name] = base64.b64encode(file.read(16 << 20)).decode()
    except OSError:
        continue
print(json.dumps(found))
"""
_OWN = ".markbook-main.py", ".markbook-fetch.py"
"""What our own files are called beside those of the caller."""


class Programs:
    """Runs programs, so many at once."""

    def __init__(self, pool: Pool, guard: Guard, settings: PoolSettings) -> None:
        """Set up, starting nothing: a worker starts with the first program."""
        self._pool = pool
        self._guard = guard
        self._isolation = settings.box.isolation
        self._python = settings.box.python or sys.executable
        self._free: asyncio.Queue[ProgramSandbox | None] = asyncio.Queue()
        self._count = len(pool.lanes)
        for _ in range(self._count):
            self._free.put_nowait(None)
        self._waiting = 0
        self._used: dict[int, int] = {}

    async def run_code(self, request: Request) -> Response:
        """Answer it; fields that SandboxFusion has not are passed over, as it does."""
        body = await self._guard.json(request)
        if self._pool.is_closing:
            raise Refused(503, "the server is shutting down and takes nothing new", Retry_After="5")
        run = read_program(body, self._python)
        if self._waiting >= _WAITING * self._count:
            raise Refused(429, f"{self._waiting} programs wait already", Retry_After="1")
        self._waiting += 1
        try:
            box = await self._free.get()
        finally:
            self._waiting -= 1
        work = asyncio.ensure_future(asyncio.to_thread(self._executed, box, run))
        work.add_done_callback(self._freed)  # also where the caller leaves meanwhile: its limits end it
        _, found, fault = await asyncio.shield(work)
        return as_json(answer(run, found, fault))

    def _freed(self, work: asyncio.Future[tuple[ProgramSandbox | None, list[Executed], str]]) -> None:
        self._free.put_nowait(None if work.cancelled() or work.exception() else work.result()[0])

    def _executed(
        self, box: ProgramSandbox | None, run: ProgramRun
    ) -> tuple[ProgramSandbox | None, list[Executed], str]:
        """Run it in this thread; return the sandbox to go on with, what became of it, and what of ours failed."""
        if box is None:
            folders = [*_FOLDERS, sys.base_prefix, sys.prefix, str(Path(self._python).parent.parent)]
            there = [folder for folder in dict.fromkeys(folders) if folder.strip("/.") and Path(folder).exists()]
            box = ProgramSandbox(there, workers=1, isolation=self._isolation, pinned=False)
        try:
            ((_, found),) = box.run([run])
        except (EnvironmentUnfitError, OSError) as error:
            box.close()
            return None, [], str(error)
        self._used[id(box)] = self._used.get(id(box), 0) + 1
        if self._used[id(box)] >= _AGE:
            del self._used[id(box)]
            box.close()
            return None, found, ""
        return box, found, ""

    async def close(self) -> None:
        """End the workers, once what runs has ended."""
        for _ in range(self._count):
            box = await self._free.get()
            if box is not None:
                await asyncio.to_thread(box.close)


def read_program(body: Mapping[str, Any], python: str) -> ProgramRun:
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
    try:
        language(name)
    except UnsupportedLanguage as error:
        raise Refused(400, str(error)) from None
    stdin = body.get("stdin")
    if stdin is not None and not isinstance(stdin, str):
        raise Refused(400, "'stdin' is neither a string nor null")
    _seconds(body, "compile_timeout")
    seconds = _seconds(body, "run_timeout")
    limits = Limits(seconds=seconds, wall_seconds=seconds, memory_bytes=_memory(body))
    files, fetched = _files(body), _fetched(body)
    main, fetch = _OWN
    files |= {main: code.encode(), fetch: _FETCH.encode()}
    phases = [
        Phase((python, "-B", f"{{build}}/{main}"), limits, (stdin or "").encode(), builds=True, environment=_PLAIN)
    ]
    if fetched:
        wanted = json.dumps(fetched)
        phases.append(
            Phase((python, "-I", "-B", f"{{build}}/{fetch}", wanted), _FETCHING, builds=True, environment=_PLAIN)
        )
    return ProgramRun("", files, tuple(phases))


_PLAIN = {"PYTHONIOENCODING": "utf-8", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_FETCHING = Limits(seconds=10.0, output_bytes=32 << 20)


def _seconds(body: Mapping[str, Any], key: str) -> float:
    value = body.get(key, 10)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not 0 < value <= _MOST_SECONDS:
        raise Refused(400, f"{key!r} is {str(value)[:40]}, and has to be above 0 and at most {_MOST_SECONDS:g}")
    return float(value)


def _memory(body: Mapping[str, Any]) -> int:
    value = body.get("memory_limit_MB", -1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not (value == -1 or 16 <= value <= 65536):
        raise Refused(400, f"'memory_limit_MB' is {str(value)[:40]}, and has to be from 16 to 65536, or -1")
    return _MEMORY if value == -1 else int(value) << 20


def _name(name: object, at: str) -> str:
    """Return a file's name that stays in its folder.

    Raises:
        Refused: it does not.
    """
    is_good = isinstance(name, str) and 0 < len(name) <= 255 and name.isprintable() and name not in _OWN
    parts = name.split("/") if isinstance(name, str) else []
    if not is_good or any(part in ("", ".", "..") for part in parts):
        raise Refused(400, f"{at}: {str(name)[:40]!r} is no plain path within the program's own folder")
    return str(name)


def _files(body: Mapping[str, Any]) -> dict[str, bytes]:
    given = body.get("files") or {}
    if not isinstance(given, Mapping):
        raise Refused(400, "'files' is no object")
    if len(given) > _MOST_FILES:
        raise Refused(400, f"{len(given)} files are too many: at most {_MOST_FILES}")
    found: dict[str, bytes] = {}
    for name, text in given.items():
        if text is None:
            continue
        try:
            found[_name(name, "files")] = base64.b64decode(text, validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise Refused(400, f"files: {name[:40]!r} is no base64") from None
    return found


def _fetched(body: Mapping[str, Any]) -> list[str]:
    given = body.get("fetch_files") or []
    if not isinstance(given, list) or len(given) > _MOST_FILES:
        raise Refused(400, f"'fetch_files' is no list of at most {_MOST_FILES} paths")
    return [_name(name, "fetch_files") for name in given]


def answer(run: ProgramRun, found: list[Executed], fault: str = "") -> dict[str, Any]:
    """Return what became of a program, in SandboxFusion's words."""
    if not found:
        message = fault or "the worker was lost twice while the program ran"
        return _answer("SandboxError", message, None, {})
    first = found[0]
    if first.refused:
        return _answer("SandboxError", first.refused, None, {})
    files = json.loads(found[1].stdout) if len(run.phases) > 1 and len(found) > 1 and found[1].is_good else {}
    is_late = first.limit in ("cpu", "wall")
    phase = {
        "status": "TimeLimitExceeded" if is_late else "Finished",
        "execution_time": round(first.wall_seconds, 6),
        "return_code": None if is_late else (first.status if first.status is not None else -first.signal),
        "stdout": first.stdout.decode("utf-8", "replace"),
        "stderr": first.stderr.decode("utf-8", "replace"),
    }
    message = "" if not first.limit else f"the program hit its limit: {first.limit}"
    return _answer("Success" if first.is_good else "Failed", message, phase, files)


def _answer(status: str, message: str, phase: dict[str, Any] | None, files: dict[str, str]) -> dict[str, Any]:
    return {
        "status": status,
        "message": message,
        "compile_result": None,
        "run_result": phase,
        "executor_pod_name": None,
        "files": files,
    }
