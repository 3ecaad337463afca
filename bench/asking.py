"""Asking an instant local server: `markbook run` beside plain clients and lm_eval, and killed twice in between.

python -m bench.asking [--prompts 2000] [--concurrency 64] [--rounds 3] [--harness-python PYTHON] [--kill]

The server (`bench._model_server`, no real model) is a process of its own. Each side asks the same prompts, in turns; the
best round of each is shown. `markbook, asking` is the CPU time and the wall time of a long run minus a run of a tenth of its
rows, for one reply more: reading, marking, the journal and every file included, the start not. The plain clients do nothing
but send and parse. PYTHON has lm_eval (its request loop is timed, not its start). With --kill a run is killed twice (SIGKILL)
and resumed: the server counts how often each prompt came, and the results are held against an unbroken run's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TASK = (
    "name: echo\ndata: {path: rows.jsonl}\nprompt: 'say {{ word }}'\nreference: '{{ word }}'\nmetrics: [exact_match]\n"
)
THEIRS = """
import asyncio, json, sys, time
from lm_eval.models.openai_completions import LocalChatCompletion
from lm_eval.models.api_models import JsonChatStr
port, count, at_once = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
model = LocalChatCompletion(base_url=f"http://127.0.0.1:{port}/v1/chat/completions", model="m", num_concurrent=at_once)
asked = [JsonChatStr(json.dumps([{"role": "user", "content": f"say w{n} lorem"}])) for n in range(count)]
start, cpu = time.monotonic(), time.process_time()
found = asyncio.run(model.get_batched_requests(asked, cache_keys=asked, generate=True, gen_kwargs={"max_gen_toks": 64}))
assert len(found) == count
print(json.dumps([time.monotonic() - start, time.process_time() - cpu]))
"""

Cost = tuple[float, float]
"""Wall seconds and CPU seconds."""


def start_server() -> tuple[subprocess.Popen[bytes], int]:
    """Return a server that listens, and where."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "bench._model_server", str(port)], cwd=ROOT)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return process, port


def counts(port: int) -> dict[str, int]:
    """Return how many requests came, and how often the most frequent one did."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/counts") as reply:
        found: dict[str, int] = json.load(reply)
        return found


def write_task(folder: Path, count: int) -> Path:
    """Write a task of so many rows."""
    folder.mkdir(exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps({"word": f"w{n} lorem"}) + "\n" for n in range(count)))
    (folder / "task.yaml").write_text(TASK)
    return folder / "task.yaml"


def command(task: Path, port: int, at_once: int, *more: str) -> list[str]:
    """Return the command that asks a task."""
    where = ["--model", "openai:m", "--base-url", f"http://127.0.0.1:{port}/v1", "--concurrency", str(at_once)]
    start = [sys.executable, "-m", "markbook", "run", str(task), *where, "--workers", "1"]
    return [*start, "--output", str(task.parent / "out"), *more]


def timed(arguments: list[str]) -> Cost:
    """Return what a command took, its children's CPU time as the system counts it."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def client(name: str, port: int, count: int, at_once: int) -> Cost:
    """Return what a plain client takes to send and parse."""

    async def run() -> Cost:
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        bodies = iter(
            [{"model": "m", "messages": [{"role": "user", "content": f"say w{n} lorem"}]} for n in range(count)]
        )
        start, cpu = time.monotonic(), time.process_time()
        if name == "httpx":
            import httpx2

            async with httpx2.AsyncClient(timeout=60) as http:

                async def work() -> None:
                    for body in bodies:
                        (await http.post(url, json=body)).json()

                await asyncio.gather(*(work() for _ in range(at_once)))
        else:
            from openai import AsyncOpenAI

            async with AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none") as sdk:

                async def work() -> None:
                    for body in bodies:
                        await sdk.chat.completions.create(**body)  # type: ignore[call-overload]  # as JSON

                await asyncio.gather(*(work() for _ in range(at_once)))
        return time.monotonic() - start, time.process_time() - cpu

    return asyncio.run(run())


