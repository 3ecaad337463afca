"""A session of labelling: which answers are shown in which order, what was said of them, and the book that keeps it."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from markbook.errors import DataError, OutputError, StorageError, UsageError, os_errors_as
from markbook.files.jsonl import Rejection, read_jsonl
from markbook.judge.labels import (
    SHARE,
    Agreement,
    Drawn,
    Key,
    Label,
    LabelItem,
    agreement,
    chance,
    draw,
    draw_name,
    is_id,
    read_label,
    read_labels,
)
from markbook.judge.rubrics import Criterion, Rubric
from markbook.report.item import ShownStep, describe_steps
from markbook.results.judged import JudgedAnswers, JudgedRun, read_judged
from markbook.store.disk import Disk
from markbook.trace import Trace
from markbook.traces import read_traces
from markbook.why import Why

# One rater's file of labels: only ever added to, each label on the disk before it is said to be saved.

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_OPENINGS = (b'{"draw": "', b'{"against": "')
"""How every line begins that this writes: keys are sorted, and of a pair the other system comes first."""


def check_rater(name: str) -> None:
    """Refuse a rater's name that is not a file's.

    Raises:
        UsageError: it is none.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r:.60} is not a rater's name", hint="letters, digits, dots and dashes, 40 at most")


class LabelBook:
    """What a rater has said, by item, and the file where it stands."""

    def __init__(self, folder: Path, rater: str, disk: Disk | None = None) -> None:
        """Open the rater's file in a folder, or make it; a last line that was not written whole is taken off.

        Raises:
            UsageError: a name that is not a file's.
            DataError: the file holds something else than this rater's labels.
            StorageError: it cannot be written.
        """
        check_rater(rater)
        self.rater = rater
        self.path = folder / f"{rater}.jsonl"
        self.labels: dict[Key, Label] = {}
        self.disk = disk or Disk()
        with os_errors_as(StorageError, "the labels cannot be written", self.path):
            self._open()

    def _open(self) -> None:
        if not self.disk.exists(self.path):
            self.disk.close(self.disk.create(self.path))
            self.disk.sync_folder(self.path.parent)
            self._size = 0
            return
        # A kill can tear only the line that was being written. A torn line is taken off if it begins as ours do; anything
        # else at the end is somebody's file that happens to have a rater's name, and is left alone.
        data = b"".join(self.disk.chunks(self.path))
        complete = data[: data.rfind(b"\n") + 1]
        torn = data[len(complete) :]
        if not any(torn.startswith(opening[: len(torn)]) for opening in _OPENINGS):
            raise DataError("this is not a file of labels: its last line is not one of ours", at=str(self.path))
        self._read(is_torn=bool(torn))
        self._size = len(complete)
        if len(complete) < len(data):
            self.disk.truncate(self.path, len(complete))

    def _read(self, *, is_torn: bool) -> None:
        lines = list(read_jsonl(self.path))
        if is_torn:
            lines = lines[:-1]
        for line in lines:
            if isinstance(line, Rejection):
                raise DataError(f"this is not a file of labels: {line.reason}", at=line.at)
            if not is_id(line.record.get("id")) or line.record.get("rater") != self.rater:
                raise DataError(
                    f"this is not a file of labels by {self.rater}", at=line.at, hint="name another --labels"
                )
            label = read_label(line)
            self.labels.pop(label.key, None)  # the one labelled last stands last
            self.labels[label.key] = label

    def put(self, label: Label) -> None:
        """Write a label down; returning means that it is on the disk.

        Raises:
            StorageError: it is not, and the file is as it was before.
        """
        # The keys are sorted, because `_open` tells a torn line of ours by how lines begin.
        line = json.dumps(label.to_record(), ensure_ascii=False, allow_nan=False, sort_keys=True).encode() + b"\n"
        with os_errors_as(StorageError, "the label is not saved", self.path):
            file = self.disk.append(self.path)
            try:
                self.disk.write(file, line)
                self.disk.sync(file)
            except OSError:
                # Half a line must not stay: the next label would be glued to it, and both lost.
                self.disk.truncate(self.path, self._size)
                raise
            finally:
                self.disk.close(file)
        self._size += len(line)
        self.labels.pop(label.key, None)  # the one labelled last stands last
        self.labels[label.key] = label

    def join(self, drawn: Iterable[Drawn], draw: str, rubric: str) -> None:
        """Take up a draw: what is labelled already gets the probabilities of this one.

        Raises:
            UsageError: labelled items are not among those drawn, or were labelled by another rubric.
        """
        other = next((label.rubric for label in self.labels.values() if label.rubric not in ("", rubric)), None)
        if other is not None:
            raise UsageError(
                f"{self.rater} has labelled by another rubric or scale: {other:.80}, and {rubric:.80} is asked for",
                at=str(self.path),
                hint="name another --labels, or the rubric that was used",
            )
        chances = {drawn_item.item.key: drawn_item.probability for drawn_item in drawn}
        # An item outside the draw has no probability in it, so the correction could not weigh its label.
        strangers = [key for key in self.labels if key not in chances]
        if strangers:
            raise UsageError(
                f"{len(strangers)} items that {self.rater} has labelled are not in this draw; the first is {strangers[0][0]!r:.60}",
                at=str(self.path),
                hint="keep --seed, --score and --pair, and let --count only grow; or name another --labels",
            )
        for key, label in list(self.labels.items()):
            if label.draw != draw:
                # Written once more at the end and not changed in place: the file is only ever added to, and the last
                # word counts.
                self.put(replace(label, probability=chances[key], draw=draw))


