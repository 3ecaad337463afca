"""Gates of every command: a mark that must be reached, a baseline that must not be fallen behind.

`NAME=X` means the same everywhere: X in the metric's own unit or with a percent sign; where lower is better, a mark above
X fails. Names and thresholds are checked before any work is done or paid, and the marks are held against them after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markbook.errors import DataError, GateFailed, UsageError, suggest
from markbook.results.comparison import Comparison
from markbook.results.pairs import Pair
from markbook.text.format import Scale, read_number
from markbook.types import Direction

_ROUNDING = 1e-12
"""What 0.1 + 0.2 may miss 0.3 by: a mark of exactly the threshold passes."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold that the user set."""

    name: str
    limit: float
    is_percent: bool = False
    """Whether the user wrote it in percent; what is said about it then is, too."""

    def format_value(self, value: float, more: int = 0) -> str:
        """Return a value in the unit that the user wrote, with so many more digits than are usual."""
        if self.is_percent:
            return f"{100 * value:.{2 + more}f}".rstrip("0").rstrip(".") + "%"
        return f"{value:.{4 + more}g}"

    def format_miss(self, value: float) -> tuple[str, str]:
        """Return a value that does not reach it and its limit, with as many digits as it takes to tell them apart."""
        pairs = [(self.format_value(value, more), self.format_value(self.limit, more)) for more in range(13)]
        return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])


@dataclass(frozen=True, slots=True)
class GateMark:
    """What a gate may be about. Before the work it has no value yet."""

    label: str
    names: tuple[str, ...]
    """What a gate may call it; several marks may share a name, and a gate of that name is about all of them."""
    value: float | None = None
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"


def parse_gate(text: str) -> Gate:
    """Return the gate of `NAME=X`.

    Raises:
        UsageError: it has another form.
    """
    # From the right: a model's name may hold an equals sign, a number does not.
    name, sign, value = text.rpartition("=")
    is_percent = value.strip().endswith("%")
    try:
        limit = read_number(value.strip().removesuffix("%")) / (100 if is_percent else 1)
    except ValueError:
        limit = math.nan
    if not (sign and name.strip()) or not math.isfinite(limit):
        raise UsageError(f"{text!r} is not a threshold", hint="write NAME=X, such as exam_score=80% or bleu=0.3")
    return Gate(name.strip(), limit, is_percent)


def parse_gates(texts: Iterable[str]) -> list[Gate]:
    """Return several; as `parse_gate`."""
    return [parse_gate(text) for text in texts]


def check_gates(gates: Iterable[Gate], marks: Sequence[GateMark]) -> None:
    """Find out before any work that a gate can hold nothing.

    Raises:
        UsageError: there is nothing of its name, or no mark of that name can lie at its threshold.
    """
    names = list(dict.fromkeys(name for mark in marks for name in mark.names))
    for gate in gates:
        meant = [mark for mark in marks if gate.name in mark.names]
        if not meant:
            raise UsageError(f"no model or metric is called {gate.name!r}", hint=suggest(gate.name, names))
        for mark in meant:
            low, high = mark.range
            if gate.is_percent and not (low >= -1 and high <= 1):
                raise UsageError(
                    f"the threshold {gate.format_value(gate.limit)} of {gate.name!r} means nothing: its values are {low:g} to {high:g}",
                    hint="write it without the percent sign",
                )
            if not low <= gate.limit <= high:
                hint = (
                    f"{gate.limit:g}% or {gate.limit / 100:g}?" if 1 < gate.limit <= 100 else "0.8 and 80% are the same"
                )
                raise UsageError(
                    f"the threshold {gate.format_value(gate.limit)} of {gate.name!r} lies outside {low:g}..{high:g}",
                    hint=hint,
                )


def reaches(value: float | None, limit: float, direction: Direction) -> bool:
    """Whether a mark is as good as a threshold or better; one without a value is not."""
    if value is None:
        return False
    # 0.1 + 0.2 is not 0.3 in binary: a mean of exactly the threshold must pass.
    return value >= limit - _ROUNDING if direction == "higher" else value <= limit + _ROUNDING


