"""The reward server over real connections: what it answers, whom it refuses, and that nothing is lost when it ends."""

import asyncio
import base64
import json
import socket
import sys
import threading
import time
from dataclasses import replace

import pytest
from support.exam_kit import problem, write_rows
from support.load import PATIENCE, allowed
from support.review_kit import markbook as command

pytest.importorskip("starlette", reason="pip install 'markbook[serve]'")
httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

from markbook.programs.sandboxes import BoxSettings  # noqa: E402
from markbook.sandbox import program, turns  # noqa: E402
from markbook.serve import run_code  # noqa: E402
from markbook.serve.guard import Guard, Refused  # noqa: E402
from markbook.serve.items import UnsupportedLanguage, toolchain  # noqa: E402 - after the extra is known
from markbook.serve.marking import ServerSettings  # noqa: E402
from markbook.serve.pool import PoolSettings  # noqa: E402
from markbook.serve.serve import bind, serve  # noqa: E402

RIGHT = "def f(x):\n    return x\n"
SLEEP = "import time\ndef f(x):\n    time.sleep(60)\n"
TESTS = ["f(1) == 1", "f(2) == 2"]


class Running:
    """A server in a thread of its own."""

    def __init__(self, settings, grace=0.2):
        self.sock = bind("127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self.sock.getsockname()[1]}"
        self.server = None
        self._loop = None
        started = threading.Event()

        def ready(server):
            self.server, self._loop = server, asyncio.get_running_loop()
            started.set()

        def run():
            asyncio.run(serve(settings, self.sock, grace=grace, ready=ready))

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert started.wait(PATIENCE)

    def drain(self):
        self._loop.call_soon_threadsafe(self.server.drain)

    def join(self):
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    @property
    def pool(self):
        return self.server._pool


def settings(**more):
    options = {"pool": PoolSettings(box=BoxSettings(workers=1, isolation="weak"), queue=8), "deadline": 60.0}
    return ServerSettings(**{**options, **more})


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    write_rows(folder / "quiz.jsonl", [problem("t/1"), problem("t/2")])
    server = Running(settings(benchmarks=folder, guard=Guard(body=1 << 20, seconds=0.5)))
    yield server
    server.drain()
    server.join()


@pytest.fixture
def client(running):
    with httpx.Client(base_url=running.address, timeout=PATIENCE) as made:
        yield made


def item(code, **more):
    return {"id": "a", "code": code, "tests": TESTS, "entry_point": "f", "timeout": 5, **more}


def mark(client, items, **more):
    return client.post("/v1/mark", json={"items": items, **more})


def test_a_batch_is_answered_in_order(client):
    got = mark(
        client, [item(RIGHT, id="r"), item("def f(x):\n    return 1\n", id="h"), item(None, id="n")], detail=True
    )
    assert got.status_code == 200
    right, half, none = got.json()["results"]
    assert list(right)[:5] == ["id", "reward", "valid", "reason", "passed"]
    assert (right["id"], right["reward"], right["valid"], right["reason"]) == ("r", 1.0, True, None)
    assert (half["reward"], half["passed"], half["total"]) == (0.5, 1, 2)
    assert [test["passed"] for test in half["tests"]] == [True, False]
    assert (none["reward"], none["valid"], none["reason"]) == (None, False, "absent")


def test_a_batch_is_streamed_as_it_is_marked(client):
    body = {"items": [item(SLEEP, id="s", timeout=50, deadline=0.3), item(RIGHT + "# new\n", id="r")]}
    with client.stream("POST", "/v1/mark", json=body, headers={"Accept": "application/x-ndjson"}) as got:
        lines = [json.loads(line) for line in got.iter_lines()]
    assert got.headers["content-type"].startswith("application/x-ndjson")
    assert "server" not in got.headers
    assert [(line["index"], line["id"], line["reward"], line["reason"]) for line in lines] == [
        (0, "s", None, "timeout"),
        (1, "r", 1.0, None),
    ]


def test_how_long_a_caller_has_waited_already_counts_as_waiting(client):
    body = {"items": [item(SLEEP, timeout=50)], "deadline": 3}
    got = [client.post("/v1/mark", json={**body, **more}).json()["results"][0] for more in ({}, {"waited": 20})]
    assert [(one["reward"], one["reason"], one["error"]) for one in got] == [
        (0.0, None, "TimeoutError"),
        (None, "timeout", None),
    ]
    refused = client.post("/v1/mark", json={**body, "waited": -1})
    assert (refused.status_code, "'waited' is -1" in refused.json()["error"]) == (400, True)


def test_a_task_of_a_benchmark_is_marked(client):
    items = [{"id": "a", "code": RIGHT, "benchmark": "quiz", "task_id": "t/1"}]
    assert mark(client, items).json()["results"][0]["reward"] == 1.0


def test_a_row_of_sandbox_fusions_bigcodebench_is_marked(tmp_path):
    test = "import unittest\nclass TestCases(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(2), 4)\n"
    row = {
        "id": "B/0",
        "content": "def f(x):\n",
        "canonical_solution": "    return 2 * x",
        "labels": '{"entry_point":"f"}',
    }
    write_rows(tmp_path / "dump.jsonl", [{**row, "test": test}])
    server = Running(settings(benchmarks=tmp_path))
    with httpx.Client(base_url=server.address, timeout=PATIENCE) as client:
        items = [{"benchmark": "dump", "task_id": "B/0", "completion": f"    return {n} * x\n"} for n in (2, 3)]
        results = mark(client, items).json()["results"]
    server.drain()
    server.join()

    assert [result["reward"] for result in results] == [1.0, 0.0], results


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_link_out_of_the_folder_of_benchmarks_is_refused(tmp_path, in_folder):
    outside, folder = tmp_path / "outside", tmp_path / "shelf"
    quiz = folder / "quiz" / "rows.jsonl" if in_folder else folder / "quiz.jsonl"
    for place in (outside, quiz.parent, folder / ".stored"):
        place.mkdir(parents=True, exist_ok=True)
    write_rows(outside / "secret.jsonl", [problem("t/1")])
    write_rows(quiz, [problem("t/1")])
    write_rows(folder / ".stored" / "own.jsonl", [problem("t/1")])
    (folder / "own.jsonl").symlink_to(".stored/own.jsonl")
    server = Running(settings(benchmarks=folder))
    quiz.unlink()
    quiz.symlink_to(outside / "secret.jsonl")
    with httpx.Client(base_url=server.address, timeout=PATIENCE) as client:
        own, linked = (mark(client, [{"code": RIGHT, "benchmark": name, "task_id": "t/1"}]) for name in ("own", "quiz"))
    server.drain()
    server.join()
    code, _, err = command("serve", "--benchmarks", str(folder), "--port", "0", "--isolation", "weak")

    assert (own.status_code, linked.status_code) == (200, 400)
    assert own.json()["results"][0]["reward"] == 1.0
    assert linked.json()["error"] == "quiz: a link that leads out of its folder: refused"
    assert (code, f"{quiz}: a link that leads out of its folder: refused" in err) == (2, True), err


def test_texts_are_scored(client):
    items = [{"id": 1, "candidate": "a b", "reference": "a b"}, {"candidate": "a", "references": []}]
    got = client.post("/v1/score", json={"metrics": ["exact_match", "bleu_score"], "items": items}).json()["results"]
    assert got[0]["exact_match"] == {"value": 1.0, "valid": True, "reason": None}
    assert got[1]["exact_match"]["value"] is None
    assert got[1]["exact_match"]["valid"] is False


def test_a_text_that_is_not_there_is_missing_for_its_item_alone(client):
    items = [
        {"candidate": "a", "reference": "a"},
        {"candidate": None, "reference": "a"},
        {"candidate": "a", "reference": None},
    ]
    items += [{**items[0], key: "a\ud800"} for key in ("candidate", "reference", "id", "\ud800")]
    items.append({"id": "whole", "candidate": "a", "references": ["a", "\ud800"]})
    got = client.post("/v1/score", content=json.dumps({"metrics": "exact_match", "items": items}), headers=JSON)
    marks = [row["exact_match"] for row in got.json()["results"]]
    assert [mark["value"] for mark in marks] == [1.0] + [None] * 7
    assert [mark["valid"] for mark in marks] == [True] + [False] * 7
    assert [mark["reason"] for mark in marks[2:]] == ["undefined"] * 6, marks
    assert [row["id"] for row in got.json()["results"]] == [*range(7), "whole"]


def test_openrlhf_gets_its_shape(client):
    label = {"tests": TESTS, "entry_point": "f"}
    body = {"query": ["P" + RIGHT, RIGHT], "prompts": ["P", ""], "labels": [label, json.dumps(label)]}
    got = client.post("/get_reward", json=body).json()
    assert got == {"rewards": [1.0, 1.0], "scores": [1.0, 1.0], "extra_logs": {"all_passed": [1.0, 1.0]}}
    idle = client.post("/get_reward", json={"query": [], "prompts": [], "labels": []})  # fewer queries than servers
    assert (idle.status_code, idle.json()["rewards"]) == (200, [])
    refused = client.post("/get_reward", json={"query": [None], "prompts": [""], "labels": [label]})
    assert refused.status_code == 400  # there is no place for a reason, no number is made up, and it will be null again
    assert "1 of 1 queries have no reward" in refused.json()["error"]


HEAD = "def f(x):\n"
DOCUMENTED = f'import math\n\n\n{HEAD}    """Twice x."""\n'


@pytest.mark.parametrize(
    ("prompt", "answer", "more", "reward"),
    [
        (HEAD, "    return 2 * x\n", {}, 1.0),
        (HEAD, "    return 2 * x\n", {"prompt": HEAD, "entry_point": "f"}, 1.0),
        (HEAD, "    return 3 * x\n", {"entry_point": "f"}, 0.0),
        (DOCUMENTED, "    return math.prod([2, x])\n", {"entry_point": "f", "prompt": None}, 1.0),
        (DOCUMENTED, "Sure:\n```python\ndef f(x):\n    return 2 * x\n```\n", {}, 1.0),
        (
            DOCUMENTED,
            "def f(x):\n    return math.prod([2, x])\n",
            {"language": "Python"},
            1.0,
        ),  # with the prompt's imports
        (DOCUMENTED, "I do not know.", {}, 0.0),
        (f"{HEAD}    return 2 * x\n", "\n# as it stands\n", {}, 0.0),  # the answer is what the model wrote
        (HEAD, "print(2 * int(input()))", {"tests": [{"stdin": "3", "stdout": "6"}]}, 1.0),
    ],
)
def test_a_query_may_go_on_with_the_code_of_its_prompt(client, prompt, answer, more, reward):
    body = {"query": [prompt + answer], "prompts": [prompt], "labels": [{"tests": ["f(3) == 6"], **more}]}
    got = client.post("/get_reward", json=body)
    assert (got.status_code, got.json().get("rewards")) == (200, [reward]), got.json()


SHOWN = f"Such as:\n```python\n{RIGHT}```\nNow you: "


def rewarded(client, *, query, **more):
    return client.post("/get_reward", json={"query": [query], "labels": [{"tests": TESTS, "entry_point": "f"}], **more})


def test_code_that_stands_in_the_prompt_is_no_answer(client):
    got = rewarded(client, query=f"{SHOWN}I do not know.", prompts=[SHOWN])
    assert (got.status_code, got.json()["rewards"]) == (200, [0.0])


def test_a_sign_that_a_tokenizer_puts_before_the_prompt_hides_no_answer(client):
    got = rewarded(client, query=f"<s>{SHOWN}{RIGHT}", prompts=[SHOWN])
    assert (got.status_code, got.json()["rewards"]) == (200, [1.0])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "'prompts' is missing"),
        ({"prompts": None}, "'prompts' is missing"),
        ({"prompts": [f"{SHOWN} "]}, "query[0] does not hold prompts[0]"),
        ({"prompts": ["Another question. "]}, "query[0] does not hold prompts[0]"),
        ({"prompts": [None]}, "prompts[0] is not a string"),
        ({"prompts": []}, "not equally long"),
    ],
)
def test_a_query_whose_prompt_cannot_be_told_is_refused(client, more, words):
    got = rewarded(client, query=f"{SHOWN}I do not know.", **more)
    assert (got.status_code, words in got.json()["error"]) == (400, True), got.text


