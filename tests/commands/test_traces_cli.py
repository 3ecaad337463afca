"""`markbook trace`: the contract's keys, and terminal and page that hostile words cannot touch."""

import json
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from support.browsers import Watched, axe_source, chromium, serious_faults
from support.review_kit import markbook as run_command

from markbook.cli import cli, main
from markbook.cli.trace import page
from markbook.cli.trace.terminal import TraceSum
from markbook.metrics.graph import trace_metrics
from markbook.report.html import read_part
from markbook.trace import Step, StepKind
from markbook.traces import read_traces
from markbook.traces.plain import make_trace
from markbook.traces.recorder import Recorder

HOSTILE = '\x1b]0;owned\x07<script>alert("x")</script>[bold]\u202e'
RUN = {
    "execution_id": "e",
    "agent_interactions": [
        {"from": "manager", "to": "researcher", "type": "delegation", "query": HOSTILE},
        {"from": "researcher", "to": HOSTILE, "type": "result_delivery"},
    ],
    "tool_calls": [
        {"tool_name": "get", "success": True, "duration": 1.0, "timestamp": 5.0, "agent_id": "researcher"},
        {"tool_name": HOSTILE, "success": False, "duration": 1.0, "timestamp": 7.0, "agent_id": HOSTILE},
    ],
}


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(RUN), encoding="utf-8")
    return path


def run(*args):
    return CliRunner().invoke(cli, ["trace", *map(str, args)], catch_exceptions=False)


def test_a_result_that_the_log_repeats_as_a_message_is_listed_once(tmp_path):
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}
    denied = {"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": "ls was denied"}
    rows = [
        {"type": "system", "subtype": "init", "session_id": "s"},
        {"type": "assistant", "message": {"id": "m", "content": [call]}},
        {"type": "user", "message": {"content": [denied]}},
        {"type": "user", "message": {"content": "go on"}},
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run(tmp_path / "log.jsonl", "--html", tmp_path / "page.html")

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("ls was denied</pre>") == 1
    assert page.count('class="step ') == 3
    assert "[]" not in result.stdout
    assert "messages 3" in result.stdout


def test_json_has_the_contracts_keys(log):
    shown = json.loads(run(log, "--json").stdout)

    assert {"agents", "tool_calls", "messages", "input_tokens", "output_tokens", "unrecognised", "metrics"} <= set(
        shown
    )
    assert (shown["agents"], shown["tool_calls"], shown["messages"], shown["unrecognised"]) == (3, 2, 2, 0)
    assert shown["input_tokens"] is shown["output_tokens"] is None
    for metric in shown["metrics"].values():
        assert (metric["value"] is None) == (metric["missing"] is not None)
        assert metric["n"] + sum(metric["n_missing"].values()) == 1


def test_json_is_ascii_and_holds_no_nan(log):
    text = run(log, "--json").stdout

    assert text.isascii()
    assert "NaN" not in text
    assert "Infinity" not in text


def test_the_terminal_sees_no_control_character_and_no_markup(log):
    text = run(log).stdout

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "\\x1b]0;owned" in text
    assert "[bold]" in text


def test_the_page_escapes_everything_and_runs_nothing(log, tmp_path):
    page = tmp_path / "trace.html"
    run(log, "--html", page)
    text = page.read_text(encoding="utf-8")

    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "http" not in re.sub(r'http-equiv|http://www.w3.org/2000/svg"', "", text)
    assert text.count("<path class=") == 2


def test_the_page_shows_what_was_said_given_and_came_back_and_groups_its_numbers(tmp_path):
    import html

    from markbook.trace import Step, StepKind, Trace

    steps = (
        Step(
            StepKind.TOOL,
            "writer",
            "find",
            ok=True,
            start=1.0,
            end=3.0,
            arguments={"query": "<b>bleu"},
            result="two hits",
        ),
        Step(StepKind.TOOL, "writer", "save", ok=False, start=3.0, end=4.0, error="disk full", cost=0.25),
        Step(
            StepKind.MESSAGE,
            "writer",
            "assistant",
            target="editor",
            start=4.0,
            end=5.0,
            text="I could not save it",
            output_tokens=12,
        ),
    )
    trace = Trace(steps=steps, agents=("writer", "editor"), tool_calls=2, messages=1, success=False, format="made")
    total = TraceSum("t.json", "corrected")
    total.add(trace, trace_metrics(trace))
    pages = page.RunPages()
    pages.add(trace, 1, is_wanted=True)
    text = html.unescape(page.render_page(total, pages))

    for words in ('"query": "<b>bleu"', "two hits", "disk full", "I could not save it", "12 tokens out", "$0.2500",
                  "It failed; 1 of 2 tool calls failed.", "Failed: save 2.00 s"):  # fmt: skip
        assert words in text, words
    assert text.count('<details class="step') == 3
    assert text.count(" open>") == 2  # the failed step, and the numbers of the run as a whole
    titles = re.findall(r"<summary>([^<(]+) \((\d+)\)</summary>", text)
    assert [title for title, _ in titles][:2] == ["Whole run", "Tools"]
    assert text.count("there is no reference that names tools") <= 2
    assert "↑ higher" in text


def test_a_reference_gives_tool_accuracy(log, tmp_path):
    reference = tmp_path / "expected.json"
    reference.write_text('["get", "save"]', encoding="utf-8")
    shown = json.loads(run(log, "--reference", reference, "--json").stdout)

    assert shown["metrics"]["tool_selection_accuracy"]["value"] == 0.5
    assert shown["references"] == {"file expected.json": 1}


def test_the_profile_is_the_documents_on_request(log):
    shown = json.loads(run(log, "--profile", "documented", "--json").stdout)

    assert shown["profile"] == "documented"
    assert shown["metrics"]["communication_overhead"]["value"] == 0


def test_the_documents_path_walks_tools_and_the_corrected_one_agents_with_their_tools(tmp_path):
    calls = [("manager", "find"), ("helper", "read"), ("writer", "find"), ("editor", "read"), ("writer", "save")]
    rows = [{"tool_name": tool, "agent_id": agent, "timestamp": float(at)} for at, (agent, tool) in enumerate(calls)]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(dict(RUN, tool_calls=rows)), encoding="utf-8")
    shown = {
        profile: json.loads(run(path, "--profile", profile, "--json").stdout)["metrics"]["path_convergence"]["value"]
        for profile in ("documented", "corrected")
    }

    # the tools: find read find read save, of which find-read-save is two of four; no agent comes back to a tool
    assert shown == {"documented": 0.5, "corrected": 1.0}


