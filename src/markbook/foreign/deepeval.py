"""DeepEval's test runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from markbook.foreign.reading import (
    Marked,
    ResultsProbe,
    collect_columns,
    cut_text,
    digest_input,
    file_stem,
    mapping,
    missing_failure,
    number_attempts,
    objects,
    read_value,
)
from markbook.marks import Row
from markbook.types import Missing


class DeepEval:
    """Reads the test cases of a run; each metric of theirs is one, and `success` says whether all were reached."""

    name = "deepeval"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for an object with test cases that hold metrics."""
        is_object = probe.head.lstrip()[:1] == "{"
        has_metrics = probe.has("testCases", "metricsData") or probe.has("testCases", "metricsMetadata")
        return 90 if is_object and has_metrics else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each test case; the file is a run or holds one under `testRunData`."""
        document = mapping(probe.document)
        run = mapping(document.get("testRunData")) or document
        parameters = mapping(run.get("hyperparameters"))
        model = str(parameters.get("model") or run.get("identifier") or file_stem(probe.path))
        cases = objects(run.get("testCases")) + objects(run.get("conversationalTestCases"))
        is_old = any("metricsMetadata" in case for case in cases)
        rows = number_attempts(_case(case, model) for case in cases)
        several = {row.id for row in rows if row.index}
        contents = {name: len({row.content for row in rows if row.id == name}) for name in several}
        # Cases that all have the name of their pytest function are not attempts at one sample: what was asked names them.
        rows = number_attempts(
            replace(row, id=row.content.partition(":")[2][:12], index=0)
            if contents.get(row.id, 0) > 1 and row.content
            else row
            for row in list(rows)
        )
        return Marked(rows, collect_columns(rows), "metricsMetadata (before 1.5)" if is_old else "metricsData")


def _case(case: Mapping[str, object], model: str) -> Row:
    metrics: dict[str, float | Missing] = {}
    count: Counter[str] = Counter()
    for metric in objects(case.get("metricsData")) or objects(case.get("metricsMetadata")):
        name = str(metric.get("name") or metric.get("metric") or "metric")
        count[name] += 1
        name = f"{name} ({count[name]})" if count[name] > 1 else name
        error = metric.get("error")
        metrics[name] = missing_failure(error) if error else read_value(metric.get("score"))
    if "success" in case:
        broken = next((value for value in metrics.values() if isinstance(value, Missing)), None)
        metrics["success"] = broken if broken is not None else read_value(case["success"])
    question = case.get("input") or [
        turn.get("input") or turn.get("content") for turn in objects(case.get("turns") or case.get("messages"))
    ]
    content = digest_input("deepeval", question)
    # A case is called test_case_<place> unless somebody named it: what was asked is what it is.
    name = str(case.get("name") or "")
    called = (
        name
        if name and not name.startswith(("test_case_", "conversational_test_case_"))
        else content.partition(":")[2][:12]
    )
    return Row(model, called or name, metrics, 0, cut_text(question), cut_text(case.get("actualOutput")), content)
