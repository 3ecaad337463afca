"""CPU seconds of every case, so that nobody has to guess where the time of the suite goes: `make test-times`.

Processor time, not the clock's: it hardly changes with what else the machine does. A case is charged from the start of its
fixtures to the end of their teardown, with the child processes that were waited for by then; what a fixture of a whole
module starts and ends is charged to the case that was first or last, so the sum of a file is right. A child that nobody
waits for is not seen.
"""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

DEAREST = 50


def cpu_seconds():
    """Return the processor time of this process and of every child that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Times:
    """Measures in each worker; adds up and prints in the process that the user started."""

    def __init__(self, path):
        """Append a line for each case to this file, so that a run which is cut short leaves what it measured."""
        self.path = Path(path)
        self.cases = {}
        self._begin = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self):
        """Begin a case."""
        self._begin = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call):
        """Write the cost into the last of a case's three reports, which xdist carries over."""
        report = yield
        if call.when == "teardown":
            report.cpu_seconds = cpu_seconds() - self._begin
        return report

    def pytest_runtest_logreport(self, report):
        """Keep what a case cost; in a worker of xdist the parent does it."""
        if report.when != "teardown" or "PYTEST_XDIST_WORKER" in os.environ:
            return
        self.cases[report.nodeid] = report.cpu_seconds
        with self.path.open("a", encoding="utf-8", newline="\n") as lines:
            lines.write(json.dumps([report.nodeid, round(report.cpu_seconds, 3)]) + "\n")

    def pytest_terminal_summary(self, terminalreporter):
        """Print both tables."""
        terminalreporter.section(f"CPU seconds, also in {self.path}")
        for line in tables(self.cases):
            terminalreporter.write_line(line)


def tables(cases):
    """Return the lines of two Markdown tables: the files, and the cases that cost most."""
    files, counts = defaultdict(float), defaultdict(int)
    for case, seconds in cases.items():
        files[case.partition("::")[0]] += seconds
        counts[case.partition("::")[0]] += 1
    lines = ["| file | cases | CPU s |", "|---|--:|--:|"]
    lines += [f"| {name} | {counts[name]} | {files[name]:.1f} |" for name in sorted(files, key=files.get, reverse=True)]
    lines += [f"| all | {len(cases)} | {sum(files.values()):.1f} |", "", "| case | CPU s |", "|---|--:|"]
    return lines + [f"| {name} | {cases[name]:.1f} |" for name in sorted(cases, key=cases.get, reverse=True)[:DEAREST]]
