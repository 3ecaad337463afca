"""Models' answers: files and folders of solutions, several models, several samples a problem.

What is read is put aside at once; in memory stay 16 bytes an answer, so that a run of millions needs no more than a run
of thousands.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Required, TypedDict

from markbook.benchmarks.assembly import Extract, assemble, find_rival, find_text
from markbook.benchmarks.benchmark import data_files
from markbook.benchmarks.humaneval import mbpp_id
from markbook.benchmarks.problems import Benchmark, RowError
from markbook.errors import DataError, suggest_path
from markbook.files.jsonl import Line, Rejection, read_jsonl
from markbook.files.spool import Spool
from markbook.row_keys import (
    CODE_KEYS,
    DOUBTFUL_KEYS,
    NUMBER_KEYS,
    OtherColumns,
    find_failure,
    find_model,
    find_names,
    find_number,
)
from markbook.text.schema import Schema, make_schema
from markbook.types import Attempt, ProblemType, Sample

_Answer = tuple[str, str, str, str, int | None, str]
"""What is put aside of an answer: text, step, form, place in its file, number and language."""
KEPT_REJECTIONS = 1000
"""So many skipped rows are kept with their reasons; the rest is only counted."""
_UNNUMBERED = (1 << 32) - 1
"""What an index holds for an answer that does not say which of several it is: the most that fits."""
_FEW = 20_000
"""Up to here Python sorts answers sooner than numpy can be imported."""


@dataclass(slots=True)
class SkippedRows:
    """Rows that were not marked, counted, the first thousand with place and reason."""

    count: int = 0
    first: list[Rejection] = field(default_factory=list)

    def add(self, rejection: Rejection) -> None:
        """Count one more."""
        self.count += 1
        if len(self.first) < KEPT_REJECTIONS:
            self.first.append(rejection)


@dataclass(slots=True)
class _Index:
    """Where one model's answers lie in the spool."""

    problem: array[int] = field(default_factory=lambda: array("I"))
    number: array[int] = field(default_factory=lambda: array("I"))
    slot: array[int] = field(default_factory=lambda: array("I"))
    digest: array[int] = field(default_factory=lambda: array("Q"))

    def __len__(self) -> int:
        return len(self.problem)

    def extend(self, other: _Index) -> None:
        self.problem.extend(other.problem)
        self.number.extend(other.number)
        self.slot.extend(other.slot)
        self.digest.extend(other.digest)

    def keep(self, places: Sequence[int]) -> None:
        """Keep these answers in this order; from here on only where they lie matters."""
        self.problem = array("I", (self.problem[i] for i in places))
        self.slot = array("I", (self.slot[i] for i in places))
        # They have served their purpose once repeats are settled, and of millions of answers they take memory.
        self.number, self.digest = array("I"), array("Q")


@dataclass(slots=True)
class _Input:
    """What one input holds, by the models' names in it; the nameless are under the empty one."""

    path: Path
    are_samples: bool
    """Whether answers that repeat a task id are several samples of it."""
    found: dict[str, _Index] = field(default_factory=dict)
    columns: dict[str, tuple[str, OtherColumns]] = field(default_factory=dict)
    """By a key under which right solutions may stand, its first row and the columns beside it."""
    nulls: dict[str, list[tuple[int, int | None]]] = field(default_factory=dict)
    """Where nobody answered: the problem and the sample's number, None without one."""

    @property
    def name(self) -> str:
        """What a model is called that the rows do not name."""
        path = self.path if self.path.name else self.path.resolve()
        return path.name if path.is_dir() else path.name.removesuffix(".gz").rpartition(".")[0] or path.name

    def lacking(self, model: str) -> Counter[int]:
        """Return how many samples of each problem are null.

        Without a number a null beside an answer is a sample of its own only where answers are samples.
        """
        nulls = self.nulls.get(model, [])
        # A set, because two rows that say null under one number speak of the same sample.
        numbered = {null for null in nulls if null[1] is not None}
        loose = [null for null in nulls if null[1] is None and self.are_samples]
        return Counter(problem for problem, _ in [*numbered, *loose])


