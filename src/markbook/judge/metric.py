"""`judge`: a rubric before one judge or a panel, as a metric like any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

from markbook.errors import ConfigError
from markbook.judge.assess import (
    PREFERRED,
    JudgeInput,
    PanelAgreement,
    aggregate_ratings,
    find_missing_text,
    make_questions,
    panel_agreement,
    role,
)
from markbook.judge.client import Judged, from_record
from markbook.judge.judge_options import JudgeOptions
from markbook.judge.panel import JudgeCall, JudgePlan, JudgeWork, PanelSession, check_plan, plan_panel
from markbook.judge.rubrics import PROMPT_VERSION, Criterion, Rubric, read_row_rubric, read_rubric
from markbook.metrics import UnitMetric, drop_missing_references, measurement, problem
from markbook.model.budget import AccountRecord
from markbook.model.cassette import Cassette
from markbook.option import JUDGE_PATIENCE
from markbook.plugins import example
from markbook.types import Item, Measurement, Missing, MissingKind

LOST_SAMPLES = "samples of a judge without a valid reply"
PASSED = "passed"
"""The part of a judgement, and the word in its stats, that says whether an answer reaches the threshold."""
BETWEEN = "\n\n---\n\n"
"""Between several references that one judgement reads."""


class Memory:
    """What a judge has said before, and what it has cost: this one knows nothing and keeps nothing."""

    cassette: Cassette | None = None
    """One that is open already and that the caller closes; None lets each measurement open the plan's own."""

    def __init__(self) -> None:
        self.accounts: dict[str, AccountRecord] = {}
        """What each judge has cost, after measuring."""
        self.is_complete = True
        """Whether every answer until now is a lasting one."""

    def find(self, key: str) -> Mapping[str, object] | None:
        """Return the kept answer of a call."""
        return None

    def keep(self, key: str, model: str, judged: Judged) -> None:
        """Take an answer."""

    def spent(self) -> Mapping[str, float]:
        """Return US dollars that each judge has cost before."""
        return {}

    def took(self, accounts: Mapping[str, AccountRecord]) -> None:
        """Take what each judge has cost in one measuring."""
        for judge, account in accounts.items():
            before = self.accounts.get(judge)
            self.accounts[judge] = account if before is None else _add_accounts(before, account)

    def tick(self) -> None:
        """Be told of one more answer."""


