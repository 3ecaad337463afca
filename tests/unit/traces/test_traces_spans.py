"""The span reader on spans written here: conventions, trees that lie, files that are cut."""

import copy
import gzip
import json
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings, strategies as st

from markbook.cli import cli
from markbook.errors import DataError, UsageError
from markbook.metrics.graph import trace_metrics
from markbook.trace import StepKind
from markbook.traces import detect, read_trace, read_traces, span_spool


def attribute(value):
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value} if isinstance(value, str) else value


def span(identity, parent="", name="s", start=0, length=10, trace="ab" * 16, code=0, **held):
    attributes = [{"key": key.replace("__", "."), "value": attribute(value)} for key, value in held.items()]
    return {
        "traceId": trace,
        "spanId": format(identity, "016x"),
        "parentSpanId": format(parent, "016x") if parent else "",
        "name": name,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + start),
        "endTimeUnixNano": str(1_700_000_000_000_000_000 + start + length),
        "attributes": attributes,
        "status": {"code": code},
    }


def agent(identity, name, parent="", **more):
    return span(identity, parent, gen_ai__operation__name="invoke_agent", gen_ai__agent__name=name, **more)


def chat(identity, parent, tokens=(7, 3), **more):
    usage = {"gen_ai__usage__input_tokens": tokens[0], "gen_ai__usage__output_tokens": tokens[1]} if tokens else {}
    return span(identity, parent, gen_ai__operation__name="chat", **usage, **more)


def tool(identity, parent, name, **more):
    return span(identity, parent, gen_ai__operation__name="execute_tool", gen_ai__tool__name=name, **more)


def document(*spans):
    return {
        "resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "t"}, "spans": spans}]}]
    }


RUN = (
    agent(1, "manager", length=100),
    chat(2, 1, start=1),
    tool(3, 1, "delegate", start=20, length=50, gen_ai__tool__call__arguments='{"q": 1}'),
    agent(4, "helper", 3, start=21, length=40),
    chat(5, 4, start=22),
    tool(6, 4, "search", start=40, code=2),
)


@pytest.fixture
def written(tmp_path):
    def write(content, name="trace.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def facts(trace):
    return (trace.agents, trace.tool_calls, trace.messages, trace.input_tokens, trace.output_tokens)


EXPECTED = (("manager", "helper"), 2, 3, 14, 6)


def test_one_document_is_read_with_handoff_tokens_and_failed_call(written):
    trace = read_trace(written(document(*RUN)))

    assert facts(trace) == EXPECTED
    assert not trace.unrecognised
    [handoff] = [step for step in trace.steps if step.kind is StepKind.HANDOFF]
    assert (handoff.agent, handoff.name, handoff.target) == ("manager", "delegation", "helper")
    assert [(step.agent, step.name, step.ok, step.arguments) for step in trace.tools()] == [
        ("manager", "delegate", True, {"q": 1}),
        ("helper", "search", False, None),
    ]


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(lambda: json.dumps(document(*RUN), indent=2), id="pretty"),
        pytest.param(lambda: "\n".join(json.dumps(document(one)) for one in reversed(RUN)), id="one a line, reversed"),
        pytest.param(lambda: json.dumps(list(RUN)), id="array of spans"),
        pytest.param(lambda: json.dumps([document(*RUN[:3]), document(*RUN[3:])]), id="array of documents"),
        pytest.param(lambda: "\n".join(json.dumps(one) for one in RUN), id="a span a line"),
        pytest.param(lambda: "\ufeff" + json.dumps(document(*RUN)).replace("\n", "\r\n"), id="BOM"),
        pytest.param(
            lambda: "".join(json.dumps(one, indent=1) + "\n" for one in RUN), id="pretty spans, one after another"
        ),
        pytest.param(
            lambda: (
                json.dumps(document(*RUN))
                .replace("resourceSpans", "resource_spans")
                .replace("scopeSpans", "scope_spans")
            ),
            id="snake case",
        ),
    ],
)
def test_every_way_to_write_spans_gives_the_same_trace(written, shape):
    path = written(shape())

    assert detect(path) == "otlp"
    assert facts(read_trace(path)) == EXPECTED


