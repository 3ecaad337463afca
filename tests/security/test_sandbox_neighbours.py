"""No attempt touches the next, nor the machine: what one leaves behind is gone, bounded, or named in SECURITY.md."""

import contextlib
import functools
import importlib
import os
import signal
import time
import types
from pathlib import Path

import pytest
from support.load import PATIENCE

from markbook.sandbox import Job, Sandbox
from markbook.sandbox.guest import scratch
from markbook.sandbox.guest.examination.separation import _UNCHANGING, _is_unchanging
from markbook.sandbox.worker import Worker
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
    )


def run(box, code, sample=None, limits=LIMITS):
    ((_, outcome),) = box.run([Job("k", code, sample or problem(), limits)])
    return outcome


def pid_of(box):
    return box._worker_pool.workers[0].pid


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
    Test(program="kept = [bytes(f())]\nkept += [kept]\ndel kept\nassert len(bytes(3 << 30)) == 3 << 30"),
    canonical="def f(): return 1",
)
"""A test that leaves in its process what a solution makes it leave there."""


def examiners_for(level, sample, codes, monkeypatch):
    """Return how many tests these answers pass, each run in its turn, and how many examiners there were."""
    begun, begin = [], Worker.examine_anew
    monkeypatch.setattr(Worker, "examine_anew", lambda *given: (begun.append(1), begin(*given))[1])
    with sandbox(level) as box:
        outcomes = {job.key: outcome for job, outcome in box.run(Job(code, code, sample, LIMITS) for code in codes)}
    return [outcomes[code].passed for code in codes], len(begun)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", ["1 << 20", "2 << 30"])
def test_an_examiner_that_grew_is_not_there_for_the_next_attempt(level, size, monkeypatch):
    codes = ["def f(): return 1 + 1 # the longest comes first", f"def f(): return {size} # then", "def f(): return 3"]

    passed, begun = examiners_for(level, KEEPS, codes, monkeypatch)

    assert (passed[0], passed[2]) == (1, 1)
    assert (begun == 1) == (size == "1 << 20")


@pytest.mark.parametrize("level", LEVELS)
def test_an_examiner_that_met_a_memory_error_is_not_there_for_the_next_attempt(level, monkeypatch):
    lists = problem(Test(assertion="len([0] * func()) == 1"), canonical=HONEST)

    found = examiners_for(level, lists, [HONEST + "# the longest", "def f(): return 10**12", HONEST], monkeypatch)

    assert found == ([1, 0, 1], 2)


COUNTS = "def f(items): return len(items)"
EMPTIES = "def f(items):\n    items.clear()\n    return 0"
LASTING = {
    "list of a module": ("import keyword\nassert f(keyword.kwlist) > 0", COUNTS, EMPTIES),
    "list by another name": ("from keyword import kwlist as words\nassert f(words) > 0", COUNTS, EMPTIES),
    "dict of a module": ("import mimetypes\nassert f(mimetypes.suffix_map) > 0", COUNTS, EMPTIES),
    "names of a module": ("import collections\nassert f(collections.__all__) > 0", COUNTS, EMPTIES),
    "module of the solution's": (
        "assert f(copy.dispatch_table) > 0",
        f"import copy\n{COUNTS}",
        f"import copy\n{EMPTIES}",
    ),
    "set back too late": (
        "import calendar as c\nassert c.firstweekday() == 0\nc.setfirstweekday(6)\nf([])\nc.setfirstweekday(0)\nassert f([]) == 0",
        COUNTS,
        "def f(items): raise ValueError",
    ),
    "attribute of a module's object": (
        "import decimal\nassert decimal.DefaultContext.prec == 28\ndecimal.DefaultContext.prec = 5\nassert f([]) == 0",
        COUNTS,
        EMPTIES,
    ),
    "attribute of a class": (
        "from string import Template\nassert Template.delimiter == '$'\nTemplate.delimiter = '%'\nassert f([]) == 0",
        COUNTS,
        EMPTIES,
    ),
}


@pytest.mark.parametrize("name", LASTING)
def test_what_one_attempt_changes_in_a_module_of_the_examiners_the_next_does_not_find(name):
    program, right, wrong = LASTING[name]
    sample = problem(Test(program=program), canonical=right)
    with sandbox(Isolation.B) as box:
        answers = {"wrong": f"{wrong}\n# the longest comes first", "right": right}
        passed = {job.key: out.passed for job, out in box.run(Job(k, c, sample, LIMITS) for k, c in answers.items())}

    assert passed["right"] == 1


def test_an_examiner_stays_where_only_what_a_test_made_was_changed(monkeypatch):
    program = "import math\nitems = [3, 1, 2]\nassert f(items) + math.floor(.5) == 3\nassert len(items) == 0"
    codes = [f"def f(items):\n    count = len(items)\n    items.clear()\n    return count # {word}" for word in "abc"]

    found = examiners_for(Isolation.B, problem(Test(program=program), canonical=codes[0]), codes, monkeypatch)

    assert found == ([1, 1, 1], 1)


