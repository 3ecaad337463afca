"""Traces made here: by our own recorder, and by pydantic-ai through the real OpenTelemetry SDK."""

import asyncio
import functools
import json
import threading

import pytest
from click.testing import CliRunner

from markbook.cli import cli
from markbook.errors import OutputError
from markbook.metrics.graph import trace_metrics
from markbook.traces import detect, read_trace
from markbook.traces.recorder import Recorder, instrument


def test_what_is_recorded_is_read_back(tmp_path):
    path = tmp_path / "run.jsonl"
    with Recorder(path) as record:

        @record.trace_tool
        def search(query, limit=3):
            return [query] * limit

        with record.agent("manager"):
            with record.model("m", input_tokens=10, output_tokens=2) as reply:
                reply.attributes["gen_ai.usage.output_tokens"] = 5
            with record.tool("delegate", {"to": "helper"}) as outer, record.agent("helper"):
                assert search("x", limit=2) == ["x", "x"]
                outer.result = "ok"
    trace = read_trace(path)

    assert detect(path) == "otlp"
    assert (trace.agents, trace.tool_calls, trace.input_tokens, trace.output_tokens) == (
        ("manager", "helper"),
        2,
        10,
        5,
    )
    assert [(step.agent, step.name, step.arguments, step.result) for step in trace.tools()] == [
        ("manager", "delegate", {"to": "helper"}, "ok"),
        ("helper", "search", {"query": "x", "limit": 2}, '["x", "x"]'),
    ]
    assert [(step.agent, step.target) for step in trace.interactions()] == [("manager", "helper")]


def test_a_failing_tool_is_recorded_and_its_error_goes_on(tmp_path):
    path = tmp_path / "run.jsonl"
    with Recorder(path) as record, record.agent("a"), pytest.raises(ZeroDivisionError), record.tool("divide"):
        _ = 1 / 0
    [call] = read_trace(path).tools()

    assert (call.ok, call.error) == (False, "ZeroDivisionError")


def test_a_call_with_wrong_arguments_is_a_failed_call(tmp_path):
    path = tmp_path / "run.jsonl"
    with Recorder(path) as record:

        @record.trace_tool
        def search(query):
            return query

        @record.trace_tool
        async def fetch(page):
            return page

        with record.agent("a"):
            search("x")
            with pytest.raises(TypeError, match="missing 1 required positional argument"):
                search()
            with pytest.raises(TypeError, match="unexpected keyword"):
                search(qery="x")
            with pytest.raises(TypeError, match="takes 1 positional argument but 2"):
                asyncio.run(fetch(1, 2))
    shown = json.loads(CliRunner().invoke(cli, ["trace", str(path), "--json"], catch_exceptions=False).stdout)

    assert [(call.name, call.ok, call.error, call.arguments) for call in read_trace(path).tools()] == [
        ("search", True, "", {"query": "x"}),
        ("search", False, "TypeError", {}),
        ("search", False, "TypeError", {"qery": "x"}),
        ("fetch", False, "TypeError", {"0": 1, "1": 2}),
    ]
    assert shown["metrics"]["tool_success_rate"]["value"] == 0.25


def test_partials_and_builtins_without_a_signature_are_recorded_too(tmp_path):
    path = tmp_path / "run.jsonl"
    with Recorder(path) as record:
        assert record.trace_tool(functools.partial(divmod, 7))(2) == (3, 1)
        assert record.trace_tool(max)(1, 2) == 2

    assert [(call.name, call.arguments) for call in read_trace(path).tools()] == [
        ("divmod", {"y": 2}),
        ("max", {"0": 1, "1": 2}),
    ]


def test_tasks_keep_their_own_agents(tmp_path):
    path = tmp_path / "run.jsonl"

    async def work(record, name):
        @record.trace_tool
        async def nap(seconds):
            await asyncio.sleep(seconds)

        with record.agent(name):
            await nap(0.001)

    async def team(record):
        with record.agent("lead"):
            await asyncio.gather(*(work(record, f"w{at}") for at in range(4)))

    with Recorder(path) as record:
        asyncio.run(team(record))
    trace = read_trace(path)

    assert sorted(step.agent for step in trace.tools()) == ["w0", "w1", "w2", "w3"]
    assert sorted((step.agent, step.target) for step in trace.interactions()) == [("lead", f"w{at}") for at in range(4)]


