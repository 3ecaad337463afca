"""The pages of a sitting: the next item, one to look at again, and the taking of a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import get_args

from markbook.errors import StorageError
from markbook.report.html import render_template as render
from markbook.report.label_session import Said, Session, Winner
from markbook.report.local_server import NotFound, Reply, Request, whole
from markbook.text.format import format_interval, format_number


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """One thing that can be said, and its key."""

    value: str
    key: str
    words: str


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """One question of the form."""

    name: str
    text: str
    choices: tuple[LabelChoice, ...]


_WINNER = FormQuestion(
    "winner",
    "Which answer is better?",
    (
        LabelChoice("first", "1", "the first"),
        LabelChoice("second", "2", "the second"),
        LabelChoice("tie", "0", "neither: a tie"),
    ),
)
_HOME = Reply("", HTTPStatus.SEE_OTHER, "text/plain", {"Location": "/"})


class LabelPages:
    """What a rater sees and sends."""

    def __init__(self, session: Session) -> None:
        self._session = session
        rubric = session.rubric
        self._questions: tuple[FormQuestion, ...] = (_WINNER,)
        self._task = rubric.task
        if rubric.is_pairwise:  # one question for all criteria, which stand in what is asked
            self._task = " ".join((rubric.task, *(criterion.question for criterion in rubric.criteria)))
            return
        questions = []
        for criterion in rubric.criteria:
            low, high = rubric.scale_for(criterion)
            words = dict(criterion.anchors) or {low: "poor", high: "excellent"}
            # A scale has ten marks at most, so the last digit of each is a key of its own.
            choices = [LabelChoice(str(mark), str(mark % 10), words.get(mark, "")) for mark in range(low, high + 1)]
            questions.append(FormQuestion(f"mark.{criterion.name}", criterion.question, tuple(choices)))
        self._questions = tuple(questions)

    def answer(self, request: Request) -> Reply:
        """Return the page, or take a label and lead on.

        Raises:
            NotFound: no page has this address or item.
        """
        if request.form is not None:
            if request.path != "/label":
                raise NotFound
            return self._take(request)
        if request.path == "/find":
            index = self._session.find_place(request.who, request.query.get("id", ""))
            if index is None:
                raise NotFound("This is none of what is labelled here.")
            return Reply(self._page(request.who, index))
        if request.path == "/":
            return Reply(self._page(request.who, self._session.next_place(request.who)))
        return Reply(self._page(request.who, self._place(request)))

    def _place(self, request: Request) -> int:
        index = whole(request.path.removeprefix("/at/"))
        if not request.path.startswith("/at/") or index >= len(self._session.order(request.who)):
            raise NotFound
        return index

    def _page(self, who: str, index: int | None, failure: str = "") -> str:
        session = self._session
        labelled, last = len(session.books[who].labels), session.last_place(who)
        label, words = None if index is None else session.get_label(who, index), ""
        if label is not None and label.label is None:
            words = "cannot say"
        elif label is not None and label.against and not label.reason:
            words = "a tie" if label.label == 0.5 else "one is better"
        elif label is not None:
            words = label.reason or ", ".join(f"{name.replace('_', ' ')} {mark}" for name, mark in label.marks.items())
        order = session.order(who)
        return render(
            "browse/label.html.j2", title="Label", labelled=labelled, total=len(order), back=None if last == index else last,
            task=self._task, shown=None if index is None else session.show_item(who, index), questions=self._questions, given=words,
            token="" if index is None else session.token(order[index].item), agreement=self._agreement(), failure=failure,
        )  # fmt: skip

    def _agreement(self) -> str:
        agreement = self._session.agreement()
        if agreement is None:
            return ""
        alpha = agreement.alpha
        if alpha.value is None:
            return f"The same in {agreement.same} of {agreement.shared} items that two have labelled ({alpha.note})."
        between = "" if alpha.low is None else f" {format_interval(alpha.low, alpha.high)}"
        return (
            f"The same in {agreement.same} of {agreement.shared} items that two have labelled; Krippendorff's alpha "
            f"{format_number(alpha.value)}{between}. Told anew every ten items."
        )

    def _take(self, request: Request) -> Reply:
        form = request.form or {}
        statement = self._read_form(form)
        if statement is None:
            raise NotFound("That answers not every question; go back and answer each.")
        try:
            self._session.take(request.who, form.get("item", ""), statement)
        except KeyError as error:
            raise NotFound from error
        except StorageError as error:
            # The item is shown again with the reason, since its label is not on the disk.
            page = self._page(request.who, self._session.next_place(request.who), failure=str(error))
            return Reply(page, HTTPStatus.INSUFFICIENT_STORAGE)
        return _HOME

    def _read_form(self, form: Mapping[str, str]) -> Said | None:
        """Return what a form says, None where it does not answer every question with one of its choices."""
        if "cannot" in form:
            return Said()
        for question in self._questions:
            if form.get(question.name) not in [choice.value for choice in question.choices]:
                return None
        if self._questions == (_WINNER,):
            return Said(winner=next(winner for winner in get_args(Winner) if winner == form["winner"]))
        return Said({question.name.removeprefix("mark."): int(form[question.name]) for question in self._questions})