def ran(client, code, **more):
    got = client.post("/run_code", json={"code": code, "language": "python", "run_timeout": 5, **more})
    assert got.status_code == 200, got.text
    return got.json()


def test_a_program_is_run_as_sandboxfusion_does(client):
    echo = "import sys\nprint(input())\nprint(sys.stdin.read().upper(), end='')\nprint('wrong', file=sys.stderr)\n"
    got = ran(client, echo, stdin="a\nb\n")
    assert list(got) == ["status", "message", "compile_result", "run_result", "executor_pod_name", "files"]
    assert (got["status"], got["compile_result"], got["files"]) == ("Success", None, {})
    run = got["run_result"]
    assert (run["status"], run["return_code"], run["stdout"], run["stderr"]) == ("Finished", 0, "a\nB\n", "wrong\n")


@pytest.mark.parametrize(
    ("code", "status", "phase", "return_code"),
    [
        ("import sys\nsys.exit(3)", "Failed", "Finished", 3),
        ("import os\nprint('x', flush=True)\nos._exit(0)", "Success", "Finished", 0),
        ("1 / 0", "Failed", "Finished", 1),
        ("def f(:", "Failed", "Finished", 1),
        ("while True: pass", "Failed", "TimeLimitExceeded", None),
        ("import time\ntime.sleep(60)", "Failed", "TimeLimitExceeded", None),
        ("import os\nos.kill(os.getpid(), 11)", "Failed", "Finished", -11),
        ("x = 'a' * (1 << 40)", "Failed", "Finished", 1),
        ("open('/etc/passwd').read()", "Failed", "Finished", 1),
        ("import socket\nsocket.create_connection(('127.0.0.1', 1))", "Failed", "Finished", 1),
    ],
)
def test_every_outcome_of_a_program_has_its_status(client, code, status, phase, return_code):
    got = ran(client, code, run_timeout=0.7)
    found = got["status"], got["run_result"]["status"], got["run_result"]["return_code"]
    assert found == (status, phase, return_code)


