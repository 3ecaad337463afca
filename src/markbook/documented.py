"""The documents' functions under their own names, with their own arguments and return shapes.

Thin over the real metrics and always in the documented profile. The single-turn functions stand here, those of reviews
and traces are brought in. Everything is computed offline. Where the documented code loses a failure this raises
(lists of unequal length, k beyond the number of attempts); where a value is undefined (BLEU of an empty text) it returns
what the document returns: 0.0, and 1.0 for the edit distance.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from pydantic import BaseModel

from markbook import plugins
from markbook.errors import IncompleteError, UsageError
from markbook.metrics.graph.balance import (
    calculate_communication_overhead,
    calculate_coordination_centrality,
    calculate_path_convergence,
    calculate_task_distribution_balance,
    calculate_tool_selection_accuracy,
)
from markbook.metrics.measure import make, measure_rows
from markbook.runs.reviews.composite import ALIASES, DOCUMENTED_SCALE, DOCUMENTED_WEIGHT, METRICS, SIMILARITY_WEIGHTS
from markbook.types import Attempt, Item, Measurement, MissingKind, Sample

__all__ = [
    "ConstructivenessResult",
    "PlanningRationalityResult",
    "TechnicalAccuracyResult",
    "assess_constructiveness",
    "assess_planning_rationality",
    "assess_task_success",
    "assess_technical_accuracy",
    "bleu_score",
    "calculate_communication_overhead",
    "calculate_composite_score",
    "calculate_coordination_centrality",
    "calculate_path_convergence",
    "calculate_task_distribution_balance",
    "calculate_tool_selection_accuracy",
    "code_bleu",
    "compute_cosine_similarity",
    "compute_jaccard_similarity",
    "compute_semantic_similarity",
    "context_adherence_score",
    "edit_distance",
    "map_score_to_recommendation",
    "measure_execution_time",
    "meteor_score",
    "pass_at_k",
    "performance_awareness_score",
    "rouge_score",
    "security_compliance_score",
    "style_compliance_score",
]

Texts = str | Sequence[str]
GoldAndResult = Sequence[Texts]
"""[references, predictions], each a text or a list of texts; a reference may be a list of alternatives."""

SECONDS = 3.0
"""What `code_eval` gives a program."""


def bleu_score(gold_and_result: GoldAndResult) -> dict[str, float]:
    """Return {"bleu": BLEU of the corpus, 0..1} as Hugging Face computes it: no smoothing, the shortest reference.

    A text of fewer than four tokens scores 0 even against itself, as there.
    """
    return {"bleu": _bleu(gold_and_result)}


def code_bleu(gold_and_result: GoldAndResult) -> dict[str, float]:
    """Return {"code_bleu": plain BLEU}, as the document's code has it; the real CodeBLEU is the metric `codebleu`."""
    return {"code_bleu": _bleu(gold_and_result)}


def rouge_score(gold_and_result: GoldAndResult) -> dict[str, float]:
    """Return {"rouge1", "rouge2", "rougeL"}, F1 with the stemmer: the mean over texts.

    The document calls them recall-oriented; what its code returns is F1. Hugging Face returns the median of an unseeded
    bootstrap in place of the mean, which differs from run to run by up to 1e-3.
    """
    names = ["rouge1", "rouge2", "rougeL"]
    references, predictions = _pairs(gold_and_result)
    measurements = measure_rows(make(names, {"stemmer": True}), predictions, references, {})
    return {name: _mean(measurements[name]) for name in names}


def meteor_score(gold_and_result: GoldAndResult) -> dict[str, float]:
    """Return {"meteor": mean METEOR, 0..1}, with NLTK's parameters and WordNet's synonyms."""
    return {"meteor": _mean(_measure_rows("meteor", gold_and_result))}


def edit_distance(gold_and_result: GoldAndResult) -> dict[str, float]:
    """Return {"edit_distance": mean Levenshtein distance over the longer length}, 0..1, lower is better.

    1.0 without any text, as the document returns on failure.
    """
    measured = _measure_rows("edit_distance", gold_and_result)
    return {"edit_distance": _mean(measured) if measured else 1.0}


def pass_at_k(
    references: Sequence[str],
    predictions: Sequence[Texts],
    k: int | Sequence[int] | None = None,
    *,
    timeout: float = SECONDS,
    isolation: str = "auto",
) -> dict[str, float]:
    """Return {"pass@1": mean, ...}, the unbiased estimator for each k over programs run in the sandbox.

    The document describes it as solved in the first k attempts; what its code returns is the estimator.

    Args:
        references: for each problem its test program.
        predictions: for each problem its programs.
        k: how many attempts may be tried; [1] by default.
        timeout: CPU seconds a program, as `code_eval` has it.
        isolation: `auto`, `strict` or `weak`.

    Raises:
        UsageError: unequal lengths, or a k beyond some problem's attempts (the document's code returns 0.0).
        IncompleteError: a problem's tests are broken.
        EnvironmentUnfitError: this machine cannot isolate programs well enough.
    """
    ks: list[int] = [1] if k is None else [k] if isinstance(k, int) else list(k)
    _check_lengths(references, predictions)
    if not references:
        return {f"pass@{k_value}": 0.0 for k_value in ks}
    metric = make(["pass_at_k"], {"k": ks, "timeout": timeout, "isolation": isolation})
    measured = measure_rows(metric, predictions, references, {})["pass_at_k"]
    means: dict[str, float] = {}
    for k_value in ks:
        values = []
        for problem, row in enumerate(measured):
            shares, attempts = row.stats.get("values", {}), row.stats.get("n")
            assert isinstance(shares, dict)
            if k_value in shares:
                values.append(float(shares[k_value]))
            elif isinstance(attempts, int):
                raise UsageError(f"pass@{k_value} needs {k_value} attempts, and problem {problem} has {attempts}")
            elif row.missing is not None and row.missing.kind is MissingKind.ABSENT:
                values.append(0.0)  # a problem that nobody attempted is not solved
            else:
                raise IncompleteError(f"problem {problem} has no value: {row.missing.detail if row.missing else ''}")
        means[f"pass@{k_value}"] = math.fsum(values) / len(values)
    return means


