"""What is labelled in one sitting, by whom, in which order; nobody sees a model's name or a judge's score."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from markbook.errors import UsageError
from markbook.judge.drawing import Drawn, LabelItem, chance, draw_name
from markbook.judge.labels import Agreement, Key, Label, agreement
from markbook.judge.rubrics import Rubric
from markbook.report.labelling.book import LabelBook
from markbook.report.labelling.rubric import ReasonRubric
from markbook.report.steps import ShownStep
from markbook.why import Why

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
    """Of a trace."""
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
        """Set up, taking the draw up in each book.

        Args:
            rubric: what is asked.
            drawn: what is to be labelled.
            books: of each rater.
            texts: returns what there is to see of an item, its first system's answer in front.
            seed: of the orders.
            others: labels by people who are not here, for the agreement.

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

    def place_of(self, rater: str, name: str) -> int | None:
        """Return the first place of what has a name; None if nothing here has it."""
        return next((at for at, drawn_item in enumerate(self._orders[rater]) if drawn_item.item.id == name), None)

    def last_place(self, rater: str) -> int | None:
        """Return the place of the item that a rater has labelled last."""
        labels = self.books[rater].labels
        last = next(reversed(labels), None)
        return (
            None
            if last is None
            else next(at for at, drawn_item in enumerate(self._orders[rater]) if drawn_item.item.key == last)
        )

    def show_item(self, rater: str, index: int) -> Seen:
        """Return what a rater sees of the item at a place of his order."""
        item = self._orders[rater][index].item
        item_shown = self._texts(item)
        return replace(item_shown, answers=item_shown.answers[::-1]) if self._is_turned(rater, item) else item_shown

    def get_label(self, rater: str, index: int) -> Label | None:
        """Return what a rater has said of the item at a place."""
        return self.books[rater].labels.get(self._orders[rater][index].item.key)

    def take(self, rater: str, token: str, said: Said) -> None:
        """Write down what a rater says.

        Raises:
            KeyError: there is no such item.
            StorageError: it is not saved.
        """
        drawn_item = self._orders[rater][self._places[rater][token]]
        item, book = drawn_item.item, self.books[rater]
        with self._lock:
            book.put(
                Label(
                    item.id,
                    self._value(rater, item, said),
                    item.system,
                    item.against,
                    rater,
                    drawn_item.probability,
                    dict(said.marks),
                    self.draw,
                    reason=self.rubric.reason(said.marks) if isinstance(self.rubric, ReasonRubric) else "",
                    rubric=self._rubric_name,
                )
            )

    def agreement(self) -> Agreement | None:
        """Return how far the raters agree, told anew every ten shared items; None before the first ten."""
        with self._lock:
            labels = [label for book in self.books.values() for label in book.labels.values()]
            labels += self._others
            shared = _count_shared(labels) // STEP
            if shared and (self._told is None or self._told[0] != shared):
                self._told = (shared, agreement(labels))
            return self._told[1] if shared and self._told else None

    def _is_turned(self, rater: str, item: LabelItem) -> bool:
        return bool(item.against) and chance(self._seed, "side", rater, *item.key) > 0.5

    def _value(self, rater: str, item: LabelItem, statement: Said) -> float | None:
        if statement.winner is not None:
            first = 0.0 if self._is_turned(rater, item) else 1.0
            return {"first": first, "second": 1.0 - first, "tie": 0.5}[statement.winner]
        return self.rubric.overall(statement.marks) if statement.marks else None


def _count_shared(labels: Sequence[Label]) -> int:
    by_item: dict[Key, set[str]] = {}
    for label in labels:
        if label.label is not None:
            by_item.setdefault(label.align().key, set()).add(label.rater)
    return sum(len(raters) > 1 for raters in by_item.values())
