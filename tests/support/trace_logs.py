"""Small logs of agent frameworks: written here after the formats' public descriptions, or, in `data/traces`, by a run.

The runs were made with the frameworks themselves before a made-up model; ids and prompts are shortened.
"""

import json

from support.paths import TESTS

DATA = TESTS / "data" / "traces"


def lines_of(name):
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def document_of(name):
    return json.loads((DATA / name).read_text(encoding="utf-8"))


MINI = {
    "trajectory_format": "mini-swe-agent-1.1",
    "info": {"mini_version": "2.0.0", "exit_status": "Submitted", "model_stats": {"instance_cost": 0.25, "api_calls": 3}},
    "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "fix it"},
        {
            "role": "assistant", "content": "look\n```bash\nls\n```",
            "extra": {"actions": [{"command": "ls"}], "cost": 0.1, "timestamp": 10.0,
                      "response": {"usage": {"prompt_tokens": 100, "completion_tokens": 7}}},
        },
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\na\n</output>",
         "extra": {"returncode": 0, "timestamp": 12.5}},
        {
            "role": "assistant", "content": None,
            "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": '{"command": "make"}'}}],
            "extra": {"timestamp": 13.0, "response": {"usage": {"prompt_tokens": 120, "completion_tokens": 9}}},
        },
        {"role": "tool", "tool_call_id": "c1", "content": "<returncode>2</returncode>", "extra": {"timestamp": 14.0}},
        {"role": "assistant", "content": "done\n```bash\nsubmit\n```"},  # as version 1 wrote it
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
    ],
}  # fmt: skip


def tag(key, value):
    kind = {bool: "bool", int: "int64", float: "float64"}.get(type(value), "string")
    return {"key": key, "type": kind, "value": value}


def jaeger_span(identity, parent, name, start, took, **tags):
    return {
        "traceID": "ab12", "spanID": identity, "operationName": name, "startTime": 1_700_000_000_000_000 + start,
        "duration": took, "processID": "p1", "logs": [],
        "references": [{"refType": "CHILD_OF", "traceID": "ab12", "spanID": parent}] if parent else [],
        "tags": [tag(key.replace("__", "."), value) for key, value in tags.items()],
    }  # fmt: skip


JAEGER = {
    "data": [
        {
            "traceID": "ab12",
            "processes": {"p1": {"serviceName": "team", "tags": []}},
            "spans": [
                jaeger_span("01", "", "invoke_agent boss", 0, 90, gen_ai__operation__name="invoke_agent",
                            gen_ai__agent__name="boss"),
                jaeger_span("02", "01", "chat m", 1, 5, gen_ai__operation__name="chat",
                            gen_ai__usage__input_tokens=30, gen_ai__usage__output_tokens=4),
                jaeger_span("03", "01", "invoke_agent aide", 10, 50, gen_ai__operation__name="invoke_agent",
                            gen_ai__agent__name="aide"),
                jaeger_span("04", "03", "execute_tool look", 20, 30, gen_ai__operation__name="execute_tool",
                            gen_ai__tool__name="look", error=True, otel__status_code="ERROR"),
                jaeger_span("05", "01", "GET /health", 70, 1, http__method="GET"),
            ],
        }
    ],
    "total": 0,
}  # fmt: skip


def observation(identity, kind, name, parent=None, start=0, **more):
    return {
        "id": identity, "traceId": "t1", "type": kind, "name": name, "parentObservationId": parent,
        "startTime": f"2026-01-01T00:00:{start:02}.000Z", "endTime": f"2026-01-01T00:00:{start + 5:02}.000Z",
        "level": "DEFAULT", "statusMessage": None, "metadata": "{}", **more,
    }  # fmt: skip


