"""The report plugin `every-eval-ever`: one record a model, and its instances in JSON Lines beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping

from markbook.installed import version
from markbook.report.names import folder_names
from markbook.results.entries import in_benchmark_order
from markbook.results.kind import Content, Entry, Results, seed_of
from markbook.results.sheet import Sheet
from markbook.results.standing import Standing, standings
from markbook.types import Summary

SCHEMA = "0.2.1"


def every_eval_ever() -> Callable[[Results], Mapping[str, Content]]:
    """Return the renderer of `every_eval_ever/<model>.json` and `.jsonl`, of schema 0.2.1."""
    return _files


def _files(results: Results) -> dict[str, Content]:
    sheet = results.sheet(None)
    folders = folder_names(sheet.models)
    files: dict[str, Content] = {}
    for standing in standings(sheet, seed=seed_of(results)):
        name = f"{folders[standing.model]}.jsonl"
        evaluation = f"{_benchmark(results)}/{standing.model}/{_read_start(results)}"
        lines = {"detailed_evaluation_results": {"format": "jsonl", "file_path": name}}
        record = _record(results, sheet, standing, evaluation) | lines
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        files[f"every_eval_ever/{folders[standing.model]}.json"] = text + "\n"
        files[f"every_eval_ever/{name}"] = _instances(results, standing.model, evaluation, sheet.best)
    return files


def _benchmark(results: Results) -> str:
    return str(results.manifest.get("config", {}).get("benchmark_name") or results.manifest.get("command"))


def _read_start(results: Results) -> str:
    return str(results.manifest.get("started", ""))


def _record(results: Results, sheet: Sheet, standing: Standing, evaluation: str) -> dict[str, object]:
    name = _benchmark(results)
    summary = standing.summary
    low, high = sheet.range
    ends: dict[str, object] = {"min_score": low, "max_score": high} if high - low < float("inf") else {}
    lacking = {f"missing_{kind}": str(count) for kind, count in summary.n_missing.items()}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        "retrieved_timestamp": _read_start(results),
        "source_metadata": {
            "source_name": "markbook",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "markbook", "version": version()},
        "model_info": {"name": standing.model, "id": standing.model},
        "evaluation_results": [
            {
                "evaluation_name": name,
                "source_data": {"dataset_name": name, "source_type": "other"},
                "metric_config": {
                    "evaluation_description": sheet.metric,
                    "lower_is_better": sheet.direction == "lower",
                    **({"score_type": "continuous"} | ends if ends else {}),
                },
                "score_details": {
                    "score": summary.value,
                    "details": {"n_scored": str(summary.n), "n_items": str(summary.n_items), **lacking},
                    "uncertainty": _uncertainty(summary),
                },
            }
        ] if summary.value is not None else [],
    }  # fmt: skip


def _uncertainty(summary: Summary) -> dict[str, object]:
    interval = summary.interval
    if interval is None:
        return {"num_samples": summary.n}
    ends = {"lower": interval.low, "upper": interval.high}
    about = {"confidence_level": interval.confidence, "method": interval.method}
    return {"num_samples": summary.n, "confidence_interval": ends | about}


def _instances(results: Results, model: str, evaluation: str, best: float) -> Iterator[str]:
    """Yield a line an attempt with a score; one without is counted in the record, for the format has no word for it."""
    scored = (entry for entry in results.entries() if entry.model == model and entry.score is not None)
    for entry in in_benchmark_order(results, scored):
        yield json.dumps(_instance(results, entry, evaluation, best), ensure_ascii=False, allow_nan=False) + "\n"


def _instance(results: Results, entry: Entry, evaluation: str, best: float) -> dict[str, object]:
    attempt = results.show_attempt(entry.location)
    prompt = attempt.prompt if attempt.asked is None else attempt.asked
    # Of the question with its right answers, as a run of ours knows its rows: the two are paired by it.
    prompt_digest = hashlib.sha256(attempt.prompt.encode(errors="surrogatepass")).hexdigest()
    return {
        "schema_version": f"instance_level_eval_{SCHEMA}",
        "evaluation_id": evaluation,
        "model_id": entry.model,
        "evaluation_name": _benchmark(results),
        "sample_id": entry.sample,
        "sample_hash": prompt_digest if attempt.prompt else None,
        "interaction_type": "single_turn",
        "input": {"raw": prompt, "reference": list(attempt.references)},
        "output": {"raw": [attempt.text if attempt.reply is None else attempt.reply]},
        "answer_attribution": [],
        "evaluation": {"score": entry.score, "is_correct": entry.score == best},
    }
