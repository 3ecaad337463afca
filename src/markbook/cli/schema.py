"""`markbook schema`."""

from __future__ import annotations

import json
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


SCHEMAS = {
    "benchmark": "a row of a benchmark of your own",
    "answers": "a row of a file of answers",
    "task": "a task or group in YAML",
    "review": "a config_eval.json",
    "exam-result": "a row of an exam's test_results.jsonl",
    "run-result": "a row of the results.jsonl of `markbook run`",
    "review-result": "a row of the results.jsonl of `markbook review`",
}


def make(name: str) -> Schema:
    """Return a schema, made of the declarations that the file's readers and writers share; each imports its own alone."""
    from markbook.text.schema import make_schema

    if name == "benchmark":
        from markbook.benchmarks.codeeval import CodeEvalRow
        from markbook.benchmarks.contests import ProgramRow

        return make_schema("Markbook benchmark: one row of a .jsonl file", CodeEvalRow, ProgramRow)
    if name == "answers":
        from markbook.benchmarks.answers import answers_schema

        return answers_schema()
    if name == "task":
        from markbook.config.native import json_schema

        return json_schema()
    if name == "review":
        from markbook.runs.reviews.config_file import config_schema

        return config_schema()
    if name == "exam-result":
        from markbook.runs.exam.files import ResultRow

        return make_schema("Markbook exam: one row of test_results.jsonl", ResultRow, closed=True)
    if name == "run-result":
        from markbook.runs.tasks.summaries import TaskAnswer

        return make_schema("Markbook run: one row of results.jsonl", TaskAnswer, closed=True)
    from markbook.runs.reviews.review_rows import ReviewRow

    return make_schema("Markbook review: one row of results.jsonl", ReviewRow, closed=True)


@click.command("schema", epilog=_EXAMPLES)
@click.argument("name", metavar="NAME", shell_complete=completing(lambda: SCHEMAS))
def command(name: str) -> int:
    """Print the JSON schema of a file that Markbook reads or writes.

    NAME is benchmark, answers, task, review, exam-result, run-result or review-result. Editors and your own programs can use it
    for completion and checks. The schema is derived from the code that reads and writes the file.
    """
    if name not in SCHEMAS:
        from markbook.errors import UsageError, suggest

        raise UsageError(f"there is no schema {name!r}", hint=suggest(name, [*SCHEMAS]))
    click.echo(json.dumps(make(name), indent=2, ensure_ascii=False))
    return 0
