"""Plain tables with named columns, and tau-bench's trajectories, which are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from markbook.errors import DataError, UsageError, suggest
from markbook.files.jsonl import Rejection
from markbook.files.stream import Source, elements
from markbook.files.tables import read_table, suffix
from markbook.foreign.reading import (
    Marked,
    MarkedRows,
    ResultsProbe,
    collect_columns,
    cut_text,
    digest_input,
    file_stem,
    mapping,
    missing_failure,
    read_value,
    words,
)
from markbook.marks import Row
from markbook.text.format import read_number
from markbook.types import Missing, MissingKind

ROLES = ("item", "model", "score", "repeat", "cluster", "input", "output", "error")
"""What a column may say."""
_EMPTY = ("", "na", "n/a", "none", "null", "nan")


def parse_columns(text: str) -> dict[str, str]:
    """Return which column says what, from `item=id,score=accuracy`.

    Raises:
        UsageError: it has another form, or names a role that there is none of.
    """
    columns: dict[str, str] = {}
    for part in text.split(","):
        role, sign, column = (side.strip() for side in part.partition("="))
        if not (role and sign and column):
            raise UsageError(
                f"{part!r} says of no column what it is", hint="write item=COLUMN,model=COLUMN,score=COLUMN"
            )
        if role not in ROLES:
            raise UsageError(f"a column cannot be {role!r}", hint=suggest(role, list(ROLES)))
        if role in columns:
            raise UsageError(
                f"{role!r} is named twice", hint="several scores are several readings, each with its --map"
            )
        columns[role] = column
    if "score" not in columns:
        raise UsageError("no column is the score", hint="add score=COLUMN")
    return columns


class Plain:
    """Reads CSV, JSON Lines, JSON and Parquet whose columns are called as `ROLES` are, or as the user says."""

    name = "table"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 99 where the user named the columns of a table, 30 where they have our names."""
        if not suffix(probe.path):
            return 0
        if probe.columns:
            return 99
        # Parquet has no head of text; so small a bid leaves the file to any other reader that wants it.
        if suffix(probe.path) == ".parquet":
            return 5
        if probe.opening == "[":
            return 30 if probe.has("item", "score") else 0
        line = probe.head.partition("\n")[0]
        names = probe.first or [cell_text.strip(' "\r') for cell_text in line.replace("\t", ",").split(",")]
        return 30 if {"item", "score"} <= set(names) else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each of the table.

        Raises:
            DataError: a named column is not there.
        """
        columns = dict(probe.columns or {role: role for role in ROLES})
        lost: Counter[str] = Counter()
        rows: MarkedRows | None = None
        repeats: dict[str, int] = {}
        for line in read_table(probe.path, numbers="open"):
            if isinstance(line, Rejection):
                lost[line.reason] += 1
                continue
            if rows is None:
                for column in (probe.columns or {}).values():
                    if column not in line.record:
                        raise DataError(
                            f"the table has no column {column!r}",
                            at=str(probe.path),
                            hint=suggest(column, [*line.record]),
                        )
                # A table may lack what we can do without; what the user named must be there.
                columns = {role: column for role, column in columns.items() if column in line.record}
                rows = MarkedRows(counts="repeat" not in columns)
            rows.append(_row(line.record, columns, file_stem(probe.path), repeats))
        metric = (probe.columns or {}).get("score", "score")
        rows = MarkedRows() if rows is None else rows
        return Marked(rows, collect_columns(rows, first=(metric,)), suffix(probe.path), dict(lost))


def _row(record: Mapping[str, object], columns: Mapping[str, str], model: str, repeats: dict[str, int]) -> Row:
    def cell(role: str) -> Any:
        return record.get(columns[role]) if role in columns else None

    error = cell("error")
    question = cell("input")
    content = digest_input("table", question)
    # Without a column for the item the question itself names it.
    item = words(cell("item")) if "item" in columns else content.partition(":")[2][:12]
    value = missing_failure(error) if error not in (None, "", False) else _number(cell("score"))
    repeat = words(cell("repeat")).strip()
    # A column of whole numbers with gaps may come as fractions: 3.0 is the repeat 3.
    digits = repeat.removesuffix(".0")
    if digits.isascii() and digits.isdigit() and len(digits) < 10:
        index = int(digits)
    else:  # names such as `seed-7` are counted in their order in the file
        index = repeats.setdefault(repeat, len(repeats)) if repeat else 0
    texts = cut_text(question), cut_text(cell("output"))
    scores = {columns["score"]: value}
    return Row(words(cell("model")) or model, item, scores, index, *texts, content, words(cell("cluster")))


def _number(value: object) -> float | Missing:
    """Return the number of a cell; text of a CSV file is read, an empty cell is missing."""
    if not isinstance(value, str):
        return read_value(value)
    text = value.strip().lower()
    if text in _EMPTY:
        return Missing(MissingKind.UNDEFINED if text == "nan" else MissingKind.ABSENT, f"the cell holds {text!r}")
    if text in ("true", "false"):
        return float(text == "true")
    try:
        return read_value(read_number(text))
    except ValueError:
        return read_value(value)


class TauBenchResults:
    """Reads tau-bench's trajectories: the reward of each task and trial."""

    name = "tau-bench"

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 90 for an array of tasks with a reward and a trajectory."""
        return (
            90
            if probe.opening == "[" and probe.has("task_id", "reward") and (probe.has("traj") or probe.has("trial"))
            else 0
        )

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each task and trial, read as a stream: trajectories are long."""
        lost: Counter[str] = Counter()
        rows = MarkedRows()
        for element in elements(Source(probe.path).chunks(), lost):
            if not isinstance(element, dict) or "task_id" not in element:
                lost["no task"] += 1
                continue
            trial, error = element.get("trial"), mapping(element.get("info")).get("error")
            reward = missing_failure(error) if error else read_value(element.get("reward"))  # a crash is noted as 0.0
            index = trial if isinstance(trial, int) and trial > 0 else 0
            rows.append(Row(file_stem(probe.path), words(element["task_id"]), {"reward": reward}, index))
        return Marked(rows, collect_columns(rows), "", dict(lost))
