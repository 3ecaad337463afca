"""What may go wrong while any of the three commands runs, and that it then does no harm."""

import contextlib
import errno
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from support.command_kit import LONG, MAKERS, slowly
from support.fake_openai import FAULTS, FakeOpenAI, Reply
from support.load import PATIENCE, allowed
from support.review_kit import only_run
from test_exam_reliability import descendants, gone
from test_store_faults import COUNTED

from markbook.store import Disk, RunWriter, open_run, run as run_module

ALL = pytest.mark.parametrize("name", list(MAKERS))
ASKING = pytest.mark.parametrize("name", list(LONG))


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def command(name, tmp_path):
    """Return a command whose server listens."""
    (tmp_path / "in").mkdir()
    made = MAKERS[name](tmp_path / "in")
    with FakeOpenAI(made.script) if made.script else contextlib.nullcontext() as made.server:
        yield made


@pytest.fixture
def long_command(name, tmp_path):
    """Return a command with so much to ask that it can be ended half-way."""
    (tmp_path / "in").mkdir()
    made = LONG[name](tmp_path / "in")
    with FakeOpenAI(slowly(made.script)) as made.server:
        yield made


class LostPowerError(BaseException):
    """The process ends here; no handler of the program runs after it."""


class DyingDisk(Disk):
    """Works for some operations and never again: with an error, or with the end of the process."""

    left = 0
    code = 0

    def step(self):
        type(self).left -= 1
        if self.left < 0 and self.code:
            raise OSError(self.code, os.strerror(self.code))
        if self.left == -1:
            raise LostPowerError
        if self.left < -1:
            raise OSError(errno.EIO, "no power")


for _name in COUNTED:

    def _counted(self, *args, _name=_name):
        self.step()
        return getattr(Disk, _name)(self, *args)

    setattr(DyingDisk, _name, _counted)


def dying(monkeypatch, operations, code):
    """Let every disk die together after so many operations."""
    monkeypatch.setattr(DyingDisk, "left", operations)
    monkeypatch.setattr(DyingDisk, "code", code)
    monkeypatch.setattr(run_module, "Disk", DyingDisk)


def taken_up(command, output):
    """Run to the end, from what is there."""
    found = sorted(output.glob("evaluation_*")) if output.exists() else []
    code, _, err = command.run("--output", output, *(("--resume", found[0]) if found else ()))
    assert code == 0, err
    return command.digest(output)


@ALL
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the power may go in any thread
@pytest.mark.parametrize("what", ["killed", "failing"])
def test_every_operation_of_the_disk_may_be_the_last(command, tmp_path, monkeypatch, what, record_property, part):
    """R1 to R4: killed there, or refused with ENOSPC and EIO in turn; the resumed run has the same bytes.

    An exam starts a sandbox each time, so `make test` tries fewer of its operations; `make test-all` tries every one.
    """
    code, _, err = command.run("--output", tmp_path / "whole")
    assert code == 0, err
    wanted = command.digest(tmp_path / "whole")

    tried = 0
    step = 1 if part.is_whole else 17 if command.name == "exam" else 11  # odd: the two errors come in turn
    for operations in range(part.offset(step, f"{command.name} {what}"), 600, step):
        output = tmp_path / str(operations)
        with monkeypatch.context() as broken:
            fault = 0 if what == "killed" else (errno.ENOSPC, errno.EIO)[operations % 2]
            dying(broken, operations, fault)
            try:
                code, _, err = command.run("--output", output)
            except (LostPowerError, BaseExceptionGroup):  # a task group wraps what hit one of its tasks
                code = -9
            survived = DyingDisk.left >= 0
        if survived:
            break
        tried += 1
        if what == "failing":
            assert code in (73, 74), err
            assert os.strerror(fault) in err
            assert str(output) in err
        with contextlib.suppress(AssertionError, ValueError, FileNotFoundError):
            assert command.digest(output) == wanted, "a report that is there is whole"
        assert taken_up(command, output) == wanted

    record_property("kill points" if what == "killed" else "operations", tried)
    assert survived
    assert operations > 30


