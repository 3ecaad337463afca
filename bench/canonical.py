"""Canonical solutions against their benchmarks' tests: how many pass, and how each verdict came about.

python -m bench.canonical BENCHMARK [BENCHMARK ...] [--timeout 20]

Every solution is run twice, as by `markbook exam --check-benchmark`; a problem counts as passed if all its tests pass
both times. Printed is a row a benchmark: problems that pass, tests, and how many tests got each verdict.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from markbook.errors import DataError
from markbook.runs.exam.check import check_benchmark
from markbook.types import Verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmarks", nargs="*")
    parser.add_argument("--timeout", type=float, default=20.0)
    options = parser.parse_args()
    if not options.benchmarks:
        return print(__doc__)
    labels = [verdict.value for verdict in Verdict]
    print(f"{'benchmark':32} {'pass':>11} {'tests':>6} " + " ".join(f"{label:>10}" for label in labels))
    for name in options.benchmarks:
        try:
            found = check_benchmark(Path(name), timeout=options.timeout, isolation="weak")
        except DataError as error:
            print(f"{Path(name).name:32} not read: {error}")
            continue
        passed = f"{found.total - len(found.problems)}/{found.total}"
        counts = " ".join(f"{found.verdicts[label]:10}" for label in labels)
        share = "-" if found.separated_share is None else f"{100 * found.separated_share:.1f} %"
        print(f"{Path(name).name:32} {passed:>11} {sum(found.verdicts.values()):6} {counts}   {share} separated")
        for problem in found.problems:
            print(
                f"  {problem.task_id}: {problem.kind}, {problem.passed} of {problem.total} tests: {problem.detail[:100]}"
            )
    return None


if __name__ == "__main__":
    main()