class Answers:
    """The answers of every model to one benchmark, as far as they could be read."""

    def __init__(self, benchmark: Benchmark, language: Callable[[str], str]) -> None:
        """Hold none yet; `load_answers` reads them all, and says what `language` is."""
        self._language = language
        self.languages: set[str] = set()
        """The languages that answers themselves name, where their problems leave that to them."""
        self.invalid = SkippedRows()
        self.unknown = SkippedRows()
        """Answers to tasks that the benchmark does not have."""
        self.collapsed = SkippedRows()
        """Answers that repeat an earlier one to the letter."""
        self.null = SkippedRows()
        """Rows that say null: nobody answered."""
        self.left_out = 0
        """Answers to problems that this machine cannot mark."""
        self.warnings: list[str] = []
        self.inputs: dict[str, str] = {}
        """SHA-256 of each input's content, by the path as given."""
        self._benchmark = benchmark
        self._samples = benchmark.samples
        self._places = {sample.id: index for index, sample in enumerate(benchmark.samples)}
        # The first problem tells it for all: a folder that mixes formats has been refused by `load_benchmark`.
        self._is_mbpp = any(sample.id.startswith("Mbpp/") for sample in benchmark.samples[:1])
        self._indexes: dict[str, _Index] = {}
        self._lacking: dict[str, Counter[int]] = {}
        self._sources: dict[str, str] = {}
        self._spool: Spool[_Answer] = Spool()

    @property
    def models(self) -> list[str]:
        """The models' names in the order of the inputs; unique."""
        return list(self._indexes)

    def source(self, model: str) -> str:
        """Return the input in which a model's answers were found."""
        return self._sources[model]

    def count(self, model: str) -> int:
        """Return how many answers a model gave."""
        return len(self._indexes[model])

    def count_planned(self, model: str) -> list[int]:
        """Return how many answers a model gave to each problem, in benchmark order."""
        counts = Counter(self._indexes[model].problem)
        return [counts[index] for index in range(len(self._samples))]

    def lacking(self, model: str) -> list[int]:
        """Return how many of a model's several samples of each problem are null, in benchmark order.

        A problem without any answer needs no such count: it is absent.
        """
        answered = set(self._indexes[model].problem)
        counts = self._lacking[model]
        return [counts[index] if index in answered else 0 for index in range(len(self._samples))]

    def attempts(self, model: str) -> Iterator[Attempt]:
        """Yield a model's answers in benchmark order, numbered from 0 within each problem."""
        index = self._indexes[model]
        number, last = 0, -1
        for problem, slot in zip(index.problem, index.slot, strict=True):
            # Numbered anew and not by what the row says: what the rows say may have gaps, and may be absent.
            number = number + 1 if problem == last else 0
            last = problem
            text, step, form, at, _, language = self._spool[slot]
            meta = {"step": step, "form": form}
            yield Attempt(self._samples[problem].id, text, model, number, meta=meta, source=at, language=language)

    def read(self, path: Path, extract: Extract) -> None:
        """Add the answers in a file or folder.

        Raises:
            DataError: it does not exist or cannot be read, or two rows of a model contradict one another.
        """
        if not path.exists():
            raise DataError("the solutions do not exist", at=str(path), hint=suggest_path(path))
        files = data_files(path) if path.is_dir() else [path]
        if not files:
            inner = sorted(folder.name for folder in path.iterdir() if folder.is_dir() and data_files(folder))
            hint = f"its subfolders have: name them, as in {path / inner[0]}" if inner else ""
            raise DataError("the folder holds no .jsonl file", at=str(path), hint=hint)
        source_input = _Input(path, self._benchmark.repeats_are_samples)
        # Over the whole input, in the order of the files' names: it is the identity of what was marked.
        digest = hashlib.sha256()
        for file in files:
            for row in read_jsonl(file, digest=digest):
                if isinstance(row, Rejection):
                    self.invalid.add(row)
                    continue
                try:
                    self._take(source_input, row, extract)
                except RowError as error:
                    self.invalid.add(Rejection(row.at, str(error)))
        self.inputs[str(path)] = digest.hexdigest()
        for at, columns in source_input.columns.values():
            rival, is_sure = columns.find_rival()
            if is_sure:
                raise DataError(rival, at=at, hint="call the column of the model's answers `candidate_solution`")
            self.warnings += [f"{at}: {rival}; if so, call that column `candidate_solution`"] if rival else []
        # Only now, because a row further down may be the first that names a model, or that shows that repeats are
        # samples.
        self._name_models(source_input)

    def _take(self, source_input: _Input, line: Line, extract: Extract) -> None:
        record, at = line.record, line.at
        model = find_model(record)
        if not isinstance(model, str):
            raise RowError("'model' is not a string")
        # Before the task is looked up, so that a row that is malformed is reported as that, and not as an unknown task.
        failure = find_failure(record, CODE_KEYS)
        key, text = (next((key for key in CODE_KEYS if key in record), ""), None) if failure else find_text(record)
        task_id, *others = find_names(record, first="task_id") or [None]
        position = self._place(task_id, model or source_input.name)
        # a number is one that the file gives its rows
        for other in (name for name in others if isinstance(name, str) and name and not name.isdecimal()):
            if self._place(other, model or source_input.name) not in (None, position):
                raise DataError(
                    f"this answer names problem {task_id!r} and problem {other!r}",
                    at=at,
                    hint="remove or correct the field that names the wrong problem",
                )
        if position is None and str(task_id) in self._benchmark.left_out:
            self.left_out += 1
            return
        if position is None:
            self.unknown.add(Rejection(at, f"the benchmark has no task {str(task_id)[:80]!r}"))
            return
        number: int | None = None
        if (stated := find_number(record)) is not None:
            number_key, value = stated
            # True and False are integers for Python; the upper end is what an index holds for an answer without a
            # number.
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _UNNUMBERED:
                raise RowError(f"{number_key!r} must be a whole number: which of several answers to a problem it is")
            number = value
        # OpenAI's HumanEval names this key `completion`, and its files give several samples of a task without numbering
        # them.
        source_input.are_samples = source_input.are_samples or key == "completion"
        index = source_input.found.setdefault(model, _Index())
        if text is None:
            source_input.nulls.setdefault(model, []).append((position, number))
            self.null.add(Rejection(at, failure or f"{key!r} is null: nobody answered"))
            return
        sample, language = self._samples[position], self._read_language(record, self._samples[position])
        sample = replace(sample, language=language) if language else sample
        if rival := find_rival(record, key, sample):
            raise DataError(rival, at=at)
        if key in DOUBTFUL_KEYS:
            right = tuple(reference.strip() for reference in sample.references)
            beside = {name: value for name, value in record.items() if name == key or not _is_end(value, right)}
            _, columns = source_input.columns.setdefault(key, (at, OtherColumns(key, frozenset())))
            columns.add(beside, is_right=_is_end(text, right))
        code = assemble(text, sample, extract, key=key)
        # Eight bytes are enough to find repeats within one problem, and they fit into an array; `surrogatepass` because
        # JSON can hold half a surrogate pair, which UTF-8 cannot.
        digest = hashlib.blake2b(code.text.encode(errors="surrogatepass"), digest_size=8).digest()
        index.problem.append(position)
        # behind all that have a number, in the order of the input: between two answers of one number, an answer without
        # one would hide that the second repeats the first
        index.number.append(_UNNUMBERED if number is None else number)
        index.digest.append(int.from_bytes(digest, "big"))
        index.slot.append(len(self._spool))
        self._spool.append((code.text, code.step, code.form, at, number, language))

    def _read_language(self, record: Mapping[str, object], sample: Sample) -> str:
        """Return what an answer says that it is written in, where its problem leaves that to it; empty for Python."""
        stated = record.get("language")
        if stated is None or sample.language or sample.problem_type is not ProblemType.STDIN:
            return ""
        if not isinstance(stated, str):
            raise RowError("'language' is not a string")
        language = self._language(stated)
        self.languages |= {language} - {""}
        return language

    def _place(self, task_id: object, model: str) -> int | None:
        """Return the problem that a row's task id names, with or without the model's name behind; None if none."""
        if isinstance(task_id, bool) or not isinstance(task_id, str | int) or task_id == "":
            raise RowError("'task_id' is missing" if task_id in (None, "") else "'task_id' is not a string")
        name = str(task_id)
        # The name as it stands comes first: a task may truly end in something that looks like a model's name.
        for candidate in (name, name.removesuffix(f"_{model}")):
            if candidate in self._places:
                return self._places[candidate]
            if self._is_mbpp:
                try:
                    return self._places[mbpp_id(candidate)]
                except (RowError, KeyError):
                    continue
        return None

    def _name_models(self, source_input: _Input) -> None:
        nameless = source_input.found.pop("", None)
        if nameless is not None:
            # Rows without a name belong to the only model that is named beside them; with several it cannot be known
            # whose they are.
            name = next(iter(source_input.found)) if len(source_input.found) == 1 else source_input.name
            source_input.nulls.setdefault(name, []).extend(source_input.nulls.pop("", []))
            if name in source_input.found:
                source_input.found[name].extend(nameless)
            else:
                source_input.found[name] = nameless
        for name, index in source_input.found.items():
            # Each model on its own: two models may well give the same answer to a problem.
            self._settle_repeats(source_input, name)
            unique, count = name, 1
            # Never merged: together they would look like one model that gave more samples.
            while unique in self._indexes:
                count += 1
                unique = f"{name}_{count}"
            if unique != name:
                self.warnings.append(
                    f"{source_input.path}: its model has the name {name!r} of {self.source(name)}; it is reported as {unique!r}"
                )
            self._indexes[unique] = index
            self._sources[unique] = str(source_input.path)
            self._lacking[unique] = source_input.lacking(name)
        if not source_input.found:
            self.warnings.append(f"{source_input.path}: No valid solutions found")

    def _settle_repeats(self, source_input: _Input, model: str) -> None:
        """Sort into benchmark order; collapse what repeats to the letter, refuse what contradicts."""
        index = source_input.found[model]
        kept_rows = array("I")
        for position in _benchmark_order(index):
            # Equal problems are neighbours after the sort, so the last answer that stays is the only one to compare
            # with.
            before = kept_rows[-1] if kept_rows and index.problem[kept_rows[-1]] == index.problem[position] else None
            if before is None:
                kept_rows.append(position)
                continue
            *_, first_at, first, _ = self._spool[index.slot[before]]
            *_, second_at, second, _ = self._spool[index.slot[position]]
            if source_input.are_samples if first is None and second is None else first != second:
                kept_rows.append(position)  # another sample of the same problem
            elif index.digest[before] == index.digest[position]:
                self.collapsed.add(Rejection(second_at, "repeats an earlier answer to the letter"))
            else:
                task = self._samples[index.problem[position]].id
                raise DataError(
                    f"{model!r} answers {task!r} twice and differently; the other answer is at {first_at}",
                    at=second_at,
                    hint='number several samples of one task with a key "sample": 0, 1, ...',
                )
        index.keep(kept_rows)


