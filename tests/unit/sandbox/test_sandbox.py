"""The sandbox as its callers see it: outcomes, limits, order, duplicates, isolation."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from support.load import allowed

from markbook.errors import EnvironmentUnfitError
from markbook.sandbox import Job, Sandbox, arun_tests, run_tests, scheduler
from markbook.sandbox.job import LOST, test_result as result_of
from markbook.sandbox.worker import reduce_level
from markbook.types import ErrorKind, Isolation, Limits, Sample, Test


def sample(*tests, canonical="", name="f", **fields):
    return Sample(
        id="s",
        tests=tests or (Test(assertion="func() == 1"),),
        entry_point=name,
        references=(canonical,) if canonical else (),
        **fields,
    )


def outcome_of(code, *tests, limits=Limits(seconds=1.0, wall_seconds=2.0), **options):  # noqa: B008 - frozen
    with Sandbox(workers=1, isolation="weak", **options) as box:
        ((_, found),) = box.run([Job("k", code, sample(*tests), limits)])
    return found


@pytest.mark.parametrize(
    ("code", "limit", "error"),
    [
        ("def f():\n    while True: pass", "cpu", ErrorKind.TIMEOUT),
        ("import time\ndef f(): time.sleep(100)", "wall", ErrorKind.TIMEOUT),
        ("def f(): return [0] * 10**11", "memory", ErrorKind.OTHER),
        ("def f():\n    while True: print('x' * 10000)", "output", ErrorKind.OTHER),
        ("def f():\n    open('big', 'wb').write(bytes(100 << 20))", "file", ErrorKind.OTHER),
    ],
)
def test_each_limit_has_its_own_name(code, limit, error):
    found = outcome_of(code)

    assert (found.limit, found.error, found.passed) == (limit, error, 0)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def f(:", ErrorKind.SYNTAX),
        ("def f(): return unknown", ErrorKind.NAME),
        ("   ", ErrorKind.NO_COMPLETION),
        ("def f(): return 1 / 0", ErrorKind.OTHER),
        ("def f(): return 2", None),
    ],
)
def test_errors_have_the_documented_kinds(code, error):
    assert outcome_of(code).error == error


def test_outcomes_do_not_depend_on_the_number_of_workers():
    codes = [f"def f():\n    return {number % 3}" for number in range(12)] + ["def f(): raise KeyError(1)"]

    def verdicts(workers):
        with Sandbox(workers=workers, isolation="weak") as box:
            jobs = [Job(str(number), code, sample()) for number, code in enumerate(codes)]
            return {job.key: (found.passed, found.error_type) for job, found in box.run(jobs)}

    assert verdicts(1) == verdicts(3)


def test_equal_jobs_run_once_and_are_counted():
    with Sandbox(workers=1, isolation="weak") as box:
        found = list(box.run([Job(str(number), "def f(): return 1", sample()) for number in range(5)]))

        assert [outcome.passed for _, outcome in found] == [1] * 5
        assert box.duplicates == 4


def test_the_adaptive_limit_comes_from_the_right_answer(monkeypatch):
    assert scheduler.ADAPTIVE_LEAST == 3.0
    monkeypatch.setattr(scheduler, "ADAPTIVE_LEAST", 1.0)
    problem = sample(canonical="def f(): return 1")
    slow = "import time\ndef f():\n    end = time.process_time() + 8\n    while time.process_time() < end: pass\n    return 1"

    with Sandbox(workers=1, isolation="weak", adaptive=True) as box:
        ((_, found),) = box.run([Job("k", slow, problem, Limits(seconds=30.0))])

    assert (found.limit, found.passed) == ("cpu", 0)
    assert 0.8 < found.seconds < 3


def test_a_broken_test_is_the_benchmarks_fault():
    found = outcome_of("def f(): return 1", Test(assertion="func( =="), Test(assertion="func() == 1"))

    assert "does not compile" in found.benchmark_fault
    assert [result.passed for result in found.tests] == [False, True]


def test_strict_isolation_refuses_a_lesser_machine():
    with pytest.raises(EnvironmentUnfitError, match="isolation level A is wanted"):
        Sandbox(workers=1, isolation="strict", at_most=Isolation.B).start()


def test_auto_isolation_refuses_below_b():
    with pytest.raises(EnvironmentUnfitError, match="isolation level B is wanted"):
        Sandbox(workers=1, at_most=Isolation.C).start()


def test_no_layers_amount_to_level_d():
    assert reduce_level(Isolation.A, []) == Isolation.D


def test_nothing_of_a_closed_sandbox_is_left():
    box = Sandbox(workers=2, isolation="weak")
    box.start()
    pids, folders = (
        [worker.pid for worker in box._worker_pool.workers],
        [worker._scratch for worker in box._worker_pool.workers],
    )

    box.close()

    assert not any(Path(folder).exists() for folder in folders)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("made", [0, 1])
def test_where_no_process_can_be_made_that_is_said_and_nothing_is_left(tmp_path, monkeypatch, made):
    start, started = subprocess.Popen, []

    def refuse(*given, **named):
        if len(started) == made:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        started.append(start(*given, **named))
        return started[-1]

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", refuse)
    before = len(list(Path("/proc/self/fd").iterdir()))

    with pytest.raises(EnvironmentUnfitError, match="Resource temporarily unavailable"):
        Sandbox(workers=2, isolation="weak").start()

    assert (list(tmp_path.iterdir()), len(started)) == ([], made)
    assert all(process.poll() is not None for process in started)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_program_of_asserts_can_be_run_in_one_call():
    found = run_tests("def f(x): return x + 1", "assert f(1) == 2\nassert f(2) == 4", isolation="weak", entry_point="f")

    assert [part.passed for part in found.tests[0].parts] == [True, False]


def test_several_calls_may_wait_at_once():
    async def both():
        return await asyncio.gather(
            *(
                arun_tests(f"def f(): return {n}", [Test(assertion="f() == 1")], isolation="weak", entry_point="f")
                for n in (1, 2)
            )
        )

    assert [found.passed for found in asyncio.run(both())] == [1, 0]


def test_a_task_that_a_worker_has_forgotten_is_told_again():
    tests = [Test(program=f"assert f() == {number}  # {'x' * (6 << 20)}") for number in range(4)]
    samples = [Sample(id=str(number), tests=(test,), entry_point="f") for number, test in enumerate(tests)]
    jobs = [
        Job(f"{turn} {number}", f"def f():\n    return {number} + {turn}", sample, Limits(20))
        for turn in range(2)
        for number, sample in enumerate(samples)
    ]

    with Sandbox(workers=1, isolation="weak") as box:
        found = {}
        for job in jobs:  # one after the other, so that the order is this one
            found.update((key.key, outcome.passed) for key, outcome in box.run([job]))

    assert found == {job.key: int(job.key.startswith("0")) for job in jobs}


@pytest.mark.parametrize("level", [Isolation.A, Isolation.B])
@pytest.mark.parametrize("through_a_link", [False, True])
def test_packages_of_an_environment_among_temporary_files_can_be_imported(tmp_path, level, through_a_link):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    (packages,) = (tmp_path / "env" / "lib").glob("python3*/site-packages")
    (packages / "only_here.py").write_text("ANSWER = 42\n")
    place = tmp_path / "env"
    if through_a_link:
        place = tmp_path / "link"
        place.symlink_to(tmp_path / "env")
    sample = Sample(id="x", tests=(Test(program="assert f() == 42"),), entry_point="f")
    code = "import only_here, tempfile\ndef f():\n    tempfile.TemporaryFile().close()\n    return only_here.ANSWER"

    with Sandbox(workers=1, isolation="weak", python=place / "bin" / "python", at_most=level) as box:
        ((_, outcome),) = box.run([Job("", code, sample, Limits(10))])
        reached = box.level

    assert (outcome.passed, outcome.error_message, reached) == (1, "", level)


def test_a_part_of_a_test_is_never_trusted_more_than_the_test():
    found = result_of({"p": False, "v": "in_process", "parts": [{"p": True, "v": "separated"}]})

    assert [part.verdict for part in found.parts] == ["in_process"]


_FORKS = """
import os, sys
from pathlib import Path
from markbook.sandbox import run_tests
from markbook.sandbox.controller import _IDLE

