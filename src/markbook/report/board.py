"""Several runs as static pages, a leaderboard or a comparison: they open from files, load nothing, and the same marks give the same bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markbook.report import charts
from markbook.report.html import policy, render_template, show_picture, style
from markbook.report.page import (
    MOST_BYTES,
    Chart,
    Page,
    Problem,
    Section,
    ShownAnswer,
    ShownTest,
    find_difference,
    show_start,
)
from markbook.report.words import folder_names, missing_text, run_costs
from markbook.results.comparison import Comparison, headline, tables
from markbook.results.kind import Entry, Shown, open_results
from markbook.results.leaderboard import Leaderboard, Standing
from markbook.results.sheet import Cell, Sheet, Status, find_status, rank_attempt
from markbook.store import Run
from markbook.text import Table, cut
from markbook.text.format import NOTHING, Scale, format_level

_NAME = 48
"""Characters of a name in the headline."""
CHANGES = ("regressed", "improved", "still wrong", "changed nothing", "right in both", "not in both")
"""What became of a sample from the first model to the second, those to read first in front."""
DIFFERENCES = ("models differ", "solved by none", "all alike", "not in all")
"""What three models or more made of a sample."""
_IDS, _SAMPLES, _ANSWERS, _TEXT, _TESTS = 12, 600, 6, 12_000, 40
"""Samples named in a table and shown, answers to each, characters of a text, and tests."""


def pages(sheet: Sheet, board: Leaderboard, *, title: str, alpha: float) -> Iterator[tuple[str, str]]:
    """Yield path and content of every page: the index, one a model, one an item."""
    models, items = folder_names(sheet.models), folder_names(sheet.samples)
    yield "index.html", _index(sheet, board, title, alpha, models, items)
    scale = Scale(sheet.range)
    about: dict[str, Any] = {"root": "../", "metric": sheet.metric}
    for standing in board.standings:
        marks = sheet.marks[standing.model]
        rows = [(items[sample], sample, *_format_cell(marks.get(sample), scale)) for sample in sheet.samples]
        facts = [
            (sheet.metric, scale.value(standing.summary.value)),
            (f"{format_level(usual=1 - alpha)} CI", scale.interval(standing.summary.interval)),
            ("Scored", f"{standing.summary.n} of {len(sheet.samples)}"),
            ("Missing", _lacking(standing, sheet)),
            ("Groups", " ".join(standing.group) or NOTHING),
        ]
        page = _render(
            "list.html.j2", title=standing.model, facts=facts, heading="Sample", rows=rows, folder="items", **about
        )
        yield f"models/{models[standing.model]}.html", page
    names = [standing.model for standing in board.standings]
    for sample in sheet.samples:
        cells, meta = _cells(sheet, sample), sheet.meta.get(sample, {})
        rows = [(models[model], model, *_format_cell(cells[model], scale)) for model in names]
        facts = [(name.replace("_", " ").capitalize(), value.removeprefix("level_")) for name, value in meta.items()]
        page = _render("list.html.j2", title=sample, facts=facts, heading="Model", rows=rows, folder="models", **about)
        yield f"items/{items[sample]}.html", page


def _index(
    sheet: Sheet, board: Leaderboard, title: str, alpha: float, models: Mapping[str, str], items: Mapping[str, str]
) -> str:
    scale = Scale(sheet.range)
    rows = [(standing, models[standing.model], _lacking(standing, sheet)) for standing in board.standings]
    listed = []
    for sample in sheet.samples:
        values = [cell.value for cell in _cells(sheet, sample).values() if cell is not None and cell.value is not None]
        mean = sum(values) / len(values) if values else None
        scored = f"{len(values)} of {len(sheet.models)}"
        listed.append({"item": sample, "file": items[sample], "value": scale.value(mean), "scored": scored})
    picture = charts.draw_summaries((standing.model, standing.summary) for standing in board.standings)
    return _render(
        "index.html.j2", title=title, root="", method=board.method, alpha=f"{alpha:g}", level=format_level(usual=1 - alpha), better=sheet.direction.capitalize(),
        notes=sheet.notes, metric=sheet.metric, rows=rows, scale=scale, n_samples=len(sheet.samples), items=listed, headline=_headline(board, scale), picture=None if picture is None else show_picture(picture),
    )  # fmt: skip


def _headline(board: Leaderboard, scale: Scale) -> str:
    """Return in a sentence whom the letters leave at the top."""
    best, *below = board.standings
    others = [standing for standing in below if standing.summary.value is not None]
    if not others or best.summary.value is None:
        return ""
    near = [standing.model for standing in others if set(standing.group) & set(best.group)]
    score = f"{cut(best.model, _NAME)} ({scale.value(best.summary.value)})"
    if not near:
        return (
            f"{score} is significantly better than {'the other' if len(others) == 1 else f'all {len(others)} others'}."
        )
    named = " and ".join(cut(model, _NAME) for model in near) if len(near) < 3 else f"{len(near)} others"
    rest = len(others) - len(near)
    return f"{score} does not differ significantly from {named}" + (
        f"; it is better than the other {rest}." if rest else "."
    )


def _cells(sheet: Sheet, sample: str) -> dict[str, Cell | None]:
    return {model: cells.get(sample) for model, cells in sheet.marks.items()}


def _format_cell(cell: Cell | None, scale: Scale) -> tuple[str, str]:
    if cell is None:
        return NOTHING, "not there"
    return scale.value(cell.value), ", ".join(f"{count} {kind}" for kind, count in sorted(cell.gaps.items()))


def _lacking(standing: Standing, sheet: Sheet) -> str:
    """Return what is missing by kind, with the samples that this model's run does not know."""
    unknown = len(sheet.samples) - len(sheet.marks[standing.model])
    words = missing_text(standing.summary.n_missing) if standing.summary.n_missing else ""
    return ", ".join(part for part in (words, f"{unknown} not there" if unknown else "") if part) or NOTHING


