"""The page of a run of tasks and its tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markbook.report import charts
from markbook.report.page import MOST_BYTES, Chart, Page, Problem, Section, ShownAnswer
from markbook.report.words import chart_cells, summary_cells
from markbook.results.evidence import Room, collect_evidence
from markbook.results.files import collect_reasons, reasons_text
from markbook.results.sheet import Status, best_end, find_status, worst_status
from markbook.results.stopping import describe_stop
from markbook.results.summary import summarise_warnings
from markbook.runs.rows import chart_bars
from markbook.runs.tasks.summaries import (
    ContextGap,
    GroupRecord,
    TaskAnswer,
    TaskRecord,
    TasksSummary,
    TasksView,
    is_right,
    main_metric,
    question,
)
from markbook.text import cut
from markbook.text.format import NOTHING, PERCENT, Scale, format_level, format_number, format_p
from markbook.text.table import Table
from markbook.types import SIGNIFICANCE, Summary
from markbook.why import Evidence, Why, read_why

# A task run's numbers as tables: the same words in the terminal, in Markdown and in HTML.


def tables(summary: TasksSummary) -> list[Table]:
    """Return the tables of a `summary.json`: one a task, the groups, the comparisons."""
    tables = [_task(name, record) for name, record in summary["tasks"].items()]
    groups, reasons = [], []
    for name, record in summary["groups"].items():
        for key, metric in record["metrics"].items():
            total = Summary.from_record(metric)
            scale, method = Scale(total.range), "" if total.interval is None else f" ({total.interval.method})"
            numbers = scale.value(total.value), f"{scale.interval(total.interval)}{method}", str(total.n)
            over = f"{len(metric['tasks'])} of {len(record['tasks'])} tasks"
            groups.append((record["alias"] or name, key, *numbers, over))
            reasons += [f"{name}/{key}: {total.note}"] if total.note else []
    if groups:
        headers: tuple[str, ...] = ("group", "metric", "value", f"{format_level()} CI", "rows", "over")
        tables.append(Table("Groups", headers, tuple(groups), frozenset({2, 4}), "; ".join(reasons)))
    if summary["comparisons"]:
        gaps = [ContextGap.from_record(record) for record in summary["comparisons"]]
        rows = tuple(
            (f"{gap.first} - {gap.second}", gap.metric, scale.gap(gap.difference), scale.interval(gap.interval, signed=True),
             format_p(gap.p_adjusted), str(gap.n), gap.verdict)
            for gap, scale in zip(gaps, _gap_scales(gaps, summary["tasks"]), strict=True)
        )  # fmt: skip
        level = format_level(gap.interval for gap in gaps)
        headers = ("difference", "metric", "paired mean", f"{level} CI", "p (Holm)", "rows", "verdict")
        note = f"p is adjusted over all {gaps[0].family} comparisons of this table."
        tables.append(Table("Context modes compared, row by row", headers, rows, frozenset({2, 4, 5}), note))
    return [*tables, *_panel_tables(summary["tasks"])]


def _panel_tables(tasks: Mapping[str, TaskRecord]) -> list[Table]:
    """Return a table of how far the judges of each panel agree; none without panels."""
    rows: list[tuple[str, ...]] = []
    intervals = []
    for task, record in tasks.items():
        for metric, panel in (record.get("panels") or {}).items():
            numbers = Scale().value(panel["value"]), Scale().interval(panel["interval"])
            rows.append((task, metric, *numbers, str(panel["n"]), ", ".join(panel["judges"])))
            intervals.append(panel["interval"])
    headers = ("Task", "Metric", "Krippendorff's alpha", f"{format_level(intervals)} CI", "Rated", "Judges")
    return [Table("Agreement between judges", headers, tuple(rows), frozenset({2, 4}))] if rows else []


def _gap_scales(gaps: Iterable[ContextGap], tasks: Mapping[str, TaskRecord]) -> list[Scale]:
    """Return how the numbers of each difference are written: as those of its task."""
    return [Scale(Summary.from_record(tasks[gap.first]["metrics"][gap.metric]).range) for gap in gaps]


def summary_text(summary: TasksSummary) -> str:
    """Return `summary.md`."""
    stopped = "".join(f"{line}\n\n" for line in stop_lines(summary))
    return f"# Tasks\n\n{stopped}" + "\n".join(table.markdown() for table in tables(summary))


def stop_lines(summary: TasksSummary) -> list[str]:
    """Return what is to be said of a run that ended by a rule; nothing of any other."""
    if "stopped" not in summary:
        return []
    metrics = next(iter(summary["tasks"].values()))["metrics"]
    record = metrics.get(summary["stopped"].get("metric", ""), next(iter(metrics.values())))
    return describe_stop(summary["stopped"], Summary.from_record(record).range)


def _task(name: str, record: TaskRecord) -> Table:
    metrics = {key: Summary.from_record(metric) for key, metric in record["metrics"].items()}
    is_whole = not any(metric.n_missing for metric in metrics.values())
    rows = []
    for key, summary in metrics.items():
        interval, bounds, scale = summary.interval, summary.bounds, Scale(summary.range)
        name_shown = key if summary.direction == "higher" else f"{key} (lower is better)"
        numbers = scale.value(summary.value), scale.interval(interval), NOTHING if interval is None else interval.method
        cells: tuple[str, ...] = (name_shown, *numbers, f"{summary.n} of {record['rows']}")
        if not is_whole:
            missing = ", ".join(f"{count} {kind}" for kind, count in summary.n_missing.items())
            cells += (missing or NOTHING, scale.spread(*bounds) if missing and bounds else NOTHING)
        rows.append(cells)
    parts = [f"{record['rows']} rows, {record['answers']} answers"]
    for count, words in (
        (record["rows_rejected"], "rows could not be used"),
        (record["answers_rejected"], "answers could not be used"),
        (record["answers_unknown"], "answers to unknown rows"),
    ):
        if count:
            parts.append(f"{count} {words}")
    if warning := summarise_warnings((key, summary.note) for key, summary in metrics.items()):
        parts.append(warning)
    title = record["alias"] or name
    title = title if title == name else f"{title} ({name})"
    level = format_level(summary.interval for summary in metrics.values())
    headers = ("metric", "value", f"{level} CI", "method", "scored", *(() if is_whole else ("missing", "bounds")))
    return Table(title, headers, tuple(rows), frozenset({1}), "; ".join(parts))


# What a run of tasks shows of cost: each task's score against what its answers cost.


def cost_sections(view: TasksView) -> list[Section]:
    """Return score against cost by task; nothing where no answer's price is known.

    An unknown price is unknown, not 0: it is left out of the mean, counted, and a task without any is not drawn.
    """
    by_answer: dict[str, dict[tuple[Any, Any], float | None]] = {}
    for row in view.rows():
        if row.get("reply") is not None:  # an answer that several pipelines mark is one, and costs once
            cost = row.get("cost")
            by_answer.setdefault(str(row["task"]), {})[row["id"], row["index"]] = None if cost is None else float(cost)
    costs = {task: list(answer_costs.values()) for task, answer_costs in by_answer.items()}
    if not any(cost is not None for task_costs in costs.values() for cost in task_costs):
        return []
    lines, cells = [], []
    for task, record in view.summary["tasks"].items():
        task_costs = costs.get(task, [])
        known_costs = [cost for cost in task_costs if cost is not None]
        metric, first = next(iter(record["metrics"].items()))
        summary = Summary.from_record(first)
        value, interval = summary.value, summary.interval
        mean = math.fsum(known_costs) / len(known_costs) if known_costs else None
        lines.append(
            (task, NOTHING if mean is None else format_number(1000 * mean, 4), NOTHING if not known_costs else format_number(math.fsum(known_costs), 4),
             f"{len(known_costs)} of {len(task_costs)}", metric + ("" if summary.direction == "higher" else " (lower is better)"),
             Scale(summary.range).value(value))
        )  # fmt: skip
        # The chart's axis goes from 0 to 100; other metrics are in the table only.
        if mean is not None and value is not None and 0 <= value <= 1:
            low, high = (interval.low, interval.high) if interval else (value, value)
            cells.append({"name": task, "x": 1000 * mean, "value": 100 * value, "low": 100 * low, "high": 100 * high})
    headers = ("Task", "US$ for 1,000 answers", "US$ in all", "Price known", "Metric", "Value")
    note = "Each task's first metric. Answers without a known price are left out of the means, not counted as free."
    table = Table("Score and cost", headers, tuple(lines), frozenset({1, 2, 3, 5}), note=note)
    order = [str(cell["name"]) for cell in cells]
    picture = charts.scatter(cells, order, x_title="US$ for 1,000 answers", y_title="Value, 0 to 100")
    chart = Chart(picture, "Value of each task against the mean cost of its answers") if cells else None
    return [Section("cost", "Score against cost", "Further to the left is cheaper.", (table,), chart)]


# The page of a run of tasks: every metric with its interval, contexts compared, and the rows.

ROWS_SHOWN = 300
_TEXT_CAP = 8_000
_FAILURES, _PRINTED = 3, 500
"""Failed tests of an answer, and characters of what it printed, that a page has room for."""


def task_page(view: TasksView) -> Page:
    """Return everything that the report of a run of tasks shows."""
    summary = view.summary
    tasks = summary["tasks"]
    answers_by_row: dict[tuple[str, str], list[TaskAnswer]] = {}
    spent = 0
    # one row of results for each row of a task: one answer to each at most, one filter pipeline
    once = all(
        task["answers"] <= task["rows"] and not any("," in name for name in task["metrics"])
        for task in view.summary["tasks"].values()
    )
    for row in view.rows():
        key = (str(row["task"]), str(row["id"]))
        size = (
            len(str(row.get("prompt") or "")) + len(str(row.get("text") or "")) + len(str(row.get("references") or ""))
        )
        # Answers to a row that is shown are all shown, or it would look as if a model had not answered.
        if key not in answers_by_row and (len(answers_by_row) >= ROWS_SHOWN or spent + size > MOST_BYTES):
            if once:
                break  # no later row can belong to one that is shown
            continue
        # As much as the page will show of it: prompt, answer and references are each cut.
        spent += min(size, 3 * _TEXT_CAP)
        answers_by_row.setdefault(key, []).append(row)
    several = len({task for task, _ in answers_by_row}) > 1
    room = Room()
    problems = [
        _problem(view, task if several else "", sample, rows, room) for (task, sample), rows in answers_by_row.items()
    ]
    warnings = stop_lines(summary)
    for name, task in tasks.items():
        if task["answers"] < task["rows"]:
            warnings.append(f"{name}: rows without an answer: {task['rows'] - task['answers']} of {task['rows']}.")
        if task["rows_rejected"] or task["answers_rejected"]:
            rows_lost, answers_lost = task["rows_rejected"], task["answers_rejected"]
            warnings.append(f"{name}: unreadable rows: {rows_lost}; unreadable answers: {answers_lost}.")
    asks_model = bool(view.manifest.get("config", {}).get("model"))  # answers that existed already have no price here
    return Page(
        title="Tasks: " + ", ".join(list(tasks)[:4]) + (" and more" if len(tasks) > 4 else ""),
        facts=(
            ("Tasks", str(len(tasks))),
            ("Rows", str(sum(task["rows"] for task in tasks.values()))),
            ("Answers", str(sum(task["answers"] for task in tasks.values()))),
            ("Answered by", summary["model"] or "recorded answers"),
            ("Profile", str(summary["profile"])),
        ),
        warnings=tuple(warnings),
        sections=(*_sections(summary), *(cost_sections(view) if asks_model else ())),
        problems=tuple(problems),
        problems_total=sum(task["rows"] for task in tasks.values()),
        items="rows",
        models=tuple(dict.fromkeys(answer.model for problem in problems for answer in problem.answers)),
        topics=tuple(sorted(tasks)) if len(tasks) > 1 else (),
    )


def _sections(summary: TasksSummary) -> list[Section]:
    sections = [_metrics("metrics", "Metrics", summary["tasks"], f"Each metric's mean over the scored rows. {PERCENT}")]
    if summary["groups"]:
        lead = "Groups of tasks, by the rule that the group states."
        sections.append(_metrics("groups", "Groups", summary["groups"], lead))
    if panels := _panel_tables(summary["tasks"]):
        lead = "How far the judges of each panel agree, by criterion."
        sections.append(Section("panels", "Agreement between judges", lead, panels))
    if summary["comparisons"]:
        sections.append(_contexts(list(map(ContextGap.from_record, summary["comparisons"])), summary["tasks"]))
    return sections


def _metrics(name: str, title: str, tasks: Mapping[str, TaskRecord] | Mapping[str, GroupRecord], lead: str) -> Section:
    rows, cells, intervals = [], [], []
    for task, record in tasks.items():
        for metric, metric_record in record["metrics"].items():
            summary = Summary.from_record(metric_record)
            intervals.append(summary.interval)
            better = "" if summary.direction == "higher" else " (lower is better)"
            scale = Scale(summary.range)
            rows.append((task, metric + better, *summary_cells(summary, scale), summary.note))
            cells += chart_cells(metric, task, summary, scale)
    headers = ("Task", "Metric", "Value", f"{format_level(intervals)} CI", "Scored", "Missing", "Note")
    table = Table(title, headers, tuple(rows), frozenset({2, 3, 4}))
    metrics = list(dict.fromkeys(str(cell["group"]) for cell in cells))
    series = list(tasks)[:8]
    cells_shown = [cell for cell in cells if cell["series"] in series]
    chart = chart_bars(cells_shown, metrics, series, "Value", f"{title} by task")
    return Section(name, title, lead, (table,), chart)


def _contexts(gaps: Sequence[ContextGap], tasks: Mapping[str, TaskRecord]) -> Section:
    rows: list[tuple[str, ...]] = []
    cells: list[dict[str, object]] = []
    order: list[str] = []
    for gap, scale in zip(gaps, _gap_scales(gaps, tasks), strict=True):
        modes, ends = " − ".join(gap.contexts), gap.interval
        rows.append(
            (gap.metric, modes, gap.first, scale.gap(gap.difference), scale.interval(ends, signed=True), format_p(gap.p),
             format_p(gap.p_adjusted), str(gap.n), scale.value(gap.minimum_detectable_effect), gap.verdict)
        )  # fmt: skip
        if gap.difference is not None and ends is not None and len(cells) < 30:
            name = f"{gap.first[:24]} {gap.metric} {modes}"
            order.append(name)
            apart = (gap.p_adjusted or 1.0) < SIGNIFICANCE and (ends.low > 0 or ends.high < 0)
            verdict = "distinguishable" if apart else "not distinguishable"
            value, low, high = (scale.factor * number for number in (gap.difference, ends.low, ends.high))
            cells.append({"name": name, "value": value, "low": low, "high": high, "verdict": verdict})
    headers = (
        "Metric", "Contexts", "Task", "Difference", f"{format_level(gap.interval for gap in gaps)} CI", "p", "p adjusted",
        "Rows", "MDE", "Verdict",
    )  # fmt: skip
    note = "First context minus second. Adjusted by Holm over the whole table."
    table = Table("Contexts compared on the same rows", headers, tuple(rows), frozenset(range(3, 9)), note)
    lead = "What the model gains from context, row by row."
    chart = Chart(charts.forest(cells, order, "Difference"), "Paired differences between contexts") if cells else None
    return Section("contexts", "Contexts", lead, (table,), chart)


def _problem(view: TasksView, task: str, sample: str, rows: Sequence[TaskAnswer], room: Room) -> Problem:
    answers = []
    for row in rows:
        tests, model = row.get("tests"), str(row.get("model") or "answer")
        parts = [str(row["pipeline"])] if row.get("pipeline") else []
        words = f"{tests['error']} {tests['detail']}".strip() if tests and not tests["passed"] else ""
        answers.append(
            ShownAnswer(
                model=model,
                label=f"{model}, {' '.join([*parts, str(row['index'] + 1)])}" if len(rows) > 1 else model,
                status=answer_status(row, main_metric(view)[0]),
                passed=int(bool(tests and tests["passed"])),
                total=1 if tests else 0,
                code=cut(str(row.get("text") or ""), _TEXT_CAP),
                error=cut("; ".join(part for part in (words, reasons_text(row)) if part), 2000),
                note=", ".join(map(" ".join, row_facts(row, view))),
                why=row_why(row, brief=True),
                evidence=room(row_evidence(row, view)),
            )
        )
    outcomes: dict[str, tuple[str, Status, str]] = {}
    for row, answer in zip(rows, answers, strict=True):
        detail = next((" ".join(fact) for fact in row_facts(row, view) if fact[1] != NOTHING), "no value")
        is_named = answer.status in ("scored", "passed", "failed") and not answer.total
        # Of several answers the worst: a model that fails sometimes is not shown as passing.
        worst = outcomes.get(answer.model)
        if worst is None or worst_status(worst[1], answer.status) != worst[1]:
            outcomes[answer.model] = answer.model, answer.status, detail if is_named else ""
    prompt = cut(question(rows[0]), _TEXT_CAP)
    return Problem(sample, prompt, tuple(answers), tuple(outcomes.values()), topic=task)


def answer_status(row: TaskAnswer, metric: str) -> Status:
    """Return one word for a row: whether it is right by its tests or the run's main metric, else whether it could be scored."""
    return find_status(
        is_absent=row.get("text") is None,
        is_broken=any(reason.kind.is_ours for reason in collect_reasons(row).values()),
        is_empty=not row.get("tests") and not str(row.get("text") or "").strip(),
        all_passed=is_right(row, metric),
    )


