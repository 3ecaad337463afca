"""Results of tools that test prompts and applications: DeepEval's test runs and promptfoo's JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    sign_facts,
    sign_measure,
    sign_metrics,
    words,
)
from markbook.marks import Row
from markbook.types import Direction, Missing, digest_text

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
        rows = MarkedRows((_case(case, model) for case in cases), counts=True)
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
        facts: dict[str, dict[str, set[object]]] = {}
        ways: dict[str, Counter[Direction]] = {}
        for name, metric in (named_metric for case in cases for named_metric in _named_metrics(case)):
            score, threshold = (read_value(metric.get(key)) for key in ("score", "threshold"))
            success, judge, is_strict = map(metric.get, ("success", "evaluationModel", "strictMode"))
            log = _CRITERIA.match(str(metric.get("verboseLogs")))
            limit = None if isinstance(threshold, Missing) else threshold
            measure = {
                "judge": judge or None,
                "strictMode": is_strict,
                "threshold": limit,
                "criteria": log and (log[1] or log[2]),
                "rubric": log and log[3],
            }
            for kind, fact in measure.items():
                facts.setdefault(name, {}).setdefault(kind, set()).update({words(fact)} if fact is not None else ())
            # Of `Toxicity` and its like less was better before version 4.2, and more is since: the verdict says it.
            is_stated = isinstance(success, bool) and score != threshold and not metric.get("error")
            if is_stated and isinstance(score, float) and isinstance(threshold, float):
                ways.setdefault(name, Counter())["higher" if (score > threshold) == success else "lower"] += 1
        directions = {name: max(of, key=of.__getitem__) for name, of in ways.items() if of["lower"] != of["higher"]}
        columns = collect_columns(rows, directions=directions | {"success": "higher"})
        for name, of in ways.items():
            if (fewer := min(of["lower"], of["higher"])) and name in columns:
                contradict = f"In {fewer} of {of.total()} cases the verdict on {name} contradicts the others"
                way = columns[name].direction
                columns[name] = replace(columns[name], note=f"{contradict}: {way} is assumed to be better.")
        # A score does not depend on the threshold that it is held to; whether a case passed depends on all of them.
        settings: dict[str, dict[str, object]] = {"success": {"metrics": sorted(facts)}}
        for name, kind, values in ((name, kind, values) for name, of in facts.items() for kind, values in of.items()):
            fact = sorted(values, key=str) if len(values) > 1 else next(iter(values), None)
            for concerned in ("success",) if kind == "threshold" else (name, "success"):
                settings.setdefault(concerned, {})[f"{kind} of {name}"] = fact
        version = "metricsMetadata (before 1.5)" if is_old else "metricsData"
        signatures = {"": sign_measure("deepeval", {})}
        return Marked(rows, columns, version, signatures=signatures, metric_signatures=sign_metrics(settings))


def _named_metrics(case: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield a case's metrics, each by its name and a number where several bear it."""
    count: Counter[str] = Counter()
    for metric in objects(case.get("metricsData")) or objects(case.get("metricsMetadata")):
        name = str(metric.get("name") or metric.get("metric") or "metric")
        count[name] += 1
        yield f"{name} ({count[name]})" if count[name] > 1 else name, metric


_CRITERIA = re.compile(
    r"Criteria:\n(?:(?:None)? *\n *\nEvaluation Steps:\n(.*?)|(.*?) *\n *\nEvaluation Steps:\n.*?)(?: *\n *\n|\Z)"
    r"(?:Rubric:\n(?!None)(.*?)(?: *\n *\n|\Z))?",
    re.DOTALL,
)
"""The log of a GEval metric: its criteria; its steps only where they were written instead, for else a model makes them up; its rubric."""
_CASE_FACTS = ("expectedOutput", "expectedOutcome", "expectedTools", "context", "scenario")


