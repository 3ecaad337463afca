"""The attempts of an exam in the order in which they are run, and the marks of those that were."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from markbook.results.stopping import StoppedRecord
from markbook.runs.exam.plan import ExamPlan
from markbook.runs.exam.sheet import exam_sheet
from markbook.runs.exam.stopping import ExamStop
from markbook.runs.exam.tally import Tally
from markbook.runs.exam.view import OUTCOME, STOPPED
from markbook.runs.outcomes import outcome_of
from markbook.runs.stopping import Marks, until_enough
from markbook.store import RunWriter
from markbook.types import Attempt, Outcome


class ExamSoFar:
    """The attempts of an exam in the order in which they are run, and the marks of those that were."""

    def __init__(self, plan: ExamPlan, journal: RunWriter) -> None:
        """Take up what a resumed run had marked."""
        self._plan, self._journal = plan, journal
        self._samples = plan.benchmark.samples
        self._places = {sample.id: index for index, sample in enumerate(self._samples)}
        self._tallies = {model: self._tally(model) for model in plan.models}
        for row in journal.rows(OUTCOME):
            self.add(str(row.key[0]), str(row.key[1]), outcome_of(row.data))

    def _tally(self, model: str) -> Tally:
        tally = Tally(model, self._samples, self._plan.options.error_policy)
        lacking = self._plan.answers.lacking(model)
        if any(lacking):
            tally.lacking = array("I", lacking)
        return tally

    def add(self, model: str, task: str, outcome: Outcome) -> None:
        """Count an attempt."""
        self._tallies[model].add(self._places[task], outcome)

    def until_enough(self, stop: ExamStop, run: Callable[[Iterable[Attempt]], None]) -> StoppedRecord:
        """Run attempts, problem by problem in the drawn order, until enough is seen; return what there is to say.

        Args:
            stop: what decides.
            run: runs those of these attempts that were not run yet, and adds their outcomes here.
        """
        attempts: dict[str, list[Attempt]] = defaultdict(list)
        for model in self._plan.models:
            for attempt in self._plan.answers.attempts(model):
                attempts[attempt.sample_id].append(attempt)

        def step(batch: Sequence[str]) -> Marks:
            run(attempt for task in batch for attempt in attempts[task])
            return exam_sheet(list(self._tallies.values())).marks  # a problem without an attempt has 0

        record: StoppedRecord = {
            "metric": "exam_score",
            **until_enough(stop.stopping, self._journal, len(self._samples), step),
        }
        self._journal.add(STOPPED, (0,), record)
        self._journal.commit()
        return record


def all_attempts(plan: ExamPlan) -> Iterator[Attempt]:
    """Yield every attempt, model by model."""
    for model in plan.models:
        yield from plan.answers.attempts(model)
