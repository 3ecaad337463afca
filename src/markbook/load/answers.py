"""Models' answers: files and folders of solutions, several models, several samples a problem.

What is read is put aside in a temporary file at once; in memory stay 12 bytes an answer, so that a run of millions
needs no more than a run of thousands.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from markbook.errors import DataError
from markbook.files.jsonl import Rejection, read_jsonl
from markbook.load.assembly import Extract, RowText, assemble
from markbook.load.benchmark import Benchmark, RowError, data_files
from markbook.load.mbpp import mbpp_id
from markbook.types import Attempt

KEPT_REJECTIONS = 1000
"""So many skipped rows are kept with their reasons; the rest is only counted."""
_FEW = 20_000
"""Up to here Python sorts answers sooner than numpy can be imported."""
_INDEX_KEYS = ("sample", "sample_index", "sample_id", "index")


@dataclass(slots=True)
class Skipped:
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
    """Where one model's answers lie in the temporary file."""

    problem: array[int] = field(default_factory=lambda: array("I"))
    number: array[int] = field(default_factory=lambda: array("I"))
    offset: array[int] = field(default_factory=lambda: array("Q"))
    digest: array[int] = field(default_factory=lambda: array("Q"))

    def __len__(self) -> int:
        return len(self.problem)

    def extend(self, other: _Index) -> None:
        self.problem.extend(other.problem)
        self.number.extend(other.number)
        self.offset.extend(other.offset)
        self.digest.extend(other.digest)

    def keep(self, places: Sequence[int]) -> None:
        """Keep these answers in this order; from here on only where they lie matters."""
        self.problem = array("I", (self.problem[i] for i in places))
        self.offset = array("Q", (self.offset[i] for i in places))
        self.number, self.digest = array("I"), array("Q")


class Answers:
    """The answers of every model to one benchmark, as far as they could be read; a context manager."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Use `load_answers`."""
        self.invalid = Skipped()
        """Rows that are no answer."""
        self.unknown = Skipped()
        """Answers to tasks that the benchmark does not have."""
        self.collapsed = Skipped()
        """Answers that repeat an earlier one to the letter."""
        self.null = Skipped()
        """Rows that say null: nobody answered."""
        self.warnings: list[str] = []
        self.inputs: dict[str, str] = {}
        """SHA-256 of each input's content, by the path as given."""
        self._samples = benchmark.samples
        self._indexes: dict[str, _Index] = {}
        self._lacking: dict[str, Counter[int]] = {}
        self._sources: dict[str, str] = {}
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the temporary file; the counts stay."""
        self._spool.close()

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

    def planned(self, model: str) -> list[int]:
        """Return how many answers a model gave to each problem, in benchmark order."""
        counts = Counter(self._indexes[model].problem)
        return [counts[place] for place in range(len(self._samples))]

    def lacking(self, model: str) -> list[int]:
        """Return how many of a model's several samples of each problem are null, in benchmark order.

        A problem without any answer needs no such count: it is absent.
        """
        answered = set(self._indexes[model].problem)
        counts = self._lacking.get(model, Counter())
        return [counts[place] if place in answered else 0 for place in range(len(self._samples))]

    def attempts(self, model: str) -> Iterator[Attempt]:
        """Yield a model's answers in benchmark order, numbered from 0 within each problem."""
        index = self._indexes[model]
        number, last = 0, -1
        for place in range(len(index)):
            problem = index.problem[place]
            number = number + 1 if problem == last else 0
            last = problem
            row = self._row(index.offset[place])
            meta = {"step": row["step"], "form": row["form"]}
            yield Attempt(self._samples[problem].id, row["text"], model, number, meta=meta, source=row["at"])

    def _put(self, row: Mapping[str, Any]) -> int:
        offset = self._spool.seek(0, 2)
        self._spool.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        return offset

    def _row(self, offset: int) -> dict[str, Any]:
        self._spool.seek(offset)
        row: dict[str, Any] = json.loads(self._spool.readline())
        return row


