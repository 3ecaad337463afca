"""Answers that exist already: our own rows, lm-evaluation-harness samples, lists as metric libraries take them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markbook.datasets.choices import ChatTemplate, RecordedQuestion, Weighing, check_recorded, recorded_question
from markbook.errors import DataError, suggest_path
from markbook.files.jsonl import Line, Rejection
from markbook.files.spool import Spool, SpooledMap
from markbook.files.tables import SUFFIXES, read_table, suffix
from markbook.row_keys import (
    CODE_KEYS,
    DOUBTFUL_KEYS,
    RAW_KEYS,
    TEXT_KEYS,
    OtherColumns,
    find_contradiction,
    find_failure,
    find_model,
    find_names,
    find_number,
)
from markbook.types import Attempt, Sample

_RAW = frozenset(RAW_KEYS)
_NAMELESS = "it does not say what it answers, as other rows do: its `id` or `doc_id` is missing"
_DEEPEST = 16
"""Lists in lists in which an answer may lie; the harness has three. JSON goes a thousand deep, and Python's stack does not."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One answer as it was read."""

    text: str | None
    """None where the source says null: nobody answered, which is not an empty answer."""
    source: str
    ids: tuple[str, ...] = ()
    """The row that it answers; several where fields give other names, of which a file's own number is one."""
    doc_id: int | None = None
    index: int | None = None
    model: str = ""
    filtered: bool = False
    """Whether it went through the filters already."""
    key: str = ""
    """Under which of `DOUBTFUL_KEYS` it stood; empty for another."""
    question: RecordedQuestion | None = None
    """What the row says about the question it answers, where it does."""
    failure: str = ""
    """Why nobody answered, where the row says it."""

    def find_sample(
        self, by_place: Mapping[int, str], by_id: Mapping[str, None], *, numbers_itself: bool
    ) -> str | None:
        """Return the sample that the answer names; None if the task has no such row.

        `numbers_itself`: beside a `doc_id` the first of the names is a number of the answer's own.

        Raises:
            DataError: it names two rows.
        """
        has_place = self.doc_id is not None
        names = [name for name in self.ids[has_place and numbers_itself :] if name in by_id]
        # in the harness's samples `doc_id` is what names the row, and an answer may have an id of its own
        sample = by_place.get(self.doc_id) if self.doc_id is not None else names[0] if names else None
        clash = next((name for name in names if name != sample), None)
        if clash is not None:
            number = f", as doc_id {self.doc_id}," if has_place else ""
            raise DataError(
                f"this answer names row {clash!r} and{number} {'no row' if sample is None else f'row {sample!r}'}",
                at=self.source,
                hint="remove or correct the field that names the wrong row",
            )
        return sample


