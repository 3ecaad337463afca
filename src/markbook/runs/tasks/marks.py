"""From replies to marks: filter, run the tests where a metric asks for it, measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markbook.load.filters import as_list
from markbook.load.foreign import ForeignError
from markbook.metrics.code.problem_tests import problem_of
from markbook.model import ModelReply
from markbook.runs.tasks.asking import together
from markbook.runs.tasks.plan import Filtered, TaskPlan
from markbook.runs.tasks.published import TestedRecord
from markbook.runs.tasks.scoring.metrics import RowPassAtK
from markbook.runs.tasks.scoring.scorers import RowAnswer, RowScore, ScoreNames, score_rows
from markbook.runs.tasks.scoring.shards import Workers, measure_items
from markbook.types import Attempt, Item, Measurement, Missing, MissingKind, Outcome, Sample, Verdict
from markbook.why import Why, why_of

Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Tested:
    """What the tests said about one answer, as the journal keeps it."""

    passed: bool
    verdict: str = ""
    error: str = ""
    detail: str = ""
    fault: str = ""
    """Set where the tests themselves are broken."""
    why: Why | None = None

    def as_record(self) -> TestedRecord:
        """Return it as JSON."""
        record: TestedRecord = {
            "passed": self.passed,
            "verdict": self.verdict,
            "error": self.error,
            "detail": self.detail,
            "fault": self.fault,
        }
        if self.why is not None:
            record["why"] = self.why.to_record()
        return record

    @classmethod
    def of(cls, record: TestedRecord) -> Tested:
        """Return it from its JSON."""
        why = why_of(record.get("why"))
        return cls(record["passed"], record["verdict"], record["error"], record["detail"], record["fault"], why)


def read_tested(outcome: Outcome) -> Tested:
    """Return what counts of an outcome: a flagged test is not passed."""
    passed = bool(outcome.tests) and all(test.passed and test.verdict is not Verdict.FLAGGED for test in outcome.tests)
    failed = next((test for test in outcome.tests if not test.passed), None)
    message = outcome.error_message or (failed.error_message if failed else "")
    kind = outcome.error_type or (failed.error_type if failed else "")
    return Tested(
        passed,
        verdict=outcome.weakest.value if outcome.weakest else "",
        error=outcome.error.value if outcome.error else "",
        detail=": ".join(part for part in (kind, message, outcome.limit) if part),
        fault=outcome.benchmark_fault,
        why=outcome.why,
    )


@dataclass(frozen=True, slots=True)
class FilteredAnswer:
    """One answer after its filters."""

    pipeline: str
    sample: Sample
    index: int
    reply: ModelReply
    text: str
    model: str = ""
    source: str = ""
    is_list: bool = False
    """Whether the filters left a list, of which this is one text, and not a text alone."""

    def key(self, task: str) -> Key:
        """Return what its tests' outcome is kept under."""
        return (task, self.pipeline, self.sample.id, self.index)


@dataclass(frozen=True, slots=True)
class MarkedAnswer:
    """One answer with its marks."""

    answer: FilteredAnswer
    measurements: Mapping[str, Measurement]
    """By the metric's name in results."""
    tested: Tested | None
    raws: Mapping[str, object] = field(default_factory=dict)
    """At a row's first answer, what its scorers gave: a number over all rows may need more than each row's own."""
    lacking: Sequence[Missing | None] = ()
    """There too, of each scorer why it had nothing to say at all."""


