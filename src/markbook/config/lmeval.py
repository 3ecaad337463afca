"""A reader for lm-evaluation-harness task and group files.

Every key is either honoured or refused by name at its place; none is dropped in silence. `!function` stays a
name here: what it may stand for is decided where tasks are resolved, from registered names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from markbook import config as spec
from markbook.config.tree import Function, Node, check, find, plain, with_words
from markbook.errors import ConfigError, misspelt, suggest

# What files of lm-evaluation-harness may hold, key by key; whatever is not listed here is refused by its name.


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [] if value is None else [value]


Words = Annotated[list[str], BeforeValidator(_as_list)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False)


class DatasetKwargs(BaseModel):
    """What is handed to the loader; only `data_files` means anything for files that lie here."""

    model_config = ConfigDict(extra="allow", frozen=True)

    data_files: str | list[str] | dict[str, str | list[str]] | None = None


class MetricEntry(BaseModel):
    """One metric; what is not listed here is an option of the metric, as in lm-evaluation-harness."""

    model_config = ConfigDict(extra="allow", frozen=True, arbitrary_types_allowed=True)

    metric: str | Function
    aggregation: str | Function = ""
    higher_is_better: bool | None = None
    hf_evaluate: bool = False


class FilterStep(BaseModel):
    """One filter; what is not listed here is an option of the filter."""

    model_config = ConfigDict(extra="allow", frozen=True, arbitrary_types_allowed=True)

    function: str | Function
    filter_fn: Function | None = None


class FewshotConfig(_Strict):
    """Where worked examples come from and how they look; what is not set is as in the task."""

    sampler: Literal["default", "first_n"] = "default"
    split: str | None = None
    samples: Annotated[list[dict[str, Any]], Field(max_length=10_000)] | Function | None = None
    doc_to_text: str | Function | None = None
    doc_to_target: str | int | Function | None = None
    doc_to_choice: str | list[str] | dict[str, str] | Function | None = None
    target_delimiter: str | None = None
    fewshot_delimiter: str | None = None
    gen_prefix: str | None = None


class FilterEntry(_Strict):
    """One named chain of filters."""

    name: str
    filter: list[FilterStep] = Field(min_length=1)


class GenerationKwargs(_Strict):
    """What a model is told beside the prompt."""

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    do_sample: bool | None = None
    until: Words | None = None
    max_gen_toks: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_new_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    num_beams: int = Field(default=1, ge=1)


class TaskFile(_Strict):
    """A task."""

    task: str = Field(min_length=1, max_length=200)
    task_alias: str = ""
    tag: Words = []
    group: Words = []
    dataset_path: str | None = None
    dataset_name: str | None = None
    dataset_kwargs: DatasetKwargs | None = None
    training_split: str | None = None
    validation_split: str | None = None
    test_split: str | None = None
    fewshot_split: str | None = None
    process_docs: Function | None = None
    doc_to_text: str | Function = ""
    doc_to_target: str | int | list[str | int] | Function | None = None
    doc_to_choice: str | list[str] | dict[str, str] | Function | None = None
    process_results: Function | None = None
    output_type: spec.Output = "generate_until"
    description: str = ""
    gen_prefix: str | None = None
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    fewshot_config: FewshotConfig | None = None
    num_fewshot: int | None = Field(default=None, ge=0, le=100)
    metric_list: list[MetricEntry] | None = None
    generation_kwargs: GenerationKwargs | None = None
    repeats: int = Field(default=1, ge=1, le=10_000)
    filter_list: list[FilterEntry] | None = None
    should_decontaminate: bool = False
    doc_to_decontamination_query: str | Function | None = None
    unsafe_code: bool = False
    metadata: dict[str, Any] = {}


class GroupMember(_Strict):
    """A task in a group, under another heading."""

    task: str
    task_alias: str = ""


class AggregateEntry(_Strict):
    """How a group sums up one metric."""

    metric: str | Function
    aggregation: Literal["mean"] = "mean"
    weight_by_size: bool = True
    filter_list: Words = []


class GroupFile(_Strict):
    """Several tasks under one name."""

    group: str = Field(min_length=1, max_length=200)
    group_alias: str = ""
    task: Annotated[list[str | dict[str, Any]], BeforeValidator(_as_list)] = Field(min_length=1)
    """Names, groups in place, and tasks with keys of their own: `GroupMember` checks those."""
    aggregate_metric_list: Annotated[list[AggregateEntry], BeforeValidator(_as_list)] = []
    tag: Words = []
    metadata: dict[str, Any] = {}


TASK_KEYS = frozenset(
    {"doc_to_text", "doc_to_target", "metric_list", "dataset_path", "output_type", "include", "custom_dataset"}
)
"""A file with one of these is a task of lm-evaluation-harness."""

_ENTRY_KEYS = ("aggregation", "higher_is_better", "hf_evaluate")
"""What an entry of `metric_list` may say beside the metric and its options."""
_DEFAULT_MAX_TOKENS = 256
_LOCAL = ("json", "csv", "parquet", "arrow")
"""Values of dataset_path that mean files."""

_CODE = "it runs Python code of its own; write the rows to a file and name it in data_files"
_NO_DECONTAMINATION = "should_decontaminate changes no result here: nothing is held against a training corpus"
_DEFAULT_METRICS: dict[spec.Output, tuple[str, ...]] = {
    "generate_until": ("exact_match",),
    "multiple_choice": ("acc", "acc_norm"),
    "loglikelihood": ("perplexity", "acc"),
    "loglikelihood_rolling": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
}
"""What a task is marked by that names no metric."""
_UNSUPPORTED = {
    "custom_dataset": _CODE,
    "doc_to_image": "only text is asked",
    "doc_to_audio": "only text is asked",
    "use_prompt": "prompts come from doc_to_text",
    "class": _CODE,
}
"""Keys of lm-evaluation-harness that are refused, and why."""


def is_lm_eval(node: Node) -> bool:
    """Whether a file is written for lm-evaluation-harness rather than in our own format."""
    keys = set(node.value) if isinstance(node.value, dict) else set()
    return bool(keys & TASK_KEYS) or "task" in keys


def read_lm_eval(node: Node, file: Path) -> spec.Task | spec.TaskGroup:
    """Return the task or group of a file of lm-evaluation-harness, its includes already merged in.

    Raises:
        ConfigError: a key or value that cannot be honoured, with `file:line:column`.
    """
    assert isinstance(node.value, dict)
    for key, reason in _UNSUPPORTED.items():
        if key in node.value and node.value[key].value is not None:
            raise ConfigError(f"{key!r} cannot be honoured: {reason}", at=node.key_at(key))
    if "group" in node.value and not TASK_KEYS & set(node.value):
        return _group(check(GroupFile, node), node, file)
    entries = {
        key: with_words(value) if key == "metric_list" else value  # the harness reads YAML 1.1; a choice may be "no"
        for key, value in node.value.items()
        if key not in _UNSUPPORTED
    }
    node = Node(entries, node.file, node.line, node.column, node.size, node.keys)
    return _task(check(TaskFile, node), node, file)


def _task(model: TaskFile, node: Node, file: Path) -> spec.Task:
    split = model.test_split or model.validation_split or model.training_split
    metrics = model.metric_list
    if metrics is None:
        metrics = [MetricEntry(metric=name) for name in _DEFAULT_METRICS[model.output_type]]
    if model.output_type == "multiple_choice" and model.doc_to_choice is None:
        raise ConfigError("output_type multiple_choice needs doc_to_choice", at=find(node, ("output_type",)).at)
    if model.output_type != "generate_until" and model.doc_to_target is None:
        raise ConfigError(f"output_type {model.output_type} needs doc_to_target", at=find(node, ("output_type",)).at)
    mode = model.metadata.get("context_mode", "full")  # as the documented variants state it
    if mode not in spec.CONTEXT_MODES:
        raise ConfigError(
            f"context_mode {mode!r} is none of {', '.join(spec.CONTEXT_MODES)}",
            at=find(node, ("metadata", "context_mode")).at,
        )
    notes = [_NO_DECONTAMINATION] if model.should_decontaminate else []
    generation = model.generation_kwargs
    if generation is not None and generation.do_sample is False and generation.temperature:
        notes.append(
            f"do_sample: false changes nothing: a server is asked at the temperature {generation.temperature:g}"
        )
    is_plain = model.output_type == "generate_until" and model.process_results is None
    if is_plain and model.doc_to_target is None and model.metric_list is None:
        raise ConfigError("'doc_to_target' is missing", at=node.at)
    return spec.Task(
        name=model.task,
        file=file,
        version=str(model.metadata.get("version", "")),
        data=_data(model, node, split),
        prompt=_text(model.doc_to_text, node, "doc_to_text"),
        references=None if model.doc_to_target is None else _text(model.doc_to_target, node, "doc_to_target"),
        metrics=tuple(
            _use(metric_entry, node, position, model.output_type) for position, metric_entry in enumerate(metrics)
        ),
        format="lm-eval",
        context=mode,
        description=model.description,
        process=model.process_docs,
        results=model.process_results,
        prefix=model.gen_prefix or "",
        output=model.output_type,
        choices=None if model.doc_to_choice is None else _text(model.doc_to_choice, node, "doc_to_choice"),
        notes=tuple(notes),
        pipelines=_pipelines(model, node),
        sampling=_sampling(model, node),
        few_shot=_few_shot(model, node, split),
        delimiters=(model.target_delimiter, model.fewshot_delimiter),
        tags=tuple(dict.fromkeys([*model.tag, *model.group])),
        alias=model.task_alias,
        unsafe_at=find(node, ("unsafe_code",)).at if model.unsafe_code else "",
        resolved=_record_node(node),
    )


def _member(node: Node, file: Path) -> spec.Member:
    """Return a member of a group: a name, a group in its place, or a task with keys of its own."""
    if not isinstance(node.value, dict):
        return spec.Member(str(node.value), at=node.at)
    if "group" in node.value:
        inline = _group(check(GroupFile, node), node, file)
        return spec.Member(inline.name, inline.alias, node.at, inline=inline)
    own = {key: value for key, value in node.value.items() if key not in ("task", "task_alias")}
    named = Node({key: node.value[key] for key in node.value if key not in own}, node.file, node.line, node.column)
    model = check(GroupMember, named)
    over = Node(own, node.file, node.line, node.column, node.size, node.keys) if own else None
    return spec.Member(model.task, model.task_alias, node.at, over=over)


def _group(model: GroupFile, node: Node, file: Path) -> spec.TaskGroup:
    aggregates = tuple(
        spec.GroupMetric(
            aggregate.metric if isinstance(aggregate.metric, str) else aggregate.metric.name,
            aggregate.weight_by_size,
            tuple(aggregate.filter_list),
            find(node, ("aggregate_metric_list", position, "metric")).at,
        )
        for position, aggregate in enumerate(model.aggregate_metric_list)
    )
    return spec.TaskGroup(
        name=model.group,
        file=file,
        members=tuple(_member(find(node, ("task", position)), file) for position in range(len(model.task))),
        aggregates=aggregates,
        format="lm-eval",
        alias=model.group_alias,
        version=str(model.metadata.get("version", "")),
        resolved=_record_node(node),
    )


def _data(model: TaskFile, node: Node, split: str | None) -> spec.Data:
    if model.dataset_path is None:
        raise ConfigError("`dataset_path` is missing: no rows to run", at=node.at)
    if model.dataset_path not in _LOCAL:
        at = find(node, ("dataset_path",))
        folder, config = Path(at.file).parent, model.dataset_name or ""
        return spec.Data((), folder, remote=model.dataset_path, config=config, split=split or "test", at=at.at)
    if model.dataset_kwargs is not None and model.dataset_kwargs.model_extra:
        key = next(iter(model.dataset_kwargs.model_extra))
        raise ConfigError(
            f"dataset_kwargs.{key} has no meaning for files", at=find(node, ("dataset_kwargs",)).key_at(key)
        )
    if model.dataset_name is not None:
        raise ConfigError("dataset_name has no meaning for files", at=find(node, ("dataset_name",)).at)
    if split is None:
        raise ConfigError("one of test_split, validation_split and training_split is needed", at=node.at)
    files = _files(model, node, split)
    files_node = find(node, ("dataset_kwargs", "data_files"))
    return spec.Data(tuple(files), Path(files_node.file).parent, at=files_node.at)


def _files(model: TaskFile, node: Node, split: str) -> list[str]:
    """Return the files of a split; files without split names are all `train`, as the datasets library has it."""
    files_node = find(node, ("dataset_kwargs", "data_files"))
    files = model.dataset_kwargs.data_files if model.dataset_kwargs else None
    if files is None:
        raise ConfigError("dataset_kwargs.data_files is missing: which file holds the rows?", at=files_node.at)
    named = files if isinstance(files, dict) else {"train": files}
    if split not in named:
        raise ConfigError(
            f"data_files has no split {split!r}",
            at=files_node.at,
            hint=f"there is {', '.join(named)}; data_files without names is `train`",
        )
    entry = named[split]
    return [entry] if isinstance(entry, str) else entry


def _few_shot(model: TaskFile, node: Node, split: str | None) -> spec.FewShot:
    """Return where worked examples come from, by the harness's rules, of which some surprise.

    Without a split for them they come from the training rows, else the validation rows, else the rows that are asked
    about; and a row is kept out of its own prompt only if the split for examples is named and is the test split, or if
    neither is named.
    """
    config = model.fewshot_config or FewshotConfig()
    named = config.split or model.fewshot_split
    chosen = named or model.training_split or model.validation_split or model.test_split
    samples = config.samples if named is None else None
    rows = () if samples is None or isinstance(samples, Function) else tuple(samples)
    own = chosen == split or samples is not None
    files = model.dataset_kwargs.data_files if model.dataset_kwargs else None
    has_split = isinstance(files, dict) and chosen in files
    is_here = model.dataset_path in _LOCAL and (bool(model.num_fewshot) or has_split)
    return spec.FewShot(
        count=model.num_fewshot or 0,
        paths=tuple(_files(model, node, chosen)) if is_here and not own and chosen else (),
        rows=rows,
        rows_by=samples if isinstance(samples, Function) else None,
        sampler=config.sampler,
        excludes_self=named == model.test_split,
        split="" if is_here or own else chosen or "",
        prefix=config.gen_prefix,
        prompt=None if config.doc_to_text is None else _text(config.doc_to_text, node, "fewshot_config"),
        references=None if config.doc_to_target is None else _text(config.doc_to_target, node, "fewshot_config"),
        delimiters=(
            model.target_delimiter if config.target_delimiter is None else config.target_delimiter,
            model.fewshot_delimiter if config.fewshot_delimiter is None else config.fewshot_delimiter,
        ),
        at=find(node, ("num_fewshot",)).at,
    )


def _text(value: str | Function | object, node: Node, key: str) -> spec.Text:
    """Return a source of text: a function, a string that is a field's name or else a template, or a constant."""
    at = find(node, (key,)).at
    if not isinstance(value, str | Function):
        return spec.Text(constant=value, at=at)
    if isinstance(value, Function):
        return spec.Text(function=value, at=at)
    if value.isidentifier():
        return spec.Text(fields=(value,), at=at)
    return spec.Text(template=value, at=at)


