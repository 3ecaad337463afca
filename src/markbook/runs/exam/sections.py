"""The exam's sections: each a table, most with the chart that shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from markbook.report import charts
from markbook.report.charts import Picture
from markbook.report.page import MOST_BYTES, Chart, Page, Problem, Section, ShownAnswer, ShownTest, find_difference
from markbook.results.comparison import MOST_COMPARED, SOLVED, Comparison, choose_pairs, make_headline, tables, too_many
from markbook.results.sheet import Headline, Status, find_status, worst_status
from markbook.results.summary import methods_note
from markbook.runs.exam.grading import GROUPINGS, NOT_RUN, Grouping, Mark, Tally, counted_tests, exam_sheet, get_group
from markbook.runs.exam.score_tables import compare_tallies, head_notes, ranking
from markbook.runs.exam.view import ExamView, MarkedAttempt
from markbook.stats import Estimate
from markbook.testcode import programs
from markbook.text import Table, cut, terminal
from markbook.text.format import NOTHING, Scale, format_level
from markbook.types import ErrorKind, Sample, Summary, Test, Verdict

# The problems that a page shows whole: all of a small exam, the telling ones of a large one.

MOST_PROBLEMS = 400
CODE_CAP = 12_000
PROMPT_CAP = 6_000
CHECKS_SHOWN = 25
ANSWERS_SHOWN = 2
"""Attempts shown for each model and problem: the first that failed and the first that passed."""
MODELS_SHOWN = 8
FAILURES_SHOWN = 3
"""Failed tests of an answer that are explained."""
PRINTED_CAP = 500


def chosen_places(tallies: Sequence[Tally]) -> list[int]:
    """Return the problems worth showing, most telling first: where models differ, then unsolved, then the rest."""

    def weight(index: int) -> tuple[int, float, int]:
        scores = [tally.problem_score(index) or 0.0 for tally in tallies]
        # Where models differ a reader learns most, then where all failed.
        spread = max(scores) - min(scores)
        mean = sum(scores) / len(scores)
        rank = 0 if spread > 0 else 1 if mean < 1 else 2
        return rank, -spread if rank == 0 else mean, index

    size = len(tallies[0].samples)
    order = sorted(range(size), key=weight)
    if size <= MOST_PROBLEMS:
        return order
    # A few that everybody solved stay in, so that the page is not a picture of failures alone.
    return [*order[: MOST_PROBLEMS - 20], *order[-20:]]


def choose_problems(view: ExamView, tallies: Sequence[Tally]) -> list[Problem]:
    """Return the chosen problems in benchmark order, as many as fit; the models come best first."""
    places = chosen_places(tallies)
    tallies_shown = tallies[:MODELS_SHOWN]
    chosen = set(places)
    attempts: dict[str, dict[int, list[MarkedAttempt]]] = {}
    statuses: dict[tuple[str, int], Status] = {}
    """Of all attempts of a model at a problem the worst, whether it is shown or not."""
    for tally in tallies_shown:
        rows = attempts.setdefault(tally.model, {})
        order = {sample.id: index for index, sample in enumerate(tally.samples)}
        for attempt in view.attempts(tally.model, chosen):
            index = order[attempt.sample.id]
            status = attempt_status(attempt.mark)
            statuses[tally.model, index] = worst_status(statuses.get((tally.model, index), status), status)
            picked = rows.setdefault(index, [])
            # A second answer is shown only if it came out otherwise than the first.
            if len(picked) < ANSWERS_SHOWN and all(
                attempt.mark.all_passed != other.mark.all_passed for other in picked
            ):
                picked.append(attempt)
    problems: dict[int, Problem] = {}
    spent = 0
    for index in places:
        problem = _problem(index, tallies, {model: rows.get(index, []) for model, rows in attempts.items()}, statuses)
        spent += problem.size
        # The first is shown whatever its size: a page without any problem would help nobody.
        if problems and spent > MOST_BYTES:
            break
        problems[index] = problem
    return [problems[index] for index in sorted(problems)]


def attempt_status(got: Mark) -> Status:
    """Return one word for what became of an attempt."""
    return find_status(
        is_absent=got.missing is not None,
        is_broken=got.error not in (None, ErrorKind.NO_COMPLETION),
        is_empty=got.error is ErrorKind.NO_COMPLETION,
        all_passed=got.all_passed,
        any_passed=bool(got.passed),
    )


def _problem(
    index: int,
    tallies: Sequence[Tally],
    attempts: Mapping[str, list[MarkedAttempt]],
    statuses: Mapping[tuple[str, int], Status],
) -> Problem:
    sample = tallies[0].samples[index]
    answers, results = [], []
    for tally in tallies:
        for attempt in attempts.get(tally.model, []):
            answers.append(_answer(attempt, tally, index))
            results.append(counted_tests(sample, attempt.outcome))
    texts = assertions(sample) if sample.is_program and results else [_test_words(test) for test in sample.tests]
    size = max([*map(len, results), 0 if sample.is_program else len(texts)], default=0)
    checks = []
    for at in range(min(size, CHECKS_SHOWN)):
        words = []
        for result in results:
            if at >= len(result) or result[at].result == NOT_RUN:
                words.append(NOTHING)
            elif result[at].verdict in (Verdict.FLAGGED, Verdict.UNCHECKED):
                words.append(result[at].verdict.value)
            else:
                words.append("passed" if result[at].passed else "failed")
        checks.append(ShownTest(texts[at] if at < len(texts) else f"assertion {at + 1}", tuple(words)))
    return Problem(
        id=sample.id,
        topic=get_group(sample, "topic"),
        complexity=get_group(sample, "complexity").removeprefix("level_"),
        kind=get_group(sample, "problem_type"),
        prompt=cut(sample.input, PROMPT_CAP),
        checks=tuple(checks),
        answers=tuple(answers),
        outcomes=tuple(_outcome(tally, index, statuses.get((tally.model, index))) for tally in tallies),
        difference=find_difference(answers),
    )


def _answer(attempt: MarkedAttempt, tally: Tally, index: int) -> ShownAnswer:
    got, outcome = attempt.mark, attempt.outcome
    several = tally.attempts[index] > 1
    label = f"{tally.model}, attempt {attempt.index + 1} of {tally.attempts[index]}" if several else tally.model
    error = ""
    if outcome.error is not None:
        words = outcome.error_words
        error = f"{outcome.error.value} ({words})" if outcome.error_type != outcome.error.value else words
    notes = [f"limit reached: {outcome.limit}"] if outcome.limit else []
    notes += list(outcome.flags)
    return ShownAnswer(
        model=tally.model,
        label=label,
        status=attempt_status(got),
        score=attempt.score,
        passed=got.passed,
        total=got.total,
        code=cut(attempt.code, CODE_CAP),
        error=cut(error, 2000),
        note=", ".join(notes),
        why=None if outcome.why is None else outcome.why.brief(FAILURES_SHOWN, PRINTED_CAP),
    )


def _outcome(tally: Tally, index: int, status: Status | None) -> tuple[str, Status, str]:
    """Return a model's name, its worst status, and the passing attempts or the score where that says more.

    Where no attempt was read for the page, the counts say how it stands.
    """
    count, score = tally.attempts[index], tally.problem_score(index)
    if not count or status is None:
        is_right = tally.right[index] == count
        status = find_status(is_absent=not count, all_passed=is_right, any_passed=(score or 0.0) > 0)
    if count > 1:
        return tally.model, status, f"{tally.right[index]} of {count} pass"
    return tally.model, status, _SCALE.value(score) if status == "partial" and score is not None else ""


def assertions(sample: Sample) -> list[str]:
    """Return the source of every assertion of a sample's test programs, in their order."""
    sources: list[str] = []
    for test in sample.tests:
        tree = programs.parse(test.program)
        if tree is None:
            return []
        lines = test.program.split("\n")
        for node in _statements(tree):
            if not isinstance(node, ast.Assert):
                continue
            end = node.end_lineno or node.lineno
            sources.append(cut("\n".join(lines[node.lineno - 1 : end]).strip(), 300))
    return sources


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what lies in a node, in the order of its lines, but for expressions: they hold no statement and most of the tree."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from _statements(child)


