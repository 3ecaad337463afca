"""From a text to the calls that judge it, and from the answers to marks: parts, samples, panels."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict, cast

from markbook.judge.client import (
    CriterionMark,
    EndRecord,
    Judged,
    Violation,
    from_record,
    parse_marks,
    parse_object,
    quotes_found,
    to_record,
    weigh,
)
from markbook.judge.rubrics import (
    PART_CHARS,
    REVIEW_CHARS,
    RUBRICS,
    SYSTEM,
    Call,
    Cut,
    Part,
    Rubric,
    block,
    cut,
    question,
    system_text,
)
from markbook.types import Missing, MissingKind

DOCUMENTED_EXCERPT = 2000


NO_REVIEW = "there is no review: it is null"
WHOLE = Cut((Part("", 1, 1),), 1.0)
"""What a rubric reads that has no long text."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged."""

    review: str
    """Empty also where there is none; `is_absent` says which."""
    paper: Sequence[str] = ()
    """The paper's sections; empty where there is no text."""
    trace: str = ""
    """A summary of what the agents planned and did; empty where there is no trace."""
    is_absent: bool = False
    """Whether there is no review at all, which is not an empty one."""
    trace_share: float = 1.0
    """The share of the trace's steps that the summary stands for."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """How a judge is asked."""

    models: tuple[str, ...]
    samples: int = 1
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 2000
    mode: str = "auto"
    part_chars: int = PART_CHARS
    token_weights: bool = False
    """Ask for token probabilities and weigh marks by them where they come; the reply is then asked for as text."""
    profile: str = "corrected"
    """`documented` shows the judge the paper's first 2,000 characters only, and says so to it."""


class MarksRecord(EndRecord, total=False):
    """The end of a call for marks, as a journal keeps it."""

    weighted: dict[str, list[float]]
    rubric: str
    model: str
    part: int
    sample: int
    chars: int
    coverage: float
    quotes: int
    quotes_found: int


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """One call and its place in a review's assessment."""

    rubric: Rubric
    model: str
    part: int
    sample: int
    chars: int
    """How much of the paper this call reads: the weight of its marks among the parts."""
    coverage: float
    call: Call
    texts: tuple[str, ...]
    """The judged texts, to look quotes up in."""

    @property
    def key(self) -> tuple[str | int, ...]:
        """Return what names it within a review."""
        return (self.rubric.name, self.model, self.part, self.sample)

    def check(self, payload: str) -> object:
        """Raise `Violation` unless the payload has a mark for every criterion."""
        return parse_marks(payload, self.rubric)

    def record(self, judged: Judged) -> MarksRecord:
        """Return the answer as the journal keeps it."""
        marks = parse_marks(judged.answer.payload, self.rubric) if judged.answer else {}
        quotes = [quote for mark in marks.values() for quote in mark.quotes]
        weighted = {}
        if judged.answer and judged.answer.logprobs:
            parts = {
                criterion.name: weigh(
                    judged.answer.payload, judged.answer.logprobs, criterion.name, self.rubric.scale_for(criterion)
                )
                for criterion in self.rubric.criteria
                if not criterion.grades
            }
            weighted = {name: list(pair) for name, pair in parts.items() if pair is not None}
        record = to_record(judged)
        record.pop("logprobs", None)
        return MarksRecord(
            **record,
            weighted=weighted,
            rubric=self.rubric.name,
            model=self.model,
            part=self.part,
            sample=self.sample,
            chars=self.chars,
            coverage=self.coverage,
            quotes=len(quotes),
            quotes_found=quotes_found(quotes, self.texts),
        )


def questions(subject: Subject, settings: JudgeSettings) -> tuple[list[JudgeQuestion], dict[str, Missing]]:
    """Return every call that assesses a review, and for each rubric that cannot be asked the reason."""
    missing = unreadable(subject)
    calls = [
        question
        for rubric in RUBRICS.values()
        if rubric.name not in missing
        for question in _rubric_questions(rubric, subject, settings)
    ]
    return calls, missing