READS = "import sys\nprint(sum(map(int, sys.stdin.read().split())))\n"
COMPUTING = {
    READS: 0,
    "print('\\u00fcber', end='')": 0,
    "while True: pass": 0,
    "while True: print('x' * 9999)": 0,
    "import time\nprint(1, flush=True)\ntime.sleep(60)": 0,
    "1 / 0": 1,
    "import sys\nsys.stderr.write('x')": 1,
    "print('\\udc80')": 1,
    "import os\nprint(os.system('true'))": 1,
    "print(open(__file__).read())": 1,
    "import dataclasses\nprint(dataclasses.sys.argv)": 1,
    "import sys as other\nprint(other.argv)": 1,
    "import sys\nprint(getattr(sys, 'executable'))": 1,
    "().__class__.__base__": 1,
    "d = 0\ndef r():\n    global d\n    d += 1\n    r()\ntry: r()\nexcept RecursionError: print(d)\n": 0,
    "import sys\nsys.setrecursionlimit(5000)\ndef r(n): return n and 1 + r(n - 1)\nprint(r(4990))\n": 0,
    "import sys\nsys.exit(2**70)": 1,
    "import sys\nsys.exit(-1 << 63)": 0,
    "import sys\nprint(sys.stdin.name, sys.stdout.errors)": 1,
    "# coding: latin-1\nprint('\u00fc')": 1,
    "print(1 is 1)": 1,
    "x = 1\nprint(1 is x)": 1,
    "print(1if 1 else 2)": 1,
    "try: print([[1] [2]])\nexcept TypeError: print('no')": 1,
    "assert\t(1 == 1, 'x')\nprint(1)": 1,
    "assert (1 == 1)\nprint(1)": 0,
    "from dataclasses import sys as s\nprint(s.argv)": 1,
    "import collections\nprint(collections._sys.argv)": 1,
    "import enum as e\nprint(e.bltns.len)": 1,
    "print(\uff45val('6'))": 1,
    "from collections import Counter\nprint([3].copy(), Counter('a'))": 0,
}