def hold_gates(gates: Iterable[Gate], marks: Sequence[GateMark]) -> None:
    """Hold marks against the gates that are about them.

    Raises:
        GateFailed: at least one does not reach its threshold, or has no value; the message has them all.
        UsageError: as `check_gates`.
    """
    gates = list(gates)
    check_gates(gates, marks)
    failed = []
    for gate in gates:
        for mark in marks:
            if gate.name in mark.names and not reaches(mark.value, gate.limit, mark.direction):
                value, limit = (
                    gate.format_miss(mark.value) if mark.value is not None else ("", gate.format_value(gate.limit))
                )
                has = f"is {value}" if value else "has no value"
                word = "least" if mark.direction == "higher" else "most"
                failed.append(f"{mark.label} {has}, and at {word} {limit} is asked for")
    if failed:
        raise GateFailed("; ".join(failed))


def collect_marks(comparison: Comparison, models: Mapping[str, str]) -> list[GateMark]:
    """Return the means of some models of a comparison; all of them go by the metric's name, too, with or without its tier.

    Each also goes by the name that it has in its own run.
    """
    metric, marks = comparison.metric, []
    for standing in comparison.standings:
        if (model := standing.model) in models:
            names = (model, models[model], metric, metric.rpartition(".")[2])
            value = standing.summary.value
            marks.append(GateMark(model, names, value, comparison.range, comparison.direction))
    return marks


def _samples(count: int) -> str:
    return f"{count} sample{'' if count == 1 else 's'}"


def say_not_worse(pair: Pair) -> str:
    """Return in a line that a candidate passed, with how many samples that rests on."""
    lacking = f", {pair.lacking[0]} of the baseline's lack a value here" if pair.lacking[0] else ""
    counted = " and count as the worst" if lacking and pair.n_counted else ""
    return f"{pair.first} against {pair.second}: not shown to be worse; {_samples(pair.n)} compared{lacking}{counted}"


def check_worse(comparison: Comparison, pairs: Sequence[tuple[str, str]]) -> list[Pair]:
    """Hold candidates against their baselines: a candidate fails if the whole interval of the difference is worse.

    It returns the pairs, turned to candidate - baseline.

    Raises:
        GateFailed: at least one candidate is worse than chance can explain.
        DataError: a candidate shares no sample with its baseline, or is worse by a difference that has no interval.
    """
    scale = Scale(comparison.range)
    for candidate, baseline in pairs:
        if {(candidate, baseline), (baseline, candidate)} & set(comparison.unpaired):
            raise DataError(
                f"{candidate!r} cannot be held against {baseline!r}: the two share no sample with a value",
                hint="compare runs of the same benchmark or task",
            )
    # All pairs exist here: what could not be compared has been refused above, for a gate that holds nothing must not
    # pass.
    turned = [comparison.pair(candidate, baseline) for candidate, baseline in pairs]
    failed = []
    for pair in turned:
        difference = pair.difference
        sign = 1 if comparison.direction == "higher" else -1
        if difference.low is None or difference.high is None:
            # Nothing can be shown of a difference without an interval; where it is not on the worse side that is enough.
            if difference.value is not None and sign * difference.value < 0:
                raise DataError(
                    f"{pair.first!r} cannot be held against {pair.second!r}: it is worse by {scale.value(abs(difference.value))} over"
                    f" {_samples(difference.n)}, and whether by chance cannot be said ({difference.note})",
                    hint="compare more samples",
                )
        elif max(sign * difference.low, sign * difference.high) < 0:
            gap = scale.with_interval(difference.value, difference.interval, signed=True)
            failed.append(f"{pair.first} is worse than {pair.second}: {gap} over {_samples(difference.n)}")
    if failed:
        raise GateFailed("; ".join(failed))
    return turned