def _case(case: Mapping[str, object], model: str) -> Row:
    metrics: dict[str, float | Missing] = {}
    for name, metric in _named_metrics(case):
        error = metric.get("error")
        metrics[name] = missing_failure(error) if error else read_value(metric.get("score"))
    if "success" in case:
        broken = next((value for value in metrics.values() if isinstance(value, Missing)), None)
        metrics["success"] = broken if broken is not None else read_value(case["success"])
    turns = objects(case.get("turns") or case.get("messages"))
    question = case.get("input") or [turn.get("input") or turn.get("content") for turn in turns]
    # Cases that differ in what they are beside their input are not attempts at one sample.
    facts = [case.get(key) or None for key in _CASE_FACTS]
    content = digest_input("deepeval", [question, facts] if question and any(facts) else question)
    # A case is called test_case_<place> unless somebody named it: what was asked is what it is.
    name = str(case.get("name") or "")
    if not name or name.startswith(("test_case_", "conversational_test_case_")):
        name = content.partition(":")[2][:12] or name
    return Row(model, name, metrics, 0, cut_text(question), cut_text(case.get("actualOutput")), content)


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
        rows, notes = _name_columns(results, rows, mapping(document.get("config")).get("providers"))
        # What each test asserts, known by its variables: a file need not hold all tests of another.
        asserted: dict[str, dict[str, Mapping[str, object]]] = {}
        stated = {"score", "pass"}  # and what is called after assertions: 1 where they hold, whatever their name
        for result in results:
            key = digest_text(words(_get_vars(result)) or str(result.get("testIdx")))[:12]
            asserted.setdefault(key, {}).update(
                (words(dict(assertion)), assertion) for assertion in _assertions(result)
            )
            of_tests = [*_assertions(result), *(mapping(part.get("assertion")) for part in _components(result))]
            stated |= {str(test["metric"]) for test in of_tests if test.get("metric")}
        columns = collect_columns(rows, first=("score", "pass"), directions=dict.fromkeys(stated, "higher"))
        signed = {
            name: {key: sign_facts(_list_facts(test, name)) for key, test in asserted.items()} for name in columns
        }
        signatures = dict.fromkeys(asserted, sign_measure("promptfoo", {}))
        version = f"version {holder.get('version', 1)}"
        marked = MarkedRows(rows, counts=True)
        return Marked(marked, columns, version, notes=notes, signatures=signatures, metric_signatures=signed)


def _name_columns(
    results: Sequence[Mapping[str, object]], rows: Sequence[Row], providers: object
) -> tuple[list[Row], tuple[str, ...]]:
    """Return the rows with a name for each column of results, and notes on which column has which.

    One provider may stand there with several configurations, which tell them apart, and one prompt twice.
    """
    numbers = [number if isinstance(number := result.get("promptIdx"), int) else 0 for result in results]
    columns: dict[str, dict[int, object]] = {}
    for number, row, result in sorted(zip(numbers, rows, results, strict=True), key=lambda numbered: numbered[0]):
        columns.setdefault(row.model, {}).setdefault(number, result.get("provider"))
    listed = providers if isinstance(providers, list) else []
    names: dict[tuple[str, int], str] = {}
    notes = []
    for model, column in columns.items():
        providers_here = set(map(_provider, column.values()))
        head = [provider for provider in listed if _provider(provider) in providers_here]
        pairs = zip(column.values(), head if len(head) == len(column) else column.values(), strict=True)
        configurations = (mapping(own).get("config") or mapping(of_head).get("config") or {} for own, of_head in pairs)
        digests = [digest_text(words(configuration))[:8] for configuration in configurations]
        is_told = len(set(digests)) > 1
        if is_told:
            notes.append(f"The configurations of {model} in the order of the file: {', '.join(digests)}.")
        for position, (number, digest) in enumerate(zip(column, digests, strict=True), 1):
            name = f"{model} {digest}" if is_told else model
            names[model, number] = f"{name} #{digests[:position].count(digest)}" if digests.count(digest) > 1 else name
    return [replace(row, model=names[row.model, at]) for at, row in zip(numbers, rows, strict=True)], tuple(notes)