# What is asked of a failure: which of some reasons it had.

NOT_FAILED = "it did not fail"
REASONS = (
    "a wrong tool",
    "wrong arguments",
    "a tool or its surroundings failed",
    "misread the task or its rules",
    "went in circles",
    "stopped too early",
    "a wrong or made-up answer",
    "agents misunderstood one another",
    "something else",
)
_RUBRIC_NAME = "reason"
_LONGEST = 80
"""Signs of a reason that are shown and kept."""


class ReasonRubric(Rubric):
    """One question with a key for each answer; the score is 1 for what did not fail, else 0."""

    __slots__ = ()

    def overall(self, marks: Mapping[str, float], *, profile: str = "corrected") -> float:
        """Return 1 for what did not fail, 0 for what did."""
        return float(marks[_RUBRIC_NAME] == 0)

    def reason(self, marks: Mapping[str, int]) -> str:
        """Return the reason in words; empty where nobody can say."""
        return dict(self.criteria[0].anchors)[marks[_RUBRIC_NAME]] if _RUBRIC_NAME in marks else ""


def reason_rubric(reasons: Sequence[str] = ()) -> ReasonRubric:
    """Return what asks for one of these reasons, or of the usual ones.

    Raises:
        UsageError: more reasons than there are keys, one twice, or an empty one.
    """
    words = [reason.strip()[:_LONGEST] for reason in reasons] or list(REASONS)
    # A reason that is worded like the answer "it did not fail" would give that two keys.
    if len(words) > len(REASONS) or not all(words) or len({NOT_FAILED, *words}) <= len(words):
        raise UsageError(f"give at most {len(REASONS)} reasons, each once and none empty")
    anchors = tuple(enumerate((NOT_FAILED, *words)))
    criterion = Criterion(_RUBRIC_NAME, "Why did it fail?", anchors=anchors)
    return ReasonRubric(
        "reasons", "Say why it failed, as far as you can see.", (criterion,), ("answer",), scale=(0, len(words))
    )


# What is labelled in one sitting, by whom, in which order; nobody sees a model's name or a judge's score.

