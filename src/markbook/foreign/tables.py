"""Plain tables with named columns, and tau-bench's trajectories, which are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from markbook.errors import DataError, UsageError, suggest
from markbook.files.jsonl import Rejection
from markbook.files.stream import Source, elements
from markbook.files.tables import read_table, suffix
from markbook.foreign.reading import (
    TABLE,
    Marked,
    MarkedRows,
    ResultsProbe,
    collect_columns,
    contradiction_error,
    cut_text,
    digest_input,
    file_stem,
    mapping,
    missing_failure,
    read_value,
    words,
)
from markbook.marks import Row
from markbook.measurements import find_direction
from markbook.row_keys import find_failure, find_model, is_failure, parse_map
from markbook.text.format import read_number
from markbook.types import Direction, Missing, MissingKind

ROLES = ("item", "model", "score", "repeat", "cluster", "input", "output", "error")
"""What a column may say."""
BETTER = "better"
"""Says of the score, beside the roles, which way is better: `lower` or `higher`."""
_EMPTY = ("", "na", "n/a", "none", "null", "nan")


def parse_columns(text: str) -> dict[str, str]:
    """Return which column says what, from `item=id,score=accuracy`.

    Raises:
        UsageError: it has another form, or names a role that there is none of.
    """
    columns = parse_map(text, (*ROLES, BETTER), "item=COLUMN,model=COLUMN,score=COLUMN")
    if (better := columns.get(BETTER, "lower")) not in ("lower", "higher"):
        raise UsageError(f"--map: better={better} says neither lower nor higher", hint="write better=lower")
    if "score" not in columns:
        raise UsageError("no column is the score", hint="add score=COLUMN")
    return columns


class Plain:
    """Reads CSV, JSON Lines, JSON and Parquet whose columns are called as `ROLES` are, or as the user says."""

    name = TABLE

    def sniff(self, probe: ResultsProbe) -> int:
        """Return 99 where the user named the columns of a table, 30 where they have our names."""
        if not suffix(probe.path):
            return 0
        if probe.columns:
            return 99
        # Parquet has no head of text; so small a bid leaves the file to any other reader that wants it.
        if suffix(probe.path) == ".parquet":
            return 5
        if probe.opening in ("[", "{"):  # of JSON any row may lack a key, also the first
            return 30 if probe.has("item", "score") or {"item", "score"} <= probe.first.keys() else 0
        line = probe.head.partition("\n")[0]
        names = [cell_text.strip(' "\r') for cell_text in line.replace("\t", ",").split(",")]
        return 30 if {"item", "score"} <= set(names) else 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each of the table; those that do not say whose they are, where others do, are left out.

        Raises:
            DataError: a named column is not there, or two rows contradict each other.
        """
        table = _Table.look_through(probe)
        lost: Counter[str] = Counter()
        rows = MarkedRows(counts=not table.has_repeats)
        repeats: dict[str, int] = {}
        unlabelled: Counter[tuple[str, str]] = Counter()
        clusters: dict[str, str] = {}
        questions: dict[str, str] = {}
        several_questions: set[str] = set()
        n_doubtful = 0
        for line in read_table(probe.path, numbers="open"):
            if isinstance(line, Rejection):
                lost[line.reason] += 1
                continue
            row = _row(line.record, table)
            if not row.model:
                if table.has_models:
                    lost["no model"] += 1
                    continue
                row = replace(row, model=file_stem(probe.path))
            label = _read_label(table.cell(line.record, "repeat"))
            if table.has_repeats:
                index = _to_number(label) if table.is_numbered else None
                if index is None:  # in the order of the file; every row without a name is an attempt of its own
                    at = row.model, row.id
                    index = repeats.setdefault(label or f" {unlabelled[at]}", len(repeats))
                    unlabelled[at] += not label
                row = replace(row, index=index)
            is_scored = not isinstance(row.metrics[table.columns["score"]], Missing)
            has_output = table.columns.get("output") in line.record
            n_doubtful += is_scored and not has_output and is_failure(table.cell(line.record, "error"))
            rows.append(row)
            if rows.contradiction:
                raise contradiction_error(f"model {row.model!r}, item {row.id!r}, repeat {label!r}", line.at)
            if row.content and questions.setdefault(row.id, row.content) != row.content:
                several_questions.add(row.id)
            if row.cluster and row.id.strip() and clusters.setdefault(row.id, row.cluster) != row.cluster:
                both = " and ".join(map(repr, sorted((clusters[row.id], row.cluster))))
                raise DataError(f"the item {row.id!r} is in two clusters, {both}", at=line.at)
        notes: tuple[str, ...] = ()
        if several_questions:
            notes = (
                f"{len(several_questions)} items have different inputs in different rows; they are paired by the item.",
            )
        if n_doubtful:
            note = f"{n_doubtful} rows have an error beside their score and are scored; if nobody answered there, leave the score empty."
            notes += (note,)
        score, better = table.columns["score"], (probe.columns or {}).get(BETTER)
        direction: Direction | None = (
            find_direction(score) if better is None else "lower" if better == "lower" else "higher"
        )
        if better is None and direction != "higher":
            way, other = ("lower", "higher") if direction else ("higher", "lower")
            notes += (f"{score}: {way} is assumed to be better; `--map better={other}` reverses that.",)
        columns = collect_columns(rows, first=(score,), directions={score: direction or "higher"})
        return Marked(rows, columns, suffix(probe.path), dict(lost), notes)


