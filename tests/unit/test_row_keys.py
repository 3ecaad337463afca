"""A row of answers means the same to `exam` and to `run`, whichever of the known keys it has."""

import json

import pytest
from support.exam_kit import problem, write_rows
from support.paths import ROOT
from support.review_kit import markbook

from markbook.benchmarks.answers import load_answers
from markbook.benchmarks.benchmark import load_benchmark
from markbook.datasets.predictions import read_answers
from markbook.errors import DataError
from markbook.foreign.reading import read as read_results
from markbook.row_keys import CODE_KEYS, NAME_KEYS, NUMBER_KEYS, TEXT_KEYS, find_names, find_number
from markbook.types import Sample, TaskRow

CODE = ["def f(x):\n    return x\n", "def f(x):\n    return x + 0\n"]


@pytest.mark.parametrize(
    "keys",
    [
        [{"task_id": "a"}, {"task_id": "a"}],
        [{"sample_id": "a", "index": 0}, {"sample_id": "a", "index": 1}],
        [{"id": "a", "sample": 0}, {"id": "a", "sample": 1}],
        [{"task_id": "a", "sample_index": 0}, {"task_id": "a", "sample_index": 1}],
        [{"task_id": "a", "sample_id": 0}, {"task_id": "a", "sample_id": 1}],
        [{"task_id": "a", "sample_id": "a", "index": 0}, {"task_id": "a", "sample_id": "a", "index": 1}],
    ],
)
def test_exam_and_run_read_the_same_rows_alike(tmp_path, keys):
    paper = load_benchmark(write_rows(tmp_path / "paper.jsonl", [problem("a"), problem("b")]))
    rows = [{**row, "completion": text} for row, text in zip(keys, CODE, strict=True)]
    file = write_rows(tmp_path / "answers.jsonl", rows)
    samples = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate("ab")]

    answers = load_answers([file], paper)
    examined = [(attempt.sample_id, attempt.text) for attempt in answers.attempts("answers")]
    predictions = read_answers(file, "demo", samples, several=True)

    assert examined == [("a", text) for text in CODE]
    assert [(attempt.sample_id, attempt.text) for attempt in predictions.attempts["a"]] == examined


def test_a_whole_number_as_sample_id_numbers_the_attempt_beside_a_task_id_only():
    assert (find_names({"task_id": "a", "sample_id": 2}), find_number({"task_id": "a", "sample_id": 2})) == (
        ["a"],
        ("sample_id", 2),
    )
    assert (find_names({"sample_id": 2}), find_number({"sample_id": 2})) == ([2], None)
    assert find_names({"id": "x", "task_id": "a"}, first="task_id") == ["a", "x"]
    assert find_names({"id": 3, "sample_id": 1}) == [3]
    assert find_names({"completion": "x"}) == []


@pytest.mark.parametrize("other", ["answer", "solution", "text", "output"])
def test_what_a_model_wrote_goes_before_what_may_be_the_right_answer(tmp_path, other):
    file = write_rows(tmp_path / "answers.jsonl", [{"id": "a", other: "right", "generation": "written"}])
    predictions = read_answers(file, "demo", [Sample(id="a", row=TaskRow({"id": "a"}, 0))], several=False)

    assert [attempt.text for attempt in predictions.attempts["a"]] == ["written"]


@pytest.mark.parametrize(
    "none",
    [
        *("", 0, 0.0, False, "0", "None", "null", "NaN", " ", "N/A", "OK", "No errors.", "-", 0.25),
        {"code": None, "message": ""},
    ],
)
def test_exam_and_run_take_a_row_that_failed_for_missing(tmp_path, none):
    paper = load_benchmark(write_rows(tmp_path / "paper.jsonl", [problem("a"), problem("b")]))
    rows = [
        {"task_id": "a", "completion": "", "error": "timeout"},
        {"task_id": "b", "completion": CODE[0], "error": none},
    ]
    file = write_rows(tmp_path / "answers.jsonl", rows)
    samples = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate("ab")]

    answers = load_answers([file], paper)
    examined = [attempt.sample_id for attempt in answers.attempts("answers")]
    predictions = read_answers(file, "demo", samples, several=False)

    assert examined == ["b"]
    marks = write_rows(
        tmp_path / "marks.jsonl",
        [{"item": "a", "score": score, "error": error} for score, error in ((None, "timeout"), (1, none))],
    )
    (failed,), (stands,) = (row.metrics.values() for row in read_results(marks)[1].rows)
    assert (failed.kind, stands) == ("failed", 1.0)
    assert not read_results(marks)[1].notes
    assert [predictions.attempts[name][0].meta["absent"] for name in "ab"] == [True, False]


