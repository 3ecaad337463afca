"""Programs in other languages beside the plain toolchain: one process a sample, no isolation, the same cores, one run.

python -m bench.language_speed FILE [FILE ...] [--times 4] [--limit N] [--rounds 3] [--workers 2]
python -m bench.language_speed phase

FILE    HumanEval-X: every canonical solution `--times` times, each unlike the others by a comment, as an exam has several
        answers to a problem. In turns of a third each: marked as an exam marks them, then built and run by the commands that
        one would type. Printed: wall and CPU seconds an attempt either way and their ratio, and the CPU time of ours by phase.
phase   a program that does nothing, in the sandbox and as a process: what isolation costs a phase

The first third begins cold: compiled headers, Go's cache and the like are made in it. CPU time counts every process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from bench.languages import jobs_of
from markbook.languages import Toolchain, find
from markbook.languages.toolchain import SYSTEM, Prebuilt
from markbook.programs.marker import ProgramMarker
from markbook.sandbox import Job
from markbook.sandbox.program import Phase, ProgramRun, ProgramSandbox
from markbook.sandbox.record_store import default_cache
from markbook.types import Limits

_COMMENT = {"python": "#", "bash": "#"}
_TICKS = os.sysconf("SC_CLK_TCK")
_PLAIN: dict[str, Sequence[Sequence[str]]] = {
    "cpp": (("g++", "-std=c++17", "-o", "main", "main.cpp", "{libraries}"), ("./main",)),
    "java": (("javac", "-cp", ".:/usr/share/java/javatuples.jar", "Main.java"), ("java", "-ea", "-cp", ".", "Main")),
    "javascript": (("node", "main.js"),),
    "go": (("go", "test"),),
    "rust": (
        ("rustc", "--edition", "2021", "-A", "warnings", "--test", "{crates}", "{rand}", "{regex}", "{md5}",
         "-o", "main", "main.rs"),
        ("./main",),
    ),
    "python": (("python3", "main.py"),),
}  # fmt: skip
"""What one would type."""


@dataclass(slots=True)
class Spent:
    """Seconds, of the clock and of all processors."""

    wall: float = 0.0
    cpu: float = 0.0
    right: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if not options.files:
        return print(__doc__)
    for name in options.files:
        if name == "phase":
            _phase()
        else:
            jobs, _ = jobs_of(Path(name), Limits(seconds=20), options.limit)
            _compare(Path(name).name, _unlike(jobs, options.times), options.rounds, options.workers)
    return None


def _unlike(jobs: list[Job], times: int) -> list[Job]:
    def with_comment(job: Job, number: int) -> Job:
        sign = _COMMENT.get(find(job.sample.language).language.name, "//")
        return replace(job, key=f"{job.key} {number}", code=f"{job.code.rstrip()}\n{sign} {number}\n")

    return [with_comment(job, number) for job in jobs for number in range(times)]


def _compare(name: str, jobs: list[Job], rounds: int, workers: int) -> None:
    tool = find(jobs[0].sample.language)
    ours, plain = Spent(), Spent()
    phases: dict[str, float] = defaultdict(float)
    prebuilt = Prebuilt(default_cache().built)
    prebuilt.start()
    if tool.language.name == "rust":  # its crates, which one would have built once
        tool = prebuilt.prepare(tool, jobs[0].code)
    marker = ProgramMarker([jobs[0].sample.language], isolation="weak", workers=workers, cache=default_cache())
    try:
        marker.start()
        _watch(marker, phases)
        for number in range(rounds):
            turn = jobs[number * len(jobs) // rounds : (number + 1) * len(jobs) // rounds]
            _spend(ours, lambda turn=turn: sum(all(test.passed for test in out.tests) for _, out in marker.run(turn)))
            _spend(plain, lambda turn=turn: _plainly(tool, turn, workers))
    finally:
        marker.close()
        prebuilt.close()
    count = len(jobs)
    print(
        f"{name}: {count} attempts, {ours.right} right, plain {plain.right}; "
        f"wall {ours.wall / count:.3f} s an attempt, plain {plain.wall / count:.3f}, {plain.wall / ours.wall:.2f} x; "
        f"CPU {ours.cpu / count:.3f} s, plain {plain.cpu / count:.3f}, {plain.cpu / ours.cpu:.2f} x; "
        + ", ".join(f"{phase} {1000 * spent / count:.0f} ms CPU" for phase, spent in phases.items()),
        flush=True,
    )


def _watch(marker: ProgramMarker, phases: dict[str, float]) -> None:
    """Note what the phases of every run take."""
    take = marker._box.next_done  # noqa: SLF001

    def noted():
        run, executed = take()
        for phase, found in zip(run.phases, executed, strict=False):
            kind = "batches" if run.key.startswith("batch") else "build" if phase.builds else "run"
            phases[kind] += found.seconds
        return run, executed

    marker._box.next_done = noted  # type: ignore[method-assign]  # noqa: SLF001 - measured from outside


def _spend(into: Spent, work: Callable[[], int]) -> None:
    began, cpu = time.monotonic(), _cpu()
    into.right += work()
    into.wall += time.monotonic() - began
    into.cpu += _cpu() - cpu


def _plainly(tool: Toolchain, jobs: list[Job], workers: int) -> int:
    with ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(lambda job: _typed(tool, job), jobs))


def _typed(tool: Toolchain, job: Job) -> bool:
    """Build and run one answer by what one would type, in a folder of its own."""
    language, test = tool.language, job.sample.tests[0]
    text = f"{language.prelude}\n{test.setup}\n{job.code}\n{test.program}"
    words = dict(language.words(text)) if language.words else {}
    with tempfile.TemporaryDirectory() as folder_:
        Path(folder_, language.source).write_text(text)
        around = {**os.environ, **tool.places.environment}
        if language.name == "go":
            around |= {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode"}
        for argv in _PLAIN[language.name]:
            command = [word for word in (tool.fill_words(word, words) for word in argv) if word]
            if subprocess.run(command, cwd=folder_, env=around, capture_output=True, check=False).returncode:
                return False
    return True


def _cpu() -> float:
    """Return the CPU seconds of this process and all that it has started, those that have ended among them."""
    parents, spent = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.name)] = int(fields[1])
        spent[int(path.name)] = sum(map(int, fields[11:15])) / _TICKS
    mine = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return sum(spent[pid] for pid in mine)


def _phase(times: int = 200) -> None:
    run = ProgramRun("one", {}, (Phase(("/usr/bin/true",), Limits(seconds=5)),))
    spent, plain = Spent(), Spent()
    with ProgramSandbox(SYSTEM, workers=1, isolation="weak") as box:
        box.start()
        for _ in range(4):
            _spend(spent, lambda: len(list(box.run([run] * times))))
            _spend(
                plain, lambda: sum(subprocess.run(["/usr/bin/true"], check=True).returncode == 0 for _ in range(times))
            )
    for said, one in (("in the sandbox", spent), ("as a process", plain)):
        print(f"nothing {said}: {1000 * one.wall / 4 / times:.2f} ms wall, {1000 * one.cpu / 4 / times:.2f} ms CPU")


if __name__ == "__main__":
    main()
