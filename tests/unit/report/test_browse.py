"""The local page: what it shows, how quickly it opens, and whom it refuses."""

import csv
import html
import http.client
import io
import json
import re
import threading

import pytest
from support.browsers import Watched, axe_source, serious_faults
from support.exam_kit import answer, hold, problem
from support.load import PATIENCE
from support.made_files import review_row, review_run, task_row, task_run
from support.made_runs import exam_run as made
from support.payloads import HTML
from support.review_kit import markbook

from markbook.report import browser, run_pages
from markbook.report.browser import BrowseServer, RunSite, find_runs
from markbook.report.local_server import COOKIE, NotFound
from markbook.report.run_index import STATUSES, Index
from markbook.report.run_pages import build_matrix
from markbook.results.compare import compare
from markbook.results.kind import open_results
from markbook.results.summary import estimate_mean
from markbook.runs.exam.view import OUTCOME, attempt_record
from markbook.stats import mean_interval
from markbook.store import RunWriter, open_run
from markbook.store.run import Manifest
from markbook.types import Attempt, Outcome

MODELS = {"strong": 0.9, "weak": 0.2}


class Client:
    """Asks a started server, as a browser with its cookie would."""

    def __init__(self, server):
        self.server = server
        self.cookie = f"{COOKIE}={server.token}"

    def get(self, path, *, cookie=None, host=None, method="GET"):
        link = http.client.HTTPConnection(*self.server.server_address, timeout=PATIENCE)
        headers = {"Cookie": self.cookie if cookie is None else cookie, "Host": host or self.server.host}
        link.request(method, path, headers=headers)
        answer = link.getresponse()
        body = answer.read().decode()
        link.close()
        return answer, body


@pytest.fixture
def serve():
    started = []

    def make(folder):
        server = BrowseServer(folder)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        started.append((server, thread))
        return Client(server)

    yield make
    for server, thread in started:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


@pytest.fixture
def folder(exam_run, tmp_path):
    exam_run("a", models=MODELS, problems=30, attempts=3, absent=0.1)
    task_run(tmp_path / "b", [task_row(at, None if at == 2 else at / 10) for at in range(5)])
    review_run(tmp_path / "c", [review_row("p1", "mas", 0.5, 0.7), review_row("p2", "mas", None, None)])
    return tmp_path


def locations(folder, command):
    index = next(
        Index(open_results(run, partial=True)) for run in map(open_run, find_runs(folder)) if run.command == command
    )
    index.start()
    index.wait(1 << 62, PATIENCE)
    return index


def number_of(client, command):
    _, body = client.get("/")
    rows = [row for row in body.split("<tr>") if f'<span class="note">{command}</span>' in row]
    return int(rows[0].split('href="/run/')[1].split('"')[0])


def test_list_shows_every_run_and_filters(serve, folder):
    client = serve(folder)

    _, everything = client.get("/")
    _, exams = client.get("/?q=made-up")

    assert everything.count('href="/run/') == 3
    assert exams.count('href="/run/') == 1


def test_attempts_are_paged_and_filtered(serve, folder):
    client = serve(folder)
    number = number_of(client, "exam")
    index = locations(folder, "exam")
    total = len(index)

    _, first = client.get(f"/run/{number}")
    _, second = client.get(f"/run/{number}?start=50")
    _, weak = client.get(f"/run/{number}?model=weak&status=passed")
    _, one = client.get(f"/run/{number}?sample=CLOSURES_4")

    assert first.count('href="/attempt/') == 50
    assert f"{total:,} attempts" in first
    assert second.count('href="/attempt/') == min(50, total - 50)
    fits, count = index.search(model="weak", status="passed", count=500)
    assert weak.count('href="/attempt/') == len(fits) == count
    assert one.count('href="/attempt/') == len(
        [o for o in index.search(count=500)[0] if o.sample.startswith("closures_4")]
    )


def test_statuses_and_scores_are_the_exams_own(folder):
    index = locations(folder, "exam")
    view = index.results
    for model, tally in view.tallies.items():
        found = index.search(model=model, count=1000)[0]
        assert sum(one.score for one in found) == pytest.approx(sum(tally.zero))
        assert sum(one.status == "passed" for one in found) == sum(tally.right)
        assert sum(one.status in ("error", "empty") for one in found) == sum(tally.errors.values())


def test_an_attempt_shows_prompt_code_tests_and_others(serve, folder):
    client = serve(folder)
    number = number_of(client, "exam")
    at = locations(folder, "exam").search(count=1)[0][0].location

    answer, body = client.get(f"/attempt/{number}/{at}")

    assert answer.status == 200
    for words in (
        "<h2>Prompt</h2>",
        'class="k">def',
        "<h2>Tests</h2>",
        "separated",
        "Other attempts at this sample",
        "compare with",
    ):
        assert words in body


def test_two_attempts_are_set_side_by_side(serve, folder):
    client = serve(folder)
    number = number_of(client, "exam")
    one, two = (found.location for found in locations(folder, "exam").search(count=2)[0])

    _, body = client.get(f"/compare?a={number}:{one}&b={number}:{two}")
    _, same = client.get(f"/compare?a={number}:{one}&b={number}:{one}")

    assert 'class="del">-' in body
    assert 'class="add">+' in body
    assert "The two answers are the same." in same