def test_a_program_that_only_computes_starts_no_interpreter_and_has_the_same_answer(monkeypatch):
    started = []
    for module in (program, turns):
        on_wire = module.on_wire
        monkeypatch.setattr(module, "on_wire", lambda *run, on_wire=on_wire: started.append(1) or on_wire(*run))
    seat = run_code._ProgramsSeat("auto")

    def answer(request):
        before = len(started)
        reply = run_code.answer(request, *seat.execute(request))
        reply["run_result"].pop("execution_time")
        return reply, len(started) - before

    try:
        for code, interpreters in COMPUTING.items():
            body = {"code": code, "language": "python", "stdin": "1 2\n", "run_timeout": 1.0}
            request = run_code.read_program(body, sys.executable)
            forked, count = answer(request)
            assert (forked, 1) == answer(replace(request, is_forked=False)), code
            assert count == interpreters, code
        files = {**body, "code": READS, "fetch_files": ["out"]}
        assert not run_code.read_program(files, sys.executable).is_forked
    finally:
        seat.close()


ADD = {
    "bash": ("read a b; echo $((a + b))\n", None, "exit 3"),
    "cpp": (
        "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b << '\\n'; }\n",
        "int main() { return 1 +; }\n",
        "int main() { return 3; }\n",
    ),
    "nodejs": (
        "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number); console.log(a + b)\n",
        None,
        "process.exit(3)\n",
    ),
}


