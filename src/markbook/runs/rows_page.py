"""The page of a run that was published as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markbook.marks import Column
from markbook.report.page import Page, Problem, Section, ShownAnswer
from markbook.report.words import missing_text
from markbook.results.headline import run_headline
from markbook.results.rows import reasons_text
from markbook.results.standing import Standing, standings
from markbook.results.summary import methods_note
from markbook.runs.rows import RowsResults, status_of
from markbook.text import Table, cut
from markbook.text.numbers import NOTHING, format_interval, format_number
from markbook.types import Interval

SHOWN = 300
_TEXT_CAP = 8_000


def rows_page(results: RowsResults) -> Page:
    """Return a table of each metric, and the first samples with every attempt at them."""
    places = {name: standings(results.sheet(name)) for name in results.columns}
    models = list(dict.fromkeys(standing.model for several in places.values() for standing in several))
    problems = list(_problems(results))
    return Page(
        title=results.command.capitalize(),
        facts=(("Models", str(len(models))), ("Samples", str(len(problems)))),
        warnings=(),
        sections=tuple(_section(name, several) for name, several in places.items()),
        problems=tuple(problems[:SHOWN]),
        problems_total=len(problems),
        headline=run_headline(results, "samples"),
        items="samples",
        models=tuple(models),
    )


def _section(metric: str, places: Sequence[Standing]) -> Section:
    summaries = [standing.summary for standing in places]
    rows = tuple(
        (
            summary.group,
            format_number(summary.value),
            _interval(summary.interval),
            f"{summary.n} of {summary.n_items}",
            missing_text(summary.n_missing),
        )
        for summary in summaries
    )
    headers = ("Model", "Mean", "95 % interval", "Scored", "Missing")
    note = methods_note(summary.interval.method for summary in summaries if summary.interval is not None)
    table = Table(metric, headers, rows, frozenset({1, 2, 3}), note)
    better = summaries[0].direction if summaries else "higher"
    return Section(f"metric-{metric}", metric, f"The mean over the samples; {better} is better.", (table,))


def _interval(interval: Interval | None) -> str:
    return NOTHING if interval is None else format_interval(interval.low, interval.high)


def _problems(results: RowsResults) -> Iterator[Problem]:
    """Yield each sample with its attempts, in order of first appearance."""
    main, column = next(iter(results.columns.items()), ("", Column()))
    problems: dict[str, tuple[str, list[ShownAnswer]]] = {}
    for row in results.rows():
        value = row["metrics"].get(main)
        label = f"{row['model']} [{row['index']}]" if row["index"] else str(row["model"])
        text = cut(str(row["text"]), _TEXT_CAP)
        status = status_of(row, main if column.is_verdict else "")
        answer = ShownAnswer(str(row["model"]), label, status, value, 0, 0, text, reasons_text(row))
        problems.setdefault(str(row["id"]), (str(row["prompt"]), []))[1].append(answer)
    for name, (prompt, answers) in problems.items():
        outcomes = tuple(
            (shown_answer.model, shown_answer.status, format_number(shown_answer.score)) for shown_answer in answers
        )
        yield Problem(name, "", "", "sample", prompt, (), tuple(answers), outcomes)
