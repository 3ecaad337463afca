"""CPU seconds of every case, so that nobody has to guess where the time of the suite goes: `make test-times`.

Processor time, not the clock's: it hardly changes with what else the machine does. A case is charged from the start of its
fixtures to the end of their teardown, with all processes below this one, those that still run and those that were waited
for. What a fixture of a whole module starts and ends is charged to the case that was first or last, so the sum of a file
is right. A child that nobody waits for is not seen.

The seconds by the clock are written beside: a case that waits costs nothing but keeps a process of the suite.
"""

import json
import os
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

DEAREST = 50


TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds():
    """Return the processor time of this process, of every child that it waited for, and of all below it that run."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system + below(os.getpid())


def below(pid):
    """Return the processor time of the processes below one, and of those that they waited for."""
    total = 0.0
    with suppress(FileNotFoundError):  # it has just ended
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in read(children).split():
                ended = read(Path(f"/proc/{child}/stat")).rpartition(")")[2].split()
                total += sum(map(int, ended[11:15])) / TICKS + below(child)
    return total


def read(path):
    """Return the text of a file of a process, empty where the process has just ended."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class Times:
    """Measures in each worker; adds up and prints in the process that the user started."""

    def __init__(self, path):
        """Append a line for each case to this file, so that a run which is cut short leaves what it measured."""
        self.path = Path(path)
        self.cases = {}
        self._begin = (0.0, 0.0)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self):
        """Begin a case."""
        self._begin = cpu_seconds(), time.monotonic()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call):
        """Write the cost into the last of a case's three reports, which xdist carries over."""
        report = yield
        if call.when == "teardown":
            report.cost = cpu_seconds() - self._begin[0], time.monotonic() - self._begin[1]
        return report

    def pytest_runtest_logreport(self, report):
        """Keep what a case cost; in a worker of xdist the parent does it."""
        if report.when != "teardown" or "PYTEST_XDIST_WORKER" in os.environ:
            return
        self.cases[report.nodeid] = report.cost
        with self.path.open("a", encoding="utf-8", newline="\n") as lines:
            lines.write(json.dumps([report.nodeid, *(round(seconds, 3) for seconds in report.cost)]) + "\n")

    def pytest_terminal_summary(self, terminalreporter):
        """Print both tables."""
        terminalreporter.section(f"CPU seconds, also in {self.path}")
        for line in tables(self.cases):
            terminalreporter.write_line(line)


def tables(cases):
    """Return the lines of two Markdown tables: the files, and the cases that cost most."""
    files = defaultdict(list)
    for case, cost in cases.items():
        files[case.partition("::")[0]].append(cost)
    sums = {name: [sum(column) for column in zip(*costs, strict=True)] for name, costs in files.items()}
    whole = [sum(column) for column in zip(*sums.values(), strict=True)] or [0.0, 0.0]
    lines = ["| file | cases | CPU s | s |", "|---|--:|--:|--:|"]
    lines += [row(name, len(files[name]), *sums[name]) for name in sorted(sums, key=sums.get, reverse=True)]
    lines += [row("all", len(cases), *whole), "", "| case | CPU s | s |", "|---|--:|--:|"]
    return lines + [row(name, *cases[name]) for name in sorted(cases, key=cases.get, reverse=True)[:DEAREST]]


def row(name, *numbers):
    """Return a line of a table."""
    return f"| {name} | " + " | ".join(str(one) if isinstance(one, int) else f"{one:.1f}" for one in numbers) + " |"
