"""Logs of agent programs and frameworks: what of them is counted, and that nothing is counted which they do not say."""

import json
import random
import time

import pytest
from click.testing import CliRunner
from support.load import allowed
from support.trace_logs import (
    DATA,
    GEMINI,
    GEMINI_STREAM,
    LOGS,
    OPENHANDS,
    OPENHANDS_SDK,
    agno_message,
    agno_run,
    document_of,
    lines_of,
)

from markbook.cli import cli
from markbook.errors import DataError
from markbook.trace import StepKind
from markbook.traces import detect, read_trace, read_traces

NAMES = ("openai-agents", "smolagents", "mlflow", "gemini-cli", "openhands")


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


def outcomes(path):
    return [(step.agent, step.name, step.ok, step.error) for step in read_trace(path).tools()]


def test_openai_agents_spans_give_each_agent_its_calls_and_each_model_call_its_tokens_once():
    path = DATA / "openai-agents.jsonl"
    report = shown(path)

    assert report["graph"]["edges"] == [{"from": "triage", "to": "writer", "messages": 1}]
    assert (report["cached_tokens"], report["cost"], report["unrecognised"]) == (12, None, 0)
    assert outcomes(path) == [
        ("triage", "look", True, ""),
        ("triage", "broken", False, "Error running tool (non-fatal)"),
    ]
    [look, _] = read_trace(path).tools()
    assert (look.arguments, look.result, round(look.seconds, 3)) == ({"q": "bleu"}, "found bleu", 0.027)


def test_openai_agents_spans_are_read_as_they_are_sent_and_as_a_list(written):
    rows = lines_of("openai-agents.jsonl")
    lines = read_trace(written(rows, lines=True))

    assert read_trace(written(rows)).steps == lines.steps
    assert read_trace(written({"data": rows})).steps == lines.steps


def test_openai_agents_without_an_executed_call_show_what_the_model_asked_for(written):
    rows = [row for row in lines_of("openai-agents.jsonl") if row.get("span_data", {}).get("type") != "function"]
    trace = read_trace(written(rows, lines=True))

    assert [(step.name, step.ok) for step in trace.tools()] == [
        ("look", None), ("broken", None), ("transfer_to_writer", None),
    ]  # fmt: skip
    assert trace.notes == ("3 tool calls as the models asked for them: no span shows their execution",)


def test_openai_agents_spans_without_usage_leave_the_tokens_unknown(written):
    rows = lines_of("openai-agents.jsonl")
    for row in rows:
        row.get("span_data", {}).pop("usage", None)
        row.get("span_data", {}).get("data", {}).pop("usage", None)

    assert shown(written(rows, lines=True))["input_tokens"] is None


def test_agnos_runs_name_their_agent_its_calls_and_its_tokens(written):
    path = written(agno_run(agent_id="a", agent_name="Scout"))
    trace = read_trace(path)

    assert (detect(path), trace.id, trace.agents) == ("agno", "r", ("Scout",))
    assert (trace.tool_calls, trace.messages) == (2, 5)
    assert (trace.input_tokens, trace.output_tokens, trace.cached_tokens) == (10 + 20, 2 + 3, 4)
    assert [(step.name, step.ok, step.result) for step in trace.tools()] == [
        ("look", True, "found"),
        ("save", False, "disk full"),
    ]
    assert trace.tools()[0].arguments == {"q": "bleu"}
    assert trace.notes == ("1 messages of earlier runs, left out",)
    assert not trace.unrecognised


def test_agnos_teams_hand_work_to_their_members(written):
    team = {"run_id": "t", "team_id": "x", "team_name": "Lead", "metrics": {"input_tokens": 5}, "member_responses":
            [agno_run(agent_id="a", agent_name="Scout"), agno_run(agent_id="b")], "messages": [agno_message("user", "go")]}  # fmt: skip
    trace = read_trace(written(team))

    assert trace.agents == ("Lead", "Scout", "b")
    assert [(step.agent, step.target) for step in trace.steps if step.name == "delegation"] == [
        ("Lead", "Scout"),
        ("Lead", "b"),
    ]
    assert [step.agent for step in trace.tools()] == ["Scout", "Scout", "b", "b"]
    assert [step.ok for step in trace.tools()] == [True, False, True, False]
    assert trace.input_tokens == 60