def _test_words(test: Test) -> str:
    if test.stdin is not None:
        rule = f", by {test.checker}" if test.checker else ""
        return cut(f"reads {cut(test.stdin, 300)}\nprints {cut(test.stdout, 300)}{rule}", 800)
    parts = [test.setup, test.assertion, *(f"uses {name}" for name in test.inspection)]
    if test.pattern:
        parts.append(f"matches {test.pattern}")
    return cut("\n".join(part for part in (*parts, test.program) if part), 800)


SERIES_SHOWN = 8
"""Lines in one chart; the table has every model."""
LINES_SHOWN = 40
"""Rows of a heat map; the table has every group."""
_TITLES: dict[Grouping, str] = {"topic": "Topics", "complexity": "Complexity", "problem_type": "Problem types"}
_SCALE = Scale((0.0, 1.0))


def exam_sections(tallies: Sequence[Tally], comparison: Comparison | None) -> list[Section]:
    """Return the sections in the order in which people look, of models best first; a single one has no comparison."""
    sections = [_scores(tallies, comparison)]
    if comparison is not None:
        sections.append(_differences(comparison))
    sections += [section for grouping in GROUPINGS if (section := _groups(tallies, grouping)) is not None]
    if (most := max((max(tally.attempts, default=0) for tally in tallies), default=0)) > 1:
        sections.append(_passes(tallies, most))
    passes = {
        tally.model: {name: estimate for name, estimate in tally.passes() if name.endswith("@1")} for tally in tallies
    }
    if any(name.startswith("base_") for estimates in passes.values() for name in estimates):
        sections.append(_base_and_plus(passes))
    sections.append(_errors(tallies))
    if any(tally.results for tally in tallies):
        rows = tuple((tally.model, *(f"{tally.results[name]:,}" for name in _RESULTS)) for tally in tallies)
        headers = ("Model", *(words if name == "-" else f"{words} ({name})" for name, words in _RESULTS.items()))
        note = "Without --all-tests, tests after a program's first failure are not run."
        numeric = frozenset(range(1, len(headers)))
        table = Table("Tests of programs that read and write", headers, rows, numeric, note)
        lead = "Each test runs in a separate process; its output is compared outside of that process."
        sections.append(Section("programs", "Programs", lead, (table,)))
    if comparison is not None:
        solved_tables = [table for table in tables(comparison) if table.title == SOLVED]
        lead = "Problems that only one model solved, or none."
        if not solved_tables:
            lead = "Each problem was solved by two models or more."
        sections.append(Section("only", "Where they differ", lead, solved_tables))
    return sections


