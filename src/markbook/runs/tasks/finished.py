"""A finished run of tasks, as every command and report reads it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from markbook.datasets.user_code import CODE
from markbook.errors import UsageError, suggest
from markbook.results.alignment import digest, in_task
from markbook.results.compare import OWN_CODE, OWN_FILES
from markbook.results.comparison import run_headline
from markbook.results.files import get_value, reasons_text
from markbook.results.kind import Content, Entry, ReplyUsage, Shown
from markbook.results.sheet import STOPPED_NOTE, Aliases, Cell, Sheet, is_solved, make_cell
from markbook.runs.tasks.scorers import UNBOUNDED
from markbook.runs.tasks.summaries import (
    TaskAnswer,
    TasksView,
    is_right,
    join_prompt,
    main_metric,
    pass_cell,
    question,
    say_other_measures,
)
from markbook.text import cut
from markbook.types import Direction, Missing, Summary, SummaryRecord, digest_text

if TYPE_CHECKING:
    from markbook.report.page import Page


# The marks of a run of tasks.


def _refuse_scales(metric: str, which: str) -> UsageError:
    return UsageError(
        f"{metric!r} is two measures in this run: {which}",
        hint="compare by another metric (--metric), or evaluate these tasks in runs of their own",
    )


def _say_scale(summary: Summary) -> str:
    low, high = summary.range
    return f"{low:g} to {high:g}, {summary.direction} is better"


_TARGETS = ("reference", "doc_to_target", "doc_to_choice", "tests")
"""Keys of task files that say what is right."""
QUESTION_IS_RIGHT = "question_is_right"
"""Key of run.json for a task whose question is the place of the right choice."""
_FILTERS = ("filter_list",)
"""Keys that say what of an answer is marked."""
OPENED = "opened_by_code"
"""Where the config of a run keeps the digests of the files that a task's own code reads, by task and name."""
_MEASURES = ("process_results", "metric_list", "metrics")
"""Keys that say how it is marked."""


def sign_task(metric: str, signature: str, task: str, config: Mapping[str, Any], inputs: Mapping[str, str]) -> str:
    """Return a metric's signature with what else changes its numbers: the right answers, and what of an answer is marked.

    `config` and `inputs` are run.json's; the inputs are digests by name, of the task's own code among others.
    """
    keys = config.get("tasks", {}).get(task, {})
    parts = [signature]
    if metric.startswith("pass@"):
        parts = [metric, *([f"timeout:{config['timeout']}"] if "timeout" in config else [])]
    if keys.get("extract", "text") != "text":
        parts.append(f"extract:{keys['extract']}")
    targets = (*_TARGETS, "doc_to_text") if keys.get(QUESTION_IS_RIGHT) else _TARGETS
    for label, names in (("target", targets), ("filters", _FILTERS)):
        if values := {name: keys[name] for name in names if keys.get(name) is not None}:
            parts.append(f"{label}:{digest(values)[:12]}")
    metadata = keys.get("metadata")
    if version := keys.get("version") or (metadata.get("version") if isinstance(metadata, Mapping) else None):
        with suppress(TypeError, ValueError):  # 1 and 1.0 are one version
            version = f"{float(version):g}"
        parts.append(f"task version:{version}")
    if config.get("profile") == "documented":
        parts.append("profile:documented")
    code = {name: inputs[name] for name in inputs if name.startswith(f"{task}/{CODE}/")}
    if code and "!function" in repr([keys.get(name) for name in (*targets, *_FILTERS, *_MEASURES)]):
        parts.append(f"{OWN_CODE}{digest(code)[:12]}")
        if opened := config.get(OPENED, {}).get(task):
            parts.append(f"{OWN_FILES}{digest(opened)[:12]}")
    # A number without a signature differs from none.
    return "|".join(parts) if parts[0] else ""


class _Whole:
    """Finds out whether a metric's number over a task is the mean of its rows' numbers."""

    def __init__(self, records: Mapping[str, SummaryRecord]) -> None:
        # Where missing rows count for something, the number is a mean: the others leave them out.
        self._stated = {
            task: record["value"]
            for task, record in records.items()
            if record["policy"] == "exclude" and record["value"] is not None
        }
        self._values: dict[str, dict[str, list[float]]] = {task: {} for task in self._stated}

    def add(self, task: str, sample: str, value: float | Missing) -> None:
        """Take what a row was given."""
        if task in self._values and not isinstance(value, Missing):
            self._values[task].setdefault(sample, []).append(value)

    def is_no_mean(self) -> bool:
        """Whether any task's number is another than the mean of its rows."""
        for task, stated in self._stated.items():
            means = [fmean(values) for values in self._values[task].values()]
            # Beyond rounding: what was summed in another order is still the mean.
            if not means or not math.isclose(fmean(means), stated, rel_tol=1e-6, abs_tol=1e-9):
                return True
        return False