LANGFUSE = {
    "trace": {"id": "t1", "name": "team", "timestamp": "2026-01-01T00:00:00Z"},
    "observations": [
        observation("g1", "GENERATION", "model", "a1", 1, totalCost=0.5, costDetails={"total": 0.5},
                    # the cached part stands beside the rest: 60 + 40 + 5 = 105
                    usageDetails={"input": 60, "input_cached_tokens": 40, "output": 5, "total": 105},
                    output='{"role": "assistant", "content": "go"}'),
        observation("a1", "AGENT", "invoke_agent planner", None, 0),
        observation("a2", "AGENT", "agent_run [writer]", "a1", 10),
        observation("x1", "TOOL", "execute_tool save", "a2", 11, level="ERROR", statusMessage="disk full",
                    input='{"path": "f"}', output="null"),
        # here the cached part is inside: 20 + 3 = 23
        observation("g2", "GENERATION", "model", "a2", 16,
                    usageDetails={"input": 20, "cache_read_input_tokens": 8, "output": 3, "total": 23}),
        observation("s1", "SPAN", "anything", "a2", 17),
    ],
}  # fmt: skip
ADK = {
    "id": "s7", "appName": "app", "userId": "u", "lastUpdateTime": 5.0, "state": {},
    "events": [
        {"id": "e1", "invocationId": "i1", "author": "user", "timestamp": 1.0,
         "content": {"role": "user", "parts": [{"text": "weather?"}]}},
        {"id": "e2", "invocationId": "i1", "author": "root", "timestamp": 2.0, "actions": {},
         "usageMetadata": {"promptTokenCount": 50, "candidatesTokenCount": 4, "thoughtsTokenCount": 6,
                           "cachedContentTokenCount": 12},
         "content": {"role": "model", "parts": [
             {"functionCall": {"id": "f1", "name": "transfer_to_agent", "args": {"agent_name": "meteo"}}}]}},
        {"id": "e3", "invocationId": "i1", "author": "root", "timestamp": 2.5,
         "actions": {"transferToAgent": "meteo"},
         "content": {"role": "user", "parts": [
             {"functionResponse": {"id": "f1", "name": "transfer_to_agent", "response": {"result": None}}}]}},
        {"id": "e4", "invocationId": "i1", "author": "meteo", "timestamp": 3.0,
         "usageMetadata": {"promptTokenCount": 70, "candidatesTokenCount": 5},
         "content": {"role": "model", "parts": [
             {"functionCall": {"id": "f2", "name": "get_weather", "args": {"city": "x"}}}]}},
        {"id": "e5", "invocationId": "i1", "author": "meteo", "timestamp": 4.0,
         "content": {"role": "user", "parts": [
             {"functionResponse": {"id": "f2", "name": "get_weather", "response": {"error": "no such city"}}}]}},
        {"id": "e6", "invocationId": "i1", "author": "meteo", "timestamp": 5.0, "partial": True,
         "content": {"role": "model", "parts": [{"text": "I do"}]}},
        {"id": "e7", "invocationId": "i1", "author": "meteo", "timestamp": 5.0,
         "content": {"role": "model", "parts": [{"text": "I do not know"}]}},
    ],
}  # fmt: skip
ATIF = {
    "schema_version": "ATIF-v1.7",
    "session_id": "s9",
    "agent": {"name": "lead", "version": "1", "model_name": "m"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "go", "timestamp": "2026-01-01T00:00:00Z"},
        {"step_id": 2, "source": "agent", "message": "copied", "is_copied_context": True,
         "metrics": {"prompt_tokens": 999, "completion_tokens": 999}},
        {
            "step_id": 3, "source": "agent", "message": [{"type": "text", "text": "look"}],
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "bash", "arguments": {"cmd": "ls"}},
                {"tool_call_id": "c2", "function_name": "delegate", "arguments": {}},
            ],
            "observation": {"results": [
                {"source_call_id": "c2", "content": "ok", "subagent_trajectory_ref": [{"trajectory_id": "k1"}]},
                {"source_call_id": "c1", "content": "a"},
            ]},
            "metrics": {"prompt_tokens": 80, "completion_tokens": 6, "cached_tokens": 30, "cost_usd": 0.02},
        },
    ],
    "subagent_trajectories": [
        {
            "trajectory_id": "k1", "agent": {"name": "lead"},
            "steps": [{"step_id": 1, "source": "agent", "message": "done",
                       "tool_calls": [{"tool_call_id": "d1", "function_name": "grep", "arguments": {}}],
                       "metrics": {"prompt_tokens": 10, "completion_tokens": 1}}],
        }
    ],
    "final_metrics": {"total_prompt_tokens": 90, "total_completion_tokens": 7, "total_cost_usd": 0.03},
}  # fmt: skip


