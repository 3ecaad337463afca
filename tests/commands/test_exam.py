"""An exam from files to files: what an answer scores, what is an error, and what the reports hold."""

import hashlib
import json

import pytest
from support.exam_kit import answer, errors, hold, problem, rows, scores, write_rows

from markbook.errors import DataError, StrictDataError, UsageError
from markbook.runs.api import exam
from markbook.runs.kind import Watcher
from markbook.store import open_run

GOOD = "def f(x):\n    return x\n"
TWO_OF_THREE = [{"assertion": "func(1) == 1"}, {"assertion": "func(2) == 3"}, {"assertion": "func(3) == 3"}]


def test_absent_problem_scores_zero_but_is_no_error(tmp_path):
    run = hold(tmp_path, [problem("a"), problem("b")], [answer("a", GOOD)])

    assert scores(run)["total"] == 50.0
    assert scores(run)["statistics"]["total"]["attempted_score"] == 100.0
    assert scores(run)["statistics"]["total"]["n_missing"] == 1
    assert errors(run)["total_errors"] == 0
    assert [row["task_id"] for row in rows(run)] == ["a"]


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_empty_answer_is_a_no_completion_error(tmp_path, text):
    run = hold(tmp_path, [problem("a"), problem("b")], [answer("a", GOOD), answer("b", text)])

    assert scores(run)["total"] == 50.0
    assert errors(run)["error_counts"] == {"NoCompletionError": 1}
    assert errors(run)["error_rate"] == 50.0


def test_null_is_an_absent_answer_and_no_error(tmp_path):
    run = hold(tmp_path, [problem("a"), problem("b")], [answer("a", GOOD), answer("b", None)])

    assert scores(run)["total"] == 50.0
    assert scores(run)["statistics"]["total"]["attempted_score"] == 100.0
    assert scores(run)["statistics"]["total"]["n_missing"] == 1
    assert errors(run)["total_errors"] == 0
    assert [row["task_id"] for row in rows(run)] == ["a"]
    assert run.manifest["skipped"]["answers_null"] == 1


def test_null_among_several_samples_counts_as_absent(tmp_path):
    answers = [answer("a", text, sample=n) for n, text in enumerate([GOOD, None, None, None])]
    run = hold(tmp_path, [problem("a"), problem("b")], [*answers, answer("b", GOOD, sample=0)])
    total = scores(run)["statistics"]["total"]

    # One of four samples of the first problem passes, and the only one of the second: (1/4 + 1) / 2
    assert scores(run)["total"] == 62.5
    assert scores(run)["pass@1"] == 62.5
    assert total["bounds"] == [62.5, 100.0]
    assert errors(run)["total_errors"] == 0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("def f(x:\n    return x\n", "SyntaxError"),
        ("def f(x):\n    return y\n", "NameError"),
        ("def f(x):\n    while True:\n        pass\n", "TimeoutError"),
        ("", "NoCompletionError"),
        ("def f(x):\n    return x + '1'\n", "Error"),
        ("import no_such_module\n" + GOOD, "Error"),
        ("raise SystemExit\n" + GOOD, "Error"),
    ],
)
def test_error_kind_follows_the_exception(tmp_path, text, kind):
    run = hold(tmp_path, [problem("a")], [answer("a", text)], timeout=0.5)

    assert errors(run)["error_counts"] == {kind: 1}
    assert errors(run)["error_breakdown"] == {kind: 100.0}
    assert rows(run)[0]["error_type"] == kind
    assert scores(run)["total"] == 0.0


def test_failed_test_is_no_error(tmp_path):
    run = hold(tmp_path, [problem("a", tests=TWO_OF_THREE)], [answer("a", GOOD)])

    (row,) = rows(run)
    assert (row["total_tests"], row["tests_passed"], row["all_tests_passed"]) == (3, 2, False)
    assert row["error_type"] == "AssertionError"
    assert [test["passed"] for test in row["test_details"]] == [True, False, True]
    assert errors(run)["total_errors"] == 0
    assert scores(run)["total"] == 66.67


@pytest.mark.parametrize(("policy", "total"), [("zero", 0.0), ("partial", 66.67)])
def test_error_policy_decides_and_both_scores_are_kept(tmp_path, policy, total):
    tests = [{"assertion": "func(1) == 1"}, {"assertion": "func('x') == 'x'"}, {"assertion": "func(3) == 3"}]

    run = hold(
        tmp_path, [problem("a", tests=tests)], [answer("a", "def f(x):\n    return x + 0\n")], error_policy=policy
    )

    assert scores(run)["total"] == total
    assert (rows(run)[0]["score_zero"], rows(run)[0]["score_partial"]) == (0.0, 66.67)
    assert scores(run)["total_by_policy"] == {"zero": 0.0, "partial": 66.67}


def test_failed_inspection_fails_the_test_and_is_no_error(tmp_path):
    tests = [{"assertion": "list(func(2)) == [0, 1]", "inspection": "yield from"}]
    loop = "def f(n):\n    for i in range(n):\n        yield i\n"

    run = hold(tmp_path, [problem("a", tests=tests)], [answer("a", loop)])

    assert scores(run)["total"] == 0.0
    assert rows(run)[0]["error_type"] == "InspectionError"
    assert errors(run)["total_errors"] == 0


