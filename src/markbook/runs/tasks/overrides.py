"""What the user says over a task file: worked examples, generation, the system message."""

from __future__ import annotations

from dataclasses import replace

from markbook.config import Task
from markbook.load.joining import beside
from markbook.runs.asking import sampling_with
from markbook.runs.tasks.options import TaskOptions


def apply_overrides(task: Task, options: TaskOptions) -> Task:
    """Return a task as the user wants it asked.

    Raises:
        UsageError: `--gen-kwargs` that are none.
    """
    if options.num_fewshot is not None:
        task = replace(task, few_shot=replace(task.few_shot, count=options.num_fewshot))
    if options.gen_kwargs:
        task = replace(task, sampling=sampling_with(task.sampling, options.gen_kwargs))
    if options.system:
        task = replace(task, system=beside(options.system, task.system, task.delimiters[1]))
    return task
