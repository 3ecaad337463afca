"""The reward server under open-loop load from another process, beside the exam's own rate.

python -m bench.serve rate HumanEval.jsonl.gz [--times 10] [--rounds 3]
python -m bench.serve latency [--seconds 20] [--load 0.5]
python -m bench.serve overload [--seconds 20] [--load 3]
python -m bench.serve hostile [--seconds 60]
python -m bench.serve agree HumanEval.jsonl.gz --answers ANSWERS.jsonl
python -m bench.serve run_code [--times 200]

rate      every canonical solution `--times` times, each unlike the others by a comment: samples/s of the sandbox as an
          exam uses it, and through HTTP in batches of 64, in turns: with the attempts at a task side by side, as trainers
          send them, and with every task once before any comes again. The sandbox has all of them at once
latency   one trivial attempt a request, sent by the clock whether or not earlier ones are answered: p50, p99 at a share
          of what the server can do, which is measured first
overload  the same above what it can do: how many 429, how many answered, and how memory grew
hostile   trivial attempts at a tenth of capacity, in windows of 15 s in turns alone and with endless loops, sleepers, big
          allocations and early exits between: latencies of the honest ones, and what the server holds; `--seconds 3600` is a soak
agree     an answer a row, by the server and by the sandbox: how many rewards differ
run_code  programs a second through /run_code, one request at a time on each core

The client is this process, the server another; on a machine of few cores they share them. It has 512 connections at most,
as clients have a bound; a request that waits for one has been due all the while. Times are wall times.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from bench._serving import BATCH, Client, below, busy, descriptors, memory, server, trivial

WINDOW = 15.0
HOSTILE = (
    "def f(a):\n    while True:\n        pass\n# {}\n",
    "import time\ndef f(a):\n    time.sleep(100)\n# {}\n",
    "def f(a):\n    return len([0] * (1 << 34))\n# {}\n",
    "import os\nos._exit(0)\n# {}\n",
)


async def in_batches(client: Client, items: list[dict[str, object]], lanes: int = 4) -> list[dict[str, object]]:
    """Return the results of items that are sent in batches, so many at a time."""
    parts = [items[start : start + BATCH] for start in range(0, len(items), BATCH)]
    found: dict[int, list[dict[str, object]]] = {}
    numbers = iter(range(len(parts)))

    async def lane() -> None:
        for number in numbers:
            status, body = await client.post("/v1/mark", {"items": parts[number]})
            assert status == 200, body
            found[number] = json.loads(body)["results"]

    await asyncio.gather(*(lane() for _ in range(lanes)))
    return [one for number in range(len(parts)) for one in found[number]]


async def open_loop(client: Client, rate: float, seconds: float, make) -> AsyncIterator[tuple[float, int, bytes, str]]:
    """Send a request every 1/rate seconds; yield seconds from when each was due, its status, body and name."""
    done: asyncio.Queue[tuple[float, int, bytes, str]] = asyncio.Queue()
    began = time.perf_counter()

    async def one(due: float, name: str, item: dict[str, object]) -> None:
        status, body = await client.post("/v1/mark", {"items": [item]})
        done.put_nowait((time.perf_counter() - due, status, body, name))

    tasks = []
    for number in range(int(rate * seconds)):
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.ensure_future(one(due, *make(number))))
    await asyncio.gather(*tasks)
    while not done.empty():
        yield done.get_nowait()


async def capacity(client: Client, name: str, count: int = 1500) -> float:
    """Return trivial attempts a second, one a request, as many requests at once as keep the server busy."""
    numbers = iter(range(count))

    async def lane() -> None:
        for number in numbers:
            await client.post("/v1/mark", {"items": [trivial(f"{name} {number}")]})

    began = time.perf_counter()
    await asyncio.gather(*(lane() for _ in range(16)))
    return count / (time.perf_counter() - began)


def told(times: list[float]) -> str:
    if len(times) < 2:
        return "too few"
    cuts = statistics.quantiles(times, n=100)
    return ", ".join(f"p{share} {1000 * cuts[share - 1]:.1f} ms" for share in (50, 95, 99))


def canonical(path: str, times: int, mark: str) -> tuple[list[object], list[dict[str, object]]]:
    """Return jobs for the sandbox and items for the server: the same programs."""
    from markbook.benchmarks.benchmark import load_benchmark
    from markbook.sandbox import Job

    benchmark = load_benchmark(Path(path))
    jobs, items = [], []
    for turn in range(times):
        for sample in benchmark.samples:
            code = f"{sample.references[0]}\n# {mark} {turn}\n"
            jobs.append(Job(f"{turn} {sample.id}", code, sample))
            name = Path(path).name
            items.append({"id": f"{turn} {sample.id}", "code": code, "benchmark": name, "task_id": sample.id})
    return jobs, items


def rate(options: argparse.Namespace) -> None:
    from markbook.runs.exam.grading import mark
    from markbook.sandbox import Sandbox
    from markbook.sandbox.record_store import default_cache

    found: dict[str, list[float]] = {"sandbox": [], "together": [], "apart": []}
    folder = str(Path(options.benchmark).parent)
    different = 0
    with server("--benchmarks", folder) as (_, port):
        for turn in range(options.rounds + 1):
            jobs, _ = canonical(options.benchmark, 1 if turn == 0 else options.times, f"{time.time()}")
            with Sandbox(cache=default_cache()) as box:
                began = time.perf_counter()
                scores = {job.key: mark(job.sample, outcome).zero for job, outcome in box.run(jobs)}
                own = len(jobs) / (time.perf_counter() - began)
            if turn:  # the first one warms both up
                found["sandbox"].append(own)
            for order in ("together", "apart"):
                _, items = canonical(options.benchmark, 1 if turn == 0 else options.times, f"{time.time()}")
                if order == "together":
                    items.sort(key=lambda item: str(item["task_id"]))
                began = time.perf_counter()
                results = asyncio.run(in_batches(Client(port), items))
                different += sum(one["reward"] != scores[str(one["id"])] for one in results)
                if turn:
                    found[order].append(len(items) / (time.perf_counter() - began))
    print(f"{len(jobs)} samples, {len(os.sched_getaffinity(0))} cores, {options.rounds} rounds")
    for name, rates in found.items():
        share = statistics.median(there / own for own, there in zip(found["sandbox"], rates, strict=True))
        print(f"{name:8} {statistics.median(rates):7.0f} samples/s, {share:.1%} of the sandbox's own rate")
    print(f"{different} rewards differ")


def latency(options: argparse.Namespace) -> None:
    async def main(port: int, pid: int) -> None:
        client = Client(port)
        await capacity(client, "warm", 300)
        before = busy(pid)
        most = await capacity(client, "most")
        print(
            f"capacity {most:.0f} requests/s; {1500 / (busy(pid) - before):.0f} attempts a CPU second of the server's"
        )
        held = memory(pid), descriptors(pid), len(below(pid))
        times, statuses = [], Counter[int]()
        make = lambda number: ("honest", trivial(f"load {number}"))  # noqa: E731
        async for took, status, _, _ in open_loop(client, options.load * most, options.seconds, make):
            statuses[status] += 1
            if status == 200:
                times.append(took)
        print(f"at {options.load:g} of it for {options.seconds:g} s: {told(times)}; by status: {dict(statuses)}")
        print(grown(pid, held))
        client.close()

    with server("--queue", "256", "--cache", "64") as (process, port):
        asyncio.run(main(port, process.pid))


def grown(pid: int, held: tuple[float, int, int]) -> str:
    """Return what a server holds more than before."""
    now = memory(pid), descriptors(pid), len(below(pid))
    mib, files, processes = (later - before for later, before in zip(now, held, strict=True))
    return f"the server grew by {mib:+.1f} MiB, {files:+d} descriptors, {processes:+d} processes"


def hostile(options: argparse.Namespace) -> None:
    async def main(port: int, pid: int) -> None:
        client = Client(port)
        await capacity(client, "warm", 300)
        pace = await capacity(client, "most") / 10
        every = max(1, int(pace * 4))  # a hostile program every four seconds
        times: dict[str, list[float]] = {"quiet": [], "mixed": []}
        wrong = 0
        held = (0.0, 0, 0)
        for turn in range(max(2, int(options.seconds / WINDOW))):
            if turn == 2:
                held = memory(pid), descriptors(pid), len(below(pid))  # both kinds have been seen
            name = ("quiet", "mixed")[turn % 2]

            def make(
                number: int, name: str = f"{('quiet', 'mixed')[turn % 2]} {turn}"
            ) -> tuple[str, dict[str, object]]:
                if name.startswith("mixed") and number % every == 0:
                    code = HOSTILE[number // every % len(HOSTILE)].format(f"{name} {number}")
                    return "hostile", {**trivial(number), "code": code, "timeout": 1}
                return "honest", trivial(f"{name} {number}")

            async for took, status, body, kind in open_loop(client, pace, min(WINDOW, options.seconds / 2), make):
                reward = json.loads(body)["results"][0]["reward"] if status == 200 else None
                if kind == "honest":
                    times[name].append(took)
                wrong += reward != (1.0 if kind == "honest" else 0.0)
            print(
                f"{turn + 1:3} {name:6} {memory(pid):6.1f} MiB, {descriptors(pid)} descriptors, {len(below(pid))} processes",
                flush=True,
            )
        for name, found in times.items():
            print(f"{name:6} {len(found)} honest attempts, {told(found)}")
        print(f"{wrong} wrong; since both kinds were seen {grown(pid, held) if held[1] else 'too short to say'}")
        client.close()

    with server("--cache", "64") as (process, port):
        asyncio.run(main(port, process.pid))


def agree(options: argparse.Namespace) -> None:
    from markbook.benchmarks.answers import load_answers
    from markbook.benchmarks.benchmark import load_benchmark, without_faults
    from markbook.runs.exam.grading import mark
    from markbook.sandbox import Job, Sandbox

    path = Path(options.benchmark)
    benchmark, _ = without_faults(load_benchmark(path))
    samples = {sample.id: sample for sample in benchmark.samples}
    answers = load_answers([Path(options.answers)], benchmark)
    attempts = [one for model in answers.models for one in answers.attempts(model)]
    jobs = [Job(str(number), one.text, samples[one.sample_id]) for number, one in enumerate(attempts)]
    with Sandbox() as box:
        wanted = {job.key: mark(job.sample, outcome).zero for job, outcome in box.run(jobs)}
    items = [
        {"id": str(number), "code": one.text, "benchmark": path.name, "task_id": one.sample_id}
        for number, one in enumerate(attempts)
    ]
    with server("--benchmarks", str(path.parent)) as (_, port):
        found = asyncio.run(in_batches(Client(port), items))
    different = [one["id"] for one in found if one["reward"] != wanted[str(one["id"])]]
    print(f"{len(found)} answers: {len(different)} rewards differ {different[:5]}")


def run_code(options: argparse.Namespace) -> None:
    async def main(port: int) -> None:
        client = Client(port)
        numbers = iter(range(options.times))
        statuses = Counter[str]()

        async def lane() -> None:
            for number in numbers:
                body = {"code": "print(int(input()) + 1)", "language": "python", "stdin": f"{number}\n"}
                _, said = await client.post("/run_code", body)
                got = json.loads(said)
                statuses[got["status"] if got["run_result"]["stdout"] == f"{number + 1}\n" else "wrong"] += 1

        began = time.perf_counter()
        await asyncio.gather(*(lane() for _ in os.sched_getaffinity(0)))
        print(f"{options.times / (time.perf_counter() - began):.1f} programs/s, {dict(statuses)}")
        client.close()

    with server() as (_, port):
        asyncio.run(main(port))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = {
        "rate": rate, "latency": latency, "overload": latency, "hostile": hostile, "agree": agree, "run_code": run_code
    }  # fmt: skip
    parser.add_argument("mode", nargs="?", choices=modes)
    parser.add_argument("benchmark", nargs="?")
    parser.add_argument("--answers")
    parser.add_argument("--times", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--load", type=float)
    options = parser.parse_args()
    if options.mode is None or (options.mode in ("rate", "agree") and options.benchmark is None):
        return print(__doc__)
    options.times = options.times or (200 if options.mode == "run_code" else 10)
    options.load = options.load or (3.0 if options.mode == "overload" else 0.5)
    options.seconds = options.seconds or (60.0 if options.mode == "hostile" else 20.0)
    return modes[options.mode](options)


if __name__ == "__main__":
    main()
