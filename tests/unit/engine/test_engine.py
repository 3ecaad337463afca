"""The local engine."""

import operator
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.load import PATIENCE, allowed

from markbook.engine import Inline, local, open_engine
from markbook.errors import ConfigError


def test_one_worker_is_this_process():
    assert isinstance(local(1), Inline)


def test_inline_hands_results_and_errors_on():
    with Inline() as executor:
        assert executor.submit(operator.add, 1, 2).result() == 3
        assert list(executor.map(abs, [-1, 2])) == [1, 2]
        assert isinstance(executor.submit(operator.truediv, 1, 0).exception(), ZeroDivisionError)


def meet(mine, other):
    """Return whether the other call is under way at the same time."""
    mine.touch()
    deadline = time.monotonic() + PATIENCE
    while not other.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return other.exists()


def test_two_workers_do_the_work_at_once(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    with local(2) as executor:
        assert list(executor.map(meet, [a, b], [b, a])) == [True, True]
        assert list(executor.map(abs, [-1, -2, -3])) == [1, 2, 3]


def test_no_worker_is_an_error():
    with pytest.raises(ConfigError, match="0 workers"):
        local(0)


def one_thread(workers):
    return ThreadPoolExecutor(workers)


def test_what_waits_for_a_worker_is_not_begun_after_an_error():
    go_on = threading.Event()
    with pytest.raises(ZeroDivisionError), open_engine("test_engine:one_thread", 1) as executor:
        futures = [executor.submit(go_on.wait), executor.submit(abs, -1)]
        operator.truediv(1, 0)
    go_on.set()

    assert (futures[0].result(), futures[1].cancelled()) == (True, True)


def test_workers_end_when_their_parent_is_killed():
    program = (
        "import os, time; from markbook.engine import local\n"
        "pool = local(2)\n"
        "print(*{pool.submit(os.getpid).result() for _ in range(8)}, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        workers = [int(pid) for pid in parent.stdout.readline().split()]
        parent.kill()

    deadline = time.monotonic() + allowed(10)
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert workers
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
