"""Benchmarks of programs that read and write: found by content, read within bounds, and nothing in them executed."""

import base64
import json
import pickle
import zlib
from pathlib import Path

import pytest
from support.paths import ROOT

from markbook.benchmarks import livecodebench, problems as parts
from markbook.benchmarks.benchmark import load_benchmark
from markbook.benchmarks.packages import read_package
from markbook.errors import DataError
from markbook.types import ProblemType, Test

SHARED = ROOT.parent / "shared" / "data" / "programs"


def load(tmp_path, *rows):
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_benchmark(path)


def refused(tmp_path, row):
    """Return why a row is refused, beside one that is not."""
    good = {"task_id": "good", "tests": [{"stdin": "", "stdout": "1"}]}
    good = (
        {"question_id": "good", "question_content": "?", "public_test_cases": CASES} if "question_id" in row else good
    )
    (rejection,) = load(tmp_path, good, row).rejections
    return rejection.reason


def packed(value, **how):
    return base64.b64encode(zlib.compress(pickle.dumps(value, **how))).decode()


CASES = [{"input": "1\n", "output": "2\n", "testtype": "stdin"}]
OURS = {
    "task_id": "p/1",
    "problem": "Add.",
    "checker": "case",
    "time_limit": 2,
    "memory_limit_mb": 64,
    "topic": "sums",
    "canonical_solution": "print(3)",
    "tests": [{"stdin": "1 2", "stdout": "3"}, {"stdin": "", "stdout": "0", "checker": "float:1e-3", "points": 2}],
}


def test_our_own_rows(tmp_path):
    found = load(tmp_path, OURS)
    (sample,) = found.samples

    assert (found.format, sample.id, sample.problem_type) == ("stdin", "p/1", ProblemType.STDIN)
    assert sample.tests == (
        Test(stdin="1 2", stdout="3", checker="case"),
        Test(stdin="", stdout="0", checker="float:1e-3", points=2.0),
    )
    assert (sample.seconds, sample.memory_bytes, sample.references) == (2.0, 64 << 20, ("print(3)",))
    assert sample.meta == {"topic": "sums"}


@pytest.mark.parametrize("form", [json.dumps, lambda value: value], ids=["text", "object"])
def test_apps_and_taco(tmp_path, form):
    row = {"problem_id": 7, "question": "Q", "solutions": form(["print(1)"]), "difficulty": "interview"}
    row["input_output"] = form({"inputs": ["1\n", ["2", "3"]], "outputs": ["1\n", ["2", "3"]]})
    found = load(tmp_path, row)
    (sample,) = found.samples

    assert (found.format, sample.id, sample.references) == ("apps", "7", ("print(1)",))
    assert sample.tests == (
        Test(stdin="1\n", stdout="1\n", checker="apps"),
        Test(stdin="2\n3", stdout="2\n3", checker="apps"),
    )


def test_a_row_of_apps_that_names_a_function_goes_through_the_examiner(tmp_path):
    row = {
        "problem_id": 7,
        "question": "Q",
        "input_output": json.dumps({"fn_name": "f", "inputs": [[1, [2]]], "outputs": [[3]]}),
    }
    (sample,) = load(tmp_path, row).samples

    assert (sample.entry_point, sample.problem_type, sample.is_program) == ("f", ProblemType.FUNCTION, True)
    assert "f(1, [2])" in sample.tests[0].program
    assert "== 3" in sample.tests[0].program


def test_code_contests(tmp_path):
    lists = {"input": ["1\n"], "output": ["2\n"]}
    row = {"name": "1_A. X", "description": "D", "public_tests": lists, "private_tests": {"input": [], "output": []},
           "generated_tests": lists, "time_limit": {"seconds": 1, "nanos": 500000000}, "memory_limit_bytes": 256000000,
           "solutions": {"language": [2, 3], "solution": ["cpp", "print(2)"]}}  # fmt: skip
    found = load(tmp_path, row)
    (sample,) = found.samples

    assert (found.format, sample.id, len(sample.tests)) == ("code-contests", "1_A. X", 2)
    assert (sample.seconds, sample.memory_bytes, sample.references) == (1.5, 256000000, ("print(2)",))