def load_answers(paths: Sequence[Path], benchmark: Benchmark, *, extract: Extract = "auto") -> Answers:
    """Return the answers in files and folders.

    Args:
        paths: each a file or a folder of files; one or more models each.
        benchmark: answers are matched to its task ids.
        extract: `auto` looks for code in replies that do not compile as they stand, `always` also in those that do,
            `off` takes every text as it is.

    Raises:
        DataError: an input does not exist or cannot be read, no row matches any task, or two rows of a model answer
            one task differently and are not declared as samples.
    """
    answers = Answers(benchmark)
    try:
        for path in paths:
            _Reader(answers, benchmark, path, extract).read()
        if not answers.models:
            raise DataError(_nothing_found(answers), at=", ".join(map(str, paths)))
    except BaseException:
        answers.close()
        raise
    return answers


class _Reader:
    """Reads one input."""

    def __init__(self, answers: Answers, benchmark: Benchmark, path: Path, extract: Extract) -> None:
        self._answers = answers
        self._benchmark = benchmark
        self._path = path
        self._extract = extract
        self._places = {sample.id: place for place, sample in enumerate(benchmark.samples)}
        self._is_mbpp = any(sample.id.startswith("Mbpp/") for sample in benchmark.samples[:1])
        self._found: dict[str, _Index] = {}
        self._nulls: dict[str, list[tuple[int, int | None]]] = {}
        self._are_samples = benchmark.repeats_are_samples

    def read(self) -> None:
        digest = hashlib.sha256()
        for file in self._files():
            for row in read_jsonl(file, digest=digest):
                if isinstance(row, Rejection):
                    self._answers.invalid.add(row)
                    continue
                try:
                    self._take(row.record, row.at)
                except RowError as error:
                    self._answers.invalid.add(Rejection(row.at, str(error)))
        self._answers.inputs[str(self._path)] = digest.hexdigest()
        self._name_models()

    def _files(self) -> list[Path]:
        if not self._path.exists():
            raise DataError("the solutions do not exist", at=str(self._path))
        if not self._path.is_dir():
            return [self._path]
        files = data_files(self._path)
        if not files:
            inner = sorted(folder.name for folder in self._path.iterdir() if folder.is_dir() and data_files(folder))
            hint = f"its subfolders have: name them, as in {self._path / inner[0]}" if inner else ""
            raise DataError("the folder holds no .jsonl file", at=str(self._path), hint=hint)
        return files

    def _take(self, record: Mapping[str, Any], at: str) -> None:
        model = record.get("model") or ""
        if not isinstance(model, str):
            raise RowError("'model' is no string")
        row = RowText.of(record)
        place = self._place(record.get("task_id"), model or self._default_name())
        if place is None:
            self._answers.unknown.add(Rejection(at, f"the benchmark has no task {str(record.get('task_id'))[:80]!r}"))
            return
        sample = self._benchmark.samples[place]
        number = _sample_number(record)
        self._are_samples = self._are_samples or row.key == "completion"
        index = self._found.setdefault(model, _Index())
        if row.text is None:
            self._nulls.setdefault(model, []).append((place, number))
            self._answers.null.add(Rejection(at, f"{row.key!r} is null: nobody answered"))
            return
        code = assemble(row, sample, self._extract)
        digest = hashlib.blake2b(code.text.encode(errors="surrogatepass"), digest_size=8).digest()
        index.problem.append(place)
        index.number.append(len(index) if number is None else number)
        index.digest.append(int.from_bytes(digest, "big"))
        index.offset.append(
            self._answers._put({"text": code.text, "step": code.step, "form": code.form, "at": at, "n": number})  # noqa: SLF001 - its builder
        )

    def _place(self, task_id: object, model: str) -> int | None:
        if isinstance(task_id, bool) or not isinstance(task_id, str | int) or task_id == "":
            raise RowError("'task_id' is missing" if task_id in (None, "") else "'task_id' is no string")
        name = str(task_id)
        for candidate in (name, name.removesuffix(f"_{model}")):
            if candidate in self._places:
                return self._places[candidate]
            if self._is_mbpp:
                try:
                    return self._places[mbpp_id(candidate)]
                except (RowError, KeyError):
                    continue
        return None

    def _default_name(self) -> str:
        path = self._path if self._path.name else self._path.resolve()
        return path.name if path.is_dir() else path.name.removesuffix(".gz").rpartition(".")[0] or path.name

    def _name_models(self) -> None:
        nameless = self._found.pop("", None)
        if nameless is not None:
            name = next(iter(self._found)) if len(self._found) == 1 else self._default_name()
            self._nulls.setdefault(name, []).extend(self._nulls.pop("", []))
            if name in self._found:
                self._found[name].extend(nameless)
            else:
                self._found[name] = nameless
        for name, index in self._found.items():
            self._settle_repeats(index, name)
            self._register(name, index)
        if not self._found:
            self._answers.warnings.append(f"{self._path}: No valid solutions found")

    def _register(self, name: str, index: _Index) -> None:
        answers, unique, count = self._answers, name, 1
        while unique in answers._indexes:  # noqa: SLF001 - its builder
            count += 1
            unique = f"{name}_{count}"
        if unique != name:
            answers.warnings.append(
                f"{self._path}: its model has the name {name!r} of {answers.source(name)}; it is reported as {unique!r}"
            )
        answers._indexes[unique] = index  # noqa: SLF001 - its builder
        answers._sources[unique] = str(self._path)  # noqa: SLF001 - its builder
        # Without a number a null beside an answer is a sample of its own only where answers are samples.
        samples = {one for one in self._nulls.get(name, []) if one[1] is not None}
        loose = [one for one in self._nulls.get(name, []) if one[1] is None and self._are_samples]
        answers._lacking[unique] = Counter(place for place, _ in [*samples, *loose])  # noqa: SLF001 - its builder

    def _settle_repeats(self, index: _Index, model: str) -> None:
        """Sort into benchmark order; collapse what repeats to the letter, refuse what contradicts."""
        kept = array("I")
        for place in _benchmark_order(index):
            before = kept[-1] if kept and index.problem[kept[-1]] == index.problem[place] else None
            if before is None or not self._repeats(index, before, place):
                kept.append(place)
            elif index.digest[before] == index.digest[place]:
                at = self._answers._row(index.offset[place])["at"]  # noqa: SLF001 - its builder
                self._answers.collapsed.add(Rejection(at, "repeats an earlier answer to the letter"))
            else:
                self._refuse(index, before, place, model)
        index.keep(kept)

    def _repeats(self, index: _Index, before: int, place: int) -> bool:
        """Whether two answers claim to be the same sample of one problem."""
        numbers = [self._answers._row(index.offset[i])["n"] for i in (before, place)]  # noqa: SLF001 - its builder
        if numbers == [None, None]:
            return not self._are_samples
        return bool(numbers[0] == numbers[1])

    def _refuse(self, index: _Index, before: int, place: int, model: str) -> None:
        first, second = (self._answers._row(index.offset[i])["at"] for i in (before, place))  # noqa: SLF001 - its builder
        task = self._benchmark.samples[index.problem[place]].id
        raise DataError(
            f"{model!r} answers {task!r} twice and differently; the other answer is at {first}",
            at=second,
            hint='number several samples of one task with a key "sample": 0, 1, ...',
        )


def _benchmark_order(index: _Index) -> array[int]:
    """Return the places of an index by problem, then sample number, then position in the input."""
    if len(index) <= _FEW:
        keys = list(zip(index.problem, index.number, index.offset, strict=True))
        return array("I", sorted(range(len(keys)), key=keys.__getitem__))
    import numpy as np

    columns = [np.frombuffer(column, dtype=column.typecode) for column in (index.offset, index.number, index.problem)]
    return array("I", np.lexsort(columns).astype(np.uint32).tobytes())


def _sample_number(record: Mapping[str, Any]) -> int | None:
    for key in _INDEX_KEYS:
        value = record.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
            raise RowError(f"{key!r} is no sample number")
        return value
    return None


def _nothing_found(answers: Answers) -> str:
    if answers.unknown.count:
        example = answers.unknown.first[0]
        return f"No valid solutions found: none of {answers.unknown.count} answers match a task; the first, {example.at}: {example.reason}"
    if answers.invalid.count:
        example = answers.invalid.first[0]
        return f"No valid solutions found: the first of {answers.invalid.count} rejected rows, {example.at}: {example.reason}"
    return "No valid solutions found: the input is empty"
