"""HELM: `per_instance_stats.json`, with `run_spec.json` and `instances.json` beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markbook.errors import DataError
from markbook.foreign.reading import (
    ABSENT,
    Marked,
    ResultsProbe,
    collect_columns,
    cut_text,
    digest_input,
    mapping,
    names_apart,
    objects,
    read_value,
    words,
)
from markbook.marks import Row
from markbook.types import Missing, MissingKind

_FIRST = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match", "f1_score", "rouge_l")
_BESIDES = (
    "num_", "max_prob", "inference_", "training_", "finish_reason", "batch_size", "estimated_", "prompt_", "logprob",
    "ece", "platt", "selective", "predicted_index", "none",
)  # fmt: skip
"""Beginnings of the names of what HELM notes of a request; no marks."""
_LOWER = ("bits_per_byte", "perplexity", "logprob_per_byte", "edit_distance", "toxic")


class Helm:
    """Reads one row for each instance and trial; a perturbed instance is a sample of its own."""

    name = "helm"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for an array of instances with stats."""
        return 90 if probe.head.lstrip()[:1] == "[" and probe.has("instance_id", "train_trial_index", "stats") else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return the rows, absent ones for instances that were asked about and have no stats.

        Every metric of a run notes its stats of an instance by themselves: they are brought together here.
        """
        folder = probe.path.parent
        spec = mapping(_beside(folder / "run_spec.json"))
        about = mapping(spec.get("adapter_spec"))
        model = str(about.get("model") or about.get("model_deployment") or folder.resolve().name)
        stats = objects(probe.document)
        # One method of perturbation may be there with several settings, which only all that is said of it tells apart.
        by_instance: dict[str, dict[str, str]] = {}
        for stat in stats:
            if perturbed := mapping(stat.get("perturbation")).get("name"):
                by_instance.setdefault(str(stat.get("instance_id")), {})[_perturbation(stat)] = str(perturbed)
        called = {name: names_apart(perturbations) for name, perturbations in by_instance.items()}
        # What was asked, as `helm-summarize` writes it, else out of the state of the scenario
        instances = objects(_beside(folder / "instances.json"))
        if not instances:
            states = objects(mapping(_beside(folder / "scenario_state.json")).get("request_states"))
            instances = [mapping(state.get("instance")) for state in states if isinstance(state.get("instance"), dict)]
        questions = {_instance(instance, called): mapping(instance.get("input")).get("text") for instance in instances}
        metrics: dict[tuple[_Instance, int], dict[str, float | Missing]] = {}
        for stat in stats:
            if not isinstance(stat.get("instance_id"), str):
                raise DataError("an instance without an id", at=str(probe.path))
            trial = stat.get("train_trial_index")
            at = _instance(stat, called), trial if isinstance(trial, int) and trial > 0 else 0
            values = metrics.setdefault(at, {})
            for summary in objects(stat.get("stats")):
                name, count, total = (
                    str(mapping(summary.get("name")).get("name")), summary.get("count"), summary.get("sum"),
                )  # fmt: skip
                if name.startswith(_BESIDES):
                    continue
                # A stat is a sum over so many values, and its mean is the instance's mark.
                if isinstance(count, int | float) and count > 0 and isinstance(total, int | float):
                    values[name] = read_value(total / count)
                else:
                    values[name] = Missing(MissingKind.UNDEFINED, "HELM counted no value for this instance")
        names = list(dict.fromkeys(name for metrics in metrics.values() for name in metrics))
        lacking = Missing(MissingKind.UNDEFINED, "HELM notes no value of this instance, as it does of what is NaN")
        rows = [
            _row(model, at, {name: metrics.get(name, lacking) for name in names}, questions.get(at[0]))
            for at, metrics in metrics.items()
            if metrics
        ]
        have = {at for (at, _), metrics in metrics.items() if metrics}
        rows += [
            _row(model, (at, 0), dict.fromkeys(names, ABSENT), text) for at, text in questions.items() if at not in have
        ]
        # HELM's files do not say which way is better: these are the names whose metrics count errors or harm.
        lower = {name for name in names if name.startswith(_LOWER)}
        return Marked(rows, collect_columns(rows, first=_FIRST, lower=lower), str(spec.get("name") or ""))


_Instance = tuple[str, str]
"""An instance's id, and what it was perturbed by."""


def _instance(record: Mapping[str, object], called: Mapping[str, Mapping[str, str]]) -> _Instance:
    name = str(record.get("instance_id", record.get("id")))
    perturbed = str(mapping(record.get("perturbation")).get("name") or "")
    return name, called.get(name, {}).get(_perturbation(record), perturbed)


def _perturbation(record: Mapping[str, object]) -> str:
    """Return all that is said of what perturbed an instance, as text; not on which of the texts a stat was computed."""
    return words({key: value for key, value in mapping(record.get("perturbation")).items() if key != "computed_on"})


def _beside(path: Path) -> Any:
    """Return the file beside it, None if there is none."""
    return ResultsProbe(path).document if path.is_file() and not path.is_symlink() else None


def _row(model: str, at: tuple[_Instance, int], metrics: Mapping[str, float | Missing], question: Any) -> Row:
    (name, perturbed), trial = at
    called = f"{name} ({perturbed})" if perturbed else name
    # A perturbed question is not the one that other runs asked, so it has no digest to be paired by.
    return Row(
        model, called, metrics, trial, cut_text(question), "", "" if perturbed else digest_input("helm", question)
    )
