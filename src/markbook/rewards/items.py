"""From what a caller sends to an order: every field checked, and every refusal a sentence that says where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markbook.errors import UsageError
from markbook.languages import Toolchain
from markbook.load.assembly import RowText, assemble
from markbook.plugins import suggest
from markbook.rewards.benchmarks import BenchmarkShelf
from markbook.rewards.item_tests import PlacedItem, read_tests
from markbook.rewards.languages import find_installed, toolchain
from markbook.rewards.records import Order, UnmarkableError
from markbook.runs.exam.marks import ErrorPolicy
from markbook.types import Limits, Missing, MissingKind, ProblemType, Sample

_FIELDS = (
    "id", "code", "completion", "language", "timeout", "deadline", "memory_mb",
    "tests", "entry_point", "canonical", "prompt", "kind", "benchmark", "task_id",
)  # fmt: skip
_OWN = ("tests", "entry_point", "canonical", "prompt", "kind")
_KINDS = (ProblemType.FUNCTION, ProblemType.CLASS, ProblemType.TEXT)
"""What an item with tests in Python may be; one whose tests have `stdout` is a program that reads and writes."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where an item does not say."""

    timeout: float = 60.0
    """CPU seconds, as in an exam."""
    most_timeout: float = 600.0
    memory_mb: int = 2048
    most_memory_mb: int = 8192
    benchmark: str = ""
    policy: ErrorPolicy = "zero"


