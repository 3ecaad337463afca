"""A program and a judge in many turns, each in a worker of its own."""

from __future__ import annotations

import os
import select
import signal
from contextlib import ExitStack

import pytest

from markbook.sandbox.program import Phase, ProgramRun, ProgramSandbox
from markbook.sandbox.turns import Seats, Turn, WorkerRole


def echo(word):
    return ProgramRun(word, {}, (Phase(("/bin/echo", word)),))


def attempt(seat):
    """Three turns, in each of which both sides print its number."""
    printed = []
    for number in "123":
        executed = yield Turn(program=echo(f"program {number}"), judge=echo(f"judge {number}"))
        printed.append([executed[side][0].stdout.decode() for side in (WorkerRole.PROGRAM, WorkerRole.JUDGE)])
    return printed


@pytest.mark.parametrize("ended", [(), (WorkerRole.JUDGE,), (WorkerRole.PROGRAM,), tuple(WorkerRole)])
def test_workers_that_have_ended_while_they_were_idle_cost_an_attempt_nothing(ended):
    """Both workers of the seat are made anew, and each is given its part of the turn once."""
    with ExitStack() as stack:
        boxes = {
            side: stack.enter_context(ProgramSandbox(["/usr", "/bin"], workers=1, isolation="weak"))
            for side in WorkerRole
        }
        for side, box in boxes.items():
            box.start()
            if side in ended:
                worker = box.worker_pool.workers[0]
                os.kill(worker.pid, signal.SIGKILL)
                assert select.select([worker.sock], [], [], 30)[0]
        seats = Seats(boxes[WorkerRole.PROGRAM].worker_pool, boxes[WorkerRole.JUDGE].worker_pool)

        done = list(seats.run([("a", attempt), ("b", attempt)]))

    turns = [[f"program {number}\n", f"judge {number}\n"] for number in "123"]
    assert done == [("a", turns), ("b", turns)]
