"""Byte code that all processes of a session share.

Where a machine writes none (`PYTHONDONTWRITEBYTECODE`), each of some thousand interpreters that the tests start would
compile the product anew, and each worker all tests. So it is written for the time of a session: beside the sources, where
that of installed packages lies already, or in a folder of the session if the checkout cannot be written.

Workers begin at once, so in a new checkout they would still compile the same modules beside one another: before they begin,
each processor collects a share of the tests that have none, and they read what that has left.
"""

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, get_cache_dir

from support import levels

FOLDER = "MARKBOOK_TEST_CACHE"
"""Names a folder for the byte code; `off` leaves all as it is."""
OFF = "off"
ROOT = Path(__file__).resolve().parents[2]
GUEST = ROOT / "src" / "markbook" / "sandbox" / "guest"


def share(config):
    """Have this process, its workers and all children write and read byte code in one place."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = os.environ.get(FOLDER)
        if folder == OFF or config.option.level == "all":
            return
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        if not folder and not all(os.access(ROOT / name, os.W_OK) for name in ("src/markbook", "tests/support")):
            folder = tempfile.mkdtemp(prefix="markbook-tests-")
            config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        if folder:
            os.environ["PYTHONPYCACHEPREFIX"] = folder
        if sys.pycache_prefix is None:
            compileall.compile_dir(GUEST, quiet=2)  # a worker of the sandbox knows no prefix
    sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX") or None
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    if getattr(config.option, "numprocesses", None) and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        compile_tests(ROOT / "tests", config.option.level)


def compile_tests(tests, level):
    """Leave the byte code of all test files that have none, and of what they import."""
    files = [path for path in tests.rglob("test_*.py") if not levels.is_left_out(path, level) and not is_compiled(path)]
    files.sort(key=lambda path: path.stat().st_size, reverse=True)
    command = (sys.executable, "-m", "pytest", "--collect-only", "-qq", "--level", level, "-p", "no:cacheprovider")
    processors = len(os.sched_getaffinity(0))
    collecting = [
        subprocess.Popen(
            (*command, *map(str, share)),
            cwd=tests.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for share in (files[at::processors] for at in range(processors))
        if share
    ]
    for process in collecting:
        process.wait()


def is_compiled(path):
    """Return whether pytest has left the byte code of a test file as it is now."""
    compiled = get_cache_dir(path) / (path.stem + PYC_TAIL)
    return compiled.is_file() and compiled.stat().st_mtime >= path.stat().st_mtime
