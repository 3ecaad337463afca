"""One bad line never ends the run: it is a rejection with its file, line and reason."""

import ast
import gzip
import os
from pathlib import Path

import pytest

from markbook.errors import DataError
from markbook.files import jsonl
from markbook.files.content import MAX_VALUE
from markbook.files.jsonl import Line, Rejection, read_jsonl


def read(path, data):
    path.write_bytes(data)
    return list(read_jsonl(path))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": 1', "not JSON: Expecting ',' delimiter at column 8"),
        (b'{"a": "\x00"}', "not JSON: Invalid control character at at column 8"),
        (b"[1, 2]", "not an object but an array"),
        (b'"text"', "not an object but a string"),
        (b"null", "not an object but null"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"[" * 3_000 + b"]" * 3_000 + b"}", "nested too deeply"),
        (b'{"a": "\xff"}', "not UTF-8: byte 0xff at column 8"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"a": 1e999}', "the number 1e999 is out of range"),
        (b'{"a": "\\ud800"}', "a string holds a lone surrogate"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands twice in one object"),
        (b'{"a": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
    ],
)
def test_bad_line_is_rejected_by_name_and_its_neighbours_stand(tmp_path, line, reason):
    path = tmp_path / "rows.jsonl"

    first, bad, last = read(path, b'{"i": 1}\n' + line + b'\n{"i": 3}\n')

    assert (first.record, last.record) == ({"i": 1}, {"i": 3})
    assert isinstance(bad, Rejection)
    assert bad.at == f"{path}:2"
    assert bad.reason.startswith(reason)


def test_half_a_character_in_an_array_is_a_rejected_row_too(tmp_path):
    bad, good = read(tmp_path / "rows.json", b'[{"a": "\\ud800"}, {"a": "\\ud83d\\ude00"}]')

    assert bad == Rejection(f"{tmp_path / 'rows.json'}[1]", "a string holds a lone surrogate")
    assert good.record == {"a": "\U0001f600"}


def test_line_beyond_the_cap_is_rejected_without_being_kept(tmp_path):
    long = b'{"a": "' + b"x" * (MAX_VALUE + 10) + b'"}'

    bad, good = read(tmp_path / "rows.jsonl", long + b'\n{"i": 2}\n')

    assert bad.reason == "the line is longer than 64 MiB"
    assert good.record == {"i": 2}


def test_bom_crlf_blank_lines_and_missing_last_newline_are_fine(tmp_path):
    rows = read(tmp_path / "rows.jsonl", b'\xef\xbb\xbf{"i": 1}\r\n\r\n   \n{"i": 2}')

    assert [(row.record["i"], row.at.rpartition(":")[2]) for row in rows] == [(1, "1"), (2, "4")]


def test_line_separator_inside_a_string_does_not_split_the_line(tmp_path):
    (row,) = read(tmp_path / "rows.jsonl", '{"a": "x\u2028y"}\n'.encode())

    assert row.record == {"a": "x\u2028y"}


def test_pretty_printed_array_named_jsonl_is_explained(tmp_path):
    with pytest.raises(DataError, match=r"rows\.jsonl:1: this file is one JSON array"):
        read(tmp_path / "rows.jsonl", b'[\n  {"i": 1}\n]\n')


def test_array_named_json_is_read(tmp_path):
    path = tmp_path / "rows.json"

    first, bad = read(path, b'[{"i": 1}, 7]')

    assert first == Line({"i": 1}, f"{path}[1]")
    assert bad == Rejection(f"{path}[2]", "not an object but a number")


def test_gzip_is_known_by_content(tmp_path):
    (row,) = read(tmp_path / "rows.jsonl", gzip.compress(b'{"i": 1}\n'))

    assert row.record == {"i": 1}


def test_gzip_bomb_is_refused(tmp_path):
    with pytest.raises(DataError, match="unpacks to more than"):
        read(tmp_path / "rows.jsonl", gzip.compress(b" " * (300 << 20)))


def test_damaged_gzip_is_refused(tmp_path):
    with pytest.raises(DataError, match="damaged"):
        read(tmp_path / "rows.jsonl", gzip.compress(b'{"i": 1}\n' * 1000)[:-12])


def test_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "rows.jsonl")

    with pytest.raises(DataError, match="not a regular file"):
        list(read_jsonl(tmp_path / "rows.jsonl"))


def test_the_limit_of_nesting_is_ours_and_not_that_of_a_version_of_python():
    for text in ("[" * 950 + "]" * 950, "[" + "[{}]," * 2_000 + "0]", '["' + "[" * 2_000 + '\\"{"]'):
        jsonl.check_depth(text)
    for text in (
        "[" * 951 + "]" * 951,
        '{"a":' * 951 + "0" + "}" * 951,
        "[" * 500 + '["]]]\\"",' * 451 + "0" + "]" * 951,
    ):
        with pytest.raises(RecursionError, match="deeper than 950 levels"):
            jsonl.check_depth(text)


def test_json_of_others_is_bent_in_one_module():
    """What NaN, a key that stands twice and an absurd integer become is decided in `files.jsonl`, nowhere else."""
    source = Path(jsonl.__file__).parents[1]
    copies = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "guest" not in path.parts  # a guest has nothing of ours to import
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.keyword) and node.arg in ("parse_constant", "object_pairs_hook", "parse_int")
    }

    assert copies == {"files/jsonl.py"}


def test_integers_of_any_length_are_kept_where_they_are_wanted():
    digits = "9" * 60
    assert jsonl.decode_json(digits) is None
    assert jsonl.decode_json(digits, any_integer=True) == int(digits)
    assert jsonl.decode_json("9" * 5_000, any_integer=True) is jsonl.BAD


def test_a_number_out_of_range_is_infinite_for_a_caller_who_checks_bounds():
    assert jsonl.parse_json('{"a": 1e999}', finite=False) == {"a": float("inf")}
    with pytest.raises(ValueError, match="out of range"):
        jsonl.parse_json('{"a": 1e999}')
