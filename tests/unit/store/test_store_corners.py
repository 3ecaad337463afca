"""Corners of a run's folder: rows that nobody could read back, threads, names that are not text."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from click.testing import CliRunner

from markbook import open_run
from markbook.cli import cli
from markbook.errors import StorageError
from markbook.store import journal
from markbook.store.run import Manifest, RunWriter

MANIFEST = Manifest("run", {}, {})


def run_cli(*args):
    return CliRunner().invoke(cli, [os.fspath(arg) for arg in args], catch_exceptions=True)


def test_a_row_that_could_not_be_read_back_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "LINE_CAP", 1 << 16)
    with RunWriter.create(tmp_path, MANIFEST) as writer:
        writer.add("o", ("a",), {"text": "x"})
        with pytest.raises(StorageError, match="longer than the journal takes"):
            writer.add("o", ("b",), {"text": "x" * (1 << 16)})
        writer.add("o", ("c",), {"text": "x"})
        writer.finish()

    assert [row.key for row in open_run(writer.folder).rows("o")] == [("a",), ("c",)]


def test_a_finished_run_is_read_to_its_end_or_not_at_all(tmp_path, monkeypatch):
    with RunWriter.create(tmp_path, MANIFEST) as writer:
        for name in "abc":
            writer.add("o", (name,), {"text": "x" * (3 << 20 if name == "b" else 1)})
        writer.finish()
    run = open_run(writer.folder)
    monkeypatch.setattr(journal, "LINE_CAP", 1 << 16)  # as of a row that an earlier version wrote

    with pytest.raises(StorageError, match="cannot be read from byte"):
        list(run.rows("o"))
    with pytest.raises(StorageError, match="cannot be read from byte"):
        list(run.locate_all())


def test_threads_that_add_the_same_rows_add_each_once(tmp_path):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with RunWriter.create(tmp_path, MANIFEST) as writer:
            barrier = threading.Barrier(4)

            def add():
                for at in range(300):
                    barrier.wait()
                    writer.add("o", (at,), {})

            threads = [threading.Thread(target=add) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            writer.finish()
    finally:
        sys.setswitchinterval(interval)

    assert len(list(open_run(writer.folder).rows("o"))) == 300


def test_a_file_whose_name_is_not_utf8_is_imported(tmp_path):
    path = os.fsencode(tmp_path) + b"/r\xff.csv"
    with open(path, "w") as file:  # noqa: PTH123 - a name that pathlib could hold too, as text
        file.write("item,score\na,1\nb,0\n")

    result = run_cli("import", os.fsdecode(path), "-o", tmp_path / "out")

    assert result.exit_code == 0, result.exception
    (run,) = (tmp_path / "out").glob("*/run.json")
    assert list(open_run(run.parent).scores) == ["r\ufffd"]
