"""Nothing that an attempt leaves behind is there for the next one, and none is told what another has read."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import TESTS

from markbook.sandbox import Job, Sandbox
from markbook.sandbox.worker import sweep_scratch
from markbook.types import Isolation, Limits, ProblemType, Sample, Test

LEVELS = [Isolation.A, Isolation.B]
LIMITS = Limits(seconds=3.0)
ANYBODY = 65534
HERE = TESTS


def attempts(level, codes, *, setup="", stdin=None):
    """Run solutions one after the other in one worker; return of each whether it passed, its label and its error."""
    if stdin is not None:
        sample = Sample("s", tests=(Test(stdin=stdin, stdout="yes\n"),), problem_type=ProblemType.STDIN)
    else:
        test = Test(setup=setup, assertion="func() == 1")
        sample = Sample("s", tests=(test,), entry_point="f", problem_type=ProblemType.FUNCTION)
    found = []
    with Sandbox(workers=1, at_most=level, isolation="weak", dedupe=False) as box:
        for code in codes:
            ((_, outcome),) = box.run([Job("k", code, sample, LIMITS)])
            (test,) = outcome.tests
            found.append([test.passed, str(test.verdict.value), test.error_type, test.error_message])
            assert outcome.isolation == level
    return found


def as_anybody(level, codes, options):
    """Return what `attempts` gives where an ordinary user calls it."""
    if os.geteuid() != 0:
        return attempts(level, codes, **options)
    begin = (
        f"import os, sys; sys.path += {[str(HERE), *filter(None, sys.path)]!r}\n"
        f"os.setgroups([]); os.setresgid({ANYBODY}, {ANYBODY}, {ANYBODY}); os.setresuid({ANYBODY}, {ANYBODY}, {ANYBODY})\n"
        "os.environ['HOME'] = '/nonexistent'\n"
        "import json, test_sandbox_remains as here\n"
    )
    runs = "level, codes, options = json.loads(sys.argv[1])\nlevel = here.Isolation(level)\n"
    runs += "print(json.dumps(here.attempts(level, codes, **options)))\n"
    said = json.dumps([level.value, codes, options])
    # an interpreter in root's home is nothing that another user can start
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        if call_python(python, begin).returncode == 0:
            done = call_python(python, begin + runs, said)
            break
    else:
        pytest.skip("an ordinary user has no such interpreter here")
    if "assert outcome.isolation" in done.stderr:
        pytest.skip("an ordinary user has no such level here")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def call_python(python, script, *arguments):
    if not Path(python).exists():
        return subprocess.CompletedProcess(python, 1)
    return subprocess.run([python, "-c", script, *arguments], capture_output=True, text=True, check=False, cwd="/")


CALLS = """
import ctypes, errno, os, platform
LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"preadv2": (327, 286), "mincore": (27, 232), "cachestat": (451, 451), "fadvise64": (221, 223),
           "readahead": (187, 213), "madvise": (28, 233), "inotify_add_watch": (254, 27), "clone": (56, 220)}
def call(name, *arguments):
    ctypes.set_errno(0)
    number = NUMBERS[name][platform.machine() == "aarch64"]
    found = LIBC.syscall(number, *(ctypes.c_long(one) if isinstance(one, int) else one for one in arguments))
    return errno.errorcode[ctypes.get_errno()] if found < 0 else found
"""

ASKS_THE_CACHE = (
    CALLS
    + """
