"""Our own task format. `docs/task.schema.json` is this module's models as a JSON schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from markbook import config as spec
from markbook.config.tree import Function, Node, check, find, plain
from markbook.errors import ConfigError

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.\-]*$", max_length=200)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class DataModel(_Strict):
    """Where the rows are."""

    path: str = Field(
        description="A .jsonl, .json, .csv, .parquet or .arrow file (text also .gz) or a folder of save_to_disk, relative to this file's folder."
    )
    where: dict[str, str | int | float | bool | None] = Field(
        default_factory=dict, description="Only rows whose fields have exactly these values."
    )
    id: str = Field(default="", description="The field that names a row. Without it: its place, counted from 0.")


class MetricModel(_Strict):
    """One metric with its options."""

    name: str = Field(description="A registered metric, as `markbook list metrics` shows them.")
    key: str = Field(default="", description="Its name in the results, if not its own.")
    options: dict[str, Any] = Field(default_factory=dict, description="Passed to the metric.")


class ModelSettings(_Strict):
    """What a model is told beside the prompt."""

    # The fields are those of `spec.Sampling`.
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    stop: list[str] = Field(default_factory=list, description="Texts at which a reply is cut.")
    seed: int | None = None
    samples: int = Field(default=1, ge=1, le=10_000, description="Answers per row: what pass@k counts.")


class FewShotModel(_Strict):
    """Worked examples put before the question."""

    count: int = Field(ge=0, le=100)
    path: str = Field(default="", description="A file of rows. Without it: the first rows of the task's own data.")


class TaskModel(_Strict):
    """A task: which rows, what to ask, what is right, how to mark."""

    name: Name
    version: str | int | float = 1
    description: str = Field(default="", description="For people; no model sees it.")
    extends: str = Field(default="", description="Another task file; keys here win, mappings are merged.")
    data: DataModel
    prompt: str = Field(description="A Jinja template over the row's fields. `context` obeys the context mode.")
    system: str = Field(default="", description="The system message.")
    context: spec.ContextMode = Field(default="full", description="How much of the row's context is shown.")
    reference: str = Field(default="", description="A Jinja template for the right answer; {{ field }} may be a list.")
    tests: str = Field(default="", description="The field with the test statements, for pass_at_k.")
    entry_point: str = Field(default="", description="The field with the name that the answer must define.")
    extract: Literal["code", "text"] = Field(
        default="text", description="code: the program in the reply, as the exam extracts it. text: the reply."
    )
    generate: ModelSettings = ModelSettings()
    few_shot: FewShotModel | None = None
    metrics: list[str | MetricModel] = Field(min_length=1)
    tags: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _tests_for_pass_at_k(self) -> TaskModel:
        named = [metric if isinstance(metric, str) else metric.name for metric in self.metrics]
        if "pass_at_k" in named and not self.tests:
            raise ValueError("pass_at_k needs `tests`, the field that holds the test statements")
        return self


class SummaryModel(_Strict):
    """How a group sums up one metric."""

    metric: str
    weight_by_size: bool = Field(default=True, description="Whether a task counts by its number of rows.")


class GroupModel(_Strict):
    """Several tasks under one name."""

    group: Name
    version: str | int | float = 1
    description: str = ""
    tasks: list[str] = Field(min_length=1, description="Names of tasks, or files relative to this one.")
    summarise: list[SummaryModel] = Field(default_factory=list)


def json_schema() -> dict[str, object]:
    """Return the JSON schema of a task file, for editors and other programs."""
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(TaskModel | GroupModel)
    schema = adapter.json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Markbook task file", **schema}


def read_native(node: Node, file: Path) -> spec.Task | spec.TaskGroup:
    """Return the task or group of a file in our own format.

    Raises:
        ConfigError: an unknown key, a wrong value, a `!function` tag; each with `file:line:column`.
    """
    _refuse_functions(node)
    if isinstance(node.value, dict) and "group" in node.value:
        return _group(node, file)
    model = check(TaskModel, node)
    assert isinstance(node.value, dict)
    data = node.value["data"]
    # A path means a file beside the YAML that wrote it, also when another file extends that one.
    assert isinstance(data.value, dict)
    folder = Path(data.value["path"].file).parent
    pipeline, few_shot = spec.Pipeline(), spec.FewShot()
    if model.extract == "code":  # in the language that its tests are in
        used = (use.options for use in model.metrics if isinstance(use, MetricModel) and use.name == "pass_at_k")
        options: dict[str, Any] = next(
            ({"language": chosen["language"]} for chosen in used if "language" in chosen), {}
        )
        pipeline = spec.Pipeline("extract_code", (spec.Filter("code", options),))
    if model.few_shot is not None:
        examples = model.few_shot.path
        few_shot = spec.FewShot(
            model.few_shot.count,
            (examples,) if examples else (),
            folder=Path(find(node, ("few_shot", "path")).file).parent if examples else None,
            at=node.value["few_shot"].at,
        )
    return spec.Task(
        name=model.name,
        file=file,
        version=_version(node, model.version),
        data=spec.Data(
            (model.data.path,), folder, dict(model.data.where), id_field=model.data.id, at=data.value["path"].at
        ),
        prompt=spec.Text(template=model.prompt, at=node.value["prompt"].at),
        references=spec.Text(template=model.reference, at=node.value["reference"].at) if model.reference else None,
        metrics=tuple(_use(metric, node.value["metrics"], position) for position, metric in enumerate(model.metrics)),
        tests=model.tests,
        entry_point=model.entry_point,
        context=model.context,
        system=model.system,
        pipelines=(pipeline,),
        sampling=spec.Sampling(**{**model.generate.model_dump(), "stop": tuple(model.generate.stop)}),
        few_shot=few_shot,
        delimiters=("\n", "\n\n"),
        tags=tuple(model.tags),
        resolved=plain(node),
    )


def _version(node: Node, version: str | float) -> str:
    """Return the version as it is written in the file."""
    return find(node, ("version",)).text or str(version)


def _use(model: str | MetricModel, metrics: Node, position: int) -> spec.Use:
    assert isinstance(metrics.value, list)
    entry = metrics.value[position]
    if isinstance(model, str):
        return spec.Use(model, at=entry.at)
    assert isinstance(entry.value, dict)
    options = entry.value.get("options")
    places = {} if options is None else {key: options.key_at(key) for key in model.options}
    return spec.Use(model.name, model.key, dict(model.options), at=entry.at, places=places)


def _group(node: Node, file: Path) -> spec.TaskGroup:
    model = check(GroupModel, node)
    assert isinstance(node.value, dict)
    names = node.value["tasks"]
    assert isinstance(names.value, list)
    return spec.TaskGroup(
        name=model.group,
        file=file,
        members=tuple(
            spec.Member(name, at=name_node.at) for name, name_node in zip(model.tasks, names.value, strict=True)
        ),
        aggregates=tuple(
            spec.GroupMetric(
                summary.metric, summary.weight_by_size, at=find(node, ("summarise", position, "metric")).at
            )
            for position, summary in enumerate(model.summarise)
        ),
        version=_version(node, model.version),
        resolved=plain(node),
    )


def _refuse_functions(node: Node) -> None:
    """Refuse tags in our own format: there, a part is named by its registered name alone."""
    if isinstance(node.value, Function):
        raise ConfigError(
            f"!function {node.value.name} belongs to lm-evaluation-harness files",
            at=node.at,
            hint="name the metric itself, such as `bleu`; `markbook list metrics` shows them",
        )
    if isinstance(node.value, dict | list):
        for child in node.value.values() if isinstance(node.value, dict) else node.value:
            _refuse_functions(child)
