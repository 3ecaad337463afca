"""Corners of the readers of traces: repeated, absent and long values, and what a file holds behind what is whole."""

from __future__ import annotations

import json
import sqlite3

import pytest

from markbook.errors import DataError, StorageError
from markbook.traces import read_trace
from markbook.traces.plain import dump
from markbook.traces.recorder import Recorder


def write(folder, content, name="log.json"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def span(trace, identity, attributes, parent="", **more):
    held = [{"key": key, "value": {"intValue": value} if isinstance(value, int) else {"stringValue": value}}
            for key, value in attributes.items()]  # fmt: skip
    return {"traceId": trace, "spanId": identity, "parentSpanId": parent, "name": "s", "startTimeUnixNano": "5",
            "endTimeUnixNano": "9", "attributes": held} | more  # fmt: skip


def otlp(*spans):
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def chat_span(trace, identity, calls, **more):
    parts = [{"type": "tool_call", "name": name, "id": name, "arguments": given} for name, given in calls]
    messages = json.dumps([{"role": "assistant", "parts": parts}])
    held = {"gen_ai.operation.name": "chat", "gen_ai.agent.name": "a", "gen_ai.output.messages": messages}
    return span(trace, identity, held | more)


def calls_of(trace):
    return [(step.agent, step.name, step.result) for step in trace.tools()]


@pytest.mark.parametrize("as_text", [False, True])
def test_a_long_argument_costs_no_requested_call(tmp_path, as_text):
    given = {"text": "x" * 70_000}
    asked = [("write_file", json.dumps(given) if as_text else given), ("run", {"n": 1})]
    trace = read_trace(write(tmp_path, otlp(chat_span("1", "1", asked))))

    assert [step.name for step in trace.tools()] == ["write_file", "run"]
    assert trace.tools()[1].arguments == {"n": 1}
    assert len(str(trace.tools()[0].arguments)) == 65_536  # cut to text, as an executed call's are


def test_requested_calls_belong_to_the_span_of_their_own_trace(tmp_path):
    both = {"gen_ai.conversation.id": "c"}
    spans = [chat_span(trace, "1", [(name, {})], **both) for trace, name in (("t1", "look"), ("t2", "save"))]
    trace = read_trace(write(tmp_path, otlp(*spans)))

    assert [step.name for step in trace.tools()] == ["look", "save"]


def test_a_wrapper_is_known_by_either_count_of_its_inner_span(tmp_path):
    outer = span("1", "1", {"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 1})
    inner = span("1", "2", {"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 1}, "1")
    trace = read_trace(write(tmp_path, otlp(outer, inner)))

    assert (trace.output_tokens, trace.messages) == (1, 1)


def test_sub_agents_without_an_id_keep_their_own_names(tmp_path):
    def steps(tool):
        call = {"tool_call_id": "1", "function_name": tool, "arguments": {}}
        return [{"source": "agent", "message": "m", "tool_calls": [call]}]

    children = [
        {"agent": {"name": name}, "steps": steps(tool)} for name, tool in (("searcher", "find"), ("coder", "edit"))
    ]
    item = {
        "schema_version": "ATIF-v1.4",
        "agent": {"name": "lead"},
        "steps": steps("plan"),
        "subagent_trajectories": children,
    }
    trace = read_trace(write(tmp_path, item))

    assert [(agent, tool) for agent, tool, _ in calls_of(trace)] == [
        ("lead", "plan"),
        ("searcher", "find"),
        ("coder", "edit"),
    ]


def test_sub_agents_that_are_nested_too_deeply_are_counted(tmp_path):
    item = None
    for at in range(25, -1, -1):
        below = {} if item is None else {"subagent_trajectories": [item]}
        item = {"schema_version": "ATIF-v1.4", "trajectory_id": str(at), "agent": {"name": f"a{at}"},
                "steps": [{"source": "agent", "message": "m"}], **below}  # fmt: skip
    trace = read_trace(write(tmp_path, item))

    assert len(trace.agents) == 21
    assert trace.unrecognised == {"sub-agents nested too deeply": 1}


def run_of(identity, **more):
    return {"id": identity, "trace_id": "t", "run_type": "tool", "name": identity, "start_time": "2026-01-01T00:00:00",
            "end_time": "2026-01-01T00:00:01"} | more  # fmt: skip


def test_langsmith_children_keep_the_order_of_the_file(tmp_path):
    tree = run_of("root", run_type="chain", child_runs=[run_of("first"), run_of("second"), run_of("third")])
    trace = read_trace(write(tmp_path, [tree]))

    assert [step.name for step in trace.tools()] == ["first", "second", "third"]


def test_langsmiths_null_tokens_are_looked_for_in_the_reply(tmp_path):
    usage = {"usage_metadata": {"input_tokens": 7, "output_tokens": 3}}
    run = run_of("m", run_type="llm", prompt_tokens=None, completion_tokens=None, outputs=usage)
    trace = read_trace(write(tmp_path, [run]))

    assert (trace.input_tokens, trace.output_tokens) == (7, 3)


def test_langchains_generations_state_the_tokens(tmp_path):
    def generation(read, written):
        return {"message": {"kwargs": {"usage_metadata": {"input_tokens": read, "output_tokens": written}}}}

    run = run_of("m", run_type="llm", outputs={"generations": [[generation(7, 3)], [generation(5, 1)]]})
    trace = read_trace(write(tmp_path, [run]))

    assert (trace.input_tokens, trace.output_tokens) == (12, 4)


def test_a_run_that_has_not_ended_is_neither_right_nor_wrong(tmp_path):
    runs = [run_of("done"), run_of("pending", end_time=None, status="pending"), run_of("bad", error="boom")]
    trace = read_trace(write(tmp_path, runs))

    assert {step.name: step.ok for step in trace.tools()} == {"done": True, "pending": None, "bad": False}


def test_inspects_tool_events_with_one_id_are_calls_of_their_own(tmp_path):
    def asked(name):
        return {"role": "assistant", "content": "", "tool_calls": [{"id": "call_0", "function": name, "arguments": {}}]}

    messages = [asked("ls"), {"role": "tool", "tool_call_id": "call_0", "content": "LS"},
                asked("cat"), {"role": "tool", "tool_call_id": "call_0", "content": "CAT"}]  # fmt: skip
    events = [
        {"event": "tool", "id": "call_0", "function": name, "arguments": {}, "result": name.upper()}
        for name in ("ls", "cat")
    ]
    sample = {"id": 1, "epoch": 1, "messages": messages, "events": events, "scores": {}}
    trace = read_trace(write(tmp_path, {"eval": {}, "plan": {}, "samples": [sample]}))

    assert calls_of(trace) == [("assistant", "ls", "LS"), ("assistant", "cat", "CAT")]


def test_parallel_calls_without_ids_are_answered_in_order(tmp_path):
    def event(**part):
        return {"author": "a", "invocation_id": "i", "content": {"parts": [part]}}

    calls = [event(functionCall={"name": "find", "args": {"q": at}}) for at in (1, 2)]
    answers = [event(functionResponse={"name": "find", "response": {"result": at}}) for at in (1, 2)]
    trace = read_trace(write(tmp_path, calls + answers))

    assert [(step.arguments, json.loads(step.result)) for step in trace.tools()] == [
        ({"q": 1}, {"result": 1}),
        ({"q": 2}, {"result": 2}),
    ]


def test_a_calls_last_answer_counts(tmp_path):
    def event(**part):
        return {"author": "a", "invocation_id": "i", "content": {"parts": [part]}}

    call = event(functionCall={"name": "wait", "id": "1", "args": {}})
    answers = [
        event(functionResponse={"name": "wait", "id": "1", "response": {"status": said}})
        for said in ("pending", "done")
    ]
    trace = read_trace(write(tmp_path, [call, *answers]))

    assert [json.loads(step.result) for step in trace.tools()] == [{"status": "done"}]


@pytest.mark.parametrize(("content", "counted"), [
    ([{"type": "TextMessage", "source": "a", "content": "x"}, "stray", 5], {"not a message": 2}),
    ([{"messages": [{"type": "TextMessage", "source": "a", "content": "x"}, 5]}], {"not a message": 1}),
    ({"messages": [{"role": "user", "content": "hi"}, "stray", 5]}, {"not a message": 2}),
    ([[{"kind": "request", "parts": []}], {"kind": "request", "parts": []}], {"not a list of messages": 1}),
])  # fmt: skip
def test_what_stands_among_messages_is_counted(tmp_path, content, counted):
    assert read_trace(write(tmp_path, content)).unrecognised == counted


def test_a_file_that_a_tool_reads_says_nothing_of_the_tools_exit(tmp_path):
    def item(**payload):
        return {"type": "response_item", "timestamp": "2026-01-01T00:00:00Z", "payload": payload}

    outputs = {
        "mcp_read": "notes\nExit code: 3\nmore", "mcp_tail": "Exit code: 3", "shell": "Exit code: 3\nWall time: 1 s\nOutput:\nno",
        "exec_command": "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nExit code: 3",
    }  # fmt: skip
    rows = [{"type": "session_meta", "payload": {"id": "s"}}]
    for name, text in outputs.items():
        rows += [item(type="function_call", name=name, arguments="{}", call_id=name),
                 item(type="function_call_output", call_id=name, output=text)]  # fmt: skip
    trace = read_trace(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "rollout.jsonl"))

    assert {step.name: step.ok for step in trace.tools()} == {
        "mcp_read": None, "mcp_tail": None, "shell": False, "exec_command": True,
    }  # fmt: skip


def test_a_codex_session_that_goes_on_another_keeps_its_own_id(tmp_path):
    rows = [{"type": "event_msg", "payload": {"type": "other", "id": "e"}}]
    rows += [{"type": "session_meta", "payload": {"id": name}} for name in ("own", "before")]
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"}
    rows.append({"type": "response_item", "timestamp": "2026-01-01T00:00:00Z", "payload": call})

    assert read_trace(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "rollout.jsonl")).id == "own"


def test_a_session_that_used_up_its_turns_is_no_success(tmp_path):
    rows = [{"type": "assistant", "session_id": "s", "message": {"id": "m", "content": []}},
            {"type": "result", "session_id": "s", "subtype": "error_max_turns", "is_error": False}]  # fmt: skip

    assert read_trace(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "s.jsonl")).success is False


def write_lines(folder, *rows):
    return write(folder, "\n".join(map(json.dumps, rows)) + "\n", "log.jsonl")


def test_a_row_whose_type_is_an_object_hides_no_session(tmp_path):
    reply = {
        "type": "assistant",
        "session_id": "s",
        "message": {"id": "m", "content": [{"type": "text", "text": "hi"}]},
    }
    trace = read_trace(write_lines(tmp_path, reply, {"type": {"a": 1}, "session_id": "s"}))

    assert (trace.format, trace.messages) == ("claude-code", 1)
    assert trace.unrecognised == {"events of type \"{'a': 1}\"": 1}


def test_a_message_whose_role_is_an_object_hides_no_chat(tmp_path):
    messages = [{"role": {"a": 1}, "content": "x"}, {"role": "user", "content": "hi"}]
    trace = read_trace(write(tmp_path, messages))

    assert (trace.format, trace.messages) == ("openai-messages", 1)
    assert trace.unrecognised == {"messages with an unknown role": 1}


def test_claude_codes_calls_without_an_id_are_all_counted(tmp_path):
    calls = [{"type": "tool_use", "name": name, "input": {}} for name in ("Read", "Write")]
    reply = {"type": "assistant", "session_id": "s", "message": {"id": "m", "content": calls}}

    assert [step.name for step in read_trace(write_lines(tmp_path, reply)).tools()] == ["Read", "Write"]


def test_pydantic_ais_calls_without_ids_are_answered_by_their_names(tmp_path):
    calls = [{"part_kind": "tool-call", "tool_name": name, "args": {}} for name in ("look", "save")]
    answers = [
        {"part_kind": "tool-return", "tool_name": "look", "content": "found"},
        {"part_kind": "tool-return", "tool_name": "save", "content": "saved"},
        {"part_kind": "retry-prompt", "tool_name": None, "content": "answer in JSON"},
    ]
    trace = read_trace(write(tmp_path, [{"kind": "response", "parts": calls}, {"kind": "request", "parts": answers}]))

    assert [(step.name, step.result, step.ok) for step in trace.tools()] == [
        ("look", "found", True),
        ("save", "saved", True),
    ]
    assert not trace.unrecognised


def test_a_foreign_programs_call_without_an_id_has_its_outcome(tmp_path):
    event = {"kind": "ACPToolCallEvent", "source": "agent", "timestamp": "2026-01-01T00:00:00", "tool_kind": "read"}
    known = {"kind": "MessageEvent", "source": "user", "llm_message": {"content": "go"}}
    rows = [{**event, "status": "completed", "raw_output": "one"}, {**event, "status": "failed", "raw_output": "two"}]
    trace = read_trace(write(tmp_path, [known, *rows]))

    assert [(step.name, step.ok, step.result) for step in trace.tools()] == [
        ("read", True, "one"),
        ("read", False, "two"),
    ]


@pytest.mark.parametrize(("value", "success"), [(True, True), (False, False), ("N", False), ("P", None), (0.5, False)])
def test_inspects_score_says_whether_a_sample_succeeded(tmp_path, value, success):
    sample = {
        "id": 1,
        "epoch": 1,
        "messages": [{"role": "user", "content": "x"}],
        "scores": {"match": {"value": value}},
    }

    assert read_trace(write(tmp_path, {"eval": {}, "samples": [sample]})).success is success


def test_a_span_whose_agent_is_a_list_costs_no_file(tmp_path):
    odd = span("ab" * 16, "02" * 8, {})
    odd["attributes"] = {"agent_name": ["a", "b"]}
    call = span("ab" * 16, "03" * 8, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"})

    assert calls_of(read_trace(write(tmp_path, otlp(odd, call)))) == [("", "look", "")]


def test_an_assistants_next_word_is_no_tools_answer(tmp_path):
    history = [{"role": "assistant", "agent": "main", "content": "I look", "action": "ls"},
               {"role": "assistant", "agent": "main", "content": "again", "action": "ls -l"},
               {"role": "user", "agent": "main", "content": "a b"}]  # fmt: skip
    trace = read_trace(write(tmp_path, {"history": history, "info": {}}))

    assert [step.result for step in trace.tools()] == ["", "a b"]


def test_a_crashed_trajectory_has_neither_score_nor_success(tmp_path):
    row = {"task_id": 1, "reward": 0.0, "info": {"error": "RateLimitError", "traceback": "x"}, "traj": [], "trial": 0}
    trace = read_trace(write(tmp_path, [row]))

    assert (trace.score, trace.success) == (None, None)
    assert trace.notes == ("the trajectory ended in an error: RateLimitError",)


def test_anthropics_blocks_in_messages_are_calls(tmp_path):
    blocks = [{"type": "text", "text": "go"}, {"type": "tool_use", "id": "1", "name": "look", "input": {"q": 1}},
              {"type": "tool_use", "id": "2", "name": "save", "input": {}}]  # fmt: skip
    results = [{"type": "tool_result", "tool_use_id": "2", "content": "full", "is_error": True},
               {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "found"}]}]  # fmt: skip
    trace = read_trace(
        write(tmp_path, [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}])
    )

    assert [(step.name, step.arguments, step.result, step.ok) for step in trace.tools()] == [
        ("look", {"q": 1}, "found", None), ("save", {}, "full", False),
    ]  # fmt: skip


