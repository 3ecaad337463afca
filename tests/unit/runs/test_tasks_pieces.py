"""Rows are marked in pieces, so that memory does not follow them: pieces of any size give the same bytes."""

import pytest
from support.wild_kit import HEAD, PLAIN, metrics, rows_of, said, task, write

import markbook
from markbook.runs.tasks import work

CODE = """
def results(doc, results):
    n = int(doc["q"][1:])
    if n == 1:
        raise ValueError("no")
    found = {"always": float(n % 2)}
    if n >= 4:
        found["late"] = float(n)
    return found

def named(references, predictions, **_):
    n = int(predictions[0][1:])
    return {} if n < 3 else {"first": n / 10.0} if n < 5 else {"first": 0.0, "second": 1.0}

def silent(references, predictions, **_):
    return {}

def total(items):
    return float(sum(items))
"""
ROWS = [{"q": f"q{n}", "a": f"a{n}"} for n in range(7)]
REPLIES = [f"p{n}" for n in range(6)]  # the last row is not answered
TASKS = {
    "process_results": PLAIN + "process_results: !function code.results\nmetric_list:\n  - {metric: always}\n",
    "own names": PLAIN + "metric_list:\n  - {metric: !function code.named}\n  - {metric: exact_match}\n",
    "own sum": PLAIN + "process_results: !function code.results\n"
    "metric_list:\n  - {metric: late, aggregation: !function code.total}\n",
    "not a name": PLAIN + "metric_list:\n  - {metric: !function code.silent}\n",
    "pipelines": PLAIN + "metric_list:\n  - {metric: !function code.named}\n"
    "filter_list:\n  - {name: one, filter: [{function: take_first}]}\n  - {name: two, filter: [{function: lowercase}, {function: take_first}]}\n",
}


def run(folder, size, monkeypatch, **options):
    monkeypatch.setattr(work, "PIECE", size)
    return markbook.run_task("lm.yaml", output=folder / f"out{size}", **options)


def both(folder, monkeypatch, **options):
    runs = [run(folder, size, monkeypatch, **options) for size in (1, 2, 4000)]
    files = [[(one.folder / name).read_bytes() for name in ("summary.json", "results.jsonl")] for one in runs]
    assert files[0] == files[2]
    assert files[1] == files[2]
    assert runs[0].manifest["broken"] == runs[2].manifest["broken"]
    return runs[0]


@pytest.mark.parametrize("kind", TASKS)
def test_scores_by_functions_are_the_same(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code.py").write_text(CODE)
    task(tmp_path, TASKS[kind], ROWS)
    said(tmp_path, REPLIES)

    found = both(tmp_path, monkeypatch, predictions="said.jsonl", allow_code=True)

    if kind == "process_results":
        assert metrics(found) == {"always": pytest.approx((0 + 0 + 1 + 0 + 1) / 5), "late": pytest.approx((4 + 5) / 2)}
        assert found.manifest["broken"] == {"demo: failed": 2}
        lacks = rows_of(found)[2]["missing"]
        assert lacks == {"late": {"kind": "undefined", "detail": "nothing was said of this row"}}
    elif kind == "own names":
        assert metrics(found) == {"exact_match": 0.0, "first": pytest.approx((0.3 + 0.4 + 0) / 3), "second": 1.0}
    elif kind == "own sum":
        assert metrics(found)["late"] == 9.0
    elif kind == "not a name":
        assert metrics(found) == {"silent": None}


def test_choices_by_log_likelihood_are_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = HEAD + "output_type: multiple_choice\ndoc_to_text: q\ndoc_to_choice: [x, yy]\ndoc_to_target: right\n"
    lines += "metric_list:\n  - {metric: acc}\n  - {metric: f1, aggregation: f1}\n"
    task(tmp_path, lines, [{"q": f"q{n}", "right": n % 2} for n in range(5)])
    answers = [{"doc_id": n, "likelihoods": [[-1.0, True], [-2.0 + n, False]]} for n in range(5)]
    write(tmp_path / "said.jsonl", answers)

    found = both(tmp_path, monkeypatch, predictions="said.jsonl")

    # The second choice is the likelier from n = 2 on (of equal ones the first): right for 0, 3.
    assert metrics(found)["acc"] == pytest.approx(2 / 5)


def test_passes_are_the_same_and_a_finished_run_runs_no_test_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = "name: demo\ndata: {path: rows.jsonl}\nprompt: '{{ q }}'\ntests: tests\nentry_point: name\n"
    lines += "metrics: [{name: pass_at_k, options: {k: [1, 2]}}]\n"
    rows = [{"q": f"q{n}", "tests": ["assert f() == 1"], "name": "f"} for n in range(3)]
    task(tmp_path, lines, rows)
    codes = ["def f():\n    return 1\n", "def f():\n    return 2\n"]
    write(tmp_path / "said.jsonl", [{"doc_id": n, "prediction": [codes[n % 2], codes[0]]} for n in range(3)])

    found = both(tmp_path, monkeypatch, predictions="said.jsonl", samples=2, isolation="weak")

    assert metrics(found)["pass@1"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert metrics(found)["pass@2"] == 1.0
    assert len(list(found.rows("outcome"))) == 6
    again = run(tmp_path, 1, monkeypatch, predictions="said.jsonl", samples=2, isolation="weak", resume=found.folder)
    assert len(list(again.rows("outcome"))) == 6
