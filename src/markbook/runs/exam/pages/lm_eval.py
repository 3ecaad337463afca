"""An exam in lm-evaluation-harness's own files: the benchmark is the task, a problem is a row, code is the reply."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from markbook.report.names import folder_names, harness_date, harness_stamp
from markbook.results.kind import Content
from markbook.runs.exam.tally import Tally
from markbook.runs.exam.view import ExamView, MarkedAttempt

PIPELINE = "none"


def exam_files(view: ExamView, started: object) -> Mapping[str, Content]:
    """Return `results_<date>.json` and `samples_<benchmark>_<date>.jsonl`, by path; of several models in a folder for each.

    `exam_score` counts absent problems as 0, and `n_scored` says how many problems have an answer. A problem without an
    answer has no row among the samples. The date is when the exam began.
    """
    task = str(view.config.get("benchmark_name") or "benchmark")
    name = folder_names([task])[task]
    several, stamp = len(view.models) > 1, harness_stamp(started)
    files: dict[str, Content] = {}
    for model, folder in folder_names(view.models).items():
        prefix = f"{folder}/" if several else ""
        results = _results(view, view.tallies[model], task) | {"date": harness_date(started)}
        files[f"{prefix}results{stamp}.json"] = (
            json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )
        files[f"{prefix}samples_{name}{stamp}.jsonl"] = _samples(view, view.tallies[model])
    return files


def _results(view: ExamView, tally: Tally, task: str) -> dict[str, object]:
    metrics = _metrics(tally)
    names = [key.partition(",")[0] for key in metrics if key.endswith(f",{PIPELINE}") and "_stderr" not in key]
    count = len(tally.samples)
    return {
        "results": {task: {"alias": task, **metrics}},
        "group_subtasks": {},
        "configs": {task: {"task": task, "output_type": "generate_until", "repeats": max(tally.attempts, default=0)}},
        "versions": {task: None},
        "n-shot": {task: 0},
        "higher_is_better": {task: {name: True for name in names if not name.endswith("_interval")}},
        "n-samples": {task: {"original": count, "effective": count}},
        "config": {"model": tally.model, "limit": None, "random_seed": view.config.get("seed")},
        "model_name": tally.model,
        "model_source": "markbook",
        "markbook": {"profile": view.config.get("profile"), "error_policy": tally.policy, "note": view.partial_note()},
    }


def _metrics(tally: Tally) -> dict[str, object]:
    """Return the exam score and pass@k under the harness's names."""
    score = tally.exam_score()
    metrics: dict[str, Any] = {f"exam_score,{PIPELINE}": score.value, f"exam_score_stderr,{PIPELINE}": "N/A"}
    if score.interval is not None:
        metrics[f"exam_score_interval,{PIPELINE}"] = [score.interval.low, score.interval.high]
    scored = {"exam_score": tally.n_answered}
    for k in tally.pass_ks():
        estimate = tally.pass_at(k)
        metrics[f"pass@{k},{PIPELINE}"] = estimate.value
        metrics[f"pass@{k}_stderr,{PIPELINE}"] = "N/A" if estimate.se is None else estimate.se
        if estimate.low is not None and estimate.high is not None:
            metrics[f"pass@{k}_interval,{PIPELINE}"] = [estimate.low, estimate.high]
        scored[f"pass@{k}"] = tally.n_answered
    return {**metrics, "n_scored": scored}


def _samples(view: ExamView, tally: Tally) -> Iterator[str]:
    """Yield a row for each problem that has answers of which something can be said, with all of these."""
    indices = {sample.id: number for number, sample in enumerate(tally.samples)}
    for name, several in groupby(view.attempts(tally.model), key=lambda attempt: attempt.sample.id):
        attempts = [attempt for attempt in several if attempt.measurement.missing is None]
        if attempts:
            yield _row(indices[name], attempts)


def _row(doc_id: int, attempts: Sequence[MarkedAttempt]) -> str:
    sample = attempts[0].sample
    scores = [attempt.measurement.value or 0.0 for attempt in attempts]
    doc = {"task_id": sample.id, "problem": sample.input, "entry_point": sample.entry_point}
    codes = [str(attempt.data.get("code", "")) for attempt in attempts]
    target = "\n".join(test.assertion or test.program or test.pattern for test in sample.tests)
    record = {
        "doc_id": doc_id,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": sample.input, "arg_1": {}}},
        "resps": [codes],
        "filtered_resps": codes,
        "filter": PIPELINE,
        "metrics": ["exam_score", "pass@1"],
        "doc_hash": _digest(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": _digest(sample.input),
        "target_hash": _digest(target),
        "exam_score": sum(scores) / len(scores),
        "pass@1": sum(attempt.mark.all_passed for attempt in attempts) / len(attempts),
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
