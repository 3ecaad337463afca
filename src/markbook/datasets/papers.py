"""Papers and their human reviews in the PeerRead layout, all dialects.

    <anything>/<venue>/<split>/reviews/<id>.json
    <anything>/<venue>/<split>/parsed_pdfs/<id>.pdf.json

Dialects seen in the wild: scores as strings (ACL, CoNLL) or integers; scales 1-5, 1-6 and 1-10; meta-reviews flagged or
not; decisions, author replies, questions and empty comments inside `reviews` (ICLR 2017); no reviews at all (arXiv);
doubly encoded UTF-8 (CoNLL). Every entry is classified and counted, none is dropped.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from markbook.errors import DataError, suggest_path
from markbook.files.content import MAX_VALUE, SPACE, whole
from markbook.files.jsonl import Rejection, parse_object
from markbook.types import Sample

# Reading one JSON file of a paper or review, and mending text that was encoded twice.

_HUGE = 1e15
"""No score, and no time in seconds, is this large; an integer beyond a float's range would overflow."""

_HIGH = "\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
"""What Windows-1252 shows for the bytes 0x80-0x9f, as far as it defines them."""
_TO_BYTE = {ord(char): byte[0] for char in _HIGH if (byte := char.encode("cp1252"))}
_DOUBLE = re.compile(f"[\u00c2-\u00f4][\u0080-\u00bf{re.escape(_HIGH)}]{{1,3}}")


@dataclass(frozen=True, slots=True)
class DigestedObject:
    """One JSON object of a file and the digest of its bytes."""

    record: Mapping[str, Any]
    digest: str


def read_object(path: Path) -> DigestedObject | Rejection:
    """Return the JSON object that a file holds, or why there is none; never raises for what lies in the file."""
    digest = hashlib.sha256()
    try:
        content = whole(path, digest, limit=MAX_VALUE)
    except DataError as error:
        # A file that is unreadable costs its own paper only; the others of the folder are still read.
        return Rejection(str(path), error.message)
    line = parse_object(content.strip(SPACE), str(path))
    return line if isinstance(line, Rejection) else DigestedObject(line.record, digest.hexdigest())


def mend(text: str) -> tuple[str, int]:
    r"""Return the text with doubly encoded UTF-8 undone, and how many places were mended.

    Only sequences that are whole UTF-8 characters read as Latin-1 or Windows-1252 are touched, so ordinary accented
    text stays as it is.

    >>> mend("the \u00e2\u0080\u009centity\u00e2\u0080\u009d pair")
    ('the “entity” pair', 2)
    >>> mend("na\u00efve caf\u00e9")
    ('naïve café', 0)
    """
    count = 0

    def undo(match: re.Match[str]) -> str:
        nonlocal count
        garbled = match.group(0)
        raw = bytes(_TO_BYTE.get(ord(char), ord(char) if ord(char) < 256 else 0) for char in garbled)
        # The pattern takes up to three letters behind the first, of which not all need belong to the character.
        for length in range(len(raw), 1, -1):
            try:
                mended = raw[:length].decode("utf-8")
            except UnicodeDecodeError:
                continue
            if len(mended) == 1:
                count += 1
                return mended + garbled[length:]
        return garbled

    return _DOUBLE.sub(undo, text), count


def as_text(value: object) -> str:
    """Return a string value stripped; anything else is not a text, nor is one of which nothing can be seen."""
    text = value.strip() if isinstance(value, str) else ""
    return text if any(sign.isprintable() and sign != " " for sign in text) else ""