def test_agnos_sums_stand_in_where_no_message_has_a_count(written):
    run = {"run_id": "r", "agent_id": "a", "metrics": {"input_tokens": 7, "output_tokens": 2},
           "messages": [agno_message("user", "go"), agno_message("assistant", "done")]}  # fmt: skip
    trace = read_trace(written([run, "stray"]))

    assert (trace.agents, trace.input_tokens, trace.output_tokens, trace.cached_tokens) == (("a",), 7, 2, None)
    assert trace.unrecognised == {"not a run": 1}


def test_smolagents_calls_that_failed_stand_only_in_the_models_reply():
    path = DATA / "smolagents.json"

    assert outcomes(path) == [
        ("agent", "look", True, ""),
        ("agent", "look", True, ""),
        ("agent", "look", False, "AgentToolExecutionError"),
        ("agent", "helper", True, ""),  # an agent that it manages: what that one did stands in its own memory
        ("agent", "final_answer", True, ""),
    ]
    trace = read_trace(path)
    assert [step.arguments for step in trace.tools()][2] == {"q": "bad"}
    assert (trace.success, trace.meta["state"], round(trace.seconds, 4)) == (None, "success", 0.0624)
    assert shown(path)["cost"] is None


def test_smolagents_code_is_a_call_of_its_interpreter():
    path = DATA / "smolagents-code.json"

    assert [(name, ok) for _, name, ok, _ in outcomes(path)] == [
        ("python_interpreter", True), ("python_interpreter", False), ("python_interpreter", True),
    ]  # fmt: skip
    assert read_trace(path).tools()[0].arguments == 'x = look("a")\nprint(x)'


def test_smolagents_memories_are_read_as_lists_and_lines_too(written):
    steps = document_of("smolagents.json")["steps"]
    whole = read_trace(DATA / "smolagents.json")

    assert read_trace(written(steps)).steps == whole.steps
    assert read_trace(written(steps, lines=True)).steps == whole.steps


def test_smolagents_tokens_of_the_result_stand_in_where_steps_have_none(written):
    result = document_of("smolagents.json")
    for step in result["steps"]:
        step.pop("token_usage", None)
    assert read_trace(written(result)).input_tokens == 210

    del result["token_usage"]
    assert read_trace(written(result)).input_tokens is None


def test_smolagents_do_not_say_which_of_several_calls_failed(written):
    result = document_of("smolagents.json")
    two = result["steps"][2]
    two["error"] = {"type": "AgentToolExecutionError", "message": "no"}

    trace = read_trace(written(result))
    assert [step.ok for step in trace.tools()][:2] == [None, None]
    assert trace.notes == ("2 calls of steps of which one failed: the memory does not say which",)


def test_mlflow_spans_keep_tree_errors_and_tokens_in_each_of_its_shapes(written):
    path = DATA / "mlflow.json"
    trace = read_trace(path)

    assert outcomes(path) == [("planner", "look", True, ""), ("planner", "look", False, "ValueError")]
    assert trace.id == "tr-e294caf0a5ea8021aaf28bbd6a169734"
    assert trace.tools()[0].arguments == {"q": "bleu"}
    assert [(step.agent, step.target) for step in trace.interactions()] == [("planner", "writer")]
    document = document_of("mlflow.json")
    artifact = {"spans": document["data"]["spans"]}
    row = {"trace_id": trace.id, "trace": json.dumps(document), "spans": document["data"]["spans"], "state": "OK"}
    for shape in (artifact, row, [row], {"trace_id": trace.id, "trace": json.dumps(document)}):
        assert detect(written(shape)) == "mlflow"
        assert read_trace(written(shape)).steps == trace.steps


def test_mlflow_spans_of_the_second_version_are_read(written):
    span = {
        "name": "look", "context": {"span_id": "b", "trace_id": "t"}, "parent_id": "a", "start_time": 10**18,
        "end_time": 10**18 + 2 * 10**9, "status_code": "ERROR", "status_message": "disk full", "events": [],
        "attributes": {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"q": 1}'},
    }  # fmt: skip
    agent = {
        "name": "planner", "context": {"span_id": "a", "trace_id": "t"}, "parent_id": None, "start_time": 10**18,
        "end_time": 10**18 + 3 * 10**9, "status_code": "OK", "attributes": {"mlflow.spanType": '"AGENT"'},
    }  # fmt: skip
    trace = read_trace(written({"info": {"request_id": "t"}, "data": {"spans": [agent, span]}}))

    [call] = trace.tools()
    assert (trace.id, call.agent, call.name, call.ok, call.error) == ("t", "planner", "look", False, "disk full")
    assert (call.arguments, call.seconds, trace.seconds, trace.input_tokens) == ({"q": 1}, 2.0, 3.0, None)


