"""An exam's attempts for other programs: one flat row each, and one test case each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markbook.results.kind import Case, Value
from markbook.runs.exam.marks import counted_tests, group_of
from markbook.runs.exam.view import ExamView, MarkedAttempt
from markbook.types import Verdict


def exam_rows(view: ExamView) -> Iterator[dict[str, Value]]:
    """Yield one flat row an attempt: model by model, in benchmark order. Scores are 0..1."""
    for model in view.tallies:
        for attempt in view.attempts(model):
            got, outcome = attempt.mark, attempt.outcome
            yield {
                "model": model,
                "task_id": attempt.sample.id,
                "sample": attempt.index,
                "topic": group_of(attempt.sample, "topic") or None,
                "complexity": group_of(attempt.sample, "complexity") or None,
                "problem_type": group_of(attempt.sample, "problem_type") or None,
                "score": attempt.measurement.value,
                "score_zero": None if got.missing else got.zero,
                "score_partial": None if got.missing else got.partial,
                "tests_passed": got.passed,
                "total_tests": got.total,
                "all_tests_passed": got.all_passed,
                "error": outcome.error.value if outcome.error else None,
                "error_type": outcome.error_type or None,
                "error_message": outcome.error_message or None,
                "limit": outcome.limit or None,
                "isolation": outcome.isolation.value,
                "verdict": verdict.value if (verdict := outcome.weakest) else None,
                "unchecked": sum(test.verdict == Verdict.UNCHECKED for test in counted_tests(attempt.sample, outcome)),
                "flags": ",".join(outcome.flags) or None,
                "code": str(attempt.data.get("code") or ""),
            }


def exam_cases(view: ExamView) -> Iterator[Case]:
    """Yield one case an attempt, and a skipped one for each problem that a model did not attempt."""
    for model, tally in view.tallies.items():
        for attempt in view.attempts(model):
            yield _exam_case(model, attempt, several=tally.n_evaluated > tally.n_answered)
        for index, sample in enumerate(tally.samples):
            if not tally.attempts[index] and not tally.unjudged[index]:
                yield Case(model, sample.id, "skipped", "absent: no attempt, scores 0")


def _exam_case(model: str, attempt: MarkedAttempt, *, several: bool) -> Case:
    got, outcome = attempt.mark, attempt.outcome
    name = f"{attempt.sample.id} [{attempt.index}]" if several else attempt.sample.id
    words = ": ".join(part for part in (outcome.error_type, outcome.error_message) if part)
    verdict = outcome.weakest.value if outcome.weakest else ""
    about: dict[str, Any] = {"verdict": verdict, "seconds": outcome.seconds}
    if got.missing is not None:
        return Case(model, name, "error", got.missing.kind.value, got.missing.detail, **about)
    if got.error is not None:
        return Case(model, name, "error", got.error.value, words, **about)
    if got.all_passed:
        return Case(model, name, "passed", **about)
    failed = [at for at, test in enumerate(counted_tests(attempt.sample, outcome)) if not test.passed]
    tests = ", ".join(map(str, failed[:50]))
    return Case(model, name, "failure", f"{got.passed} of {got.total} tests passed", f"failed: {tests}", **about)
