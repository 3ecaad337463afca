"""A judge's scores beside people's labels: the corrected mean or difference, and what the judge gets wrong by group.

Theory of operation
-------------------
A judge scores every item and is wrong in unknown ways; people label a few items and are taken to be right. The estimate is the
judge's mean plus the mean of (label - score) over the labelled items (prediction-powered inference, `stats.corrected_mean`): the
labels alone decide where it lies, so it is right however bad the judge is, and a good judge makes its interval narrow.

1. `correct` reads the judged rows, one for each item and system. A row twice is an error, a row without a score is counted.
2. `_join` puts each label beside its row. Labels of unknown items and those that say nothing are counted and named as problems.
3. `_table` makes the numbers that are compared: scores of one system; or, for two systems, paired differences or preferences.
   Items that people marked one by one and items that they compared side by side measure different things, so the larger of both
   groups is used and the other one named. Labels by two rubrics, or by another than the judge's, would be such an estimate too:
   they are an error, where labels and run say by which they are (`check_rubrics`).
4. Items that were drawn with unequal probability (`judge.labels.draw`) are weighed by its inverse, which keeps the mean
   unbiased. So all labels must come from one draw and state their probability: anything else is an error and not a guess.
5. Clusters widen the interval where items belong together; strata are estimated by themselves.

An item without an answer cannot be labelled: its score is what the rules say and stands as it is (`settled`). If people labelled
such items all the same, they drew among all of them, and none is taken as settled. From the spread of the differences follows
how many labels a wanted width takes, and `draw` names those to label first; a larger draw contains the smaller one, so no label
is wasted.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from markbook.errors import DataError, UsageError
from markbook.files.jsonl import Line, Rejection, read_jsonl
from markbook.judge.labels import Label, LabelItem, draw, is_id, number, read_item, read_labels
from markbook.judge.rubrics import RUBRIC_ID, RUBRICS
from markbook.measurements import CONFIDENCE
from markbook.stats import corrected_mean, holm, labels_needed, t_interval
from markbook.stats.records import Estimate

_Key = tuple[str, str]
"""Item and system."""
_MOST_NAMED = 200
"""Items that a plan names."""
_JUDGED_BY = re.compile(r"judge\|rubric:(.+?)\|judges:")
_PART = re.compile(r"\|(criterion:[^|]+|passed)(?:\||$)")
"""In the signature of a judge's score: the rubric, and which part of what it says."""
_OWN_QUESTIONS = ("quality-", "reasons-")
"""The rubrics of `markbook label` where none is named."""


@dataclass(frozen=True, slots=True)
class CorrectionRequest:
    """What is corrected, and by what."""

    judged: Path | Sequence[Line]
    """Every item with the judge's score: a file, or its rows."""
    labels: Sequence[Path]
    """Files of people's labels, or folders of such files."""
    score: str = "score"
    """The key of the judge's score: at a row's top, or in its `metrics`."""
    signatures: Collection[str] = ()
    """What the scores of a run were measured by; a file does not say."""
    limits: tuple[float, float] = (-math.inf, math.inf)
    """Between which the scores of a run lie."""
    systems: tuple[str, ...] = ()
    """Two systems: their paired difference, first minus second. Empty: the mean over all rows."""
    cluster: str = ""
    stratum: str = ""
    unanswered: Collection[_Key] = ()
    """Items and systems without an answer that a rater could see: where none of them has a label, their scores stand."""
    by: str = ""
    """The key whose groups the judge's errors are told for."""
    target: float | None = None
    """A half-width to plan for; None: half of what it is now."""
    confidence: float = CONFIDENCE


class NextLabel(TypedDict):
    """An item that people should label next."""

    id: str
    system: str
    against: str


class LabelPlan(TypedDict):
    """What more labels would bring."""

    half_width: float | None
    labels: int | None
    """In all."""
    more: int | None
    next: list[NextLabel]
    """Which ones, the first `_MOST_NAMED`; drawn as `markbook label` draws."""
    note: str


class GroupError(TypedDict):
    """How far the judge is from the labels in a group."""

    group: str
    judge_minus_label: Mapping[str, Any]
    p_adjusted: float | None