def _bar(number: Summary | Estimate) -> dict[str, float | None]:
    """Return a 0..1 number and the ends of its interval as 0..100 for a chart; where there is none, they are the number."""
    value, interval = number.value, number.interval
    ends = {"value": value, "low": interval.low if interval else value, "high": interval.high if interval else value}
    return {name: None if end is None else round(100 * end, 2) for name, end in ends.items()}


def _scores(tallies: Sequence[Tally], comparison: Comparison | None) -> Section:
    groups = {standing.model: " ".join(standing.group) for standing in comparison.standings} if comparison else {}
    intervals = [tally.exam_score().interval for tally in tallies]
    methods, level = methods_note(interval.method for interval in intervals if interval), format_level(intervals)
    rows, marks = [], []
    for tally in tallies:
        total, attempted = tally.exam_score(), tally.attempted_score()
        share = tally.separated_share
        row = (
            tally.model, _SCALE.value(total.value), _SCALE.interval(total.interval), _SCALE.value(attempted.value),
            f"{tally.n_answered} of {len(tally.samples)}", _SCALE.value(tally.error_rate), _SCALE.value(share),
            f"{tally.n_unchecked:,}",
        )  # fmt: skip
        rows.append((*row, groups[tally.model]) if groups else row)
        marks.append({"name": tally.model, **_bar(total)})
    note = "Models that share a letter do not differ significantly." if groups else ""
    headers = (
        "Model", "Score", f"{level} CI", "Attempted score", "Answered", "Error rate, %", "Separated, %", "Unchecked",
        *(["Group"] if groups else []),
    )  # fmt: skip
    note = " ".join(part for part in (note, methods) if part)
    table = Table("Scores, 0 to 100", headers, tuple(rows), frozenset(range(1, 8)), note)
    picture = charts.intervals(marks, [tally.model for tally in tallies], "Exam score")
    alt = f"Exam score of each model with its {level} CI: {'; '.join(' '.join(row[:3]) for row in rows[:SERIES_SHOWN])}"
    lead = "The mean over all problems; a missing answer scores 0. The attempted score leaves missing answers out."
    return Section("scores", "Scores", lead, (table,), Chart(picture, alt))


