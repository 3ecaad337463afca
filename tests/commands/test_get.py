"""`markbook get` and `--allow-download`: the hub's own client asks a server on the loopback interface that stands for the hub."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.exam_kit import write_rows
from support.review_kit import markbook, only_run

pa = pytest.importorskip("pyarrow", reason="the extra `hub` is not installed")
pytest.importorskip("huggingface_hub", reason="the extra `hub` is not installed")

SHA = "0123456789abcdef0123456789abcdef01234567"
ROWS = [
    {"task_id": "HumanEval/0", "prompt": "def f(x):\n", "entry_point": "f", "canonical_solution": "    return x\n",
     "test": "def check(f):\n    assert f(1) == 1\n"},
]  # fmt: skip
SUMS = [{"question": "1 + 1?", "answer": "#### 2"}, {"question": "2 + 2?", "answer": "#### 4"}]


def parquet(rows):
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


class Hub:
    """A hub with data sets by name: files by path, and a licence."""

    def __init__(self, sets):
        self.sets = sets
        self.asked = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args):
                pass

            def do_HEAD(self):
                self.do_GET()

            def do_GET(self):
                hub.asked.append((self.command, self.path))
                path = self.path.partition("?")[0]
                for name, (licence, files) in hub.sets.items():
                    if path.startswith(f"/api/datasets/{name}"):
                        siblings = [{"rfilename": each, "size": len(data)} for each, data in files.items()]
                        card = {"license": licence} if licence else {}
                        return self.say(
                            json.dumps({"id": name, "sha": SHA, "siblings": siblings, "cardData": card}).encode()
                        )
                    for each, data in files.items():
                        if path == f"/datasets/{name}/resolve/{SHA}/{each}":
                            return self.say(data, "application/octet-stream")
                return self.say(b'{"error": "Repository not found"}', status=404, code="RepoNotFound")

            def say(self, data, kind="application/json", status=200, code=""):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("X-Repo-Commit", SHA)
                self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
                if code:
                    self.send_header("X-Error-Code", code)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    from huggingface_hub import constants

    made = Hub({
        "openai/openai_humaneval": ("mit", {"README.md": b"x", "openai_humaneval/test-00000-of-00001.parquet": parquet(ROWS)}),
        "openai/gsm8k": ("mit", {"main/test-00000-of-00001.parquet": parquet(SUMS), "main/train-00000-of-00001.parquet": b"",
                                 "socratic/test-00000-of-00001.parquet": b""}),
        "some/one": ("", {"data/test.jsonl": b'{"a": 1}\n{"a": 2}\n', "data/bad.jsonl": b'{"a": NaN}\n'}),
    })  # fmt: skip
    monkeypatch.setenv("HF_ENDPOINT", made.url)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.chdir(tmp_path)
    yield made
    made.close()


def test_a_known_benchmark_is_fetched_with_its_licence_and_digest_and_can_be_marked(hub, tmp_path):
    code, out, err = markbook("get", "humaneval")

    assert code == 0, err
    data = (tmp_path / "humaneval.jsonl").read_bytes()
    assert [json.loads(line) for line in data.splitlines()] == ROWS
    for said in (
        "mit",
        SHA,
        hashlib.sha256(data).hexdigest(),
        f"{hub.url}/datasets/openai/openai_humaneval",
        "rows      1",
    ):
        assert said in out
    assert "markbook exam --benchmark humaneval.jsonl --model PROVIDER:NAME" in out
    code, out, err = markbook("exam", "--benchmark", "humaneval.jsonl", "--check-benchmark", "--isolation", "weak")
    assert (code, "1 of 1 canonical solutions pass" in out) == (0, True), err


def test_showing_fetches_no_row(hub, tmp_path):
    code, out, _ = markbook("get", "gsm8k", "--show", "--json")

    assert code == 0
    assert json.loads(out) == {
        "data": f"{hub.url}/datasets/openai/gsm8k", "revision": SHA, "licence": "mit",
        "files": ["main/test-00000-of-00001.parquet"],
    }  # fmt: skip
    assert not any("resolve" in path for _, path in hub.asked)
    assert not (tmp_path / "gsm8k.jsonl").exists()


def test_any_data_set_goes_by_its_name(hub, tmp_path):
    code, out, _ = markbook("get", "some/one", "-o", "rows.jsonl")

    assert code == 0
    assert (tmp_path / "rows.jsonl").read_text() == '{"a": 1}\n{"a": 2}\n'
    assert "its card states none" in out


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("humanevel",), 2, "unknown benchmark 'humanevel' (did you mean 'humaneval'"),
        (("no/such",), 2, "there is no data set 'no/such'"),
        (("some/one", "--split", "dev"), 2, "has no split 'dev' in files that are read (it holds data/test.jsonl"),
        (("some/one", "--split", "bad"), 2, "some/one/data/bad.jsonl:1: NaN"),
        (("../../etc/passwd",), 2, "is not a name of a data set"),
    ],
)
def test_what_cannot_be_fetched_is_said(hub, tmp_path, args, code, says):
    found, _, err = markbook("get", *args)

    assert (found, says in err, "Traceback" in err) == (code, True, False), err
    assert not list(tmp_path.glob("*.jsonl*"))


def test_nothing_is_overwritten(hub, tmp_path):
    (tmp_path / "humaneval.jsonl").write_text("mine")

    assert markbook("get", "humaneval")[0] == 2
    assert (tmp_path / "humaneval.jsonl").read_text() == "mine"


def test_a_hub_that_cannot_be_reached_is_named(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    code, _, err = markbook("get", "humaneval")

    assert code == 3
    assert "cannot be fetched from http://127.0.0.1:9" in err
    assert "is there a network?" in err


def test_without_a_name_what_is_known_is_listed():
    code, out, _ = markbook("get")

    assert code == 0
    assert {"humaneval", "mbpp", "gsm8k"} <= {line.split()[0] for line in out.splitlines()}


TASK = """\
task: sums
dataset_path: openai/gsm8k
dataset_name: main
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
metric_list: [{metric: exact_match}]
"""


def test_a_task_names_a_data_set_and_it_is_fetched_only_where_that_is_allowed(hub, tmp_path):
    (tmp_path / "sums.yaml").write_text(TASK)
    said = write_rows(
        tmp_path / "said.jsonl", [{"doc_id": 0, "prediction": "#### 2"}, {"doc_id": 1, "prediction": "5"}]
    )
    args = ("run", "sums.yaml", "--predictions", said, "--output", tmp_path / "out")

    code, _, err = markbook(*args)
    assert (code, hub.asked) == (2, [])
    assert "--allow-download fetches it" in err

    code, out, err = markbook(*args, "--allow-download", "--json")
    assert code == 0, err
    assert json.loads(out)["tasks"]["sums"]["metrics"]["exact_match"]["value"] == 0.5
    record = json.loads((only_run(tmp_path / "out") / "run.json").read_text())
    assert f"sums/openai/gsm8k@{SHA}/main/test-00000-of-00001.parquet" in record["inputs"]


def test_a_record_does_not_say_that_data_are_fetched(hub, tmp_path):
    (tmp_path / "sums.yaml").write_text(TASK)
    said = write_rows(
        tmp_path / "said.jsonl", [{"doc_id": 0, "prediction": "#### 2"}, {"doc_id": 1, "prediction": "5"}]
    )
    assert markbook("run", "sums.yaml", "--predictions", said, "--output", tmp_path / "out", "--allow-download")[0] == 0

    code, _, err = markbook("run", "--resume", only_run(tmp_path / "out"))

    assert code == 2
    assert "started with --allow-download, which would fetch data" in err


def test_what_is_known_by_a_short_name_is_listed_as_json_too():
    code, out, _ = markbook("get", "--json")

    known = {each["name"]: each["data"] for each in json.loads(out)}
    assert code == 0
    assert known["humaneval"] == "openai/openai_humaneval"