def _render(template: str, **values: Any) -> str:
    return render_template(f"board/{template}", policy=policy(style(), ""), **values)


# The comparison of runs as a page: scores, differences, and what changed, with the answers to each sample.


def comparison_page(runs: Sequence[Run], sheet: Sheet, comparison: Comparison) -> Page:
    """Return the comparison of the finished runs that a sheet was read from as a page.

    Of two models the first is the one that a change is counted from.

    Raises:
        DataError: a run cannot be read.
    """
    changes = {sample: find_change(sheet, sample) for sample in sheet.samples}
    samples: dict[str, list[str]] = {}
    for sample, change in changes.items():
        samples.setdefault(change, []).append(sample)
    pairs, names = pair_models(sheet), [str(run.manifest.get("name") or run.folder.name) for run in runs]
    order = [change for change in (CHANGES if pairs else DIFFERENCES) if change in samples]
    listed = {change: samples[change] for change in order}
    title = f"From {sheet.models[0]} to {sheet.models[1]}" if pairs else "Outcomes of the samples"
    if len(sheet.models) > 2 and pairs:
        title = f"From {names[0]} to {names[1]}, by model"
        listed = {
            f"{sheet.origins[pair[0]][1]} {change}": ids
            for pair in pairs
            for change in CHANGES[:3]
            if (ids := [sample for sample in sheet.samples if _find_pair_change(sheet, sample, pair) == change])
        }
    rows = tuple(
        (change, str(len(ids)), ", ".join(ids[:_IDS]) + (f", and {len(ids) - _IDS} more" if len(ids) > _IDS else ""))
        for change, ids in listed.items()
    )
    changed = Table(title, ("Change", "Samples", "Which"), rows, frozenset({1}))
    ranking, differences, *others = tables(comparison)
    picture = charts.draw_summaries((standing.model, standing.summary) for standing in comparison.standings)
    alt = f"{comparison.metric} of each model with its interval; the table below has the same numbers"
    lead = "Open a sample to read all models' answers. 'Change' below filters the list."
    sections = [
        Section("scores", "Scores", "", (ranking,), None if picture is None else Chart(picture, alt)),
        Section("differences", "Differences", "", (differences,)),
        Section("changes", "What changed", lead, (changed,)),
        *([Section("more", "More", "", others)] if others else []),
    ]
    facts = [
        (name, f"markbook {run.command} {run.manifest.get('markbook', '')}, {show_start(run.manifest.get('started'))}")
        for name, run in zip(names, runs, strict=True)
    ]
    facts += run_costs(runs)
    return Page(
        title=f"Comparison of {' and '.join(sheet.models) if len(sheet.models) < 3 else f'{len(sheet.models)} models'}",
        facts=tuple(facts), warnings=(), sections=tuple(sections),
        problems=tuple(_problems(runs, sheet, {sample: change for change in order for sample in samples[change]})),
        problems_total=len(changes), items="samples", models=tuple(sheet.models), topics=tuple(order),
        topic="Change", headline=headline(comparison),
    )  # fmt: skip