@pytest.mark.parametrize(
    "grade",
    [{"passed": False}, {"correct": 0}, {"is_correct": "no"}, {"all_passed": False}, {"score": 0.0}, {"reward": 0}],
)
def test_what_a_grader_found_in_an_answer_takes_it_from_neither_command(tmp_path, grade):
    paper = load_benchmark(write_rows(tmp_path / "paper.jsonl", [problem("a"), problem("b")]))
    graded = {"error": "AssertionError", **grade}
    rows = [{"task_id": "a", "completion": CODE[0], **graded}, {"task_id": "b", "completion": "", **graded}]
    file = write_rows(tmp_path / "answers.jsonl", rows)
    samples = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate("ab")]

    examined = [attempt.sample_id for attempt in load_answers([file], paper).attempts("answers")]
    predictions = read_answers(file, "demo", samples, several=False)

    assert examined == ["a"]
    assert [predictions.attempts[name][0].meta["absent"] for name in "ab"] == [False, True]


def test_an_empty_answer_beside_a_right_one_is_not_what_a_grader_found_wrong(tmp_path):
    rows = [
        {"id": name, "prediction": text, "answer": "4", "passed": False, "error": "timeout"}
        for name, text in (("a", ""), ("b", "5"))
    ]
    samples = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate("ab")]

    predictions = read_answers(write_rows(tmp_path / "answers.jsonl", rows), "demo", samples, several=False)

    assert [predictions.attempts[name][0].meta["absent"] for name in "ab"] == [True, False]


FAILING = [
    {"id": "a", "completion": CODE[0], "error": "rate limit"},
    {"id": "b", "completion": CODE[0], "error": None},
    {"id": "c", "error": "timeout"},
    {"completion": CODE[0]},
]
"""Answers of which two failed, and one does not say what it answers."""


def test_exam_and_run_leave_out_the_same_answers_and_say_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "paper.jsonl", [problem(name) for name in "abc"])
    write_rows(tmp_path / "rows.jsonl", [{"id": name, "right": CODE[0]} for name in "abc"])
    write_rows(tmp_path / "answers.jsonl", FAILING)
    task = "name: demo\ndata: {path: rows.jsonl, id: id}\nprompt: p\nreference: '{{ right }}'\nmetrics: [exact_match]\n"
    (tmp_path / "task.yaml").write_text(task, encoding="utf-8")

    about = ["--benchmark", "paper.jsonl", "--solutions", "answers.jsonl", "--isolation", "weak", "--workers", "1"]
    exam = markbook("exam", *about, "--output", "e", "--verbose")
    run = markbook("run", "task.yaml", "--predictions", "answers.jsonl", "--output", "r", "--verbose")

    assert (exam[0], run[0]) == (0, 0), (exam, run)
    (examined,), (ran,) = tmp_path.glob("e/*"), tmp_path.glob("r/*")
    said = exam[1] + exam[2]
    assert "answers.jsonl:1: nobody answered: 'error' says 'rate limit'" in said
    assert "answers.jsonl:3: nobody answered: 'error' says 'timeout'" in said
    assert "answers.jsonl:4: 'task_id' is missing" in said
    assert json.loads((examined / "run.json").read_text())["skipped"] == {
        "benchmark_rows": 0, "answers_invalid": 1, "answers_unknown_task": 0, "answers_repeated": 0, "answers_null": 2
    }  # fmt: skip
    (marked,) = map(json.loads, (examined / "answers" / "test_results.jsonl").read_text().splitlines())
    assert (marked["task_id"], marked["score"]) == ("b", 100.0)

    found = [json.loads(line) for line in (ran / "results.jsonl").read_text().splitlines()]
    assert [row["metrics"].get("exact_match") for row in found] == [None, 1.0, None]
    assert [row["missing"]["exact_match"] for row in found if row["missing"]] == [
        {"kind": "absent", "detail": "nobody answered: 'error' says 'rate limit'"},
        {"kind": "absent", "detail": "nobody answered: 'error' says 'timeout'"},
    ]
    assert "answers.jsonl:4: it does not say what it answers, as other rows do" in run[1] + run[2]


