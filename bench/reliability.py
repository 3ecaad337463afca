"""The fault table R1-R22: each row's test is run, its figures are taken, and docs/reliability.md is written.

python -m bench.reliability            every row (about ten minutes)
python -m bench.reliability --quick    without the long runs (20,000 attempts, memory slope)
"""

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
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reliability.md"
KILLS = 50
ATTEMPTS = 20_000


@dataclass(frozen=True)
class Fault:
    """A row of the table."""

    number: str
    fault: str
    behaviour: str
    tests: tuple[str, ...]
    """pytest ids or files; `file.py -k expression` picks some."""


TABLE = (
    Fault(
        "R1",
        "kill -9 at any moment",
        "resume gives the same bytes; nothing acknowledged is lost or counted twice",
        (
            "test_store_crash.py",
            "test_store_faults.py::test_killed_process_resumes_from_every_operation",
            "test_exam_reliability.py -k ended_run",
        ),
    ),
    Fault("R2", "power loss", "the same; at most the unacknowledged group is done again", ("test_store_crash.py",)),
    Fault(
        "R3",
        "disk full",
        "exit 74 with path and bytes; resume after space gives the same bytes",
        ("test_store_faults.py -k full_disk",),
    ),
    Fault(
        "R4",
        "I/O error on any write, sync, rename, open",
        "as R3; a failed sync is never taken for good",
        ("test_store_faults.py -k 'failing_operation or failed_sync'",),
    ),
    Fault(
        "R5",
        "read-only output",
        "exit 73 before anything runs",
        ("test_exam_reliability.py -k read_only", "test_cli.py -k unwritable"),
    ),
    Fault(
        "R6",
        "malformed JSONL",
        "one bad line is a counted rejection with file:line and reason",
        ("test_load_jsonl.py", "test_fuzz.py"),
    ),
    Fault(
        "R7",
        "duplicate or unknown task ids",
        "refused, collapsed or counted, and named",
        ("test_answers.py -k 'repeat or numbered or unknown or order_and_split'", "test_benchmark.py -k duplicate"),
    ),
    Fault(
        "R8",
        "crashing, exhausting, flooding answers",
        "only that answer gets a verdict",
        ("test_exam_reliability.py -k killer",),
    ),
    Fault("R9", "clock jumps", "results do not depend on the wall clock", ("test_exam_reliability.py -k clock",)),
    Fault(
        "R10",
        "judge and server faults",
        "bounded retries, then missing; never a made-up score",
        ("test_judge_client.py",),
    ),
    Fault(
        "R11",
        "injection in judged text",
        "a score comes only from the judge's structured reply",
        ("test_judge_reply.py",),
    ),
    Fault(
        "R12",
        "hostile model names",
        "a folder inside the run, no two alike",
        ("test_report_names.py", "test_exam.py -k hostile_model_name"),
    ),
    Fault(
        "R13",
        "CSV, HTML, Markdown injection",
        "no new element, no script, no formula",
        ("test_text.py", "test_report_html.py"),
    ),
    Fault("R14", "YAML tags, alias bombs", "refused; no code runs", ("test_config.py", "test_config_tree.py")),
    Fault("R15", "gzip bombs", "refused within the caps", ("test_load_jsonl.py -k gzip",)),
    Fault(
        "R16",
        "planted links, pipes as input",
        "never followed, never waited for",
        ("test_store.py -k planted", "test_load_jsonl.py -k pipe"),
    ),
    Fault(
        "R17",
        "secrets",
        "the sandbox's environment is a list of our own; nothing secret is written",
        ("test_exam_reliability.py -k secret",),
    ),
    Fault(
        "R18",
        "two runs in one folder",
        "the second exits 75 and names the first",
        ("test_store_faults.py -k eight", "test_store.py -k second"),
    ),
    Fault("R19", "memory growth", "flat in the number of attempts", ("test_exam_reliability.py -k memory_does",)),
    Fault(
        "R20",
        "determinism",
        "the same bytes for any worker count, hash seed and row order",
        ("test_exam.py -k worker_count", "test_exam_reliability.py -k hash_seed"),
    ),
    Fault(
        "R21",
        "Ctrl-C, SIGTERM, kill of the parent",
        "ends within 5 s, exit 130 or 143, no process left, resumable",
        ("test_exam_reliability.py -k ended_run",),
    ),
    Fault(
        "R22", "Windows and macOS", "what is not supported is refused, never scored 0", ("test_sandbox.py -k refuse",)
    ),
)


def main() -> None:
    quick = "--quick" in sys.argv
    rows = []
    for fault in TABLE:
        rows.append((fault, *_run_tests(fault)))
        print(fault.number, rows[-1][1:], file=sys.stderr)
    figures = [_journal_rate()]
    if not quick:
        figures += [_killed_run(), _memory_slope()]
    PAGE.write_text(_page(rows, figures), encoding="utf-8", newline="\n")
    print(PAGE.relative_to(ROOT))


