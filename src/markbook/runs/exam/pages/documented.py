"""The exam's documented files, from its journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from markbook.report.names import folder_names
from markbook.runs.exam.pages.comparison import comparison_record
from markbook.runs.exam.pages.markdown import comparison_text, head_notes, summary_text
from markbook.runs.exam.pages.rows import result_row
from markbook.runs.exam.pages.scores import as_json, error_record, score_record
from markbook.runs.exam.tally import Tally
from markbook.runs.exam.view import ExamView

Content = str | bytes | Iterable[str]


def documented() -> Callable[[ExamView], Mapping[str, Content]]:
    """Return the renderer of the documented files: the factory of the report plugin `documented`."""
    return exam_files


def exam_files(view: ExamView) -> Mapping[str, Content]:
    """Return every documented file of an exam by its path in the run folder.

    Four a model, the comparison of several, and the times, which differ from run to run, in a file of their own.
    """
    benchmark = str(view.config.get("benchmark_name", "benchmark"))
    notes = head_notes(view.config)
    files: dict[str, Content] = {}
    for model, folder in folder_names(view.models).items():
        tally = view.tallies[model]
        files[f"{folder}/test_results.jsonl"] = _rows(view, tally)
        files[f"{folder}/test_results_errors.json"] = as_json(error_record(tally))
        files[f"{folder}/test_results_score.json"] = as_json(
            score_record(tally, isolation=view.isolation, faults=view.faults)
        )
        files[f"{folder}/evaluation_summary.md"] = summary_text(
            tally, isolation=view.isolation, benchmark=benchmark, notes=notes
        )
    if len(view.models) > 1:
        tallies = list(view.tallies.values())
        files["model_comparison.json"] = as_json(comparison_record(tallies))
        files["model_comparison_summary.md"] = comparison_text(tallies, benchmark=benchmark, notes=notes)
    files["timings.jsonl"] = _timings(view)
    return files


def _rows(view: ExamView, tally: Tally) -> Iterator[str]:
    for attempt in view.attempts(tally.model):
        yield result_row(attempt)


def _timings(view: ExamView) -> Iterator[str]:
    for model in view.models:
        for attempt in view.attempts(model):
            record = {
                "model": model,
                "task_id": attempt.sample.id,
                "sample": attempt.index,
                "cpu_seconds": attempt.outcome.seconds,
                "wall_seconds": attempt.outcome.wall_seconds,
            }
            yield json.dumps(record, ensure_ascii=False) + "\n"
