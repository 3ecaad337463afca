"""Any answer before a judge: by its question, a reference, a context, or beside another answer."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, cast

from markbook.judge.assess import (
    WHOLE,
    Assessment,
    JudgeQuestion,
    JudgeSettings,
    both_orders,
    compare_call,
    compare_prompt,
    deviation_over_samples,
    make_questions,
    parse_winner,
    settle,
)
from markbook.judge.client import EndRecord, Judged, Violation, from_record, to_record
from markbook.judge.rubrics import REVIEW_CHARS, Call, Rubric, block, cut, describe_rubric, system_text
from markbook.types import IntervalRecord, Missing, MissingKind

TEXTS = ("question", "context", "reference", "answer")
"""What a rubric may read of a task's row."""
_ALIASES = {"review": "answer", "trace": "answer", "paper": "context"}
"""What the documents' rubrics call them."""
_LACKING = {
    "answer": Missing(MissingKind.NO_COMPLETION, "the answer is empty"),
    "reference": Missing(MissingKind.UNDEFINED, "no reference"),
    "question": Missing(MissingKind.NOT_APPLICABLE, "there is no question"),
    "context": Missing(MissingKind.NOT_APPLICABLE, "there is no context"),
}


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """One answer with what it is judged by."""

    answer: str
    question: str = ""
    reference: str = ""
    context: str = ""

    def text(self, name: str) -> str:
        """Return what a rubric means by a name."""
        text: str = getattr(self, _ALIASES.get(name, name))
        return text


def role(name: str) -> str:
    """Return which text of a row a rubric means by a name.

    >>> role("paper"), role("answer")
    ('context', 'answer')
    """
    return _ALIASES.get(name, name)


def lacking(rubric: Rubric, case: JudgedCase) -> Missing | None:
    """Return why a rubric cannot be asked of an answer; None if it can."""
    needed = {"answer", *map(role, rubric.reads), *(("reference",) if rubric.is_pairwise else ())}
    return next((why for name, why in _LACKING.items() if name in needed and not getattr(case, name).strip()), None)


def case_questions(rubric: Rubric, case: JudgedCase, settings: JudgeSettings) -> list[JudgeQuestion | Duel]:
    """Return every call that judges an answer."""
    texts = {name: case.text(name)[:REVIEW_CHARS] for name in rubric.reads if name != rubric.long}
    share, notes = 1.0, []
    for name, text in texts.items():
        if len(full := case.text(name)) > len(text):
            share *= len(text) / len(full)
            notes.append(f"The {name} is cut: you see its first {len(text) / len(full):.0%}.")
    if rubric.is_pairwise:
        return list(_duels(rubric, case, settings))
    pieces = cut([case.text(rubric.long)], size=settings.part_chars) if rubric.long in rubric.reads else WHOLE
    return list(make_questions(rubric, texts, pieces, settings, share=share, note=" ".join(notes)))


class DuelRecord(EndRecord, total=False):
    """The end of a comparison, as a journal keeps it."""

    rubric: str
    model: str
    order: str
    sample: int
    coverage: float


@dataclass(frozen=True, slots=True)
class Duel:
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

    def record(self, judged: Judged) -> DuelRecord:
        """Return the answer as a journal keeps it."""
        return DuelRecord(
            **to_record(judged),
            rubric=self.rubric.name,
            model=self.model,
            order=self.order,
            sample=self.sample,
            coverage=self.coverage,
        )


def _duels(rubric: Rubric, case: JudgedCase, settings: JudgeSettings) -> Iterator[Duel]:
    most = REVIEW_CHARS // 2
    texts = case.text(rubric.judged)[:most], case.reference[:most]
    others = [name for name in rubric.reads if role(name) not in ("answer", "reference")]
    lines = describe_rubric(rubric)
    total = 0
    for name in others:
        text = case.text(name)
        total += len(text)
        if len(text) > REVIEW_CHARS:
            lines.append(f"The {name} is cut: you see its first {REVIEW_CHARS / len(text):.0%}.")
        lines.append(block(name, text[:REVIEW_CHARS]))
    read = sum(map(len, texts)) + sum(min(REVIEW_CHARS, len(case.text(name))) for name in others)
    total += len(case.text(rubric.judged)) + len(case.reference)
    orders = (("forward", texts), ("backward", texts[::-1]))
    prompts = {order: compare_prompt(*both, questions=lines, name=rubric.judged) for order, both in orders}
    system = system_text(rubric)
    for model in settings.models:
        for sample in range(settings.samples):
            for order, prompt in prompts.items():
                call = compare_call(prompt, model, settings, sample=sample, rubric=rubric.name, system=system)
                yield Duel(rubric, model, order, sample, read / total, call)