def test_mlflow_agents_that_only_wrap_another_are_not_agents(written):
    document = document_of("mlflow.json")
    root = document["data"]["spans"][0]
    outer = json.loads(json.dumps(root)) | {"span_id": "outer", "name": "planner.run_sync"}
    root["parent_span_id"] = "outer"
    document["data"]["spans"].insert(0, outer)

    assert shown(written(document))["agent_names"] == ["planner", "writer"]


def test_gemini_sessions_leave_out_what_the_user_took_back(written):
    path = written(GEMINI, lines=True)
    trace = read_trace(path)

    assert outcomes(path) == [
        ("gemini", "read_file", True, ""),
        ("gemini", "run_shell_command", False, "error"),
        ("gemini", "write_file", False, "cancelled"),
    ]
    assert [step.text for step in trace.steps if step.kind is StepKind.MESSAGE] == ["fix it", "I look", "go on", "done"]
    assert [step.result for step in trace.tools()][:2] == ["text", "no rule"]
    assert (trace.id, trace.cached_tokens, trace.cost, trace.seconds) == ("g1", 40, None, 9.0)
    assert trace.notes == (
        "1 messages of the program to its user, no step",
        "2 messages taken back by the user, left out",
    )


def test_gemini_sessions_of_one_object_read_as_their_lines(written):
    kept = [row for row in GEMINI[1:] if row.get("id") in ("u1", "a1", "i1", "u3", "a3")]
    session = GEMINI[0] | {"messages": [kept[0], *kept[2:]]}

    assert detect(written(session)) == "gemini-cli"
    assert read_trace(written(session)).steps == read_trace(written(GEMINI, lines=True)).steps


def test_gemini_counts_of_0_are_unknown(written):
    rows = [row | {"tokens": {"input": 0, "output": 0, "total": 0}} if "tokens" in row else row for row in GEMINI]

    assert shown(written(rows, lines=True))["input_tokens"] is None


def test_a_gemini_sub_agent_is_not_the_main_one(written):
    assert read_trace(written([GEMINI[0] | {"kind": "subagent"}, *GEMINI[1:]], lines=True)).agents == ("sub-agent",)


def test_gemini_streams_join_the_pieces_of_a_reply(written):
    path = written(GEMINI_STREAM, lines=True)
    trace = read_trace(path)

    assert detect(path) == "gemini-cli"
    assert [step.text for step in trace.steps if step.kind is StepKind.MESSAGE] == ["fix it", "I look", "sorry"]
    [call] = trace.tools()
    assert (call.name, call.arguments, call.ok, call.error, call.result) == (
        "read_file", {"path": "a"}, False, "FILE_NOT_FOUND", "not an a",
    )  # fmt: skip
    assert (call.seconds, trace.id, trace.input_tokens, trace.output_tokens, trace.cached_tokens) == (
        1.5,
        "g2",
        120,
        10,
        30,
    )


def test_a_gemini_stream_without_its_beginning_starts_with_the_piece_that_is_there(written):
    trace = read_trace(written(GEMINI_STREAM[3:], lines=True), format="gemini-cli")

    assert [step.text for step in trace.steps if step.kind is StepKind.MESSAGE] == ["look", "sorry"]


def test_openhands_calls_take_the_models_own_arguments_and_the_commands_exit_code(written):
    path = written(OPENHANDS)
    trace = read_trace(path)

    assert outcomes(path) == [
        ("CodeActAgent", "execute_bash", False, "exit code 2"),
        ("CodeActAgent", "str_replace_editor", False, "error"),
        ("BrowsingAgent", "browse_interactive", None, ""),  # a page does not say whether it is the right one
        ("CodeActAgent", "finish", None, ""),
    ]
    assert [step.arguments for step in trace.tools()][1] == {"command": "view", "path": "a"}
    assert [(step.agent, step.target) for step in trace.interactions()] == [("CodeActAgent", "BrowsingAgent")]
    assert (trace.tools()[0].seconds, trace.cached_tokens, trace.cost) == (3.0, 8, None)
    assert trace.unrecognised == {}


def test_openhands_events_that_say_no_kind_are_counted(written):
    strays = [{"source": "agent", "args": {}}, {"source": "user"}]

    trace = read_trace(written({"history": [*OPENHANDS, *strays]}))

    assert trace.unrecognised == {"events without a kind": 2}
    assert trace.tool_calls == read_trace(written(OPENHANDS)).tool_calls


