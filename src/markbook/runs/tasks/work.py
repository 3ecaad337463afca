"""A run of tasks from its plan to its files: what is asked, run, measured and written, and when that was enough.

Theory of operation
-------------------
plan:  `plan_run` reads task files, rows, prompts and answers (`tasks.plan`) while workers start, and refuses what cannot
       be asked. The digest of all prompts and right answers is in the manifest: replies in the journal are kept by the
       row's place, and belong to these prompts alone.
work:  `answer_and_mark` takes the tasks one by one, each filter pipeline of a task by itself, and its rows in pieces
       (`PIECE`), so that memory does not grow with the rows. A piece goes through four steps:
       replies (asked or read) -> `grading.answers` (filtered texts) -> `_execute` (tests in the sandbox, where a metric
       runs them) -> `grading.measure` (each metric over the piece, here or in workers).
       Replies, judgements and test outcomes go into the journal the moment they come and are never asked for twice.
       Measurements do not: they are computed again from these by a resumed run, and come out the same.
results: `columns.MarkCollector` takes the measured pieces and gives `results.jsonl` and `summary.json`; from these alone
       `finished.TaskResults` makes pages, comparisons and the other formats, for ours and for others' runs alike.

A run that may stop early asks batches of rows in a drawn order and then marks all rows that were asked once more as one,
because numbers over whole tasks (corpus BLEU, aggregations of user code) are not sums of batches.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from markbook.datasets.user_code import kept_generators
from markbook.errors import DataError, UsageError
from markbook.judge.judge_options import JUDGE_ADDRESSES, plain_judge
from markbook.model import ModelReply, PromptRequest
from markbook.model.connect import find_asked_address, without_secrets
from markbook.option import ASKING
from markbook.results.alignment import digest
from markbook.results.kind import Results as Finished, get_sheet
from markbook.results.sheet import Cell, Sheet
from markbook.results.stopping import Marks, StoppedRecord, Stopping, open_against, parse_rule, until_enough
from markbook.results.summary import count_missing
from markbook.runs.asking import Replies, connect_generator, goes_on, sum_usage, timings
from markbook.runs.kind import Machines, Planned, Skipped, Watcher, WorkEnd
from markbook.runs.options import with_answerer
from markbook.runs.pass_at_k import find_problem
from markbook.runs.tasks.columns import MarkCollector
from markbook.runs.tasks.finished import OPENED
from markbook.runs.tasks.grading import (
    FilteredAnswer,
    Tested,
    Workers,
    answers,
    check_askable,
    measure,
    read_tested,
    start_workers,
)
from markbook.runs.tasks.plan import Plan, TaskPlan, iterate_judges, judge_memory, plan_tasks, planned_signatures
from markbook.runs.tasks.sections import stop_lines, summary_text
from markbook.runs.tasks.task_options import JUDGING, TaskOptions
from markbook.sandbox import Job
from markbook.store import Manifest, RunWriter
from markbook.store.reader import latest_run
from markbook.types import Direction, Key, Limits, Missing, MissingKind, Sample

# A run of tasks that stops when it has seen enough: which of its metrics decides, and the plan of a part of its rows.

_TO_COME = Cell(None, Missing(MissingKind.ABSENT, "not asked yet"))


def plan_stop(plan: Plan, options: TaskOptions) -> Stopping | None:
    """Return what decides when to stop; None where nobody asked for it.

    Raises:
        UsageError: no moment to stop is said or can be told, or the baseline is marked by other metrics.
        DataError: the baseline is not a run, or shares no row with this one, or was measured differently.
    """
    baseline = open_against(options.against, options.stop_when)
    if not options.stop_when:
        return None
    if len(options.contexts) > 1:
        raise UsageError("context modes are compared row by row, so all of them need all rows")
    metric, limits, direction, baseline_sheet = _deciding(plan, baseline)
    if baseline_sheet is not None and options.allow_different_measures:
        # Without signatures and with one policy nothing is held to differ.
        baseline_sheet = replace(baseline_sheet, signatures={}, policy=options.missing)
    if baseline_sheet is not None and options.missing == "exclude" and baseline_sheet.policy != "exclude":
        # What this run will lack is known only when it has been decided.
        raise DataError(
            "the baseline counts what is missing as the worst value, and this run would leave it out",
            at=str(options.against),
            hint=f"--missing {baseline_sheet.policy}, or --allow-different-measures",
        )
    recorded = (
        attempt.model
        for task_plan in plan.tasks
        if task_plan.answers is not None
        for attempts in task_plan.answers.attempts.values()
        for attempt in attempts
    )
    model = options.model or next(recorded, "") or "answers"
    # The rows that there will be, as `TaskResults.sheet` will name them: the baseline is compared with these before anything is asked.
    several = len(plan.tasks) > 1
    digests = {}
    by_place = all(not task_plan.task.data.id_field for task_plan in plan.tasks)
    for name, task_plan, sample in _name_rows(plan):
        assert sample.row is not None  # a task's samples are made of its rows
        digests[name] = digest([task_plan.task.name, sample.row.record] if several else sample.row.record)
        by_place = by_place and sample.id == str(sample.row.place)
    marks = {model: dict.fromkeys(digests, _TO_COME)}
    signatures = planned_signatures(plan.tasks, metric, options)
    own = Sheet(
        metric, marks, limits, direction, digests=digests, by_place=by_place, signatures=signatures, policy=options.missing
    )  # fmt: skip
    return Stopping(parse_rule(options.stop_when), own, baseline_sheet, seed=options.seed)


def _deciding(plan: Plan, baseline: Finished | None) -> tuple[str, tuple[float, float], Direction, Sheet | None]:
    """Return the first metric that both have, its range and direction, and the baseline's marks by it."""
    metrics_known: dict[str, tuple[tuple[float, float], Direction]] = {}
    for task_plan in plan.tasks:
        for filtered in task_plan.pipelines:
            metrics_known |= {
                task_plan.key(b.key, filtered.pipeline): (b.metric.range, b.metric.direction) for b in task_plan.metrics
            }
            for name in task_plan.passes.keys if task_plan.passes else ():
                metrics_known[task_plan.key(name, filtered.pipeline)] = (0.0, 1.0), "higher"
    # In the order of the task files, so the first metric that both have is the one that the user sees first.
    for metric, (limits, direction) in metrics_known.items():
        if baseline is None:
            return metric, limits, direction, None
        try:
            return metric, limits, direction, get_sheet(baseline, metric)
        except UsageError:
            continue
    own = ", ".join(metrics_known) or "none that can decide"
    other = "nothing" if baseline is None else f"{baseline.sheet(None).metric!r}"
    raise UsageError(f"the tasks are marked by {own}, the baseline by {other}: nothing that both have")


