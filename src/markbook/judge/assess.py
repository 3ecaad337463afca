"""From texts to the calls that judge them, and from the judges' answers to one score: parts, samples, panels, comparisons.

Theory of operation
-------------------
`JudgeInput` is all that a judge may read: texts by the names under which rubrics ask for them. It is made from an answer with
its question, context and reference, or from a review with its paper and trace; everything behind it treats both alike.

1. `find_missing_text` says why a rubric cannot be asked (an empty answer, no reference). Nothing is sent then, and the reason
   becomes the measurement: a text that is not there never earns a low mark.
2. `make_questions` makes the calls. A rubric that marks gives one call for each part of the long text, judge and sample; one
   that compares gives two calls for each judge and sample, with the texts exchanged. A text that is too long for one call is
   cut, the prompt says so, and the share that was read travels with the answer as its coverage. A call's key is a digest of all
   that decides its answer, so equal calls are paid once and a cassette finds them again.
3. `judge.panel` asks. What a question's `record` returns is what the journal keeps, so `aggregate_ratings` needs neither the
   texts nor the judges: a resumed or re-scored run gives the same score from the same rows, in whatever order they came.
4. `aggregate_ratings` makes one score of the rows of one text and one rubric. Parts are weighed by their length and make a
   sample; a sample with an unanswered part (or with one order only) counts for nothing and is counted as missing, since half a
   paper is not the paper. Samples are averaged within a judge, and judges by the median, which one stray judge cannot move.
   Then the rubric's own rule makes one number of the criteria. A text that one judge of a panel did not mark has no score:
   judges differ in how strict they are, so the median of the others is the score of another panel.

Two orders that disagree are a tie: the judge preferred a place and not a text.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypedDict, TypeVar, cast

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
    Call,
    Cut,
    Part,
    Rubric,
    block,
    cut,
    describe_rubric,
    question,
    system_text,
)
from markbook.types import IntervalRecord, Missing, MissingKind

DOCUMENTED_EXCERPT = 2000
NO_REVIEW = "there is no review: it is null"
TEXTS = ("question", "context", "reference", "answer")
"""What a rubric may read of a task's row."""
_ALIASES = {"review": "answer", "trace": "answer", "paper": "context"}
"""What the documents' rubrics call the texts of a row."""
_WHOLE = Cut((Part("", 1, 1),), 1.0)
"""What a rubric reads that has no long text."""
_T = TypeVar("_T")


def role(name: str) -> str:
    """Return which text of a row a rubric means by a name.

    >>> role("paper"), role("answer")
    ('context', 'answer')
    """
    return _ALIASES.get(name, name)


