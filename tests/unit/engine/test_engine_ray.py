"""The Ray engine: a real cluster on this machine, the same results as without one. Skipped where Ray is not installed."""

import importlib.util
import json
import operator
import os
import subprocess
import sys
import urllib.request
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from support import review_kit
from support.paths import ROOT

from markbook import plugins
from markbook.errors import ConfigError, ExtraMissingError, IncompleteError

HAS_RAY = importlib.util.find_spec("ray") is not None
with_ray = pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed; `make interop` installs it")
TIME_FILES = {"run.json", "timings.jsonl"}


def results(folder):
    """Return a run's files by name, without those that hold times, and without the page, which shows them."""
    (run,) = folder.glob("evaluation_*")
    files = {path.relative_to(run).as_posix(): path for path in run.rglob("*") if path.is_file()}
    return {
        name: list(map(read_row, path.read_bytes().splitlines()))
        if path.name == "test_results.jsonl"
        else path.read_bytes()
        for name, path in files.items()
        if not name.startswith("journal") and path.name not in TIME_FILES and path.suffix != ".html"
    }


def read_row(line):
    """Return a row of a run without where a limit ended the second run of its code: the line depends on the moment."""
    row = json.loads(line)
    if row.get("why", {}).get("limit"):
        del row["why"]
    return row


def run_both(tmp_path, *args):
    """Run a command with both engines and return the results of each."""
    found = []
    for engine in ("local", "ray"):
        done = subprocess.run(
            [sys.executable, "-m", "markbook", *args, "--engine", engine, "--workers", "2", "--output", engine],
            cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(results(tmp_path / engine))
    return found


def test_a_missing_ray_is_said_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(ExtraMissingError, match=r"markbook\[ray\]"):
        plugins.create("engines", "ray", workers=1)


def test_no_worker_is_an_error():
    with pytest.raises(ConfigError, match="0 workers"):
        plugins.create("engines", "ray", workers=0)


@pytest.fixture(scope="module")
def executor():
    with plugins.create("engines", "ray", workers=2) as made:
        yield made


@with_ray
@pytest.mark.filterwarnings("default")
def test_results_and_errors_come_back_as_they_were_raised(executor):
    assert list(executor.map(abs, range(-500, 0))) == list(range(500, 0, -1))
    assert isinstance(executor.submit(operator.truediv, 1, 0).exception(), ZeroDivisionError)


@with_ray
@pytest.mark.filterwarnings("default")
def test_work_is_done_again_when_its_worker_dies(executor, tmp_path):
    def once_dead(mark):
        if not mark.exists():
            mark.touch()
            os._exit(1)
        return "done"

    assert executor.submit(once_dead, tmp_path / "mark").result() == "done"
    assert (tmp_path / "mark").exists()


@with_ray
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_work_that_kills_every_worker_is_incomplete_and_not_a_result(executor):
    error = executor.submit(os._exit, 1).exception()

    assert isinstance(error, IncompleteError)
    assert "worker was lost" in str(error)


@with_ray
@pytest.mark.slow
def test_an_exam_is_the_same_on_ray(tmp_path):
    exam = ROOT / "examples" / "exam"
    solutions = [str(path) for path in sorted(exam.iterdir()) if path.name != "benchmark"]

    local, ray = run_both(
        tmp_path, "exam", "--benchmark", str(exam / "benchmark"), "--solutions", *solutions, "--timeout", "2"
    )

    rows = [name for name in local if name.endswith("test_results.jsonl")]
    assert len(rows) == 3
    for name in rows:
        assert local.pop(name) == ray.pop(name)
    assert local == ray


@with_ray
@pytest.mark.slow
def test_tasks_with_tests_and_texts_are_the_same_on_ray(tmp_path):
    rows = [
        {"id": str(n), "q": f"Write f{n}.", "a": f"the answer is {n}", "t": [f"assert f() == {n}"]} for n in range(40)
    ]
    texts = [{"id": str(n), "prediction": f"the answer is {n % 7}"} for n in range(40)]
    code = [{"id": str(n), "prediction": f"def f():\n    return {n % 7}\n"} for n in range(40)]
    for name, content in (("rows", rows), ("texts", texts), ("code", code)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in content))
    head = "name: {}\ndata: {{path: rows.jsonl, id: id}}\nprompt: '{{{{ q }}}}'\n"
    (tmp_path / "texts.yaml").write_text(
        head.format("texts") + "reference: '{{ a }}'\nmetrics: [bleu, rougeL, meteor]\n"
    )
    (tmp_path / "code.yaml").write_text(head.format("code") + "tests: t\nmetrics: [pass_at_k]\n")
    answers = tmp_path / "answers"
    answers.mkdir()
    for name in ("texts", "code"):
        (tmp_path / f"{name}.jsonl").rename(answers / f"{name}.jsonl")

    local, ray = run_both(tmp_path, "run", "texts.yaml", "code.yaml", "--predictions", "answers", "--isolation", "weak")

    assert local == ray
    values = {row["metrics"].get("pass@1") for row in map(json.loads, local["results.jsonl"].splitlines())}
    assert values == {None, 0.0, 1.0}


