"""What decides when an exam has seen enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from markbook.errors import UsageError
from markbook.results.stopping import Stopping, parse_rule
from markbook.runs.exam.sheet import exam_sheet, exam_signatures
from markbook.runs.exam.tally import Tally
from markbook.runs.exam.view import sample_of, sample_record
from markbook.runs.stopping import identity_of, open_against
from markbook.store.foreign import COMMAND as FOREIGN
from markbook.types import Sample

if TYPE_CHECKING:
    from markbook.runs.exam.plan import ExamOptions


@dataclass(frozen=True, slots=True)
class ExamStop:
    """What decides when an exam has seen enough."""

    stopping: Stopping
    identity: dict[str, Any]
    """What run.json holds of it."""


def plan_stop(samples: Sequence[Sample], models: Sequence[str], options: ExamOptions) -> ExamStop | None:
    """Return what decides when to stop; None where nobody asked for it.

    Raises:
        UsageError: no moment to stop is said, or the baseline is no exam and no other tool's results.
        DataError: the baseline is no run, shares no problem with this one, or was measured differently.
    """
    baseline = open_against(options.against, options.stop_when)
    if not options.stop_when:
        return None
    baseline_sheet = None
    if baseline is not None:
        baseline_sheet = baseline.sheet(None)
        if baseline_sheet.metric != "exam_score" and baseline.manifest["command"] != FOREIGN:
            raise UsageError(f"an exam cannot be held against marks by {baseline_sheet.metric!r}")
        signatures = {} if options.allow_different_measures else baseline_sheet.signatures
        baseline_sheet = replace(baseline_sheet, metric="exam_score", signatures=signatures)
    # As the journal will give them back, so that a problem's content is known by the same digest.
    stripped = [sample_of(sample_record(sample)) for sample in samples]
    own = replace(
        exam_sheet([Tally(model, stripped) for model in models]), signatures=exam_signatures(options.identity())
    )
    stopping = Stopping(parse_rule(options.stop_when), own, baseline_sheet, seed=options.seed)
    return ExamStop(stopping, identity_of(stopping, baseline_sheet))
