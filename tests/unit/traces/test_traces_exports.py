"""Logs of other tools, read the user's way: `markbook trace FILE --json`."""

import base64
import gzip
import json
import struct
import sys
import time
import types
import zipfile
import zlib

import pytest
from click.testing import CliRunner
from support.trace_logs import ADK, ATIF, CODEX, JAEGER, LANGFUSE, MINI, TAU2, observation

from markbook.cli import cli, main
from markbook.errors import DataError, ExtraMissingError
from markbook.traces import detect, read_trace

SAMPLE = {"id": 1, "epoch": 1, "messages": [{"role": "user", "content": "q"}], "scores": {"match": {"value": "C"}}}


@pytest.fixture
def written(tmp_path):
    def write(document, *, lines=False):
        path = tmp_path / "log.json"
        rows = [json.dumps(row) for row in document] if lines else [json.dumps(document)]
        path.write_text("\n".join(rows), encoding="utf-8")
        return path

    return write


def shown(path, *options):
    return json.loads(CliRunner().invoke(cli, ["trace", str(path), *options, "--json"], catch_exceptions=False).stdout)


def calls(path):
    return [(step.agent, step.name, step.ok, step.seconds) for step in read_trace(path).tools()]


def test_mini_swe_agent_runs_a_command_a_reply_in_every_version_of_the_format(written):
    path = written(MINI)
    found = shown(path)

    assert (found["tool_calls"], found["unrecognised"], found["cost"]) == (3, 0, 0.25)
    assert found["metrics"]["tool_success_rate"]["value"] == 0.5
    assert [(step.arguments, step.ok, step.error, step.seconds) for step in read_trace(path).tools()] == [
        ({"command": "ls"}, True, "", 2.5),
        ({"command": "make"}, False, "returncode 2", 1.0),
        ({"command": "submit"}, None, "", None),
    ]


def test_jaeger_spans_keep_their_tree_times_and_errors(written):
    path = written(JAEGER)
    found = shown(path)

    assert found["graph"]["edges"] == [{"from": "boss", "to": "aide", "messages": 1}]
    assert calls(path) == [("aide", "look", False, pytest.approx(30e-6, rel=0.1))]
    assert found["unrecognised_reasons"] == {"spans without agent, model or tool attributes": 1}
    assert read_trace(written(JAEGER["data"][0])).tool_calls == 1


def test_langfuse_counts_cached_tokens_once_wherever_they_stand(written):
    path = written(LANGFUSE)
    found = shown(path)

    # 60 + 40 beside it, and 20 with 8 inside
    assert (found["input_tokens"], found["cached_tokens"], found["output_tokens"]) == (120, 48, 8)
    # The other generation has tokens and no price: its cost is not 0.
    assert found["cost"] is None
    assert found["notes"] == ["the cost is unknown: 1 of 2 model calls have a price, $0.5000 together"]
    assert calls(path) == [("writer", "save", False, 5.0)]
    assert read_trace(path).tools()[0].arguments == {"path": "f"}
    assert found["unrecognised"] == 0


def test_langfuse_exports_are_read_in_every_shape(written):
    rows = LANGFUSE["observations"]
    whole = read_trace(written(LANGFUSE)).steps
    page = {"data": rows, "meta": {"page": 1}}
    flat = {"id": "t1", "name": "team", "observations": rows}
    names = {"traceId": "trace_id", "parentObservationId": "parent_observation_id", "startTime": "start_time",
             "endTime": "end_time", "usageDetails": "usage_details", "totalCost": "total_cost",
             "costDetails": "cost_details", "statusMessage": "status_message"}  # fmt: skip
    snake = [{names.get(key, key): value for key, value in row.items()} for row in rows]

    for document, lines in ((page, False), (flat, False), (rows, False), (rows, True), (snake, True)):
        path = written(document, lines=lines)
        assert detect(path) == "langfuse"
        assert read_trace(path).steps == whole


def test_a_langgraph_tool_goes_to_the_agent_that_asked_for_it(written):
    asks = {"content": "", "tool_calls": [{"name": "look", "args": {"q": 1}, "id": "c"}]}

    def node(name):
        return {"metadata": {"langgraph_node": name}}

    path = written([
        observation("r", "CHAIN", "LangGraph"),
        observation("n1", "CHAIN", "planner", "r", 1, **node("planner")),
        observation("g1", "GENERATION", "model", "n1", 2, output=asks, **node("planner")),
        observation("n2", "CHAIN", "critic", "r", 3, **node("critic")),
        observation("g2", "GENERATION", "model", "n2", 4, output={"content": "hm"}, **node("critic")),
        observation("n3", "CHAIN", "tools", "r", 5, **node("tools")),
        observation("x", "TOOL", "look", "n3", 6, input={"q": 1}, **node("tools")),
    ])  # fmt: skip
    found = shown(path)

    assert found["graph"]["tools"] == [{"agent": "planner", "tool": "look", "calls": 1}]
    assert found["notes"] == ["1 tool calls given to the agent whose model spoke before them"]


