"""What the reward server says to requests that no client of good will sends: a sentence, nothing run, nothing in the log."""

import asyncio
import base64
import json
import logging
import socket

import pytest
from support.exam_kit import problem, write_rows
from support.load import PATIENCE

pytest.importorskip("starlette", reason="pip install 'markbook[serve]'")
httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

from test_server import JSON, RIGHT, SLEEP, TESTS, Running, item, settings, until  # noqa: E402 - after the extra is known

from markbook.serve.guard import Guard  # noqa: E402
from markbook.serve.items import UnsupportedLanguage, toolchain  # noqa: E402

TOKEN = "t" * 20
HUGE = "1" + "0" * 4000
LABEL = {"tests": TESTS, "entry_point": "f"}


class Faults(logging.Handler):
    """Keeps what is logged as an error."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    write_rows(folder / "quiz.jsonl", [problem("t/1")])
    server = Running(settings(benchmarks=folder, guard=Guard(body=8 << 20, seconds=0.5)))
    yield server
    server.drain()
    server.join()


@pytest.fixture(autouse=True)
def quiet(running):
    """Hold that nothing is run, and no error logged."""
    faults, before = Faults(), running.pool.counts.copy()
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "markbook", "asyncio")]
    for logger in loggers:
        logger.addHandler(faults)
    yield
    for logger in loggers:
        logger.removeHandler(faults)
    assert faults.said == []
    assert {name: count for name, count in running.pool.counts.items() if name not in ("refused", "undefined")} == {
        name: count for name, count in before.items() if name not in ("refused", "undefined")
    }


@pytest.fixture(scope="module")
def client(running):
    with httpx.Client(base_url=running.address, timeout=PATIENCE) as made:
        yield made


def one(text):
    """Return the body of a batch of one item whose fields stand there as text."""
    return '{"items": [{"code": "x", "tests": ["f(1) == 1"], ' + text + "}]}"


DEEP = 60_000
MARKED = [
    (one('"timeout": 1e999'), "'timeout' is inf"),
    (one('"timeout": -1e999'), "'timeout' is -inf"),
    (one(f'"timeout": {HUGE}'), "'timeout' is 1000"),
    (one('"timeout": -Infinity'), "-Infinity is not a JSON number"),
    (one('"timeout": "5"'), "'timeout' is 5, which is text, and has to be a number"),
    (one('"timeout": [5]'), "'timeout' is [5]"),
    (one('"memory_mb": 1e12'), "'memory_mb' is 1000000000000.0"),
    (one('"memory_mb": -1'), "'memory_mb' is -1"),
    (one('"deadline": 0'), "'deadline' is 0"),
    (one(f'"deadline": {HUGE}'), "'deadline' is 1000"),
    (one('"deadline": {}'), "'deadline' is {}"),
    (one('"id": 1e999'), "'id' is neither"),
    (one('"id": true'), "'id' is neither"),
    (one('"id": "' + "i" * 201 + '"'), "'id' is neither"),
    (one('"id": {"a": 1}'), "'id' is neither"),
    (one('"code": "y"'), "the key 'code' stands twice"),
    (one('"entry_point": 5'), "'entry_point' is not a string"),
    (one('"entry_point": "' + "f" * 201 + '"'), "'entry_point' has 201 characters"),
    (one('"language": ["python"]'), "'language' is not a string"),
    (one('"language": "os:getcwd"'), "unsupported language 'os:getcwd'"),
    (one('"language": "../bash"'), "unsupported language '../bash'"),
    (one('"canonical": 5'), "'canonical' is not a string"),
    (one('"prompt": []'), "'prompt' is not a string"),
    (one('"kind": {}'), "'kind' is not a string"),
    (one('"kind": "program"'), "'kind' is 'program'"),
    (one('"__class__": 1'), "unknown field '__class__'"),
    (one('"": 1'), "unknown field ''"),
    (one('"' + "u" * 5000 + '": 1'), "unknown field 'uuuu"),
    (one('"task_id": "../../etc/passwd", "benchmark": "quiz"'), "'tests' beside 'benchmark'"),
    ('{"items": [{"code": "x", "benchmark": "quiz", "task_id": "../../etc/passwd"}]}', "has no task '../../etc/passwd'"),
    ('{"items": [{"code": "x", "benchmark": "quiz\\u0000", "task_id": "t/1"}]}', "there is no benchmark 'quiz\\x00'"),
    ('{"items": [{"code": "x", "benchmark": ["quiz"], "task_id": "t/1"}]}', "'benchmark' is not a string"),
    ('{"items": [{"code": "x", "benchmark": "quiz", "task_id": ["t/1"]}]}', "'task_id' is missing or no string"),
    ('{"items": [{"code": "x", "benchmark": ".", "task_id": "t/1"}]}', "there is no benchmark '.'"),
    ('{"items": {"0": 1}}', "'items' is not a list"),
    ('{"items": [[]]}', "items[0]: it is not an object"),
    ('{"items": null}', "'items' is not a list"),
    ('{"items": [], "items": [{"code": "x"}]}', "the key 'items' stands twice"),
    ('{"items": [1], "deadline": 1e999}', "'deadline' is inf"),
    ('{"items": [1], "deadline": -5}', "'deadline' is -5"),
    (f'{{"items": [1], "deadline": {HUGE}}}', "'deadline' is 1000"),
    ('{"items": [1], "deadline": "5"}', "'deadline' is 5, which is text, and has to be a number"),
    ('{"items": [1], "error_policy": ["zero"]}', "'error_policy' is "),
    ('{"items": [1], "detail": null}', "'detail' is neither true nor false"),
    ('{"items": [{"code": "x", "tests": ' + "[" * DEEP + "]" * DEEP + "}]}", "nested too deeply"),
    ('{"items": [{"code": "\\ud83d\\ude00", "tests": ' + "[" * 900 + "]" * 900 + "}]}", "it is neither a string"),
    (b'{"items": [{"code": "\xed\xa0\x80", "tests": "1"}]}', "the body is not UTF-8: byte 21"),
    ('{"items": []}'.encode("utf-16"), "the body is not UTF-8: byte 0"),
    ('{"items": []}'.encode("utf-8-sig"), "Unexpected UTF-8 BOM"),
    (b'{"items": [{"code": "\x00"}]}', "Invalid control character"),
    (b"", "the body is not JSON"),
    (b"null", "the body is not a JSON object"),
    (json.dumps({"items": [{"code": "x", "tests": ["(" * 5000]}]}), "the program does not parse"),
    (json.dumps({"items": [{"code": "x", "tests": ["-" * 100_000 + "1"]}]}), "the program does not parse"),
    (json.dumps({"items": [{"code": "x", "tests": [{"pattern": "(" * 5000 + ")" * 5000}]}]}), "not a regular expression"),
    (json.dumps({"items": [{"code": "x", "tests": [{"pattern": "a{99999999999}"}]}]}), "not a regular expression"),
    (json.dumps({"items": [{"code": "x", "tests": ["1," * (3 << 20)]}]}), "the tests are too long"),
    (json.dumps({"items": [{"code": "x", "tests": [{"inspection": ["a" * (5 << 20)]}]}]}), "the tests are too long"),
    (json.dumps({"items": [{"code": "x", "tests": [{"program": "x\0y"}]}]}), "the program does not parse"),
    (json.dumps({"items": [{"code": "x", "tests": [{"stdout": "1", "points": 10**400}]}]}), "'points' is 1000"),
    (json.dumps({"items": [{"code": "x", "tests": [{"stdout": "1", "stdin": 5}]}]}), "'stdin' is not a string"),
    (json.dumps({"items": [{"code": "x", "tests": [{"stdout": "1", "checker": "float:nan"}]}]}), "'nan' is not a distance"),
    (json.dumps({"items": [{"code": "x", "tests": [{"setup": None, "assertion": None}]}]}), "it is empty"),
]  # fmt: skip


OF_THE_ITEM = (
    "does not parse",
    "not a regular expression",
    "has no task",
    "is not a distance",
    "there is no benchmark",
)
UNMARKABLE = [case for case in MARKED if any(one in case[1] for one in OF_THE_ITEM)]
REFUSED = [case for case in MARKED if case not in UNMARKABLE]


@pytest.mark.parametrize(("body", "words"), UNMARKABLE, ids=range(len(UNMARKABLE)))
def test_a_hostile_item_that_nobody_can_mark_is_undefined(client, body, words):
    got = client.post("/v1/mark", content=body, headers=JSON)

    assert got.status_code == 200, got.text
    (reward,) = got.json()["results"]
    assert (reward["reward"], reward["reason"], words in reward["message"]) == (None, "undefined", True), got.text


@pytest.mark.parametrize(
    "field", ['"tests": [{"assertion": "\\udc00"}]', '"\\ud800": 1', '"tests": ["1"], "\\ud800": {"\\ud800": 1}']
)
def test_an_item_with_half_a_character_is_undefined_by_itself(client, field):
    got = client.post("/v1/mark", content=f'{{"items": [{{"code": "x", {field}}}]}}', headers=JSON)

    assert got.status_code == 200, got.text
    (result,) = got.json()["results"]
    assert (result["reward"], result["reason"]) == (None, "undefined")
    assert "half a character" in result["message"]


@pytest.mark.parametrize(("body", "words"), REFUSED, ids=range(len(REFUSED)))
def test_a_hostile_batch_is_refused_with_a_sentence(client, body, words):
    got = client.post("/v1/mark", content=body, headers=JSON)
    assert (got.status_code, words in got.json()["error"]) == (400, True), got.text


SCORED = [
    ('"id": 1e999', "items[0]: 'id' is neither"),
    ('"id": ' + "[" * 500 + "]" * 500, "items[0]: 'id' is neither"),
    ('"reference": 1', "items[0]: its references are neither"),
    ('"reference": "a", "references": ["b"]', "items[0]: it has 'reference' and 'references'"),
    ('"references": [["a"]]', "items[0]: its references are neither"),
    ('"weight": 1', "items[0]: unknown field 'weight'"),
]


@pytest.mark.parametrize(("fields", "words"), SCORED, ids=range(len(SCORED)))
def test_hostile_texts_are_refused_with_a_sentence(client, fields, words):
    body = '{"metrics": ["exact_match"], "items": [{"candidate": "a", ' + fields + "}]}"
    got = client.post("/v1/score", content=body, headers=JSON)
    assert (got.status_code, words in got.json()["error"]) == (400, True), got.text


def file(text=""):
    return base64.b64encode(text.encode()).decode()


RUN = [
    ('"compile_timeout": 1e999', 400, "'compile_timeout' is inf"),
    (f'"run_timeout": {HUGE}', 400, "'run_timeout' is 1000"),
    ('"run_timeout": null', 400, "'run_timeout' is None"),
    ('"run_timeout": true', 400, "'run_timeout' is True"),
    ('"memory_limit_MB": 1e999', 400, "'memory_limit_MB' is inf"),
    ('"memory_limit_MB": "64"', 400, "'memory_limit_MB' is 64"),
    ('"language": "' + "x" * 100_000 + '"', 400, "the key 'language' stands twice"),
    ('"stdin": ["a"]', 400, "'stdin' is neither a string nor null"),
    ('"files": ""', 400, "'files' is not an object"),
    ('"files": []', 400, "'files' is not an object"),
    ('"files": {"a": 5}', 400, "'a' is not a base64"),
    ('"files": {"a": "\\u00e9"}', 400, "'a' is not a base64"),
    ('"files": {"a": "YQ==", "a/b": "YQ=="}', 400, "files: 'a' is a file and a folder"),
    ('"files": {"' + "é" * 200 + '": "YQ=="}', 400, "not a plain path"),
    ('"files": {"a//b": "YQ=="}', 400, "not a plain path"),
    ('"files": {"a/./b": "YQ=="}', 400, "not a plain path"),
    ('"files": {"..": "YQ=="}', 400, "not a plain path"),
    ('"files": {"a\\u0000": "YQ=="}', 400, "not a plain path"),
    ('"files": {"a\\nb": "YQ=="}', 400, "not a plain path"),
    ('"files": {".markbook-main.py": "YQ=="}', 400, "not a plain path"),
    ('"files": {".markbook-main.py/x": "YQ=="}', 400, "'.markbook-main.py' is a file and a folder"),
    ('"files": {' + ", ".join(f'"{number}": "YQ=="' for number in range(65)) + "}", 400, "65 files are too many"),
    ('"fetch_files": ""', 400, "'fetch_files' is not a list"),
    ('"fetch_files": {}', 400, "'fetch_files' is not a list"),
    ('"fetch_files": [5]', 400, "'5' is not a plain path"),
    ('"fetch_files": ["/etc/passwd"]', 400, "'/etc/passwd' is not a plain path"),
    ('"fetch_files": ["a/../../b"]', 400, "not a plain path"),
]


@pytest.mark.parametrize(("fields", "status", "words"), RUN, ids=range(len(RUN)))
def test_a_hostile_program_request_is_refused_with_a_sentence(client, fields, status, words):
    got = client.post("/run_code", content='{"code": "1", "language": "python", ' + fields + "}", headers=JSON)
    assert (got.status_code, words in got.json()["error"]) == (status, True), got.text


def test_a_language_with_an_endless_name_is_refused(client):
    got = client.post("/run_code", json={"code": "1", "language": "x" * 100_000})
    assert (got.status_code, got.json()["error"]) == (400, "'language' has 100000 characters (at most 80)")


@pytest.mark.parametrize("language", ["bash", "cpp"])
def test_files_that_stand_where_a_program_does_are_refused(client, language):
    try:
        tool = toolchain(language)
    except UnsupportedLanguage as error:
        pytest.skip(str(error))
    body = {"code": "1", "language": language, "files": {f"{tool.language.source}/a": file()}}
    got = client.post("/run_code", json=body)
    assert (got.status_code, "is a file and a folder" in got.json()["error"]) == (400, True), got.text


LABELS = [
    ({"query": ["x"], "labels": ["[" * 100_000]}, "labels[0] is nested too deeply"),
    ({"query": ["x"], "labels": ['{"tests": ["\\ud800"]}']}, "labels[0]: a text holds half a character"),
    ({"query": ["x"], "labels": ['{"tests": NaN}']}, "labels[0] is not JSON: NaN"),
    ({"query": ["x"], "labels": ['{"tests": "1", "tests": "2"}']}, "labels[0] is not JSON: the key 'tests' stands twice"),
    ({"query": ["x"], "labels": ["42"]}, "labels[0] is not a JSON object"),
    ({"query": ["x"], "labels": [None]}, "labels[0] says not by what to mark"),
    ({"query": ["x"], "labels": [{**LABEL, "code": "y"}]}, "labels[0] says not by what to mark"),
    ({"query": "x", "labels": [LABEL]}, "'query' is not a list"),
    ({"query": ["x"], "labels": [LABEL, LABEL]}, "not equally long"),
    ({"query": [["x"]], "labels": [LABEL]}, "'completion' is not a string"),
    ({"query": ["x"], "prompts": ["p", "q"], "labels": [LABEL]}, "not equally long"),
    ({"query": [], "labels": [LABEL]}, "not equally long"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), LABELS, ids=range(len(LABELS)))
def test_hostile_labels_are_refused_with_a_sentence(client, body, words):
    got = client.post("/get_reward", json={"prompts": [""] * len(body["query"]), **body})
    assert (got.status_code, words in got.json()["error"]) == (400, True), got.text


HEADERS = [
    ({"Origin": "http://["}, 403, "a page of another site"),
    ({"Origin": "null"}, 403, "a page of another site"),
    ({"Host": "["}, 421, "127.0.0.1"),
    ({"Host": "localhost@evil.example"}, 421, "127.0.0.1"),
    ({"Host": "localhost:1@evil.example"}, 421, "127.0.0.1"),
    ({"Host": ""}, 421, "127.0.0.1"),
    ({"Content-Encoding": "gzip"}, 415, "packed by 'gzip'"),
    ({"Content-Type": "text/json"}, 415, "send 'Content-Type: application/json'"),
    ({"Content-Type": "x" * 5000}, 415, "send 'Content-Type: application/json'"),
]


@pytest.mark.parametrize(("headers", "status", "words"), HEADERS, ids=range(len(HEADERS)))
def test_hostile_headers_are_refused_with_a_sentence(client, headers, status, words):
    got = client.post("/v1/mark", content=b"{}", headers={**JSON, **headers})
    assert (got.status_code, words in got.json()["error"]) == (status, True), got.text


def talk(running, data, *, wait=10):
    """Return what the server says to bytes, up to the end of the connection or so many seconds."""
    with socket.create_connection(("127.0.0.1", running.sock.getsockname()[1])) as link:
        link.settimeout(wait)
        link.sendall(data)
        found = b""
        try:
            while part := link.recv(1 << 16):
                found += part
        except (TimeoutError, ConnectionResetError):  # closed with something of ours unread
            pass
    return found


POST = b"POST /v1/mark HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
RAW = [
    (b"GARBAGE\r\n\r\n", b" 400 "),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b" 400 "),
    (b"POST /v1/mark HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", b" 400 "),
    (POST + b"Content-Length: -1\r\n\r\n", b" 400 "),
    (POST + b"Content-Length: 0x10\r\n\r\n", b" 400 "),
    (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b" 400 "),
    (POST + b"Content-Length: 99999999999999999999\r\n\r\n", b" 413 "),
    (POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b" 400 "),
    (POST + b"Transfer-Encoding: gzip\r\n\r\n{}", b" 400 "),
    (POST + b"Transfer-Encoding: chunked\r\n\r\nZ\r\n", b" 400 "),
    (POST + b"X: " + b"a" * 65_536, b" 400 "),
    (b"HEAD /v1/mark HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b" 405 "),
    (b"OPTIONS /v1/mark HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b" 405 "),
    (b"BREW /run_code HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b" 405 "),
    (b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b" 404 "),
    (b"GET /%ff%ed%a0%80 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b" 404 "),
    (b"GET /health HTTP/1.0\r\n\r\n", b" 421 "),
]


@pytest.mark.parametrize(("data", "status"), RAW, ids=range(len(RAW)))
def test_torn_and_forged_http_is_refused(running, data, status):
    found = talk(running, data)
    assert status in found.split(b"\r\n", 1)[0], found[:300]


def test_requests_that_come_in_one_piece_are_answered_one_after_the_other(running):
    get = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = get.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert talk(running, get * 49 + last).count(b'"status":"ok"') == 50


def test_a_body_that_never_ends_is_given_up(running):
    found = talk(running, POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n     \r\n")
    assert b" 408 " in found.split(b"\r\n", 1)[0]


def test_a_caller_who_wants_leave_to_send_gets_it_or_a_refusal(running):
    asks = POST + b"Content-Length: 2\r\nExpect: 100-continue\r\n"
    assert talk(running, asks + b"\r\n").startswith(b"HTTP/1.1 100 ")
    assert b" 421 " in talk(running, asks.replace(b"localhost", b"evil.example") + b"\r\n").split(b"\r\n", 1)[0]


@pytest.mark.parametrize("data", [b"", b"POST /v1/mark HTTP/1.1\r\nHost: local"])
def test_a_connection_without_a_request_is_closed(running, data):
    with socket.create_connection(("127.0.0.1", running.sock.getsockname()[1])) as link:
        link.settimeout(20)
        link.sendall(data)
        assert link.recv(1) == b""  # else it times out


def test_work_ends_when_the_reader_of_a_stream_leaves(running):
    pool = running.pool
    body = json.dumps({"items": [item(SLEEP, timeout=50)]}).encode()
    asks = POST + b"Accept: application/x-ndjson\r\n" + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    cancelled = pool.counts["cancelled"]
    with socket.create_connection(("127.0.0.1", running.sock.getsockname()[1])) as link:
        link.sendall(asks)
        until(lambda: pool.running == 1)
    until(lambda: pool.counts["cancelled"] == cancelled + 1 and not pool._works)
    del pool.counts["cancelled"]


def test_work_ends_whose_reader_left_before_the_stream_began(running):
    pool = running.pool
    body = json.dumps({"items": [item(SLEEP, timeout=50)]}).encode()
    said = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive():
        return next(said, {"type": "http.disconnect"})

    async def send(_message):
        await asyncio.sleep(0)

    names = {"host": "localhost", "content-type": "application/json", "accept": "application/x-ndjson"}
    headers = [(name.encode(), text.encode()) for name, text in names.items()]
    scope = {"type": "http", "method": "POST", "path": "/v1/mark", "headers": headers, "query_string": b""}
    answered = running.server.config.app(scope, receive, send)
    asyncio.run_coroutine_threadsafe(answered, running._loop).result(PATIENCE)
    assert (pool.counts["cancelled"], pool._works) == (1, {})
    del pool.counts["cancelled"]


def test_a_token_is_compared_with_care(tmp_path):
    server = Running(settings(guard=Guard(token=TOKEN)))
    refused = [
        f"Bearer {TOKEN.upper()}", f"Bearer  {TOKEN[:-1]}", f"Basic {TOKEN}", "Bearer", f"Bearer {TOKEN} {TOKEN}", TOKEN,
    ]  # fmt: skip
    with httpx.Client(base_url=server.address) as client:
        for text in refused:
            got = client.post("/v1/mark", content=b"{}", headers={**JSON, "Authorization": text})
            assert (got.status_code, "send the header 'Authorization: Bearer ...'" in got.json()["error"]) == (
                401,
                True,
            )
        twice = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer x"), *JSON.items()]
        assert client.post("/v1/mark", content=b"{}", headers=twice).status_code == 401
        for scheme in ("Bearer", "bearer", "BEARER"):
            got = client.post("/v1/mark", content=b"{}", headers={**JSON, "Authorization": f"{scheme} {TOKEN}"})
            assert got.status_code == 400
        right = {"Authorization": f"Bearer {TOKEN}"}
        for path in ("/v1/mark", "/nothing"):
            got = client.get(path, headers={**right, "Host": "["})
            assert got.status_code in (404, 405)
            assert path in got.json()["error"]
    server.drain()
    server.join()


def test_an_assertion_that_is_too_deep_to_be_taken_apart_is_run_as_it_stands(running):
    from markbook.serve.items import BenchmarkShelf, Defaults, read_item

    text = f"assert f({'1+' * 900}1) == 901"
    order = read_item({"code": RIGHT, "tests": [text]}, "items[0]", BenchmarkShelf(), Defaults())
    assert order.sample.tests[0].program == text
