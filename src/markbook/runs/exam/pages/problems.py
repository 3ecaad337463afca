"""The problems that a page shows whole: all of a small exam, the telling ones of a large one."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence

from markbook.report.page import Problem, ShownAnswer, ShownTest
from markbook.results.kind import Status
from markbook.runs.exam.marks import Mark, counted_tests, group_of
from markbook.runs.exam.tally import NOT_RUN, Tally
from markbook.runs.exam.view import ExamView, MarkedAttempt
from markbook.text import cut, python
from markbook.text.numbers import NOTHING, format_number
from markbook.types import ErrorKind, Sample, Test, TestResult, Verdict

MOST_PROBLEMS = 400
MOST_BYTES = 2_500_000
"""Of foreign text in all problems together; markup comes on top."""
CODE_CAP = 12_000
PROMPT_CAP = 6_000
CHECKS_SHOWN = 25
ANSWERS_SHOWN = 2
"""Attempts shown for each model and problem: the first that failed and the first that passed."""
MODELS_SHOWN = 8
FAILURES_SHOWN = 3
"""Failed tests of an answer that are explained."""
PRINTED_CAP = 500
_DIFF_LINES = 400
_ORDER: dict[Status, int] = {"passed": 0, "scored": 0, "partial": 1, "failed": 2, "empty": 3, "error": 4, "absent": 5}


def chosen_places(tallies: Sequence[Tally]) -> list[int]:
    """Return the problems worth showing, most telling first: where models differ, then unsolved, then the rest."""

    def weight(place: int) -> tuple[int, float, int]:
        scores = [tally.problem_score(place) or 0.0 for tally in tallies]
        spread = max(scores) - min(scores)
        mean = sum(scores) / len(scores)
        rank = 0 if spread > 0 else 1 if mean < 1 else 2
        return rank, -spread if rank == 0 else mean, place

    size = len(tallies[0].samples)
    order = sorted(range(size), key=weight)
    if size <= MOST_PROBLEMS:
        return order
    # A few that everybody solved stay in, so that the page is no picture of failures alone.
    return [*order[: MOST_PROBLEMS - 20], *order[-20:]]


def problems_of(view: ExamView, tallies: Sequence[Tally]) -> list[Problem]:
    """Return the chosen problems in benchmark order, as many as fit.

    Args:
        view: the run.
        tallies: its models, best first.
    """
    places = chosen_places(tallies)
    tallies_shown = tallies[:MODELS_SHOWN]
    chosen = set(places)
    attempts: dict[str, dict[int, list[MarkedAttempt]]] = {}
    for tally in tallies_shown:
        rows = attempts.setdefault(tally.model, {})
        order = {sample.id: index for index, sample in enumerate(tally.samples)}
        for attempt in view.attempts(tally.model, chosen):
            rows[order[attempt.sample.id]] = _pick_attempts(rows.get(order[attempt.sample.id], []), attempt)
    problems: dict[int, Problem] = {}
    spent = 0
    for index in places:
        problem = _problem(index, tallies, {model: rows.get(index, []) for model, rows in attempts.items()})
        spent += _size(problem)
        if problems and spent > MOST_BYTES:
            break
        problems[index] = problem
    return [problems[index] for index in sorted(problems)]


def _pick_attempts(before: list[MarkedAttempt], new: MarkedAttempt) -> list[MarkedAttempt]:
    """Return the attempts to show: the first that failed and the first that passed."""
    if any(attempt.mark.all_passed == new.mark.all_passed for attempt in before):
        return before
    return [*before, new][:ANSWERS_SHOWN]


def status_of(got: Mark) -> Status:
    """Return one word for what became of an attempt."""
    if got.missing is not None:
        return "absent"
    if got.error is ErrorKind.NO_COMPLETION:
        return "empty"
    if got.error is not None:
        return "error"
    if got.all_passed:
        return "passed"
    return "partial" if got.passed else "failed"


def _problem(index: int, tallies: Sequence[Tally], attempts: dict[str, list[MarkedAttempt]]) -> Problem:
    sample = tallies[0].samples[index]
    answers, results = [], []
    for tally in tallies:
        for attempt in attempts.get(tally.model, []):
            answers.append(_answer(attempt, tally, index))
            results.append(counted_tests(sample, attempt.outcome))
    outcomes = tuple(_outcome(tally, index, attempts) for tally in tallies)
    return Problem(
        id=sample.id,
        topic=group_of(sample, "topic"),
        complexity=group_of(sample, "complexity").removeprefix("level_"),
        kind=group_of(sample, "problem_type"),
        prompt=cut(sample.input, PROMPT_CAP),
        checks=_checks(sample, results),
        answers=tuple(answers),
        outcomes=outcomes,
        difference=_difference(answers),
    )


def _answer(attempt: MarkedAttempt, tally: Tally, index: int) -> ShownAnswer:
    got, outcome = attempt.mark, attempt.outcome
    several = tally.attempts[index] > 1
    label = f"{tally.model}, attempt {attempt.index + 1} of {tally.attempts[index]}" if several else tally.model
    error = ""
    if outcome.error is not None:
        words = ": ".join(part for part in (outcome.error_type, outcome.error_message) if part)
        error = f"{outcome.error.value} ({words})" if outcome.error_type != outcome.error.value else words
    notes = [f"limit hit: {outcome.limit}"] if outcome.limit else []
    notes += list(outcome.flags)
    return ShownAnswer(
        model=tally.model,
        label=label,
        status=status_of(got),
        score=attempt.measurement.value,
        passed=got.passed,
        total=got.total,
        code=cut(str(attempt.data.get("code") or ""), CODE_CAP),
        error=cut(error, 2000),
        note=", ".join(notes),
        why=None if outcome.why is None else outcome.why.brief(FAILURES_SHOWN, PRINTED_CAP),
    )


def _outcome(tally: Tally, index: int, attempts: dict[str, list[MarkedAttempt]]) -> tuple[str, Status, str]:
    """Return a model's name, worst status, and the passing attempts or the score where that says more."""
    status, count = _worst(tally, index, attempts), tally.attempts[index]
    if count > 1:
        return tally.model, status, f"{tally.right[index]} of {count} pass"
    score = tally.problem_score(index)
    return tally.model, status, format_number(100 * score, 0) if status == "partial" and score is not None else ""


