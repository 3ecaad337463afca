"""What the answers of an examined judge come to: each probe with its interval and n."""

from __future__ import annotations

import hashlib
import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from markbook.judge.assess import PairVerdict
from markbook.measurements import CONFIDENCE
from markbook.stats import cohen_kappa, krippendorff_alpha, t_interval, wilson_interval
from markbook.stats.arrays import t_quantile
from markbook.stats.records import Estimate

EXACT_FIT = "all pairs lie on one line: no interval"


@dataclass(frozen=True, slots=True)
class KnownText:
    """A text that is judged, and what people say of it: a review with its writer's recommendation, a labelled answer."""

    item: str
    """What it is about: a paper, a question. Texts of one item are compared with one another."""
    text: str
    mark: int | None = None
    """People's, on the scale that the judge is asked for."""
    system: str = ""
    """Which model wrote it; empty for a person."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """What it is judged by: question, context, reference."""

    @property
    def digest(self) -> str:
        """Return what names it in another report."""
        return hashlib.sha256(f"{self.item}\0{self.text}".encode("utf-8", "replace")).hexdigest()[:16]


Couple = tuple[KnownText, KnownText]
DecidedCouple = tuple[Couple, PairVerdict]


class AgreementRecord(TypedDict):
    """A number with its interval."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    note: NotRequired[str]


class Constant(TypedDict):
    """What always giving the most frequent human mark would reach."""

    answer: int | None
    exact: AgreementRecord
    weighted_kappa: float | None
    """0 where people's marks vary; None where they do not, or there are none."""


class People(TypedDict):
    """Agreement with people."""

    n: int
    n_missing: int
    weighted_kappa: AgreementRecord
    krippendorff_alpha: AgreementRecord
    exact: AgreementRecord
    constant_answer: Constant
    mean_difference: float | None


class Level(TypedDict):
    """What people say where the judge gives one mark."""

    mark: int
    people: AgreementRecord


class Calibration(TypedDict):
    """Whether the judge's marks mean what people's do."""

    bias: AgreementRecord
    """The judge's mark minus people's."""
    slope: AgreementRecord
    """How much people's mark rises where the judge's rises by one: below 1 the judge exaggerates."""
    by_mark: list[Level]
    scale: tuple[int, int]
    """The lowest and the highest mark."""


class Consistency(TypedDict):
    """The same question again."""

    samples: int
    n: int
    n_missing: int
    identical: AgreementRecord
    mean_deviation: float | None
    icc: AgreementRecord


class Shift(TypedDict):
    """What something that changes no substance does to the mark."""

    n: int
    n_missing: int
    raised: AgreementRecord
    lowered: AgreementRecord
    shift: AgreementRecord
    mean_shift: float | None


class OrderProbe(TypedDict):
    """Pairs in both orders."""

    pairs: int
    flip_rate: AgreementRecord
    first_position_among_flips: AgreementRecord


class Length(TypedDict):
    """Which of two texts wins, by length."""

    decided_pairs: int
    longer_wins: AgreementRecord


class Family(TypedDict):
    """Which of two texts wins, by who wrote it."""

    family: str
    pairs: int
    decided_pairs: int
    own_family_wins: AgreementRecord
    own_family_wins_when_shorter: AgreementRecord
    note: str


class Drift(TypedDict):
    """Two versions of a judge on the same texts: this one minus the one before."""

    before: str
    n: int
    n_only_here: int
    shift: AgreementRecord
    same: AgreementRecord
    krippendorff_alpha: AgreementRecord
    note: str


def agreement(human: Sequence[int], judge: Sequence[int], *, requested: int) -> People:
    """Return how well a judge's marks agree with people's: weighted kappa, alpha, and what a constant answer reaches.

    The constant answer is the most frequent human mark: a judge that does not beat its exact agreement has told nothing.
    """
    # Marks have an order: quadratic weights let a miss by two steps count four times a miss by one.
    kappa = cohen_kappa(human, judge, "quadratic") if human else Estimate(None, note="no pair")
    alpha = krippendorff_alpha([human, judge], "ordinal") if human else Estimate(None, note="no pair")
    exact = sum(mark == other for mark, other in zip(human, judge, strict=True))
    # Most human marks are alike: 80 % agreement may be what always saying 4 reaches.
    common, times = Counter(human).most_common(1)[0] if human else (None, 0)
    return People(
        n=len(human),
        n_missing=requested - len(human),
        weighted_kappa=to_record(kappa),
        krippendorff_alpha=to_record(alpha),
        exact=share(exact, len(human)),
        constant_answer=Constant(
            answer=common, exact=share(times, len(human)), weighted_kappa=0.0 if len(set(human)) > 1 else None
        ),
        mean_difference=statistics.fmean(j - h for h, j in zip(human, judge, strict=True)) if human else None,
    )


def calibration(human: Sequence[int], judge: Sequence[int], scale: tuple[int, int]) -> Calibration:
    """Return how far the judge's marks lie from people's, in all and where the judge gives each of its marks."""
    by_mark: dict[int, list[float]] = {}
    for human_mark, judge_mark in zip(human, judge, strict=True):
        by_mark.setdefault(judge_mark, []).append(human_mark)
    return Calibration(
        bias=_mean([judge_mark - human_mark for human_mark, judge_mark in zip(human, judge, strict=True)]),
        slope=to_record(slope(judge, human)),
        by_mark=[Level(mark=mark, people=_mean(human_marks)) for mark, human_marks in sorted(by_mark.items())],
        scale=scale,
    )