def test_several_runs_are_means_and_rows(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(json.dumps(dict(RUN, execution_id=str(at))) for at in range(3)), encoding="utf-8")
    shown = json.loads(run(path, "--json").stdout)

    assert (shown["runs"], shown["tool_calls"], len(shown["run_list"])) == (3, 6, 3)
    assert shown["metrics"]["tool_success_rate"]["n"] == 3
    assert "means over 3 runs" in run(path).stdout


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--format", "otlq"], 2, "did you mean 'otlp'"),
        (["--reference", "R", "--reference-from-best"], 2, "exclude each other"),
        (["--reference", "MISSING"], 2, "does not exist"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(log, capsys, args, code, words):
    args = [str(log) if one == "R" else one for one in args]
    with pytest.raises(SystemExit) as ended:
        main(["trace", str(log), *args])

    assert ended.value.code == code
    assert words in capsys.readouterr().err


def test_a_file_that_nobody_knows_exits_2(tmp_path, capsys):
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["trace", str(path)])

    assert ended.value.code == 2
    assert "no trace reader knows this file" in capsys.readouterr().err


def test_what_is_kept_does_not_grow_with_the_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("markbook.cli.trace.terminal.MAX_LISTED", 5)
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(json.dumps(dict(RUN, execution_id=str(at))) for at in range(20)), encoding="utf-8")
    total = TraceSum("runs", "corrected")
    for one in read_traces(path):
        total.add(one, trace_metrics(one))

    assert (total.count, len(total.runs)) == (20, 5)


