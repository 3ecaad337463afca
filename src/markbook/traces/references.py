"""References from a file: what a good run would have done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from markbook.errors import DataError, misspelt
from markbook.files import jsonl
from markbook.files.content import MAX_DOCUMENT
from markbook.files.stream import Source
from markbook.trace import ExpectedCall, Reference, Trace
from markbook.traces import read_trace
from markbook.traces.plain import bound_value, read_name, whole
from markbook.types import Record

ANY = ""
"""The key of the reference that holds for every run without one of its own."""
_KEYS = ("calls", "path_length")
_NONE = "this is not a reference of tools"
_SHAPES = 'a map of contexts to tools, such as {"literature": "find_papers", "default": "read"}, or {"calls": [..]}'


def read_references(path: str | Path) -> dict[str, Reference]:
    """Return the references of a file by task, paper or run id, one for all runs under the empty key.

    A reference is `{"calls": [..], "path_length": 4}` or a bare list of calls; a call is a tool's name, a list of
    acceptable tools, or `{"tool": .., "arguments": {..}}` (`tools` for several). Or it is the document's map of
    contexts to tools, `{"literature search": "search", "default": ["read", "open"]}`. `{"references": {id: reference}}`
    holds one for each id, and so does a plain object of them, where `default` is for the rest. Any trace does too: its
    calls are the reference.

    Raises:
        DataError: it is neither, or says something that no reference can mean.
        UsageError: the file does not exist.
    """
    source = Source(Path(path))
    document: Any = None
    if not source.is_zip and source.is_small:
        with contextlib.suppress(DataError):  # the trace readers say what is wrong with it
            document = source.document()
    references = _references(document, source.path.name, str(source.path))
    if references is not None:
        if not source.is_lines:
            try:
                # Of a key that stands twice one would be lost
                jsonl.parse_json("".join(source.chunks(limit=MAX_DOCUMENT)))
            except (ValueError, RecursionError) as error:
                raise DataError(f"{_NONE}: {error}", at=str(source.path)) from error
        return references
    try:
        trace = read_trace(path)
    except DataError as error:
        raise DataError(f"{_NONE}, and no trace: {error.message}", at=str(path), hint=_SHAPES) from error
    references = {}
    for run in trace.runs or (trace,):
        name = (run.task or run.id) if trace.runs else ANY
        references[name] = Reference.from_trace(run, f"trace {source.path.name}")
    return references


def read_reference_values(document: object, name: str) -> dict[str, Reference]:
    """Return the references that an object holds, in any of the shapes of `read_references` but a trace's.

    Raises:
        DataError: it is none of them.
    """
    references = _references(document, name, name)
    if references is None:
        raise DataError(_NONE, at=name, hint=_SHAPES)
    return references


def pick(references: Mapping[str, Reference], trace: Trace) -> Reference | None:
    """Return the reference for a run: its task's, its own, or the one for all."""
    for key in (trace.task, trace.id, ANY):
        if key in references:
            return references[key]
    return None


def list_unused(references: Mapping[str, Reference], names: Iterable[str]) -> list[str]:
    """Return the ids of references that none of these names: a slip of the pen, or runs that are not here."""
    return sorted(set(references) - {ANY, *names})


def _references(document: Any, name: str, at: str) -> dict[str, Reference] | None:
    if isinstance(document, dict) and isinstance(document.get("references"), dict):
        document = document["references"]
    elif _is_reference(document) or _is_map(document):
        return {ANY: _reference(document, name, at)}
    elif (
        not isinstance(document, dict)
        or not document
        or not all(_is_reference(value) or _is_map(value) for value in document.values())
    ):
        return None
    return {ANY if key == "default" else str(key): _reference(value, name, at) for key, value in document.items()}


def _is_reference(document: Any) -> bool:
    if isinstance(document, dict):
        return any(key in document for key in _KEYS)
    if not isinstance(document, list) or not document:
        return False
    return all(
        isinstance(item, str | list) or (isinstance(item, dict) and ({"tool", "tools"} & set(item)))
        for item in document
    )


def _is_map(document: Any) -> bool:
    """Return whether it maps contexts to a tool or to several."""
    return isinstance(document, dict) and bool(document) and all(map(_tools, document.values()))


def _tools(tools_field: Any) -> tuple[str, ...]:
    """Return the tools of a context, none if it names none."""
    named = tools_field if isinstance(tools_field, list | tuple) else [tools_field]
    tools = tuple(read_name(tool_name) for tool_name in named if isinstance(tool_name, str))
    return tools if len(tools) == len(named) and all(tools) else ()


def _reference(reference: Any, name: str, at: str) -> Reference:
    source = f"file {name}"
    if isinstance(reference, dict):
        # Refuse a misspelt key, which would be read as a context or not at all
        for key in reference:
            if key not in _KEYS and (meant := misspelt(key, _KEYS)):
                raise DataError(f"{key!r:.40} is not a key of a reference", at=at, hint=f"did you mean {meant!r}?")
    if _is_map(reference) and not _is_reference(reference):
        return Reference(
            source=source, tools={str(context): _tools(tools_field) for context, tools_field in reference.items()}
        )
    if not _is_reference(reference) and reference != []:
        raise DataError("a reference needs `calls` or `path_length`, or maps contexts to tools", at=at)
    record: Record = reference if isinstance(reference, dict) else {"calls": reference}
    calls = record.get("calls")
    if calls is not None and not isinstance(calls, list):
        raise DataError("`calls` of a reference is not a list", at=at)
    length = record.get("path_length")
    if length is not None and whole(length) is None:
        raise DataError(f"`path_length` of a reference is {length!r:.40}, not a whole number of at least 0", at=at)
    if calls is None:
        return Reference(None, whole(length), source=source)
    expected_calls = []
    for item in calls:
        arguments, tool = None, item
        if isinstance(item, dict):
            arguments, tool = item.get("arguments"), item.get("tools") or item.get("tool")
            if not isinstance(arguments, dict | None):
                raise DataError(f"the arguments of an expected call are not an object: {arguments!r:.80}", at=at)
        tools = tuple(read_name(name) for name in (tool if isinstance(tool, list) else [tool]))
        if not tools or not all(tools):
            raise DataError(f"an expected call names no tool: {str(tool)[:80]!r}", at=at)
        bounded = None if arguments is None else bound_value(arguments)
        expected_calls.append(ExpectedCall(tools, bounded if isinstance(bounded, dict) else None))
    return Reference(tuple(expected_calls), whole(length), source=source)
