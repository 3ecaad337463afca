"""From what each command counts to the sheet that the comparison reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from markbook.results.alignment import digest
from markbook.results.sheet import Sheet
from markbook.runs.exam.marks import EXAM_SCORE, GROUPINGS, group_of
from markbook.runs.exam.tally import Tally
from markbook.types import Sample


def exam_sheet(tallies: Sequence[Tally]) -> Sheet:
    """Return the sheet of an exam: a problem's score is the mean over the attempts, 0 if there is none.

    All tallies are over the same problems.
    """
    marks = {
        tally.model: {sample.id: tally.cell(index) for index, sample in enumerate(tally.samples)} for tally in tallies
    }
    samples = tallies[0].samples if tallies else ()
    return Sheet(
        metric=EXAM_SCORE,
        marks=marks,
        meta={sample.id: sample_meta(sample) for sample in samples},
        digests={sample.id: digest([sample.input, [asdict(test) for test in sample.tests]]) for sample in samples},
    )


def exam_signatures(config: Mapping[str, object]) -> Mapping[str, str]:
    """Return what an exam's scores are measured by, of what run.json says of it."""
    parts = [f"errors:{config.get('error_policy', 'zero')}", f"extract:{config.get('extract', 'auto')}"]
    parts += ["fresh tests"] if config.get("fresh_tests") else []
    return {"": "|".join((EXAM_SCORE, *parts))}


def sample_meta(sample: Sample) -> Mapping[str, str]:
    """Return the groups that a sample belongs to, by grouping; the ones it lacks are left out."""
    groups = {grouping: group_of(sample, grouping) for grouping in GROUPINGS}
    return {grouping: group for grouping, group in groups.items() if group}