def test_gzip_is_undone(tmp_path):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(document(*RUN)).encode()))

    assert facts(read_trace(path)) == EXPECTED


def test_joined_gzip_members_are_one_file(tmp_path):
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(b"".join(gzip.compress((json.dumps(document(one)) + "\n").encode()) for one in RUN))

    assert facts(read_trace(path)) == EXPECTED


def test_ids_differ_in_case_and_integers_come_as_numbers_and_strings(written):
    spans = json.loads(json.dumps(RUN))
    for one in spans:
        one["spanId"] = one["spanId"].upper()
        one["startTimeUnixNano"] = int(one["startTimeUnixNano"])
    spans[1]["attributes"][1]["value"] = {"intValue": 7}

    assert facts(read_trace(written(document(*spans)))) == EXPECTED


def test_a_zero_parent_is_no_parent(written):
    root = dict(agent(1, "a"), parentSpanId="0000000000000000")

    assert read_trace(written(document(root))).notes == ()


def test_half_a_file_keeps_the_complete_spans_and_says_so(written):
    text = json.dumps(document(*RUN))
    trace = read_trace(written(text[: text.rindex('"spanId"')]))

    assert trace.tool_calls == 1
    assert trace.unrecognised == {"cut off in the middle": 1}


def test_a_damaged_line_is_counted_and_the_others_are_read(written):
    lines = [json.dumps(document(one)) for one in RUN]
    lines.insert(2, '{"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId"')
    trace = read_trace(written("\n".join(lines)))

    assert facts(trace) == EXPECTED
    assert trace.unrecognised == {"not JSON (line)": 1}


def test_a_damaged_long_line_is_left_and_reading_goes_on(written, monkeypatch):
    # The first line is longer than the head, so that the file is not known to be one of lines.
    long = agent(1, "manager", length=100, note="x" * 100_000)
    lines = [json.dumps(document(long)), '{"resourceSpans": [{"broken', *(json.dumps(document(one)) for one in RUN[1:])]
    trace = read_trace(written("\n".join(lines)))

    assert facts(trace) == EXPECTED
    assert sum(trace.unrecognised.values()) == 1


def test_parent_cycles_are_cut(written):
    trace = read_trace(written(document(tool(1, 2, "a"), tool(2, 3, "b"), tool(3, 1, "c"), tool(4, 4, "d"))))

    assert trace.tool_calls == 4
    assert "2 parent cycles, cut" in trace.notes


def test_missing_parents_and_backward_clocks_are_noted(written):
    trace = read_trace(written(document(tool(1, 99, "a"), tool(2, "", "b", length=-5_000_000))))

    assert trace.notes == ("1 spans that end before they start", "1 spans whose parent is not in the file")
    assert [step.seconds is None for step in trace.tools()] == [False, True]


def test_the_first_of_two_spans_with_one_id_is_kept_and_counted(written):
    trace = read_trace(written(document(tool(1, "", "first"), tool(1, "", "second"), agent(2, "x"))))

    assert [step.name for step in trace.tools()] == ["first"]
    assert trace.unrecognised == {"duplicate span ids: the first is kept": 1}


def test_a_model_span_around_a_model_span_is_counted_once(written):
    outer = chat(2, 1, (10, 4))
    inner = span(3, 2, gen_ai__request__model="m", gen_ai__usage__input_tokens=10, gen_ai__usage__output_tokens=4)
    trace = read_trace(written(document(agent(1, "a"), outer, inner)))

    assert (trace.messages, trace.input_tokens, trace.output_tokens) == (1, 10, 4)


def test_a_sub_agents_tokens_inside_a_model_span_count_beside_it(written):
    # ADK runs tools inside the model span: the sub-agent's reply is not a repetition of the manager's.
    trace = read_trace(
        written(document(agent(1, "a"), chat(2, 1, (10, 4)), tool(3, 2, "ask"), agent(4, "b", 3), chat(5, 4, (20, 5))))
    )

    assert (trace.input_tokens, trace.output_tokens) == (30, 9)