def test_a_failed_sample_beside_answers_is_one_of_the_samples_of_its_problem(tmp_path):
    paper = load_benchmark(write_rows(tmp_path / "paper.jsonl", [problem("a")]))
    rows = [{"task_id": "a", "sample": 0, "completion": CODE[0]}, {"task_id": "a", "sample": 1, "error": "timeout"}]

    answers = load_answers([write_rows(tmp_path / "answers.jsonl", rows)], paper)

    assert (answers.count("answers"), answers.lacking("answers")) == (1, [1])


@pytest.mark.parametrize("key", ["model", "model_name", "model_id", "model_name_or_path"])
def test_exam_and_run_tell_the_answers_of_two_models_apart(tmp_path, key):
    paper = load_benchmark(write_rows(tmp_path / "paper.jsonl", [problem("a"), problem("b")]))
    rows = [
        {"task_id": task, key: model, "completion": CODE[0], "item": task, "score": 1}
        for task in "ab"
        for model in "mn"
    ]
    file = write_rows(tmp_path / "answers.jsonl", rows)
    samples = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate("ab")]

    assert load_answers([file], paper).models == ["m", "n"]
    assert read_results(file)[1].models == ["m", "n"]
    with pytest.raises(DataError, match="answers of two models: 'm' and 'n'"):
        read_answers(file, "demo", samples, several=True)


@pytest.mark.parametrize(
    ("row", "refused"),
    [
        ({"response": "A", "filtered_resps": ["B"]}, "'resps' and 'response'"),
        ({"completion": "A", "response": "B"}, "'completion' and 'response'"),
        ({"response": "it is B", "resps": [["it is B"]], "filtered_resps": ["C"]}, ""),
        ({"response": "it is B", "filtered_resps": ["B"]}, ""),
        ({"prediction": "B", "response": "the second"}, ""),
        ({"completion": "1", "completions": ["1", "2"]}, ""),
        ({"response": "A", "answer": "B", "solution": "C"}, ""),
    ],
)
def test_two_answers_in_a_row_are_refused_by_its_place(tmp_path, row, refused):
    samples = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate("ab")]
    file = tmp_path / "answers.jsonl"
    write_rows(file, [{"id": "a", "prediction": "1"}, {"id": "b", **row}])

    rejections = read_answers(file, "demo", samples, several="completions" in row).rejections

    assert [(each.at.endswith("answers.jsonl:2"), refused in each.reason) for each in rejections] == [
        (True, True)
    ] * bool(refused)


DOUBLE = "def f(x):\n    # twice\n    return 2 * x\n"
TIDY = "def f(x):\n    return 2 * x\n"
FENCED = f"Sure:\n```python\n{DOUBLE}```\nSo `f(1)` is 2.\n"
TWICE = {
    "line ends": ({"response": FENCED.replace("\n", "\r\n"), "solution": DOUBLE}, 100),
    "a comment": ({"generation": FENCED, "solution": TIDY}, 100),
    "spaces": ({"gpt_solution": FENCED.replace("2 * x", "2*x"), "solution": DOUBLE}, 100),
    "a fence in a list": ({"generated_text": "1. So\n\n   ```python\n   def f(x):\n       return 2*x\n   ```\n", "solution": TIDY}, 100),
    "the later block": ({"reply": f"```python\ndef f(x): return x\n```\nBetter:\n{FENCED}", "solution": TIDY}, 100),
    "a thought": ({"completions": [f"<think>x + x?</think>{FENCED}"], "solution": TIDY}, 100),
    "a completion": ({"completion": "    return 2*x # twice\n", "solution": f"import math\n{TIDY}"}, 100),
    "an import": ({"completion": CODE[0], "solution": f"import math\n{CODE[0]}"}, 0),
    "no Python": ({"completion": "def f(x)\n  return 2*x\n", "solution": "def f(x)\r\n  return 2 * x"}, 0),
    "other code": ({"response": FENCED, "solution": "def f(x): return x + 1\n"}, None),
    "another inset": ({"response": FENCED, "solution": "def f(x):\n    if x:\n        return 2 * x\n"}, None),
    "only a comment": ({"response": FENCED, "solution": "# later\n"}, None),
}  # fmt: skip


