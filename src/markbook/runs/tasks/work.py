"""Tasks from YAML and answers (or a model) to marks and reports."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markbook import plugins
from markbook.errors import UsageError
from markbook.model import Generator, Reply, Request
from markbook.model.connect import without_secrets
from markbook.runs.options import options_of
from markbook.runs.tasks.marks import Answer, Key, Tested, answers, measure, tested
from markbook.runs.tasks.plan import Plan, TaskOptions, TaskPlan, plan
from markbook.runs.tasks.results import Results
from markbook.runs.tasks.shards import Workers, render_reports, start_workers
from markbook.runs.tasks.tables import summary_text
from markbook.store import Manifest, Run, RunWriter, open_run
from markbook.types import Limits

COMPLETION, UNANSWERED, OUTCOME = "completion", "unanswered", "outcome"
"""The kinds of journal row that a run of tasks writes."""


class Watcher:
    """What a caller may follow a run with; this one ignores everything."""

    def planned(self, plan: Plan) -> None:
        """Be told what will be done, before anything is written or asked."""

    def started(self, folder: Path, questions: int, done_before: int) -> None:
        """Be told that a model is asked so many questions, of which a resumed run has so many answers."""

    def replied(self, reply: Reply) -> None:
        """Be told of one more reply."""


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
    if (predictions is None) == (model is None):
        raise UsageError("name the answers or the model: one of --predictions and --model")
    settings = options_of(TaskOptions, options, "run_task")
    follow = watcher or Watcher()
    targets = [os.fspath(each) for each in ([task] if isinstance(task, str | os.PathLike) else task)]
    answers_at = None if predictions is None else Path(predictions)
    with start_workers(settings.engine, settings.workers, answers_at) as helpers:
        rows = None if data is None else Path(data)
        work = plan(targets, predictions=answers_at, data=rows, options=settings)
        generator = _generator(model, base_url, settings) if model is not None else None
        follow.planned(work)
        sources = {
            "tasks": targets,
            "predictions": None if predictions is None else os.fspath(predictions),
            "data": None if data is None else os.fspath(data),
        }
        manifest = _manifest(work, settings, model, base_url, sources)
        if resume is not None and _is_finished(Path(resume), manifest):
            return open_run(resume)
        if generator is not None:
            getattr(generator, "check", lambda: None)()
        with _sandbox(work, settings) as box:
            if resume is not None:
                writer = RunWriter.resume(Path(resume), manifest)
            else:
                writer = RunWriter.create(Path(output or "generated"), manifest)
            with writer:
                _run(writer, work, generator, _Machines(box, helpers), settings, model or "", follow)
    return open_run(writer.folder)


@dataclass(frozen=True, slots=True)
class _Machines:
    """Where the work runs."""

    box: Any
    """The sandbox or sandboxes; None where no task runs tests."""
    workers: Workers | None
    """Where measuring runs; None for this process alone."""


def _run(
    writer: RunWriter,
    work: Plan,
    generator: Any,
    machines: _Machines,
    settings: TaskOptions,
    model: str,
    follow: Watcher,
) -> None:
    replies = _ask(writer, work, generator, settings, follow) if generator is not None else _replay(work)
    results = Results(work, settings)
    for each in work.tasks:
        for filtered in each.pipelines:
            given = list(answers(each, filtered, replies, model))
            outcomes = _execute(writer, each, given, machines.box, settings) if each.passes else {}
            results.add(each, filtered, list(measure(each, given, outcomes, machines.workers)))
    summary = results.summary(model)
    writer.publish(
        {
            "results.jsonl": results.rows(),
            "summary.json": json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
            "summary.md": summary_text(summary),
            "timings.jsonl": _timings(replies),
        }
    )
    writer.publish(render_reports(writer.folder, machines.workers))
    usage = _usage(list(replies.values())) if generator is not None else None
    broken = results.broken
    extra = {"answers": results.answers, "broken": broken, **({"usage": usage} if usage else {})}
    if machines.box is not None:
        extra["isolation"] = machines.box.level.value
    writer.finish("incomplete" if broken else "done", extra)


def _generator(model: str, base_url: str, settings: TaskOptions) -> Generator:
    made: Generator = plugins.create(
        "generators",
        "model",
        model=model,
        base_url=base_url,
        concurrency=settings.concurrency,
        per_minute=settings.per_minute,
        retries=settings.retries,
        seconds=settings.request_seconds,
        max_cost=settings.max_cost,
        price=settings.price,
    )
    return made


def _manifest(
    work: Plan, settings: TaskOptions, model: str | None, base_url: str, sources: Mapping[str, Any]
) -> Manifest:
    config = {
        **settings.identity(),
        "model": model,
        "base_url": without_secrets(base_url),
        "tasks": {each.task.name: {**each.task.resolved, "context": each.mode} for each in work.tasks},
        "groups": {group.name: dict(group.resolved) for group, _names in work.groups},
    }
    extra = {
        "sources": dict(sources),
        "asking": settings.asking(),
        "files": {each.task.name: each.task.file.name for each in work.tasks},
        "rows": len(work),
        "skipped": {"rows_and_answers": len(work.rejections)},
        "warnings": list(work.warnings),
        "workers": settings.workers,
    }
    return Manifest("run", json.loads(json.dumps(config)), work.inputs, extra)


def _is_finished(folder: Path, manifest: Manifest) -> bool:
    """Whether a run to resume is done already; opening it checks that it is the same run."""
    if not (folder / "run.json").exists():
        return False
    with RunWriter.resume(folder, manifest) as writer:
        return writer.was_done


def _replay(work: Plan) -> dict[Key, Reply]:
    """Return the answers that were read, as replies."""
    replies: dict[Key, Reply] = {}
    for each in work.tasks:
        read = each.answers.attempts if each.answers is not None else {}
        texts = {
            (each.task.name, attempt.sample_id, attempt.index): attempt.text
            for several in read.values()
            for attempt in several
            if not attempt.meta["absent"]
        }
        generator: Generator = plugins.create("generators", "replay", texts=texts)
        requests = [
            Request((each.task.name, sample.id, index), sample.input)
            for sample in each.samples
            for index in ([attempt.index for attempt in read.get(sample.id, [])] or [0])
        ]
        generator.generate(requests, lambda reply: replies.__setitem__(reply.key, reply))
    return replies


def _ask(writer: RunWriter, work: Plan, generator: Any, settings: TaskOptions, follow: Watcher) -> dict[Key, Reply]:
    """Return the model's replies, each kept on disk before the next step; those of a resumed run are not asked again."""
    replies = {row.key: _reply_of(row.key, row.data) for row in writer.rows(COMPLETION)}
    requests = [request for each in work.tasks for request in each.requests(settings.seed)]
    follow.started(writer.folder, len(requests), len(replies))
    # Questions that brought nothing have cost something too, each time that they were asked.
    lost = list(writer.rows(UNANSWERED))
    generator.spent = sum(row.data.get("cost_at_most") or 0.0 for row in itertools.chain(writer.rows(COMPLETION), lost))
    times = itertools.count(len(lost))

    def keep(reply: Reply) -> None:
        replies[reply.key] = reply
        if reply.missing is None:
            writer.add(COMPLETION, reply.key, reply.as_record())
            writer.commit()
        elif reply.cost_at_most:
            record = {"requests": reply.requests, "cost_at_most": reply.cost_at_most}
            writer.add(UNANSWERED, (*reply.key, next(times)), record, remember=False)
            writer.commit()
        follow.replied(reply)

    generator.generate([request for request in requests if request.key not in replies], keep)
    return replies