def answers(
    plan: TaskPlan, filtered: Filtered, samples: Sequence[Sample], replies: Mapping[Key, ModelReply], model: str
) -> Iterator[FilteredAnswer]:
    """Yield the answers to some of a task's rows in order, then those that are missing, with the reason; a row has at least one.

    A missing answer stays one of the row's, unless the filters would have left it out had it been there (the first
    of several, the most frequent one).
    """
    read = plan.answers.attempts if plan.answers is not None else {}
    model = model or (plan.answers.model if plan.answers is not None else "")
    for sample in samples:
        recorded = {attempt.index: attempt for attempt in read.get(sample.id, [])}
        key, weighing = (plan.task.name, sample.id), plan.rows.weighings.get(sample.id)
        if plan.answers is not None:
            replies_found = [_to_reply(key, attempt) for attempt in recorded.values()] or [_to_reply(key, None)]
        elif weighing is not None:
            replies_found = [together((*key, 0), [replies[*key, position] for position in range(len(weighing.pairs))])]
        else:
            replies_found = [replies[*key, index] for index in range(plan.count)]
        answered = [reply for reply in replies_found if reply.missing is None]
        texts = [reply.text for reply in answered]
        count, is_list = len(replies_found), False
        if not any(attempt.meta.get("filtered") for attempt in recorded.values()):
            row = {} if sample.row is None else sample.row.record
            try:
                filtered_texts = filtered.step(texts, row) if texts else []
                texts, is_list = as_list(filtered_texts), not isinstance(filtered_texts, str)
                if len(answered) < len(replies_found) > 1:
                    count = max(1, len(as_list(filtered.step([""] * len(replies_found), row))))
            except ForeignError as error:
                missing = Missing(MissingKind.FAILED, f"the filter {error}")
                replies_found = [replace(reply, missing=reply.missing or missing) for reply in replies_found]
                answered, texts = [], []
        if len(texts) > len(answered) or (answered and not texts):
            problem = f"leaves {len(texts)} texts of {len(answered)} answers" if texts else "leaves nothing of the row"
            missing = Missing(MissingKind.FAILED if texts else MissingKind.UNDEFINED, f"the filter {problem}")
            replies_found = [replace(reply, missing=reply.missing or missing) for reply in replies_found]
            answered, texts = [], []
        # A filter may leave fewer answers than there were (the first, the most frequent one): those are renumbered.
        replies_kept = answered if len(texts) == len(answered) else answered[: len(texts)]
        lacking = [reply for reply in replies_found if reply.missing is not None][: max(0, count - len(replies_kept))]
        for reply, text in [*zip(replies_kept, texts, strict=True), *((reply, "") for reply in lacking)]:
            index = int(reply.key[-1])
            source, name = (recorded[index].source, recorded[index].model) if index in recorded else ("", model)
            yield FilteredAnswer(filtered.pipeline.name, sample, index, reply, text, name, source, is_list)


def _to_reply(name: tuple[str, str], attempt: Attempt | None) -> ModelReply:
    """Return an answer that exists as a model's reply."""
    if attempt is None or attempt.meta["absent"]:
        index = 0 if attempt is None else attempt.index
        return ModelReply((*name, index), missing=Missing(MissingKind.ABSENT, "nobody answered it"))
    return ModelReply((*name, attempt.index), text=attempt.text, raw=attempt.text)


def measure(
    plan: TaskPlan,
    given: Sequence[FilteredAnswer],
    outcomes: Mapping[Key, Tested],
    workers: Workers | None,
    names: ScoreNames,
) -> Iterator[MarkedAnswer]:
    """Yield each answer with its marks, in order; names are those under which the task's scorers spoke so far."""
    passes = _pass_marks(plan, plan.passes, given, outcomes) if plan.passes else {}
    scored = _score_rows(plan, given, names) if plan.scorers else {}
    answered = [answer for answer in given if answer.reply.missing is None]
    items = [
        Item(answer.sample, Attempt(answer.sample.id, answer.text, answer.model, answer.index)) for answer in answered
    ]
    metrics = [bound.metric for bound in plan.metrics]
    columns = measure_items(metrics, items, workers)
    number = 0
    for answer in given:
        measurements = passes.get((answer.sample.id, answer.index), {})
        if answer.reply.missing is None:
            measurements |= {bound.key: column[number] for bound, column in zip(plan.metrics, columns, strict=True)}
            number += 1
        else:
            measurements |= {bound.key: _mark_unanswered(bound.metric.name, answer) for bound in plan.metrics}
        own = scored.get((answer.sample.id, answer.index))
        yield MarkedAnswer(
            answer,
            measurements if own is None else measurements | own.measurements,
            outcomes.get(answer.key(plan.task.name)),
            {} if own is None else own.raws,
            () if own is None else own.lacking,
        )