def test_nothing_can_be_changed_that_is_listed_as_unchanging():
    kinds = (type, types.FunctionType, types.BuiltinFunctionType, str, float, int, tuple, complex, types.NoneType)
    kinds += (type(getattr(functools, "Placeholder", None)),)  # from Python 3.14 on, and nobody can write to it
    for module, listed in _UNCHANGING.items():
        if module not in ("__future__", "pytest", "random"):  # the last of which is another one for each attempt
            public = [name for name in listed or dir(importlib.import_module(module)) if _is_unchanging(module, name)]
            values = [getattr(importlib.import_module(module), name) for name in public]
            others = [value for value in values if not (isinstance(value, kinds) or callable(value))]
            assert [value.__name__ for value in others if value.__name__ not in (*_UNCHANGING, "numpy.testing")] == []


# the machine's files, as far as landlock does not govern them

CHANGES = """
import ctypes, os, shutil
call = ctypes.CDLL(None, use_errno=True).syscall
def f():
    path, name = {path!r}, {path!r}.encode()
    for number in (90, 91, 92, 93, 94, 132, 188, 189, 197, 198, 235):  # by path, or a descriptor that is none
        call(number, name, b"user.x", b"1", 1, 0)
    for number in (260, 261, 268, 280, 452, 463, 466, 469):  # beside a folder's descriptor
        call(number, -100, name, 0, 0, 0)
    for change in (lambda: os.chmod(path, 0), lambda: os.utime(path, (5, 5)), lambda: os.chown(path, 1, 1),
                   lambda: os.setxattr(path, "user.x", b"1"), lambda: os.utime(path), lambda: os.removexattr(path, "user.y")):
        try:
            change()
        except OSError:
            pass
    return 1
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are this machine's")
@pytest.mark.parametrize("level", LEVELS)
def test_nothing_about_a_file_of_the_user_can_be_changed(level, tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    with contextlib.suppress(OSError):  # not every file system has them
        os.setxattr(file, "user.y", b"2")
    before = all_about(file)
    with sandbox(level) as box:
        found = run(box, CHANGES.format(path=str(file)))

    assert found.passed == 1, said(found)
    assert all_about(file) == before


def all_about(path):
    facts = path.stat()
    return facts.st_mode, facts.st_uid, facts.st_gid, facts.st_atime_ns, facts.st_mtime_ns, sorted(os.listxattr(path))


@pytest.mark.parametrize("level", LEVELS)
def test_no_device_tells_the_next_attempt_anything(level):
    code = "import os\ndef f():\n    try: os.utime('/dev/null')\n    except OSError: pass\n    return 1"
    changes = []
    with sandbox(level) as box:
        while not changes or (changes[-1] and len(changes) < 3):  # whatever else runs on the machine may touch it too
            before = Path("/dev/null").stat()
            found = run(box, code)
            written = run(box, "def f():\n    with open('/dev/null', 'w') as file: file.write('x')\n    return 1")
            after = Path("/dev/null").stat()
            assert (found.passed, written.passed) == (1, 1)
            changes.append((before.st_mtime_ns, before.st_atime_ns) != (after.st_mtime_ns, after.st_atime_ns))
            code += "\n"

    assert changes[-1] is False


SENDS = """
import fcntl, os
def f():
    fcntl.fcntl(1, fcntl.F_SETFL, os.O_RDWR | os.O_NONBLOCK | os.O_APPEND)
    fcntl.flock(1, fcntl.LOCK_EX)
    for number in range(3, 256):
        try:  # what a library keeps open
            os.lseek(number, 5, os.SEEK_SET)
            fcntl.fcntl(number, fcntl.F_SETFL, os.O_APPEND)
        except OSError:
            continue
    return []
