"""Numbers and what stands in their place: a measurement, the reason for having none, an interval, a summary.

Theory of operation
-------------------
A metric gives one `Measurement` for each attempt: a finite value, or a `Missing` with its kind and one sentence. It is exactly one
of the two, which `__post_init__` enforces, so neither NaN nor a made-up 0 can get into a column of numbers.

A column is the list of measurements of one metric, in the order of the attempts. `markbook.results.summary` makes a `Summary` of it,
and only there a policy turns what is missing into numbers (`exclude`, `worst`, `fail`, `exam`); the summary keeps the counts by
kind, and `bounds` says what the value would be if all that is missing were worst, and if it were best.

The kind of reason decides what happens next. Where it `is_ours` (the metric raised, a server did not answer, the budget was
spent) the run is incomplete and can be resumed; the other kinds are facts about the data and final.

All of these are records that travel: to worker processes (they pickle), and into files (`markbook.codec`).
"""

from __future__ import annotations

import copyreg
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, TypedDict

from markbook.codec import JsonRecord, as_json

CONFIDENCE = 0.95
"""The level of every interval for which no other is named; what is printed of it is made by `text.format.format_level`."""
SIGNIFICANCE = round(1 - CONFIDENCE, 12)
"""What an (adjusted) p has to be below; the same level, so that a claim and the interval beside it do not contradict each other."""
Direction = Literal["higher", "lower"]
"""Which way is better."""
_ERRORS = frozenset(
    ("bpb", "brier", "cer", "cost", "costs", "crash", "crashes", "crps", "distance", "duration", "durations", "ece", "err", "error",
     "errors", "exception", "exceptions", "fail", "failed", "failure", "failures", "fid", "fnr", "fpr", "hallucinated",
     "hallucination", "hallucinations", "inaccuracy", "incorrect", "incorrectness", "invalid", "latency", "logloss", "loss", "losses",
     "mae", "mape", "mase", "miss", "missed", "misses", "mistakes", "mse", "nll", "perplexity", "ppl", "price", "rmsd", "rmse",
     "runtime", "smape", "ter", "time", "timeout", "timeouts", "toxic", "toxicity", "wer", "wrong")
)  # fmt: skip
_MERITS = frozenset(
    ("acc", "accuracy", "auc", "bleu", "correct", "detection", "effectiveness", "efficiency", "em", "exact", "f1", "free", "grade",
     "improvement", "mark", "match", "ok", "pass", "passed", "points", "precision", "rating", "recall", "reduction", "reward",
     "rouge", "saved", "savings", "score", "similarity", "skill", "success", "win")
)  # fmt: skip
_DOUBTS = frozenset(
    ("attack", "bias", "divergence", "drop", "entropy", "false", "harm", "harmful", "inv", "inverse", "inverted", "jailbreak", "kl", "minus", "neg",
     "negated", "negative", "no", "non", "not", "penalty", "refusal", "regret", "risk", "unsafe", "violation", "violations", "without")
)  # fmt: skip
"""Words that turn what stands beside them, or may, and those of what is mostly better the less there is of it."""
_EVERYDAY = frozenset(
    ("cost", "costs", "error", "errors", "exception", "exceptions", "fail", "failure", "failures", "hallucination", "hallucinations",
     "mistakes", "time", "toxic", "toxicity")
)  # fmt: skip
"""Words of errors that a skill may be named after, as in `error_handling`, unless one of the next follows or nothing."""
_AMOUNTS = frozenset(
    ("all", "avg", "by", "count", "dev", "in", "max", "mean", "median", "min", "ms", "number", "of", "overall", "per", "percent",
     "percentage", "rate", "ratio", "s", "score", "seconds", "share", "test", "to", "total", "train", "usd", "val", "validation")
)  # fmt: skip
_QUANTITIES = frozenset(
    ("bpc", "bugs", "contamination", "edits", "eer", "elapsed", "far", "frr", "hamming", "leakage", "levenshtein",
     "misclassification", "rank", "regressions", "repetition", "seconds", "std", "steps", "surprisal", "sycophancy", "tokens", "turns",
     "usd", "variance", "walltime")
)  # fmt: skip
"""Words that decide nothing, but of which less is mostly better."""
_STATED = re.compile(r"(?:(higher|more|greater)|lower|less)[ _.-]*(?:is)?[ _.-]*better|(\u2191)|\u2193", re.IGNORECASE)
_ERROR_BAR = re.compile(r"(standard|std)[ _.-]?err(or)?|error[ _.-]?bars?|stderr", re.IGNORECASE)


