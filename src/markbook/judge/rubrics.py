"""What a judge is asked about a review, and how its marks become a score.

Formula source: spec 002, tier 2. Each criterion is an integer from 1 to 5; the overall is computed here and never asked
for. The score of a mark x is (x - 1) / 4, so that 1 is 0; the documented x / 5 starts at .2 and stays under its profile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

PROMPT_VERSION = 1
"""Raised whenever a word of a prompt changes: it is part of every cassette key."""

LOWEST, HIGHEST = 1, 5


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing to mark from 1 to 5."""

    name: str
    question: str
    weight: float


@dataclass(frozen=True, slots=True)
class Rubric:
    """What to mark, and by what text."""

    name: str
    task: str
    criteria: tuple[Criterion, ...]
    reads: tuple[Literal["paper", "review", "trace"], ...]

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a reply: for each criterion a reason, quotes, then the mark."""
        properties: dict[str, Any] = {}
        for criterion in self.criteria:
            properties[f"{criterion.name}_reason"] = {
                "type": "string",
                "description": f"One or two sentences: why this mark for {criterion.name}.",
            }
            properties[f"{criterion.name}_quotes"] = {
                "type": "array",
                "items": {"type": "string"},
                "description": "Up to three short verbatim quotes that the mark rests on.",
            }
            properties[criterion.name] = {
                "type": "integer",
                "minimum": LOWEST,
                "maximum": HIGHEST,
                "description": f"{criterion.question} 1 = poor, 5 = excellent.",
            }
        required = list(properties)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def overall(self, marks: Mapping[str, float], *, profile: str = "corrected") -> float:
        """Return the weighted score of one mark a criterion: 0..1, or .2..1 in the documented profile."""
        mean = math.fsum(criterion.weight * marks[criterion.name] for criterion in self.criteria)
        mean /= math.fsum(criterion.weight for criterion in self.criteria)
        return mean / HIGHEST if profile == "documented" else (mean - LOWEST) / (HIGHEST - LOWEST)


TECHNICAL_ACCURACY = Rubric(
    "technical_accuracy",
    "Mark how technically accurate this review of the paper is.",
    (
        Criterion("factual_correctness", "Are the review's claims supported by the paper?", 0.5),
        Criterion("methodology_understanding", "Does the reviewer grasp the experimental approach?", 0.3),
        Criterion("domain_knowledge", "Is technical terminology used appropriately?", 0.2),
    ),
    ("paper", "review"),
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
)
RUBRICS: Mapping[str, Rubric] = {
    rubric.name: rubric for rubric in (TECHNICAL_ACCURACY, CONSTRUCTIVENESS, PLANNING_RATIONALITY)
}
TIER_WEIGHTS: Mapping[str, float] = {"technical_accuracy": 0.4, "constructiveness": 0.3, "planning_rationality": 0.3}
"""Tier 2's overall score, as the documented configuration weighs it."""
