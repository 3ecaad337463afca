"""Tools that test prompts: promptfoo's JSON and DeepEval's test runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markbook.foreign.records import (
    Marked,
    Probe,
    columns_of,
    content_of,
    failed,
    mapping,
    numbered,
    objects,
    shown,
    stem_of,
    value_of,
)
from markbook.marks import Row
from markbook.types import Missing

_ERROR = 2
"""promptfoo's failure reason of a test that broke off; 1 is an assertion that did not hold."""


class Promptfoo:
    """Reads one row for each test and provider; with several prompts each provider and prompt is a model."""

    name = "promptfoo"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for an object with results, and in them results of providers."""
        if probe.head.lstrip()[:1] != "{" or not probe.has("results"):
            return 0
        return (
            90 if probe.has("evalId") or (probe.has("version") and (probe.has("provider") and probe.has("vars"))) else 0
        )

    def read(self, probe: Probe) -> Marked:
        """Return the rows of version 2 and 3 of the format."""
        document = mapping(probe.document)
        results = mapping(document.get("results"))
        found = objects(results.get("results"))
        several = len({_prompt(one) for one in found}) > 1
        rows = [_promptfoo_row(one, at, several=several) for at, one in enumerate(found)]
        columns = columns_of(rows, first=("score", "pass"))
        return Marked(numbered(rows), columns, f"version {results.get('version', 1)}")


def _prompt(one: Mapping[str, Any]) -> str:
    prompt = mapping(one.get("prompt"))
    return str(prompt.get("label") or prompt.get("raw") or "")


def _promptfoo_row(one: Mapping[str, Any], at: int, *, several: bool) -> Row:
    provider = one.get("provider")
    about = mapping(provider)
    model = str(about.get("label") or about.get("id") or (provider if isinstance(provider, str) else "") or "model")
    if several:
        model = f"{model} / {_prompt(one)[:80]}"
    given = one.get("vars") or mapping(one.get("testCase")).get("vars")
    known = content_of("promptfoo", given)
    # Before version 3 a test has no number: what it is given is what it is.
    name = str(one["testIdx"]) if "testIdx" in one else known.partition(":")[2][:12] or str(at)
    named = {str(key): value_of(value) for key, value in mapping(one.get("namedScores")).items()}
    metrics: dict[str, float | Missing] = {
        "score": value_of(one.get("score")),
        "pass": value_of(one.get("success")),
        **named,
    }
    if _broke_off(one):
        metrics = dict.fromkeys(metrics, failed(one.get("error") or "promptfoo counts it as an error"))
    said = mapping(one.get("response")).get("output")
    return Row(model, name, metrics, 0, shown(mapping(one.get("prompt")).get("raw") or given), shown(said), known)


def _broke_off(one: Mapping[str, Any]) -> bool:
    if "failureReason" in one:
        return bool(one["failureReason"] == _ERROR)
    return bool(one.get("error")) and not isinstance(one.get("gradingResult"), dict)


class DeepEval:
    """Reads the test cases of a run; each metric of theirs is one, and `success` says whether all were reached."""

    name = "deepeval"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for an object with test cases that hold metrics."""
        is_object = probe.head.lstrip()[:1] == "{"
        return (
            90
            if is_object and probe.has("testCases") and (probe.has("metricsData") or probe.has("metricsMetadata"))
            else 0
        )

    def read(self, probe: Probe) -> Marked:
        """Return one row for each test case; the file is a run or holds one under `testRunData`."""
        document = mapping(probe.document)
        run = mapping(document.get("testRunData")) or document
        parameters = mapping(run.get("hyperparameters"))
        model = str(parameters.get("model") or run.get("identifier") or stem_of(probe.path))
        cases = objects(run.get("testCases")) + objects(run.get("conversationalTestCases"))
        is_old = any("metricsMetadata" in one for one in cases)
        rows = numbered([_case(one, model) for one in cases])
        rows = _named(rows)
        return Marked(rows, columns_of(rows), "metricsMetadata (before 1.5)" if is_old else "metricsData")


def _case(one: Mapping[str, Any], model: str) -> Row:
    metrics: dict[str, float | Missing] = {}
    for metric in objects(one.get("metricsData")) or objects(one.get("metricsMetadata")):
        name = str(metric.get("name") or metric.get("metric") or "metric")
        error = metric.get("error")
        metrics[name] = failed(error) if error else value_of(metric.get("score"))
    if "success" in one:
        broken = next((value for value in metrics.values() if isinstance(value, Missing)), None)
        metrics["success"] = broken if broken is not None else value_of(one["success"])
    asked = one.get("input") or [
        turn.get("input") or turn.get("content") for turn in objects(one.get("turns") or one.get("messages"))
    ]
    known = content_of("deepeval", asked)
    # A case is called test_case_<place> unless somebody named it: what was asked is what it is.
    name = str(one.get("name") or "")
    called = (
        name
        if name and not name.startswith(("test_case_", "conversational_test_case_"))
        else known.partition(":")[2][:12]
    )
    return Row(model, called or name, metrics, 0, shown(asked), shown(one.get("actualOutput")), known)


def _named(rows: list[Row]) -> list[Row]:
    """Return the rows, cases that all have the name of their pytest function by what was asked instead."""
    from dataclasses import replace

    several = {row.id for row in rows if row.index}
    asked = {name: len({row.content for row in rows if row.id == name}) for name in several}
    mended = [
        replace(row, id=row.content.partition(":")[2][:12], index=0)
        if asked.get(row.id, 0) > 1 and row.content
        else row
        for row in rows
    ]
    return numbered(mended)
