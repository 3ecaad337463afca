"""A run of tasks in lm-evaluation-harness's own files: what its dashboards and scripts read."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from markbook.report.words import folder_names, harness_date, harness_stamp
from markbook.results.kind import Content
from markbook.runs.tasks.summaries import GroupRecord, TaskAnswer, TaskRecord, TasksView
from markbook.types import Summary, digest_text

_UNSAFE = re.compile(r"[^\w.\-]")


@dataclass(slots=True)
class _Task:
    """What one look at a task's rows tells, without the rows."""

    pipeline: str
    model: str
    start: int
    """Where its first row lies, in bytes."""
    rows: int = 0
    hashes: Any = field(default_factory=hashlib.sha256)
    spreads: dict[tuple[str, str], _Spread] = field(default_factory=dict)
    """By pipeline and metric."""


@dataclass(slots=True)
class _Spread:
    """Mean and standard error of numbers as they come (Welford)."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Take the next number."""
        self.n += 1
        # Welford: a plain sum of squares loses the digits of numbers that are near one another.
        off = value - self.mean
        self.mean += off / self.n
        self.squares += off * (value - self.mean)

    def standard_error(self, value: float | None) -> float | str:
        """Return the standard error of a mean; where the value is none of these numbers', that is not known."""
        # The standard error of the rows' mean says nothing of a number that is another one, such as corpus BLEU.
        if value is None or self.n < 2 or not math.isclose(self.mean, value, rel_tol=1e-9, abs_tol=1e-9):
            return "N/A"
        return math.sqrt(self.squares / (self.n - 1) / self.n)


