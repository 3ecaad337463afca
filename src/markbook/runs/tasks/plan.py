"""What a run of tasks will do: its options, rows, prompts, scorers and judges."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from markbook.config import ContextMode, GroupMetric, Pipeline, Task, TaskGroup
from markbook.config.loading import Loaded, load_all
from markbook.datasets.filters import Step, build, check_likelihood_filters
from markbook.datasets.predictions import Predictions, find_file, model_name, read_answers
from markbook.datasets.prompts import beside
from markbook.datasets.samples import TaskRows, load_samples
from markbook.datasets.user_code import Find, Finder, nothing, seed_generators
from markbook.errors import ConfigError, DataError, UsageError, suggest
from markbook.files.jsonl import Rejection
from markbook.judge.client import Judged, to_record
from markbook.judge.metric import JudgeMetric, Memory
from markbook.measurements import note_direction
from markbook.metrics import list_assumptions
from markbook.model import PromptRequest
from markbook.model.cassette import Cassette
from markbook.runs.asking import JUDGEMENT, JUDGEMENT_GAP, make_settings, sampling_with, sum_paid
from markbook.runs.kind import Watcher
from markbook.runs.tasks.finished import OPENED, QUESTION_IS_RIGHT, sign_task
from markbook.runs.tasks.metrics import Bound, RowPassAtK, bind, result_keys
from markbook.runs.tasks.scorers import Scorer, function_scorers, row_scorer
from markbook.runs.tasks.task_options import TaskOptions
from markbook.store import RunWriter
from markbook.types import Sample

# Judges in a run of tasks: what the user says of them, and their answers in the run's journal.


_EVERY = 20


def iterate_judges(tasks: Sequence[TaskPlan]) -> Iterator[tuple[str, JudgeMetric]]:
    """Yield every rubric before its judges in the tasks, by `task/key`."""
    for task in tasks:
        for bound in task.metrics:
            if isinstance(bound.metric, JudgeMetric) and not bound.metric.is_part:
                yield f"{task.task.name}/{bound.key}", bound.metric


class JournalMemory(Memory):
    """What judges have said in this run: each answer is in the journal the moment it comes."""

    def __init__(self, writer: RunWriter, cassette: Cassette | None, watch: Watcher) -> None:
        super().__init__()
        self.cassette = cassette
        self._writer, self._watch = writer, watch
        self._known = {str(row.key[0]): row.data for row in writer.rows(JUDGEMENT)}
        self._spent = sum_paid(writer)
        self._count = 0

    def find(self, key: str) -> Mapping[str, object] | None:
        """Return the kept answer of a call."""
        return self._known.get(key)

    def keep(self, key: str, model: str, judged: Judged) -> None:
        """Write an answer down."""
        paid = 0.0 if judged.replayed else judged.cost_at_most
        record = {**to_record(judged), "model": model, "paid": paid}
        self._spent[model] += paid or 0.0
        if judged.is_lasting:
            self._known[key] = record
        self._writer.add(JUDGEMENT if judged.is_lasting else JUDGEMENT_GAP, (key,), record)
        # Each judgement is paid for, so each is safe before the next is asked.
        self._writer.commit()

    def spent(self) -> Mapping[str, float]:
        """Return what each judge has cost in the run, however often it was resumed."""
        return dict(self._spent)

    def tick(self) -> None:
        """Say now and then how far it is."""
        self._count += 1
        if self._count % _EVERY == 0:
            self._watch.on_note(f"judges: {self._count} answers")


@contextmanager
def judge_memory(plan: Plan, writer: RunWriter, watch: Watcher) -> Iterator[tuple[Plan, Memory | None]]:
    """Yield the plan with one memory and one cassette for all its judges; the cassette is whole if all was answered."""
    judges = [metric for _, metric in iterate_judges(plan.tasks)]
    if not judges:
        yield plan, None
        return
    path = next((metric.plan.cassette for metric in judges if metric.plan.cassette is not None), None)
    memory = JournalMemory(writer, None if path is None else Cassette(Path(path)), watch)
    tasks = []
    for task in plan.tasks:
        metrics = [
            replace(bound, metric=bound.metric.with_memory(memory)) if isinstance(bound.metric, JudgeMetric) else bound
            for bound in task.metrics
        ]
        tasks.append(replace(task, metrics=tuple(metrics)))
    yield replace(plan, tasks=tuple(tasks)), memory
    if memory.cassette is not None:
        memory.cassette.close(is_complete=memory.is_complete)


# What the user says over a task file: worked examples, generation, the system message.


def apply_overrides(task: Task, options: TaskOptions) -> Task:
    """Return a task as the user wants it asked.

    Raises:
        UsageError: `--gen-kwargs` that are none.
    """
    if options.num_fewshot is not None:
        task = replace(task, few_shot=replace(task.few_shot, count=options.num_fewshot))
    if options.gen_kwargs:
        task = replace(task, sampling=sampling_with(task.sampling, options.gen_kwargs))
    if options.system:
        task = replace(task, system=beside(options.system, task.system, task.delimiters[1]))
    return task


# What a run of tasks will do, worked out and checked before anything is written or asked.

_SUFFIX: Mapping[ContextMode, str] = {"full": "", "minimal": "_minimal_context", "none": "_no_context"}


@dataclass(frozen=True, slots=True)
class Filtered:
    """One filter pipeline, ready to run."""

    pipeline: Pipeline
    step: Step


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One task with its samples, metrics and, where they exist already, answers."""

    task: Task
    alias: str
    base: str
    """The task's name without its context mode: plans of one base are compared with one another."""
    mode: ContextMode
    rows: TaskRows
    pipelines: tuple[Filtered, ...]
    metrics: tuple[Bound, ...]
    scorers: tuple[Scorer, ...]
    """What marks a row as a whole, under names that may be known only then."""
    passes: RowPassAtK | None
    count: int
    """Answers per row that a model is asked for."""
    answers: Predictions | None
    code: Mapping[str, str]
    """The task's own Python files by their names in run.json, with what each is known by."""
    opened: Mapping[str, str]
    """The files that its code reads before the work, by name, each with its digest."""

    @property
    def config(self) -> dict[str, object]:
        """What run.json holds of the task."""
        config = {**self.task.resolved, "context": self.mode}
        # A question that is a number names the right choice: what follows each of the choices is then the same.
        for weighing in self.rows.weighings.values():
            if len(weighing.choices) > 1 and len({text for _, text in weighing.pairs[: len(weighing.choices)]}) == 1:
                return {**config, QUESTION_IS_RIGHT: True}
        return config

    @property
    def samples(self) -> Sequence[Sample]:
        """The rows as samples."""
        return self.rows.samples

    def key(self, name: str, pipeline: Pipeline) -> str:
        """Return a metric's name in results: with the pipeline's where there are several."""
        return name if len(self.pipelines) == 1 else f"{name},{pipeline.name}"

    @property
    def keys(self) -> list[str]:
        """The names in results."""
        names = [
            *(bound.key for bound in self.metrics),
            *(self.passes.keys if self.passes else ()),
            *(key for scorer in self.scorers for key in scorer.known),
        ]
        return [self.key(name, filtered.pipeline) for filtered in self.pipelines for name in names]

    def requests(self, seed: int, *, continues: bool = False) -> list[PromptRequest]:
        """Return what a model is asked, in order.

        The seed counts where the task states none; `continues`: the model continues texts, so that a system message
        is their beginning.
        """
        settings = make_settings(self.task.sampling, seed)
        requests = []
        for sample in self.samples:
            name, weighing = (self.task.name, sample.id), self.rows.weighings.get(sample.id)
            turns, system = self.rows.turns.get(sample.id, ()), sample.system
            if continues and system and self.task.description:
                # A model that continues texts sees one text: the delimiter that the task puts there becomes part of
                # its beginning.
                system = beside(system, sample.input, self.task.delimiters[1]).removesuffix(sample.input)
            if weighing is None:
                prompt = (sample.input, system, settings, turns)
                requests += [PromptRequest((*name, index), *prompt) for index in range(self.count)]
            else:
                pairs = enumerate(weighing.pairs)
                requests += [
                    PromptRequest((*name, index), context, system, continuation=text)
                    for index, (context, text) in pairs
                ]
        return requests


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run will do."""

    tasks: tuple[TaskPlan, ...]
    groups: tuple[tuple[TaskGroup, tuple[str, ...]], ...]
    inputs: Mapping[str, str]
    """SHA-256 of every file that was read, by task and name."""
    warnings: tuple[str, ...]
    rejections: tuple[Rejection, ...]

    def __len__(self) -> int:
        return sum(len(task.samples) for task in self.tasks)


def plan_tasks(options: TaskOptions) -> Plan:
    """Return what a run of tasks will do.

    Raises:
        ConfigError: a task file that cannot be honoured, a metric that does not fit.
        DataError: no usable row, no answers, answers that match no row.
        UsageError: context modes for a task without context.
    """
    predictions = None if options.predictions is None else Path(options.predictions)
    loaded, groups = load_all([os.fspath(target) for target in options.tasks])
    variants = [variant for loaded_task in loaded for variant in _variants(loaded_task, options.contexts)]
    if not variants:
        raise UsageError("no task is named")
    # A task file comes from anybody: its Python is looked for only where the user has allowed code.
    modules: dict[Path, ModuleType | None] | None = {} if options.allow_code else None
    plans = [_plan_one(variant, options, modules, alone=len(variants) == 1) for variant in variants]
    for plan in plans if len(options.contexts) > 1 else ():  # to compare modes that make no difference says nothing
        others = [other for other in plans if other.base == plan.base and other is not plan]
        texts = [sample.input for sample in plan.samples]
        if any([sample.input for sample in other.samples] == texts for other in others):
            raise UsageError(
                f"the prompts of {plan.base!r} are the same in two context modes",
                at=plan.task.prompt.at,
                hint="rows need a field `context`, and the template must show it: {{ context }}",
            )
    for group, names in groups if not options.contexts else ():
        members = [plan for plan in plans if plan.task.name in names]
        # A function of the user's own may bring any name, and is called only later.
        for metric in () if any(plan.scorers for plan in members) else group.aggregates:
            if not group_keys(metric, members):
                keys = list(dict.fromkeys(key.partition(",")[0] for plan in members for key in plan.keys))
                raise ConfigError(
                    f"no task of the group {group.name!r} has the metric {metric.metric!r} to sum up",
                    at=metric.at or str(group.file),
                    hint=suggest(metric.metric, keys),
                )
    answered = [plan for plan in plans if plan.answers is not None and plan.answers.attempts]
    if predictions is not None and not answered:
        raise DataError("there is no answer to any row of these tasks", at=str(predictions), hint=_why_none(plans))
    inputs: dict[str, str] = {}
    rejections: list[Rejection] = []
    for plan in plans:
        answers = plan.answers or Predictions()
        rejections += [*plan.rows.rejections, *answers.rejections]
        digests = {**plan.rows.inputs, **{f"answers/{name}": digest for name, digest in answers.inputs.items()}}
        inputs |= {f"{plan.task.name}/{name}": digest for name, digest in digests.items()}
        inputs |= plan.code
    chosen = [(group, tuple(names)) for group, names in groups] if not options.contexts else ()
    return Plan(tuple(plans), tuple(chosen), inputs, tuple(_warnings(plans, options)), tuple(rejections))


def planned_signatures(plans: Sequence[TaskPlan], key: str, options: TaskOptions) -> dict[str, str]:
    """Return what a metric will be measured by in each task that has it, as far as that is known before the work."""
    by_task: dict[str, str] = {}
    config = {
        "timeout": options.timeout,
        "profile": options.profile,
        "tasks": {plan.task.name: plan.task.resolved for plan in plans},
        OPENED: {plan.task.name: plan.opened for plan in plans},
    }
    for plan in plans:
        signatures = {bound.key: bound.metric.signature for bound in plan.metrics}
        signatures |= {name: scorer.get_scored(name).signature for scorer in plan.scorers for name in scorer.known}
        signatures |= dict.fromkeys(plan.passes.keys if plan.passes else (), "")
        named = {plan.key(name, of.pipeline): mark for of in plan.pipelines for name, mark in signatures.items()}
        if key in named:
            by_task[plan.task.name] = sign_task(key, named[key], plan.task.name, config, plan.code)
    return by_task


def group_keys(metric: GroupMetric, plans: Sequence[TaskPlan]) -> list[str]:
    """Return the names in results that a group's metric sums up over some tasks."""
    own = result_keys(metric.metric)
    keys = dict.fromkeys(key for plan in plans for key in plan.keys)
    return [key for key in keys if is_of_metric(key, own, metric.pipelines)]


