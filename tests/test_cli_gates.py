"""`--fail-if-worse RUN` of the commands that make runs."""

import json

import exam_kit
import pytest
import review_kit
from review_kit import markbook, only_run


def task_run(folder, name, right, *more):
    words = [f"answer number {n} is here" for n in range(30)]
    (folder / "rows.jsonl").write_text("".join(json.dumps({"word": word}) + "\n" for word in words))
    task = "name: t\ndata: {path: rows.jsonl}\nprompt: '{{ word }}'\nreference: '{{ word }}'\nmetrics: [exact_match]\n"
    (folder / "t.yaml").write_text(task)
    said = [{"doc_id": n, "prediction": word if n < right else "no"} for n, word in enumerate(words)]
    file = exam_kit.write_rows(folder / f"{name}.jsonl", said)
    output = folder / name
    return output, markbook("run", folder / "t.yaml", "--predictions", file, "--output", output, *more)


def exam_run(folder, name, right, *more):
    problems = [exam_kit.problem(f"p{n}") for n in range(20)]
    wrong = "def f(x):\n    return -x\n"
    said = [exam_kit.answer(f"p{n}", problems[0]["canonical_solution"] if n < right else wrong) for n in range(20)]
    benchmark = exam_kit.write_rows(folder / "benchmark.jsonl", problems)
    file = exam_kit.write_rows(folder / f"{name}.jsonl", said)
    output = folder / name
    args = ("--benchmark", benchmark, "--solutions", file, "--isolation", "weak", "--workers", "1", "--output", output)
    return output, markbook("exam", *args, *more)


@pytest.mark.parametrize(("make", "all_right"), [(task_run, 30), (exam_run, 20)])
def test_a_run_that_is_worse_than_its_baseline_exits_one(tmp_path, make, all_right):
    good, (code, _, _) = make(tmp_path, "good", all_right)
    assert code == 0
    baseline = only_run(good)

    worse, (fails, _, told) = make(tmp_path, "worse", all_right // 3, "--fail-if-worse", baseline)
    _, (passes, _, said) = make(tmp_path, "same", all_right, "--fail-if-worse", baseline)

    assert fails == 1
    assert "is worse than" in told
    assert (only_run(worse) / "run.json").exists()
    assert passes == 0
    assert "not shown to be worse" in said


def test_a_review_is_held_against_an_earlier_one(tmp_path):
    papers, rows = review_kit.papers(tmp_path), review_kit.reviews(tmp_path)
    args = (
        "review",
        "--papers",
        papers,
        "--reviews",
        rows,
        "--similarity",
        "cosine,jaccard",
        "--policy",
        "renormalise",
    )
    first = markbook(*args, "--output", tmp_path / "first")

    code, _, told = markbook(*args, "--output", tmp_path / "second", "--fail-if-worse", only_run(tmp_path / "first"))

    assert first[0] == code == 0, told
    assert "not shown to be worse" in told


@pytest.mark.parametrize("baseline", ["missing", "other"])
def test_a_baseline_that_is_none_is_found_out_before_any_work(tmp_path, baseline):
    if baseline == "other":
        exam_run(tmp_path, "exam", 20)
    place = only_run(tmp_path / "exam") if baseline == "other" else tmp_path / "nowhere"

    output, (code, _, told) = task_run(tmp_path, "new", 30, "--fail-if-worse", place)

    assert code == 2
    assert "baseline" in told or "no run folder" in told
    assert not output.exists()
