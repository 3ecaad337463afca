"""`markbook run`."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

import click

from markbook.cli.options import (
    SpreadCommand,
    baseline_option,
    ended_by_signal,
    fail_under_option,
    fill_from_run,
    hold_run,
    json_option,
    options_of,
    read_baseline,
    verbose_option,
)
from markbook.installed import count_processors
from markbook.option import GATES_AND_STOPPING, record_from
from markbook.runs.tasks.task_options import TaskOptions

_EXAMPLES = """
\b
Examples:
  markbook run task.yaml --predictions answers.jsonl
  markbook run python_coding_suite --predictions answers/ --json
  markbook run task.yaml --model openai:gpt-4o-mini --max-cost 2
  markbook run python_code_repair --context full none \\
      --model openai:qwen --base-url http://127.0.0.1:8000/v1
  markbook run --resume generated/evaluation_1790000000
"""


class _Run(SpreadCommand):
    """Takes `--context full none` as users write it."""

    spread = ("--context",)


@click.command("run", cls=_Run, epilog=_EXAMPLES)
@fail_under_option("a metric, or TASK/METRIC", GATES_AND_STOPPING)
@baseline_option(GATES_AND_STOPPING)
@json_option
@verbose_option("Name each skipped row with its file and line.")
@options_of(TaskOptions)
def command(**options: Any) -> int:
    """Run YAML tasks: score existing predictions or query a model.

    TASK is a YAML file (our format or lm-evaluation-harness's) or the name of a built-in task or group
    (`markbook list tasks`). Results go to OUTPUT/evaluation_<time>/.
    """
    from markbook.cli.task_terminal import TaskTerminal, show_run, with_values
    from markbook.results.gates import parse_gates
    from markbook.runs.conductor import conduct
    from markbook.runs.tasks import Tasks
    from markbook.runs.tasks.finished import TaskResults

    fill_from_run(options, "run")
    # Not left to click: with --resume the tasks are those that the run was started with.
    if not options["tasks"]:
        raise click.UsageError("Missing argument 'TASK...'.")
    # Rows, answers and marks live to the end: looking through them for garbage again and again finds none.
    gc.set_threshold(100_000, 50, 100)
    gates = parse_gates(options["fail_under"])
    baseline = read_baseline(options, "run")
    terminal = TaskTerminal(verbose=options["verbose"], gates=gates, baseline=baseline, model=options["model"] or "")
    # The command's own process may be imported again by workers; a caller's script may not.
    workers = options["workers"] or (count_processors() if options["engine"] == "local" else None)
    with ended_by_signal(), terminal:
        run = conduct(Tasks(), record_from(TaskOptions, {**options, "workers": workers}), terminal)
    summary = TaskResults(run).summary
    show_run(run, summary, as_json=options["as_json"])
    lacking = ", ".join(f"{count} x {what}" for what, count in run.manifest.get("broken", {}).items())
    marks = partial(with_values, terminal.marks, summary)
    hold_run(run, gates, marks, baseline, options["seed"], lacking=lacking, metric=terminal.metric)
    return 0
