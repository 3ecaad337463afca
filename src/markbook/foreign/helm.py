"""HELM: `per_instance_stats.json`, with `run_spec.json` and `instances.json` beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markbook.errors import DataError
from markbook.foreign.records import Marked, Probe, columns_of, content_of, mapping, objects, shown, value_of
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

    def sniff(self, probe: Probe) -> int:
        """Return 90 for an array of instances with stats."""
        return 90 if probe.head.lstrip()[:1] == "[" and probe.has("instance_id", "train_trial_index", "stats") else 0

    def read(self, probe: Probe) -> Marked:
        """Return the rows, absent ones for instances that have no stats."""
        folder = probe.path.parent
        spec = mapping(_beside(folder / "run_spec.json"))
        about = mapping(spec.get("adapter_spec"))
        model = str(about.get("model") or about.get("model_deployment") or folder.name)
        inputs = {
            str(one.get("id")): mapping(one.get("input")).get("text")
            for one in objects(_beside(folder / "instances.json"))
        }
        rows = [row for one in objects(probe.document) if (row := _row(one, model, inputs)).metrics]
        lower = {name for row in rows for name in row.metrics if name.startswith(_LOWER)}
        return Marked(rows, columns_of(rows, first=_FIRST, lower=lower), str(spec.get("name") or ""))


def _beside(path: Path) -> Any:
    """Return the file beside it, None if there is none."""
    return Probe(path).document if path.is_file() and not path.is_symlink() else None


def _row(one: Mapping[str, Any], model: str, inputs: Mapping[str, Any]) -> Row:
    name = one.get("instance_id")
    if not isinstance(name, str):
        raise DataError("an instance without an id")
    perturbed = mapping(one.get("perturbation")).get("name")
    trial = one.get("train_trial_index")
    asked = inputs.get(name)
    return Row(
        model,
        f"{name} ({perturbed})" if perturbed else name,
        dict(_stats(objects(one.get("stats")))),
        trial if isinstance(trial, int) and trial > 0 else 0,
        shown(asked),
        "",
        "" if perturbed else content_of("helm", asked),
    )


def _stats(stats: list[Mapping[str, Any]]) -> Iterator[tuple[str, float | Missing]]:
    for stat in stats:
        name = str(mapping(stat.get("name")).get("name"))
        if name.startswith(_BESIDES):
            continue
        count, total = stat.get("count"), stat.get("sum")
        if isinstance(count, int | float) and count > 0 and total is not None:
            yield name, value_of(total / count)
        else:
            yield name, Missing(MissingKind.UNDEFINED, "HELM counted no value for this instance")
