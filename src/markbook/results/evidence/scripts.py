"""How a reference becomes an answer: the edits that a distance counts, letter by letter or word by word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markbook.evidence import Change, Evidence

_LETTERS = 4_000
"""Longer texts are set against each other word by word."""
_KEPT = 60
"""Characters of a long equal part that stay at each of its ends."""
_MOST = 200
_PART = 400
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Script:
    """The parts of two texts in order, and how much they have in common."""

    parts: tuple[tuple[Change, str], ...]
    common: int


def script(
    expected: Sequence[str], actual: Sequence[str], wanted_words: Sequence[str], given_words: Sequence[str]
) -> Script:
    """Return the longest common subsequence of words as parts.

    Args:
        expected: the reference's words as they are compared.
        actual: the answer's.
        wanted_words: the same as they are shown.
        given_words: the answer's.
    """
    from rapidfuzz.distance import LCSseq

    parts: list[tuple[Change, str]] = []
    common = 0
    for opcode in LCSseq.opcodes(expected, actual):
        begin, end, start, stop = opcode.src_start, opcode.src_end, opcode.dest_start, opcode.dest_end
        if opcode.tag == "equal":
            common += end - begin
            parts.append(("same", " ".join(given_words[start:stop])))
            continue
        parts += [("lost", " ".join(wanted_words[begin:end]))] if end > begin else []
        parts += [("added", " ".join(given_words[start:stop]))] if stop > start else []
    spaced = [(change, f"{words} ") for change, words in parts]
    return Script(_shorten_parts(spaced), common)


def read_edit_script(name: str, stats: Mapping[str, object], text: str, references: Sequence[str]) -> Evidence | None:
    """Return the edit script of a distance; None where the stats are of something else."""
    from rapidfuzz.distance import Levenshtein

    edits, longest = stats.get("edits"), stats.get("longest")
    if not isinstance(edits, int) or not isinstance(longest, int):
        return None
    lead = f"{edits} edits in {longest} letters"
    for other in references:
        if max(len(text), len(other)) == longest <= _LETTERS and Levenshtein.distance(text, other) == edits:
            return Evidence(name, lead, edits=_parts(other, text))
    return Evidence(name, lead)


def against(text: str, references: Sequence[str]) -> Evidence | None:
    """Return an answer set against the reference that is most like it; None where it equals one."""
    from rapidfuzz.distance import Levenshtein

    if text in references:
        return None
    pieces = _WORDS.findall(text)
    nearest = min(references, key=lambda reference: Levenshtein.distance(_WORDS.findall(reference), pieces))
    return Evidence("against the reference", edits=_parts(_WORDS.findall(nearest), pieces))


def _parts(expected: Sequence[str], actual: Sequence[str]) -> tuple[tuple[Change, str], ...]:
    from rapidfuzz.distance import Levenshtein

    parts: list[tuple[Change, str]] = []
    for opcode in Levenshtein.opcodes(expected, actual):
        begin, end, start, stop = opcode.src_start, opcode.src_end, opcode.dest_start, opcode.dest_end
        if opcode.tag == "equal":
            parts.append(("same", "".join(actual[start:stop])))
            continue
        parts += [("lost", "".join(expected[begin:end]))] if end > begin else []
        parts += [("added", "".join(actual[start:stop]))] if stop > start else []
    return _shorten_parts(parts)


def _shorten_parts(parts: Sequence[tuple[Change, str]]) -> tuple[tuple[Change, str], ...]:
    """Return parts of which long equal ones lack their middle, as many as are readable."""
    shortened: list[tuple[Change, str]] = []
    for change, text in parts[:_MOST]:
        if change == "same" and len(text) > 2 * _KEPT + 20:
            shortened += [
                ("same", text[:_KEPT]),
                ("gap", f"{len(text) - 2 * _KEPT} characters"),
                ("same", text[-_KEPT:]),
            ]
        elif len(text) > _PART:
            shortened += [(change, text[:_PART]), ("gap", f"{len(text) - _PART} characters")]
        else:
            shortened.append((change, text))
    return (*shortened, ("gap", f"{len(parts) - _MOST} more parts")) if len(parts) > _MOST else tuple(shortened)