def _use(model: MetricEntry, node: Node, position: int, output: spec.Output) -> spec.Use:
    entry = find(node, ("metric_list", position))
    if model.hf_evaluate and output == "generate_until":
        raise ConfigError(
            f"metric {model.metric!r} would be fetched from the hub, which is never done unasked",
            at=find(entry, ("hf_evaluate",)).at,
            hint="`markbook list metrics` shows what is here",
        )
    options = dict(model.model_extra or {})
    for option in options:
        if misspelt(option, _ENTRY_KEYS):
            raise ConfigError(
                f"a metric's entry has no key {option!r}", at=entry.key_at(option), hint=suggest(option, _ENTRY_KEYS)
            )
    return spec.Use(
        name=model.metric,
        options=options,
        aggregation=model.aggregation,
        higher_is_better=model.higher_is_better,
        at=find(entry, ("metric",)).at,
        places={key: entry.key_at(key) for key in (*options, "aggregation", "higher_is_better") if key in entry.keys},
    )


def _pipelines(model: TaskFile, node: Node) -> tuple[spec.Pipeline, ...]:
    """Return the filters; without any, lm-evaluation-harness takes the first reply as it is."""
    if not model.filter_list:
        return (spec.Pipeline("none", (spec.Filter("take_first"),)),)
    pipelines = []
    for position, entry in enumerate(model.filter_list):
        steps = []
        for number, step in enumerate(entry.filter):
            step_node = find(node, ("filter_list", position, "filter", number))
            if (step.function == "custom") != (step.filter_fn is not None):
                raise ConfigError("`function: custom` and `filter_fn` go together", at=step_node.at)
            options = dict(step.model_extra or {})
            places = {option: step_node.key_at(option) for option in options}
            steps.append(spec.Filter(step.filter_fn or step.function, options, step_node.at, places))
        pipelines.append(spec.Pipeline(entry.name, tuple(steps)))
    return tuple(pipelines)


