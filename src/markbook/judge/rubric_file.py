"""Rubrics that people write: in a YAML file, inside a task file, or one of the ready ones by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
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
    weight: float = Field(default=1.0, gt=0, le=1e6, strict=False)
    anchors: dict[int, Words] = Field(default_factory=dict, description="What some marks mean.")
    evidence: str = Field(default="", max_length=1_000, description="What a mark should rest on.")
    scale: Scale | None = Field(default=None, description="Its own lowest and highest mark.")

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
    marks: dict[str, int] = Field(default_factory=dict)
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
    criteria: list[CriterionModel] = Field(min_length=1, max_length=20)
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
        scales = {criterion.name: tuple(criterion.scale or self.scale) for criterion in self.criteria}
        for low, high in [tuple(self.scale), *scales.values()]:
            if not 0 <= low < high <= 100:
                raise ValueError(f"the scale must rise from 0 or more to 100 or less, not from {low} to {high}")
        names = [criterion.name for criterion in self.criteria]
        keys = [key for name in names for key in (name, f"{name}_reason", f"{name}_quotes")]
        if len(set(keys)) < len(keys):
            raise ValueError("two criteria have one name, or one is named as another's reason or quotes")
        if "answer" not in self.reads or len(set(self.reads)) < len(self.reads):
            raise ValueError("reads must name the answer, and each text once")
        if self.form == "pairwise" and "reference" in self.reads:
            raise ValueError("in a pairwise rubric the reference is the other answer: leave it out of reads")
        for criterion in self.criteria:
            low, high = scales[criterion.name]
            if any(not low <= mark <= high for mark in criterion.anchors):
                raise ValueError(f"an anchor of {criterion.name} lies outside {low} to {high}")
        for number, example in enumerate(self.examples, start=1):
            self._check_example(number, example, scales)
        return self

    def _check_example(self, number: int, example: ExampleModel, scales: Mapping[str, tuple[int, ...]]) -> None:
        if self.form == "pairwise":
            if not example.winner or example.marks or not example.reference:
                raise ValueError(f"example {number} needs answer, reference (the other answer) and winner")
        elif set(example.marks) != set(scales) or example.winner:
            raise ValueError(f"example {number} needs a mark for each criterion and no winner")
        for name, mark in example.marks.items():
            low, high = scales[name]
            if not low <= mark <= high:
                raise ValueError(f"a mark of example {number} lies outside {low} to {high}")

    def rubric(self) -> Rubric:
        """Return it as the judge takes it."""
        is_pairwise = self.form == "pairwise"
        criteria = tuple(
            Criterion(
                one.name,
                one.question,
                one.weight,
                tuple(sorted(one.anchors.items())),
                one.evidence,
                scale=None if one.scale is None else (one.scale[0], one.scale[1]),
            )
            for one in self.criteria
        )
        return Rubric(
            self.name,
            self.task,
            criteria,
            tuple(self.reads),
            scale=(self.scale[0], self.scale[1]),
            field=self.field,
            wants_quotes=self.evidence == "quotes",
            examples=tuple(_example(one, is_pairwise=is_pairwise) for one in self.examples),
            is_pairwise=is_pairwise,
            version=str(self.version),
        )


def _mark(key: object) -> object:
    return int(key) if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 4 else key


def _example(model: ExampleModel, *, is_pairwise: bool) -> Example:
    shown = {"question": model.question, "context": model.context}
    pair = {"answer-A": model.answer, "answer-B": model.reference}
    single = {"reference": model.reference, "answer": model.answer}
    texts = shown | (pair if is_pairwise else single)
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
    known = ready_rubrics()
    if source not in known:
        near = difflib.get_close_matches(source, known, n=3)
        told = "did you mean " + " or ".join(map(repr, near)) + "?" if near else "known: " + ", ".join(known)
        raise ConfigError(f"unknown rubric {source!r:.60}", hint=f"{told}; or a .yaml file")
    return known[source]


def _complaints(error: ValidationError) -> list[str]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"rubric: {'.'.join(map(str, each['loc'])) or 'as a whole'}: {each['msg']}" for each in found]
    return lines[:_MOST_SHOWN] + ([f"and {len(lines) - _MOST_SHOWN} more"] if len(lines) > _MOST_SHOWN else [])


@cache
def ready_rubrics() -> Mapping[str, Rubric]:
    """Return the ready rubrics by name: those that lie in this package, and the three of the documents."""
    files = sorted(Path(__file__).with_name("ready").glob("*.yaml"))
    found = [check(RubricModel, read_tree(file)).rubric() for file in files]
    return {rubric.name: rubric for rubric in sorted((*found, *RUBRICS.values()), key=lambda rubric: rubric.name)}