import json, mmap
PAGE = mmap.PAGESIZE
def f():
    file = os.open(json.__file__, os.O_RDONLY)
    held = mmap.mmap(-1, PAGE)
    place = ctypes.addressof(ctypes.c_char.from_buffer(held))
    room = ctypes.create_string_buffer(64)
    found = {
        "preadv2": call("preadv2", file, ctypes.byref(room), 1, 0, 0, 8),
        "mincore": call("mincore", place, PAGE, room),
        "cachestat": call("cachestat", file, room, room, 0),
        "cold": call("madvise", place, PAGE, 20),
        "pageout": call("madvise", place, PAGE, 21),
        "watch": call("inotify_add_watch", file, room, 1),
    }
    assert found == {
        "preadv2": "ENOSYS", "mincore": "ENOSYS", "cachestat": "ENOSYS", "cold": "EPERM", "pageout": "EPERM", "watch": "EPERM",
    }, found
    assert call("madvise", place, PAGE, 4) == 0
    assert call("fadvise64", file, 0, 0, 4) == 0 and call("readahead", file, 0, 4096) == 0
    assert os.preadv(file, [bytearray(4)], 0) == 4
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    return 1
"""
)


@pytest.mark.parametrize("level", LEVELS)
def test_nobody_is_told_what_others_have_read(level):
    assert attempts(level, [ASKS_THE_CACHE]) == [[True, "separated", "", ""]]


HOLDS = """
import errno, fcntl, json, os
def f():
    file = os.open(json.__file__, os.O_RDONLY)
    for command, value in ((1024, fcntl.F_RDLCK), (1024, fcntl.F_WRLCK), (1026, 1), (1036, b"\\0" * 8), (1038, b"\\0" * 8)):
        try:
            fcntl.fcntl(file, command, value)
            return command
        except OSError as error:
            assert error.errno == errno.EPERM, (command, error)
    return 1
"""


@pytest.mark.parametrize("level", LEVELS)
def test_no_file_is_held_back_from_others_or_marked_for_them(level):
    assert attempts(level, [HOLDS]) == [[True, "separated", "", ""]]
    assert as_anybody(level, [HOLDS], {}) == [[True, "separated", "", ""]]


MARKS_INPUT = """
import fcntl, os, sys
for change in (
    lambda: fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND),
    lambda: fcntl.flock(0, fcntl.LOCK_EX),
    lambda: os.fchmod(0, 0o646),
    lambda: os.utime(0, (5, 5)),
    lambda: os.setxattr(0, "user.note", b"from the first"),
    lambda: os.ftruncate(0, 0),
    lambda: os.write(0, b"x"),
    lambda: os.lseek(0, 0, 2),
):
    try:
        change()
    except OSError:
        pass
print("yes")
"""
FINDS_INPUT = """
import fcntl, os, sys
found = os.fstat(0)
flags = fcntl.fcntl(0, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND)
try:
    attributes = os.listxattr(0)
except OSError:
    attributes = []
marks = [flags, found.st_mode & 0o777 == 0o646, found.st_mtime == 5, attributes, sys.stdin.read()]
print("yes" if marks == [0, False, False, [], "3\\n"] else marks)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_a_standard_input_is_new_for_every_program(level):
    wanted = [[True, "separated", "", ""]] * 2

    assert attempts(level, [MARKS_INPUT, FINDS_INPUT], stdin="3\n") == wanted
    assert as_anybody(level, [MARKS_INPUT, FINDS_INPUT], {"stdin": "3\n"}) == wanted


def test_nobody_writes_to_a_standard_input():
    code = "import os, errno\ntry:\n    os.write(0, b'x')\nexcept OSError as error:\n    print('yes')\n"
    assert attempts(Isolation.A, [code], stdin="3\n") == [[True, "separated", "", ""]]


FOLDER = "import os, tempfile\nTOP = tempfile.gettempdir() if os.access('/tmp', os.W_OK) else os.getcwd()\n"
MARKS_FOLDER = (
    FOLDER
    + """
def f():
    for change in (
        lambda: os.setxattr(TOP, "user.note", b"from the first"),
        lambda: os.utime(TOP, (5, 5)),
        lambda: os.chmod(TOP, 0o1755),
    ):
        try:
            change()
        except OSError:
            pass
    return 1
"""
)
FINDS_FOLDER = (
    FOLDER
    + """
import time
def f():
    found = os.stat(TOP)
    marks = [found.st_mode & 0o7777 == 0o1755, abs(time.time() - found.st_mtime) > 60, "user.note" in os.listxattr(TOP)]
    assert not any(marks), marks
    return 1
"""
)
CLOSES_FOLDER = FOLDER + "def f():\n    os.chmod(TOP, 0o500)\n    return 1\n"
WRITES = FOLDER + "def f():\n    open(os.path.join(TOP, 'a'), 'w').write('x')\n    return len(os.listdir(TOP))\n"


