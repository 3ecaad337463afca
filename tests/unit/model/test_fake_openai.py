"""The fake server itself: a fixture that lies would make every judge test worthless."""

import http.client
import json
import socket
import urllib.error
import urllib.request

import pytest
from support.fake_openai import FAULTS, FakeOpenAI, Reply, fill, structured, text

TOOL = {
    "function": {"name": "final_result", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
}


def post(server, body, timeout=5.0):
    request = urllib.request.Request(
        f"{server.base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        return reply.read()


def test_answers_in_the_way_that_was_asked():
    with FakeOpenAI() as server:
        by_tool = json.loads(post(server, {"tools": [TOOL]}))
        by_text = json.loads(
            post(server, {"response_format": {"json_schema": {"schema": TOOL["function"]["parameters"]}}})
        )

    assert by_tool["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"a": 4}'
    assert by_text["choices"][0]["message"]["content"] == '{"a": 4}'
    assert server.calls == 2


def test_a_list_script_repeats_its_last_reply():
    with FakeOpenAI([text("one"), text("two")]) as server:
        said = [json.loads(post(server, {}))["choices"][0]["message"]["content"] for _ in range(3)]

    assert said == ["one", "two", "two"]


@pytest.mark.parametrize(("name", "status"), [("429_seconds", 429), ("429_date", 429), ("500", 500), ("401", 401)])
def test_errors_carry_their_status(name, status):
    with FakeOpenAI(FAULTS[name]) as server, pytest.raises(urllib.error.HTTPError) as caught:
        post(server, {"tools": [TOOL]})

    assert caught.value.code == status
    assert name != "429_date" or caught.value.headers["Retry-After"].endswith("GMT")
    caught.value.close()


def test_a_cut_reply_breaks_off():
    with FakeOpenAI(FAULTS["cut"]) as server, pytest.raises(http.client.IncompleteRead):
        post(server, {"tools": [TOOL]})


def test_a_slow_drip_outlasts_a_client():
    with FakeOpenAI(FAULTS["slow_drip"]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server._server.server_address[1], timeout=0.1)
        connection.request("POST", "/v1/chat/completions", b"{}")
        with pytest.raises(TimeoutError):
            connection.getresponse().read()
        connection.close()


def test_fill_follows_references_and_keeps_lists_empty():
    schema = {
        "$defs": {
            "Mark": {"type": "object", "properties": {"score": {"type": "integer"}, "quotes": {"type": "array"}}}
        },
        "properties": {"first": {"$ref": "#/$defs/Mark"}},
    }

    assert fill(schema, integer=2) == {"first": {"score": 2, "quotes": []}}


def test_structured_text_when_no_tool_is_offered():
    assert b"tool_calls" not in structured({}, "{}").body


def test_what_the_dead_have_sent_is_counted_once_it_has_settled():
    server = FakeOpenAI([Reply(seconds=0.1)])
    for _ in range(3):
        with socket.create_connection(server._server.server_address) as client:
            client.sendall(b"POST /v1 HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")

    with server:
        server.settle()
        assert server.calls == 3