def test_openhands_running_sums_count_once_and_last(written):
    def metrics(read, cost):
        usage = {"prompt_tokens": read, "completion_tokens": 20, "cache_read_tokens": 7, "cache_write_tokens": 0}
        return {"accumulated_cost": cost, "accumulated_token_usage": usage}

    rows = [dict(row) for row in OPENHANDS]
    rows[3]["llm_metrics"], rows[-1]["llm_metrics"] = metrics(100, 0.1), metrics(300, 0.4)
    trace = read_trace(written(rows))
    assert (trace.input_tokens, trace.output_tokens, trace.cached_tokens, trace.cost) == (300, 20, 7, 0.4)

    rows[-1]["llm_metrics"] = metrics(0, 0.0)  # a model without a price, a server without a count
    trace = read_trace(written(rows))
    assert (trace.input_tokens, trace.cost) == (250, None)


def test_openhands_events_of_its_second_generation(written):
    path = written(OPENHANDS_SDK, lines=True)
    trace = read_trace(path)

    assert detect(path) == "openhands"
    assert outcomes(path) == [
        ("agent", "terminal", True, ""),
        ("agent", "file_editor", False, "error"),
        ("agent", "no_such_tool", False, "error"),
        ("agent", "terminal", None, ""),  # exit code -1: it runs on
    ]
    # the system's, the user's, and four replies, of which the first made two calls
    assert (trace.messages, trace.agents, trace.tools()[0].seconds) == (6, ("agent",), 3.0)
    assert (trace.input_tokens, trace.output_tokens, trace.cached_tokens, trace.cost) == (270, 26, 30, 0.3)


def test_openhands_evaluations_hold_a_run_a_row(written):
    pairs = [[OPENHANDS[3], OPENHANDS[5]], [OPENHANDS[4], OPENHANDS[6]]]  # older rows pair action and observation
    metrics = {"accumulated_cost": 0.7, "accumulated_token_usage": {"prompt_tokens": 500, "completion_tokens": 50}}
    rows = [
        {"instance_id": "x-1", "history": OPENHANDS_SDK, "metrics": metrics, "test_result": {}},
        {"instance_id": "x-2", "history": pairs, "metrics": {}},
    ]
    first, second = read_traces(written(rows, lines=True))

    assert (first.id, first.tool_calls, first.input_tokens, first.cost) == ("x-1", 4, 500, 0.7)
    assert (second.id, [step.ok for step in second.tools()]) == ("x-2", [False, False])


@pytest.mark.parametrize("name", NAMES)
def test_half_a_log_and_bytes_that_are_no_text_are_counted_or_refused(tmp_path, name):
    document, lines = LOGS[name][:2]
    rows = [json.dumps(row) for row in document] if lines else [json.dumps(document)]
    whole = "\n".join(rows).encode()
    chance = random.Random(name)
    path = tmp_path / "log.json"
    for _ in range(25):
        cut = whole[: chance.randrange(1, len(whole))]
        at = chance.randrange(len(cut))
        for damaged in (cut, cut[:at] + b"\xff\xfe\x00" + cut[at:]):
            path.write_bytes(damaged)
            try:
                for trace in read_traces(path):
                    assert trace.tool_calls == len(trace.tools())
            except DataError as error:
                assert "log.json" in str(error)


@pytest.mark.parametrize("name", NAMES)
def test_absurd_values_are_neither_slow_nor_a_traceback(written, name):
    deep = value = {}
    for _ in range(400):
        value["a"] = [{}]
        value = value["a"][0]
    document, lines = LOGS[name][:2]
    long = "x" * 2_000_000

    def spoilt(value, junk):
        if isinstance(value, dict):
            return {key: junk if key in ("args", "arguments", "content", "input", "output", "result", "observations",
                                         "attributes", "text") else spoilt(inner, junk) for key, inner in value.items()}  # fmt: skip
        return [spoilt(inner, junk) for inner in value] if isinstance(value, list) else value

    for junk in (deep, long, 10**4000, -1, float("nan"), None, [], [None, 1, "x"], {"a": 1}):
        began = time.monotonic()
        path = written(spoilt(document, junk), lines=lines)
        try:
            for trace in read_traces(path, format=name):
                assert trace.tool_calls == len(trace.tools())
        except DataError as error:
            assert "log.json" in str(error)
        assert time.monotonic() - began < allowed(20)


def test_logs_of_other_programs_are_not_taken_for_these(written):
    for name, (document, lines, *_) in LOGS.items():
        assert detect(written(document, lines=lines)) == name
