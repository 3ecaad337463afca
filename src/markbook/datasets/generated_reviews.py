"""Reviews that a model or agents wrote: rows of JSON or JSON Lines, or folders of finished runs.

A row is `{"paper_id", "system", "review": text or fields, "execution_time": seconds, "trace": path}`. A run folder holds
`review.json`, and `metadata.json` and `trace.json` where the run kept them; a run that has a trace and no review is an
attempt without a text.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from markbook.datasets.papers import ASPECTS, as_number, as_text, mend, read_object, read_scale, visible_files
from markbook.errors import DamagedError, DataError
from markbook.files.jsonl import Line, Rejection, read_jsonl
from markbook.row_keys import find_failure, find_model
from markbook.types import Attempt

DEFAULT_SYSTEM = "default"
_TEXT_FIELDS = ("summary", "comments", "review", "strengths", "weaknesses", "questions", "suggestions", "limitations")
_LABELS = ("accept", "weak_accept", "weak_reject", "reject")
_RUN_FILES = ("review.json", "trace.json", "metadata.json", "evaluation.json", "agent_graph.json")


@dataclass(frozen=True, slots=True)
class Generated:
    """All generated reviews of a file or folder."""

    attempts: tuple[Attempt, ...]
    """`model` is the system; `meta` has `recommendation`, `scores`, `trace` (a path) and `notes` where known."""
    rejections: tuple[Rejection, ...]
    digests: Mapping[str, str] = field(default_factory=dict)


class GeneratedReviews:
    """The loader of the `generated_reviews` plugin."""

    name = "generated_reviews"

    def load(self, path: Path) -> Generated:
        """Read every generated review of a file or folder, in a stable order.

        Raises:
            DataError: the path does not exist, it holds no row that names a paper, or a file of rows breaks off.
        """
        rejections: list[Rejection] = []
        digests: dict[str, str] = {}
        attempts: list[Attempt] = []
        for file, name in visible_files(path, (".json", ".jsonl", ".json.gz", ".jsonl.gz")):
            for item in _read(file, digests, name):
                if isinstance(item, Rejection):
                    rejections.append(item)
                else:
                    attempts.append(item)
        if not attempts:
            reason = rejections[0].reason if rejections else "no .json, .jsonl or run folder in it"
            raise DataError(f"this holds no generated review: {reason}", at=str(path))
        # of a system's attempts at one paper, in the order in which they stand
        counts: Counter[tuple[str, str]] = Counter()
        for number, attempt in enumerate(attempts):
            key = (attempt.sample_id, attempt.model)
            attempts[number] = replace(attempt, index=counts[key])
            counts[key] += 1
        return Generated(tuple(attempts), tuple(rejections), digests)


def _read(file: Path, digests: dict[str, str], name: str) -> Iterator[Attempt | Rejection]:
    if file.name in _RUN_FILES:
        yield from _read_run(file, digests, name)
        return
    if file.suffix == ".json":
        source = read_object(file)
        if not isinstance(source, Rejection):
            digests[name] = source.digest
            rows = source.record.get("reviews")
            for number, row in enumerate(rows if isinstance(rows, list) else [source.record], start=1):
                yield _attempt(row, f"{file}[{number}]", file)
            return
    digest = hashlib.sha256()
    try:
        for line in read_jsonl(file, digest=digest):
            yield _attempt(line.record, line.at, file) if isinstance(line, Line) else line
    except DamagedError:
        raise  # the reviews that came through are not all that were written
    except DataError as error:
        yield Rejection(error.at or str(file), error.message)
    digests[name] = digest.hexdigest()


def _read_run(file: Path, digests: dict[str, str], name: str) -> Iterator[Attempt | Rejection]:
    """Read a run folder once, when its first telling file comes by."""
    folder = file.parent
    lead = next((part for part in ("review.json", "trace.json") if (folder / part).is_file()), None)
    if file.name != lead:
        return
    metadata_file = folder / "metadata.json"
    metadata = read_object(metadata_file) if metadata_file.is_file() else None
    record: Mapping[str, Any] = metadata.record if metadata and not isinstance(metadata, Rejection) else {}
    row: dict[str, Any] = {}
    if lead == "review.json":
        source = read_object(file)
        if isinstance(source, Rejection):
            yield source
            return
        digests[name] = source.digest
        row = dict(source.record)
    row.setdefault("paper_id", record.get("paper_id"))
    row.setdefault("review", None)
    row["system"] = as_text(row.get("system")) or as_text(record.get("engine_type")) or folder.name
    if (folder / "trace.json").is_file():
        row.setdefault("trace", "trace.json")
        trace = read_object(folder / "trace.json")
        if not isinstance(trace, Rejection):
            digests[name.removesuffix(file.name) + "trace.json"] = trace.digest
            start, end = as_number(trace.record.get("start_time")), as_number(trace.record.get("end_time"))
            # both are one event's where they are equal, which measures nothing
            took = end - start if start is not None and end is not None and end != start else None
            row.setdefault("execution_time", took)
    yield _attempt(row, str(file), file)


def _attempt(row: object, at: str, file: Path) -> Attempt | Rejection:
    if not isinstance(row, Mapping):
        return Rejection(at, "not an object")
    paper = row.get("paper_id", row.get("sample_id"))
    if isinstance(paper, int) and not isinstance(paper, bool):
        paper = str(paper)
    if not as_text(paper):
        return Rejection(at, "no paper_id")
    if "review" not in row and "comments" not in row and "text" not in row:
        return Rejection(at, "no review in it")
    keys = ("review", "comments", "text")
    review = None if find_failure(row, keys) else next((row[key] for key in keys if key in row), None)
    fields = {str(name).lower(): value for name, value in review.items()} if isinstance(review, Mapping) else {}
    parts = (as_text(fields.get(name)) for name in _TEXT_FIELDS)
    stated = as_text(fields.get("comments")) or "\n\n".join(filter(None, parts)) if fields else as_text(review)
    text, mended = mend(stated)
    notes = [f"doubly encoded UTF-8 undone in {mended} places"] if mended else []
    meta = _meta(row, review, file, notes)
    # no review is not an empty one: null, or an object whose texts are all null
    texts = [fields[name] for name in _TEXT_FIELDS if name in fields]
    if review is None or (texts and all(part is None for part in texts)):
        meta["absent"] = True
    # A boolean or a word in the place of the time is not a time; a negative one stays for the score to refuse.
    seconds = as_number(row.get("execution_time"))
    info = row.get("model_info")
    named = (row.get("system"), find_model(row), info.get("model") if isinstance(info, Mapping) else info)
    system = next(filter(None, map(as_text, named)), DEFAULT_SYSTEM)
    return Attempt(as_text(paper), text, model=system, seconds=seconds, meta=meta, source=at)


def _meta(row: Mapping[str, object], review: object, file: Path, notes: list[str]) -> dict[str, object]:
    fields = review if isinstance(review, Mapping) else {}
    structured = row.get("structured_review")
    fields = {**fields, **structured} if isinstance(structured, Mapping) else fields
    numbers = {str(name).lower(): as_number(value) for name, value in fields.items()}
    scores = {name: score for name in ASPECTS if (score := numbers.get(name)) is not None and 1 <= score <= 10}
    meta: dict[str, object] = {"scores": scores}
    stated = row.get("recommendation", fields.get("recommendation", fields.get("RECOMMENDATION")))
    number = as_number(stated)
    word = as_text(stated).lower().replace(" ", "_")
    if number is not None or word in _LABELS:
        meta["recommendation"] = number if number is not None else word
    elif stated is not None:
        notes.append("its recommendation is neither a number nor one of the four labels")
    scale = row.get("recommendation_scale", fields.get("recommendation_scale"))
    if (ends := read_scale(scale)) is not None:
        meta["recommendation_scale"] = ends
    elif scale is not None:
        notes.append("its recommendation_scale is not [lowest, highest]")
    trace = as_text(row.get("trace"))
    if trace:
        # A row may point at a file beside itself, not at any file of the machine; no path holds a NUL.
        if "\0" not in trace and (trace_path := (file.parent / trace).resolve()).is_relative_to(file.parent.resolve()):
            meta["trace"] = str(trace_path)
        else:
            notes.append("its trace lies outside the folder of the reviews and was not read")
    if notes:
        meta["notes"] = tuple(notes)
    return meta
