"""Rubrics that people write: in a YAML file, inside a task file, or one of the ready ones by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from markbook.config.check import check
from markbook.config.tree import read_tree
from markbook.errors import ConfigError
from markbook.judge.rubrics import RUBRICS, Criterion, Example, Rubric

_SUFFIXES = (".yaml", ".yml")
_MOST_SHOWN = 5

Words = Annotated[str, Field(min_length=1, max_length=4_000)]
Named = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Read = Literal["question", "context", "reference", "answer"]
Scale = Annotated[list[int], Field(min_length=2, max_length=2)]
Grade = Annotated[str, Field(min_length=1, max_length=60)]
Share = Annotated[float, Field(ge=0, le=1, strict=False)]
_SPELLINGS = {"instructions": "task", "description": "question", "input": "question", "candidate": "answer"}
"""Accepted words, and ours."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _our_words(cls, data: Any) -> Any:
        """Read the accepted spellings of the keys."""
        if not isinstance(data, Mapping):
            return data
        spelled = {key: ours for key, ours in _SPELLINGS.items() if key in data and ours in cls.model_fields}
        for key, ours in spelled.items():
            if ours in data:
                raise ValueError(f"{key!r} and {ours!r} are two words for one thing: leave one out")
        return {spelled.get(key, key): value for key, value in data.items()}


class CriterionModel(_Strict):
    """One thing to mark."""

    name: Named
    question: Words
    weight: float = Field(
        default=1.0, ge=-1e6, le=1e6, strict=False, description="Below 0: points that are lost by it."
    )
    anchors: dict[int | str, Words] = Field(default_factory=dict, description="What some marks or grades mean.")
    evidence: str = Field(default="", max_length=1_000, description="What a mark should rest on.")
    scale: Scale | None = Field(default=None, description="Its own lowest and highest mark.")
    grades: dict[Grade, Share] = Field(
        default_factory=dict, max_length=20, description="What the judge may answer, and the score 0..1 of each."
    )
    threshold: Share | None = Field(default=None, description="The score 0..1 that it takes to pass.")

    @model_validator(mode="before")
    @classmethod
    def _points(cls, data: Any) -> Any:
        """Read `points`: what an answer wins, or loses, where the criterion holds of it."""
        if not isinstance(data, Mapping) or "points" not in data:
            return data
        if "weight" in data:
            raise ValueError("'points' and 'weight' are two words for one thing: leave one out")
        read = {key: value for key, value in data.items() if key != "points"} | {"weight": data["points"]}
        return read if {"scale", "grades"} & set(read) else read | {"grades": {"yes": 1, "no": 0}}

    @model_validator(mode="after")
    def _graded(self) -> Self:
        if not self.weight:
            raise ValueError("a weight must be greater than 0, or below 0 for points that are lost")
        if self.grades and self.scale:
            raise ValueError("a criterion has grades or a scale: leave one out")
        if self.grades and len(set(self.grades.values())) < 2:
            raise ValueError("grades that all score alike tell nothing apart")
        return self

    def criterion(self) -> Criterion:
        """Return it as the judge takes it."""
        return Criterion(
            self.name,
            self.question,
            self.weight,
            tuple(sorted(self.anchors.items(), key=str) if self.grades else sorted(self.anchors.items())),
            self.evidence,
            scale=None if self.scale is None else (self.scale[0], self.scale[1]),
            grades=tuple(self.grades.items()),
            threshold=self.threshold,
        )

    @model_validator(mode="before")
    @classmethod
    def _whole_anchors(cls, data: Any) -> Any:
        """Read the marks of anchors: YAML's keys come as texts."""
        anchors = data.get("anchors") if isinstance(data, Mapping) else None
        if not isinstance(anchors, Mapping):
            return data
        return {**data, "anchors": {_mark(key): value for key, value in anchors.items()}}


class ExampleModel(_Strict):
    """A marked example."""

    question: str = Field(default="", max_length=20_000)
    context: str = Field(default="", max_length=20_000)
    reference: str = Field(default="", max_length=20_000)
    answer: str = Field(min_length=1, max_length=20_000)
    marks: dict[str, int | str] = Field(default_factory=dict)
    winner: Literal["A", "B", "tie", ""] = ""
    why: str = Field(default="", max_length=1_000)


