"""When a run need not go on: its difference from a baseline is decided, or known well enough.

Theory of operation
-------------------
A p value of a fixed size that is looked at after every sample is sooner or later small by chance. The tests used here
(`stats.sequential`) err in `SIGNIFICANCE` of all runs at most, over all looks together; of several models each gets its share of that.

- `Stopping.order`: the samples in a random order, drawn from the seed before any mark is known. The guarantee needs an order
  that does not depend on the results, so it is written into the journal first, and a resumed run reads it there.
- `until_enough` has the kind of run do `LOOKS` samples at a time and asks `is_enough` in between. The size of a batch costs
  at most a few samples more and does not touch the error, which holds after every sample.
- `decided` tests the signs of the paired differences (`SequentialSigns`, which remembers what it has seen, so that no sample
  is walked through twice); its `decided_at` is a sample of the order, not the end of a batch. `precise:X` stops when the
  interval that holds at all looks, of the difference or of the mean without a baseline, is at most X to each side.
- A sample that was done and has no value for one of the two is counted (`n_missing`) and never a 0.

The report gets these intervals (`describe_stop`). Ordinary intervals of such a run are too optimistic, so whatever compares it
later says that it stopped (`results.sheet.STOPPED_NOTE`).
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

from markbook.errors import DataError, UsageError
from markbook.measurements import SIGNIFICANCE
from markbook.results.alignment import digest, merge_sheets
from markbook.results.compare import check_signatures, counterpart
from markbook.results.kind import Results, open_results
from markbook.results.sheet import Cell, Sheet
from markbook.stats.records import Estimate, EstimateRecord
from markbook.stats.sequential import SequentialSigns, anytime_difference, anytime_mean
from markbook.store import RunWriter, find_runs, open_run
from markbook.text.format import Scale, format_percent

LOOKS = 16
"""So many samples are done between two looks; the decision itself is about every sample in its order."""


@dataclass(frozen=True, slots=True)
class StopRule:
    """What is enough."""

    when: Literal["decided", "precise"]
    half_width: float = 0.0
    """Of the interval that is precise, in the metric's unit."""

    @property
    def text(self) -> str:
        """What the user wrote."""
        return self.when if self.when == "decided" else f"precise:{self.half_width:g}"


def parse_rule(text: str) -> StopRule:
    """Return the rule of `decided` or `precise:0.03`.

    Raises:
        UsageError: it is neither.
    """
    if text == "decided":
        return StopRule("decided")
    name, _, width = text.partition(":")
    try:
        half = float(width)
    except ValueError:
        half = math.nan
    if name != "precise" or not 0 < half < math.inf:
        raise UsageError(
            f"{text!r} says of no moment when to stop", hint="decided, or precise:0.03 for an interval of +-0.03"
        )
    return StopRule("precise", half)


def draw_order(samples: Sequence[str], seed: int) -> list[str]:
    """Return the samples in a random order: the same for a seed, whatever order they came in."""
    order = sorted(samples)
    # A text of its own as the seed: nothing else that is drawn by the same number draws the same.
    random.Random(f"markbook stop {seed}").shuffle(order)  # noqa: S311 - a drawing of lots, no secret
    return order


class StandRecord(TypedDict):
    """Where one model stands."""

    model: str
    baseline: str
    n: int
    """Samples that both have a value for."""
    n_missing: int
    """Samples that were done and that one of the two has no value for."""
    decided_at: int | None
    """After which sample of the order it was enough; None while it is not."""
    better: str | None
    """Which of the two is shown to be better; None where a difference is not decided, or not asked for."""
    difference: EstimateRecord
    """The difference, or the mean without a baseline, with an interval that holds at all looks."""


class StoppedRecord(TypedDict):
    """How a run ended that stops when it has seen enough, as its journal and its files hold it."""

    metric: NotRequired[str]
    """Not in runs of earlier versions."""
    rule: str
    alpha: float
    method: str
    planned: int
    """Samples that the run has without a rule."""
    in_order: int
    done: int
    samples: list[str]
    """Those that were done."""
    models: list[StandRecord]


