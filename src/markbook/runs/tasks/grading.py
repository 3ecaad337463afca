"""Answers of a run of tasks: filtered, tested and measured, in this process or in several.

Theory of operation
-------------------
Metrics measure lists of items. Many items go to worker processes in pieces of `_PIECE` rows; what travels is plain values
(see `measure_piece`), because a sample with its whole row and its images would cost more to pickle than to measure.
Only our own metrics travel: a user's metric may read fields that are not sent. This process takes back from the end of the
queue what no worker has begun. Results are joined by piece and order, so the number of workers changes no byte.

A row may have several answers. Metrics measure each answer; scorers and pass@k measure a row, and their value stands at
the row's first answer. A missing reply is never measured: it has a reason of its own in each column.
"""

from __future__ import annotations

import contextlib
import json
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from markbook import plugins
from markbook.codec import JsonRecord
from markbook.datasets.filters import as_list
from markbook.datasets.user_code import ForeignError
from markbook.engine import deaf, end_workers, lost_workers, other_engine
from markbook.errors import UsageError
from markbook.metrics import NO_STATS
from markbook.metrics.measure import measure_piece, measure_together, warm
from markbook.model import ModelReply
from markbook.model.connect import COMPLETIONS
from markbook.runs.asking import goes_on, sum_field
from markbook.runs.pass_at_k import find_problem
from markbook.runs.tasks.metrics import RowPassAtK
from markbook.runs.tasks.plan import Filtered, TaskPlan
from markbook.runs.tasks.scorers import RowAnswer, ScoreNames, score_rows
from markbook.runs.tasks.summaries import TestedRecord
from markbook.runs.tasks.task_options import TaskOptions
from markbook.types import Attempt, Item, Key, Measurement, Metric, Missing, MissingKind, Outcome, Sample, join_words
from markbook.why import Why

# Measuring many answers in several processes: only plain values travel, and the order of the rows is kept.

MANY = 2_000
"""From so many answers on further processes on this machine are worth their start."""
_MANY_BYTES = 1 << 19
_PIECE = 500


@dataclass(frozen=True, slots=True)
class Workers:
    """Where work may run beside this process."""

    executor: Executor
    many: int
    """From so many answers on it is worth it."""


@contextlib.contextmanager
def start_workers(engine: str, count: int | None, answers: Path | None) -> Iterator[Workers | None]:
    """Yield where measuring may run; None for this process.

    The workers start at once and import while the caller still reads; on this machine the caller is one of them. Here
    a caller who names no number of workers gets none: fresh processes import the caller's script, which has to be
    written for that. Small files of answers are not worth a process either.
    """
    if engine != "local":
        with other_engine(engine, count) as other:
            assert other is not None
            yield Workers(other, 1)
        return
    # Size alone says how much there is to measure: nothing is read yet. A model is asked first, and marking is quicker
    # than any model.
    files = [] if answers is None else answers.glob("*") if answers.is_dir() else [answers]
    size = sum(path.stat().st_size for path in files if path.is_file())
    if count is None or count == 1 or size < _MANY_BYTES:
        yield None
        return
    executor: Executor = plugins.create("engines", engine, workers=count, with_caller=True)
    try:
        with deaf():
            for _ in range(count - 1):
                executor.submit(warm)
        with lost_workers():
            yield Workers(executor, MANY)
    except BaseException:
        end_workers(executor)
        raise
    executor.shutdown(wait=False, cancel_futures=True)


def measure_items(metrics: Sequence[Metric], items: Sequence[Item], workers: Workers | None) -> list[list[Measurement]]:
    """Return each metric's measurements of the items, in order, as one process (`workers` is None) would give them."""
    if workers is None or len(items) < workers.many:
        return measure_together(metrics, items) if items else [[] for _ in metrics]
    away = [index for index, metric in enumerate(metrics) if _travels(metric)]
    here = [index for index in range(len(metrics)) if index not in away]
    columns_away = _in_pieces([metrics[index] for index in away], items, workers.executor)
    columns_here = measure_together([metrics[index] for index in here], items)
    columns = dict(zip((*away, *here), (*columns_away, *columns_here), strict=True))
    return [columns[index] for index in range(len(metrics))]