@dataclass(slots=True)
class Predictions:
    """What a file or folder holds for one task."""

    attempts: SpooledMap[list[Attempt]] = field(default_factory=SpooledMap)
    """By sample id, in order of their index; raw, before the task's filters."""
    model: str = ""
    """The name that the answers give their model, which is one."""
    rejections: list[Rejection] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Places of answers to rows that the task does not have."""
    warnings: list[str] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)


def find_file(path: Path, task: str, *, alone: bool) -> Path | None:
    """Return the file with the answers to a task, None if a folder holds none.

    A file is taken as it is; a folder holds `samples_<task>*.jsonl` or `<task>.<ending>`, or for a run's only task
    (`alone`) one file.

    Raises:
        DataError: nothing is there, or several files could be meant.
    """
    if path.is_file():
        return path
    if path.exists() and not path.is_dir():
        raise DataError("this is not a regular file", at=str(path))
    if not path.is_dir():
        raise DataError("there is no such file or folder", at=str(path), hint=suggest_path(path))
    inside = [
        path_ for pattern in ("*", "*/*") for path_ in sorted(path.glob(pattern)) if path_.is_file() and suffix(path_)
    ]
    # The harness adds the date and time of a run to the name, with dashes and colons.
    stem = re.compile(
        rf"(?:samples_{re.escape(task)}(?:_\d[\w.:\-]*)?|{re.escape(task)})\.(?:jsonl|json|csv|tsv|parquet|arrow)(?:\.gz)?"
    )
    matches = [path_ for path_ in inside if stem.fullmatch(path_.name)]
    # A folder of one of our own runs: its results hold the answers.
    if not matches and (path / "run.json").is_file() and (path / "results.jsonl").is_file():
        return path / "results.jsonl"
    # Only where one task is run: among several a file without a task's name could belong to any.
    if not matches and alone and len(inside) == 1:
        return inside[0]
    if len(matches) > 1:
        names = ", ".join(str(path_.relative_to(path)) for path_ in matches[:6])
        raise DataError(f"several files could be the answers to {task!r}: {names}", at=str(path), hint="name one")
    return matches[0] if matches else None


def read_answers(
    path: Path,
    task: str,
    samples: Sequence[Sample],
    *,
    several: bool,
    shared: bool = False,
    unsure: str = "",
    weighings: Mapping[str, Weighing] | None = None,
    model: str = "",
) -> Predictions:
    """Return the answers of a file to a task's samples.

    Rows are matched by `id`, `sample_id` or `task_id`, or by `doc_id`, the row's place; where no row has any of
    these, by their order, and then there must be as many as samples. Rows that say what was asked and what is right (the
    harness's samples, our own results) must say what the samples do.

    Args:
        path: what `find_file` returned.
        task: its name; rows with another `task` are left out.
        samples: the task's.
        several: whether more than one answer to a row is expected (pass@k): else a second one that differs is refused.
        shared: whether the file answers several tasks, so that each row must name its `task`.
        weighings: by sample id what is weighed, where answers are log-likelihoods instead of texts.
        unsure: a line of the task's data that cannot be read and that may or may not be one of its rows: answers that
            name rows by their place are refused, for any place after it would be a guess.
        model: what to call the model where a row does not; the file's name if it is empty.

    Raises:
        DataError: no row holds an answer, two answers to one row or of two models, a count that does not fit, places that
            are unsure, or an answer that was given to another prompt or has another right answer.
    """
    answers = Predictions()
    predictions: Spool[Prediction] = Spool()
    rows = 0
    has_questions = has_doubts = False
    for line in _read_task_rows(path, task, answers, shared=shared):
        rows += 1
        try:
            answered = _predictions(line, weighed=bool(weighings))
            predictions.extend(answered)
            has_questions = has_questions or answered[0].question is not None
            has_doubts = has_doubts or bool(answered[0].key)
        except ValueError as error:
            answers.rejections.append(Rejection(line.at, str(error)))
    # A file that is shared may hold nothing for this task, which is not an error.
    if not predictions and (answers.rejections if shared else rows or answers.rejections):
        reason = answers.rejections[0] if answers.rejections else Rejection(str(path), "no answers")
        raise DataError(f"no row holds an answer: {reason.reason}", at=reason.at)
    if predictions and unsure:
        raise DataError(
            "this line cannot be read, and only some rows belong to the task: which place an answer names is not known",
            at=unsure,
            hint="mend or remove the line, or name the rows by a field (`data.id`)",
        )
    # Matched before the questions are compared, since only then is it known which sample a row answers.
    entries = _match(predictions, samples, answers, several=several, model=model or model_name(path))
    if has_doubts:
        answers.warnings += _check_columns(path, task, samples, predictions, entries, shared=shared)
    template = ChatTemplate()
    for sample in samples if has_questions else ():
        for _, index in entries.get(sample.id, ()):
            answer = predictions[index]
            if answer.question is not None:
                check_recorded(answer.question, sample, (weighings or {}).get(sample.id), answer.source, template)
    return answers


def _check_columns(
    path: Path, task: str, samples: Sequence[Sample], predictions: Sequence[Prediction],
    entries: Mapping[str, Sequence[tuple[int | None, int]]], *, shared: bool,
) -> list[str]:  # fmt: skip
    """Return a warning where what is read as the model's answers is the right ones and another column may be the model's.

    Raises:
        DataError: the other column's name says so.
    """
    rights: dict[str, bool] = {}
    for sample in samples:
        own = {reference.strip() for reference in sample.references}
        for _, index in entries.get(sample.id, ()):
            answer = predictions[index]
            if answer.key and answer.text is not None:
                copied = sample.row.record.get(answer.key) if sample.row else None
                is_copied = answer.text == copied and any(reference in answer.text for reference in own)
                rights[answer.source] = is_copied or answer.text.strip() in own
    if not any(rights.values()):
        return []
    columns = frozenset(key for sample in samples[:1] if sample.row for key in sample.row.record)
    others = {key: OtherColumns(key, columns) for key in DOUBTFUL_KEYS}
    first = dict[str, str]()
    for line in _read_task_rows(path, task, Predictions(), shared=shared):
        key = next((key for key in TEXT_KEYS if key in line.record), "")
        if line.at in rights and key in others:
            others[key].add(line.record, is_right=rights[line.at])
            first.setdefault(key, line.at)
    warnings = []
    for key, at in first.items():
        words, is_sure = others[key].find_rival()
        if is_sure:
            raise DataError(words, at=at, hint="call the column of the model's answers `prediction`")
        warnings += [f"{path.name}: {words}; if so, call that column `prediction`"] if words else []
    return warnings


def _read_task_rows(path: Path, task: str, answers: Predictions, *, shared: bool) -> Iterator[Line]:
    """Yield a file's rows about a task, and note in `answers` what cannot be read and the file's digest."""
    digest = hashlib.sha256()
    pipeline: object = None
    for line in read_table(path, digest=digest):
        if isinstance(line, Rejection):
            answers.rejections.append(line)
            continue
        # Our own results of several tasks lie in one file and name the task of each row.
        other = line.record.get("task")
        if shared and not other:
            answers.rejections.append(Rejection(line.at, "several tasks are run, and the row names no `task`"))
            continue
        if isinstance(other, str) and other not in ("", task):
            continue
        # A harness with two filter pipelines writes each reply twice; the raw reply is the same.
        pipeline = line.record.get("filter") if pipeline is None else pipeline
        if line.record.get("filter") == pipeline:
            yield line
    answers.inputs[path.name] = digest.hexdigest()


def _predictions(line: Line, *, weighed: bool) -> list[Prediction]:
    """Return the answers of one row; log-likelihoods, one for each text that was weighed, are the text of one answer.

    Raises:
        ValueError: it holds none, or fields of the wrong type.
    """
    record = line.record
    texts: list[str | None] = [None]
    failure = find_failure(record, (CODE_KEYS[0], "resps", "filtered_resps", *TEXT_KEYS))
    index, filtered, key = None, False, ""
    if weighed and not failure:
        likelihoods = next((record[key] for key in ("resps", "filtered_resps", "likelihoods") if record.get(key)), None)
        pairs = likelihoods if isinstance(likelihoods, list) else []
        if not pairs:
            raise ValueError("no log-likelihoods in it: `likelihoods` with a pair [number, is likeliest] for each text")
        texts, filtered = [json.dumps([_read_likelihood_pair(pair) for pair in pairs])], True
    else:
        texts, filtered, key = (texts, filtered, key) if failure else _texts(record)
        if (stated := find_number(record)) is not None:
            index = _whole(stated[1], stated[0])
    stated_names = find_names(record)
    names = [name for name in stated_names if isinstance(name, str | int) and not isinstance(name, bool)]
    if stated_names and stated_names[0] not in names:
        raise ValueError("the id is neither text nor a whole number")
    question = recorded_question(record)
    return [
        Prediction(
            text=text,
            source=line.at,
            ids=tuple(dict.fromkeys(map(str, names))),
            doc_id=_whole(record.get("doc_id"), "doc_id"),
            # Several answers in one row are numbered by their order, and a single one by what its row says.
            index=position if len(texts) > 1 else index,
            model=str(find_model(record)),
            filtered=filtered,
            key=key if key in DOUBTFUL_KEYS else "",
            # The question is the same for all answers of a row, so it is kept and compared once.
            question=question if position == 0 else None,
            failure=failure,
        )
        for position, text in enumerate(texts)
    ]


_IS_LIKELIEST = {"true": True, "1": True, "false": False, "0": False}


def _read_likelihood_pair(value: object) -> tuple[float, bool | None]:
    """Return a log-likelihood and whether it is that of the likeliest text; the harness writes both as texts."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]  # the first of several tries
    if isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    pair: list[Any] = value if isinstance(value, list) else [value, None]
    try:
        number = float(pair[0])
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError("a log-likelihood is not a number") from error
    if not math.isfinite(number) or isinstance(pair[0], bool) or len(pair) != 2:
        raise ValueError("a log-likelihood is not a finite number")
    if pair[1] is None:
        return number, None
    is_likeliest = _IS_LIKELIEST.get(str(pair[1]).lower())
    if is_likeliest is None:
        raise ValueError(f"whether a text is the likeliest is neither true nor false but {pair[1]!r:.40}")
    return number, is_likeliest


def _texts(record: Mapping[str, object]) -> tuple[list[str | None], bool, str]:
    """Return the answers of a row, whether they went through filters already, and their key; null is not an answer."""
    if record.get("answered") in (False, "False", "false"):
        return [None], False, ""  # our own table as CSV, which has no word for null
    # Before the raw reply: a row may hold both, and the extracted text is what is to be marked.
    if "extracted_solution" in record and isinstance(record["extracted_solution"], str | None):
        return [record["extracted_solution"]], True, ""
    if not _RAW.isdisjoint(record):
        # What filters left of the raw replies rightly differs from them.
        harness = {"resps": [record.get("resps"), record.get("filtered_resps")]}
        if contradiction := find_contradiction({**record, **harness}, ("resps", *RAW_KEYS)):
            raise ValueError(contradiction)
    if "resps" in record or "filtered_resps" in record:
        raw = "resps" in record
        return _flat(record["resps" if raw else "filtered_resps"]), not raw, ""
    for key in TEXT_KEYS:
        if key in record:
            return _flat(record[key]), False, key
    raise ValueError(f"no answer: the row needs one of the keys {', '.join(TEXT_KEYS)}")


def _flat(value: object, depth: int = _DEEPEST) -> list[str | None]:
    """Return texts out of a text or of lists of them; null, which is not an answer, stays None."""
    if isinstance(value, str | None):
        return [value]
    if isinstance(value, list) and value and depth:
        return [text for part in value for text in _flat(part, depth - 1)]
    raise ValueError(f"an answer must be text, not {type(value).__name__ if depth else 'lists in lists in lists'}")


def _whole(value: object, key: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)  # CSV knows text only
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"{key} is not a whole number")


