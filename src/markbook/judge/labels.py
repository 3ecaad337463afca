"""People's labels: one a line of a JSON Lines file, which is only ever added to, so that files merge by being read together."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NotRequired, TypedDict

from markbook.codec import JsonRecord
from markbook.errors import DataError
from markbook.files.content import check_readable
from markbook.files.jsonl import Line, Rejection, read_jsonl
from markbook.row_keys import find_model
from markbook.stats import krippendorff_alpha
from markbook.stats.records import Estimate

# Which items people should label: drawn at random, the more useful ones more often, each with a known probability.
#
# Every item has a number of its own, drawn once from the seed and its name, and those with the smallest quotient of number
# and weight are taken (Ohlsson 1998, sequential Poisson sampling). With the next quotient as the threshold, an item's
# probability is weight times threshold, at most 1, and sums weighed by 1 / probability are unbiased (Duffield, Lund, Thorup
# 2007, priority sampling). A larger draw of the same seed holds the smaller one, so labelling can go on.
#
# How useful a label is follows from the judge's own doubt: a score s in 0..1 is taken for a chance, with the deviation
# sqrt(s (1 - s)); Zrnic, Candes 2024, arXiv 2403.03208.

SHARE = 0.5
"""Of the weight that goes to usefulness; the rest is the same for all, so that no item's chance falls below half of it."""


@dataclass(frozen=True, slots=True)
class LabelItem:
    """Something that can be labelled."""

    id: str
    system: str = ""
    against: str = ""
    score: float | None = None
    """The judge's, on 0..1; in a comparison above .5 where `system` is the better one. None: nothing is known."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what names it."""
        return (self.id, self.system, self.against)


@dataclass(frozen=True, slots=True)
class Drawn:
    """An item that is to be labelled."""

    item: LabelItem
    probability: float


def draw(items: Sequence[LabelItem], count: int, *, seed: int = 0, share: float = SHARE) -> list[Drawn]:
    """Return `count` of the items, the one to be labelled first in front; all of them where there are no more.

    Args:
        items: among which to draw.
        count: how many.
        seed: another one draws others.
        share: how much usefulness counts beside chance: 0 (all alike) to less than 1.
    """
    useful = []
    for item in items:
        score = 0.5 if item.score is None else min(1.0, max(0.0, item.score))
        # The standard deviation of a yes-or-no label that is yes with the judge's score as its probability.
        useful.append(math.sqrt(score * (1.0 - score)))
    mean = math.fsum(useful) / len(useful) if useful else 0.0
    # A judge without any doubt says nothing of which label is more useful than another.
    weights = [1.0 - share + share * use / mean if mean else 1.0 for use in useful]
    # By name and not by place: an item keeps its number when others join, so a larger draw holds the smaller one.
    places = [chance(seed, *item.key) / weight for item, weight in zip(items, weights, strict=True)]
    order = sorted(range(len(items)), key=places.__getitem__)
    # The first item that is not drawn sets the threshold: with it every drawn item's probability is known.
    threshold = places[order[count]] if count < len(order) else math.inf
    return [Drawn(items[at], min(1.0, weights[at] * threshold)) for at in order[:count]]


def chance(seed: int, *names: str) -> float:
    """Return a number above 0 and at most 1 that is always the same for a seed and names, and looks like chance."""
    # A separator that no name keeps: ("a", "bc") and ("ab", "c") must be other draws.
    text = "\x1f".join((str(seed), *(name.replace("\x1f", " ") for name in names)))
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return (int.from_bytes(digest) + 1) / 2**64


def draw_name(drawn: Sequence[Drawn]) -> str:
    """Return what tells this draw from others: whom it holds, and with what probabilities."""
    parts = sorted(f"{drawn_item.item.key}{drawn_item.probability:.9g}" for drawn_item in drawn)
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=6).hexdigest()


Key = tuple[str, str, str]
"""Item, system, and in a comparison the other system."""