@dataclass(frozen=True, slots=True)
class JudgeInput:
    """What a judge reads: one text with what it is judged by."""

    texts: Mapping[str, Sequence[str]]
    """The sections of each text, by the name under which a rubric asks for it."""
    reasons: Mapping[str, Missing]
    """Why a rubric cannot be asked where a text that it needs is empty; of several the first one counts."""
    needed: frozenset[str] = frozenset()
    """Texts without which there is nothing to judge, whatever a rubric reads."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """The share of an original that a text stands for, where it is not all of it."""

    @classmethod
    def from_answer(cls, answer: str, question: str = "", reference: str = "", context: str = "") -> Self:
        """Return an answer with what it is judged by."""
        reasons = {
            "answer": Missing(MissingKind.NO_COMPLETION, "the answer is empty"),
            "reference": Missing(MissingKind.UNDEFINED, "no reference"),
            "question": Missing(MissingKind.NOT_APPLICABLE, "there is no question"),
            "context": Missing(MissingKind.NOT_APPLICABLE, "there is no context"),
        }
        texts = {"answer": (answer,), "question": (question,), "reference": (reference,), "context": (context,)}
        # Both names lead to the same text, so that the rubrics for reviews can be asked of a task's row.
        texts |= {alias: texts[name] for alias, name in _ALIASES.items()}
        reasons |= {alias: reasons[name] for alias, name in _ALIASES.items()}
        return cls(texts, reasons, frozenset({"answer"}))

    @classmethod
    def from_review(
        cls,
        review: str,
        paper: Sequence[str] = (),
        trace: str = "",
        *,
        is_absent: bool = False,
        trace_share: float = 1.0,
    ) -> Self:
        """Return a review with the sections of its paper and a summary of its run's trace; each is empty where it is not at hand.

        `is_absent`: the review is missing altogether, which is not an empty one. `trace_share` is the share of the
        trace's steps that the summary stands for.
        """
        empty = Missing(MissingKind.NO_COMPLETION, "the review is empty")
        reasons = {
            "review": Missing(MissingKind.ABSENT, NO_REVIEW) if is_absent else empty,
            "paper": Missing(MissingKind.NOT_APPLICABLE, "the paper's text is not at hand"),
            "trace": Missing(MissingKind.NOT_APPLICABLE, "there is no trace of the run"),
        }
        return cls({"review": (review,), "paper": paper, "trace": (trace,)}, reasons, shares={"trace": trace_share})

    def text(self, name: str) -> str:
        """Return a text as a whole."""
        return "\n\n".join(self.texts[name])


def find_missing_text(rubric: Rubric, texts: JudgeInput) -> Missing | None:
    """Return why a rubric cannot be asked; None if it can."""
    # A comparison needs its other text although no rubric may name the reference among what it reads.
    needed = {*texts.needed, *rubric.reads, *(("reference",) if rubric.is_pairwise else ())}
    for name, reason in texts.reasons.items():
        # An empty text is not sent: a judge marks what is not there, mostly low.
        if name in needed and not any(section.strip() for section in texts.texts[name]):
            return reason
    return None


def find_unreadable_rubrics(review: JudgeInput) -> dict[str, Missing]:
    """Return, for each of the documents' rubrics that cannot be asked of a review, the reason."""
    reasons = {rubric.name: find_missing_text(rubric, review) for rubric in RUBRICS.values()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


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

    def wire(self, sample: int) -> dict[str, Any]:
        """Return what a request says of how to answer."""
        # A seed for each sample: a server that honours seeds would give every one the same reply.
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed + sample}

    def call(
        self, model: str, rubric: str, texts: tuple[str, str], schema: Mapping[str, Any], sample: int = 0, **more: Any
    ) -> Call:
        """Return one question to one judge, asked in this way.

        `texts` are what the judge is told beforehand and what it is asked; `more` goes beside the settings that all share.
        """
        return Call(model, rubric, *texts, schema, self.wire(sample) | more, sample, self.mode)


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
        marks = parse_marks(judged.value.payload, self.rubric) if judged.value else {}
        quotes = [quote for mark in marks.values() for quote in mark.quotes]
        weighted = {}
        if (answer := judged.value) and answer.logprobs:
            for criterion in self.rubric.criteria:
                scale = self.rubric.scale_for(criterion)
                pair = None if criterion.grades else weigh(answer.payload, answer.logprobs, criterion.name, scale)
                if pair is not None:
                    weighted[criterion.name] = list(pair)
        # The marks are left to the payload: they are parsed anew from it, so a journal and a score cannot contradict
        # one another.
        record = to_record(judged)
        record.pop("logprobs", None)  # the weighted marks are what they were for
        return MarksRecord(
            **record, weighted=weighted, rubric=self.rubric.name, model=self.model, part=self.part, sample=self.sample,
            chars=self.chars, coverage=self.coverage, quotes=len(quotes), quotes_found=quotes_found(quotes, self.texts),
        )  # fmt: skip


def cut_texts(texts: Mapping[str, str]) -> tuple[dict[str, str], list[str], float]:
    """Return the texts at the length that one call reads, what the judge is told of cuts, and the share that is left."""
    # What is cut is told to the judge, who would otherwise mark a text down for its missing end.
    short = {name: text[:REVIEW_CHARS] for name, text in texts.items()}
    notes, share = [], 1.0
    for name, text in texts.items():
        if len(text) > REVIEW_CHARS:
            notes.append(f"The {name} is cut: you see its first {REVIEW_CHARS / len(text):.0%}.")
            share *= REVIEW_CHARS / len(text)
    return short, notes, share