class Corrected(TypedDict):
    """The report."""

    what: str
    corrected: Mapping[str, Any]
    stats: Mapping[str, float]
    items: int
    labels: int
    without_score: int
    cannot_say: int
    problems: list[str]
    errors_by_group: list[GroupError]
    plan: LabelPlan


@dataclass(slots=True)
class _Read:
    """Both files, joined."""

    rows: dict[_Key, Mapping[str, object]] = field(default_factory=dict)
    scores: dict[_Key, float] = field(default_factory=dict)
    labels: dict[_Key, list[Label]] = field(default_factory=lambda: defaultdict(list))
    duels: dict[str, list[Label]] = field(default_factory=lambda: defaultdict(list))
    """Labels that compare the two systems, by item; 1 where the first is the better one."""
    problems: list[str] = field(default_factory=list)
    without_score: int = 0
    without_answer: int = 0
    """Labels that say that nobody can say."""


@dataclass(frozen=True, slots=True)
class _Table:
    """What is estimated over: one line an item."""

    what: str
    keys: list[_Key]
    scores: list[float]
    said: list[list[Label]]
    labels: list[float | None]
    limits: tuple[float, float]
    """Between which any mean lies."""
    against: str = ""
    settled: list[bool] = field(default_factory=list)
    """Items whose score stands, since there is nothing to label."""
    unit: tuple[float, float] = (1.0, 0.0)
    """What turns a score into one on 0..1, for drawing: factor and summand."""


def correct(request: CorrectionRequest) -> Corrected:
    """Return the report: the estimate or the reason why there is none, the judge's errors by group, the plan.

    Raises:
        DataError: no judged row, no label, a row twice, labels of which none belongs to a judged row, or of several draws.
        UsageError: systems that the rows do not have.
    """
    read = _Read()
    lines = _lines(request.judged, read.problems) if isinstance(request.judged, Path) else request.judged
    for line in lines:
        key = read_item(line.record)
        # Two scores of one item and system would count twice, and nothing says which of them is right.
        if key in read.rows:
            hint = "one row an item and system: name two systems' rows by `system`; of a run with several tasks name the folder"
            raise DataError(f"the item {key[0]!r:.60} stands twice", at=line.at, hint=hint)
        read.rows[key] = line.record
        score, metrics = line.record.get(request.score), line.record.get("metrics")
        if score is None and isinstance(metrics, Mapping):
            score = metrics.get(request.score)
        # A missing score is counted and never read as 0.
        if (value := number(score)) is None:
            read.without_score += 1
        else:
            read.scores[key] = value
    if not read.scores:
        at = str(request.judged) if isinstance(request.judged, Path) else ""
        raise DataError(f"no row has a number {request.score!r}", at=at, hint="--score names the key")
    read.scores = dict(sorted(read.scores.items()))  # no order of rows moves a last digit
    _join(read, request)
    named = {str(row["rubric"]) for row in read.rows.values() if RUBRIC_ID.fullmatch(str(row.get("rubric")))}
    signatures = list(request.signatures) or [f"judge|rubric:{name}|judges:" for name in sorted(named)]
    read.problems += check_rubrics(read.labels, read.duels, signatures)
    table = _table(read, request)
    if settled := sum(table.settled):
        read.problems.append(f"{settled} items have no answer to label: their scores stand as they are")
    # Attempts at one item, and systems' answers to it, are no more certain than their items are many.
    items: list[Hashable] = [str(read.rows[key]["id"]) for key in table.keys]
    has_several = len(set(items)) < len(items)
    clusters = items if has_several else None
    if request.cluster:
        # An item of which the rows do not say to what it belongs stands by itself.
        by_item: dict[Hashable, Hashable] = {}
        for item, cluster in zip(items, _column(read, table.keys, request.cluster), strict=True):
            if cluster is not None and by_item.setdefault(item, cluster) != cluster:
                two = " and ".join(map(repr, (by_item[item], cluster)))
                raise DataError(f"the rows of item {item!r} are in two clusters, {two}", hint="leave --cluster out")
        clusters = [by_item.get(item, ("", item)) for item in items]
    elif has_several:
        read.problems.append(
            f"the {len(items)} rows are of {len(set(items))} items: the rows of an item count as one cluster"
        )
    estimate = corrected_mean(
        table.scores,
        table.labels,
        probabilities=_probabilities(table),
        clusters=clusters,
        strata=_strata(read, table.keys, request.stratum),
        settled=table.settled,
        confidence=request.confidence,
    )
    # A mean beyond what scores and labels can be is impossible, and so are the parts of an interval there.
    low, high = table.limits

    def clip(end: float) -> float:
        return min(high, max(low, end))

    if estimate.value is not None and estimate.low is not None and estimate.high is not None:
        ends = {name: clip(end) for name, end in estimate.stats.items() if name.endswith(("_low", "_high"))}
        value, stats = clip(estimate.value), {**estimate.stats, **ends}
        estimate = replace(estimate, value=value, low=clip(estimate.low), high=clip(estimate.high), stats=stats)
    return Corrected(
        what=table.what,
        corrected=estimate.to_record(),
        stats=dict(estimate.stats),
        items=len(table.scores),
        labels=estimate.n,
        without_score=read.without_score,
        cannot_say=read.without_answer,
        problems=read.problems,
        errors_by_group=_errors(read, request) if request.by else [],
        plan=_plan(estimate, table, request),
    )


