"""What a judge is asked about a text, and how its marks become a score.

Formula source of the three of the documents: spec 002, tier 2. Each criterion is an integer from 1 to 5 (or on the
rubric's own scale); the overall is computed here and never asked
for. The score of a mark x is (x - 1) / 4, so that 1 is 0; the documented x / 5 starts at .2 and stays under its profile.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

PROMPT_VERSION = 1
"""Raised whenever a word of a prompt changes: it is part of every cassette key."""

LOWEST, HIGHEST = 1, 5
_ROUNDING = 1e-9
"""How far below a threshold a score may lie that reaches it in exact arithmetic."""
_LATER = frozenset({"scale", "grades", "threshold", "row", "has_row_threshold"})
"""Keys that rubrics did not always have, and that say nothing where they are empty."""
_REVIEWING = "academic reviewing"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing to mark on the rubric's scale."""

    name: str
    question: str
    weight: float = 1.0
    """Below 0: points that an answer loses by it."""
    anchors: tuple[tuple[int | str, str], ...] = ()
    """What some marks, or grades, mean in words."""
    evidence: str = ""
    """What a mark should rest on."""
    scale: tuple[int, int] | None = None
    """Its own; None is the rubric's."""
    grades: tuple[tuple[str, float], ...] = ()
    """What the judge may answer in place of a mark, and the score, 0..1, that each grade stands for."""
    threshold: float | None = None
    """The score, 0..1, that an answer must reach by it to pass."""


@dataclass(frozen=True, slots=True)
class Example:
    """A marked example that is shown to the judge."""

    texts: tuple[tuple[str, str], ...]
    """By the names that the rubric reads."""
    marks: tuple[tuple[str, int | str], ...] = ()
    winner: str = ""
    """In a pairwise rubric: `A` (the answer), `B` (the other one) or `tie`."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Rubric:
    """What to mark, and by what text."""

    name: str
    task: str
    criteria: tuple[Criterion, ...]
    reads: tuple[str, ...]
    scale: tuple[int, int] = (LOWEST, HIGHEST)
    judged: str = "answer"
    """Which of the texts is judged; the others are what it is judged by."""
    long: str = "context"
    """Which of the texts is read in parts where it is long."""
    field: str = ""
    """Of what the judge is a judge: `academic reviewing`."""
    wants_quotes: bool = True
    examples: tuple[Example, ...] = ()
    is_pairwise: bool = False
    """Whether two texts are compared, in both orders, instead of one being marked."""
    version: str = "1"
    threshold: float | None = None
    """The score, 0..1, from which on an answer passes."""
    row: str = ""
    """The field of a row that holds criteria of its own, which stand behind these; empty where it is one for all rows."""
    has_row_threshold: bool = False
    """Whether each row says from which score on its answer passes."""

    @property
    def has_verdict(self) -> bool:
        """Whether it says which answers pass."""
        stated = any(criterion.threshold is not None for criterion in self.criteria)
        return stated or self.threshold is not None or self.has_row_threshold

    def passes(self, marks: Mapping[str, float]) -> bool:
        """Return whether marks reach the rubric's threshold and each criterion's own."""
        least = [(self.overall(marks), self.threshold)]
        least += [(self.score(criterion, marks[criterion.name]), criterion.threshold) for criterion in self.criteria]
        return all(threshold is None or score >= threshold - _ROUNDING for score, threshold in least)

    def score(self, criterion: Criterion, mark: float) -> float:
        """Return the score, 0..1, of a criterion's mark."""
        low, high = self.scale_for(criterion)
        return (mark - low) / (high - low)

    @property
    def schema(self) -> dict[str, object]:
        """Return the JSON schema of a reply: for each criterion a reason, quotes, then the mark."""
        properties: dict[str, object] = {}
        for criterion in self.criteria:
            low, high = self.scale_for(criterion)
            properties[f"{criterion.name}_reason"] = {
                "type": "string",
                "description": f"One or two sentences: why this mark for {criterion.name}.",
            }
            if self.wants_quotes:
                properties[f"{criterion.name}_quotes"] = {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Up to three short verbatim quotes that the mark rests on.",
                }
            if criterion.grades:
                names = [name for name, _ in criterion.grades]
                properties[criterion.name] = {"type": "string", "enum": names, "description": criterion.question}
                continue
            properties[criterion.name] = {
                "type": "integer",
                "minimum": low,
                "maximum": high,
                "description": f"{criterion.question} {low} = poor, {high} = excellent.",
            }
        required = list(properties)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    @property
    def digest(self) -> str:
        """Return what tells this rubric from any other: every word of it counts."""
        record = asdict(self)
        # A rubric from before there were such keys keeps its digest.
        for holder in (record, *record["criteria"]):
            for name in _LATER & set(holder):
                if holder[name] is None or holder[name] is False or holder[name] in ("", ()):
                    del holder[name]
        return hashlib.sha256(json.dumps(record, sort_keys=True).encode("utf-8", "replace")).hexdigest()[:16]

    def scale_for(self, criterion: Criterion) -> tuple[int, int]:
        """Return the lowest and the highest mark of a criterion."""
        return (0, 1) if criterion.grades else criterion.scale or self.scale

    def common_mark(self, criterion: Criterion, mark: float) -> float:
        """Return a criterion's mark on the rubric's own scale.

        >>> rubric = Rubric("r", "t", (Criterion("c", "q", scale=(0, 10)),), ("answer",), scale=(1, 5))
        >>> rubric.common_mark(rubric.criteria[0], 5)
        3.0
        """
        own = self.scale_for(criterion)
        if own == self.scale:
            return mark
        (low, high), (bottom, top) = self.scale, own
        return low + (mark - bottom) * (high - low) / (top - bottom)

    def overall(self, marks: Mapping[str, float], *, profile: str = "corrected") -> float:
        """Return the weighted score of one mark a criterion: 0..1, or .2..1 in the documented profile.

        Where points can be lost it is the points that were won over those that could be, at least 0.
        """
        low, high = self.scale
        if any(criterion.weight < 0 for criterion in self.criteria):
            points = math.fsum(c.weight * self.score(c, marks[c.name]) for c in self.criteria)
            return min(1.0, max(0.0, points / math.fsum(max(0.0, c.weight) for c in self.criteria)))
        mean = math.fsum(
            criterion.weight * self.common_mark(criterion, marks[criterion.name]) for criterion in self.criteria
        )
        mean /= math.fsum(criterion.weight for criterion in self.criteria)
        mean = min(float(high), max(float(low), mean))  # rounding may leave the scale by its last digit
        return mean / high if profile == "documented" else (mean - low) / (high - low)