def is_of_metric(key: str, names: Sequence[str], pipelines: Sequence[str]) -> bool:
    """Whether a name in results is one of these metrics' under one of these pipelines; none named are all."""
    own, _, pipeline = key.partition(",")
    return own in names and (not pipelines or not pipeline or pipeline in pipelines)


def _variants(loaded: Loaded, contexts: Sequence[ContextMode]) -> list[tuple[Loaded, str, ContextMode | None]]:
    """Return a task in each wanted context mode, named as the documented variants are, with its base name."""
    base = loaded.task.name
    # A task that is such a variant already is not named after two modes.
    for suffix in _SUFFIX.values():
        base = base.removesuffix(suffix)
    if not contexts:
        return [(loaded, base, None)]
    return [
        (
            Loaded(replace(loaded.task, name=base + _SUFFIX[mode]), f"{loaded.alias or base} ({mode} context)"),
            base,
            mode,
        )
        for mode in dict.fromkeys(contexts)
    ]


def _plan_one(
    variant: tuple[Loaded, str, ContextMode | None],
    options: TaskOptions,
    modules: dict[Path, ModuleType | None] | None,
    *,
    alone: bool,
) -> TaskPlan:
    loaded, base, mode = variant
    finder = Finder(modules)
    find: Find = nothing if modules is None else finder
    task = apply_overrides(loaded.task, options)
    if task.unsafe_at and options.allow_code and not options.allow_unsafe_code:
        raise ConfigError(
            f"the code of {task.name!r} runs model-written code outside the sandbox, with your permissions",
            at=task.unsafe_at,
            hint="--allow-unsafe-code allows it; `pass_at_k` of our own format runs tests in the sandbox",
        )
    # User code that draws rows draws the same ones in a resumed run.
    with seed_generators() if options.allow_code else contextlib.nullcontext():
        rows = load_samples(
            task,
            data=None if options.data is None else Path(options.data),
            limit=options.limit,
            mode=mode,
            find=find,
            documented=options.profile == "documented",
            turns=options.turns,
            fetches=options.allow_download,
        )
    if task.output != "generate_until":
        for pipeline in task.pipelines:
            check_likelihood_filters(pipeline)
    # Looked for before the metrics are bound, for `bind` leaves out what these mark.
    row_scorer_, scorers = row_scorer(task, find), function_scorers(task, find)
    # A number over one token less is another number, so its signature says so.
    if row_scorer_ is not None and _omits_first_token(task, options):
        row_scorer_ = row_scorer_.with_signature("without first token")
    metrics, passes = bind(
        # Where a scorer marks whole rows it has taken the metrics of the list: bound once more they would mark texts.
        task if row_scorer_ is None else replace(task, metrics=()),
        options.profile,
        has_references=task.references is not None or rows.has_references,
        has_tests=rows.has_tests,
        own=set(scorers),
        allow_code=options.allow_code,
        judging=options.judging(),
    )
    count = options.samples or task.sampling.samples
    answers = None
    if options.predictions is not None:
        predictions = Path(options.predictions)
        path = find_file(predictions, task.name, alone=alone)
        answers = Predictions() if path is None else read_answers(
            path, task.name, rows.samples, several=count > 1 or passes is not None,
            shared=not alone and (path == predictions or path.name == "results.jsonl"),
            unsure="" if task.data.id_field else rows.unsure, weighings=rows.weighings,
            model=model_name(predictions),  # one for all tasks, also where each has a file of its own
        )  # fmt: skip
    return TaskPlan(
        task=task,
        alias=loaded.alias,
        base=base,
        mode=rows.mode,
        rows=rows,
        pipelines=tuple(Filtered(pipeline, build(pipeline, find)) for pipeline in task.pipelines),
        metrics=tuple(metrics),
        scorers=tuple(scorers.values()) if row_scorer_ is None else (row_scorer_,),
        passes=passes,
        count=count,
        answers=answers,
        code={f"{task.name}/{name}": digest for name, digest in finder.digests.items()},
        opened=finder.digest_opened(),
    )


