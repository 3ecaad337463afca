"""A reward server in a process of its own, a client that keeps its connections, and what the server holds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

BATCH = 64
TRIVIAL = "def f(a):\n    return a + 1\n# {}\n"
TESTS = ["f(1) == 2", "f(2) == 3"]


class Client:
    """Keeps connections to a server and asks it; one request at a time on each, on so many at most."""

    def __init__(self, port: int, most: int = 512) -> None:
        self._port = port
        self._turns = asyncio.Semaphore(most)
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: object) -> tuple[int, bytes]:
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        return await self._ask(head.encode() + data)

    async def get(self, path: str) -> tuple[int, bytes]:
        return await self._ask(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())

    async def _ask(self, request: bytes) -> tuple[int, bytes]:
        async with self._turns:
            return await self._turn(request)

    async def _turn(self, request: bytes) -> tuple[int, bytes]:
        link = self._open() or await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = link
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = await reader.readexactly(length)
        self._free.append(link)
        return int(head.split(b" ", 2)[1]), body

    def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Return a connection that the server has not closed for having been idle."""
        while self._free:
            link = self._free.pop()
            if not link[0].at_eof():
                return link
            link[1].close()
        return None

    def close(self) -> None:
        for _, writer in self._free:
            writer.close()


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def started(port: int, *options: str) -> subprocess.Popen[str]:
    """Start a server at a port, and wait until it takes work."""
    command = [sys.executable, "-m", "markbook", "serve", "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    if not process.stdout.readline():
        sys.exit("the server does not start")
    return process


@contextlib.contextmanager
def server(*options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start one on a free port; end it and see that it ends by itself."""
    port = free_port()
    process = started(port, *options)
    try:
        yield process, port
    finally:
        process.terminate()
        process.wait(60)


def memory(pid: int) -> float:
    """Return the resident MiB of one process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def busy(pid: int) -> float:
    """Return the CPU seconds of a process, of all below it, and of those of them that have ended."""
    ticks = 0
    for one in (pid, *below(pid)):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def below(pid: int, depth: int = 9) -> list[int]:
    """Return the processes below one, down to so many floors."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split() if depth else ():
                found += [int(child), *below(int(child), depth - 1)]
    return found


def alive(pids: list[int]) -> list[int]:
    """Return those that still run."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(pid)
    return found


def left_over(pids: list[int], seconds: float = 15.0) -> int:
    """Return how many of these processes have not ended within some time."""
    until = time.monotonic() + seconds
    while alive(pids) and time.monotonic() < until:
        time.sleep(0.05)
    return len(alive(pids))


def descriptors(pid: int) -> int:
    """Return how many descriptors a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def killed(process: subprocess.Popen[str]) -> int:
    """Kill a server outright; return how many of its processes outlive it."""
    pids = below(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return left_over(pids)


def trivial(number: int | str) -> dict[str, object]:
    return {"id": str(number), "code": TRIVIAL.format(number), "tests": TESTS, "entry_point": "f", "timeout": 2}
