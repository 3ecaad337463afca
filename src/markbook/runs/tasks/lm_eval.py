"""A run of tasks in lm-evaluation-harness's own files: what its dashboards and scripts read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from markbook.report.names import folder_names
from markbook.results.files_view import FilesView
from markbook.types import Summary

Content = str

_UNSAFE = re.compile(r"[^\w.\-]")


def lm_eval_files(view: FilesView) -> Mapping[str, Any]:
    """Return `results.json` and one `samples_<task>.jsonl` a task, by path.

    Metrics are named `key,filter` as there; all are 0..1. A value that is missing is null, and a standard error that
    could not be estimated is "N/A", as the harness writes it. Scores of metrics with an interval carry it under
    `key_interval,filter` and its method under `key_interval_method,filter`; every task says how many rows were scored
    under `n_scored`, and which values are missing under `n_missing`, with `key_bounds,filter` beside them.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in view.rows():
        rows.setdefault(row["task"], []).append(row)
    names = folder_names([_UNSAFE.sub("_", task) for task in rows]) if _are_apart(rows) else folder_names(rows)
    files: dict[str, Any] = {
        f"samples_{name}.jsonl": _samples(several) for name, several in zip(names.values(), rows.values(), strict=True)
    }
    return {
        "results.json": json.dumps(_results(view, rows), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        **files,
    }


def _are_apart(tasks: Iterable[str]) -> bool:
    """Whether tasks keep names of their own when what no file name holds is replaced."""
    safe = [_UNSAFE.sub("_", task).casefold() for task in tasks]
    return len(set(safe)) == len(safe)


def _results(view: FilesView, rows: Mapping[str, list[dict[str, object]]]) -> dict[str, Any]:
    tasks = view.summary["tasks"]
    config = view.manifest.get("config", {})
    groups = {
        name: _metrics(record, _pipeline({})) | {"alias": record["alias"] or name}
        for name, record in view.summary["groups"].items()
    }
    return {
        "results": {
            name: {"alias": record["alias"] or name, **_metrics(record, _pipeline(rows.get(name, [{}])[0]))}
            for name, record in tasks.items()
        },
        **({"groups": groups} if groups else {}),
        "group_subtasks": {name: record["tasks"] for name, record in view.summary["groups"].items()},
        "configs": {name: {"task": name, **config.get("tasks", {}).get(name, {})} for name in tasks},
        "versions": {name: _version(record["version"]) for name, record in tasks.items()},
        "n-shot": {name: config.get("tasks", {}).get(name, {}).get("num_fewshot") or 0 for name in tasks},
        "higher_is_better": {
            name: {key.partition(",")[0]: found["direction"] == "higher" for key, found in record["metrics"].items()}
            for name, record in tasks.items()
        },
        "n-samples": {
            name: {"original": record["rows"] + record["rows_rejected"], "effective": record["rows"]}
            for name, record in tasks.items()
        },
        "config": {
            "model": view.summary["model"] or _model(rows),
            "limit": config.get("limit"),
            "random_seed": config.get("seed"),
        },
        "model_name": view.summary["model"] or _model(rows),
        "model_source": "markbook",
        "task_hashes": {name: _digest("".join(_hashes(row) for row in several)) for name, several in rows.items()},
        "markbook": {"profile": view.summary["profile"], "schema": view.summary["schema"]},
    }


def _metrics(record: Mapping[str, Any], pipeline: str) -> dict[str, object]:
    """Return the metrics under the harness's names."""
    found: dict[str, Any] = {}
    scored: dict[str, int] = {}
    gaps: dict[str, dict[str, int]] = {}
    for key, metric in record["metrics"].items():
        summary = Summary.from_record(metric)
        name, _, own = key.partition(",")
        suffix = own or pipeline
        found[f"{name},{suffix}"] = summary.value
        interval = summary.interval
        found[f"{name}_stderr,{suffix}"] = "N/A"
        if interval is not None:
            found[f"{name}_interval,{suffix}"] = [interval.low, interval.high]
            found[f"{name}_interval_method,{suffix}"] = interval.method
        scored[name] = summary.n
        if summary.n_missing:
            gaps[name] = dict(summary.n_missing)
            found[f"{name}_bounds,{suffix}"] = summary.bounds
    return {**found, "n_scored": scored, "n_missing": gaps}


def _pipeline(row: Mapping[str, object]) -> str:
    return str(row.get("pipeline") or "none")


def _model(rows: Mapping[str, list[dict[str, Any]]]) -> str:
    return next((row["model"] for several in rows.values() for row in several if row["model"]), "")


def _version(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text or None


def _samples(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a row for each of the task's rows and pipelines, with all answers to it."""
    several: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in rows:
        several.setdefault((row["doc_id"], row["pipeline"]), []).append(row)
    for (doc_id, pipeline), answers in several.items():
        first = answers[0]
        target = first["references"][0] if len(first["references"]) == 1 else first["references"]
        record = {
            "doc_id": doc_id,
            "doc": first["doc"],
            "target": target if isinstance(target, str) else json.dumps(target, ensure_ascii=False),
            "arguments": {"gen_args_0": {"arg_0": first["prompt"], "arg_1": {}}},
            # null is an answer that nobody gave; an empty one is "", and read back as empty.
            "resps": [[row["reply"] for row in answers]],
            "filtered_resps": [row["text"] for row in answers],
            "filter": pipeline,
            "metrics": sorted({key for row in answers for key in row["metrics"]}),
            "doc_hash": _digest(json.dumps(first["doc"], indent=2, ensure_ascii=False)),
            "prompt_hash": _digest(first["prompt"]),
            "target_hash": _digest(str(target)),
            **_means(answers),
        }
        if "likelihoods" in first:
            pairs = [[str(value) for value in pair if value is not None] for pair in first["likelihoods"]]
            record |= {"resps": [[pair] for pair in pairs], "filtered_resps": pairs}
        missing: dict[str, Any] = {}
        for row in answers:
            for key, reason in row["missing"].items():
                missing.setdefault(key, []).append(reason)
        if missing:
            record["missing"] = {key: reasons[0] for key, reasons in missing.items()}
            record["n_missing"] = {key: len(reasons) for key, reasons in missing.items()}
        yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _means(answers: list[dict[str, Any]]) -> dict[str, float | None]:
    values: dict[str, list[float]] = {}
    for row in answers:
        for key, value in row["metrics"].items():
            values.setdefault(key, [])
            if value is not None:
                values[key].append(value)
    return {key: sum(found) / len(found) if found else None for key, found in sorted(values.items())}


def _hashes(row: Mapping[str, Any]) -> str:
    return _digest(json.dumps(row["doc"], indent=2, ensure_ascii=False)) + _digest(row["prompt"])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
