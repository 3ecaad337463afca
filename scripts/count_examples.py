"""Run laws and print how many examples each was tried with: a table of law, cases, examples and failures.

    python scripts/count_examples.py [TESTS AND OPTIONS OF PYTEST]

Without a path all laws of the suite are run. Cases are the metrics, kinds of runs or formats that a law is held to; what
was skipped is listed with its reason. It ends as pytest ends.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TITLE = re.compile(r"^(tests/\S+?)::(\w+)(?:\[.*\])?:$")
COUNTS = re.compile(r"(\d+) passing[^,]*, (\d+) failing")


def count(output: str) -> dict[str, Counter[str]]:
    """Return the cases, examples and failures of each law by its file and name, from the statistics that hypothesis prints."""
    laws: dict[str, Counter[str]] = {}
    law: Counter[str] = Counter()
    for line in output.splitlines():
        if title := TITLE.match(line):
            law = laws.setdefault(f"{Path(title[1]).stem}::{title[2]}", Counter())
            law["cases"] += 1
        elif counts := COUNTS.search(line):
            law["examples"] += int(counts[1])
            law["failures"] += int(counts[2])
    return laws


def main() -> int:
    arguments = sys.argv[1:] or ["tests"]
    command = [sys.executable, "-m", "pytest", "-m", "hypothesis", "-rsfE", "--hypothesis-show-statistics", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    laws = count(ended.stdout)
    if not laws:
        sys.exit(f"no law was run:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    print(f"{'cases':>6} {'examples':>9} {'failures':>9}  law")
    for name, law in sorted(laws.items()):
        print(f"{law['cases']:6} {law['examples']:9,} {law['failures']:9}  {name}")
    total = sum(laws.values(), Counter())
    print(f"{total['cases']:6} {total['examples']:9,} {total['failures']:9}  all {len(laws)}")
    print(
        *re.findall(r"^(?:SKIPPED|FAILED|ERROR) .*|^=* ?\d+ (?:passed|failed).*", ended.stdout, re.MULTILINE), sep="\n"
    )
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
