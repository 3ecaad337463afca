"""The journal's rows/s beside plainer ways to keep rows, in one run on one disk: python -m bench.journal [rows]

Each row is about 520 bytes of JSON, as an exam's outcome. The ways differ in what a power cut may take:
- journal: ours, a checksum a line, a sync every 100 rows or 50 ms; at most the last group is lost.
- lines, synced each: JSON Lines with a sync a row; nothing is lost. A fiftieth of the rows.
- lines, never synced: JSON Lines as most tools write them; anything may be lost or torn, and nothing tells.
- sqlite: WAL with full sync, keyed, committed every 100 rows; at most the last group is lost.

The notes that the design rests on have 87,000 rows/s for such a journal on a quiet disk, and ask for 80,000.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from markbook.store import Disk
from markbook.store.journal import Journal, to_line

ROOT = Path(__file__).resolve().parents[1]
ROWS, ROUNDS, GROUP = 50_000, 5, 100
ROW = {"tests": [[1, "separated", "", "", 0, []]] * 8, "code": "x" * 190, "error": None, "seconds": 0.001}
NOTES = 87_000
ASKED = 80_000


def journal(folder: Path, rows: int) -> None:
    log = Journal.start(Disk(), folder / "journal")
    for number in range(rows):
        log.add("outcome", ("model", f"task_{number}", 0), ROW)
    log.close()


def _line(number: int) -> bytes:
    return json.dumps({"key": ["model", f"task_{number}", 0], "kind": "outcome", "data": ROW}).encode() + b"\n"


def lines_synced(folder: Path, rows: int) -> None:
    with (folder / "rows.jsonl").open("wb", buffering=0) as file:
        for number in range(rows):
            file.write(_line(number))
            os.fdatasync(file.fileno())


def lines_unsynced(folder: Path, rows: int) -> None:
    with (folder / "rows.jsonl").open("wb") as file:
        for number in range(rows):
            file.write(_line(number))


def sqlite(folder: Path, rows: int) -> None:
    base = sqlite3.connect(folder / "rows.db", isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE rows (kind, model, task, number, data, PRIMARY KEY (kind, model, task, number))")
    for start in range(0, rows, GROUP):
        base.execute("BEGIN")
        for number in range(start, min(rows, start + GROUP)):
            row = ("outcome", "model", f"task_{number}", 0, json.dumps(ROW))
            base.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", row)
        base.execute("COMMIT")
    base.close()


WAYS = {
    "journal": (journal, 1),
    "lines, synced each": (lines_synced, 50),
    "lines, never synced": (lines_unsynced, 1),
    "sqlite": (sqlite, 1),
}


def rates(rows: int = ROWS, ways: tuple[str, ...] = tuple(WAYS)) -> dict[str, list[float]]:
    """Return rows/s of each way, sorted; the rounds of all ways alternate, so that a busy moment hits all."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name in ways:
            way, share = WAYS[name]
            with tempfile.TemporaryDirectory(dir=ROOT) as folder:
                start = time.perf_counter()
                way(Path(folder), rows // share)
                found[name].append(rows // share / (time.perf_counter() - start))
    return {name: sorted(values) for name, values in found.items()}


def sentence() -> str:
    """Return the journal's figure as docs/reliability.md has it."""
    found = rates(ways=("journal", "sqlite"))
    mine, peer = found["journal"], statistics.median(found["sqlite"])
    size = len(to_line("outcome", ("model", "task_25000", 0), ROW))
    return (
        f"The journal wrote {statistics.median(mine):,.0f} rows/s (median of {ROUNDS}; {mine[0]:,.0f} to {mine[-1]:,.0f}) of {size} "
        f"bytes, with a sync every {GROUP} rows or 50 ms. That is {statistics.median(mine) / peer:.1f} times the rate of SQLite with the "
        f"same durability in the same run. The design requires {ASKED:,}; {NOTES:,} were measured on a quiet disk."
    )


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    found = rates(rows)
    mine = statistics.median(found["journal"])
    print(f"{rows} rows of {len(to_line('outcome', ('model', 'task_25000', 0), ROW))} bytes, median of {ROUNDS} rounds")
    for name, values in found.items():
        middle = statistics.median(values)
        print(
            f"{name:20} {middle:10,.0f} rows/s   rounds {values[0]:,.0f}-{values[-1]:,.0f}   journal / this {mine / middle:6.2f}"
        )
    print(f"asked for {ASKED:,}; the notes have {NOTES:,}")


if __name__ == "__main__":
    main()
