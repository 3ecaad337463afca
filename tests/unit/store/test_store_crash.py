"""Whatever moment the power is cut at, and whatever the disk kept, resuming gives the bytes of an unbroken run.

The model is the gate: a random kill -9 passes designs that lose data. The mutants at the end are the test of the test.
"""

import itertools
import json
from pathlib import Path

import pytest
from support.crash_disk import CrashDisk, PowerCutError, points

from markbook.errors import DataError
from markbook.store import Manifest, RunWriter, journal, run as run_module
from markbook.store.journal import StoredRow

OUTPUT = Path("/model/out")
MANIFEST = Manifest("exam", {"timeout": 60}, {"benchmark": "aa"})
WORK = 7
REPORTS = ("report.jsonl", "gpt/score.json")


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch):
    monkeypatch.setattr(journal, "GROUP_ROWS", 3)
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 300)
    monkeypatch.setattr("time.time", lambda: 1790000000.0)


class Ledger:
    """What was acknowledged and how often each piece of work was done, across crashes."""

    def __init__(self):
        self.acknowledged = set()
        self.redone = 0

    def work(self, writer, number):
        self.redone += number in self.acknowledged
        writer.add("outcome", (number,), {"value": number * number})


def execute(disk, ledger):
    """Run, or go on with what is there, to the end."""
    disk.make_parents(OUTPUT)
    folders = [path for path in disk.now if path.parent == OUTPUT and path.name.startswith("evaluation_")]
    writer = (
        RunWriter.resume(folders[0], MANIFEST, disk=disk) if folders else RunWriter.create(OUTPUT, MANIFEST, disk=disk)
    )
    with writer:
        for number in range(WORK):
            if not writer.has("outcome", (number,)):
                ledger.work(writer, number)
                if number % 3 == 2:
                    writer.commit()
                    ledger.acknowledged.update(range(number + 1))
        writer.commit()
        ledger.acknowledged.update(range(WORK))
        rows = sorted((row.key[0], row.data["value"]) for row in writer.rows("outcome"))
        writer.publish({REPORTS[0]: "".join(f"{row}\n" for row in rows), REPORTS[1]: json.dumps(rows)})
        writer.finish()


def reports(disk):
    return {
        path.name: bytes(file.data) for path, file in disk.now.items() if path.name in {"report.jsonl", "score.json"}
    }


def status(disk):
    found = [file for path, file in disk.now.items() if path.name == "run.json"]
    return json.loads(bytes(found[0].data))["status"] if found else ""


def check(*, double=False, step=1, offset=0):
    """Return how many states were tried and every violation found; of the cuts one in `step` is made."""
    clean = CrashDisk()
    execute(clean, Ledger())
    wanted = reports(clean)
    assert len(wanted) == 2
    states, faults = 0, []

    def survey(crashed, ledger, depth, label):
        nonlocal states
        for number, disk in enumerate(crashed.states()):
            states += 1
            name = f"{label} state {number}"
            found = reports(disk)
            faults.extend(f"{name}: partial {report}" for report in found if found[report] != wanted[report])
            try:
                if status(disk) == "done" and found != wanted:
                    faults.append(f"{name}: done without its reports")
            except ValueError:
                faults.append(f"{name}: damaged run.json")
            again = Ledger()
            again.acknowledged = set(ledger.acknowledged)
            base = dict(disk.now)
            if depth:
                for cut in range(0, 30, 3):
                    second = copy_of(base, cut)
                    inner = Ledger()
                    inner.acknowledged = set(ledger.acknowledged)
                    try:
                        execute(second, inner)
                    except PowerCutError:
                        survey(second, inner, depth - 1, f"{name} cut again {cut}")
                    except (DataError, ValueError, KeyError) as error:
                        faults.append(f"{name}: {type(error).__name__} on resume")
                        break
                    else:
                        break
            whole = copy_of(base, None)
            try:
                execute(whole, again)
            except (DataError, ValueError, KeyError, OSError) as error:
                faults.append(f"{name}: {type(error).__name__}: {error}")
                continue
            if reports(whole) != wanted:
                faults.append(f"{name}: other bytes")
            if again.redone:
                faults.append(f"{name}: {again.redone} acknowledged rows lost")

    ledgers = []

    def attempt(disk):
        ledgers.append(Ledger())
        execute(disk, ledgers[-1])

    for number, disk in itertools.islice(points(attempt), offset, None, step):
        survey(disk, ledgers[-1], 1 if double else 0, f"cut at {number}")
    return states, faults


def copy_of(base, cut):
    from support.crash_disk import _File

    disk = CrashDisk(cut_at=cut)
    disk.now = {
        path: None if file is None else _File(bytearray(file.data), len(file.data)) for path, file in base.items()
    }
    disk.safe = dict(disk.now)
    return disk


def test_every_cut_and_every_state_resumes_to_the_same_bytes(record_property):
    states, faults = check()

    record_property("states", states)
    assert faults == []
    assert states > 300


@pytest.mark.slow
def test_a_second_cut_during_the_resume_changes_nothing(record_property, part):
    """Whatever the first cut was; `make test` makes one in twenty of them."""
    step = 1 if part.is_whole else 20
    states, faults = check(double=True, step=step, offset=part.offset(step, "first cut"))

    record_property("states", states)
    assert faults == []
    assert states > (5000 if part.is_whole else 90)


def _no_truncation(monkeypatch):
    monkeypatch.setattr(CrashDisk, "truncate", lambda _self, _path, _size: None)


def _no_sync(monkeypatch):
    monkeypatch.setattr(CrashDisk, "sync", lambda self, _file: self._step())


def _rename_before_sync(monkeypatch):
    def replace(disk, path, content):
        temporary = path.with_name(f".{path.name}.tmp")
        if disk.exists(temporary):
            disk.remove(temporary)
        file = disk.create(temporary)
        for data in content:
            disk.write(file, data)
        disk.rename(temporary, path)
        disk.sync_folder(path.parent)

    monkeypatch.setattr(run_module, "replace_file", replace)


def _report_in_place(monkeypatch):
    def replace(disk, path, content):
        if disk.exists(path):
            disk.remove(path)
        file = disk.create(path)
        for data in content:
            disk.write(file, data)
        disk.sync(file)
        disk.sync_folder(path.parent)

    monkeypatch.setattr(run_module, "replace_file", replace)


def _no_checksum(monkeypatch):
    def from_line(line):
        try:
            record = json.loads(line)
            return StoredRow(record["kind"], tuple(record["key"]), record["data"])
        except (ValueError, KeyError, TypeError):
            return StoredRow("outcome", (-1,), {"value": 0}) if line.strip(b"\n") else None

    monkeypatch.setattr(journal, "from_line", from_line)


@pytest.mark.parametrize(
    "mutate", [_no_truncation, _no_sync, _rename_before_sync, _report_in_place, _no_checksum], ids=lambda f: f.__name__
)
def test_known_bad_design_is_caught(monkeypatch, mutate, record_property):
    mutate(monkeypatch)

    states, faults = check()

    record_property("states", states)
    record_property("violations by designs known to be bad, all caught", len(faults))
    assert faults