@with_ray
@pytest.mark.slow
def test_reviews_are_the_same_on_ray(tmp_path):
    papers, reviews = review_kit.papers(tmp_path), review_kit.reviews(tmp_path)

    local, ray = run_both(
        tmp_path, "review", "--papers", str(papers), "--reviews", str(reviews), "--similarity", "cosine,jaccard"
    )

    assert local == ray
    assert "results.jsonl" in local


@with_ray
def test_the_reward_server_marks_on_a_cluster():
    with subprocess.Popen(
        [sys.executable, "-m", "markbook", "serve", "--port", "0", "--engine", "ray", "--workers", "2", "--isolation", "weak"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        try:
            address = server.stdout.readline().strip()
            items = [{"id": text, "code": f"def f(x): return {text}", "tests": ["f(1) == 1"]} for text in ("x", "-x")]
            request = urllib.request.Request(
                f"{address}/v1/mark", json.dumps({"items": items}).encode(), {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=120) as answer:
                results = json.load(answer)["results"]
        finally:
            server.terminate()
            _, said = server.communicate(timeout=60)

    assert [one["reward"] for one in results] == [1.0, 0.0], said
    assert server.returncode == 0, said


class FakeRay:
    """As much of Ray as an executor calls; what it is handed is done at once, or refused as what cannot be pickled."""

    exceptions = SimpleNamespace(RayError=ConnectionError, RayTaskError=ExceptionGroup)

    def __init__(self, processors, *, is_there=True):
        self._resources = {} if processors is None else {"CPU": processors}
        self._is_there = is_there

    def is_initialized(self):
        return self._is_there

    def init(self, **options):
        self.started, self._is_there = options, True

    def shutdown(self):
        self._is_there = False

    def cluster_resources(self):
        return self._resources

    def remote(self, **options):
        self.options = options

        def wrap(call):
            class Task:
                @staticmethod
                def remote(fn, args, kwargs):
                    if fn is None:
                        raise TypeError("cannot pickle")
                    done = Future()
                    try:
                        done.set_result(call(fn, args, kwargs))
                    except ArithmeticError as error:
                        done.set_exception(error)
                    return SimpleNamespace(future=lambda: done)

            return Task

        return wrap


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("", {"address": "local", "include_dashboard": False, "num_cpus": 2}),
        ("there:6379", {"address": "there:6379"}),  # what a cluster of others has is not ours to say
    ],
)
def test_the_cluster_that_is_named_is_joined_and_without_a_name_one_is_started_here(monkeypatch, address, options):
    ray = FakeRay(3, is_there=False)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setenv("RAY_ADDRESS", address)

    with plugins.create("engines", "ray", workers=2):
        assert ray.started == {"log_to_driver": False, "configure_logging": False, **options}
    assert not ray.is_initialized()


def test_a_cluster_that_was_there_before_stays(monkeypatch):
    ray = FakeRay(3)
    monkeypatch.setitem(sys.modules, "ray", ray)

    plugins.create("engines", "ray").shutdown()

    assert ray.is_initialized()


@pytest.mark.parametrize("processors", [None, 0.5, 0, 3])
def test_a_cluster_with_less_than_a_processor_does_work(monkeypatch, processors):
    monkeypatch.setitem(sys.modules, "ray", FakeRay(processors))

    assert plugins.create("engines", "ray").submit(abs, -1).result(5) == 1


def test_a_piece_of_work_takes_one_processor(monkeypatch):
    ray = FakeRay(3)
    monkeypatch.setitem(sys.modules, "ray", ray)

    plugins.create("engines", "ray")

    assert ray.options["num_cpus"] == 1


def test_what_cannot_be_sent_or_fails_is_the_error_of_its_own_future(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", FakeRay(2))
    executor = plugins.create("engines", "ray")

    futures = [executor.submit(work, 1, 0) for work in (operator.add, None, operator.truediv, operator.add)]

    assert [type(future.exception(5)) for future in futures] == [
        type(None), TypeError, ZeroDivisionError, type(None),
    ]  # fmt: skip