def unreadable(subject: Subject) -> dict[str, Missing]:
    """Return, for each rubric that cannot be asked, the reason."""
    reasons = {rubric.name: _unreadable(rubric, subject) for rubric in RUBRICS.values()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _unreadable(rubric: Rubric, subject: Subject) -> Missing | None:
    if "review" in rubric.reads and subject.is_absent:
        return Missing(MissingKind.ABSENT, NO_REVIEW)
    if "review" in rubric.reads and not subject.review.strip():
        return Missing(MissingKind.NO_COMPLETION, "the review is empty")
    if "paper" in rubric.reads and not any(text.strip() for text in subject.paper):
        return Missing(MissingKind.NOT_APPLICABLE, "the paper's text is not at hand")
    if "trace" in rubric.reads and not subject.trace.strip():
        return Missing(MissingKind.NOT_APPLICABLE, "there is no trace of the run")
    return None


def _rubric_questions(rubric: Rubric, subject: Subject, settings: JudgeSettings) -> Iterator[JudgeQuestion]:
    review, share = subject.review, 1.0
    if len(review) > REVIEW_CHARS:
        review, share = review[:REVIEW_CHARS], REVIEW_CHARS / len(review)
    note = "" if share == 1 else f"The review is cut: you see its first {share:.0%}."
    pieces = _pieces(subject, settings) if "paper" in rubric.reads else WHOLE
    share *= subject.trace_share if "trace" in rubric.reads else 1.0
    texts = {"review": review, "trace": subject.trace}
    yield from make_questions(rubric, texts, pieces, settings, share=share, note=note)


def make_questions(
    rubric: Rubric, texts: Mapping[str, str], pieces: Cut, settings: JudgeSettings, *, share: float, note: str = ""
) -> Iterator[JudgeQuestion]:
    """Yield every call of a rubric over texts.

    Args:
        rubric: what is asked.
        texts: by the names that it reads, all but the long one.
        pieces: the parts of the long text; `WHOLE` where the rubric reads none.
        settings: how the judges are asked.
        share: of the other texts, that is shown.
        note: what the judge is told about what it does not see.
    """
    wire: dict[str, Any] = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
    if settings.token_weights:
        wire |= {"openai_logprobs": True, "openai_top_logprobs": 10}
    system, schema = system_text(rubric), rubric.schema
    for part in pieces.parts:
        cut_texts = {**texts, rubric.long: part.text}
        prompt = question(rubric, cut_texts, part=part, excerpt_note=note)
        read = tuple(cut_texts[name] for name in rubric.reads)
        for model in settings.models:
            for sample in range(settings.samples):
                words = rubric.name if part.of == 1 else f"{rubric.name}, part {part.number} of {part.of}"
                if "paper" in rubric.reads and settings.profile == "documented":
                    words += (
                        f" on the paper's first {DOCUMENTED_EXCERPT:,} characters, as the documented profile has it"
                    )
                call = Call(
                    model=model,
                    rubric=rubric.name,
                    system=system,
                    prompt=prompt,
                    schema=schema,
                    settings={**wire, "seed": settings.seed + sample},
                    sample=sample,
                    mode=settings.mode,
                    told=f"{words}; a call is found if model, texts, settings and mode are those recorded",
                )
                chars = len(part.text) or 1
                yield JudgeQuestion(rubric, model, part.number, sample, chars, pieces.coverage * share, call, read)


def _pieces(subject: Subject, settings: JudgeSettings) -> Cut:
    if settings.profile != "documented":
        return cut(subject.paper, size=settings.part_chars)
    paper = "\n\n".join(subject.paper)
    start = paper[:DOCUMENTED_EXCERPT]
    return Cut((Part(start + "...", 1, 1),), len(start) / max(1, len(paper)))


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the judges said of a review under one rubric."""

    value: float | None
    missing: Missing | None
    marks: Mapping[str, float]
    """Per criterion: the mean over samples and parts, the median over judges; on the rubric's own scale."""
    by_judge: Mapping[str, Mapping[str, float]]
    deviation: float | None
    """As `deviation_over_samples` has it."""
    n: int
    """Answers that counted."""
    n_missing: int
    coverage: float | None
    """The share of the judged text that was read."""
    evidence: Mapping[str, Mapping[str, object]]
    """Per criterion: the first judge's first reason and quotes, and its grade where it gives one."""
    quotes: int
    quotes_found: int


class PartRecord(TypedDict):
    """What is kept of a judge's answer about one part of a text, beside the answer itself (`judge.client.from_record`)."""

    model: str
    sample: int
    part: int
    chars: int
    coverage: float
    weighted: NotRequired[Mapping[str, Sequence[float]] | None]
    quotes: NotRequired[int]
    quotes_found: NotRequired[int]


def settle(rubric: Rubric, answers: Sequence[Mapping[str, object]], *, profile: str = "corrected") -> Assessment:
    """Return the assessment that kept answers amount to; all rows are of one review and rubric.

    A sample counts if all its parts were answered; parts weigh by their length. With several judges the median a
    criterion is taken over those that answered.
    """
    rows = cast("Sequence[PartRecord]", answers)
    complete, gaps = _whole_samples(rubric, rows)
    by_judge = {
        model: {c.name: statistics.fmean(marks[c.name] for marks in many) for c in rubric.criteria}
        for model, many in complete.items()
    }
    marks = {
        c.name: statistics.median(judge[c.name] for judge in by_judge.values()) for c in rubric.criteria if by_judge
    }
    values = {
        model: [rubric.overall(sample_marks, profile=profile) for sample_marks in many]
        for model, many in complete.items()
    }
    missing = None if by_judge else (gaps[0] if gaps else Missing(MissingKind.ABSENT, "the judge was not asked"))
    return Assessment(
        value=rubric.overall(marks, profile=profile) if by_judge else None,
        missing=missing,
        marks=marks,
        by_judge=by_judge if len(by_judge) > 1 else {},
        deviation=deviation_over_samples(list(values.values())),
        n=sum(map(len, values.values())),
        n_missing=len(gaps),
        coverage=min((float(row["coverage"]) for row in rows), default=None) if by_judge else None,
        evidence=_evidence(rubric, rows),
        quotes=sum(int(row.get("quotes", 0)) for row in rows),
        quotes_found=sum(int(row.get("quotes_found", 0)) for row in rows),
    )


def deviation_over_samples(by_judge: Sequence[Sequence[float]]) -> float | None:
    """Return how far the values of one judge differ from sample to sample; None where no judge has two.

    Of several judges it is the root of their mean variance: how far they differ from one another is not part of it.
    """
    variances = [statistics.variance(values) for values in by_judge if len(values) > 1]
    return math.sqrt(statistics.fmean(variances)) if variances else None


def _whole_samples(
    rubric: Rubric, rows: Sequence[PartRecord]
) -> tuple[dict[str, list[dict[str, float]]], list[Missing]]:
    """Return for each judge the marks of every sample whose parts were all answered, and why others count for nothing."""
    samples: dict[tuple[str, int], list[_Marked | Missing]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (str(row["model"]), int(row["sample"]), int(row["part"]))):
        samples[str(row["model"]), int(row["sample"])].append(_marks(rubric, row))
    complete: dict[str, list[dict[str, float]]] = defaultdict(list)
    gaps: list[Missing] = []
    for (model, _), parts in samples.items():
        gap = next((part for part in parts if isinstance(part, Missing)), None)
        if gap is not None:
            gaps.append(gap)
            continue
        read = [part for part in parts if not isinstance(part, Missing)]
        total = sum(part.chars for part in read)
        complete[model].append(
            {c.name: math.fsum(part.chars * part.score(c.name) for part in read) / total for c in rubric.criteria}
        )
    return complete, gaps


@dataclass(frozen=True, slots=True)
class _Marked:
    """The marks of one answer."""

    chars: int
    marks: Mapping[str, CriterionMark]
    weighted: Mapping[str, Sequence[float]]

    def score(self, name: str) -> float:
        """Return a criterion's mark, weighed by token probabilities where there are any."""
        return float(self.weighted[name][0]) if name in self.weighted else self.marks[name].score


def _marks(rubric: Rubric, row: PartRecord) -> _Marked | Missing:
    judged = from_record(row)
    if judged.answer is None:
        return judged.missing or Missing(MissingKind.FAILED, "no answer")
    try:
        return _Marked(int(row["chars"]), parse_marks(judged.answer.payload, rubric), row.get("weighted") or {})
    except Violation as error:
        return Missing(MissingKind.FAILED, str(error))


def _evidence(rubric: Rubric, rows: Sequence[PartRecord]) -> dict[str, dict[str, object]]:
    for row in rows:
        marks = _marks(rubric, row)
        if not isinstance(marks, Missing):
            return {
                name: {
                    "reason": mark.reason,
                    "quotes": list(mark.quotes),
                    **({"grade": mark.grade} if mark.grade else {}),
                }
                for name, mark in marks.marks.items()
            }
    return {}


# Two texts before a judge, in both orders: what it prefers, and whether the order alone decides.

Winner = Literal["A", "B", "tie"]
WINNERS: tuple[Winner, ...] = ("A", "B", "tie")

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "description": "One or two sentences: why."},
        "winner": {"type": "string", "enum": list(WINNERS), "description": "The better text, or tie."},
    },
    "required": ["reason", "winner"],
    "additionalProperties": False,
}
QUESTION = "Which of the two reviews, A or B, is the more constructive one: specific, balanced, useful to the authors?"


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What both orders together say."""

    winner: Literal["first", "second", "tie"]
    """The order decides nothing: two orders that disagree are a tie."""
    flipped: bool
    """Whether the same position won in both orders."""
    position: Literal["A", "B", ""]
    """The position that won both times, if it flipped."""


def compare_prompt(first: str, second: str, *, questions: Sequence[str] = (QUESTION,), name: str = "review") -> str:
    """Return the prompt that puts `first` in place A and `second` in place B; all judges and samples share it.

    Args:
        first: one text.
        second: the other.
        questions: what is asked, a paragraph each, with whatever both are judged by.
        name: of the two texts.
    """
    return "\n\n".join((*questions, block(f"{name}-A", first), block(f"{name}-B", second)))


def compare_call(
    prompt: str,
    model: str,
    settings: JudgeSettings,
    *,
    sample: int = 0,
    rubric: str = "pairwise",
    system: str = SYSTEM,
) -> Call:
    """Return the call that compares two texts.

    Args:
        prompt: as `compare_prompt` returns it.
        model: the judge.
        settings: how it is asked.
        sample: which of several answers this is.
        rubric: its name, for a reader.
        system: what the judge is told beforehand.
    """
    wire = {"temperature": settings.temperature, "max_tokens": settings.max_tokens, "seed": settings.seed + sample}
    return Call(model, rubric, system, prompt, SCHEMA, wire, sample, settings.mode)


def parse_winner(payload: str) -> Winner:
    """Return which place a reply prefers.

    Raises:
        Violation: it is not an object, or names no place.
    """
    winner_name = parse_object(payload).get("winner")
    for winner in WINNERS:
        if winner_name == winner:
            return winner
    raise Violation("the reply names no winner")


def both_orders(forward: Winner, backward: Winner) -> PairVerdict:
    """Return the verdict over both orders; `backward` is what was said with the two texts exchanged.

    >>> both_orders("A", "B")
    PairVerdict(winner='first', flipped=False, position='')
    >>> both_orders("A", "A")
    PairVerdict(winner='tie', flipped=True, position='A')
    """
    if forward == backward and forward != "tie":
        return PairVerdict("tie", flipped=True, position=forward)
    swapped: Mapping[Winner, Literal["first", "second", "tie"]] = {"A": "second", "B": "first", "tie": "tie"}
    straight: Mapping[Winner, Literal["first", "second", "tie"]] = {"A": "first", "B": "second", "tie": "tie"}
    if straight[forward] == swapped[backward]:
        return PairVerdict(straight[forward], flipped=False, position="")
    return PairVerdict("tie", flipped=False, position="")
