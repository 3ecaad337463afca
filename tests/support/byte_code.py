"""One folder of byte code for all processes of a session.

Where a machine writes none (`PYTHONDONTWRITEBYTECODE`, a checkout that cannot be written), each of some thousand
interpreters that the tests start would compile the product anew, and each worker all tests.

The sandbox starts its side without that setting, so a checkout is compiled where it lies: otherwise each of some thousand
sandboxes that the tests start would compile its examiner, which takes longer than to start it.

Workers begin at once, so they would still compile the same modules beside one another: before they begin, each processor
collects a share of the tests, and they read what that has left.
"""

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support import levels

FOLDER = "MARKBOOK_TEST_CACHE"
"""Names a folder that is kept for later sessions; `off` shares nothing."""
OFF = "off"
SANDBOX = Path(__file__).resolve().parents[2] / "src" / "markbook" / "sandbox" / "guest"


def share(config):
    """Have this process, its workers and all children keep their byte code in one folder; it goes at the end."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = os.environ.get(FOLDER)
        if folder == OFF or config.option.level == "all":
            return
        if sys.pycache_prefix is None:
            compileall.compile_dir(SANDBOX, quiet=2)
        if not folder:
            folder = tempfile.mkdtemp(prefix="markbook-tests-")
            config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        if getattr(config.option, "numprocesses", None) and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            compile_tests(config.rootpath / "tests", config.option.level, folder)
    if folder := os.environ.get("PYTHONPYCACHEPREFIX"):
        sys.pycache_prefix = folder
        sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ


def compile_tests(tests, level, folder):
    """Leave the byte code of all test files, and of what they import, in a folder."""
    files = [path for path in tests.rglob("test_*.py") if not levels.is_left_out(path, level)]
    files.sort(key=lambda path: path.stat().st_size, reverse=True)
    command = (sys.executable, "-m", "pytest", "--collect-only", "-qq", "--level", level, "-p", "no:cacheprovider")
    share = len(os.sched_getaffinity(0))
    collecting = [
        subprocess.Popen(
            (*command, *map(str, files[at::share])),
            cwd=tests.parent,
            env=os.environ | {FOLDER: folder},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for at in range(share)
    ]
    for process in collecting:
        process.wait()
