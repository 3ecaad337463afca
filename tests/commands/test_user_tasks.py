"""Ten things that people open `markbook view` for, done in a real browser: what they see, and in how many clicks."""

import csv
import io
import json
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.browsers import Watched, axe_source, chromium, serious_faults
from support.exam_kit import answer, hold, problem
from support.load import PATIENCE
from support.made_runs import exam_run as made

from markbook.cli import cli
from markbook.report.browser import BrowseServer
from markbook.report.html import label_script
from markbook.report.label_pages import LabelPages
from markbook.report.label_session import SittingOptions, open_sitting, reason_rubric
from markbook.report.local_server import LocalServer
from markbook.results.kind import open_results

MOST = 4


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
    hold(folder / "b", rows, [answer(row["task_id"], "def f(x):\n    return x\n", "B") for row in rows], name="why")
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
    with (
        serving(BrowseServer(folder)) as server,
        chromium() as browser,
        Watched(browser, server.address, offline=False) as seen,
    ):
        yield User(seen.page, f"http://{server.host}/")
        assert seen.complaints == []


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


def find_the_worst_topic(user):
    user.click(RUN)
    first = user.page.locator("section, main").locator("table").first
    assert first.locator("tbody tr").count() == 4
    user.sees("Topics, the worst first")


def why_did_a_model_fail_a_problem(user):
    user.click("tr:has-text('why') th a")
    user.click(f"{ROW}:has-text('p17')")
    user.sees("Why it failed")
    user.sees("func(17) == 18")
    assert user.page.locator(".sides pre").all_inner_texts() == ["18", "17"]


def what_do_the_two_best_disagree_on(user):
    user.click(RUN)
    user.click("a:has-text('Items by models')")
    user.sees("items on which models differ")


def which_item_is_flaky(user):
    user.click(RUN)
    user.click("a:has-text('Items whose answers flip')")
    user.sees("items at which one model's answers differ")


def show_me_all_timeouts(user):
    user.click(RUN)
    user.click("a:has-text('TimeoutError (')")
    assert set(user.page.locator("form tbody tr td:nth-child(5)").all_inner_texts()) == {"TimeoutError"}


def compare_three_answers(user):
    user.click(RUN)
    user.click("a:has-text('Items by models')")
    user.click("a:has-text('side by side')")
    assert user.page.locator(".side-by-side section").count() == 3
    assert user.page.locator("pre.diff").count() == 2


def send_a_link_to_exactly_this(user):
    user.click(RUN)
    user.choose("select[name=model]", "weak")
    user.click("button:has-text('Filter')")
    user.click(f"{ROW}:has-text('closures_0')")
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
    user.sees("This run is going on. 10 of 10 attempts are marked")
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
    show_me_all_timeouts: 2, compare_three_answers: 3, send_a_link_to_exactly_this: 4, export_the_table: 2,
    follow_a_running_exam: 1, walk_through_failures_by_keys: 3,
}  # fmt: skip
"""Each with its clicks; the tenth, labelling a trace, has a test of its own, and walking by keys is one more."""


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
    beside = user.page.locator("a:has-text('side by side')").first.get_attribute("href")
    return ["/", run, f"/matrix/{number}?order=item", attempt, beside]


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
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_serious_fault_on_any_page(user, tmp_path, dark):
    source = axe_source(tmp_path)
    user.page.emulate_media(color_scheme="dark" if dark else "light")
    for place in addresses(user):
        user.page.goto(user.home.rstrip("/") + place)
        assert serious_faults(user.page, source) == [], place