@pytest.mark.parametrize("level", LEVELS)
def test_the_folder_for_files_is_as_it_was_for_every_attempt(level):
    wanted = [[True, "separated", "", ""]] * 2

    assert attempts(level, [MARKS_FOLDER, FINDS_FOLDER]) == wanted
    assert as_anybody(level, [MARKS_FOLDER, FINDS_FOLDER], {}) == wanted


@pytest.mark.parametrize("setup", ["", "import time"], ids=["apart", "beside"])
def test_who_closes_the_folder_for_files_closes_it_for_himself(setup):
    found = as_anybody(Isolation.A, [WRITES, CLOSES_FOLDER, WRITES, WRITES], {"setup": setup})

    assert [passed for passed, *_ in found] == [True] * 4, found


@pytest.mark.parametrize("level", LEVELS)
def test_when_the_folder_was_changed_says_nothing_of_who_changed_it(level):
    reads = FOLDER + "import time\ndef f():\n    assert time.time() - os.stat(TOP).st_mtime < 5\n    return 1\n"
    sleeps = "import time\ntime.sleep(0.1)\n"

    assert attempts(level, [reads, sleeps + reads, WRITES, reads]) == [[True, "separated", "", ""]] * 4


NOTES = """
class Noting:
    def __eq__(self, other):
        open({path!r}, "w").write(repr(other))
        return False
def f(n):
    return Noting()
"""
READS_NOTE = """
import ast
def f(n):
    return ast.literal_eval(open({path!r}).read())
"""


@pytest.mark.parametrize("canonical", ["", "def f(n): return [n, 918273645]\n"], ids=["alone", "with a reference"])
def test_what_is_decided_beside_waits_until_no_attempt_is_left_to_run_apart(tmp_path, canonical):
    # at level D files are a way from one attempt to the next; what this order is for are ways that nobody knows
    notes, reads = (code.format(path=str(tmp_path / "note")) for code in (NOTES, READS_NOTE))
    references = (canonical,) if canonical else ()
    test = Test(assertion="func(3) == [3, 918273645]")
    sample = Sample("s", tests=(test,), entry_point="f", references=references, problem_type=ProblemType.FUNCTION)
    found = {}
    with Sandbox(workers=1, at_most=Isolation.D, isolation="weak") as box:
        jobs = [
            Job("notes", notes, sample, LIMITS),
            *(Job(f"reads {n}", f"# {n}\n{reads}", sample, LIMITS) for n in range(9)),
        ]
        found = {job.key: outcome for job, outcome in box.run(jobs)}
        ((_, late),) = box.run([Job("late", "# late\n" + reads, sample, LIMITS)])

    assert (tmp_path / "note").read_text() == "[3, 918273645]"
    assert late.passed == 1
    assert [
        key for key, outcome in found.items() if outcome.tests[0].verdict.value == "separated" and outcome.passed
    ] == []


def test_scratch_folders_of_killed_owners_are_removed_and_claimed_ones_stay(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left, in_use, young = (tmp_path / f"markbook-worker-{name}" for name in ("left", "in_use", "young"))
    for folder in (left, in_use, young):
        folder.mkdir()
        (folder / "file").touch()
    for folder in (left, in_use):
        os.utime(folder, (1, 1))
    claim = os.open(in_use, os.O_RDONLY)
    fcntl.flock(claim, fcntl.LOCK_EX)

    sweep_scratch.__wrapped__()

    os.close(claim)
    assert sorted(folder.name.rpartition("-")[2] for folder in tmp_path.iterdir()) == ["in_use", "young"]
