"""What the formats for machines are made of: one flat row an attempt, and one test case an attempt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from markbook.aggregate.exam import counted_tests, group_of, mark
from markbook.aggregate.exam_view import ExamView, Marked
from markbook.types import Verdict

Value = str | int | float | bool | None


class Files(Protocol):
    """A finished run of tasks or reviews: its published rows and summary."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What run.json holds."""
        ...

    @property
    def summary(self) -> Mapping[str, Any]:
        """What summary.json holds."""
        ...

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of results.jsonl."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """An attempt as a build server shows it."""

    suite: str
    name: str
    state: Literal["passed", "failure", "error", "skipped"]
    message: str = ""
    detail: str = ""
    verdict: str = ""
    """The least trustworthy verdict of its tests, where it has any."""
    seconds: float | None = None


def exam_rows(view: ExamView) -> Iterator[dict[str, Value]]:
    """Yield one flat row an attempt: model by model, in benchmark order. Scores are 0..1."""
    for model, tally in view.tallies.items():
        for attempt in view.attempts(model):
            got = mark(attempt.sample, attempt.outcome)
            outcome = attempt.outcome
            yield {
                "model": model,
                "task_id": attempt.sample.id,
                "sample": attempt.index,
                "topic": group_of(attempt.sample, "topic") or None,
                "complexity": group_of(attempt.sample, "complexity") or None,
                "problem_type": group_of(attempt.sample, "problem_type") or None,
                "score": got.score(tally.policy),
                "score_zero": got.zero,
                "score_partial": got.partial,
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
            yield _exam_case(model, attempt, several=tally.evaluated > tally.answered)
        for place, sample in enumerate(tally.samples):
            if not tally.attempts[place]:
                yield Case(model, sample.id, "skipped", "absent: no attempt, scores 0")


def _exam_case(model: str, attempt: Marked, *, several: bool) -> Case:
    got, outcome = mark(attempt.sample, attempt.outcome), attempt.outcome
    name = f"{attempt.sample.id} [{attempt.index}]" if several else attempt.sample.id
    words = ": ".join(part for part in (outcome.error_type, outcome.error_message) if part)
    verdict = outcome.weakest.value if outcome.weakest else ""
    about: dict[str, Any] = {"verdict": verdict, "seconds": outcome.seconds}
    if got.error is not None:
        return Case(model, name, "error", got.error.value, words, **about)
    if got.all_passed:
        return Case(model, name, "passed", **about)
    failed = [at for at, test in enumerate(counted_tests(attempt.sample, outcome)) if not test.passed]
    tests = ", ".join(map(str, failed[:50]))
    return Case(model, name, "failure", f"{got.passed} of {got.total} tests passed", f"failed: {tests}", **about)


def files_rows(view: Files) -> Iterator[dict[str, Value]]:
    """Yield the rows of a run of tasks or reviews, nested fields joined by dots, lists as JSON."""
    for row in view.rows():
        flat: dict[str, Value] = {}
        _flatten("", row, flat)
        if "text" in row and "reply" in row:
            flat["answered"] = row["text"] is not None  # CSV has no word for null: an empty cell may be an empty answer
        yield flat


def _flatten(name: str, value: Any, flat: dict[str, Value]) -> None:
    if isinstance(value, dict) and len(name.split(".")) <= 4:
        for key, part in value.items():
            _flatten(f"{name}.{key}" if name else str(key), part, flat)
    elif isinstance(value, dict | list):
        flat[name] = json.dumps(value, ensure_ascii=False, allow_nan=False)
    else:
        flat[name] = value


def files_cases(view: Files) -> Iterator[Case]:
    """Yield one case a row: an error where a value is missing because something failed, else passed."""
    for row in view.rows():
        missing = row.get("missing") or {}
        broken = {
            name: reason
            for name, reason in missing.items()
            if isinstance(reason, dict) and reason.get("kind") in ("failed", "timeout", "unavailable", "budget")
        }
        suite = str(row.get("model") or row.get("system") or view.manifest.get("command", "run"))
        name = str(row.get("id") or row.get("paper_id") or "")
        name = f"{row['task']}/{name}" if row.get("task") else name
        name += f" [{row['index']}]" if row.get("index") else ""
        detail = "\n".join(f"{field}: {one['kind']}: {one.get('detail', '')}" for field, one in broken.items())
        tests = row.get("tests")
        if broken:
            yield Case(suite, name, "error", f"{len(broken)} values are missing", detail)
        elif isinstance(tests, dict) and not tests.get("passed"):
            words = str(tests.get("error") or "the tests failed")
            yield Case(suite, name, "failure", words, str(tests.get("detail") or ""))
        else:
            yield Case(suite, name, "passed")


def rows_of(view: ExamView | Files) -> Iterator[dict[str, Value]]:
    """Yield the flat rows of any view."""
    return exam_rows(view) if isinstance(view, ExamView) else files_rows(view)


def cases_of(view: ExamView | Files) -> Iterator[Case]:
    """Yield the cases of any view."""
    return exam_cases(view) if isinstance(view, ExamView) else files_cases(view)