class RubricModel(_Strict):
    """What a judge is asked."""

    name: Named
    version: str | int = "1"
    task: Words = Field(description="What to do, in a sentence.")
    field: str = Field(default="", max_length=200, description="Of what the judge is a judge: `customer support`.")
    form: Literal["marks", "pairwise"] = "marks"
    reads: list[Read] = Field(default=["question", "answer"], min_length=1, max_length=4)
    scale: Scale = [1, 5]
    criteria: list[CriterionModel] = Field(default=[], max_length=20)
    threshold: Share | Literal["row"] | None = Field(
        default=None, description="The score 0..1 from which on an answer passes; `row`: each row says."
    )
    row: str = Field(default="", max_length=200, description="The field of a row that holds criteria of its own.")
    examples: list[ExampleModel] = Field(default_factory=list, max_length=10)
    evidence: Literal["quotes", "none"] = "quotes"
    about: str = Field(default="", max_length=10_000, description="For people; no judge sees it.")
    references: list[str] = Field(default_factory=list, max_length=20, description="For people; no judge sees it.")

    @field_validator("reads", mode="before")
    @classmethod
    def _our_texts(cls, reads: Any) -> Any:
        return (
            [_SPELLINGS.get(name, name) if isinstance(name, str) else name for name in reads]
            if isinstance(reads, list)
            else reads
        )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.criteria and not self.row:
            raise ValueError("a rubric needs criteria, or `row`: the field of a row that holds them")
        if self.form == "pairwise" and (self.row or self.threshold is not None or any(map(_is_verdict, self.criteria))):
            raise ValueError("a pairwise rubric has no grades, points, thresholds or criteria of a row")
        if self.threshold == "row" and not self.row:
            raise ValueError("`threshold: row` needs `row`: the field of a row that holds it")
        if self.row and self.examples:
            raise ValueError("examples cannot go with criteria of each row's own")
        scales = _check_criteria(self.criteria, (self.scale[0], self.scale[1]), self.threshold is not None)
        if "answer" not in self.reads or len(set(self.reads)) < len(self.reads):
            raise ValueError("reads must name the answer, and each text once")
        if self.form == "pairwise" and "reference" in self.reads:
            raise ValueError("in a pairwise rubric the reference is the other answer: leave it out of reads")
        for number, example in enumerate(self.examples, start=1):
            self._check_example(number, example, scales)
        return self

    def _check_example(self, number: int, example: ExampleModel, scales: Mapping[str, tuple[int, ...]]) -> None:
        if self.form == "pairwise":
            if not example.winner or example.marks or not example.reference:
                raise ValueError(f"example {number} needs answer, reference (the other answer) and winner")
        elif set(example.marks) != set(scales) or example.winner:
            raise ValueError(f"example {number} needs a mark for each criterion and no winner")
        grades = {criterion.name: criterion.grades for criterion in self.criteria}
        for name, mark in example.marks.items():
            low, high = scales[name]
            if grades[name]:
                if mark not in grades[name]:
                    raise ValueError(f"a mark of example {number} is not one of the grades {', '.join(grades[name])}")
            elif not isinstance(mark, int) or not low <= mark <= high:
                raise ValueError(f"a mark of example {number} lies outside {low} to {high}")

    def rubric(self) -> Rubric:
        """Return it as the judge takes it."""
        is_pairwise = self.form == "pairwise"
        return Rubric(
            self.name,
            self.task,
            tuple(criterion.criterion() for criterion in self.criteria),
            tuple(self.reads),
            scale=(self.scale[0], self.scale[1]),
            field=self.field,
            wants_quotes=self.evidence == "quotes",
            examples=tuple(_example(one, is_pairwise=is_pairwise) for one in self.examples),
            is_pairwise=is_pairwise,
            version=str(self.version),
            threshold=None if self.threshold == "row" else self.threshold,
            row=self.row,
            has_row_threshold=self.threshold == "row",
        )


class RowRubricModel(_Strict):
    """What one row adds to a rubric."""

    criteria: list[CriterionModel] = Field(default=[], max_length=60)
    threshold: Share | None = None
    task: Words | None = None

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        """Read the shapes in which data sets write criteria: a text, a list of texts or of records, a mapping."""
        held = {"criteria": data} if isinstance(data, str | list | tuple) else data
        if not isinstance(held, Mapping) or "criteria" not in held:
            return held
        listed = [held["criteria"]] if isinstance(held["criteria"], str) else held["criteria"]
        if not isinstance(listed, list | tuple):
            return held
        return {**held, "criteria": [_row_criterion(each, number) for number, each in enumerate(listed, start=1)]}


def _row_criterion(criterion: object, number: int) -> object:
    """Return a row's criterion in the words of a rubric's; one without a name is called by its place."""
    if isinstance(criterion, str):
        return {"name": f"c{number}", "question": criterion}
    if not isinstance(criterion, Mapping):
        return criterion
    read = {_ROW_SPELLINGS.get(str(key), str(key)): value for key, value in criterion.items() if key not in _ROW_ASIDE}
    return {"name": f"c{number}", **read}


_ROW_SPELLINGS = {"criterion": "question", "requirements": "question", "text": "question"}
"""What data sets call a criterion's description: HealthBench, PaperBench and others."""
_ROW_ASIDE = frozenset({"tags", "id"})


