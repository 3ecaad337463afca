"""`markbook init`."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click

_COMMANDS = {
    "exam": "markbook exam --benchmark {0}/benchmark.jsonl --solutions {0}/answers.jsonl",
    "task": "markbook run {0}/task.yaml --predictions {0}/answers.jsonl",
    "review": "markbook review --papers {0}/papers --reviews {0}/reviews.jsonl --similarity cosine,jaccard --policy renormalise",
}
"""What each starter is marked with as it is."""
_NEXT = {
    "exam": "benchmark.jsonl holds the problems (docs/benchmarks.md has every key), answers.jsonl what two models made of them.",
    "task": "task.yaml says what is asked and how answers are marked (docs/tasks.md); with --model PROVIDER:NAME a model is asked.",
    "review": "papers/ is a PeerRead folder, reviews.jsonl what two systems wrote of them (docs/reviews.md).",
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
    """Write a starter that runs as it is: an exam, a task or a review to change into your own.

    Nothing is overwritten: FOLDER (by default the starter's name) must be new or empty.
    """
    from markbook.errors import OutputError, UsageError
    from markbook.examples import example

    target = folder or Path(what)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already and not empty", hint="name another folder")
    is_new = not target.exists()
    try:
        shutil.copytree(example("start") / what, target, dirs_exist_ok=True)
    except OSError as error:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)  # half a starter would be in the way of a second try
        raise OutputError(f"{target} cannot be written: {_why(error)}") from None
    for path in sorted(path for path in target.rglob("*") if path.is_file()):
        click.echo(path)
    click.echo(f"\n{_NEXT[what]}\n\nMark it as it is:\n  {_COMMANDS[what].format(shlex.quote(str(target)))}")
    return 0


def _why(error: OSError) -> str:
    """Return what went wrong; of several files, with the first."""
    if isinstance(error, shutil.Error) and error.args and error.args[0]:
        return str(error.args[0][0][-1])
    return error.strerror or str(error)
