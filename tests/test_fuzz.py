"""Every reader takes any bytes: it gives records, counts rejections, or raises a MarkbookError with a place."""

import json

import pytest
from exam_kit import answer, problem
from hypothesis import HealthCheck, given, settings, strategies as st
from test_benchmark import EVALPLUS, HUMANEVAL, MBPP

import markbook
from markbook.config import load
from markbook.errors import MarkbookError
from markbook.load.answers import load_answers
from markbook.load.benchmark import load_benchmark
from markbook.load.extraction import extract_code
from markbook.load.faults import without_faults

BUDGET = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
SEEDS = [json.dumps(row).encode() for row in (problem("a"), answer("a", "x = 1"), HUMANEVAL, EVALPLUS, MBPP)]
TASK = b"task: t\ndata: rows.jsonl\nprompt: '{{ q }}'\ntarget: a\nmetrics:\n  - exact_match\n"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged(draw, seeds):
    """A valid file with bytes cut, changed or put in, or a field of another type."""
    data = bytearray(draw(st.sampled_from(seeds)))
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
    row = dict(draw(st.sampled_from(rows)))
    for key in draw(st.lists(st.sampled_from(sorted(row)), max_size=3)):
        row[key] = draw(json_values)
    return json.dumps(row).encode()


ROWS = [problem("a"), HUMANEVAL, EVALPLUS, MBPP]


@BUDGET
@given(damaged(SEEDS) | other_types(ROWS) | st.binary(max_size=200))
def test_benchmark_reader_takes_anything(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "benchmark.jsonl"
    path.write_bytes(data)

    try:
        benchmark, faults = without_faults(load_benchmark(path))
    except MarkbookError as error:
        assert error.exit_code == 2
    else:
        assert benchmark.samples
        assert all(fault.reason for fault in faults)


@BUDGET
@given(damaged(SEEDS) | other_types([answer("a", "x = 1", sample=0)]) | st.binary(max_size=200))
def test_answer_reader_takes_anything(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "benchmark.jsonl").write_text(json.dumps(problem("a")))
    (folder / "answers.jsonl").write_bytes(data + b"\n" + json.dumps(answer("a", "x = 1", "other")).encode())

    try:
        answers = load_answers([folder / "answers.jsonl"], load_benchmark(folder / "benchmark.jsonl"))
    except MarkbookError as error:
        assert error.exit_code == 2
    else:
        with answers:
            assert sum(1 for model in answers.models for _ in answers.attempts(model)) >= 1


@BUDGET
@given(damaged([TASK]) | st.binary(max_size=200))
def test_task_reader_takes_anything(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "task.yaml"
    path.write_bytes(data)

    try:
        load(path)
    except MarkbookError as error:
        assert error.exit_code == 2


@BUDGET
@given(
    damaged(
        [
            json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "chat", "spanId": "a"}]}]}]}).encode(),
            json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]).encode(),
            json.dumps({"history": [{"role": "agent", "content": "x"}]}).encode(),
        ]
    )
    | st.binary(max_size=200)
)
def test_trace_reader_takes_anything(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "trace.json"
    path.write_bytes(data)

    try:
        markbook.read_trace(path)
    except MarkbookError as error:
        assert error.exit_code in {2, 3}


@BUDGET
@given(st.text(max_size=300) | st.text(alphabet="`~\n[]/PYTHON defx():=\"' ", max_size=300))
def test_extraction_takes_anything_and_invents_nothing(reply):
    found = extract_code(reply, "f")

    assert found.text in reply


def test_seeds_are_valid_as_they_stand(tmp_path):
    for number, row in enumerate(ROWS):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(row))
        assert len(load_benchmark(path).samples) == 1
    with pytest.raises(MarkbookError):
        load_benchmark(tmp_path / "nowhere")
