"""Report plugins that hand a run's numbers to an experiment tracker. They send to wherever its own settings say."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

from markbook.plugins import need
from markbook.report.overview import numbers
from markbook.results.kind import Results


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
        client = tracker.MlflowClient(tracking_uri or None)
        found = client.get_experiment_by_name(experiment)
        place = found.experiment_id if found else client.create_experiment(experiment)
        run = client.create_run(place, tags={"mlflow.source.name": "markbook"})
        for name, value in _settings(results).items():
            client.log_param(run.info.run_id, name, value)
        for name, value in numbers(results).items():
            client.log_metric(run.info.run_id, _name(name), value)
        client.set_terminated(run.info.run_id)
        return {"mlflow.json": json.dumps({"experiment_id": place, "run_id": run.info.run_id}) + "\n"}

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
        run = tracker.init(project=project, mode=chosen, config=_settings(results), job_type="evaluation")
        run.log({_name(name): value for name, value in numbers(results).items()})
        found = {"run_id": run.id, "directory": run.dir, "mode": chosen}
        run.finish()
        return {"wandb.json": json.dumps(found) + "\n"}

    return render


def _settings(results: Results) -> dict[str, object]:
    """Return the run's plain options."""
    config = results.overview()["config"]
    return {name: value for name, value in config.items() if isinstance(value, str | int | float | bool)}


def _name(name: str) -> str:
    """Return a name that both trackers take: letters, digits and a few signs."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "_-. /") else "_" for char in name)[:240]
