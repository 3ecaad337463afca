"""What people open `markbook view` and the pages for, done in a real browser: what they see, and in how many clicks."""

import csv
import io
import json
import re
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.browsers import Watched, axe_source, chromium, serious_faults
from support.exam_kit import answer, hold, problem, write_rows
from support.fake_openai import FakeOpenAI, fill, schema_of, structured
from support.load import PATIENCE
from support.made_runs import exam_run as made
from support.review_kit import markbook as command

from markbook.cli import cli
from markbook.cli.trace import trace_page
from markbook.report.browser import BrowseServer
from markbook.report.html import label_script
from markbook.report.label_pages import LabelPages
from markbook.report.label_session import SittingOptions, open_sitting, reason_rubric
from markbook.report.local_server import LocalServer
from markbook.results.kind import open_results

MOST = 3
"""Clicks of a task."""
JUDGED = """\
name: kindness
data: {path: rows.jsonl}
prompt: "{{ q }}"
reference: "{{ a }}"
metrics:
  - name: judge
    options: {rubric: {name: kind, task: Mark it., reads: [answer], criteria: [{name: kind, question: Is it kind?}]}}
"""


def judge(folder):
    """Write a run of a task whose answers a judge marked."""
    folder.mkdir()
    (folder / "t.yaml").write_text(JUDGED)
    write_rows(folder / "rows.jsonl", [{"q": "?", "a": "yes"}])
    write_rows(folder / "answers.jsonl", [{"id": "0", "prediction": "never"}])

    def script(request, _):
        reply = {**fill(schema_of(request), integer=2), "kind_reason": "it refuses without a word of thanks"}
        return structured(request, json.dumps(reply))

    with FakeOpenAI(script) as server:
        code, _, err = command("run", folder / "t.yaml", "--predictions", folder / "answers.jsonl", "--output", folder,
                               "--judge", "openai:m", "--judge-url", server.base_url, "--name", "judged")  # fmt: skip
    assert code == 0, err


