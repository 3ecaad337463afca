"""Typical mistakes of a first hour, each through the command: the message says what, where and what to do, and nothing breaks."""

import shlex
from pathlib import Path

import pytest
from support import review_kit
from support.exam_kit import answer, hold, problem, write_rows
from support.review_kit import markbook

TASK = (
    "name: demo\ndata: {path: rows.jsonl}\nprompt: 'Say {{ word }}.'\nreference: '{{ word }}'\nmetrics: [exact_match]\n"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with one of everything, right and wrong."""
    folder = tmp_path_factory.mktemp("first-hour")
    write_rows(folder / "bench.jsonl", [problem("a"), problem("b")])
    write_rows(
        folder / "answers.jsonl", [answer("a", "def f(x):\n    return x"), answer("b", "def f(x):\n    return 2")]
    )
    write_rows(folder / "others.jsonl", [answer("z9", "x")])
    write_rows(folder / "nokeys.jsonl", [{"task_id": "a", "anwser": "x"}])
    write_rows(folder / "twice.jsonl", [answer("a", "x = 1"), answer("a", "x = 2")])
    write_rows(folder / "dupes.jsonl", [problem("a"), problem("a")])
    write_rows(folder / "badlevel.jsonl", [problem("a", level=7)])
    write_rows(folder / "rows.jsonl", [{"word": "yes"}, {"word": "no"}])
    write_rows(folder / "said.jsonl", [{"doc_id": 0, "prediction": "yes"}, {"doc_id": 1, "prediction": "yes"}])
    write_rows(folder / "pairs.jsonl", [{"candidate": "a", "reference": "a"}])
    (folder / "task.yaml").write_text(TASK)
    (folder / "unknown_key.yaml").write_text(TASK + "metrcs: [bleu]\n")
    (folder / "unknown_metric.yaml").write_text(TASK.replace("exact_match", "exact_mach"))
    (folder / "unknown_field.yaml").write_text(TASK.replace("{{ word }}.", "{{ wrod }}."))
    (folder / "nodata.yaml").write_text(TASK.replace("rows.jsonl", "rwos.jsonl"))
    (folder / "tabs.yaml").write_text("name: demo\n\tdata: x\n")
    (folder / "hub.yaml").write_text(
        "task: t\ndataset_path: gsm8k\ntest_split: test\noutput_type: generate_until\ndoc_to_text: '{{q}}'\ndoc_to_target: '{{a}}'\n"
    )
    (folder / "empty.jsonl").write_text("")
    (folder / "broken.jsonl").write_text('{"task_id": "a", \n')
    (folder / "array.jsonl").write_text('[{"task_id": "a"}]')
    (folder / "latin.jsonl").write_bytes(b'{"task_id": "\xe4"}\n')
    (folder / "archive.bin").write_bytes(bytes(range(256)))
    (folder / "config.json").write_text('{"metrics_and_weights": {"planing": 1}}')
    (folder / "empty").mkdir()
    (folder / "file").write_text("x")
    review_kit.papers(folder)
    review_kit.reviews(folder)
    run = hold(folder, [problem("a"), problem("b")], [answer("a", "def f(x):\n    return x"), answer("b", "x")])
    run.folder.rename(folder / "done")
    broken = folder / "evaluation_5"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    return folder


MISTAKES = [
    # exam
    ("exm --benchmark bench.jsonl", 2, "No such command 'exm'", "did you mean 'exam'"),
    ("exam --benchmrk bench.jsonl", 2, "No such option", "--benchmark"),
    ("exam --solutions answers.jsonl", 2, "Missing option '--benchmark'"),
    ("exam --benchmark bench.jsonl", 2, "Missing option '--solutions'", "--model"),
    ("exam --benchmark bnech.jsonl --solutions answers.jsonl", 2, "bnech.jsonl", "does not exist", "bench.jsonl"),
    (
        "exam --benchmark humaneval --solutions answers.jsonl",
        2,
        "does not exist",
        "`markbook get humaneval` downloads it",
    ),
    ("run hellaswag --model echo:x", 2, "unknown task 'hellaswag'", "lm_eval/tasks/hellaswag/hellaswag.yaml"),
    ("exam --benchmark bench.jsonl --solutions anwsers.jsonl", 2, "anwsers.jsonl", "not exist", "answers.jsonl"),
    ("exam --benchmark answers.jsonl --solutions bench.jsonl", 2, "answers.jsonl", "its keys: candidate_solution"),
    ("exam --benchmark empty --solutions answers.jsonl", 2, "empty", "holds no .jsonl file"),
    ("exam --benchmark empty.jsonl --solutions answers.jsonl", 2, "empty.jsonl", "No valid benchmark problems"),
    ("exam --benchmark broken.jsonl --solutions answers.jsonl", 2, "broken.jsonl:1"),
    ("exam --benchmark array.jsonl --solutions answers.jsonl", 2, "array.jsonl", "one JSON array", ".json"),
    ("exam --benchmark latin.jsonl --solutions answers.jsonl", 2, "latin.jsonl:1", "UTF-8"),
    ("exam --benchmark archive.bin --solutions answers.jsonl", 2, "archive.bin"),
    ("exam --benchmark dupes.jsonl --solutions answers.jsonl", 2, "'a' stands twice", "dupes.jsonl:2", "dupes.jsonl:1"),
    ("exam --benchmark badlevel.jsonl --solutions answers.jsonl", 2, "unknown complexity 7: one of 1, 2, 3"),
    ("exam --benchmark bench.jsonl --solutions others.jsonl", 2, "none of 1 answers match", "others.jsonl:1", "'z9'"),
    ("exam --benchmark bench.jsonl --solutions nokeys.jsonl", 2, "nokeys.jsonl:1", "candidate_solution", "completion"),
    ("exam --benchmark bench.jsonl --solutions twice.jsonl", 2, "answers 'a' twice", '"sample"'),
    ("exam --benchmark bench.jsonl --solutions answers.jsonl --format humanevel", 2, "humaneval"),
    ("exam --benchmark bench.jsonl --solutions answers.jsonl --output file/x", 73, "cannot be written", "--output"),
    ("exam --benchmark bench.jsonl --solutions answers.jsonl --fail-under gtp=0.5", 2, "gtp", "did you mean 'gpt'"),
    ("exam --benchmark bench.jsonl --solutions answers.jsonl --fail-under gpt", 2, "gpt", "NAME=X"),
    ("exam --benchmark bench.jsonl --solutions answers.jsonl --fail-under gpt=80", 2, "80%"),
    ("exam --benchmark bench.jsonl --solutions answers.jsonl --timeout 0", 2, "--timeout", "0.1"),
    (
        "exam --benchmark bench.jsonl --solutions answers.jsonl --isolation strickt",
        2,
        "'strickt' is not one of",
        "strict",
    ),
    ("exam --benchmark bench.jsonl --solutions answers.jsonl --engine raay", 2, "raay", "did you mean 'ray'"),
    ("exam --benchmark bench.jsonl --solutions answers.jsonl --python /no/python", 2, "/no/python"),
    ("exam --benchmark bench.jsonl --model gpt-4o", 2, "'gpt-4o' names no model", "PROVIDER:NAME"),
    ("exam --resume nowhere", 2, "nowhere"),
    ("exam --resume done --timeout 9", 2, "what differs: config.timeout"),
    # run
    ("run", 2, "Missing argument 'TASK...'"),
    ("run task.yml --predictions said.jsonl", 2, "task.yml", "did you mean 'task.yaml'"),
    ("run task.yaml", 2, "--predictions", "--model"),
    ("run task.yaml --predictions sad.jsonl", 2, "sad.jsonl", "said.jsonl"),
    ("run unknown_key.yaml --predictions said.jsonl", 2, "unknown_key.yaml:6:1", "unknown key 'metrcs'", "metrics"),
    ("run unknown_metric.yaml --predictions said.jsonl", 2, "unknown_metric.yaml:5", "did you mean 'exact_match'"),
    ("run unknown_field.yaml --predictions said.jsonl", 2, "rows.jsonl:1", "wrod", "word"),
    ("run nodata.yaml --predictions said.jsonl", 2, "nodata.yaml:2", "rwos.jsonl", "rows.jsonl"),
    ("run tabs.yaml --predictions said.jsonl", 2, "tabs.yaml:2"),
    ("run hub.yaml --predictions said.jsonl", 2, "hub.yaml", "gsm8k", "--allow-download"),
    ("run rows.jsonl --predictions said.jsonl", 2, "a task is a YAML file"),
    ("run task.yaml --model opnai:gpt-4o", 2, "opnai", "did you mean 'openai'"),
    ("run task.yaml --model openai:m --base-url 127.0.0.1:8000", 2, "not an address of a server", "http://"),
    ("run task.yaml --model openai:m --base-url http://127.0.0.1:9/v1", 3, "127.0.0.1:9"),
    *(
        (f"{command} --base-url {address}", 2, f"'{address}' is not an address of a server")
        for command in (
            "run task.yaml --model openai:m",
            "run task.yaml --model mistral:m",
            "score judge pairs.jsonl --rubric helpfulness --judge openai:m",
            "review --papers papers --reviews {reviews} --judge openai:m",
        )
        for address in ("http://[::1/v1", "http://.local/v1", "http://localhost:99999/v1", "http://localhost:x/v1")
    ),
    ("run python_code_repare --predictions said.jsonl", 2, "did you mean 'python_code_repair'"),
    ("run task.yaml --predictions said.jsonl --fail-under exact_mach=1", 2, "did you mean 'exact_match'"),
    ("run --resume done", 2, "made by `markbook exam`", "markbook exam --resume"),
    # review
    ("review --reviews reviews.jsonl", 2, "--papers"),
    ("review --papers paper --reviews reviews.jsonl", 2, "paper"),
    ("review --papers papers --reviews reviews.json", 2, "reviews.json"),
    ("review --papers papers --reviews {reviews} --config config.json", 2, "'planing'", "planning_rationality"),
    ("review --papers papers --reviews {reviews} --policy bound", 2, "'bound'", "did you mean 'bounds'"),
    ("review --papers papers --reviews {reviews} --similarity cosin", 2, "'cosin'", "did you mean 'cosine'"),
    ("review --papers papers --reviews {reviews} --judge gpt-4o", 2, "'gpt-4o' names no model"),
    # score
    ("score exact_mach pairs.jsonl", 2, "did you mean 'exact_match'"),
    ("score exact_match pears.jsonl", 2, "pears.jsonl", "pairs.jsonl"),
    ("score exact_match said.jsonl", 2, "no key 'candidate'", "--map"),
    ("score bleu pairs.jsonl --option tokenise=intl", 2, "tokenise", "tokenize"),
    # reading runs
    ("report dnoe", 2, "dnoe"),
    ("report done --format htlm", 2, "did you mean 'html'"),
    ("report evaluation_5", 2, "run.json is damaged"),
    ("compare done", 2, "only the model 'gpt'", "name a second run"),
    ("compare done done --metric exam_scor", 2, "exam_scor", "exam_score"),
    ("compare empty", 2, "empty"),
    ("show done zz", 2, "zz"),
    ("show done a --model gtp", 2, "did you mean 'gpt'"),
    ("view file", 2, "file"),
    ("trace nothing.json", 2, "nothing.json"),
    ("trace rows.jsonl", 2, "rows.jsonl"),
    ("noise done", 2, "no sample was run twice", "name two runs"),
    ("noise done ./done", 2, "the same run is named twice", "done"),
    ("import file -o x", 2, "file"),
    ("list metric", 2, "did you mean 'metrics'"),
    ("init exm", 2, "exm", "exam"),
    ("init exam empty/../done", 2, "not empty"),
    ("schema tasks", 2, "did you mean 'task'"),
    ("get humanevel", 2, "did you mean 'humaneval'"),
    ("site done -o file", 73, "file", "name a new or empty folder"),
    ("label done --rater ''", 2, "rater"),
    ("judge check --judge gpt-4o --papers papers", 2, "'gpt-4o' names no model"),
    ("serve --port 99999", 2, "--port"),
]


@pytest.mark.parametrize(("line", "code", "says"), [(line, code, says) for line, code, *says in MISTAKES])
def test_a_mistake_is_answered_with_what_where_and_what_to_do(place, monkeypatch, line, code, says):
    monkeypatch.chdir(place)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = sorted(Path().rglob("*"))

    found, out, err = markbook(*shlex.split(line.format(reviews="reviews.jsonl")))

    assert found == code, err
    assert "Traceback" not in out + err
    for word in says:
        assert word in err, err
    assert len(err.splitlines()) <= 6, err
    assert sorted(Path().rglob("*")) == before, "nothing is left behind"


LONG = "a" * 300
"""No file system of ours takes a name of so many bytes."""


@pytest.mark.parametrize(
    "line",
    [
        "init exam {0}",
        "report {0}",
        "compare {0}",
        "noise {0}",
        "show {0} x",
        "view {0}",
        "label {0} --rater ann",
        "import {0} -o out",
        "site {0} -o out",
        "site done -o {0}",
        "run task.yaml --predictions {0}",
        "run task.yaml --predictions said.jsonl --output {0}",
        "run --resume {0}",
        "run task.yaml --predictions said.jsonl --fail-if-worse {0}",
        "run {0}/task.yaml --predictions said.jsonl",
        "exam --benchmark {0} --solutions answers.jsonl",
        "exam --benchmark bench.jsonl --solutions {0}",
        "review --papers {0} --reviews reviews.jsonl",
        "review --papers papers --reviews {0}",
        "review --rescore {0}",
        "score exact_match {0}",
        "judge correct --judged {0} --labels pairs.jsonl",
        "judge check --judge openai:m --rows {0} --rubric helpfulness --base-url http://127.0.0.1:9/v1",
        "trace {0}",
        "trace rows.jsonl --html {0}",
        "get humaneval -o {0}",
        "serve --token-file {0}",
    ],
)
def test_a_path_that_no_file_can_have_is_a_sentence(place, monkeypatch, line):
    monkeypatch.chdir(place)
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    code, out, err = markbook(*shlex.split(line.format(LONG)))

    assert code in (2, 73), err
    assert "Traceback" not in out + err
    assert "aaaaaaaa" in err or "rows.jsonl" in err, err
    assert len(err.splitlines()) <= 6, err


def test_files_without_their_options_are_told_how_to_name_them(tmp_path):
    code, _, err = markbook("exam", "benchmark.jsonl", "answers.jsonl")

    assert code == 2
    assert err.endswith("Files are named by options: --benchmark FILE --solutions FILE\n")


def test_answers_in_the_place_of_a_benchmark_are_told_apart(tmp_path):
    answers = write_rows(tmp_path / "answers.jsonl", [{"task_id": "a", "completion": "    return 1"}])

    code, _, err = markbook("exam", "--benchmark", answers, "--solutions", answers)

    assert code == 2
    assert "it looks like an answer: --solutions takes those" in err


def test_a_misspelt_key_of_a_row_to_score_is_named(tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", [{"candidat": "a", "reference": "a"}])

    code, _, err = markbook("score", "exact_match", rows)

    assert code == 2
    assert "no key 'candidate' (is 'candidat' meant?): row skipped" in err


def test_the_latest_run_to_resume_lies_where_the_output_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    benchmark = write_rows(tmp_path / "benchmark.jsonl", [problem("a")])
    answers = write_rows(tmp_path / "answers.jsonl", [answer("a", "def f(x):\n    return x\n")])
    named = ("--benchmark", benchmark, "--solutions", answers, "--isolation", "weak", "--output", "mine")
    assert markbook("exam", *named)[0] == 0

    code, _, err = markbook("exam", "--resume", "latest", "--output", "mine", "--isolation", "weak")

    assert code == 0, err
    assert len(list((tmp_path / "mine").glob("evaluation_*"))) == 1
    code, _, err = markbook("exam", "--resume", "latest")
    assert code == 2
    assert "there is no run in generated" in err


def test_the_name_of_a_file_in_a_wrong_place_rings_no_bell(tmp_path):
    code, _, err = markbook("exam", "a\x07\x1b]0;owned.jsonl")

    assert code == 2
    assert r"Got unexpected extra argument (a\x07\x1b]0;owned.jsonl)" in err
