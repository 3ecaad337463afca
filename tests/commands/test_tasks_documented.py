"""The documented suite's own ten task files, unchanged, over both of its problem files."""

import json

import pytest

import markbook
from markbook.config import loading
from markbook.files.jsonl import Line, read_jsonl

FIELDS = {
    "code_completion": "expected_completion",
    "code_repair": "fixed_code",
    "code_translation": "target_code",
    "docstring_generation": "expected_docstring",
    "function_generation": "expected_function",
}
QUALITY = (
    "context_adherence_score",
    "style_compliance_score",
    "security_compliance_score",
    "performance_awareness_score",
)
KEYS = {
    "python_code_completion": {"exact_match", "bleu", *QUALITY},
    "python_code_completion_minimal_context": {"exact_match", "bleu"},
    "python_code_completion_no_context": {"exact_match", "bleu", *QUALITY},
    "python_code_repair": {"exact_match", "edit_distance", *QUALITY[:3]},
    "python_code_repair_no_context": {"exact_match", "edit_distance", *QUALITY[:3]},
    "python_code_translation": {"exact_match", "bleu", "code_bleu", *QUALITY[:2]},
    "python_docstring_generation": {"exact_match", "bleu", "rouge1", "rouge2", "rougeL", "meteor", *QUALITY[:2]},
    "python_function_generation": {"exact_match", "pass@1", *QUALITY},
}
"""The documented results of each task, with `exact_match`, which the document's files list and its text omits."""

PERFECT = {
    "exact_match": 1,
    "bleu": 1,
    "code_bleu": 1,
    "rouge1": 1,
    "rouge2": 1,
    "rougeL": 1,
    "pass@1": 1,
    "edit_distance": 0,
}
ROWS = {"problems.jsonl": 9, "problems_original.jsonl": 25}

# The second file states no right functions, only tests; these are ours.
SOLUTIONS = {
    "longest_common_subsequence": """
def longest_common_subsequence(first, second):
    best = {(i, 0): "" for i in range(len(first) + 1)} | {(0, j): "" for j in range(len(second) + 1)}
    for i, a in enumerate(first, 1):
        for j, b in enumerate(second, 1):
            best[i, j] = best[i - 1, j - 1] + a if a == b else max(best[i - 1, j], best[i, j - 1], key=len)
    return best[len(first), len(second)]
""",
    "LRUCache": """
class LRUCache:
    def __init__(self, capacity):
        self.capacity, self.items = capacity, {}

    def get(self, key):
        if key not in self.items:
            return -1
        self.items[key] = self.items.pop(key)
        return self.items[key]

    def put(self, key, value):
        self.items.pop(key, None)
        if len(self.items) >= self.capacity:
            del self.items[next(iter(self.items))]
        self.items[key] = value
""",
    "parse_phone_number": r"""
import re

def parse_phone_number(text):
    found = re.fullmatch(r"(?:\+(\d+)[-\s])?\(?(\d{3})\)?[-\s](\d{3}-\d{4})", text)
    if not found:
        return None
    return dict(zip(("country_code", "area_code", "number"), found.groups()))
""",
    "sieve_of_eratosthenes": """
def sieve_of_eratosthenes(limit):
    return [n for n in range(2, limit + 1) if all(n % d for d in range(2, int(n ** 0.5) + 1))]
""",
    "Trie": """
class Trie:
    def __init__(self):
        self.words = set()

    def insert(self, word):
        self.words.add(word)

    def search(self, word):
        return word in self.words

    def starts_with(self, prefix):
        return any(word.startswith(prefix) for word in self.words)
""",
}  # fmt: skip


@pytest.fixture(scope="module")
def suite(shared_data):
    return shared_data / "single-turn" / "python_coding"


def problems(path, category):
    return [line.record for line in read_jsonl(path) if isinstance(line, Line) and line.record["category"] == category]