@ASKING
def test_a_kill_at_any_moment_asks_nothing_twice(name, long_command, tmp_path, record_property, part):
    """R1: SIGKILL while a model or judge is asked; what was answered and on disk is not asked again."""
    chance = random.Random(name)
    output = tmp_path / "out"
    kills = 0
    for _ in range(4 if part.is_whole else 2):
        found = sorted(output.glob("evaluation_*")) if output.exists() else []
        before = kept(found[0], long_command.kind) if found else 0
        process = long_command.start("--output", output, *(("--resume", found[0]) if found else ()))
        wanted = before + chance.randint(3, 9)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            now = sorted(output.glob("evaluation_*")) if output.exists() else []
            if now and kept(now[0], long_command.kind) >= wanted:
                break
            time.sleep(0.02)
        process.kill()
        process.communicate()
        kills += 1
    (folder,) = output.iterdir()
    answered = kept(folder, long_command.kind)
    assert answered >= 3 * kills
    long_command.server.settle()
    calls = long_command.server.calls

    digest = taken_up(long_command, output)

    questions = kept(folder, long_command.kind)
    assert long_command.server.calls - calls == questions - answered
    code, _, err = long_command.run("--output", tmp_path / "whole")
    assert code == 0, err
    assert long_command.digest(tmp_path / "whole") == digest
    record_property("kills", kills)


def kept(folder, kind):
    """Return how many rows of a kind a journal holds, as far as it is written."""
    return sum(path.read_bytes().count(f'"kind":"{kind}"'.encode()) for path in folder.glob("journal/*.jsonl"))


@ALL
def test_output_that_cannot_be_written_is_refused_before_anything_is_asked(command, tmp_path):
    """R5."""
    if os.getuid() == 0:
        target = Path("/proc/markbook-out")  # nobody may write there, root included
    else:
        target = tmp_path / "locked"
        target.mkdir(mode=0o500)
    begun = time.monotonic()

    code, _, err = command.run("--output", target / "x")

    assert code == 73
    assert "cannot be written" in err
    assert command.server is None or command.server.calls == 0
    assert time.monotonic() - begun < allowed(30)


@ALL
def test_a_clock_that_jumps_changes_no_byte(command, tmp_path, monkeypatch):
    """R9."""
    assert command.run("--output", tmp_path / "calm")[0] == 0
    times = iter([1.79e9, 1.79e9 - 86400, 1.79e9 + 86400] * 10_000)
    monkeypatch.setattr("time.time", lambda: next(times))

    code, _, err = command.run("--output", tmp_path / "jumpy")

    assert code == 0, err
    assert command.digest(tmp_path / "jumpy") == command.digest(tmp_path / "calm")


CANARIES = {
    "OPENAI_API_KEY": "sk-canary-0123456789abcdef",
    "AWS_SECRET_ACCESS_KEY": "canary-1-secret-value",
    "MY_TOKEN": "canary-2-token-value",
    "DB_PASSWORD": "canary-3-password",
    "SERVICE_AUTH": "canary-4-auth-value",
}


@ALL
@pytest.mark.parametrize("fault", [*sorted(set(FAULTS) - {"slow_drip"}), "echo", "echo_500"])
def test_no_secret_is_written_or_said_whatever_the_server_does(name, fault, tmp_path, monkeypatch):
    """R17: five secrets in the environment, every fault of R10, and servers that repeat the key in their error."""
    if name == "exam" and fault != "echo":
        pytest.skip("an exam asks no server")
    for variable, value in CANARIES.items():
        monkeypatch.setenv(variable, value)
    echoed = f'{{"error": {{"message": "wrong key {" ".join(CANARIES.values())}"}}}}'.encode()
    script = {"echo": [Reply(echoed, 401)], "echo_500": [Reply(echoed, 500)]}.get(fault) or FAULTS[fault]
    monkeypatch.setattr("markbook.model.asker.FIRST_WAIT", 0.01)
    command = MAKERS[name](tmp_path)
    with FakeOpenAI(script) if command.script else contextlib.nullcontext() as command.server:
        retries = {"run": ("--retries", "0"), "review": ("--judge-retries", "0")}.get(name, ())
        log = ("--log-file", tmp_path / "out" / "log.txt", "--verbose") if name == "review" else ()
        (tmp_path / "out").mkdir()
        _, out, err = command.run("--output", tmp_path / "out", *retries, *log)

    written = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert len(written) > 3
    for value in CANARIES.values():
        assert value not in out + err
        assert [path for path, data in written.items() if value.encode() in data] == []


