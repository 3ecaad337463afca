"""`markbook exam`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, cast

import click

from markbook.cli.model_options import KEPT_ASKING, asking_options
from markbook.cli.options import (
    EXAM,
    EXECUTED,
    KeptOption,
    SpreadCommand,
    baseline_option,
    completing,
    ended_by_signal,
    engine_option,
    fail_under_option,
    fill_from_run,
    hold_against_baseline,
    isolation_option,
    json_option,
    label_options,
    output_option,
    part_names,
    python_option,
    read_baseline,
    resume_option,
    stopping_options,
    timeout_option,
    workers_option,
)

if TYPE_CHECKING:
    from markbook.results.gates import GateMark
    from markbook.runs.exam.check import BenchmarkCheck
    from markbook.store import Run

GATE, INCOMPLETE, BAD_INPUT = 1, 3, 65
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


class _Exam(SpreadCommand):
    """Takes `--solutions a b c` as users write it."""

    sections: ClassVar = EXAM


@click.command("exam", cls=_Exam, epilog=_EXAMPLES)
@click.option("--benchmark", type=click.Path(), help="The benchmark: a file, or a folder of .jsonl files.")
@click.option("--solutions", type=click.Path(), multiple=True, help="Answers: files or folders, one or several models.")
@asking_options
@output_option
@click.option("--verbose", is_flag=True, help="Name each skipped row with its file and line.")
@timeout_option("a solution may use")
@click.option(
    "--memory-mb",
    type=click.IntRange(min=64, max=1 << 20),
    default=2048,
    show_default=True,
    help="Memory a solution may use.",
)
@workers_option("Solutions")
@click.option(
    "--error-policy",
    type=click.Choice(["zero", "partial"]),
    default="zero",
    show_default=True,
    help="What an attempt with an error scores: 0, or the share of tests that passed.",
)
@isolation_option
@click.option(
    "--format",
    "format",
    shell_complete=completing(part_names("loaders")),
    default="auto",
    show_default=True,
    help="The benchmark's format, if it is not detected.",
)
@click.option(
    "--extract",
    type=click.Choice(["auto", "always", "off"]),
    default="auto",
    show_default=True,
    help="Look for the code in raw replies: those that do not compile, all, or none.",
)
@python_option("solutions")
@click.option(
    "--adaptive-timeout/--fixed-timeout",
    "adaptive",
    default=None,
    help="Limit each problem to 20 x its canonical solution's CPU time, at least 3 s and at most --timeout; or all to "
    "--timeout. [default: adaptive; fixed with --profile documented]",
)
@click.option(
    "--in-process",
    is_flag=True,
    help="Run tests beside the candidate: verdicts can be forged, and passes are unchecked.",
)
@click.option(
    "--all-tests",
    is_flag=True,
    help="Programs that read and write: run the tests behind the first that fails, too.",
)
@click.option(
    "--fresh-tests",
    is_flag=True,
    help="Functions and classes: load the solution anew for each test, and flag what then comes out otherwise.",
)
@click.option("--no-dedupe", is_flag=True, help="Run exactly equal answers again instead of once.")
@click.option("--reuse-verdicts", is_flag=True, help="Do not run again what an earlier run did in the same way.")
@click.option(
    "--skip-unavailable",
    is_flag=True,
    help="Leave out problems in languages whose toolchain is not here, as missing, instead of refusing (exit 4).",
)
@click.option("--strict", is_flag=True, help="Refuse (exit 65) if any row would be skipped.")
@click.option(
    "--check-benchmark",
    is_flag=True,
    help="Run the canonical solutions instead, list problems that fail or flip, and exit 1 if any does.",
)
@click.option(
    "--profile",
    type=click.Choice(["documented", "corrected"]),
    default="corrected",
    show_default=True,
    help="documented: one time limit for all problems. The arithmetic is the same.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="For resampled intervals.")
@fail_under_option("a model, or exam_score for all of them")
@baseline_option
@stopping_options
@engine_option
@label_options
@resume_option
@json_option
def command(**options: Any) -> int:
    """Run model solutions against a benchmark's tests and score them like an exam.

    The answers exist (--solutions), or a model is asked for them (--model). Every problem of the benchmark counts: an
    absent answer scores 0 and is not an error, an empty one scores 0 and is one. Solutions run isolated from the machine and from the tests. Reports go to OUTPUT/evaluation_<time>/.
    """
    from markbook.cli.exam_terminal import ExamTerminal, show_check, show_run

    check = options.pop("check_benchmark")
    fill_from_run(options, "exam", _KEPT)
    if not options["benchmark"]:
        raise click.UsageError("Missing option '--benchmark'.")
    if check:
        return _check(cast("_Checked", options), show_check)
    if not (options["solutions"] or options["model"] or options["generator"]):
        raise click.UsageError("Missing option '--solutions' (answers that exist) or '--model' (who is to answer).")
    from markbook.results.gates import hold_gates, parse_gates
    from markbook.runs.conductor import conduct
    from markbook.runs.exam import Exam
    from markbook.runs.exam.plan import ExamOptions
    from markbook.runs.options import options_among

    gates = parse_gates(options["fail_under"])
    baseline = read_baseline(options, "exam")
    terminal = ExamTerminal(verbose=options["verbose"], gates=gates, baseline=baseline)
    turned = {"separate": not options["in_process"], "dedupe": not options["no_dedupe"]}
    with ended_by_signal(), terminal:
        run = conduct(Exam(), options_among(ExamOptions, options, **turned), terminal)
    show_run(run, as_json=options["as_json"])
    if run.status == "incomplete":
        return INCOMPLETE
    if gates:
        hold_gates(gates, _marks(run))
    hold_against_baseline(run, baseline, options["seed"])
    return 0


_KEPT = (
    KeptOption("benchmark", "sources.benchmark"),
    KeptOption("solutions", "sources.solutions"),
    *KEPT_ASKING,
    KeptOption("against", "sources.against"),
    KeptOption("stop_when", "config.stop", turned=lambda stop: stop["when"]),
    KeptOption("format", "config.format", lambda value: EXECUTED if ":" in value else ""),
    KeptOption("timeout", "config.timeout"),
    KeptOption("memory_mb", "config.memory_mb"),
    KeptOption("error_policy", "config.error_policy"),
    KeptOption("extract", "config.extract"),
    KeptOption("profile", "config.profile"),
    KeptOption("seed", "config.seed"),
    KeptOption("adaptive", "config.adaptive"),
    KeptOption("all_tests", "config.all_tests"),
    KeptOption("fresh_tests", "config.fresh_tests"),
    KeptOption("in_process", "config.separate", turned=lambda separate: not separate),
    KeptOption("skip_unavailable", "config.skip_unavailable"),
    KeptOption("python", "config.python", lambda value: EXECUTED if value else ""),
)
"""Options that a run keeps, and where run.json has them."""


def _marks(run: Run) -> list[GateMark]:
    """Return what gates may be about."""
    from markbook.cli.exam_terminal import exam_mark
    from markbook.runs.exam.view import ExamView

    return [
        exam_mark(model, tally.exam_score().value)
        for model, tally in ExamView(run, run.manifest["config"]).tallies.items()
    ]


class _Checked(TypedDict):
    """What `--check-benchmark` is asked."""

    benchmark: str
    format: str
    timeout: float
    workers: int | None
    isolation: Literal["auto", "strict", "weak"]
    python: str
    as_json: bool
    strict: bool


def _check(options: _Checked, show: Callable[[BenchmarkCheck], None]) -> int:
    from markbook.runs.exam.check import check_benchmark

    benchmark_check = check_benchmark(
        Path(options["benchmark"]),
        format_name=options["format"],
        timeout=options["timeout"],
        workers=options["workers"],
        isolation=options["isolation"],
        python=Path(options["python"]) if options["python"] else None,
    )
    if options["as_json"]:
        click.echo(json.dumps(benchmark_check.record(), indent=2, ensure_ascii=False))
    else:
        show(benchmark_check)
    if options["strict"] and benchmark_check.rejected_rows:
        return BAD_INPUT
    return 0 if benchmark_check.holds else GATE