def test_wrong_name_is_found_only_among_what_the_candidate_defines(tmp_path):
    problems = [problem("a"), problem("b")]
    imported = "from functools import wraps\nx = 1\n"

    run = hold(tmp_path, problems, [answer("a", "def g(x):\n    return x\n"), answer("b", imported)])

    first, second = rows(run)
    assert first["all_tests_passed"]
    assert first["flags"] == ["name_mismatch"]
    assert second["error_type"] == "NameError"


def test_broken_test_is_charged_to_nobody(tmp_path):
    tests = [{"assertion": "func(1) == 1"}, {"assertion": "func(1 == 1"}]

    run = hold(tmp_path, [problem("a", tests=tests), problem("b", tests=[tests[1]])], [answer("a", GOOD)])

    assert scores(run)["total"] == 100.0
    faults = [(fault["task_id"], fault["test_index"]) for fault in scores(run)["benchmark_faults"]]
    assert faults == [("a", 1), ("b", 0)]


def test_text_problem_is_bound_and_not_run(tmp_path):
    tests = [{"assertion": "'dict' in text and 'import' not in text"}]

    run = hold(tmp_path, [problem("a", kind="text", tests=tests)], [answer("a", "use a dict, 1 + + is fine")])

    assert scores(run)["total"] == 100.0
    assert scores(run)["by_problem_type"] == {"text": 100.0}


def test_extracted_solution_wins_even_when_empty(tmp_path):
    run = hold(tmp_path, [problem("a")], [answer("a", GOOD, extracted_solution="")])

    assert errors(run)["error_counts"] == {"NoCompletionError": 1}


def test_documented_keys_come_first_and_in_order(tmp_path):
    run = hold(tmp_path, [problem("a", level=3), problem("b", topic="u", kind="class", name="C")], [answer("a", GOOD)])

    record = scores(run)
    assert list(record)[:5] == ["model", "total", "by_topic", "by_complexity", "by_problem_type"]
    assert record["by_topic"] == {"t": 100.0, "u": 0.0}
    assert record["by_complexity"] == {"level_1": 0.0, "level_3": 100.0}
    assert record["by_problem_type"] == {"class": 0.0, "function": 100.0}
    assert list(errors(run))[:3] == ["total_errors", "error_rate", "error_breakdown"]
    assert list(rows(run)[0])[:7] == [
        "task_id",
        "category",
        "total_tests",
        "tests_passed",
        "all_tests_passed",
        "error_type",
        "test_details",
    ]


def test_grades_add_up_to_the_attempts(tmp_path):
    problems = [problem(str(i), tests=TWO_OF_THREE if i == 1 else None) for i in range(5)]
    answers = [answer(str(i), text) for i, text in enumerate([GOOD, GOOD, "def f(x): return 0", "", "def f(: "])]

    stats = scores(hold(tmp_path, problems, answers))["summary"]["overall_stats"]

    assert stats.pop("total_evaluated") == 5
    assert sum(stats.values()) == 5
    assert stats["fully_correct"] == stats["partially_correct"] == stats["incorrect"] == stats["syntax_errors"] == 1


def test_pass_at_k_uses_the_unbiased_estimator(tmp_path):
    # c = 1 of n = 3: pass@1 = 1/3. The second problem has no attempt and counts 0.
    answers = [answer("a", text, sample=i) for i, text in enumerate([GOOD, "def f(x): return 0", "def f(x): return 5"])]

    record = scores(hold(tmp_path, [problem("a"), problem("b")], answers))

    assert record["pass@1"] == pytest.approx(100 / 6, abs=0.005)
    assert record["total"] == pytest.approx(100 / 6, abs=0.005)


def test_files_are_the_same_bytes_for_any_worker_count(tmp_path):
    problems = [problem(f"p{i}", topic=f"t{i % 3}", tests=TWO_OF_THREE) for i in range(12)]
    texts = [
        GOOD,
        "def f(x):\n    return {x, 'a', 'b'}\n",
        "import random\ndef f(x):\n    return random.random()\n",
        "",
    ]
    answers = [answer(f"p{i}", texts[i % 4], model) for i in range(12) for model in ("gpt", "claude")]

    digests = set()
    for workers in (1, 2, 8):
        run = hold(tmp_path / str(workers), problems, answers, workers=workers)
        files = sorted(path for path in run.folder.rglob("*") if path.suffix in {".json", ".jsonl", ".md"})
        kept = [
            path for path in files if path.name not in {"run.json", "timings.jsonl"} and "journal" not in path.parts
        ]
        digests.add(hashlib.sha256(b"".join(path.read_bytes() for path in kept)).hexdigest())
        assert len(kept) == 10

    assert len(digests) == 1


