"""Separated verdicts beside those of tests that run in the candidate's own process, row by row.

python -m bench.agreement BENCHMARK ANSWERS [ANSWERS ...] [--limit-seconds 2]

Every answer is run both ways with the plans that an exam would use; printed is for each file how many rows agree in
pass or fail, how many also in the kind of error, and every row that does not. An attempt whose two limits differ is run
once more with four times the time, as one that ends close to the limit may end on either side of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from markbook.benchmarks.answers import load_answers
from markbook.benchmarks.benchmark import load_benchmark, without_faults
from markbook.sandbox import Job, Sandbox
from markbook.types import Limits, Outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", nargs="?")
    parser.add_argument("answers", nargs="*")
    parser.add_argument("--limit-seconds", type=float, default=2.0)
    options = parser.parse_args()
    if not options.answers:
        return print(__doc__)
    benchmark, _ = without_faults(load_benchmark(Path(options.benchmark), "auto"))
    samples = {sample.id: sample for sample in benchmark.samples}
    total = [0, 0, 0]
    with Sandbox(isolation="weak", separate=True) as apart, Sandbox(isolation="weak", separate=False) as beside:
        for path in options.answers:
            answers = load_answers([Path(path)], benchmark)
            jobs = [
                Job(f"{model} {one.sample_id} {one.index}", one.text, samples[one.sample_id],
                    Limits(options.limit_seconds))
                for model in answers.models for one in answers.attempts(model)
            ]  # fmt: skip
            counts = _agree(apart, beside, jobs)
            total = [sum(pair) for pair in zip(total, counts, strict=True)]
            print(f"{Path(path).name}: {counts[0]} rows, {counts[1]} agree, {counts[2]} also in the kind of error")
    return print(f"all: {total[0]} rows, {total[1]} agree, {total[2]} also in the kind of error")


def _agree(apart: Sandbox, beside: Sandbox, jobs: list[Job]) -> list[int]:
    one, other = _run(apart, jobs), _run(beside, jobs)
    again = [
        Job(job.key, job.code, job.sample, Limits(4 * job.limits.seconds))
        for job in jobs
        if (one[job.key].limit == "") != (other[job.key].limit == "")
    ]
    one |= _run(apart, again)
    other |= _run(beside, again)
    same = kinds = 0
    for job in jobs:
        a, b = one[job.key], other[job.key]
        agrees = [test.passed for test in a.tests] == [test.passed for test in b.tests]
        same += agrees
        kinds += agrees and a.error == b.error
        if not agrees or a.error != b.error:
            print(f"  {job.key}: separated {_word(a)}, beside {_word(b)}")
    return [len(jobs), same, kinds]


def _run(box: Sandbox, jobs: list[Job]) -> dict[str, Outcome]:
    return {job.key: outcome for job, outcome in box.run(jobs)}


def _word(outcome: Outcome) -> str:
    marks = "".join("+" if test.passed else "-" for test in outcome.tests)
    return f"{marks} {outcome.error or ''} {outcome.error_type} {outcome.error_message[:60]!r}"


if __name__ == "__main__":
    main()
