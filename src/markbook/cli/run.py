"""`markbook run`."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any, ClassVar

import click

from markbook.cli.model_options import KEPT_ASKING, asking_options, run_judge_choices
from markbook.cli.options import (
    RUN,
    KeptOption,
    SpreadCommand,
    baseline_option,
    completing,
    describe_overwrite,
    ended_by_signal,
    engine_option,
    fail_under_option,
    fill_from_run,
    hold_against_baseline,
    isolation_option,
    json_option,
    judges_sent_a_key,
    label_options,
    output_option,
    read_baseline,
    resume_option,
    sent_a_key,
    stopping_options,
    task_names,
    timeout_option,
    workers_option,
)

INCOMPLETE = 3

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
    sections: ClassVar = RUN


@click.command("run", cls=_Run, epilog=_EXAMPLES)
@click.argument("tasks", nargs=-1, metavar="TASK...", shell_complete=completing(task_names, files=True))
@click.option(
    "--predictions", type=click.Path(), help="Answers that exist: a file, a folder with one file a task, or a run."
)
@asking_options
@click.option("--data", type=click.Path(), help="A file of rows to use instead of the one that the tasks name.")
@output_option
@click.option("--limit", type=click.IntRange(min=1), help="Rows of each task at most.")
@click.option(
    "--num-fewshot", type=click.IntRange(0, 100), help="Worked examples a question [default: what the task says]."
)
@click.option("--turns", is_flag=True, help="Ask worked examples as turns, a description as the system message.")
@click.option(
    "--context",
    "contexts",
    type=click.Choice(["full", "minimal", "none"]),
    multiple=True,
    help="Run in these context modes; several are compared row by row.",
)
@click.option(
    "--missing",
    type=click.Choice(["exclude", "worst", "fail"]),
    default="exclude",
    show_default=True,
    help="How a missing value counts in a mean.",
)
@timeout_option("for an answer's tests")
@workers_option("Answers' tests")
@isolation_option
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="PROVIDER:NAME",
    help="Who judges in metrics `judge`; repeat for a panel. PROVIDER:NAME@URL has a server of its own.",
)
@click.option("--judge-url", default="", metavar="URL", help="Where the judges' server is.")
@click.option(
    "--cassette", type=click.Path(), help="Record the judges' answers in this file; replay it if it is there."
)
@run_judge_choices
@click.option(
    "--allow-code",
    is_flag=True,
    help="Let a task name code: `!function` a Python file beside it, a metric `package.module:factory`.",
)
@click.option(
    "--allow-unsafe-code",
    is_flag=True,
    help="With --allow-code: also tasks that say `unsafe_code: true`, which run a model's programs with your rights.",
)
@click.option(
    "--allow-download", is_flag=True, help="Fetch the data sets of the Hugging Face hub that tasks name, by its client."
)
@click.option("--strict", is_flag=True, help="Refuse (exit 65) if any row or answer would be skipped.")
@click.option("--verbose", is_flag=True, help="Name each skipped row with its file and line.")
@click.option(
    "--profile",
    type=click.Choice(["documented", "corrected"]),
    default="corrected",
    show_default=True,
    help="documented: compute what the metrics document's code computes.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="For models that take one, and resampled intervals."
)
@fail_under_option("a metric, or TASK/METRIC")
@baseline_option
@stopping_options
@engine_option
@label_options
@resume_option
@json_option
def command(**options: Any) -> int:
    """Run YAML tasks over existing answers or a model, and mark them.

    TASK is a YAML file (our format or lm-evaluation-harness's) or the name of a ready task or group
    (`markbook list tasks`). Results go to OUTPUT/evaluation_<time>/.
    """
    from markbook.cli.task_terminal import TaskTerminal, show_run, with_values
    from markbook.results.gates import hold_gates, parse_gates
    from markbook.runs.conductor import conduct
    from markbook.runs.options import options_among
    from markbook.runs.tasks import Tasks
    from markbook.runs.tasks.finished import TaskResults
    from markbook.runs.tasks.plan import TaskOptions

    fill_from_run(options, "run", _KEPT)
    if not options["tasks"]:
        raise click.UsageError("Missing argument 'TASK...'.")
    # Rows, answers and marks live to the end: looking through them for garbage again and again finds none.
    gc.set_threshold(100_000, 50, 100)
    gates = parse_gates(options["fail_under"])
    baseline = read_baseline(options, "run")
    terminal = TaskTerminal(verbose=options["verbose"], gates=gates, baseline=baseline, model=options["model"] or "")
    # The command's own process may be imported again by workers; a caller's script may not.
    workers = options["workers"] or (_processors() if options["engine"] == "local" else None)
    with ended_by_signal(), terminal:
        run = conduct(Tasks(), options_among(TaskOptions, {**options, "workers": workers}), terminal)
    summary = TaskResults(run).summary
    show_run(run, summary, as_json=options["as_json"])
    hold_gates(gates, with_values(terminal.marks, summary))
    hold_against_baseline(run, baseline, options["seed"], terminal.metric)
    return INCOMPLETE if run.status == "incomplete" else 0


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_KEPT = (
    *(KeptOption(name, f"sources.{name}") for name in ("tasks", "predictions", "data", "against")),
    KeptOption("stop_when", "config.stop", turned=lambda stop: stop["when"]),
    *KEPT_ASKING,
    *(
        KeptOption(name, f"config.{name}")
        for name in ("limit", "contexts", "missing", "timeout", "num_fewshot", "turns")
    ),
    *(KeptOption(name, f"config.{name}") for name in ("profile", "seed")),
    KeptOption("judges", "judging.judges", judges_sent_a_key),
    *(KeptOption(name, f"judging.{name}") for name in ("judge_samples", "judge_max_cost", "judge_price")),
    *(KeptOption(name, f"judging.{name}") for name in ("judge_temperature", "judge_mode", "judge_token_weights")),
    *(
        KeptOption(name, f"judging.{name}")
        for name in ("judge_retries", "judge_timeout", "judge_per_minute", "judge_workers")
    ),
    KeptOption("judge_url", "judging.judge_url", sent_a_key),
    KeptOption("cassette", "judging.cassette", lambda path: describe_overwrite(Path(path))),
    KeptOption("allow_download", "sources.allow_download", lambda is_allowed: "would fetch data" if is_allowed else ""),
    KeptOption(
        "allow_unsafe_code",
        "sources.allow_unsafe_code",
        lambda is_allowed: "would run a model's programs with your rights" if is_allowed else "",
    ),
    KeptOption(
        "allow_code", "config.allow_code", lambda is_allowed: "would run code that its tasks name" if is_allowed else ""
    ),
)
"""Options that a run keeps, and where run.json has them."""