def test_an_address_to_label_at_that_is_none_makes_a_page_without_links(log, tmp_path):
    result = run(log, "--html", tmp_path / "t.html", "--label-at", "http://[::1")

    assert result.exit_code == 0
    assert "/find" not in (tmp_path / "t.html").read_text()


def test_what_an_agent_did_beyond_thirty_is_counted_in_its_tree(tmp_path):
    calls = [
        {"tool_name": f"tool-{at}", "success": True, "agent_id": "busy", "timestamp": float(at)} for at in range(33)
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"execution_id": "e", "agent_interactions": [], "tool_calls": calls}), encoding="utf-8")

    tree = run(path).stdout.partition("\nAgents\n")[2]

    assert tree.count("  1 call\n") == 30
    assert "... 3 more (--json has them)\n" in tree


def test_steps_stand_in_the_order_of_their_times(tmp_path):
    log = dict(RUN, agent_interactions=[{"from": "b", "to": "a", "type": "answer", "timestamp": 9.0}], tool_calls=[
        {"tool_name": "later", "duration": 1.0, "timestamp": 8.0, "agent_id": "a"},
        {"tool_name": "sooner", "duration": 1.0, "timestamp": 6.0, "agent_id": "a"},
    ])  # fmt: skip
    (tmp_path / "p.json").write_text(json.dumps(log), encoding="utf-8")

    lines = run(tmp_path / "p.json").stdout.partition("Timeline")[2].splitlines()[2:5]

    assert [line.split()[:4] for line in lines] == [
        ["0.00", "1.00", "a", "sooner"], ["2.00", "1.00", "a", "later"], ["4.00", "–", "b", "->"],
    ]  # fmt: skip


def some_runs(path, count=4):
    """Write a log of runs, each with a tool of its own that failed."""
    calls = [dict(RUN["tool_calls"][0], tool_name=f"tool-{at}", success=False) for at in range(count)]
    rows = [{**RUN, "execution_id": f"e{at}", "tool_calls": [calls[at]]} for at in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_each_run_of_a_file_is_two_clicks_away_and_one_is_shown_at_a_time(tmp_path):
    run(some_runs(tmp_path / "runs.jsonl"), "--html", tmp_path / "page.html")
    with chromium() as browser, Watched(browser, (tmp_path / "page.html").as_uri()) as seen:
        shown = seen.page.locator(".run:visible > h3")
        assert shown.all_inner_texts() == ["Run 1: e0"]
        seen.page.click("#runs th a:has-text('e2')")
        assert shown.all_inner_texts() == ["Run 3: e2"]
        seen.page.click(".run:visible a:has-text('Failed: tool-2')")
        assert shown.all_inner_texts() == ["Run 3: e2"]
        assert seen.page.locator(":target").inner_text().startswith("0.00 s")
        assert serious_faults(seen.page, axe_source(tmp_path)) == []
        assert seen.complaints == []


@pytest.mark.parametrize("wanted", ["3", "e2"])
def test_a_run_is_shown_by_its_number_or_its_id(tmp_path, wanted):
    result = run(some_runs(tmp_path / "runs.jsonl"), "--run", wanted, "--html", tmp_path / "page.html")

    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Timeline of run e2" in result.stdout
    assert "tool-2 failed" in result.stdout
    assert re.findall(r'<div class="run first" id="(.*?)">', text) == ["run-3"]


def test_a_run_that_is_not_in_the_file_is_refused(tmp_path):
    result = run_command(
        "trace", str(some_runs(tmp_path / "runs.jsonl")), "--run", "5", "--html", str(tmp_path / "page.html")
    )

    words = "no run is called '5' (there are 4, by number or id: e0, e1, e2, e3)"
    assert result[:2] == (2, "")
    assert words in result[2]
    assert not (tmp_path / "page.html").exists()


def test_a_page_holds_the_steps_of_as_many_runs_as_there_is_room_for(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "_STEP_TEXT", 1)
    run(some_runs(tmp_path / "runs.jsonl"), "--run", "e3", "--html", tmp_path / "page.html")

    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.findall(r'<div class="run.*?" id="(.*?)">', text) == ["run-4", "run-1"]
    assert re.findall(r'<th scope="row"><a href="#(.*?)">', text) == ["run-1", "run-4"]
    assert "for names without a link, use <code>--run</code>" in text


def test_runs_that_the_page_has_no_room_for_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "_RUNS", 2)
    monkeypatch.setattr(page, "_EDGES", 1)
    (tmp_path / "runs.jsonl").write_text(
        "".join(json.dumps({**RUN, "execution_id": f"e{at}"}) + "\n" for at in range(5))
    )

    run(tmp_path / "runs.jsonl", "--html", tmp_path / "page.html")

    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "3 more runs are not listed; " in text
    assert "1 more pairs are not listed." in text


