"""`markbook exam --model`: a server is asked the benchmark's questions, and its replies are marked like any answers."""

import csv
import io
import json
import re

import pytest
from support.exam_kit import problem, write_rows
from support.fake_openai import FAULTS, FakeOpenAI, Reply, text
from support.load import PATIENCE
from support.review_kit import markbook, only_run

import markbook as api
from markbook.report.browser import RunSite
from markbook.store import open_run

HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'def add(a, b):\n    """Add."""\n',
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "test": "def check(f):\n    assert f(1, 2) == 3\n",
}
MBPP = {
    "task_id": 7,
    "text": "Write a function to double.",
    "code": "def twice(x):\n    return 2 * x",
    "test_list": ["assert twice(2) == 4"],
}
PROGRAM = {
    "task_id": "s1",
    "problem": "Print the sum of two numbers.",
    "canonical_solution": "print(sum(map(int, input().split())))",
    "tests": [{"stdin": "1 2\n", "stdout": "3\n"}],
}


def question_of(request):
    return request["messages"][-1]["content"]


def asked(tmp_path, problems, script, *more, model="openai:m"):
    """Hold an exam of a server; return exit code, what was said, the run and what the server was sent."""
    bench = write_rows(tmp_path / "bench.jsonl", problems)
    args = ["--benchmark", bench, "--model", model, "--isolation", "weak", "--workers", 1, "--concurrency", 1]
    with FakeOpenAI(script) as server:
        said = markbook("exam", *args, "--base-url", server.base_url, "--output", tmp_path / "out", *more)
        return said, open_run(only_run(tmp_path / "out")), server.requests


def fenced(code):
    return text(f"Sure!\n\n```python\n{code}\n```\nHope it helps.")


def test_a_model_is_asked_and_marked_and_its_answers_can_be_marked_again_without_it(tmp_path):
    problems = [
        problem("a", name="f"),
        problem("b", name="g", canonical="def g(x): return x", tests=[{"assertion": "func(2) == 2"}]),
    ]

    def script(request, _n):
        return fenced("def f(x):\n    return x") if "Write f." in question_of(request) else text("def g(x): return 7")

    (code, out, err), run, requests = asked(tmp_path, problems, script)

    assert code == 0, err
    assert run.score("openai:m").value == 0.5
    assert [question_of(each) for each in requests] == [
        f"Write {name}.\n\nWrite it in Python. Reply with the code in one fenced code block." for name in ("f", "g")
    ]
    assert run.manifest["usage"]["replies"] == 2
    took = "2 replies, 2 requests, tokens 200 in, 40 out, cost unknown"
    assert f"Model: {took}" in out
    assert f"<dt>Model</dt><dd>{took}</dd>" in (run.folder / "report.html").read_text(encoding="utf-8")
    site = RunSite(run.folder.parent)
    (number,) = re.findall(r'href="/run/(\d+)"', site.page("/", {}))
    assert f"<dt>Model</dt><dd>{took}</dd>" in site.page(f"/run/{number}", {})
    rows = list(csv.DictReader(io.StringIO("".join(site.copy(f"{number}.csv", {})))))
    assert [(row["tokens in"], row["tokens out"], row["cost"]) for row in rows] == [("100", "20", "")] * 2
    assert all(0 < float(row["latency"]) < PATIENCE for row in rows)
    (attempt, *_) = re.findall(rf'href="(/attempt/{number}/\d+)', site.page(f"/run/{number}", {}))
    page = site.page(attempt, {})
    assert "<dt>Tokens</dt><dd>100 in, 20 out</dd>" in page
    assert re.search(r"<dt>Latency</dt><dd>\d+\.\d\d s</dd>", page)

    again = markbook("exam", "--benchmark", tmp_path / "bench.jsonl", "--solutions", run.folder / "answers.jsonl",
                     "--isolation", "weak", "--output", tmp_path / "again", "--json")  # fmt: skip
    assert again[0] == 0
    compared = markbook("compare", run.folder, only_run(tmp_path / "again"), "--html", tmp_path / "compared.html")
    assert compared[0] == 0, compared
    assert f"\n{run.folder.name}: model: {took}\n" in compared[1]
    assert f"<dt>{run.folder.name}: model</dt><dd>{took}</dd>" in (tmp_path / "compared.html").read_text()
    assert json.loads(again[1])["models"]["openai:m"]["scores"]["total"] == 50.0


FENCED = "Reply with the code in one fenced code block."
WHOLE = "Complete this Python code. Reply with the whole code, imports included, in one fenced code block."
READS = "Write a whole Python program that reads from standard input and writes to standard output."
UNNAMED = problem("n", name="twice", canonical="def twice(x):\n    return x\n") | {"problem": "Do it, but not twiced."}
ASSERT = "Your code should pass these tests:\n\nassert twice(2) == 4"


@pytest.mark.parametrize(
    ("row", "asks"),
    [
        (HUMANEVAL, f"{WHOLE}\n\n```python\n" + 'def add(a, b):\n    """Add."""\n```'),
        (MBPP, f"Write a function to double.\n\n{ASSERT}\n\nWrite it in Python. {FENCED}"),
        (UNNAMED, f"Do it, but not twiced.\n\nThe function is called `twice`.\n\nWrite it in Python. {FENCED}"),
        (PROGRAM, f"Print the sum of two numbers.\n\n{READS} Reply with the program in one fenced code block."),
        (problem("t", kind="text", tests=[{"assertion": "'x' in text"}]), "Write f."),
    ],
)
def test_each_kind_of_problem_is_asked_in_words_of_its_own(tmp_path, row, asks):
    right = {"HumanEval/0": "def add(a, b):\n    return a + b", "n": "def twice(x):\n    return x", 7: MBPP["code"]}
    right["s1"] = PROGRAM["canonical_solution"]

    (code, _, err), run, requests = asked(tmp_path, [row], [fenced(right.get(row["task_id"], "x"))])

    assert code == 0, err
    assert question_of(requests[0]) == asks
    assert run.score("openai:m").value == 1.0