def _plan(estimate: Estimate, table: _Table, request: CorrectionRequest) -> LabelPlan:
    """Return how many more labels the wanted half-width takes, and which items to label first."""
    half = estimate.stats.get("half_width", 0.0) / 2 if request.target is None else request.target
    n_open = sum(label is None and not done for label, done in zip(table.labels, table.settled, strict=True))
    can_be = estimate.n + n_open
    needed = labels_needed(estimate, half, items=can_be) if half > 0 else Estimate(None, note=estimate.note)
    total = None if needed.value is None else int(needed.value)
    more = None if total is None else max(0, total - estimate.n)
    # The items that the next draw adds to those with a label.
    # A judge's doubt is greatest at .5: differences are brought from -1..1 to 0..1 before that is asked.
    factor, summand = table.unit
    rows = zip(table.keys, table.scores, table.labels, table.settled, strict=True)
    unlabelled = [
        LabelItem(name, system, table.against, factor * score + summand)
        for (name, system), score, label, is_settled in rows
        if label is None and not is_settled
    ]
    following = [
        NextLabel(id=drawn.item.id, system=drawn.item.system, against=drawn.item.against)
        for drawn in draw(unlabelled, min(more or 0, _MOST_NAMED))
    ]
    return LabelPlan(half_width=half or None, labels=total, more=more, next=following, note=needed.note)


def _lines(path: Path, problems: list[str]) -> Iterable[Line]:
    for line in read_jsonl(path):
        if isinstance(line, Rejection):
            problems.append(f"{line.at}: {line.reason}: row skipped")
        elif is_id(line.record.get("id")):
            yield line
        elif is_id(name := line.record.get("paper_id")):
            yield Line({**line.record, "id": name}, line.at)
        else:
            problems.append(f"{line.at}: no key 'id': row skipped")


def _check_systems(labels: Iterable[Label], read: _Read) -> None:
    """Refuse labels of two systems for rows that do not say whose they are: they would be two raters of one.

    Raises:
        DataError: they are, with the place of the first of the second system.
    """
    first = ""
    for label in labels:
        is_unnamed = (label.id, label.system) not in read.rows and (label.id, "") in read.scores
        if label.system and not label.against and is_unnamed and label.system != (first := first or label.system):
            raise DataError(
                f"labels of {first!r} and of {label.system!r}, and the judged rows do not say whose they are",
                at=label.at,
                hint="add `system` to the judged rows, or give the labels of one system",
            )


