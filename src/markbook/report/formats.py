"""Report plugins for other programs: CSV, JSON, JUnit XML and Parquet. Each writes one file."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from markbook.plugins import need
from markbook.results.kind import Case, Results
from markbook.text import csv_cell, xml

Render = Callable[[Results], Mapping[str, Any]]
_WHOLE = 1 << 53
"""A float holds no larger whole number for certain."""
_ROWS = 50_000
"""Rows put into one row group of a Parquet file: memory stays flat."""


def as_csv() -> Render:
    """Return the renderer of `report.csv`: the factory of the report plugin `csv`."""
    return lambda results: {"report.csv": _csv(results)}


def as_json() -> Render:
    """Return the renderer of `report.json`: the factory of the report plugin `json`."""
    return lambda results: {"report.json": _json(results)}


def as_junit() -> Render:
    """Return the renderer of `report.junit.xml`: the factory of the report plugin `junit`."""
    return lambda results: {"report.junit.xml": _junit(results)}


def as_parquet() -> Render:
    """Return the renderer of `report.parquet`: the factory of the report plugin `parquet`.

    Raises:
        ExtraMissingError: pyarrow is not installed.
    """
    need("pyarrow", extra="parquet")
    return lambda results: {"report.parquet": _parquet(results)}


def _columns(results: Results) -> list[str]:
    """Return every column of the rows, in order of first appearance."""
    return list(dict.fromkeys(name for row in results.flat_rows() for name in row))


def _csv(results: Results) -> Iterator[str]:
    columns = _columns(results)
    yield _csv_line([csv_cell(name) for name in columns])
    for row in results.flat_rows():
        yield _csv_line([csv_cell(row.get(name)) for name in columns])


def _csv_line(cells: list[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _json(results: Results) -> Iterator[str]:
    """Yield one JSON object, a row a line, so that a large run needs no memory."""
    head = json.dumps(results.overview(), ensure_ascii=False, allow_nan=False, indent=1)
    yield head.removesuffix("\n}") + ',\n "rows": ['
    first = True
    for row in results.flat_rows():
        yield ("\n" if first else ",\n") + json.dumps(row, ensure_ascii=False, allow_nan=False)
        first = False
    yield "\n]}\n"


def _junit(results: Results) -> Iterator[str]:
    """Yield a JUnit file: one suite a model, failure for a failed test, error for an error."""
    counts: dict[str, dict[str, int]] = {}
    turns, last = 0, None
    for case in results.cases():
        turns, last = turns + (case.suite != last), case.suite
        suite = counts.setdefault(case.suite, {"tests": 0, "failure": 0, "error": 0, "skipped": 0, "passed": 0})
        suite["tests"] += 1
        suite[case.state] += 1
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="markbook">\n'
    current = None
    # Where the models' rows alternate, each suite is gathered in a pass of its own: it has its counts and cases once.
    passes = [None] if turns == len(counts) else list(counts)
    for case in (case for suite in passes for case in results.cases() if suite in (None, case.suite)):
        if case.suite != current:
            if current is not None:
                yield "</testsuite>\n"
            current = case.suite
            yield _suite(case.suite, counts[case.suite])
        yield _case(case)
    yield "</testsuite>\n</testsuites>\n" if current is not None else "</testsuites>\n"


def _suite(name: str, count: Mapping[str, int]) -> str:
    numbers = (
        f'tests="{count["tests"]}" failures="{count["failure"]}" errors="{count["error"]}" skipped="{count["skipped"]}"'
    )
    return f"<testsuite name={_attribute(name)} {numbers}>\n"


def _case(case: Case) -> str:
    seconds = "" if case.seconds is None else f' time="{case.seconds:.3f}"'
    head = f"<testcase classname={_attribute(case.suite)} name={_attribute(case.name)}{seconds}"
    verdict = f'<properties><property name="verdict" value={_attribute(case.verdict)}/></properties>'
    body_start = verdict if case.verdict else ""
    if case.state == "passed":
        return f"{head}>{body_start}</testcase>\n" if body_start else head + "/>\n"
    body = escape(xml(case.detail))
    return f"{head}>{body_start}<{case.state} message={_attribute(case.message)}>{body}</{case.state}></testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(xml(text), {"\n": "&#10;", "\t": "&#9;"})


def _parquet(results: Results) -> Iterator[bytes]:
    """Yield the bytes of a Parquet file with one row an attempt; types are settled by the first look at all rows."""
    pa, parquet = need("pyarrow", extra="parquet"), need("pyarrow.parquet", extra="parquet")
    kinds: dict[str, type] = {}
    long: set[str] = set()
    for row in results.flat_rows():
        for name, value in row.items():
            kinds[name] = _wider(kinds.get(name), value)
            if isinstance(value, int) and abs(value) > _WHOLE:
                long.add(name)
    kinds |= {name: str for name in long if kinds[name] is float}
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string(), type(None): pa.null()}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for block in _blocks(results):
                rows = [{name: _as(kinds[name], row.get(name)) for name in kinds} for row in block]
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        with path.open("rb") as file:
            while data := file.read(1 << 20):
                yield data


def _blocks(results: Results) -> Iterator[list[dict[str, object]]]:
    block: list[dict[str, Any]] = []
    for row in results.flat_rows():
        block.append(dict(row))
        if len(block) >= _ROWS:
            yield block
            block = []
    if block:
        yield block


def _wider(kind: type | None, value: object) -> type:
    """Return a type that holds both what was seen and this value; text holds everything."""
    new = type(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 63:
        new = str
    if kind is None or kind is type(None) or kind is new:
        return new
    if new is type(None):
        return kind
    return float if {kind, new} == {int, float} else str


def _as(kind: type, value: object) -> object:
    if value is None or kind is type(None):
        return None
    return value if isinstance(value, kind) and type(value) is kind else kind(value)
