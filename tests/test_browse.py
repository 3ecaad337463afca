"""The local page: what it shows, how quickly it opens, and whom it refuses."""

import http.client
import threading

import pytest
from browsers import Watched, axe_source, chromium, serious_faults
from made_files import review_row, review_run, task_row, task_run
from payloads import HTML

from markbook.report.browse.index import Index
from markbook.report.browse.local import COOKIE, NotFound
from markbook.report.browse.server import Server
from markbook.report.browse.site import Site, find_runs
from markbook.results.kind import results_of
from markbook.runs.exam.view import OUTCOME
from markbook.store import open_run

MODELS = {"strong": 0.9, "weak": 0.2}


class Client:
    """Asks a started server, as a browser with its cookie would."""

    def __init__(self, server):
        self.server = server
        self.cookie = f"{COOKIE}={server.token}"

    def get(self, path, *, cookie=None, host=None, method="GET"):
        link = http.client.HTTPConnection(*self.server.server_address, timeout=20)
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
        server = Server(folder)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        started.append((server, thread))
        return Client(server)

    yield make
    for server, thread in started:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture
def folder(exam_run, tmp_path):
    exam_run("a", models=MODELS, problems=30, attempts=3, absent=0.1)
    task_run(tmp_path / "b", [task_row(at, None if at == 2 else at / 10) for at in range(5)])
    review_run(tmp_path / "c", [review_row("p1", "mas", 0.5, 0.7), review_row("p2", "mas", None, None)])
    return tmp_path


def locations(folder, command):
    index = next(
        Index(results_of(run, partial=True)) for run in map(open_run, find_runs(folder)) if run.command == command
    )
    index.start()
    index.wait(1 << 62, 20)
    return index


def number_of(client, command):
    _, body = client.get("/")
    rows = [row for row in body.split("<tr>") if f"<td>{command}</td>" in row]
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
        "Other attempts at it",
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
    client.get("/run/0")

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
    assert "script-src" not in policy
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

    page = Site(folder).page("/", {})

    assert "run.json is damaged" in page
    assert page.count('href="/run/') == 3


def test_a_torn_row_stops_the_index_and_is_said(folder):
    run = next(path for path in find_runs(folder) if path.parent.name == "b")
    with (run / "results.jsonl").open("a") as file:
        file.write('{"torn')
    index = locations(folder, "run")

    assert len(index) == 5
    assert "JSONDecodeError" in index.failure


def test_a_page_appears_while_the_index_is_being_built(folder, monkeypatch):
    index = locations(folder, "exam")
    released = threading.Event()

    def slowly():
        for number, found in enumerate(index.results.entries()):
            if number == 100:
                released.wait(20)
            yield found

    slow = Index(type("Slow", (), {"entries": staticmethod(slowly)})())
    monkeypatch.setattr("markbook.report.browse.index._CHUNK", 20)
    monkeypatch.setattr("markbook.report.browse.index.FIRST_CHUNK", 20)
    slow.start()
    slow.wait(50, 10)
    try:
        assert not slow.is_done
        assert len(slow.search(count=50)[0]) == 50
    finally:
        released.set()
    slow.wait(1 << 62, 20)
    assert len(slow) == len(index)


def test_an_unknown_page_raises(folder):
    with pytest.raises(NotFound):
        Site(folder).page("/x/y/z", {})


def test_hostile_words_stay_words_on_every_page(serve, tmp_path):
    from test_report_html import hostile_run

    hostile_run(tmp_path / "h", HTML, HTML[:4])
    client = serve(tmp_path)
    index = locations(tmp_path, "exam")
    found = index.search(count=300)[0]
    pages = ["/", "/run/0", f"/run/0?sample={HTML[0].replace('<', '%3C').replace(' ', '+')}"]
    pages += [f"/attempt/0/{one.location}" for one in found[::7]]
    pages += [f"/compare?a=0:{found[0].location}&b=0:{found[1].location}"]

    for path in pages:
        answer, body = client.get(path)
        assert answer.status == 200, path
        assert "<script" not in body, path
        assert "<img" not in body, path
        assert "\x00" not in body, path


def test_the_page_works_in_a_browser(serve, folder, tmp_path):
    client = serve(folder)
    with chromium() as browser, Watched(browser, client.server.address, offline=False) as seen:
        page = seen.page
        assert "token" not in page.url
        page.click(f"a[href='/run/{number_of(client, 'exam')}']")
        page.select_option("select[name=model]", "weak")
        page.click("button:has-text('Filter')")
        assert "model=weak" in page.url
        page.locator("input[name=a]").first.check()
        page.locator("input[name=b]").nth(1).check()
        page.click("button:has-text('Compare')")
        assert page.locator("h1").inner_text() == "Two attempts"
        assert seen.complaints == []
        assert all(request.startswith(f"http://{client.server.host}/") for request in seen.requests)


@pytest.mark.slow
def test_axe_finds_no_serious_fault(serve, folder, tmp_path):
    client = serve(folder)
    number = number_of(client, "exam")
    one, two = (found.location for found in locations(folder, "exam").search(count=2)[0])
    with chromium() as browser:
        source = axe_source(tmp_path)
        with Watched(browser, client.server.address, offline=False) as seen:
            for path in (
                "/",
                f"/run/{number}",
                f"/attempt/{number}/{one}",
                f"/compare?a={number}:{one}&b={number}:{two}",
            ):
                seen.page.goto(f"http://{client.server.host}{path}")
                assert serious_faults(seen.page, source) == [], path


def test_index_survives_rows_of_other_kinds(folder):
    index = locations(folder, "exam")
    run = next(run for run in map(open_run, find_runs(folder)) if run.command == "exam")

    assert len(index) == sum(1 for _ in run.rows(OUTCOME))