def _sampling(model: TaskFile, node: Node) -> spec.Sampling:
    generation = model.generation_kwargs or GenerationKwargs(temperature=0)
    limits = [
        limit
        for limit in (generation.max_gen_toks, generation.max_tokens, generation.max_new_tokens)
        if limit is not None
    ]
    if len(limits) > 1:
        raise ConfigError("one limit on tokens is enough", at=find(node, ("generation_kwargs",)).at)
    return spec.Sampling(
        temperature=generation.temperature or 0.0,  # what the harness asks a server with where a task states none
        top_p=generation.top_p,
        max_tokens=limits[0] if limits else _DEFAULT_MAX_TOKENS,
        stop=(model.fewshot_delimiter,) if generation.until is None else tuple(generation.until),
        seed=generation.seed,
        samples=model.repeats,
        beams=generation.num_beams,
    )


def _record_node(node: Node) -> dict[str, object]:
    """Return the file as JSON can hold it."""

    def to_json_value(value: Any) -> Any:
        if isinstance(value, Function):
            return f"!function {value.name}"
        if isinstance(value, dict):
            return {key: to_json_value(item) for key, item in value.items()}
        return [to_json_value(item) for item in value] if isinstance(value, list) else value

    recorded: dict[str, Any] = to_json_value(plain(node))
    return recorded