def test_agent_spans_totals_are_never_added(written):
    total = agent(1, "a", gen_ai__usage__input_tokens=99)
    with_calls = read_trace(written(document(total, chat(2, 1, (10, 4)))))
    without = read_trace(written(document(total, chat(2, 1, None))))

    assert with_calls.input_tokens == 10
    assert without.input_tokens is None


def test_output_tools_and_deferred_calls_are_no_steps(written):
    output = tool(2, 1, "final_result", logfire__msg="running output function: final_result")
    deferred = tool(3, 1, "approve", pydantic_ai__tool__deferral__name="ApprovalRequired")
    trace = read_trace(written(document(agent(1, "a"), output, deferred, tool(4, 1, "real"))))

    assert [step.name for step in trace.tools()] == ["real"]
    assert trace.notes == ("1 deferred calls, no step", "1 output tools, no step")


def test_requested_calls_stand_in_where_no_execution_was_traced(written):
    said = json.dumps(
        [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "look", "arguments": {"q": 1}}]}]
    )
    trace = read_trace(written(document(agent(1, "a"), chat(2, 1, gen_ai__output__messages=said))))

    assert [(step.name, step.arguments, step.ok) for step in trace.tools()] == [("look", {"q": 1}, None)]
    assert "as the models asked" in trace.notes[0]


def test_spans_without_known_attributes_are_counted(written):
    trace = read_trace(written(document(agent(1, "a"), span(2, 1, http__method="GET"))))

    assert trace.unrecognised == {"spans without agent, model or tool attributes": 1}


def test_handoff_spans_name_both_sides(written):
    trace = read_trace(
        written(
            document(
                agent(1, "a"), span(2, 1, gen_ai__transfer__target__name="b", gen_ai__transfer__mode="pass_control")
            )
        )
    )

    [step] = trace.interactions()
    assert (step.agent, step.name, step.target) == ("a", "handoff", "b")


def test_the_placeholder_of_the_openai_agents_instrumentation_is_no_agent(written):
    nobody = "OpenAI Agent"

    def turn(first, name, tool_name):
        return (
            # the agent's own span is renamed when it ends, or keeps the placeholder beside its label
            span(first, 1, f"invoke_agent {name}", gen_ai__operation__name="invoke_agent", start=first,
                 gen_ai__agent__name=name if name == "planner" else nobody),
            chat(first + 1, first, gen_ai__agent__name=nobody, start=first),
            tool(first + 2, first, tool_name, gen_ai__agent__name=nobody, start=first),
        )  # fmt: skip

    root = span(1, "", "Agent workflow", gen_ai__operation__name="invoke_agent", length=100)
    handed = span(
        8, 2, gen_ai__operation__name="handoff", gen_ai__agent__name=nobody, gen_ai__handoff__from_agent="planner",
        gen_ai__handoff__to_agent="writer", start=8,
    )  # fmt: skip
    path = written(document(root, *turn(2, "planner", "look"), handed, *turn(10, "writer", "save")))
    shown = json.loads(CliRunner().invoke(cli, ["trace", str(path), "--json"], catch_exceptions=False).stdout)
    trace = read_trace(path)

    assert (shown["agents"], shown["tool_calls"], shown["input_tokens"]) == (2, 2, 14)
    assert facts(trace) == (("planner", "writer"), 2, 3, 14, 6)
    assert [(step.agent, step.name) for step in trace.tools()] == [("planner", "look"), ("writer", "save")]
    assert [(step.agent, step.target) for step in trace.interactions()] == [("planner", "writer")]
    assert [step.input_tokens for step in trace.steps if step.agent == "writer" and step.input_tokens] == [7]


def test_a_placeholder_without_an_agent_span_above_stays(written):
    trace = read_trace(written(document(tool(1, "", "look", gen_ai__agent__name="OpenAI Agent"))))

    assert [(step.agent, step.name) for step in trace.tools()] == [("OpenAI Agent", "look")]


def test_created_agents_are_on_the_roster_and_idle_ones_count(written):
    made = [
        span(at, 1, gen_ai__operation__name="create_agent", gen_ai__agent__name=name)
        for at, name in ((2, "a"), (3, "b"))
    ]
    trace = read_trace(written(document(agent(1, "a"), *made, tool(4, 1, "t"))))

    assert (trace.agents, trace.declared) == (("a",), ("a", "b"))
    assert trace_metrics(trace)["balance_population"].value == 0


