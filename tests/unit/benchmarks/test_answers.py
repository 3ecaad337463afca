"""Answers in every dialect reach their problem, and what cannot be used is counted with its place."""

import json

import pytest
from hypothesis import given, settings, strategies as st
from support.exam_kit import answer, problem, write_rows
from test_benchmark import HUMANEVAL, MBPP

from markbook.benchmarks.answers import load_answers
from markbook.benchmarks.benchmark import load_benchmark
from markbook.errors import DataError

CODE = "def f(x):\n    return x\n"
BODY = "    return x + 1\n"
WHOLE = "def inc(x):\n    return x + 1\n"


@pytest.fixture
def exam_paper(tmp_path):
    return load_benchmark(write_rows(tmp_path / "exam.jsonl", [problem("a"), problem("b")]))


@pytest.fixture
def humaneval(tmp_path):
    return load_benchmark(write_rows(tmp_path / "humaneval.jsonl", [HUMANEVAL]))


def load(tmp_path, benchmark, rows, name="answers.jsonl", **options):
    return load_answers([write_rows(tmp_path / name, rows)], benchmark, **options)


def texts(answers, model):
    return [attempt.text for attempt in answers.attempts(model)]


@pytest.mark.parametrize(
    "row",
    [
        {"task_id": "a", "model": "gpt", "candidate_solution": CODE},
        {"task_id": "a_gpt", "model": "gpt", "candidate_solution": CODE},
        {"task_id": "a", "model": "gpt", "candidate_solution": "no", "extracted_solution": CODE},
        {"task_id": "a", "model": "gpt", "solution": CODE},
        {"task_id": "a", "model": "gpt", "completion": CODE},
        {"task_id": "a", "sample_id": "a", "model": "gpt", "solution": CODE},
        {"sample_id": "a", "model": "gpt", "solution": CODE},
    ],
)
def test_documented_and_known_rows_are_read(tmp_path, exam_paper, row):
    answers = load(tmp_path, exam_paper, [row])
    assert answers.models == ["gpt"]
    assert texts(answers, "gpt") == [CODE]


def test_row_without_model_is_named_after_its_file_or_folder(tmp_path, exam_paper):
    row = {"task_id": "a", "solution": CODE}
    folder = write_rows(tmp_path / "session" / "phi-2" / "x.jsonl", [row]).parent

    answers = load(tmp_path, exam_paper, [row], "llama.v2.jsonl")
    assert answers.models == ["llama.v2"]
    answers = load_answers([folder], exam_paper)
    assert answers.models == ["phi-2"]


def test_rows_without_a_model_belong_to_the_only_one_that_is_named_beside_them(tmp_path, exam_paper):
    named = [{"task_id": "a", "model": "gpt", "solution": CODE, "sample": 2}]
    bare = [{"task_id": "a", "solution": f"{CODE}# {at}\n", "sample": at} for at in range(2)]

    answers = load(tmp_path, exam_paper, named + bare)
    assert answers.models == ["gpt"]
    assert sorted(texts(answers, "gpt")) == sorted([CODE, f"{CODE}# 0\n", f"{CODE}# 1\n"])


def test_completion_goes_behind_its_prompt_and_a_whole_solution_does_not_need_it(tmp_path, humaneval):
    rows = [
        {"task_id": "HumanEval/0", "completion": BODY},
        {"task_id": "HumanEval/0", "completion": WHOLE},
        {"task_id": "HumanEval/0", "solution": WHOLE},
        {"task_id": "HumanEval/0", "solution": HUMANEVAL["prompt"] + BODY},
    ]

    answers = load(tmp_path, humaneval, rows)
    found = [(attempt.text, attempt.meta["form"]) for attempt in answers.attempts("answers")]

    prompt = HUMANEVAL["prompt"]
    assert found == [
        (prompt + BODY, "completion"),
        (f"{prompt}\n{WHOLE}", "whole"),
        (WHOLE, "whole"),
        (prompt + BODY, "whole"),
    ]


def test_repeated_rows_of_a_sample_file_are_samples(tmp_path, humaneval):
    rows = [{"task_id": "HumanEval/0", "completion": text} for text in (BODY, BODY, "    return x\n")]

    answers = load(tmp_path, humaneval, rows)
    assert [attempt.index for attempt in answers.attempts("answers")] == [0, 1, 2]
    assert answers.collapsed.count == 0


def test_identical_repeat_collapses_and_a_contradiction_is_refused(tmp_path, exam_paper):
    answers = load(tmp_path, exam_paper, [answer("a", CODE), answer("a", CODE)])
    assert answers.count("gpt") == 1
    assert answers.collapsed.first[0].at.endswith("answers.jsonl:2")

    with pytest.raises(DataError, match=r"'gpt' answers 'a' twice and differently; the other answer is at .*:1"):
        load(tmp_path, exam_paper, [answer("a", CODE), answer("a", "x = 1")])


def test_numbered_samples_are_kept_in_their_order(tmp_path, exam_paper):
    rows = [answer("a", f"x = {n}", sample=n) for n in (2, 0, 1)]

    answers = load(tmp_path, exam_paper, rows)
    assert texts(answers, "gpt") == ["x = 0", "x = 1", "x = 2"]


