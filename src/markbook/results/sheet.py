"""What can be compared: one cell for each model and sample, wherever it came from.

An exam's task scores, a task's metric and a review's composite all become a `Sheet`; the comparison and the charts
know nothing else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Never, get_args

from markbook.errors import DataError
from markbook.types import Direction, Missing

CLUSTER = "cluster"
"""Where a sample's meta says which others it belongs together with."""
_NO_GAPS: dict[str, int] = {}
"""One for all cells without any: there may be a million."""
_NOTHING: Mapping[str, Never] = MappingProxyType({})


Policy = Literal["exclude", "worst", "fail", "exam"]
"""How missing values enter a mean."""
Status = Literal["passed", "scored", "partial", "failed", "error", "empty", "absent"]
"""How an attempt ended, in one word."""
STATUSES: tuple[Status, ...] = get_args(Status)
"""All of them, the best first: of several attempts the worst is shown, since a model that fails sometimes does not pass."""

STOPPED_NOTE = (
    "stopped when it had seen enough: p values and intervals here are those of a size fixed beforehand and err more "
    "often; its own report has those that hold at all looks"
)
"""What a comparison says of a run that stopped."""


def find_status(
    *,
    is_absent: bool = False,
    is_broken: bool = False,
    is_empty: bool = False,
    all_passed: bool | None = None,
    any_passed: bool = False,
    is_complete: bool = True,
) -> Status:
    """Return the one word for an attempt: every kind of run and every page takes it from here.

    Args:
        is_absent: nobody answered, or nothing of it could be measured.
        is_broken: it could not be marked for a reason that is not the model's, or its program ended in an error.
        is_empty: the model answered with nothing.
        all_passed: whether all tests passed; None without tests.
        any_passed: whether at least one did.
        is_complete: whether it has every number that it should have, without tests.
    """
    # The first that holds is the word: what was never answered cannot be broken, what is broken was not judged.
    if is_absent:
        return "absent"
    if is_broken:
        return "error"
    if is_empty:
        return "empty"
    if all_passed is not None:
        return "passed" if all_passed else "partial" if any_passed else "failed"
    return "scored" if is_complete else "partial"


def worst_status(*statuses: Status) -> Status:
    """Return the one word for several attempts."""
    return max(statuses, key=STATUSES.index)


def rank_attempt(status: Status, score: float | None, direction: Direction) -> tuple[int, bool, float]:
    """Return where an attempt stands among those of one model at one sample: the smallest is the worst."""
    sign = 1 if direction == "higher" else -1
    return -STATUSES.index(status), score is not None, sign * (score or 0.0)


@dataclass(frozen=True, slots=True)
class Headline:
    """What a report says first."""

    text: str = ""
    step: str = ""
    """What to do next to know more; empty where nothing is left open."""
    scores: tuple[tuple[str, str, str], ...] = ()
    """The best models, each with its score and its interval in words."""


def _nothing() -> Mapping[str, Never]:
    return _NOTHING


SOLVES = "A model solves a sample if all tests pass in every attempt."
"""The rule of comparisons and of the pages of `view`, which say it."""


def is_solved(verdicts: Iterable[bool | None]) -> bool | None:
    """Return whether a model solves a sample by whether all tests passed in each attempt; None without tests."""
    tested = [verdict for verdict in verdicts if verdict is not None]
    return all(tested) if tested else None