def _in_pieces(metrics: Sequence[Metric], items: Sequence[Item], executor: Executor) -> list[list[Measurement]]:
    """Measure piece by piece in the workers; what none has begun when this process has nothing to do, it does."""
    pieces = [items[start : start + _PIECE] for start in range(0, len(items), _PIECE)]
    futures = []
    for piece in pieces:
        pairs = [(item.sample, item.attempt) for item in piece]
        rows = [(s.id, a.text, s.references, a.model, a.index, s.context) for s, a in pairs]
        futures.append(executor.submit(measure_piece, metrics, rows))
    own: dict[int, list[list[Measurement]]] = {}
    # From the end, where no worker has begun yet; a future that cannot be cancelled is under way, and so are all before it.
    for index in range(len(pieces) - 1, -1, -1):
        if not futures[index].cancel():
            break
        own[index] = measure_together(metrics, pieces[index])
    measured: list[list[Measurement]] = [[] for _ in metrics]
    for index, piece in enumerate(pieces):
        if index in own:  # also where it is empty: it has no columns where no metric travels
            columns = own[index]
        else:
            columns = [
                [
                    Measurement(
                        metric.name,
                        value,
                        missing,
                        sample_id=item.sample.id,
                        index=item.attempt.index,
                        model=item.attempt.model,
                        stats=MappingProxyType(stats) if stats else NO_STATS,
                        signature=signature or metric.signature,
                    )
                    for item, (value, missing, stats, signature) in zip(piece, column, strict=True)
                ]
                for metric, column in zip(metrics, futures[index].result(), strict=True)
            ]
        for column_measured, part in zip(measured, columns, strict=True):
            column_measured.extend(part)
    return measured


def _travels(metric: Metric) -> bool:
    """Whether a metric can be sent to a worker, and needs no more of a sample than what is sent.

    A user's own metric may read any field of a sample, of which only some are sent.
    """
    if metric.whole_batch or not type(metric).__module__.startswith("markbook.metrics."):
        return False
    try:
        # Tried, not asked: a closure or an open file shows only here.
        pickle.dumps(metric)
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True


# Which tasks a model can be asked, and one row's answer out of the replies to its several questions.


def check_askable(tasks: Sequence[TaskPlan], options: TaskOptions) -> None:
    """Find out whether a model can answer the tasks.

    Raises:
        UsageError: it cannot, and what can.
    """
    continues = goes_on(options)
    other = f"--model {COMPLETIONS}:NAME asks a server that continues texts; --predictions takes answers that exist"
    if continues and options.turns:
        raise UsageError(f"--turns does not go with {COMPLETIONS}:, which knows no turns")
    for task_plan in tasks:
        name, beams = repr(task_plan.task.name), task_plan.task.sampling.beams
        if task_plan.rows.weighings and not continues:
            raise UsageError(
                f"{name} is answered by how likely given texts are, which a chat model does not say", hint=other
            )
        if task_plan.task.prefix and not continues:
            raise UsageError(
                f"{name} begins the reply for the model (`gen_prefix`), which chat servers do not offer", hint=other
            )
        if beams > 1:
            raise UsageError(
                f"{name} wants a beam search (`num_beams: {beams}`), which no server offers",
                hint="--predictions takes answers that exist",
            )
        if (
            task_plan.task.output != "loglikelihood_rolling"
            and not options.system
            and any(not context for weighing in task_plan.rows.weighings.values() for context, _ in weighing.pairs)
        ):
            raise UsageError(
                f"{name} weighs texts with nothing before them, and no server says how likely a text's first token is",
                hint="--system names what stands there; lm-evaluation-harness puts the model's first token, such as <s>",
            )


def together(key: tuple[str | int, ...], replies: Sequence[ModelReply]) -> ModelReply:
    """Return the answer to a row that is weighed text by text: all log-likelihoods, or why one is missing."""
    # One text that was not weighed could have been the likeliest: without it the row has no answer.
    lacking = next((reply for reply in replies if reply.missing is not None), None)
    if lacking is not None:
        return replace(lacking, key=key)
    text = json.dumps([json.loads(reply.text) for reply in replies])
    return ModelReply(
        key,
        text=text,
        finish="stop",
        input_tokens=sum_field(replies, "input_tokens"),
        output_tokens=sum_field(replies, "output_tokens"),
        cost=sum_field(replies, "cost"),
        requests=sum(reply.requests for reply in replies),
        seconds=sum(reply.seconds for reply in replies),
    )


# From replies to marks: filter, run the tests where a metric asks for it, measure.


@dataclass(frozen=True, slots=True)
class Tested(JsonRecord[TestedRecord]):
    """What the tests said about one answer, as the journal keeps it."""

    passed: bool
    verdict: str = ""
    error: str = ""
    detail: str = ""
    fault: str = ""
    """Set where the tests themselves are broken."""
    why: Why | None = None


