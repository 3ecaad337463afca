"""The fault table R1-R22 and the long runs: every test is run, its figures are taken, docs/reliability.md is written.

python -m bench.reliability              everything (about fifteen minutes), in stages
python -m bench.reliability table        one stage: table, journal, killed or memory; the page keeps the others' last figures
python -m bench.reliability --quick      without the long runs (20,000 attempts killed 50 times, 200,000 for memory)
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench._faults import COMMANDS, TABLE, Fault

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reliability.md"
KEPT = ROOT / "generated" / "reliability.json"
"""What each stage found last; never committed."""
STAGES = ("table", "journal", "killed", "memory")
SECONDS = 480.0
"""The most that a stage of its own takes."""


@dataclass
class Tally:
    """What became of some tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    figures: Counter[str] = field(default_factory=Counter)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/reliability.md.")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="leave the long runs out")
    options = parser.parse_args()
    if unknown := set(options.stages) - set(STAGES):
        parser.error(f"no stage {', '.join(sorted(unknown))}")
    stages = options.stages or (STAGES[:2] if options.quick else STAGES)
    kept: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for stage in stages:
        print(f"== {stage}", file=sys.stderr, flush=True)
        kept[stage] = _stage(stage, kept)
        _save(kept)
    PAGE.write_text(_page(kept), encoding="utf-8", newline="\n")
    print(PAGE.relative_to(ROOT))
    if any(case["end"] == "failed" for cases in kept.get("table", {}).values() for case in cases):
        sys.exit("some tests failed")


def _save(kept: dict[str, Any]) -> None:
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(kept))


def _stage(stage: str, kept: dict[str, Any]) -> Any:
    if stage == "table":
        return _run_tests(kept)
    if stage == "journal":
        from bench.journal import sentence

        return sentence()
    from bench._long_runs import killed_run, memory_slope

    return killed_run(SECONDS) if stage == "killed" else memory_slope()


def _run_tests(kept: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Run every file that the table names once; return its tests with how each ended and the figures it recorded.

    What a file gave is saved at once, so that a stage that was broken off shows what it reached.
    """
    patterns = {test.partition("::")[0] for fault in TABLE for tests in fault.tests.values() for test in tests}
    files = sorted({path for pattern in patterns for path in (ROOT / "tests").rglob(pattern)})
    missing = [pattern for pattern in patterns if not list((ROOT / "tests").rglob(pattern))]
    if missing:
        sys.exit(f"no such test file: {', '.join(missing)}")
    found: dict[str, list[dict[str, Any]]] = {}
    for name in files:
        found[name.name] = _run_file(name)
        ends = Counter(case["end"] for case in found[name.name])
        print(f"{name.name:36} {dict(ends)}", file=sys.stderr, flush=True)
        _save({**kept, "table": found})
    return found


def _run_file(name: Path) -> list[dict[str, Any]]:
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [sys.executable, "-m", "pytest", "-q", str(name), f"--junitxml={report.name}"]
        subprocess.run([*command, "-o", "junit_family=xunit1"], cwd=ROOT, capture_output=True, check=False)
        suite = ET.parse(report.name).getroot()
    return [
        {
            "name": case.get("name", ""),
            "end": _end(case),
            "figures": {note.get("name", ""): int(float(note.get("value", "0"))) for note in case.iter("property")},
        }
        for case in suite.iter("testcase")
    ]


def _end(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def _tally(tests: tuple[str, ...], found: dict[str, list[dict[str, Any]]]) -> Tally:
    """Count the cases that a row's patterns name, each once."""
    total = Tally()
    for name, cases in found.items():
        patterns = [test.partition("::")[2] for test in tests if fnmatch.fnmatchcase(name, test.partition("::")[0])]
        for case in cases:
            if not any(fnmatch.fnmatchcase(case["name"], pattern) for pattern in patterns):
                continue
            setattr(total, case["end"], getattr(total, case["end"]) + 1)
            total.figures.update(case["figures"])
    return total


def _page(kept: dict[str, Any]) -> str:
    lines = [
        "# Reliability",
        "",
        "This page lists possible faults, what Markbook does in each case, and the tests with the results of their last run.",
        "`python -m bench.reliability` writes it.",
        "",
        "| # | fault | what happens |",
        "|---|---|---|",
        *(f"| {fault.number} | {fault.fault} | {fault.behaviour} |" for fault in TABLE),
        "",
        "## The tests",
        "",
        "The table shows how many cases passed, and what they counted. `all` is the code that all commands share.",
        "",
        "| # | command | tests | passed | figures |",
        "|---|---|---|---|---|",
    ]
    for fault in TABLE:
        lines += _rows(fault, kept.get("table", {}))
    figures = [kept[stage] for stage in STAGES[1:] if stage in kept]
    lines += ["", "## Measurements", "", *(f"- {figure}" for figure in figures)]
    lines += ["", "To fuzz by hand, run `make fuzz MINUTES=30`. It saves its findings in `tests/fuzz_corpus`.", ""]
    return "\n".join(lines)


def _rows(fault: Fault, found: dict[str, list[dict[str, Any]]]) -> list[str]:
    rows = []
    for command in COMMANDS:
        tests = fault.tests.get(command)
        if not tests:
            continue
        total = _tally(tests, found)
        count = f"{total.passed}" + (f", **{total.failed} failed**" if total.failed else "")
        count += f" ({total.skipped} skipped)" if total.skipped else ""
        named = "<br>".join(f"`{test.replace('[[]', '[').replace('|', '')}`" for test in tests)
        figures = ", ".join(f"{value:,} {name}" for name, value in sorted(total.figures.items())) or "-"
        if not total.passed and not total.failed:
            count = "not run"
        rows.append(f"| {fault.number} | {command} | {named} | {count} | {figures} |")
    return rows


if __name__ == "__main__":
    main()