def pair_models(sheet: Sheet) -> list[tuple[str, str]]:
    """Return the models from which and to which changes are counted: two, or each model that two runs have; else none."""
    if len(sheet.models) == 2:
        return [(sheet.models[0], sheet.models[1])]
    by_run: dict[int, dict[str, str]] = {}
    for model, (run, own) in sheet.origins.items():
        by_run.setdefault(run, {})[own] = model
    if len(by_run) != 2:
        return []
    before, after = (by_run[run] for run in sorted(by_run))
    return [(before[own], after[own]) for own in before if own in after]


def find_change(sheet: Sheet, sample: str) -> str:
    """Return what became of a sample: the first of `CHANGES` that a pair of models shows, without pairs one of `DIFFERENCES`."""
    if pairs := pair_models(sheet):
        return min((_find_pair_change(sheet, sample, pair) for pair in pairs), key=CHANGES.index)
    values, is_wrong = _read_marks(sheet, sample, sheet.models)
    if None in values:
        return "not in all"
    return "solved by none" if is_wrong else "all alike" if len(set(values)) == 1 else "models differ"


def _find_pair_change(sheet: Sheet, sample: str, pair: tuple[str, str]) -> str:
    (before, after), is_wrong = _read_marks(sheet, sample, pair)
    if before is None or after is None:
        return "not in both"
    if before != after:
        return "improved" if (after > before) == (sheet.direction == "higher") else "regressed"
    return "right in both" if before == sheet.best else "still wrong" if is_wrong else "changed nothing"


def _read_marks(sheet: Sheet, sample: str, models: Sequence[str]) -> tuple[list[float | None], bool]:
    """Return each model's value of a sample, and whether all are wrong."""
    cells = [sheet.marks[model].get(sample) for model in models]
    worst = sheet.range[0] if sheet.direction == "higher" else sheet.range[1]
    is_wrong = all(cell is not None and (cell.passed is False or cell.value == worst) for cell in cells)
    return [None if cell is None else cell.value for cell in cells], is_wrong


def _problems(runs: Sequence[Run], sheet: Sheet, changes: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the samples with what each model handed in, as many as a page holds."""
    results = [open_results(run) for run in runs]
    worst: dict[tuple[int, str, str], tuple[tuple[float, ...], Entry]] = {}
    for at, result in enumerate(results):
        for entry in result.entries():
            key = at, entry.model, entry.sample
            rank = *rank_attempt(entry.status, entry.score, sheet.direction), entry.attempt
            if key not in worst or rank < worst[key][0]:
                worst[key] = rank, entry
    scale, spent = Scale(sheet.range), 0
    for sample, change in itertools.islice(changes.items(), _SAMPLES):
        attempts: list[tuple[str, Shown]] = []
        outcomes: list[tuple[str, Status, str]] = []
        for model, (at, own) in sheet.origins.items():
            key, cell = (at, own, sheet.renamed.get((at, sample), sample)), sheet.marks[model].get(sample)
            # Where no attempt is kept, as of a plain table, the mark says what can be said.
            is_absent = cell is None or cell.value is None
            lowest = worst[key][1] if key in worst else None
            status = find_status(is_absent=is_absent, all_passed=cell.passed if cell else None)
            status = lowest.status if lowest else status
            outcomes.append((model, status, scale.value(cell.value) if cell else ""))
            if lowest and len(attempts) < _ANSWERS:
                attempts.append((model, results[at].show_attempt(lowest.location)))
        problem = _problem(sample, change, attempts, tuple(outcomes))
        spent += problem.size
        if spent > MOST_BYTES:
            return
        yield problem


def _problem(
    sample: str, change: str, attempts: Sequence[tuple[str, Shown]], outcomes: tuple[tuple[str, Status, str], ...]
) -> Problem:
    answers = tuple(
        ShownAnswer(
            model=model, label=model, status=attempt.status, total=len(attempt.tests), code=cut(attempt.text, _TEXT),
            passed=sum(result == "passed" for _, result, _ in attempt.tests), error=cut(attempt.error, 2000),
            why=None if attempt.why is None else attempt.why.brief(5, 500), evidence=attempt.evidence,
        )
        for model, attempt in attempts
    )  # fmt: skip
    checks: list[ShownTest] = []
    if attempts and len({tuple(text for text, _, _ in attempt.tests) for _, attempt in attempts}) == 1:
        tests = zip(*(attempt.tests for _, attempt in attempts), strict=True)
        checks = [ShownTest(row[0][0], tuple(result for _, result, _ in row)) for row in tests][:_TESTS]
    prompt = cut(attempts[0][1].prompt, _TEXT // 2) if attempts else ""
    return Problem(
        sample, prompt, answers, outcomes, topic=change, checks=tuple(checks), difference=find_difference(answers)
    )