def make_review_questions(review: JudgeInput, settings: JudgeSettings) -> list[JudgeQuestion]:
    """Return every call that judges a review by those of the documents' rubrics that can be asked."""
    unreadable = find_unreadable_rubrics(review)
    return [
        question
        for rubric in RUBRICS.values()
        if rubric.name not in unreadable
        for question in _iterate_mark_questions(rubric, review, settings)
    ]


def make_questions(
    rubric: Rubric, texts: JudgeInput, settings: JudgeSettings
) -> Sequence[JudgeQuestion | PairwiseQuestion]:
    """Return every call of a rubric over texts that it can be asked of."""
    if rubric.is_pairwise:
        return list(_iterate_pairwise_questions(rubric, texts, settings))
    return list(_iterate_mark_questions(rubric, texts, settings))


def _iterate_mark_questions(rubric: Rubric, texts: JudgeInput, settings: JudgeSettings) -> Iterator[JudgeQuestion]:
    short_texts, notes, share = cut_texts({name: texts.text(name) for name in rubric.reads if name != rubric.long})
    for name in short_texts:
        share *= texts.shares.get(name, 1.0)
    is_documented = rubric.long in rubric.reads and settings.profile == "documented"
    pieces = _WHOLE
    if is_documented:
        # The documented profile shows the excerpt as its original did: cut at a fixed length, with three dots.
        long_text = texts.text(rubric.long)
        start = long_text[:DOCUMENTED_EXCERPT]
        pieces = Cut((Part(start + "...", 1, 1),), len(start) / max(1, len(long_text)))
    elif rubric.long in rubric.reads:
        pieces = cut(texts.texts[rubric.long], size=settings.part_chars)
    weights = {"openai_logprobs": True, "openai_top_logprobs": 10} if settings.token_weights else {}
    system, schema = system_text(rubric), rubric.schema
    for part in pieces.parts:
        part_texts = {**short_texts, rubric.long: part.text}
        prompt = question(rubric, part_texts, part=part, excerpt_note=" ".join(notes))
        read = tuple(part_texts[name] for name in rubric.reads)
        words = rubric.name if part.of == 1 else f"{rubric.name}, part {part.number} of {part.of}"
        if is_documented:
            words += f" on the paper's first {DOCUMENTED_EXCERPT:,} characters, as the documented profile has it"
        for model in settings.models:
            for sample in range(settings.samples):
                # A cassette that lacks a call says this, so that a user learns which text or setting has changed.
                told = f"{words}; a call is found if model, texts, settings and mode are those recorded"
                call = settings.call(model, rubric.name, (system, prompt), schema, sample, **weights)
                call = replace(call, told=told)
                chars = len(part.text) or 1  # a rubric without a long text has one part, whose weight must not be 0
                yield JudgeQuestion(rubric, model, part.number, sample, chars, pieces.coverage * share, call, read)


@dataclass(frozen=True, slots=True)
class JudgeScore:
    """What the judges said of one text under one rubric."""

    value: float | None
    """On 0..1; of a comparison 1 for a win, .5 for a tie, 0 for a loss, over samples and judges."""
    missing: Missing | None
    marks: Mapping[str, float]
    """Per criterion: the mean over samples and parts, the median over judges; on the rubric's own scale."""
    by_judge: Mapping[str, Mapping[str, float]]
    """Of a panel, the same for each judge that answered, also where the score is missing; empty for a single one."""
    deviation: float | None
    """As `deviation_over_samples` has it."""
    n: int
    """Samples that counted."""
    n_missing: int
    coverage: float | None
    """The share of the judged text that was read."""
    evidence: Mapping[str, Mapping[str, object]]
    """Per criterion: the first judge's first reason and quotes, and its grade where it gives one."""
    quotes: int
    quotes_found: int
    flipped: int | None = None
    """Of a comparison: how many samples preferred the same place in both orders."""

    def to_stats(self) -> dict[str, object]:
        """Return all but the value as the stats of a measurement."""
        stats: dict[str, object] = {"n": self.n, "n_missing": self.n_missing}
        if self.by_judge:
            stats["by_judge"] = {judge: dict(marks) for judge, marks in self.by_judge.items()}
        if self.value is None:
            return stats
        if self.flipped is None:
            stats |= {"marks": dict(self.marks), "coverage": self.coverage, "evidence": dict(self.evidence)}
        else:
            stats |= {"flipped": self.flipped, "coverage": self.coverage}
        if self.deviation is not None:
            stats["deviation"] = self.deviation
        if self.quotes:
            stats |= {"quotes": self.quotes, "quotes_found": self.quotes_found}
        return stats