def lm_eval_files(view: TasksView) -> Mapping[str, Content]:
    """Return `results_<date>.json` and one `samples_<task>_<date>.jsonl` a task, by path; rows are read when they are written.

    The date is the run's own beginning, so that another report of it has the same names and the same bytes.

    Metrics are named `key,filter` as there; all are 0..1. A value that is missing is null. `key_stderr,filter` is the standard
    error of the rows' mean, as the harness computes it, and "N/A" where the number is not a mean. Scores of metrics with an
    interval carry it under `key_interval,filter` and its method under `key_interval_method,filter`; every task says how many
    rows were scored under `n_scored`, and which values are missing under `n_missing`, with `key_bounds,filter` beside them.
    """
    tasks: dict[str, _Task] = {}  # one look at the rows; they are read again when they are written
    for location, rows in _together(view.located_rows()):
        first = rows[0]
        task = tasks.setdefault(first["task"], _Task(_pipeline(first), first["model"], location))
        task.model = task.model or first["model"]
        task.rows += len(rows)
        for row in rows:
            doc = json.dumps(row["doc"], indent=2, ensure_ascii=False)
            # Fed row by row in their order, so that the rows need not be held for it.
            task.hashes.update(f"{digest_text(doc)}{digest_text(row['prompt'])}".encode())
        for key, value in _means(rows).items():
            if value is not None:
                task.spreads.setdefault((first["pipeline"], key), _Spread()).add(value)
    stamp = harness_stamp(view.manifest.get("started"))
    safe = [_UNSAFE.sub("_", name) for name in tasks]
    # names of their own stay, unless two are the same when what no file name holds is replaced
    names = folder_names(safe if len({name.casefold() for name in safe}) == len(safe) else tasks)
    files: dict[str, Content] = {
        f"samples_{file}{stamp}.jsonl": _samples(view, name, task)
        for file, (name, task) in zip(names.values(), tasks.items(), strict=True)
    }
    return {
        f"results{stamp}.json": json.dumps(_results(view, tasks), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        **files,
    }


def _together(located: Iterable[tuple[int, TaskAnswer]]) -> Iterator[tuple[int, list[TaskAnswer]]]:
    """Yield all answers to a row together, with the place of the first; they stand one behind the other."""
    groups = itertools.groupby(located, key=lambda pair: [pair[1][name] for name in ("task", "pipeline", "doc_id")])
    for _, group in groups:
        several = list(group)
        yield several[0][0], [row for _, row in several]


def _results(view: TasksView, looked: Mapping[str, _Task]) -> dict[str, object]:
    tasks = view.summary["tasks"]
    config = view.manifest.get("config", {})
    shots = {name: task.get("num_fewshot") for name, task in config.get("tasks", {}).items()}
    if config.get("num_fewshot") is not None:
        shots = dict.fromkeys(tasks, config["num_fewshot"])
    groups = {
        name: _metrics(record, _pipeline({}), {}) | {"alias": record["alias"] or name}
        for name, record in view.summary["groups"].items()
    }
    return {
        "results": {
            name: {"alias": record["alias"] or name, **_metrics(record, looked[name].pipeline, looked[name].spreads)}
            for name, record in tasks.items()
            if name in looked
        },
        **({"groups": groups} if groups else {}),
        "group_subtasks": {name: record["tasks"] for name, record in view.summary["groups"].items()},
        "configs": {name: {"task": name, **config.get("tasks", {}).get(name, {})} for name in tasks},
        "versions": {name: _version(record["version"]) for name, record in tasks.items()},
        "n-shot": {name: int(shots.get(name) or 0) for name in tasks},
        "higher_is_better": {
            name: {
                key.partition(",")[0]: metric_record["direction"] == "higher"
                for key, metric_record in record["metrics"].items()
            }
            for name, record in tasks.items()
        },
        "n-samples": {
            name: {"original": record["rows"] + record["rows_rejected"], "effective": record["rows"]}
            for name, record in tasks.items()
        },
        "config": {
            "model": view.summary["model"] or _model(looked),
            "limit": config.get("limit"),
            "random_seed": config.get("seed"),
        },
        "model_name": view.summary["model"] or _model(looked),
        "model_source": "markbook",
        "task_hashes": {name: task.hashes.hexdigest() for name, task in looked.items()},
        "date": harness_date(view.manifest.get("started")),
        "lm_eval_version": None,
        "total_evaluation_time_seconds": str(view.manifest.get("seconds") or ""),
        "markbook": {"profile": view.summary["profile"], "schema": view.summary["schema"]},
    }


def _metrics(
    record: TaskRecord | GroupRecord, pipeline: str, spreads: Mapping[tuple[str, str], _Spread]
) -> dict[str, object]:
    """Return the metrics under the harness's names."""
    results: dict[str, Any] = {}
    scored: dict[str, int] = {}
    gaps: dict[str, dict[str, int]] = {}
    for key, metric in record["metrics"].items():
        summary = Summary.from_record(metric)
        name, _, own = key.partition(",")
        suffix = own or pipeline
        results[f"{name},{suffix}"] = summary.value
        interval = summary.interval
        results[f"{name}_stderr,{suffix}"] = spreads.get((suffix, name), _Spread()).standard_error(summary.value)
        if interval is not None:
            results[f"{name}_interval,{suffix}"] = [interval.low, interval.high]
            results[f"{name}_interval_method,{suffix}"] = interval.method
        scored[name] = summary.n
        if summary.n_missing:
            gaps[name] = dict(summary.n_missing)
            results[f"{name}_bounds,{suffix}"] = summary.bounds
    return {**results, "n_scored": scored, "n_missing": gaps}


def _pipeline(row: Mapping[str, object]) -> str:
    return str(row.get("pipeline") or "none")


def _model(looked: Mapping[str, _Task]) -> str:
    return next((task.model for task in looked.values() if task.model), "")


def _version(text: str) -> Any:
    try:
        number = float(text)
    except ValueError:
        return text or None
    return number if math.isfinite(number) else text  # "nan" is a name, for JSON has no such number


def _samples(view: TasksView, name: str, task: _Task) -> Iterator[str]:
    """Yield a row for each of the task's rows and pipelines, with all answers to it."""
    # From the task's first row on: to read the file from its beginning for each of many tasks would take the square
    # of it.
    located = (pair for pair in view.located_rows(task.start) if pair[1]["task"] == name)
    for _, answers in _together(itertools.islice(located, task.rows)):
        first = answers[0]
        target = first["references"][0] if len(first["references"]) == 1 else first["references"]
        record: dict[str, object] = {
            "doc_id": first["doc_id"],
            "doc": first["doc"],
            "target": target if isinstance(target, str) else json.dumps(target, ensure_ascii=False),
            "arguments": {"gen_args_0": {"arg_0": first["prompt"], "arg_1": {}}},
            # null is an answer that nobody gave; an empty one is "", and read back as empty.
            "resps": [[row["reply"] for row in answers]],
            "filtered_resps": [row["text"] for row in answers],
            "filter": first["pipeline"],
            "metrics": sorted({key for row in answers for key in row["metrics"]}),
            "doc_hash": digest_text(json.dumps(first["doc"], indent=2, ensure_ascii=False)),
            "prompt_hash": digest_text(first["prompt"]),
            "target_hash": digest_text(str(target)),
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


def _means(answers: list[TaskAnswer]) -> dict[str, float | None]:
    values: dict[str, list[float]] = {}
    for row in answers:
        for key, value in row["metrics"].items():
            values.setdefault(key, [])
            if value is not None:
                values[key].append(value)
    return {key: sum(numbers) / len(numbers) if numbers else None for key, numbers in sorted(values.items())}
