"""The reward server under injected faults: every reward right, or null with its reason; nothing lost without a word.

python -m bench.serve_faults [--requests 10000] [--at-once 96] [--queue 48] [--kills 200] [--restarts 5] [--seed 0] [--json]

Requests are drawn from a seed: honest batches, torn ones, slow ones, malformed ones, callers that leave, deadlines that
cannot be kept, endless loops, programs that fill their disk, programs through /run_code. Meanwhile `--kills` workers are killed
at random, and the server itself `--restarts` times, by SIGKILL. `--at-once` connections against a short queue are the overload.
Exit 1 if a reward is neither right nor null with a reason, a request stays without an answer while its server lives, or a
process is left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from bench._serving import below, free_port, killed, left_over, started

ANSWERS = {
    "right": ("def f(a):\n    return a + 1\n", 1.0),
    "half": ("def f(a):\n    return 2\n", 0.5),
    "wrong": ("def f(a):\n    raise ValueError(a)\n", 0.0),
    "exits": ("import os\nos._exit(0)\n", 0.0),
    "loops": ("def f(a):\n    while True:\n        pass\n", 0.0),
    "fills": ("def f(a):\n    with open('x', 'wb') as file:\n        for _ in range(4096):\n            file.write(b'x' * (1 << 20))\n", 0.0),
}  # fmt: skip
TESTS = ["f(1) == 2", "f(2) == 3"]
SLEEPS = "import time\ndef f(a):\n    time.sleep(100)\n"
REASONS = {"timeout", "unavailable", "failed"}
PATIENCE = 120.0
MALFORMED = (
    (b"{", {}, 400), (b"[]", {}, 400), (b"\xff\xfe", {}, 400), (b'{"items": []}', {}, 400), (b'{"items": [7]}', {}, 400),
    (b'{"items": [{"code": "x"}]}', {}, 400), (b'{"items": [{"code": "x", "tests": "1", "deadline": -1}]}', {}, 400),
    (b'{"items": [{"code": "x", "benchmark": "../../etc/passwd", "task_id": "a"}]}', {}, 400),
    (b'{"items": [{"code": "x", "tests": "1", "language": "cobol"}]}', {}, 400), (b"[" * 100_000, {}, 400),
    (b"{}", {"Content-Type": "text/plain"}, 415), (b"{}", {"Host": "evil.example"}, 421),
    (b"{}", {"Origin": "http://evil.example"}, 403), (b"{}", {"Content-Length": "99999999999"}, 413),
)  # fmt: skip


@dataclass
class Seen:
    """What became of the requests."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """What must not happen."""

    def fault(self, words: str) -> None:
        self.faults.append(words)


class Faults:
    """Sends the requests and does the damage."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.seen = Seen()
        self.dice = random.Random(options.seed)
        self.port = free_port()
        self.process = self.start()
        self.lives = 0
        """How often the server was killed."""
        self.up = asyncio.Event()
        self.begun = 0
        """Requests, in all."""
        self.left = 0
        """Processes that outlived their server."""

    def start(self) -> subprocess.Popen[str]:
        return started(self.port, "--queue", str(self.options.queue), "--timeout", "0.5")

    async def main(self) -> None:
        self.up.set()
        numbers = iter(range(self.options.requests))
        damage = asyncio.create_task(self.damage())
        await asyncio.gather(*(self.lane(numbers) for _ in range(self.options.at_once)))
        damage.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await damage
        await self.at_rest()

    async def lane(self, numbers) -> None:
        kinds = {
            self.honest: 30, self.torn: 12, self.slow: 6, self.malformed: 12, self.gone: 8, self.late: 8, self.program: 8, self.twice: 6,
        }  # fmt: skip
        for number in numbers:
            await self.up.wait()
            (kind,) = self.dice.choices(list(kinds), list(kinds.values()))
            life = self.lives
            self.seen.counts[kind.__name__] += 1
            self.begun += 1
            try:
                await kind(number)
            except TimeoutError:
                self.seen.fault(f"no answer within {PATIENCE:g} s to request {number} ({kind.__name__})")
            except (OSError, EOFError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
                if life == self.lives and self.up.is_set():
                    self.seen.fault(f"the living server dropped request {number} ({kind.__name__}): {error!r}")
                self.seen.counts["ended with the server"] += 1

    async def at_rest(self) -> None:
        """See that the server still marks, then end it as it is meant to be."""
        self.seen.counts["after all"] += 1
        found = await self.post("/v1/mark", {"items": [self.item("last", "right")]})
        if found[0] != 200 or found[1]["results"][0]["reward"] != 1.0:
            self.seen.fault(f"the server does not mark any more: {found}")
        pids = below(self.process.pid)
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(60) != 0:
            self.seen.fault(f"the server ended with {self.process.returncode}")
        self.left += left_over(pids)
        if self.left:
            self.seen.fault(f"{self.left} processes outlived their server")

    async def damage(self) -> None:
        """Kill workers, and now and then the server, as the requests go on."""
        total = self.options.requests
        plan = [(total * (one + 1) // (self.options.kills + 1), False) for one in range(self.options.kills)]
        plan += [(total * (one + 1) // (self.options.restarts + 1), True) for one in range(self.options.restarts)]
        for due, whole in sorted(plan):
            while self.begun < due:  # noqa: ASYNC110 - an event for each request would be more
                await asyncio.sleep(0.005)
            if whole:
                await self.restart()
            elif pids := below(self.process.pid, 2):  # the workers; what they run is below, and may end as it likes
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.dice.choice(pids), signal.SIGKILL)
                    self.seen.counts["workers killed"] += 1

    async def restart(self) -> None:
        self.up.clear()
        self.lives += 1
        self.left += await asyncio.to_thread(killed, self.process)
        self.process = await asyncio.to_thread(self.start)
        self.lives += 1
        self.up.set()
        self.seen.counts["servers killed"] += 1

    def item(self, number: object, name: str, **more: object) -> dict[str, object]:
        return {"id": name, "code": f"{ANSWERS[name][0]}# {number}\n", "tests": TESTS, "entry_point": "f", **more}

    def batch(self, number: object) -> dict[str, object]:
        names = self.dice.choices(list(ANSWERS), (50, 15, 15, 5, 5, 2), k=self.dice.choice((1, 1, 2, 4)))
        return {"items": [self.item(f"{number} {place}", name) for place, name in enumerate(names)]}

    async def honest(self, number: int) -> None:
        await self.insist(self.batch(number))

    async def twice(self, number: int) -> None:
        """Ask the same again, as a trainer does that lost an answer."""
        await self.insist(self.batch(f"twice {number // 200}"))

    async def slow(self, number: int) -> None:
        await self.insist(self.batch(number), pieces=6)

    async def insist(self, body: dict, *, pieces: int = 1) -> None:
        """Ask until there is room."""
        while True:
            status, found = await self.post("/v1/mark", body, pieces=pieces)
            self.check(status, found, body)
            if status != 429:
                return
            await asyncio.sleep(0.1 + self.dice.random() / 2)

    async def late(self, number: int) -> None:
        """Wait for less time than it takes."""
        body = {"items": [{**self.item(number, "right", deadline=0.2), "code": f"{SLEEPS}# {number}\n", "timeout": 30}]}
        status, found = await self.post("/v1/mark", body)
        if status == 200:
            (one,) = found["results"]
            self.count(one)
            if one["reward"] is not None or one["reason"] not in REASONS:
                self.seen.fault(f"a number for what was never marked: {one}")
        else:
            self.check(status, found, body)

    async def program(self, number: int) -> None:
        code, wanted = self.dice.choice(
            ((f"print({number})", "Success"), ("1 / 0", "Failed"), ("while True: pass", "Failed"), ("(", "Failed"))
        )
        body = {"code": code, "language": "python", "run_timeout": 0.5 if "while" in code else 10}
        status, found = await self.post("/run_code", body)
        if status == 200:
            self.seen.counts[found["status"]] += 1
            if found["status"] not in (wanted, "SandboxError"):
                self.seen.fault(f"{code!r} is {found['status']}, not {wanted}: {found}")
        else:
            self.check(status, found, body)

    async def malformed(self, _number: int) -> None:
        data, headers, wanted = self.dice.choice(MALFORMED)
        status = 429  # until there is room nobody looks at what it says
        while status == 429:
            status, found = await self.post("/v1/mark", data, headers)
            self.seen.counts[f"status {status}"] += 1
            await asyncio.sleep(0.1 if status == 429 else 0)
        if status != wanted or len(found.get("error", "")) < 10:
            self.seen.fault(f"{data[:40]!r} {headers} is answered {status} {found}, not {wanted}")

    async def torn(self, number: int) -> None:
        """Send a part of a request and go."""
        data = json.dumps(self.batch(number)).encode()
        await self.sent("/v1/mark", data, {}, cut=self.dice.randrange(len(data)))

    async def gone(self, number: int) -> None:
        """Send a request and go before its answer comes."""
        await self.sent("/v1/mark", json.dumps(self.batch(number)).encode(), {}, cut=None, wait=self.dice.random() / 10)

    def check(self, status: int, found: dict, body: dict) -> None:
        """Hold every reward of an answer against what its code deserves."""
        self.seen.counts[f"status {status}"] += 1
        if status != 200:
            if status not in (429, 503) or not found.get("error"):
                self.seen.fault(f"a good request is answered {status} {found}")
            return
        if [one["id"] for one in found["results"]] != [item["id"] for item in body["items"]]:
            self.seen.fault(f"other items are answered than were asked: {found}")
        for one in found["results"]:
            self.count(one)
            wanted = ANSWERS[one["id"]][1]
            if one["reward"] is None:
                if one["valid"] or one["reason"] not in REASONS or not one["message"]:
                    self.seen.fault(f"null without its reason: {one}")
            elif one["reward"] != wanted:
                self.seen.fault(f"{one['reward']} where {wanted} is right: {one}")

    def count(self, one: dict) -> None:
        self.seen.counts["rewards" if one["reward"] is not None else f"null: {one['reason']}"] += 1

    async def post(
        self, path: str, body: object, headers: dict[str, str] | None = None, *, pieces: int = 1
    ) -> tuple[int, dict]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with asyncio.timeout(PATIENCE):
            return await self.answered(path, data, headers or {}, pieces)

    async def answered(self, path: str, data: bytes, headers: dict[str, str], pieces: int) -> tuple[int, dict]:
        reader, writer = await self.wrap_box(path, data, headers)
        try:
            step = max(1, len(data) // pieces)
            for start in range(0, len(data), step):
                writer.write(data[start : start + step])
                await writer.drain()
                if pieces > 1:
                    await asyncio.sleep(self.dice.random() / 20)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            return int(head.split(b" ", 2)[1]), json.loads(await reader.readexactly(length))
        finally:
            writer.close()

    async def sent(
        self, path: str, data: bytes, headers: dict[str, str], *, cut: int | None, wait: float = 0.0
    ) -> None:
        _, writer = await self.wrap_box(path, data, headers)
        writer.write(data[:cut])
        await writer.drain()
        await asyncio.sleep(wait)
        writer.transport.abort()

    async def wrap_box(self, path: str, data: bytes, headers: dict[str, str]):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        given = {
            "Host": "127.0.0.1",
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            "Connection": "close",
        }
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in (given | headers).items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        return reader, writer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (
        ("requests", 10_000),
        ("at-once", 96),
        ("queue", 48),
        ("kills", 200),
        ("restarts", 5),
        ("seed", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    began = time.monotonic()
    run = Faults(options)
    try:
        asyncio.run(run.main())
    finally:
        if run.process.poll() is None:
            run.process.kill()
    seen = run.seen
    if options.json:
        print(json.dumps({"counts": seen.counts, "faults": seen.faults[:20], "left": run.left}, sort_keys=True))
    else:
        print(f"{options.requests} requests in {time.monotonic() - began:.0f} s, seed {options.seed}")
        for name, count in sorted(seen.counts.items()):
            print(f"{count:8} {name}")
        print(f"{len(seen.faults)} faults: {seen.faults[:10]}; {run.left} processes left")
    sys.exit(1 if seen.faults else 0)


if __name__ == "__main__":
    main()
