"""What files of lm-evaluation-harness may hold, key by key; whatever is not listed here is refused by its name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from markbook.config import spec
from markbook.config.tree import Function


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
