"""The readers of logs that are not spans, on logs written here, whole and with anything in any place."""

import copy
import json
import re
import tempfile
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings, strategies as st
from support import trace_logs
from support.paths import ROOT

from markbook import plugins
from markbook.cli import cli
from markbook.errors import DataError, MarkbookError
from markbook.trace import StepKind
from markbook.traces import detect, read_trace, read_traces
from markbook.traces.references import ANY, pick, read_references

CHAT = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "function": {"name": "look", "arguments": '{"q": "x"}'}},
            {"id": "2", "function": {"name": "save", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "2", "content": "Error: disk full"},
    {"role": "tool", "tool_call_id": "1", "content": "found"},
    {"role": "assistant", "content": "done"},
]
PYDANTIC = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi", "timestamp": "2026-01-01T00:00:00Z"}]},
    {
        "kind": "response",
        "usage": {"input_tokens": 50, "output_tokens": 5},
        "parts": [
            {"part_kind": "tool-call", "tool_name": "look", "args": {"q": 1}, "tool_call_id": "a"},
            {"part_kind": "tool-call", "tool_name": "save", "args": '{"p": 2}', "tool_call_id": "b"},
        ],
    },
    {
        "kind": "request",
        "parts": [
            {"part_kind": "tool-return", "tool_name": "look", "content": "found", "tool_call_id": "a"},
            {"part_kind": "retry-prompt", "tool_name": "save", "content": "no", "tool_call_id": "b"},
        ],
    },
    {
        "kind": "response",
        "usage": {"input_tokens": 60, "output_tokens": 6},
        "parts": [{"part_kind": "text", "content": "ok"}],
    },
]
CLAUDE = [
    {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"]},
    {
        "type": "assistant",
        "session_id": "s",
        "message": {
            "id": "m1",
            "usage": {"input_tokens": 3, "output_tokens": 1},
            "content": [{"type": "text", "text": "go"}],
        },
    },
    {
        "type": "assistant",
        "session_id": "s",
        "message": {
            "id": "m1",
            "usage": {"input_tokens": 3, "output_tokens": 9, "cache_read_input_tokens": 40},
            "content": [
                {"type": "tool_use", "id": "t1", "name": "Task", "input": {"subagent_type": "scout", "prompt": "p"}}
            ],
        },
    },
    {
        "type": "assistant",
        "session_id": "s",
        "parent_tool_use_id": "t1",
        "message": {
            "id": "m2",
            "usage": {"input_tokens": 5, "output_tokens": 2},
            "content": [{"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}],
        },
    },
    {
        "type": "user",
        "session_id": "s",
        "parent_tool_use_id": "t1",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t2", "is_error": True, "content": "denied"}]},
    },
    {"type": "hologram", "session_id": "s"},
    {"type": "result", "session_id": "s", "total_cost_usd": 0.5, "is_error": False},
]
AUTOGEN = [
    {"type": "TextMessage", "source": "user", "content": "hi"},
    {
        "type": "ToolCallRequestEvent",
        "source": "planner",
        "models_usage": {"prompt_tokens": 11, "completion_tokens": 3},
        "content": [{"id": "c", "name": "look", "arguments": '{"q": 1}'}],
    },
    {
        "type": "ToolCallExecutionEvent",
        "source": "planner",
        "content": [{"call_id": "c", "name": "look", "content": "x", "is_error": False}],
    },
    {"type": "HandoffMessage", "source": "planner", "target": "writer", "content": "yours"},
    {
        "type": "TextMessage",
        "source": "writer",
        "content": "text",
        "models_usage": {"prompt_tokens": 20, "completion_tokens": 8},
    },
    {"type": "TextMessage", "source": "planner", "content": "good"},
]
WHO = {
    "is_correct": False,
    "question": "q",
    "mistake_agent": "Solver",
    "mistake_step": "1",
    "mistake_reason": "r",
    "system_prompt": {"Solver": "s", "Idle": "i"},
    "history": [
        {"role": "human", "content": "q"},
        {"role": "Chief (thought)", "content": "hm"},
        {"role": "Chief (-> Solver)", "content": "do it"},
        {"role": "user", "name": "Solver", "content": "done"},
    ],
}
SWE = {
    "environment": "main",
    "trajectory": [{"action": "ls -l\n", "observation": "a", "response": "look", "thought": "t", "state": "{}"}],
    "history": [
        {"role": "system", "content": "s", "agent": "primary"},
        {"role": "assistant", "content": "demo", "action": "rm x", "agent": "primary", "is_demo": True},
        {"role": "assistant", "content": "look", "action": "ls -l\n", "agent": "primary"},
        {"role": "user", "content": "a", "agent": "primary"},
    ],
    "info": {
        "exit_status": "submitted",
        "model_stats": {"api_calls": 1, "tokens_sent": 100, "tokens_received": 9, "instance_cost": 0.1},
    },
}
AGENTS_EVAL = {
    "execution_id": "e1",
    "start_time": 10.0,
    "end_time": 20.0,
    "agent_interactions": [{"from": "manager", "to": "researcher", "type": "delegation", "query": "q"}],
    "tool_calls": [
        {
            "tool_name": "delegate",
            "success": True,
            "duration": 8.0,
            "timestamp": 20.0,
            "agent_id": "manager",
            "context": "c",
        },
        {
            "tool_name": "get",
            "success": False,
            "duration": 1.0,
            "timestamp": 15.0,
            "agent_id": "researcher",
            "context": "p=1",
        },
    ],
    "coordination_events": [{"coordination_type": "delegation", "target_agents": ["researcher"]}],
}
LANGSMITH = [
    {"id": "r", "trace_id": "r", "run_type": "chain", "name": "team", "start_time": "2026-01-01T00:00:00", "end_time": "2026-01-01T00:00:09"},
    {
        "id": "p", "trace_id": "r", "parent_run_id": "r", "run_type": "chain", "name": "planner",
        "start_time": "2026-01-01T00:00:01", "extra": {"metadata": {"langgraph_node": "planner"}},
    },
    {
        "id": "l", "trace_id": "r", "parent_run_id": "p", "run_type": "llm", "name": "m", "prompt_tokens": 12, "completion_tokens": 4,
        "start_time": "2026-01-01T00:00:02", "extra": {"metadata": {"langgraph_node": "planner"}},
    },
    {
        "id": "t", "trace_id": "r", "parent_run_id": "p", "run_type": "tool", "name": "look", "inputs": {"input": '{"q": 1}'},
        "start_time": "2026-01-01T00:00:03", "error": "boom", "extra": {"metadata": {"langgraph_node": "tools"}},
    },
]  # fmt: skip
SAMPLE = {
    "id": 7,
    "epoch": 2,
    "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}}]},
        {"role": "tool", "tool_call_id": "c1", "function": "bash", "content": "a"},
    ],
    "scores": {"match": {"value": "C"}},
    "events": [
        {"event": "span_begin", "id": "s1", "type": "agent", "name": "worker"},
        {"event": "model", "span_id": "s1", "output": {"usage": {"input_tokens": 30, "output_tokens": 3}}},
        {"event": "tool", "id": "c1", "span_id": "s1", "function": "bash", "arguments": {"cmd": "ls"}, "result": "a",
         "timestamp": "2026-01-01T00:00:00+00:00", "completed": "2026-01-01T00:00:02+00:00"},
        {"event": "tool", "id": "c2", "span_id": "s1", "function": "python", "failed": True, "arguments": {}},
    ],
}  # fmt: skip
INSPECT = {"version": 2, "eval": {"task": "t"}, "plan": {}, "samples": [SAMPLE]}
TAU = [
    {
        "task_id": 0,
        "trial": 1,
        "reward": 1.0,
        "traj": CHAT,
        "info": {"task": {"actions": [{"name": "look", "kwargs": {"q": "x"}}, {"name": "send", "kwargs": {}}]}},
    }
]

# format: document, as lines, agents, tool calls, messages, tokens in and out; counted by hand in the logs above
LOGS = {
    "openai-messages": (CHAT, False, ("assistant",), 2, 6, None, None),
    "pydantic-ai": (PYDANTIC, False, ("agent",), 2, 4, 110, 11),
    # two replies, one of them in two events, one delegation, one user event
    "claude-code": (CLAUDE, True, ("main", "scout"), 2, 4, 8, 11),
    "autogen": (AUTOGEN, False, ("planner", "writer"), 1, 5, 31, 11),
    "who-and-when": (WHO, False, ("Chief", "Solver"), 0, 4, None, None),
    "swe-agent": (SWE, False, ("primary",), 1, 4, 100, 9),
    "agents-eval": (AGENTS_EVAL, False, ("manager", "researcher"), 2, 1, None, None),
    "langsmith": (LANGSMITH, False, ("planner",), 1, 1, 12, 4),
    "inspect": (INSPECT, False, ("assistant", "worker"), 2, 3, 30, 3),
    "tau-bench": (TAU, False, ("agent",), 2, 6, None, None),
    **trace_logs.LOGS,
}


def write(folder, document, *, lines=False):
    path = Path(folder) / "log.json"
    text = "\n".join(json.dumps(row) for row in document) if lines else json.dumps(document)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", LOGS)
def test_each_log_is_known_by_its_content_and_counted_right(tmp_path, name):
    document, lines, agents, calls, messages, tokens_in, tokens_out = LOGS[name]
    path = write(tmp_path, document, lines=lines)

    assert detect(path) == name
    trace = read_trace(path)
    assert (trace.format, trace.tool_calls, trace.messages) == (name, calls, messages)
    assert (trace.input_tokens, trace.output_tokens) == (tokens_in, tokens_out)
    if name == "inspect":
        agents = ("worker", "assistant") if trace.agents[0] == "worker" else agents
    assert trace.agents == agents


@pytest.mark.parametrize("name", ["openai-messages", "pydantic-ai", "autogen", "langsmith"])
def test_lists_are_read_as_lines_too(tmp_path, name):
    document = LOGS[name][0]

    whole = read_trace(write(tmp_path, document))
    assert read_trace(write(tmp_path, document, lines=True)).steps == whole.steps


def test_every_registered_reader_has_a_log_here():
    assert set(plugins.names("traces")) == {*LOGS, "otlp"}


def test_answers_find_their_calls_in_any_order(tmp_path):
    calls = read_trace(write(tmp_path, CHAT)).tools()

    assert [(step.name, step.result, step.ok) for step in calls] == [
        ("look", "found", None),  # a chat does not say whether a call succeeded
        ("save", "Error: disk full", None),
    ]


def test_tau_bench_brings_reference_reward_and_failures(tmp_path):
    trace = read_trace(write(tmp_path, TAU))

    assert (trace.task, trace.trial, trace.score, trace.success) == ("0", 1, 1.0, True)
    assert [call.tools for call in trace.reference.calls] == [("look",), ("send",)]
    assert [step.ok for step in trace.tools()] == [True, False]


def test_claude_code_repeats_usage_and_it_is_counted_once(tmp_path):
    trace = read_trace(write(tmp_path, CLAUDE, lines=True))

    assert (trace.cached_tokens, trace.cost, trace.success) == (40, 0.5, True)
    assert [(step.agent, step.target) for step in trace.interactions()] == [("main", "scout")]
    assert [(step.agent, step.name, step.ok) for step in trace.tools()] == [
        ("main", "Task", None),
        ("scout", "Bash", False),
    ]
    assert trace.unrecognised == {"events of type 'hologram'": 1}


def session_row(kind, uuid, content, at, *, above=None, agent=None, side=False, usage=None, **more):
    message = {"content": content}
    if kind == "assistant":
        message |= {"id": f"m-{uuid}", "usage": usage or {"input_tokens": 1, "output_tokens": 1}}
    row = {"type": kind, "uuid": uuid, "parentUuid": above, "isSidechain": side, "sessionId": "s1", "message": message}
    return row | ({"agentId": agent} if agent else {}) | {"timestamp": f"2026-01-01T00:00:{at:02}.000Z"} | more


def session_log(*, ids):
    """Two sub-agents side by side, with the ids that newer logs have or tied by their rows and prompts alone."""
    one, two = ("a1", "a2") if ids else (None, None)
    spawn = [
        {"type": "tool_use", "id": f"t{at}", "name": "Task", "input": {"subagent_type": name, "prompt": f"go {name}"}}
        for at, name in ((1, "scout"), (2, "critic"))
    ]
    usage = {"input_tokens": 3, "output_tokens": 9, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 500}

    def work(kind, tool):
        return [{"type": "tool_use", "id": kind, "name": tool, "input": {}}]

    def answer(kind, **more):
        return [{"type": "tool_result", "tool_use_id": kind, "content": "ok", **more}]

    return [
        {"type": "summary", "summary": "x", "leafUuid": "u0"},
        session_row("user", "u0", "hello", 0),
        session_row("assistant", "r0", spawn, 1, above="u0", usage=usage),
        session_row("user", "s1", "go scout", 2, agent=one, side=True),
        session_row("user", "c1", "go critic", 2, agent=two, side=True),
        session_row("assistant", "s2", work("x1", "Read"), 3, above="s1", agent=one, side=True),
        session_row("assistant", "c2", work("x2", "Grep"), 4, above="c1", agent=two, side=True),
        session_row("user", "s3", answer("x1"), 7, above="s2", agent=one, side=True),
        session_row("user", "c3", answer("x2", is_error=True), 6, above="c2", agent=two, side=True),
        session_row("user", "u1", answer("t1"), 8, above="r0", toolUseResult={"agentId": one} if ids else {}),
        session_row("user", "u2", answer("t2"), 9, above="u1", toolUseResult={"agentId": two} if ids else {}),
    ]


@pytest.mark.parametrize("ids", [True, False])
def test_claude_code_session_logs_give_sub_agents_their_calls_tokens_and_times(tmp_path, ids):
    path = write(tmp_path, session_log(ids=ids), lines=True)
    shown = json.loads(CliRunner().invoke(cli, ["trace", str(path), "--json"], catch_exceptions=False).stdout)
    trace = read_trace(path)

    assert detect(path) == "claude-code"
    assert shown["graph"]["tools"] == [
        {"agent": agent, "tool": tool, "calls": calls}
        for agent, tool, calls in (("main", "Task", 2), ("scout", "Read", 1), ("critic", "Grep", 1))
    ]
    assert (shown["agent_names"], shown["unrecognised"]) == (["main", "scout", "critic"], 0)
    assert (shown["input_tokens"], shown["cached_tokens"], shown["cache_written_tokens"]) == (5, 40, 500)
    assert (trace.id, shown["seconds"]) == ("s1", 9.0)
    assert [(step.name, step.seconds, step.ok) for step in trace.tools()] == [
        ("Task", 7.0, True), ("Task", 8.0, True), ("Read", 4.0, True), ("Grep", 2.0, False),
    ]  # fmt: skip
    assert [(step.agent, step.target) for step in trace.interactions()] == [("main", "scout"), ("main", "critic")]


def test_a_sub_agents_own_session_log_is_no_main_agents(tmp_path):
    rows = [row for row in session_log(ids=True) if row.get("agentId") == "a2"]

    assert read_trace(write(tmp_path, rows, lines=True)).agents == ("sub-agent a2",)


def test_pydantic_ai_retry_prompts_are_failed_calls(tmp_path):
    calls = read_trace(write(tmp_path, PYDANTIC)).tools()

    assert [(step.name, step.ok, step.arguments) for step in calls] == [
        ("look", True, {"q": 1}),
        ("save", False, {"p": 2}),
    ]


def test_group_chats_name_listeners_and_idle_agents(tmp_path):
    trace = read_trace(write(tmp_path, WHO))

    assert trace.declared == ("Solver", "Idle")
    assert trace.roster == ("Solver", "Idle", "Chief")
    assert [(step.agent, step.name, step.target) for step in trace.interactions()] == [
        ("Chief", "task_request", "Solver")
    ]
    assert trace.success is False


def test_autogen_handoffs_and_turns(tmp_path):
    trace = read_trace(write(tmp_path, AUTOGEN))

    assert [(step.agent, step.name, step.target) for step in trace.interactions()] == [
        ("planner", "handoff", "writer"),
        ("writer", "message", "planner"),
    ]


def test_swe_agent_leaves_demonstrations_out_and_zero_counts_unknown(tmp_path):
    trace = read_trace(write(tmp_path, SWE))
    assert [(step.name, step.arguments) for step in trace.tools()] == [("ls", "-l")]

    silent = copy.deepcopy(SWE)
    silent["info"]["model_stats"] = {"api_calls": 0, "tokens_sent": 0, "tokens_received": 0}
    assert read_trace(write(tmp_path, silent)).input_tokens is None

    del silent["history"]
    assert [step.name for step in read_trace(write(tmp_path, silent)).tools()] == ["ls"]


def test_agents_eval_times_are_those_of_the_return(tmp_path):
    calls = read_trace(write(tmp_path, AGENTS_EVAL)).tools()

    # delegate returned at 20 after 8 s, so it began at 12, before get at 14
    assert [(step.name, step.start, step.end, step.ok) for step in calls] == [
        ("delegate", 12, 20, True),
        ("get", 14, 15, False),
    ]


def test_langsmith_trees_are_flattened(tmp_path):
    tree = copy.deepcopy(LANGSMITH[0])
    node = copy.deepcopy(LANGSMITH[1])
    node["child_runs"] = [copy.deepcopy(one) for one in LANGSMITH[2:]]
    tree["child_runs"] = [node]
    trace = read_trace(write(tmp_path, tree))

    assert (trace.tool_calls, trace.input_tokens) == (1, 12)
    [call] = trace.tools()
    assert (call.agent, call.name, call.ok, call.error, call.arguments) == ("planner", "look", False, "boom", {"q": 1})


def test_inspect_zip_reads_as_its_json(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": {}}))
        archive.writestr("samples/7_epoch_2.json", json.dumps(SAMPLE))
    trace = read_trace(path)

    assert trace.steps == read_trace(write(tmp_path, INSPECT)).steps
    assert (trace.success, trace.trial) == (True, 2)
    assert [(step.agent, step.seconds, step.ok) for step in trace.tools()] == [
        ("worker", 2.0, True),
        ("worker", None, False),
    ]


def test_a_zip_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("markbook.files.archive.MAX_DOCUMENT", 1 << 20)
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1.json", " " * (8 << 20))

    with pytest.raises(DataError, match="unfolds to more than"):
        read_trace(path)


@pytest.mark.parametrize("cut", [4, 60, 200])
def test_half_a_zip_is_refused(tmp_path, cut):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1.json", json.dumps(SAMPLE))
    path.write_bytes(path.read_bytes()[:-cut])

    with pytest.raises(DataError):
        read_trace(path)


def test_half_a_document_is_refused_with_the_reason(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(AGENTS_EVAL)[:-30], encoding="utf-8")

    with pytest.raises(DataError, match="not a JSON document"):
        read_trace(path)


def test_half_a_list_keeps_its_complete_elements(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(CHAT)[:-20], encoding="utf-8")
    trace = read_trace(path)

    assert trace.messages == 5
    assert trace.unrecognised == {"cut off in the middle": 1}


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(), st.text(max_size=5),
    st.just([]), st.just({}), st.just([[[]]]), st.just({"role": {"a": [1]}}), st.just(["x", 1, None, {}]),
    st.just("\x1b[31m\x00\ud800"),
)  # fmt: skip


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from places(item, (*path, at))


def replaced(value, path, junk):
    if not path:
        return junk
    made = copy.copy(value)
    made[path[0]] = replaced(value[path[0]], path[1:], junk)
    return made


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
@pytest.mark.parametrize("name", LOGS)
def test_anything_in_any_place_is_read_or_refused(name, data):
    document = LOGS[name][0]
    for _ in range(data.draw(st.integers(1, 3))):
        document = replaced(document, data.draw(st.sampled_from(list(places(document)))), data.draw(JUNK))
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, document)
        try:
            for trace in read_traces(path, format=name):
                assert trace.tool_calls == len(trace.tools())
        except MarkbookError as error:
            assert "log.json" in str(error)


def test_references_come_as_calls_as_tasks_and_as_traces(tmp_path):
    plain = tmp_path / "plain.json"
    plain.write_text('["look", ["save", "store"], {"tool": "send", "arguments": {"to": 1}}]', encoding="utf-8")
    held = read_references(plain)[ANY]
    assert [call.tools for call in held.calls] == [("look",), ("save", "store"), ("send",)]
    assert held.calls[2].arguments == {"to": 1}

    tasks = tmp_path / "tasks.json"
    tasks.write_text('{"references": {"0": {"calls": ["look"], "path_length": 3}, "9": ["a"]}}', encoding="utf-8")
    trace = read_trace(write(tmp_path, TAU))
    assert pick(read_references(tasks), trace).path_length == 3

    [run] = read_references(write(tmp_path, AGENTS_EVAL)).values()
    assert [call.tools for call in run.calls] == [("delegate",), ("get",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{}]", "not a reference of tools"),
        ('{"references": {"a": 3}}', "needs `calls`"),
        ('[{"tool": ""}]', "names no tool"),
        ("[[", "not a reference of tools"),
        ('{"calls": "search"}', "`calls` of a reference is not a list"),
        ('{"callz": ["a"]}', "did you mean 'calls'?"),
        ('{"p1": {"calls": ["a"], "path_lenght": 2}}', "did you mean 'path_length'?"),
        ('{"calls": [], "path_length": -3}', "`path_length` of a reference is -3"),
        ('{"path_length": 1.5}', "`path_length` of a reference is 1.5"),
        ('[{"tool": "a", "arguments": "x"}]', "not an object: 'x'"),
        ('{"references": {"a": ["x"], "a": ["y"]}}', "the key 'a' stands twice"),
    ],
)
def test_what_is_no_reference_is_refused(tmp_path, text, message):
    path = tmp_path / "r.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(DataError) as refused:
        read_references(path)

    assert message in str(refused.value)
    assert "r.json" in str(refused.value)


@pytest.mark.parametrize(("name", "told"), [("nope", True), ("0", False)])
def test_a_reference_that_belongs_to_no_run_is_named(tmp_path, name, told):
    reference = tmp_path / "r.json"
    reference.write_text(json.dumps({"references": {name: {"calls": ["look"]}}}), encoding="utf-8")
    made = CliRunner().invoke(cli, ["trace", str(write(tmp_path, TAU)), "--reference", str(reference)])

    assert made.exit_code == 0
    assert ("no run here belongs to the reference of nope; the runs are 0" in made.stderr) is told


def test_results_are_steps_of_their_own_kind(tmp_path):
    kinds = [step.kind for step in read_trace(write(tmp_path, CHAT)).steps]

    assert kinds.count(StepKind.TOOL) == 2
    assert kinds.count(StepKind.MESSAGE) == 6


@pytest.mark.parametrize("page", ["README.md", "docs/tutorials/review.md"])
def test_the_pages_say_how_many_formats_there_are(page):
    n_readers = len(entry_points(group="markbook.traces"))

    assert re.findall(r"any of (\S+) formats", (ROOT / page).read_text("utf-8")) == [str(n_readers)]