def right(problem):
    """Return the right answer to a problem."""
    field = FIELDS[problem["category"]]
    if field in problem:
        return problem[field]
    tests = " ".join(problem["test_cases"])
    return next(code for name, code in SOLUTIONS.items() if name in tests)


def category_of(task):
    return next(each for each in FIELDS if each in task)


def mutated(text):
    return text.replace("return", "retrun").replace("a", "e", 3) + "\n# done"


def answer_folder(folder, data, change):
    folder.mkdir()
    for task in KEYS:
        rows = [
            {"doc_id": place, "prediction": change(right(problem))}
            for place, problem in enumerate(problems(data, category_of(task)))
        ]
        (folder / f"{task}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=sorted(ROWS))
def runs(request, suite, tmp_path_factory):
    """Run all ten files at once over one problem file, with perfect, empty and mutated answers."""
    data = suite / request.param
    files = sorted(suite.glob("*.yaml"))
    found = {}
    for name, change in (("perfect", lambda text: text), ("empty", lambda _text: ""), ("mutated", mutated)):
        folder = tmp_path_factory.mktemp(f"{name}")
        answers = answer_folder(folder / "answers", data, change)
        found[name] = markbook.run_task(files, data=data, predictions=answers, output=folder / "out")
    return request.param, found


def metrics_of(run):
    return {name: task["metrics"] for name, task in json.loads(run.read("summary.json"))["tasks"].items()}


def test_all_ten_files_load_unchanged(suite):
    files = sorted(suite.glob("*.yaml"))
    assert len(files) == 10
    assert {type(loading.load(path)).__name__ for path in files} == {"Task", "TaskGroup"}


def test_every_task_gives_exactly_the_documented_results(runs):
    _data, found = runs
    for run in found.values():
        assert {name: set(metrics) for name, metrics in metrics_of(run).items()} == KEYS


def test_perfect_answers_score_perfectly_where_a_perfect_score_exists(runs):
    data, found = runs

    for task, metrics in metrics_of(found["perfect"]).items():
        for name, record in metrics.items():
            if task == "python_function_generation" and name == "exact_match" and data == "problems_original.jsonl":
                assert record["n_missing"] == {"undefined": 5}  # no right text is stated, only tests
            elif name in PERFECT:
                assert record["value"] == pytest.approx(PERFECT[name], abs=1e-9), (task, name)
            elif name == "meteor":
                assert record["value"] > 0.99
            else:
                assert 0 <= record["value"] <= 1


def test_empty_answers_score_nothing_and_nothing_is_invented(runs):
    _data, found = runs

    for task, metrics in metrics_of(found["empty"]).items():
        for name, record in metrics.items():
            if name in QUALITY:
                assert record["value"] is None
                assert set(record["n_missing"]) == {"no_completion"}
            elif name == "edit_distance":
                assert record["value"] == 1
            elif record["n"]:
                assert record["value"] == 0, (task, name)


def test_mutated_answers_lie_between(runs):
    _data, found = runs
    worse = metrics_of(found["mutated"])

    for name in ("python_code_completion", "python_code_translation", "python_docstring_generation"):
        assert 0 < worse[name]["bleu"]["value"] < 1
        assert worse[name]["exact_match"]["value"] == 0
    assert 0 < worse["python_code_repair"]["edit_distance"]["value"] < 1
    assert worse["python_function_generation"]["pass@1"]["value"] == 0


def test_every_row_of_the_file_is_in_the_suite(runs):
    data, found = runs

    group = json.loads(found["perfect"].read("summary.json"))["groups"]["python_coding_suite"]
    exact = group["metrics"]["exact_match"]
    assert exact["n"] + sum(exact["n_missing"].values()) == ROWS[data]
    assert exact["value"] == 1


def test_the_variants_are_compared_with_the_full_context(runs):
    _data, found = runs

    pairs = {
        (each["first"], each["second"]) for each in json.loads(found["perfect"].read("summary.json"))["comparisons"]
    }
    assert ("python_code_completion", "python_code_completion_no_context") in pairs
    assert ("python_code_repair", "python_code_repair_no_context") in pairs


def test_the_ready_tasks_have_the_documented_results_too(tmp_path):
    ready = [name for name in loading.ready_tasks() if name in KEYS]
    assert sorted(ready) == sorted(KEYS)
    data = loading.ready_folder() / "python_problems.jsonl"

    run = markbook.run_task(
        ready, predictions=answer_folder(tmp_path / "answers", data, lambda text: text), output=tmp_path
    )

    assert {name: set(metrics) for name, metrics in metrics_of(run).items()} == KEYS
    for metrics in metrics_of(run).values():
        assert metrics["exact_match"]["value"] == 1


def test_the_multi_turn_file_is_refused_by_name(shared_data):
    with pytest.raises(
        markbook.MarkbookError, match=r"multi_turn_coding\.yaml:2:1: 'custom_dataset' cannot be honoured"
    ):
        loading.load(shared_data / "single-turn" / "multi_turn_coding" / "multi_turn_coding.yaml")


def test_its_mislabelled_array_is_named(shared_data, suite):
    with pytest.raises(markbook.MarkbookError, match=r"problems\.jsonl:1: this file is one JSON array"):
        markbook.run_task(
            suite / "code_repair.yaml",
            data=shared_data / "single-turn" / "multi_turn_coding" / "problems.jsonl",
            predictions=suite / "problems.jsonl",
        )


def test_the_documented_profile_computes_what_the_document_does(suite, tmp_path):
    answers = answer_folder(tmp_path / "answers", suite / "problems.jsonl", mutated)

    run = markbook.run_task(suite / "code_translation.yaml", predictions=answers, output=tmp_path, profile="documented")

    found = metrics_of(run)["python_code_translation"]
    assert found["code_bleu"]["value"] == found["bleu"]["value"]
    assert "profile:documented" in found["style_compliance_score"]["signature"]


def test_several_answers_to_a_row_give_the_unbiased_estimate(suite, tmp_path):
    (tmp_path / "task.yaml").write_text(
        f"extends: python_function_generation\nname: demo\ndata: {{path: {suite / 'problems.jsonl'}}}\n"
        "metrics: [{name: pass_at_k, options: {k: [1, 2, 5]}}]\n",
        encoding="utf-8",
    )
    rows = [
        {"doc_id": place, "prediction": [right(problem)] + ["pass"] * 3}
        for place, problem in enumerate(problems(suite / "problems.jsonl", "function_generation"))
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    run = markbook.run_task(tmp_path / "task.yaml", predictions=tmp_path / "a.jsonl", output=tmp_path)

    found = metrics_of(run)["demo"]
    # n = 4, c = 1: pass@1 = 1 - C(3,1)/C(4,1) = 1/4, pass@2 = 1 - C(3,2)/C(4,2) = 1 - 3/6 = 1/2
    assert (found["pass@1"]["value"], found["pass@2"]["value"]) == (0.25, 0.5)
    assert (found["pass@5"]["value"], found["pass@5"]["n_missing"]) == (None, {"undefined": 2})
    passed = [json.loads(line)["tests"]["passed"] for line in run.read("results.jsonl").splitlines()]
    assert passed == [True, False, False, False] * 2


def test_a_solution_that_ends_the_process_or_forges_a_verdict_does_not_pass(suite, tmp_path):
    texts = [
        "import os\nos._exit(0)",
        "class Any:\n    def __eq__(self, other): return True\ncalculate_rectangle_area = lambda *a: Any()",
    ]
    rows = [{"doc_id": place, "prediction": text} for place, text in enumerate(texts)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    run = markbook.run_task(suite / "function_generation.yaml", predictions=tmp_path / "a.jsonl", output=tmp_path)

    assert metrics_of(run)["python_function_generation"]["pass@1"]["value"] == 0