def _join(read: _Read, request: CorrectionRequest) -> None:
    """Put every label beside the row that it is about."""
    labels = read_labels(request.labels)
    read.problems += labels.problems
    strangers = compared = 0
    systems = {system for _, system in read.rows}
    # With one system only, labels may leave its name out.
    only = next(iter(systems)) if len(systems) == 1 else ""
    _check_systems(labels.labels, read)
    for label in labels.labels:
        key = (label.id, label.system)
        if key not in read.rows:
            key = (label.id, "" if label.system else only)  # one side names the only system, the other none
        if label.against:
            # The pair is compared as a set: raters see both answers in either order.
            if {label.system, label.against} != set(request.systems):
                compared += 1
            elif not all((label.id, system) in read.scores for system in request.systems):
                strangers += 1
            elif label.label is None:
                read.without_answer += 1
            else:
                read.duels[label.id].append(label)
        elif key not in read.scores:
            strangers += 1
        elif label.label is not None and not request.limits[0] <= label.label <= request.limits[1]:
            words = f"a label is {label.label:g}, and the run's score lies from {request.limits[0]:g} to {request.limits[1]:g}"
            raise DataError(words, at=label.at, hint="labels are on the scale of the score")
        elif label.label is None:
            read.without_answer += 1
        else:
            read.labels[key].append(label)
    if strangers:
        read.problems.append(f"{strangers} labels belong to no judged row")
    if compared:
        read.problems.append(f"{compared} labels compare systems: --systems A B names which two")
    if not read.labels and not read.duels:
        at = ", ".join(map(str, request.labels))
        if read.without_answer:
            raise DataError(f"no label says anything: {read.without_answer} say that nobody can say (null)", at=at)
        hint = '{"id": .., "label": ..} a line' + (
            ', with "system" where there are several' if len(systems) > 1 else ""
        )
        hint = "; ".join([hint, *labels.problems[:1]])
        raise DataError("no label belongs to a judged row", at=at, hint=hint)


def check_rubrics(
    marks: Mapping[_Key, Sequence[Label]], duels: Mapping[str, Sequence[Label]], signatures: Collection[str]
) -> list[str]:
    """Return what is to be said of the rubrics by which labels and judge mark; of what does not say it there is nothing.

    Raises:
        DataError: the labels are by several rubrics, or by another than the judge's.
    """
    mark_labels = [label for labels in marks.values() for label in labels if label.rubric]
    for labels in (mark_labels, [label for duel in duels.values() for label in duel if label.rubric]):
        for label in labels:
            if label.rubric != (first := labels[0].rubric):
                words = f"the label is by the rubric {label.rubric:.80}, and others are by {first:.80}"
                raise DataError(words, at=label.at, hint="correct by the labels of one rubric at a time")
    problems = []
    # Answers are compared side by side by a rubric of its own, whatever the judge's is.
    for signature in signatures if mark_labels else ():
        label, match, part = mark_labels[0], _JUDGED_BY.match(signature), _PART.search(signature)
        review = RUBRICS.get(signature.partition("|")[0].removeprefix("tier2."))
        if match is None and review is None:
            continue  # not a judge's score
        rubric = match[1] if match else f"{review.name}-{review.digest}" if review else ""
        if label.rubric.startswith(_OWN_QUESTIONS):
            words = f"the labels say how good an answer is, or whether it failed, and the judge marks by {rubric:.80}"
            problems.append(f"{words}: the result is right only if both mean the same")
        elif label.rubric != rubric:
            words = f"the label is by the rubric {label.rubric:.80}, and the judge's score by {rubric:.80}"
            raise DataError(words, at=label.at, hint="label by the judge's own: `markbook label --rubric`")
        elif part is not None:
            words = f"the label is by the whole rubric {rubric:.80}, and the score is a part of it: {part[1]:.60}"
            raise DataError(words, at=label.at, hint="--score names the score of the whole rubric")
    if mark_labels and not signatures:
        words = f"the labels are by the rubric {mark_labels[0].rubric:.80}, and the judged rows do not say by which they are marked"
        problems.append(f"{words}: the result is right only if both mean the same")
    return problems


def _mean(labels: Sequence[Label]) -> float | None:
    """Return the mean of what the raters say, None where nobody said anything."""
    values = [label.label for label in labels if label.label is not None]
    # `fsum`, because its result does not depend on the order of the labels.
    return math.fsum(values) / len(values) if values else None


