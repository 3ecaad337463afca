"""How much longer things take while the machine does other work: what a test allows is stretched by it."""

import time

PATIENCE = 240
"""Seconds after which something that has to come to an end is taken to hang, on the busiest machine; pytest ends a test
that takes 300."""
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
