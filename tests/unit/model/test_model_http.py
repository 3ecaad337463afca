"""The lean HTTP client: what a server may send, held against a general client, and what it may not."""

import asyncio
import json

import httpx2
import pytest
from support.fake_openai import FakeOpenAI, Reply, text
from support.load import PATIENCE

from markbook import plugins
from markbook.errors import IncompleteError, UsageError
from markbook.model import GenerationSettings, PromptRequest
from markbook.model.budget import Price, parse_price
from markbook.model.connect import lean_address
from markbook.model.http import TRIP, Address, Garbled, HttpClient, NotFollowed, Trip, Unreached

BODY = json.dumps({"answer": "å" * 40}).encode()
OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKS = b"5\r\n%s\r\n%x; ext=1\r\n%s\r\n0\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:])

GOOD = {
    "a length": OK + LENGTH + b"\r\n" + BODY,
    "chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "trailers": OK + b"transfer-encoding: Chunked\r\n\r\n" + CHUNKS[:-2] + b"X-Sum: 1\r\n\r\n",
    "neither": OK + b"Connection: close\r\n\r\n" + BODY,
    "an older protocol": b"HTTP/1.0 200 OK\r\n" + LENGTH + b"\r\n" + BODY,
    "continue first": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + LENGTH + b"\r\n" + BODY,
    "no reason": b"HTTP/1.1 500 \r\n" + LENGTH + b"\r\n" + BODY,
    "nothing": b"HTTP/1.1 204 No Content\r\n\r\n",
    "the same length twice": OK + LENGTH + LENGTH + b"\r\n" + BODY,
}
BAD = {
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "two lengths": OK + LENGTH + b"Content-Length: 3\r\n\r\n" + BODY,
    "a length below nothing": OK + b"Content-Length: -1\r\n\r\n",
    "a length beyond all": OK + b"Content-Length: 99999999999999999999\r\n\r\n",
    "a body cut short": OK + LENGTH + b"\r\n" + BODY[:-1],
    "a head without end": OK + b"X: y\r\n" * 20_000,
    "a header that is none": OK + b"what is this\r\n\r\n",
    "an unknown coding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS,
    "compressed": OK + b"Content-Encoding: gzip\r\n" + LENGTH + b"\r\n" + BODY,
    "a chunk of no size": OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n" + BODY,
    "a chunk beyond all": OK + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n" + BODY,
    "chunks cut short": OK + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS[:-5],
    "nothing at all": b"",
}


class Raw:
    """Sends the same bytes to every request, in pieces, and counts connections."""

    def __init__(self, reply, piece=7, *, stays=False):
        self.reply, self.piece, self.stays, self.connections, self.requests = reply, piece, stays, 0, 0

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_error):
        self.server.close()

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
                await reader.readexactly(int(length.partition(b":")[2]))
                self.requests += 1
                for start in range(0, len(self.reply), self.piece):
                    writer.write(self.reply[start : start + self.piece])
                    await writer.drain()
                    if self.piece < 100:
                        await asyncio.sleep(0)
                if not self.stays:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


def fetch(reply, count=1, **options):
    async def run():
        async with Raw(reply, **options) as server:
            client = HttpClient(Address.parse(server.url), {})
            try:
                found = [await asyncio.wait_for(client.post("/v1/x", b"{}"), PATIENCE) for _ in range(count)]
            finally:
                await client.close()
            return found, server

    return asyncio.run(run())


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_what_a_server_may_send_is_read_as_a_general_client_reads_it(name, piece):
    async def general():
        async with Raw(GOOD[name], piece) as server, httpx2.AsyncClient() as client:
            return await client.post(server.url, json={})

    expected = asyncio.run(general())
    (found,), _ = fetch(GOOD[name], piece=piece)

    assert (found.status, found.body) == (expected.status_code, expected.content)


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_reply_is_none(name):
    with pytest.raises(Garbled):
        fetch(BAD[name], piece=4096)


@pytest.mark.parametrize(("name", "connections"), [("a length", 1), ("chunks", 1), ("an older protocol", 3)])
def test_a_connection_is_used_again_where_the_server_keeps_it(name, connections):
    found, server = fetch(GOOD[name], count=3, stays=True, piece=4096)

    assert [each.body for each in found] == [BODY] * 3
    assert (server.connections, server.requests) == (connections, 3)


def test_what_comes_behind_a_reply_is_no_answer_to_the_next_question():
    forged = OK + b"Content-Length: 2\r\n\r\nno"

    found, server = fetch(GOOD["a length"] + forged, count=2, stays=True, piece=100_000)

    assert ([each.body for each in found], server.connections) == ([BODY] * 2, 2)