def _table(read: _Read, request: CorrectionRequest) -> _Table:
    if not request.systems:
        keys = list(read.scores)
        labels = [read.labels.get(key, []) for key in keys]
        silent = _find_unlabelled(read, request)
        labelled, several = {system for _, system in read.labels}, len({system for _, system in keys}) > 1
        for item, system in keys:
            if system not in labelled and (item, system) not in silent and several:
                words = (
                    f"no label is of the system {system!r:.60}, and others have some: its part of the mean is not known"
                )
                raise DataError(words, hint="label answers of every system, or correct a file of one system")
        scores, means = [read.scores[key] for key in keys], [_mean(group) for group in labels]
        return _Table("mean", keys, scores, labels, means, request.limits, settled=[key in silent for key in keys])
    first_system, other = request.systems
    systems = {system for _, system in read.scores}
    for system in request.systems:
        if system not in systems:
            raise UsageError(f"no judged row is of the system {system!r:.60}", hint=", ".join(sorted(systems)[:10]))
    items = [item for item, system in read.scores if system == first_system and (item, other) in read.scores]
    pairs = [(read.scores[item, first_system], read.scores[item, other]) for item in items]
    differences, duels = _differences(read, request, items, pairs), _duels(read, request, items, pairs)
    # Marks and preferences are not one scale: both together would be an estimate of neither.
    # Only labels that can be used are counted: an item that is labelled for one system alone gives no difference.
    one_by_one, side_by_side = (sum(label is not None for label in table.labels) for table in (differences, duels))
    if one_by_one and side_by_side:
        used = "by comparing" if side_by_side >= one_by_one else "by marking each"
        read.problems.append(
            f"{side_by_side} items are labelled by comparing both answers and {one_by_one} by marking each: "
            f"only those labelled {used} are used"
        )
    return duels if side_by_side >= one_by_one and read.duels else differences


def _differences(
    read: _Read, request: CorrectionRequest, items: list[str], pairs: Sequence[tuple[float, float]]
) -> _Table:
    """Return the paired differences, of items that people have labelled for both systems."""
    system, other = request.systems
    silent = _find_unlabelled(read, request)
    labels: list[list[Label]] = []
    gaps: list[float | None] = []
    settled: list[bool] = []
    for item in items:
        sides = [(item, system), (item, other)]
        # An answer that is missing has the score that the rules give it, and people cannot label it.
        first, second = (read.scores[key] if key in silent else _mean(read.labels.get(key, [])) for key in sides)
        settled.append(all(key in silent for key in sides))
        # An item without either answer is settled: its difference is known and needs no label.
        gaps.append(None if first is None or second is None or settled[-1] else first - second)
        labels.append([label for key in sides for label in read.labels.get(key, [])])
    keys = [(item, system) for item in items]
    # Differences lie on -1..1; half of one plus one half lies on 0..1, where .5 is the greatest doubt.
    what, scores, width = f"{system} - {other}", [a - b for a, b in pairs], request.limits[1] - request.limits[0]
    return _Table(what, keys, scores, labels, gaps, (-width, width), other, settled, (0.5, 0.5))


def _duels(read: _Read, request: CorrectionRequest, items: list[str], pairs: Sequence[tuple[float, float]]) -> _Table:
    """Return how often the first is preferred: by the judge's two scores, and by people who saw both side by side."""
    system, other = request.systems
    item_labels = [read.duels.get(item, []) for item in items]
    turned = [
        # A label says how much better its own first system is, so it is turned where that is the other one.
        [label.label if label.system == system else 1 - label.label for label in some if label.label is not None]
        for some in item_labels
    ]
    labels = [math.fsum(some) / len(some) if some else None for some in turned]
    # Equal scores are half a win for each, as a tie is among labels.
    scores = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs]
    silent = {item for item, system in request.unanswered if system in request.systems}
    settled = [item in silent for item in items]
    if any(label is not None for label, is_settled in zip(labels, settled, strict=True) if is_settled):
        settled = [False] * len(items)  # whoever labelled them drew among all
    keys = [(item, system) for item in items]
    what = f"{system} preferred to {other}"
    return _Table(what, keys, scores, item_labels, labels, (0.0, 1.0), other, settled)


def _find_unlabelled(read: _Read, request: CorrectionRequest) -> Collection[_Key]:
    """Return the items whose score stands because there was nothing to label; none where somebody labelled such a one."""
    return () if any(key in read.labels for key in request.unanswered) else request.unanswered


