"""Every text that a model or a file sends takes time in proportion to its length, whatever stands in it."""

from __future__ import annotations

import contextlib
import time

import pytest

from markbook import measure
from markbook.errors import MarkbookError
from markbook.files.jsonl import parse_object as parse_line
from markbook.files.lenient import decoded
from markbook.files.tables import read_table
from markbook.judge.reply import parse_object, quotes_found
from markbook.load.extraction import extract_code
from markbook.load.filters import find_code, format_span, multi_choice_regex
from markbook.report.highlight import highlight
from markbook.text import markdown, markdown_block, markdown_code, redact, script_json, terminal, visible, xml
from markbook.text.claimless import program_fault
from markbook.text.latex import latex
from markbook.text.suites import completed
from markbook.traces import read_trace

UNITS = (
    '"""\\"\n', "'\\", '"\\', "'''\n", "'", '"', ":", "//", "//a:", "`", "```\n", "```a", "~", "```python\nx=1\n", "(", "[", "{",
    '{"a":', "[1,", '"a",', "a ", "a", "\\", " ", "\n", " \n", "<think>", "</think>", "&", "<", "1", "1,", "-", "--", "@", "#", "x=1\n",
    "def f():\n  pass\n", "class A: pass\n", "**", "person:", "per:$", "(A) ", ": ", "sk-", "bearer ", "\u202e", "e\u0301", "\x1b",
)  # fmt: skip
HEADS = {":": "//", "a": "```"}
"""What a text begins with, where the unit does harm only behind it."""
METRICS = (
    "bleu",
    "chrf",
    "exact_match",
    "numeric",
    "json_schema",
    "contains",
    "jaccard",
    "performance_awareness",
    "context_adherence",
)
SIZE = 20_000


def as_file(read, name):
    def run(text, folder):
        path = folder / name
        path.write_text(text, encoding="utf-8")
        list(read(path))

    return run


def marked(metric):
    return lambda text, _folder: measure(metric, [text], ["the right answer is 5"])


ENTRIES = {
    **{each.__name__: lambda text, _folder, each=each: each(text) for each in (
        highlight, redact, visible, terminal, markdown, markdown_block, markdown_code, latex, xml, script_json, find_code, extract_code,
        parse_object, decoded, program_fault,
    )},
    "completed": lambda text, _folder: completed(text, "f"),
    "parse_line": lambda text, _folder: parse_line(text.encode(), ""),
    "quotes_found": lambda text, _folder: quotes_found([text[:100], '"'], [text]),
    "format_span": lambda text, _folder: format_span()([text], {}),
    "multi_choice": lambda text, _folder: multi_choice_regex()([text], {"choices": ["a", "b"]}),
    "read_trace": as_file(lambda path: [read_trace(path)], "t.json"),
    "csv": as_file(read_table, "t.csv"),
    "jsonl": as_file(read_table, "t.jsonl"),
    **{f"metric {name}": marked(name) for name in METRICS},
}  # fmt: skip


def cpu_seconds(run, unit, size, folder):
    text = (
        HEADS.get(unit, "") + (unit * (size // len(unit) + 1))[:size] + str(size)
    )  # no two texts are equal, so that none is remembered
    start = time.process_time()
    with contextlib.suppress(MarkbookError, ValueError):  # refusing a text takes its time, too
        run(text, folder)
    return time.process_time() - start


@pytest.mark.parametrize("name", ENTRIES)
def test_twice_the_text_takes_about_twice_the_time(tmp_path, name):
    run = ENTRIES[name]
    run("x", tmp_path) if name not in ("parse_object", "read_trace", "csv", "jsonl") else None  # what is imported once
    for unit in UNITS:
        double = cpu_seconds(run, unit, 2 * SIZE, tmp_path)
        if double < 0.05:
            continue
        double = min(double, cpu_seconds(run, unit, 2 * SIZE + 1, tmp_path))
        single = max(cpu_seconds(run, unit, SIZE, tmp_path), cpu_seconds(run, unit, SIZE + 1, tmp_path))
        assert double < 3 * single + 0.02, (unit, single, double)