def _name_rows(plan: Plan) -> list[tuple[str, TaskPlan, Sample]]:
    """Return the rows by the names that comparisons give them."""
    several = len(plan.tasks) > 1
    return [
        (f"{task_plan.task.name}/{sample.id}" if several else sample.id, task_plan, sample)
        for task_plan in plan.tasks
        for sample in task_plan.samples
    ]


def subset_plan(plan: Plan, names: Collection[str]) -> Plan:
    """Return the plan of these rows only; a task without any is left out."""
    chosen: dict[str, list[Sample]] = {}
    for name, task_plan, sample in _name_rows(plan):
        if name in names:
            chosen.setdefault(task_plan.task.name, []).append(sample)
    tasks = [
        replace(task_plan, rows=replace(task_plan.rows, samples=tuple(chosen[task_plan.task.name])))
        for task_plan in plan.tasks
        if task_plan.task.name in chosen
    ]
    return replace(plan, tasks=tuple(tasks))


def ask_until_enough(
    stop: Stopping, plan: Plan, journal: RunWriter, mark: Callable[[Plan], MarkCollector]
) -> tuple[Plan, StoppedRecord]:
    """Return the plan of the rows that it took, and what is to be said of the end; `mark` asks and marks the rows of a plan."""
    marks: dict[str, Cell] = {}
    several = len(plan.tasks) > 1
    (model,) = stop.models

    def step(batch: Sequence[str]) -> Marks:
        for column in mark(subset_plan(plan, set(batch))).columns:
            if column.key == stop.metric:
                sheet = Sheet(stop.metric, {model: column.marks}, column.range, column.direction)
                cells = count_missing(sheet, stop.policy).marks[model]
                marks.update({f"{column.task}/{row}" if several else row: cell for row, cell in cells.items()})
        return {model: marks}

    record = until_enough(stop, journal, len(plan), step)
    return subset_plan(plan, set(record["samples"])), record


