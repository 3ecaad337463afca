"""No attempt touches the next, nor the machine: what one leaves behind is gone, bounded, or named in SECURITY.md."""

import contextlib
import os
import time
from pathlib import Path

import pytest

from markbook.sandbox import Job, Sandbox
from markbook.sandbox.guest import scratch
from markbook.types import ErrorKind, Isolation, Limits, Sample, Test, Verdict

LEVELS = [Isolation.A, Isolation.B]
HONEST = "def f(*_):\n    return 1\n"
LIMITS = Limits(seconds=2.0, wall_seconds=6.0, memory_bytes=1 << 30)


@contextlib.contextmanager
def sandbox(level):
    with Sandbox(workers=1, isolation="weak", at_most=level, dedupe=False) as box:
        if box.level != level:
            pytest.skip(f"this machine reaches level {box.level} at most")
        yield box


def problem(*tests, canonical=HONEST):
    return Sample(
        id="one",
        tests=tests or (Test(assertion="func() == 1"),),
        entry_point="f",
        references=(canonical,) if canonical else (),
        meta={"object": "function"},
    )


def run(box, code, sample=None, limits=LIMITS):
    ((_, outcome),) = box.run([Job("k", code, sample or problem(), limits)])
    return outcome


def pid_of(box):
    return box._crew.workers[0].pid


def said(outcome):
    """Return what the solution raised to say something."""
    return outcome.tests[0].error_message


# an examiner that one attempt has spoilt


@pytest.mark.parametrize("level", LEVELS)
def test_an_examiner_ended_by_its_alarm_fails_the_attempt_once(level):
    endless = problem(Test(assertion="sum(func()) == 6"), canonical="def f(): return [1, 2, 3]")
    with sandbox(level) as box:
        run(box, "def f(): return [1, 2, 3]", endless)  # its calibration is not what is counted
        before = pid_of(box)

        found = run(box, "def f(): return range(10**18)", endless, Limits(seconds=0.5))
        after = pid_of(box)
        honest = run(box, "def f(): return (3, 2, 1)", endless)
        last = pid_of(box)

    assert (found.passed, found.limit, found.error) == (0, "cpu", ErrorKind.TIMEOUT)
    assert found.tests[0].verdict == Verdict.SEPARATED
    assert before != after == last  # one worker was spent, not two
    assert honest.passed == 1


@pytest.mark.parametrize("level", LEVELS)
def test_a_stack_overflow_in_the_examiner_costs_one_retry_and_no_neighbour(level):
    held = problem(Test(assertion="len({func()}) == 1"), canonical="def f(): return (1,)")
    deep = "def f():\n    made = ()\n    for _ in range(400_000):\n        made = (made,)\n    return made"
    with sandbox(level) as box:
        found = dict.fromkeys(("before", "deep", "after"))
        for job, outcome in box.run(
            Job(key, deep if key == "deep" else "def f(): return (2,)", held, LIMITS) for key in found
        ):
            found[job.key] = outcome.passed

    assert found == {"before": 1, "deep": 0, "after": 1}


KEEPS = problem(
    Test(
        program="import colorsys\ncolorsys.kept = [getattr(colorsys, 'kept', None), bytes(f())]\n"
        "assert len(bytes(3 << 30)) == 3 << 30"
    ),
    canonical="def f(): return 1",
)
"""A test that leaves in its process what a solution makes it leave there."""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", ["1 << 20", "2 << 30"])
def test_an_examiner_that_grew_is_not_there_for_the_next_attempt(level, size):
    with sandbox(level) as box:
        run(box, "def f(): return 1 + 1", KEEPS)
        before = pid_of(box)
        run(box, f"def f(): return {size}", KEEPS)
        after = pid_of(box)
        honest = run(box, "def f(): return 3", KEEPS)

    assert honest.passed == 1
    assert (before == after) == (size == "1 << 20")