def test_code_contests_in_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    lists = {"input": ["1\n"], "output": ["2\n"]}
    row = {"name": "1_A. X", "description": "D", "public_tests": lists, "time_limit": {"seconds": 1, "nanos": 0}}
    parquet.write_table(arrow.Table.from_pylist([row]), tmp_path / "b.parquet")

    for path in (tmp_path / "b.parquet", tmp_path):
        (sample,) = load_benchmark(path).samples
        assert (sample.id, sample.tests, sample.seconds) == ("1_A. X", (Test(stdin="1\n", stdout="2\n"),), 1.0)


@pytest.mark.parametrize(
    "private", [json.dumps(CASES), packed(json.dumps(CASES)), packed(json.dumps(CASES), protocol=0)]
)
def test_livecodebench(tmp_path, private):
    row = {"question_id": "a", "question_content": "Q", "public_test_cases": json.dumps(CASES),
           "private_test_cases": private, "metadata": "{}", "difficulty": "easy"}  # fmt: skip
    found = load(tmp_path, row)
    (sample,) = found.samples

    assert (found.format, sample.seconds, sample.meta) == ("livecodebench", 6.0, {"difficulty": "easy"})
    assert sample.tests == (Test(stdin="1\n", stdout="2\n", checker="livecodebench"),) * 2


def test_livecodebench_with_a_method(tmp_path):
    cases = [{"input": '[1, 2]\n"a"', "output": "[3]", "testtype": "functional"}]
    row = {"question_id": "a", "question_content": "Q", "public_test_cases": json.dumps(cases),
           "metadata": json.dumps({"func_name": "add"})}  # fmt: skip
    (sample,) = load(tmp_path, row).samples

    assert (sample.entry_point, sample.problem_type) == ("Solution", ProblemType.CLASS)
    assert "Solution().add([1, 2], 'a')" in sample.tests[0].program


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_of_more_than_a_text_is_refused_and_never_followed(tmp_path, protocol):
    mark = tmp_path / "mark"
    for value in (Evil(str(mark)), {"input_output": Evil(str(mark))}, ["a", "b"], {"a": "b"}, 3, b"bytes", ("a",)):
        row = {"question_id": "a", "question_content": "Q", "public_test_cases": CASES}
        row["private_test_cases"] = packed(value, protocol=protocol)
        reason = refused(tmp_path, row)
        assert reason.startswith("the private tests are a pickle of more than a text"), reason
    assert not mark.exists()


@pytest.mark.parametrize(
    ("private", "reason"),
    [
        ("!!!", "the private tests cannot be unpacked"),
        (base64.b64encode(b"no zlib").decode(), "the private tests cannot be unpacked"),
        (base64.b64encode(zlib.compress(pickle.dumps("x" * 999))[:-4]).decode(), "the private tests are cut off"),
        (base64.b64encode(zlib.compress(pickle.dumps("[]") + b"more")).decode(), "there is more behind the pickle"),
        (base64.b64encode(zlib.compress(b"\x80\x04X\xff\xff\xff\x7f.")).decode(), "the private tests are not a pickle"),
        (packed("no json"), "'test cases' is not JSON"),
    ],
)
def test_damaged_private_tests_are_refused(tmp_path, private, reason):
    row = {"question_id": "a", "question_content": "Q", "public_test_cases": CASES, "private_test_cases": private}

    assert refused(tmp_path, row).startswith(reason)