def _score_rows(
    plan: TaskPlan, answers_given: Sequence[FilteredAnswer], names: ScoreNames
) -> dict[tuple[str, int], RowScore]:
    """Return what the scorers say of each row, at its first answer."""
    by_sample: dict[str, list[FilteredAnswer]] = {}
    for answer in answers_given:
        by_sample.setdefault(answer.sample.id, []).append(answer)
    rows = []
    for several in by_sample.values():
        first = several[0]
        attempt = Attempt(first.sample.id, first.text, first.model, first.index)
        texts = [answer.text for answer in several if answer.reply.missing is None]
        missing = None if texts else first.reply.missing
        weighing = plan.rows.weighings.get(first.sample.id)
        rows.append(RowAnswer(first.sample, attempt, texts, missing, weighing, is_list=first.is_list))
    scores = score_rows(plan.scorers, rows, names)
    return {(row.sample.id, row.attempt.index): score for row, score in zip(rows, scores, strict=True)}


def _mark_unanswered(metric: str, answer: FilteredAnswer) -> Measurement:
    return Measurement(
        metric, missing=answer.reply.missing, sample_id=answer.sample.id, index=answer.index, model=answer.model
    )


def _pass_marks(
    plan: TaskPlan, passes: RowPassAtK, answers_given: Sequence[FilteredAnswer], outcomes: Mapping[Key, Tested]
) -> dict[tuple[str, int], dict[str, Measurement]]:
    """Return pass@k of each row, at its first answer."""
    rows: dict[str, list[FilteredAnswer]] = {}
    for answer in answers_given:
        rows.setdefault(answer.sample.id, []).append(answer)
    marks_by_row = {}
    for sample_id, several in rows.items():
        marks = {f"pass@{k}": _pass_mark(k, several, plan.task.name, outcomes, passes.language) for k in passes.ks}
        marks_by_row[sample_id, several[0].index] = marks
    return marks_by_row


def _pass_mark(
    k: int, several: Sequence[FilteredAnswer], task: str, outcomes: Mapping[Key, Tested], language: str
) -> Measurement:
    from markbook.stats import pass_at_k

    name = f"pass@{k}"
    outcomes_known = [outcome for answer in several if (outcome := outcomes.get(answer.key(task))) is not None]
    n, c = len(outcomes_known), sum(tested.passed for tested in outcomes_known)
    first = several[0]
    gaps = Counter(answer.reply.missing.kind.value for answer in several if answer.reply.missing is not None)
    stats: dict[str, object] = {"n": n, "c": c}
    value: float | None = None
    missing: Missing | None = None
    fault = next((tested.fault for tested in outcomes_known if tested.fault), "")
    broken = problem_of(first.sample.tests, language)
    if broken is not None:
        missing = first.reply.missing or broken
    elif fault:
        missing = Missing(MissingKind.UNDEFINED, f"the tests are broken: {fault}")
    elif not outcomes_known:
        missing = first.reply.missing or Missing(MissingKind.UNDEFINED, "no answer was run")
    else:
        value = pass_at_k(n, c, k).value
        if value is None:
            missing = Missing(MissingKind.UNDEFINED, f"{n} answers, and pass@{k} needs {k}")
        elif gaps:
            every = n + gaps.total()
            ends = (pass_at_k(every, right, k).value for right in (c, c + gaps.total()))
            stats |= {"n_missing": dict(sorted(gaps.items())), "bounds": list(ends)}
    return Measurement(
        name,
        value,
        missing,
        sample_id=first.sample.id,
        index=first.index,
        model=first.model,
        stats=stats,
        signature=f"{name}|unbiased|v1",
    )
