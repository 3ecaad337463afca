"""What is installed is found as the standard library finds it, without loading that; and the processors that are ours."""

import json
import os
import subprocess
import sys
from importlib import metadata

import pytest
from support.review_kit import markbook

from markbook import engine, installed
from markbook.plugins import KINDS
from markbook.serve.pool import Pool


@pytest.fixture(autouse=True)
def _afresh():
    installed._declarations.cache_clear()
    yield
    installed._declarations.cache_clear()


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_those_of_the_standard_library(kind):
    wanted = {point.name: point.value for point in metadata.entry_points(group=f"markbook.{kind}")}

    assert installed.entry_points(f"markbook.{kind}") == wanted
    assert wanted or kind == "tasks"  # our own ready tasks need no door: they lie in the package


def test_the_version_is_that_of_the_standard_library():
    assert installed.version() == metadata.version("markbook")


def declare(folder, name, text):
    place = folder / f"{name}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.partition('-')[0]}\nVersion: 1\n")
    (place / "entry_points.txt").write_text(text)


def test_of_two_installations_the_one_that_is_imported_counts(tmp_path, monkeypatch):
    declare(
        tmp_path / "first", "My.Plugin-2.0", "[markbook.reports]\nmine = here:new\n# a note\n[other]\nmine = no:no\n"
    )
    declare(tmp_path / "second", "my_plugin-1.0", "[markbook.reports]\nmine = here:old\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second"), str(tmp_path / "none")])

    assert installed.entry_points("markbook.reports") == {"mine": "here:new"}
    assert {p.name: p.value for p in metadata.entry_points(group="markbook.reports")} == {"mine": "here:new"}


def test_where_an_archive_is_on_the_path_the_standard_library_is_asked(tmp_path, monkeypatch):
    archive = tmp_path / "packed.zip"
    archive.write_bytes(b"PK")
    monkeypatch.setattr(sys, "path", [str(archive), *sys.path])
    asked = []
    monkeypatch.setattr(metadata, "entry_points", lambda group: asked.append(group) or ())

    assert installed.entry_points("markbook.reports") == {}
    assert asked == ["markbook.reports"]


def test_finding_a_part_loads_no_archives_and_no_mail():
    code = (
        "import sys; from markbook import plugins; plugins.names('reports');"
        "print(sorted({'importlib.metadata', 'zipfile', 'email'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("usable", "in_machine", "count"),
    [({1, 5, 6}, 64, 3), (None, 5, 5), (None, None, 1)],
    ids=["some", "all", "unknown"],
)
def test_as_many_processors_are_used_as_this_process_may_use(monkeypatch, usable, in_machine, count):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on other systems than Linux
    if usable is not None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _process: usable, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: in_machine)
    started = []
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", lambda workers, **_: started.append(workers))

    code, shown, messages = markbook("doctor", "--json")
    engine.local()

    assert code in (0, 4), messages
    assert json.loads(shown)["processors"] == count
    assert started == [count][count == 1 :]  # one worker is this process
    assert len(Pool().lanes) == count