def test_private_tests_that_unpack_to_too_much_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(livecodebench, "MAX_UNPACKED", 1 << 20)
    row = {"question_id": "a", "question_content": "Q", "public_test_cases": CASES}
    row["private_test_cases"] = packed(" " * (2 << 20))

    assert refused(tmp_path, row) == "the private tests unpack to more than 1 MiB: refused"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tests": [{"stdin": 1, "stdout": ""}]}, "'stdin' of test 1 is not a string"),
        ({"tests": [{"stdout": ""}, {"stdin": ""}]}, "test 2 has no 'stdout'"),
        ({"tests": [{"stdout": ""}, 3]}, "test 2 is not an object"),
        ({"tests": [{"stdout": "", "points": -1}]}, "'points' of test 1 is not a number of 0 or more"),
        ({"tests": []}, "there is no test"),
        ({"tests": [{"stdout": ""}] * 10_001}, "more than 10000 tests"),
        ({"time_limit": "soon"}, "'time_limit' is not a number of seconds"),
        ({"memory_limit_mb": 0}, "'memory_limit_mb' is not a number above 0"),
        ({"memory_limit_mb": 9e12}, "'memory_limit_mb' is not a number above 0 and at most 1048576"),
        ({"task_id": None}, "the row has no id (task_id, id)"),
        ({"time_limit": None, "timelimit": 2}, "unknown key 'timelimit': did you mean 'time_limit'?"),
        ({"tests": [{"stdout": "", "check": "lines"}]}, "unknown key 'check' of test 1: did you mean 'checker'?"),
        (
            {"tests": [{"stdout": ""}, {"stdout": "", "point": 2}]},
            "unknown key 'point' of test 2: did you mean 'points'?",
        ),
        (
            {"tests": [{"stdout": "", "time_limit": 2}]},
            "'time_limit' of test 1 is read in the row, for all of its tests, not here",
        ),
        (
            {"checker": {"source": "x", "language": "c"}, "interactive": True},
            "'interactive' is read in the object 'checker', not here",
        ),
        (
            {"checker": {"source": "x", "language": "c", "interactiv": True}},
            "unknown key 'interactiv' of the checker: did you mean 'interactive'?",
        ),
    ],
)
def test_a_row_that_is_no_problem_says_why(tmp_path, change, reason):
    assert reason in refused(tmp_path, {**OURS, **change})


def test_tests_that_are_too_large_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(parts, "MAX_TEXT", 1 << 20)
    monkeypatch.setattr(parts, "_SURELY_SMALL", 1 << 10)

    assert refused(tmp_path, {**OURS, "tests": [{"stdin": "x" * (1 << 20), "stdout": ""}]}) == (
        "the tests together are larger than 1 MiB"
    )


def test_sandbox_fusion(tmp_path):
    test = [{"input": {"stdin": "1"}, "output": {"stdout": "2"}}]
    row = {
        "id": 3,
        "content": "C",
        "test": json.dumps(test),
        "labels": json.dumps({"source": "S", "difficulty": "HARD"}),
    }
    found = load(tmp_path, row)

    assert found.format == "sandbox-fusion"
    assert (found.samples[0].id, found.samples[0].tests) == ("3", (Test(stdin="1", stdout="2"),))
    assert found.samples[0].meta == {"topic": "S", "difficulty": "HARD"}


@pytest.mark.parametrize("test", [None, 7, {"input": {}}, "assert f(1)", "[", "[{}]"])
def test_what_is_not_a_list_of_inputs_and_outputs_leaves_a_row_to_its_own_format(tmp_path, caplog, test):
    found = load(tmp_path, {**OURS, "content": "C", "test": test})

    assert (found.format, [sample.id for sample in found.samples]) == (load(tmp_path, OURS).format, ["p/1"])
    assert caplog.messages == []  # no reader stumbled over it


@pytest.mark.skipif(not SHARED.exists(), reason="the real data are not here")
@pytest.mark.parametrize(
    ("name", "form", "problems"), [("code_contests", "sandbox-fusion", 19), ("live_code_bench", "livecodebench", 3)]
)
def test_real_files_are_read_whole(name, form, problems):
    found = load_benchmark(SHARED / f"{name}.jsonl.gz")

    assert (found.format, len(found.samples), found.rejections) == (form, problems, ())


