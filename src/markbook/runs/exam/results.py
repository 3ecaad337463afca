"""What there is to read of an exam, also of one that was broken off."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from markbook.errors import DataError, UsageError, suggest
from markbook.report.page import Page, of_run
from markbook.results.kind import Case, Content, Entry, ReplyUsage, Shown, Value, no_files
from markbook.results.sheet import STOPPED_NOTE, Sheet
from markbook.runs.exam.files import exam_files, harness_files
from markbook.runs.exam.grading import (
    EXAM_SCORE,
    GROUPINGS,
    counted_tests,
    exam_sheet,
    exam_signatures,
    get_group,
    mark,
)
from markbook.runs.exam.sections import assertions, attempt_status, exam_page
from markbook.runs.exam.view import OUTCOME, SAMPLE, ExamView, read_sample
from markbook.text import cut
from markbook.types import Direction, Key, Outcome, Sample, Verdict, join_words

if TYPE_CHECKING:
    from markbook.store import Run, RunWriter

CODE_CAP = 200_000
_TESTS_SHOWN = 200


class SampleFinder:
    """Problems by their ids: the journal is read as far as somebody has asked for, once."""

    def __init__(self, run: Run | RunWriter) -> None:
        self._rows = iter(run.rows(SAMPLE))
        self._known: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()

    def find(self, name: str) -> Sample | None:
        """Return a problem, None if there is none."""
        # The page's server asks from several threads, and they share one reader of the journal.
        with self._lock:
            while name not in self._known:
                row = next(self._rows, None)
                if row is None:
                    return None
                self._known[str(row.data["id"])] = row.data
            return read_sample(self._known[name])


class ExamResults(ExamView):
    """The results of an exam."""

    def overview(self) -> dict[str, object]:
        """Return what the exam is and its main numbers as plain JSON: every value beside its n and what is missing."""
        models = {
            model: {
                "exam_score": tally.exam_score().to_record(),
                "attempted_score": tally.attempted_score().to_record(),
                "error_rate": tally.error_rate,
                "errors": dict(sorted(tally.errors.items())),
                "attempts": tally.n_evaluated,
                "separated_share": tally.separated_share,
                "unchecked": tally.n_unchecked,
                "unchecked_share": tally.unchecked_share,
                **{name: estimate.to_record() for name, estimate in tally.passes()},
            }
            for model, tally in self.tallies.items()
        }
        return {
            "schema": 1,
            "command": "exam",
            "config": dict(self.config),
            "isolation": self.isolation,
            **({"stopped": dict(self.stop_record)} if self.stop_record else {}),
            "models": models,
        }

    def flat_rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield one flat row an attempt: model by model, in benchmark order. Scores are 0..1."""
        for model in self.tallies:
            for attempt in self.attempts(model):
                sample, grade, outcome = attempt.sample, attempt.mark, attempt.outcome
                yield {
                    "model": model,
                    "task_id": sample.id,
                    "sample": attempt.index,
                    **{grouping: get_group(sample, grouping) or None for grouping in GROUPINGS},
                    "score": attempt.score,
                    "score_zero": None if grade.missing else grade.zero,
                    "score_partial": None if grade.missing else grade.partial,
                    "tests_passed": grade.passed,
                    "total_tests": grade.total,
                    "all_tests_passed": grade.all_passed,
                    "error": outcome.error.value if outcome.error else None,
                    "error_type": outcome.error_type or None,
                    "error_message": outcome.error_message or None,
                    "limit": outcome.limit or None,
                    "isolation": outcome.isolation.value,
                    "verdict": verdict.value if (verdict := outcome.weakest) else None,
                    "unchecked": sum(test.verdict == Verdict.UNCHECKED for test in counted_tests(sample, outcome)),
                    "flags": ",".join(outcome.flags) or None,
                    "code": attempt.code,
                }

    def cases(self) -> Iterator[Case]:
        """Yield one case an attempt, and a skipped one for each problem that a model did not attempt."""
        for model, tally in self.tallies.items():
            several = tally.n_evaluated > tally.n_answered
            for attempt in self.attempts(model):
                grade, outcome = attempt.mark, attempt.outcome
                name = f"{attempt.sample.id} [{attempt.index}]" if several else attempt.sample.id
                verdict = outcome.weakest.value if outcome.weakest else ""
                case = partial(Case, model, name, verdict=verdict, seconds=outcome.seconds)
                if grade.missing is not None:
                    yield case("error", grade.missing.kind.value, grade.missing.detail)
                elif grade.error is not None:
                    yield case("error", grade.error.value, outcome.error_words)
                elif grade.all_passed:
                    yield case("passed")
                else:
                    tests = enumerate(counted_tests(attempt.sample, outcome))
                    failed = ", ".join([str(index) for index, test in tests if not test.passed][:50])
                    yield case("failure", f"{grade.passed} of {grade.total} tests passed", f"failed: {failed}")
            for index, sample in enumerate(tally.samples):
                # Answers that could not be judged are not absent: they stand above as errors.
                if not tally.attempts[index] and not tally.unjudged[index]:
                    yield Case(model, sample.id, "skipped", "absent: no attempt, scores 0")

    def sheet(self, metric: str | None) -> Sheet:
        """Return the problems' scores.

        Raises:
            UsageError: another metric than `exam_score` is asked for.
        """
        if metric not in (None, EXAM_SCORE):
            raise UsageError(f"an exam has no metric {metric!r}", hint=suggest(str(metric), [EXAM_SCORE]))
        notes = (STOPPED_NOTE,) if self.stop_record else ()
        sheet = exam_sheet(list(self.tallies.values()))
        return replace(sheet, signatures=exam_signatures(self.config), notes=notes)

    def page(self) -> Page:
        """Return everything that an exam's report shows."""
        return of_run(exam_page(self), self.manifest)

    def files(self, name: str) -> Mapping[str, Content]:
        """Return the documented files, or those of lm-evaluation-harness.

        Raises:
            UsageError: an exam has no files of that format.
            DataError: the documented files are asked for and the exam is not finished.
        """
        if name == "lm-eval":
            return harness_files(self, self.manifest.get("started"))
        if name != "documented":
            raise no_files("exam", name)
        if note := self.partial_note():
            raise DataError(
                f"the documented files appear only when complete. {note}",
                at=str(self.journal.folder),
                hint="finish it with --resume, or ask for another format",
            )
        return exam_files(self)

    @property
    def direction(self) -> Direction:
        """Which way is better: a higher score."""
        return "higher"

    def entries(self) -> Iterator[Entry]:
        """Yield every attempt in journal order, without reading the code that it handed in."""
        samples: dict[str, Sample] = {}
        for location, row in self.journal.locate_all():
            if row.kind == OUTCOME:
                model, task = str(row.key[0]), str(row.key[1])
                if task not in samples:
                    # Of a repaired journal the problem may stand behind the attempt, which is graded by its tests all the same.
                    samples[task] = self._finder.find(task) or Sample(task)
                sample = samples[task]
                grade = mark(sample, Outcome.from_record(row.data))
                error, topic = str(row.data["error"] or ""), str(sample.meta.get("topic") or "")
                seconds, status = row.data["seconds"], attempt_status(grade)
                yield Entry(
                    location, model, task, status, grade.score(self.policy), error, topic, seconds, int(row.key[2])
                )

    def show_attempt(self, location: int) -> Shown:
        """Return the attempt at a location of the journal, with its code and tests.

        Raises:
            ValueError: there is none.
        """
        row = self.journal.row_at(location)
        sample = self._finder.find(str(row.key[1])) if row.kind == OUTCOME else None
        if sample is None:
            raise ValueError("no attempt begins there")
        outcome = Outcome.from_record(row.data)
        results = counted_tests(sample, outcome)
        words = [test.assertion or test.program or test.pattern for test in sample.tests]
        if sample.is_program:
            words = assertions(sample)
        # Texts and results are matched by their order: where there are more of one, a text would stand beside
        # another's result.
        if len(words) != len(results):
            words = [f"assertion {index + 1}" for index in range(len(results))]
        tests = []
        for word, test in zip(words[:_TESTS_SHOWN], results[:_TESTS_SHOWN], strict=True):
            detail = join_words(test.verdict.value, test.error_type, test.error_message)
            tests.append((cut(word, 2000), "passed" if test.passed else "failed", detail))
        facts = [("Attempt", str(int(row.key[2]) + 1)), ("Isolation", outcome.isolation.value)]
        groups = {**{name: sample.meta.get(name) for name in GROUPINGS}, "problem_type": sample.problem_type}
        facts += [(name, str(value)) for name, value in groups.items() if value]
        if outcome.limit:
            facts.append(("Limit reached", outcome.limit))
        usage = self._usages.get((str(row.key[0]), sample.id, int(row.key[2])), ReplyUsage())
        facts += usage.facts()
        status, code = attempt_status(mark(sample, outcome)), cut(str(row.data.get("code") or ""), CODE_CAP)
        return Shown(
            str(row.key[0]), sample.id, status, tuple(facts), sample.input, code, outcome.error_words, tuple(tests),
            outcome.why, usage=usage,
        )  # fmt: skip

    @cached_property
    def _usages(self) -> Mapping[Key, ReplyUsage]:
        """What each reply took, of a run that asked a model."""
        from markbook.runs.asking import COMPLETION  # late: a run of answers that exist needs nothing that asks

        model = self.config.get("model")
        if not model:
            return {}
        return {
            (str(model), str(row.key[0]), int(row.key[1])): ReplyUsage.of(row.data)
            for row in self.journal.rows(COMPLETION)
        }

    @cached_property
    def _finder(self) -> SampleFinder:
        return SampleFinder(self.journal)