def test_a_langsmith_tool_node_is_no_agent_without_a_name(written):
    def run(identity, parent, kind, name, at, node, **more):
        return {
            "id": identity, "trace_id": "r", "parent_run_id": parent, "run_type": kind, "name": name,
            "start_time": f"2026-01-01T00:00:0{at}", "extra": {"metadata": {"langgraph_node": node}}, **more,
        }  # fmt: skip

    asks = {"generations": [[{"message": {"kwargs": {"tool_calls": [{"name": "look", "args": {}, "id": "c"}]}}}]]}
    path = written([
        run("r", None, "chain", "LangGraph", 0, None),
        run("p", "r", "chain", "planner", 1, "planner"),
        run("l", "p", "llm", "m", 2, "planner", outputs=asks),
        run("n", "r", "chain", "tools", 3, "tools"),
        run("t", "n", "tool", "look", 4, "tools", inputs={"input": "{}"}),
    ])  # fmt: skip

    assert shown(path)["graph"]["tools"] == [{"agent": "planner", "tool": "look", "calls": 1}]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Tokyo"])
@pytest.mark.parametrize(("last", "seconds"), [("", 3780), ("Z", 3780), ("+01:00", 3720)])
def test_times_do_not_depend_on_where_they_are_read(written, monkeypatch, zone, last, seconds):
    times = [("01:59:00", "03:01:00", ""), ("03:01:00", "03:02:00", last)]
    path = written([
        {"id": str(at), "trace_id": "t", "run_type": "tool", "name": "look", "inputs": {"q": "x"},
         "start_time": f"2024-03-31T{start}{zoned}", "end_time": f"2024-03-31T{end}{zoned}"}
        for at, (start, end, zoned) in enumerate(times)
    ])  # fmt: skip
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        found = shown(path)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert found["seconds"] == seconds


def test_adk_sessions_and_event_lists_hand_over_and_fail(written):
    path = written(ADK)
    found = shown(path)

    assert found["graph"]["edges"] == [{"from": "root", "to": "meteo", "messages": 1}]
    assert (found["cached_tokens"], found["seconds"]) == (12, 4.0)
    assert calls(path) == [("root", "transfer_to_agent", True, 0.5), ("meteo", "get_weather", False, 1.0)]
    messages = [(step.agent, step.name) for step in read_trace(path).steps if step.kind == "message"]
    assert messages == [
        ("", "user"), ("root", "assistant"), ("", "tool"), ("meteo", "assistant"), ("", "tool"), ("meteo", "assistant")
    ]  # fmt: skip
    assert read_trace(written(ADK["events"])).steps == read_trace(written(ADK)).steps
    snake = json.loads(
        json.dumps(ADK["events"])
        .replace("functionCall", "function_call").replace("functionResponse", "function_response")
        .replace("invocationId", "invocation_id").replace("usageMetadata", "usage_metadata")
        .replace("TokenCount", "_token_count").replace("cachedContent", "cached_content")
        .replace("transferToAgent", "transfer_to_agent")
    )  # fmt: skip
    assert read_trace(written(snake, lines=True)).steps == read_trace(written(ADK)).steps


def test_atif_joins_embedded_sub_agents_and_leaves_copied_steps_out(written):
    path = written(ATIF)
    found = shown(path)

    assert found["graph"]["edges"] == [{"from": "lead", "to": "lead k1", "messages": 1}]
    assert [(step.agent, step.name, step.result) for step in read_trace(path).tools()] == [
        ("lead", "bash", "a"),
        ("lead", "delegate", "ok"),
        ("lead k1", "grep", ""),
    ]
    assert (found["cost"], found["cached_tokens"]) == (0.03, 30)
    assert found["notes"] == ["1 steps copied from an earlier context, left out"]


def test_codex_counts_the_running_totals_once(written):
    path = written(CODEX, lines=True)
    found = shown(path)

    assert (found["input_tokens"], found["cached_tokens"], found["output_tokens"]) == (260, 130, 25)
    assert (found["seconds"], found["unrecognised"]) == (7.0, 0)
    assert calls(path) == [("codex", "shell", True, 2.0), ("codex", "apply_patch", False, 1.0)]


