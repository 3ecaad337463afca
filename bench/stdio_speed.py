"""Programs that read and write beside LiveCodeBench's own runner, alternating in one run: time, and whether verdicts agree.

    python -m bench.stdio_speed BENCHMARK [BENCHMARK ...] --livecodebench FOLDER [--problems 100] [--tests 40] [--answers 10]
                               [--language python]

BENCHMARK is HumanEval or MBPP. Its functions become programs that read their arguments, a line for each test, and print what
comes out; the tests are those of its asserts whose two sides are literals, in turn until there are enough. Of each problem's
answers seven tenths are its own solution, the others print something else at some test. FOLDER is a checkout of LiveCodeBench
(`git clone https://github.com/LiveCodeBench/LiveCodeBench`), whose `check_correctness` is called in processes of its own, as many at a
time as there are workers here; it isolates nothing, so it meets these answers only. With --language every problem's row names it.

Printed are wall and CPU seconds of both for each round of problems, their ratio, and the CPU time a test that is ours alone:
that of an empty program is taken off by none.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markbook.benchmarks.benchmark import load_benchmark
from markbook.programs import program_language
from markbook.programs.sandboxes import BoxSettings, open_sandboxes
from markbook.sandbox import Job
from markbook.types import Limits, Sample, Test

SECONDS = 6
MAIN = """
import ast as _ast
import sys as _sys
print(repr({name}(*_ast.literal_eval(_sys.stdin.read()))))
"""
WRONG = """
import ast as _ast
import sys as _sys
_given = _sys.stdin.read()
print(repr({name}(*_ast.literal_eval(_given))) if {test} else 'something else')
"""


@dataclass(frozen=True)
class Program:
    """A problem with its answers."""

    sample: Sample
    answers: list[str]


def main() -> None:
    """Run both on the same programs, round by round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmarks", nargs="+", type=Path)
    parser.add_argument("--livecodebench", type=Path, required=True)
    for name, usual in (("problems", 100), ("tests", 40), ("answers", 10), ("rounds", 4), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--language", default="")
    options = parser.parse_args()
    made = list(programs(options))
    languages = {program_language(one.sample) for one in made} - {""}
    size = -(-len(made) // options.rounds)
    total = {"ours": [0.0, 0.0], "theirs": [0.0, 0.0]}
    other: list[str] = []
    with open_sandboxes("local", BoxSettings(options.workers, dedupe=False, languages=tuple(languages))) as box:
        for start in range(0, len(made), size):
            part = made[start : start + size]
            found = {"ours": ours(part, box), "theirs": theirs(part, options)}
            for name, (wall, cpu, _) in found.items():
                total[name] = [total[name][0] + wall, total[name][1] + cpu]
            other += [key for key, good in found["ours"][2].items() if good != found["theirs"][2][key]]
    count = sum(len(one.answers) for one in made)
    tests = sum(len(one.sample.tests) for one in made) * options.answers
    print(json.dumps({"problems": len(made), "answers": count, "tests planned": tests, "other verdicts": other}))
    for name, (wall, cpu) in total.items():
        print(json.dumps({name: {"wall seconds": round(wall, 2), "CPU seconds": round(cpu, 2)}}))
    ratios = [total["theirs"][place] / total["ours"][place] for place in (0, 1)]
    print(json.dumps({"theirs over ours": {"wall": round(ratios[0], 1), "CPU": round(ratios[1], 1)}}))
    print(json.dumps({"CPU milliseconds of ours a planned test": round(1000 * total["ours"][1] / tests, 3)}))


def programs(options: Any) -> Iterator[Program]:
    """Yield as many problems as are wanted, each as a program that reads and writes."""
    left = options.problems
    for path in options.benchmarks:
        for sample in load_benchmark(path).samples:
            pairs = list(dict.fromkeys(_pairs(sample)))
            if left and len(pairs) > 1 and sample.references:
                left -= 1
                yield _program(sample, pairs, options)


def _read(sample: Sample, language: str) -> Sample:
    """Return a problem as an exam reads it from a row."""
    tests = [{"stdin": test.stdin, "stdout": test.stdout, "checker": test.checker} for test in sample.tests]
    row = {"task_id": sample.id, "tests": tests, "time_limit": sample.seconds, "language": language or None}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write(json.dumps(row) + "\n")
        file.flush()
        return load_benchmark(Path(file.name)).samples[0]


def _program(sample: Sample, pairs: list[tuple[str, str]], options: Any) -> Program:
    chosen = [pairs[number % len(pairs)] for number in range(options.tests)]
    tests = tuple(Test(stdin=given, stdout=wanted, checker="livecodebench") for given, wanted in chosen)
    made = _read(Sample(sample.id, tests=tests, seconds=float(SECONDS)), options.language)
    right = f"{sample.references[0]}\n{MAIN.format(name=sample.entry_point)}"
    answers = []
    for number in range(options.answers):
        if number * 10 < 7 * options.answers:
            answers.append(f"{right}# {number}\n")
        else:
            test = f"_given != {chosen[(number * 13) % len(pairs)][0]!r}"
            answers.append(f"{sample.references[0]}\n{WRONG.format(name=sample.entry_point, test=test)}# {number}\n")
    return Program(made, answers)


def _pairs(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield arguments and what is returned for them, of the asserts in which both are literals."""
    for test in sample.tests:
        for node in ast.walk(ast.parse(test.program)):
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
                call, wanted = node.test.left, node.test.comparators[0]
                if isinstance(node.test.ops[0], ast.Eq) and isinstance(call, ast.Call) and not call.keywords:
                    try:
                        given = [ast.literal_eval(one) for one in call.args]
                        yield repr(given) + "\n", repr(ast.literal_eval(wanted)) + "\n"
                    except ValueError:
                        continue


def ours(made: list[Program], box: Any) -> tuple[float, float, dict[str, bool]]:
    """Return wall and CPU seconds, and which answers pass."""
    jobs = [
        Job(f"{one.sample.id} {number}", text, one.sample, Limits(seconds=SECONDS))
        for one in made
        for number, text in enumerate(one.answers)
    ]
    wall, cpu = time.monotonic(), _spent()
    found = {job.key: all(test.passed for test in outcome.tests) for job, outcome in box.run(jobs)}
    return time.monotonic() - wall, _spent() - cpu, found


def _spent(pid: int | str = "self") -> float:
    """Return the CPU seconds of a process and of everything below it that is there or was."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        below = [
            name for thread in Path(f"/proc/{pid}/task").iterdir() for name in (thread / "children").read_text().split()
        ]
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / 100 + sum(map(_spent, below))


_THEIRS = """
import json, resource, sys, time
from concurrent.futures import ProcessPoolExecutor
sys.path.insert(0, sys.argv[1])
from lcb_runner.evaluation.compute_code_generation_metrics import check_correctness

def one(given):
    key, sample, text = given
    found, _ = check_correctness(sample, text, timeout=6, debug=False)
    return key, all(result is True or result == 1 for result in found)

if __name__ == "__main__":
    given = json.load(sys.stdin)
    wall = time.monotonic()
    with ProcessPoolExecutor(int(sys.argv[2])) as pool:
        found = dict(pool.map(one, given))
    wall = time.monotonic() - wall
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print("\\n" + json.dumps([wall, sum(one.ru_utime + one.ru_stime for one in used), found]))
"""


def theirs(made: list[Program], options: Any) -> tuple[float, float, dict[str, bool]]:
    """Return the same of LiveCodeBench's runner; what it takes to start is not counted as wall time."""
    given = []
    for one in made:
        inputs, outputs = [test.stdin for test in one.sample.tests], [test.stdout for test in one.sample.tests]
        sample = {"input_output": json.dumps({"inputs": inputs, "outputs": outputs})}
        given += [(f"{one.sample.id} {number}", sample, text) for number, text in enumerate(one.answers)]
    done = subprocess.run(
        [sys.executable, "-c", _THEIRS, str(options.livecodebench.resolve()), str(options.workers)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    wall, cpu, found = json.loads(done.stdout.splitlines()[-1])
    return wall, cpu, found


if __name__ == "__main__":
    main()