def run():
    outcome = run_tests("def f(x): return x + 1", "assert f(1) == 2", entry_point="f")
    ((box,),) = _IDLE.values()
    (worker,) = box._worker_pool.workers
    return outcome.passed, worker.pid, Path(worker._scratch)

passed, pid, folder = run()
child = os.fork()
if child == 0:
    again, other_pid, _ = run()
    sys.exit(0 if (again, other_pid != pid) == (1, True) else 9)
print(passed, os.waitpid(child, 0)[1], folder.exists(), run() == (passed, pid, folder))
"""


def test_a_process_that_was_forked_runs_tests_in_workers_of_its_own():
    """It ends by itself, and with it the workers that it knows: those of its parent go on and keep their folder."""
    completed = subprocess.run([sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=120, check=False)

    assert (completed.stdout, completed.returncode) == ("1 0 True True\n", 0), completed.stderr


def test_only_the_first_answer_is_waited_for_as_long_as_a_prompt_may_take(monkeypatch):
    monkeypatch.setattr(scheduler, "PROMPT_SECONDS", 60.0)
    monkeypatch.setattr(scheduler, "_GRACE", 0.5)
    program = "import select\nfor _ in range(f(1) // 9):\n    select.select([], [], [], 1000)\nassert f(1) == 1\n"
    sample = Sample(
        "one", tests=(Test(program=program),), entry_point="f", prompt_code="LIMIT = 1\n", references=(answer := "def f(x): return 1\n",)
    )  # fmt: skip
    jobs = [
        Job("slow", "def f(x): return 9\n", sample, Limits(0.2, wall_seconds=0.5), model="a"),
        Job("right", answer, sample, Limits(5), model="b"),
    ]

    with Sandbox(workers=1, isolation="weak") as box:
        begun = time.monotonic()
        outcomes = {job.key: outcome for job, outcome in box.run(jobs)}

    assert outcomes["right"].passed == 1
    assert LOST in outcomes["slow"].flags
    assert time.monotonic() - begun < allowed(60)
