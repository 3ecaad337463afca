"""What a judge is examined on: texts that people have marked, and what an earlier version of it said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from markbook.errors import DataError, UsageError
from markbook.files.content import whole
from markbook.files.jsonl import Line, Rejection, parse_object, read_jsonl
from markbook.judge.cases import TEXTS, JudgedCase, lacking
from markbook.judge.labels import label_value, number
from markbook.judge.probes import KnownText
from markbook.judge.reliability import Earlier
from markbook.judge.rubrics import Rubric


def read_known(path: Path, rubric: Rubric, *, most: int) -> tuple[list[KnownText], list[str]]:
    """Return the answers of a file with people's labels, and what is wrong with its other rows.

    A row is `{"candidate", "question", "context", "reference", "label": 0 to 1, "id", "system"}`; rows of one id, or else of one
    question, are answers to the same.

    Args:
        path: JSON Lines.
        rubric: what the judge will be asked.
        most: as many rows at most, taken evenly.

    Raises:
        DataError: no row will do.
        UsageError: a rubric that compares.
    """
    if rubric.is_pairwise:
        raise UsageError(f"the rubric {rubric.name} compares answers: name one that marks them")
    problems: list[str] = []
    texts: list[KnownText] = []
    for line in read_jsonl(path):
        text = _read_known_text(line, rubric)
        if isinstance(text, str):
            problems.append(f"{line.at}: {text}: row skipped")
        else:
            texts.append(text)
    if not texts:
        hint = '{"question": .., "candidate": .., "label": 0 to 1} a line'
        raise DataError("no row that a judge can be examined on", at=str(path), hint=hint)
    step = max(1.0, len(texts) / most)
    return [texts[int(index * step)] for index in range(min(most, len(texts)))], problems


def _read_known_text(line: Line | Rejection, rubric: Rubric) -> KnownText | str:
    """Return the text of a line, or what is wrong with it."""
    if isinstance(line, Rejection):
        return line.reason
    record = line.record
    texts = {name: _text(record, name) for name in TEXTS}
    texts["answer"] = _text(record, "candidate", "answer")
    missing = lacking(rubric, JudgedCase(**texts))
    if missing is not None:
        return missing.detail
    label = label_value(record)
    if isinstance(label, str):
        return label
    if label is not None and not 0 <= label <= 1:
        return f"the label {label:g} lies outside 0 to 1"
    low, high = rubric.scale
    mark = None if label is None else math.floor(low + label * (high - low) + 0.5)
    answer = texts.pop("answer")
    item = _text(record, "id") or texts["question"] or line.at
    return KnownText(item, answer, mark, _text(record, "system", "model"), texts)


def _text(record: Mapping[str, object], *names: str) -> str:
    """Return what stands under the first of these keys that holds something; 0 is something."""
    return next((str(value) for name in names if (value := record.get(name)) not in (None, "")), "")


def read_earlier(path: Path) -> Earlier:
    """Return what the report of an earlier check says of its judge.

    Raises:
        DataError: it is no such report.
    """
    line = parse_object(whole(path), str(path))
    record = line.record if isinstance(line, Line) else {}
    marks = record.get("marks")
    if not isinstance(marks, Mapping) or not isinstance(record.get("judge"), str):
        raise DataError("this is no report of `markbook judge check --output`", at=str(path))
    marks_by_name = {str(name): mark for name, value in marks.items() if (mark := number(value)) is not None}
    rubric = record.get("rubric")
    return Earlier(str(record["judge"]), marks_by_name, rubric if isinstance(rubric, str) else "")