def test_an_exam_takes_the_same_solution_twice_in_a_row_and_refuses_two(tmp_path):
    prompt = {
        "prompt": 'def f(x):\n    """Double x."""\n',
        "entry_point": "f",
        "canonical_solution": "    return 2 * x\n",
    }
    test = "def check(candidate):\n    assert candidate(3) == 6\n"
    benchmark = write_rows(tmp_path / "b.jsonl", [{"task_id": name, **prompt, "test": test} for name in TWICE])
    found = {}
    for refused in (name for name, (_, score) in TWICE.items() if score is None):
        file = write_rows(tmp_path / "answers.jsonl", [{"task_id": refused, **TWICE[refused][0]}])
        code, _, err = markbook("exam", "--benchmark", benchmark, "--solutions", file, "--output", tmp_path / "out")
        found[refused] = None if "answers.jsonl:1" in err and "hold two different answers" in err else err
        assert code == 2, refused
    read = [{"task_id": name, "model": "m", **row} for name, (row, score) in TWICE.items() if score is not None]
    file = write_rows(tmp_path / "answers.jsonl", read)

    code, _, err = markbook("exam", "--benchmark", benchmark, "--solutions", file, "--output", tmp_path / "out")

    assert (code, "skipped" in err) == (0, False), err
    (results,) = (tmp_path / "out").glob("*/m/test_results.jsonl")
    found |= {row["task_id"]: row["score"] for row in map(json.loads, results.read_text(encoding="utf-8").splitlines())}
    assert found == {name: score for name, (_, score) in TWICE.items()}


def test_a_column_without_a_name_names_nothing():
    assert find_names({"": 0, "task_id": "a"}) == ["a"]
    assert find_names({"": 0, "completion": "x"}, first="task_id") == []


def test_the_keys_stand_in_one_place():
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "markbook").rglob("*.py")}
    telling = {"sample_index", "gpt_solution", "generated_text", "extracted_solution"}

    assert telling <= {*CODE_KEYS, *TEXT_KEYS, *NAME_KEYS, *NUMBER_KEYS}
    lists = {path.name for path, source in sources.items() if any(f'"{key}",' in source for key in telling)}
    assert lists == {"row_keys.py"}


PLACES = {
    "another place": ([(0, 0), (1, 1), (2, 3)], "answers.jsonl:3", "row '2' and, as doc_id 3, row '3'"),
    "alone": ([(2, 3)], "answers.jsonl:1", "row '2' and, as doc_id 3, row '3'"),
    "no place": ([(0, 0), (2, 2), (1, 9)], "answers.jsonl:3", "row '1' and, as doc_id 9, no row"),
    "a part of the rows, counted anew": ([(2, 0), (3, 1)], "answers.jsonl:1", "row '2' and, as doc_id 0, row '0'"),
    "counted from 1": ([(1, 0), (2, 1), (3, 2), (4, 3)], "", [0, 1, 2, 3]),
    "counted along the file": ([(0, 3), (1, 1), (2, 0), (3, 2)], "", [0, 1, 2, 3]),
    "ids of another list": ([(17, 0), (2, 1), (904, 2), (33, 3)], "", [0, 1, 2, 3]),
    "ids of no rows": ([("x-0", 3), ("x-1", 2)], "", [2, 3]),
    "a wrong id among right ones": ([(0, 0), (1, 1), (2, 2), (9, 3)], "", [0, 1, 2, 3]),
}


@pytest.mark.parametrize("name", PLACES)
def test_an_id_and_a_doc_id_that_name_two_rows_are_refused_unless_the_file_numbers_its_rows(tmp_path, name):
    pairs, at, outcome = PLACES[name]
    write_rows(tmp_path / "rows.jsonl", [{"q": f"answer {n}"} for n in range(4)])
    task = "name: t\ndata: {path: rows.jsonl}\nprompt: '{{ q }}'\nreference: '{{ q }}'\nmetrics: [exact_match]\n"
    (tmp_path / "t.yaml").write_text(task)
    rows = [{"id": own, "doc_id": place, "prediction": f"answer {place}"} for own, place in pairs]
    file = write_rows(tmp_path / "answers.jsonl", rows)

    code, _, err = markbook("run", tmp_path / "t.yaml", "--predictions", file, "--output", tmp_path / "out")

    if at:
        assert (code, at in err, str(outcome) in err) == (2, True, True), err
    else:
        (results,) = (tmp_path / "out").glob("*/results.jsonl")
        found = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
        assert [row["doc_id"] for row in found if row["metrics"]["exact_match"] == 1] == outcome, err


