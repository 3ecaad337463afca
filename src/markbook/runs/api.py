"""A function for each kind of run, for those who call from Python."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from markbook.judge.judge_options import JudgeOptions
from markbook.runs.conductor import conduct
from markbook.runs.exam import Exam
from markbook.runs.exam.exam_options import REPORTS, ExamOptions, ExamSettings
from markbook.runs.kind import Watcher
from markbook.runs.options import make_options, refuse_unknown
from markbook.runs.reviews import Reviews
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.reviews.review_options import ReviewOptions, ReviewSettings
from markbook.runs.tasks import Tasks
from markbook.runs.tasks.task_options import TaskOptions, TaskSettings
from markbook.store import Run


def run_task(
    task: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    predictions: str | os.PathLike[str] | None = None,
    model: str | None = None,
    base_url: str = "",
    data: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[TaskSettings],
) -> Run:
    """Run tasks over answers that exist, or over a model's, and write the results.

    The run that comes back has `scores`, `score(model)`, `failures()`, `to_pandas()` and `to_polars()`.

    Args:
        task: one or more YAML files (ours or lm-evaluation-harness's) or names of ready tasks.
        predictions: a file of answers, a folder with one file a task, or a run (`latest`, `DIR/latest`).
        model: `PROVIDER:NAME` to ask instead.
        base_url: where an OpenAI-compatible server listens.
        data: a file of rows to use instead of the one that the tasks name.
        output: where the run folder is made; `generated` by default.
        resume: a run folder to go on with instead; every other argument must be what it was.
        watcher: is told of progress.
        **options: `limit`, `samples`, `max_cost` and so on: the options of `markbook run`, each with its type in
            `markbook.runs.tasks.task_options.TaskSettings`.

    Returns:
        The run; its folder holds `summary.json`, `results.jsonl` and `summary.md`. Its status is `incomplete` if
        a model or a metric could not do its work.

    Raises:
        ConfigError: a task that cannot be honoured.
        DataError: no rows, or no answers to any.
        UnknownOptionError: an option that does not exist.
        UsageError: neither predictions nor a model, or both; a resumed run of other arguments.
        OutputError: the output cannot be written; nothing was asked or run.
        StorageError: the disk failed during the run, which can be resumed.
    """
    named = {
        "tasks": (task,) if isinstance(task, str | os.PathLike) else tuple(task),
        "predictions": predictions,
        "model": model,
        "base_url": base_url,
        "data": data,
        "output": output or "generated",
        "resume": resume,
    }
    return conduct(Tasks(), make_options(TaskOptions, {**options, **named}, "run_task"), watcher)


def exam(
    benchmark: str | os.PathLike[str],
    solutions: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    output: str | os.PathLike[str] | None = None,
    *,
    model: str | None = None,
    base_url: str = "",
    resume: str | os.PathLike[str] | None = None,
    watcher: Watcher | None = None,
    reports: Sequence[str] = REPORTS,
    **options: Unpack[ExamSettings],
) -> Run:
    """Mark models' solutions against a benchmark's tests, like an exam, and write the documented reports.

    The run that comes back has `scores`, `score(model)`, `failures()`, `to_pandas()` and `to_polars()`.

    Args:
        benchmark: a benchmark file or folder; see `markbook list loaders` for the formats.
        solutions: one or more files or folders of answers; none where a model is asked.
        output: where the run folder is made; `generated` by default.
        model: `PROVIDER:NAME` to ask for the answers instead.
        base_url: where its server is, if not at the provider's own address.
        resume: a run folder to go on with instead; every other argument must be what it was.
        watcher: is told of progress.
        reports: the report plugins that the finished run is given; `markbook report` makes others later.
        **options: `timeout`, `workers`, `samples`, `max_cost` and so on: the options of `markbook exam`, each with its type in
            `markbook.runs.exam.exam_options.ExamSettings`.

    Returns:
        The finished run; its folder holds the reports. Its status is `incomplete` if the model left questions unanswered.

    Raises:
        DataError: nothing can be marked; nothing was written.
        EnvironmentUnfitError: the machine cannot isolate the solutions well enough.
        IncompleteError: the model answered nothing.
        OutputError: the output cannot be written; nothing was run.
        StorageError: the disk failed during the run, which can be resumed.
        UnknownOptionError: an option that does not exist.
        UsageError: neither answers nor a model, or both; a model that cannot be asked.
    """
    # A text is a sequence, too: taken apart, each of its characters would be a path.
    sources = (solutions,) if isinstance(solutions, str | os.PathLike) else tuple(solutions)
    named = {"benchmark": benchmark, "solutions": sources, "model": model, "base_url": base_url, "resume": resume}
    request = make_options(
        ExamOptions, {**options, **named, "reports": reports, "output": output or "generated"}, "exam"
    )
    return conduct(Exam(), request, watcher)


# `markbook.review`: the review pipeline as one function.

_Place = str | os.PathLike[str]


def review(  # noqa: PLR0913 - the command's options, each with its own default
    papers: _Place,
    reviews: _Place,
    *,
    traces: _Place | None = None,
    tool_reference: _Place | Mapping[str, object] | None = None,
    judge: str | Sequence[str] = "off",
    config: _Place | ReviewConfig | None = None,
    policy: str = "",
    similarity: Sequence[str] = (),
    output: _Place = "generated",
    resume: _Place | None = None,
    options: JudgeOptions | None = None,
    **settings: Unpack[ReviewSettings],
) -> Run:
    """Evaluate generated peer reviews in three tiers and return the finished run.

    The run that comes back has `scores`, `score(system)`, `to_pandas()` and `to_polars()`.

    Args:
        papers: a folder in the PeerRead layout, or one file of it.
        reviews: generated reviews: JSON or JSON Lines, or a folder of them or of runs.
        traces: a folder with one trace a paper.
        tool_reference: the right tools by context (`default` for the rest), for all papers or by paper; or a file of it.
        judge: `PROVIDER:NAME`, several for a panel, or `off`; `PROVIDER:NAME@URL` has a server of its own.
        config: a `config_eval.json`, or a configuration made in Python.
        policy: `require_complete`, `renormalise` or `bounds`; empty takes the configuration's.
        similarity: some of `semantic`, `cosine`, `jaccard`; empty takes the configuration's.
        output: where the run folder is made.
        resume: a run folder to go on with; give the same other arguments.
        options: how the judge is asked.
        **settings: `workers` (processes that compare texts and read traces), `engine` (where those run), `limit`, `name`,
            `tags` and so on, each with its type in `markbook.runs.reviews.review_options.ReviewSettings`.

    Raises:
        DataError: no paper or no generated review can be read.
        ConfigError: a configuration that cannot be honoured.
        UnknownOptionError: an argument that does not exist.
        UsageError: a judge or run folder that cannot be used.
    """
    # `**settings` takes any keyword: without this a misspelt one would be ignored.
    refuse_unknown(settings, [*inspect.signature(review).parameters, *ReviewSettings.__annotations__], "review")
    request = ReviewOptions(
        papers=Path(papers),
        reviews=Path(reviews),
        traces=None if traces is None else Path(traces),
        tool_reference=Path(tool_reference) if isinstance(tool_reference, str | os.PathLike) else tool_reference,
        judges=(judge,) if isinstance(judge, str) else tuple(judge),
        config=config if isinstance(config, ReviewConfig) else None,
        config_file=Path(config) if config and not isinstance(config, ReviewConfig) else None,
        policy=policy,
        similarity=",".join(similarity),
        output=Path(output),
        resume=resume,
        judging=options or JudgeOptions(),
        **settings,
    )
    return conduct(Reviews(), request)