_Ratings = Mapping[str, Sequence[Mapping[str, float]]]
"""For each judge the ratings of every sample that counts, by criterion."""
_Gaps = Sequence[tuple[str, Missing]]
"""The judge of every sample that counts for nothing, and why it does."""
PREFERRED = "preferred"
"""What a comparison rates, in the place of criteria."""


def aggregate_ratings(
    rubric: Rubric, answers: Sequence[Mapping[str, object]], *, judges: Sequence[str] = (), profile: str = "corrected"
) -> JudgeScore:
    """Return the score that kept answers amount to; all rows are of one text and rubric.

    A sample counts if it was answered as a whole: all its parts, or both orders. Ratings are averaged over the
    samples of a judge; with several judges the median of each criterion is taken. The score is missing without a
    sample of each judge of the panel, to which those that the rows name belong in any case.
    """
    flipped = None
    if rubric.is_pairwise:
        ratings, gaps, flipped = _rate_pairs(cast("Sequence[ComparisonRecord]", answers))
        names: Sequence[str] = (PREFERRED,)
    else:
        ratings, gaps = _rate_samples(rubric, cast("Sequence[MarksRecord]", answers))
        names = [criterion.name for criterion in rubric.criteria]

    def overall(marks: Mapping[str, float]) -> float:
        return marks[PREFERRED] if rubric.is_pairwise else rubric.overall(marks, profile=profile)

    by_judge = {
        model: {name: statistics.fmean(marks[name] for marks in samples) for name in names}
        for model, samples in ratings.items()
    }
    # By criterion and not of the overall marks: a judge that strays in one criterion counts in the others.
    medians = {name: statistics.median(marks[name] for marks in by_judge.values()) for name in names if by_judge}
    values = [[overall(marks) for marks in samples] for samples in ratings.values()]
    rows = cast("Sequence[MarksRecord]", answers)
    panel = list(dict.fromkeys((*judges, *sorted(str(row["model"]) for row in rows))))
    silent = next((judge for judge in panel if judge not in by_judge), "")
    missing = None
    if silent or not by_judge:
        # The first gap stands for all: the score can carry one reason, and the number of gaps is in `n_missing`.
        missing = dict(reversed(gaps)).get(silent, Missing(MissingKind.ABSENT, "the judge was not asked"))
    if missing is not None and len(panel) > 1:
        missing = replace(missing, detail=f"{silent}: {missing.detail}")
    return JudgeScore(
        value=overall(medians) if missing is None else None,
        missing=missing,
        marks={} if rubric.is_pairwise or missing is not None else medians,
        by_judge=by_judge if len(panel) > 1 else {},
        deviation=deviation_over_samples(values),
        n=sum(map(len, values)),
        n_missing=len(gaps),
        # The smallest share, because the score rests on no more than the call that read least.
        coverage=min((float(row["coverage"]) for row in rows), default=None) if by_judge else None,
        evidence={} if rubric.is_pairwise else _collect_evidence(rubric, rows),
        quotes=sum(int(row.get("quotes", 0)) for row in rows),
        quotes_found=sum(int(row.get("quotes_found", 0)) for row in rows),
        flipped=flipped,
    )


def _read_answer(row: Mapping[str, object], parse: Callable[[str], _T]) -> _T | Missing:
    """Return what a kept answer says, or why it says nothing."""
    # A kept answer is parsed again and not trusted: a journal is a file that can be edited.
    judged = from_record(row)
    if judged.value is None:
        return judged.missing or Missing(MissingKind.FAILED, "no answer")
    try:
        return parse(judged.value.payload)
    except Violation as error:
        return Missing(MissingKind.FAILED, str(error))


def _row_order(row: MarksRecord) -> tuple[str, int, int]:
    return str(row["model"]), int(row["sample"]), int(row["part"])