def test_tasks_and_reviews_open_too(serve, folder):
    client = serve(folder)
    for command, words in (("run", "an answer"), ("review", "tier1 cosine_score")):
        number = number_of(client, command)
        at = locations(folder, command).search(count=1)[0][0].location
        _, run = client.get(f"/run/{number}")
        answer, body = client.get(f"/attempt/{number}/{at}")
        assert f"/attempt/{number}/{at}" in run
        assert answer.status == 200
        assert words in body


def test_without_the_token_there_is_nothing(serve, folder):
    client = serve(folder)

    for cookie in ("", f"{COOKIE}=", f"{COOKIE}=wrong", f"other={client.server.token}"):
        answer, body = client.get("/", cookie=cookie)
        assert answer.status == 403
        assert "evaluation" not in body


def test_the_token_becomes_a_cookie_and_leaves_the_address(serve, folder):
    client = serve(folder)

    answer, _ = client.get(f"/?token={client.server.token}", cookie="")

    assert (answer.status, answer.getheader("Location")) == (303, "/")
    assert "HttpOnly; SameSite=Strict" in answer.getheader("Set-Cookie")


def test_another_host_name_is_refused(serve, folder):
    client = serve(folder)

    assert client.get("/", host="evil.test")[0].status == 421
    assert client.get("/", host=f"localhost:{client.server.server_address[1]}")[0].status == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_written(serve, folder, method):
    before = sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))
    client = serve(folder)

    client.get("/")
    client.get(f"/run/{number_of(client, 'exam')}")

    assert client.get("/", method=method)[0].status == 501
    assert sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*")) == before


@pytest.mark.parametrize(
    "path",
    ["/run/99", "/run/x", "/run/-1", "/attempt/0/5", "/attempt/0/99999999999999", "/compare", "/compare?a=0:1&b=9:9", "/report/9",
     "/../../etc/passwd", "/run/0/../../x", "/run/0?start=x", "/run/%D9%A3", "/static/x"],
)  # fmt: skip
def test_made_up_addresses_are_not_found(serve, folder, path):
    client = serve(folder)

    answer, body = client.get(path)

    assert answer.status == 404
    assert "Traceback" not in body


def test_headers_shut_everything_off(serve, folder):
    answer, _ = serve(folder).get("/")

    policy = answer.getheader("Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert re.fullmatch(r".*; script-src 'sha256-[^' ]*'; .*", policy)
    assert answer.getheader("Cache-Control") == "no-store"
    assert answer.getheader("X-Content-Type-Options") == "nosniff"