MOST_MARKS = 10
STEP = 10
"""Agreement is told anew after so many more shared items: told after each, it would betray what the other said."""
Winner = Literal["first", "second", "tie"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a rater sees of an item."""

    prompt: str
    answers: tuple[str, ...]
    """One, or two in the order in which this rater sees them."""
    steps: Sequence[ShownStep] = ()
    why: Why | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What a rater says of an item; neither marks nor a winner: nobody can say."""

    marks: Mapping[str, int] = field(default_factory=dict)
    winner: Winner | None = None


class Session:
    """Items, raters and their labels; several threads may ask."""

    def __init__(
        self,
        rubric: Rubric,
        drawn: Sequence[Drawn],
        books: Sequence[LabelBook],
        texts: Callable[[LabelItem], Seen],
        *,
        seed: int = 0,
        others: Sequence[Label] = (),
    ) -> None:
        """Set up, taking the draw up in each rater's book.

        `texts` returns what there is to see of an item, its first system's answer in front; `others` are labels by
        people who are not here, for the agreement.

        Raises:
            UsageError: a scale of more marks than there are keys, or labels of another draw or rubric.
        """
        for low, high in () if rubric.is_pairwise else map(rubric.scale_for, rubric.criteria):
            if high - low >= MOST_MARKS:
                raise UsageError(f"a scale from {low} to {high} has more marks than there are keys")
        self.rubric, self.draw = rubric, draw_name(drawn)
        self._rubric_name = f"{rubric.name}-{rubric.digest}"
        self.books = {book.rater: book for book in books}
        self._texts, self._seed, self._others = texts, seed, others
        self._lock = threading.Lock()
        self._told: tuple[int, Agreement] | None = None
        self._orders: dict[str, list[Drawn]] = {}
        for book in books:
            book.join(drawn, self.draw, self._rubric_name)
            # Each rater has an order of his own, so that tiredness does not fall on the same items for all.
            self._orders[book.rater] = sorted(
                drawn, key=lambda drawn_item: chance(seed, "order", book.rater, *drawn_item.item.key)
            )
        self._places = {
            rater: {self.token(drawn_item.item): index for index, drawn_item in enumerate(order)}
            for rater, order in self._orders.items()
        }

    def token(self, item: LabelItem) -> str:
        """Return a name for an item that says nothing about it."""
        return hashlib.blake2b(
            "\x1f".join((self.draw, *item.key)).encode("utf-8", "replace"), digest_size=8
        ).hexdigest()

    def order(self, rater: str) -> Sequence[Drawn]:
        """Return the items in a rater's own order."""
        return self._orders[rater]

    def next_place(self, rater: str) -> int | None:
        """Return the place of the first item that a rater has not labelled; None at the end."""
        labels = self.books[rater].labels
        return next(
            (at for at, drawn_item in enumerate(self._orders[rater]) if drawn_item.item.key not in labels), None
        )

    def find_place(self, rater: str, name: str) -> int | None:
        """Return the first place of what has a name; None if nothing here has it."""
        return next((at for at, drawn_item in enumerate(self._orders[rater]) if drawn_item.item.id == name), None)

    def last_place(self, rater: str) -> int | None:
        """Return the place of the item that a rater has labelled last."""
        labels = self.books[rater].labels
        last = next(reversed(labels), None)
        if last is None:
            return None
        return next(at for at, drawn_item in enumerate(self._orders[rater]) if drawn_item.item.key == last)

    def show_item(self, rater: str, index: int) -> Seen:
        """Return what a rater sees of the item at a place of his order."""
        item = self._orders[rater][index].item
        item_shown = self._texts(item)
        return replace(item_shown, answers=item_shown.answers[::-1]) if self._is_turned(rater, item) else item_shown

    def get_label(self, rater: str, index: int) -> Label | None:
        """Return what a rater has said of the item at a place."""
        return self.books[rater].labels.get(self._orders[rater][index].item.key)

    def take(self, rater: str, token: str, statement: Said) -> None:
        """Write down what a rater says.

        Raises:
            KeyError: no item has this token.
            StorageError: it is not saved.
        """
        drawn_item = self._orders[rater][self._places[rater][token]]
        item, book = drawn_item.item, self.books[rater]
        # Requests come in threads of their own, and a rater's book is one file.
        with self._lock:
            book.put(
                Label(
                    item.id,
                    self._value(rater, item, statement),
                    item.system,
                    item.against,
                    rater,
                    drawn_item.probability,
                    dict(statement.marks),
                    self.draw,
                    reason=self.rubric.reason(statement.marks) if isinstance(self.rubric, ReasonRubric) else "",
                    rubric=self._rubric_name,
                )
            )

    def agreement(self) -> Agreement | None:
        """Return how far the raters agree, told anew every ten shared items; None before the first ten."""
        with self._lock:
            labels = [label for book in self.books.values() for label in book.labels.values()]
            labels += self._others
            raters: dict[Key, set[str]] = {}
            for label in labels:
                if label.label is not None:
                    raters.setdefault(label.align().key, set()).add(label.rater)
            # Pairs are the same in either order, so labels are counted with both sides in one order.
            shared = sum(len(names) > 1 for names in raters.values()) // STEP
            if shared and (self._told is None or self._told[0] != shared):
                self._told = (shared, agreement(labels))
            return self._told[1] if shared and self._told else None

    def _is_turned(self, rater: str, item: LabelItem) -> bool:
        # By rater and item, so that neither system always stands first.
        return bool(item.against) and chance(self._seed, "side", rater, *item.key) > 0.5

    def _value(self, rater: str, item: LabelItem, statement: Said) -> float | None:
        if statement.winner is not None:
            first = 0.0 if self._is_turned(rater, item) else 1.0
            return {"first": first, "second": 1.0 - first, "tie": 0.5}[statement.winner]
        return self.rubric.overall(statement.marks) if statement.marks else None


# Traces that failed, to be labelled by why.


def draw_traces(path: str, count: int, seed: int) -> tuple[list[Drawn], Callable[[LabelItem], Seen]]:
    """Return which traces of a file are labelled, all with one chance, and what there is to see of each.

    Those that the log says succeeded are left out.

    Raises:
        DataError: the file holds no trace, or each of them succeeded.
    """
    items = [LabelItem(name) for name, trace in _name_traces(path) if trace.success is not True]
    if not items:
        raise DataError("every trace here succeeded: none is to be labelled", at=path)
    drawn = draw(items, count, seed=seed, share=0.0)
    ids = {drawn_item.item.id for drawn_item in drawn}
    # The file is read a second time, so that only the traces that are drawn are held in memory.
    shown_traces = {
        name: Seen(f"Task: {trace.task}" if trace.task else "", (), steps=describe_steps(trace))
        for name, trace in _name_traces(path)
        if name in ids
    }
    return drawn, lambda item: shown_traces[item.id]


def _name_traces(path: str) -> Iterator[tuple[str, Trace]]:
    """Yield the traces with a name each: their own where that is the first of its kind."""
    names_used: set[str] = set()
    for number, trace in enumerate(read_traces(Path(path)), start=1):
        name = trace.id or f"run #{number}"
        while name in names_used:  # one may be called as another is numbered
            name = f"{name} #{number}"
        names_used.add(name)
        yield name, trace


# From a run to a sitting: which answers, what there is to see of them, and the raters' files.

_NO_TEXT = "the run keeps no text of its answers, so there is nothing to show"


@dataclass(frozen=True, slots=True)
class SittingOptions:
    """What is labelled, by whom."""

    run: str
    raters: tuple[str, ...]
    rubric: Rubric
    pair: tuple[str, str] | None = None
    """Two models whose answers are compared; None: each answer for itself."""
    count: int = 100
    score: str | None = None
    alike: bool = False
    labels: Path | None = None
    seed: int = 0
    reasons: bool = False
    """Why attempts of a run, or traces of a file, failed."""


@contextmanager
def open_sitting(options: SittingOptions) -> Iterator[tuple[Session, list[str]]]:
    """Yield the sitting and what there is to say beforehand; its folder of labels is nobody else's meanwhile.

    Raises:
        DataError: the run has no answer to show, or the folder holds something else than labels.
        UsageError: a model that the run does not have, a rater twice, or labels of another draw.
        RunInUseError: somebody labels into this folder.
    """
    if len(set(options.raters)) < len(options.raters):
        raise UsageError("a rater is named twice")
    for rater in options.raters:
        # A rater's name becomes a file's name.
        check_rater(rater)
    if options.reasons and Path(options.run).is_file():
        drawn, texts = draw_traces(options.run, options.count, options.seed)
        path, notes = Path(options.run), list[str]()
    else:
        judged = read_judged(options.run, options.score, fails=options.reasons)
        drawn, texts, notes = _draw_items(judged, options)
        path = judged.path
    usual = path / "labels" if path.is_dir() else path.with_name(path.name + ".labels")
    with _books(options.labels or usual, options.raters) as (books, others):
        yield Session(options.rubric, drawn, books, texts, seed=options.seed, others=others), notes


def _draw_items(judged: JudgedRun, options: SittingOptions) -> tuple[list[Drawn], _Texts, list[str]]:
    """Return what of a run is labelled, and what there is to say of that."""
    items, answers = _pairs(judged, options) if options.pair else _single(judged)
    notes = []
    if judged.n_empty:
        notes.append(
            f"{judged.n_empty} samples have no answer to show and are not drawn: `judge correct` lets their scores "
            "stand as they are"
        )
    scored_items = [] if options.reasons else [item for item in items if item.score is not None]
    if scored_items:
        if len(scored_items) < len(items):
            notes.append(
                f"{len(items) - len(scored_items)} of {len(items)} items have no {judged.sheet.metric}: left out"
            )
        items = scored_items
    # Reasons of failures are counted, not averaged: a draw by the judge's doubt would favour the kinds it is unsure of.
    is_alike = options.alike or options.reasons
    drawn = draw(items, options.count, seed=options.seed, share=0.0 if is_alike else SHARE)
    texts = _Texts(judged, answers, options.seed, tells_why=options.reasons)
    if not any(texts(drawn_item.item).answers[0].strip() for drawn_item in drawn[:20]):
        raise DataError(_NO_TEXT, at=options.run, hint="for a run of reviews its --reviews file must be where it was")
    return drawn, texts, notes


@contextmanager
def _books(folder: Path, raters: tuple[str, ...]) -> Iterator[tuple[list[LabelBook], list[Label]]]:
    """Yield the raters' files and what others have said; the folder is nobody else's meanwhile."""
    disk = Disk()
    with os_errors_as(OutputError, "the labels' folder cannot be made", folder):
        disk.make_parents(folder)
    # Taken before a book is read, so that two sittings never add to one file.
    lock = disk.lock(folder)
    try:
        of_others = [path for path in sorted(folder.glob("*.jsonl")) if path.stem not in raters]
        yield [LabelBook(folder, rater, disk) for rater in raters], read_labels(of_others).labels
    finally:
        lock.release()


def _single(judged: JudgedRun) -> tuple[list[LabelItem], dict[tuple[str, str], JudgedAnswers]]:
    items = [LabelItem(answer.sample, answer.model, score=judged.on_unit(answer.score)) for answer in judged.answers]
    return items, {(answer.sample, answer.model): answer for answer in judged.answers}


def _pairs(judged: JudgedRun, options: SittingOptions) -> tuple[list[LabelItem], dict[tuple[str, str], JudgedAnswers]]:
    _, answers = _single(judged)
    models = list(dict.fromkeys(model for _, model in answers))
    first_system, other = options.pair or ("", "")
    for name in (first_system, other):
        if name not in models:
            raise UsageError(f"the run has no model {name!r:.60}", hint="it has " + ", ".join(models[:10]))
    if first_system == other:
        raise UsageError("a model cannot be compared with itself")
    items = []
    for sample in [sample for sample, model in answers if model == first_system and (sample, other) in answers]:
        scores = [judged.on_unit(answers[sample, model].score) for model in (first_system, other)]
        # A difference lies on -1..1; half of it plus .5 lies on 0..1, where .5 means that the judge sees none.
        gap = None if scores[0] is None or scores[1] is None else 0.5 + (scores[0] - scores[1]) / 2
        items.append(LabelItem(sample, first_system, other, gap))
    return items, answers


class _Texts:
    """What there is to see of an item: of several answers of a model one, always the same."""

    def __init__(
        self, judged: JudgedRun, answers: dict[tuple[str, str], JudgedAnswers], seed: int, *, tells_why: bool
    ) -> None:
        self._results, self._answers, self._seed = judged.results, answers, seed
        self._tells_why = tells_why
        """Whether raters see why an answer failed: whoever rates it is not to be told."""

    def __call__(self, item: LabelItem) -> Seen:
        models = (item.system, item.against) if item.against else (item.system,)
        attempts = [self._results.show_attempt(self._location(item.id, model)) for model in models]
        return Seen(
            attempts[0].prompt,
            tuple(attempt.text for attempt in attempts),
            why=attempts[0].why if self._tells_why else None,
        )

    def _location(self, sample: str, model: str) -> int:
        locations = self._answers[sample, model].locations
        # `chance` may return exactly 1, which would be one place too far.
        return locations[int(chance(self._seed, "attempt", sample, model) * len(locations)) % len(locations)]