def _rate_samples(rubric: Rubric, rows: Sequence[MarksRecord]) -> tuple[_Ratings, _Gaps]:
    """Return for each judge the marks of every sample whose parts were all answered, and why others count for nothing."""
    samples: dict[tuple[str, int], list[tuple[int, dict[str, float]] | Missing]] = defaultdict(list)
    # Answers come in any order; sums of fractions in another order would differ in their last digit.
    for row in sorted(rows, key=_row_order):
        marks = _read_answer(row, lambda payload: parse_marks(payload, rubric))
        # A mark weighed by token probabilities, where there are any, stands for the plain one.
        weighted = row.get("weighted") or {}
        part: tuple[int, dict[str, float]] | Missing
        if isinstance(marks, Missing):
            part = marks
        else:
            scores = {
                name: float(weighted[name][0]) if name in weighted else mark.score for name, mark in marks.items()
            }
            part = int(row["chars"]), scores
        samples[str(row["model"]), int(row["sample"])].append(part)
    complete: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    gaps: list[tuple[str, Missing]] = []
    for (model, _), parts in samples.items():
        # The mean of a sample that lacks a part would be over other text than those of the others.
        read = [part for part in parts if not isinstance(part, Missing)]
        if len(read) < len(parts):
            gaps.append((model, next(part for part in parts if isinstance(part, Missing))))
            continue
        # A mark for a long part rests on more text than one for a short part.
        total = sum(chars for chars, _ in read)
        complete[model].append(
            {c.name: math.fsum(chars * marks[c.name] for chars, marks in read) / total for c in rubric.criteria}
        )
    return complete, gaps


def _rate_pairs(rows: Sequence[ComparisonRecord]) -> tuple[_Ratings, _Gaps, int]:
    """Return for each judge the verdict of every sample that has both orders, why others count for nothing, and the flips."""
    worth = {"first": 1.0, "tie": 0.5, "second": 0.0}
    samples: dict[tuple[str, int], dict[str, Winner | Missing]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: (row["model"], row["sample"], row["order"])):
        samples[row["model"], row["sample"]][row["order"]] = _read_answer(row, parse_winner)
    complete: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    gaps: list[tuple[str, Missing]] = []
    flips = 0
    for (model, _), winners in samples.items():
        forward, backward = winners.get("forward"), winners.get("backward")
        gap = next((winner for winner in (forward, backward) if isinstance(winner, Missing)), None)
        if gap is not None or forward is None or backward is None:
            gaps.append((model, gap or Missing(MissingKind.ABSENT, "the judge was not asked in both orders")))
            continue
        verdict = both_orders(cast("Winner", forward), cast("Winner", backward))
        flips += verdict.flipped
        complete[model].append({PREFERRED: worth[verdict.winner]})
    return complete, gaps, flips


def _collect_evidence(rubric: Rubric, rows: Sequence[MarksRecord]) -> dict[str, dict[str, object]]:
    for row in sorted(rows, key=_row_order):
        marks: dict[str, CriterionMark] | Missing = _read_answer(row, lambda payload: parse_marks(payload, rubric))
        if not isinstance(marks, Missing):
            evidence: dict[str, dict[str, object]] = {}
            for name, mark in marks.items():
                evidence[name] = {"reason": mark.reason, "quotes": list(mark.quotes)}
                evidence[name] |= {"grade": mark.grade} if mark.grade else {}
            return evidence
    return {}


def deviation_over_samples(by_judge: Sequence[Sequence[float]]) -> float | None:
    """Return how far the values of one judge differ from sample to sample; None where no judge has two.

    Of several judges it is the root of their mean variance: how far they differ from one another is not part of it.
    """
    variances = [statistics.variance(values) for values in by_judge if len(values) > 1]
    return math.sqrt(statistics.fmean(variances)) if variances else None


class PanelAgreement(TypedDict):
    """How far the judges of a panel say the same."""

    value: float | None
    """Krippendorff's alpha."""
    n: int
    interval: IntervalRecord | None
    note: str
    judges: list[str]