@dataclass(slots=True)
class _Table:
    """What all rows of a table together say of its columns."""

    columns: Mapping[str, str]
    """Which column says what, of those that some row has."""
    names_model: bool = False
    """Whether only the column that the user named says of which model a row is."""
    has_models: bool = False
    has_repeats: bool = False
    is_numbered: bool = True
    """Whether every row gives its repeat as a number."""

    @classmethod
    def look_through(cls, probe: ResultsProbe) -> _Table:
        """Go through the file once: in JSON Lines each row may have other keys."""
        columns = dict(probe.columns or {role: role for role in ROLES})
        columns.pop(BETTER, None)
        table = cls(columns, names_model=bool(probe.columns))
        lacking = set(columns)
        first: Mapping[str, object] | None = None
        for line in read_table(probe.path, numbers="open"):
            if isinstance(line, Rejection):
                continue
            first = line.record if first is None else first
            lacking = {role for role in lacking if columns[role] not in line.record}
            table.has_models = table.has_models or bool(words(table.cell(line.record, "model")).strip())
            label = _read_label(table.cell(line.record, "repeat"))
            table.has_repeats = table.has_repeats or bool(label)
            table.is_numbered = table.is_numbered and _to_number(label) is not None
        for role in [role for role in columns if role in lacking and first is not None]:
            # What the user named must be there; without that, a table may lack what we can do without.
            if probe.columns or role in ("item", "score"):
                hint = suggest(columns[role], [*(first or ())])
                raise DataError(f"the table has no column {columns[role]!r}", at=str(probe.path), hint=hint)
            del columns[role]
        return table

    def cell(self, record: Mapping[str, object], role: str) -> Any:
        """Return what a row says in a role, None where it does not."""
        if role == "model" and not self.names_model:
            return find_model(record)
        return record.get(self.columns[role]) if role in self.columns else None


def _row(record: Mapping[str, object], table: _Table) -> Row:
    error = table.cell(record, "error")
    question = table.cell(record, "input")
    content = digest_input("table", question)
    # Without a column for the item the question itself names it.
    item = words(table.cell(record, "item")) if "item" in table.columns else content.partition(":")[2][:12]
    value = _number(table.cell(record, "score"))
    cells = {role: record[column] for role, column in table.columns.items() if column in record}
    if find_failure({**cells, "score": None if isinstance(value, Missing) else value}, ("output", "score")):
        value = missing_failure(error)
    texts = cut_text(question), cut_text(table.cell(record, "output"))
    model = words(table.cell(record, "model"))
    scores = {table.columns["score"]: value}
    return Row(
        model if model.strip() else "", item, scores, 0, *texts, content, _read_label(table.cell(record, "cluster"))
    )


def _read_label(value: object) -> str:
    """Return what a row calls its repeat or cluster, each whole number in one spelling; empty if it does not say."""
    label = words(value).strip()
    # A column of whole numbers with gaps may come as fractions: 3.0 is the repeat 3.
    number = _to_number(label.removesuffix(".0"))
    return label if number is None else str(number)


def _to_number(label: str) -> int | None:
    return int(label) if label.isascii() and label.isdigit() and len(label) < 10 else None


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
        if probe.opening == "[" and probe.has("task_id", "reward") and (probe.has("traj") or probe.has("trial")):
            return 90
        return 0

    def read(self, probe: ResultsProbe) -> Marked:
        """Return one row for each task and trial, read as a stream: trajectories are long."""
        lost: Counter[str] = Counter()
        rows = MarkedRows()
        for element in elements(Source(probe.path).chunks(), lost):
            if not isinstance(element, dict) or "task_id" not in element:
                lost["no task"] += 1
                continue
            trial, error = element.get("trial"), mapping(element.get("info")).get("error")
            reward = (
                missing_failure(error) if is_failure(error) else read_value(element.get("reward"))
            )  # a crash is noted as 0.0
            index = trial if isinstance(trial, int) and trial > 0 else 0
            rows.append(Row(file_stem(probe.path), words(element["task_id"]), {"reward": reward}, index))
        return Marked(rows, collect_columns(rows), "", dict(lost))