@pytest.mark.parametrize(
    ("costs", "total", "words"),
    [
        ([0.25, 0.5], 0.75, "cost $0.7500"),
        ([0.25, None], None, "note: the cost is unknown: 1 of 2 runs have a price, $0.2500 together"),
        ([None, 0.25, 0.0], None, "note: the cost is unknown: 2 of 3 runs have a price, $0.2500 together"),
        ([None, None], None, ""),
    ],
)
def test_costs_are_summed_only_where_every_run_has_one(tmp_path, costs, total, words):
    """Logs of tau-bench: a run without a price is not a run that cost nothing."""
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    runs = [{"id": str(n), "task_id": str(n), "trial": 0, "messages": talk, "agent_cost": cost, "reward_info": {"reward": 1}}
            for n, cost in enumerate(costs)]  # fmt: skip
    path = tmp_path / "runs.json"
    path.write_text(json.dumps({"simulations": runs, "info": {}, "tasks": []}), encoding="utf-8")

    found, shown = json.loads(run(path, "--json").stdout), run(path).stdout

    assert (found["runs"], found["cost"]) == (len(costs), total)
    assert words in shown
    assert ("the cost is unknown" in " ".join(found["notes"])) is words.startswith("note")


def test_a_sum_of_tokens_that_lacks_model_calls_is_a_least_value(tmp_path):
    path = tmp_path / "run.jsonl"
    with Recorder(path) as record, record.agent("writer"):
        for count in (1200, 34, None):
            with record.model("m", input_tokens=count, output_tokens=5):
                pass

    run(path, "--html", tmp_path / "page.html")

    assert "tokens in at least 1,234 (2 of 3 model calls known), out 15 " in run(path).stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<dt>Tokens in</dt><dd>at least 1,234 (2 of 3 model calls known)</dd>" in page
    assert "<dt>Tokens out</dt><dd>15</dd>" in page
    assert json.loads(run(path, "--json").stdout)["input_tokens"] == 1234


def test_a_sum_over_runs_says_how_many_of_them_it_knows(tmp_path):
    step = Step(StepKind.MESSAGE, "a", "assistant", start=0.0, end=2.0, input_tokens=7, output_tokens=1)
    total, pages = TraceSum("t.json", "corrected"), page.RunPages()
    for at, steps in enumerate(
        ([step], [replace(step, start=None, end=None)], [step, replace(step, input_tokens=None)])
    ):
        trace = make_trace(steps, reader="made", id=f"r{at}")
        total.add(trace, trace_metrics(trace))
        pages.add(trace, at + 1, is_wanted=not at)
    text = page.render_page(total, pages)

    assert "<dd>at least 21 (2 of 3 runs known)</dd>" in text  # 7 + 7, and 7 of two calls
    assert "<dt>Tokens out</dt><dd>4</dd>" in text
    assert "<dt>Duration, s</dt><dd>at least 4.0 (2 of 3 runs known)</dd>" in text
    assert "at least 7 (1 of 2 model calls known)</td>" in text


_AGENTS = {
    "object": "trace.span",
    "id": "s",
    "trace_id": "t",
    "started_at": "2025-01-01T00:00:00Z",
    "ended_at": "9999-01-01T00:00:00Z",  # 64 bits of nanoseconds end in 2262
    "span_data": {"type": "agent", "name": "A"},
}
_SMOLAGENTS = {"task_images": None, "task": "do", "timing": {"start_time": 1e308, "end_time": 1e308}}
_MLFLOW = [
    {
        "span_id": name,
        "start_time_unix_nano": 10**18,
        "end_time_unix_nano": 10**18 + 10**9,
        "attributes": {"mlflow.spanType": '"LLM"', "mlflow.llm.cost": '{"total_cost": 1e308}'},
    }
    for name in "ab"
]


