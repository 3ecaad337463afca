"""Every text that a model or a file sends takes time in proportion to its length, whatever stands in it."""

from __future__ import annotations

import contextlib
import copy
import gc
import json
import time

import pytest
from support.foreign_files import FORMATS
from test_traces_formats import LOGS, places, replaced

from markbook import measure
from markbook.config.loading import load
from markbook.datasets.filters import code, find_code, format_span, multi_choice_regex, regex
from markbook.errors import MarkbookError
from markbook.files.jsonl import decode_json, parse_object as parse_line
from markbook.files.tables import read_table
from markbook.judge.client import parse_marks, parse_object, quotes_found
from markbook.judge.rubrics import CONSTRUCTIVENESS, read_rubric
from markbook.report.exports import render_report
from markbook.report.html import highlight
from markbook.results.kind import open_results
from markbook.store import open_run
from markbook.testcode.extraction import compiles, extract, extract_answer, without_thoughts
from markbook.testcode.programs import complete_program, program_fault
from markbook.text import csv_cell, markdown, markdown_code, redact, terminal, visible, xml
from markbook.text.escape import latex
from markbook.text.format import read_number
from markbook.traces import read_trace, read_traces

UNITS = (
    '"""\\"\n', "'\\", '"\\', "'''\n", "'", '"', ":", "//", "//a:", "`", "```\n", "```a", "~", "```python\nx=1\n", "(", "[", "{",
    '{"a":', "[1,", '"a",', "a ", "a", "\\", " ", "\n", " \n", "<think>", "</think>", "&", "<", "1", "1,", "-", "--", "@", "#", "x=1\n",
    "def f():\n  pass\n", "class A: pass\n", "**", "person:", "per:$", "(A) ", ": ", "sk-", "bearer ", "\u202e", "e\u0301", "\x1b",
)  # fmt: skip
HEADS = {":": "//", "a": "```"}
"""What a text begins with, where the unit does harm only behind it."""
METRICS = (
    "bleu", "chrf", "rouge1", "rougeLsum", "meteor", "tfidf_cosine", "exact_match", "numeric", "json_schema", "contains",
    "jaccard", "ter", "edit_distance", "security_compliance", "performance_awareness", "context_adherence",
)  # fmt: skip
SIZE = 20_000


def as_file(read, name):
    def run(text, folder):
        path = folder / name
        path.write_text(text, encoding="utf-8")
        list(read(path))

    return run


def marked(metric):
    return lambda text, _folder: measure(metric, [text], ["the right answer is 5"])


def shown_by(form):
    """Return what lays out a run of one answer in a form of report."""

    def run(text, folder):
        path = folder / "t.json"
        path.write_text(json.dumps([{"item": text, "model": text[:50], "score": 1, "output": text, "input": text}]))
        for content in render_report(form, open_results(open_run(path))).values():
            for _ in [content] if isinstance(content, str | bytes) else content:
                pass

    return run


ENTRIES = {
    **{each.__name__: lambda text, _folder, each=each: each(text) for each in (
        highlight, redact, visible, terminal, markdown, markdown_code, latex, xml, find_code,
        parse_object, decode_json, program_fault, csv_cell, read_number, without_thoughts,
    )},
    "extract": lambda text, _folder: extract(text, compiles),
    "completed": lambda text, _folder: complete_program(text, "f"),
    "parse_line": lambda text, _folder: parse_line(text.encode(), ""),
    "quotes_found": lambda text, _folder: quotes_found([text[:100], '"'], [text]),
    "format_span": lambda text, _folder: format_span()([text], {}),
    "multi_choice": lambda text, _folder: multi_choice_regex()([text], {"choices": ["a", "b"]}),
    "regex": lambda text, _folder: regex()([text], {}),
    "code in C": lambda text, _folder: code("c")([text], {}),
    "answer_of": lambda text, _folder: extract_answer(text, "int f(int a) {\n", "}\nint main() {}"),
    "parse_marks": lambda text, _folder: parse_marks(text, CONSTRUCTIVENESS),
    "task file": as_file(lambda path: [load(path)], "t.yaml"),
    "rubric file": as_file(lambda path: [read_rubric(str(path))], "r.yaml"),
    "read_trace": as_file(lambda path: [read_trace(path)], "t.json"),
    "csv": as_file(read_table, "t.csv"),
    "jsonl": as_file(read_table, "t.jsonl"),
    **{f"metric {name}": marked(name) for name in METRICS},
    **{f"report {form}": shown_by(form) for form in ("md", "html", "latex", "csv", "json", "junit", "every-eval-ever")},
}  # fmt: skip


