"""What the exam shows on a terminal: progress while it runs, tables when it is done."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from markbook.cli.options import usage_text
from markbook.results.gates import Gate, GateMark, check_gates
from markbook.runs.exam.plan import ExamPlan, exam_signatures
from markbook.runs.kind import Planned, Progress as Step, Start, Watcher
from markbook.text import terminal
from markbook.text.format import NOTHING, Scale, format_interval, format_number, format_percent
from markbook.types import Verdict

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from markbook.files.jsonl import Rejection
    from markbook.results.compare import Baseline
    from markbook.runs.exam.check import BenchmarkCheck
    from markbook.runs.exam.score_tables import ErrorRecord, PassRecord, ScoreRecord
    from markbook.store import Run


_PLAIN_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal to draw on."""
_NAMED = 5
"""Lines of one topic, such as faults of a benchmark, that are shown without `--verbose`."""


class ExamTerminal(Watcher):
    """Progress on stderr: a live bar on a terminal, plain lines elsewhere."""

    def __init__(self, *, verbose: bool = False, gates: Sequence[Gate] = (), baseline: Baseline | None = None) -> None:
        self._verbose = verbose
        self._gates = gates
        self._baseline = baseline
        self._console = Console(stderr=True)
        self._live: tuple[Progress, TaskID] | None = None
        self._words = Start(0)
        self._total = self._done = self._passed = 0
        self._start = self._last = time.monotonic()
        self._fresh = 0
        self._said: Counter[str] = Counter()
        self._faults: list[str] = []
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._end_bar()
        elif self._live is not None:
            self._live[0].stop()

    def _end_bar(self) -> None:
        if self._live is not None:
            self._live[0].stop()
            self._live = None
        elif self._total:
            self._line()

    def on_plan(self, plan: Planned) -> None:
        """Say what was read, and what was skipped; refuse a gate that nothing can pass.

        Raises:
            UsageError: a gate names no model, or a model has no counterpart in the baseline.
        """
        assert isinstance(plan, ExamPlan)
        benchmark, answers = plan.paper, plan.answers
        check_gates(self._gates, [exam_mark(model) for model in plan.models])
        if self._baseline is not None:
            self._baseline.check(plan.models, signatures=exam_signatures(plan.manifest.config))
        sources = plan.manifest.extra["sources"] if self._verbose else {}
        for file in (*sources.get("benchmark_files", ()), *sources.get("solutions", ())):
            self._say(f"read {terminal(str(file))}")
        self._say_skipped("benchmark rows", len(benchmark.rejections), benchmark.rejections)
        for name, log in (
            ("invalid answers", answers.invalid),
            ("answers to unknown tasks", answers.unknown),
            ("repeated answers", answers.collapsed),
            ("answers that are null", answers.null),
        ):
            self._say_skipped(name, log.count, log.first)
        for warning in answers.warnings:
            self._say(f"warning: {warning}")
        self._faults = [f"{fault.task_id}, test {fault.test_index}: {fault.reason}" for fault in plan.faults]

    def _say_skipped(self, name: str, count: int, rows: Sequence[Rejection]) -> None:
        if count:
            self._say(f"skipped {count} {name}" + ("" if self._verbose else " (--verbose names them)"))
        for row in rows if self._verbose else ():
            self._say(f"  {row.at}: {row.reason}")

    def on_start(self, folder: Path, start: Start) -> None:
        """Begin a bar; the one before has come to its end."""
        self._end_bar()
        before = f", {start.done} {start.did} before" if start.done else ""
        self._say(f"{start.about}{before}" + (f"; writing to {folder}" if self._folder is None else ""))
        self._folder, self._words = folder, start
        for fault in self._faults[: None if self._verbose else _NAMED]:
            self._say(f"benchmark fault: {fault}; charged to nobody")
        self._faults = []
        self._total, self._done, self._passed, self._fresh = start.total, start.done, start.good, 0
        self._start = self._last = time.monotonic()
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
                TextColumn(f"{{task.fields[passed]}} {start.well}, {{task.fields[rate]}}/s"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            task = bar.add_task(start.doing, total=self._total, completed=self._done, passed=self._passed, rate="-")
            self._live = bar, task
            bar.start()

    def did(self, step: Step) -> None:
        """Move the bar."""
        self._done += 1
        self._fresh += 1
        self._passed += step.is_good
        now = time.monotonic()
        if self._verbose:
            words = "; ".join(part for part in (step.detail, terminal(step.trouble, limit=160)) if part)
            self._say(f"{terminal(step.name)}: {words}")
        if self._live is not None:
            if now - self._last >= 0.1 or self._done == self._total:
                self._last = now
                rate = f"{self._fresh / max(now - self._start, 1e-3):.0f}"
                bar, task = self._live
                bar.update(task, completed=self._done, passed=self._passed, rate=rate)
        elif now - self._last >= _PLAIN_EVERY:
            self._last = now
            self._line()

    def on_note(self, line: str, *, topic: str = "") -> None:
        """Say it, but of a topic only the first few."""
        self._said[topic] += 1
        if self._verbose or not topic or self._said[topic] <= _NAMED:
            self._say(line)

    def on_interrupt(self, folder: Path) -> None:
        """Say what goes on with it."""
        if self._live is not None:
            self._live[0].stop()
        what = f"{self._done} of {self._total} are {self._words.did}"
        self._say(f"{what}; go on with: markbook exam --resume {folder}")

    def _line(self) -> None:
        seconds = max(time.monotonic() - self._start, 1e-3)
        rate = self._fresh / seconds
        remaining = f", {(self._total - self._done) / rate:.0f} s left" if rate and self._done < self._total else ""
        self._say(
            f"{self._done}/{self._total} {self._words.did}, {self._passed} {self._words.well}, {rate:.0f}/s{remaining}"
        )

    def _say(self, text: str) -> None:
        self._console.print(Text(terminal(text)), soft_wrap=True, highlight=False)


def exam_mark(model: str, value: float | None = None) -> GateMark:
    """Return a model's exam score as a gate knows it."""
    return GateMark(model, (model, "exam_score", "total"), value)


def show_run(run: Run, *, as_json: bool) -> None:
    """Print a finished exam on stdout: its scores, its errors and where its files are."""
    if run.status == "incomplete":
        _show_incomplete(run, as_json=as_json)
        return
    from markbook.report.words import folder_names
    from markbook.results.files import read_record
    from markbook.runs.exam.score_tables import ErrorRecord, ScoreRecord, head_notes

    folders = folder_names(run.manifest["config"]["models"])
    scores = {
        model: read_record(run, f"{folder}/test_results_score.json", ScoreRecord) for model, folder in folders.items()
    }
    errors = {
        model: read_record(run, f"{folder}/test_results_errors.json", ErrorRecord) for model, folder in folders.items()
    }
    if as_json:
        models = {
            model: {"scores": scores[model], "errors": errors[model], "folder": folders[model]} for model in scores
        }
        _print_record(run, models)
        return
    from markbook.results.summary import methods_note, summarise_warnings

    console = Console(soft_wrap=False)
    for note in head_notes(run.manifest["config"]):
        console.print(Text(terminal(note)), soft_wrap=True)
    exact = {str(total["model"]): total for total in run.manifest.get("scores", ()) if total["metric"] == "exam_score"}
    console.print(_score_table(scores, exact))
    if methods := methods_note(
        total["method"] for record in scores.values() if (total := record["statistics"]["total"]["interval"])
    ):
        console.print(methods)
    if warning := summarise_warnings(_notes(scores)):
        console.print(Text(terminal(warning)), soft_wrap=True)
    _say_unchecked(console, scores)
    if (passes := _pass_table(scores)) is not None:
        console.print(passes)
    if any(record["total_errors"] for record in errors.values()):
        console.print(_error_table(errors))
    if usage := run.manifest.get("usage"):
        click.echo(usage_text(usage))
    reports = [run.folder / name for name in ("model_comparison_summary.md", "model_comparison.json", "report.html")]
    lines = [f"{run.folder / folder}/" for folder in folders.values()]
    lines += [str(report) for report in reports if report.exists()]
    for line in lines:
        console.print(Text(line), soft_wrap=True, highlight=False)


def _print_record(run: Run, models: Mapping[str, object]) -> None:
    """Print what `--json` says of a finished exam."""
    manifest = run.manifest
    record = {
        "run": str(run.folder),
        "status": run.status,
        "isolation": manifest.get("isolation"),
        **({"stopped": manifest["stopped"]} if "stopped" in manifest else {}),
        "models": models,
    }
    click.echo(json.dumps(record, indent=2, ensure_ascii=False))


def _show_incomplete(run: Run, *, as_json: bool) -> None:
    """Print an exam whose model left questions without an answer: what is marked, and what asks for the rest."""
    from markbook.runs.exam.results import ExamResults

    manifest = run.manifest
    results = ExamResults(run, manifest)
    overview = results.overview()
    if as_json:
        record = {
            "run": str(run.folder),
            "status": run.status,
            "usage": manifest["usage"],
            "unanswered": manifest["unanswered"],
            "overview": overview,
        }
        click.echo(json.dumps(record, indent=2, ensure_ascii=False))
        return
    for reason, count in manifest["unanswered"].items():
        click.echo(f"no answer ({count}): {terminal(reason, limit=300)}", err=True)
    click.echo(results.partial_note())
    for model, tally in results.tallies.items():
        click.echo(
            f"{terminal(model)}: {Scale((0.0, 1.0)).value(tally.exam_score().value)}, over the problems that are marked"
        )
    click.echo(usage_text(manifest["usage"]))
    click.echo(f"incomplete: `markbook exam --resume {run.folder}` asks for what is lacking", err=True)
    click.echo(str(run.folder))


def _say_unchecked(console: Console, scores: Mapping[str, ScoreRecord]) -> None:
    for model, record in scores.items():
        verdicts = record["verdicts"]
        if unchecked := verdicts.get("unchecked"):
            words = f"{model}: {unchecked} of {sum(verdicts['by_kind'].values())} verdicts unchecked: passes that may be forged"
            console.print(Text(terminal(words)), soft_wrap=True)


def _notes(scores: Mapping[str, ScoreRecord]) -> Iterator[tuple[str, str]]:
    """Yield what is to be said of each model's score and pass@k, with what it is called."""
    for model, record in scores.items():
        yield model, record["statistics"]["total"].get("note", "")
        for name, estimate in record.get("pass_at_k", {}).items():
            yield f"{model}'s {name}", estimate.get("note", "")


def _percents(exact: Mapping[str, Any] | None, record: ScoreRecord) -> tuple[float | None, float | None, float | None]:
    """Return a score and its interval in percent: of the run's record, for the documented file's are rounded already."""
    if exact is None:  # an earlier version's run
        interval = record["statistics"]["total"]["interval"]
        return record["total"], *((interval["low"], interval["high"]) if interval else (None, None))
    value, low, high = (None if exact[name] is None else 100 * exact[name] for name in ("value", "low", "high"))
    return value, low, high


def _score_table(scores: Mapping[str, ScoreRecord], exact: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(
        title="Scores in percent; an absent answer counts 0", title_justify="left", box=SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("model", overflow="fold", min_width=12)
    for name in ("score", "95 % interval", "attempted", "answered", "separated"):
        table.add_column(name, justify="right", no_wrap=True)
    best = sorted(scores.items(), key=lambda item: (item[1]["total"] is None, -(item[1]["total"] or 0.0), item[0]))
    for model, record in best:
        attempted, summary = record["statistics"]["total"], record["summary"]
        total, low, high = _percents(exact.get(model), record)
        table.add_row(
            Text(terminal(model)),
            format_number(total, 1),
            format_interval(low, high, 1),
            format_number(attempted["attempted_score"], 1),
            f"{summary['solutions_provided']}/{summary['total_problems']}",
            Scale((0.0, 1.0)).value(record["verdicts"]["separated_share"]),
        )
    return table


def _pass_table(scores: Mapping[str, ScoreRecord]) -> Table | None:
    """Return pass@k with its intervals; None where one sample a problem makes pass@1 say little beside the score."""
    ks = sorted({int(key[5:]) for record in scores.values() for key in record if key.startswith("pass@")})
    if len(ks) < 2:
        return None
    table = Table(title="pass@k in percent, 95 % intervals", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", overflow="fold", min_width=12)
    for k in ks:
        table.add_column(f"pass@{k}", justify="right")
    for model, record in scores.items():
        estimates = record.get("pass_at_k", {})
        table.add_row(Text(terminal(model)), *(_with_interval(record, estimates.get(f"pass@{k}"), k) for k in ks))
    return table


def _with_interval(record: ScoreRecord, error: PassRecord | None, k: int) -> str:
    value = format_number(cast("float | None", record.get(f"pass@{k}")), 1)
    low, high = (error.get("low"), error.get("high")) if error else (None, None)
    return value if low is None or high is None else f"{value} {format_interval(low, high, 1)}"


def _error_table(errors: Mapping[str, ErrorRecord]) -> Table:
    kinds = sorted({kind for record in errors.values() for kind in record["error_counts"]})
    table = Table(
        title="Errors by kind (a failed test is not an error)", title_justify="left", box=SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("model", overflow="fold", min_width=12)
    for name in (*(kind.removesuffix("Error") or "other" for kind in kinds), "all", "rate"):
        table.add_column(name, justify="right", no_wrap=True)
    for model, record in errors.items():
        counts = (str(record["error_counts"].get(kind, 0)) for kind in kinds)
        rate = record["error_rate"]
        table.add_row(
            Text(terminal(model)),
            *counts,
            str(record["total_errors"]),
            NOTHING if rate is None else f"{format_number(rate, 1)} %",
        )
    return table


def show_check(check: BenchmarkCheck) -> None:
    """Print what running the canonical solutions showed."""
    console = Console()
    share = "" if check.separated_share is None else f", {format_percent(check.separated_share)} of tests separated"
    others = {label: count for label, count in check.verdicts.items() if count and label != Verdict.SEPARATED}
    share += "".join(f", {count} {label.replace('_', ' ')}" for label, count in others.items())
    good = check.total - len(check.problems)
    what = "canonical solutions pass every time"
    if check.time_limit is not None:
        what = f"submissions get the verdict that their folder promises, at {check.time_limit:g} s a test"
    line = f"{check.benchmark}: {good} of {check.total} {what} (isolation {check.isolation}{share})"
    console.print(Text(terminal(line)), soft_wrap=True)
    if check.problems:
        table = Table(box=SIMPLE_HEAD)
        for name in ("task", "what", "passed", "detail"):
            table.add_column(name, overflow="fold")
        for problem in check.problems:
            table.add_row(
                Text(terminal(problem.task_id)),
                problem.kind,
                f"{problem.passed} of {problem.total}",
                Text(terminal(problem.detail, limit=120)),
            )
        console.print(table)
    for words in check.not_run:
        console.print(Text(terminal(f"not run: {words}")), soft_wrap=True)
    for fault in check.faults:
        console.print(
            Text(terminal(f"fault: {fault.task_id}, test {fault.test_index}: {fault.reason}")), soft_wrap=True
        )
    for weak in check.weak:
        which = "every test" if len(weak.tests) == weak.total else f"tests {', '.join(map(str, weak.tests[:5]))}"
        words = f"hint: {weak.task_id}: an answer that always returns {weak.answer} passes {which}"
        console.print(Text(terminal(words)), soft_wrap=True)
    if check.rejected_rows:
        print(f"{check.rejected_rows} rows were rejected", file=sys.stderr)  # noqa: T201 - beside the tables