def slope(x: Sequence[float], y: Sequence[float]) -> Estimate:
    """Return how much y rises with x by least squares, with Student's interval; none where all lie on one line.

    >>> slope([1, 2, 3, 4], [1, 2, 2, 3]).value
    0.6
    """
    n = len(x)
    if n < 3 or len(set(x)) < 2:
        return Estimate(None, n=n, note="three pairs and two different marks are the least")
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    spread = math.fsum((x_value - mean_x) ** 2 for x_value in x)
    value = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
    rest = math.fsum((b - mean_y - value * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))
    # What rounding leaves of nothing would give an interval of almost no width.
    if rest <= 1e-24 * math.fsum((b - mean_y) ** 2 for b in y):
        return Estimate(value, n=n, method="least-squares", note=EXACT_FIT)
    se = math.sqrt(rest / (n - 2) / spread)
    reach = t_quantile(CONFIDENCE, n - 2) * se
    return Estimate(value, value - reach, value + reach, se, n=n, method="least-squares")


def shifts(before: Sequence[float | None], after: Sequence[float | None]) -> Shift:
    """Return what becomes of marks when the texts are changed in a way that adds no substance."""
    changes = [b - a for a, b in zip(before, after, strict=True) if a is not None and b is not None]
    return Shift(
        n=len(changes),
        n_missing=len(before) - len(changes),
        raised=share(sum(change > 0 for change in changes), len(changes)),
        lowered=share(sum(change < 0 for change in changes), len(changes)),
        shift=_mean(changes),
        mean_shift=statistics.fmean(changes) if changes else None,
    )


def drift(before: str, old: Mapping[str, float], new: Mapping[str, float], *, is_sure: bool = True) -> Drift:
    """Return how this judge's marks differ from those of an earlier one on the same texts.

    Both are by the texts' digests; `is_sure` says whether they are known to be by one rubric.
    """
    both = [name for name in new if name in old]
    pairs = [(old[name], new[name]) for name in both]
    alpha = (
        # Overall marks are shares on 0..1 and not grades, so their distances count.
        krippendorff_alpha([[a for a, _ in pairs], [b for _, b in pairs]], "interval")
        if pairs
        else Estimate(None, note="no text in common")
    )
    return Drift(
        before=before,
        n=len(both),
        n_only_here=len(new) - len(both),
        shift=_mean([b - a for a, b in pairs]),
        same=share(sum(a == b for a, b in pairs), len(pairs)),
        krippendorff_alpha=to_record(alpha),
        note="" if is_sure else "the earlier report does not say by which rubric it was made",
    )


def family(name: str) -> str:
    """Return the model family that a name tells: its first word of letters, the provider aside.

    >>> family("openai:gpt-4o-mini"), family("claude-3-opus"), family("Llama3-70b")
    ('gpt', 'claude', 'llama')
    """
    match = re.search(r"[a-z]+", name.rpartition(":")[2].lower())
    return match.group() if match else ""


def order(verdicts: Sequence[PairVerdict]) -> OrderProbe:
    """Return how often the place alone decides."""
    # A judge without a leaning to a place flips towards A and B alike often: the second share tells which one it likes.
    flipped = [verdict for verdict in verdicts if verdict.flipped]
    return OrderProbe(
        pairs=len(verdicts),
        flip_rate=share(len(flipped), len(verdicts)),
        first_position_among_flips=share(sum(verdict.position == "A" for verdict in flipped), len(flipped)),
    )


def own_side(couple: Couple, mine: str) -> int | None:
    """Return which of two generated reviews is by the judge's own family; None unless exactly one is."""
    own = [family(review.system) == mine for review in couple]
    # A text by a person belongs to no family, so the couple says nothing of a preference for one's own.
    if not all(review.system for review in couple) or own[0] == own[1]:
        return None
    return 0 if own[0] else 1


def length(verdicts: Sequence[DecidedCouple]) -> Length:
    """Return how often the longer text wins."""
    decided = [(pair, verdict) for pair, verdict in verdicts if verdict.winner != "tie"]
    # Of two texts of one length neither can be preferred for it.
    decided = [(pair, verdict) for pair, verdict in decided if len(pair[0].text) != len(pair[1].text)]
    longer = sum((len(pair[0].text) > len(pair[1].text)) == (verdict.winner == "first") for pair, verdict in decided)
    return Length(decided_pairs=len(decided), longer_wins=share(longer, len(decided)))


def own_family(verdicts: Sequence[DecidedCouple], judge: str) -> Family:
    """Return how often the judge's own family wins, in all and where its review is the shorter one.

    The second number tells a preference for the family from one for length, which it may only look like.
    """
    mine = family(judge)
    wins: list[bool] = []
    shorter: list[bool] = []
    for couple, verdict in verdicts:
        side = own_side(couple, mine)
        if side is None or verdict.winner == "tie":
            continue
        won = verdict.winner == ("first", "second")[side]
        wins.append(won)
        if len(couple[side].text) < len(couple[1 - side].text):
            shorter.append(won)
    note = "" if wins else "no decided pair has one review by the judge's own family; name each text's `system`"
    return Family(
        family=mine,
        pairs=len(verdicts),
        decided_pairs=len(wins),
        own_family_wins=share(sum(wins), len(wins)),
        own_family_wins_when_shorter=share(sum(shorter), len(shorter)),
        note=note,
    )


def share(count: int, n: int) -> AgreementRecord:
    """Return a share with Wilson's interval."""
    if n == 0:
        return AgreementRecord(value=None, low=None, high=None, n=0)
    estimate = wilson_interval(count, n)
    return AgreementRecord(value=estimate.value, low=estimate.low, high=estimate.high, n=n)


def to_record(estimate: Estimate) -> AgreementRecord:
    """Return an estimate as a report tells it."""
    return AgreementRecord(value=estimate.value, low=estimate.low, high=estimate.high, n=estimate.n, note=estimate.note)


def _mean(values: Sequence[float]) -> AgreementRecord:
    return to_record(t_interval(values)) if values else share(0, 0)
