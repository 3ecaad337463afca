"""`markbook label --reasons`: why traces and attempts failed, one key each."""

import json
import re

import pytest
from support.exam_kit import answer, hold, problem
from support.load import PATIENCE
from support.payloads import HTML
from test_label import Client, rows_of
from test_traces_cli import RUN

from markbook.errors import DataError, UsageError
from markbook.judge.labels import Label, agreement
from markbook.report.html import label_script
from markbook.report.label_pages import LabelPages
from markbook.report.label_session import REASONS, SittingOptions, open_sitting, reason_rubric
from markbook.report.local_server import LocalServer


def pages(path, *raters, reasons=(), **options):
    asked = SittingOptions(str(path), raters, rubric=reason_rubric(reasons), reasons=True, **options)
    return open_sitting(asked)


def shown(session, rater="ann", place=0):
    return LabelPages(session)._page(rater, place)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(RUN), encoding="utf-8")
    return path


def test_a_trace_is_shown_with_its_steps_and_a_key_for_each_reason(log):
    with pages(log, "ann") as (session, _):
        text = shown(session)

    assert text.count('<details class="step') == 4
    assert [key for key in re.findall(r"<kbd>(.)</kbd>", text) if key != "x"] == list("0123456789")
    assert all(words in text for words in REASONS)
    assert "<script>alert" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", text)


def test_failing_attempts_of_a_run_are_shown_with_why_and_their_labels_lie_in_it(tmp_path):
    rows = [problem("a", tests=[{"assertion": "func(1) == 1"}]), problem("b", tests=[{"assertion": "func(1) == 2"}])]
    run = hold(tmp_path, rows, [answer(row["task_id"], "def f(x):\n    return x\n") for row in rows])
    with pages(run.folder, "ann", reasons=("off by one", "other")) as (session, _):
        text = shown(session)
        assert [one.item.id for one in session.order("ann")] == ["b"]
        server = LocalServer(LabelPages(session), who=["ann"], script=label_script(), takes_forms=True)
        server.server_close()
        token = re.search(r'name="item" value="(\w+)"', text).group(1)
        LabelPages(session)._take(asked("ann", token, "1"))

    assert "Why it failed" in text
    assert "gpt" not in text.split("<main")[1]
    (label,) = rows_of(run.folder, "ann")
    assert (label["id"], label["marks"], label["reason"], label["label"], label["probability"]) == (
        "b", {"reason": 1}, "off by one", 0.0, 1.0,
    )  # fmt: skip


def asked(rater, token, mark):
    from markbook.report.local_server import Request

    return Request("/label", {}, rater, {"item": token, "mark.reason": mark, "save": "1"})


def test_what_did_not_fail_is_one_and_a_trace_that_succeeded_is_not_asked_about(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({**RUN, "success": True}), encoding="utf-8")
    rubric = reason_rubric()

    assert (rubric.overall({"reason": 0}), rubric.overall({"reason": 4})) == (1.0, 0.0)
    assert rubric.reason({}) == ""


def test_raters_agree_by_reasons_and_not_by_how_they_are_numbered():
    def said(rater, *reasons):
        return [Label(str(at), 0.0, rater=rater, reason=reason) for at, reason in enumerate(reasons)]

    found = agreement([*said("a", "x", "y", "z", "x"), *said("b", "x", "z", "z", "x")])

    # nominal: observed disagreement 1/4; by chance, of 8 values x 4, y 1, z 3: 2 (4 + 12 + 3) / (8 7) = 38/56
    assert (found.same, found.shared) == (3, 4)
    assert found.alpha.value == pytest.approx(1 - (1 / 4) / (38 / 56))


@pytest.mark.parametrize("reasons", [["a"] * 2, [""], ["it did not fail"], [str(at) for at in range(10)]])
def test_reasons_that_cannot_be_told_apart_are_refused(reasons):
    with pytest.raises(UsageError):
        reason_rubric(reasons)


def test_a_run_without_a_failure_says_so(tmp_path):
    row = problem("a", tests=[{"assertion": "func(1) == 1"}])
    run = hold(tmp_path, [row], [answer("a", "def f(x):\n    return x\n")])

    with pytest.raises(DataError, match="no answer that failed"), pages(run.folder, "ann"):
        pass


def test_hostile_steps_stay_words(tmp_path):
    calls = [
        {
            "tool_name": word,
            "success": False,
            "duration": 1.0,
            "timestamp": 5.0,
            "agent_id": word,
            "result": word,
            "arguments": {word: word},
        }
        for word in HTML
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({**RUN, "tool_calls": calls}), encoding="utf-8")
    with pages(path, "ann") as (session, _):
        body = shown(session).split("<body>")[1]

    assert body.count("<script") == 1
    for word in ("<img", "<iframe", "<svg onload", "<form action=http", "<base", "<object"):
        assert word not in body


def test_who_comes_from_another_page_is_led_on_by_a_page(log):
    import http.client
    import threading

    with pages(log, "ann") as (session, _):
        server = LocalServer(LabelPages(session), who=["ann"], script=label_script(), takes_forms=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            link = http.client.HTTPConnection(*server.server_address, timeout=PATIENCE)
            path = f"/find?id=e&token={server.tokens['ann']}"
            link.request("GET", path, headers={"Host": server.host, "Sec-Fetch-Site": "cross-site"})
            reply = link.getresponse()
            body = reply.read().decode()
            found = Client(server, "ann").ask("GET", "/find?id=e")
            lost = Client(server, "ann").ask("GET", "/find?id=nobody")
        finally:
            server.shutdown()
            server.server_close()
            thread.join(PATIENCE)

    assert (reply.status, 'content="0;url=/find?id=e"' in body) == (200, True)
    assert reply.headers["Set-Cookie"].startswith(f"markbook_token_{server.server_address[1]}=")
    assert (found[0], lost[0]) == (200, 404)


def test_reasons_that_are_alike_as_far_as_they_are_kept_are_refused():
    with pytest.raises(UsageError, match="each once"):
        reason_rubric(["x" * 80 + " one", "x" * 80 + " two"])


def test_traces_called_as_others_are_numbered_are_all_shown(monkeypatch):
    import types

    from markbook.report import label_session

    traces = [types.SimpleNamespace(id=name) for name in ("a #3", "a", "a")]
    monkeypatch.setattr(label_session, "read_traces", lambda _path: iter(traces))

    names = [name for name, _ in label_session._name_traces("log")]

    assert len(set(names)) == 3
    assert names[:2] == ["a #3", "a"]