def _run_tests(fault: Fault) -> tuple[int, int, str]:
    """Run a row's tests; return how many passed, how many did not, and the figures that they recorded."""
    passed = failed = 0
    noted: dict[str, int] = {}
    for tests in fault.tests:
        name, _, expression = tests.partition(" -k ")
        path = ROOT / "tests" / name.partition("::")[0]
        if not path.exists():
            return passed, failed + 1, f"{path.name} is not there"
        with tempfile.NamedTemporaryFile(suffix=".xml") as report:
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                f"tests/{name}",
                f"--junitxml={report.name}",
                "-o",
                "junit_family=xunit1",
            ]
            if expression:
                command += ["-k", expression.strip("'")]
            subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
            suite = ET.parse(report.name).getroot()
        for case in suite.iter("testcase"):
            bad = case.find("failure") is not None or case.find("error") is not None
            failed += bad
            passed += not bad and case.find("skipped") is None
            for note in case.iter("property"):
                noted[note.get("name", "")] = noted.get(note.get("name", ""), 0) + int(float(note.get("value", "0")))
    return passed, failed, ", ".join(f"{count:,} {name}" for name, count in noted.items())


def _journal_rate() -> str:
    from markbook.store import RealDisk
    from markbook.store.journal import Journal

    row = {"tests": [[1, "separated", "", "", 0, []]] * 10, "code": "x" * 200, "error": None, "seconds": 0.001}
    rates = []
    for _ in range(5):
        with tempfile.TemporaryDirectory(dir=ROOT) as folder:
            journal = Journal.start(RealDisk(), Path(folder) / "journal")
            start = time.perf_counter()
            for number in range(50_000):
                journal.add("outcome", ("model", f"task_{number}", 0), row)
            journal.close()
            rates.append(50_000 / (time.perf_counter() - start))
    rates.sort()
    return (
        f"Journal: {rates[2]:,.0f} rows/s (median of 5; {rates[0]:,.0f} to {rates[-1]:,.0f}), 50,000 rows of about 500 "
        "bytes, a sync every 100 rows or 50 ms."
    )


_EXAM = (
    "import sys\nfrom markbook.pipeline.exam import exam\n"
    "exam(sys.argv[1], sys.argv[2], sys.argv[3], isolation='weak', dedupe=False,"
    " resume=sys.argv[4] or None, reports=('documented',))\n"
)


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


def _killed_run() -> str:
    """Kill a run of 20,000 attempts 50 times, resuming each time; compare with an unbroken run."""
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        benchmark, answers = _write_exam(folder, ATTEMPTS, "def f(x):\n    return x if {i} % 3 else 0\n")
        subprocess.run([sys.executable, "-c", _EXAM, benchmark, answers, folder / "whole", ""], check=True)
        (whole,) = (folder / "whole").iterdir()
        kills, resume = 0, ""
        while True:
            process = subprocess.Popen([sys.executable, "-c", _EXAM, benchmark, answers, folder / "out", resume])
            try:
                process.wait(timeout=chance.uniform(1.0, 2.6) if kills < KILLS else None)
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                found = sorted((folder / "out").glob("evaluation_*")) if (folder / "out").exists() else []
                resume = str(found[0]) if found else ""
                continue
            break
        (out,) = (folder / "out").glob("evaluation_*")
        rows = sum(1 for line in (out / "m" / "test_results.jsonl").open())
        same = "the same bytes" if _digest(out) == _digest(whole) else "OTHER BYTES"
    return f"{ATTEMPTS:,} attempts killed {kills} times with SIGKILL and resumed: {rows:,} rows, {same} as an unbroken run."


def _memory_slope() -> str:
    peaks = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for attempts in (10_000, 200_000):
            benchmark, answers = _write_exam(folder, attempts, "")
            code = _EXAM + "import resource\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
            done = subprocess.run(
                [sys.executable, "-c", code, benchmark, answers, folder / str(attempts), ""],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            peaks[attempts] = int(done.stdout) * 1024
    slope = (peaks[200_000] - peaks[10_000]) / 190_000
    low, high = (peaks[count] / (1 << 20) for count in (10_000, 200_000))
    return f"Peak memory of the controller: {low:.1f} MiB at 10,000 attempts, {high:.1f} MiB at 200,000: {slope:.0f} bytes an attempt."


def _page(rows: list[tuple[Fault, int, int, str]], figures: list[str]) -> str:
    lines = [
        "# Reliability",
        "",
        "What may go wrong, what then happens, the test that holds it, and the figures of its last run.",
        "Written by `python -m bench.reliability`.",
        "",
        "| # | fault | what happens | tests | passed | figures |",
        "|---|---|---|---|---|---|",
    ]
    for fault, passed, failed, noted in rows:
        tests = "<br>".join(f"`{test}`" for test in fault.tests)
        count = f"{passed}" if not failed else f"{passed}, **{failed} failed**"
        lines.append(f"| {fault.number} | {fault.fault} | {fault.behaviour} | {tests} | {count} | {noted or '-'} |")
    lines += ["", "## Measured", "", *(f"- {figure}" for figure in figures), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
