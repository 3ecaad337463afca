"""`markbook exam`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from markbook.cli.options import (
    SpreadCommand,
    baseline_option,
    command_option,
    ended_by_signal,
    fail_under_option,
    fill_from_run,
    hold_run,
    json_option,
    options_of,
    read_baseline,
    verbose_option,
)
from markbook.option import GATES_AND_STOPPING, MARKED, record_from
from markbook.runs.exam.exam_options import ExamOptions

GATE, BAD_INPUT = 1, 65
_EXAMPLES = """
\b
Examples:
  markbook exam --benchmark benchmark/ --solutions gpt-4/ claude-3/
  markbook exam --benchmark HumanEval.jsonl.gz --solutions gpt-4.jsonl \\
      --json
  markbook exam --benchmark HumanEval.jsonl.gz \\
      --model openai:gpt-4o-mini -n 10 --max-cost 5
  markbook exam --benchmark benchmark/ --check-benchmark
  markbook exam --resume generated/evaluation_1790000000
"""


@click.command("exam", cls=SpreadCommand, epilog=_EXAMPLES)
@command_option(
    "--check-benchmark",
    section=MARKED,
    after="extract",
    is_flag=True,
    help="Run the reference solutions instead; list problems that fail or are flaky, and exit 1 if there are any.",
)
@fail_under_option("a model, or exam_score for all of them", GATES_AND_STOPPING)
@baseline_option(GATES_AND_STOPPING)
@json_option
@verbose_option("Name each skipped row with its file and line.")
@options_of(ExamOptions)
def command(**options: Any) -> int:
    """Run code solutions against a benchmark's tests and score them.

    Solutions are read from files (--solutions) or requested from a model (--model). Every problem of the benchmark
    counts: a problem without a solution scores 0; an empty solution scores 0 and counts as an error. Solutions run isolated from the machine and from the tests. The run folder is OUTPUT/evaluation_<time>/.
    """
    from markbook.cli.exam_terminal import ExamTerminal, exam_mark, show_run

    check = options.pop("check_benchmark")
    fill_from_run(options, "exam")
    # Not left to click: with --resume the benchmark is the one that the run was started with.
    if not options["benchmark"]:
        raise click.UsageError("Missing option '--benchmark'.")
    if check:
        return _check(record_from(ExamOptions, options), as_json=options["as_json"])
    if not (options["solutions"] or options["model"] or options["generator"]):
        raise click.UsageError("Missing option '--solutions' (existing solutions) or '--model' (a model to query).")
    from markbook.results.gates import parse_gates
    from markbook.runs.conductor import conduct
    from markbook.runs.exam import Exam
    from markbook.runs.exam.view import ExamView

    gates = parse_gates(options["fail_under"])
    baseline = read_baseline(options, "exam")
    terminal = ExamTerminal(verbose=options["verbose"], gates=gates, baseline=baseline)
    with ended_by_signal(), terminal:
        run = conduct(Exam(), record_from(ExamOptions, options), terminal)
    show_run(run, as_json=options["as_json"])
    lacking = "; ".join(f"no answer ({count}): {why}" for why, count in run.manifest.get("unanswered", {}).items())
    view = ExamView(run, run.manifest)
    hold_run(
        run,
        gates,
        lambda: [exam_mark(model, tally.exam_score().value) for model, tally in view.tallies.items()],
        baseline,
        options["seed"],
        lacking=lacking,
    )
    return 0


def _check(options: ExamOptions, *, as_json: bool) -> int:
    from markbook.cli.exam_terminal import show_check
    from markbook.runs.exam.check import check_benchmark

    benchmark_check = check_benchmark(
        Path(options.benchmark),
        format_name=options.format,
        timeout=options.timeout,
        workers=options.workers,
        isolation=options.isolation,
        python=Path(options.python) if options.python else None,
    )
    if as_json:
        click.echo(json.dumps(benchmark_check.record(), indent=2, ensure_ascii=False))
    else:
        show_check(benchmark_check)
    # Rows that cannot be read go before what the others showed, as they do in an exam.
    if options.strict and benchmark_check.rejected_rows:
        return BAD_INPUT
    return 0 if benchmark_check.holds else GATE