def _worst(tally: Tally, index: int, attempts: dict[str, list[MarkedAttempt]]) -> Status:
    """Return the worst status of a model's attempts; from the counts where they are not read."""
    if not tally.attempts[index]:
        return "absent"
    attempts_shown = attempts.get(tally.model)
    if attempts_shown:
        return max((status_of(attempt.mark) for attempt in attempts_shown), key=_ORDER.__getitem__)
    if tally.right[index] == tally.attempts[index]:
        return "passed"
    return "partial" if (tally.problem_score(index) or 0.0) > 0 else "failed"


def _checks(sample: Sample, results: Sequence[Sequence[TestResult]]) -> tuple[ShownTest, ...]:
    """Return the tests' words and each answer's result, cut to a screenful."""
    texts = assertions(sample) if sample.is_program else [_test_words(test) for test in sample.tests]
    size = max([*(len(result) for result in results), 0 if sample.is_program else len(texts)], default=0)
    checks = []
    for at in range(min(size, CHECKS_SHOWN)):
        words = texts[at] if at < len(texts) else f"assertion {at + 1}"
        checks.append(ShownTest(words, tuple(_result(result, at) for result in results)))
    return tuple(checks)


def assertions(sample: Sample) -> list[str]:
    """Return the source of every assertion of a sample's test programs, in their order."""
    sources: list[str] = []
    for test in sample.tests:
        tree = python.parse(test.program)
        if tree is None:
            return []
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
        lines = test.program.split("\n")
        for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
            end = node.end_lineno or node.lineno
            sources.append(cut("\n".join(lines[node.lineno - 1 : end]).strip(), 300))
    return sources


def _test_words(test: Test) -> str:
    if test.stdin is not None:
        rule = f", by {test.checker}" if test.checker else ""
        return cut(f"reads {cut(test.stdin, 300)}\nprints {cut(test.stdout, 300)}{rule}", 800)
    parts = [test.setup, test.assertion, *(f"uses {name}" for name in test.inspection)]
    if test.pattern:
        parts.append(f"matches {test.pattern}")
    return cut("\n".join(part for part in (*parts, test.program) if part), 800)


def _result(results: Sequence[TestResult], at: int) -> str:
    if at >= len(results) or results[at].result == NOT_RUN:
        return NOTHING
    if results[at].verdict is Verdict.FLAGGED:
        return "flagged"
    if results[at].verdict is Verdict.UNCHECKED:
        return "unchecked"
    return "passed" if results[at].passed else "failed"


def _difference(answers: Sequence[ShownAnswer]) -> tuple[str, str, tuple[str, ...]] | None:
    """Return the diff from the first solving answer to the first failing one; None if there are not both."""
    right = next((answer for answer in answers if answer.status == "passed"), None)
    wrong = next((answer for answer in answers if answer.status != "passed" and answer.code.strip()), None)
    if right is None or wrong is None:
        return None
    old, new = right.code.splitlines()[:_DIFF_LINES], wrong.code.splitlines()[:_DIFF_LINES]
    lines = list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
    return (right.label, wrong.label, tuple(lines)) if lines else None


def _size(problem: Problem) -> int:
    """Return the foreign characters of a problem."""
    size = len(problem.prompt) + sum(len(answer.code) + len(answer.error) for answer in problem.answers)
    size += sum(answer.why.size for answer in problem.answers if answer.why)
    size += sum(len(check.text) for check in problem.checks) + 60 * len(problem.checks) * len(problem.answers)
    return size + sum(map(len, problem.difference[2]) if problem.difference else ()) + 120 * len(problem.outcomes)
