"""`markbook schema`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from markbook.cli.options import completing

if TYPE_CHECKING:
    from markbook.text.schema import Schema

_EXAMPLES = """
\b
Examples:
  markbook schema task > task.schema.json
  markbook schema benchmark
"""


def _benchmark() -> Schema:
    from markbook.benchmarks.codeeval import CodeEvalRow
    from markbook.benchmarks.contests import ProgramRow
    from markbook.text.schema import make_schema

    return make_schema("Markbook benchmark: one row of a .jsonl file", CodeEvalRow, ProgramRow)


def _answers() -> Schema:
    from markbook.benchmarks.answers import answers_schema

    return answers_schema()


def _task() -> Schema:
    from markbook.config.native import json_schema

    return json_schema()


def _review() -> Schema:
    from markbook.runs.reviews.config_file import config_schema

    return config_schema()


def _exam_result() -> Schema:
    from markbook.runs.exam.files import ResultRow
    from markbook.text.schema import make_schema

    return make_schema("Markbook exam: one row of test_results.jsonl", ResultRow, closed=True)


def _run_result() -> Schema:
    from markbook.runs.tasks.summaries import TaskAnswer
    from markbook.text.schema import make_schema

    return make_schema("Markbook run: one row of results.jsonl", TaskAnswer, closed=True)


def _review_result() -> Schema:
    from markbook.runs.reviews.review_rows import ReviewRow
    from markbook.text.schema import make_schema

    return make_schema("Markbook review: one row of results.jsonl", ReviewRow, closed=True)


SCHEMAS: dict[str, tuple[str, Callable[[], Schema]]] = {
    "benchmark": ("a row of a benchmark of your own", _benchmark),
    "answers": ("a row of a file of answers", _answers),
    "task": ("a task or group in YAML", _task),
    "review": ("a config_eval.json", _review),
    "exam-result": ("a row of an exam's test_results.jsonl", _exam_result),
    "run-result": ("a row of the results.jsonl of `markbook run`", _run_result),
    "review-result": ("a row of the results.jsonl of `markbook review`", _review_result),
}
"""What each schema is of, and what makes it."""


@click.command("schema", epilog=_EXAMPLES)
@click.argument("name", metavar="NAME", shell_complete=completing(lambda: SCHEMAS))
def command(name: str) -> int:
    """Print the JSON schema of a file that Markbook reads or writes.

    NAME is benchmark, answers, task, review, exam-result, run-result or review-result. Editors complete and check by
    them, and so can your own programs. They are made of the declarations that the readers and writers share.
    """
    if name not in SCHEMAS:
        from markbook.errors import UsageError, suggest

        raise UsageError(f"there is no schema {name!r}", hint=suggest(name, [*SCHEMAS]))
    click.echo(json.dumps(SCHEMAS[name][1](), indent=2, ensure_ascii=False))
    return 0
