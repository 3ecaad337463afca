"""Trying, in a child as confined as a candidate's, what a candidate must not be able to do."""

from __future__ import annotations

import os

from .isolation import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal

_FILES = ("/etc/passwd", "/root", "/home")
_PROCESSES = ("/proc/self/environ", "/proc/1/status")
"""Files and folders that are there on nearly every system and that no candidate needs."""


def try_everything(report: Report, guard: Callable[[int], None], scratch: str, *, programs: bool = False) -> None:
    """Add a layer to the report that says whether what the other layers promise holds when it is tried.

    Only what a layer promises is tried; `programs` may start
    processes, and see those of their own. A child that can end this process ends it, and with it the start.
    """
    good = {layer["name"] for layer in report if layer["ok"]}
    attempts = [("this process was sent a signal", _kill), ("connect", _connect)]
    attempts += [] if programs else [("a process was started", _fork)]
    outside = _FILES if programs else (*_FILES, *_PROCESSES)
    if good & {"landlock", "private root"}:
        attempts += [
            ("a file outside was read", lambda: _read(outside)),
            ("a file outside was written", lambda: _write(scratch)),
        ]
    receiver, sender = os.pipe()
    if "private root" not in good:
        attempts.append(("the mode of a file was changed", lambda: _change_mode(sender)))
    pid = os.fork()
    if pid == 0:
        try:
            guard(os.getpid())
            for what, attempt in attempts:
                try:
                    succeeded = attempt()
                except OSError:
                    continue
                if succeeded:
                    os.write(sender, f"{what}; ".encode())
            os.write(sender, b"done")
            os._exit(0)
        finally:
            # whatever else happened, this copy must not go on with the start of a worker
            os._exit(1)
    os.close(sender)
    with os.fdopen(receiver, "rb") as pipe:
        output = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(pid, 0)
    # a child that was ended on the way has not tried the rest, which counts as if it had succeeded
    done = output.endswith("done") and status == 0
    detail = output.removesuffix("done").rstrip("; ") or ("" if done else f"the test ended with status {status}")
    report.append({"name": "self-test", "ok": done and not detail, "detail": detail})


def _fork() -> bool:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


def _change_mode(descriptor: int) -> bool:
    before = os.fstat(descriptor).st_mode
    os.fchmod(descriptor, before ^ 0o100)
    return os.fstat(descriptor).st_mode != before


def _kill() -> bool:
    os.kill(os.getppid(), signal.SIGKILL)
    return False  # it was sent, and whether it was received shows: nobody would be there to report to


def _connect() -> bool:
    import _socket  # already there; `socket` brings `enum` and `selectors`, a tenth of a worker's start

    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        sock.settimeout(0.2)
        sock.connect(("127.0.0.1", 9))
    except ConnectionRefusedError:
        return True  # a network answered, if only by saying that nothing listens there
    finally:
        sock.close()
    return True


def _read(outside: tuple[str, ...]) -> bool:
    for path in outside:
        try:
            if os.path.isdir(path):
                os.listdir(path)
            else:
                os.close(os.open(path, os.O_RDONLY))
        except OSError:
            continue
        return True
    return False


def _write(scratch: str) -> bool:
    for folder in (os.path.dirname(scratch.rstrip("/")) or "/", "/var/tmp"):  # noqa: S108 - where everybody may write
        path = os.path.join(folder, f"markbook-self-test-{os.getpid()}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:
            continue
        os.unlink(path)
        return True
    return False
