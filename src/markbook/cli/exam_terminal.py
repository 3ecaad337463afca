"""What the exam shows on a terminal: progress while it runs, tables when it is done."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, cast

import click
from rich.text import Text

from markbook.cli.terminal import NAMED, RunTerminal, output_console
from markbook.files.jsonl import Rejection
from markbook.report.words import costs
from markbook.results.gates import GateMark, check_gates
from markbook.results.summary import methods_note, summarise_warnings
from markbook.runs.exam.grading import exam_signatures
from markbook.runs.exam.plan import ExamPlan
from markbook.runs.kind import Planned
from markbook.store import Run
from markbook.text import Table, cut, terminal
from markbook.text.format import NOTHING, Scale, format_interval, format_level, format_number, format_percent
from markbook.types import Verdict

if TYPE_CHECKING:
    from markbook.runs.exam.check import BenchmarkCheck
    from markbook.runs.exam.score_tables import ErrorRecord, ScoreRecord


class ExamTerminal(RunTerminal):
    """Progress of an exam."""

    command = "exam"

    def on_plan(self, plan: Planned) -> None:
        """Say what was read, and what was skipped; refuse a gate that nothing can pass.

        Raises:
            UsageError: a gate names no model, or a model has no counterpart in the baseline.
        """
        assert isinstance(plan, ExamPlan)
        benchmark, answers = plan.paper, plan.answers
        check_gates(self._gates, [exam_mark(model) for model in plan.models])
        if self._baseline is not None:
            self._baseline.check(
                plan.models, GateMark("exam_score", ("exam_score",)), signatures=exam_signatures(plan.manifest.config)
            )
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
        # Said later, once the work begins: the plan may still be refused, and then nothing was excluded.
        faults = [
            f"broken test, excluded for all models: {fault.task_id}, test {fault.test_index}: {fault.reason}"
            for fault in plan.faults
        ]
        # A benchmark with many broken tests would push everything else off the screen.
        n_unnamed = 0 if self._verbose else max(0, len(faults) - NAMED)
        more = [f"and {n_unnamed} more broken tests (--verbose names them)"] if n_unnamed else []
        self._faults = [*faults[: len(faults) - n_unnamed], *more]

    def _say_skipped(self, name: str, count: int, rows: Sequence[Rejection]) -> None:
        if count:
            self._say(f"skipped {count} {name}" + ("" if self._verbose else " (--verbose names them)"))
        for row in rows if self._verbose else ():
            self._say(f"  {row.at}: {row.reason}")


class _Total(TypedDict):
    """What run.json says of a model's number, as it was before it was rounded."""

    model: str
    metric: str
    value: float | None
    low: float | None
    high: float | None


def exam_mark(model: str, value: float | None = None) -> GateMark:
    """Return a model's exam score as a gate knows it."""
    return GateMark(model, (model, "exam_score", "total"), value)


def show_run(run: Run, *, as_json: bool) -> None:
    """Print a finished exam on stdout: its scores, its errors and where its files are."""
    # The documented files are not there yet, so what is shown comes from the journal.
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
        manifest = run.manifest
        record = {
            "run": str(run.folder),
            "status": run.status,
            "isolation": manifest.get("isolation"),
            **({"stopped": manifest["stopped"]} if "stopped" in manifest else {}),
            "models": models,
        }
        click.echo(json.dumps(record, indent=2, ensure_ascii=False))
        return
    from markbook.results.files import read_part

    console = output_console()
    for note in head_notes(run.manifest["config"]):
        # As a `Text`, in which rich reads no markup, and unwrapped, so that a search finds the sentence whole.
        console.print(Text(terminal(note)), soft_wrap=True)
    totals = read_part(run, "scores", list[_Total], [])
    exact = {total["model"]: total for total in totals if total["metric"] == "exam_score"}
    console.print(_score_table(scores, exact).rich())
    if methods := methods_note(
        total["method"] for record in scores.values() if (total := record["statistics"]["total"]["interval"])
    ):
        console.print(methods)
    notes = [(model, record["statistics"]["total"].get("note", "")) for model, record in scores.items()]
    for model, record in scores.items():
        passes_by_k = record.get("pass_at_k", {}).items()
        notes += [(f"{model}'s {name}", estimate.get("note", "")) for name, estimate in passes_by_k]
    if warning := summarise_warnings(notes):
        console.print(Text(terminal(warning)), soft_wrap=True)
    for model, record in scores.items():
        verdicts = record["verdicts"]
        if unchecked := verdicts.get("unchecked"):
            of_all = f"{unchecked} of {sum(verdicts['by_kind'].values())} verdicts unchecked"
            console.print(Text(terminal(f"{model}: {of_all}: passes that may be forged")), soft_wrap=True)
    if (passes := _pass_table(scores)) is not None:
        console.print(passes.rich())
    if any(record["total_errors"] for record in errors.values()):
        console.print(_error_table(errors).rich())
    for who, words in costs(run.manifest):
        click.echo(f"{who}: {words}")
    reports = [run.folder / name for name in ("model_comparison_summary.md", "model_comparison.json", "report.html")]
    lines = [f"{run.folder / folder}/" for folder in folders.values()]
    lines += [str(report) for report in reports if report.exists()]
    for line in lines:
        console.print(Text(line), soft_wrap=True, highlight=False)


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
    click.echo(results.partial_note())
    for model, tally in results.tallies.items():
        click.echo(
            f"{terminal(model)}: {Scale((0.0, 1.0)).value(tally.exam_score().value)}, over the problems that are marked"
        )
    for who, words in costs(manifest):
        click.echo(f"{who}: {words}")
    click.echo(str(run.folder))


