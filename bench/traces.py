"""Traces: memory and speed of reading, and betweenness by networkx and rustworkx in one run.

python -m bench.traces            memory slope to 200 MB, a 10,000-span trace, betweenness at 50, 500, 5,000 nodes
python -m bench.traces --large    a 1 GB file and one run of 1,000,000 spans as well
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_CHILD = """
import resource, sys, time
from markbook.cli.trace.terminal import TraceSum
from markbook.metrics.graph import trace_metrics
from markbook.traces import read_traces
began = time.perf_counter()
total = TraceSum("bench", "corrected")
for run in read_traces(sys.argv[1]):
    total.add(run, trace_metrics(run))
took = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(total.count, total.tool_calls, total.input_tokens, round(took, 2), round(peak, 1))
"""


def spans_of_run(run: int, spans: int, pad: str):
    """Yield a run's spans as OTLP dictionaries: a manager and three agents that chat and call tools."""
    trace, clock = format(run + 1, "032x"), 1_700_000_000_000_000_000 + run * 10**12

    def span(number, parent, name, length, **attributes):
        held = [{"key": key, "value": value} for key, value in attributes.items()]
        return {
            "traceId": trace, "spanId": format(number, "016x"), "parentSpanId": format(parent, "016x") if parent else "",
            "name": name, "startTimeUnixNano": str(clock + number * 10**6),
            "endTimeUnixNano": str(clock + number * 10**6 + length), "attributes": held, "status": {"code": 1},
        }  # fmt: skip

    def text(value):
        return {"stringValue": value}

    for number in range(5, spans + 1):  # children are exported before their parents
        parent = 2 + number % 3
        if number % 2:
            attributes = {
                "gen_ai.operation.name": text("chat"), "gen_ai.request.model": text("m"),
                "gen_ai.usage.input_tokens": {"intValue": "100"}, "gen_ai.usage.output_tokens": {"intValue": "10"},
                "gen_ai.input.messages": text(pad),
            }  # fmt: skip
        else:
            attributes = {
                "gen_ai.operation.name": text("execute_tool"), "gen_ai.tool.name": text(f"tool{number % 7}"),
                "gen_ai.tool.call.arguments": text(json.dumps({"q": number})), "gen_ai.tool.call.result": text(pad),
            }  # fmt: skip
        yield span(number, parent, "work", 900_000, **attributes)
    for number, agent in ((2, "a"), (3, "b"), (4, "c"), (1, "manager")):
        held = {"gen_ai.operation.name": text("invoke_agent"), "gen_ai.agent.name": text(agent)}
        yield span(number, 1 if number > 1 else 0, "agent", spans * 10**6, **held)


def write_file(
    path: Path, *, megabytes: float | None = None, runs: int | None = None, spans: int = 400, pad: int = 1500
):
    """Write an OTLP file, one object of up to 100 spans a line."""
    written = run = 0
    filler = "x" * pad
    with path.open("w", encoding="utf-8") as file:
        while (megabytes is not None and written < megabytes * 1e6) or (runs is not None and run < runs):
            batch = []
            for span in spans_of_run(run, spans, filler):
                batch.append(span)
                if len(batch) == 100:
                    written += file.write(_line(batch))
                    batch = []
            if batch:
                written += file.write(_line(batch))
            run += 1
    return run


def _line(batch):
    document = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "bench"}, "spans": batch}]}]}
    return json.dumps(document) + "\n"


def measure(path: Path):
    """Read and mark the file in a process of its own; return what it prints."""
    done = subprocess.run([sys.executable, "-c", _CHILD, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.split()


def memory(folder: Path, sizes):
    rows = []
    for size in sizes:
        path = folder / f"{size}.jsonl"
        runs = write_file(path, megabytes=size)
        count, tools, tokens, seconds, peak = measure(path)
        assert int(count) == runs
        rows.append((size, float(peak)))
        print(
            f"{size:>5} MB  {count} runs  {tools} tool calls  {tokens} tokens  {seconds} s  peak {peak} MiB", flush=True
        )
        path.unlink()
    slope = (rows[-1][1] - rows[0][1]) / (rows[-1][0] - rows[0][0])
    print(f"slope {slope:.4f} MiB of memory a MB of file")


def one_run(folder: Path, spans: int):
    path = folder / "one.jsonl"
    write_file(path, runs=1, spans=spans, pad=50)
    size = path.stat().st_size / 1e6
    print(
        f"one run of {spans} spans ({size:.0f} MB): " + " ".join(measure(path)),
        "(runs, tools, tokens, s, MiB)",
        flush=True,
    )
    path.unlink()


def graph_of(nodes: int, seed: int = 1):
    """A directed graph of 3n edges, of which a third touch one of five hubs."""
    import networkx as nx

    draw = random.Random(seed)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    while graph.number_of_edges() < 3 * nodes:
        one, other = draw.randrange(nodes), draw.randrange(nodes)
        if draw.random() < 1 / 3:
            one, other = (draw.randrange(5), other) if draw.random() < 0.5 else (one, draw.randrange(5))
        if one != other:
            graph.add_edge(one, other)
    return graph


def centrality(sizes):
    from markbook.metrics.graph import centrality as measured

    measured.SAMPLED_FROM = max(sizes) + 1  # networkx's exact value is what rustworkx is held against
    for nodes in sizes:
        graph = graph_of(nodes)
        times, values = {}, {}
        for fast in (False, True):
            taken = []
            measured.FAST_FROM = nodes + (not fast)
            for _ in range(3 if nodes <= 500 else 1):
                began = time.perf_counter()
                values[fast], _how = measured.betweenness(graph)
                taken.append(time.perf_counter() - began)
            times[fast] = statistics.median(taken)
        apart = max(abs(values[True][node] - values[False][node]) for node in graph)
        ratio = times[False] / times[True]
        print(
            f"betweenness n={nodes}: networkx {times[False]:.4f} s, rustworkx {times[True]:.4f} s, "
            f"ratio {ratio:.0f}, largest difference {apart:.1e}", flush=True,
        )  # fmt: skip


def main(args=None):
    args = sys.argv[1:] if args is None else args
    print(f"{os.cpu_count()} cores, own peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one_run(folder, 10_000)
        memory(folder, (20, 100, 200, 1000) if "--large" in args else (20, 100, 200))
        if "--large" in args:
            one_run(folder, 1_000_000)
    centrality((50, 500, 5000))


if __name__ == "__main__":
    main()
