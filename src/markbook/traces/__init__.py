"""Agent runs from any framework's log, as one `Trace`.

Readers are plugins of the group `markbook.traces`. A reader is an object with

- `name`: what `--format` and `Trace.format` call it;
- `sniff(probe) -> int`: 0 (not mine) to 100 (certainly mine), from the content alone;
- `read(source) -> Iterator[Trace]`: the runs that the file holds, one by one.

What a reader does not understand it counts in `Trace.unrecognised`; it never drops a thing silently.
"""

from __future__ import annotations

from markbook.traces.reading import detect, read_trace, read_traces

__all__ = ["detect", "read_trace", "read_traces"]
