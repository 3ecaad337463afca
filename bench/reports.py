"""Reports and comparisons at size: `python -m bench.reports [report] [compare] [view]`. Outcomes are invented; no solution runs.

One HTML report of 10,000 problems x 6 models, one comparison of 19 models on 164 problems, the first page of `view`
over a million attempts and its order by score, and for scale the bare reading of that journal.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from markbook.report.browser import RunSite
from markbook.report.exports import html
from markbook.results.compare import compare
from markbook.results.kind import open_results
from markbook.runs.exam.view import MODEL, OUTCOME, SAMPLE, sample_record
from markbook.store import Manifest, RunWriter, open_run
from markbook.types import Isolation, Outcome, Sample, Test, TestResult, Verdict


def made_run(folder, *, models, problems, attempts=1):
    """Write an exam of invented outcomes: model m passes with chance 0.9 - 0.5 m / models."""
    rng = Random(0)
    samples = [
        Sample(f"task_{at}", f"Write f{at}.", tests=(Test(assertion=f"f{at}(1) == {at}"),), meta={"topic": f"topic {at % 12}", "complexity": at % 4})
        for at in range(problems)
    ]  # fmt: skip
    names = [f"model-{at:02}" for at in range(models)]
    kept = [
        Outcome((TestResult(passed, Verdict.SEPARATED),), isolation=Isolation.A).to_record() for passed in (False, True)
    ]
    config = {"error_policy": "zero", "seed": 0, "benchmark_name": "bench", "models": names}
    with RunWriter.create(folder, Manifest("exam", config, {})) as writer:
        for place, sample in enumerate(samples):
            writer.add(SAMPLE, (place,), sample_record(sample))
        for name in names:
            writer.add(MODEL, (name,), {"source": "", "attempts": problems * attempts})
        for number, name in enumerate(names):
            chance = 0.9 - 0.5 * number / models
            for sample in samples:
                for index in range(attempts):
                    row = {**kept[rng.random() < chance], "code": f"def f(x):\n    return x + {index}\n", "source": ""}
                    writer.add(OUTCOME, (name, sample.id, index), row, remember=False)
        writer.finish("done")
    return open_run(writer.folder)


@contextlib.contextmanager
def timed(found, cpu=None):
    began, spent = time.perf_counter(), time.process_time()
    yield
    found.append(time.perf_counter() - began)
    if cpu is not None:
        cpu.append(time.process_time() - spent)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        parts = {"report": report_at_size, "compare": comparison_at_size, "view": first_page}
        for name in sys.argv[1:] or parts:
            parts[name](folder / name)


def report_at_size(folder):
    run = made_run(folder, models=6, problems=10_000)
    times, size = [], 0
    for _ in range(3):
        with timed(times):
            size = len(html()(open_results(run))["report.html"].encode())
    print(f"report.html, 10,000 problems x 6 models: {statistics.median(times):.1f} s, {size / 1e6:.2f} MB")


def comparison_at_size(folder):
    run = made_run(folder, models=19, problems=164)
    times = []
    for _ in range(3):
        with timed(times):
            found = compare(run)
    print(f"compare, 19 models x 164 problems: {statistics.median(times):.2f} s, {len(found.pairs)} pairs")


def first_page(folder):
    run = made_run(folder, models=10, problems=1000, attempts=100)
    times, cpu, whole, sorts, again = [], [], [], [], []
    for _ in range(3):
        with timed(times, cpu):
            site = RunSite(folder)
            address = next(
                part.partition('"')[0] for part in site.page("/", {}).split('href="')[1:] if part.startswith("/run/")
            )
            page = site.page(address, {})
        with timed(whole):
            site.index(int(address.rpartition("/")[2])).wait(1 << 62, 300)
        assert page.count('href="/attempt/') == 50
        with timed(sorts):
            page = site.page(address, {"sort": "-score"})
        with timed(again):
            site.page(address, {"sort": "-score", "start": "50"})
        assert 'aria-sort="descending"' in page
    bare = []
    with timed(bare):
        rows = sum(1 for _ in run.rows(OUTCOME))
    print(
        f"view, first page of {rows:,} attempts: {statistics.median(times):.2f} s ({statistics.median(cpu):.2f} CPU s); whole index after {statistics.median(whole):.1f} s more"
    )
    print(f"sorted by score: {statistics.median(sorts):.2f} s, the next page of it {statistics.median(again):.2f} s")
    print(f"reading the journal alone: {bare[0]:.1f} s")


if __name__ == "__main__":
    main()