PIECE = 4_000
"""So many rows are marked together: enough for several processes, and little memory."""
OUTCOME = "outcome"
"""The kind of journal row that holds what became of an answer's tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksPlan(Planned):
    """What a run of tasks will do, and who does it."""

    options: TaskOptions
    plan: Plan
    generator: Any
    """Asks the model; None where the answers exist."""
    workers: Workers | None
    """Where measuring runs; None for this process alone."""
    stop: Stopping | None = None
    """What says when enough was asked; None where all is."""

    @property
    def runs_tests(self) -> bool:
        """Whether any task runs tests."""
        return any(task.passes for task in self.plan.tasks)


def plan_run(options: TaskOptions, machines: Machines) -> TasksPlan:
    """Read tasks, rows and answers, while workers start.

    Raises:
        ConfigError: a task that cannot be honoured.
        DataError: no rows, or no answers to any.
        UsageError: neither predictions nor a model, or both.
    """
    options = with_answerer(options, has_answers=options.predictions is not None, of="--predictions")
    if options.predictions is not None:
        # Before this run is made: afterwards it is the latest itself.
        options = replace(options, predictions=latest_run(options.predictions))
    answers_at = None if options.predictions is None else Path(options.predictions)
    workers = machines.open(start_workers(options.engine, options.workers, answers_at))
    plan = plan_tasks(options)
    if options.model is not None:
        check_askable(plan.tasks, options)
    stop = plan_stop(plan, options)
    return TasksPlan(
        manifest=_manifest(plan, options, stop),
        skipped=Skipped(len(plan.rejections), next(iter(plan.rejections), None)),
        options=options,
        plan=plan,
        generator=connect_generator(options),
        workers=workers,
        stop=stop,
    )


def answer_and_mark(plan: TasksPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> WorkEnd:
    """Ask what is not answered yet, run what is not run yet, and measure."""
    options, box = plan.options, machines.box
    replies_to = _replies(plan, journal, watch)
    stopped: StoppedRecord | None = None
    with judge_memory(plan.plan, journal, watch) as (judged, memory):
        done = judged

        def mark_part(part: Plan) -> MarkCollector:
            replies = replies_to(part)
            results, options = MarkCollector(part, plan.options), plan.options
            earlier = (
                {row.key: Tested.from_record(row.data) for row in journal.rows(OUTCOME)} if plan.runs_tests else {}
            )
            pieces = ((task, *piece) for task in part.tasks for piece in product(task.pipelines, split_rows(task)))
            with kept_generators:
                for task, filtered, samples in pieces:
                    filtered_answers = list(answers(task, filtered, samples, replies, options.model or ""))
                    outcomes = _execute(journal, task, filtered_answers, earlier, box, options) if task.passes else {}
                    marked = measure(task, filtered_answers, outcomes, plan.workers, results.names(task, filtered))
                    results.add(task, filtered, list(marked))
            results.finish()
            return results

        if plan.stop is not None:
            done, stopped = ask_until_enough(plan.stop, judged, journal, mark_part)
        # All rows once more as one: numbers over whole tasks are not sums of those over batches.
        results = mark_part(done)
    replies = replies_to(done)
    summary = results.summary(options.model or "") | ({"stopped": stopped} if stopped else {})
    for line in stop_lines(summary):
        watch.on_note(line)
    files = {
        "results.jsonl": results.rows(),
        "summary.json": json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        "summary.md": summary_text(summary),
        "timings.jsonl": timings(replies),
    }
    usage = sum_usage(list(replies.values())) if plan.generator is not None else None
    broken = results.count_broken()
    facts = {"answers": results.answers, "broken": broken, **({"usage": usage} if usage else {})}
    if memory is not None:
        facts["judge_account"] = memory.accounts
    if box is not None:
        facts["isolation"] = box.level.value
    return WorkEnd(status="incomplete" if broken else "done", facts=facts, files=files)


def _replies(plan: TasksPlan, journal: RunWriter, watch: Watcher) -> Callable[[Plan], dict[Key, ModelReply]]:
    """Return what gives the replies to the rows of a plan; there are none where the answers exist."""
    if plan.generator is None:
        return lambda _part: {}
    continues, seed = goes_on(plan.options), plan.options.seed

    def requests(part: Plan) -> list[PromptRequest]:
        return [request for task in part.tasks for request in task.requests(seed, continues=continues)]

    collector = Replies(journal, plan.generator, watch, len(requests(plan.plan)))
    return lambda part: collector.replies_to(requests(part))


def split_rows(plan: TaskPlan) -> Iterator[Sequence[Sample]]:
    """Yield a task's rows in the pieces in which they are marked: as one where something has to see all of them."""
    size = len(plan.samples)
    if not any(bound.metric.whole_batch for bound in plan.metrics):
        # Every metric sees its rows alone, so pieces change no number.
        size = PIECE
    for start in range(0, len(plan.samples), size):
        yield plan.samples[start : start + size]