def panel_agreement(
    by_judges: Sequence[Mapping[str, Mapping[str, float]]], names: Sequence[str]
) -> PanelAgreement | None:
    """Return Krippendorff's ordinal alpha over a panel's marks; None for a single judge.

    A text's marks by several criteria belong together: the interval is over the texts.
    """
    from markbook.stats import krippendorff_alpha

    judges = sorted({judge for panel in by_judges for judge in panel})
    if len(judges) < 2:
        return None
    # A judge that did not answer leaves a gap, which alpha takes as missing and not as a mark.
    ratings = [[panel.get(judge, {}).get(name) for panel in by_judges for name in names] for judge in judges]
    texts = [number for number in range(len(by_judges)) for _ in names]
    estimate = krippendorff_alpha(ratings, "ordinal", clusters=texts)
    interval = None if estimate.interval is None else estimate.interval.to_record()
    return PanelAgreement(value=estimate.value, n=estimate.n, interval=interval, note=estimate.note, judges=judges)


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


def compare_prompt(first: str, second: str, questions: Sequence[str], name: str) -> str:
    """Return the prompt that puts `first` in place A and `second` in place B; all judges and samples share it.

    The questions stand before them, a paragraph each, with whatever both are judged by; `name` is that of the two texts.
    """
    return "\n\n".join((*questions, block(f"{name}-A", first), block(f"{name}-B", second)))


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
    # The same place in both orders is another text each time.
    if forward == backward and forward != "tie":
        return PairVerdict("tie", flipped=True, position=forward)
    swapped: Mapping[Winner, Literal["first", "second", "tie"]] = {"A": "second", "B": "first", "tie": "tie"}
    straight: Mapping[Winner, Literal["first", "second", "tie"]] = {"A": "first", "B": "second", "tie": "tie"}
    if straight[forward] == swapped[backward]:
        return PairVerdict(straight[forward], flipped=False, position="")
    return PairVerdict("tie", flipped=False, position="")


class ComparisonRecord(EndRecord, total=False):
    """The end of a comparison, as a journal keeps it."""

    rubric: str
    model: str
    order: str
    sample: int
    coverage: float


@dataclass(frozen=True, slots=True)
class PairwiseQuestion:
    """One call that compares two answers, in one of both orders."""

    rubric: Rubric
    model: str
    order: str
    """`forward`: the judged answer stands first."""
    sample: int
    coverage: float
    call: Call

    @property
    def key(self) -> tuple[str | int, ...]:
        """Return what names it within its case."""
        return (self.rubric.name, self.model, self.order, self.sample)

    def check(self, payload: str) -> object:
        """Raise `Violation` unless the payload names a winner."""
        return parse_winner(payload)

    def record(self, judged: Judged) -> ComparisonRecord:
        """Return the answer as a journal keeps it."""
        return ComparisonRecord(
            **to_record(judged), rubric=self.rubric.name, model=self.model, order=self.order, sample=self.sample,
            coverage=self.coverage,
        )  # fmt: skip


def _iterate_pairwise_questions(
    rubric: Rubric, texts: JudgeInput, settings: JudgeSettings
) -> Iterator[PairwiseQuestion]:
    most = REVIEW_CHARS // 2  # the two texts share what one text alone would have
    both = texts.text(rubric.judged), texts.text("reference")
    beside = {name: texts.text(name) for name in rubric.reads if role(name) not in ("answer", "reference")}
    lines = describe_rubric(rubric)
    for name, text in beside.items():
        short_texts, notes, _ = cut_texts({name: text})
        lines += [*notes, block(name, short_texts[name])]
    first, second = (text[:most] for text in both)
    read = len(first) + len(second) + sum(min(REVIEW_CHARS, len(text)) for text in beside.values())
    # Texts that are shown beside both answers count once, since each call shows them once.
    coverage = read / (sum(map(len, both)) + sum(map(len, beside.values())))
    orders = (("forward", (first, second)), ("backward", (second, first)))
    prompts = {order: compare_prompt(*shown, lines, rubric.judged) for order, shown in orders}
    system = system_text(rubric)
    for model in settings.models:
        for sample in range(settings.samples):
            for order, prompt in prompts.items():
                call = settings.call(model, rubric.name, (system, prompt), SCHEMA, sample)
                yield PairwiseQuestion(rubric, model, order, sample, coverage, call)