@dataclass(frozen=True, slots=True)
class JudgeMetric(UnitMetric):
    """A rubric and those who judge by it. It asks servers: its measuring is never divided nor sent elsewhere."""

    rubric: Rubric
    plan: JudgePlan
    signature: str
    needs_reference: bool
    name: str = "judge"
    whole_batch: bool = True
    memory: Memory = field(default_factory=Memory, compare=False)
    criterion: Criterion | None = None
    """The only one that it speaks of; None speaks of the whole rubric."""
    is_verdict: bool = False
    """Whether it says only if an answer passes: 1 or 0."""

    @property
    def is_part(self) -> bool:
        """Whether it is a part of what another metric says as a whole."""
        return self.criterion is not None or self.is_verdict

    def by_criterion(self) -> dict[str, JudgeMetric]:
        """Return what says of each criterion how well an answer does, and whether it passes, from the same replies.

        Of a comparison nothing; of criteria that each row has of its own only what they come to.
        """
        several = () if self.rubric.is_pairwise else self.rubric.criteria
        parts = {}
        for criterion in several:
            name, signature = f"{self.name}.{criterion.name}", f"{self.signature}|criterion:{criterion.name}"
            parts[criterion.name] = replace(self, name=name, criterion=criterion, signature=signature)
        if self.rubric.has_verdict:
            name, signature = f"{self.name}.{PASSED}", f"{self.signature}|{PASSED}"
            parts[PASSED] = replace(self, name=name, is_verdict=True, signature=signature)
        return parts

    @classmethod
    def together(cls, metrics: Sequence[Self], items: Sequence[Item]) -> list[list[Measurement]]:
        """Return the measurements of a rubric and of its criteria, for which the judges are asked once."""
        wholes: dict[str, list[Measurement]] = {}
        columns = []
        for metric in metrics:
            rubric_metric = metric
            if metric.is_part:
                # A part asks nothing itself: the whole judgement is measured once, and each part is read off it.
                signature = _signature(metric.rubric, metric.plan)
                rubric_metric = replace(metric, criterion=None, is_verdict=False, name="judge", signature=signature)
            if rubric_metric.signature not in wholes:
                wholes[rubric_metric.signature] = rubric_metric.measure(items)
            column = wholes[rubric_metric.signature]
            columns.append([metric.share(measurement) for measurement in column] if metric.is_part else column)
        return columns

    def share(self, whole: Measurement) -> Measurement:
        """Return what a judgement says of the criterion, or of passing."""
        marks, evidence = whole.stats.get("marks"), whole.stats.get("evidence")
        if whole.value is None or not isinstance(marks, Mapping):
            return replace(whole, metric=self.name, signature=self.signature, stats={})
        if self.criterion is None:
            passed = float(bool(whole.stats[PASSED]))
            return replace(whole, metric=self.name, value=passed, signature=self.signature, stats={})
        mark = marks[self.criterion.name]
        low, high = self.rubric.scale_for(self.criterion)
        why = evidence.get(self.criterion.name, {}) if isinstance(evidence, Mapping) else {}
        stats = {"mark": mark, **why}
        return replace(
            whole, metric=self.name, value=(mark - low) / (high - low), signature=self.signature, stats=stats
        )

    def with_memory(self, memory: Memory) -> JudgeMetric:
        """Return the same metric with a memory of its own."""
        return replace(self, memory=memory)

    def check(self) -> None:
        """Find out before any work whether every judge can be asked; nothing is sent.

        Raises:
            UsageError: an unknown provider, no key, a budget without a price.
            ExtraMissingError: the extra `judge` is not installed and no cassette makes up for it.
        """
        check_plan(self.plan)

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order. Equal calls are asked once."""
        if self.is_part:
            return self.together([self], items)[0]
        # Of each row the keys of its calls are kept and not the calls: a long text is not held in many prompts at once.
        keys_by_item = [
            questions if isinstance(questions, Missing) else [question.call.key for question in questions]
            for questions in map(self._questions, items)
        ]
        places: dict[str, int] = {}
        for index, keys in enumerate(keys_by_item):
            if not isinstance(keys, Missing):
                for key in keys:
                    places.setdefault(key, index)
        answers = self._answers(items, places)
        return [self._settle(item, keys, answers) for item, keys in zip(items, keys_by_item, strict=True)]

    def _questions(self, item: Item) -> Sequence[JudgeCall] | Missing:
        """Return the calls about a row, in order, or why there are none."""
        text, references = item.attempt.text, item.sample.references
        missing = problem(text, references, needs_reference=self.needs_reference)
        if missing is not None:
            return missing
        present = drop_missing_references(references)
        # A comparison takes one other text, so the first reference stands for all.
        reference = present[0] if self.rubric.is_pairwise and present else BETWEEN.join(present)
        texts = JudgeInput.from_answer(text, item.sample.input, reference, item.sample.context or "")
        rubric = self.rubric_for(item)
        if isinstance(rubric, Missing):
            return rubric
        return find_missing_text(rubric, texts) or make_questions(rubric, texts, self.plan.settings)

    def rubric_for(self, item: Item) -> Rubric | Missing:
        """Return the rubric with what the item's row adds to it, or why that cannot be honoured."""
        name = self.rubric.row
        if not name:
            return self.rubric
        row = item.sample.row
        stated = None if row is None else row.record.get(name)
        if stated is None or stated in ("", [], {}):
            if self.rubric.criteria and not self.rubric.has_row_threshold:
                return self.rubric
            return Missing(MissingKind.NOT_APPLICABLE, f"the row has no {name!r}, which should hold its criteria")
        try:
            return read_row_rubric(self.rubric, stated)
        except ConfigError as error:
            return Missing(MissingKind.UNDEFINED, f"the row's {name!r}: {error}"[:500])

    def _answers(self, items: Sequence[Item], places: Mapping[str, int]) -> dict[str, Judged]:
        """Return the answer of every call by its key: a remembered one, or one that is asked for now, at its row's place."""
        memory = self.memory
        answers = {key: from_record(recorded) for key in places if (recorded := memory.find(key)) is not None}
        waiting: dict[int, set[str]] = {}
        for key, position in places.items():
            if key not in answers:
                waiting.setdefault(position, set()).add(key)
        if not waiting:
            return answers

        def keep(question: JudgeCall, judged: Judged, _key: object) -> None:
            key = question.call.key
            memory.keep(key, question.model, judged)
            answers[key] = judged

        def still_waiting(position: int) -> list[JudgeCall]:
            # Made again from the same row when its turn comes, so the calls have the same keys as before.
            questions = self._questions(items[position])
            assert not isinstance(questions, Missing)  # its keys are known, so it has calls
            by_key = {question.call.key: question for question in questions}  # equal calls of one row are asked once
            return [question for key, question in by_key.items() if key in waiting[position]]

        asking = PanelSession(self.plan, keep, tick=memory.tick, spent=memory.spent(), cassette=memory.cassette)
        with asking:
            for position in waiting:
                asking.give(JudgeWork((position,), partial(still_waiting, position)))
            memory.took(asking.finish())
        memory.is_complete &= asking.is_complete
        return answers

    def _settle(self, item: Item, keys: list[str] | Missing, answers: Mapping[str, Judged]) -> Measurement:
        if isinstance(keys, Missing):
            return measurement(self.name, self.signature, item, keys, {})
        questions = self._questions(item)
        assert not isinstance(questions, Missing)  # its keys are known, so it has calls
        rows = [question.record(answers[key]) for key, question in zip(keys, questions, strict=True)]
        rubric = self.rubric_for(item)
        assert not isinstance(rubric, Missing)  # it has been asked by
        score = aggregate_ratings(rubric, rows, judges=self.plan.settings.models)
        result = score.missing if score.value is None else score.value
        assert result is not None
        stats = score.to_stats()
        if score.marks and rubric.has_verdict:
            stats[PASSED] = rubric.passes(score.marks)
        if score.marks and rubric.row:
            # Criteria of a row's own stand nowhere else in the run.
            stats["criteria"] = {criterion.name: criterion.question for criterion in rubric.criteria}
        if score.by_judge and rubric.row:
            stats["overall_by_judge"] = {judge: rubric.overall(own) for judge, own in score.by_judge.items()}
        return measurement(self.name, self.signature, item, result, stats)

    def count_lost(self, measurements: Iterable[Measurement]) -> int:
        """Return how many samples count for nothing where others make a score: it rests on fewer than were asked for."""
        stats = (measurement.stats for measurement in measurements if measurement.value is not None)
        return 0 if self.is_part else sum(cast("int", own.get("n_missing", 0)) for own in stats)

    def agreement(self, measurements: Sequence[Measurement]) -> PanelAgreement | None:
        """Return Krippendorff's alpha over a panel's marks; None for a single judge."""
        if self.rubric.row:  # each row has criteria of its own: what they come to is what the judges share
            overalls = [
                {judge: {"overall": value} for judge, value in own.items()}
                for measurement in measurements
                if isinstance(own := measurement.stats.get("overall_by_judge"), Mapping)
            ]
            return panel_agreement(overalls, ["overall"])
        by_judge = (measurement.stats.get("by_judge") for measurement in measurements)
        panels = [panel for panel in by_judge if isinstance(panel, Mapping)]
        if self.rubric.is_pairwise:
            return panel_agreement(panels, [PREFERRED])
        criteria = {criterion.name: criterion for criterion in self.rubric.criteria}

        # Criteria may have scales of their own: without a common one a 5 out of 10 would agree with a 5 out of 5.
        def on_common_scale(marks: Mapping[str, float]) -> dict[str, float]:
            return {name: self.rubric.common_mark(criteria[name], mark) for name, mark in marks.items()}

        common = [{judge: on_common_scale(marks) for judge, marks in panel.items()} for panel in panels]
        return panel_agreement(common, list(criteria))


