"""Spec 002 under its own names, arguments and return shapes, always with the document's own arithmetic.

Thin over the real parts; `markbook.documented` re-exports it. Differences are those without which the code could not
run or would damage its caller, and each is said: the model is asked through today's pydantic-ai, the overall score is
not asked for, and `calculate_composite_score` leaves the caller's dictionary alone.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from pydantic import BaseModel

from markbook import plugins
from markbook.errors import IncompleteError
from markbook.runs.reviews.scoring.composite import ALIASES, DOCUMENTED_SCALE, DOCUMENTED_WEIGHT, METRICS
from markbook.runs.reviews.scoring.formulas import SIMILARITY_WEIGHTS
from markbook.types import Attempt, Item, Measurement, Sample

__all__ = [
    "ConstructivenessResult",
    "PlanningRationalityResult",
    "TechnicalAccuracyResult",
    "assess_constructiveness",
    "assess_planning_rationality",
    "assess_task_success",
    "assess_technical_accuracy",
    "calculate_composite_score",
    "compute_cosine_similarity",
    "compute_jaccard_similarity",
    "compute_semantic_similarity",
    "map_score_to_recommendation",
    "measure_execution_time",
]

JUDGE = "openai:gpt-4o-mini"
"""The document's judge."""
BERT = "distilbert-base-uncased"

_P = ParamSpec("_P")
_R = TypeVar("_R")


class TechnicalAccuracyResult(BaseModel):
    """Marks from 1 to 5 and their documented overall, .2 to 1."""

    factual_correctness: float
    methodology_understanding: float
    domain_knowledge: float
    overall_score: float


class ConstructivenessResult(BaseModel):
    """Marks from 1 to 5 and their documented overall, .2 to 1."""

    actionable_feedback: float
    balanced_critique: float
    improvement_guidance: float
    overall_score: float


class PlanningRationalityResult(BaseModel):
    """Marks from 1 to 5 and their documented overall, .2 to 1."""

    logical_flow: float
    decision_quality: float
    resource_efficiency: float
    overall_score: float


def compute_cosine_similarity(text1: str, text2: str) -> float:
    """Return the cosine of TF-IDF vectors fitted on the two texts, 0..1.

    Raises:
        ValueError: neither text has a word that is no stop word, as scikit-learn raises.
    """
    measured = _measure("tfidf_cosine", text1, text2)
    if measured.stats.get("empty_vocabulary"):
        raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
    return _value(measured)


def compute_jaccard_similarity(text1: str, text2: str) -> float:
    """Return shared over all lower-case words that white space separates, 0..1; 1.0 for two empty texts."""
    if not text1.split() and not text2.split():
        return 1.0
    return _value(_measure("jaccard", text1, text2))


def compute_semantic_similarity(text1: str, text2: str) -> float:
    """Return BERTScore F1 under `distilbert-base-uncased`, which the document calls a cosine of embeddings.

    Raises:
        IncompleteError: the model, or the `semantic` extra, is not here.
    """
    return _value(_measure("bertscore_f1", text1, text2, model=BERT))


def measure_execution_time(func: Callable[_P, _R]) -> Callable[_P, tuple[_R, float]]:
    """Return the function wrapped so that it returns its result and the seconds it took."""

    @functools.wraps(func)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> tuple[_R, float]:
        start = time.perf_counter()
        result = func(*args, **kwargs)
        return result, time.perf_counter() - start

    return wrapper


def assess_task_success(similarity_scores: Mapping[str, float], threshold: float = 0.8) -> float:
    """Return 1.0 if .5 semantic + .3 cosine + .2 jaccard reaches the threshold, else 0.0.

    Raises:
        KeyError: one of the three is not there.
    """
    overall = sum(similarity_scores[name] * weight for name, weight in SIMILARITY_WEIGHTS.items())
    return 1.0 if overall >= threshold else 0.0


async def assess_technical_accuracy(
    paper: str, review: str, *, judge: str = JUDGE, base_url: str = ""
) -> TechnicalAccuracyResult:
    """Return the judge's marks of a review against the paper's first 2,000 characters, as documented.

    Args:
        paper: the paper's text.
        review: the generated review.
        judge: PROVIDER:NAME.
        base_url: where an `openai:` judge is.

    Raises:
        IncompleteError: the judge gave no answer that counts.
    """
    marks = await _assess("technical_accuracy", judge, base_url, review=review, paper=paper)
    return TechnicalAccuracyResult(**marks)


