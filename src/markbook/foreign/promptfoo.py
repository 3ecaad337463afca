"""promptfoo's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markbook.foreign.reading import (
    Marked,
    ResultsProbe,
    collect_columns,
    cut_text,
    digest_input,
    mapping,
    missing_failure,
    names_apart,
    number_attempts,
    objects,
    read_value,
)
from markbook.marks import Row
from markbook.types import Missing

_SHOWN = 80
_ERROR = 2
"""The failure reason of a test that broke off; 1 is an assertion that did not hold."""


class Promptfoo:
    """Reads one row for each test and provider; with several prompts each provider and prompt is a model."""

    name = "promptfoo"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for an object with results, and in them results of providers."""
        if probe.head.lstrip()[:1] != "{" or not probe.has("results"):
            return 0
        return (
            90 if probe.has("evalId") or (probe.has("version") and probe.has("provider") and probe.has("vars")) else 0
        )

    def read(self, probe: ResultsProbe) -> Marked:
        """Return the rows of version 2 and 3 of the format."""
        document = mapping(probe.document)
        holder = mapping(document.get("results"))
        results = objects(holder.get("results"))
        # `--repeat` gives every repeat of a test a number of its own: the first that a test of these variables and
        # assertions had names them all. Before version 3 there is none.
        names: dict[str, str] = {}
        for at, result in enumerate(results):
            unnumbered = digest_input("promptfoo", _get_vars(result)).partition(":")[2][:12] or str(at)
            names.setdefault(_test(result), str(result.get("testIdx", unnumbered)))
        # a prompt is called by its beginning, and by a digest where others begin alike
        prompts = names_apart({prompt: prompt[:_SHOWN] for prompt in map(_prompt, results)})
        rows = [_row(result, names[_test(result)], prompts) for result in results]
        columns = collect_columns(rows, first=("score", "pass"))
        return Marked(number_attempts(rows), columns, f"version {holder.get('version', 1)}")


def _prompt(result: Mapping[str, object]) -> str:
    prompt = mapping(result.get("prompt"))
    return str(prompt.get("label") or prompt.get("raw") or "")


def _get_vars(result: Mapping[str, object]) -> Any:
    return result.get("vars") or mapping(result.get("testCase")).get("vars")


def _test(result: Mapping[str, object]) -> str:
    if not _get_vars(result):
        return str(result.get("testIdx"))
    return digest_input("promptfoo", [_get_vars(result), mapping(result.get("testCase")).get("assert")])


def _row(result: Mapping[str, object], name: str, prompts: Mapping[str, str]) -> Row:
    provider = result.get("provider")
    about = mapping(provider)
    model = str(about.get("label") or about.get("id") or (provider if isinstance(provider, str) else "") or "model")
    if len(prompts) > 1:
        model = f"{model} / {prompts[_prompt(result)]}"
    variables = _get_vars(result)
    named = {str(key): read_value(value) for key, value in mapping(result.get("namedScores")).items()}
    metrics: dict[str, float | Missing] = {
        "score": read_value(result.get("score")),
        "pass": read_value(result.get("success")),
        **named,
    }
    broke_off = bool(result.get("error")) and not isinstance(result.get("gradingResult"), dict)
    if "failureReason" in result:
        broke_off = result["failureReason"] == _ERROR
    if broke_off:
        # A test that broke off has no named scores: its assertions say which they would be.
        would = [assertion.get("metric") for assertion in objects(mapping(result.get("testCase")).get("assert"))]
        why = missing_failure(result.get("error") or "promptfoo counts it as an error")
        metrics = dict.fromkeys([*metrics, *(name for name in would if isinstance(name, str))], why)
    reply = mapping(result.get("response")).get("output")
    return Row(
        model,
        name,
        metrics,
        0,
        cut_text(mapping(result.get("prompt")).get("raw") or variables),
        cut_text(reply),
        digest_input("promptfoo", variables),
    )
