"""Evidence laid out from what a row holds: the stats of its scores, the answer and the references. Nothing is scored again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from markbook.evidence import Evidence
from markbook.results.evidence.findings import facts_of, point_to_lines, read_judge_marks
from markbook.results.evidence.overlaps import overlapping
from markbook.results.evidence.scripts import against, read_edit_script

__all__ = ["Room", "evidence_of", "read_judge_marks"]

Stats = Mapping[str, object]
LONGEST = 20_000
"""Characters of an answer and a reference whose words are set against each other."""
MOST = 12
"""Scores of one answer that are laid out."""


def evidence_of(
    values: Mapping[str, float | None],
    stats: Mapping[str, Stats],
    text: str | None,
    references: Sequence[str],
    *,
    compares: bool = True,
) -> tuple[Evidence, ...]:
    """Return what an answer's scores rest on.

    Args:
        values: the scores by name.
        stats: what each was computed from.
        text: the answer; None where there is none.
        references: the right answers.
        compares: whether the answer is set against the reference where no score does so: not if it is a program.
    """
    if text is None:
        return ()
    texts = [reference for reference in references if isinstance(reference, str)]
    is_short = len(text) <= LONGEST and all(len(reference) <= LONGEST for reference in texts)
    evidence = []
    # What a judge says of one criterion stands in what it says by the whole rubric.
    rubrics = tuple(f"{name}." for name in values if isinstance((stats.get(name) or {}).get("marks"), Mapping))
    for name in [name for name in values if not (rubrics and name.startswith(rubrics))][:MOST]:
        item = _one(name, stats.get(name) or {}, text, texts if is_short else [])
        evidence += [item] if item is not None else []
    is_perfect = all(value in (None, 1) for value in values.values())
    if (
        compares
        and is_short
        and texts
        and not is_perfect
        and not any(shown_evidence.edits for shown_evidence in evidence)
    ):
        evidence += [comparison for comparison in [against(text, texts)] if comparison is not None]
    return tuple(evidence)


def _one(name: str, stats: Stats, text: str, references: Sequence[str]) -> Evidence | None:
    """Return the evidence of one score; what it is of is told by the shape of its stats, so that new metrics have it too."""
    if not stats:
        return None
    evidence = read_judge_marks(name, stats) or point_to_lines(name, stats)
    if evidence is None and references:
        evidence = overlapping(name, stats, text, references) or read_edit_script(name, stats, text, references)
    return evidence or facts_of(name, stats)


_LISTED, _PARTS = 10, 60
_PAGE_BYTES = 600_000


class Room:
    """Makes evidence as short as a page wants it, while there is room for it; `view` and `show` have all."""

    def __init__(self) -> None:
        self._left = _PAGE_BYTES

    def __call__(self, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """Return the evidence of one answer, nothing once the room is used up."""
        if self._left <= 0:
            return ()
        short = tuple(map(_brief, evidence))
        self._left -= sum(item.size for item in short)
        return short


def _brief(evidence: Evidence) -> Evidence:
    lists = tuple(
        (name, some if len(some) <= _LISTED else (*some[:_LISTED], f"and {len(some) - _LISTED} more"))
        for name, some in evidence.lists
    )
    return replace(evidence, lists=lists, edits=evidence.edits[:_PARTS])