@pytest.mark.parametrize("other", ["b", 1, "1", "x-7", None])
def test_an_exam_refuses_a_row_that_names_two_problems(tmp_path, other):
    paper = write_rows(tmp_path / "paper.jsonl", [problem("a"), problem("b"), problem("1")])
    rows = [{"task_id": "a", "id": "a", "completion": CODE[0]}, {"task_id": "1", "id": other, "completion": CODE[0]}]
    file = write_rows(tmp_path / "answers.jsonl", rows)

    code, _, err = markbook("exam", "--benchmark", paper, "--solutions", file, "--output", tmp_path / "out")

    refused = "answers.jsonl:2: this answer names problem '1' and problem 'b'"
    assert (code, refused in err) == ((2, True) if other == "b" else (0, False)), err


def run_words(tmp_path, rows, words=None):
    """Run answers to eight rows, whose right answers are the words for their numbers, by exact_match."""
    write_rows(tmp_path / "rows.jsonl", [{"q": f"question {n}", "answer": (words or WORDS)[n]} for n in range(8)])
    task = "name: t\ndata: {path: rows.jsonl}\nprompt: '{{ q }}'\nreference: '{{ answer }}'\nmetrics: [exact_match]\n"
    (tmp_path / "t.yaml").write_text(task)
    file = write_rows(tmp_path / "answers.jsonl", [{"doc_id": n, **row} for n, row in enumerate(rows)])
    output = tmp_path / "out"
    code, out, err = markbook("run", tmp_path / "t.yaml", "--predictions", file, "--output", output, "--json")
    return code, json.loads(out)["tasks"]["t"]["metrics"]["exact_match"]["value"] if out else None, err


WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven"]
WRITTEN = [*WORDS[:2], *["no"] * 6]


@pytest.mark.parametrize("right", ["answer", "text", "solution", "output"])
@pytest.mark.parametrize(
    "key", ["model_output", "pred", "prediction_text", "llm_response", "hypothesis", "generated_answer"]
)
def test_a_column_that_only_a_model_writes_goes_before_one_of_right_answers(tmp_path, right, key):
    code, value, err = run_words(tmp_path, [{right: WORDS[n], key: WRITTEN[n]} for n in range(8)])

    assert (code, value) == (0, 0.25), err


