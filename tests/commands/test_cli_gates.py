"""Gates of every command: `--fail-under NAME=X`, one grammar and one message; `--fail-if-worse RUN`."""

import json
import re
import shutil

import pytest
from support import exam_kit, review_kit
from support.fake_openai import FAULTS, FakeOpenAI, good, text
from support.review_kit import markbook, only_run

from markbook.errors import GateFailed, UsageError
from markbook.results.gates import GateMark, hold_gates, parse_gate


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


@pytest.mark.parametrize(("make", "all_right", "metric"), [(task_run, 30, "exact_match"), (exam_run, 20, "exam_score")])
def test_a_table_is_a_baseline_of_every_command(tmp_path, make, all_right, metric):
    name = "p{}" if make is exam_run else "{}"
    codes = {}
    for right, column in ((0, "score"), (all_right, "score"), (0, metric), (all_right, metric)):
        table = tmp_path / f"{right}-{column}.csv"
        rows = [f"{name.format(n)},old,{int(n < right)}" for n in range(all_right)]
        table.write_text("\n".join([f"item,model,{column}", *rows]) + "\n")
        baseline = tmp_path / f"{right}-{column}"
        mapped = ("--map", f"item=item,model=model,score={column}")
        assert column == "score" or markbook("import", table, *mapped, "-o", baseline)[0] == 0
        baseline = table if column == "score" else only_run(baseline)
        _, (code, _, told) = make(tmp_path, f"new-{right}-{column}", all_right // 3, "--fail-if-worse", baseline)
        codes[right, column] = code
        assert f"{all_right} samples" in told, told

    assert codes == {(0, "score"): 0, (all_right, "score"): 1, (0, metric): 0, (all_right, metric): 1}


@pytest.mark.parametrize(
    ("header", "score", "words"),
    [
        ("item,model,score", 90, "'exam_score' lies in 0..1, the baseline's 'score' does not"),
        ("item,model,score,loss", 1, ""),
        ("item,model,loss", 0.5, "of 'exam_score' higher is better, of the baseline's 'loss' lower is"),
        ("item,model", None, "neither a run nor results that any reader knows"),
    ],
)
def test_a_table_that_holds_no_such_scores_is_refused_before_any_work(tmp_path, header, score, words):
    table, columns = tmp_path / "old.csv", header.split(",")[2:]
    cells = "".join(f",{score}" for _ in columns)
    table.write_text("\n".join([header, *(f"p{n},old{cells}" for n in range(20))]) + "\n")
    if columns == ["loss"]:
        assert markbook("import", table, "--map", "item=item,model=model,score=loss", "-o", tmp_path / "old")[0] == 0
        table = only_run(tmp_path / "old")

    output, (code, _, told) = exam_run(tmp_path, "new", 5, "--fail-if-worse", table)

    assert (code, words in told, output.exists()) == ((2, True, False) if words else (1, True, True)), told


def test_several_metrics_of_another_tool_are_not_taken_for_a_runs_own(tmp_path):
    rows = [
        {"doc_id": n, "filter": "none", "resps": [["x"]], "filtered_resps": ["x"], "f1": 0.5, "acc": 0.5}
        for n in range(20)
    ]
    file = exam_kit.write_rows(tmp_path / "samples_sums.jsonl", rows)

    output, (code, _, told) = exam_run(tmp_path, "new", 5, "--fail-if-worse", file)

    assert (code, output.exists()) == (2, False)
    assert "no metric 'exam_score' but several others: f1, acc" in told
    assert "--metric exam_score --metric f1 --fail-if-worse" in told


def part_run(folder, name, answered, *more):
    """Return a run of eight rows of which so many are answered, all of them right."""
    words = [f"answer number {n}" for n in range(8)]
    exam_kit.write_rows(folder / "rows.jsonl", [{"id": f"k{n}", "word": word} for n, word in enumerate(words)])
    task = "name: t\ndata: {path: rows.jsonl, id: id}\nprompt: '{{ word }}'\nreference: '{{ word }}'\n"
    (folder / "t.yaml").write_text(f"{task}metrics: [exact_match]\n")
    said = [{"id": f"k{n}", "model": name, "prediction": word} for n, word in enumerate(words[:answered])]
    file = exam_kit.write_rows(folder / f"{name}.jsonl", said)
    code, _, told = markbook("run", folder / "t.yaml", "--predictions", file, "--output", folder / name, *more)
    return only_run(folder / name), code, told


WORST = ("--missing", "worst")


def test_a_comparison_counts_what_is_missing_as_the_run_itself_does(tmp_path):
    """Two of eight are answered: the run's own 25 % was 100 % in comparisons, and its gate passed there."""
    old, _, _ = part_run(tmp_path, "old", 8, *WORST)
    new, own_code, own = part_run(tmp_path, "new", 2, *WORST, "--fail-under", "exact_match=60%")

    code, _, told = markbook("compare", new, old, "--fail-under", "new=60%")
    _, text, _ = markbook("compare", new, old, "--json")

    assert (own_code, code) == (1, 1)
    assert "is 25%, and at least 60% is asked for" in own
    assert "new is 25%, and at least 60% is asked for" in told
    found = json.loads(text)
    summaries = {standing["model"]: standing["summary"] for standing in found["ranking"]}
    record = json.loads((new / "summary.json").read_text())["tasks"]["t"]["metrics"]["exact_match"]
    kept = ("value", "n", "n_items", "n_partial", "n_missing", "interval", "bounds", "policy")
    assert {name: summaries["new"][name] for name in kept} == {name: record[name] for name in kept}
    (pair,) = found["pairs"]
    assert (pair["n"], pair["better"], abs(pair["difference"])) == (8, "old", 0.75)
    assert found["solved_by_none"] == []
    assert len(found["only_solved_by"]["old"]) == 6
    assert any("6 missing values count as 0" in note for note in found["notes"])
    assert [score["value"] for score in json.loads((new / "run.json").read_text())["scores"]] == [0.25]


def test_a_baseline_holds_a_run_that_counts_what_is_missing(tmp_path):
    old, _, _ = part_run(tmp_path, "old", 8, *WORST)
    new, code, told = part_run(tmp_path, "new", 2, *WORST, "--fail-if-worse", old)
    again, _, later = markbook("compare", new, "--fail-if-worse", old)

    assert (code, again) == (1, 1)
    assert "new is worse than old: -75.0" in told
    assert "new is worse than old: -75.0" in later


@pytest.mark.parametrize(
    ("policy", "answered", "words"),
    [
        ((), 8, "not shown to be worse; 8 samples compared"),
        ((), 2, "not shown to be worse; 2 samples compared, 6 of the baseline's lack a value here"),
        (WORST, 6, "8 samples compared, 2 of the baseline's lack a value here and count as the worst"),
    ],
)
def test_a_gate_says_how_many_samples_it_rests_on(tmp_path, policy, answered, words):
    old, _, _ = part_run(tmp_path, "old", 8, *policy)
    new, code, told = part_run(tmp_path, "new", answered, *policy, "--fail-if-worse", old)
    again, _, later = markbook("compare", new, "--fail-if-worse", old)

    assert (code, again) == (0, 0), told
    assert told.splitlines()[-1].endswith(words)
    assert later.splitlines()[-1].endswith(words)


@pytest.mark.parametrize(("policy", "better", "n"), [((), None, 2), (WORST, "old", 8)])
def test_a_run_that_stops_counts_what_is_missing_as_its_numbers_do(tmp_path, policy, better, n):
    old, _, _ = part_run(tmp_path, "old", 8, *policy)
    new, _, told = part_run(tmp_path, "new", 2, *policy, "--against", old, "--stop-when", "decided")

    (stand,) = json.loads((new / "summary.json").read_text())["stopped"]["models"]
    assert (stand["better"], stand["n"], stand["n_missing"]) == (better, n, 8 - n), told


def test_runs_that_count_what_is_missing_otherwise_are_not_compared(tmp_path):
    lacking, _, _ = part_run(tmp_path, "lacking", 6)
    whole, _, _ = part_run(tmp_path, "whole", 8)
    worst, _, _ = part_run(tmp_path, "worst", 6, *WORST)

    refused, _, told = markbook("compare", worst, lacking)
    allowed, text, _ = markbook("compare", worst, lacking, "--allow-different-measures", "--json")
    (tmp_path / "late").mkdir()
    with pytest.raises(FileNotFoundError):  # refused before there is a run
        part_run(tmp_path / "late", "late", 6, *WORST, "--fail-if-worse", lacking)

    assert refused == 2
    assert "counts what is missing as the worst" in told
    assert allowed == 0
    means = {standing["model"]: standing["summary"]["value"] for standing in json.loads(text)["ranking"]}
    assert means == {"worst": 0.75, "lacking": 1.0}
    assert any("counts what is missing as the worst" in note for note in json.loads(text)["notes"])
    # Where nothing is missing there, both ways come to one number.
    assert markbook("compare", worst, whole)[0] == 0


def test_a_gate_names_a_model_of_the_compared_runs_also_beside_a_baseline(tmp_path):
    """A baseline has models of the same names, so those of both runs are shown with their run's name behind them."""
    for name, right in (("old", 5), ("new", 15)):
        (tmp_path / name).mkdir()
        exam_run(tmp_path / name, "m", right)
    runs = {name: only_run(tmp_path / name / "m") for name in ("old", "new")}
    both = ("compare", runs["new"], "--fail-if-worse", runs["old"], "--fail-under")

    assert markbook(*both, "gpt=70%")[0] == 0
    assert markbook(*both, "exam_score=70%")[0] == 0  # what is below it in the baseline was not asked about
    code, _, told = markbook(*both, "gpt=80%")
    assert code == 1
    assert "75%, and at least 80% is asked for" in told


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
    assert "baseline" in told or "not a run folder" in told
    assert not output.exists()


GOOD = "def f(x):\n    return x\n"


def exam_command(folder):
    problems = [exam_kit.problem(f"p{n}") for n in range(4)]
    said = [exam_kit.answer(f"p{n}", GOOD if n < 2 else "def f(x):\n    return -x\n") for n in range(4)]
    benchmark, file = (exam_kit.write_rows(folder / "b.jsonl", problems), exam_kit.write_rows(folder / "s.jsonl", said))
    return ["exam", "--benchmark", benchmark, "--solutions", file, "--isolation", "weak", "--output", folder / "out"]


def run_command(folder):
    task = "name: t\ndata: {path: rows.jsonl}\nprompt: x\nreference: '{{ w }}'\nmetrics: [exact_match, edit_distance]\n"
    (folder / "t.yaml").write_text(task)
    exam_kit.write_rows(folder / "rows.jsonl", [{"w": "a"}, {"w": "b"}])
    said = exam_kit.write_rows(folder / "said.jsonl", [{"doc_id": n, "prediction": "a"} for n in range(2)])
    return ["run", folder / "t.yaml", "--predictions", said, "--output", folder / "out"]


def review_command(folder):
    rows = [{"paper_id": "one", "system": "mas", "review": review_kit.FIRST}]
    args = ["--papers", review_kit.papers(folder), "--reviews", review_kit.reviews(folder, rows)]
    return ["review", *args, "--similarity", "cosine,jaccard", "--output", folder / "out"]


def score_command(folder):
    rows = [{"candidate": "a", "reference": "a"}, {"candidate": "a", "reference": "b"}]
    return ["score", "exact_match,edit_distance", exam_kit.write_rows(folder / "rows.jsonl", rows)]


def compare_command(folder):
    args = exam_command(folder)
    other = [exam_kit.answer(f"p{n}", GOOD, "other") for n in range(4)]
    markbook(*args, "--solutions", folder / "s.jsonl", exam_kit.write_rows(folder / "o.jsonl", other))
    return ["compare", only_run(folder / "out")]


def judge_command(folder):
    return ["judge", "check", "--judge", "openai:nobody", "--papers", review_kit.papers(folder)]


COMMANDS = {
    "exam": (exam_command, "exam_score"),
    "run": (run_command, "exact_match"),
    "review": (review_command, "tier1.jaccard_score"),
    "score": (score_command, "exact_match"),
    "compare": (compare_command, "gpt"),
    "judge check": (judge_command, "weighted_kappa"),
}
REFUSED = {
    "{name}": "is not a threshold",
    "{name}=": "is not a threshold",
    "=0.5": "is not a threshold",
    "{name}=high": "is not a threshold",
    "{name}=nan": "is not a threshold",
    "{name}=60": "lies outside",
    "{name}=600%": "lies outside",
    "{name}x=0.5": "no model or metric is called '{name}x' (did you mean '{name}'",
}


def test_the_documents_total_is_the_exam_score(tmp_path):
    assert markbook(*COMMANDS["exam"][0](tmp_path), "--fail-under", "total=1%")[0] in (0, 1)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("gate", REFUSED)
def test_a_gate_that_can_hold_nothing_is_refused_before_any_work(command, gate, tmp_path):
    make, name = COMMANDS[command]
    args = make(tmp_path)
    before = set(tmp_path.rglob("*"))

    code, out, told = markbook(*args, "--fail-under", gate.format(name=name))

    assert (code, out) == (2, "")
    assert REFUSED[gate].format(name=name) in told
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("command", "gate", "code"),
    [
        ("exam", "exam_score=0.5", 0),
        ("exam", "gpt=50%", 0),
        ("exam", "gpt=51%", 1),
        ("run", "exact_match=0.5", 0),
        ("run", "t/exact_match=50%", 0),
        ("run", "exact_match=50.1%", 1),
        ("run", "edit_distance=50%", 0),
        ("run", "edit_distance=0.49", 1),
        ("review", "jaccard_score=90%", 0),
        ("review", "tier1.jaccard_score=0.9", 0),
        ("review", "composite_score=0", 1),
        ("score", "exact_match=50%", 0),
        ("score", "exact_match=51%", 1),
        ("score", "edit_distance=50%", 0),
        ("score", "edit_distance=49%", 1),
        ("compare", "exam_score=50%", 0),
        ("compare", "gpt=0.51", 1),
        ("compare", "other=100%", 0),
    ],
)
def test_one_grammar_and_one_direction_on_every_command(command, gate, code, tmp_path):
    ended, _, told = markbook(*COMMANDS[command][0](tmp_path), "--fail-under", gate)

    assert ended == code, told
    assert (" is asked for" in told) == (code == 1)