@pytest.mark.parametrize("language", ADD)
def test_a_program_in_another_language_is_built_and_run(client, language):
    try:
        toolchain(language)
    except UnsupportedLanguage as error:
        pytest.skip(str(error))
    right, torn, wrong = ADD[language]
    got = ran(client, right, language=language, stdin="2 3\n")
    assert (got["status"], got["run_result"]["stdout"]) == ("Success", "5\n"), got
    assert (got["compile_result"] is None) is (torn is None)
    failed = ran(client, wrong, language=language)
    assert (failed["status"], failed["run_result"]["return_code"]) == ("Failed", 3)
    if torn is not None:
        broken = ran(client, torn, language=language)
        assert (broken["status"], broken["compile_result"]["return_code"], broken["run_result"]) == ("Failed", 1, None)
        assert "error" in broken["compile_result"]["stderr"]
        files = {"in/data.txt": base64.b64encode(b"7").decode()}
        reads = '#include <cstdio>\nint main() { FILE *f = fopen("in/data.txt", "r"); putchar(getc(f)); }\n'
        assert ran(client, reads, language=language, files=files)["run_result"]["stdout"] == "7"
        writes = (
            "#include <sys/stat.h>\n#include <unistd.h>\n#include <cstdio>\nint main() {\n"
            'mkdir("out", 0700); fputs("8", fopen("out/b.txt", "w")); symlink("/etc/hostname", "link"); mkfifo("pipe", 0600); }\n'
        )
        got = ran(client, writes, language=language, fetch_files=["out/b.txt", "link", "pipe", "none", "out"])
        assert got["files"] == {"out/b.txt": base64.b64encode(b"8").decode()}


def test_a_program_that_changes_what_fetches_its_files_changes_nothing(client):
    code = "import os\nfor name in os.listdir('.'):\n    open(name, 'w').write('print(1)')\nopen('a', 'w').write('b')\n"
    assert ran(client, code, fetch_files=["a"])["files"] == {"a": base64.b64encode(b"b").decode()}


def test_a_program_ends_when_its_caller_leaves(client):
    with pytest.raises(httpx.ReadTimeout):
        client.post(
            "/run_code", json={"code": "while True: pass", "language": "python", "run_timeout": 60}, timeout=0.5
        )
    before = time.monotonic()
    assert ran(client, "print(1)")["status"] == "Success"  # by the one worker that there is
    assert time.monotonic() - before < allowed(20)


def test_files_go_in_and_come_back(client):
    files = {"in/data.txt": base64.b64encode(b"\xff\x00").decode(), "absent": None}
    code = "data = open('in/data.txt', 'rb').read()\nopen('out.bin', 'wb').write(data * 2)\n"
    got = ran(client, code, files=files, fetch_files=["out.bin", "none"])
    assert got["files"] == {"out.bin": base64.b64encode(b"\xff\x00\xff\x00").decode()}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"code": 3}, "'code' is missing or no string"),
        ({"language": "cobol"}, "unsupported language 'cobol' (known: "),
        ({"language": None}, "'language' is missing"),
        ({"run_timeout": 0}, "'run_timeout' is 0"),
        ({"run_timeout": "5"}, "'run_timeout' is 5, which is text, and has to be a number"),
        ({"compile_timeout": "x"}, "'compile_timeout' is x"),
        ({"memory_limit_MB": 1}, "'memory_limit_MB' is 1"),
        ({"stdin": 3}, "'stdin' is neither a string nor null"),
        ({"files": {"../x": ""}}, "'../x' is not a plain path"),
        ({"files": {"/etc/x": ""}}, "'/etc/x' is not a plain path"),
        ({"files": {"x": "?"}}, "'x' is not a base64"),
        ({"files": [1]}, "'files' is not an object"),
        ({"fetch_files": ["a/../../x"]}, "is not a plain path"),
        ({"fetch_files": "x"}, "'fetch_files' is not a list"),
    ],
)
def test_a_bad_program_is_refused(client, body, words):
    got = client.post("/run_code", json={"code": "1", "language": "python", **body})
    assert (got.status_code, words in got.json()["error"]) == (400, True), got.text


