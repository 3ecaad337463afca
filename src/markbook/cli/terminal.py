"""What a run of any kind shows on a terminal while it works, and the console that its tables are printed on.

Theory of operation
-------------------
`RunTerminal` is the one watcher of all commands that make runs. What it prints goes to standard error, so that standard output
holds results only. A kind of run adds `on_plan`: what of its inputs was skipped, and whether its gates and its baseline can be
held at all, which is refused before anything is written or paid.

On a terminal there is a live bar; elsewhere, in a log or a pipe, a line every few seconds and one at the end. While the bar is
live every other line is printed through the same console: rich lifts the bar, prints and draws it again. Words of files and
models are foreign, so each line passes `terminal`, which leaves no control character in it.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.text import Text

from markbook.runs.kind import Planned, Progress as Step, Start, Watcher
from markbook.text import terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from markbook.results.compare import Baseline
    from markbook.results.gates import Gate

PIPED = 240
"""Columns of a table that goes into a pipe or a file: nothing is cut there, and a search for words finds them whole."""
_PLAIN_EVERY = 5.0
"""Seconds between two lines of progress without a terminal to draw on."""
NAMED = 5
"""Lines of one topic, such as faults of a benchmark, that are shown without `--verbose`."""


def output_console() -> Console:
    """Return the console of standard output, as wide as the terminal, or as tables need where there is none."""
    return Console(emoji=False) if sys.stdout.isatty() else Console(width=PIPED, emoji=False)


class RunTerminal(Watcher):
    """Progress on stderr: a live bar on a terminal, plain lines elsewhere."""

    command = ""
    """The command that goes on with a run of this kind."""
    counts = True
    """Whether the pieces of work are counted as they are done; a kind may say by itself how far it is."""
    names_reasons = False
    """Whether it is said at the end why pieces of work went wrong."""

    def __init__(self, *, verbose: bool = False, gates: Sequence[Gate] = (), baseline: Baseline | None = None) -> None:
        self._verbose = verbose
        self._gates = gates
        self._baseline = baseline
        self._console = Console(stderr=True)
        self._live: tuple[Progress, TaskID] | None = None
        self._start = Start(0)
        self._done = self._good = self._fresh = 0
        self._started = self._last = time.monotonic()
        self._topics: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._folder: Path | None = None
        self._faults: Iterable[str] = ()
        """What the plan found to be said once the work begins."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # After an error no last line is written: its count would look like an end.
        if kind is None:
            self._end_bar()
        elif self._live is not None:
            self._live[0].stop()
        for reason, count in self._reasons.items():
            self._say(f"no answer ({count} of {self._start.total}): {reason}")

    def on_start(self, folder: Path, start: Start) -> None:
        """Begin a bar; the one before has come to its end."""
        if not self.counts:
            return
        self._end_bar()
        before = f", {start.done} {start.did} before" if start.done else ""
        self._say(f"{start.about}{before}" + (f"; writing to {folder}" if self._folder is None else ""))
        self._folder, self._start = folder, start
        for fault in self._faults:
            self._say(fault)
        self._faults = ()
        self._done, self._good, self._fresh = start.done, start.good, 0
        self._started = self._last = time.monotonic()
        if self._console.is_terminal:
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn(f"{{task.fields[good]}} {start.well}, {{task.fields[rate]}}/s"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            task = bar.add_task(start.doing, total=start.total, completed=self._done, good=self._good, rate="-")
            self._live = bar, task
            bar.start()

    def did(self, step: Step) -> None:
        """Move the bar."""
        if not self.counts:
            return
        self._done += 1
        self._fresh += 1
        self._good += step.is_good
        if self.names_reasons and not step.is_good:
            self._reasons[terminal(step.trouble, limit=200)] += 1
        now = time.monotonic()
        if self._verbose and not self.names_reasons:
            words = "; ".join(part for part in (step.detail, terminal(step.trouble, limit=160)) if part)
            self._say(f"{terminal(step.name)}: {words}")
        if self._live is not None:
            # Ten times a second is as often as anybody can read; the last piece is drawn in any case.
            if now - self._last >= 0.1 or self._done == self._start.total:
                self._last = now
                rate = f"{self._fresh / max(now - self._started, 1e-3):.0f}"
                bar, task = self._live
                bar.update(task, completed=self._done, good=self._good, rate=rate)
        elif now - self._last >= _PLAIN_EVERY:
            self._last = now
            self._line()

    def on_note(self, line: str, *, topic: str = "") -> None:
        """Say it, but of a topic only the first few."""
        self._topics[topic] += 1
        # Notes without a topic are single ones, and all are said.
        if self._verbose or not topic or self._topics[topic] <= NAMED:
            self._say(line)

    def on_interrupt(self, folder: Path) -> None:
        """Say what goes on with it."""
        if self._live is not None:
            self._live[0].stop()
        before = f"{self._done} of {self._start.total} are {self._start.did}; " if self._start.total else ""
        self._say(f"{before}continue with: markbook {self.command} --resume {folder}")

    def _end_bar(self) -> None:
        if self._live is not None:
            self._live[0].stop()
            self._live = None
        elif self._start.total:
            self._line()

    def _line(self) -> None:
        start, seconds = self._start, max(time.monotonic() - self._started, 1e-3)
        rate = self._fresh / seconds
        remaining = f", {(start.total - self._done) / rate:.0f} s left" if rate and self._done < start.total else ""
        self._say(f"{self._done}/{start.total} {start.did}, {self._good} {start.well}, {rate:.0f}/s{remaining}")

    def _say_inputs(self, plan: Planned) -> None:
        """Say which inputs differ from those of the run that decides when to stop."""
        if against := plan.manifest.extra["sources"].get("against"):
            from markbook.results.compare import say_other_inputs
            from markbook.store import find_run, open_run

            if words := say_other_inputs([open_run(find_run(against))], plan.manifest):
                self._say(f"markbook: {words}")

    def _say(self, text: str, *, limit: int | None = None) -> None:
        self._console.print(Text(terminal(text, limit=limit)), soft_wrap=True, highlight=False)


class ReviewTerminal(RunTerminal):
    """Progress of a review: its tiers say by themselves how far they are."""

    command = "review"
    counts = False

    def on_plan(self, plan: Planned) -> None:
        """Say what of the configuration is not used; refuse a baseline that nothing can be held against.

        Raises:
            UsageError: the baseline lacks a counterpart of a system.
        """
        from markbook.results.gates import GateMark
        from markbook.runs.reviews.finished import COMPOSITE, review_signatures
        from markbook.runs.reviews.review import ReviewPlan

        assert isinstance(plan, ReviewPlan)
        for note in plan.config.notes:
            self._say(f"markbook: {note}")
        if plan.config.judge_name and set(plan.options.judges) <= {"off"}:
            self._say(f"markbook: the config names the judge {plan.config.judge_name!r}; it is asked only with --judge")
        if self._baseline is not None:
            signatures = review_signatures(plan.manifest.config)
            systems = sorted({attempt.model for attempt in plan.attempts})
            self._baseline.check(systems, GateMark(COMPOSITE, (COMPOSITE,)), signatures=signatures)