def test_threads_write_whole_lines(tmp_path):
    path = tmp_path / "run.jsonl"

    def work(record):
        for at in range(50):
            with record.agent("a"), record.tool("t", {"n": at, "word": "\u2028\ud800"}):
                pass

    with Recorder(path) as record:
        threads = [threading.Thread(target=work, args=(record,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = read_trace(path)

    assert trace.tool_calls == 200
    assert not trace.unrecognised


def test_a_path_that_cannot_be_written_is_said_before_any_work(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"), Recorder(tmp_path / "no" / "run.jsonl"):
        pass
    with pytest.raises(OutputError, match="closed"), Recorder(tmp_path / "run.jsonl").tool("t"):
        pass


def team_of_agents():
    from pydantic_ai import Agent, ModelRetry, RunContext
    from pydantic_ai.models.test import TestModel

    researcher = Agent(TestModel(), name="researcher")
    writer = Agent(TestModel(), name="writer")
    manager = Agent(TestModel(), name="manager", retries=2)
    attempts = []

    @researcher.tool_plain
    def lookup(topic: str) -> str:
        attempts.append(topic)
        if len(attempts) == 1:
            raise ModelRetry("say more")
        return f"found {topic}"

    @manager.tool
    async def ask_researcher(ctx: RunContext, query: str) -> str:
        return (await researcher.run(query, usage=ctx.usage)).output

    @manager.tool
    async def ask_writer(ctx: RunContext, query: str) -> str:
        return (await writer.run(query, usage=ctx.usage)).output

    return manager


def check_team(trace, usage):
    assert trace.format == "otlp"
    assert set(trace.agents) == {"manager", "researcher", "writer"}
    assert sorted((step.agent, step.target, step.name) for step in trace.interactions()) == [
        ("manager", "researcher", "delegation"),
        ("manager", "writer", "delegation"),
    ]
    calls = sorted((step.agent, step.name, step.ok) for step in trace.tools())
    assert calls == [
        ("manager", "ask_researcher", True),
        ("manager", "ask_writer", True),
        ("researcher", "lookup", False),
        ("researcher", "lookup", True),
    ]
    # The shared usage counts every model call once, and so must we.
    assert (trace.input_tokens, trace.output_tokens) == (usage.input_tokens, usage.output_tokens)
    assert not trace.unrecognised
    found = trace_metrics(trace)
    assert found["tool_success_rate"].value == pytest.approx(3 / 4)
    assert found["communication_overhead"].value == 1
    # a one-way star of three: betweenness 0, closeness of a receiver 1/2, its degree 1/2 halved
    assert found["coordination_centrality"].value == pytest.approx((0 + 0.5 + 0.25) / 3)
    # two calls each, none for the writer: mean 4/3, sample sd sqrt(4/3)
    assert found["task_distribution_balance"].value == pytest.approx(1 - (4 / 3) ** 0.5 / (4 / 3))


def test_a_pydantic_ai_team_is_written_read_back_and_scored(tmp_path):
    path = tmp_path / "run.jsonl"
    with instrument(path):
        usage = asyncio.run(team_of_agents().run("go")).usage
    read = read_trace(path)
    before = path.stat().st_size
    asyncio.run(team_of_agents().run("go"))

    check_team(read, usage)
    assert path.stat().st_size == before  # nothing is written once it is over


def test_the_sdks_own_exporter_reads_the_same(tmp_path):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    path = tmp_path / "spans.json"
    with path.open("w", encoding="utf-8") as file:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=file)))
        Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
        try:
            usage = asyncio.run(team_of_agents().run("go")).usage
        finally:
            Agent.instrument_all(False)
            provider.shutdown()

    check_team(read_trace(path), usage)


def test_the_message_history_reads_too(tmp_path):
    path = tmp_path / "messages.json"
    result = asyncio.run(team_of_agents().run("go"))
    path.write_bytes(result.all_messages_json())
    trace = read_trace(path)

    assert trace.format == "pydantic-ai"
    assert sorted((step.name, step.ok) for step in trace.tools()) == [("ask_researcher", True), ("ask_writer", True)]
    assert not trace.unrecognised


def test_a_number_that_json_has_not_is_spelled_as_protobuf_does(tmp_path):
    path = tmp_path / "run.jsonl"
    with Recorder(path) as record, record.model("m") as reply:
        reply.attributes |= {"a": float("nan"), "b": float("inf"), "c": float("-inf"), "d": 1.5}

    def refuse(text):
        raise AssertionError(text)

    (line,) = path.read_text().splitlines()
    (span,) = json.loads(line, parse_constant=refuse)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    values = {pair["key"]: pair["value"].get("doubleValue") for pair in span["attributes"]}
    assert [values[name] for name in "abcd"] == ["NaN", "Infinity", "-Infinity", 1.5]
