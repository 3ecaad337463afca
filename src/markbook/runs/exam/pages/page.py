"""The page of an exam."""

from __future__ import annotations

from collections.abc import Sequence

from markbook.report.page import Page
from markbook.results.comparison import MOST_COMPARED, too_many
from markbook.results.headline import Headline, headline_of
from markbook.results.stopping import words_of
from markbook.runs.exam.pages.comparison import comparison_of, ranking
from markbook.runs.exam.pages.markdown import head_notes
from markbook.runs.exam.pages.problems import problems_of
from markbook.runs.exam.pages.sections import exam_sections
from markbook.runs.exam.sheet import exam_sheet
from markbook.runs.exam.tally import Tally
from markbook.runs.exam.view import ExamView


def exam_page(view: ExamView) -> Page:
    """Return everything that an exam's report shows."""
    tallies = ranking(list(view.tallies.values()))
    seed = int(view.config.get("seed", 0))
    sheet = exam_sheet(tallies) if tallies else None
    comparison = comparison_of(tallies)
    problems = problems_of(view, tallies) if tallies else []
    benchmark = str(view.config.get("benchmark_name", "benchmark"))
    return Page(
        title=f"Exam: {benchmark}",
        facts=_facts(view, tallies),
        warnings=tuple(_warnings(view, tallies)),
        sections=tuple(exam_sections(tallies, comparison)) if tallies else (),
        problems=tuple(problems),
        problems_total=len(view.samples),
        models=tuple(tally.model for tally in tallies),
        topics=tuple(sorted({problem.topic for problem in problems if problem.topic})),
        headline=headline_of(sheet, "problems", comparison=comparison, seed=seed) if sheet else Headline(),
    )


def _facts(view: ExamView, tallies: Sequence[Tally]) -> tuple[tuple[str, str], ...]:
    attempts = sum(tally.n_evaluated for tally in tallies)
    config = view.config
    return (
        ("Problems", f"{len(view.samples):,}"),
        ("Models", str(len(tallies))),
        ("Attempts", f"{attempts:,}"),
        ("Isolation level", view.isolation or "none ran"),
        ("An error scores", "0" if config.get("error_policy", "zero") == "zero" else "the tests that passed"),
        ("Profile", str(config.get("profile", "corrected"))),
    )


def _warnings(view: ExamView, tallies: Sequence[Tally]) -> list[str]:
    warnings = []
    if len(tallies) > MOST_COMPARED:
        warnings.append(f"{too_many(len(tallies))}.")
    elif len(tallies) > 1 and comparison_of(tallies) is None:
        warnings.append("The models are not compared: no two of them share a problem with a value.")
    if view.isolation in ("C", "D"):
        warnings.append(f"Solutions ran at isolation level {view.isolation}: they could read the machine's files.")
    warnings += head_notes(view.config)
    for tally in tallies:
        flagged = tally.verdicts.get("flagged", 0)
        if flagged:
            warnings.append(
                f"{tally.model}: {flagged} verdicts claimed to pass and passed a wrong expectation too; counted as failed."
            )
        if tally.unchecked and view.config.get("separate", True):
            are = "verdict is" if tally.unchecked == 1 else "verdicts are"
            warnings.append(
                f"{tally.model}: {tally.unchecked} {are} unchecked: the tests ran beside the answer, and nothing "
                "in them could be made wrong that would show a forged pass."
            )
    if view.faults:
        warnings.append(f"{len(view.faults)} tests of the benchmark are broken in themselves and charged to no model.")
    if view.partial_note():
        warnings.insert(0, view.partial_note())
    if view.stop_record:
        warnings[:0] = words_of(view.stop_record)
    small = len(view.samples)
    if small < 30:
        warnings.append(f"With {small} problems only large differences can be seen: look at the intervals.")
    return warnings
