"""What is asked of a failure: which of some reasons it had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markbook.errors import UsageError
from markbook.judge.rubrics import Criterion, Rubric

NOT_FAILED = "it did not fail"
REASONS = (
    "a wrong tool",
    "wrong arguments",
    "a tool or its surroundings failed",
    "misread the task or its rules",
    "went in circles",
    "stopped too early",
    "a wrong or made-up answer",
    "agents misunderstood one another",
    "something else",
)
_NAME = "reason"
_LONGEST = 80
"""Signs of a reason that are shown and kept."""


class ReasonRubric(Rubric):
    """One question with a key for each answer; the score is 1 for what did not fail, else 0."""

    __slots__ = ()

    def overall(self, marks: Mapping[str, float], *, profile: str = "corrected") -> float:  # noqa: ARG002 - a rubric's signature
        """Return 1 for what did not fail, 0 for what did."""
        return float(marks[_NAME] == 0)

    def reason(self, marks: Mapping[str, int]) -> str:
        """Return the reason in words; empty where nobody can say."""
        return dict(self.criteria[0].anchors)[marks[_NAME]] if _NAME in marks else ""


def reason_rubric(reasons: Sequence[str] = ()) -> ReasonRubric:
    """Return what asks for one of these reasons, or of the usual ones.

    Raises:
        UsageError: more reasons than there are keys, one twice, or an empty one.
    """
    words = [reason.strip()[:_LONGEST] for reason in reasons] or list(REASONS)
    if len(words) > len(REASONS) or not all(words) or len({NOT_FAILED, *words}) <= len(words):
        raise UsageError(f"give at most {len(REASONS)} reasons, each once and none empty")
    anchors = tuple(enumerate((NOT_FAILED, *words)))
    criterion = Criterion(_NAME, "Why did it fail?", anchors=anchors)
    return ReasonRubric(
        "reasons", "Say why it failed, as far as you can see.", (criterion,), ("answer",), scale=(0, len(words))
    )
