"""The page of a run of tasks: every metric with its interval, contexts compared, and the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from markbook.evidence import Evidence
from markbook.report import charts
from markbook.report.page import Chart, Page, Problem, Section, ShownAnswer
from markbook.report.words import ends_of, interval_text, missing_text
from markbook.results.evidence import Room, evidence_of
from markbook.results.kind import Status
from markbook.results.rows import reasons_of, reasons_text
from markbook.results.stopping import words_of
from markbook.runs.tasks.contexts import ContextGap
from markbook.runs.tasks.cost import cost_sections
from markbook.runs.tasks.pages.tables import panel_rows
from markbook.runs.tasks.published import AnswerRow, GroupRecord, TaskRecord, TasksSummary, TasksView
from markbook.text import Table, cut
from markbook.text.numbers import NOTHING, format_interval, format_number, format_p
from markbook.types import Summary
from markbook.why import Why, why_of

ROWS_SHOWN = 300
MOST_BYTES = 2_500_000
_TEXT_CAP = 8_000
_FAILURES, _PRINTED = 3, 500
"""Failed tests of an answer, and characters of what it printed, that a page has room for."""


def task_page(view: TasksView) -> Page:
    """Return everything that the report of a run of tasks shows."""
    summary = view.summary
    tasks = summary["tasks"]
    problems = _problems(view)
    asks_model = bool(view.manifest.get("config", {}).get("model"))  # answers that existed already have no price here
    return Page(
        title="Tasks: " + ", ".join(list(tasks)[:4]) + (" and more" if len(tasks) > 4 else ""),
        facts=(
            ("Tasks", str(len(tasks))),
            ("Rows", str(sum(task["rows"] for task in tasks.values()))),
            ("Answers", str(sum(task["answers"] for task in tasks.values()))),
            ("Model", summary["model"] or "recorded answers"),
            ("Profile", str(summary["profile"])),
        ),
        warnings=(*(words_of(summary["stopped"]) if "stopped" in summary else ()), *_warnings(tasks)),
        sections=(*_sections(summary), *(cost_sections(view) if asks_model else ())),
        problems=tuple(problems),
        problems_total=sum(task["rows"] for task in tasks.values()),
        items="rows",
        models=tuple(dict.fromkeys(answer.model for problem in problems for answer in problem.answers)),
        topics=tuple(sorted(tasks)) if len(tasks) > 1 else (),
    )


def _warnings(tasks: Mapping[str, TaskRecord]) -> list[str]:
    warnings = []
    for name, task in tasks.items():
        if task["answers"] < task["rows"]:
            warnings.append(f"{name}: {task['rows'] - task['answers']} of {task['rows']} rows have no answer.")
        if task["rows_rejected"] or task["answers_rejected"]:
            warnings.append(
                f"{name}: {task['rows_rejected']} rows and {task['answers_rejected']} answers could not be read."
            )
    return warnings


def _sections(summary: TasksSummary) -> list[Section]:
    sections = [
        _metrics("metrics", "Metrics", summary["tasks"], "Each metric's mean over the rows that could be scored.")
    ]
    if summary["groups"]:
        lead = "Groups of tasks, by the rule that the group states."
        sections.append(_metrics("groups", "Groups", summary["groups"], lead))
    if panels := panel_rows(summary["tasks"]):
        headers = ("Task", "Metric", "Krippendorff's alpha", "95 % interval", "Rated", "Judges")
        lead = "How far the judges of each panel say the same, criterion by criterion."
        table = Table("Agreement between judges", headers, tuple(panels), frozenset({2, 4}))
        sections.append(Section("panels", "Agreement between judges", lead, (table,)))
    if summary["comparisons"]:
        sections.append(_contexts([ContextGap.from_record(record) for record in summary["comparisons"]]))
    return sections


def _metrics(name: str, title: str, tasks: Mapping[str, TaskRecord] | Mapping[str, GroupRecord], lead: str) -> Section:
    rows, cells = [], []
    for task, record in tasks.items():
        for metric, metric_record in record["metrics"].items():
            summary = Summary.from_record(metric_record)
            better = "" if summary.direction == "higher" else " (lower is better)"
            rows.append(
                (task, metric + better, format_number(summary.value), interval_text(summary.interval),
                 f"{summary.n} of {summary.n_items}", missing_text(summary.n_missing), summary.note)
            )  # fmt: skip
            if summary.value is not None:
                cells.append({"group": metric, "series": task, "value": round(summary.value, 4), **ends_of(summary)})
    headers = ("Task", "Metric", "Value", "95 % interval", "Scored", "Missing", "Note")
    table = Table(title, headers, tuple(rows), frozenset({2, 3, 4}))
    metrics = list(dict.fromkeys(str(cell["group"]) for cell in cells))
    series = list(tasks)[:8]
    cells_shown = [cell for cell in cells if cell["series"] in series]
    ends = [float(str(cell[name])) for cell in cells for name in ("value", "low", "high") if cell.get(name) is not None]
    low, high = min([0.0, *ends]), max([1.0, *ends])
    chart = (
        Chart(charts.bars(cells_shown, metrics, series, "Value", (low, high)), f"{title} by task")
        if cells_shown
        else None
    )
    return Section(name, title, lead, (table,), chart)


def _contexts(gaps: Sequence[ContextGap]) -> Section:
    rows: list[tuple[str, ...]] = []
    cells: list[dict[str, object]] = []
    order: list[str] = []
    for gap in gaps:
        modes, ends = " − ".join(gap.contexts), gap.interval  # noqa: RUF001 - a minus sign
        span = None if ends is None else (ends.low, ends.high)
        rows.append(
            (gap.metric, modes, gap.first, format_number(gap.difference), NOTHING if span is None else format_interval(*span), format_p(gap.p),
             format_p(gap.p_adjusted), str(gap.n), format_number(gap.minimum_detectable_effect), gap.verdict)
        )  # fmt: skip
        if ends is not None and len(cells) < 30:
            name = f"{gap.first[:24]} {gap.metric} {modes}"
            order.append(name)
            apart = (gap.p_adjusted or 1.0) < 0.05 and (ends.low > 0 or ends.high < 0)
            verdict = "distinguishable" if apart else "not distinguishable"
            cells.append(
                {"name": name, "value": gap.difference, "low": ends.low, "high": ends.high, "verdict": verdict}
            )
    table = Table(
        title="Contexts compared on the same rows",
        headers=(
            "Metric",
            "Contexts",
            "Task",
            "Difference",
            "95 % interval",
            "p",
            "p adjusted",
            "Rows",
            "Detectable",
            "Verdict",
        ),
        rows=tuple(rows),
        numeric=frozenset({3, 4, 5, 6, 7, 8}),
        note="First context minus second. Adjusted by Holm over the whole table.",
    )
    lead = "What the model gains from context, row by row."
    chart = Chart(charts.forest(cells, order, "Difference"), "Paired differences between contexts") if cells else None
    return Section("contexts", "Contexts", lead, (table,), chart)


def _problems(view: TasksView) -> list[Problem]:
    """Return the first rows whole, as many as fit, with every answer to them."""
    answers_by_row: dict[tuple[str, str], list[AnswerRow]] = {}
    spent = 0
    once = all(_is_answered_once(task) for task in view.summary["tasks"].values())
    for row in view.rows():
        key = (str(row["task"]), str(row["id"]))
        size = (
            len(str(row.get("prompt") or "")) + len(str(row.get("text") or "")) + len(str(row.get("references") or ""))
        )
        if key not in answers_by_row and (len(answers_by_row) >= ROWS_SHOWN or spent + size > MOST_BYTES):
            if once:
                break  # no later row can belong to one that is shown
            continue
        spent += min(size, 3 * _TEXT_CAP)
        answers_by_row.setdefault(key, []).append(row)
    several = len({task for task, _ in answers_by_row}) > 1
    room = Room()
    return [_problem(task if several else "", sample, rows, room) for (task, sample), rows in answers_by_row.items()]


def _is_answered_once(task: TaskRecord) -> bool:
    """Whether a task has one row of results for each of its rows: one answer to each at most, one filter pipeline."""
    return task["answers"] <= task["rows"] and not any("," in name for name in task["metrics"])


def _problem(task: str, sample: str, rows: Sequence[AnswerRow], room: Room) -> Problem:
    answers = tuple(replace(_answer(row, several=len(rows) > 1), evidence=room(row_evidence(row))) for row in rows)
    references = "\n\n".join(f"Reference: {text}" for text in rows[0].get("references") or ())
    prompt = "\n\n".join(part for part in (rows[0].get("system"), rows[0].get("prompt"), references) if part)
    outcomes: dict[str, tuple[str, Status, str]] = {}
    for row, answer in zip(rows, answers, strict=True):
        first = next(((name, value) for name, value in row["metrics"].items() if value is not None), None)
        detail = f"{first[0]} {format_number(first[1])}" if first else "no value"
        outcomes.setdefault(answer.model, (answer.model, answer.status, detail if answer.status == "scored" else ""))
    return Problem(
        id=sample, topic=task, complexity="", kind="", prompt=cut(prompt, _TEXT_CAP), checks=(), answers=answers,
        outcomes=tuple(outcomes.values()),
    )  # fmt: skip


def answer_status(row: AnswerRow) -> Status:
    """Return one word for a row: how its tests ended if it has any, else whether it could be scored."""
    tests = row.get("tests")
    if row.get("text") is None:
        return "absent"
    if any(reason.kind.is_ours for reason in reasons_of(row).values()):
        return "error"
    if tests:
        return "passed" if tests["passed"] else "failed"
    return "scored" if str(row["text"]).strip() else "empty"


def row_why(row: AnswerRow, *, brief: bool = False) -> Why | None:
    """Return why an answer's tests failed, None where nothing is known of it."""
    why = why_of(row["tests"].get("why")) if row.get("tests") else None
    return why.brief(_FAILURES, _PRINTED) if why is not None and brief else why


def row_evidence(row: AnswerRow) -> tuple[Evidence, ...]:
    """Return everything that an answer's scores rest on."""
    return evidence_of(
        row["metrics"],
        row.get("stats") or {},
        row.get("text"),
        row.get("references") or (),
        compares=not row.get("tests") and not row.get("likelihoods"),
    )


def _answer(row: AnswerRow, *, several: bool) -> ShownAnswer:
    tests = row.get("tests")
    status = answer_status(row)
    model = str(row.get("model") or "answer")
    parts = [str(row["pipeline"])] if row.get("pipeline") else []
    label = f"{model}, {' '.join([*parts, str(row['index'] + 1)])}" if several else model
    words = f"{tests['error']} {tests['detail']}".strip() if tests and not tests["passed"] else ""
    values = ", ".join(f"{name} {format_number(value)}" for name, value in row["metrics"].items())
    return ShownAnswer(
        model=model,
        label=label,
        status=status,
        score=None,
        passed=int(bool(tests and tests["passed"])),
        total=1 if tests else 0,
        code=cut(str(row.get("text") or ""), _TEXT_CAP),
        error=cut("; ".join(part for part in (words, reasons_text(row)) if part), 2000),
        note=values,
        why=row_why(row, brief=True),
    )