def _score_table(scores: Mapping[str, ScoreRecord], exact: Mapping[str, _Total]) -> Table:
    rows = []
    # Models without a score come last, equal ones by name.
    best = sorted(scores.items(), key=lambda item: (item[1]["total"] is None, -(item[1]["total"] or 0.0), item[0]))
    for model, record in best:
        attempted, summary = record["statistics"]["total"], record["summary"]
        if (total := exact.get(model)) is not None:
            # Of the run's own record: the documented file's numbers are rounded already.
            score, low, high = (
                None if (share := total[end]) is None else 100 * share for end in ("value", "low", "high")
            )
        else:  # an earlier version's run
            interval = attempted["interval"]
            score, low, high = record["total"], interval and interval["low"], interval and interval["high"]
        numbers = format_number(score, 1), format_interval(low, high, 1), format_number(attempted["attempted_score"], 1)
        answered = f"{summary['solutions_provided']}/{summary['total_problems']}"
        rows.append((model, *numbers, answered, Scale((0.0, 1.0)).value(record["verdicts"]["separated_share"])))
    level = format_level(record["statistics"]["total"]["interval"] for record in scores.values())
    headers = ("model", "score", f"{level} CI", "attempted", "answered", "separated")
    return Table(
        "Scores in percent; a missing answer scores 0", headers, tuple(rows), frozenset(range(1, len(headers)))
    )


def _pass_table(scores: Mapping[str, ScoreRecord]) -> Table | None:
    """Return pass@k with its intervals; None where one sample a problem makes pass@1 say little beside the score."""
    # The documented file has each pass@k beside the other scores, under a key of its own.
    names = list(dict.fromkeys(name for record in scores.values() for name in record.get("pass_at_k", {})))
    if len(names) < 2:
        return None
    rows = []
    for model, record in scores.items():
        cells = []
        for name in names:
            value = format_number(cast("float | None", record.get(name)), 1)
            estimate = record.get("pass_at_k", {}).get(name) or {}
            low, high = estimate.get("low"), estimate.get("high")
            cells.append(value if low is None or high is None else f"{value} {format_interval(low, high, 1)}")
        rows.append((model, *cells))
    headers = ("model", *names)
    return Table(f"pass@k in percent, {format_level()} CIs", headers, tuple(rows), frozenset(range(1, len(headers))))


def _error_table(errors: Mapping[str, ErrorRecord]) -> Table:
    kinds = sorted({kind for record in errors.values() for kind in record["error_counts"]})
    rows = [
        (
            model,
            *(str(record["error_counts"].get(kind, 0)) for kind in kinds),
            str(record["total_errors"]),
            NOTHING if record["error_rate"] is None else f"{format_number(record['error_rate'], 1)} %",
        )
        for model, record in errors.items()
    ]
    headers = ("model", *(kind.removesuffix("Error") or "other" for kind in kinds), "all", "rate")
    title = "Errors by kind (a failed test is not an error)"
    return Table(title, headers, tuple(rows), frozenset(range(1, len(headers))))


def show_check(check: BenchmarkCheck) -> None:
    """Print what running the canonical solutions showed."""
    console = output_console()
    share = "" if check.separated_share is None else f", {format_percent(check.separated_share)} of tests separated"
    others = {label: count for label, count in check.verdicts.items() if count and label != Verdict.SEPARATED}
    share += "".join(f", {count} {label.replace('_', ' ')}" for label, count in others.items())
    good = check.total - len(check.problems)
    what = "canonical solutions pass every time"
    if check.time_limit is not None:
        what = f"submissions get the verdict that their folder states, at {check.time_limit:g} s a test"
    line = f"{check.benchmark}: {good} of {check.total} {what} (isolation {check.isolation}{share})"
    console.print(Text(terminal(line)), soft_wrap=True)
    if check.problems:
        rows = (
            (problem.task_id, problem.kind, f"{problem.passed} of {problem.total}", cut(problem.detail, 120))
            for problem in check.problems
        )
        console.print(Table("Problems that fail or flip", ("task", "what", "passed", "detail"), tuple(rows)).rich())
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
        click.echo(f"{check.rejected_rows} rows were rejected", err=True)