def test_what_fails_is_said_in_the_unit_of_the_gate(tmp_path):
    args = exam_command(tmp_path)

    percent, plain = markbook(*args, "--fail-under", "gpt=60%")[2], markbook(*args, "--fail-under", "gpt=0.6")[2]

    assert "gpt is 50%, and at least 60% is asked for" in percent
    assert "gpt is 0.5, and at least 0.6 is asked for" in plain


def test_a_model_without_counterpart_in_the_baseline_is_found_before_any_work(tmp_path):
    baseline = compare_command(tmp_path)[1]
    said = exam_kit.write_rows(tmp_path / "new.jsonl", [exam_kit.answer("p0", GOOD, "third")])
    args = ["--benchmark", tmp_path / "b.jsonl", "--solutions", said, "--isolation", "weak"]

    code, _, told = markbook("exam", *args, "--output", tmp_path / "new", "--fail-if-worse", baseline)

    assert code == 2
    assert "none is called 'third'" in told
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("asks", [False, True])
def test_a_baseline_without_the_metric_is_found_before_any_work(tmp_path, monkeypatch, asks):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    good, _ = task_run(tmp_path, "good", 30)
    task = (tmp_path / "t.yaml").read_text().replace("exact_match", "bleu")
    (tmp_path / "bleu.yaml").write_text(task)
    with FakeOpenAI(lambda _request, _n: text("x")) as server:
        answers = ("--model", "openai:m", "--base-url", server.base_url) if asks else ()
        args = answers or ("--predictions", tmp_path / "good.jsonl")
        new = ("--output", tmp_path / "new", "--fail-if-worse", only_run(good))

        code, _, told = markbook("run", tmp_path / "bleu.yaml", *args, *new)
        asked = server.calls

    assert code == 2
    assert "the run has no metric 'bleu'" in told
    assert asked == 0
    assert not (tmp_path / "new").exists()


