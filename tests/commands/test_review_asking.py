"""The tiers of a review run go on side by side, and nobody sees it in the results."""

import json
import threading
import time

import pytest
from support.fake_openai import FAULTS, FakeOpenAI, Reply, good
from support.load import allowed
from support.review_kit import GENERATED, TRACE, markbook, only_run, papers, reports_of, reviews, rows_of

from markbook.errors import StorageError, UsageError
from markbook.judge.judge_options import JudgeOptions
from markbook.judge.panel import PanelSession
from markbook.runs.reviews import review as conductor
from markbook.runs.reviews.config import default_config
from markbook.runs.reviews.review import make_plan
from markbook.runs.reviews.tiers import Similarities

PAIR = ("--similarity", "cosine,jaccard")
PATIENCE = 20.0
"""Seconds after which a test that waits for another tier gives up."""


@pytest.fixture
def inputs(tmp_path):
    """Twelve reviews by two systems with a trace each."""
    rows = [
        {"paper_id": paper, "system": system, "review": f"{GENERATED} {n}", "execution_time": n + 1}
        for paper in ("one", "two")
        for system in ("mas", "solo")
        for n in range(3)
    ]
    folder = tmp_path / "traces"
    for system in ("mas", "solo"):
        for paper in ("one", "two"):
            file = folder / system / f"{paper}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(TRACE))
    return ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path, rows), "--traces", folder)


def test_each_tier_goes_on_while_the_others_do(tmp_path, inputs, monkeypatch):
    """Each of the three waits for something that another does: were they one after another, a wait would run out."""
    asked, compared = threading.Event(), threading.Event()
    met = {}
    tier1, tier3 = conductor.tier1_rows, conductor.tier3_rows

    def script(request, number):
        if not asked.is_set():
            asked.set()
            met["a judge's first reply waits for the similarities"] = compared.wait(PATIENCE)
        return good(request, number)

    def compare(similarities, work):
        for row in tier1(similarities, work):
            compared.set()
            yield row

    def read(paths, profile, executor):
        for number, record in enumerate(tier3(paths, profile, executor)):
            if number == 3:
                met["the fourth trace waits for the judge's first question"] = asked.wait(PATIENCE)
            yield record

    monkeypatch.setattr(conductor, "tier1_rows", compare)
    monkeypatch.setattr(conductor, "tier3_rows", read)
    with FakeOpenAI(script) as server:
        code, _, _ = markbook(
            "review", *inputs, *PAIR, "--judge", "openai:m", "--base-url", server.base_url, "--judge-workers", "1",
            "--judge-timeout", "60", "--output", tmp_path / "out",
        )  # fmt: skip

    assert code == 0
    assert met == {
        "a judge's first reply waits for the similarities": True,
        "the fourth trace waits for the judge's first question": True,
    }


def test_workers_and_slow_judges_change_no_byte(tmp_path, inputs):
    def uneven(request, number):
        time.sleep(0.02 * (number % 3))
        return good(request, number)

    found = {}
    for name, script, more in (
        ("one", good, ("--judge-workers", "1")),
        ("eight", uneven, ("--judge-workers", "8")),
        ("processes", uneven, ("--workers", "2")),
    ):
        with FakeOpenAI(script) as server:
            judge = ("--judge", "openai:m", "--base-url", server.base_url)
            code, _, err = markbook("review", *inputs, *PAIR, *judge, *more, "--output", tmp_path / name)
        assert code == 0, err
        found[name] = reports_of(only_run(tmp_path / name))

    assert found["one"] == found["eight"] == found["processes"]
    assert len(rows_of(only_run(tmp_path / "one"))) == 12


def test_each_tiers_time_stands_beside_its_target(tmp_path, inputs):
    config = tmp_path / "config.json"
    targets = {"tier1_max_seconds": 0.000001, "tier2_max_seconds": 900, "total_max_seconds": 1000}
    config.write_text(json.dumps({"evaluation_system": {"performance_targets": targets}}))
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:m", "--base-url", server.base_url)
        markbook("review", *inputs, *PAIR, *judge, "--config", config, "--output", tmp_path / "out")

    times = json.loads((only_run(tmp_path / "out") / "run.json").read_text())["performance"]
    assert {name: (times[name]["target"], times[name]["met"]) for name in times} == {
        "tier1": (0.000001, False),
        "tier2": (900, True),
        "tier3": (15, True),
        "human_yardstick": (None, True),
        "total": (1000, True),
    }
    # The judges' time begins with the first trace and ends with the last answer: the measuring lies inside it.
    assert times["tier2"]["seconds"] >= times["tier1"]["seconds"] + times["tier3"]["seconds"]