@dataclass(frozen=True, slots=True)
class Cell:
    """One model's result on one sample: a value or the reason why there is none."""

    value: float | None
    """In the metric's unit and range; the mean where the model made several attempts."""
    missing: Missing | None = None
    """Set exactly where a value is missing."""
    passed: bool | None = None
    """Whether the model solved it, as `SOLVES` says; None without tests."""
    seconds: float | None = None
    """How long the model took, where known."""
    cost: float | None = None
    """US dollars, where known."""
    n_missing: Mapping[str, int] = field(default_factory=_nothing)
    """How many of several answers have no value, by kind; also beside a value, which is then over the others."""
    span: tuple[float, float] | None = None
    """The value if those were at the low and at the high end of the range; None if none is missing, or an end infinite."""
    values: tuple[float, ...] = ()
    """What each of several answers scored; empty where one was made."""
    is_counted_missing: bool = False
    """Whether nothing was measured and the value is the worst end, by the policy of its run."""

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one of value and reason."""
        if (self.value is None) == (self.missing is None):
            raise ValueError("a cell has a value or a reason, exactly one of them")

    @property
    def gaps(self) -> Mapping[str, int]:
        """How many values are missing here, by kind; one where nobody counted several."""
        return self.n_missing or ({} if self.missing is None else {self.missing.kind.value: 1})

    @property
    def is_partial(self) -> bool:
        """Whether the value is over a part of the answers only."""
        return self.value is not None and bool(self.n_missing) and not self.is_counted_missing


def make_cell(
    values: Sequence[float | Missing], limits: tuple[float, float], verdicts: Iterable[bool | None] = ()
) -> Cell:
    """Return one cell of several answers to a sample, one at least: the mean of those with a value, the others counted.

    `verdicts` say of each answer whether all tests passed.

    Raises:
        DataError: a value lies outside the range, as only a damaged file holds it.
    """
    numbers, passed = [value for value in values if not isinstance(value, Missing)], is_solved(verdicts)
    for value in numbers:
        if not limits[0] <= value <= limits[1]:
            raise DataError(f"a value is {value!r}, outside {limits[0]:g}..{limits[1]:g}")
    lost = [value for value in values if isinstance(value, Missing)]
    gaps = dict(sorted(Counter(gap.kind.value for gap in lost).items())) if lost else _NO_GAPS
    if not numbers:
        return Cell(None, lost[0], passed=passed, n_missing=gaps)
    # Summed exactly: the same answers in another order have the same mean.
    total, n = math.fsum(numbers), len(values)
    span = None
    if lost and math.isfinite(limits[1] - limits[0]):
        span = (total + len(lost) * limits[0]) / n, (total + len(lost) * limits[1]) / n
    several = tuple(numbers) if n > 1 else ()
    return Cell(total / len(numbers), passed=passed, n_missing=gaps, span=span, values=several)


@dataclass(frozen=True, slots=True)
class Aliases:
    """What a sample's content is known by elsewhere."""

    ours: str
    """In a run of several tasks."""
    others: tuple[str, ...]
    """To other tools, the surest first."""


def best_end(limits: tuple[float, float], direction: Direction) -> float:
    """Return the best value of a range: the top where higher is better, else the bottom."""
    return limits[1] if direction == "higher" else limits[0]


@dataclass(frozen=True, slots=True)
class Sheet:
    """All marks of several models by one metric."""

    metric: str
    marks: Mapping[str, Mapping[str, Cell]]
    """marks[model][sample_id], models in the order of the input, samples in the benchmark's order."""
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"
    meta: Mapping[str, Mapping[str, str]] = field(default_factory=_nothing)
    """meta[sample_id]: topic, complexity and the like, the same for every model."""
    origins: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """origins[model]: which run it came from, by position, and its name there; empty for a single run."""
    renamed: Mapping[tuple[int, str], str] = field(default_factory=dict)
    """renamed[position of a run, sample_id]: what that run calls a sample, where it has another name there."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """digests[sample_id]: what its content is known by; empty where that is not known."""
    by_place: bool = False
    """Whether the ids are places in a file, which identify nothing."""
    loose: bool = False
    """Whether the ids are another tool's: a sample whose id nobody else has is then paired by its content."""
    is_of_rows: bool = False
    """Whether these are marks of rows by a metric whose number is not their mean, such as corpus BLEU."""
    task: str = ""
    """The only task of its run, where ids of runs of several begin with the task's name."""
    aliases: Callable[[], Mapping[str, Aliases]] = _nothing
    """aliases()[sample_id]: what else its content is known by."""
    signatures: Mapping[str, str] = field(default_factory=_nothing)
    """What the numbers were measured by: options, version, judge. By task, under no name where there are none."""
    signed_metric: str = ""
    """What `signatures` are of, where a comparison calls metrics of several names by one; else that is `metric`."""
    alignment: Mapping[str, object] = field(default_factory=_nothing)
    """How the samples of several runs were paired, and how many were not."""
    notes: tuple[str, ...] = ()
    """What a reader of a comparison has to know about its inputs."""
    policy: Policy = "exclude"
    """How missing values count, in the marks and in the run's own numbers."""

    def get_clusters(self, samples: Sequence[str]) -> list[str] | None:
        """Return which cluster each of these samples belongs to; None where no two belong together."""
        cluster_names = [self.meta.get(sample, {}).get(CLUSTER, "") for sample in samples]
        # One of which nothing is said stands by itself: an empty name would put all of those together.
        clusters = [name or f"\0{sample}" for name, sample in zip(cluster_names, samples, strict=True)]
        return clusters if len(set(clusters)) < len(clusters) else None

    @property
    def best(self) -> float:
        """The better end of the range: what a perfect answer is given; infinite where the range is open there."""
        return best_end(self.range, self.direction)

    @property
    def models(self) -> list[str]:
        """The models' names, in order."""
        return list(self.marks)

    @property
    def samples(self) -> list[str]:
        """Every sample that any model has a mark for, in order of first appearance."""
        return list(dict.fromkeys(sample for marks in self.marks.values() for sample in marks))