def test_a_run_is_held_by_its_own_first_metric_whatever_comes_first_in_the_baseline(tmp_path):
    both = "metrics: [exact_match, bleu]"
    task_run(tmp_path, "plain", 30)
    task = (tmp_path / "t.yaml").read_text()
    for name, metrics in (("old", both), ("new", "metrics: [bleu]")):
        (tmp_path / f"{name}.yaml").write_text(task.replace("metrics: [exact_match]", metrics))
    args = ("--predictions", tmp_path / "plain.jsonl")
    assert markbook("run", tmp_path / "old.yaml", *args, "--output", tmp_path / "old")[0] == 0

    code, _, told = markbook(
        "run", tmp_path / "new.yaml", *args, "--output", tmp_path / "new", "--fail-if-worse", only_run(tmp_path / "old")
    )

    assert code == 0, told
    assert "not shown to be worse" in told


def test_a_gate_says_which_tasks_it_does_not_hold(tmp_path):
    task_run(tmp_path, "first", 30)
    text = (tmp_path / "t.yaml").read_text()
    (tmp_path / "u.yaml").write_text(text.replace("exact_match", "bleu").replace("name: t", "name: u"))
    (tmp_path / "said").mkdir()
    for name in "tu":
        shutil.copy(tmp_path / "first.jsonl", tmp_path / "said" / f"{name}.jsonl")
    tasks, answers = (tmp_path / "t.yaml", tmp_path / "u.yaml"), ("--predictions", tmp_path / "said")
    assert markbook("run", *tasks, *answers, "--output", tmp_path / "old")[0] == 0
    old = only_run(tmp_path / "old")

    code, _, told = markbook("run", *tasks, *answers, "--output", tmp_path / "new", "--fail-if-worse", old)

    assert (code, "exact_match: of the tasks t, not of u." in told) == (0, True), told