def _is_end(value: object, texts: Sequence[str]) -> bool:
    """Whether a value is one of these texts, or what one of them ends with, as a solution ends what a prompt begins."""
    return isinstance(value, str) and bool(value.strip()) and any(text.endswith(value.strip()) for text in texts)


def load_answers(
    paths: Sequence[Path],
    benchmark: Benchmark,
    *,
    extract: Extract = "auto",
    language: Callable[[str], str] = lambda _name: "",
) -> Answers:
    """Return the answers in files and folders, matched to a benchmark's task ids.

    `extract`: `auto` looks for code in replies that do not compile as they stand, `always` also in those that do,
    `off` takes every text as it is. `language` returns our name of a language that answers name, empty for Python;
    RowError if there is none.

    Raises:
        DataError: an input does not exist or cannot be read, no row matches any task, or two rows of a model answer
            one task differently and are not declared as samples.
    """
    answers = Answers(benchmark, language)
    for path in paths:
        answers.read(path, extract)
    if not answers.models:
        what, example = "the input is empty", None
        if answers.unknown.count:
            what = f"none of {answers.unknown.count} answers match a task; the first"
            example = answers.unknown.first[0]
        elif answers.invalid.count:
            what = f"the first of {answers.invalid.count} rejected rows"
            example = answers.invalid.first[0]
        reason = "" if example is None else f", {example.at}: {example.reason}"
        raise DataError(f"No valid solutions found: {what}{reason}", at=", ".join(map(str, paths)))
    return answers