def _aliases(view: TasksView, *, several: bool) -> dict[str, Aliases]:
    """Return what else each row is known by: among several tasks, to lm-evaluation-harness, and by what was asked.

    What two tasks of the run hold alike says only beside a task's name which row it is.
    """
    tasks: dict[str, str] = {}
    rows_by_name: dict[str, tuple[str, str, list[str]]] = {}
    for row in view.rows():
        name, task = sample_name(row, several=several), str(row["task"])
        if name not in rows_by_name:
            texts = json.dumps(row["doc"], indent=2, ensure_ascii=False), row["prompt"], question(row)
            hashes = [digest_text(text) for text in texts if text]
            rows_by_name[name] = task, digest([task, row["doc"]]), list(dict.fromkeys(hashes))
            for row_hash in hashes:
                # Emptied for good once a second task has the same text: alone it then says of no task which row it
                # is.
                tasks[row_hash] = task if tasks.get(row_hash, task) == task else ""
    return {
        name: Aliases(
            ours,
            (*(in_task(task, row_hash) for row_hash in hashes), *(row_hash for row_hash in hashes if tasks[row_hash])),
        )
        for name, (task, ours, hashes) in rows_by_name.items()
    }


def sample_name(row: TaskAnswer, *, several: bool) -> str:
    """Return what a row of results is called among those of its run, which has one task or several."""
    return f"{row['task']}/{row['id']}" if several else str(row["id"])


@dataclass(frozen=True, slots=True)
class _Mark:
    """What is kept of a row until its sample's other answers are there: rows hold whole texts."""

    value: float | Missing
    passed: bool | None
    stats: Mapping[str, Any]


_TEXT_CAP = 200_000


