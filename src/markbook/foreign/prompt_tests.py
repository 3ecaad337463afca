"""Results of tools that test prompts and applications: DeepEval's test runs and promptfoo's JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from markbook.foreign.reading import (
    Marked,
    MarkedRows,
    ResultsProbe,
    collect_columns,
    cut_text,
    digest_input,
    file_stem,
    mapping,
    missing_failure,
    names_apart,
    objects,
    read_value,
    sign_measure,
    words,
)
from markbook.marks import Row
from markbook.types import Direction, Missing

# DeepEval's test runs.


class DeepEval:
    """Reads the test cases of a run; each metric of theirs is one, and `success` says whether all were reached."""

    name = "deepeval"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for an object with test cases that hold metrics."""
        has_metrics = probe.has("testCases", "metricsData") or probe.has("testCases", "metricsMetadata")
        return 90 if probe.opening == "{" and has_metrics else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each test case; the file is a run or holds one under `testRunData`."""
        document = mapping(probe.document)
        run = mapping(document.get("testRunData")) or document
        parameters = mapping(run.get("hyperparameters"))
        model = str(parameters.get("model") or run.get("identifier") or file_stem(probe.path))
        cases = objects(run.get("testCases")) + objects(run.get("conversationalTestCases"))
        is_old = any("metricsMetadata" in case for case in cases)
        texts: dict[str, set[str]] = {}
        for case in cases:
            texts.setdefault(words(_question(case)), set()).add(words(_case_facts(case)))
        shared = {text for text, facts in texts.items() if len(facts) > 1}
        rows = MarkedRows(
            (_case(case, model, is_shared=words(_question(case)) in shared) for case in cases), counts=True
        )
        several = {row.id for row in rows if row.index}
        contents = {name: len({row.content for row in rows if row.id == name}) for name in several}
        # Cases that all have the name of their pytest function are not attempts at one sample: what was asked names them.
        named = (
            replace(row, id=row.content.partition(":")[2][:12], index=0)
            if contents.get(row.id, 0) > 1 and row.content
            else row
            for row in list(rows)
        )
        rows = MarkedRows(named, counts=True)
        judges: dict[str, set[str]] = {}
        ways: dict[str, set[Direction]] = {}
        for name, metric in (named_metric for case in cases for named_metric in _named_metrics(case)):
            judges.setdefault(name, set()).add(str(metric.get("evaluationModel") or ""))
            # Of `Toxicity` and its like less was better before version 4.2, and more is since: the verdict says it.
            score, threshold, success = (
                read_value(metric.get("score")),
                read_value(metric.get("threshold")),
                metric.get("success"),
            )
            is_stated = isinstance(success, bool) and score != threshold
            if is_stated and isinstance(score, float) and isinstance(threshold, float):
                ways.setdefault(name, set()).add("higher" if (score > threshold) == success else "lower")
        stated = {name: way for name, (way, *others) in ways.items() if not others}
        columns = collect_columns(rows, directions=stated)
        # A metric whose judge changes from case to case says nothing of the file.
        settings = {
            f"judge of {name}": next(iter(models)) or None for name, models in judges.items() if len(models) == 1
        }
        version = "metricsMetadata (before 1.5)" if is_old else "metricsData"
        return Marked(rows, columns, version, signatures={"": sign_measure("deepeval", settings)})


def _named_metrics(case: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield a case's metrics, each by its name and a number where several bear it."""
    count: Counter[str] = Counter()
    for metric in objects(case.get("metricsData")) or objects(case.get("metricsMetadata")):
        name = str(metric.get("name") or metric.get("metric") or "metric")
        count[name] += 1
        yield f"{name} ({count[name]})" if count[name] > 1 else name, metric


def _question(case: Mapping[str, object]) -> Any:
    return case.get("input") or [
        turn.get("input") or turn.get("content") for turn in objects(case.get("turns") or case.get("messages"))
    ]


def _case_facts(case: Mapping[str, object]) -> Any:
    """Return what a case is beside its input: cases that differ in it are not attempts at one sample."""
    return [case.get(name) for name in ("expectedOutput", "expectedOutcome", "expectedTools", "context", "scenario")]


def _case(case: Mapping[str, object], model: str, *, is_shared: bool) -> Row:
    """Return a case's row.

    Args:
        case: as the file holds it.
        model: who answered.
        is_shared: whether other cases have the same input and are not the same.
    """
    metrics: dict[str, float | Missing] = {}
    for name, metric in _named_metrics(case):
        error = metric.get("error")
        metrics[name] = missing_failure(error) if error else read_value(metric.get("score"))
    if "success" in case:
        broken = next((value for value in metrics.values() if isinstance(value, Missing)), None)
        metrics["success"] = broken if broken is not None else read_value(case["success"])
    question = _question(case)
    content = digest_input("deepeval", [question, _case_facts(case)] if is_shared and question else question)
    # A case is called test_case_<place> unless somebody named it: what was asked is what it is.
    name = str(case.get("name") or "")
    called = (
        name
        if name and not name.startswith(("test_case_", "conversational_test_case_"))
        else content.partition(":")[2][:12]
    )
    return Row(model, called or name, metrics, 0, cut_text(question), cut_text(case.get("actualOutput")), content)


# promptfoo's JSON.

_SHOWN = 80
_ERROR = 2
"""The failure reason of a test that broke off; 1 is an assertion that did not hold."""


class Promptfoo:
    """Reads one row for each test and provider; with several prompts each provider and prompt is a model."""

    name = "promptfoo"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for an object with results, and in them results of providers."""
        if probe.opening != "{" or not probe.has("results"):
            return 0
        is_older = all(map(probe.has, ("version", "provider", "vars")))
        return 90 if is_older or probe.has("evalId") else 0

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
        # One provider may stand there with several configurations, and one prompt twice: each is a model of its own.
        places: dict[str, dict[int, int]] = {}
        numbers = [number if isinstance(number := result.get("promptIdx"), int) else 0 for result in results]
        for number, row in sorted(zip(numbers, rows, strict=True), key=lambda pair: pair[0]):
            places.setdefault(row.model, {}).setdefault(number, len(places[row.model]) + 1)
        rows = [
            replace(row, model=f"{row.model} #{places[row.model][number]}") if len(places[row.model]) > 1 else row
            for number, row in zip(numbers, rows, strict=True)
        ]
        columns = collect_columns(rows, first=("score", "pass"))
        return Marked(MarkedRows(rows, counts=True), columns, f"version {holder.get('version', 1)}")


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
    score, passed = read_value(result.get("score")), read_value(result.get("success"))
    metrics: dict[str, float | Missing] = {"score": score, "pass": passed, **named}
    broke_off = bool(result.get("error")) and not isinstance(result.get("gradingResult"), dict)
    if "failureReason" in result:
        broke_off = result["failureReason"] == _ERROR
    if broke_off:
        # A test that broke off has no named scores: its assertions say which they would be.
        would = [assertion.get("metric") for assertion in objects(mapping(result.get("testCase")).get("assert"))]
        why = missing_failure(result.get("error") or "promptfoo counts it as an error")
        metrics = dict.fromkeys([*metrics, *(name for name in would if isinstance(name, str))], why)
    reply = mapping(result.get("response")).get("output")
    prompt = mapping(result.get("prompt")).get("raw") or variables
    return Row(model, name, metrics, 0, cut_text(prompt), cut_text(reply), digest_input("promptfoo", variables))
