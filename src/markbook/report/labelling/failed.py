"""Traces that failed, to be labelled by why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from markbook.errors import DataError
from markbook.judge.drawing import Drawn, LabelItem, draw
from markbook.report.labelling.session import Seen
from markbook.report.steps import shown_steps
from markbook.trace import Trace
from markbook.traces import read_traces


def drawn_traces(path: str, count: int, seed: int) -> tuple[list[Drawn], Callable[[LabelItem], Seen]]:
    """Return which traces of a file are labelled, all with one chance, and what there is to see of each.

    Those that the log says succeeded are left out.

    Raises:
        DataError: the file holds no trace, or each of them succeeded.
    """
    items = [LabelItem(name) for name, trace in _name_traces(path) if trace.success is not True]
    if not items:
        raise DataError("every trace here succeeded: none is to be labelled", at=path)
    drawn = draw(items, count, seed=seed, share=0.0)
    ids = {drawn_item.item.id for drawn_item in drawn}
    shown_traces = {name: _show_trace(trace) for name, trace in _name_traces(path) if name in ids}
    return drawn, lambda item: shown_traces[item.id]


def _name_traces(path: str) -> Iterator[tuple[str, Trace]]:
    """Yield the traces with a name each: their own where that is the first of its kind."""
    names_used: set[str] = set()
    for number, trace in enumerate(read_traces(Path(path)), start=1):
        name = trace.id or f"run #{number}"
        while name in names_used:  # one may be called as another is numbered
            name = f"{name} #{number}"
        names_used.add(name)
        yield name, trace


def _show_trace(trace: Trace) -> Seen:
    prompt = f"Task: {trace.task}" if trace.task else ""
    return Seen(prompt, (), steps=shown_steps(trace))
