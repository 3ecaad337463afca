"""One attempt to execute, and its form on the wire."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from markbook.types import Limits, Sample

WALL_FACTOR = 3.0
"""How many times its CPU limit an attempt that mostly sleeps may take; see `wall_limits`."""
BUSY_FACTOR = 20.0
"""The same for one that computes, or waits for a processor that others use."""


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt to execute."""

    key: str
    """The caller's own name for it."""
    code: str
    """The complete source to run: prompt and completion assembled, fences removed."""
    sample: Sample
    limits: Limits = field(default_factory=Limits)


def wall_limits(limits: Limits) -> tuple[float, float]:
    """Return the wall time for an attempt that sleeps, and for one that keeps computing.

    Only the CPU limit decides about the second kind, so that a loaded machine changes no verdict; its wall limit is
    there against a worker that gets no processor at all.
    """
    if limits.wall_seconds is not None:
        return limits.wall_seconds, max(limits.wall_seconds, BUSY_FACTOR * limits.seconds)
    return WALL_FACTOR * limits.seconds + 2, BUSY_FACTOR * limits.seconds + 10


def limits_on_wire(limits: Limits) -> list[float]:
    """Return the limits in the order that the examiner expects."""
    sleeping, busy = wall_limits(limits)
    return [
        limits.seconds,
        sleeping,
        busy,
        limits.memory_bytes,
        limits.file_bytes,
        limits.processes,
        limits.output_bytes,
    ]


def task_text(sample: Sample) -> str:
    """Return what the examiner needs of a sample, as text: the same text for the same tests."""
    tests = [
        {
            name: value
            for name, value in (
                ("setup", test.setup),
                ("assertion", test.assertion),
                ("inspection", list(test.inspection)),
                ("pattern", test.pattern),
                ("program", test.program),
            )
            if value
        }
        for test in sample.tests
    ]
    spec = {
        "object": str(sample.meta.get("object", "program")),
        "name": sample.entry_point or str(sample.meta.get("name", "")),
        "prompt": str(sample.meta.get("prompt_code", "")),
        "tests": tests,
    }
    return json.dumps(spec, sort_keys=True, separators=(",", ":"))


def digest(*parts: str) -> str:
    """Return a name for these texts together."""
    total = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()