class Stopping:
    """Holds models' marks against a baseline while they come, in one order of the samples."""

    def __init__(self, rule: StopRule, plan: Sheet, baseline: Sheet | None, *, seed: int = 0) -> None:
        """Pair the samples.

        The marks of the plan are not looked at. Without a baseline the mean is what has to be precise.

        Raises:
            UsageError: the rule needs a baseline, a range with ends, or a model that the baseline does not have.
            DataError: the two have no sample in common.
        """
        self.rule, self.metric, self.models = rule, plan.metric, plan.models
        values = {
            model: {sample: cell.value for sample, cell in cells.items()}
            for model, cells in (baseline.marks.items() if baseline is not None else ())
        }
        self.identity = {"when": rule.text, "baseline": digest(values) if values else None}
        """What run.json holds of it: with another rule or another baseline a run cannot go on."""
        self.range, self.direction, self.policy = plan.range, plan.direction, plan.policy
        if rule.when == "decided" and baseline is None:
            raise UsageError("nothing says against what it is to be decided", hint="name a finished run with --against")
        # The tests bound each difference by the width of the range, which an open range does not have.
        if not math.isfinite(self.width):
            raise UsageError(f"{plan.metric!r} has no worst and best value, so no moment to stop can be told")
        self._held = {model: _held_against(model, plan, baseline) for model in plan.models}
        self.order = draw_order([name for name in plan.samples if self._is_of_use(name)], seed)
        self._signs: dict[str, SequentialSigns] = {}
        """Of each model, with the samples that were seen at earlier looks: none is walked through twice."""
        if not self.order:
            raise DataError("the baseline has no sample in common with this run", hint="name a run of the same samples")

    @property
    def width(self) -> float:
        """Of the metric's range."""
        return self.range[1] - self.range[0]

    def batches(self) -> Iterator[list[str]]:
        """Yield the order, as many samples at a time as are done between two looks."""
        for start in range(0, len(self.order), LOOKS):
            yield self.order[start : start + LOOKS]

    def is_enough(self, done: int, marks: Mapping[str, Mapping[str, Cell]]) -> bool:
        """Return whether it is enough for every model, from marks that only grow from look to look; see `stands`."""
        if self.rule.when == "decided":
            # `stands` would compute an interval at every look, and the decision needs none.
            return all(self._look(model, done, marks[model]).decided_at is not None for model in self._held)
        return all(stand["decided_at"] is not None for stand in self.stands(done, marks))

    def _look(self, model: str, done: int, marks: Mapping[str, Cell]) -> SequentialSigns:
        """Return the test of a model over the first samples of the order, with what is new since the last look added."""
        signs = self._signs.get(model)
        # Anew where an earlier moment is asked about, or the journal's order has taken the place of the drawn one.
        if signs is None or signs.seen > done or signs.planned != len(self.order):
            signs = SequentialSigns(len(self.order), width=self.width, alpha=SIGNIFICANCE / len(self._held))
            self._signs[model] = signs
        # Only what is new since the last look: the test looks after every sample anyway, so the batches do not matter.
        for sample in self.order[signs.seen : done]:
            if signs.add(self._gap(self._held[model], sample, marks)):
                break
        return signs

    def stands(self, done: int, marks: Mapping[str, Mapping[str, Cell]]) -> list[StandRecord]:
        """Return where each model stands when the first samples of the order are done."""
        alpha = SIGNIFICANCE / len(self._held)  # several models are several chances to err
        return [self._stand(model, done, marks[model], alpha) for model in self._held]

    def _is_of_use(self, sample: str) -> bool:
        """Whether any model has a counterpart there; without a baseline every sample is."""
        return any(baseline_cells is None or sample in baseline_cells[1] for baseline_cells in self._held.values())

    def _stand(self, model: str, done: int, marks: Mapping[str, Cell], alpha: float) -> StandRecord:
        baseline = self._held[model]
        gaps = [self._gap(baseline, sample, marks) for sample in self.order[:done]]
        gaps_known = [gap for gap in gaps if gap is not None]
        better = None
        if baseline is None:
            estimate = anytime_mean(gaps_known, limits=self.range, confidence=1 - alpha)
        else:
            estimate = anytime_difference(gaps_known, width=self.width, confidence=1 - alpha)
        # Precision is checked between batches only, so it is reached at a look, unlike a decision.
        decided_at = done if self._is_precise(estimate) else None
        if baseline is not None and self.rule.when == "decided":
            signs = self._look(model, done, marks)
            decided_at = signs.decided_at
            if decided_at is not None:
                better = model if (signs.sum > 0) == (self.direction == "higher") else baseline[0]
        return {
            "model": model,
            "baseline": "" if baseline is None else baseline[0],
            "n": estimate.n,
            "n_missing": len(gaps) - len(gaps_known),
            "decided_at": decided_at,
            "better": better,
            "difference": estimate.to_record(),
        }

    def _gap(self, baseline: _Held | None, sample: str, marks: Mapping[str, Cell]) -> float | None:
        cell = marks.get(sample)
        value = None if cell is None else cell.value
        if baseline is None or value is None:
            return value
        before = baseline[1].get(sample)
        return None if before is None else value - before

    def _is_precise(self, estimate: Estimate) -> bool:
        if estimate.low is None or estimate.high is None:
            return False
        return (estimate.high - estimate.low) / 2 <= self.rule.half_width

    def record(self, done: int, planned: int, stands: Sequence[StandRecord]) -> StoppedRecord:
        """Return what the journal keeps of the end.

        Without a rule the run would have had `planned` samples.
        """
        return {
            "metric": self.metric,
            "rule": self.rule.text,
            "alpha": SIGNIFICANCE,
            "method": "sequential-signs" if self.rule.when == "decided" else "betting",
            "planned": planned,
            "in_order": len(self.order),
            "done": done,
            "samples": self.order[:done],
            "models": list(stands),
        }


_Held = tuple[str, Mapping[str, float]]
"""What a model is held against: its name, and its values by this run's names of the samples."""


