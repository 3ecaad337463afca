"""What a simple kind of run publishes, and what every command and report makes of it.

Such a run leaves one row an attempt in `results.jsonl` and its metrics in `summary.json`; comparison, page, gates,
the other formats and the list of attempts follow from these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

from markbook.errors import UsageError, suggest
from markbook.marks import Column, Row, RowRecord
from markbook.report import charts
from markbook.report.page import Chart, Page, Problem, Section, ShownAnswer
from markbook.report.words import missing_text
from markbook.results.alignment import digest
from markbook.results.comparison import run_headline
from markbook.results.files import SCHEMA, FilesView, get_value, reasons_text
from markbook.results.kind import Content, Entry, Shown
from markbook.results.leaderboard import standings
from markbook.results.sheet import CLUSTER, Cell, Sheet, Status, find_status, make_cell
from markbook.results.summary import methods_note, sentences, summarise_warnings
from markbook.text import Table, cut
from markbook.text.format import Scale, format_level
from markbook.types import Direction, Missing, SummaryRecord, range_record, read_range

__all__ = ["Column", "Row", "RowRecords", "RowsResults", "render_rows", "row_status", "summarise_rows"]

_TEXT_CAP = 200_000


class MetricSummary(TypedDict):
    """One metric of a run, and every model's number."""

    range: list[float | None]
    direction: Direction
    is_verdict: NotRequired[bool]
    note: NotRequired[str]
    models: dict[str, SummaryRecord]


class RowsSummary(TypedDict):
    """The content of summary.json."""

    schema: int
    metrics: dict[str, MetricSummary]


def render_rows(rows: Iterable[Row], metrics: Mapping[str, Column]) -> dict[str, Content]:
    """Return `results.jsonl` and `summary.json` of a run: what `RowsResults` reads; the main metric stands first.

    The rows, one an attempt, stand in an order that does not depend on luck.
    """
    # The rows are gone through once for the file and once a metric, which a generator does not stand.
    records = RowRecords(rows if isinstance(rows, Sequence) else list(rows))
    lines = (json.dumps(record, ensure_ascii=False, allow_nan=False, sort_keys=True) + "\n" for record in records)
    summary = json.dumps(summarise_rows(records, metrics), indent=2, ensure_ascii=False, allow_nan=False)
    return {"results.jsonl": lines, "summary.json": summary + "\n"}


