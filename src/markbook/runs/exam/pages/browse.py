"""An exam's attempts one by one, as `view` lists and opens them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from markbook.results.kind import Entry, Shown
from markbook.runs.exam.marks import ErrorPolicy, Grading, counted_tests, grading_of, mark, mark_of_record
from markbook.runs.exam.pages.problems import assertions, status_of
from markbook.runs.exam.view import OUTCOME, SAMPLE, ReadableJournal, sample_of
from markbook.runs.outcomes import as_outcome_record, outcome_of
from markbook.text import cut
from markbook.types import Sample

CODE_CAP = 200_000
_TESTS_SHOWN = 200


def entries(run: ReadableJournal, policy: ErrorPolicy) -> Iterator[Entry]:
    """Yield every attempt of an exam in journal order, without reading what it handed in."""
    gradings: dict[str, Grading] = {}
    topics: dict[str, str] = {}
    unknown = Grading(together=False)
    for location, row in run.locate_all():
        if row.kind == SAMPLE:
            gradings[row.data["id"]] = grading_of(sample_of(row.data))
            topics[row.data["id"]] = str(row.data["meta"].get("topic") or "")
        elif row.kind == OUTCOME:
            model, task = str(row.key[0]), str(row.key[1])
            got = mark_of_record(gradings.get(task, unknown), as_outcome_record(row.data))
            score = got.measurement(policy).value
            error, topic, seconds = str(row.data["error"] or ""), topics.get(task, ""), row.data["seconds"]
            yield Entry(location, model, task, status_of(got), score, error, topic, seconds, int(row.key[2]))


def show_attempt(run: ReadableJournal, location: int, samples: SampleFinder) -> Shown:
    """Return an attempt with its code and tests.

    Raises:
        ValueError: there is none at this place of the journal.
    """
    row = run.row_at(location)
    sample = samples.find(str(row.key[1])) if row.kind == OUTCOME else None
    if sample is None:
        raise ValueError("no attempt begins there")
    outcome = outcome_of(row.data)
    results = counted_tests(sample, outcome)
    words = [test.assertion or test.program or test.pattern for test in sample.tests]
    if sample.is_program:
        words = assertions(sample)
    if len(words) != len(results):
        words = [f"assertion {index + 1}" for index in range(len(results))]
    tests = tuple(
        (cut(word, 2000), "passed" if test_result.passed else "failed", _words(test_result.verdict.value, test_result.error_type, test_result.error_message))
        for word, test_result in zip(words, results, strict=True)
    )[:_TESTS_SHOWN]  # fmt: skip
    facts = [("Attempt", str(int(row.key[2]) + 1)), ("Isolation", outcome.isolation.value)]
    groups = {"topic": sample.meta.get("topic"), "complexity": sample.meta.get("complexity")}
    facts += [(name, str(value)) for name, value in {**groups, "problem_type": sample.problem_type}.items() if value]
    if outcome.limit:
        facts.append(("Limit hit", outcome.limit))
    return Shown(
        str(row.key[0]), sample.id, status_of(mark(sample, outcome)), tuple(facts), sample.input,
        cut(str(row.data.get("code") or ""), CODE_CAP), _words(outcome.error_type, outcome.error_message), tests,
        outcome.why,
    )  # fmt: skip


class SampleFinder:
    """Problems by their ids: the journal is read as far as somebody has asked for, once."""

    def __init__(self, run: ReadableJournal) -> None:
        self._rows = iter(run.rows(SAMPLE))
        self._known: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()

    def find(self, name: str) -> Sample | None:
        """Return a problem, None if there is none."""
        with self._lock:
            while name not in self._known:
                row = next(self._rows, None)
                if row is None:
                    return None
                self._known[str(row.data["id"])] = row.data
            return sample_of(self._known[name])


def _words(*parts: str) -> str:
    return ": ".join(filter(None, parts))