class LabelRecord(TypedDict):
    """A label as a line of a file holds it."""

    id: str
    label: float | None
    system: NotRequired[str]
    against: NotRequired[str]
    rater: NotRequired[str]
    marks: NotRequired[Mapping[str, int]]
    reason: NotRequired[str]
    probability: NotRequired[float]
    draw: NotRequired[str]
    rubric: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Label(JsonRecord[LabelRecord]):
    """What one rater says of one item."""

    id: str
    label: float | None
    """None: nobody can say. In a comparison 1 where `system` is the better one, .5 a tie, 0 where `against` is."""
    system: str = ""
    against: str = ""
    rater: str = ""
    probability: float | None = None
    """With which the item was drawn for labelling."""
    marks: Mapping[str, int] = field(default_factory=dict)
    """By criterion, on the scale that the rater saw."""
    draw: str = ""
    """Of which draw it is: probabilities of several do not go together."""
    reason: str = ""
    """Why it failed, where that was asked; the label is then 1 for what did not fail."""
    rubric: str = ""
    """By which rubric: its name and digest; empty where the file does not say."""
    at: str = ""

    @property
    def key(self) -> Key:
        """Return what is labelled."""
        return (self.id, self.system, self.against)

    def align(self) -> Label:
        """Return a comparison with its two systems in alphabetical order: A against B says what B against A says."""
        if not self.against or self.system <= self.against:
            return self
        turned = None if self.label is None else 1 - self.label
        return replace(self, system=self.against, against=self.system, label=turned)


@dataclass(slots=True)
class Labels:
    """What files of labels hold between them."""

    labels: list[Label] = field(default_factory=list)
    """The last word of each rater on each item; of those without a name every word."""
    problems: list[str] = field(default_factory=list)


def read_labels(paths: Sequence[Path]) -> Labels:
    """Return the labels of files, or of all `.jsonl` files in a folder.

    What a rater says later in a file replaces what was said before; two files that contradict each other have no order.

    Raises:
        DataError: a file cannot be read, a folder holds none, a label or probability is none, or one rater says of one item
            two things in two files.
    """
    labels = Labels()
    # What each rater says last of each item, file by file
    words: dict[tuple[Key, str], dict[str, Label]] = {}
    replaced = 0
    for line in _lines(paths, labels.problems):
        label = read_label(line)
        if not label.rater:
            labels.labels.append(label)
            continue
        # A comparison is the same one in either order of its systems, so a rater's second word on it is found.
        by_file = words.setdefault((label.align().key, label.rater), {})
        file = label.at.rpartition(":")[0]
        replaced += file in by_file and by_file[file].align().label != label.align().label
        by_file[file] = label
    for (_, rater), by_file in words.items():
        first, *others = by_file.values()
        labels.labels.append(first)
        if other := next((other for other in others if other.align().label != first.align().label), None):
            raise DataError(
                f"the rater {rater!r} says something else of item {other.id!r} at {first.at}",
                at=other.at,
                hint="give one of the two files, or the raters two names",
            )
    if replaced:
        labels.problems.append(f"{replaced} labels are replaced by a later line of the same rater")
    return labels


def _lines(paths: Sequence[Path], problems: list[str]) -> Iterator[Line]:
    for path in paths:
        check_readable(path)
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise DataError("this folder has no .jsonl file with labels", at=str(path))
        for file in files:
            for line in read_jsonl(file):
                if isinstance(line, Rejection):
                    problems.append(f"{line.at}: {line.reason}: row skipped")
                elif not is_id(line.record.get("id")):
                    problems.append(f"{line.at}: no key 'id': row skipped")
                elif "label" not in line.record:
                    problems.append(f"{line.at}: no key 'label': row skipped")
                else:
                    yield line


_PREFERENCE = "1 where `system` is the better one, .5 for a tie, 0 where `against` is"