def row_why(row: TaskAnswer, *, brief: bool = False) -> Why | None:
    """Return why an answer's tests failed, None where nothing is known of it."""
    why = read_why(row["tests"].get("why")) if row.get("tests") else None
    return why.brief(_FAILURES, _PRINTED) if why is not None and brief else why


def _row_summaries(row: TaskAnswer, view: TasksView) -> dict[str, Summary]:
    """Return the numbers of an answer's task, by the names that its row has for them."""
    task = view.summary["tasks"].get(row["task"])  # a damaged run may lack it
    records = task["metrics"] if task else {}
    return {key.partition(",")[0]: Summary.from_record(record) for key, record in records.items()}


def row_facts(row: TaskAnswer, view: TasksView) -> list[tuple[str, str]]:
    """Return an answer's numbers, the main metric's first, each on the scale of its metric."""
    scales = {name: Scale(summary.range) for name, summary in _row_summaries(row, view).items()}
    names = [name for name in dict.fromkeys((*scales, *row["metrics"])) if name in row["metrics"]]
    return [(name, scales.get(name, Scale()).value(row["metrics"][name])) for name in names]


def row_evidence(row: TaskAnswer, view: TasksView) -> tuple[Evidence, ...]:
    """Return everything that an answer's scores rest on."""
    summaries = _row_summaries(row, view)
    return collect_evidence(
        row["metrics"],
        row.get("stats") or {},
        row.get("text"),
        row.get("references") or (),
        best={name: best_end(summary.range, summary.direction) for name, summary in summaries.items()},
        compares=not row.get("tests") and not row.get("likelihoods"),
    )