_GRADED = re.compile(
    r"(not-)?(.*rubric|model-graded.*|g-eval|factuality|.*-relevance|context-.*|similar(:.*)?|trajectory:goal-success|classifier|moderation|select-best)"
)
"""Assertions that a model judges; the others do not heed which one grades."""
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def _assertions(result: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield what a test asserts, sets of assertions and their parts one by one; of `pass` alone what a test has to reach.

    A name may hold variables of the test. Of a test that is not there the results say what it asserts.
    """
    case, variables = mapping(result.get("testCase")), mapping(_get_vars(result))
    options = mapping(case.get("options"))
    if options.get("postprocess"):  # as `transform` was called before
        options = {"transform": options["postprocess"], **options}
    for metric, name in (("pass", "threshold"), ("score", "assertScoringFunction")):
        if case.get(name) is not None:
            yield {"metric": metric, name: case[name]}
    waiting = objects(case.get("assert")) or objects([part.get("assertion") for part in _components(result)])
    for assertion in waiting:
        waiting += [{"metric": assertion.get("metric"), **part} for part in objects(assertion.get("assert"))]
        of_test = (
            "transform",
            *(("provider", "rubricPrompt") if _GRADED.fullmatch(str(assertion.get("type"))) else ()),
        )
        defaults = {name: options[name] for name in of_test if options.get(name)}
        facts = {**defaults, **{name: value for name, value in assertion.items() if name != "assert"}}
        if isinstance(metric_name := facts.get("metric"), str):
            facts["metric"] = _VARIABLE.sub(lambda name: str(variables.get(name[1], name[0])), metric_name)
        yield facts


def _components(result: Mapping[str, object]) -> list[Mapping[str, object]]:
    return objects(mapping(result.get("gradingResult")).get("componentResults"))


def _list_facts(assertions: Mapping[str, Mapping[str, object]], metric: str) -> dict[str, object]:
    """Return the facts of those assertions that a metric is of, in an order of their own; `score` and `pass` are of all."""
    metrics = {str(test.get("metric")) for test in assertions.values()}
    of = metrics - {"pass"} if metric == "score" else metrics if metric == "pass" else {metric}
    chosen = [test for _, test in sorted(assertions.items()) if str(test.get("metric")) in of]
    facts: dict[str, object] = {"assertions": len(chosen) or None}
    for number, assertion in enumerate(chosen, 1):
        facts |= {f"{name} of assertion {number}": value for name, value in assertion.items() if name != "metric"}
    return facts


def _prompt(result: Mapping[str, object]) -> str:
    prompt = mapping(result.get("prompt"))
    return str(prompt.get("label") or prompt.get("raw") or "")


def _get_vars(result: Mapping[str, object]) -> Any:
    return result.get("vars") or mapping(result.get("testCase")).get("vars")


def _test(result: Mapping[str, object]) -> str:
    if not _get_vars(result):
        return str(result.get("testIdx"))
    return digest_input("promptfoo", [_get_vars(result), mapping(result.get("testCase")).get("assert")])


def _provider(provider: object) -> str:
    about = mapping(provider)
    return str(about.get("label") or about.get("id") or (provider if isinstance(provider, str) else "") or "model")


def _row(result: Mapping[str, object], name: str, prompts: Mapping[str, str]) -> Row:
    model = _provider(result.get("provider"))
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
        would = [assertion.get("metric") for assertion in _assertions(result)]
        why = missing_failure(result.get("error") or "promptfoo counts it as an error")
        metrics = dict.fromkeys([*metrics, *(name for name in would if isinstance(name, str))], why)
    reply = mapping(result.get("response")).get("output")
    prompt = mapping(result.get("prompt")).get("raw") or variables
    return Row(model, name, metrics, 0, cut_text(prompt), cut_text(reply), digest_input("promptfoo", variables))