def _differences(comparison: Comparison) -> Section:
    rows: list[dict[str, object]] = []
    order: list[str] = []
    for pair in choose_pairs(comparison, all_pairs=False):
        name = f"{terminal(pair.first, limit=24)} − {terminal(pair.second, limit=24)}"
        # Names that are one when they are cut would be one line of the chart.
        if name in order:
            name = f"{name} ({len(order) + 1})"
        order.append(name)
        verdict = "distinguishable" if pair.distinguishable else "not distinguishable"
        rows.append({"name": name, **_bar(pair.difference), "verdict": verdict})
    n_different = sum(pair.distinguishable for pair in comparison.pairs)
    alt = f"Paired difference of each two models with its interval; {n_different} of {len(comparison.pairs)} are significant."
    lead = (
        "Two models are compared on the same problems, so both face the same hard and easy ones. If the "
        "interval contains 0 or the adjusted p is not small, the difference may be chance."
    )
    tables_shown = [table for table in tables(comparison) if table.title in ("Paired differences", "Wins")]
    chart = Chart(charts.forest(rows, order, "Difference in points"), alt)
    return Section("differences", "Are the models different?", lead, tables_shown, chart)


def _groups(tallies: Sequence[Tally], grouping: Grouping) -> Section | None:
    groups = tallies[0].groups(grouping)
    if not groups:
        return None
    if grouping == "complexity":
        # By length first, so that level_10 comes behind level_9.
        groups = sorted(groups, key=lambda group: (len(group), group))
    title = _TITLES[grouping]
    rows, cells, intervals = [], [], []
    for group in groups:
        places = tallies[0].places(grouping, group)
        scores = [(tally, tally.exam_score(places, group=group)) for tally in tallies]
        intervals += [score.interval for _, score in scores]
        group_name = group.removeprefix("level_")
        rows.append(
            (group_name, str(len(places)), *(_SCALE.with_interval(score.value, score.interval) for _, score in scores))
        )
        for tally, score in scores:
            names = {"line": group, "x": group_name, "column": tally.model, "series": tally.model}
            cells.append({**names, **_bar(score), "shown": _SCALE.value(score.value)})
    models, level = [tally.model for tally in tallies], format_level(intervals)
    headers = (title.removesuffix("s"), "Problems", *models)
    numeric = frozenset(range(1, len(headers)))
    table = Table(f"{title}: score by model", headers, tuple(rows), numeric, f"{level} CI in brackets.")
    if grouping == "complexity":
        levels = [group.removeprefix("level_") for group in groups]
        picture = _curves(cells, models, ("Complexity", "Score"), levels, band=False)
        lead = f"Harder problems to the right; bars are {level} CIs, wide where a level has few problems."
    else:
        groups_shown = groups[:LINES_SHOWN]
        picture = charts.heat_map(
            [cell for cell in cells if cell["line"] in groups_shown], models, groups_shown, "Score"
        )
        lead = "Score of each model in each group, 0 to 100. Groups with few problems are uncertain."
    alt = f"Scores by {title.lower()} for {len(models)} models; the table below has the same numbers."
    return Section(grouping.replace("_", "-"), title, lead, (table,), Chart(picture, alt))