class TaskResults(TasksView):
    """The results of a run of tasks."""

    def sheet(self, metric: str | None) -> Sheet:
        """Return one metric's marks on the rows of all tasks that have it; a row's mark is the mean over its answers.

        A metric has its name in results, such as `bleu`; the first of the run's metrics if none.

        Raises:
            UsageError: no task of the run has this metric, or two measure different things by it.
        """
        return self._main_sheet if metric is None else self._make_sheet(metric)

    @cached_property
    def _main_sheet(self) -> Sheet:
        # The end of a run asks twice: for the scores in run.json and for the headline of the report.
        return self._make_sheet(None)

    def _make_sheet(self, metric: str | None) -> Sheet:
        tasks = self.summary["tasks"]
        keys = list(dict.fromkeys(key for record in tasks.values() for key in record["metrics"]))
        chosen = metric or next(iter(keys), "")
        if chosen not in keys:
            raise UsageError(f"the run has no metric {chosen!r}", hint=suggest(chosen, keys))
        records = {task: record["metrics"][chosen] for task, record in tasks.items() if chosen in record["metrics"]}
        summaries = [Summary.from_record(record) for record in records.values()]
        # A function of a task's own states no range: the others' is taken for it, where its numbers lie in it.
        limits = next((summary.range for summary in summaries if summary.range != UNBOUNDED), UNBOUNDED)
        scale = replace(summaries[0], range=limits)
        for task, summary in zip(records, summaries, strict=True):
            if summary.range not in (limits, UNBOUNDED) or summary.direction != scale.direction:
                raise _refuse_scales(
                    chosen, f"{next(iter(records))} has {_say_scale(scale)}, {task} {_say_scale(summary)}"
                )
        signatures = {
            task: sign_task(
                chosen, record["signature"], task, self.manifest.get("config", {}), self.manifest.get("inputs", {})
            )
            for task, record in records.items()
        }
        differing = say_other_measures(chosen, {task: record["signature"] for task, record in records.items()})
        notes = (*([STOPPED_NOTE] if "stopped" in self.summary else []), *([f"{differing}."] if differing else []))
        if others := [task for task in tasks if task not in records]:
            notes += (f"{chosen}: of the tasks {', '.join(records)}, not of {', '.join(others)}.",)
        own, _, pipeline = chosen.partition(",")
        marks_by_model: dict[str, dict[str, list[_Mark]]] = {}
        meta: dict[str, Mapping[str, str]] = {}
        several = len(tasks) > 1
        digests: dict[str, str] = {}
        by_place = all(record.get("ids", "place") == "place" for record in tasks.values())
        means = _Whole(records)
        for row in self.rows():
            if own not in row["metrics"] or pipeline not in ("", row["pipeline"]):
                continue
            sample = sample_name(row, several=several)
            # Of pass@k alone: the stats of other metrics may be as large as the texts, and no cell is made of them.
            stats = (row.get("stats") or {}).get(own) if own.startswith("pass@") else None
            mark = _Mark(get_value(row["metrics"], own, row), is_right(row, own), stats or {})
            if not isinstance(mark.value, Missing) and not limits[0] <= mark.value <= limits[1] and several:
                raise _refuse_scales(
                    chosen, f"a row of {row['task']} has {mark.value:g}, and other tasks have {_say_scale(scale)}"
                )
            means.add(str(row["task"]), sample, mark.value)
            marks_by_model.setdefault(str(row["model"] or self.run.folder.name), {}).setdefault(sample, []).append(mark)
            # An id that is not the row's number was stated by somebody, and says which row it is.
            by_place = by_place and str(row["id"]) == str(row["doc_id"])
            if several:
                meta[sample] = {"topic": str(row["task"])}
            if sample not in digests:
                digests[sample] = digest([row["task"], row["doc"]] if several else row["doc"])
        marks: dict[str, dict[str, Cell]] = {}
        for model in list(marks_by_model):
            answers = marks_by_model.pop(model)  # so that not all are there twice
            marks[model] = {}
            for sample, row_marks in answers.items():
                verdicts = [mark.passed for mark in row_marks]
                marks[model][sample] = (
                    pass_cell(row_marks[0].value, row_marks[0].stats, passed=is_solved(verdicts))
                    if own.startswith("pass@")
                    else make_cell([mark.value for mark in row_marks], limits, verdicts)
                )
        return Sheet(
            chosen, marks, range=limits, direction=summaries[0].direction, meta=meta, digests=digests, by_place=by_place,
            notes=notes, task="" if several else next(iter(tasks)),
            signatures=signatures, is_of_rows=means.is_no_mean(), aliases=partial(_aliases, self, several=several),
        )  # fmt: skip

    def page(self) -> Page:
        """Return everything that the report of a run of tasks shows."""
        from markbook.report.page import of_run
        from markbook.runs.tasks.sections import task_page

        return of_run(replace(task_page(self), headline=run_headline(self, "rows")), self.manifest)

    def files(self, name: str) -> Mapping[str, Content]:
        """Return the files of lm-evaluation-harness.

        Raises:
            UsageError: a run of tasks has no files of that format.
        """
        if name != "lm-eval":
            return super().files(name)
        from markbook.runs.tasks.lm_eval import lm_eval_files

        return lm_eval_files(self)

    @property
    def direction(self) -> Direction:
        """Which way is better by the main metric."""
        return main_metric(self)[2]

    def entries(self) -> Iterator[Entry]:
        """Yield every answer, by the names that the sheet has for them."""
        from markbook.runs.tasks.sections import answer_status

        several = len(self.summary["tasks"]) > 1
        main, pipeline, _ = main_metric(self)
        for location, row in self.located_rows():
            value = row["metrics"].get(main) if pipeline in ("", row["pipeline"]) else None
            model = str(row.get("model") or "answer")
            error = row["tests"]["error"] if "tests" in row else ""
            name = sample_name(row, several=several)
            yield Entry(location, model, name, answer_status(row, main), value, error, str(row["task"]))

    def show_attempt(self, location: int) -> Shown:
        """Return the answer whose row begins at a place of results.jsonl.

        Raises:
            ValueError: none begins there.
        """
        from markbook.runs.tasks.sections import answer_status, row_evidence, row_facts, row_why

        row = self.row_at(location)
        usage = ReplyUsage.of(row)
        return Shown(
            str(row.get("model") or "answer"), sample_name(row, several=len(self.summary["tasks"]) > 1),
            answer_status(row, main_metric(self)[0]),
            (*row_facts(row, self), *usage.facts()), question(row), cut(str(row.get("text") or ""), _TEXT_CAP), reasons_text(row),
            why=row_why(row), evidence=row_evidence(row, self), asked=join_prompt(row), references=tuple(row["references"]),
            reply=None if row["reply"] is None else cut(row["reply"], _TEXT_CAP), usage=usage,
        )  # fmt: skip