def _match(
    predictions: Sequence[Prediction], samples: Sequence[Sample], answers: Predictions, *, several: bool, model: str
) -> dict[str, list[tuple[int | None, int]]]:
    """Put the answers to their samples; return by sample the index and the place of each of its answers."""
    named = any(prediction.ids or prediction.doc_id is not None for prediction in predictions)
    by_place = {sample.row.place: sample.id for sample in samples if sample.row is not None}
    by_id = dict.fromkeys(by_place.values())
    has_names = any(name != str(number) for number, name in by_place.items())
    # Ids beside places are numbers of the answers' own if they count the file's rows, or if many of them name no row.
    ids: dict[str, str] = {}
    n_same = n_unknown = 0
    for prediction in predictions if named and not has_names else ():
        if prediction.doc_id is not None and prediction.ids and prediction.source not in ids:
            ids[prediction.source] = name = prediction.ids[0]
            n_same += name == by_place.get(prediction.doc_id)
            n_unknown += name not in by_id
    is_count = any(list(ids.values()) == [str(n + start) for n in range(len(ids))] for start in (0, 1))
    numbers_itself = len(ids) > 1 and 2 * n_same <= len(ids) and (is_count or n_unknown > 0)
    if not named:
        rows = list(dict.fromkeys(prediction.source for prediction in predictions))
        if len(rows) != len(samples):
            raise DataError(
                f"{len(rows)} rows of answers without ids for {len(samples)} rows of the task",
                at=predictions[0].source if predictions else "",
                hint="add an `id` or `doc_id` to each row",
            )
        # Without names the order alone decides, so the numbers of rows were compared before.
        place_of = dict(zip(rows, by_place.values(), strict=True))
    entries_by_sample: dict[str, list[tuple[int | None, int]]] = {}
    first: Prediction | None = None
    nameless: dict[str, None] = {}
    for position, prediction in enumerate(predictions):
        if named and not prediction.ids and prediction.doc_id is None:
            # Half of them by name and half by order would put answers to rows that nobody meant.
            nameless[prediction.source] = None
            continue
        if not named:
            sample: str | None = place_of[prediction.source]
        else:
            sample = prediction.find_sample(by_place, by_id, numbers_itself=numbers_itself)
        if sample is None:
            answers.unknown.append(prediction.source)
            continue
        entries_by_sample.setdefault(sample, []).append((prediction.index, position))
        if prediction.text is None:
            continue  # nobody answered, whoever was asked
        first = first or prediction
        # Answers of two models would become one model's, each on rows of its own or as attempts at the same.
        if prediction.model != first.model:
            raise DataError(
                f"answers of two models: {first.model or 'one without a name'!r} and {prediction.model or 'none'!r}",
                at=prediction.source,
                hint=f"the other is at {first.source}; run each model's answers from a file of their own",
            )
    answers.rejections += [Rejection(at, _NAMELESS) for at in nameless]
    for sample_id, entries in entries_by_sample.items():
        ordered = _order_answers(
            sample_id, [(index, predictions[position]) for index, position in entries], answers, several=several
        )
        answers.model = answers.model or next((prediction.model or model for prediction in ordered), "")
        attempts = [
            Attempt(
                sample_id,
                prediction.text or "",
                model=prediction.model or model,
                index=index,
                meta={
                    "filtered": prediction.filtered,
                    "absent": prediction.text is None,
                    "failure": prediction.failure,
                },
                source=prediction.source,
            )
            for index, prediction in enumerate(ordered)
        ]
        answers.attempts.add(sample_id, attempts)
    return entries_by_sample