def test_a_model_that_continues_texts_is_given_the_prompt_alone(tmp_path):
    def script(request, _n):
        choice = {"index": 0, "finish_reason": "stop", "text": "    return a + b\n\ndef other():\n    pass"}
        return Reply(json.dumps({"object": "text_completion", "choices": [choice]}).encode())

    (code, _, err), run, requests = asked(tmp_path, [HUMANEVAL], script, model="completions:m")

    assert code == 0, err
    assert requests[0]["prompt"] == HUMANEVAL["prompt"]
    assert "\ndef " in requests[0]["stop"]
    assert run.score("completions:m").value == 1.0
    row = json.loads((run.folder / "answers.jsonl").read_text())
    assert row == {"task_id": "HumanEval/0", "model": "completions:m", "sample": 0, "completion": "    return a + b\n"}


def test_several_answers_give_pass_at_k(tmp_path):
    def script(_request, number):
        return fenced("def f(x):\n    return x" if number % 5 == 0 else f"def f(x):\n    return x + {number}")

    (code, _, err), run, requests = asked(
        tmp_path, [problem("a"), problem("b")], script, "-n", 5, "--gen-kwargs", "temperature=0.8,seed=5"
    )

    assert code == 0, err
    assert [(each["temperature"], each["seed"]) for each in requests[:5]] == [(0.8, 5 + n) for n in range(5)]
    scores = json.loads(run.read("openai-m-7d95e2f2efef/test_results_score.json"))
    assert (scores["pass@1"], scores["pass@5"]) == (20.0, 100.0)


def test_questions_without_an_answer_are_no_zeros_and_resume_alone_asks_them(tmp_path):
    down = [True]

    def script(request, number):
        return FAULTS["500"](request, number) if down[0] and number == 1 else fenced("def f(x):\n    return x")

    bench = write_rows(tmp_path / "bench.jsonl", [problem("a"), problem("b")])
    args = ["--benchmark", bench, "--model", "openai:m", "--isolation", "weak", "--concurrency", 1, "--retries", 0]
    with FakeOpenAI(script) as server:
        code, out, err = markbook("exam", *args, "--base-url", server.base_url, "--output", tmp_path / "out")
        folder = only_run(tmp_path / "out")

        assert code == 3
        assert "scored 1 of 2 attempts" in out
        assert "openai:m: 100.0" in out
        assert f"`markbook exam --resume {folder}` asks for what is lacking" in err
        assert not (
            folder / "openai-m-7d95e2f2efef" / "test_results_score.json"
        ).exists()  # documented files are of whole runs
        down[0] = False
        code, _, err = markbook("exam", "--resume", folder)

    assert code == 0, err
    assert server.calls == 3  # two, and the one that failed again
    assert open_run(folder).score("openai:m").value == 1.0


def test_a_model_that_answers_nothing_is_said_so_with_the_way_on(tmp_path):
    (code, _, err), run, _ = asked(tmp_path, [problem("a")], [Reply(b'{"error": {"message": "no such key"}}', 401)])

    assert code == 3
    assert "openai:m answered none of 1 questions" in err
    assert "no such key" in err
    assert f"markbook exam --resume {run.folder}" in err


def test_a_budget_ends_the_asking(tmp_path):
    more = ("--price", "100/100", "--max-cost", "0.03", "--gen-kwargs", "max_tokens=20", "--json")

    (code, out, _), _, requests = asked(
        tmp_path, [problem(f"p{i}") for i in range(6)], [fenced("def f(x):\n    return x")], *more
    )

    assert code == 3
    assert 0 < len(requests) < 6
    told = json.loads(out)
    assert (told["status"], told["usage"]["replies"]) == ("incomplete", len(requests))
    assert told["unanswered"] == {"the budget of $0.03 would be exceeded": 6 - len(requests)}


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        ((), 2, "Missing option '--solutions' (existing solutions) or '--model' (a model to query)."),
        (("--model", "m"), 2, "'m' names no model"),
        (("--model", "openai:m", "--solutions", "x.jsonl"), 2, "one of --solutions and --model"),
        (("--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1"), 3, "no server answers at http://127.0.0.1:9"),
        (("--model", "openai:m", "--gen-kwargs", "temprature=1"), 2, "did you mean 'temperature'"),
        (("--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "1"), 2, "state it with --price"),
        (
            ("--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--stop-when", "precise:0.1"),
            2,
            "--stop-when needs answers",
        ),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_is_written(tmp_path, args, status, says):
    bench = write_rows(tmp_path / "bench.jsonl", [problem("a")])

    code, _, err = markbook("exam", "--benchmark", bench, *args, "--isolation", "weak", "--output", tmp_path / "out")

    assert code == status
    assert says in err
    assert not (tmp_path / "out").exists()


def test_python_asks_too(tmp_path):
    bench = write_rows(tmp_path / "bench.jsonl", [problem("a")])
    with FakeOpenAI([fenced("def f(x):\n    return x")]) as server:
        run = api.exam(bench, output=tmp_path / "out", model="openai:m", base_url=server.base_url, isolation="weak")

    assert run.scores["openai:m"].value == 1.0
