"""One door for what users name: compression is undone within one set of limits, whoever reads."""

import gzip
import hashlib
import json
import zipfile

import pytest

from markbook.errors import DataError
from markbook.files.archive import members
from markbook.files.content import pieces, whole
from markbook.files.jsonl import read_jsonl
from markbook.files.stream import Source
from markbook.traces import read_trace


def packed(tmp_path, content):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(content)
    return path


def test_joined_and_padded_gzip_files_are_read_to_their_end(tmp_path):
    path = packed(tmp_path, gzip.compress(b'{"i": 1}\n') + gzip.compress(b'{"i": 2}\n') + b"\0" * 600_000)
    digest = hashlib.sha256()

    assert b"".join(pieces(path, digest)) == b'{"i": 1}\n{"i": 2}\n'
    assert digest.hexdigest() == hashlib.sha256(b'{"i": 1}\n{"i": 2}\n').hexdigest()
    assert list(Source(path).lines()) == [{"i": 1}, {"i": 2}]


@pytest.mark.parametrize("damage", ["cut off", "damaged"])
def test_a_damaged_gzip_is_an_error_for_rows_and_half_the_evidence_for_traces(tmp_path, damage):
    lines = b"".join(b'{"i": %d}\n' % number for number in range(200_000))
    sound = gzip.compress(lines)
    middle = len(sound) // 2
    torn = sound[:middle] if damage == "cut off" else sound[:middle] + b"\xff" * 64 + sound[middle + 64 :]
    path = packed(tmp_path, torn)
    told = []

    came = b"".join(pieces(path, damage=told.append))

    assert lines.startswith(came[: len(lines) // 4])
    assert len(told) == 1
    assert damage in told[0]
    with pytest.raises(DataError, match=f"the file is damaged: .*{damage}") as error:
        list(read_jsonl(path))
    whole_lines = came.count(b"\n")
    assert error.value.at == f"{path}:{whole_lines + 1}"


@pytest.mark.parametrize(
    "read", [lambda path: list(read_jsonl(path)), read_trace, whole], ids=["rows", "trace", "whole"]
)
def test_one_rule_refuses_a_bomb_whoever_reads_it(read, tmp_path):
    # 40 MiB of spaces from 41 KiB: 8 MiB are free, and 200 times 41 KiB are 8 MiB more.
    path = packed(tmp_path, gzip.compress(b'[{"a": 1}, ' + b" " * (40 << 20), 9))

    with pytest.raises(
        DataError, match=r"unpacks to more than 1[56] MiB from \d+ bytes: refused as a compression bomb"
    ):
        read(path)


def test_what_ordinary_packing_gives_is_no_bomb(tmp_path):
    row = json.dumps({"prompt": "def f(x):", "answer": "return x + 1", "n": 1}).encode() + b"\n"
    path = packed(tmp_path, gzip.compress(row * 100_000))

    assert sum(1 for _ in read_jsonl(path)) == 100_000


@pytest.mark.parametrize("form", ["document", "lines"])
def test_a_packed_document_is_bounded_by_what_it_unfolds_to(form, tmp_path, monkeypatch):
    monkeypatch.setattr("markbook.files.stream.MAX_DOCUMENT", 1 << 20)
    rows = [{"i": number, "text": "x" * 50} for number in range(20_000)]
    text = json.dumps(rows) if form == "document" else "\n".join(map(json.dumps, rows))
    path = packed(tmp_path, gzip.compress(text.encode()))

    assert path.stat().st_size < 1 << 20
    with pytest.raises(DataError, match="more than 1 MiB are too many to read whole"):
        Source(path).document()


def test_a_file_beyond_the_limit_is_not_held(tmp_path):
    path = tmp_path / "one.json"
    path.write_bytes(b"[" + b" " * (3 << 20) + b"]")

    with pytest.raises(DataError, match="the file is larger than 2 MiB"):
        whole(path, limit=2 << 20)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_of_a_zip_may_be_as_large_as_the_limit_and_no_larger(tmp_path, monkeypatch, method):
    monkeypatch.setattr("markbook.files.archive.MAX_DOCUMENT", 8)
    path = tmp_path / "log.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("fits", "x" * 8)
        archive.writestr("does not fit", "x" * 9)

    assert list(members(path, lambda name: name == "fits")) == [b"x" * 8]
    with pytest.raises(DataError, match="does not fit unfolds to more than 8 bytes"):
        list(members(path, lambda name: name == "does not fit"))
