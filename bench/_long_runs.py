"""Exams that are too long for a test: 20,000 attempts killed 50 times, and memory over 200,000 attempts."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KILLS = 50
ATTEMPTS = 20_000
_AT_START, _AT_END = 4, 4
"""Kills during the start of a run and during the writing of its reports; the others are spread over the marking."""
_OUTCOME = b'"kind":"outcome"'

_EXAM = (
    "import sys\nfrom markbook.runs.api import exam\n"
    "exam(sys.argv[1], sys.argv[2], sys.argv[3], isolation='weak', dedupe=False,"
    " resume=sys.argv[4] or None, reports=('documented',))\n"
)

# Not ru_maxrss, which begins with the memory of the process that started this one.
_PEAK = "import re\nprint(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read()).group(1))\n"


def _write_exam(folder: Path, attempts: int, text: str) -> tuple[Path, Path]:
    problems = [
        {
            "task_id": f"p{i}", "name": "f", "problem": "p", "canonical_solution": "def f(x):\n    return x\n",
            "tests": [{"assertion": "func(1) == 1"}, {"assertion": "func(2) == 2"}], "topic": f"t{i % 5}",
            "object": "function", "complexity": 1 + i % 3,
        }
        for i in range(100)
    ]  # fmt: skip
    benchmark, answers = folder / "benchmark.jsonl", folder / "answers.jsonl"
    benchmark.write_text("".join(json.dumps(row) + "\n" for row in problems))
    with answers.open("w") as file:
        for i in range(attempts):
            code = text.format(i=i) if text else ""
            row = {"task_id": f"p{i % 100}", "model": "m", "sample": i // 100, "candidate_solution": code}
            file.write(json.dumps(row) + "\n")
    return benchmark, answers


def _digest(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("m/*")))).hexdigest()


class _Progress:
    """How many outcomes the journal of a run holds, read on as it grows."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._sizes: dict[Path, int] = {}
        self.outcomes = 0

    def look(self) -> int:
        for path in sorted(self._output.glob("evaluation_*/journal/*.jsonl")):
            with path.open("rb") as file:
                file.seek(self._sizes.get(path, 0))
                data = file.read()
            whole = data.rfind(b"\n") + 1
            self.outcomes += data[:whole].count(_OUTCOME)
            self._sizes[path] = self._sizes.get(path, 0) + whole
        return self.outcomes


def _children(pid: int) -> list[int]:
    """Return the process ids below one."""
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            numbers = [int(word) for word in file.read_text().split()]
        except OSError:
            continue
        for number in numbers:
            found += [number, *_children(number)]
    return found


def _left_behind(pids: list[int]) -> int:
    """Return how many of the processes are still there after five seconds."""
    deadline = time.monotonic() + 5
    alive = pids
    while alive and time.monotonic() < deadline:
        alive = [pid for pid in alive if _state(pid) not in ("", "Z")]
        time.sleep(0.02)
    return len(alive)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _wait_for(process: subprocess.Popen[bytes], output: Path, kill: int, chance: random.Random) -> bool:
    """Wait for the moment of a kill; return False if the run ended before it came."""
    until = 0
    pause = chance.uniform(0.0, 0.6)
    if kill >= _AT_START:
        middle = KILLS - _AT_START - _AT_END
        share = min(1.0, (kill - _AT_START + chance.random()) / middle)
        until = int(share * ATTEMPTS)
        pause = chance.uniform(0.0, 0.4) if until == ATTEMPTS else 0.0
    progress = _Progress(output)
    while progress.look() < until if until else False:
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    try:
        process.wait(timeout=pause)
    except subprocess.TimeoutExpired:
        return True
    return process.poll() is None


def killed_run(seconds: float = 500.0) -> str:
    """Kill a run of 20,000 attempts 50 times at any stage of it, resuming each time; compare with an unbroken run."""
    chance = random.Random(1)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        benchmark, answers = _write_exam(folder, ATTEMPTS, "def f(x):\n    return x if {i} % 3 else 0\n")
        run = [sys.executable, "-c", _EXAM, benchmark, answers]
        subprocess.run([*run, folder / "whole", ""], check=True)
        (whole,) = (folder / "whole").iterdir()
        unbroken = time.monotonic() - begun
        print(f"unbroken: {unbroken:.0f} s", file=sys.stderr)
        kills = orphans = 0
        while True:
            found = sorted((folder / "out").glob("evaluation_*"))
            process = subprocess.Popen([*run, folder / "out", str(found[0]) if found else ""])
            in_time = time.monotonic() - begun < seconds - 1.5 * unbroken
            if kills < KILLS and in_time and _wait_for(process, folder / "out", kills, chance):
                below = _children(process.pid)
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                orphans += _left_behind(below)
                kills += 1
                print(f"kill {kills} at {time.monotonic() - begun:.0f} s", file=sys.stderr)
                continue
            if process.wait() != 0:
                return f"{ATTEMPTS:,} attempts: the resumed run FAILED with exit code {process.returncode}."
            break  # all kills are done, or the run was quicker than the next one
        (out,) = (folder / "out").glob("evaluation_*")
        rows = sum(1 for line in (out / "m" / "test_results.jsonl").open())
        same = "files identical to those of" if _digest(out) == _digest(whole) else "OTHER FILES than"
    return (
        f"A run of {ATTEMPTS:,} attempts was killed {kills} times with SIGKILL and resumed. Some kills came during the start, some "
        f"while the reports were written, the others during the evaluation. The result: {rows:,} rows, {same} an uninterrupted "
        f"run, {orphans} processes left behind."
    )


def memory_slope() -> str:
    """Measure the controller's peak memory at 10,000 and at 200,000 attempts."""
    peaks = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for attempts in (10_000, 200_000):
            benchmark, answers = _write_exam(folder, attempts, "")
            code = _EXAM + _PEAK
            done = subprocess.run(
                [sys.executable, "-c", code, benchmark, answers, folder / str(attempts), ""],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            peaks[attempts] = int(done.stdout) * 1024
    slope = (peaks[200_000] - peaks[10_000]) / 190_000
    low, high = (peaks[count] / (1 << 20) for count in (10_000, 200_000))
    return (
        f"The controller's peak memory was {low:.1f} MiB at 10,000 attempts and {high:.1f} MiB at 200,000. That is {slope:.0f} "
        "bytes per attempt."
    )