def test_codex_exec_events_are_read_too(written):
    path = written(
        [
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.started"},
            {"type": "item.started", "item": {"id": "i0", "type": "command_execution", "command": "ls"}},
            {"type": "item.completed", "item": {"id": "i0", "type": "command_execution", "command": "ls",
                                                "aggregated_output": "a", "exit_code": 1, "status": "failed"}},
            {"type": "item.completed", "item": {"id": "i1", "type": "mcp_tool_call", "server": "s", "tool": "find",
                                                "status": "completed"}},
            {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "done"}},
            {"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}},
            {"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 0, "output_tokens": 1}},
        ],
        lines=True,
    )  # fmt: skip
    found = shown(path)

    assert (found["format"], found["input_tokens"], found["output_tokens"]) == ("codex", 14, 3)
    assert [call[1:3] for call in calls(path)] == [("command_execution", False), ("find", True)]


def test_tau2_brings_reward_expected_actions_and_the_users_own_calls(written):
    found = shown(written(TAU2))

    assert found["metrics"]["tool_selection_accuracy"]["value"] == 1
    assert found["metrics"]["tool_success_rate"]["value"] == 0.5
    assert (found["cost"], found["input_tokens"]) == (0.2, 40)
    assert found["notes"] == ["the simulated user's tokens and cost are left out"]
    assert [(call[0], call[2]) for call in calls(written(TAU2))] == [("agent", True), ("user", False)]


def tempo_span(identity, parent, name, **held):
    def base(number, size):
        return base64.b64encode(number.to_bytes(size, "big")).decode()

    return {
        "traceId": base(77, 16), "spanId": base(identity, 8), "parentSpanId": base(parent, 8) if parent else "",
        "name": name, "startTimeUnixNano": str(1_700_000_000_000_000_000 + identity),
        "endTimeUnixNano": str(1_700_000_000_000_000_050 + identity), "status": {"code": "STATUS_CODE_OK"},
        "attributes": [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in held.items()],
    }  # fmt: skip


TEMPO = {
    "batches": [
        {
            "resource": {"attributes": []},
            "scopeSpans": [
                {
                    "scope": {"name": "x"},
                    "spans": [
                        tempo_span(
                            1, 0, "invoke_agent a", gen_ai__operation__name="invoke_agent", gen_ai__agent__name="a"
                        ),
                        tempo_span(
                            2, 1, "execute_tool t", gen_ai__operation__name="execute_tool", gen_ai__tool__name="t"
                        ),
                    ],
                }
            ],
        }
    ]
}


@pytest.mark.parametrize("around", [lambda held: held, lambda held: {"trace": held}, lambda held: [held]])
def test_tempo_batches_with_base64_ids_are_spans(written, around):
    path = written(around(TEMPO))

    assert detect(path) == "otlp"
    assert calls(path) == [("a", "t", True, pytest.approx(5e-8, abs=1e-6))]
    assert shown(path)["notes"] == []


def test_tempo_answers_with_older_scopes_and_gzip_are_read(tmp_path):
    older = json.dumps(TEMPO).replace("scopeSpans", "instrumentationLibrarySpans")
    path = tmp_path / "tempo.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"trace": json.loads(older)}).encode()))

    assert [call[:2] for call in calls(path)] == [("a", "t")]


def zstd_frame(content):
    """A Zstandard frame of one raw block, which packs nothing: header of four size bytes, then the block."""
    head = b"\x28\xb5\x2f\xfd" + b"\xa0" + struct.pack("<I", len(content))
    return head + (1 | len(content) << 3).to_bytes(3, "little") + content


def zstd_log(folder):
    """An Inspect log as Inspect packs it: members of method 93, which Python's zip writer cannot write."""
    name, content = b"samples/1_epoch_1.json", json.dumps(SAMPLE).encode()
    frame = zstd_frame(content)
    sizes = struct.pack("<IIIHH", zlib.crc32(content), len(frame), len(content), len(name), 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 63, 0, 93, 0, 33) + sizes + name
    entry = b"PK\x01\x02" + struct.pack("<HHHHHH", 63, 63, 0, 93, 0, 33) + sizes + struct.pack("<HHHII", 0, 0, 0, 0, 0)
    directory = entry + name
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), len(local) + len(frame), 0)
    path = folder / "log.eval"
    path.write_bytes(local + frame + directory + end)
    return path


def without_decoders(monkeypatch):
    for name in ("compression", "compression.zstd", "backports", "backports.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)


class RawFrames:
    """The two ways in which decoders are called, for frames of one raw block."""

    eof = needs_input = False

    def decompress(self, held, limit):
        self.eof = True
        return held[12:][:limit]

    def stream_reader(self, packed, *, read_across_frames):
        assert read_across_frames
        self._content = packed.read()[12:]
        return self

    def read(self, size):
        return self._content[:size]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


@pytest.mark.parametrize("name", ["compression.zstd", "backports.zstd", "zstandard"])
def test_inspects_zstandard_logs_are_read_where_a_decoder_is(tmp_path, monkeypatch, name):
    without_decoders(monkeypatch)
    module = types.ModuleType(name)
    module.ZstdDecompressor, module.ZstdError = RawFrames, EOFError
    monkeypatch.setitem(sys.modules, name.split(".", maxsplit=1)[0], types.ModuleType(name))
    monkeypatch.setitem(sys.modules, name, module)
    path = zstd_log(tmp_path)

    assert zipfile.ZipFile(path).infolist()[0].compress_type == 93
    assert (shown(path)["messages"], read_trace(path).success) == (1, True)
    path.write_bytes(path.read_bytes().replace(b'"epoch"', b'"epooh"'))
    with pytest.raises(DataError, match="bad CRC-32"):
        read_trace(path)


def test_inspects_zstandard_logs_say_what_to_install(tmp_path, monkeypatch, capsys):
    without_decoders(monkeypatch)

    with pytest.raises(SystemExit) as left:
        main(["trace", str(zstd_log(tmp_path))])

    assert left.value.code == ExtraMissingError.exit_code
    assert "pip install 'markbook[inspect]'" in capsys.readouterr().err