@pytest.mark.parametrize("level", LEVELS)
def test_an_examiner_that_met_a_memory_error_is_not_there_for_the_next_attempt(level):
    lists = problem(Test(assertion="len([0] * func()) == 1"), canonical=HONEST)
    with sandbox(level) as box:
        run(box, HONEST, lists)
        before = pid_of(box)
        found = run(box, "def f(): return 10**12", lists)
        after = pid_of(box)
        honest = run(box, HONEST + "#", lists)

    assert (found.passed, found.limit, honest.passed) == (0, "memory", 1)
    assert before != after


# what an attempt leaves in its folder

NESTED = "for _ in range(1600):\n    os.mkdir('d' * 99)\n    os.chdir('d' * 99)\n"
CLOSED = "os.makedirs('a/b/c')\nos.chmod('a/b', 0)\nos.chmod('a', 0)\nos.mkdir('d', 0)\n"
ODD = "for n in range(1, 255):\n    if n not in (46, 47): open(bytes([n]), 'w').close()\nos.makedirs(b'\\xff/\\n')\n"
LINKS = "os.symlink('/', 'root')\nos.symlink('.', 'self')\nos.mkfifo('pipe')\nos.symlink('nowhere', 'gone')\n"
SHUT = "os.mkdir('in')\ntry: os.chmod('.', 0)\nexcept OSError: pass  # at level A it may be another user's\n"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("made", [NESTED, CLOSED, ODD, LINKS, SHUT], ids=["nested", "closed", "odd", "links", "shut"])
def test_what_an_attempt_leaves_in_its_folder_is_gone_before_the_next(level, made):
    sees = problem(Test(assertion="func() == []"), canonical="def f(): return []")
    with sandbox(level) as box:
        run(box, "def f(): return []", sees)
        before, folder = pid_of(box), box._crew.workers[0]._scratch
        left = run(box, f"import os\ndef f(): return []\n{made}", sees)
        found = run(box, "import os\ndef f(): return os.listdir('.')", sees)
        after = pid_of(box)

    assert (left.passed, found.passed) == (1, 1)
    assert before == after
    assert not Path(folder).exists()


def test_the_deepest_tree_and_closed_folders_are_removed_by_the_user_too(tmp_path):
    folder = tmp_path / "scratch"
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d" * 9, dir_fd=here)
        below = os.open("d" * 9, os.O_RDONLY, dir_fd=here)
        os.symlink(kept, "link", dir_fd=here)
        os.close(here)
        here = below
    os.close(here)

    scratch.empty(str(folder))

    assert list(folder.iterdir()) == []
    assert [path.name for path in kept.iterdir()] == ["file"]


def test_a_folder_that_cannot_be_removed_is_named_and_ends_no_run(monkeypatch, caplog):
    def fails(_):
        raise RecursionError

    monkeypatch.setattr(scratch, "empty", fails)

    with Sandbox(workers=1, isolation="weak") as box:
        folder, pid = box._crew.workers[0]._scratch, pid_of(box)
        found = run(box, HONEST)

    assert found.passed == 1
    assert folder in caplog.text
    assert processes_of(pid) == []
    Path(folder).rmdir()


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_runs_on_once_a_sandbox_is_left_early(level):
    endless = "def f():\n    while True: pass"
    simple = problem(Test(assertion="func() == 1"), canonical="")
    with sandbox(level) as box:
        group = pid_of(box)
        jobs = box.run([Job("quick", HONEST + "#" * 99, simple), Job("endless", endless, simple, Limits(8.0))])
        next(jobs)
        time.sleep(0.3)
        running = processes_of(group)
        jobs.close()
        left = processes_of(group)

    assert len(running) >= 4  # supervisor, examiner, zygote and the attempt
    assert left == []


def processes_of(session):
    """Return the numbers of the processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            if entry.name.isdigit() and int(status[3]) == session and status[0] != "Z":
                found.append(int(entry.name))
    return found
