"""`markbook exam` as its users meet it: formats of plugins, wrong benchmarks, resuming by the folder alone, its words."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from support.exam_kit import answer, hold, problem, rows, scores, write_rows
from support.load import PATIENCE
from support.paths import ROOT
from support.review_kit import markbook, only_run

import markbook as api
from markbook.errors import UsageError
from markbook.runs.api import exam
from markbook.runs.kind import Watcher

pytestmark = pytest.mark.usefixtures("kept_workers")

GOOD, BAD = "def f(x):\n    return x\n", "def f(x):\n    return -x\n"
LOADER = """\
from dataclasses import replace
from markbook.types import ProblemType, Sample, Test
class Quiz:
    keys = ("quiz_id", "ask", "check", "solve")
    repeats_are_samples = True
    def sniff(self, probe):
        return 60 if "quiz_id" in probe.record and probe.path.suffix == ".jsonl" else 0
    def to_sample(self, record, at):
        tests = (Test(assertion=record["check"]),)
        meta = {"topic": "quiz"}
        return Sample(
            record["quiz_id"], record["ask"], (record["solve"],), tests, record["name"], meta, at,
            problem_type=ProblemType.FUNCTION,
        )
class Broken:
    def __init__(self):
        raise RuntimeError("no luck")
class Crash(Quiz):
    def sniff(self, probe):
        return probe.record["no such key"]
class Certain(Quiz):
    def sniff(self, probe):
        return 1000
class Half:
    keys = ()
    def sniff(self, probe):
        return 100
class Twin(Quiz):
    def sniff(self, probe):
        return 60 if "twins" in probe.record else 0
class Old(Quiz):
    def sniff(self, probe):
        return 0
    def to_sample(self, record, at):
        return replace(super().to_sample(record, at), meta={"topic": "t", "object": "program", "prompt_code": "x"})
class Special(Quiz):
    def sniff(self, probe):
        return 95 if "quiz_id" in probe.record and "entry_point" in probe.record else 0