def _manifest(work: Plan, options: TaskOptions, stop: Stopping | None) -> Manifest:
    config = {
        **options.identity(),
        "model": options.model,
        "base_url": find_asked_address(options.model, options.base_url),
        "tasks": {task_plan.task.name: task_plan.config for task_plan in work.tasks},
        # Replies in the journal are kept by their place: they belong to these prompts and right answers alone.
        "prompts_and_targets": {task_plan.task.name: task_plan.rows.digest for task_plan in work.tasks},
        "groups": {group.name: dict(group.resolved) for group, _names in work.groups},
    }
    if judges := {name: metric.signature for name, metric in iterate_judges(work.tasks)}:
        config["judges"] = judges
        config[JUDGE_ADDRESSES] = {name: metric.plan.list_addresses() for name, metric in iterate_judges(work.tasks)}
    if opened := {task_plan.task.name: task_plan.opened for task_plan in work.tasks if task_plan.opened}:
        config[OPENED] = opened
    if options.generator:
        config["generator"] = options.generator
    if stop is not None:
        # In the config: rows of a run that goes on by another rule could not be told from those of the first.
        config["stop"] = {**stop.identity, "metric": stop.metric}
    # Keys that stand in an address are not the manifest's to keep.
    judging = {
        **options.collect_kept(JUDGING),
        "judges": list(map(plain_judge, options.judges)),
        "cassette": None if options.cassette is None else os.fspath(options.cassette),
        "judge_url": without_secrets(options.judge_url),
    }
    extra = {
        "sources": {
            "tasks": [os.fspath(task) for task in options.tasks],
            "predictions": None if options.predictions is None else os.fspath(options.predictions),
            "data": None if options.data is None else os.fspath(options.data),
            **({"allow_download": True} if options.allow_download else {}),
            **({"allow_unsafe_code": True} if options.allow_unsafe_code else {}),
            **({} if options.against is None else {"against": os.fspath(options.against)}),
        },
        ASKING: options.collect_kept(ASKING),
        **({JUDGING: judging} if judges else {}),
        "files": {task_plan.task.name: task_plan.task.file.name for task_plan in work.tasks},
        "rows": len(work),
        "skipped": {"rows_and_answers": len(work.rejections)},
        "warnings": list(work.warnings),
        "workers": options.workers,
    }
    # As it will be read back: a resumed run compares its config with what lies in run.json, where tuples are lists.
    return Manifest(
        "run",
        json.loads(json.dumps(config)),
        work.inputs,
        extra,
        recent=("prompts_and_targets", JUDGE_ADDRESSES, OPENED, *(name for plan in work.tasks for name in plan.code)),
    )


def _execute(
    writer: RunWriter,
    task_plan: TaskPlan,
    filtered_answers: Sequence[FilteredAnswer],
    earlier: Mapping[Key, Tested],
    box: Any,
    settings: TaskOptions,
) -> dict[Key, Tested]:
    """Run the tests of a task on some answers, those excepted that the journal has."""
    name = task_plan.task.name
    keys = [answer.key(name) for answer in filtered_answers]
    done = {key: earlier[key] for key in keys if key in earlier}
    limits = Limits(seconds=settings.timeout)
    language = task_plan.passes.language if task_plan.passes else ""
    waiting = {}
    for answer in filtered_answers:
        key = answer.key(name)
        if key not in done and answer.reply.missing is None and find_problem(answer.sample.tests, language) is None:
            # A right solution, by which the sandbox finds out how to keep tests and candidate apart.
            sample = replace(answer.sample, references=answer.sample.canonical, language=language)
            # A job's key is a text; as JSON, two keys whose parts hold the same signs stay apart.
            waiting[json.dumps(key)] = (key, Job(json.dumps(key), answer.text, sample, limits))
    for job, outcome in box.run([job for _key, job in waiting.values()]):
        key = waiting[job.key][0]
        done[key] = read_tested(outcome)
        # Outcomes are looked up in `earlier`, so the journal need not hold their keys in memory as well.
        writer.add(OUTCOME, key, done[key].to_record(), remember=False)
    return done