def find_direction(metric: str) -> Direction | None:
    """Return which way is better by the name of a metric, where nothing else says it; None where the name does not either.

    >>> find_direction("WER (test)"), find_direction("meanSquaredError"), find_direction("accuracy_loss")
    ('lower', 'lower', 'lower')
    >>> find_direction("edit_distance_similarity"), find_direction("neg_log_loss"), find_direction("accuracy_error_bar")
    (None, None, None)
    >>> find_direction("score\u2193"), find_direction("error (higher is better)")
    ('lower', 'higher')
    """
    stated = {"higher" if any(words.groups()) else "lower" for words in _STATED.finditer(metric)}
    if len(stated) == 1:
        return "higher" if "higher" in stated else "lower"
    words = _list_words(metric)
    telling = [word for word in words if word in _ERRORS or word in _MERITS - {"score"}]
    # An error bar is of a score, and no score.
    if stated or _ERROR_BAR.search(metric) or re.match(r"1 ?[-\u2212]", metric) or not _DOUBTS.isdisjoint(words):
        return None
    last = len(words) - words[::-1].index(telling[-1]) if telling else 0
    if _EVERYDAY & {*telling[-1:]} and not _AMOUNTS.issuperset(words[last : last + 1]):
        return None
    # What the last word names is what is measured; but a merit behind an error may be its reverse.
    if metric.startswith(("bits_per_byte", "logprob_per_byte")) or {*telling[-1:]} & _ERRORS:
        return "lower"
    return "higher" if _ERRORS.isdisjoint(telling) and (telling or "score" in words) else None


def note_direction(metric: str) -> str:
    """Return what a reader has to know of a direction that a name alone says; empty where it names a merit, or neither."""
    way = find_direction(metric)
    if way == "lower":
        return f"{metric}: lower is assumed to be better, from its name."
    is_doubtful = way is None and not (_ERRORS | _DOUBTS | _QUANTITIES).isdisjoint(_list_words(metric))
    return f"{metric}: higher is assumed to be better, but its name may mean the opposite." if is_doubtful else ""