def _benchmark_order(index: _Index) -> array[int]:
    """Return the places of an index by problem, then sample number, then position in the input."""
    if len(index) <= _FEW:
        keys = list(zip(index.problem, index.number, index.slot, strict=True))
        return array("I", sorted(range(len(keys)), key=keys.__getitem__))
    import numpy as np

    # `lexsort` takes the most important key last.
    columns = [np.frombuffer(column, dtype=column.typecode) for column in (index.slot, index.number, index.problem)]
    return array("I", np.lexsort(columns).astype(np.uint32).tobytes())


# The JSON schema of a row of answers, out of the names by which they are read.


class AnswerRow(TypedDict, total=False):
    """One answer of a model to a problem."""

    task_id: Required[Annotated[str | int, "The problem."]]
    model: Annotated[str | None, "Whose answer it is; without it the file's or folder's name."]
    error: Annotated[object, "Why nobody answered; the row is missing. Null, false, 0 and what is empty say nothing."]
    language: Annotated[str | None, "What a program is written in, where its problem leaves that to the answers."]


def answers_schema() -> Schema:
    """Return the JSON schema of a row of answers."""
    schema = make_schema("Markbook answers: one row of a .jsonl file", AnswerRow)
    texts: Schema = {key: {"type": ["string", "null"]} for key in CODE_KEYS}
    texts["candidate_solution"] = texts["candidate_solution"] | {
        "description": "The answer: code, or a raw reply with a fenced block; null is missing, empty an empty answer."
    }
    texts["extracted_solution"] = texts["extracted_solution"] | {"description": "The code taken from it; it wins."}
    number = {"type": ["integer", "null"], "minimum": 0, "description": "Which of several answers, from 0."}
    schema["properties"] |= texts | dict.fromkeys(NUMBER_KEYS, number)
    schema["properties"]["sample_id"] = number | {
        "type": ["integer", "string", "null"],
        "description": "Which of several answers, from 0; a text names the problem, as `task_id` does.",
    }
    return {**schema, "anyOf": [{"required": [key]} for key in (*CODE_KEYS, "error")]}