"""
RECEIVES = """
import fcntl, os
def f():
    found = []
    if fcntl.fcntl(1, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND):
        found.append("flags")
    try:
        fcntl.flock(os.open(os.devnull, os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        found.append("lock")
    for number in range(256):
        try:
            os.fstat(number)
        except OSError:
            continue
        try:
            if os.lseek(number, 0, os.SEEK_CUR) or fcntl.fcntl(number, fcntl.F_GETFL) & os.O_APPEND:
                found.append("place")
        except OSError:
            pass
        found.append(number)
    return found
"""


@pytest.mark.parametrize("level", LEVELS)
def test_no_open_file_tells_the_next_attempt_anything(level):
    with sandbox(level) as box:
        sent = run(box, SENDS, problem(Test(assertion="func() == []"), canonical=""))
        found = run(box, RECEIVES, problem(Test(assertion="all(type(n) is int for n in func())"), canonical=""))

    assert (sent.passed, found.passed) == (1, 1), said(found)


COPIES = """
import os, pathlib, shutil, tarfile, tempfile, zipfile
def f():
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        (top / "a").write_text("x")
        (top / "a").touch()
        (top / "a").chmod(0o600)
        shutil.copy(top / "a", top / "b")
        shutil.copy2(top / "a", top / "c")
        os.makedirs(top / "d" / "e")
        shutil.copytree(top / "d", top / "f")
        shutil.move(top / "f", top / "g")
        with zipfile.ZipFile(top / "z.zip", "w") as made:
            made.write(top / "a", "a")
        with zipfile.ZipFile(top / "z.zip") as made:
            made.extractall(top / "unzipped")
        with tarfile.open(top / "t.tar", "w") as made:
            made.add(top / "d", "d")
        with tarfile.open(top / "t.tar") as made:
            made.extractall(top / "untarred")
        return len(os.listdir(folder))
"""


@pytest.mark.parametrize("level", LEVELS)
def test_what_copies_and_unpacks_files_works(level):
    with sandbox(level) as box:
        found = run(box, COPIES, problem(Test(assertion="func() == 9"), canonical=""))

    assert found.passed == 1, said(found)


THREADS = """
import threading
def f():
    threading.stack_size(1 << 16)
    stop = threading.Event()
    made = []
    try:
        for _ in range({count}):
            made.append(threading.Thread(target=stop.wait, daemon=True))
            made[-1].start()
    except RuntimeError as error:
        if {count} > 64 and len(made) > 66:
            raise ValueError(f"{{len(made)}} threads")
        raise
    finally:
        stop.set()
    for thread in made:
        thread.join()
    return len(made)
"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("most", "count", "limit"), [(64, 40, ""), (64, 400, "processes"), (100, 90, "")])
def test_threads_of_an_attempt_are_limited(level, most, count, limit):
    counted = problem(Test(assertion=f"func() == {count}"), canonical="")
    with sandbox(level) as box:
        run(box, HONEST, counted)  # another limit before, which is not to hold for the next
        found = run(box, THREADS.format(count=count), counted, Limits(seconds=9.0, processes=most))

    assert (found.passed, found.limit) == (int(not limit), limit), said(found)


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
        before, folder = pid_of(box), box._worker_pool.workers[0]._scratch
        left = run(box, f"import os\ndef f(): return []\n{made}", sees)
        found = run(box, "import os\ndef f(): return os.listdir('.')", sees)
        after = pid_of(box)

    assert (left.passed, found.passed) == (1, 1)
    assert before == after
    assert not Path(folder).exists()


MANY = "import os, time\ndef f():\n    for n in range({count}):\n        os.makedirs(f'{{n % 9}}/{{n % 7}}', exist_ok=True)\n"
MANY += "        open(f'{{n % 9}}/{{n % 7}}/{{n}}', 'wb').write(bytes({size}))\n    time.sleep({rest})\n    return 1"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("count", "size", "limit"), [(30, 1 << 20, ""), (80, 1 << 20, "file"), (1000, 1, ""), (5000, 1, "file")]
)
def test_all_files_of_an_attempt_together_are_limited(level, count, size, limit):
    with sandbox(level) as box:
        found = run(box, MANY.format(count=count, size=size, rest=0.5), limits=Limits(seconds=20.0))
        honest = run(box, HONEST)

    assert (found.limit, found.passed, honest.passed) == (limit, int(not limit), 1)


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
        folder, pid = box._worker_pool.workers[0]._scratch, pid_of(box)
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
        begun = becomes(lambda: len(processes_of(group)) >= 4)  # supervisor, examiner, zygote and the attempt
        jobs.close()
        left = processes_of(group)

    assert begun
    assert left == []


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_runs_on_once_a_supervisor_was_killed(level):
    endless = (
        "def f():\n    import ctypes\n    ctypes.CDLL(None).prctl(1, 0)  # not to be told of its parent's end\n"
        "    while True: pass"
    )
    with sandbox(level) as box:
        session = pid_of(box)
        jobs = box.run([Job("quick", HONEST + "#" * 199, problem()), Job("endless", endless, problem(), Limits(8.0))])
        next(jobs)
        begun = becomes(lambda: len(processes_of(session)) >= 4)
        os.kill(session, signal.SIGKILL)
        ended = becomes(lambda: processes_of(session) == [])
        jobs.close()

    assert (begun, ended) == (True, True)


def becomes(true):
    """Wait for what is to become true; return whether it did."""
    end = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def processes_of(session):
    """Return the numbers of the processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            if entry.name.isdigit() and int(status[3]) == session and status[0] != "Z":
                found.append(int(entry.name))
    return found