@pytest.mark.parametrize("task_id", [7, "7", "Mbpp/7", "mbpp/7", "MBPP/007"])
def test_mbpp_ids_are_known_in_every_spelling(tmp_path, task_id):
    benchmark = load_benchmark(write_rows(tmp_path / "mbpp.jsonl", [MBPP]))

    answers = load(tmp_path, benchmark, [{"task_id": task_id, "completion": WHOLE}])
    assert answers.count("answers") == 1


def test_module_of_the_tests_set_up_is_imported_where_it_is_used(tmp_path):
    row = {**MBPP, "test_setup_code": "import math"}
    benchmark = load_benchmark(write_rows(tmp_path / "mbpp.jsonl", [row]))
    used = "def inc(x):\n    return math.floor(x) + 1\n"

    answers = load(tmp_path, benchmark, [{"task_id": 7, "completion": text} for text in (used, WHOLE)])
    assert texts(answers, "answers") == ["import math\n" + used, WHOLE]


def test_a_module_within_a_package_of_the_tests_set_up_is_imported_where_it_is_used(tmp_path):
    row = {**MBPP, "test_setup_code": "import os.path"}
    benchmark = load_benchmark(write_rows(tmp_path / "mbpp.jsonl", [row]))
    used = "def inc(x):\n    return len(os.path.join('a', 'b')) - 2\n"

    answers = load(tmp_path, benchmark, [{"task_id": 7, "completion": text} for text in (used, WHOLE)])
    assert texts(answers, "answers") == ["import os.path\n" + used, WHOLE]


def test_bad_and_unknown_rows_are_counted_with_their_places(tmp_path, exam_paper):
    rows = [answer("a", CODE), {"task_id": "a", "model": "gpt"}, answer("z", CODE), answer("b", 7), answer("", CODE)]

    answers = load(tmp_path, exam_paper, rows)
    assert answers.count("gpt") == 1
    assert [(row.at.rpartition(":")[2], row.reason.split(" (")[0]) for row in answers.invalid.first] == [
        ("2", "neither candidate_solution nor another known key"),
        ("4", "'candidate_solution' is not a string"),
        ("5", "'task_id' is missing"),
    ]
    assert [row.reason for row in answers.unknown.first] == ["the benchmark has no task 'z'"]


def test_folder_of_folders_is_explained(tmp_path, exam_paper):
    write_rows(tmp_path / "session" / "gpt" / "x.jsonl", [answer("a", CODE)])

    with pytest.raises(DataError, match="its subfolders have"):
        load_answers([tmp_path / "session"], exam_paper)


def test_raw_reply_is_unpacked_only_where_it_does_not_compile(tmp_path, exam_paper):
    reply = f"Here you go:\n```python\n{CODE}```\n"

    answers = load(tmp_path, exam_paper, [answer("a", reply), answer("b", CODE)])
    assert [(x.text, x.meta["step"]) for x in answers.attempts("gpt")] == [(CODE, "fence"), (CODE, "as_is")]
    answers = load(tmp_path, exam_paper, [answer("a", reply)], extract="off")
    assert texts(answers, "gpt") == [reply]


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(6)), st.integers(1, 5))
def test_order_and_split_of_the_rows_change_nothing(tmp_path_factory, order, cut):
    folder = tmp_path_factory.mktemp("split")
    benchmark = load_benchmark(write_rows(folder / "exam.jsonl", [problem(str(i)) for i in range(6)]))
    rows = [answer(str(i), f"x = {i}") for i in order]
    write_rows(folder / "gpt" / "1.jsonl", rows[:cut])
    write_rows(folder / "gpt" / "2.jsonl", rows[cut:])

    answers = load_answers([folder / "gpt"], benchmark)
    assert texts(answers, "gpt") == [f"x = {i}" for i in range(6)]


def test_answer_with_every_unicode_letter_comes_back_unchanged(tmp_path, exam_paper):
    text = "x = '\u00e9\u2028\U0001f600\\n'"

    answers = load(tmp_path, exam_paper, [json.loads(json.dumps(answer("a", text)))])
    assert texts(answers, "gpt") == [text]


def test_an_answer_without_a_number_hides_no_repeat_of_a_number(tmp_path, exam_paper):
    rows = [answer("a", "1", sample=2), answer("a", "2"), answer("a", "3", sample=2)]

    with pytest.raises(DataError, match="answers 'a' twice and differently"):
        load(tmp_path, exam_paper, rows)


def test_a_task_id_of_thousands_of_digits_is_a_row_like_any_other(tmp_path):
    benchmark = load_benchmark(write_rows(tmp_path / "mbpp.jsonl", [MBPP]))
    rows = [{"task_id": "9" * 5000, "solution": CODE}, {"task_id": MBPP["task_id"], "solution": CODE}]

    answers = load(tmp_path, benchmark, rows)
    assert (answers.unknown.count, answers.count("answers")) == (1, 1)

    (rejection,) = load_benchmark(
        write_rows(tmp_path / "two.jsonl", [MBPP, {**MBPP, "task_id": "9" * 5000}])
    ).rejections
    assert "is not a number" in rejection.reason