def _omits_first_token(task: Task, options: TaskOptions) -> bool:
    """Whether whole texts are weighed by a server: how likely a first token is, with nothing before it, none says."""
    return task.output == "loglikelihood_rolling" and options.model is not None and not options.system


def _why_none(plans: Sequence[TaskPlan]) -> str:
    unknown = [location for plan in plans if plan.answers for location in plan.answers.unknown]
    if unknown:
        ids = ", ".join(sample.id for sample in plans[0].samples[:3])
        return f"{len(unknown)} answers name other rows, the first at {unknown[0]}; the task's are {ids}, ..."
    names = ", ".join(f"samples_{plan.task.name}.jsonl" for plan in plans[:3])
    return f"a folder holds {names} or {plans[0].task.name}.jsonl"


def _warnings(plans: Sequence[TaskPlan], options: TaskOptions) -> list[str]:
    warnings: list[str] = []
    for plan in plans:
        warnings += [f"{plan.task.name}: {note}" for note in plan.rows.notes]
        if plan.rows.rejections:
            warnings.append(f"{plan.task.name}: {len(plan.rows.rejections)} rows could not be used")
        if plan.answers is None:
            continue
        warnings += plan.answers.warnings
        if plan.answers.rejections:
            warnings.append(f"{plan.task.name}: {len(plan.answers.rejections)} answers could not be used")
        if plan.answers.unknown:
            warnings.append(
                f"{plan.task.name}: {len(plan.answers.unknown)} answers name rows that the task does not have"
            )
        if not plan.answers.attempts:
            warnings.append(f"{plan.task.name}: no answers in {options.predictions}")
    warnings += [
        f"{plan.task.name}: {note} `higher_is_better` in the file decides."
        for plan in plans
        for scored in (scored for scorer in plan.scorers for scored in scorer.known.values())
        if scored.stated is None and (note := note_direction(scored.key))
    ]
    warnings += [
        f"{plan.task.name}: {note}"
        for plan in plans
        for note in list_assumptions(bound.metric for bound in plan.metrics)
    ]
    warnings += [
        f"{plan.task.name}: the first token of each text is left out, for no server says how likely it is;"
        " --system names what stands before it, such as <|endoftext|>"
        for plan in plans
        if _omits_first_token(plan.task, options)
    ]
    return warnings