@pytest.mark.parametrize(
    "log",
    [
        _AGENTS,
        {"steps": [_SMOLAGENTS], "timing": {"start_time": -1e308, "end_time": 1e308}},
        {"info": {"trace_id": "t"}, "data": {"spans": _MLFLOW}},
    ],
)
def test_times_and_costs_that_no_run_can_have_are_unknown(tmp_path, log):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))

    summary = json.loads(run(path, "--json").stdout)

    assert summary["cost"] is None
    assert summary["seconds"] in (None, 1.0)


def tau(name, texts=("hello",)):
    """Return a run of tau-bench's log."""
    return {
        "task_id": name,
        "trial": 0,
        "reward": 1.0,
        "info": {},
        "traj": [{"role": "user", "content": text} for text in texts],
    }


def test_an_id_with_half_a_character_has_a_link_to_label_it(tmp_path):
    (tmp_path / "log.json").write_text(json.dumps([tau("\ud800"), tau("b")]), encoding="utf-8")

    result = run(tmp_path / "log.json", "--html", tmp_path / "t.html", "--label-at", "http://127.0.0.1:9/?token=x")

    assert result.exit_code == 0
    links = re.findall(r'href="(http[^"]*)"', (tmp_path / "t.html").read_text(encoding="utf-8"))
    assert links == [f"http://127.0.0.1:9/find?token=x&amp;id=task+{name}+trial+0" for name in ("%3F", "b")]


def test_steps_without_words_fill_a_page_too(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "_STEP_TEXT", 2_000)
    (tmp_path / "log.json").write_text(json.dumps([tau(at, ("",) * 20) for at in range(3)]), encoding="utf-8")

    run(tmp_path / "log.json", "--html", tmp_path / "t.html")

    assert re.findall(r'<div class="run[^"]*" id="([^"]*)"', (tmp_path / "t.html").read_text()) == ["run-1"]


def test_page_and_terminal_count_from_the_same_beginning(tmp_path):
    at = "2026-01-01T00:00:{:02}+00:00".format
    call = {"id": "c", "function": "look", "arguments": {}}
    sample = {
        "id": "s", "epoch": 1, "input": "hello", "messages": [{"role": "assistant", "content": "", "tool_calls": [call]}],
        "events": [
            {"event": "model", "timestamp": at(0), "output": {}},
            {"event": "tool", "timestamp": at(5), "completed": at(7), **call},
        ],
    }  # fmt: skip
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": [sample]}
    (tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")

    shown = run(tmp_path / "log.json", "--html", tmp_path / "t.html").stdout

    assert re.search(r"5\.00 +2\.00 +assistant +look", shown), shown
    assert 'aria-label="from 5.00 s for 2.00 s"' in (tmp_path / "t.html").read_text()


@pytest.mark.parametrize(("wanted", "tool"), [("3", "tool-1"), ("1", "tool-2"), ("2", "tool-0"), ("4", "tool-3")])
def test_an_id_that_looks_like_a_number_goes_before_the_number(tmp_path, wanted, tool):
    path = some_runs(tmp_path / "log.jsonl")
    runs = [
        json.loads(line) | {"execution_id": name}
        for line, name in zip(path.read_text().splitlines(), "231x", strict=True)
    ]
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))

    result = run(path, "--run", wanted, "--html", tmp_path / "t.html")

    assert f"{tool} failed" in result.stdout.partition("\nAgents")[0]
    shown = re.search(r'<div class="run first".*?</div>', (tmp_path / "t.html").read_text(), re.DOTALL)
    assert tool in shown.group()


def test_a_browser_without_has_shows_a_run():
    """One selector that a browser does not know takes the whole rule with it."""
    looks = read_part("trace.css")

    assert ".run.first,.run:target{display:block}" in looks