def _order_answers(
    sample_id: str, entries: Sequence[tuple[int | None, Prediction]], answers: Predictions, *, several: bool
) -> list[Prediction]:
    """Return the answers to one row in order, refusing a second one where one is expected."""
    by_index: dict[int, Prediction] = {}
    following = 0
    for index, prediction in entries:
        # Where one answer is expected, all that have no number claim the place 0, so that a second one is noticed.
        position = following if index is None and several else index or 0
        first = by_index.get(position)
        # The same answer twice contradicts nothing, so it is told and counts once.
        if first is not None and first.text == prediction.text:
            answers.warnings.append(
                f"{prediction.source}: the same answer to {sample_id!r} as {first.source}; it counts once"
            )
            continue
        if first is not None:
            raise DataError(
                f"a second answer to {sample_id!r} that differs from the first",
                at=prediction.source,
                hint=f"the first is {first.source}; several answers to one row need different values of `index`",
            )
        by_index[position] = prediction
        # Beyond the highest number so far, so that unnumbered answers never take a number that a row states.
        following = max(following, position) + 1
    return [by_index[index] for index in sorted(by_index)]


def model_name(path: Path) -> str:
    """Return what a model is called whose answers do not say it: as the file, or the folder of several, that was named."""
    name = (path.resolve() if path.name in ("", "..") else path).name
    for ending in (".gz", *SUFFIXES):
        name = name.removesuffix(ending)
    return name