def codex_item(at, **payload):
    return {"timestamp": f"2026-01-01T00:00:{at:02}Z", "type": "response_item", "payload": payload}


def codex_count(at, read, written):
    usage = {"input_tokens": read, "cached_input_tokens": read // 2, "output_tokens": written}
    payload = {"type": "token_count", "info": {"total_token_usage": usage, "last_token_usage": {"input_tokens": 1}}}
    return {"timestamp": f"2026-01-01T00:00:{at:02}Z", "type": "event_msg", "payload": payload}


CODEX = [
    {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "z1", "cwd": "/r"}},
    {"timestamp": "2026-01-01T00:00:00Z", "type": "turn_context", "payload": {"model": "m"}},
    codex_item(1, type="message", role="user", content=[{"type": "input_text", "text": "fix it"}]),
    codex_item(2, type="reasoning", summary=[]),
    codex_item(3, type="function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1"),
    codex_item(5, type="function_call_output", call_id="c1",
               output='{"output": "a", "metadata": {"exit_code": 0, "duration_seconds": 2.0}}'),
    codex_count(5, 100, 10),
    codex_item(6, type="custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
    codex_item(7, type="custom_tool_call_output", call_id="c2", output="Exit code: 1\nno such file"),
    codex_item(8, type="message", role="assistant", content=[{"type": "output_text", "text": "done"}]),
    {"timestamp": "2026-01-01T00:00:08Z", "type": "event_msg", "payload": {"type": "agent_message", "message": "done"}},
    codex_count(8, 260, 25),
]  # fmt: skip
TAU2 = {
    "timestamp": "2026-01-01T00:00:00",
    "info": {"num_trials": 1},
    "tasks": [
        {
            "id": "7",
            "evaluation_criteria": {"actions": [
                {"action_id": "a", "requestor": "assistant", "name": "find", "arguments": {"id": 1}},
                {"action_id": "b", "requestor": "user", "name": "restart", "arguments": {}},
            ]},
        }
    ],
    "simulations": [
        {
            "id": "x", "task_id": "7", "trial": 0, "agent_cost": 0.2, "user_cost": 0.9,
            "termination_reason": "user_stop", "reward_info": {"reward": 1.0},
            "messages": [
                {"role": "assistant", "content": "hello", "usage": None},
                {"role": "user", "content": "help", "usage": {"prompt_tokens": 500, "completion_tokens": 50}},
                {"role": "assistant", "content": None, "usage": {"prompt_tokens": 40, "completion_tokens": 8},
                 "timestamp": "2026-01-01T00:00:01", "tool_calls": [
                     {"id": "c1", "name": "find", "arguments": {"id": 1}, "requestor": "assistant"}]},
                {"role": "tool", "id": "c1", "content": "{}", "requestor": "assistant", "error": False,
                 "timestamp": "2026-01-01T00:00:02"},
                {"role": "user", "content": None, "tool_calls": [
                    {"id": "c2", "name": "restart", "arguments": {}, "requestor": "user"}]},
                {"role": "tool", "id": "c2", "content": "no power", "requestor": "user", "error": True},
            ],
        }
    ],
}  # fmt: skip


def gemini_row(identity, second, kind, content, **more):
    return {"id": identity, "timestamp": f"2026-01-01T00:00:{second:02}.000Z", "type": kind, "content": content, **more}


def gemini_call(identity, name, args, status, output, second):
    response = {"functionResponse": {"id": identity, "name": name, "response": output}}
    return {"id": identity, "name": name, "args": args, "status": status, "result": [response],
            "timestamp": f"2026-01-01T00:00:{second:02}.000Z"}  # fmt: skip


GEMINI_TOKENS = {"input": 100, "output": 8, "cached": 40, "thoughts": 2, "tool": 0, "total": 110}
GEMINI = [
    {"sessionId": "g1", "projectHash": "ab", "startTime": "2026-01-01T00:00:00Z", "lastUpdated": "x", "kind": "main"},
    gemini_row("u1", 0, "user", [{"text": "fix it"}]),
    {"$set": {"lastUpdated": "y"}},
    # A reply is written again when its tokens and its calls are known.
    gemini_row("a1", 2, "gemini", "I look"),
    gemini_row("a1", 2, "gemini", "I look", tokens=GEMINI_TOKENS, toolCalls=[
        gemini_call("c1", "read_file", {"path": "a"}, "success", {"output": "text"}, 3),
        gemini_call("c2", "run_shell_command", {"command": "make"}, "error", {"error": "no rule"}, 4),
        gemini_call("c3", "write_file", {"path": "b"}, "cancelled", {}, 4),
    ]),
    gemini_row("i1", 5, "info", "update available"),
    gemini_row("u2", 6, "user", "no, wrong"),
    gemini_row("a2", 7, "gemini", "sorry", tokens={"input": 0, "output": 0, "total": 0}),
    {"$rewindTo": "u2"},
    gemini_row("u3", 8, "user", "go on"),
    gemini_row("a3", 9, "gemini", [{"text": "done"}], tokens={"input": 50, "output": 5, "cached": 0, "total": 55}),
]  # fmt: skip
GEMINI_STREAM = [
    {"type": "init", "timestamp": "2026-01-01T00:00:00.000Z", "session_id": "g2", "model": "m"},
    {"type": "message", "timestamp": "2026-01-01T00:00:00.000Z", "role": "user", "content": "fix it"},
    {"type": "message", "timestamp": "2026-01-01T00:00:01.000Z", "role": "assistant", "content": "I ", "delta": True},
    {"type": "message", "timestamp": "2026-01-01T00:00:01.000Z", "role": "assistant", "content": "look", "delta": True},
    {"type": "tool_use", "timestamp": "2026-01-01T00:00:02.000Z", "tool_name": "read_file", "tool_id": "c1",
     "parameters": {"path": "a"}},
    {"type": "tool_result", "timestamp": "2026-01-01T00:00:03.500Z", "tool_id": "c1", "status": "error",
     "error": {"type": "FILE_NOT_FOUND", "message": "not an a"}},
    {"type": "error", "timestamp": "2026-01-01T00:00:04.000Z", "severity": "warning", "message": "loop"},
    {"type": "message", "timestamp": "2026-01-01T00:00:05.000Z", "role": "assistant", "content": "sorry", "delta": True},
    {"type": "result", "timestamp": "2026-01-01T00:00:06.000Z", "status": "success",
     "stats": {"total_tokens": 130, "input_tokens": 120, "output_tokens": 10, "cached": 30, "tool_calls": 1}},
]  # fmt: skip


def hands_event(identity, source, **more):
    return {"id": identity, "timestamp": f"2026-01-01T00:00:{identity:02}.000000", "source": source, **more}


def hands_metadata(reply, text, usage, call, *calls):
    """Return what the first generation notes of a call: the reply that made it, whole, beside each of its calls."""
    functions = [
        {"id": identity, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for identity, name, arguments in calls
    ]
    read, written = usage
    return {
        "function_name": next(name for identity, name, _ in calls if identity == call), "tool_call_id": call,
        "model_response": {
            "id": reply, "choices": [{"message": {"role": "assistant", "content": text, "tool_calls": functions}}],
            "usage": {"prompt_tokens": read, "completion_tokens": written, "prompt_tokens_details": {"cached_tokens": 4}},
        },
    }  # fmt: skip


HANDS_CALLS = (
    ("t1", "execute_bash", {"command": "ls"}),
    ("t2", "str_replace_editor", {"command": "view", "path": "a"}),
)
OPENHANDS = [
    hands_event(0, "agent", action="system", args={"content": "be brief", "agent_class": "CodeActAgent"}),
    hands_event(1, "user", action="message", message="fix it", args={"content": "fix it"}),
    hands_event(2, "user", action="recall", args={"query": "fix it"}),
    hands_event(3, "agent", action="run", args={"command": "ls", "thought": "I look"},
                tool_call_metadata=hands_metadata("r1", "I look", (100, 8), "t1", *HANDS_CALLS)),
    hands_event(4, "agent", action="edit", args={"path": "a"},
                tool_call_metadata=hands_metadata("r1", "I look", (100, 8), "t2", *HANDS_CALLS)),
    hands_event(6, "agent", cause=3, observation="run", content="a", extras={"metadata": {"exit_code": 2}}),
    hands_event(7, "agent", cause=4, observation="error", content="no such file", extras={"error_id": ""}),
    hands_event(8, "environment", observation="agent_state_changed", content="", extras={"agent_state": "running"}),
    hands_event(9, "agent", action="delegate", args={"agent": "BrowsingAgent", "inputs": {"task": "find"}, "thought": ""}),
    hands_event(10, "agent", action="browse_interactive", args={"browser_actions": "goto('x')", "thought": "go"}),
    hands_event(11, "agent", cause=10, observation="browse", content="page", extras={"url": "x"}),
    hands_event(12, "agent", cause=9, observation="delegate", content="found", extras={"outputs": {}}),
    hands_event(13, "agent", action="finish", args={"outputs": {}, "thought": "all done"},
                tool_call_metadata=hands_metadata("r2", None, (150, 9), "t3", ("t3", "finish", {"message": "ok"}))),
]  # fmt: skip


def hands_two(kind, second, source, **more):
    return {
        "id": f"e{second}",
        "timestamp": f"2026-01-01T00:00:{second:02}.000000",
        "source": source,
        "kind": kind,
        **more,
    }


def hands_call(second, call, name, arguments, reply, thought=""):
    return hands_two("ActionEvent", second, "agent", tool_name=name, tool_call_id=call, llm_response_id=reply,
                     thought=[{"type": "text", "text": thought}], action={"kind": "Action", **arguments},
                     tool_call={"id": call, "name": name, "arguments": json.dumps(arguments)})  # fmt: skip


def hands_result(second, call, name, text, **more):
    return hands_two("ObservationEvent", second, "environment", tool_name=name, tool_call_id=call, action_id="?",
                     observation={"content": [{"type": "text", "text": text}], **more})  # fmt: skip


def hands_stats(second, read, written, cost):
    usage = {"prompt_tokens": read, "completion_tokens": written, "cache_read_tokens": 30, "cache_write_tokens": 0}
    metrics = {"accumulated_cost": cost, "accumulated_token_usage": usage}
    helper = {"accumulated_cost": 0.0, "accumulated_token_usage": {"prompt_tokens": 10, "completion_tokens": 1}}
    return hands_two("ConversationStateUpdateEvent", second, "environment", key="stats",
                     value={"usage_to_metrics": {"agent": metrics, "condenser": helper}})  # fmt: skip


OPENHANDS_SDK = [
    hands_two("SystemPromptEvent", 0, "agent", system_prompt={"type": "text", "text": "be brief"}, tools=[]),
    hands_two("MessageEvent", 1, "user", llm_message={"role": "user", "content": [{"type": "text", "text": "fix it"}]}),
    hands_call(2, "t1", "terminal", {"command": "ls"}, "r1", "I look"),
    hands_call(3, "t2", "file_editor", {"command": "view", "path": "a"}, "r1"),
    hands_result(5, "t1", "terminal", "a", is_error=False, exit_code=0),
    hands_result(6, "t2", "file_editor", "no such file", is_error=True),
    hands_stats(6, 100, 8, 0.1),
    hands_call(7, "t3", "no_such_tool", {}, "r2"),
    hands_two("AgentErrorEvent", 8, "agent", tool_name="no_such_tool", tool_call_id="t3", error="not found"),
    hands_call(9, "t4", "terminal", {"command": "sleep 99"}, "r3"),
    hands_result(19, "t4", "terminal", "still running", is_error=False, exit_code=-1),
    hands_two("MessageEvent", 20, "agent", llm_response_id="r4",
              llm_message={"role": "assistant", "content": [{"type": "text", "text": "done"}]}),
    hands_stats(20, 260, 25, 0.3),
]  # fmt: skip


def agno_message(role, content, **more):
    return {"id": role, "role": role, "content": content, "created_at": 1_700_000_000, "from_history": False, **more}


def agno_call(identity, name, arguments):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def agno_run(**who):
    replies = [
        agno_message("assistant", None, tool_calls=[agno_call("1", "look", {"q": "bleu"}), agno_call("2", "save", {})],
                     metrics={"input_tokens": 10, "output_tokens": 2, "cache_read_tokens": 4}),
        agno_message("tool", "found", tool_call_id="1", tool_name="look", tool_call_error=False),
        agno_message("tool", "disk full", tool_call_id="2", tool_name="save", tool_call_error=True),
        agno_message("assistant", "done", metrics={"input_tokens": 20, "output_tokens": 3}),
    ]  # fmt: skip
    earlier = agno_message("user", "before", from_history=True)
    return {
        "run_id": "r",
        "metrics": {"input_tokens": 30},
        "messages": [earlier, agno_message("user", "go"), *replies],
        **who,
    }


# format: document, as lines, agents, tool calls, messages, tokens in and out; counted by hand in the logs above
LOGS = {
    # two replies, two answers, the user's; what is of an earlier run left out
    "agno": (agno_run(agent_id="a", agent_name="Scout"), False, ("Scout",), 2, 5, 30, 5),
    "mini-swe-agent": (MINI, False, ("main",), 3, 8, 220, 16),
    "jaeger": (JAEGER, False, ("boss", "aide"), 1, 2, 30, 4),  # one reply, one hand-off
    "langfuse": (LANGFUSE, False, ("planner", "writer"), 1, 3, 120, 8),  # two replies, one hand-off
    # six whole events and a hand-off; thoughts are output
    "adk": (ADK, False, ("root", "meteo"), 2, 7, 120, 15),
    "atif": (ATIF, False, ("lead", "lead k1"), 3, 4, 90, 7),  # three steps, one hand-off
    "codex": (CODEX, True, ("codex",), 2, 2, 260, 25),
    "tau2-bench": (TAU2, False, ("agent", "user"), 2, 6, 40, 8),
    # three replies and a hand-off; turns and the task repeat their sums
    "openai-agents": (lines_of("openai-agents.jsonl"), True, ("triage", "writer"), 2, 4, 60, 6),
    # the task, two plans, four actions
    "smolagents": (document_of("smolagents.json"), False, ("agent",), 5, 7, 210, 21),
    "mlflow": (document_of("mlflow.json"), False, ("planner", "writer"), 2, 3, 30, 3),  # two replies, one hand-off
    # two of the user's and two replies, what was taken back left out; thoughts are output
    "gemini-cli": (GEMINI, True, ("gemini",), 3, 4, 150, 15),
    # the system's, the user's, three replies, a hand-off; each reply's tokens once: 100 + 150
    "openhands": (OPENHANDS, False, ("CodeActAgent", "BrowsingAgent"), 4, 6, 250, 17),
}
