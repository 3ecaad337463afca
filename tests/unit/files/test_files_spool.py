"""Records in a file instead of in memory: the same sequence."""

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from markbook.files import spool
from markbook.files.spool import Spool


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(spool, "HELD", 3)
    monkeypatch.setattr(spool, "_BUFFER", 64)


@settings(max_examples=30)
@given(st.lists(st.one_of(st.text(), st.lists(st.integers()))), st.slices(8))
def test_it_is_the_list_of_what_was_added(records, part):
    spool.HELD, spool._BUFFER = 3, 64
    found = Spool(records)

    assert list(found) == records
    assert len(found) == len(records)
    assert found[part] == records[part]
    assert [found[place] for place in range(-len(records), len(records))] == records + records


def test_what_is_added_while_it_is_read_comes_at_the_end():
    found = Spool(range(5))
    seen = []
    for each in found:
        seen.append(each)
        if each < 3:
            found.append(10 + each)

    assert seen == [0, 1, 2, 3, 4]
    assert list(found) == [0, 1, 2, 3, 4, 10, 11, 12]


@pytest.mark.parametrize("place", [3, -4, 100])
@pytest.mark.parametrize("count", [3, 5])
def test_a_place_beyond_the_end_is_none(place, count):
    with pytest.raises(IndexError):
        Spool(range(3))[place if count == 3 else place * 2]


def test_its_file_has_no_name_and_is_closed_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    open_before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else 0

    found = Spool(["x" * 100] * 10)
    assert list(tmp_path.iterdir()) == []
    del found

    assert (len(list(Path("/proc/self/fd").iterdir())) if open_before else 0) == open_before