def test_it_says_how_it_is(client):
    assert client.get("/health").json()["status"] == "ok"
    text = client.get("/metrics").text
    assert "# TYPE markbook_item_seconds histogram" in text
    assert "markbook_items_waiting 0" in text
    assert client.get("/openapi.json").json()["paths"]["/v1/mark"]["post"]["requestBody"]["required"] is True
    assert "<th scope=row>Waiting</th><td>0 of 8</td>" in client.get("/").text


GOOD = {"items": [item(RIGHT)]}
JSON = {"Content-Type": "application/json"}
BAD = [
    ({"content": "{", "headers": JSON}, 400, "the body is not JSON: Expecting property name"),
    ({"content": "[]", "headers": JSON}, 400, "the body is not a JSON object"),
    ({"content": b"\xff", "headers": JSON}, 400, "the body is not UTF-8: byte 0"),
    ({"content": '{"items": NaN}', "headers": JSON}, 400, "NaN is not a JSON number"),
    ({"content": "[" * 200_000, "headers": JSON}, 400, "nested too deeply"),
    ({"content": '{"items": [{"code": "x", "timeot": "\\ud800"}]}', "headers": JSON}, 400, "unknown field 'timeot'"),
    ({"content": '{"items": ' + "9" * 5000 + "}", "headers": JSON}, 400, "the body is not JSON"),
    ({"content": json.dumps(GOOD)}, 415, "send 'Content-Type: application/json'"),
    ({"data": {"a": "b"}}, 415, "application/x-www-form-urlencoded"),
    ({"content": " " * (2 << 20), "headers": JSON}, 413, "the body has 2097152 bytes"),
    ({"content": iter([b" " * (2 << 20)]), "headers": JSON}, 413, "more than 1048576 bytes"),
    ({"json": GOOD, "headers": {"Host": "evil.example"}}, 421, "answers to 127.0.0.1 and localhost only"),
    ({"json": GOOD, "headers": {"Host": "127.0.0.1.evil.example"}}, 421, "answers to 127.0.0.1"),
    ({"json": GOOD, "headers": {"Origin": "http://evil.example"}}, 403, "a page of another site"),
    ({"json": {}}, 400, "'items' is not a list"),
    ({"json": {"items": []}}, 400, "'items' is empty"),
    ({"json": {"items": 3}}, 400, "'items' is not a list"),
    ({"json": {"items": [3]}}, 400, "items[0]: it is not an object"),
    ({"json": {"items": [item(RIGHT), item(RIGHT, tests=None)]}}, 400, "items[1]: it has no tests"),
    ({"content": '{"items": [{"code": "x", "timeout": "\\ud800"}]}', "headers": JSON}, 400, "which is text"),
    ({"json": {**GOOD, "detial": True}}, 400, "unknown field 'detial' (did you mean 'detail'?)"),
    ({"json": {**GOOD, "detail": 1}}, 400, "'detail' is neither true nor false"),
    ({"json": {**GOOD, "deadline": 0}}, 400, "'deadline' is 0, and has to be a number above 0 and at most 60"),
    ({"json": {**GOOD, "error_policy": "x"}}, 400, "'error_policy' is 'x'"),
    ({"json": {"items": [item(f"{RIGHT}#{n}") for n in range(20)]}}, 413, "20 items never fit into the queue"),
    ({"json": {"items": [item(RIGHT)] * 1025}}, 400, "1025 items are too many at once (send at most 1024)"),
]