@ALL
def test_a_second_run_in_the_folder_is_refused_with_the_owner(command, tmp_path):
    """R18."""
    assert command.run("--output", tmp_path / "out")[0] == 0
    folder = only_run(tmp_path / "out")
    holder = (
        "import sys\nfrom pathlib import Path\nfrom markbook.store.disk import FolderLock\n"
        "FolderLock(Path(sys.argv[1]))\nprint('held', flush=True)\nsys.stdin.read()\n"
    )
    import subprocess

    owner = subprocess.Popen(
        [sys.executable, "-c", holder, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout.readline() == "held\n"

    code, _, err = command.run("--output", tmp_path / "out", "--resume", folder)
    owner.communicate("")

    assert code == 75
    assert f"pid {owner.pid}" in err
    assert command.run("--output", tmp_path / "out", "--resume", folder)[0] == 0


@ALL
def test_the_hash_seed_changes_no_byte(command, tmp_path, part):
    """R20."""
    digests = set()
    for seed in ("0", *part.of(("1", "12345"), 2)):
        process = command.start("--output", tmp_path / seed, env={**os.environ, "PYTHONHASHSEED": seed})
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        digests.add(command.digest(tmp_path / seed))

    assert len(digests) == 1


@ASKING
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_ended_run_leaves_nothing_behind_and_can_be_taken_up(name, long_command, tmp_path, number, code):
    """R21."""
    output = tmp_path / "out"
    more = ("--workers", "2") if name == "review" else ()
    process = long_command.start(
        "--output", output, *more,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a build server may have it ignored
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        found = sorted(output.glob("evaluation_*")) if output.exists() else []
        if found and kept(found[0], long_command.kind) >= 3:
            break
        time.sleep(0.02)
    below = descendants(process.pid)

    os.kill(process.pid, number)
    begun = time.monotonic()
    _, err = process.communicate(timeout=PATIENCE)

    assert process.returncode == code, err
    assert time.monotonic() - begun < allowed(5)
    assert gone(below)
    (folder,) = output.iterdir()
    assert open_run(folder).status == ("running" if number == signal.SIGKILL else "interrupted")
    assert "Traceback" not in err
    assert number == signal.SIGKILL or f"continue with: markbook {long_command.name} --resume {folder}" in err
    digest = taken_up(long_command, output)
    assert long_command.run("--output", tmp_path / "whole")[0] == 0
    assert long_command.digest(tmp_path / "whole") == digest


@ALL
def test_a_planted_link_in_the_run_is_not_followed(command, tmp_path, monkeypatch):
    """R16: a report's name is a link to a file of somebody else's."""
    canary = tmp_path / "canary"
    canary.write_text("untouched")
    create = RunWriter.create.__func__

    def planting(cls, output, manifest, *, disk=None):
        writer = create(cls, output, manifest, disk=disk)
        for report in command.reports:
            place = writer.folder / report
            place.parent.mkdir(exist_ok=True)
            place.symlink_to(canary)
            place.with_name(f".{place.name}.tmp").symlink_to(canary)
        return writer

    monkeypatch.setattr(RunWriter, "create", classmethod(planting))

    code, _, err = command.run("--output", tmp_path / "out")

    assert code == 0, err
    assert canary.read_text() == "untouched"
    assert not any((only_run(tmp_path / "out") / report).is_symlink() for report in command.reports)
