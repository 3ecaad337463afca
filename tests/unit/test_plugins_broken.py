"""Parts of other packages, through the commands: a broken one breaks nothing but itself, and lists say that it is broken."""

import json
import os
import subprocess
import sys

import pytest
from support.exam_kit import problem, write_rows

PARTS = """
from pathlib import Path

from markbook.model import ModelReply
from markbook.types import Missing, MissingKind

class Crash:
    name = "crash"
    def sniff(self, probe):
        raise KeyError("no such key")
    def read(self, probe):
        raise AssertionError

class Greedy(Crash):
    def sniff(self, probe):
        return 100 if "greedy" in str(getattr(probe, "head", "")) else 0
    def read(self, source):
        raise ZeroDivisionError("by zero")
        yield

def report():
    return lambda results: 1 / 0

def outside():
    return lambda results: {"../evil.txt": "x"}

def words():
    return lambda results: "words"

def unpaired():
    from markbook.metrics import PairMetric
    return PairMetric("unpaired", "unpaired|v1", only_a_word, needs_reference=False)

def only_a_word(candidate, references):
    return "good"

def folder():
    return Path(__file__).parent / "more"

def text():
    return "more"

class Echo:
    def __init__(self, model, concurrency=1):
        self.model = model
    def generate(self, requests, on_reply):
        for request in requests[:-1]:
            on_reply(ModelReply(request.key, text=f"{self.model}: {request.prompt}"))
            on_reply(ModelReply(request.key, text="again"))
        on_reply(ModelReply(("t", "99", 0), text="nobody asked"))

class Raises:
    def generate(self, requests, on_reply):
        raise ConnectionError("its own server is down")
"""
POINTS = """
[markbook.traces]
aa_broken = parts:NoSuchThing
bb_crash = parts:Crash
cc_greedy = parts:Greedy
[markbook.foreign]
aa_broken = parts:NoSuchThing
bb_crash = parts:Crash
[markbook.reports]
sums = parts:report
outside = parts:outside
words = parts:words
[markbook.metrics]
unpaired = parts:unpaired
[markbook.tasks]
gone = no_such_module:folder
more = parts:folder
text = parts:text
[markbook.generators]
echo = parts:Echo
raises = parts:Raises
"""
TASK = """
task: echoes
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
metric_list: [{metric: exact_match}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    info = site / "parts-1.0.dist-info"
    info.mkdir()
    (site / "parts.py").write_text(PARTS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    (site / "more" / "inner").mkdir(parents=True)
    (site / "more" / "inner" / "echoes.yaml").write_text(TASK)
    rows = [{"q": f"q{n}", "a": f"someone: q{n}"} for n in range(3)]
    (site / "more" / "inner" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return site


@pytest.fixture
def markbook(site, tmp_path):
    def call(*args):
        line = [sys.executable, "-m", "markbook", *map(str, args)]
        env = {**os.environ, "PYTHONPATH": str(site)}
        return subprocess.run(line, capture_output=True, text=True, check=False, env=env, cwd=tmp_path)

    return call


def test_lists_say_what_is_broken(markbook):
    traces = {row["name"]: row["problem"] for row in json.loads(markbook("list", "traces", "--json").stdout)}
    tasks = {row["name"]: row["problem"] for row in json.loads(markbook("list", "tasks", "--json").stdout)}

    assert "trace 'aa_broken' (parts:NoSuchThing) cannot be loaded: AttributeError" in traces["aa_broken"]
    assert (traces["bb_crash"], traces["otlp"]) == ("", "")
    assert "No module named 'no_such_module'" in tasks["gone"]
    assert "makes no task but 'str'" in tasks["text"]
    assert (tasks["echoes"], tasks["python_code_repair"]) == ("", "")
    assert "echo" in markbook("list", "generators").stdout


def test_a_broken_reader_of_traces_or_results_leaves_the_others_working(markbook, tmp_path):
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    (tmp_path / "trace.json").write_text(json.dumps({"messages": messages}))
    (tmp_path / "marks.csv").write_text("item,model,score\na,m,1\nb,m,0\na,n,1\nb,n,1\n")

    trace = markbook("trace", "trace.json", "--json")
    marks = markbook("compare", "marks.csv", "--json")

    assert trace.returncode == 0, trace.stderr
    assert json.loads(trace.stdout)["messages"] == 2
    assert "'aa_broken' (parts:NoSuchThing) cannot be loaded" in trace.stderr
    assert "the trace reader 'bb_crash' cannot say whether this is its own: KeyError" in trace.stderr
    assert marks.returncode == 0, marks.stderr
    assert json.loads(marks.stdout)["pairs"][0]["n"] == 2


def test_a_reader_that_breaks_while_it_reads_is_named(markbook, tmp_path):
    (tmp_path / "greedy.json").write_text('{"greedy": []}')

    done = markbook("trace", "greedy.json")

    assert done.returncode == 3
    assert "trace reader 'cc_greedy' failed: ZeroDivisionError: by zero" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_of_tasks_and_a_generator_of_another_package_run_by_name(markbook, tmp_path):
    done = markbook("run", "echoes", "--generator", "echo", "--model", "someone", "--json")

    assert done.returncode == 3, done.stderr  # one of three rows got no reply
    found = json.loads((next((tmp_path / "generated").iterdir()) / "summary.json").read_text())
    metric = found["tasks"]["echoes"]["metrics"]["exact_match"]
    assert (metric["value"], metric["n"], metric["n_missing"]) == (1.0, 2, {"unavailable": 1})
    assert found["model"] == "someone"
    assert "no_such_module" in done.stderr


def test_a_run_of_a_generator_goes_on_with_it(markbook, tmp_path):
    markbook("run", "echoes", "--generator", "echo", "--model", "someone")
    folder = next((tmp_path / "generated").iterdir())

    again = markbook("run", "--resume", folder)
    other = markbook("run", "echoes", "--model", "someone", "--generator", "raises", "--resume", folder)

    assert again.returncode == 3, again.stderr  # it asked for the third row alone, and "the last" gets no reply
    assert json.loads((folder / "summary.json").read_text())["tasks"]["echoes"]["metrics"]["exact_match"]["n"] == 2
    assert other.returncode == 2


def test_an_exam_asks_a_generator_and_goes_on_with_it(markbook, tmp_path):
    write_rows(tmp_path / "benchmark.jsonl", [problem("a"), problem("b")])

    done = markbook("exam", "--benchmark", "benchmark.jsonl", "--generator", "echo")
    assert done.returncode == 3, done.stderr  # "the last" gets no reply
    folder = next((tmp_path / "generated").iterdir())
    again = markbook("exam", "--resume", folder)
    other = markbook("exam", "--benchmark", "benchmark.jsonl", "--generator", "raises", "--resume", folder)

    config = json.loads((folder / "run.json").read_text())["config"]
    assert (config["generator"], config["models"]) == ("echo", ["echo"])
    assert (again.returncode, other.returncode) == (3, 2)
    assert len((folder / "answers.jsonl").read_text().splitlines()) == 2


def test_a_generator_or_report_that_raises_is_a_message(markbook, site, tmp_path):
    asked = markbook("run", "echoes", "--generator", "raises")
    (tmp_path / "answers.jsonl").write_text('{"doc_id": 0, "prediction": "x"}\n')
    told = markbook("run", "echoes", "--predictions", "answers.jsonl", "--output", "out")
    made = markbook("report", next((tmp_path / "out").iterdir()), "--format", "sums")

    assert asked.returncode == 3
    assert "generator 'raises' failed: ConnectionError: its own server is down" in asked.stderr
    assert told.returncode == 0, told.stderr
    assert made.returncode == 3
    assert "report 'sums' failed: ZeroDivisionError" in made.stderr
    assert "Traceback" not in asked.stderr + made.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("outside", "the path '../evil.txt' leads out of the report's folder"),
        ("words", "a report gives a mapping of paths to contents, not str"),
    ],
)
def test_a_report_that_is_no_files_in_its_folder_is_named(markbook, tmp_path, name, told):
    write_rows(tmp_path / "r.jsonl", [{"item": "a", "model": "m", "score": 1}])

    done = markbook("report", "r.jsonl", "--format", name, "--output", "here/inner")

    assert done.returncode == 3
    assert f"report {name!r} failed" in done.stderr
    assert told in done.stderr
    assert not list(tmp_path.rglob("evil.txt"))


def test_a_metric_that_fails_says_why(markbook, tmp_path):
    write_rows(tmp_path / "r.jsonl", [{"candidate": "a"}, {"candidate": "b"}])

    done = markbook("score", "unpaired", "r.jsonl")

    assert "2 failed" in done.stdout
    assert "unpaired failed on 2 of 2 rows; the first: TypeError: a metric gives a number" in done.stderr
