"""What the records say that a worker and its owner send one another. For type checkers alone: nothing imports it to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class LayerRecord(TypedDict):
    """How one layer of the walls went."""

    name: str
    ok: bool
    detail: str


class WorkerSettings(TypedDict, total=False):
    """What a worker is started with, and what it finds itself."""

    control: int
    """The descriptor that programs come by, or the sockets for jobs."""
    lifeline: int
    """The descriptor whose end says that the owner is gone."""
    level: str
    scratch: str
    tests_scratch: str
    """What is made for tests to write to, where they do not have a file system of their own."""
    path: list[str]
    prefix: str
    stdlib: list[str]
    processor: int | None
    folders: list[str]
    """What programs may read and run."""
    modules: list[str]
    """What may be loaded before attempts."""
    owner: int
    readable: list[str]
    files: list[tuple[int, str]]
    """Descriptors of files that libraries keep open, each with the file's path."""
    links: Sequence[str]
    empty: Sequence[str]
    scratch_options: str


class Hello(TypedDict, total=False):
    """The first that a worker says."""

    hello: bool
    unfit: str
    """Why it cannot mark; absent where it can."""
    layers: list[LayerRecord]


class RawTest(TypedDict, total=False):
    """What became of one test, or of the code as a whole."""

    p: bool
    """It passed."""
    v: str
    """How far that is to be believed."""
    k: str
    """The kind of error, one letter."""
    t: str
    """The error's type."""
    m: str
    """Its message."""
    own: bool
    """It needed an operator of the solution's own."""
    parts: list[RawTest]
    result: str
    rule: str


class PlanRecord(TypedDict):
    """How the tests of a problem are run, found out with its right answer."""

    tests: list[Mapping[str, object] | None]
    """For each what may cross the wall; None: it runs beside the solution."""
    pins: dict[str, str]
    sure: bool


class WorkerAnswer(TypedDict, total=False):
    """What a worker says of one attempt."""

    why: object
    """Why tests failed, as the solution's own process says it: not looked at yet."""
    id: str
    """What the question was told apart by."""
    tests: list[RawTest]
    error: RawTest
    """Of the code, before any test."""
    hit: str
    """The limit that was reached."""
    fault: str
    """Of the benchmark."""
    flags: list[str]
    cpu: float
    wall: float
    plan: PlanRecord
    compiled: str
    """The tests as the examiner that made the plan has compiled them."""
    spent: bool
    """The examiner is not to be asked again."""
    later: dict[str, Any]
    """Instead of all that: what ran apart, where the rest is to run beside the solution once no attempt is left to run
    apart; it is handed over again with the attempt then."""
    phases: list[dict[str, Any]]
    """Of a program: what became of each phase; `sandbox.program.read_executed` reads each."""