def _held_against(model: str, plan: Sheet, baseline: Sheet | None) -> _Held | None:
    if baseline is None:
        return None
    name = counterpart(model, baseline.models)
    check_signatures([("this run", plan), ("the baseline", baseline)], is_planned=True)
    # The baseline may know the samples by other names: they are paired as `compare` will pair them.
    together = merge_sheets([("run", _only(plan, model)), ("baseline", _only(baseline, name))])
    ours, theirs = together.marks.values()
    # Names of the whole are given in the plan's own order.
    own = dict(zip(ours, plan.marks[model], strict=True))
    values = {own[sample]: cell.value for sample, cell in theirs.items() if sample in own and cell.value is not None}
    return (f"{name} (baseline)" if name in plan.models else name), values


def _only(sheet: Sheet, model: str) -> Sheet:
    """Return the sheet of one model, whatever its metric is called."""
    return Sheet(
        # `merge_sheets` refuses two metrics or directions; that the two are alike was checked by signature, where
        # they have one.
        "", {model: sheet.marks[model]}, sheet.range, "higher",
        digests=sheet.digests, by_place=sheet.by_place, loose=sheet.loose,
    )  # fmt: skip


def describe_stop(record: StoppedRecord, limits: object = (0.0, 1.0)) -> list[str]:
    """Return what a report says of how a run ended by a metric of this range, a sentence a model and one of what was saved."""
    scale = Scale(limits)
    rule, done, planned = record["rule"], record["done"], record["planned"]
    if done == planned:
        sentences = [f"The rule `{rule}` took all {planned} samples: nothing was saved."]
    elif any(stand["decided_at"] is None for stand in record["models"]):
        # The order ended before the rule could: samples that only this run has say nothing of a difference.
        left_out = f"the other {planned - done} of {planned} were left out"
        sentences = [f"The rule `{rule}` took all {done} samples that the baseline has: nothing was saved; {left_out}."]
    else:
        saved = f"{format_percent(1 - done / planned, 0)} were not needed"
        sentences = [f"Stopped by `{rule}` after {done} of {planned} samples in a drawn order: {saved}."]
    for stand in record["models"]:
        difference = stand["difference"]
        interval = difference["interval"]
        ends = "" if interval is None else f" {scale.interval(interval, signed=True)}"
        value = "no value" if difference["value"] is None else scale.gap(difference["value"])
        lost = f", {stand['n_missing']} without a value" if stand["n_missing"] else ""
        against = f" against {stand['baseline']}" if stand["baseline"] else ""
        if stand["decided_at"] is None:
            what = "not decided" if rule == "decided" else "not as precise as that"
        elif rule == "decided":
            what = f"{stand['better']} is better, decided at sample {stand['decided_at']}"
        else:
            what = f"precise enough at sample {stand['decided_at']}"
        sentences.append(f"{stand['model']}{against}: {what}; {value}{ends}, {stand['n']} samples{lost}.")
    sentences.append(
        f"These intervals hold at all looks together, and so does the error of {100 * record['alpha']:g} % of the "
        f"decision ({record['method']}); p values and intervals elsewhere are those of a size fixed beforehand."
    )
    return sentences


# Runs that stop when they have seen enough: what the kinds of run that can do so share.

ORDER = "order"
"""The kind of journal row that holds the drawn order of the samples."""

Marks = Mapping[str, Mapping[str, Cell]]
"""By model and sample."""


def open_against(against: str | os.PathLike[str] | None, when: str) -> Results | None:
    """Return the run that `--against` names: of any kind, or another tool's.

    Raises:
        UsageError: there is one and nothing says when to stop.
        DataError: it is not a run, not finished, or several.
    """
    if against is None:
        return None
    if not when:
        raise UsageError("--against says nothing without a moment to stop", hint="--stop-when decided, or precise:0.03")
    paths = find_runs(against)
    if len(paths) > 1:
        raise DataError(f"{len(paths)} runs lie here, and one is the baseline", at=os.fspath(against), hint="name it")
    return open_results(open_run(paths[0]))


def until_enough(
    stopping: Stopping, journal: RunWriter, planned: int, step: Callable[[Sequence[str]], Marks]
) -> StoppedRecord:
    """Do batches of samples in the drawn order until every model's difference is known well enough.

    The journal keeps the order, so that a resumed run has the same. `step` does the samples of a batch, or finds them
    done, and returns the marks of all that were done so far; `planned` is how many there would be without a rule.

    Returns:
        What is to be said of the end (`results.stopping.describe_stop`).
    """
    order_row = next(iter(journal.rows(ORDER)), None)
    if order_row is not None:
        stopping.order = list(order_row.data["samples"])
    # On disk before the first sample is done: an order that could be drawn anew after marks are known would guarantee
    # nothing.
    journal.add(ORDER, (0,), {"samples": stopping.order})
    journal.commit()
    done, marks = 0, dict[str, Mapping[str, Cell]]()
    for batch in stopping.batches():
        marks = dict(step(batch))
        done += len(batch)
        if stopping.is_enough(done, marks):
            break
    return stopping.record(done, planned, stopping.stands(done, marks))
