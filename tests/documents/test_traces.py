"""Real logs of seven frameworks: counts taken by hand from the raw files, and tau-bench's own ground truth."""

import math

import pytest

from markbook.metrics.graph import trace_metrics
from markbook.metrics.graph.all_metrics import AcrossRuns
from markbook.traces import read_trace, read_traces

AGENTS_EVAL = "agents-eval-mas/{}/trace.json"
MAS = {
    # agents, tool calls, messages between agents
    "20260302_145125_mas_1105.1072_exec_642": (1, 3, 0),
    "20260302_181901_mas_1105.1072_exec_228": (2, 4, 1),
    "20260302_210656_mas_1105.1072_exec_207": (2, 3, 1),
    "20260302_220421_mas_1105.1072_exec_156": (2, 5, 1),
    "20260302_231228_mas_1105.1072_exec_041": (1, 1, 0),
    "20260302_231244_mas_1105.1072_exec_57f": (1, 2, 0),
    "20260302_231259_mas_1105.1072_exec_b60": (1, 2, 0),
    "20260302_231418_mas_1105.1072_exec_679": (2, 4, 3),
    "20260302_231644_mas_1105.1072_exec_e6a": (2, 2, 1),
    "20260303_100920_mas_1105.1072_exec_b8d": (1, 1, 0),
    "20260303_142117_mas_1105.1072_exec_c7a": (3, 4, 2),
}
FILES = {
    # format, agents, tool calls, messages (entries of a chat; replies and hand-offs in spans), tokens in and out
    # one Agent call and nine calls of the sub-agent; three replies (3 + 3 + 164 tokens), six user events, one
    # delegation.
    "claude-code-stream/20260303T180744_stream.jsonl": ("claude-code", 2, 10, 10, 170, 35),
    "inspect-logs/2025-05-12T20-28-13-04-00_popularity.json": ("inspect", 1, 0, 9, 192, 6),  # three samples
    "inspect-logs/log_formats.json": ("inspect", 1, 0, 3, 66, 2),
    "inspect-logs/log_read_sample.eval": ("inspect", 1, 0, 3, 66, 3),
    "inspect-logs/log_tool_call_error.json": ("inspect", 1, 11, 11, None, None),
    # call_llm repeats generate_content's tokens: 157 + 222 and 51 + 33 once
    "otel-spans/adk_live_spans.json": ("otlp", 1, 1, 2, 379, 84),
    # three Bash and three Agent calls; the tokens stand on the root agent alone
    "otel-spans/claude_live_spans.json": ("otlp", 3, 6, 3, None, None),
    # 225+141+174+275+187+217+246+405 and 23+17+18+24+20+20+98+33
    "otel-spans/openai_agents_genai_live_spans.json": ("otlp", 3, 5, 10, 1870, 253),
    # 212+190+242+272+312 and 27+53+19+65+30
    "otel-spans/openai_agents_openinference_live_spans.json": ("otlp", 2, 4, 6, 1228, 194),
    "otel-spans/openinference_live_spans.json": ("otlp", 1, 1, 2, None, None),
    # 80+120 and 25+35; the agent span's own 150 and 42 are no model call
    "otel-spans/otel_genai_convention_spans.json": ("otlp", 1, 2, 2, 200, 60),
    # 588+663 and 53+25
    "otel-spans/pydantic_ai_live_spans.json": ("otlp", 1, 1, 2, 1251, 78),
    # 2366+3890 and 52+111; the run's span repeats the sum
    "otel-spans/smolagents_live_spans.json": ("otlp", 1, 2, 2, 6256, 163),
    "swe-agent/function_calling_simple.traj": ("swe-agent", 1, 5, 12, None, None),
    "swe-agent/pydicom__pydicom-1458.traj": ("swe-agent", 1, 12, 26, 122612, 1369),
    "swe-agent/warmup.traj": ("swe-agent", 1, 7, 15, None, None),  # replayed: it counts 0 calls and 0 tokens
    "tau-bench/gpt-4o-airline_tasks0-11x4.json": ("tau-bench", 1, 343, 1492, None, None),
    # people (`human`) are not agents; Computer_terminal speaks and counts
    "who-and-when/Algorithm-Generated/1.json": ("who-and-when", 4, 0, 6, None, None),
    "who-and-when/Algorithm-Generated/2.json": ("who-and-when", 4, 0, 7, None, None),
    "who-and-when/Algorithm-Generated/20.json": ("who-and-when", 3, 0, 10, None, None),
    "who-and-when/Algorithm-Generated/3.json": ("who-and-when", 4, 0, 8, None, None),
    "who-and-when/Algorithm-Generated/40.json": ("who-and-when", 4, 0, 9, None, None),
    "who-and-when/Algorithm-Generated/5.json": ("who-and-when", 4, 0, 9, None, None),
    "who-and-when/Algorithm-Generated/8.json": ("who-and-when", 4, 0, 10, None, None),
    "who-and-when/Hand-Crafted/24.json": ("who-and-when", 1, 0, 5, None, None),
    "who-and-when/Hand-Crafted/34.json": ("who-and-when", 2, 0, 5, None, None),
    "who-and-when/Hand-Crafted/48.json": ("who-and-when", 2, 0, 5, None, None),
    "who-and-when/Hand-Crafted/6.json": ("who-and-when", 2, 0, 8, None, None),
}
FILES |= {AGENTS_EVAL.format(name): ("agents-eval", *counts, None, None) for name, counts in MAS.items()}