def test_a_comparison_that_is_none_is_a_fault_of_the_benchmark(tmp_path):
    from markbook.benchmarks.benchmark import without_faults

    bad = {**OURS, "task_id": "bad", "tests": [{"stdin": "", "stdout": "1", "checker": "nonsense"}]}
    sound, faults = without_faults(load(tmp_path, OURS, bad))

    assert [sample.id for sample in sound.samples] == ["p/1"]
    assert faults[0].reason.startswith("unknown comparison 'nonsense'")
    with pytest.raises(DataError):
        without_faults(load(tmp_path, bad))


def test_what_else_a_row_says_is_its_own(tmp_path):
    row = {
        **OURS,
        "problem_id": "7",
        "origin": "here",
        "interactive": None,
        "timelimit": 3,
        "tests": [{"stdout": "", "note": "x"}],
    }
    assert load(tmp_path, row).rejections == ()


@pytest.mark.parametrize("labels", [None, "[1]", "", '{"difficulty": "easy"}'])
def test_a_dumped_row_may_lack_its_labels(tmp_path, labels):
    test = base64.b64encode(zlib.compress(json.dumps(CASES).encode())).decode()

    (sample,) = load(tmp_path, {"id": "1", "content": "Add.", "test": test, "labels": labels}).samples

    assert sample.tests[0].stdin == "1\n"
    assert sample.meta == ({"difficulty": "easy"} if labels and "easy" in labels else {})


def test_what_a_table_fills_in_is_what_a_test_does_not_say(tmp_path):
    tests = [{"stdin": None, "stdout": "1", "checker": None}, {"stdin": "2", "stdout": "2", "checker": "exact"}]
    judge = {
        "source": "x",
        "language": "python",
        "passes": None,
        "interactive": None,
        "files": {"a.h": None, "b.h": "y"},
    }
    rows = [{"task_id": "a", "tests": tests}, {"task_id": "b", "tests": tests[:1], "checker": judge}]

    plain, judged = load(tmp_path, *rows).samples

    assert [(test.stdin, test.checker) for test in plain.tests] == [("", ""), ("2", "exact")]
    assert [name for name, _ in judged.judge.files] == ["", "b.h"]
    dumped = {"id": "c", "content": "?", "test": [{"input": {"stdin": None}, "output": {"stdout": "1"}}]}
    assert load(tmp_path, dumped).samples[0].tests[0].stdin == ""


def test_hidden_tables_are_no_benchmark(tmp_path):
    (tmp_path / "b.jsonl").write_text(json.dumps({"task_id": "a", "tests": [{"stdin": "", "stdout": "1"}]}) + "\n")
    (tmp_path / "._b.parquet").write_bytes(b"what macOS leaves beside a file")

    benchmark = load_benchmark(tmp_path)

    assert (len(benchmark.samples), benchmark.rejections) == (1, ())


def write_package(folder, about):
    (folder / "data" / "secret").mkdir(parents=True)
    for ending in ("in", "ans"):
        (folder / "data" / "secret" / f"1.{ending}").write_text("1\n")
    (folder / "problem.yaml").write_text(about)
    return folder


def test_a_package_has_its_folders_name_also_from_within(tmp_path, monkeypatch):
    monkeypatch.chdir(write_package(tmp_path / "sums", "name: Sums\n"))

    benchmark = load_benchmark(Path())

    assert (benchmark.name, benchmark.samples[0].id) == ("sums", "sums")


def test_odd_words_in_a_package_are_no_traceback(tmp_path):
    about = "problem_format_version: 2025-09\nname: x\ntype: [{a: b}, multi-pass]\nlimits: {validation_passes: 0.5}\n"

    assert read_package(write_package(tmp_path / "p", about)).passes == 1