def test_a_system_without_counterpart_in_the_baseline_is_found_before_any_judge_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    papers = review_kit.papers(tmp_path)

    def args(*systems):
        rows = [{"paper_id": "one", "system": name, "review": review_kit.FIRST} for name in systems]
        reviews = review_kit.reviews(tmp_path, rows)
        return ("review", "--papers", papers, "--reviews", reviews, "--similarity", "cosine,jaccard")

    assert markbook(*args("first", "second"), "--output", tmp_path / "old")[0] == 0
    baseline = only_run(tmp_path / "old")
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:m", "--base-url", server.base_url)
        new = ("--output", tmp_path / "new", "--fail-if-worse", baseline)

        code, _, told = markbook(*args("third"), *judge, *new)
        asked = server.calls

    assert code == 2
    assert "none is called 'third'" in told
    assert asked == 0
    assert not (tmp_path / "new").exists()


def test_a_rescored_system_without_counterpart_is_found_before_any_work(tmp_path):
    papers = review_kit.papers(tmp_path)
    for name, systems in (("old", ("first", "second")), ("other", ("third",))):
        rows = [{"paper_id": "one", "system": system, "review": review_kit.FIRST} for system in systems]
        args = ("review", "--papers", papers, "--reviews", review_kit.reviews(tmp_path, rows))
        assert markbook(*args, "--similarity", "cosine,jaccard", "--output", tmp_path / name)[0] == 0

    old, other = only_run(tmp_path / "old"), only_run(tmp_path / "other")
    code, _, told = markbook("review", "--rescore", other, "--output", tmp_path / "new", "--fail-if-worse", old)

    assert code == 2
    assert "none is called 'third'" in told
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("text", ["a=1_0%", "a=\u0663", "a=0._5"])
def test_a_threshold_is_written_in_plain_digits(text):
    with pytest.raises(UsageError, match="is not a threshold"):
        parse_gate(text)


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ("a=50%", 0.49999, "a is 49.999%, and at least 50% is asked for"),
        ("a=0.5", 0.499999, "a is 0.499999, and at least 0.5 is asked for"),
        ("a=50%", 0.4, "a is 40%, and at least 50% is asked for"),
    ],
)
def test_a_mark_just_below_is_told_from_its_threshold(text, value, words):
    with pytest.raises(GateFailed, match=re.escape(words)):
        hold_gates([parse_gate(text)], [GateMark("a", ("a",), value)])


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ([1.0], [0.0], 2, "'new' cannot be held against 'old': it is worse by "),
        ([0.0], [1.0], 0, "not shown to be worse"),
        ([1.0], [1.0], 0, "not shown to be worse"),
        (
            [12.5, 13.5, 14.5],
            [10.5, 11.5, 12.5],
            2,
            "(no variation in the differences: no interval)",
        ),  # a range without ends
        ([12.5, 13.5], [12.5, 13.5], 0, "not shown to be worse"),
    ],
)
def test_a_model_that_is_worse_by_a_difference_without_an_interval_passes_no_gate(tmp_path, old, new, code, words):
    table = tmp_path / "t.csv"
    lines = [f"{n},{model},{score}" for model, scores in (("old", old), ("new", new)) for n, score in enumerate(scores)]
    table.write_text("\n".join(["item,model,score", *lines]) + "\n")

    ended, _, messages = markbook(
        "compare", table, "--map", "item=item,model=model,score=score", "--fail-if-worse", "old"
    )

    assert ended == code, messages
    assert words in messages


