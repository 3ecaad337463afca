"""What programs share, what their children use, and what of one run the next could see, at levels A and B."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from support.load import allowed
from test_sandbox_programs import box, executed

from markbook.sandbox.program import Executed, Phase, ProgramRun, ProgramSandbox
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


def ran(box: ProgramSandbox, source: str, limits: Limits, *, times: int = 1) -> list[Executed]:
    compiler = os.path.realpath(shutil.which("gcc") or "")
    build = Phase((compiler, "-w", "-pthread", "main.c", "-o", "main"), Limits(seconds=10, processes=64), builds=True)
    files = {"main.c": f"#define _GNU_SOURCE\n{INCLUDES}{source}".encode()}
    phases = (build, *[Phase(("{build}/main",), limits)] * times)
    made, *found = executed(box, ProgramRun("c", files, phases, ("main.c",), ("main",)))
    assert made.is_good, made.stderr
    return found


MAPPED = "mmap(0, size, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0)"
ZEROES = 'mmap(0, size, 3, MAP_SHARED, open("/dev/zero", O_RDWR), 0)'
DROPPED = """
int main(void) {
    long size = %dL << 20;
    char *p = %s;
    if (p == MAP_FAILED) return puts("refused"), 0;
    for (long at = 0; at < size; at += 1 << 20) {
        memset(p + at, 7, 1 << 20);
        madvise(p + at, 1 << 20, MADV_DONTNEED);
    }
    puts(p[size - 1] == 7 ? "held" : "lost");
}
"""
TRIMMED = """
int main(void) {
    long size = 100L << 20;
    for (int i = 0; i < 9; i++) {
        char *p = mmap(0, size, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return puts("refused"), 0;
        for (long at = 0; at < size; at += 4096) p[at] = 7;
        munmap(p + 4096, size - 4096);
    }
    puts("held");
}
"""


@pytest.mark.parametrize(
    "source",
    [DROPPED % (900, MAPPED), DROPPED % (900, ZEROES), TRIMMED],
    ids=["at once", "by a device", "little by little"],
)
def test_memory_that_is_shared_and_in_no_page_table_is_counted(box, source):
    (found,) = ran(box, source, Limits(seconds=5, memory_bytes=128 << 20))

    assert b"held" not in found.stdout
    assert found.stdout == b"refused\n" or found.limit == "memory"


def test_what_is_shared_counts_with_what_is_not(box):
    private = "char *own = malloc(100 << 20); memset(own, 1, 100 << 20); sleep(1); puts(p["
    source = DROPPED.replace("puts(p[", private) % (100, MAPPED)
    (found,) = ran(box, source, Limits(seconds=5, memory_bytes=128 << 20))

    assert found.limit == "memory"


HONEST = """
static pthread_t other;
static void *nothing(void *given) { return given; }
int main(void) {
    for (int i = 0; i < 20; i++) {
        char *p = mmap(0, 60 << 20, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return puts("refused"), 0;
        memset(p, 1, 60 << 20);
        munmap(p, 60 << 20);
    }
    int *sum = mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 1; i <= 4; i++)
        if (!fork()) { __sync_fetch_and_add(sum, i); _exit(0); }
    while (wait(0) > 0);
    printf("%d\\n", *sum);
}
"""


def test_a_program_may_share_memory_with_its_children_and_give_it_back(box):
    (found,) = ran(box, HONEST, Limits(seconds=5, wall_seconds=60, memory_bytes=128 << 20))

    assert (found.stdout, found.limit) == (b"10\n", "")


REFUSED = """
import mmap, os
from markbook.sandbox.guest.walls import linux, seccomp
linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
seccomp.SyscallFilter(seccomp.sharing_filter(asks=False)).install(os.getpid())
mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
try:
    mmap.mmap(-1, 4096, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
except OSError as error:
    print(error.strerror)
"""


def test_where_nobody_can_be_asked_no_anonymous_memory_is_shared():
    found = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, check=True)

    assert found.stdout == "Cannot allocate memory\n"


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


A_SECOND = Limits(seconds=1, wall_seconds=60, processes=24)
"""Of processor time alone: how long that takes by the clock depends on what else the machine does."""


@pytest.mark.parametrize("seconds", [0.1, 0.004])
@pytest.mark.parametrize("how", [IGNORED, UNWAITED], ids=["ignored", "not waited for"])
def test_time_of_children_that_nobody_waits_for_is_counted(box, how, seconds):
    (found,) = ran(box, BURNING % (how, 4 / seconds, "fork", seconds, ""), A_SECOND)

    assert (found.limit, b"done" in found.stdout) == ("cpu", False)
    assert found.wall_seconds < allowed(1.25)


def test_time_of_children_in_their_parents_memory_is_counted(box):
    (found,) = ran(box, BURNING % (UNWAITED, 40, "vfork", 0.1, ""), A_SECOND)

    assert (found.limit, b"done" in found.stdout) == ("cpu", False)


@pytest.mark.parametrize("start", ["fork", "vfork"])
def test_children_that_are_waited_for_are_counted_once_and_sleep_costs_nothing(box, start):
    source = BURNING % ("", 100, start, 0.004, "wait(0); usleep(15000);")
    (found,) = ran(box, source, A_SECOND)

    assert (found.stdout, found.limit) == (b"done\n", "")
    assert 0.35 < found.seconds < 0.95
    assert found.wall_seconds > 1.5


MARKED = """
int main(void) {
    char seen[9] = "nothing";
    struct statx made;
    getxattr("../build/main", "user.x", seen, 8) > 0 || getxattr("../build", "user.x", seen, 8);
    setxattr("../build/main", "user.x", "before", 7, 0);
    setxattr("../build", "user.x", "before", 7, 0);
    printf("%s %d\\n", seen, statx(AT_FDCWD, "../build/main", 0, STATX_BTIME, &made) == 0 && made.stx_mask & STATX_BTIME);
}
"""


def test_no_run_marks_a_file_for_the_next_or_sees_when_it_was_made(box):
    found = ran(box, MARKED, Limits(seconds=1), times=2)

    assert [one.stdout for one in found] == [b"nothing 0\n"] * 2


NAMESPACES = """
#include <errno.h>
#include <sys/syscall.h>
int main(void) {
    int kinds[] = {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP};
    for (int i = 0; i < 7; i++) {
        long pid = syscall(SYS_clone, kinds[i] | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) _exit(0);
        if (pid > 0 || errno != EPERM) return printf("clone %d: %ld %d\\n", i, pid, errno), 0;
    }
    struct { unsigned long flags, more[10]; } call = {CLONE_NEWUSER};
    if (syscall(SYS_clone3, &call, sizeof call) != -1 || errno != ENOSYS) return puts("clone3"), 0;
    pid_t pid = fork();
    if (pid == 0) _exit(7);
    int status;
    waitpid(pid, &status, 0);
    printf("%d\\n", WEXITSTATUS(status));
}
"""
PROBES = """
#include <errno.h>
#include <sys/syscall.h>
int main(void) {
    char room[64], *page = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int file = open("/proc/self/exe", O_RDONLY);
    if (file < 0) file = open("main", O_RDONLY);
    if (syscall(SYS_mincore, page, 4096L, room) != -1 || errno != ENOSYS) return puts("mincore"), 0;
    if (syscall(451, file, room, room, 0) != -1 || errno != ENOSYS) return puts("cachestat"), 0;
    if (madvise(page, 4096, 20) != -1 || errno != EPERM) return puts("cold"), 0;
    if (madvise(page, 4096, 21) != -1 || errno != EPERM) return puts("pageout"), 0;
    if (fcntl(0, 1024, F_RDLCK) != -1 || errno != EPERM) return puts("lease"), 0;
    puts("none");
}
"""


@pytest.mark.parametrize(("source", "said"), [(NAMESPACES, b"7\n"), (PROBES, b"none\n")], ids=["namespaces", "probes"])
def test_programs_get_no_namespace_and_are_not_told_what_others_have_read(box, source, said):
    (found,) = ran(box, source, Limits(seconds=5, processes=64))

    assert found.stdout == said
