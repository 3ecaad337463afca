"""References from a file: what a good run would have done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markbook.errors import DataError
from markbook.trace import ExpectedCall, Reference, Trace
from markbook.traces.plain import bounded, name_of, whole
from markbook.traces.reading import read_trace
from markbook.traces.source import Source

ANY = ""
"""The key of the reference that holds for every run without one of its own."""


def read_references(path: str | Path) -> dict[str, Reference]:
    """Return the references of a file by task (or run id), one for all runs under the empty key.

    A reference is `{"calls": [..], "path_length": 4}` or a bare list of calls; a call is a tool's name, a list of
    acceptable tools, or `{"tool": .., "arguments": {..}}` (`tools` for several). `{"references": {task: reference}}`
    holds one for each task. Any trace does too: its calls are the reference.

    Raises:
        DataError: it is neither.
        UsageError: there is no such file.
    """
    source = Source(Path(path))
    document: Any = None if source.is_zip or not source.is_small else _document(source)
    if isinstance(document, dict) and isinstance(document.get("references"), dict):
        return {str(task): _reference(held, source) for task, held in document["references"].items()}
    if _is_reference(document):
        return {ANY: _reference(document, source)}
    trace = read_trace(path)
    if trace.runs:
        return {run.task or run.id: _from_trace(run, source) for run in trace.runs}
    return {ANY: _from_trace(trace, source)}


def pick(references: Mapping[str, Reference], trace: Trace) -> Reference | None:
    """Return the reference for a run: its task's, its own, or the one for all."""
    for key in (trace.task, trace.id, ANY):
        if key in references:
            return references[key]
    return None


def _document(source: Source) -> Any:
    try:
        return source.document()
    except DataError:
        return None  # the trace readers say what is wrong with it


def _is_reference(document: Any) -> bool:
    if isinstance(document, dict):
        return isinstance(document.get("calls"), list) or (
            "path_length" in document and whole(document["path_length"]) is not None
        )
    if not isinstance(document, list) or not document:
        return False
    return all(
        isinstance(item, str | list) or (isinstance(item, dict) and ({"tool", "tools"} & set(item)))
        for item in document
    )


def _reference(held: Any, source: Source) -> Reference:
    if not _is_reference(held) and held != []:
        raise DataError("a reference needs `calls` or `path_length`", at=str(source.path))
    record: Mapping[str, Any] = held if isinstance(held, dict) else {"calls": held}
    calls = record.get("calls")
    if calls is not None and not isinstance(calls, list):
        raise DataError("`calls` of a reference is no list", at=str(source.path))
    made = None if calls is None else tuple(_call(item, source) for item in calls)
    return Reference(made, whole(record.get("path_length")), source=f"file {source.path.name}")


def _call(item: Any, source: Source) -> ExpectedCall:
    arguments = None
    if isinstance(item, dict):
        given = item.get("arguments")
        arguments = bounded(given) if isinstance(given, dict) else None
        item = item.get("tools") or item.get("tool")
    tools = tuple(name_of(tool) for tool in (item if isinstance(item, list) else [item]))
    if not tools or not all(tools):
        raise DataError(f"an expected call names no tool: {str(item)[:80]!r}", at=str(source.path))
    return ExpectedCall(tools, arguments if isinstance(arguments, dict) else None)


def _from_trace(trace: Trace, source: Source) -> Reference:
    calls = tuple(
        ExpectedCall((step.name,), step.arguments if isinstance(step.arguments, dict) else None)
        for step in trace.tools()
    )
    return Reference(calls, source=f"trace {source.path.name}")
