"""How much longer things take while the machine does other work: what a test allows is stretched by it."""

import time

PROBE = 0.05
"""Seconds of processor time that the measurement takes."""


def slowdown():
    """Return by how much a process is slowed down now: 1 where it has a processor to itself."""
    began, used = time.monotonic(), time.process_time()
    while time.process_time() - used < PROBE:
        pass
    return max(1.0, (time.monotonic() - began) / PROBE)


def allowed(seconds):
    """Return how long may be waited for what takes so many seconds at most on a machine that does nothing else."""
    return seconds * 2 * slowdown()