def test_an_item_that_nobody_can_mark_does_not_refuse_its_batch(client):
    items = [
        item(RIGHT), {"code": RIGHT, "benchmark": "quiz", "task_id": "t/9"}, {"code": RIGHT, "tests": ["def f(:"]},
        item(RIGHT), {"id": "h", "code": "\ud800", "tests": ["f(1) == 2"]}, {"id": "\ud800", "code": "x", "tests": ["x == 1"]},
        {"code": RIGHT, "benchmark": "../quiz", "task_id": "t/1"}, item(RIGHT, tests=[]), item(RIGHT, tests=""),
    ]  # fmt: skip

    got = client.post("/v1/mark", content=json.dumps({"items": items}), headers=JSON).json()["results"]

    assert [one["reward"] for one in got] == [1.0, None, None, 1.0] + [None] * 5
    assert [one["reason"] for one in got] == [None, "undefined", "undefined", None] + ["undefined"] * 5
    assert ([one["id"] for one in got[4:6]], "half a character" in got[4]["message"]) == (["h", "items[5]"], True)
    assert "there is no benchmark '../quiz' here" in got[6]["message"]
    assert got[7]["message"].startswith("items[7]: 'tests' is empty")
    assert "'quiz' has no task 't/9'" in got[1]["message"]
    assert "does not parse" in got[2]["message"]


@pytest.mark.parametrize(("request_", "status", "words"), BAD)
def test_bad_input_is_refused_with_a_sentence(client, running, request_, status, words):
    before = running.pool.counts.copy()
    got = client.post("/v1/mark", **request_)
    assert (got.status_code, words in got.json()["error"]) == (status, True), got.text
    after = running.pool.counts.copy()
    after.pop("refused", None)
    before.pop("refused", None)
    assert after == before


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"items": [{"candidate": "a"}]}, "'metrics' is not a name"),
        ({"metrics": "os:getcwd", "items": [{"candidate": "a"}]}, "unknown metric 'os:getcwd'"),
        ({"metrics": "bleu", "items": [{"candidate": 3}]}, "'candidate' is missing, or neither a string nor null"),
        ({"metrics": "bleu", "items": [{"candidate": "a" * 70_000}]}, "more than 65536 characters"),
        ({"metrics": "bleu", "items": []}, "'items' is not a list, or empty"),
        ({"metrics": ["bleu"] * 17, "items": [{"candidate": "a"}]}, "17 metrics are too many"),
    ],
)
def test_a_bad_request_for_scores_is_refused(client, body, words):
    got = client.post("/v1/score", json=body)
    assert (got.status_code, words in got.json()["error"]) == (400, True), got.text


def test_unknown_places_and_methods_are_named(client):
    assert client.get("/nothing").status_code == 404
    assert client.get("/v1/mark").json() == {"error": "GET is not for '/v1/mark'"}


def test_a_torn_request_is_given_up(running):
    with socket.create_connection(("127.0.0.1", running.sock.getsockname()[1])) as link:
        head = "POST /v1/mark HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        link.sendall(head.encode())
        link.settimeout(10)
        assert link.recv(100).startswith(b"HTTP/1.1 408")


def test_work_stops_when_the_caller_leaves(client, running):
    before = running.pool.counts["cancelled"]
    with pytest.raises(httpx.ReadTimeout):
        client.post("/v1/mark", json={"items": [item(SLEEP, timeout=50)]}, timeout=0.5)
    until(lambda: running.pool.counts["cancelled"] == before + 1 and not running.pool.running)
    assert mark(client, [item(RIGHT)]).json()["results"][0]["reward"] == 1.0


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to that")


def in_background(address, body, found):
    def ask():
        found.append(httpx.post(f"{address}/v1/mark", json=body, timeout=PATIENCE))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_above_capacity_callers_are_told_when_to_come_back(client, running):
    found = []
    sleeper = in_background(running.address, {"items": [item(SLEEP, timeout=50)], "deadline": 3}, found)
    until(lambda: running.pool.running == 1)
    many = [item(f"{RIGHT}# {number}\n") for number in range(6)]
    waiting = in_background(running.address, {"items": many}, found)
    until(lambda: running.pool.waiting == 6)
    unread = client.post("/v1/mark", content=b"{" * 900_000, headers={"Content-Type": "application/json"})
    got = mark(client, [item(f"{RIGHT}# more\n")])
    assert (got.status_code, unread.status_code) == (429, 429)
    assert 1 <= int(got.headers["retry-after"]) <= 60
    assert 'path="/v1/mark",status="429"} 2' in client.get("/metrics").text
    sleeper.join()
    waiting.join()
    rewards = sorted(str(one["reward"]) for answer in found for one in answer.json()["results"])
    assert rewards == ["0.0"] + ["1.0"] * 6


