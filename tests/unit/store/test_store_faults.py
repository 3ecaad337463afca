"""An error of the disk at any operation ends the run with its own exit code, and resuming gives the same bytes."""

import errno
import json
import os
import subprocess
import sys

import pytest
from support.paths import TESTS

from markbook.errors import MarkbookError, OutputError, StorageError
from markbook.store import Disk, Manifest, RunWriter, journal, open_run

MANIFEST = Manifest("exam", {"timeout": 60}, {"benchmark": "aa"})
COUNTED = ("make_folder", "create", "append", "write", "sync", "truncate", "rename", "remove", "sync_folder")


class FaultyDisk(Disk):
    """Fails at one operation and, as a broken disk does, at every one after it."""

    def __init__(self, fail_at, code):
        self.count = 0
        self.fail_at = fail_at
        self.code = code

    def step(self):
        self.count += 1
        if self.count > self.fail_at:
            raise OSError(self.code, os.strerror(self.code))


for _name in COUNTED:

    def _counted(self, *args, _name=_name):
        self.step()
        return getattr(Disk, _name)(self, *args)

    setattr(FaultyDisk, _name, _counted)


def execute(output, disk):
    """Run, or go on with what is there, to the end; the disk may fail at any step."""
    folders = sorted(output.glob("evaluation_*")) if output.exists() else []
    writer = (
        RunWriter.resume(folders[0], MANIFEST, disk=disk) if folders else RunWriter.create(output, MANIFEST, disk=disk)
    )
    with writer:
        for number in range(10):
            if not writer.has("outcome", (number,)):
                writer.add("outcome", (number,), {"value": number * number, "text": "x" * 200})
                if number % 3 == 2:
                    writer.commit()
        rows = sorted((row.key[0], row.data["value"]) for row in writer.rows("outcome"))
        writer.publish({"report.jsonl": "".join(f"{row}\n" for row in rows), "gpt/score.json": json.dumps(rows)})
        writer.finish()
    return writer.folder


def bytes_of(folder):
    return {
        name: (folder / name).read_bytes() for name in ("report.jsonl", "gpt/score.json") if (folder / name).exists()
    }


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_every_failing_operation_ends_cleanly_and_resumes_to_the_same_bytes(
    tmp_path, monkeypatch, code, record_property
):
    monkeypatch.setattr(journal, "GROUP_ROWS", 3)
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 900)
    wanted = bytes_of(execute(tmp_path / "whole", Disk()))
    assert len(wanted) == 2

    fail_at = 0
    while True:
        output = tmp_path / f"{fail_at}"
        disk = FaultyDisk(fail_at, code)
        try:
            execute(output, disk)
        except (OutputError, StorageError) as error:
            assert os.strerror(code) in str(error)
        except OSError as error:
            assert error.errno == code
        else:
            break
        for found in output.glob("evaluation_*"):
            assert all(wanted[name] == data for name, data in bytes_of(found).items())
        assert bytes_of(execute(output, Disk())) == wanted
        fail_at += 1

    record_property("operations", fail_at)
    assert fail_at > 30


def test_failed_sync_is_never_taken_for_good_later(tmp_path):
    class NoSync(Disk):
        def sync(self, _file):
            raise OSError(errno.EIO, "Input/output error")

    log = journal.Journal.start(NoSync(), tmp_path / "journal")

    log.add("outcome", (1,), {})
    with pytest.raises(StorageError, match="Input/output error"):
        log.commit()
    with pytest.raises(StorageError):
        log.commit()
    with pytest.raises(StorageError):
        log.add("outcome", (2,), {})
    log.close()


SIZED = """
import json, resource, signal, sys
sys.dont_write_bytecode = True  # a limit on file sizes would leave a cut .pyc behind
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
sys.path[:0] = sys.argv[3:]
from test_store_faults import execute
from markbook.errors import MarkbookError
from markbook.store import Disk
try:
    execute(Path(sys.argv[1]), Disk())
except MarkbookError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("limit", [600, 1000, 1500, 2000, 2500])
def test_full_disk_is_said_with_the_path_and_the_bytes_and_resumes(tmp_path, limit):
    wanted = bytes_of(execute(tmp_path / "whole", Disk()))

    done = subprocess.run(
        [sys.executable, "-c", SIZED, tmp_path / "run", str(limit), TESTS, TESTS / "unit" / "store"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode in {73, 74}, done.stderr
    if done.returncode == 74:
        assert "free at least" in done.stderr or "cannot be written" in done.stderr
        assert str(tmp_path / "run") in done.stderr
    assert bytes_of(execute(tmp_path / "run", Disk())) == wanted


KILLED = """
import os, signal, sys
sys.dont_write_bytecode = True
from pathlib import Path
sys.path[:0] = sys.argv[3:]
import test_store_faults as faults
class Killer(faults.FaultyDisk):
    def step(self):
        self.count += 1
        if self.count > self.fail_at:
            os.kill(os.getpid(), signal.SIGKILL)
faults.execute(Path(sys.argv[1]), Killer(int(sys.argv[2]), 0))
"""


def test_killed_process_resumes_from_every_operation(tmp_path, record_property, part):
    wanted = bytes_of(execute(tmp_path / "whole", Disk()))

    step = 1 if part.is_whole else 9
    for point in range(part.offset(step, "killed process"), 100, step):
        output = tmp_path / str(point)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, output, str(point), TESTS, TESTS / "unit" / "store"],
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            break
        assert done.returncode == -9, done.stderr
        for found in output.glob("evaluation_*"):
            assert all(wanted[name] == data for name, data in bytes_of(found).items())
        assert bytes_of(execute(output, Disk())) == wanted

    record_property("kill points", point)
    assert point > 20
    assert open_run(next(output.glob("evaluation_*"))).status == "done"


def test_eight_runs_of_one_folder_leave_one_at_work(tmp_path):
    folder = execute(tmp_path, Disk())
    code = (
        "import sys, time; from pathlib import Path; from markbook.store import Manifest, RunWriter\n"
        "from markbook.errors import MarkbookError\n"
        "try:\n"
        "    with RunWriter.resume(Path(sys.argv[1]), Manifest('exam', {'timeout': 60}, {'benchmark': 'aa'})):\n"
        "        print('working', flush=True)\n"
        "        sys.stdin.read()\n"
        "except MarkbookError as error:\n"
        "    print(error, flush=True)\n"
        "    sys.exit(error.exit_code)\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    first = subprocess.Popen([sys.executable, "-c", code, folder], **pipes)
    assert first.stdout.readline() == "working\n"

    others = [subprocess.Popen([sys.executable, "-c", code, folder], **pipes) for _ in range(7)]
    said = [other.communicate()[0] for other in others]
    first.communicate()

    assert [other.returncode for other in others] == [75] * 7
    assert all(f"pid {first.pid}" in line for line in said)
    assert first.returncode == 0


def test_errors_of_the_store_carry_their_exit_codes():
    assert issubclass(StorageError, MarkbookError)
    assert (OutputError("x").exit_code, StorageError("x").exit_code) == (73, 74)