def as_number(value: object) -> float | None:
    """Return a score that is a number or spells one (`"4"`, `"4: accept"`); None for words, booleans and nothing.

    >>> as_number("4"), as_number("3: borderline"), as_number(7), as_number("Accept"), as_number(True)
    (4.0, 3.0, 7.0, None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < _HUGE else None
    # A number must be followed by nothing or by a sign that introduces its meaning: `3 reviewers` is not a score of 3.
    if isinstance(value, str) and (match := re.match(r"\s*(\d{1,3}(?:\.\d{1,6})?)\s*(?:$|[:/(\-])", value)):
        return float(match.group(1))
    return None


def read_scale(value: object) -> tuple[float, float] | None:
    """Return the lowest and the highest mark of a scale, given as `[1, 6]` or `"1-6"`; None if it is none.

    >>> read_scale([1, 6]), read_scale("1-10"), read_scale([6, 1])
    ((1.0, 6.0), (1.0, 10.0), None)
    """
    ends = value.split("-") if isinstance(value, str) else value
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return None
    low, high = map(as_number, ends)
    return (low, high) if low is not None and high is not None and low < high else None


class EntryKind(StrEnum):
    """What an entry of `reviews` is."""

    HUMAN = "human"
    """A reviewer's assessment of the paper: the only kind that similarity is measured against."""
    META = "meta"
    DECISION = "decision"
    AUTHOR = "author"
    COMMENT = "comment"
    """A question or remark without an assessment, from a reviewer or the public."""
    EMPTY = "empty"
    """No text; its score, if any, still counts among the human scores."""


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """One entry of a review file."""

    kind: EntryKind
    text: str
    scores: Mapping[str, float]
    """The aspects by their lower-case names, those inside their scale only."""
    recommendation: float | None = None
    """On the venue's own scale."""
    decision: str = ""
    """Such as `Accept (poster)`."""
    mended: int = 0
    """Places where doubly encoded UTF-8 was undone."""


@dataclass(frozen=True, slots=True)
class PaperSection:
    """A part of a paper's text."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper with what people wrote about it."""

    id: str
    title: str = ""
    abstract: str = ""
    sections: tuple[PaperSection, ...] = ()
    """Empty where the text is not at hand."""
    entries: tuple[ReviewEntry, ...] = ()
    venue: str = ""
    split: str = ""
    accepted: bool | None = None
    scale: tuple[float, float] | None = None
    """Lowest and highest recommendation of the venue; None if unknown."""
    source: str = ""
    notes: tuple[str, ...] = ()
    """What was odd about it, one sentence each."""

    @property
    def human(self) -> list[ReviewEntry]:
        """Return the human reviews that have text."""
        return [entry for entry in self.entries if entry.kind is EntryKind.HUMAN]

    @property
    def recommendations(self) -> list[float]:
        """Return the reviewers' recommendations, on the venue's scale."""
        # A review without text may still have a score, so the empty ones count here and nowhere else.
        kinds = (EntryKind.HUMAN, EntryKind.EMPTY)
        return [e.recommendation for e in self.entries if e.kind in kinds and e.recommendation is not None]

    def full_text(self) -> str:
        """Return the sections joined, the abstract where there are none, or nothing."""
        if self.sections:
            return "\n\n".join(f"{part.heading}\n{part.text}".strip() for part in self.sections)
        return self.abstract

    def sample(self) -> Sample:
        """Return the paper as a sample: the text is the input, the human reviews are the references."""
        meta = {"title": self.title, "venue": self.venue, "split": self.split, "accepted": self.accepted}
        references = tuple(entry.text for entry in self.human)
        return Sample(self.id, self.full_text(), references, meta={"topic": self.venue, **meta}, source=self.source)


@dataclass(frozen=True, slots=True)
class Papers:
    """All papers of a folder."""

    papers: tuple[Paper, ...]
    rejections: tuple[Rejection, ...]
    digests: Mapping[str, str]
    """The SHA-256 of every file that was read, by its path within the folder."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Papers, files and entries by kind."""

    def by_id(self) -> dict[str, Paper]:
        """Return the papers by their ids, which are unique."""
        return {paper.id: paper for paper in self.papers}


ASPECTS = (
    "impact",
    "substance",
    "appropriateness",
    "meaningful_comparison",
    "soundness_correctness",
    "originality",
    "clarity",
    "reviewer_confidence",
    "replicability",
)
_SCALES: tuple[tuple[str, tuple[float, float]], ...] = (
    (r"neurips.?(2025|2026)", (1, 6)),
    (r"neurips|nips", (1, 10)),
    (r"iclr", (1, 10)),
    (r"acl|conll|emnlp|coling", (1, 5)),
)
_ASPECT_MOST = 10.0
_DECISION_TITLE = re.compile(r"\b(final decision|committee|acceptance decision|decision)\b", re.IGNORECASE)
_CHAIRS = re.compile(r"\b(pcs?|program chairs?|area chairs?|acs?)\b", re.IGNORECASE)
_SPLITS = ("train", "dev", "test")


