"""From a run to a sitting: which answers, what there is to see of them, and the raters' files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from markbook.errors import DataError, OutputError, UsageError
from markbook.judge.drawing import SHARE, Drawn, LabelItem, chance, draw
from markbook.judge.labels import Label, read_labels
from markbook.judge.rubrics import Rubric
from markbook.report.labelling.book import LabelBook, check_rater
from markbook.report.labelling.failed import drawn_traces
from markbook.report.labelling.session import Seen, Session
from markbook.results.judged import JudgedAnswers, JudgedRun, read_judged
from markbook.store.disk import RealDisk

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
        check_rater(rater)
    if options.reasons and Path(options.run).is_file():
        drawn, texts = drawn_traces(options.run, options.count, options.seed)
        path, notes = Path(options.run), list[str]()
    else:
        judged = read_judged(options.run, options.score, fails=options.reasons)
        drawn, texts, notes = _draw_items(judged, options)
        path = judged.path
    with _books(options.labels or _home(path), options.raters) as (books, others):
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
    is_alike = options.alike or options.reasons
    drawn = draw(items, options.count, seed=options.seed, share=0.0 if is_alike else SHARE)
    texts = _Texts(judged, answers, options.seed, tells_why=options.reasons)
    if not any(texts(drawn_item.item).answers[0].strip() for drawn_item in drawn[:20]):
        raise DataError(_NO_TEXT, at=options.run, hint="for a run of reviews its --reviews file must be where it was")
    return drawn, texts, notes


@contextmanager
def _books(folder: Path, raters: tuple[str, ...]) -> Iterator[tuple[list[LabelBook], list[Label]]]:
    """Yield the raters' files and what others have said; the folder is nobody else's meanwhile."""
    disk = RealDisk()
    try:
        disk.make_parents(folder)
    except OSError as error:
        raise OutputError(f"the labels' folder cannot be made: {error.strerror}", at=str(folder)) from error
    lock = disk.lock(folder)
    try:
        yield [LabelBook(folder, rater, disk) for rater in raters], _others(folder, raters)
    finally:
        lock.release()


def _home(run: Path) -> Path:
    """Return where the labels of a run lie if nobody says where."""
    return run / "labels" if run.is_dir() else run.with_name(run.name + ".labels")


def _others(folder: Path, raters: tuple[str, ...]) -> list[Label]:
    """Return what people who are not here have said."""
    paths = [path for path in sorted(folder.glob("*.jsonl")) if path.stem not in raters]
    return read_labels(paths).labels


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
        """Return it."""
        models = (item.system, item.against) if item.against else (item.system,)
        attempts = [self._results.show_attempt(self._location(item.id, model)) for model in models]
        return Seen(
            attempts[0].prompt,
            tuple(attempt.text for attempt in attempts),
            why=attempts[0].why if self._tells_why else None,
        )

    def _location(self, sample: str, model: str) -> int:
        locations = self._answers[sample, model].locations
        return locations[int(chance(self._seed, "attempt", sample, model) * len(locations)) % len(locations)]
