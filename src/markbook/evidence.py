"""What a score rests on: words that match and words that do not, edits, points, reasons. To be shown, never to decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

Change = Literal["same", "lost", "added", "gap"]
"""A part of both texts, of the reference alone, of the answer alone; `gap`: so much of both is left out."""


class FindingRecord(TypedDict):
    """A finding as JSON."""

    name: str
    verdict: str
    line: int | None
    words: str
    quotes: list[str]


class EvidenceRecord(TypedDict, total=False):
    """Evidence as JSON; what is empty is left out."""

    metric: str
    lead: str
    findings: list[FindingRecord]
    lists: dict[str, list[str]]
    edits: list[tuple[Change, str]]
    note: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for, and what came of it."""

    name: str
    verdict: str
    """`passed` or `failed`, or a mark."""
    line: int | None = None
    """Of the answer, from 1."""
    words: str = ""
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one score rests on. Every word comes from the answer, the reference or a judge, and is bounded."""

    metric: str
    lead: str = ""
    """Its numbers."""
    findings: tuple[Finding, ...] = ()
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Words by what they are: matched, missed, not asked for."""
    edits: tuple[tuple[Change, str], ...] = ()
    """How the reference becomes the answer."""
    note: str = ""

    @property
    def size(self) -> int:
        """About how many characters it is."""
        return len(str(self.to_record()))

    def to_record(self) -> EvidenceRecord:
        """Return it as JSON, without what is empty."""
        record = EvidenceRecord(metric=self.metric)
        if self.lead:
            record["lead"] = self.lead
        if self.findings:
            record["findings"] = [
                FindingRecord(
                    name=finding.name,
                    verdict=finding.verdict,
                    line=finding.line,
                    words=finding.words,
                    quotes=[*finding.quotes],
                )
                for finding in self.findings
            ]
        if self.lists:
            record["lists"] = {name: [*some] for name, some in self.lists}
        if self.edits:
            record["edits"] = [*self.edits]
        if self.note:
            record["note"] = self.note
        return record
