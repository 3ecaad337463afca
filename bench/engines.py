"""What the Ray engine costs: a cluster of this machine's processes beside the local engine, in one run.

python -m bench.engines [--tasks 2000]        with the interpreter of `make interop`, which has Ray

Trivial work shows the price of a shard. A shard of text is one as tasks send it: 500 answers of about 40 words.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from concurrent.futures import Executor
from pathlib import Path

from markbook import plugins
from markbook.metrics.measure import measure_piece

WORDS = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8").split()


def shard(rng: random.Random) -> list[tuple[str, str, tuple[str, ...], str, int, str]]:
    texts = [" ".join(rng.choices(WORDS, k=40)) for _ in range(1000)]
    return [(str(n), texts[2 * n], (texts[2 * n + 1],), "model", 0, "") for n in range(500)]


def trivial(executor: Executor, count: int) -> float:
    """Return the milliseconds of one call that does nothing."""
    began = time.perf_counter()
    futures = [executor.submit(abs, -1) for _ in range(count)]
    assert sum(future.result() for future in futures) == count
    return (time.perf_counter() - began) / count * 1000


def texts(executor: Executor, shards: list[list], metrics: list) -> tuple[float, list]:
    """Return the milliseconds of one shard of text, and what came back."""
    began = time.perf_counter()
    futures = [executor.submit(measure_piece, metrics, rows) for rows in shards]
    found = [future.result() for future in futures]
    return (time.perf_counter() - began) / len(shards) * 1000, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=2000)
    options = parser.parse_args()
    rng = random.Random(7)
    shards = [shard(rng) for _ in range(20)]
    metrics = [plugins.create("metrics", name) for name in ("bleu", "rougeL", "edit_distance")]
    print(f"{'':<8} {'start, s':>9} {'ms a trivial call':>18} {'ms a shard of 500 texts':>24}")
    seen = []
    for engine in ("local", "ray"):
        began = time.perf_counter()
        with plugins.create("engines", engine, workers=2) as executor:
            list(executor.map(abs, range(8)))
            start = time.perf_counter() - began
            texts(executor, shards[:4], metrics)
            calls = [trivial(executor, options.tasks) for _ in range(3)]
            timed = [texts(executor, shards, metrics) for _ in range(3)]
        seen.append(timed[0][1])
        shown = statistics.median(each for each, _found in timed)
        print(f"{engine:<8} {start:>9.1f} {statistics.median(calls):>18.2f} {shown:>24.1f}")
    print("the same results" if seen[0] == seen[1] else "DIFFERENT RESULTS")


if __name__ == "__main__":
    main()