def _curves(
    cells: Sequence[Mapping[str, object]], models: Sequence[str], titles: tuple[str, str], order: Sequence[str], *, band: bool
) -> Picture:  # fmt: skip
    """Return the lines of the first models; the table has every model."""
    first = models[:SERIES_SHOWN]
    lines = [cell for cell in cells if cell["series"] in first]
    return charts.curves(lines, first, x_title=titles[0], y_title=titles[1], band=band, x_order=order)


def _base_and_plus(passes: Mapping[str, Mapping[str, Estimate]]) -> Section:
    """Return pass@k by the base tests beside that by all tests."""
    names = list(dict.fromkeys(name for estimates in passes.values() for name in estimates))
    rows = []
    for model, estimates in passes.items():
        numbers = [estimates.get(name) for name in names]
        rows.append(
            (model, *(_SCALE.with_interval(number.value, number.interval) if number else NOTHING for number in numbers))
        )
    level = format_level(estimate.interval for estimates in passes.values() for estimate in estimates.values())
    table = Table(f"pass@k with {level} CIs", ("Model", *names), tuple(rows), frozenset(range(1, len(names) + 1)))
    lead = "By the tests of the original benchmark alone (base), and by these and the added ones together."
    return Section("base", "Base and plus tests", lead, (table,))


def _passes(tallies: Sequence[Tally], most: int) -> Section:
    """Return the pass@k curve, up to the most attempts that a problem has."""
    steps = [k for k in (1, 2, 3, 5, 10, 20, 50, 100, 200) if k < most] + [most]
    rows: list[tuple[str, ...]] = []
    cells, estimates = [], []
    for tally in tallies:
        line = [tally.model]
        for k in steps:
            estimate = tally.pass_at(k)
            estimates.append(estimate.interval)
            line.append(_SCALE.with_interval(estimate.value, estimate.interval))
            if estimate.value is not None:
                cells.append({"series": tally.model, "x": str(k), **_bar(estimate)})
        rows.append(tuple(line))
    models = [tally.model for tally in tallies]
    headers, numeric = ("Model", *(f"pass@{k}" for k in steps)), frozenset(range(1, len(steps) + 1))
    note = f"{NOTHING}: a problem has fewer than k attempts. A problem without an attempt counts as unsolved."
    table = Table(f"pass@k with {format_level(estimates)} CIs", headers, tuple(rows), numeric, note)
    picture = _curves(cells, models, ("k", "pass@k"), [str(k) for k in steps], band=True)
    lead = "The chance that at least one of k attempts passes every test; the band is the error over problems."
    return Section("passes", "pass@k", lead, (table,), Chart(picture, "pass@k against k, one line a model"))