def _list_words(metric: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+\d?|[A-Z]+\d?(?![a-z])", metric)]


def choose_direction(stated: Direction | None, metric: str) -> Direction:
    """Return which way is better: as it is stated, else by the metric's name, and where that does not say it more is."""
    return stated or find_direction(metric) or "higher"


class MeasurementRecord(TypedDict):
    """A `Measurement` as JSON."""

    metric: str
    value: float | None
    missing: MissingRecord | None
    sample_id: str
    index: int
    model: str
    stats: dict[str, object]
    signature: str


class MissingRecord(TypedDict):
    """A `Missing` as JSON."""

    kind: MissingKind
    detail: str


class IntervalRecord(TypedDict):
    """An `Interval` as JSON."""

    low: float
    high: float
    method: str
    confidence: float


class SummaryRecord(TypedDict):
    """A `Summary` as JSON: the one form in which every command and file shows a number."""

    metric: str
    group: str
    value: float | None
    n: int
    n_items: int
    n_partial: int
    n_missing: dict[str, int]
    interval: IntervalRecord | None
    bounds: list[float] | None
    range: list[float | None]
    """An end that is open is null."""
    direction: Direction
    policy: str
    note: str
    signature: str


_NOTHING: Mapping[str, object] = MappingProxyType({})


def _read_only(plain: dict[str, object]) -> MappingProxyType[str, object]:
    return MappingProxyType(plain)


# Python cannot pickle or copy a read-only mapping by itself; records hold some, and travel to worker processes.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


def nothing() -> Mapping[str, object]:
    """Return the empty read-only mapping that every `meta` and `stats` starts from."""
    return _NOTHING


class MissingKind(StrEnum):
    """Why a value is missing."""

    ABSENT = "absent"
    """Nobody attempted it: the sample has no attempt."""
    NO_COMPLETION = "no_completion"
    """An attempt was made and its text is empty."""
    NOT_APPLICABLE = "not_applicable"
    """The metric has no meaning here, such as a graph metric of a single agent."""
    UNDEFINED = "undefined"
    """The formula has no value for this input, such as an empty reference."""
    UNAVAILABLE = "unavailable"
    """What the metric needs is not here: an extra, a model file, a server."""
    FAILED = "failed"
    """The metric raised; the detail has the error's type and message."""
    TIMEOUT = "timeout"
    """The work did not finish in its time."""
    BUDGET = "budget"
    """The user's cost or call limit was reached first."""

    @property
    def is_ours(self) -> bool:
        """Whether the reason lies in what should have worked, not in the data: with one such a run is incomplete."""
        return self in (self.UNAVAILABLE, self.FAILED, self.TIMEOUT, self.BUDGET)


@dataclass(frozen=True, slots=True)
class Missing(JsonRecord[MissingRecord]):
    """A reason in the place of a value: never 0.0, never NaN, never a bare None."""

    kind: MissingKind
    detail: str = ""
    """One sentence for a person: what was missing, and where it helps, what to do."""


@dataclass(frozen=True, slots=True)
class Measurement(JsonRecord[MeasurementRecord]):
    """One metric of one attempt: a finite value, or the reason why there is none."""

    metric: str
    value: float | None = None
    missing: Missing | None = None
    sample_id: str = ""
    index: int = 0
    model: str = ""
    stats: Mapping[str, object] = field(default_factory=nothing)
    """What the value was computed from (precision and recall, counts, points with their evidence)."""
    signature: str = ""
    """Everything that can change the number, such as `rougeL|stem:yes|tok:google|v1`."""

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one of value and missing.

        Raises:
            ValueError: both or neither are given, or the value is not finite.
        """
        if (self.value is None) == (self.missing is None):
            raise ValueError(f"{self.metric}: a measurement has a value or a reason, exactly one of them")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"{self.metric}: {self.value!r} is not a value; say why it is missing")

    def __repr__(self) -> str:
        """Show the value or the reason; `to_record` has all of it."""
        if self.missing is None:
            return f"<Measurement {self.metric!r} {self.value:.6g}>"
        return f"<Measurement {self.metric!r} missing ({self.missing.kind}): {self.missing.detail!r}>"

    @property
    def result(self) -> float | Missing:
        """The value, or the reason why there is none."""
        return self.missing if self.value is None else self.value  # type: ignore[return-value]  # exactly one is None


def missing_kinds(measurements: Iterable[Measurement]) -> dict[str, int]:
    """Return how many measurements have no value, by the kind of reason."""
    counts: dict[str, int] = {}
    for measurement in measurements:
        if measurement.missing is not None:
            kind = measurement.missing.kind.value
            counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


@dataclass(frozen=True, slots=True)
class Interval(JsonRecord[IntervalRecord]):
    """A range that holds the true value with the stated confidence."""

    low: float
    high: float
    method: str
    """Such as `wilson`, `t`, `bca`."""
    confidence: float = CONFIDENCE


def range_record(limits: tuple[float, float]) -> list[float | None]:
    """Return a range as JSON, which knows no infinity: an open end is null."""
    return [end if math.isfinite(end) else None for end in limits]


def read_range(record: Sequence[float | None]) -> tuple[float, float]:
    """Return the range of `range_record`."""
    low, high = record
    return -math.inf if low is None else low, math.inf if high is None else high


@dataclass(frozen=True, slots=True)
class Summary(JsonRecord[SummaryRecord]):
    """One number over many measurements, with everything needed to read it honestly."""

    metric: str
    group: str
    """`total`, or the name of the part (a topic, a level)."""
    value: float | None
    """None if nothing could be scored."""
    n: int
    """How many values went into it."""
    n_missing: Mapping[str, int]
    """How many did not, by missing kind, also those that a policy turned into the worst value."""
    interval: Interval | None
    """None when n < 2 or nothing varies that it could be estimated from; `note` then says so."""
    bounds: tuple[float, float] | None
    """The value if all that is missing were worst, and if it were best."""
    policy: str
    """What was done about missing values: exclude, worst, fail, exam."""
    range: tuple[float, float] = field(default=(0.0, 1.0), metadata=as_json(range_record, read_range))
    """Of a single value; an end may be infinite."""
    direction: Direction = "higher"
    note: str = ""
    signature: str = ""
    n_items: int = 0
    """How many samples there are, with and without a value."""
    n_partial: int = 0
    """How many of the n have a value for a part of their answers only; the others are in `n_missing`."""

    def __repr__(self) -> str:
        """Show the value with its interval and its n; `to_record` has all of it."""
        value = "missing" if self.value is None else f"{self.value:.6g}"
        if (span := self.interval) is not None:
            value += f" [{span.low:.4g}, {span.high:.4g}]"
        return f"<Summary {self.metric!r} of {self.group!r}: {value}, {self.n} of {self.n_items or self.n} scored>"
