"""What a run of tasks publishes, as its readers find it in `results.jsonl` and `summary.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from markbook.judge.cases import PanelAgreement
from markbook.measurements import MissingRecord
from markbook.results.files_view import FilesView
from markbook.results.stopping import StoppedRecord
from markbook.types import SummaryRecord


class TestedRecord(TypedDict):
    """What the tests said of an answer."""

    passed: bool
    verdict: str
    error: str
    detail: str
    fault: str
    why: NotRequired[dict[str, object]]


class BillRecord(TypedDict, total=False):
    """How a reply ended and what it took, as far as its server said."""

    finish: str
    input_tokens: int
    output_tokens: int
    cost: float


class AnswerRow(BillRecord):
    """One answer under one filter pipeline: a line of `results.jsonl`."""

    task: str
    id: str
    doc_id: int
    doc: Mapping[str, object]
    index: int
    pipeline: str
    model: str
    prompt: str
    system: str
    references: list[str]
    reply: str | None
    text: str | None
    """None is an answer that nobody gave."""
    metrics: dict[str, float | None]
    missing: dict[str, MissingRecord]
    source: str
    turns: NotRequired[list[list[str]]]
    likelihoods: NotRequired[list[list[object]]]
    tests: NotRequired[TestedRecord]
    stats: NotRequired[dict[str, dict[str, object]]]


class TaskRecord(TypedDict):
    """The numbers of one task."""

    alias: str
    version: str
    context: str
    base: str
    rows: int
    ids: NotRequired[str]
    rows_rejected: int
    answers: int
    answers_rejected: int
    answers_unknown: int
    metrics: dict[str, SummaryRecord]
    panels: NotRequired[dict[str, PanelAgreement]]


class GroupSummaryRecord(SummaryRecord):
    """A metric over the tasks of a group."""

    tasks: list[str]


class GroupRecord(TypedDict):
    """The numbers of several tasks under one name."""

    alias: str
    version: str
    tasks: list[str]
    metrics: dict[str, GroupSummaryRecord]


class TasksSummary(TypedDict):
    """The content of `summary.json`."""

    schema: int
    model: str
    profile: str
    tasks: dict[str, TaskRecord]
    groups: dict[str, GroupRecord]
    comparisons: list[Mapping[str, object]]
    stopped: NotRequired[StoppedRecord]


TasksView = FilesView[AnswerRow, TasksSummary]
"""A finished run of tasks."""