def is_id(value: object) -> bool:
    """Whether this can name an item."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def read_label(line: Line) -> Label:
    """Return the label of a line.

    Raises:
        DataError: its label is neither a number nor null, or a comparison's outside 0 to 1; or its probability is none.
    """
    record = line.record
    name, system = read_item(record)
    if isinstance(value := label_value(record), str):
        raise DataError(value, at=line.at)
    if record.get("against") and value is not None and not 0 <= value <= 1:
        raise DataError(
            f"a label that compares two answers is {value:g}: it must be 0 to 1", at=line.at, hint=_PREFERENCE
        )
    probability = number(stated := record.get("probability"))
    # A wrong probability would be a wrong weight in the corrected mean, so it is refused and not left out.
    if stated is not None and not 0 < (probability or 0.0) <= 1:
        raise DataError(f"a probability is {stated!r:.40}: it must lie above 0 and be at most 1", at=line.at)
    marks = record.get("marks")
    marks_by_name = marks if isinstance(marks, Mapping) else {}
    words = {key: str(record.get(key) or "") for key in ("against", "rater", "draw", "reason", "rubric")}
    own_marks = {str(key): mark for key, mark in marks_by_name.items() if isinstance(mark, int)}
    return Label(name, value, system, probability=probability, marks=own_marks, at=line.at, **words)


def label_value(record: Mapping[str, object]) -> float | str | None:
    """Return what a record's label says, None where nobody can say, or in words why it is not a label."""
    label = record.get("label")
    if label is None:
        return None
    if not isinstance(label, bool) and (value := number(label)) is not None:
        return value
    return f"a label is {label!r:.40}: it must be a number, or null where nobody can say"


def read_item(record: Mapping[str, object]) -> tuple[str, str]:
    """Return which item and system a row is about; one of several answers has its number behind the item's name."""
    system = record.get("system")
    index = record.get("index", 0)
    name = str(record["id"])
    return (name if index in (0, None) else f"{name}#{index}", str(find_model(record) if system is None else system))


_HUGE = 1e300


def number(value: object) -> float | None:
    """Return a value as a finite number; None if it is none, or an integer too large to be one.

    >>> number(True), number("1"), number(0.5), number(10**400)
    (1.0, None, 0.5, None)
    """
    return float(value) if isinstance(value, int | float) and abs(value) < _HUGE else None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far raters say the same of the same items."""

    alpha: Estimate
    """Krippendorff's, over the labels as numbers."""
    same: int
    """Items on which all who labelled them agree."""
    shared: int
    """Items that two raters or more have labelled."""


def agreement(labels: Iterable[Label]) -> Agreement:
    """Return how far raters agree; an item that somebody cannot say anything about counts for the others."""
    aligned = [label.align() for label in labels if label.label is not None]
    has_reasons = any(label.reason for label in aligned)
    # Beside reasons a label without one is an answer of its own: what did not fail is not a reason, nor is .2 the same as .9.
    answers = sorted({_answer(label) for label in aligned})
    by_item: dict[Key, dict[str, float]] = {}
    for label in aligned:
        value = float(answers.index(_answer(label))) if has_reasons else float(label.label or 0.0)
        by_item.setdefault(label.key, {})[label.rater] = value
    shared = [by_rater for by_rater in by_item.values() if len(by_rater) > 1]
    raters = sorted({rater for by_rater in shared for rater in by_rater})
    # Reasons have no order and no distances; labels as numbers have both.
    alpha = krippendorff_alpha(
        [[by_rater.get(rater) for by_rater in shared] for rater in raters], "nominal" if has_reasons else "interval"
    )
    return Agreement(alpha, sum(len(set(by_rater.values())) == 1 for by_rater in shared), len(shared))


def _answer(label: Label) -> tuple[str, float]:
    """Return what a rater says as a category: a reason, or the label where there is none."""
    return (label.reason, 0.0 if label.reason else float(label.label or 0.0))
