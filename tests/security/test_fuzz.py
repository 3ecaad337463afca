"""Every reader takes any bytes: it gives records, counts rejections, or raises a MarkbookError with a place.

What ever broke a reader is kept in tests/fuzz_corpus and tried again here; `python -m bench.fuzz` searches for more.
"""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.fuzz_targets import ANSWER, CORPUS, PROBLEM, TARGETS, attempt, seeds
from test_benchmark import EVALPLUS, HUMANEVAL, MBPP

from markbook.benchmarks.benchmark import load_benchmark
from markbook.errors import MarkbookError
from markbook.testcode.extraction import compiles, extract

EXAMPLES = 100
ROWS = {"benchmark": [PROBLEM, HUMANEVAL, EVALPLUS, MBPP], "answers": [{**ANSWER, "sample": 0}]}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged(draw, given_seeds):
    """A kept file with bytes cut, changed or put in."""
    data = bytearray(draw(st.sampled_from(given_seeds)))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        what = draw(st.sampled_from(["cut", "change", "insert", "newline"]))
        if what == "cut":
            del data[place : place + draw(st.integers(1, 20))]
        elif what == "change" and data:
            data[place] = draw(st.integers(0, 255))
        elif what == "insert":
            data[place:place] = draw(st.binary(max_size=8))
        else:
            data[place:place] = b"\n"
    return bytes(data)


@st.composite
def other_types(draw, rows):
    """A valid row with values of other types under some of its keys, at any depth where it is an object."""
    row = json.loads(json.dumps(draw(st.sampled_from(rows))))
    for _ in range(draw(st.integers(1, 3))):
        inner = row
        while isinstance(inner, dict) and inner:
            key = draw(st.sampled_from(sorted(inner)))
            if isinstance(inner[key], dict) and inner[key] and draw(st.booleans()):
                inner = inner[key]
            elif isinstance(inner[key], list) and inner[key] and draw(st.booleans()):
                inner = inner[key][draw(st.integers(0, len(inner[key]) - 1))]
            else:
                inner[key] = draw(json_values)
                break
    return json.dumps(row).encode()


def objects(name):
    """Return the rows of a target's kept files that are objects."""
    found = list(ROWS.get(name, []))
    for data in seeds(name):
        for text in (data, *data.split(b"\n")):
            try:
                record = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                found.append(record)
    return found


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_kept_breaks_no_reader(tmp_path, path):
    attempt(path.parent.name, path.read_bytes(), tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_reader_takes_anything(name, record_property):
    rows = objects(name)
    inputs = damaged(seeds(name)) | st.binary(max_size=200)
    count = 0

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(inputs | other_types(rows) if rows else inputs)
    def run(data):
        nonlocal count
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            attempt(name, data, Path(folder))

    run()

    record_property("cases", count)
    assert count >= EXAMPLES // 2


def test_every_target_has_inputs_of_its_own():
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    assert all(len(list((CORPUS / name).glob("seed-*"))) >= 2 for name in TARGETS)
    assert sum(path.stat().st_size for path in CORPUS.glob("*/*")) < 200_000


def test_a_reader_that_fails_is_seen(tmp_path, monkeypatch):
    """The test of the test: anything but an error of ours gets through to whoever fuzzes."""

    def broken(_data, _folder):
        raise KeyError("tests")

    monkeypatch.setitem(TARGETS, "benchmark", broken)

    with pytest.raises(KeyError):
        attempt("benchmark", b"", tmp_path)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300) | st.text(alphabet="`~\n[]/PYTHON defx():=\"' ", max_size=300))
def test_extraction_takes_anything_and_invents_nothing(reply):
    text, _ = extract(reply, compiles, "f")

    assert text in reply


def test_seeds_are_valid_as_they_stand(tmp_path):
    for number, row in enumerate(ROWS["benchmark"]):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(row))
        assert len(load_benchmark(path).samples) == 1
    with pytest.raises(MarkbookError):
        load_benchmark(tmp_path / "nowhere")
