"""What an exam's journal keeps of models, problems and answers."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class ModelRecord(TypedDict):
    """What the journal keeps of a model."""

    source: str
    attempts: int
    planned: list[int]
    """Attempts at each problem, in the benchmark's order."""
    lacking: NotRequired[list[int]]
    """Of each problem how many answers of those asked for are not there."""


class TestRecord(TypedDict, total=False):
    """What the journal keeps of a test; what is empty is not there."""

    setup: str
    assertion: str
    inspection: list[str]
    pattern: str
    program: str
    stdin: str | None
    stdout: str
    checker: str
    points: float | None


class SampleRecord(TypedDict):
    """What the journal keeps of a problem."""

    id: str
    input: str
    entry_point: str
    meta: dict[str, object]
    tests: list[TestRecord]
    source: str
    language: NotRequired[str]


class AboutAnswer(TypedDict):
    """What the journal keeps of an answer beside what became of it."""

    code: str
    step: str | None
    """How the code was found in the reply."""
    form: str | None
    source: str | None