@pytest.mark.parametrize("named", [{"tool_name": "look"}, {}])
def test_an_answer_without_an_id_goes_to_the_call_that_waits(tmp_path, named):
    asked = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {"q": 1}}}]}
    trace = read_trace(write(tmp_path, [asked, {"role": "tool", "content": "found"} | named]))

    assert calls_of(trace) == [("assistant", "look", "found")]


@pytest.mark.parametrize("rest", ['{\n "id": "2", "messages": [{"ro', "garbage"])
def test_what_follows_a_whole_document_is_counted(tmp_path, rest):
    whole = json.dumps({"id": "1", "messages": [{"role": "user", "content": "hi"}]}, indent=1)
    trace = read_trace(write(tmp_path, f"{whole}\n{rest}"))

    assert trace.unrecognised == {"cut off in the middle": 1}


def test_a_full_temporary_folder_ends_with_a_sentence(tmp_path, monkeypatch):
    def full(self, span, role):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("markbook.traces.span_spool.SpanSpool.add", full)
    path = write(tmp_path, [run_of("r")])

    with pytest.raises(StorageError, match="cannot be kept on disk"):
        read_trace(path)


class Mute:
    def __repr__(self):
        raise ValueError("no repr")


def test_recording_never_breaks_the_users_call(tmp_path):
    with Recorder(tmp_path / "run.jsonl") as record:
        look = record.trace_tool(lambda one: 5 if one is not None else 0)
        assert look(Mute()) == 5
        assert look(10**5000) == 5

    trace = read_trace(tmp_path / "run.jsonl")
    assert [step.arguments for step in trace.tools()] == [{"one": "<Mute>"}, {"one": "<int>"}]


def test_values_that_refer_to_one_another_are_written_up_to_a_bound():
    below = "x"
    for _ in range(12):
        below = [below] * 10  # 10 ** 12 values on paper
    assert len(dump(below)) < 1 << 23


def test_streams_that_only_begin_like_claude_codes_are_refused(tmp_path):
    rows = [
        {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Read"]},
        {"type": "message", "role": "user", "text": "Look.", "session_id": "s"},
        {"type": "tool_call", "toolName": "Read", "parameters": {}, "session_id": "s"},
        {"type": "completion", "finalText": "Done.", "session_id": "s"},
    ]

    with pytest.raises(DataError, match="no trace reader knows this file"):
        read_trace(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "droid.jsonl"))