def _add_accounts(first: AccountRecord, other: AccountRecord) -> AccountRecord:
    """Return two accounts as one; a cost that is unknown of one part is unknown of both."""
    faults = dict(first["faults"])
    for name, count in other["faults"].items():
        faults[name] = faults.get(name, 0) + count
    sums: dict[str, Any] = {**first}
    for name, value in other.items():
        if name != "faults":
            sums[name] = None if value is None or sums[name] is None else sums[name] + value
    return cast("AccountRecord", sums | {"faults": faults})


def _signature(rubric: Rubric, plan: JudgePlan) -> str:
    """Return everything that can change a value."""
    # Where a judge is and how long one waits for it changes no value, so neither is part of it.
    settings = plan.settings
    parts = [f"rubric:{rubric.name}-{rubric.digest}", f"judges:{','.join(settings.models)}"]
    parts += [f"samples:{settings.samples}", f"temperature:{settings.temperature:g}", f"seed:{settings.seed}"]
    parts += [f"mode:{settings.mode}", *(["weights:tokens"] if settings.token_weights else [])]
    return "|".join(("judge", *parts, f"prompt:{PROMPT_VERSION}", "v1"))


@example(rubric="helpfulness", models="openai:judge")
def judge(  # noqa: PLR0913 - one argument an option, as a task file names them
    *,
    rubric: object,
    models: str | Sequence[str] = (),
    model: str | Sequence[str] = (),
    samples: int = 1,
    temperature: float | None = None,
    seed: int = 0,
    mode: str = "auto",
    token_weights: bool = False,
    base_url: str = "",
    cassette: str | Path | None = None,
    per_minute: float | None = None,
    workers: int = 4,
    retries: int = JUDGE_PATIENCE.retries,
    seconds: float = JUDGE_PATIENCE.seconds,
    max_cost: float | None = None,
    price: str = "",
    folder: Path | None = None,
) -> JudgeMetric:
    """Return how well an answer does by a rubric, as a language model judges it: 0..1, higher is better.

    Missing: the rubric's texts are not there, or a judge gives no valid reply (`unavailable`, `failed`, `timeout`, `budget`).

    Args:
        rubric: the name of a ready one, a `.yaml` file, or a mapping as such a file holds it.
        models: `PROVIDER:NAME` of one judge or of a panel.
        model: the same.
        samples: answers a question and judge.
        temperature: of the judges; None: 0 for one sample, else 0.7.
        seed: of the judges.
        mode: how the structured reply is asked for: `auto`, `tool`, `native`, `prompted`.
        token_weights: weigh marks by token probabilities, where the server gives them.
        base_url: where the judges' server is, if not at its provider's own address.
        cassette: a file to record the answers in, or to replay them from if it is there.
        per_minute: the most requests a minute to each judge.
        workers: judgements under way at once.
        retries: further requests for one judgement.
        seconds: the deadline of one request.
        max_cost: US dollars.
        price: `IN/OUT` in dollars for a million tokens, where no price is known.
        folder: where a rubric file's name starts from.

    Raises:
        ConfigError: a rubric that cannot be honoured, an option out of its range.
        UsageError: no judge, or one that is named twice.
    """
    if models and model:
        raise ConfigError("judge: 'model' and 'models' are two words for one thing: leave one out")
    stated_models = models or model
    names = [stated_models] if isinstance(stated_models, str) else list(stated_models)
    if not all(isinstance(name, str) for name in names):
        raise ConfigError(f"judge: models must be a text or a list of texts, not {stated_models!r:.60}")
    options = JudgeOptions(
        base_url=base_url,
        cassette=None if cassette is None else Path(cassette),
        samples=samples,
        temperature=temperature,
        mode=mode,
        per_minute=per_minute,
        workers=workers,
        max_cost=max_cost,
        price=price,
        token_weights=token_weights,
        retries=retries,
        seconds=seconds,
    )
    plan = plan_panel(names, options, seed=seed)
    read = read_rubric(rubric, folder)
    needs_reference = read.is_pairwise or "reference" in map(role, read.reads)
    return JudgeMetric(read, plan, _signature(read, plan), needs_reference)