def test_traces_of_other_programs_are_no_runs_and_are_counted(written):
    web = span(7, "", http__method="GET", trace="cc" * 16)
    trace = read_trace(written(document(*RUN, web)))

    assert not trace.runs
    assert trace.unrecognised == {
        "traces without a step of any agent": 1,
        "spans without agent, model or tool attributes": 1,
    }
    alone = read_trace(written(document(web)))
    assert (alone.steps, alone.unrecognised) == ((), trace.unrecognised)
    assert trace_metrics(alone)["path_convergence"].missing


def test_older_attribute_names_are_read(written):
    old = span(2, 1, "chat m", gen_ai__system="x", gen_ai__request__model="m",
               gen_ai__usage__prompt_tokens=5, gen_ai__usage__completion_tokens=2)  # fmt: skip
    running = span(3, 1, "running tool", tool_arguments='{"a": 1}', tool_response="r", gen_ai__tool__name="t")
    trace = read_trace(written(document(span(1, "", "a run", agent_name="a"), old, running)))

    assert (trace.agents, trace.input_tokens, trace.output_tokens) == (("a",), 5, 2)
    assert [(step.agent, step.name, step.arguments, step.result) for step in trace.tools()] == [
        ("a", "t", {"a": 1}, "r")
    ]


def test_traces_of_one_conversation_are_one_run_and_others_are_not(written):
    def turn(trace, conversation):
        return tool(
            1, "", "t", trace=trace * 16, **({"gen_ai__conversation__id": conversation} if conversation else {})
        )

    runs = list(read_traces(written(document(turn("aa", "c"), turn("bb", "d"), turn("cc", "c"), turn("dd", "")))))

    assert [run.tool_calls for run in runs] == [2, 1, 1]


def test_several_runs_are_joined_with_their_sums(written):
    trace = read_trace(written(document(*RUN, *(dict(one, traceId="cd" * 16) for one in RUN))))

    assert len(trace.runs) == 2
    assert facts(trace) == (("manager", "helper"), 4, 6, 28, 12)


def test_a_run_beyond_the_limit_keeps_its_totals_and_says_what_was_left(written, monkeypatch):
    monkeypatch.setattr(span_spool, "MAX_SPANS", 3)
    monkeypatch.setattr("markbook.traces.span_tree.MAX_SPANS", 3)
    trace = read_trace(written(document(*RUN)))

    assert (trace.clipped, len(trace.steps)) == (3, 2)
    assert (trace.tool_calls, trace.input_tokens, trace.output_tokens) == (2, 14, 6)


def test_deep_nesting_is_refused_without_a_crash(written):
    deep = '{"resourceSpans": ' + "[" * 200_000
    lines = written(json.dumps(document(*RUN)) + "\n" + deep + "\n", "deep.jsonl")

    assert facts(read_trace(lines)) == EXPECTED
    with pytest.raises(DataError, match="no run"):
        read_trace(written(deep))


@pytest.mark.parametrize("depth", ["deep", None, 99])
def test_a_key_called_depth_beside_the_spans_is_none_of_the_readers_business(written, depth):
    assert facts(read_trace(written({"depth": depth} | document(*RUN)))) == EXPECTED


def test_deep_attribute_values_are_cut(written):
    value = {"stringValue": "x"}
    for _ in range(300):
        value = {"arrayValue": {"values": [value]}}
    trace = read_trace(written(document(agent(1, "a"), tool(2, 1, "t", gen_ai__tool__call__arguments=value))))

    assert trace.tool_calls == 1