@dataclass(frozen=True, slots=True)
class Settled:
    """What the judges said of an answer."""

    value: float | None
    missing: Missing | None
    stats: dict[str, object] = field(default_factory=dict)


def settle_case(rubric: Rubric, rows: Sequence[Mapping[str, object]]) -> Settled:
    """Return what kept answers amount to; all rows are of one case and rubric."""
    if rubric.is_pairwise:
        return _settle_duels(rows)
    assessment = settle(rubric, rows)
    return Settled(assessment.value, assessment.missing, _stats(assessment))


def _stats(assessment: Assessment) -> dict[str, object]:
    stats: dict[str, object] = {"n": assessment.n, "n_missing": assessment.n_missing}
    if assessment.value is None:
        return stats
    stats |= {"marks": dict(assessment.marks), "coverage": assessment.coverage, "evidence": dict(assessment.evidence)}
    if assessment.by_judge:
        stats["by_judge"] = {judge: dict(marks) for judge, marks in assessment.by_judge.items()}
    if assessment.deviation is not None:
        stats["deviation"] = assessment.deviation
    if assessment.quotes:
        stats |= {"quotes": assessment.quotes, "quotes_found": assessment.quotes_found}
    return stats


_WORTH = {"first": 1.0, "tie": 0.5, "second": 0.0}


class _DuelRecord(TypedDict):
    """What is kept of a judge's answer about two texts, beside the answer itself."""

    model: str
    sample: int
    order: str
    coverage: float


def _settle_duels(answers: Sequence[Mapping[str, object]]) -> Settled:
    """Return 1 for a win, .5 for a tie, 0 for a loss: the mean over samples, the median over judges."""
    rows = cast("Sequence[_DuelRecord]", answers)
    ends: dict[tuple[str, int], dict[str, str | Missing]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: (row["model"], row["sample"], row["order"])):
        ends[row["model"], row["sample"]][row["order"]] = _winner(row)
    values: dict[str, list[float]] = defaultdict(list)
    gaps: list[Missing] = []
    flips = 0
    for (model, _), verdicts in ends.items():
        forward, backward = verdicts.get("forward"), verdicts.get("backward")
        gap = next((side_verdict for side_verdict in (forward, backward) if isinstance(side_verdict, Missing)), None)
        if gap is not None or forward is None or backward is None:
            gaps.append(gap or Missing(MissingKind.ABSENT, "the judge was not asked in both orders"))
            continue
        verdict = both_orders(forward, backward)  # type: ignore[arg-type]  # parse_winner returned them
        flips += verdict.flipped
        values[model].append(_WORTH[verdict.winner])
    n = sum(map(len, values.values()))
    stats: dict[str, object] = {"n": n, "n_missing": len(gaps)}
    if not values:
        return Settled(None, gaps[0] if gaps else Missing(MissingKind.ABSENT, "the judge was not asked"), stats)
    by_judge = {model: statistics.fmean(some) for model, some in values.items()}
    stats |= {"flipped": flips, "coverage": min(row["coverage"] for row in rows)}
    if len(by_judge) > 1:
        stats["by_judge"] = {model: {"preferred": value} for model, value in by_judge.items()}
    if (deviation := deviation_over_samples(list(values.values()))) is not None:
        stats["deviation"] = deviation
    return Settled(statistics.median(by_judge.values()), None, stats)


def _winner(row: Mapping[str, object]) -> str | Missing:
    judged = from_record(row)
    if judged.answer is None:
        return judged.missing or Missing(MissingKind.FAILED, "no answer")
    try:
        return parse_winner(judged.answer.payload)
    except Violation as error:
        return Missing(MissingKind.FAILED, str(error))


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

    Args:
        by_judges: for each judged text its marks by judge.
        names: the criteria.
    """
    from markbook.stats import krippendorff_alpha

    judges = sorted({judge for panel in by_judges for judge in panel})
    if len(judges) < 2:
        return None
    ratings = [[panel.get(judge, {}).get(name) for panel in by_judges for name in names] for judge in judges]
    texts = [number for number in range(len(by_judges)) for _ in names]
    estimate = krippendorff_alpha(ratings, "ordinal", clusters=texts)
    interval = None if estimate.interval is None else estimate.interval.to_record()
    return PanelAgreement(value=estimate.value, n=estimate.n, interval=interval, note=estimate.note, judges=judges)
