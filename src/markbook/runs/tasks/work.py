"""Tasks from YAML and answers (or a model) to marks and reports."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from markbook import plugins
from markbook.errors import UsageError
from markbook.model import Generator, ModelReply, PromptRequest
from markbook.model.connect import without_secrets
from markbook.results.stopping import words_of
from markbook.runs.conductor import conduct
from markbook.runs.kind import Ended, Planned, Skipped, Start, Step, Watcher
from markbook.runs.machines import Machines
from markbook.runs.options import options_of
from markbook.runs.tasks import Tasks
from markbook.runs.tasks.asking import check_askable, goes_on
from markbook.runs.tasks.judging import judges_of, remembered
from markbook.runs.tasks.marks import FilteredAnswer, Key, Tested, answers, measure, tested
from markbook.runs.tasks.options import ASKING, JUDGING, TaskOptions
from markbook.runs.tasks.pages.tables import summary_text
from markbook.runs.tasks.plan import Plan, TaskPlan, plan_tasks
from markbook.runs.tasks.results import MarkCollector
from markbook.runs.tasks.scoring.shards import Workers, start_workers
from markbook.runs.tasks.shared_calls import SharedCalls
from markbook.runs.tasks.stopping import TaskStop, ask_until_enough, plan_stop
from markbook.store import Manifest, Run, RunWriter
from markbook.types import Limits, Sample

if TYPE_CHECKING:
    from markbook.runs.tasks.published import TestedRecord

PIECE = 4_000
"""So many rows are marked together: enough for several processes, and little memory."""
COMPLETION, UNANSWERED, OUTCOME = "completion", "unanswered", "outcome"
"""The kinds of journal row that a run of tasks writes."""


def run_task(
    task: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    predictions: str | os.PathLike[str] | None = None,
    model: str | None = None,
    base_url: str = "",
    data: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    watcher: Watcher | None = None,
    **options: Any,
) -> Run:
    """Run tasks over answers that exist, or over a model's, and write the results.

    Args:
        task: one or more YAML files (ours or lm-evaluation-harness's) or names of ready tasks.
        predictions: a file of answers, or a folder with one file a task.
        model: `PROVIDER:NAME` to ask instead.
        base_url: where an OpenAI-compatible server listens.
        data: a file of rows to use instead of the one that the tasks name.
        output: where the run folder is made; `generated` by default.
        resume: a run folder to go on with instead; every other argument must be what it was.
        watcher: is told of progress.
        **options: the fields of `TaskOptions`.

    Returns:
        The run; its folder holds `summary.json`, `results.jsonl` and `summary.md`. Its status is `incomplete` if
        a model or a metric could not do its work.

    Raises:
        ConfigError: a task that cannot be honoured.
        DataError: no rows, or no answers to any.
        UsageError: neither predictions nor a model, or both; a resumed run of other arguments.
        OutputError: the output cannot be written; nothing was asked or run.
        StorageError: the disk failed during the run, which can be resumed.
    """
    named = {
        "tasks": (task,) if isinstance(task, str | os.PathLike) else tuple(task),
        "predictions": predictions,
        "model": model,
        "base_url": base_url,
        "data": data,
        "output": output or "generated",
        "resume": resume,
    }
    return conduct(Tasks(), options_of(TaskOptions, {**options, **named}, "run_task"), watcher)


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksPlan(Planned):
    """What a run of tasks will do, and who does it."""

    options: TaskOptions
    plan: Plan
    generator: Any
    """Asks the model; None where the answers exist."""
    workers: Workers | None
    """Where measuring runs; None for this process alone."""
    stop: TaskStop | None = None
    """What says when enough was asked; None where all is."""

    @property
    def runs_tests(self) -> bool:
        """Whether any task runs tests."""
        return any(each.passes for each in self.plan.tasks)


def plan_run(options: TaskOptions, machines: Machines) -> TasksPlan:
    """Read tasks, rows and answers, while workers start.

    Raises:
        ConfigError: a task that cannot be honoured.
        DataError: no rows, or no answers to any.
        UsageError: neither predictions nor a model, or both.
    """
    if (options.predictions is None) == (options.model is None):
        raise UsageError("name the answers or the model: one of --predictions and --model")
    answers_at = None if options.predictions is None else Path(options.predictions)
    workers = machines.open(start_workers(options.engine, options.workers, answers_at))
    if workers is not None and workers.is_local:
        machines.renderer = workers.executor
    found = plan_tasks(options)
    if options.model is not None:
        check_askable(found.tasks, options)
    stop = plan_stop(found, options)
    return TasksPlan(
        manifest=_manifest(found, options, stop),
        skipped=Skipped(len(found.rejections), next(iter(found.rejections), None)),
        options=options,
        plan=found,
        generator=None if options.model is None else _generator(options.model, options),
        workers=workers,
        stop=stop,
    )


def start_run(plan: TasksPlan, machines: Machines) -> None:
    """Find out whether the model can be asked, and start the sandbox if any task runs tests.

    Raises:
        UsageError: the model cannot be asked.
        EnvironmentUnfitError: the machine cannot isolate the code well enough.
    """
    if plan.generator is not None:
        getattr(plan.generator, "check", lambda: None)()
    for _, metric in judges_of(plan.plan.tasks):
        metric.check()
    if plan.runs_tests:
        from markbook.runs.sandboxes import BoxSettings

        machines.start_sandbox(BoxSettings(plan.options.workers, plan.options.isolation, explain=True))


def answer_and_mark(plan: TasksPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> Ended:
    """Ask what is not answered yet, run what is not run yet, and measure."""
    options, box = plan.options, machines.box
    asked = _Asked(journal, plan, watch)
    stopped: dict[str, Any] = {}
    with remembered(plan.plan, journal, watch) as (judged, memory):
        done = judged

        def marked(part: Plan) -> MarkCollector:
            replies = asked.replies_to(part)
            return _marked(part, replies, plan, journal, box)

        if plan.stop is not None:
            done, stopped = ask_until_enough(plan.stop, judged, journal, marked)
        results = marked(done)
    replies = asked.replies_to(done)
    summary = results.summary(options.model or "") | ({"stopped": stopped} if stopped else {})
    for line in words_of(stopped) if stopped else ():
        watch.noted(line)
    files = {
        "results.jsonl": results.rows(),
        "summary.json": json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        "summary.md": summary_text(summary),
        "timings.jsonl": _timings(replies),
    }
    usage = _usage(list(replies.values())) if plan.generator is not None else None
    broken = results.broken
    facts = {"answers": results.answers, "broken": broken, **({"usage": usage} if usage else {})}
    if memory is not None:
        facts["judge_account"] = memory.accounts
    if box is not None:
        facts["isolation"] = box.level.value
    return Ended(status="incomplete" if broken else "done", facts=facts, files=files)


def pieces_of(plan: TaskPlan) -> Iterator[Sequence[Sample]]:
    """Yield a task's rows in the pieces in which they are marked: as one where something has to see all of them."""
    size = len(plan.samples)
    if plan.passes is None and not plan.scorers and not any(bound.metric.whole_batch for bound in plan.metrics):
        size = PIECE
    for start in range(0, len(plan.samples), size):
        yield plan.samples[start : start + size]


def _marked(
    part: Plan, replies: Mapping[Key, ModelReply], plan: TasksPlan, journal: RunWriter, box: Any
) -> MarkCollector:
    """Return the marks of what was answered."""
    results, options = MarkCollector(part, plan.options), plan.options
    for each in part.tasks:
        for filtered in each.pipelines:
            for samples in pieces_of(each):
                given = list(answers(each, filtered, samples, replies, options.model or ""))
                outcomes = _execute(journal, each, given, box, options) if each.passes else {}
                results.add(each, filtered, list(measure(each, given, outcomes, plan.workers)))
    return results


def _generator(model: str, options: TaskOptions) -> Generator:
    made: Generator = plugins.create(
        "generators",
        "model",
        model=model,
        base_url=options.base_url,
        concurrency=options.concurrency,
        per_minute=options.per_minute,
        retries=options.retries,
        seconds=options.request_seconds,
        max_cost=options.max_cost,
        price=options.price,
    )
    return made


def _manifest(work: Plan, options: TaskOptions, stop: TaskStop | None) -> Manifest:
    config = {
        **options.identity(),
        "model": options.model,
        "base_url": without_secrets(options.base_url),
        "tasks": {each.task.name: {**each.task.resolved, "context": each.mode} for each in work.tasks},
        "groups": {group.name: dict(group.resolved) for group, _names in work.groups},
    }
    if judges := {name: metric.signature for name, metric in judges_of(work.tasks)}:
        config["judges"] = judges
    if stop is not None:
        config["stop"] = {**stop.identity, "metric": stop.metric}
    extra = {
        "sources": {
            "tasks": [os.fspath(task) for task in options.tasks],
            "predictions": None if options.predictions is None else os.fspath(options.predictions),
            "data": None if options.data is None else os.fspath(options.data),
            **({} if options.against is None else {"against": os.fspath(options.against)}),
        },
        ASKING: options.kept(ASKING),
        **({JUDGING: _plain_judging(options)} if judges else {}),
        "files": {each.task.name: each.task.file.name for each in work.tasks},
        "rows": len(work),
        "skipped": {"rows_and_answers": len(work.rejections)},
        "warnings": list(work.warnings),
        "workers": options.workers,
    }
    return Manifest("run", json.loads(json.dumps(config)), work.inputs, extra)


def _plain_judging(options: TaskOptions) -> dict[str, object]:
    """Return how the judges are asked, as JSON and without secrets."""
    kept = options.kept(JUDGING)
    cassette = None if options.cassette is None else os.fspath(options.cassette)
    return {
        **kept,
        "judges": list(options.judges),
        "cassette": cassette,
        "judge_url": without_secrets(options.judge_url),
    }


class _Asked:
    """A model's replies, each kept on disk before the next step; of answers that exist there are none."""

    def __init__(self, journal: RunWriter, plan: TasksPlan, watch: Watcher) -> None:
        """Take up what a resumed run had; nothing of that is asked again."""
        self._journal, self._plan, self._watch = journal, plan, watch
        self._generator = plan.generator
        if self._generator is None:
            return
        self._replies = {row.key: _reply_of(row.key, row.data) for row in journal.rows(COMPLETION)}
        self._committed = SharedCalls(journal.commit)
        total, done = len(self._requests(plan.plan)), len(self._replies)
        watch.started(journal.folder, Start(total, done, done, f"{total} questions"))
        # Questions that brought nothing have cost something too, each time that they were asked.
        lost = list(journal.rows(UNANSWERED))
        spent = (row.data.get("cost_at_most") for row in itertools.chain(journal.rows(COMPLETION), lost))
        self._generator.spent = sum(one or 0.0 for one in spent)
        self._times = itertools.count(len(lost))

    def _requests(self, part: Plan) -> list[PromptRequest]:
        options = self._plan.options
        continues = goes_on(options.model or "")
        return [request for each in part.tasks for request in each.requests(options.seed, continues=continues)]

    def replies_to(self, part: Plan) -> dict[Key, ModelReply]:
        """Return the replies to the rows of a plan; the model is asked for those that nobody asked it for yet."""
        if self._generator is None:
            return {}
        requests = self._requests(part)
        waiting = [request for request in requests if request.key not in self._replies]
        if waiting:
            self._generator.generate(waiting, self._keep)
        return {request.key: self._replies[request.key] for request in requests}

    def _keep(self, reply: ModelReply) -> None:
        self._replies[reply.key] = reply
        if reply.missing is None:
            self._journal.add(COMPLETION, reply.key, reply.as_record())
            self._committed.soon()
        elif reply.cost_at_most:
            record = {"requests": reply.requests, "cost_at_most": reply.cost_at_most}
            self._journal.add(UNANSWERED, (*reply.key, next(self._times)), record, remember=False)
            self._committed.soon()
        why = "" if reply.missing is None else reply.missing.detail
        self._watch.did(Step(" ".join(map(str, reply.key)), reply.missing is None, why))


def _reply_of(key: Key, data: Mapping[str, Any]) -> ModelReply:
    names = ("text", "raw", "finish", "input_tokens", "output_tokens", "cost", "cost_at_most", "requests", "seconds")
    return ModelReply(key, **{name: data[name] for name in names if name in data})


def _execute(
    writer: RunWriter, each: TaskPlan, given: Sequence[FilteredAnswer], box: Any, settings: TaskOptions
) -> dict[Key, Tested]:
    """Run the tests of a task on its answers, those of a resumed run excepted."""
    from markbook.sandbox import Job

    name = each.task.name
    done = {row.key: Tested.of(cast("TestedRecord", row.data)) for row in writer.rows(OUTCOME) if row.key[0] == name}
    limits = Limits(seconds=settings.timeout)
    waiting = {}
    for answer in given:
        key = answer.key(name)
        if key not in done and answer.reply.missing is None and answer.sample.tests:
            # A right solution, by which the sandbox finds out how to keep tests and candidate apart.
            sample = dataclasses.replace(answer.sample, references=answer.sample.canonical)
            waiting[json.dumps(key)] = (key, Job(json.dumps(key), answer.text, sample, limits))
    for job, outcome in box.run([job for _key, job in waiting.values()]):
        key = waiting[job.key][0]
        done[key] = tested(outcome)
        writer.add(OUTCOME, key, done[key].as_record())
    return done


def _timings(replies: Mapping[Key, ModelReply]) -> Iterator[str]:
    for key in sorted(replies, key=lambda each: tuple(map(str, each))):
        if replies[key].requests:
            record = {"key": list(key), "seconds": replies[key].seconds, "requests": replies[key].requests}
            yield json.dumps(record, ensure_ascii=False) + "\n"


def _usage(replies: Sequence[ModelReply]) -> dict[str, object]:
    """Return what a model's replies cost, those that brought nothing too; a sum with an unknown part is unknown."""
    answered = [reply for reply in replies if reply.missing is None]
    asked = [reply for reply in replies if reply.requests]

    def total(name: str, of: Sequence[ModelReply]) -> Any:
        values = [getattr(reply, name) for reply in of]
        return None if not values or any(value is None for value in values) else sum(values)

    return {
        "replies": len(answered),
        "failed": len(replies) - len(answered),
        "requests": sum(reply.requests for reply in replies),
        "input_tokens": total("input_tokens", answered),
        "output_tokens": total("output_tokens", answered),
        "cost": total("cost", asked),
        "cost_at_most": total("cost_at_most", asked),
        "replies_without_price": sum(reply.cost is None for reply in asked),
    }