def test_a_compression_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"resourceSpans": [' + b" " * (64 << 20), 9))

    with pytest.raises(DataError, match="compression bomb"):
        read_trace(path)


def test_truncated_gzip_keeps_what_came_through(tmp_path):
    import random

    draw = random.Random(1)
    spans = [tool(at, "", "t", note=draw.randbytes(300).hex()) for at in range(1, 400)]
    whole = gzip.compress("\n".join(json.dumps(document(one)) for one in spans).encode())
    path = tmp_path / "half.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    trace = read_trace(path)

    assert 0 < trace.tool_calls < 399
    assert any("compressed data that is cut off" in reason for reason in trace.unrecognised)


@pytest.mark.parametrize("content", ["", "   ", "[]", "{}", "nonsense", "[1, 2]", '{"a": 1}', "null"])
def test_files_that_hold_no_run_are_refused_with_their_name(written, content):
    path = written(content)

    with pytest.raises(DataError, match=r"trace\.json"):
        read_trace(path)


def test_binary_rubbish_is_refused(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(range(256)) * 40)

    with pytest.raises(DataError):
        read_trace(path)


def test_a_missing_file_and_an_unknown_format_are_the_users_mistakes(written, tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        read_trace(tmp_path / "absent.json")
    with pytest.raises(UsageError, match="unknown trace 'otlq'"):
        read_trace(written(document(*RUN)), format="otlq")


def test_not_a_number_and_huge_integers_hurt_nobody(written):
    text = json.dumps(document(*RUN)).replace('"intValue": "7"', '"intValue": ' + "9" * 5000, 1)
    assert read_trace(written(text)).input_tokens == 7

    trace = read_trace(written(json.dumps(document(*RUN, agent(9, "late", note=float("nan"))))))
    assert trace.agents == ("manager", "helper", "late")


def test_openinference_flattened_replies_and_names(written):
    spans = (
        span(1, "", "planner run", openinference__span__kind="AGENT", graph__node__id="planner"),
        span(
            2, 1, "reply", openinference__span__kind="LLM", llm__token_count__prompt=9, llm__token_count__completion=4
        ),
        span(
            3,
            1,
            "find",
            openinference__span__kind="TOOL",
            tool__name="find",
            input__value='{"args": [], "kwargs": {"q": 1}}',
        ),
        span(4, 1, "step", openinference__span__kind="CHAIN"),
    )
    trace = read_trace(written(document(*spans)))

    assert facts(trace) == (("planner",), 1, 1, 9, 4)
    assert trace.tools()[0].arguments == {"q": 1}
    assert not trace.unrecognised


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(), st.text(max_size=5), st.just([]), st.just({}),
    st.just([[[]]]), st.just({"stringValue": [1]}), st.just(["x", 1, None, {}]), st.just("\x00\ud800"),
)  # fmt: skip


def places(value, path=()):
    yield path
    for key, held in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(held, (*path, key))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_anything_in_any_place_is_read_or_refused(data):
    held = json.loads(json.dumps([document(*RUN)]))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([path for path in places(held) if path]))
        around = held
        for key in path[:-1]:
            around = around[key]
        around[path[-1]] = copy.deepcopy(data.draw(JUNK))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "trace.json"
        target.write_text(json.dumps(held[0]), encoding="utf-8")
        try:
            for run in read_traces(target, format="otlp"):
                tools = {step.name for step in run.tools()}
                assert trace_metrics(run)["graph_complexity"].value == len(run.roster) + len(tools)
        except DataError as error:
            assert "trace.json" in str(error)


def test_a_handoff_is_inferred_from_the_times_where_the_tree_is_flat(written):
    spans = (
        span(9, "", "workflow", traceloop__span__kind="workflow", length=100),
        agent(1, "boss", 9, length=100),
        tool(2, 1, "ask", start=10, length=40),
        agent(3, "worker", 9, start=11, length=30),
    )
    trace = read_trace(written(document(*spans)))

    assert [(step.agent, step.target) for step in trace.interactions()] == [("boss", "worker")]
    assert trace.notes == ("1 hand-offs known only from the times",)


def test_a_span_of_an_unknown_operation_that_names_a_placeholder_is_no_agent(written):
    nobody = {"gen_ai__agent__name": "OpenAI Agent", "gen_ai__operation__name": "unknown"}
    spans = [
        agent(1, "coordinator"),
        span(2, 1, "unknown", **nobody),
        tool(3, 2, "add", gen_ai__agent__name="OpenAI Agent"),
        agent(4, "math_specialist", 2),
    ]

    trace = read_trace(written(document(*spans)))

    assert list(trace.agents) == ["coordinator", "math_specialist"]
    assert [(step.agent, step.name) for step in trace.tools()] == [("coordinator", "add")]
