"""Small logs of agent frameworks, written here after the formats' public descriptions."""

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

# format: document, as lines, agents, tool calls, messages, tokens in and out; counted by hand in the logs above
LOGS = {
    "mini-swe-agent": (MINI, False, ("main",), 3, 8, 220, 16),
    "jaeger": (JAEGER, False, ("boss", "aide"), 1, 2, 30, 4),  # one reply, one hand-off
    "langfuse": (LANGFUSE, False, ("planner", "writer"), 1, 3, 120, 8),  # two replies, one hand-off
    # six whole events and a hand-off; thoughts are output
    "adk": (ADK, False, ("root", "meteo"), 2, 7, 120, 15),
    "atif": (ATIF, False, ("lead", "lead k1"), 3, 4, 90, 7),  # three steps, one hand-off
    "codex": (CODEX, True, ("codex",), 2, 2, 260, 25),
    "tau2-bench": (TAU2, False, ("agent", "user"), 2, 6, 40, 8),
}