class PeerRead:
    """The loader of the `peerread` plugin."""

    name = "peerread"

    def load(self, path: Path) -> Papers:
        """Read every paper under a folder, or one file.

        Raises:
            DataError: the path does not exist, or it holds no paper at all.
        """
        rejections: list[Rejection] = []
        digests: dict[str, str] = {}
        groups = _groups(path, rejections, digests)
        stems = Counter(stem for _, stem in groups)
        papers = []
        # Sorted by folder and name, so that the order of papers does not depend on the file system.
        for (folder, stem), files in sorted(groups.items(), key=lambda item: (str(item[0][0]), item[0][1])):
            # the folders below the root tell two papers of one id apart
            below = folder.relative_to(path).parts if folder.is_relative_to(path) else (folder.name,)
            unique = stem if stems[stem] == 1 else "/".join((*below, stem))
            papers.append(_paper(unique, folder, files))
        if not papers:
            reason = rejections[0].reason if rejections else "no reviews/*.json and no *.pdf.json"
            raise DataError(f"this holds no paper in the PeerRead layout: {reason}", at=str(path))
        # Hold that ids are unique; groups by folder and stem make them so
        assert len({paper.id for paper in papers}) == len(papers)
        kinds = Counter(entry.kind.value for paper in papers for entry in paper.entries)
        counts = {
            "papers": len(papers),
            "papers_with_text": sum(bool(paper.sections) for paper in papers),
            "papers_with_human_reviews": sum(bool(paper.human) for paper in papers),
            "rejected_files": len(rejections),
            **{f"entries_{kind.value}": kinds[kind.value] for kind in EntryKind},
        }
        return Papers(tuple(papers), tuple(rejections), digests, counts)


_Group = dict[str, tuple[Path, DigestedObject]]


def _groups(path: Path, rejections: list[Rejection], digests: dict[str, str]) -> dict[tuple[Path, str], _Group]:
    """Read the files and put a paper's review file and its text together."""
    groups: dict[tuple[Path, str], _Group] = {}
    for file, name in visible_files(path, (".json",)):
        is_text = file.name.endswith(".pdf.json")
        read = read_object(file)
        if isinstance(read, Rejection):
            rejections.append(read)
            continue
        # A JSON file of another sort is passed over in silence, unless it lies where reviews belong.
        if not is_text and not isinstance(read.record.get("reviews"), list):
            if file.parent.name == "reviews":
                rejections.append(Rejection(str(file), "no list of `reviews` in it"))
            continue
        digests[name] = read.digest
        # The two folders of the layout are not part of what names a paper; its text and reviews meet in the folder
        # above.
        folder = file.parent.parent if file.parent.name in ("reviews", "parsed_pdfs") else file.parent
        stem = file.name.removesuffix(".pdf.json") if is_text else file.stem
        group, kind = groups.setdefault((folder, stem), {}), "text" if is_text else "reviews"
        if kind in group:
            rejections.append(
                Rejection(str(file), f"the {kind} of this paper are in {group[kind][0]} too, which were read")
            )
        else:
            group[kind] = (file, read)
    return groups