def read_items(values: object, shelf: BenchmarkShelf, defaults: Defaults, most: int) -> list[Order]:
    """Return the orders of a batch; nothing of it is taken if anything is wrong with how it is written.

    An item whose tests are broken, or whose task is unknown, is an order without anything to run: `missing_undefined`.

    Raises:
        UsageError: what is wrong, and in which item.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise UsageError("'items' is no list", hint='send {"items": [{"id": .., "code": .., "tests": ..}]}')
    if not values:
        raise UsageError("'items' is empty")
    if len(values) > most:
        raise UsageError(f"{len(values)} items are too many at once", hint=f"send at most {most}")
    return [read_item(value, f"items[{number}]", shelf, defaults) for number, value in enumerate(values)]


def read_item(value: object, at: str, shelf: BenchmarkShelf, defaults: Defaults) -> Order:
    """Return the order of one item.

    Raises:
        UsageError: what is wrong with it.
    """
    if not isinstance(value, Mapping):
        raise UsageError("it is no object", at=at)
    for name in value:
        if name not in _FIELDS:
            raise UsageError(f"unknown field {str(name)[:40]!r}", at=at, hint=suggest(str(name)[:40], list(_FIELDS)))
    item = PlacedItem(value, at)
    try:
        sample = _sample(item, shelf, defaults)
        missing, code = _code(item, sample)
    except UnmarkableError as error:
        sample, missing, code = Sample(id=""), Missing(MissingKind.UNDEFINED, str(error)), ""
    limits = Limits(
        seconds=item.number("timeout", defaults.timeout, defaults.most_timeout),
        memory_bytes=int(item.number("memory_mb", defaults.memory_mb, defaults.most_memory_mb, least=64)) << 20,
    )
    seconds = item.number("deadline", 0.0, 86_400.0) if value.get("deadline") is not None else None
    name = at if value.get("id") is None else value["id"]
    if not isinstance(name, str | int) or isinstance(name, bool) or len(str(name)) > 200:
        raise UsageError("'id' is neither a short string nor a whole number", at=at)
    return Order(str(name), code, sample, limits, defaults.policy, seconds, missing)


def _sample(item: PlacedItem, shelf: BenchmarkShelf, defaults: Defaults) -> Sample:
    """Return the task that an item is an answer to."""
    name = item.text("benchmark", 200) or ("" if "tests" in item.value else defaults.benchmark)
    if not name:
        if item.value.get("task_id") is not None:
            raise UsageError("'task_id' without 'benchmark'", at=item.at, hint="name the benchmark too")
        return _by_test(_own_sample(item)) if defaults.policy == "partial" else _own_sample(item)
    if own := [key for key in _OWN if item.value.get(key) is not None]:
        raise UsageError(f"{own[0]!r} beside 'benchmark'", at=item.at, hint="an item has one or the other")
    task = item.value.get("task_id")
    if not isinstance(task, str) or not task:
        raise UsageError("'task_id' is missing or no string", at=item.at)
    try:
        sample = shelf.sample(name, task)
    except UsageError as error:
        raise type(error)(error.message, at=item.at, hint=error.hint) from None
    try:
        return _in_language(sample, item.text("language", 80))
    except UsageError as error:
        raise UsageError(error.message, at=item.at, hint=error.hint) from None


def _in_language(sample: Sample, name: str) -> Sample:
    """Return a benchmark's task as it is answered: programs that read and write may be in any language.

    Raises:
        UsageError: its language, or that of its judge, is not here; or it is to be answered in another one.
    """
    for language in sample.judge.languages if sample.judge is not None else ():
        find_installed(language)
    if sample.language:
        find_installed(sample.language)
        return sample
    tool = toolchain(name)
    if tool is None:
        return sample
    if sample.problem_type is not ProblemType.STDIN:
        raise UsageError(f"{sample.id!r} is answered in Python, not in {name!r}")
    return replace(sample, language=tool.language.name)


def _code(item: PlacedItem, sample: Sample) -> tuple[Missing | None, str]:
    """Return the program of an item, assembled as an exam does, or why there is none."""
    keys = [key for key in ("code", "completion") if key in item.value]
    if len(keys) != 1:
        what = "it has 'code' and 'completion'" if keys else "it has neither 'code' nor 'completion'"
        raise UsageError(what, at=item.at, hint="an item has one of them")
    (key,) = keys
    if item.value[key] is None:
        return Missing(MissingKind.ABSENT, "nobody answered: the code is null"), ""
    row = RowText(item.text(key), "completion" if key == "completion" else "candidate_solution")
    return None, assemble(row, sample).text


def _own_sample(item: PlacedItem) -> Sample:
    try:
        tool = toolchain(item.text("language", 80))
    except UsageError as error:
        raise UsageError(error.message, at=item.at, hint=error.hint) from None
    tests = read_tests(item, elsewhere=tool is not None)
    canonical = item.text("canonical")
    sample = Sample(id="", tests=tests, references=(canonical,) if canonical else (), prompt_code=item.text("prompt"))
    if tests[0].stdin is not None:
        return _of_streams(sample, item, tool)
    if tool is not None:
        if item.value.get("kind") is not None:
            raise UsageError("'kind' is for answers in Python", at=item.at, hint="leave it out")
        return replace(sample, language=tool.language.name)
    kind = item.text("kind", 20)
    if kind and kind not in _KINDS:
        raise UsageError(f"'kind' is {kind!r}", at=item.at, hint=f"one of {', '.join(_KINDS)}")
    return replace(sample, entry_point=item.text("entry_point", 200), problem_type=ProblemType(kind) if kind else None)


def _by_test(sample: Sample) -> Sample:
    """Return a program that reads and writes with a point for each test where its tests have none, which stand or fall together."""
    if sample.problem_type is not ProblemType.STDIN or any(test.points is not None for test in sample.tests):
        return sample
    return replace(sample, tests=tuple(replace(test, points=1.0) for test in sample.tests))


def _of_streams(sample: Sample, item: PlacedItem, tool: Toolchain | None) -> Sample:
    """Return the task of a program that reads and writes; a `timeout` of the item's own is that of each test."""
    if item.text("kind", 20) not in ("", ProblemType.STDIN):
        raise UsageError(f"'kind' is {item.text('kind')!r}", at=item.at, hint="its tests are of 'stdin'")
    if sample.prompt_code:
        raise UsageError("'prompt' beside tests with 'stdout'", at=item.at, hint="such an answer is a whole program")
    seconds = item.value.get("timeout")
    return replace(
        sample,
        problem_type=ProblemType.STDIN,
        language="" if tool is None else tool.language.name,
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
    )