MIXED = [{"answer": WORDS[n], "gpt4_output": WRITTEN[n]} for n in range(8)]
COLUMNS = {
    "of a model's name": (MIXED, 2, None, "answers.jsonl:1: 'answer' is the right answer in 8 of 8 rows, and 'gpt4_output' beside"),
    "a second right name": ([{"text": WORDS[n], "solution": WRITTEN[n]} for n in range(8)], 2, None, "and 'solution' beside"),
    "of no telling name": ([{"answer": WORDS[n], "qwen": WRITTEN[n]} for n in range(8)], 0, 1.0, "'qwen' beside it may be"),
    "answers that are no right ones": ([{**row, "answer": WRITTEN[n]} for n, row in enumerate(MIXED)], 0, 0.25, ""),
    "right answers alone": ([{"answer": WORDS[n]} for n in range(8)], 0, 1.0, ""),
    "a fact": ([{"answer": WORDS[n], "response_id": f"r{n}", "q": f"question {n}"} for n in range(8)], 0, 1.0, ""),
    "the same in all rows": ([{"answer": WORDS[n], "model_family": "x", "pool": "a"} for n in range(8)], 0, 1.0, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_right_answers_are_not_taken_for_a_models_where_another_column_may_be_its(tmp_path, name):
    rows, exit_code, mean, words = COLUMNS[name]

    code, value, err = run_words(tmp_path, rows)

    assert (code, value, words in err, "beside it" in err) == (exit_code, mean, True, bool(words)), err
    assert "`prediction`" in err or not words


BESIDE = {
    **{key: (lambda text: [text], True) for key in ("generations", "outputs", "model_outputs", "llm_responses")},
    **{key: (lambda text: [text], False) for key in ("samples", "candidates")},
    "messages": (lambda text: [{"role": "user", "content": "q"}, {"role": "assistant", "content": text}], False),
    "choices": (lambda text: [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}], False),
    "completion_obj": (lambda text: {"content": text}, False),
    **dict.fromkeys(("predicted_category", "category_pred", "pred_type", "predicted_date", "predicted_source"), (str, False)),
    **dict.fromkeys(("llm_topic", "response_without_context", "cot_prompt_output", "predicted_time"), (str, False)),
}  # fmt: skip
"""Columns beside right answers: how what a model wrote stands there, and whether the file is refused or only warned of."""


@pytest.mark.parametrize("key", BESIDE)
def test_no_right_answers_are_scored_silently_beside_what_a_model_wrote(tmp_path, key):
    put, is_refused = BESIDE[key]

    code, value, err = run_words(tmp_path, [{"answer": WORDS[n], key: put(WRITTEN[n])} for n in range(8)])

    assert (code, value) == ((2, None) if is_refused else (0, 1.0)), err
    assert f"'answer' is the right answer in 8 of 8 rows, and '{key}" in err


@pytest.mark.parametrize("number", [7, 0.5])
def test_a_models_number_beside_right_answers_is_warned_of_where_these_are_numbers(tmp_path, number):
    rows = [{"answer": str(n), "model_pred": n if n % 2 else number} for n in range(8)]
    for words, is_warned in (([str(n) for n in range(8)], True), (WORDS, False)):
        code, value, err = run_words(tmp_path, [{**row, "answer": words[n]} for n, row in enumerate(rows)], words)

        assert (code, value, "and 'model_pred' beside" in err) == (0, 1.0, is_warned), err


def test_facts_in_lists_and_objects_beside_right_answers_are_no_answers(tmp_path):
    beside = {
        "usage": {"prompt_tokens": 7},
        "response_ids": ["r7"],
        "expected_outputs": ["no"],
        "model_family": {"name": "x"},
    }
    messages = {"messages": [{"role": "user", "content": "some question"}]}

    rows = [
        {"answer": WORDS[n], "finish": {"reason": f"stop {n}"}, "latency": n / 7, "answer_id": n, **beside, **messages}
        for n in range(8)
    ]
    code, value, err = run_words(tmp_path, rows)

    assert (code, value, "beside it" in err) == (0, 1.0, False), err


RIGHT, OTHER = "def f(x):\n    return 2 * x\n", "def f(x):\n    return x\n"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"solution": RIGHT, "prediction": OTHER}, "'solution' and 'prediction' hold two different answers"),
        ({"solution": RIGHT, "model_output": OTHER}, "'solution' and 'model_output' hold two different answers"),
        (
            {"solution": RIGHT, "qwen_answer": OTHER},
            "'solution' is the right answer in 4 of 4 rows, and 'qwen_answer' beside",
        ),
        (
            {"solution": RIGHT, "outputs": [OTHER]},
            "'solution' is the right answer in 4 of 4 rows, and 'outputs' beside",
        ),
        ({"solution": RIGHT, "outputs": [RIGHT]}, ""),
        (
            {"solution": RIGHT, "choices": [{"text": OTHER}]},
            "'solution' is the right answer in 4 of 4 rows, and 'choices.text' beside",
        ),
        ({"solution": RIGHT, "model_output": f"Here:\n```python\n{RIGHT}```"}, ""),
        ({"solution": OTHER, "qwen_answer": RIGHT}, ""),
        ({"solution": RIGHT, "canonical_solution": "    return 2 * x\n", "topic": OTHER}, ""),
        ({"candidate_solution": RIGHT, "prediction": OTHER}, ""),
    ],
)
def test_an_exam_takes_no_right_solution_for_a_models_where_another_column_may_be_its(tmp_path, row, words):
    test = "def check(candidate):\n    assert candidate(3) == 6\n"
    rest = {"prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return 2 * x\n", "test": test}
    benchmark = write_rows(tmp_path / "b.jsonl", [{"task_id": f"t/{n}", **rest} for n in range(4)])
    other = json.dumps(OTHER)[1:-1]
    rows = [json.loads(json.dumps({**row, "task_id": f"t/{n}"}).replace(other, f"{other}# {n}\\n")) for n in range(4)]
    file = write_rows(tmp_path / "answers.jsonl", rows)

    code, _, err = markbook("exam", "--benchmark", benchmark, "--solutions", file, "--output", tmp_path / "out")

    is_refused = bool(words) and "choices" not in row
    assert (code, "answers.jsonl:1" in err and words in err) == (2 * is_refused, bool(words)), err