def test_where_nothing_listens_the_address_is_named():
    with pytest.raises(Unreached, match=r"no server answers at http://127\.0\.0\.1:1"):
        asyncio.run(HttpClient(Address.parse("http://127.0.0.1:1/v1"), {}).post("/v1", b""))


def redirected(location, status=307):
    async def run():
        TRIP.set(Trip(3))
        reply = b"HTTP/1.1 %d R\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, location)
        async with Raw(reply, 4096, stays=True) as server:
            client = HttpClient(Address.parse(server.url), {})
            try:
                return await client.post("/v1", b"{}")
            finally:
                await client.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("location", "status", "words"),
    [
        (b"http://127.0.0.2:9/v1", 307, "another server"),
        (b"//evil.example/v1", 308, "another server"),
        (b"https://127.0.0.1/v1", 307, "another server"),
        (b"/v2", 302, "drops the question"),
        (b"/v2", 303, "drops the question"),
        (b"/v2", 307, "after 3 requests"),
    ],
)
def test_a_redirect_is_followed_within_the_server_and_counted(location, status, words):
    with pytest.raises(NotFollowed, match=words):
        redirected(location, status)


def test_a_path_cannot_smuggle_a_header():
    address = Address.parse("http://localhost:1/v1 HTTP/1.1\r\nX: y/é")

    assert address.path == "/v1%20HTTP/1.1X:%20y/%C3%A9"


# As the generator uses it


def ask(script, count=1, *, model="openai:m", settings=None, **options):
    with FakeOpenAI(script) as server:
        generator = plugins.create("generators", "model", model=model, base_url=server.base_url, **options)
        found = []
        wanted = [
            PromptRequest(("t", str(n), 0), f"q{n}", settings=settings or GenerationSettings()) for n in range(count)
        ]
        generator.generate(wanted, found.append)
        return found, server.requests


def test_a_compatible_server_is_asked_without_the_providers_package():
    import subprocess
    import sys

    with FakeOpenAI(lambda _r, _n: text("hi")) as server:
        program = (
            "import sys\nfrom markbook import plugins\nfrom markbook.model import PromptRequest\n"
            f"made = plugins.create('generators', 'model', model='openai:m', base_url={server.base_url!r})\n"
            "made.check()\nmade.generate([PromptRequest(('t', '0', 0), 'q')], lambda reply: print(reply.text))\n"
            "print(sorted({'pydantic_ai', 'openai', 'httpx2', 'httpx'} & sys.modules.keys()))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "hi\n[]\n"


def test_a_servers_own_thinking_is_no_part_of_its_answer():
    found, _ = ask(lambda _r, _n: text("<think>2 + 2</think>\n4\n<think>open"))

    assert found[0].text == "\n4\n"


def test_no_more_than_four_stop_texts_are_sent_and_all_of_them_cut():
    found, received = ask(lambda _r, _n: text("one E two"), settings=GenerationSettings(stop=("A", "B", "C", "D", "E")))

    assert (received[0]["stop"], found[0].text) == (["A", "B", "C", "D"], "one ")


def test_cached_tokens_are_billed_at_their_own_price():
    body = json.loads(text("hi").body)
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 60}

    found, _ = ask(lambda _r, _n: Reply(json.dumps(body).encode()), price="10/100/1")

    # 40 new tokens at 10, 60 known ones at 1, 20 written at 100, for a million each
    assert found[0].cost == pytest.approx((40 * 10 + 60 * 1 + 20 * 100) / 1e6)


def test_a_price_without_a_word_on_cached_tokens_bills_them_in_full():
    assert parse_price("10/100").of(100, 20, 60) == pytest.approx(100 * 10e-6 + 20 * 100e-6)
    assert Price(10, 100, 1).of(100, 0, 400) == pytest.approx(100 * 1e-6)


def test_a_server_that_is_not_there_is_named_before_anything_is_asked():
    generator = plugins.create("generators", "model", model="openai:m", base_url="http://127.0.0.1:1/v1")

    with pytest.raises(IncompleteError, match=r"no server answers at http://127\.0\.0\.1:1: Connection refused"):
        generator.check()


def test_a_key_with_a_line_break_goes_nowhere(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret\r\nX-Evil: 1")

    with pytest.raises(UsageError, match="what no key can"):
        ask(lambda _r, _n: text("hi"))


@pytest.mark.parametrize("address", ["http://user:word@127.0.0.1:1/v1", "http://127.0.0.1:1/v1?key=1"])
def test_an_address_with_a_login_or_a_query_goes_another_way(monkeypatch, address):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)

    assert lean_address("openai:m", "http://127.0.0.1:1/v1").host == "127.0.0.1"
    assert lean_address("openai:m", address) is None
    with pytest.raises(UsageError, match="without a login, a query or a proxy"):
        lean_address("completions:m", address)
