"""Results as other programs read them: CSV, JSON, JUnit, Parquet, every-eval-ever, MLflow, Weights & Biases."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from markbook.errors import IncompleteError
from markbook.installed import version
from markbook.plugins import need
from markbook.report.words import folder_names
from markbook.results.kind import Content, Entry, Results, get_seed, get_sheet
from markbook.results.leaderboard import Standing, in_benchmark_order, standings
from markbook.results.sheet import Sheet
from markbook.text import csv_cell, redact, xml
from markbook.types import digest_text

# Report plugins for other programs: CSV, JSON, JUnit XML and Parquet. Each writes one file.

Render = Callable[[Results], Mapping[str, Any]]
_WHOLE = 1 << 53
"""A float holds no larger whole number for certain."""
_ROWS = 50_000
"""Rows put into one row group of a Parquet file: memory stays flat."""


def as_csv() -> Render:
    """Return the renderer of `report.csv`: the factory of the report plugin `csv`."""
    return lambda results: {"report.csv": _csv(results)}


def as_json() -> Render:
    """Return the renderer of `report.json`: the factory of the report plugin `json`."""
    return lambda results: {"report.json": _json(results)}


def as_junit() -> Render:
    """Return the renderer of `report.junit.xml`: the factory of the report plugin `junit`."""
    return lambda results: {"report.junit.xml": _junit(results)}


def as_parquet() -> Render:
    """Return the renderer of `report.parquet`: the factory of the report plugin `parquet`.

    Raises:
        ExtraMissingError: pyarrow is not installed.
    """
    need("pyarrow", extra="parquet")
    return lambda results: {"report.parquet": _parquet(results)}


def _csv(results: Results) -> Iterator[str]:
    # Two passes over the rows: which columns there are is known only at the end, and no row is kept.
    columns = list(dict.fromkeys(name for row in results.flat_rows() for name in row))
    yield _csv_line([csv_cell(name) for name in columns])
    for row in results.flat_rows():
        yield _csv_line([csv_cell(row.get(name)) for name in columns])


def _csv_line(cells: list[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _json(results: Results) -> Iterator[str]:
    """Yield one JSON object, a row a line, so that a large run needs no memory."""
    head = json.dumps(results.overview(), ensure_ascii=False, allow_nan=False, indent=1)
    yield head.removesuffix("\n}") + ',\n "rows": ['
    first = True
    for row in results.flat_rows():
        yield ("\n" if first else ",\n") + json.dumps(row, ensure_ascii=False, allow_nan=False)
        first = False
    yield "\n]}\n"


def _junit(results: Results) -> Iterator[str]:
    """Yield a JUnit file: one suite a model, failure for a failed test, error for an error."""
    counts: dict[str, dict[str, int]] = {}
    turns, last = 0, None
    for case in results.cases():
        turns, last = turns + (case.suite != last), case.suite
        suite = counts.setdefault(case.suite, {"tests": 0, "failure": 0, "error": 0, "skipped": 0, "passed": 0})
        suite["tests"] += 1
        suite[case.state] += 1
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="markbook">\n'
    current = None
    # Where the models' rows alternate, each suite is gathered in a pass of its own: it has its counts and cases once.
    passes = [None] if turns == len(counts) else list(counts)
    for case in (case for suite in passes for case in results.cases() if suite in (None, case.suite)):
        if case.suite != current:
            if current is not None:
                yield "</testsuite>\n"
            current = case.suite
            count = counts[case.suite]
            numbers = f'tests="{count["tests"]}" failures="{count["failure"]}" errors="{count["error"]}" skipped="{count["skipped"]}"'
            yield f"<testsuite name={_attribute(case.suite)} {numbers}>\n"
        seconds = "" if case.seconds is None else f' time="{case.seconds:.3f}"'
        yield f"<testcase classname={_attribute(case.suite)} name={_attribute(case.name)}{seconds}"
        verdict = f'<properties><property name="verdict" value={_attribute(case.verdict)}/></properties>'
        inner = verdict if case.verdict else ""
        if case.state != "passed":
            detail = escape(xml(case.detail))
            inner += f"<{case.state} message={_attribute(case.message)}>{detail}</{case.state}>"
        yield f">{inner}</testcase>\n" if inner else "/>\n"
    yield "</testsuite>\n</testsuites>\n" if current is not None else "</testsuites>\n"


def _attribute(text: str) -> str:
    # A parser of XML turns a line break or tab in an attribute into a space unless it is written as a number.
    return quoteattr(xml(text), {"\n": "&#10;", "\t": "&#9;"})


def _parquet(results: Results) -> Iterator[bytes]:
    """Yield the bytes of a Parquet file with one row an attempt; types are settled by the first look at all rows."""
    pa, parquet = need("pyarrow", extra="parquet"), need("pyarrow.parquet", extra="parquet")
    kinds: dict[str, type] = {}
    long: set[str] = set()
    for row in results.flat_rows():
        for name, value in row.items():
            kinds[name] = _wider(kinds.get(name), value)
            if isinstance(value, int) and abs(value) > _WHOLE:
                long.add(name)
    # A column of fractions and of whole numbers beyond 2^53 would round these: it is text instead.
    kinds |= {name: str for name in long if kinds[name] is float}
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), type(None): pa.null()}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for block in _blocks(results):
                rows = [
                    {
                        name: value if value is None or type(value) is kind else kind(value)
                        for name, kind in kinds.items()
                        for value in [row.get(name)]
                    }
                    for row in block
                ]
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        with path.open("rb") as file:
            while data := file.read(1 << 20):
                yield data


def _blocks(results: Results) -> Iterator[list[dict[str, object]]]:
    block: list[dict[str, Any]] = []
    for row in results.flat_rows():
        block.append(dict(row))
        if len(block) >= _ROWS:
            yield block
            block = []
    if block:
        yield block


def _wider(kind: type | None, value: object) -> type:
    """Return a type that holds both what was seen and this value; text holds everything."""
    new = type(value)
    # Parquet's widest integer has 64 bits.
    if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 63:
        new = str
    if kind is None or kind is type(None) or kind is new:
        return new
    if new is type(None):
        return kind
    return float if {kind, new} == {int, float} else str


# The report plugin `every-eval-ever`: one record a model, and its instances in JSON Lines beside it.

SCHEMA = "0.2.1"


def every_eval_ever() -> Callable[[Results], Mapping[str, Content]]:
    """Return the renderer of `every_eval_ever/<model>.json` and `.jsonl`, of schema 0.2.1."""
    return _files


def _files(results: Results) -> dict[str, Content]:
    sheet = get_sheet(results, None)
    folders = folder_names(sheet.models)
    files: dict[str, Content] = {}
    for standing in standings(sheet, seed=get_seed(results)):
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
    uncertainty: dict[str, object] = {"num_samples": summary.n}
    if (interval := summary.interval) is not None:
        spread = {"lower": interval.low, "upper": interval.high}
        how = {"confidence_level": interval.confidence, "method": interval.method}
        uncertainty["confidence_interval"] = spread | how
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
                    "uncertainty": uncertainty,
                },
            }
        ] if summary.value is not None else [],
    }  # fmt: skip


def _instances(results: Results, model: str, evaluation: str, best: float) -> Iterator[str]:
    """Yield a line an attempt with a score; one without is counted in the record, for the format has no word for it."""
    scored = (entry for entry in results.entries() if entry.model == model and entry.score is not None)
    for entry in in_benchmark_order(results, scored):
        yield json.dumps(_instance(results, entry, evaluation, best), ensure_ascii=False, allow_nan=False) + "\n"


def _instance(results: Results, entry: Entry, evaluation: str, best: float) -> dict[str, object]:
    attempt = results.show_attempt(entry.location)
    prompt = attempt.prompt if attempt.asked is None else attempt.asked
    # Of the question with its right answers, as a run of ours knows its rows: the two are paired by it.
    prompt_digest = digest_text(attempt.prompt)
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


# Report plugins that hand a run's numbers to an experiment tracker. They send to wherever its own settings say.

_MOST_SAID = 300


def mlflow(experiment: str = "markbook", tracking_uri: str = "") -> Callable[[Results], Mapping[str, str]]:
    """Return a renderer that logs a run to MLflow: the factory of the report plugin `mlflow`.

    Args:
        experiment: its name.
        tracking_uri: the store; MLflow's own setting (`MLFLOW_TRACKING_URI`) if empty.

    Raises:
        ExtraMissingError: mlflow is not installed.
    """
    tracker = need("mlflow", extra="loggers")

    def render(results: Results) -> Mapping[str, str]:
        with _tracker_errors("MLflow", "is the store right (MLFLOW_TRACKING_URI)?"):
            client = tracker.MlflowClient(tracking_uri or None)
            experiment_found = client.get_experiment_by_name(experiment)
            experiment_id = experiment_found.experiment_id if experiment_found else client.create_experiment(experiment)
            name = client.create_run(experiment_id, tags={"mlflow.source.name": "markbook"}).info.run_id
            # Log a run's settings and numbers; a run that MLflow did not take whole is marked as failed there
            try:
                for setting, value in _settings(results).items():
                    client.log_param(name, setting, value)
                for number, value in _clean_names(numbers(results)).items():
                    client.log_metric(name, number, value)
            except Exception:
                with suppress(Exception):
                    client.set_terminated(name, "FAILED")
                raise
            client.set_terminated(name)
        return {"mlflow.json": json.dumps({"experiment_id": experiment_id, "run_id": name}) + "\n"}

    return render


def wandb(project: str = "markbook", mode: str = "") -> Callable[[Results], Mapping[str, str]]:
    """Return a renderer that logs a run to Weights & Biases: the factory of the report plugin `wandb`.

    Args:
        project: its name.
        mode: `online`, `offline` or `disabled`; W&B's own setting (`WANDB_MODE`) if empty, and offline without one,
            so that nothing leaves the machine unasked.

    Raises:
        ExtraMissingError: wandb is not installed.
    """
    tracker = need("wandb", extra="loggers")

    def render(results: Results) -> Mapping[str, str]:
        chosen = mode or os.environ.get("WANDB_MODE") or "offline"
        with _tracker_errors("W&B", "WANDB_MODE=offline keeps the run on this machine; online needs WANDB_API_KEY"):
            run = tracker.init(project=project, mode=chosen, config=_settings(results), job_type="evaluation")
            run.log(_clean_names(numbers(results)))
            record = {"run_id": run.id, "directory": run.dir, "mode": chosen}
            run.finish()
        return {"wandb.json": json.dumps(record) + "\n"}

    return render


@contextmanager
def _tracker_errors(tracker: str, hint: str) -> Iterator[None]:
    """Turn whatever a tracker raises into an IncompleteError: its store, its server and its packages are not ours."""
    try:
        yield
    except Exception as error:  # the border to another tool
        message = redact(str(error)).strip()[:_MOST_SAID]
        raise IncompleteError(
            f"{tracker} did not take the run: {type(error).__name__}: {message}", hint=hint
        ) from error


def _settings(results: Results) -> dict[str, object]:
    """Return the run's plain options."""
    config = results.overview()["config"]
    settings = config.items() if isinstance(config, Mapping) else ()
    return {name: value for name, value in settings if isinstance(value, str | int | float | bool)}


def _name(name: str) -> str:
    """Return a name that both trackers take: letters, digits and a few signs."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "_-. /") else "_" for char in name)[:240]


def _clean_names(numbers_by_name: Mapping[str, float]) -> dict[str, float]:
    """Return numbers under names that both trackers take; a digest keeps names apart that come to the same."""
    several = Counter(map(_name, numbers_by_name))
    return {
        _name(name) if several[_name(name)] == 1 else f"{_name(name)[:200]} {digest_text(name)[:8]}": value
        for name, value in numbers_by_name.items()
    }


def numbers(results: Results) -> dict[str, float]:
    """Return every number of the overview under a flat name, for loggers that take such; missing ones are left out."""
    numbers_by_name: dict[str, float] = {}
    record = results.overview()
    _collect("", record.get("models", record.get("summary", {})), numbers_by_name)
    return numbers_by_name


def _collect(name: str, value: Any, numbers_by_name: dict[str, float]) -> None:
    if isinstance(value, Mapping):
        for key, part in value.items():
            _collect(f"{name}/{key}" if name else str(key), part, numbers_by_name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        numbers_by_name[name] = float(value)
