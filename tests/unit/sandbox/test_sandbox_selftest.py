"""The test that every worker makes of its own isolation finds what is not isolated."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.load import PATIENCE

from markbook.errors import EnvironmentUnfitError
from markbook.sandbox import Sandbox, worker
from markbook.types import Isolation

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from guest.walls import isolation, linux, seccomp, selftest
report = [{"name": name, "ok": True, "detail": ""} for name in sys.argv[2].split(",")]
guard = lambda pid: None
if "guarded" in sys.argv:
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.SyscallFilter(seccomp.worker_filter(private=False, makes_files=False)).install()
    guard = seccomp.SyscallFilter(*seccomp.child_filter(alone=False)).install
selftest.try_everything(report, guard, "/tmp/scratch")
print(report[-1]["name"], report[-1]["ok"], report[-1]["detail"])
"""


def tried(*arguments):
    here = str(Path(worker.__file__).parent)
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, here, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_what_is_promised_and_does_not_hold_is_named():
    found = tried("seccomp,landlock", "guarded")

    assert found.stdout == "self-test False a file outside was read; a file outside was written\n"


def test_what_is_not_promised_is_not_tried():
    assert tried("seccomp", "guarded").stdout == "self-test True \n"


def test_a_worker_whose_children_can_end_it_does_not_start():
    assert tried("seccomp").returncode == -9


def test_a_layer_that_cannot_be_put_in_place_is_not_called_one_that_is():
    script = (
        "import sys, os, errno\nsys.path.insert(0, sys.argv[1])\nfrom guest.walls import isolation\nreport = []\n"
        "def refused(): raise OSError(errno.EPERM, 'not permitted')\n"
        "print(isolation.step(report, 'namespaces', refused), isolation.step(report, 'scratch', lambda: '/tmp'), report)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, str(Path(worker.__file__).parent)], capture_output=True, text=True, check=True
    )

    assert found.stdout == (
        "False True [{'name': 'namespaces', 'ok': False, 'detail': 'EPERM: not permitted'}, "
        "{'name': 'scratch', 'ok': True, 'detail': '/tmp'}]\n"
    )


@pytest.mark.parametrize("level", [Isolation.A, Isolation.B, Isolation.C])
def test_every_level_with_a_promise_is_tested(level):
    with Sandbox(workers=1, isolation="weak", at_most=level) as box:
        if box.level != level:
            pytest.skip(f"this machine reaches level {box.level} at most")
        layers = {layer.name: layer for layer in box.layers()}

    assert layers["self-test"].ok
    assert layers["self-test"].detail == ""


def test_a_worker_that_cannot_make_ready_is_refused_and_marks_nothing(tmp_path, monkeypatch):
    shutil.copytree(worker.HERE / "guest", tmp_path / "guest")
    with (tmp_path / "guest" / "child.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef rehearse(guard):\n    raise RuntimeError\n")
    monkeypatch.setattr(worker, "HERE", tmp_path)

    with pytest.raises(EnvironmentUnfitError, match="do not start"):
        Sandbox(workers=1, isolation="weak").start()