def read_tested(outcome: Outcome) -> Tested:
    """Return what counts of an outcome: a flagged test is not passed."""
    failed = next((test for test in outcome.tests if not test.passed), None)
    message = outcome.error_message or (failed.error_message if failed else "")
    kind = outcome.error_type or (failed.error_type if failed else "")
    return Tested(
        outcome.is_right,
        verdict=outcome.weakest.value if outcome.weakest else "",
        error=outcome.error.value if outcome.error else "",
        detail=join_words(kind, message, outcome.limit),
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
            absent = Missing(MissingKind.ABSENT, "nobody answered it")
            replies_found = [
                ModelReply((*key, index), missing=replace(absent, detail=str(attempt.meta["failure"] or absent.detail)))
                if attempt.meta["absent"]
                else ModelReply((*key, index), text=attempt.text, raw=attempt.text)
                for index, attempt in recorded.items()
            ] or [ModelReply((*key, 0), missing=absent)]
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
                    # How many answers the filters leave of so many is tried on empty texts: only so many of the
                    # missing ones count.
                    count = max(1, len(as_list(filtered.step([""] * len(replies_found), row))))
            except ForeignError as error:
                missing = Missing(error.kind, f"the filter {error}")
                replies_found = [replace(reply, missing=reply.missing or missing) for reply in replies_found]
                answered, texts = [], []
        # More texts than replies belong to no reply, and no text says nothing of the row.
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


def measure(
    plan: TaskPlan,
    filtered: Sequence[FilteredAnswer],
    outcomes: Mapping[Key, Tested],
    workers: Workers | None,
    names: ScoreNames,
) -> Iterator[MarkedAnswer]:
    """Yield each answer with its marks, in order; names are those under which the task's scorers spoke so far."""
    by_sample: dict[str, list[FilteredAnswer]] = {}
    for answer in filtered:
        by_sample.setdefault(answer.sample.id, []).append(answer)
    passes = _pass_marks(plan, plan.passes, by_sample, outcomes) if plan.passes else {}
    rows = []
    for several in by_sample.values() if plan.scorers else ():
        first = several[0]
        attempt = Attempt(first.sample.id, first.text, first.model, first.index)
        texts = [answer.text for answer in several if answer.reply.missing is None]
        missing = None if texts else first.reply.missing
        weighing = plan.rows.weighings.get(first.sample.id)
        rows.append(RowAnswer(first.sample, attempt, texts, missing, weighing, is_list=first.is_list))
    scores = zip(rows, score_rows(plan.scorers, rows, names), strict=True) if rows else ()
    scored = {(row.sample.id, row.attempt.index): score for row, score in scores}
    answered = [answer for answer in filtered if answer.reply.missing is None]
    items = [
        Item(answer.sample, Attempt(answer.sample.id, answer.text, answer.model, answer.index)) for answer in answered
    ]
    metrics = [bound.metric for bound in plan.metrics]
    columns = measure_items(metrics, items, workers)
    number = 0
    for answer in filtered:
        measurements = passes.get((answer.sample.id, answer.index), {})
        if answer.reply.missing is None:
            measurements |= {bound.key: column[number] for bound, column in zip(plan.metrics, columns, strict=True)}
            number += 1
        else:
            where = answer.sample.id, answer.index, answer.model
            measurements |= {
                bound.key: Measurement(bound.metric.name, None, answer.reply.missing, *where) for bound in plan.metrics
            }
        own = scored.get((answer.sample.id, answer.index))
        yield MarkedAnswer(
            answer,
            measurements if own is None else measurements | own.measurements,
            outcomes.get(answer.key(plan.task.name)),
            {} if own is None else own.raws,
            () if own is None else own.lacking,
        )


def _pass_marks(
    plan: TaskPlan,
    passes: RowPassAtK,
    by_sample: Mapping[str, Sequence[FilteredAnswer]],
    outcomes: Mapping[Key, Tested],
) -> dict[tuple[str, int], dict[str, Measurement]]:
    """Return pass@k of each row, at its first answer."""
    from markbook.stats import pass_at_k

    marks: dict[tuple[str, int], dict[str, Measurement]] = {}
    for sample_id, several in by_sample.items():
        first = several[0]
        tested = [outcome for answer in several if (outcome := outcomes.get(answer.key(plan.task.name))) is not None]
        n, c = len(tested), sum(outcome.passed for outcome in tested)
        gaps = Counter(answer.reply.missing.kind.value for answer in several if answer.reply.missing is not None)
        fault = next((outcome.fault for outcome in tested if outcome.fault), "")
        broken = find_problem(first.sample.tests, passes.language)
        reason: Missing | None = None
        if broken is not None:
            reason = first.reply.missing or broken
        elif fault:
            reason = Missing(MissingKind.UNDEFINED, f"the tests are broken: {fault}")
        elif not tested:
            reason = first.reply.missing or Missing(MissingKind.UNDEFINED, "no answer was run")
        for k in passes.ks:
            name, missing = f"pass@{k}", reason
            stats: dict[str, object] = {"n": n, "c": c}
            value = None if missing else pass_at_k(n, c, k).value
            if missing is None and value is None:
                missing = Missing(MissingKind.UNDEFINED, f"{n} answers, and pass@{k} needs {k}")
            elif missing is None and gaps:
                # An answer that was not given may have been wrong or right.
                ends = [pass_at_k(n + gaps.total(), right, k).value for right in (c, c + gaps.total())]
                stats |= {"n_missing": dict(sorted(gaps.items())), "bounds": ends}
            marks.setdefault((sample_id, first.index), {})[name] = Measurement(
                name, value, missing, sample_id, first.index, first.model, stats, f"{name}|unbiased|v1"
            )
    return marks