def _probabilities(table: _Table) -> list[float] | None:
    """Return with what probability each item was drawn; None where no label states one, or all are alike.

    Raises:
        DataError: some labels state one and others do not, or they are of several draws.
    """
    rows = zip(table.keys, table.said, table.labels, strict=True)
    used = [(key, some) for key, some, label in rows if label is not None]
    probabilities = {key: p for key, some in used if (p := _probability(some))}
    if not probabilities:
        return None
    if lacking := [key for key, _ in used if key not in probabilities]:
        raise DataError(
            f"{len(lacking)} labels state no probability and others do; the first is of {lacking[0][0]!r:.60}"
        )
    if len(draws := {draw_record.draw for _, some in used for draw_record in some}) > 1:
        hint = (
            "open each rater's labels once more with `markbook label` and one --count: what is labelled already stays"
        )
        raise DataError(f"the labels are of {len(draws)} draws, whose probabilities do not go together", hint=hint)
    # Equal probabilities are equal weights: then the plain estimate is the same.
    if len(set(probabilities.values())) == 1:
        return None
    # Of items without a label it is not used: those stand for themselves by the judge's score.
    return [probabilities.get(key, 1.0) for key in table.keys]


def _probability(labels: Sequence[Label]) -> float | None:
    """Return with what probability an item has all of its labels, None where a side of it states none.

    Of several raters of one answer the largest counts. Of a pair each answer is drawn by itself, and the pair counts only
    if both are: the probabilities of the two sides are multiplied.
    """
    sides: dict[str, list[float | None]] = defaultdict(list)
    for label in labels:
        # Of a comparison there is one draw of the pair; answers that are marked one by one are drawn each by itself.
        sides["" if label.against else label.system].append(label.probability)
    stated = [[p for p in side if p] for side in sides.values()]
    return math.prod(max(side) for side in stated) if stated and all(stated) else None


def _column(read: _Read, keys: Sequence[_Key], name: str) -> list[str | None]:
    """Return what the rows say under a key; None where one says nothing, by null or without the key.

    Raises:
        UsageError: none says anything.
    """
    values = [read.rows[key].get(name) for key in keys]
    if all(value is None for value in values):
        raise UsageError(f"no judged row has a key {name!r:.60}")
    return [None if value is None else str(value) for value in values]


def _strata(read: _Read, keys: Sequence[_Key], name: str) -> list[str] | None:
    """Return the items' strata; those of which nothing is said are one of their own, and it is told how many they are."""
    if not name:
        return None
    values = _column(read, keys, name)
    if lacking := sum(value is None for value in values):
        read.problems.append(
            f"{lacking} of {len(values)} items say nothing under {name!r:.60}: they are a part of their own"
        )
    return [f"without {name}" if value is None else value for value in values]


def _errors(read: _Read, request: CorrectionRequest) -> list[GroupError]:
    """Return for each group how far the judge's scores are from the labels: mean, interval, Holm's p."""
    from markbook.stats import arrays

    groups: dict[str, list[float]] = defaultdict(list)
    names = dict(zip(read.scores, _column(read, list(read.scores), request.by), strict=True))
    lacking = 0
    for key, name in names.items():
        # Only items with a label tell how wrong the judge is.
        if (label := _mean(read.labels.get(key, []))) is None:
            continue
        if name is None:
            lacking += 1
        else:
            groups[name].append(read.scores[key] - label)
    if lacking:
        read.problems.append(f"{lacking} labelled items say nothing under {request.by!r:.60}: they are in no group")
    # Many groups are many chances to err: Holm's step-down keeps the error over all of them.
    estimates = {name: t_interval(gaps, confidence=request.confidence) for name, gaps in sorted(groups.items())}
    p_values = [
        arrays.t_two_sided(estimate.value / estimate.se, estimate.n - 1)
        # A test needs a spread: a p of 0 from two equal gaps would be invented.
        if estimate.value is not None and estimate.se and estimate.n >= 2
        else None
        for estimate in estimates.values()
    ]
    adjusted = holm(p_values)
    return [
        GroupError(group=name, judge_minus_label=estimate.to_record(), p_adjusted=p)
        for (name, estimate), p in zip(estimates.items(), adjusted, strict=True)
    ]
