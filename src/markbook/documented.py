"""The documents' functions under their own names, with their own arguments and return shapes.

Thin over the real metrics and always in the documented profile. The single-turn functions stand here, those of reviews
and traces are brought in. Everything is computed offline. Where the documented code loses a failure this raises
(lists of unequal length, k beyond the number of attempts); where a value is undefined (BLEU of an empty text) it returns
what the document returns: 0.0, and 1.0 for the edit distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markbook.documented_reviews import (
    ConstructivenessResult,
    PlanningRationalityResult,
    TechnicalAccuracyResult,
    assess_constructiveness,
    assess_planning_rationality,
    assess_task_success,
    assess_technical_accuracy,
    calculate_composite_score,
    compute_cosine_similarity,
    compute_jaccard_similarity,
    compute_semantic_similarity,
    map_score_to_recommendation,
    measure_execution_time,
)
from markbook.errors import IncompleteError, UsageError
from markbook.metrics.graph.documented import (
    calculate_communication_overhead,
    calculate_coordination_centrality,
    calculate_path_convergence,
    calculate_task_distribution_balance,
    calculate_tool_selection_accuracy,
)
from markbook.metrics.measure import make, measure_rows
from markbook.types import Measurement, MissingKind

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

    1.0 where there is no text at all, as the document returns on failure.
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
        values = [_passes_at_k(row, k_value, problem) for problem, row in enumerate(measured)]
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


def _passes_at_k(row: Measurement, k: int, problem: int) -> float:
    values = row.stats.get("values", {})
    assert isinstance(values, dict)
    if k in values:
        return float(values[k])
    attempts = row.stats.get("n")
    if isinstance(attempts, int):
        raise UsageError(f"pass@{k} needs {k} attempts, and problem {problem} has {attempts}")
    reason = row.missing.detail if row.missing else ""
    if row.missing is not None and row.missing.kind is MissingKind.ABSENT:
        return 0.0  # a problem that nobody attempted is not solved
    raise IncompleteError(f"problem {problem} has no value: {reason}")


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
