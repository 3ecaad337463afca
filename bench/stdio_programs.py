"""Verdicts of programs that read and write: own right, wrong, slow and crashing ones against real problems.

    python -m bench.stdio_programs CODE_CONTESTS_FILE [--workers 1 2 8]

The file is one that SandboxFusion dumps of CodeContests. Eight of its problems have a right program here in Python and in C++; of
each are made one that prints more, one that prints all and does not end, and one that prints all and crashes. It says how
many verdicts are as they must be, and whether the files of runs with different numbers of workers have the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.stdio_answers import ANSWERS, CPP_TAILS, PYTHON_TAILS
from markbook.runs.api import exam

WANTED = {"right": "AC", "wrong": "WA", "slow": "TLE", "crashing": "RTE"}
SECONDS = 2.0


def main() -> None:
    """Mark every program with each number of workers and say how far the verdicts are right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 8])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        answers = place / "answers.jsonl"
        answers.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
        found = {number: marked(options.file, answers, place / str(number), number) for number in options.workers}
    first, _ = next(iter(found.values()))
    total, wrong = len(first), [name for name, result in first.items() if result != WANTED[name.split()[2]]]
    print(json.dumps({"programs": total, "as they must be": total - len(wrong), "others": wrong}))
    print(json.dumps({"same bytes for all workers": len({digest for _, digest in found.values()}) == 1}))


def rows() -> Iterator[dict[str, Any]]:
    """Yield every program as an answer; its model's name says what it is."""
    for task, (python, cpp) in ANSWERS.items():
        for kind in WANTED:
            yield {"task_id": task, "model": f"python {kind}", "solution": python + PYTHON_TAILS[kind]}
            text = "#include <bits/stdc++.h>\nusing namespace std;\n" + cpp
            text += f"int main() {{ solve(); fflush(stdout); {CPP_TAILS[kind]} return 0; }}\n"
            yield {"task_id": task, "model": f"cpp {kind}", "solution": text, "language": "cpp"}


def marked(benchmark: Path, answers: Path, output: Path, workers: int) -> tuple[dict[str, str], str]:
    """Return the first result that is not right of each program, and a digest of the rows of all."""
    start = time.monotonic()
    run = exam(benchmark, answers, output, workers=workers, timeout=SECONDS)
    print(json.dumps({"workers": workers, "seconds": round(time.monotonic() - start, 1)}))
    found = {}
    total = hashlib.sha256()
    for file in sorted(run.folder.glob("*/test_results.jsonl")):
        total.update(file.read_bytes())
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            results = [test["result"] for test in row["test_details"] if test["result"] not in ("AC", "-")]
            found[f"{row['task_id']} {row['model']}"] = next(iter(results), "AC")
    return found, total.hexdigest()


if __name__ == "__main__":
    main()
