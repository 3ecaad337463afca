"""What the suite itself rests on: byte code that its processes share, and how long they may be waited for."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import byte_code, load, times


@pytest.fixture
def session(monkeypatch):
    """Return a maker of a session's configuration, which collects what is done at its end."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    monkeypatch.delenv(byte_code.FOLDER, raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    ends = []

    def make(level="test"):
        return SimpleNamespace(option=SimpleNamespace(level=level), add_cleanup=ends.append)

    make.ends = ends
    return make


def test_byte_code_lies_beside_the_sources(session):
    byte_code.share(session())

    assert (sys.pycache_prefix, sys.dont_write_bytecode, session.ends) == (None, False, [])
    assert not {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"} & set(os.environ)


def test_of_a_checkout_that_cannot_be_written_it_lies_in_a_folder_that_goes_at_the_end(session, monkeypatch):
    monkeypatch.setattr(byte_code.os, "access", lambda *_: False)

    byte_code.share(session())
    folder = Path(os.environ["PYTHONPYCACHEPREFIX"])

    assert folder.is_dir()
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (str(folder), False)
    (end,) = session.ends
    end()
    assert not folder.exists()


def test_a_test_file_is_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", None)
    path = tmp_path / "test_a.py"
    path.write_text("def test_a(): assert True\n", encoding="utf-8")
    assert not byte_code.is_compiled(path)

    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, path],
        env={key: os.environ[key] for key in os.environ if not key.startswith("PYTHON")},
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )

    assert byte_code.is_compiled(path)
    os.utime(path, (time.time() + 10,) * 2)
    assert not byte_code.is_compiled(path)


def test_the_sandbox_reads_its_byte_code_where_it_lies(session, monkeypatch, tmp_path):
    (tmp_path / "examiner.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setattr(byte_code, "GUEST", tmp_path)

    byte_code.share(session())

    assert len(list((tmp_path / "__pycache__").iterdir())) == 1


def test_a_folder_that_is_named_is_kept(session, monkeypatch, tmp_path):
    monkeypatch.setenv(byte_code.FOLDER, str(tmp_path))

    byte_code.share(session())

    assert (os.environ["PYTHONPYCACHEPREFIX"], session.ends) == (str(tmp_path), [])


@pytest.mark.parametrize(("level", "named"), [("test", byte_code.OFF), ("all", "")])
def test_nothing_is_shared_where_it_is_off_and_by_the_whole_suite(session, monkeypatch, level, named):
    monkeypatch.setenv(byte_code.FOLDER, named)

    byte_code.share(session(level))

    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (None, True)
    assert os.environ["PYTHONDONTWRITEBYTECODE"] == "1"


def test_a_worker_takes_the_folder_of_its_session(session, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")

    byte_code.share(session())

    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (str(tmp_path), False)


def test_a_process_that_is_given_a_third_of_a_processor_may_take_three_times_as_long(monkeypatch):
    used = iter(range(100))
    monkeypatch.setattr(load.time, "process_time", lambda: next(used) * load.PROBE)
    monkeypatch.setattr(load.time, "monotonic", iter([10.0, 10.0 + 3 * load.PROBE]).__next__)

    assert load.allowed(5) == pytest.approx(30)


def test_the_time_of_a_child_that_still_runs_is_seen():
    import subprocess

    code = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()\n"
    before = times.cpu_seconds()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "done\n"
        running = times.cpu_seconds() - before
        child.communicate("\n")

    assert running >= 0.2
    assert times.cpu_seconds() - before >= running - 0.05  # ticks are rounded