def theirs(python: str, port: int, count: int, at_once: int) -> Cost:
    """Return what lm_eval's request loop takes."""
    done = subprocess.run(
        [python, "-c", THEIRS, str(port), str(count), str(at_once)], check=True, capture_output=True, text=True
    )
    wall, cpu = json.loads(done.stdout.splitlines()[-1])
    return float(wall), float(cpu)


def ours(folder: Path, port: int, count: int, at_once: int) -> Cost:
    """Return what the further replies of a long run take."""
    long, short = write_task(folder / "long", count + count // 10), write_task(folder / "short", count // 10)
    much, little = timed(command(long, port, at_once)), timed(command(short, port, at_once))
    return much[0] - little[0], much[1] - little[1]


def compare(args: argparse.Namespace, folder: Path, port: int) -> None:
    """Print replies a second and CPU milliseconds a reply of each side."""
    n, at_once = args.prompts, args.concurrency
    sides: dict[str, tuple[Callable[[], Cost], int]] = {
        "markbook, asking": (lambda: ours(folder, port, n, at_once), n + 2 * (n // 10)),
        "markbook, whole command": (lambda: timed(command(write_task(folder / "whole", n), port, at_once)), n),
        "plain httpx loop": (lambda: client("httpx", port, n, at_once), n),
        "plain openai SDK loop": (lambda: client("openai", port, n, at_once), n),
    }
    if args.harness_python:
        sides["lm_eval, request loop"] = (lambda: theirs(args.harness_python, port, n, at_once), n)
    found: dict[str, list[Cost]] = {name: [] for name in sides}
    for _ in range(args.rounds):
        for name, (side, wanted) in sides.items():
            before = counts(port)["requests"]
            found[name].append(side())
            if (came := counts(port)["requests"] - before) != wanted:
                sys.exit(f"{name}: {came} requests came to the server instead of {wanted}: no figure is shown")
    for name, costs in found.items():
        wall, cpu = min(cost[0] for cost in costs), min(cost[1] for cost in costs)
        print(f"{name:26} {n / wall:8.0f} replies/s   {1000 * cpu / n:6.3f} ms CPU a reply")


def kill_twice(args: argparse.Namespace, folder: Path, port: int) -> None:
    """Kill a run twice, resume it, and print what the server and the files say."""
    whole = write_task(folder / "unbroken", args.prompts)
    subprocess.run(command(whole, port, args.concurrency), check=True, capture_output=True, cwd=ROOT)
    before = counts(port)["requests"]
    broken = write_task(folder / "broken", args.prompts)
    run = None
    for share in (0.3, 0.6):
        more = () if run is None else ("--resume", str(run))
        process = subprocess.Popen(
            command(broken, port, args.concurrency, *more),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while counts(port)["requests"] - before < share * args.prompts and process.poll() is None:
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        run = next((broken.parent / "out").iterdir())
    subprocess.run(
        command(broken, port, args.concurrency, "--resume", str(run)), check=True, capture_output=True, cwd=ROOT
    )
    asked = counts(port)["requests"] - before
    same = all(
        (next((folder / name / "out").iterdir()) / "results.jsonl").read_bytes()
        == (next((folder / "unbroken" / "out").iterdir()) / "results.jsonl").read_bytes()
        for name in ("broken",)
    )
    print(
        f"killed twice: {asked} requests for {args.prompts} prompts, of which at most {2 * args.concurrency} were under way"
    )
    print(f"results.jsonl equal to an unbroken run's: {same}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--prompts", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--harness-python", default="")
    parser.add_argument("--kill", action="store_true")
    args = parser.parse_args()
    server, port = start_server()
    try:
        with tempfile.TemporaryDirectory() as made:
            if args.kill:
                kill_twice(args, Path(made), port)
            else:
                compare(args, Path(made), port)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