def test_an_unknown_engine_is_named_before_anything_is_asked(tmp_path, inputs):
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:m", "--base-url", server.base_url)
        code, _, err = markbook("review", *inputs, *PAIR, *judge, "--engine", "cloud", "--output", tmp_path / "out")

    assert (code, server.calls) == (2, 0)
    assert "cloud" in err


def make(script_server, keep, **options):
    config = default_config()
    plan = make_plan(("openai:m",), config, JudgeOptions(base_url=script_server.base_url, **options))
    return PanelSession(plan, keep)


def work(number):
    from markbook.judge.assess import JudgeInput, JudgeSettings, make_review_questions
    from markbook.judge.panel import JudgeWork

    review = JudgeInput.from_review(f"A review, number {number}.")
    settings = JudgeSettings(("openai:m",))
    return JudgeWork((f"paper {number}", "mas", 0), lambda: make_review_questions(review, settings))


def test_what_ends_the_asking_reaches_the_one_who_waits():
    def keep(*_answer):
        raise StorageError("no space left on device", at="journal")

    with FakeOpenAI(good) as server, make(server, keep) as asking:
        asking.give(work(1))
        with pytest.raises(StorageError, match="no space left"):
            asking.finish()
        with pytest.raises(StorageError):
            asking.give(work(2))


def test_a_judge_that_cannot_be_set_up_is_said_before_any_work(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(UsageError, match="needs a key"):
        make_plan(("openai:m",), default_config(), JudgeOptions())


def test_leaving_early_ends_the_judges_at_once():
    kept = []
    with FakeOpenAI(FAULTS["slow_drip"]) as server:
        asking = make(server, lambda *answer: kept.append(answer))
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt), asking:
            asking.give(work(1))
            while not server.calls:
                time.sleep(0.01)
            raise KeyboardInterrupt
        assert time.monotonic() - begun < allowed(10)

    assert kept == []
    assert not asking._thread.is_alive()


def _leave(_wanted, _batch):
    import os

    os._exit(9)


def test_a_lost_worker_is_one_line_and_the_run_can_be_taken_up(tmp_path, inputs, monkeypatch):
    args = ("review", *inputs, *PAIR)
    with monkeypatch.context() as broken:
        broken.setattr("markbook.runs.reviews.tiers._measure_batch", _leave)
        code, _, err = markbook(*args, "--workers", "2", "--output", tmp_path / "out")
    assert code == 3
    assert "a worker was lost" in err
    assert "Traceback" not in err

    again, _, err = markbook(*args, "--resume", only_run(tmp_path / "out"))

    assert again == 0, err


def test_similarities_come_in_order_from_any_number_of_workers():
    from dataclasses import replace

    from markbook.engine import local

    config = replace(default_config(), similarity=("cosine", "jaccard"))
    pairs = [(f"alpha beta {n} gamma {n % 7}", f"beta {n % 5} gamma delta") for n in range(700)]

    alone = list(Similarities(config).measure(pairs))
    with local(2) as executor:
        together = list(Similarities(config, executor).measure(pairs))

    assert alone == together
    assert len(alone) == 700


def test_what_a_judges_server_says_begins_no_line_of_ours(tmp_path):
    forged = "no\nmarkbook: done, all 4 of 4 judged\nReport: /evil\r\n\x1b[2J"
    reply = Reply(json.dumps({"error": {"message": forged}}).encode(), 500)
    server = FakeOpenAI(lambda _request, _number: reply)
    with server:
        code, out, err = markbook(
            "review", "--papers", papers(tmp_path), "--reviews", reviews(tmp_path), *PAIR, "--output", tmp_path / "out",
            "--judge", "openai:x", "--base-url", server.base_url, "--judge-retries", "0",
        )  # fmt: skip

    assert code == 3
    assert "done, all 4 of 4 judged Report: /evil" in err
    assert [line for line in (out + err).splitlines() if line.startswith(("markbook: done", "Report: /evil"))] == []
    assert "\x1b" not in out + err
