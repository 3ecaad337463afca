"""A run folder keeps what it acknowledged, and only one writer works in it."""

import json
import os
import subprocess
import sys
import time

import pytest

from markbook.errors import DataError, OutputError, RunInUseError, StorageError, UsageError
from markbook.store import Disk, Manifest, RunWriter, open_run
from markbook.store.journal import GROUP_ROWS, Journal, from_line, read, to_line


@pytest.fixture
def manifest():
    return Manifest("exam", {"timeout": 60}, {"benchmark": "aa"})


def test_line_carries_its_own_checksum():
    line = to_line("outcome", ("gpt", "t/1", 0), {"passed": 2, "text": "é\u2028"})

    row = from_line(line)

    assert json.loads(line)["kind"] == "outcome"
    assert (row.kind, row.key, row.data) == ("outcome", ("gpt", "t/1", 0), {"passed": 2, "text": "é\u2028"})


def test_every_damaged_byte_is_seen():
    line = to_line("outcome", ("gpt", 1), {"passed": 2})

    damaged = [line[:i] + bytes([line[i] ^ 1]) + line[i + 1 :] for i in range(len(line))]

    assert [from_line(other) for other in damaged] == [None] * len(line)


def test_nan_never_reaches_the_journal():
    with pytest.raises(ValueError, match="Out of range float"):
        to_line("outcome", ("gpt",), {"value": float("nan")})


def test_rows_come_back_in_order(tmp_path, manifest):
    with RunWriter.create(tmp_path, manifest) as writer:
        for i in range(250):
            writer.add("outcome", ("m", i), {"i": i})
        assert [row.data["i"] for row in writer.rows("outcome")] == list(range(250))
        writer.finish()

    run = open_run(writer.folder)
    assert run.status == "done"
    assert [row.key for row in run.rows("outcome")] == [("m", i) for i in range(250)]


def test_first_row_of_a_key_wins(tmp_path, manifest):
    with RunWriter.create(tmp_path, manifest) as writer:
        writer.add("outcome", ("m",), {"i": 1})
        writer.add("outcome", ("m",), {"i": 2})

        assert [row.data for row in writer.rows("outcome")] == [{"i": 1}]


def test_full_group_is_acknowledged_without_commit(tmp_path):
    journal = Journal.start(Disk(), tmp_path / "journal")

    for i in range(GROUP_ROWS):
        journal.add("outcome", (i,), {})

    assert len(list(read(Disk(), tmp_path / "journal"))) == GROUP_ROWS
    journal.close()


def test_rows_that_no_other_row_follows_are_acknowledged_all_the_same(tmp_path):
    journal = Journal.start(Disk(), tmp_path / "journal")

    for count in (1, 2):
        journal.add("outcome", (count,), {})
        while len(list(read(Disk(), tmp_path / "journal"))) < count:
            time.sleep(0.01)  # where they never come pytest ends the test
    journal.close()


@pytest.mark.parametrize("cut", [1, 7, 20])
def test_torn_tail_is_cut_and_its_row_done_again(tmp_path, manifest, cut):
    with RunWriter.create(tmp_path, manifest) as writer:
        writer.add("outcome", (1,), {"i": 1})
        writer.add("outcome", (2,), {"i": 2})
    segment = writer.folder / "journal" / "00000001.jsonl"
    os.truncate(segment, segment.stat().st_size - cut)

    with RunWriter.resume(writer.folder, manifest) as again:
        assert again.has("outcome", (1,))
        assert not again.has("outcome", (2,))
        again.add("outcome", (2,), {"i": 22})
        assert [row.data["i"] for row in again.rows("outcome")] == [1, 22]


def test_resume_refuses_other_arguments_and_names_them(tmp_path, manifest):
    with RunWriter.create(tmp_path, manifest) as writer:
        pass
    other = Manifest("exam", {"timeout": 5}, {"benchmark": "aa"})

    with pytest.raises(UsageError, match=r"config\.timeout"):
        RunWriter.resume(writer.folder, other)


def test_two_runs_of_one_second_do_not_share_a_folder(tmp_path, manifest, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1790000000.5)

    with RunWriter.create(tmp_path, manifest) as first, RunWriter.create(tmp_path, manifest) as second:
        assert (first.folder.name, second.folder.name) == ("evaluation_1790000000", "evaluation_1790000000_2")


def test_second_process_is_refused_with_the_owners_pid(tmp_path, manifest):
    code = (
        "import sys; from pathlib import Path; from markbook.store import Manifest, RunWriter\n"
        "RunWriter.resume(Path(sys.argv[1]), Manifest('exam', {'timeout': 60}, {'benchmark': 'aa'}))"
    )
    with RunWriter.create(tmp_path, manifest) as writer:
        done = subprocess.run([sys.executable, "-c", code, writer.folder], capture_output=True, text=True, check=False)

    assert "RunInUseError" in done.stderr
    assert f"pid {os.getpid()}" in done.stderr


def test_second_writer_of_this_process_is_refused(tmp_path, manifest):
    with RunWriter.create(tmp_path, manifest) as writer, pytest.raises(RunInUseError):
        RunWriter.resume(writer.folder, manifest)


def test_unwritable_output_is_refused_before_any_work(tmp_path, manifest):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(OutputError):
        RunWriter.create(tmp_path / "file" / "out", manifest)


def test_exception_marks_the_run_interrupted(tmp_path, manifest):
    writer = RunWriter.create(tmp_path, manifest)

    with pytest.raises(KeyboardInterrupt), writer:
        writer.add("outcome", (1,), {})
        raise KeyboardInterrupt

    assert open_run(writer.folder).status == "interrupted"
    assert len(list(open_run(writer.folder).rows("outcome"))) == 1


def test_report_replaces_a_planted_link_and_not_its_target(tmp_path, manifest):
    canary = tmp_path / "canary"
    canary.write_text("alive")

    with RunWriter.create(tmp_path, manifest) as writer:
        (writer.folder / "report.md").symlink_to(canary)
        writer.publish({"report.md": "ours"})

    assert canary.read_text() == "alive"
    assert (writer.folder / "report.md").read_text() == "ours"


def test_report_is_not_written_through_a_planted_folder_link(tmp_path, manifest):
    (tmp_path / "elsewhere").mkdir()

    with RunWriter.create(tmp_path, manifest) as writer:
        (writer.folder / "gpt").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StorageError, match="is not a folder"):
            writer.publish({"gpt/score.json": "{}"})

    assert not list((tmp_path / "elsewhere").iterdir())


def test_folder_without_manifest_is_no_run(tmp_path):
    with pytest.raises(DataError, match=r"no run\.json"):
        open_run(tmp_path)
