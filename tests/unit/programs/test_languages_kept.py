"""Precompiled headers that are kept from run to run."""

import os
import signal
import time
from pathlib import Path

import pytest
from support.load import PATIENCE, allowed

from markbook.errors import EnvironmentUnfitError
from markbook.languages import find, toolchain

TEXT = "#include <cstddef>\nint x;\n"


@pytest.fixture
def tool():
    try:
        return find("cpp")
    except EnvironmentUnfitError as error:
        pytest.skip(str(error))


@pytest.fixture
def shelf(tmp_path):
    """Make one shelf after the other that keep what they make in the same folder."""
    made = []

    def make():
        one = toolchain.Prebuilt(tmp_path)
        one.start()
        made.append(one)
        return one

    yield make
    for one in made:
        one.close()


def fill(shelf, tool):
    for _ in range(2):
        shelf.with_headers(tool, TEXT)
    (process,) = shelf._under.values()
    assert process.wait() == 0
    return shelf.with_headers(tool, TEXT)


def test_the_first_program_of_a_later_run_uses_them(tool, shelf, tmp_path):
    program, word = fill(shelf(), tool)
    later = shelf()

    again, other = later.with_headers(tool, TEXT)

    assert (program, again) == ("\nint x;\n", "\nint x;\n")
    assert word.startswith("-include")
    assert later._under == {}
    (kept,) = (tmp_path / "headers").iterdir()
    assert Path(other.removeprefix("-include") + ".gch").read_bytes() == kept.read_bytes()


def test_what_no_program_of_the_run_has_used_yet_is_kept_too(tool, shelf, tmp_path):
    one = shelf()
    for _ in range(2):
        one.with_headers(tool, TEXT)
    assert one._under[next(iter(one._under))].wait() == 0
    one.close()

    assert len(list((tmp_path / "headers").iterdir())) == 1


def test_a_compiler_at_work_is_ended_and_waited_for(tool, shelf):
    one = shelf()
    for _ in range(2):
        one.with_headers(tool, "#include <iostream>\nint x;\n")
    (process,) = one._under.values()
    one.close()

    assert process.returncode is not None
    assert not one.folder.exists()


def test_what_a_compiler_has_started_ends_with_it(tool, shelf):
    one = shelf()
    for _ in range(2):
        one.with_headers(tool, "#include <iostream>\nint x;\n")
    (process,) = one._under.values()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + PATIENCE
    while not (below := children.read_text().split()) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert below
    for pid in below:
        os.kill(int(pid), signal.SIGSTOP)  # none of them ends by itself
    one.close()

    deadline = time.monotonic() + allowed(5)
    while (alive := [pid for pid in below if is_running(pid)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    for pid in alive:
        os.kill(int(pid), signal.SIGKILL)
    assert alive == []
    assert not one.folder.exists()


def is_running(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_those_of_another_compiler_are_not_used(tool, shelf, monkeypatch):
    fill(shelf(), tool)
    monkeypatch.setattr(type(tool), "state", property(lambda _: "newer"))

    assert shelf().with_headers(tool, TEXT) == (TEXT, "")


def test_the_oldest_go_where_they_take_too_much_room(tool, shelf, tmp_path, monkeypatch):
    monkeypatch.setattr(toolchain, "_KEPT_BYTES", 10)
    folder = tmp_path / "headers"
    folder.mkdir()
    (folder / "old").write_bytes(b"x" * 100)
    os.utime(folder / "old", (1, 1))

    toolchain._put(folder / "old", folder / "new")
    (tmp_path / "small").write_bytes(b"y" * 10)
    toolchain._put(tmp_path / "small", folder / "newest")

    assert {path.name for path in folder.iterdir()} == {"newest"}