def test_comparison_has_the_documented_keys(tmp_path):
    answers = [answer("a", GOOD), answer("a", "def f(x): return 0", "claude")]

    run = hold(tmp_path, [problem("a", level=2)], answers)

    record = json.loads(run.read("model_comparison.json"))
    assert record["models_evaluated"] == ["gpt", "claude"]
    assert record["overall_scores"] == {"gpt": 100.0, "claude": 0.0}
    assert record["category_comparison"] == {"t": {"gpt": 100.0, "claude": 0.0}}
    assert record["complexity_comparison"] == {"2": {"gpt": 100.0, "claude": 0.0}}
    assert record["object_type_comparison"] == {"function": {"gpt": 100.0, "claude": 0.0}}
    assert record["error_rate_comparison"] == {"gpt": 0.0, "claude": 0.0}
    assert "| 1 | gpt | 100.00 % |" in run.read("model_comparison_summary.md")


def test_single_model_gets_no_comparison(tmp_path):
    run = hold(tmp_path, [problem("a")], [answer("a", GOOD)])

    assert not (run.folder / "model_comparison.json").exists()


def test_hostile_model_name_stays_inside_and_apart(tmp_path):
    names = ["../../escape", "a/b", "A", "a", "CON", ".."]

    run = hold(tmp_path, [problem("a")], [answer("a", GOOD, name) for name in names])

    folders = [path.parent for path in run.folder.glob("*/test_results_score.json")]
    assert len({folder.name.casefold() for folder in folders}) == len(names)
    assert sorted(
        json.loads((folder / "test_results_score.json").read_text())["model"] for folder in folders
    ) == sorted(names)
    assert not (tmp_path / "escape").exists()


def test_resume_marks_only_what_is_missing_and_gives_the_same_bytes(tmp_path):
    problems = [problem(f"p{i}") for i in range(6)]
    answers = [answer(f"p{i}", GOOD if i % 2 else "def f(x): return 0") for i in range(6)]
    whole = hold(tmp_path, problems, answers)
    wanted = {name: whole.read(f"gpt/{name}") for name in ("test_results.jsonl", "test_results_score.json")}
    journal = whole.folder / "journal" / "00000001.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-3]) + lines[-3][:40])  # the last outcomes lost, one of them torn
    manifest = json.loads((whole.folder / "run.json").read_text())
    (whole.folder / "run.json").write_text(json.dumps({**manifest, "status": "running"}))

    again = hold(tmp_path, problems, answers, resume=whole.folder)

    assert again.folder == whole.folder
    assert again.status == "done"
    assert {name: again.read(f"gpt/{name}") for name in wanted} == wanted
    assert len(list(again.rows("outcome"))) == 6


def test_resume_of_another_benchmark_is_refused(tmp_path):
    run = hold(tmp_path, [problem("a")], [answer("a", GOOD)])

    with pytest.raises(UsageError, match=r"inputs\.benchmark"):
        hold(tmp_path, [problem("a", level=2)], [answer("a", GOOD)], resume=run.folder)


def test_strict_refuses_what_would_be_skipped(tmp_path):
    with pytest.raises(StrictDataError, match="the benchmark has no task 'zzz'"):
        hold(tmp_path, [problem("a")], [answer("a", GOOD), answer("zzz", GOOD)], strict=True)


def test_refused_input_leaves_nothing_behind(tmp_path):
    with pytest.raises(DataError, match="none of 1 answers match a task"):
        hold(tmp_path, [problem("a")], [answer("zzz", GOOD)])

    assert not (tmp_path / "out").exists()


def test_same_name_in_two_inputs_is_kept_apart(tmp_path):
    benchmark = write_rows(tmp_path / "benchmark.jsonl", [problem("a")])
    paths = [write_rows(tmp_path / name / "rows.jsonl", [answer("a", GOOD)]).parent for name in ("one", "two")]

    run = exam(benchmark, paths, tmp_path / "out", isolation="weak", workers=1)

    assert run.manifest["config"]["models"] == ["gpt", "gpt_2"]
    assert str(paths[0]) in run.manifest["warnings"][0]
    assert str(paths[1]) in run.manifest["warnings"][0]


def test_finished_run_is_opened_and_not_run_again(tmp_path):
    run = hold(tmp_path, [problem("a")], [answer("a", GOOD)])
    before = (run.folder / "run.json").read_bytes()

    again = hold(tmp_path, [problem("a")], [answer("a", GOOD)], resume=run.folder)

    assert again.status == "done"
    assert (run.folder / "run.json").read_bytes() == before
    assert open_run(run.folder).status == "done"


def test_duplicates_and_earlier_outcomes_are_counted(tmp_path):
    counts = []

    class Counts(Watcher):
        def on_note(self, line, *, topic=""):
            counts.append(line)

    # of one model; what others answer is run for each of them
    answers = [
        answer("a", GOOD, sample=0),
        answer("a", GOOD, sample=1),
        answer("a", GOOD, model="other", sample=0),
        answer("a", GOOD, model="third", sample=0),
    ]
    found = [
        rows(hold(tmp_path / str(number), [problem("a")], answers, watcher=Counts(), reuse_verdicts=True), "other")
        for number in range(2)
    ]

    assert counts == [
        "1 answers were exact duplicates of others and took their outcome",
        "4 answers took the outcome that they had in an earlier run",
    ]
    assert found[0] == found[1]