"""


@pytest.fixture
def plugin(tmp_path):
    """Return the environment of a command beside which a package with loaders is installed."""
    site = tmp_path / "site"
    info = site / "quiz-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "quiz_loader.py").write_text(LOADER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quiz\nVersion: 1.0\n")
    loaders = {
        "aa_broken": "Broken", "bb_crash": "Crash", "cc_certain": "Certain", "dd_half": "Half", "old": "Old",
        "quiz": "Quiz", "twin": "Twin", "zz_special": "Special",
    }  # fmt: skip
    points = "[markbook.loaders]\n" + "".join(f"{name} = quiz_loader:{made}\n" for name, made in loaders.items())
    (info / "entry_points.txt").write_text(points)
    return {**os.environ, "PYTHONPATH": str(site)}


def command(*args, env=None):
    line = [sys.executable, "-m", "markbook", *map(str, args)]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=env)


def test_a_plugins_benchmark_is_detected(tmp_path, plugin):
    record = {"quiz_id": "q1", "ask": "?", "check": "func(2) == 2", "solve": GOOD, "name": "f"}
    benchmark = write_rows(tmp_path / "quiz.jsonl", [record])
    solutions = write_rows(tmp_path / "s.jsonl", [answer("q1", GOOD)])
    args = ("--benchmark", benchmark, "--solutions", solutions, "--isolation", "weak", "--output", tmp_path / "out")

    done = command("exam", *args, "--json", env=plugin)
    other = command("exam", "--benchmark", write_rows(tmp_path / "o.jsonl", [{"x": 1}]), *args[2:], env=plugin)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["models"]["gpt"]["scores"]["total"] == 100
    manifest = json.loads((only_run(tmp_path / "out") / "run.json").read_text())
    assert manifest["config"]["benchmark_format"] == "quiz"
    assert "loader 'aa_broken' cannot be made: RuntimeError: no luck" in done.stderr
    assert "the loader 'bb_crash' cannot say whether this is its own: KeyError: 'no such key'" in done.stderr
    assert "the loader 'cc_certain' is 1000 sure of this, which is not a number from 0 to 100" in done.stderr
    assert "the loader 'dd_half' lacks repeats_are_samples, to_sample: it reads no benchmark" in done.stderr
    assert other.returncode == 2
    assert "not a problem of a known format (its keys: x)" in other.stderr


def test_the_surest_loader_reads_the_file_and_two_alike_are_refused(tmp_path, plugin):
    record = {"quiz_id": "q1", "ask": "?", "check": "func(2) == 2", "solve": GOOD, "name": "f"}
    of_two = write_rows(tmp_path / "two.jsonl", [{**record, "prompt": "", "entry_point": "f", "test": ""}])
    alike = write_rows(tmp_path / "alike.jsonl", [{**record, "twins": 1}])
    solutions = write_rows(tmp_path / "s.jsonl", [answer("q1", GOOD)])
    rest = ("--solutions", solutions, "--isolation", "weak", "--output", tmp_path / "out", "--json")

    surest = command("exam", "--benchmark", of_two, *rest, env=plugin)
    refused = command("exam", "--benchmark", alike, *rest, env=plugin)
    chosen = command("exam", "--benchmark", alike, "--format", "twin", *rest, env=plugin)

    assert surest.returncode == 0, surest.stderr  # humaneval is 70 sure of it, quiz 60, and the special one 95
    formats = [json.loads(file.read_text())["config"]["benchmark_format"] for file in runs_of(tmp_path / "out")]
    assert formats == ["zz_special", "twin"]
    assert (refused.returncode, chosen.returncode) == (2, 0)
    assert f"{alike}: the loaders 'quiz' and 'twin' claim this file alike" in refused.stderr
    assert "--format quiz" in refused.stderr


def test_a_loader_that_hides_what_has_a_field_in_meta_is_refused(tmp_path, plugin):
    record = {"quiz_id": "q1", "ask": "?", "check": "func(2) == 2", "solve": GOOD, "name": "f"}
    benchmark = write_rows(tmp_path / "quiz.jsonl", [record])

    done = command("exam", "--benchmark", benchmark, "--format", "old", "--solutions", benchmark, env=plugin)

    assert done.returncode == 2
    assert f"{benchmark}:1: the loader 'old' puts 'object', 'prompt_code' into a sample's meta" in done.stderr
    assert "Sample has fields for it: problem_type, and tests that are programs; prompt_code" in done.stderr


def runs_of(folder):
    return sorted(folder.glob("evaluation_*/run.json"), key=lambda file: file.stat().st_mtime_ns)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            {"task_id": "a", "tests": []},
            "a row of codeeval has task_id, name, problem, canonical_solution, tests, topic",
        ),
        ({"task_id": "a", "prompt": "", "tests": []}, "a row of"),
        ({"task_id": "a", "text": "", "code": ""}, "a row of mbpp has task_id, text, code, test_list"),
    ],
)
def test_a_file_of_no_format_is_told_which_keys_are_wanted(record, words, tmp_path):
    file = write_rows(tmp_path / "b.jsonl", [record])

    code, _, told = markbook("exam", "--benchmark", file, "--solutions", file)

    assert code == 2
    assert f"{file}:1: not a problem of a known format (its keys: " in told
    assert words in told


HELPED = "def helper(x):\n    return x\n\ndef solve(x):\n    return helper(x)\n"


@pytest.mark.parametrize(
    ("name", "canonical", "total"),
    [
        ("Sum of two numbers", "def solve(x):\n    return x\n", 100),
        ("", "def solve(x):\n    return x\n", 100),
        ("solve", HELPED, 100),
        ("solve", "import math\nsolve = lambda x: x\n", 100),
        ("no_such_name", HELPED, 0),
    ],
)
def test_a_title_in_a_rows_name_gives_way_to_the_only_definition(name, canonical, total, tmp_path):
    run = hold(tmp_path, [problem("p", name=name, canonical=canonical)], [answer("p", HELPED)])

    assert scores(run)["total"] == total


def test_check_benchmark_exits_one_if_an_item_does_not_hold(tmp_path):
    good, bad = problem("a", canonical=GOOD), problem("b", canonical=BAD)
    torn = problem("c", tests=[{"assertion": "func(1) == 1"}, {"assertion": "func(1) =="}])
    codes = {}
    for name, items in {"good": [good], "bad": [good, bad], "torn": [good, torn]}.items():
        file = write_rows(tmp_path / f"{name}.jsonl", items)
        codes[name] = markbook("exam", "--benchmark", file, "--check-benchmark", "--isolation", "weak")[0]

    assert codes == {"good": 0, "bad": 1, "torn": 1}


def test_run_json_names_the_benchmark_as_the_user_did(tmp_path):
    folder = tmp_path / "bench"
    for name in ("x", "y"):
        write_rows(folder / f"{name}.jsonl", [problem(f"{name}1")])

    run = exam(folder, write_rows(tmp_path / "s.jsonl", [answer("x1", GOOD)]), tmp_path / "out", isolation="weak")

    assert run.manifest["sources"]["benchmark"] == str(folder)
    assert run.manifest["sources"]["benchmark_files"] == [str(folder / "x.jsonl"), str(folder / "y.jsonl")]


def test_a_problem_whose_own_solution_fails_is_named(tmp_path):
    problems = [problem("right"), problem("wrong", canonical=BAD), problem("hard"), problem("shown", canonical=BAD)]
    said = [answer("right", GOOD), answer("wrong", BAD), answer("hard", BAD), answer("shown", GOOD)]
    files = write_rows(tmp_path / "b.jsonl", problems), write_rows(tmp_path / "s.jsonl", said)
    args = ("--benchmark", files[0], "--solutions", files[1], "--isolation", "weak", "--output", tmp_path / "out")

    code, _, told = markbook("exam", *args)

    assert code == 0
    named = [line for line in told.splitlines() if "own solution fails it too" in line]
    what = "warning: wrong: nobody solved it, and the benchmark's own solution fails it too (test 0: AssertionError)"
    assert named == [f"{what}; see --check-benchmark"]
    manifest = json.loads((only_run(tmp_path / "out") / "run.json").read_text())
    assert manifest["own_solution_fails"] == {"wrong": "test 0: AssertionError"}


class Stop(Watcher):
    """Interrupts an exam after some attempts."""

    def __init__(self, after):
        self.left = after

    def did(self, _step):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.fixture
def stopped(tmp_path):
    """Return an exam of six answers that was interrupted after three, and its arguments."""
    problems = [problem(f"p{n}") for n in range(6)]
    said = [answer(f"p{n}", f"{GOOD}# {n}\n") for n in range(6)]
    files = write_rows(tmp_path / "b.jsonl", problems), write_rows(tmp_path / "s.jsonl", said)
    with pytest.raises(KeyboardInterrupt):
        exam(*files, tmp_path / "out", isolation="weak", workers=1, timeout=7, seed=3, watcher=Stop(3))
    return only_run(tmp_path / "out"), files


def test_a_run_goes_on_with_what_its_folder_names(stopped):
    run, _ = stopped

    code, _, told = markbook("exam", "--resume", run, "--isolation", "weak")

    assert code == 0, told
    assert "6/6 marked, 6 passed" in told
    manifest = json.loads((run / "run.json").read_text())
    assert (manifest["status"], manifest["config"]["timeout"], manifest["config"]["seed"]) == ("done", 7, 3)
    assert markbook("exam", "--resume", run)[0] == 0


def test_what_the_user_gives_counts_when_a_run_goes_on(stopped):
    run, _ = stopped

    code, _, told = markbook("exam", "--resume", run, "--timeout", "8", "--isolation", "weak")

    assert code == 2
    assert "what differs: config.timeout" in told


@pytest.mark.parametrize(
    ("key", "value", "flag"), [("python", "/tmp/anything", "--python"), ("format", "evil:Loader", "--format")]
)
def test_what_a_run_folder_names_is_not_executed(key, value, flag, stopped):
    run, _ = stopped
    manifest = json.loads((run / "run.json").read_text())
    manifest["config"][key] = value
    (run / "run.json").write_text(json.dumps(manifest))

    code, _, told = markbook("exam", "--resume", run, "--isolation", "weak")

    assert code == 2
    assert f"started with {flag} {value!r}, which would be executed (give {flag} again if you trust it)" in told


def test_an_exam_without_anything_to_mark_says_what_is_missing(tmp_path):
    assert "Missing option '--benchmark'" in markbook("exam")[2]
    assert "Missing option '--solutions'" in markbook("exam", "--benchmark", tmp_path)[2]


def test_verbose_names_the_files_and_every_attempt_with_the_tests_that_it_passed(tmp_path):
    raises = "def f(x):\n    raise KeyError(x)\n"
    benchmark = write_rows(tmp_path / "b.jsonl", [problem(f"p{n}") for n in range(3)])
    solutions = write_rows(tmp_path / "s.jsonl", [answer("p0", GOOD), answer("p1", BAD), answer("p2", raises)])

    args = (
        "exam",
        "--benchmark",
        benchmark,
        "--solutions",
        solutions,
        "--output",
        tmp_path / "out",
        "--isolation",
        "weak",
    )
    told = {words: markbook(*args, *words)[2] for words in ((), ("--verbose",))}

    assert "p1" not in told[()]
    lines = told["--verbose",].splitlines()
    assert f"read {benchmark}" in lines
    assert f"read {solutions}" in lines
    (good,) = [line for line in lines if " p0 [0]: " in line]
    (bad,) = [line for line in lines if " p1 [0]: " in line]
    (raised,) = [line for line in lines if " p2 [0]: " in line]
    assert good.endswith("1 of 1 passed")
    assert bad.endswith("0 of 1 passed")
    assert "0 of 1 passed; KeyError" in raised


def test_an_interrupt_ends_with_the_line_that_goes_on(tmp_path):
    loop = "def f(x):\n    while True:\n        pass\n"
    problems = [problem(f"p{n}") for n in range(3)]
    files = (
        write_rows(tmp_path / "b.jsonl", problems),
        write_rows(tmp_path / "s.jsonl", [answer("p0", GOOD), answer("p1", loop), answer("p2", GOOD)]),
    )
    args = ("--benchmark", files[0], "--solutions", files[1], "--isolation", "weak", "--workers", "1", "--verbose")
    line = [sys.executable, "-m", "markbook", "exam", *map(str, args), "--output", str(tmp_path / "out")]
    with subprocess.Popen(
        line,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - a build server may have it ignored; no threads here
    ) as started:
        first = next(line for line in started.stderr if not line.startswith("read "))
        started.send_signal(signal.SIGINT)
        _, told = started.communicate(timeout=PATIENCE)

    assert "writing to" in first
    assert started.returncode == 130
    assert f"continue with: markbook exam --resume {only_run(tmp_path / 'out')}\n" in told
    assert told.endswith("markbook: interrupted\n")


def test_the_words_of_an_exam_say_what_they_mean(tmp_path):
    problems = [problem("a"), problem("b")]
    files = (
        write_rows(tmp_path / "b.jsonl", problems),
        write_rows(tmp_path / "s.jsonl", [answer("a", GOOD), answer("b", "f(")]),
    )
    args = ("--benchmark", files[0], "--solutions", files[1], "--isolation", "weak", "--output", tmp_path / "out")

    _, out, _ = markbook("exam", *args)
    page = (only_run(tmp_path / "out") / "report.html").read_text()

    assert "Errors by kind (a failed test is not an error)" in " ".join(out.split())
    assert "Score after an error" in page
    assert "Attempts with an error score" not in page
    assert "<title>Exam: b - Markbook</title>" in page


def test_a_test_that_hands_over_what_cannot_travel_is_run_beside_the_solution(tmp_path):
    tests = [{"assertion": "func(1) == 1 or func((lambda: 0).__code__) is None"}]

    run = hold(tmp_path, [problem("p", tests=tests)], [answer("p", BAD)])

    (detail,) = rows(run)[0]["test_details"]
    said = "bad operand type for unary -: 'code'"
    assert (detail["passed"], detail["verdict"]) == (False, "in_process")
    assert said in detail["error_message"]


def test_mistyped_words_are_answered_with_the_nearest(tmp_path):
    data = write_rows(tmp_path / "rows.jsonl", [{"a": 1}])
    single = tmp_path / "one.json"
    single.write_text('{"a": 1}')

    assert "there is no list of 'metric' (did you mean 'metrics'" in markbook("list", "metric")[2]
    assert "this holds data, and a task is a YAML file" in markbook("run", data, "--predictions", data)[2]
    told = markbook("exam", "--benchmark", single, "--solutions", single)[2]
    assert f"{single}: not an array of objects but an object" in told
    with pytest.raises(UsageError, match=r"exam\(\) has no option 'timout' \(did you mean 'timeout'"):
        api.exam(data, data, timout=3)
    with pytest.raises(UsageError, match=r"run_task\(\) has no option 'limt' \(did you mean 'limit'"):
        api.run_task(data, predictions=data, limt=3)


def test_a_mistyped_provider_is_answered_with_the_nearest(tmp_path):
    task = "name: t\ndata: {path: rows.jsonl}\nprompt: x\nreference: x\nmetrics: [exact_match]\n"
    write_rows(tmp_path / "rows.jsonl", [{"a": 1}])
    (tmp_path / "t.yaml").write_text(task)

    told = [markbook("run", tmp_path / "t.yaml", "--model", name)[2] for name in ("opnai:gpt-4o", "antropic:x")]

    assert "unknown provider 'opnai' (did you mean 'openai'" in told[0]
    assert "unknown provider 'antropic' (did you mean 'anthropic'" in told[1]


def test_a_weight_given_twice_names_both_spellings(tmp_path):
    told = [
        markbook("review", "--papers", tmp_path, "--reviews", tmp_path, "--config", write(tmp_path, names))[2]
        for names in (("planning_rationality", "planning_rational"), ("planning_rational", "planning_rationality"))
    ]

    assert all("is given twice, as 'planning_rational" in line for line in told)
    assert "as 'planning_rational' and as 'planning_rationality'" in told[1]


def write(folder, names):
    (folder / "c.json").write_text(json.dumps({"metrics_and_weights": dict.fromkeys(names, 1)}))
    return folder / "c.json"


@pytest.mark.parametrize(
    ("options", "adapts"),
    [((), True), (("--profile", "documented"), False), (("--fixed-timeout",), False), (("--adaptive-timeout",), True)],
)
def test_the_limit_of_a_problem_is_its_canonical_solutions_unless_one_for_all_is_asked_for(tmp_path, options, adapts):
    benchmark = write_rows(tmp_path / "benchmark.jsonl", [problem("t/1")])
    answers = write_rows(tmp_path / "answers.jsonl", [answer("t/1", "def f(x):\n    while True: pass\n")])
    given = ("--benchmark", benchmark, "--solutions", answers, "--output", tmp_path / "out", "--isolation", "weak")

    code, _, _ = markbook("exam", *given, "--timeout", "0.5", *options)

    assert code == 0
    run = only_run(tmp_path / "out")
    assert json.loads((run / "run.json").read_text())["config"]["adaptive"] is adapts
    [row] = [json.loads(line) for line in (run / "gpt" / "test_results.jsonl").read_text().splitlines()]
    assert row["tests_passed"] == 0


def test_more_memory_than_any_machine_has_is_refused():
    code, _, err = markbook("exam", "--memory-mb", "9000000000000")

    assert (code, "'--memory-mb'" in err) == (2, True)


def test_broken_tests_that_are_not_named_are_counted(tmp_path):
    broken = [{"assertion": f"{number} +"} for number in range(7)]
    benchmark = write_rows(tmp_path / "b.jsonl", [problem("p", tests=[{"assertion": "func(1) == 1"}, *broken])])
    answers = write_rows(tmp_path / "a.jsonl", [answer("p", GOOD)])
    args = ("exam", "--benchmark", benchmark, "--solutions", answers, "--isolation", "weak", "--output", tmp_path)

    told, named = markbook(*args)[2], markbook(*args, "--verbose")[2]

    assert told.count("broken test, excluded for all models: p, test ") == 5
    assert "and 2 more broken tests (--verbose names them)" in told
    assert named.count("broken test, excluded for all models: p, test ") == 7
    assert "more broken tests" not in named


def test_an_exam_in_python_loads_nothing_of_other_languages_and_of_stopping(tmp_path):
    write_rows(tmp_path / "bench.jsonl", [problem("a")])
    write_rows(tmp_path / "gpt.jsonl", [answer("a", GOOD)])
    code = (
        "import sys; from markbook.runs.api import exam; exam('bench.jsonl', ['gpt.jsonl'], output='out', seed=1);"
        "print([name for name in ('markbook.programs.streams', 'markbook.programs.marker', 'markbook.languages',"
        "'markbook.results.stopping', 'pickletools') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


def test_a_benchmark_that_extends_another_has_two_numbers(tmp_path):
    """EvalPlus' base and plus: what passes the original inputs alone counts for the first only."""
    bodies = ["x + 1", "x + 1 if x < 10 else 0", "0 if x == 2 else x + 1", "y"]
    rows = [
        {
            "task_id": f"HumanEval/{at}", "prompt": "def up(x):\n", "entry_point": "up", "canonical_solution": "    return x + 1\n",
            "base_input": [[1], [2]], "plus_input": [[10]], "atol": 0,
        }
        for at in range(4)
    ]  # fmt: skip
    answers = [
        {"task_id": f"HumanEval/{at}", "completion": f"    return {body}\n", "model": "m"}
        for at, body in enumerate(bodies)
    ]
    benchmark = write_rows(tmp_path / "plus.jsonl", rows)
    solutions = write_rows(tmp_path / "answers.jsonl", answers)

    code, out, _ = markbook("exam", "--benchmark", benchmark, "--solutions", solutions, "--output", tmp_path / "out")

    assert code == 0
    (folder,) = (tmp_path / "out").glob("evaluation_*")
    score = json.loads((folder / "m" / "test_results_score.json").read_text(encoding="utf-8"))
    assert (score["base_pass@1"], score["pass@1"]) == (50.0, 25.0)
    assert score["pass_at_k"]["base_pass@1"]["n"] == 4
    assert re.search(r"pass@1 +│ base_pass@1", out) or re.search(r"pass@1 +base_pass@1", out)
    page = re.sub(r"<[^>]*>", " ", (folder / "report.html").read_text(encoding="utf-8"))
    assert re.search(r"Base and plus tests.*base_pass@1\s+m\s+25\.0 \[.*?\]\s+50\.0 \[", page, re.DOTALL)
    assert "base_pass@1" in (folder / "m" / "evaluation_summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("reference", "code"), [(GOOD, 0), (BAD, 1)])
def test_the_hook_of_pre_commit_checks_its_benchmark_however_many_files_have_changed(
    tmp_path, monkeypatch, reference, code
):
    manifest = pytest.importorskip("pre_commit.clientlib").load_manifest(ROOT / ".pre-commit-hooks.yaml")
    from pre_commit.lang_base import hook_cmd

    write_rows(tmp_path / "benchmark.jsonl", [problem("t/1", canonical=reference)])
    write_rows(tmp_path / "answers.jsonl", [answer("t/1", GOOD)])
    monkeypatch.chdir(tmp_path)
    changed = ["answers.jsonl", "benchmark.jsonl"]

    (hook,) = manifest
    program, *words = hook_cmd(hook["entry"], ["benchmark.jsonl"])
    found, out, err = markbook(*words, *(changed if hook["pass_filenames"] else ()))

    assert (program, found) == ("markbook", code), out + err
    assert all(re.search(hook["files"], name) for name in changed)
