"""Report plugins that hand a run's numbers to an experiment tracker. They send to wherever its own settings say."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from markbook.errors import IncompleteError
from markbook.plugins import need
from markbook.results.kind import Results
from markbook.text import redact

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
            _log(client, name, results)
        return {"mlflow.json": json.dumps({"experiment_id": experiment_id, "run_id": name}) + "\n"}

    return render


def _log(client: Any, name: str, results: Results) -> None:
    """Log a run's settings and numbers; a run that MLflow did not take whole is marked as failed there."""
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
    """Turn whatever a tracker raises into a message: its store, its server and its packages are not ours.

    Raises:
        IncompleteError: the tracker did not take the run.
    """
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
        _name(name)
        if several[_name(name)] == 1
        else f"{_name(name)[:200]} {hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}": value
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