def context_adherence_score(gold_and_result: GoldAndResult) -> dict[str, float]:
    """Return {"context_adherence_score": mean share of five textual checks}; only non-empty predictions count."""
    return _quality("context_adherence", gold_and_result)


def style_compliance_score(gold_and_result: GoldAndResult) -> dict[str, float]:
    """Return {"style_compliance_score": mean share of six textual checks}; an empty prediction counts 0."""
    return _quality("style_compliance", gold_and_result)


def security_compliance_score(gold_and_result: GoldAndResult) -> dict[str, float]:
    """Return {"security_compliance_score": mean share of four textual checks}; an empty prediction counts 0."""
    return _quality("security_compliance", gold_and_result)


def performance_awareness_score(gold_and_result: GoldAndResult) -> dict[str, float]:
    """Return {"performance_awareness_score": mean share of four textual checks}; an empty prediction counts 0."""
    return _quality("performance_awareness", gold_and_result)


def _bleu(gold_and_result: GoldAndResult) -> float:
    references, predictions = _pairs(gold_and_result)
    metrics = make(["corpus_bleu"], {"convention": "hf"})
    measured = measure_rows(metrics, predictions, references, {})["corpus_bleu"]
    value = metrics["corpus_bleu"].summarise([measurement for measurement in measured if measurement.missing is None])
    return 0.0 if value is None else value


def _measure_rows(name: str, gold_and_result: GoldAndResult) -> list[Measurement]:
    references, predictions = _pairs(gold_and_result)
    return measure_rows(make([name], {}), predictions, references, {})[name]


def _quality(name: str, gold_and_result: GoldAndResult) -> dict[str, float]:
    _, results = _two(gold_and_result)
    # Filters hand the texts on as lists of lists.
    predictions = [text for result in _to_text_list(results) for text in _to_text_list(result)]
    measured = measure_rows(make([name], {"profile": "documented"}), predictions, None, {})[name]
    counted = [
        measurement
        for measurement in measured
        if measurement.missing is None or measurement.missing.kind is not MissingKind.NO_COMPLETION
    ]
    return {f"{name}_score": _mean(counted)}


def _pairs(gold_and_result: GoldAndResult) -> tuple[list[Texts], list[Texts]]:
    """Return references and predictions as lists of one length."""
    references, predictions = map(_to_text_list, _two(gold_and_result))
    _check_lengths(references, predictions)
    return references, predictions


def _two(gold_and_result: GoldAndResult) -> tuple[Texts, Texts]:
    if isinstance(gold_and_result, str) or len(gold_and_result) != 2:
        raise UsageError("give [references, predictions]")
    return gold_and_result[0], gold_and_result[1]


def _to_text_list(texts: Texts) -> list[Texts]:
    return [texts] if isinstance(texts, str) or texts is None else list(texts)


def _check_lengths(references: Sequence[object], predictions: Sequence[object]) -> None:
    if len(references) != len(predictions):
        raise UsageError(f"{len(references)} references and {len(predictions)} predictions")


def _mean(measured: Sequence[Measurement]) -> float:
    """Return the mean with what has no value counted 0, as the document counts it."""
    values = [0.0 if measurement.value is None else measurement.value for measurement in measured]
    return math.fsum(values) / len(values) if values else 0.0


# Spec 002 under its own names, arguments and return shapes, always with the document's own arithmetic.
#
# Thin over the real parts; `markbook.documented` re-exports it. Differences are those without which the code could not
# run or would damage its caller, and each is said: the model is asked through today's pydantic-ai, the overall score is
# not asked for, and `calculate_composite_score` leaves the caller's dictionary alone.

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
        ValueError: neither text has a word that is not a stop word, as scikit-learn raises.
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
    from markbook.judge.assess import JudgeInput, JudgeSettings, aggregate_ratings, find_missing_text, make_questions
    from markbook.judge.panel import JudgePlan, open_judges
    from markbook.judge.rubrics import RUBRICS

    plan = JudgePlan(JudgeSettings((judge,), profile="documented"), base_url=base_url)
    rubric, texts = RUBRICS[rubric_name], JudgeInput.from_review(review, [paper], trace)
    if missing := find_missing_text(rubric, texts):
        raise IncompleteError(f"{rubric_name} cannot be judged: {missing.detail}")
    question = make_questions(rubric, texts, plan.settings)[0]
    async with open_judges(plan) as (judges, _):
        judged = await judges[judge].judge(question.call, question.check)
    score = aggregate_ratings(rubric, [question.record(judged)], profile="documented")
    if score.value is None:
        raise IncompleteError(f"{rubric_name} has no value: {score.missing.detail if score.missing else ''}")
    return {**score.marks, "overall_score": score.value}
