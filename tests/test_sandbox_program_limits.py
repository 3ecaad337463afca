"""What the children of programs use is counted, at levels A and B."""

from __future__ import annotations

import os
import shutil

import pytest
from test_sandbox_programs import box, executed

from markbook.sandbox.program import Executed, Phase, ProgramRun
from markbook.sandbox.program_box import ProgramSandbox
from markbook.types import Limits

assert box  # the fixture
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
INCLUDES = "".join(
    f"#include <{name}.h>\n"
    for name in (
        "fcntl",
        "pthread",
        "sched",
        "signal",
        "stdio",
        "stdlib",
        "string",
        "time",
        "unistd",
        "sys/mman",
        "sys/stat",
        "sys/wait",
        "sys/xattr",
    )
)


def ran(box: ProgramSandbox, source: str, limits: Limits) -> list[Executed]:
    compiler = os.path.realpath(shutil.which("gcc") or "")
    build = Phase((compiler, "-w", "-pthread", "main.c", "-o", "main"), Limits(seconds=10, processes=64), builds=True)
    files = {"main.c": f"#define _GNU_SOURCE\n{INCLUDES}{source}".encode()}
    phases = (build, Phase(("{build}/main",), limits))
    made, *found = executed(box, ProgramRun("c", files, phases, ("main.c",), ("main",)))
    assert made.is_good, made.stderr
    return found


BURNING = """
static void burn(double seconds) {
    struct timespec t, s;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s);
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec - s.tv_sec + (t.tv_nsec - s.tv_nsec) / 1e9 < seconds);
}
int main(void) {
    %s
    for (int i = 0; i < %d; i++) {
        int p[2];
        pipe(p);
        if (!%s()) { burn(%f); write(p[1], "x", 1); _exit(0); }
        close(p[1]);
        char c;
        read(p[0], &c, 1);
        close(p[0]);
        %s
    }
    puts("done");
}
"""
IGNORED = "signal(SIGCHLD, SIG_IGN);"
UNWAITED = "struct sigaction a = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT}; sigaction(SIGCHLD, &a, 0);"


@pytest.mark.parametrize("seconds", [0.1, 0.004])
@pytest.mark.parametrize("how", [IGNORED, UNWAITED], ids=["ignored", "not waited for"])
def test_time_of_children_that_nobody_waits_for_is_counted(box, how, seconds):
    (found,) = ran(box, BURNING % (how, 4 / seconds, "fork", seconds, ""), Limits(seconds=1, processes=24))

    assert (found.limit, b"done" in found.stdout) == ("cpu", False)
    assert found.wall_seconds < 2.5


def test_time_of_children_in_their_parents_memory_is_counted(box):
    (found,) = ran(box, BURNING % (UNWAITED, 40, "vfork", 0.1, ""), Limits(seconds=1, processes=24))

    assert (found.limit, b"done" in found.stdout) == ("cpu", False)


@pytest.mark.parametrize("start", ["fork", "vfork"])
def test_children_that_are_waited_for_are_counted_once_and_sleep_costs_nothing(box, start):
    source = BURNING % ("", 100, start, 0.004, "wait(0); usleep(15000);")
    (found,) = ran(box, source, Limits(seconds=1, processes=24))

    assert (found.stdout, found.limit) == (b"done\n", "")
    assert 0.35 < found.seconds < 0.95
    assert found.wall_seconds > 1.5