def test_a_linked_report_is_not_followed(serve, folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    run = next(path for path in find_runs(folder) if path.parent.name == "a")
    (run / "report.html").symlink_to(secret)
    client = serve(folder)
    number = number_of(client, "exam")

    assert client.get(f"/report/{number}")[0].status == 404
    (run / "report.html").unlink()
    (run / "report.html").write_text("<h1>report</h1>")
    answer, body = client.get(f"/report/{number}")
    assert body == "<h1>report</h1>"
    assert answer.getheader("Content-Security-Policy") == "sandbox allow-scripts"


def test_a_damaged_run_is_named_and_does_not_stop_the_others(folder):
    (folder / "d").mkdir()
    (folder / "d" / "run.json").write_text("{")

    page = RunSite(folder).page("/", {})

    assert "run.json is damaged" in page
    assert page.count('href="/run/') == 3


def test_what_is_wrong_with_one_run_is_said_on_its_page(serve, tmp_path):
    from support.made_runs import exam_run as make

    run = make(tmp_path / "runs" / "strange", problems=3)
    path = run.folder / "run.json"
    record = json.loads(path.read_text()) | {"command": "unheard-of"}
    del record["identity"]  # which would say that it was changed
    path.write_text(json.dumps(record))
    client = serve(run.folder.parent)

    _, page = client.get("/")
    number = page.split('href="/run/')[1].split('"')[0]
    reply, text = client.get(f"/run/{number}")

    assert reply.status == 409
    assert "unheard-of" in text


def test_a_torn_row_stops_the_index_and_is_said(folder):
    run = next(path for path in find_runs(folder) if path.parent.name == "b")
    with (run / "results.jsonl").open("a") as file:
        file.write('{"torn')
    index = Index(open_results(open_run(run, check=False), partial=True))
    index.start()
    index.wait(1 << 62, PATIENCE)

    assert len(index) == 5
    assert "results.jsonl is damaged at byte" in index.failure


def test_a_page_appears_while_the_index_is_being_built(folder, monkeypatch):
    index = locations(folder, "exam")
    released = threading.Event()

    def slowly():
        for number, found in enumerate(index.results.entries()):
            if number == 100:
                released.wait(PATIENCE)
            yield found

    slow = Index(type("Slow", (), {"entries": staticmethod(slowly), "sheet": index.results.sheet})())
    monkeypatch.setattr("markbook.report.run_index._CHUNK", 20)
    monkeypatch.setattr("markbook.report.run_index.FIRST_CHUNK", 20)
    slow.start()
    slow.wait(50, PATIENCE)
    try:
        assert not slow.is_done
        assert len(slow.search(count=50)[0]) == 50
    finally:
        released.set()
    slow.wait(1 << 62, PATIENCE)
    assert len(slow) == len(index)


def test_an_unknown_page_raises(folder):
    with pytest.raises(NotFound):
        RunSite(folder).page("/x/y/z", {})


def test_hostile_words_stay_words_on_every_page(serve, tmp_path):
    from test_report_html import hostile_run

    hostile_run(tmp_path / "h", HTML, HTML[:4])
    client = serve(tmp_path)
    index = locations(tmp_path, "exam")
    found = index.search(count=300)[0]
    run = f"{number_of(client, 'exam')}"
    pages = [
        "/",
        f"/run/{run}",
        f"/run/{run}?sample={HTML[0].replace('<', '%3C').replace(' ', '+')}",
        f"/matrix/{run}?order=item",
    ]
    pages += [f"/attempt/{run}/{one.location}" for one in found[::7]]
    pages += [f"/compare?a={run}:{found[0].location}&b={run}:{found[1].location}", f"/run/{run}?text=owned&sort=-error"]

    for path in pages:
        answer, body = client.get(path)
        assert answer.status == 200, path
        assert body.count("<script") == 1, path
        assert "<img" not in body, path
        assert "\x00" not in body, path


def test_the_page_works_in_a_browser(serve, folder, tmp_path, browser):
    client = serve(folder)
    with Watched(browser, client.server.address, offline=False) as seen:
        page = seen.page
        assert "token" not in page.url
        page.click(f"a[href='/run/{number_of(client, 'exam')}']")
        page.select_option("select[name=model]", "weak")
        page.click("button:has-text('Filter')")
        assert "model=weak" in page.url
        page.locator("input[name=at]").first.check()
        page.locator("input[name=at]").nth(1).check()
        page.click("button:has-text('Compare selected')")
        assert page.locator("h1").inner_text() == "Two attempts"
        assert seen.complaints == []
        assert all(request.startswith(f"http://{client.server.host}/") for request in seen.requests)


@pytest.mark.slow
def test_axe_finds_no_serious_fault(serve, folder, tmp_path, browser):
    client = serve(folder)
    number = number_of(client, "exam")
    source = axe_source(tmp_path)
    with Watched(browser, client.server.address, offline=False) as seen:
        # tests/commands/test_user_tasks.py has the other pages
        for path in (f"/run/{number}?status=failed&text=x", f"/matrix/{number}?order=unsolved"):
            seen.page.goto(f"http://{client.server.host}{path}")
            assert serious_faults(seen.page, source) == [], path


def test_index_survives_rows_of_other_kinds(folder):
    index = locations(folder, "exam")
    run = next(run for run in map(open_run, find_runs(folder)) if run.command == "exam")

    assert len(index) == sum(1 for _ in run.rows(OUTCOME))


def number_in(site):
    return site.page("/", {}).split('href="/run/')[1].split('"')[0]


def test_a_run_has_a_name_tags_notes_and_scores_in_the_list(tmp_path):
    from support.exam_kit import answer, hold, problem

    rows = [problem(str(at)) for at in range(4)]
    answers = [answer(str(at), "def f(x): return x") for at in range(3)]
    first = hold(tmp_path, rows, answers, name="before <b>", tags=("night", "v1"), notes="the old prompt")
    again = hold(tmp_path, rows, answers, name="after")
    page = RunSite(tmp_path / "out").page("/", {})
    found = RunSite(tmp_path / "out").page("/", {"q": "night"})

    assert first.manifest["tags"] == ["night", "v1"]
    assert [(one["model"], one["value"], one["n"]) for one in again.manifest["scores"]] == [("gpt", 0.75, 4)]
    for words in (
        "before &lt;b&gt;",
        "the old prompt",
        ">night</a>",
        'gpt <strong>75.0</strong> <span class="note">exam_score <span class="name">[30.1, 95.4]</span></span>',
        "trend of 2 runs",
    ):
        assert words in page
    assert found.count('href="/run/') == 1
    number = page.split('href="/trend/')[1].split('"')[0]
    trend = RunSite(tmp_path / "out").page(f"/trend/{number}", {}).split("<main")[1]
    assert trend.count("<svg") == 2
    assert trend.index("before") < trend.index("after")
    assert re.findall(r'<td class="num">([^<]*)</td></tr>', trend) == ["–", "+0.0"]
    assert trend.partition("</svg>")[0].count("<polyline") == 1


def test_a_resumed_run_keeps_its_name(tmp_path):
    from support.exam_kit import answer, hold, problem

    def run(**more):
        return hold(tmp_path, [problem("1")], [answer("1", "def f(x): return x")], **more)

    first = run(name="mine", tags=("a",))
    record = first.folder / "run.json"
    record.write_text(record.read_text().replace('"status": "done"', '"status": "interrupted"'))
    again = run(resume=first.folder)

    assert (again.folder, again.manifest["name"], again.manifest["tags"]) == (first.folder, "mine", ["a"])


@pytest.mark.parametrize(
    "sort", ["score", "-score", "sample", "-sample", "model", "error", "topic", "seconds", "status"]
)
def test_attempts_are_sorted(folder, sort):
    index = locations(folder, "exam")
    everything = index.search(count=500)[0]
    found = index.search(sort=sort, count=500)[0]
    column = sort.lstrip("-")
    keys = [getattr(one, column) for one in found]
    if column == "sample":
        keys = [int(one.rpartition("_")[2]) if one.startswith("strings") else -1 for one in keys]
        keys = [one for one in keys if one >= 0]
    if column == "status":
        keys = [STATUSES.index(one) for one in keys]

    assert sorted(found) == sorted(everything)
    assert keys == sorted(keys, reverse=sort.startswith("-"))


def test_attempts_are_filtered_by_error_topic_score_and_words(serve, folder):
    client = serve(folder)
    number = number_of(client, "exam")
    everything = locations(folder, "exam").search(count=500)[0]
    cases = {
        "error=NameError": sum(one.error == "NameError" for one in everything),
        "topic=closures": sum(one.topic == "closures" for one in everything),
        "at_least=50&at_most=90": sum(0.5 <= one.score <= 0.9 for one in everything),
        "sample=%3Dclosures_4": sum(one.sample == "closures_4" for one in everything),
        "text=weak+take+2&status=passed": sum(one.model == "weak" and one.status == "passed" for one in everything)
        // 3,
    }
    for asked, count in cases.items():
        _, body = client.get(f"/run/{number}?{asked}")
        assert count > 0
        if "text" in asked:
            assert abs(body.count('href="/attempt/') - count) <= 6, asked
            assert "attempts searched" in body
        else:
            assert f"{count:,} attempts" in body, asked


def test_the_means_of_topics_stand_beside_their_intervals(serve, folder):
    client = serve(folder)
    weak = locations(folder, "exam").search(topic="closures", model="weak", count=500)[0]
    wanted = estimate_mean(
        [one.score for one in weak], [one.sample for one in weak], limits=(0.0, 1.0), confidence=0.95, seed=0
    )

    _, body = client.get(f"/run/{number_of(client, 'exam')}")

    assert (
        f'{100 * wanted.value:.1f} <span class="note">[{100 * wanted.low:.1f}, {100 * wanted.high:.1f}]</span>' in body
    )
    assert len({one.sample for one in weak}) == wanted.stats["n_clusters"] < len(weak)


def test_single_attempts_of_a_topic_have_the_interval_of_a_share(exam_run, tmp_path):
    exam_run("", models={"even": 0.5}, problems=40)
    index = locations(tmp_path, "exam")

    topics = index.by_topic()

    assert topics.total == len(topics.shown) == 4
    for topic in topics.shown:
        some = index.search(topic=topic.name, count=100)[0]
        wanted = mean_interval([one.score for one in some])
        found = topic.means["even"]
        assert (found.value, found.low, found.high) == (wanted.value, wanted.low, wanted.high)
        assert found.low < found.value < found.high


def test_next_and_previous_keep_what_was_asked_for(serve, folder):
    client = serve(folder)
    number = number_of(client, "exam")
    found = locations(folder, "exam").search(sort="-score", model="weak", count=500)[0]
    asked = "model=weak&sort=-score"

    _, first = client.get(f"/attempt/{number}/{found[0].location}?{asked}")
    _, second = client.get(f"/attempt/{number}/{found[1].location}?{asked}")

    assert 'rel="prev"' not in first
    assert f'rel="next" href="/attempt/{number}/{found[1].location}?model=weak&amp;sort=-score"' in first
    assert f'rel="prev" href="/attempt/{number}/{found[0].location}?' in second
    assert f"1 of {len(found)}" in first


def test_the_matrix_is_a_heat_map_of_samples_by_models(serve, folder):
    client = serve(folder)
    number = number_of(client, "exam")

    _, differ = client.get(f"/matrix/{number}")
    _, flaky = client.get(f"/matrix/{number}?order=flaky")

    entries = locations(folder, "exam").search(count=500)[0]
    scores, means = {}, {}
    for one in entries:
        scores.setdefault((one.sample, one.model), set()).add(one.score)
        means.setdefault((one.sample, one.model), []).append(one.score)
    cells = re.findall(r'<a class="heat heat-(\d)"[^>]*? aria-label="([^"]*), (\w+): [^>]*>([\d.]+)</a>', differ)
    assert len(cells) > 40
    for level, sample, model, shown in cells:
        mean = sum(means[sample, model]) / len(means[sample, model])
        assert (int(level), shown) == (round(4 * mean), f"{100 * mean:.1f}")
    flips = {sample for (sample, _), several in scores.items() if len(several) > 1}
    assert f"{len(flips)} samples on which" in flaky
    rows = [[float(score) for score in re.findall(r">([\d.]+)</a></td>", row)] for row in differ.split("<tr>")[2:]]
    assert [round(sum(row)) for row in rows] == sorted(round(sum(row)) for row in rows)
    assert "Rows: lowest mean first. Columns: best model first." in differ


@pytest.mark.parametrize("reverse", [False, True])
def test_of_several_attempts_every_page_shows_the_same_worst_one(tmp_path, serve, reverse):
    codes = ["def f(x):\n    return x\n", "def f(x):\n    return 0\n", "def f(x):\n    return y\n", ""]
    texts = codes[::-1] if reverse else codes
    answers = [answer("t/1", text, model=model) for model in ("gpt", "other") for text in texts]
    answers = [row | {"sample": number % 4} for number, row in enumerate(answers)]
    run = hold(tmp_path, [problem("t/1")], answers)
    client = serve(tmp_path / "out")

    _, matrix = client.get(f"/matrix/{number_of(client, 'exam')}?order=item")

    assert re.findall(r'aria-label="t/1, (\w+): (\w+)', matrix) == [("gpt", "empty"), ("other", "empty")]
    code, _, messages = markbook("compare", run.folder, "--html", tmp_path / "compare.html")
    assert code == 0, messages
    for page in (tmp_path / "compare.html", *run.folder.glob("*.html")):
        shown = page.read_text(encoding="utf-8")
        assert re.findall(r'<span class="mark (\w+)">', shown) == ["empty", "empty"], page


def test_the_matrix_names_what_no_model_solved(serve, folder):
    hard = made(folder / "hard", models={"one": 0.4, "two": 0.3}, problems=30, attempts=2)
    client = serve(folder / "hard")
    number = number_of(client, "exam")
    entries = locations(folder / "hard", "exam").search(count=500)[0]
    unsolved = set(compare([hard]).solved_by_none)
    # A sample that passes sometimes is not solved, here as in a comparison.
    assert unsolved > {one.sample for one in entries} - {one.sample for one in entries if one.status == "passed"}

    _, run = client.get(f"/run/{number}")
    _, page = client.get(f"/matrix/{number}?order=unsolved")

    assert f'<a href="/matrix/{number}?order=unsolved">Solved by no model</a>' in run
    assert set(re.findall(r'title="the answers side by side">(.*?)</a>', page)) == unsolved
    assert 0 < len(unsolved) < 30
    assert f"{len(unsolved)} samples that no model solved" in page
    assert "A model solves a sample if all tests pass in every attempt." in page


def test_a_cell_says_why_it_failed_or_what_follows_the_prompt(tmp_path):
    from support.exam_kit import answer, hold, problem

    prompt = 'def f(x):\n    """The same "x"."""\n'
    rows = [{**problem(name), "problem": prompt} for name in "ab"]
    hold(tmp_path, rows, [answer("a", prompt + "    return x\n"), answer("b", prompt + "    return y\n")])
    site = RunSite(tmp_path / "out")

    page = site.page(f"/matrix/{number_in(site)}", {"order": "item"})

    tips = re.findall(r'<a class="heat heat-(\d)".*? title="(.*?)">', page, re.DOTALL)
    assert [level for level, _ in tips] == ["4", "0"]
    assert tips[0][1] == "return x"
    assert "NameError" in tips[1][1]


@pytest.mark.parametrize(("direction", "levels"), [("higher", [0, 1, 2, 3, 4]), ("lower", [4, 3, 2, 1, 0])])
def test_the_better_end_of_the_scale_has_the_better_colour(tmp_path, monkeypatch, direction, levels):
    index = Index(open_results(task_run(tmp_path, [task_row(at, 10.0 * at) for at in range(5)])))
    monkeypatch.setattr(type(index.results), "direction", property(lambda _: direction))
    index.start()
    index.wait(1 << 62, PATIENCE)

    assert [square.level for _, (square,) in build_matrix(index, "item", 0, 9).rows] == levels


def test_lists_are_copied_as_csv_and_markdown(serve, folder):
    client = serve(folder)
    number = number_of(client, "exam")
    total = len(locations(folder, "exam"))

    answer, text = client.get(f"/copy/{number}.csv?model=weak")
    rows = list(csv.DictReader(io.StringIO(text)))
    _, words = client.get(f"/copy/{number}.md")

    assert answer.getheader("Content-Type").startswith("text/csv")
    assert {row["model"] for row in rows} == {"weak"}
    shown = [locations(folder, "exam").results.show_attempt(entry.location)
             for entry in locations(folder, "exam").search(model="weak", count=300)[0]]  # fmt: skip
    assert {(row["prompt"], row["answer"]) for row in rows} == {(one.prompt, one.text) for one in shown}
    assert "name 'totl' is not defined" in {row["reason"].partition(": ")[2] for row in rows}
    assert {row["seconds"] for row in rows} == {"0.01"}
    assert len(words.splitlines()) == 2 + total
    assert client.get(f"/copy/{number}.exe")[0].status == 404


def test_links_hold_when_the_folder_is_served_again(folder):
    first, second = RunSite(folder), RunSite(folder)

    assert number_in(first) == number_in(second)


def test_the_token_keeps_the_address_that_was_asked_for(serve, folder):
    client = serve(folder)

    answer, _ = client.get(f"//evil.test/run/1?sort=-score&token={client.server.token}", cookie="")

    assert answer.getheader("Location") == "/evil.test/run/1?sort=-score"


def test_a_run_that_goes_on_is_shown_and_grows(tmp_path, monkeypatch):
    from support import made_runs

    from markbook.report import browser as pages
    from markbook.runs.exam.view import attempt_record
    from markbook.store import RunWriter
    from markbook.types import Attempt, Outcome

    monkeypatch.setattr(pages, "_LIVE_SECONDS", 0.0)
    run = made_runs.exam_run(tmp_path, models={"m": 1.0}, problems=3, finish="")
    record = run.folder / "run.json"
    record.write_text(record.read_text().replace('"interrupted"', '"running"'))
    site = RunSite(tmp_path)
    number = number_in(site)
    before = site.page(f"/run/{number}", {})

    from markbook.store.run import Manifest

    manifest = Manifest("exam", run.manifest["config"], run.manifest["inputs"])
    with RunWriter.resume(run.folder, manifest) as writer:
        writer.add(OUTCOME, ("m", "closures_0", 1), attempt_record(Attempt("closures_0", "x", "m", 1), Outcome(())))
        writer.commit()
        after = site.page(f"/run/{number}", {})

    assert "This run is in progress." in before
    assert 'http-equiv="refresh"' in before
    assert "3 of 3 attempts are scored" in before
    assert "4 of 3 attempts are scored" in after


def test_the_first_page_of_a_finished_run_asks_nothing_that_takes_its_whole_journal(tmp_path, monkeypatch):
    from markbook.runs.exam.view import ExamView

    run = made(tmp_path / "runs")
    site = RunSite(tmp_path / "runs")
    number = site.page("/", {}).split('href="/run/')[1].split('"')[0]
    original, asked = ExamView.n_planned.fget, []

    def planned(view):
        asked.append(threading.current_thread())
        return original(view)

    monkeypatch.setattr(ExamView, "n_planned", property(planned))

    assert run.folder.name in site.page(f"/run/{number}", {})
    assert threading.main_thread() not in asked  # the index may, beside the page


def test_counts_of_a_run_that_is_still_read_are_said_to_be_so_far(folder):
    from markbook.report.run_pages import run_page

    index = locations(folder, "exam")
    about = {
        "title": "t", "facts": [], "failure": "", "has_report": False, "is_live": False, "planned": 0,
        "headline": "", "previous": None, "metric": "",
    }  # fmt: skip

    class StillRead:
        """Is done only when the page is nearly made, as a thread that ends while it is written."""

        is_done = False

        def __getattr__(self, name):
            if name == "errors":
                self.is_done = True
            return getattr(index, name)

        def __len__(self):
            return len(index)

    page = run_page(StillRead(), 1, about, {})

    assert "read so far; reload for more" in page
    assert all("so far)" in link for link in re.findall(r"<a href=\"/run/1\?error=[^>]*>[^<]*</a>", page))
    assert "read so far" not in run_page(index, 1, about, {})


def test_a_page_that_cannot_be_made_closes_no_connection(serve, folder, monkeypatch, caplog):
    client = serve(folder)

    def broken(request):
        raise KeyError(request.path)

    with monkeypatch.context() as patched:
        patched.setattr(client.server.pages, "answer", broken)
        answer, body = client.get("/run/0")

    assert answer.status == 500
    assert "This page cannot be made: KeyError: &#39;/run/0&#39;" in body
    assert "the page /run/0 cannot be made" in caplog.text
    assert client.get("/")[0].status == 200


def test_a_run_that_ended_meanwhile_is_read_anew(tmp_path):
    run = made(tmp_path, models={"m": 1.0}, problems=3, finish="")
    record = run.folder / "run.json"
    record.write_text(record.read_text().replace('"interrupted"', '"running"'))
    site = RunSite(tmp_path)
    number = number_in(site)
    before = site.page(f"/run/{number}", {})

    manifest = Manifest("exam", run.manifest["config"], run.manifest["inputs"])
    with RunWriter.resume(run.folder, manifest) as writer:
        writer.add(OUTCOME, ("m", "closures_0", 1), attempt_record(Attempt("closures_0", "x", "m", 1), Outcome(())))
        writer.finish("done")
    site.page("/", {})
    after = site.page(f"/run/{number}", {})

    assert "<output>3 attempts</output>" in before
    assert "<output>4 attempts</output>" in after


def test_a_trend_says_that_less_is_better_and_breaks_where_more_is(tmp_path):
    (tmp_path / "t.csv").write_text("item,score\n" + "".join(f"q{at},{at % 2}\n" for at in range(6)))
    for way in ("lower", "lower", "higher"):
        columns = f"item=item,score=score,better={way}"
        assert markbook("import", tmp_path / "t.csv", "--map", columns, "-o", tmp_path / "out")[0] == 0
    site = RunSite(tmp_path / "out")

    page = site.page(f"/trend/{number_in(site)}", {})

    assert "Lower is better." in page
    assert re.findall(r'<td class="num">([^<]*)</td></tr>', page) == ["–", "+0.0", "–"]
    assert "Not comparable with the runs before: higher is better." in page


def test_scores_beyond_a_hundred_stay_inside_the_trend(tmp_path):
    for name, value in (("a", 350.0), ("b", 120.0)):
        run = task_run(tmp_path / name, [task_row(0, 0.5)])
        manifest = json.loads((run.folder / "run.json").read_text())
        manifest["scores"] = [{"model": "m", "value": value, "low": value - 9, "high": value + 9, "range": [0.0, None]}]
        (run.folder / "run.json").write_text(json.dumps(manifest))
    site = RunSite(tmp_path)

    page = site.page(f"/trend/{number_in(site)}", {})

    wide, narrow = (drawing.partition("</svg>")[0] for drawing in page.split("<svg")[1:3])
    for drawing, width in ((wide, 960), (narrow, 350)):
        places = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="4"', drawing)
        assert len(places) == 2
        assert max(float(x) for x, _ in places) < width
        assert all(0 < float(y) < 320 for _, y in places)


def test_a_model_that_turns_up_while_the_matrix_is_made_spoils_nothing(folder):
    index = locations(folder, "exam")
    names = iter([[*index.models, *(f"late {number}" for number in range(at))] for at in range(9)])

    class Growing(Index):
        models = property(lambda _: next(names))

    index.__class__ = Growing
    matrix = build_matrix(index, "item", 0, 5)

    assert matrix.models == ["strong", "weak"]
    assert matrix.total == 30
    assert all(
        square.first.model == model
        for _, row in matrix.rows
        for square, model in zip(row, matrix.models, strict=True)
        if square
    )


def test_a_list_that_is_copied_in_part_says_so(serve, folder, monkeypatch):
    client = serve(folder)
    number = number_of(client, "exam")
    total = len(locations(folder, "exam"))
    monkeypatch.setattr(run_pages, "COPIED_ROWS", 7)

    assert client.get(f"/copy/{number}.md")[1].endswith(f"|\n\nThe first 7 of {total} attempts.\n")
    assert "Export the first 7 of this list:" in client.get(f"/run/{number}")[1]


def test_attempts_at_an_item_that_are_not_named_are_counted(folder, monkeypatch):
    monkeypatch.setattr(browser, "_OTHERS", 2)
    monkeypatch.setattr(browser, "_SHORT_LOOK", PATIENCE)  # until the whole run is indexed
    site = RunSite(folder)
    number = next(number for number, opened in site._opened.items() if opened.run.command == "exam")
    entry = locations(folder, "exam").search()[0][0]

    page = site.page(f"/attempt/{number}/{entry.location}", {})

    assert page.count(">compare with ") == 2
    assert f'and 3 more: <a href="/run/{number}?sample=%3D{entry.sample}">' in page


def test_runs_and_models_that_the_lists_leave_out_are_counted(tmp_path, monkeypatch):
    for number in range(3):
        run = task_run(tmp_path / str(number), [task_row(0, 0.5)])
        manifest = json.loads((run.folder / "run.json").read_text())
        manifest["scores"] = [{"model": f"m{at}", "value": 0.5, "range": [0.0, 1.0]} for at in range(14)]
        (run.folder / "run.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(run_pages, "_TREND", 2)
    site = RunSite(tmp_path)

    before = site.page("/", {})
    monkeypatch.setattr(browser, "MOST_RUNS", 3)
    after = site.page("/", {})

    assert before.count("and 2 more models") == 3
    assert "are looked for" not in before
    assert "Only the first 3 runs are listed" in after
    assert "each model's score. 1 older run is left out." in site.page(f"/trend/{number_in(site)}", {})


def with_manifest(folder, **changes):
    """Write a run of a task whose run.json says something else."""
    run = task_run(folder, [task_row(0, 0.5)])
    manifest = json.loads((run.folder / "run.json").read_text())
    (run.folder / "run.json").write_text(json.dumps(manifest | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tags": ["\ud800", "good"]}, r'href="/?q=%3F">\ud800</a>'),
        ({"scores": [{"model": "m", "value": 10**400}, {"model": "n", "value": 2.5}]}, "<div>n <strong>2.50</strong></div>"),
        ({"scores": [{"model": "n", "value": 2.5, "low": -(10**400), "high": 3.0}]}, "<div>n <strong>2.50</strong></div>"),
        ({"scores": [{"model": "n", "value": 2.5, "low": 2.0, "high": None}]}, "<div>n <strong>2.50</strong></div>"),
        ({"scores": [{"model": "n", "value": 2.5, "low": 2.0, "high": float("inf")}]}, "<div>n <strong>2.50</strong></div>"),
        ({"scores": [{"model": "m", "value": True}, {"model": "n", "value": 2.5}]}, "<td><div>n <strong>2.50</strong></div>"),
    ],
)  # fmt: skip
def test_a_run_json_that_says_odd_things_leaves_the_list_and_the_trend(tmp_path, changes, words):
    with_manifest(tmp_path / "odd", **changes)
    with_manifest(tmp_path / "good", scores=[{"model": "m", "value": 1.5}])
    site = RunSite(tmp_path)

    page = site.page("/", {})

    assert words in page
    assert "<div>m <strong>1.50</strong></div>" in page
    assert "<svg" in site.page(f"/trend/{number_in(site)}", {})


def test_a_run_whose_scores_are_no_list_has_its_pages(tmp_path):
    with_manifest(tmp_path, scores=5)
    site = RunSite(tmp_path)

    assert "markbook" in site.page(f"/run/{number_in(site)}", {}).lower()
    assert "1 sample." in site.page(f"/matrix/{number_in(site)}", {"order": "item"})


def test_the_change_of_a_small_score_is_not_rounded_first(tmp_path):
    for day, value in (("01", 0.136), ("02", 0.176)):
        with_manifest(tmp_path / day, started=f"2026-01-{day}", scores=[{"model": "m", "value": value}])
    site = RunSite(tmp_path)

    page = site.page(f"/trend/{number_in(site)}", {})

    assert re.findall(r'<td class="num">([^<]*)</td></tr>', page) == ["–", "+0.04"]
    heights = re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)" r="4"', page.partition("</svg>")[0])
    assert len(set(heights)) == 2


def test_a_list_by_words_is_copied_by_the_same_words(serve, folder):
    client = serve(folder)
    number = number_of(client, "exam")
    _, page = client.get(f"/run/{number}?text=closures_0")

    csv_at, markdown_at = (html.unescape(at) for at in re.findall(r'href="(/copy/[^"]*)"', page))
    rows = list(csv.DictReader(io.StringIO(client.get(csv_at)[1])))

    assert {row["item"] for row in rows} == {"closures_0"}
    assert f"<output>{len(rows)} matches;" in page
    assert len(client.get(markdown_at)[1].splitlines()) == 2 + len(rows)


def test_of_scores_that_say_neither_right_nor_wrong_none_is_unsolved(tmp_path):
    task_run(tmp_path, [task_row(0, 1.0), task_row(1, 0.2)])
    site = RunSite(tmp_path)

    page = site.page(f"/matrix/{number_in(site)}", {"order": "unsolved"})

    assert "<p>0 samples that no model solved." in page


@pytest.mark.parametrize("seconds", [[1], {}, "soon", 10**400])
def test_a_time_that_is_none_stops_the_reading_where_it_stands(tmp_path, seconds):
    run = made(tmp_path, models={"m": 1.0}, problems=3, finish="")
    with RunWriter.resume(run.folder, Manifest("exam", run.manifest["config"], run.manifest["inputs"])) as writer:
        record = attempt_record(Attempt("closures_0", "x", "m", 1), Outcome(()))
        writer.add(OUTCOME, ("m", "closures_0", 1), record | {"seconds": seconds})
        writer.finish("done")
    site = RunSite(tmp_path)

    page = site.page(f"/run/{number_in(site)}", {})

    assert "<output>3 attempts</output>" in page
    assert "Reading stopped: " in page


def test_scores_of_another_metric_are_no_part_of_a_trend(tmp_path):
    for day, metric, value in (("01", "bleu", 0.2), ("02", "edit_distance", 0.9), ("03", "bleu", 0.3)):
        scores = [{"model": "m", "metric": metric, "value": value, "range": [0.0, 1.0]}]
        with_manifest(tmp_path / day, started=f"2026-01-{day}", scores=scores)
    site = RunSite(tmp_path)

    (number,) = set(re.findall(r'href="/trend/(\d+)">trend of 2 runs', site.page("/", {}))) & {
        str(number) for number, opened in site._opened.items() if opened.path.parent.name == "03"
    }
    page = site.page(f"/trend/{number}", {})

    assert re.findall(r'<td class="num">([^<]*)</td></tr>', page) == ["–", "+10.0"]
    assert ">bleu</text>" in page


def test_a_filter_tells_names_apart_that_differ_in_blanks(serve, tmp_path, browser):
    made(tmp_path, models={"a  b": 1.0, "a b": 0.0}, problems=3)
    client = serve(tmp_path)

    with Watched(browser, client.server.address, offline=False) as seen:
        seen.page.click("th a")
        seen.page.select_option("select[name=model]", index=1)
        seen.page.click("button:has-text('Filter')")
        names = seen.page.eval_on_selector_all(
            "form tbody td:nth-child(2)", "cells => cells.map(cell => cell.textContent)"
        )

    assert names == ["a  b"] * 3


def test_the_matrix_marks_what_is_missing_and_orders_equal_samples_by_name(tmp_path, serve):
    wrong = "def f(x):\n    return -1\n"
    answers = [answer(name, wrong, "gpt") for name in ("t/10", "t/9", "t/2")]
    hold(tmp_path, [problem(name) for name in ("t/2", "t/9", "t/10")], [*answers, answer("t/9", wrong, "other")])
    client = serve(tmp_path / "out")

    _, page = client.get(f"/matrix/{number_of(client, 'exam')}?order=worst")

    rows = [row for row in page.split("<tr>")[2:] if "/compare?" in row]
    assert [re.search(r">(t/\d+)</a></th>", row)[1] for row in rows] == ["t/2", "t/9", "t/10"]
    assert ["–" in row for row in rows] == [True, False, True]


def test_long_names_leave_no_page_of_the_list_wider_than_the_screen(serve, tmp_path, browser):
    made(tmp_path, models={"M" * 150: 0.9, "organisation/" + "name-" * 30: 0.2}, problems=3)
    client = serve(tmp_path)
    number = number_of(client, "exam")
    one, two = (f"{entry.location}" for entry in locations(tmp_path, "exam").search(count=2)[0])
    paths = ("/", f"/run/{number}", f"/attempt/{number}/{one}", f"/compare?a={number}:{one}&b={number}:{two}")

    for width in (390, 1280):
        with Watched(browser, client.server.address, width=width, offline=False) as seen:
            for path in paths:
                seen.page.goto(f"http://{client.server.host}{path}")
                assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
                cells = seen.page.evaluate("[...document.querySelectorAll('td')].map(cell => cell.offsetWidth)")
                assert max(cells, default=0) <= 800, (path, width)


def test_an_empty_folder_names_the_command_that_fills_it(tmp_path):
    page = RunSite(tmp_path).page("/", {})

    assert f"<code>markbook demo --output {tmp_path}</code>" in page


def test_a_search_says_how_much_it_searched(serve, tmp_path):
    made(tmp_path, models={"m": 0.5}, problems=3)
    client = serve(tmp_path)

    _, page = client.get(f"/run/{number_of(client, 'exam')}?text=nowhere")

    assert "<output>0 matches; 3 of 3 attempts searched</output>" in page
    assert "No attempts match." in page


def test_a_refusal_shows_its_command_as_code(serve, tmp_path):
    rows = [problem("a")]
    for at, limit in enumerate((1.0, 2.0)):
        hold(tmp_path / f"{at}", rows, [answer("a", "def f(x): return x")], timeout=limit)
    client = serve(tmp_path)
    numbers = re.findall(r'name="at" value="(\d+)"', client.get("/")[1])

    reply, page = client.get(f"/changes?at={','.join(numbers)}")

    assert reply.status == 409
    assert "<code>markbook compare --allow-different-measures</code>." in page


def test_facts_of_a_review_have_units_and_plain_words(serve, tmp_path):
    row = review_row("p1", "s", 0.5, 0.5)
    row["tier1"]["execution_time"] = 12.5
    review_run(tmp_path, [row])
    client = serve(tmp_path)
    attempt = re.search(r"/attempt/\d+/\d+", client.get(f"/run/{number_of(client, 'review')}")[1]).group()

    _, page = client.get(attempt)

    assert "<dt>tier1 execution_time</dt><dd>12.50 s</dd>" in page
    assert "<dt>composite evaluation_complete</dt><dd>yes</dd>" in page