def read_row_rubric(rubric: Rubric, stated: object) -> Rubric:
    """Return a rubric with what a row adds: criteria of its own, a threshold, another task.

    Raises:
        ConfigError: what the row holds cannot be honoured.
    """
    try:
        model = RowRubricModel.model_validate(stated)
        criteria = (*rubric.criteria, *(criterion.criterion() for criterion in model.criteria))
        threshold = rubric.threshold if model.threshold is None else model.threshold
        _check_criteria(criteria, rubric.scale, threshold is not None)
    except ValidationError as error:
        raise ConfigError("; ".join(_complaints(error))) from error
    except ValueError as error:
        raise ConfigError(f"rubric: {error}") from error
    if not criteria:
        raise ConfigError("rubric: there are no criteria")
    if rubric.has_row_threshold and threshold is None:
        raise ConfigError("rubric: the row has no threshold")
    return replace(rubric, criteria=criteria, threshold=threshold, task=model.task or rubric.task)


def _is_verdict(criterion: CriterionModel) -> bool:
    return bool(criterion.grades) or criterion.threshold is not None or criterion.weight < 0


def _check_criteria(
    criteria: Sequence[CriterionModel | Criterion],
    scale: tuple[int, int],
    has_threshold: bool,  # noqa: FBT001 - one word of a rubric
) -> dict[str, tuple[int, ...]]:
    """Return the scale of each criterion, and raise `ValueError` for criteria that do not go together."""
    scales = {each.name: (0, 1) if each.grades else tuple(each.scale or scale) for each in criteria}
    for low, high in [scale, *scales.values()]:
        if not 0 <= low < high <= 100:
            raise ValueError(f"the scale must rise from 0 or more to 100 or less, not from {low} to {high}")
    keys = [key for each in criteria for key in (each.name, f"{each.name}_reason", f"{each.name}_quotes")]
    if len(set(keys)) < len(keys):
        raise ValueError("two criteria have one name, or one is named as another's reason or quotes")
    if criteria and all(each.weight < 0 for each in criteria):
        raise ValueError("by these criteria points can only be lost: one must have a weight above 0")
    if "passed" in scales and (has_threshold or any(each.threshold is not None for each in criteria)):
        raise ValueError("'passed' says whether an answer reaches the threshold: no criterion can have that name")
    for each in criteria:
        low, high = scales[each.name]
        for mark, _ in each.anchors.items() if isinstance(each.anchors, dict) else each.anchors:
            if each.grades:
                if mark not in dict(each.grades):
                    raise ValueError(f"an anchor of {each.name} is not one of its grades: {mark}")
            elif not isinstance(mark, int) or not low <= mark <= high:
                raise ValueError(f"an anchor of {each.name} lies outside {low} to {high}")
    return scales


def _mark(key: object) -> object:
    return int(key) if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 4 else key


def _example(model: ExampleModel, *, is_pairwise: bool) -> Example:
    given_texts = {"question": model.question, "context": model.context}
    pair = {"answer-A": model.answer, "answer-B": model.reference}
    single = {"reference": model.reference, "answer": model.answer}
    texts = given_texts | (pair if is_pairwise else single)
    return Example(
        tuple((name, text) for name, text in texts.items() if text),
        tuple(sorted(model.marks.items())),
        model.winner,
        model.why,
    )


def read_rubric(source: object, folder: Path | None = None) -> Rubric:
    """Return a rubric.

    Args:
        source: the name of a ready one, a `.yaml` file, a mapping as such a file holds it, or a `Rubric`.
        folder: where a file's name starts from; the working folder if None.

    Raises:
        ConfigError: no such rubric or file, or one that cannot be honoured; a file's complaints with their place.
    """
    if isinstance(source, Rubric):
        return source
    if isinstance(source, Mapping):
        try:
            return RubricModel.model_validate(dict(source)).rubric()
        except ValidationError as error:
            raise ConfigError("; ".join(_complaints(error))) from error
    if not isinstance(source, str | Path) or not str(source):
        raise ConfigError(f"a rubric is a name, a file or a mapping, not {source!r:.60}")
    if isinstance(source, Path) or source.endswith(_SUFFIXES):
        return check(RubricModel, read_tree((folder or Path()) / source)).rubric()
    rubrics = ready_rubrics()
    if source not in rubrics:
        near = difflib.get_close_matches(source, rubrics, n=3)
        suggestion = "did you mean " + " or ".join(map(repr, near)) + "?" if near else "known: " + ", ".join(rubrics)
        raise ConfigError(f"unknown rubric {source!r:.60}", hint=f"{suggestion}; or a .yaml file")
    return rubrics[source]


def _complaints(error: ValidationError) -> list[str]:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"rubric: {'.'.join(map(str, problem['loc'])) or 'as a whole'}: {problem['msg']}" for problem in errors]
    return lines[:_MOST_SHOWN] + ([f"and {len(lines) - _MOST_SHOWN} more"] if len(lines) > _MOST_SHOWN else [])


@cache
def ready_rubrics() -> Mapping[str, Rubric]:
    """Return the ready rubrics by name: those that lie in this package, and the three of the documents."""
    files = sorted(Path(__file__).with_name("ready").glob("*.yaml"))
    rubrics = [check(RubricModel, read_tree(file)).rubric() for file in files]
    return {rubric.name: rubric for rubric in sorted((*rubrics, *RUBRICS.values()), key=lambda rubric: rubric.name)}