@pytest.fixture(scope="module")
def traces(shared_data):
    return shared_data / "agent-traces"


@pytest.mark.parametrize("name", FILES)
def test_every_real_log_is_counted_as_by_hand(traces, name):
    trace = read_trace(traces / name)

    counts = (
        trace.format,
        len(trace.agents),
        trace.tool_calls,
        trace.messages,
        trace.input_tokens,
        trace.output_tokens,
    )
    assert counts == FILES[name]
    if name != "otel-spans/adk_live_spans.json":
        assert not trace.unrecognised


def test_no_log_is_left_out(traces):
    logs = {
        str(path.relative_to(traces))
        for pattern in ("*/trace.json", "*.jsonl", "inspect-logs/*", "otel-spans/*", "swe-agent/*", "tau-bench/*")
        for path in traces.rglob(pattern)
    } | {str(path.relative_to(traces)) for path in traces.glob("who-and-when/*/*.json")}

    assert logs == set(FILES)


def test_adk_root_has_no_attributes_and_is_said_to_be_unknown(traces):
    trace = read_trace(traces / "otel-spans/adk_live_spans.json")

    assert trace.unrecognised == {"spans without agent, model or tool attributes": 1}


def test_sub_agents_go_by_what_they_were_started_as(traces):
    trace = read_trace(traces / "otel-spans/claude_live_spans.json")

    assert trace.agents == ("ClaudeAgentSDK.query", "research-specialist", "math-specialist")
    assert [(step.agent, step.target) for step in trace.interactions()] == [
        ("ClaudeAgentSDK.query", "research-specialist"),
        ("ClaudeAgentSDK.query", "research-specialist"),
        ("ClaudeAgentSDK.query", "math-specialist"),
    ]


def test_agents_eval_graph_has_the_published_nodes(traces):
    trace = read_trace(traces / AGENTS_EVAL.format("20260303_142117_mas_1105.1072_exec_c7a"))
    found = trace_metrics(trace)

    # its agent_graph.json: three agents, four tools
    assert found["graph_complexity"].value == 7
    # tasks 2, 2, 0 (the idle analyst): mean 4/3, sample sd sqrt(4/3)
    assert found["task_distribution_balance"].value == pytest.approx(1 - math.sqrt(4 / 3) / (4 / 3), abs=1e-12)
    # one-way star of three: betweenness 0, an analyst's incoming closeness 1/2, degree 1/2
    assert trace_metrics(trace, profile="documented")["coordination_centrality"].value == pytest.approx(1 / 3)
    assert found["communication_overhead"].value == 1
    assert trace_metrics(trace, profile="documented")["communication_overhead"].value == 0  # `delegation` is not listed


def test_tau_bench_selection_against_the_ground_truth_of_all_48_trajectories(traces):
    runs = list(read_traces(traces / "tau-bench/gpt-4o-airline_tasks0-11x4.json"))
    scored = [trace_metrics(run) for run in runs]
    values = [found["tool_selection_accuracy"].value for found in scored]

    assert len(runs) == 48
    assert sum(run.success for run in runs) == 6
    # ten trajectories made no call although one was expected: no value, and no 0
    assert sum(value is None for value in values) == sum(run.tool_calls == 0 for run in runs) == 10
    for run, value in zip(runs, values, strict=True):
        if value is not None:
            wanted = [call.tools[0] for call in run.reference.calls]
            left = list(wanted)
            hits = 0
            for step in run.tools():
                if step.name in left:
                    left.remove(step.name)
                    hits += 1
            assert value == hits / run.tool_calls


def test_tau_bench_pass_hat_k_over_four_trials(traces):
    gathered = AcrossRuns()
    for run in read_traces(traces / "tau-bench/gpt-4o-airline_tasks0-11x4.json"):
        gathered.add(run, trace_metrics(run))
    found = gathered.results()

    # six tasks of twelve succeed once in four trials each: 6/48; no two trials of a task succeed
    assert found["pass^1"].value == pytest.approx(6 / 48)
    assert [found[f"pass^{k}"].value for k in (2, 3, 4)] == [0, 0, 0]
    assert found["tool_recall"].stats["n"] == 48