def cpu_seconds(run, unit, size, folder):
    text = (
        HEADS.get(unit, "") + (unit * (size // len(unit) + 1))[:size] + str(size)
    )  # no two texts are equal, so that none is remembered
    gc.disable()  # when it searches for garbage depends on all that was made before, and it searches a gigabyte
    try:
        start = time.process_time()
        with contextlib.suppress(MarkbookError, ValueError):  # refusing a text takes its time, too
            run(text, folder)
        return time.process_time() - start
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ENTRIES)
def test_twice_the_text_takes_about_twice_the_time(tmp_path, name, part):
    run, size = ENTRIES[name], SIZE // 10 if name.endswith("file") else SIZE  # YAML is read by Python alone
    with contextlib.suppress(MarkbookError, ValueError):  # what is imported once
        run("x", tmp_path)
    for unit in part.of(UNITS, 3, key=f"{name} {{}}".format):
        double = cpu_seconds(run, unit, 2 * size, tmp_path)
        if double < 0.05:
            continue
        double = min(double, cpu_seconds(run, unit, 2 * size + 1, tmp_path))
        single = max(cpu_seconds(run, unit, size, tmp_path), cpu_seconds(run, unit, size + 1, tmp_path))
        assert double < 3 * single + 0.02, (unit, single, double)


def grown(document, count):
    """Yield a document once for each of its lists, with that list so many times as long: its items the same, and all new."""
    for path in [path for path in places(document) if path]:
        value = document
        for key in path:
            value = value[key]
        if isinstance(value, list) and value:
            yield path, replaced(document, path, value * count)
            yield path, replaced(document, path, [one for at in range(count) for one in numbered(value, at)])


def numbered(value, at):
    """Return a value whose names with a digit in them are others."""
    if isinstance(value, dict):
        return {key: numbered(one, at) for key, one in value.items()}
    if isinstance(value, list):
        return [numbered(one, at) for one in value]
    is_name = isinstance(value, str) and len(value) < 12 and any(map(str.isdigit, value))
    return f"{value}{at}" if is_name else copy.copy(value)


def assert_doubles(read, document, count):
    singles = list(grown(document, count))
    for (path, single), (_, double) in zip(singles, grown(document, 2 * count), strict=True):
        two = timed(read, double)
        if two < 0.15:
            continue
        one, two = max(timed(read, single), timed(read, single)), min(two, timed(read, double))
        assert two < 3 * one + 0.02, (path, one, two)


def timed(read, document):
    start = time.process_time()
    with contextlib.suppress(MarkbookError):
        read(document)
    return time.process_time() - start


@pytest.mark.parametrize("name", LOGS)
def test_twice_the_events_take_about_twice_the_time(tmp_path, name):
    document, as_lines, *_ = LOGS[name]
    path = tmp_path / "log.json"

    def read(one):
        is_lines = as_lines and isinstance(one, list)
        path.write_text("\n".join(map(json.dumps, one)) if is_lines else json.dumps(one))
        for _ in read_traces(path, format=name):
            pass

    assert_doubles(read, document, 400)


@pytest.mark.parametrize("name", ["promptfoo", "promptfoo 2", "deepeval", "deepeval before 1.5", "inspect json"])
def test_twice_the_samples_of_another_tool_take_about_twice_the_time(tmp_path, name):
    path = FORMATS[name](tmp_path, 0)
    document = json.loads(path.read_text())

    def read(one):
        path.write_text(json.dumps(one))
        open_results(open_run(path)).sheet(None)

    assert_doubles(read, document, 40)
