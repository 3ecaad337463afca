"""Programs in the sandbox: phases, limits, and what one run leaves to the next. Each at levels A and B."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest
from support.load import allowed

from markbook.errors import EnvironmentUnfitError
from markbook.languages.toolchain import SYSTEM
from markbook.sandbox.program import Executed, Phase, ProgramRun, ProgramSandbox
from markbook.types import Isolation, Limits

SHELL = "/usr/bin/bash"
LIMITS = Limits(seconds=2, memory_bytes=256 << 20, output_bytes=1 << 16, file_bytes=1 << 20, processes=24)


@pytest.fixture(scope="module", params=["A", "B"])
def box(request):
    made = ProgramSandbox(SYSTEM, workers=1, at_most=Isolation(request.param), isolation="weak")
    try:
        made.start()
    except EnvironmentUnfitError as error:
        pytest.skip(str(error))
    with made:
        if made.level != request.param:
            pytest.skip(f"this machine reaches level {made.level}")
        yield made


def script(text: str, *, stdin: bytes = b"", limits: Limits = LIMITS, builds: str = "") -> ProgramRun:
    files = {"main.sh": text.encode(), "build.sh": builds.encode()}
    build = (Phase((SHELL, "build.sh"), limits, builds=True),) if builds else ()
    return ProgramRun("one", files, (*build, Phase((SHELL, "{build}/main.sh"), limits, stdin=stdin)))


def executed(box: ProgramSandbox, run: ProgramRun) -> list[Executed]:
    ((_, found),) = box.run([run])
    return found


def test_a_program_reads_its_input_and_is_given_back_what_it_prints(box):
    (found,) = executed(box, script("read x; echo got $x; echo wrong >&2; exit 3", stdin=b"\xff\x00y\n"))

    assert (found.status, found.stdout, found.stderr, found.limit) == (3, b"got \xffy\n", b"wrong\n", "")


def test_what_is_built_is_run_and_cannot_be_changed_by_a_run(box):
    build = "echo 'echo built' > made.sh"
    run = script(
        'bash "${0%/*}/made.sh"; echo x > "${0%/*}/made.sh"; rm "${0%/*}/made.sh"; bash "${0%/*}/made.sh"', builds=build
    )

    made, ran = executed(box, run)

    assert made.is_good
    assert ran.stdout == b"built\nbuilt\n"


def test_nothing_runs_where_building_fails(box):
    (only,) = executed(box, script("echo ran", builds="exit 7"))

    assert only.status == 7


def test_each_run_begins_in_an_empty_folder(box):
    phase = Phase((SHELL, "{build}/main.sh"), LIMITS)
    run = ProgramRun("two", {"main.sh": b"ls -A; echo x > left; mkdir -p a/b; chmod 0 a"}, (phase, phase))

    assert [found.stdout for found in executed(box, run)] == [b"", b""]


def test_no_run_sees_by_times_and_modes_that_another_came_before_it(box):
    text = "sleep 0.3; stat -c '%a %Y' . ../build $0; now=$(date +%s%N); for f in . ../build $0; do\n"
    text += '  changed=$(date -d "$(stat -c %z $f)" +%s%N); echo $(( (now - changed) / 1000000000 ))\ndone\n'
    text += "for f in .. . ../build $0; do\n  test $(stat -c %X $f) != 77 || echo seen; touch -d @77 $f; chmod 711 $f\ndone; true"
    phase = Phase((SHELL, "{build}/main.sh"), LIMITS)

    first, second, third = executed(box, ProgramRun("three", {"main.sh": text.encode()}, (phase,) * 3))

    assert first.stdout.endswith(b"\n0\n0\n0\n")
    assert first.stdout == second.stdout == third.stdout


def test_files_are_copied_with_all_that_they_have_and_looked_at(box):
    text = "echo x > a; cp -p a b && cp -a a c && mv c d && install -m 600 a e && ls -l a && stat a && touch -d @77 b || echo failed"
    (found,) = executed(box, script(f"{{ {text}; }} > said; grep -c failed said", stdin=b""))

    assert (found.stdout, found.stderr) == (b"0\n", b"")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("while :; do :; done", "cpu"),
        ("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done", "output"),
        ("for i in $(seq 80); do sleep 5 & done; wait", "processes"),
    ],
)
def test_a_limit_ends_a_program_and_is_named(box, text, limit):
    (found,) = executed(box, script(text, limits=Limits(seconds=0.5, output_bytes=1 << 16, processes=24)))

    assert (found.limit, found.is_good) == (limit, False)


def test_the_kernels_own_count_of_time_ends_nothing_that_may_still_run(box):
    (found,) = executed(box, script("ulimit -t", limits=Limits(seconds=20)))

    # Kernels that count by sampled ticks take 20 seconds for up to 26 where the machine is busy.
    assert int(found.stdout) >= 40


def test_a_worker_that_died_while_it_was_idle_costs_no_run(box):
    executed(box, script("echo one"))
    for worker in box.worker_pool.workers:
        worker.sock.shutdown(socket.SHUT_RDWR)

    (found,) = executed(box, script("echo two"))

    assert found.stdout == b"two\n"


def test_a_sleeper_ends_by_the_wall_clock(box):
    (found,) = executed(box, script("sleep 60", limits=Limits(seconds=1, wall_seconds=0.3)))

    assert (found.limit, found.status) == ("wall", None)
    assert found.wall_seconds < allowed(5)


def test_a_file_has_an_end(box):
    (found,) = executed(box, script("head -c 3000000 /dev/zero > big; stat -c %s big"))

    assert int(found.stdout) <= 1 << 20


def test_what_a_program_leaves_running_ends_with_it(box):
    (first,) = executed(box, script("(trap '' TERM HUP; while :; do :; done) & (sleep 100) & echo $!"))
    (second,) = executed(box, script("kill -0 " + first.stdout.decode().strip() + " && echo alive"))

    assert first.status == 0
    assert second.stdout == b""


def test_nobody_leaves_the_group_that_is_ended(box):
    (found,) = executed(box, script("setsid sleep 0 || echo refused"))

    assert found.stdout == b"refused\n"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/etc/shadow", "/root", "/home", str(Path.home()), "/proc/1/environ", "/proc/1/mem"]
)
def test_files_of_the_machine_cannot_be_read(box, path):
    (found,) = executed(box, script(f"cat '{path}' || {{ [ -d '{path}' ] && ls '{path}'; }}"))

    assert found.status != 0
    assert found.stdout == b""


def test_nothing_of_the_users_environment_is_seen(box, monkeypatch):
    (found,) = executed(box, script("env"))

    assert sorted(line.partition(b"=")[0] for line in found.stdout.splitlines()) == [
        b"HOME", b"LANG", b"PATH", b"PWD", b"SHLVL", b"TMPDIR", b"TZ", b"_",
    ]  # fmt: skip


def test_there_is_no_network(box):
    (found,) = executed(box, script("exec 3<>/dev/tcp/127.0.0.1/9 || echo none"))

    assert found.stdout == b"none\n"
    assert b"Permission denied" in found.stderr or b"not permitted" in found.stderr


def test_a_program_that_is_not_there_is_said_to_be_refused(box):
    (found,) = executed(box, ProgramRun("none", {}, (Phase(("/usr/bin/no-such-program",), LIMITS),)))

    assert "no-such-program" in found.refused


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", ""])
def test_a_name_that_leads_out_is_refused(name):
    with pytest.raises(ValueError, match="not a name of a file"):
        ProgramRun("out", {name: b""}, ())


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
def test_a_compiler_is_confined_and_what_it_makes_runs(box):
    compiler = os.path.realpath(shutil.which("gcc"))
    limits = Limits(seconds=10, file_bytes=64 << 20, processes=64)
    build = Phase((compiler, "main.c", "-o", "main"), limits, builds=True)
    source = b'#include <stdio.h>\nint main(void) { puts(fopen("{build}/main.c", "r") ? "source" : "none"); }'
    run = ProgramRun("c", {"main.c": source}, (build, Phase(("{build}/main",), limits)), ("main.c",), ("main",))
    stealing = ProgramRun("s", {"main.c": b'#include "/etc/passwd"\nint main(void) { }'}, (build,))

    made, ran = executed(box, run)
    (refused,) = executed(box, stealing)

    assert (made.is_good, ran.stdout) == (True, b"none\n")
    assert refused.status == 1
    assert b"root:" not in refused.stderr


def test_a_toolchain_may_lie_where_the_sandbox_has_a_folder_of_its_own(tmp_path):
    tmp_path.chmod(0o755)
    tool = shutil.copy(SHELL, tmp_path / "shell")

    with ProgramSandbox([*SYSTEM, str(tmp_path)], workers=1, at_most=Isolation.A, isolation="weak") as box:
        if box.level != Isolation.A:
            pytest.skip(f"this machine reaches level {box.level}")
        (found,) = executed(box, ProgramRun("one", {}, (Phase((str(tool), "-c", "echo here"), LIMITS),)))

    assert (found.refused, found.stdout) == ("", b"here\n")