def _errors(tallies: Sequence[Tally]) -> Section:
    kinds = [kind.value for kind in ErrorKind]
    rows, cells = [], []
    for tally in tallies:
        counts = [tally.errors[kind] for kind in kinds]
        grades = [tally.grades[grade] for grade in ("fully_correct", "partially_correct", "incorrect")]
        rate = _SCALE.value(tally.error_rate)
        rows.append((tally.model, *(str(count) for count in (*grades, *counts)), str(tally.n_evaluated), rate))
        for index, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
            share = 100 * count / tally.n_evaluated if tally.n_evaluated else 0.0
            cells.append({"name": tally.model, "kind": kind, "value": round(share, 2), "place": index})
    headers = ("Model", "All tests passed", "Some passed", "None passed", *kinds, "Attempts", "Error rate")
    note = "A failed test is not an error. The error rate is errors over attempts, 0 to 100."
    table = Table("Outcomes of the attempts", headers, tuple(rows), frozenset(range(1, len(headers))), note)
    picture = charts.stack_bars(cells, [tally.model for tally in tallies], kinds, "Share of attempts, %")
    chart = Chart(picture, "Share of attempts with an error, by kind and model")
    return Section("errors", "Errors", "Attempts that raised an error, by kind.", (table,), chart)


_RESULTS = {
    "AC": "Right", "WA": "Wrong answer", "TLE": "Too slow", "MLE": "Too much memory", "RTE": "Crashed",
    "OLE": "Printed too much", "CE": "No program", "JE": "Judge's fault", "-": "Not run",
}  # fmt: skip


# The page of an exam.


def exam_page(view: ExamView) -> Page:
    """Return everything that an exam's report shows."""
    tallies = ranking(list(view.tallies.values()))
    seed = int(view.config.get("seed", 0))
    sheet = exam_sheet(tallies) if tallies else None
    comparison = compare_tallies(tallies)
    problems = choose_problems(view, tallies) if tallies else []
    benchmark = str(view.config.get("benchmark_name", "benchmark"))
    return Page(
        title=f"Exam: {benchmark}",
        facts=(
            ("Problems", f"{len(view.samples):,}"),
            ("Models", str(len(tallies))),
            ("Attempts", f"{sum(tally.n_evaluated for tally in tallies):,}"),
            ("Isolation level", view.isolation or "none ran"),
            ("Score after an error", "0" if view.policy == "zero" else "the tests that passed"),
            ("Profile", str(view.config.get("profile", "corrected"))),
        ),
        warnings=tuple(_warnings(view, tallies, comparison)),
        sections=tuple(exam_sections(tallies, comparison)) if tallies else (),
        problems=tuple(problems),
        problems_total=len(view.samples),
        models=tuple(tally.model for tally in tallies),
        topics=tuple(sorted({problem.topic for problem in problems if problem.topic})),
        headline=make_headline(sheet, "problems", comparison=comparison, seed=seed) if sheet else Headline(),
    )


def _warnings(view: ExamView, tallies: Sequence[Tally], comparison: Comparison | None) -> list[str]:
    warnings = []
    if len(tallies) > MOST_COMPARED:
        warnings.append(f"{too_many(len(tallies))}.")
    elif len(tallies) > 1 and comparison is None:
        warnings.append("The models are not compared: no two of them share a problem with a value.")
    if view.isolation in ("C", "D"):
        warnings.append(f"Solutions ran at isolation level {view.isolation}: they could read the machine's files.")
    warnings += head_notes(view.config)
    for tally in tallies:
        if flagged := tally.verdicts.get("flagged", 0):
            warnings.append(
                f"{tally.model}: {flagged} verdicts claimed to pass and passed a wrong expectation too; counted as failed."
            )
        if tally.n_unchecked and view.config.get("separate", True):
            are = "verdict is" if tally.n_unchecked == 1 else "verdicts are"
            warnings.append(
                f"{tally.model}: {tally.n_unchecked} {are} unchecked: the tests ran in the solution's process, "
                "and no assertion in them could be changed to show that the pass is real."
            )
    if view.faults:
        warnings.append(f"{len(view.faults)} tests of the benchmark are broken in themselves and charged to no model.")
    if view.partial_note():
        warnings.insert(0, view.partial_note())
    if view.stop_record:
        from markbook.results.stopping import describe_stop

        warnings[:0] = describe_stop(view.stop_record)
    if len(view.samples) < 30:
        warnings.append(f"With {len(view.samples)} problems only large differences can be seen: look at the intervals.")
    return warnings