class User:
    """Someone at the list of runs, whose clicks are counted; choosing from a list and typing words are one each."""

    def __init__(self, page, home):
        self.page, self.home, self.clicks = page, home, 0

    def begin(self):
        self.page.goto(self.home)
        self.clicks = 0

    def click(self, what):
        self.page.locator(what).first.click()
        self.clicks += 1

    def choose(self, what, value):
        self.page.select_option(what, value)
        self.clicks += 1

    def type(self, what, words):
        self.page.fill(what, words)
        self.page.keyboard.press("Enter")
        self.clicks += 1

    def waits_for(self, what):
        """Load the page anew until it has something: it waits for the run to be read a second at most."""
        while not self.page.locator(what).count():
            self.page.reload()

    def sees(self, words):
        assert words in self.page.locator("main").inner_text(), (words, self.page.url)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a run of three models, one that says why answers failed, and one that is going on."""
    from markbook.report.exports import html

    folder = tmp_path_factory.mktemp("runs")
    run = made(folder / "a", models={"best": 0.85, "second": 0.8, "weak": 0.25}, problems=40, attempts=3)
    (run.folder / "report.html").write_text(html()(open_results(run))["report.html"], encoding="utf-8")
    rows = [problem(f"p{at}", tests=[{"assertion": f"func({at}) == {at + at // 17}"}]) for at in range(16, 19)]
    right, wrong = (f"def f(x):\n    return {value}\n" for value in ("x + x // 17", "x"))
    older = hold(folder / "b", rows, [answer(row["task_id"], right, "B") for row in rows], name="older")
    hold(folder / "b", rows, [answer(row["task_id"], wrong, "B") for row in rows], name="why")
    about = json.loads((older.folder / "run.json").read_text(encoding="utf-8"))
    usage = {
        "replies": 3,
        "requests": 4,
        "input_tokens": 120,
        "output_tokens": 60,
        "cost": 0.0125,
        "failed": 0,
        "cost_at_most": None,
        "replies_without_price": 0,
    }
    (older.folder / "run.json").write_text(
        json.dumps({**about, "started": "2026-01-01T00:00:00+00:00", "usage": usage}), encoding="utf-8"
    )
    judge(folder / "d")
    live = made(folder / "c", models={"m": 0.5}, problems=10, finish="")
    record = live.folder / "run.json"
    record.write_text(record.read_text(encoding="utf-8").replace('"interrupted"', '"running"'), encoding="utf-8")
    return folder


@contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


@pytest.fixture(scope="module")
def user(folder):
    traces = [{**TRACE, "execution_id": "well", "tool_calls": []}, {**TRACE, "execution_id": "badly"}]
    write_rows(folder / "traces.jsonl", traces)
    with (
        serving(BrowseServer(folder, trace_page=trace_page)) as server,
        chromium() as browser,
        Watched(browser, server.address, offline=False) as seen,
    ):
        yield User(seen.page, f"http://{server.host}/")
        # A browser complains of a refusal, which is a page here.
        assert [words for words in seen.complaints if "409 (Conflict)" not in words] == []


TRACE = {
    "execution_id": "e",
    "agent_interactions": [{"from": "manager", "to": "researcher", "type": "delegation", "query": "find it"}],
    "tool_calls": [
        {"tool_name": "search", "success": False, "duration": 1.0, "timestamp": 5.0, "agent_id": "researcher"}
    ],
}


def test_labelling_why_a_trace_failed_takes_two_clicks_from_its_page(user, tmp_path):
    log = tmp_path / "trace.json"
    log.write_text(json.dumps(TRACE), encoding="utf-8")
    asked = SittingOptions(str(log), ("ann",), rubric=reason_rubric(), reasons=True)
    with open_sitting(asked) as (session, _):
        server = LocalServer(LabelPages(session), who=["ann"], script=label_script(), takes_forms=True)
        with serving(server):
            page = tmp_path / "trace.html"
            CliRunner().invoke(cli, ["trace", str(log), "--html", str(page), "--label-at", server.get_address("ann")])
            user.page.goto(page.as_uri())
            user.clicks = 0
            user.click("a:has-text('Label why it failed')")
            user.page.wait_for_selector("form.label")
            user.sees("search")
            user.page.keyboard.press("2")
            user.clicks += 1
            user.page.wait_for_selector("text=All 1 items are labelled")
    (label,) = (json.loads(line) for line in (tmp_path / "trace.json.labels" / "ann.jsonl").read_text().splitlines())
    assert (label["id"], label["reason"], label["label"]) == ("e", "wrong arguments", 0.0)
    assert user.clicks == 2 <= MOST


RUN = "tr:has-text('best') th a"
ROW = "form tbody th a"


def where_did_the_agent_go_wrong(user):
    user.click("a:has-text('traces.jsonl')")
    user.click("#runs tr:has-text('badly') th a")
    user.click(".run:visible a:has-text('Failed: search')")
    assert "search failed" in user.page.locator(":target > summary").inner_text()
    assert "find it" in user.page.locator(".run:visible").inner_text()


def which_is_better_and_how_sure(user):
    user.click(RUN)
    user.waits_for(".headline")
    headline = user.page.locator(".headline").inner_text()
    assert re.search(r"best and second do not differ significantly|best .* better than second", headline)


def what_does_no_model_solve(user):
    user.click("tr:has-text('why') th a")
    user.click("a:has-text('Solved by no model')")
    user.sees("2 samples that no model solved")
    assert user.page.locator(".matrix tbody th a").all_inner_texts() == ["p17", "p18"]


def what_did_it_cost(user):
    user.click("tr:has-text('older') th a")
    user.sees("3 replies, 4 requests, tokens 120 in, 60 out, $0.0125")


def what_changed_since_the_last_run(user):
    user.click("tr:has-text('why') th a")
    user.click("a:has-text('What changed since the previous run')")
    assert user.page.locator("tr:has-text('regressed') td").all_inner_texts()[-1] == "p17, p18"
    user.click("tr:has-text('regressed') a:has-text('p17')")
    assert user.page.locator(".problem[open] h3:has-text(': ')").all_inner_texts() == [
        "B (older): passed, 1 of 1 tests",
        "B (why): failed, 0 of 1 tests",
    ]


def export_the_failures(user):
    user.click("tr:has-text('why') th a")
    user.click("a:has-text('failed (2)')")
    with user.page.expect_download() as waiting:
        user.click("a:has-text('CSV')")
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert [(row["item"], "func" in row["reason"], row["answer"]) for row in rows] == [
        (name, True, "def f(x):\n    return x\n") for name in ("p17", "p18")
    ]


def share_the_page(user):
    user.click("tr:has-text('why') th a")
    user.click("a:has-text('Report with charts')")
    facts = user.page.locator("dl.facts").inner_text()
    assert all(words in facts for words in ("why", "markbook exam", "20", "SHA-256"))


def what_were_the_judges_reasons(user):
    user.click("tr:has-text('judged') th a")
    user.click(f"{ROW}:has-text('0')")
    user.sees("it refuses without a word of thanks")


def find_the_worst_topic(user):
    user.click(RUN)
    user.waits_for("h2:has-text('Topics')")
    first = user.page.locator("section, main").locator("table").first
    assert first.locator("tbody tr").count() == 4
    user.sees("Topics, worst first")


def why_did_a_model_fail_a_problem(user):
    user.click("tr:has-text('why') th a")
    user.click(f"{ROW}:has-text('p17')")
    user.sees("Why it failed")
    user.sees("func(17) == 18")
    assert user.page.locator(".sides pre").all_inner_texts() == ["18", "17"]


def what_do_the_two_best_disagree_on(user):
    user.click(RUN)
    user.click("a:has-text('Samples by models')")
    user.sees("samples on which models differ")


def which_item_is_flaky(user):
    user.click(RUN)
    user.click("a:has-text('Flaky samples')")
    user.sees("samples on which one model's attempts differ")


def show_me_all_timeouts(user):
    user.click(RUN)
    user.click("a:has-text('TimeoutError (')")
    assert set(user.page.locator("form tbody tr td:nth-child(5)").all_inner_texts()) == {"TimeoutError"}


def compare_three_answers(user):
    user.click(RUN)
    user.click("a:has-text('Samples by models')")
    user.click(".matrix tbody th a")
    assert user.page.locator(".side-by-side section").count() == 3
    assert user.page.locator("pre.diff").count() == 2


def send_a_link_to_exactly_this(user):
    user.click(RUN)
    user.click("a:has-text('failed (')")
    user.click(ROW)
    title, address = user.page.locator("h1").inner_text(), user.page.url
    user.page.goto(user.home)
    user.page.goto(address)
    assert user.page.locator("h1").inner_text() == title


def export_the_table(user):
    user.click(RUN)
    with user.page.expect_download() as waiting:
        user.click("a:has-text('CSV')")
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert len(rows) == 360
    assert all(row["prompt"].startswith("Write f") for row in rows)


def follow_a_running_exam(user):
    user.click("tr:has-text('running') th a")
    user.sees("This run is in progress. 10 of 10 attempts are scored")
    assert user.page.locator("[data-renew]").count() == 1


def walk_through_failures_by_keys(user):
    user.click(RUN)
    user.click("a:has-text('NameError (')")
    user.click(ROW)
    user.page.wait_for_load_state(
        "load"
    )  # a click waits for the address only, and keys are heard once the page's script has run
    first = user.page.url
    user.page.keyboard.press("j")
    user.page.wait_for_url(lambda url: url != first)
    user.page.keyboard.press("k")
    user.page.wait_for_url(first)


TASKS = {
    find_the_worst_topic: 1, why_did_a_model_fail_a_problem: 2, what_do_the_two_best_disagree_on: 2, which_item_is_flaky: 2,
    show_me_all_timeouts: 2, compare_three_answers: 3, send_a_link_to_exactly_this: 3, export_the_table: 2,
    follow_a_running_exam: 1, walk_through_failures_by_keys: 3, which_is_better_and_how_sure: 1, what_does_no_model_solve: 2,
    what_did_it_cost: 1, what_changed_since_the_last_run: 3, export_the_failures: 3, share_the_page: 2,
    what_were_the_judges_reasons: 2, where_did_the_agent_go_wrong: 3,
}  # fmt: skip
"""Each with its clicks. Labelling a trace is a test above."""


@pytest.mark.parametrize(("task", "clicks"), TASKS.items(), ids=[task.__name__ for task in TASKS])
def test_a_task_takes_few_clicks(user, task, clicks):
    user.begin()
    task(user)
    assert user.clicks == clicks <= MOST


def addresses(user):
    user.page.goto(user.home)
    run = user.page.locator(RUN).first.get_attribute("href")
    user.page.goto(user.home.rstrip("/") + run)
    attempt = user.page.locator(ROW).first.get_attribute("href")
    number = run.rpartition("/")[2]
    user.page.goto(user.home.rstrip("/") + f"/matrix/{number}?order=item")
    beside = user.page.locator(".matrix tbody th a").first.get_attribute("href")
    user.page.goto(user.home)
    trend = user.page.locator("a:has-text('trend of')").first.get_attribute("href")
    user.page.locator("tr:has-text('why') th a").first.click()
    changed = user.page.locator("a:has-text('What changed since')").first.get_attribute("href")
    refused = f"/changes?at={number},{trend.rpartition('/')[2]}"
    trace = "/trace?file=traces.jsonl"
    return ["/", trace, run, f"/matrix/{number}?order=item", attempt, beside, trend, changed, refused]


@pytest.mark.parametrize("width", [400, 1280])
def test_no_page_is_wider_than_its_screen_or_moves(user, width):
    places = addresses(user)
    user.page.set_viewport_size({"width": width, "height": 900})
    for place in places:
        # a page that moves by itself does so each time; half of one may be painted once where the machine is busy
        sizes = [measure(user, place)]
        while sizes[-1][1] and len(sizes) < 3:
            sizes.append(measure(user, place))
        assert max(wide for wide, _ in sizes) <= width, place
        assert min(moved for _, moved in sizes) == 0, place


def measure(user, place):
    """Return how wide a page is, and by how much what it shows has moved since it was opened."""
    user.page.goto(user.home.rstrip("/") + place)
    return user.page.evaluate(
        "new Promise(done => { let moved = 0; new PerformanceObserver(list => { for (const one of list.getEntries())"
        " moved += one.value; }).observe({type: 'layout-shift', buffered: true});"
        " setTimeout(() => done([document.documentElement.scrollWidth, moved]), 150); })"
    )


@pytest.mark.slow
def test_axe_finds_no_serious_fault_on_any_page(user, tmp_path):
    source = axe_source(tmp_path)
    for place in addresses(user):
        user.page.goto(user.home.rstrip("/") + place)
        assert serious_faults(user.page, source) == [], place