def _reply_of(key: Key, data: Mapping[str, Any]) -> Reply:
    names = ("text", "raw", "finish", "input_tokens", "output_tokens", "cost", "cost_at_most", "requests", "seconds")
    return Reply(key, **{name: data[name] for name in names if name in data})


@contextlib.contextmanager
def _sandbox(work: Plan, settings: TaskOptions) -> Iterator[Any]:
    """Yield a sandbox if any task runs tests; a machine that cannot isolate is found out before any work."""
    if not any(each.passes for each in work.tasks):
        yield None
        return
    from markbook.runs.sandboxes import BoxSettings, open_sandboxes

    with open_sandboxes(settings.engine, BoxSettings(settings.workers, settings.isolation)) as box:
        yield box


def _execute(
    writer: RunWriter, each: TaskPlan, given: Sequence[Answer], box: Any, settings: TaskOptions
) -> dict[Key, Tested]:
    """Run the tests of a task on its answers, those of a resumed run excepted."""
    from markbook.sandbox import Job

    name = each.task.name
    done = {row.key: Tested(**row.data) for row in writer.rows(OUTCOME) if row.key[0] == name}
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


def _timings(replies: Mapping[Key, Reply]) -> Iterator[str]:
    for key in sorted(replies, key=lambda each: tuple(map(str, each))):
        if replies[key].requests:
            record = {"key": list(key), "seconds": replies[key].seconds, "requests": replies[key].requests}
            yield json.dumps(record, ensure_ascii=False) + "\n"


def _usage(replies: Sequence[Reply]) -> dict[str, Any]:
    """Return what a model's replies cost, those that brought nothing too; a sum with an unknown part is unknown."""
    answered = [reply for reply in replies if reply.missing is None]
    asked = [reply for reply in replies if reply.requests]

    def total(name: str, of: Sequence[Reply]) -> Any:
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
