"""`markbook init` and `markbook demo`: a starter that runs, and three recorded models on the bundled exam."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Literal

import click

from markbook.cli.options import ended_by_signal, options_of
from markbook.errors import OutputError, UsageError
from markbook.runs.options import StoppingOptions

# `markbook demo`.

_SECONDS = 2.0
"""The demo's CPU limit: one of its answers loops for ever, and nobody wants to wait a minute to see that."""


@click.command("demo")
@options_of(StoppingOptions, only=("output", "isolation"))
def demo_command(output: str, isolation: Literal["auto", "strict", "weak"]) -> int:
    """Evaluate three recorded models on the bundled benchmark: no network, no API key, a few seconds."""
    from markbook.cli.exam_terminal import ExamTerminal, show_run
    from markbook.installed import example
    from markbook.runs.api import exam

    folder = example("exam")
    models = [folder / name for name in ("scholar-70b", "apprentice-13b", "novice-1b")]
    terminal = ExamTerminal()
    with ended_by_signal(), terminal:
        run = exam(folder / "benchmark", models, output, watcher=terminal, timeout=_SECONDS, isolation=isolation)
    show_run(run, as_json=False)
    click.echo("\nThe same, written out:")
    # Quoted for the shell: the line is meant to be copied, and an install path may hold blanks.
    named = shlex.join(["--benchmark", str(folder / "benchmark"), "--solutions", *map(str, models)])
    click.echo(f"  markbook exam {named} --timeout {_SECONDS:g}")
    click.echo(f"\nOpen {run.folder}/report.html, or browse: markbook view {output} --open")
    return 0


# `markbook init`.

_COMMANDS = {
    "exam": "markbook exam --benchmark {0}/benchmark.jsonl --solutions {0}/answers.jsonl",
    "task": "markbook run {0}/task.yaml --predictions {0}/answers.jsonl",
    "review": "markbook review --papers {0}/papers --reviews {0}/reviews.jsonl --similarity cosine,jaccard --policy renormalise",
}
"""The command that evaluates each template as it is."""
_NEXT = {
    "exam": "benchmark.jsonl has the problems (docs/benchmarks.md lists every key), answers.jsonl the solutions of two models.",
    "task": "task.yaml defines prompts and metrics (docs/tasks.md), answers.jsonl has completions; --model PROVIDER:NAME queries a model.",
    "review": "papers/ is a PeerRead folder, reviews.jsonl has the reviews of two systems, traces/ has a log (docs/reviews.md).",
}


_EXAMPLES = """
\b
Examples:
  markbook init exam
  markbook init task my-task
"""


@click.command("init", epilog=_EXAMPLES)
@click.argument("what", metavar="exam|task|review", type=click.Choice([*_COMMANDS]))
@click.argument("folder", required=False, type=click.Path(path_type=Path))
def command(what: str, folder: Path | None) -> int:
    """Create a working template: an exam, a task or a review.

    Nothing is overwritten: FOLDER (by default the template's name) must be new or empty.
    """
    from markbook.installed import example

    target = folder or Path(what)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already and not empty", hint="name another folder")
    # Only what this command made may be taken away again when it fails.
    is_new = not target.exists()
    try:
        shutil.copytree(example("start") / what, target, dirs_exist_ok=True)
    except OSError as error:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)  # half a starter would be in the way of a second try
        # `copytree` collects what went wrong with each file: the first is said.
        several = isinstance(error, shutil.Error) and error.args and error.args[0]
        why = str(several[0][-1]) if several else error.strerror or str(error)
        raise OutputError(f"{target} cannot be written: {why}") from None
    for path in sorted(path for path in target.rglob("*") if path.is_file()):
        click.echo(path)
    click.echo(f"\n{_NEXT[what]}\n\nRun it as it is:\n  {_COMMANDS[what].format(shlex.quote(str(target)))}")
    return 0