def visible_files(path: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """Yield the files of these endings below a folder that are not hidden, in order, each with its name in the folder.

    A file is its own only one.

    Raises:
        DataError: the path does not exist.
    """
    if not path.exists():
        raise DataError("there is no such file or folder", at=str(path), hint=suggest_path(path))
    if path.is_file():
        yield path, path.name
        return
    for file in sorted(path.rglob("*")):
        below = file.relative_to(path)
        is_hidden = any(part.startswith(".") for part in below.parts)
        if file.name.endswith(suffixes) and file.is_file() and not is_hidden:
            yield file, below.as_posix()


def _paper(unique: str, folder: Path, files: _Group) -> Paper:
    notes: list[str] = []
    file, read = files.get("reviews") or files["text"]
    record: Mapping[str, Any] = read.record if "reviews" in files else {}
    metadata = files["text"][1].record.get("metadata") if "text" in files else None
    metadata = metadata if isinstance(metadata, Mapping) else {}
    parts, mended = [], 0
    listed = metadata.get("sections")
    for section in listed if isinstance(listed, list) else []:
        if isinstance(section, Mapping):
            text, count = mend(as_text(section.get("text")))
            heading = as_text(section.get("heading"))
            mended += count
            if text or heading:
                parts.append(PaperSection(heading, text))
    sections = tuple(parts) if any(part.text for part in parts) else ()
    if "text" in files and not sections:
        notes.append("the parsed paper has no text")
    split = folder.name if folder.name in _SPLITS else ""
    # The split's folder names no venue, so the one above it does.
    venue = as_text(record.get("conference")) or (folder.parent.name if split else folder.name)
    # The folder's name serves as well: a venue's own spelling in the file may not be one that `_SCALES` knows.
    names_of_venue = f"{venue} {folder.parent.name if split else folder.name}"
    scale = next((ends for pattern, ends in _SCALES if re.search(pattern, names_of_venue, re.IGNORECASE)), None)
    value = record.get("authors")
    # Some files hold the authors as one text.
    names = value if isinstance(value, list) else re.split(r",|\band\b", value) if isinstance(value, str) else []
    authors = frozenset(name.strip().casefold() for name in names if isinstance(name, str) and name.strip())
    raw = [entry for entry in record.get("reviews", []) if isinstance(entry, Mapping)]
    if len(raw) < len(record.get("reviews", [])):
        notes.append(f"{len(record['reviews']) - len(raw)} entries of `reviews` are not objects")
    entries = tuple(_entry(entry, authors, scale, notes) for entry in raw)
    mended += sum(entry.mended for entry in entries)
    if mended:
        notes.append(f"doubly encoded UTF-8 undone in {mended} places")
    if unique != file.name.removesuffix(".pdf.json").removesuffix(".json"):
        notes.append("several papers share this file name, so the id has the folder in front")
    accepted = record.get("accepted")
    return Paper(
        id=unique,
        title=as_text(record.get("title")) or as_text(metadata.get("title")),
        abstract=mend(as_text(record.get("abstract")) or as_text(metadata.get("abstractText")))[0],
        sections=sections,
        entries=entries,
        venue=venue,
        split=split,
        accepted=accepted if isinstance(accepted, bool) else None,
        scale=scale,
        source=str(file),
        notes=tuple(notes),
    )


def _entry(
    raw: Mapping[str, object], authors: frozenset[str], scale: tuple[float, float] | None, notes: list[str]
) -> ReviewEntry:
    text, mended = mend(as_text(raw.get("comments")))
    fields = {str(name).lower(): value for name, value in raw.items()}
    recommendation = as_number(raw.get("RECOMMENDATION"))
    # Without a known venue any of the usual scales is possible, so only what lies outside all of them is refused.
    low, high = scale or (1.0, _ASPECT_MOST)
    # Not used rather than cut to the scale: it may have been given on another one.
    if recommendation is not None and not low <= recommendation <= high:
        notes.append(f"a recommendation of {recommendation:g} is outside {low:g}-{high:g} and was not used")
        recommendation = None
    scores = {}
    for aspect in ASPECTS:
        score = as_number(fields.get(aspect))
        if score is not None and 1 <= score <= min(high, _ASPECT_MOST):
            scores[aspect] = score
        elif score is not None:
            notes.append(f"a score of {score:g} for {aspect} is out of range and was not used")
    # A decision is given in words where a review has a number.
    worded = as_text(raw.get("RECOMMENDATION")) if recommendation is None else ""
    kind = _kind(raw, authors, text, assessed=recommendation is not None or bool(scores), worded=worded)
    return ReviewEntry(kind, text, scores, recommendation, worded if kind is EntryKind.DECISION else "", mended)


def _kind(raw: Mapping[str, object], authors: frozenset[str], text: str, *, assessed: bool, worded: str) -> EntryKind:
    title, writer = as_text(raw.get("TITLE")), as_text(raw.get("OTHER_KEYS"))
    decides = bool(worded) and as_number(worded) is None
    # A reviewer may sign as a chair; an entry with a score is an assessment all the same.
    if decides or (not assessed and (_DECISION_TITLE.search(title) or _CHAIRS.search(writer))):
        return EntryKind.DECISION
    if raw.get("IS_META_REVIEW") is True or raw.get("is_meta_review") is True:
        return EntryKind.META
    # After decisions and meta-reviews, which keep their kind also without a text.
    if not text:
        return EntryKind.EMPTY
    if writer.casefold() in authors and not assessed:
        return EntryKind.AUTHOR
    # ICLR names every writer and dates every entry; there a text without a score is a question or a remark. ACL and
    # CoNLL hold reviews only, and some of those have lost their scores.
    if not assessed and (writer or "DATE" in raw):
        return EntryKind.COMMENT
    return EntryKind.HUMAN