# What lacks a part for a reason of ours passes and fails nobody.


def _exam_that_lacks(folder, server):
    bench = exam_kit.write_rows(folder / "b.jsonl", [exam_kit.problem("a"), exam_kit.problem("b")])
    return ["exam", "--benchmark", bench, "--isolation", "weak", "--model", "openai:m", "--retries", 0, "--concurrency", 1,
            "--base-url", server.base_url]  # fmt: skip


def _run_that_lacks(folder, server):
    return [
        *run_command(folder)[:2],
        "--model",
        "openai:m",
        "--retries",
        0,
        "--concurrency",
        1,
        "--base-url",
        server.base_url,
    ]


def _review_that_lacks(folder, server):
    read = ("--papers", review_kit.papers(folder), "--reviews", review_kit.reviews(folder))
    return ["review", *read, "--similarity", "cosine,jaccard", "--judge", "openai:m", "--judge-retries", 0, "--base-url",
            server.base_url]  # fmt: skip


def _score_that_lacks(folder, server):
    rows = exam_kit.write_rows(folder / "r.jsonl", [{"candidate": "a", "reference": "a"}] * 2)
    rubric = folder / "kind.yaml"
    rubric.write_text("name: kind\ntask: Mark it.\nreads: [answer]\ncriteria: [{name: kind, question: Is it kind?}]\n")
    return [
        "score",
        "judge",
        rows,
        "--rubric",
        rubric,
        "--judge",
        "openai:m",
        "--base-url",
        server.base_url,
        "--judge-retries",
        0,
    ]


@pytest.mark.parametrize(
    ("make", "gate"),
    [
        (_exam_that_lacks, "exam_score=100%"), (_exam_that_lacks, "exam_score=0"), (_run_that_lacks, "exact_match=1"),
        (_run_that_lacks, "exact_match=0"), (_review_that_lacks, "tier1.cosine_score=1"), (_review_that_lacks, "tier1.cosine_score=0"),
        (_score_that_lacks, "judge=1"),
    ],
)  # fmt: skip
def test_a_run_that_is_incomplete_is_exit_3_whatever_its_gates_say(tmp_path, make, gate):
    """A mean that lacks rows for a reason of ours neither passes nor fails a gate, for all kinds of runs."""

    def script(request, number):
        return FAULTS["500"](request, number) if number else text("a")

    with FakeOpenAI(script) as server:
        args = make(tmp_path, server)
        output = () if args[0] == "score" else ("--output", tmp_path / "out")
        code, _, messages = markbook(*args, *output, "--fail-under", gate)

    assert code == 3, messages
    assert "is asked for" not in messages
    if output:
        assert f"`markbook {args[0]} --resume {only_run(tmp_path / 'out')}`" in messages