class RowRecords:
    """Rows as results.jsonl holds them, made again whenever somebody goes through them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[RowRecord]:
        return (row.record() for row in self._rows)


def summarise_rows(records: Iterable[RowRecord], metrics: Mapping[str, Column]) -> RowsSummary:
    """Return what `summary.json` says of published rows, which are gone through once a metric."""
    return {
        "schema": SCHEMA,
        "metrics": {
            name: {
                "range": range_record(column.range),
                "direction": column.direction,
                **({"is_verdict": True} if column.is_verdict else {}),  # type: ignore[typeddict-item]  # a key or none
                **({"note": column.note} if column.note else {}),  # type: ignore[typeddict-item]  # likewise
                "models": {
                    standing.model: standing.summary.to_record()
                    for standing in standings(_sheet(records, name, column))
                },
            }
            for name, column in metrics.items()
        },
    }


def _sheet(records: Iterable[RowRecord], metric: str, column: Column) -> Sheet:
    values_by_model: dict[str, dict[str, list[float | Missing]]] = {}
    digests: dict[str, str] = {}
    meta: dict[str, dict[str, str]] = {}
    loose = False
    for record in records:
        sample = str(record["id"])
        if metric in record["metrics"]:
            value = get_value(record["metrics"], metric, record)
            values_by_model.setdefault(str(record["model"]), {}).setdefault(sample, []).append(value)
            content = record.get("content")
            if record.get("cluster"):
                meta[sample] = {CLUSTER: str(record["cluster"])}
            # Ids of another tool may be nobody else's: such rows are paired by the content that their reader gave.
            loose = loose or content is not None
            # where nobody says what was asked, its id alone says which sample it is
            prompt_digest = digest([sample, record["prompt"]]) if record["prompt"] else ""
            # The first row of a sample that says what was asked says it for all: attempts at one sample share it.
            digests[sample] = digests.get(sample) or (str(content) if content is not None else prompt_digest)
    marks: dict[str, dict[str, Cell]] = {}
    for model in list(values_by_model):
        samples = values_by_model.pop(model)  # so that not all are there twice
        marks[model] = {}
        for sample, values in samples.items():
            verdicts = (None if isinstance(value, Missing) else value == 1 for value in values)
            marks[model][sample] = make_cell(values, column.range, verdicts if column.is_verdict else ())
    return Sheet(metric, marks, column.range, column.direction, meta, digests=digests, loose=loose)


class RowsResults(FilesView[RowRecord, RowsSummary]):
    """The results of a run that was `published` as rows."""

    @property
    def columns(self) -> dict[str, Column]:
        """The run's metrics, the main one first."""
        return {
            name: Column(read_range(of["range"]), of["direction"], of.get("is_verdict", False), of.get("note", ""))
            for name, of in self.summary["metrics"].items()
        }

    def sheet(self, metric: str | None) -> Sheet:
        """Return one metric's marks, of the main one if none is named.

        Raises:
            UsageError: the run has no such metric.
        """
        columns = self.columns
        chosen = metric or next(iter(columns), "")
        if chosen not in columns:
            raise UsageError(f"the run has no metric {chosen!r}", hint=suggest(chosen, list(columns)))
        sheet = _sheet(self.rows(), chosen, columns[chosen])
        notes = (*self.notes(), *filter(None, [columns[chosen].note]))
        return replace(sheet, notes=notes, signatures=self.signatures(chosen))

    @property
    def main(self) -> tuple[str, Column]:
        """The main metric; one without a name where the run has none."""
        return next(iter(self.columns.items()), ("", Column()))

    @property
    def direction(self) -> Direction:
        """Which way is better by the main metric."""
        return self.main[1].direction

    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the numbers has to know of how they were read: nothing of a run of ours."""
        return ()

    def signatures(self, metric: str) -> Mapping[str, str]:
        """Return by task how a metric was measured, as far as that is known."""
        return {}

    def page(self) -> Page:
        """Return a table of each metric, and the first samples with every attempt at them."""
        places = {name: standings(self.sheet(name)) for name in self.columns}
        models = list(dict.fromkeys(standing.model for several in places.values() for standing in several))
        problems = list(_problems(self))
        sections = []
        for metric, several in places.items():
            summaries = [standing.summary for standing in several]
            rows = [
                (summary.group, scale.value(summary.value), scale.interval(summary.interval),
                 f"{summary.n} of {summary.n_items}", missing_text(summary.n_missing))
                for summary, scale in ((summary, Scale(summary.range)) for summary in summaries)
            ]  # fmt: skip
            level = format_level(summary.interval for summary in summaries)
            headers = ("Model", "Mean", f"{level} CI", "Scored", "Missing")
            methods = methods_note(summary.interval.method for summary in summaries if summary.interval is not None)
            warning = summarise_warnings((summary.group, summary.note) for summary in summaries)
            note = sentences((methods, warning, self.columns[metric].note))
            table = Table(metric, headers, tuple(rows), frozenset({1, 2, 3}), note)
            lead = f"The mean over the samples; {summaries[0].direction if summaries else 'higher'} is better."
            sections.append(Section(f"metric-{metric}", metric, lead, (table,)))
        return Page(
            title=self.command.capitalize(),
            facts=(("Models", str(len(models))), ("Samples", str(len(problems)))),
            warnings=self.notes(),
            sections=tuple(sections),
            problems=tuple(problems[:SHOWN]),
            problems_total=len(problems),
            headline=run_headline(self, "samples"),
            items="samples",
            models=tuple(models),
        )

    def entries(self) -> Iterator[Entry]:
        """Yield every attempt with its mark by the main metric."""
        main, column = self.main
        for location, row in self.located_rows():
            value = row["metrics"].get(main)
            status = row_status(row, main if column.is_verdict else "")
            yield Entry(location, str(row["model"]), str(row["id"]), status, value)

    def show_attempt(self, location: int) -> Shown:
        """Return the attempt whose row begins at a place of results.jsonl.

        Raises:
            ValueError: none begins there.
        """
        row = self.row_at(location)
        main, column = self.main
        status = row_status(row, main if column.is_verdict else "")
        scales = {name: Scale(metric.range) for name, metric in self.columns.items()}
        facts = tuple((name, scales[name].value(value)) for name, value in row["metrics"].items() if value is not None)
        text = cut(str(row["text"]), _TEXT_CAP)
        return Shown(str(row["model"]), str(row["id"]), status, facts, str(row["prompt"]), text, reasons_text(row))


def row_status(row: RowRecord, verdict: str = "") -> Status:
    """Return how an attempt stands: marked by all its metrics, by some, or by none.

    `verdict` is the metric that says whether all tests passed; empty where none does.
    """
    values = list(row["metrics"].values())
    verdict_value = row["metrics"].get(verdict)
    n_values = sum(value is not None for value in values)
    return find_status(
        is_absent=bool(values) and not n_values,
        all_passed=None if verdict_value is None else verdict_value == 1,
        is_complete=n_values == len(values),
    )


# The page of a run that was published as rows.

SHOWN = 300
_ROWS_PAGE_TEXT_CAP = 8_000


def chart_bars(
    cells: Sequence[Mapping[str, Any]], groups: Sequence[str], series: Sequence[str], axis: str, alt: str
) -> Chart | None:
    """Return bars of these values (group, series, value, and low and high where known); None without any.

    The axis begins at 0 and holds the `full` scale of each; documented formulas and perplexities leave that range.
    """
    ends = [float(cell[name]) for cell in cells for name in ("value", "low", "high", "full") if name in cell]
    domain = min([0.0, *ends]), max([1.0, *ends])
    return Chart(charts.bars(cells, groups, series, axis, domain), alt) if cells else None


def _problems(results: RowsResults) -> Iterator[Problem]:
    """Yield each sample with its attempts, in order of first appearance."""
    main, column = results.main
    problems: dict[str, tuple[str, list[ShownAnswer]]] = {}
    for row in results.rows():
        value = row["metrics"].get(main)
        label = f"{row['model']} [{row['index']}]" if row["index"] else str(row["model"])
        text = cut(str(row["text"]), _ROWS_PAGE_TEXT_CAP)
        status = row_status(row, main if column.is_verdict else "")
        answer = ShownAnswer(str(row["model"]), label, status, value, code=text, error=reasons_text(row))
        # Grouped by id, for the attempts at a sample need not stand one behind the other in another tool's file.
        problems.setdefault(str(row["id"]), (str(row["prompt"]), []))[1].append(answer)
    for name, (prompt, answers) in problems.items():
        outcomes = tuple(
            (shown_answer.model, shown_answer.status, Scale(column.range).value(shown_answer.score))
            for shown_answer in answers
        )
        yield Problem(name, prompt, tuple(answers), outcomes, kind="sample")