TECHNICAL_ACCURACY = Rubric(
    "technical_accuracy",
    "Mark how technically accurate this review of the paper is.",
    (
        Criterion("factual_correctness", "Are the review's claims supported by the paper?", 0.5),
        Criterion("methodology_understanding", "Does the reviewer grasp the experimental approach?", 0.3),
        Criterion("domain_knowledge", "Is technical terminology used appropriately?", 0.2),
    ),
    ("paper", "review"),
    judged="review",
    long="paper",
    field=_REVIEWING,
)
CONSTRUCTIVENESS = Rubric(
    "constructiveness",
    "Mark how constructive this academic review is.",
    (
        Criterion("actionable_feedback", "Does it make specific, implementable suggestions?", 1.0),
        Criterion("balanced_critique", "Are both strengths and weaknesses addressed?", 1.0),
        Criterion("improvement_guidance", "Does it give the authors a clear direction?", 1.0),
    ),
    ("review",),
    judged="review",
    long="paper",
    field=_REVIEWING,
)
PLANNING_RATIONALITY = Rubric(
    "planning_rationality",
    "Mark how rationally the agents planned and carried out this run.",
    (
        Criterion("logical_flow", "Do the steps follow from one another?", 0.3),
        Criterion("decision_quality", "Were appropriate choices made at decision points?", 0.5),
        Criterion("resource_efficiency", "Were tools and agents used well?", 0.2),
    ),
    ("trace",),
    judged="trace",
    long="paper",
    field=_REVIEWING,
)
RUBRICS: Mapping[str, Rubric] = {
    rubric.name: rubric for rubric in (TECHNICAL_ACCURACY, CONSTRUCTIVENESS, PLANNING_RATIONALITY)
}
TIER_WEIGHTS: Mapping[str, float] = {"technical_accuracy": 0.4, "constructiveness": 0.3, "planning_rationality": 0.3}
"""Tier 2's overall score, as the documented configuration weighs it."""