def test_more_requests_at_once_than_it_answers_are_told_to_come_back():
    server = Running(settings(guard=Guard(at_once=1)))
    found = []
    sleeper = in_background(server.address, {"items": [item(SLEEP, timeout=50)], "deadline": 1}, found)
    until(lambda: server.pool.running == 1)
    with httpx.Client(base_url=server.address) as client:
        got = mark(client, [item(RIGHT)])
        health = client.get("/health").status_code
        sleeper.join()
        after = mark(client, [item(RIGHT)]).json()["results"][0]["reward"]
    server.drain()
    server.join()
    assert (got.status_code, got.headers["retry-after"], health, after) == (429, "1", 200, 1.0)
    assert got.json()["error"] == "as many requests as are answered at once are under way: 1"


def test_a_server_that_is_told_to_end_answers_what_it_has_taken():
    server = Running(settings(), grace=0.5)
    found = []
    asked = in_background(server.address, {"items": [item(SLEEP, timeout=50), item(RIGHT)]}, found)
    until(lambda: server.pool.running == 1)
    server.drain()
    asked.join()
    server.join()
    assert [one["reason"] for one in found[0].json()["results"]] == ["unavailable", "unavailable"]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.address}/health")


def test_who_is_refused_by_a_header_hears_why_while_a_body_is_sent():
    server = Running(settings(guard=Guard(token="t" * 20)))
    with socket.create_connection(("127.0.0.1", server.sock.getsockname()[1])) as link:
        link.sendall(
            b"POST /v1/mark HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 300000\r\n\r\n"
        )
        for _ in range(3):
            time.sleep(0.1)
            link.sendall(b"x" * 100_000)
        link.settimeout(10)
        answer = link.recv(100)
    server.drain()
    server.join()
    assert answer.startswith(b"HTTP/1.1 401")


def test_a_server_with_a_token_wants_it():
    server = Running(settings(guard=Guard(token="t" * 20)))
    with httpx.Client(base_url=server.address) as client:
        assert client.get("/health", headers={"Host": "node-7:8080"}).status_code == 200
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "t" * 20},
            {"Authorization": b"Bearer \xe9"},
        ):
            got = client.post("/v1/mark", json=GOOD, headers=headers)
            assert got.status_code == 401
            assert "send the header 'Authorization: Bearer ...'" in got.json()["error"]
        right = {"Authorization": "Bearer " + "t" * 20}
        assert client.post("/v1/mark", json=GOOD, headers=right).json()["results"][0]["reward"] == 1.0
    server.drain()
    server.join()


def test_an_answer_waits_for_no_acknowledgement():
    """Without TCP_NODELAY head and body of an answer were 40 ms apart (Nagle's algorithm beside delayed acknowledgements)."""

    async def main() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def took(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        sock = bind("127.0.0.1", 0)
        async with await asyncio.start_server(took, sock=sock):
            _, writer = await asyncio.open_connection(*sock.getsockname())
            found = await accepted
            writer.close()
        return found

    assert asyncio.run(main()) == 1


@pytest.mark.parametrize("prompt", ['print "x"\ndef f(x):\n', 'Complete:\n```python\ndef f(x):\n    """Double."""\n'])
def test_a_query_behind_a_prompt_that_is_no_python_is_undefined_and_not_wrong(client, prompt):
    body = {"query": [prompt + "    return 2 * x\n"], "prompts": [prompt], "labels": [{"tests": ["f(3) == 6"]}]}

    answered = client.post("/get_reward", json=body)

    assert (answered.status_code, "'prompt' is not Python" in answered.text) == (400, True), answered.text


def test_a_query_that_nobody_can_answer_is_not_to_be_asked_again(client):
    label = {"tests": TESTS}

    answered = client.post("/get_reward", json={"query": [None, RIGHT], "prompts": ["", ""], "labels": [label] * 2})

    assert (answered.status_code, answered.json()["error"]) == (
        400,
        "1 of 2 queries have no reward; the first: nobody answered: the code is null",
    )
    assert "retry-after" not in answered.headers


def test_a_caller_that_has_not_waited_may_say_so(client):
    assert mark(client, [item(RIGHT)], waited=0).status_code == 200


@pytest.mark.parametrize(
    ("host", "is_let_in"), [("127.0.0.2:80", True), ("[::1]:80", True), ("127.0.0.1.nip.io", False)]
)
def test_every_number_of_this_machine_is_its_own(host, is_let_in):
    try:
        Guard().check("/", {"host": host})
    except Refused as refused:
        assert (refused.status, is_let_in) == (421, False)
    else:
        assert is_let_in