async def assess_constructiveness(review: str, *, judge: str = JUDGE, base_url: str = "") -> ConstructivenessResult:
    """Return the judge's marks of a review's constructiveness.

    Raises:
        IncompleteError: the judge gave no answer that counts.
    """
    return ConstructivenessResult(**await _assess("constructiveness", judge, base_url, review=review))


async def assess_planning_rationality(
    execution_trace: Mapping[str, object], *, judge: str = JUDGE, base_url: str = ""
) -> PlanningRationalityResult:
    """Return the judge's marks of a run's planning.

    The document leaves `extract_planning_decisions` undefined; here it is the run's interactions, tool calls and
    coordination events in order of time, one line each.

    Args:
        execution_trace: `agent_interactions`, `tool_calls` and `coordination_events`, as the document's traces have.
        judge: PROVIDER:NAME.
        base_url: where an `openai:` judge is.

    Raises:
        IncompleteError: the judge gave no answer that counts, or the trace holds no step.
    """
    summary = extract_planning_decisions(execution_trace)
    return PlanningRationalityResult(**await _assess("planning_rationality", judge, base_url, trace=summary))


def extract_planning_decisions(execution_trace: Mapping[str, object]) -> str:
    """Return what a run decided, one line a step in order of time; empty for a trace without steps."""
    steps: list[tuple[float, str]] = []
    for kind in ("agent_interactions", "tool_calls", "coordination_events"):
        rows = execution_trace.get(kind)
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, Mapping):
                stamp = row.get("timestamp")
                values = ", ".join(f"{name}={str(value)[:200]}" for name, value in row.items() if name != "timestamp")
                moment = float(stamp) if isinstance(stamp, int | float) else 0.0
                steps.append((moment, f"{kind.removesuffix('s')}: {values}"))
    return "\n".join(line for _, line in sorted(steps, key=lambda step: step[0]))


def calculate_composite_score(metrics: Mapping[str, float], weights: Mapping[str, float] | None = None) -> float:
    """Return the documented composite: `time_taken` in seconds is turned into its score, missing metrics count 0.

    Six weights of .167 by default (sum 1.002), then held to 0..1. Names are taken as they are: `planning_rational`,
    as the document's weights spell it, also finds `planning_rationality`.

    Raises:
        ZeroDivisionError: a time of 1/e seconds, the documented formula's pole.
    """
    import math

    scores = {ALIASES.get(name, name): value for name, value in metrics.items()}
    if "time_taken" in scores:
        scores["time_taken"] = 1 / (1 + math.log(max(0.1, scores["time_taken"])))
    used = {
        ALIASES.get(name, name): value for name, value in (weights or dict.fromkeys(METRICS, DOCUMENTED_WEIGHT)).items()
    }
    return min(1.0, max(0.0, sum(scores.get(name, 0.0) * weight for name, weight in used.items())))


def map_score_to_recommendation(composite_score: float) -> tuple[str, float]:
    """Return the label of a score and its weight: accept from .8, weak_accept from .6, weak_reject from .4, reject."""
    return DOCUMENTED_SCALE.label(composite_score)


def _measure(name: str, candidate: str, reference: str, **options: object) -> Measurement:
    metric = plugins.create("metrics", name, **options)
    measured: Measurement = metric.measure([Item(Sample("", references=(reference,)), Attempt("", candidate))])[0]
    return measured


def _value(measured: Measurement) -> float:
    if measured.value is None:
        reason = measured.missing.detail if measured.missing else ""
        raise IncompleteError(f"{measured.metric} has no value: {reason}")
    return measured.value


async def _assess(
    rubric_name: str, judge: str, base_url: str, *, review: str = "", paper: str = "", trace: str = ""
) -> dict[str, float]:
    """Ask one rubric in the documented profile; return its marks and the overall."""
    from markbook.judge.assess import JudgeSettings, Subject, questions, settle
    from markbook.judge.panel import JudgePlan, open_judges
    from markbook.judge.rubrics import RUBRICS

    plan = JudgePlan(JudgeSettings((judge,), profile="documented"), base_url=base_url)
    questions_asked, missing = questions(Subject(review, [paper], trace), plan.settings)
    mine = [question for question in questions_asked if question.rubric.name == rubric_name]
    if not mine:
        raise IncompleteError(f"{rubric_name} cannot be judged: {missing[rubric_name].detail}")
    async with open_judges(plan) as (judges, _):
        judged = await judges[judge].judge(mine[0].call, mine[0].check)
    assessment = settle(RUBRICS[rubric_name], [mine[0].record(judged)], profile="documented")
    if assessment.value is None:
        raise IncompleteError(f"{rubric_name} has no value: {assessment.missing.detail if assessment.missing else ''}")
    return {**assessment.marks, "overall_score": assessment.value}
