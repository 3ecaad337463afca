"""What decides when an exam has seen enough."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from markbook.errors import UsageError
from markbook.results.stopping import Stopping, parse_rule
from markbook.runs.exam.sheet import exam_sheet
from markbook.runs.exam.tally import Tally
from markbook.runs.exam.view import sample_of, sample_record
from markbook.runs.stopping import identity_of, open_against
from markbook.store.foreign import COMMAND as FOREIGN
from markbook.types import Sample


@dataclass(frozen=True, slots=True)
class ExamStop:
    """What decides when an exam has seen enough."""

    stopping: Stopping
    identity: dict[str, Any]
    """What run.json holds of it."""


def plan_stop(
    samples: Sequence[Sample], models: Sequence[str], against: str | os.PathLike[str] | None, when: str, seed: int
) -> ExamStop | None:
    """Return what decides when to stop; None where nobody asked for it.

    Raises:
        UsageError: no moment to stop is said, or the baseline is no exam and no other tool's results.
        DataError: the baseline is no run, or shares no problem with this one.
    """
    baseline = open_against(against, when)
    if not when:
        return None
    known = None
    if baseline is not None:
        known = baseline.sheet(None)
        if known.metric != "exam_score" and baseline.manifest["command"] != FOREIGN:
            raise UsageError(f"an exam cannot be held against marks by {known.metric!r}")
        known = replace(known, metric="exam_score")
    # As the journal will give them back, so that a problem's content is known by the same digest.
    kept = [sample_of(sample_record(sample)) for sample in samples]
    own = exam_sheet([Tally(model, kept) for model in models])
    stopping = Stopping(parse_rule(when), own, known, seed=seed)
    return ExamStop(stopping, identity_of(stopping, known))
