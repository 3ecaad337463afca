"""A judge behind a real socket that misbehaves in every known way, at every position."""

import asyncio
import json
import re
import sys
import time
from dataclasses import replace

import pytest
from support.fake_openai import FAULTS, FakeOpenAI, Reply, good, structured, text

from markbook.errors import UsageError
from markbook.judge.assess import JudgeInput, JudgeSettings, make_questions, make_review_questions
from markbook.judge.client import JudgeClient
from markbook.judge.rubrics import read_rubric
from markbook.model.budget import Price, parse_price
from markbook.model.cassette import Cassette
from markbook.model.connect import check, connect
from markbook.option import Patience
from markbook.types import MissingKind

MODEL = "openai:fake-model"
QUICK = Patience(retries=1, seconds=60.0, concurrency=2)
"""Its deadline is for no machine to miss, however busy it is; the server's faults come at once."""
HURRIED = replace(QUICK, seconds=1.5)
"""For a server that drips: it ends by the deadline."""


@pytest.fixture(autouse=True)
def quick_waits(monkeypatch):
    monkeypatch.setattr("markbook.model.asker.FIRST_WAIT", 0.01)


def review_question(number, settings):
    return make_review_questions(JudgeInput.from_review(f"Review number {number}."), settings)[0]


def answer_question(rubric):
    def make(number, settings):
        case = JudgeInput.from_answer(f"Review number {number}.", "What is it?", "Another answer.", "A context.")
        return make_questions(read_rubric(rubric), case, settings)[0]

    return make


MAKERS = {"review": review_question, "answer": answer_question("helpfulness")}


_FIRST = {MAKERS["review"]: "actionable_feedback", MAKERS["answer"]: "solves"}


@pytest.fixture(params=sorted(MAKERS), autouse=True)
def maker(request, monkeypatch):
    """Every test is held against the judge of reviews and the judge of any answer: they must be one."""
    monkeypatch.setattr(sys.modules[__name__], "_make", MAKERS[request.param])


_make = review_question


def ask(server, count=1, *, patience=QUICK, cassette=None, price=None, mode="auto"):
    """Ask `count` different questions; return how each ended, and the account."""
    settings = JudgeSettings((MODEL,), mode=mode)
    asked = [_make(number, settings) for number in range(count)]

    async def go():
        async with connect(MODEL, server.base_url, patience.seconds) as client:
            judge = JudgeClient(MODEL, client, patience, cassette=cassette, price=price, mode=mode)
            ended = await asyncio.gather(*(judge.judge(question.call, question.check) for question in asked))
            return ended, judge.account

    return asyncio.run(go())


@pytest.mark.parametrize("mode", ["tool", "native", "prompted"])
def test_every_output_mode_brings_an_answer_in_one_request(mode):
    with FakeOpenAI(lambda request, _n: good(request) if mode != "prompted" else _from_prompt(request)) as server:
        (judged,), account = ask(server, mode=mode, patience=QUICK)

    assert json.loads(judged.value.payload)[_FIRST[_make]] == 4
    assert (server.calls, account.requests, account.input_tokens, account.output_tokens) == (1, 1, 100, 20)
    request = server.requests[0]
    assert ("tools" in request) == (mode == "tool")
    assert (request["temperature"], request["seed"]) == (0.0, 0)


NAMES = ("actionable_feedback", "balanced_critique", "improvement_guidance", "solves", "correct", "usable")
"""What the two rubrics ask for; a reply may hold more than was asked."""


def _from_prompt(_request):
    return text(json.dumps(dict.fromkeys(NAMES, 4)))


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_fault_at_any_position_fabricates_nothing_and_spares_the_others(fault, position):
    marker = f"Review number {position}."

    def script(request, n):
        faulty = marker in request["messages"][-1]["content"]
        return FAULTS[fault](request, n) if faulty else good(request)

    with FakeOpenAI(script) as server:
        ended, account = ask(server, 3, patience=HURRIED if fault == "slow_drip" else QUICK)

    assert ended[position].value is None
    assert ended[position].missing.kind in {MissingKind.UNAVAILABLE, MissingKind.FAILED, MissingKind.TIMEOUT}
    assert server.calls <= (1 + QUICK.retries) * 3
    assert account.requests == server.calls
    # A refused key speaks for all calls after it; every other fault is one call's own.
    if fault != "401":
        assert [judged.value is not None for judged in ended] == [n != position for n in range(3)]


@pytest.mark.parametrize("fault", sorted(set(FAULTS) - {"401", "slow_drip"}))
def test_a_fault_that_passes_is_asked_again(fault):
    with FakeOpenAI(lambda request, n: FAULTS[fault](request, n) if n == 0 else good(request)) as server:
        (judged,), _ = ask(server)

    assert judged.value is not None
    assert (judged.requests, server.calls) == (2, 2)


@pytest.mark.parametrize("retries", [0, 2, 4])
def test_retries_bound_all_requests_together(retries):
    faults = [FAULTS["500"], FAULTS["seven_of_five"], FAULTS["429_seconds"], FAULTS["broken_json"], FAULTS["cut"]]
    patience = Patience(retries=retries, seconds=60)
    with FakeOpenAI(lambda request, n: faults[n % 5](request, n)) as server:
        (judged,), _ = ask(server, patience=patience)

    assert judged.value is None
    assert server.calls == 1 + retries


def test_a_refused_key_is_not_tried_again():
    with FakeOpenAI(FAULTS["401"]) as server:
        ended, _ = ask(server, 10, patience=Patience(retries=3, seconds=60, concurrency=1))

    assert server.calls == 1
    assert all(judged.missing.kind is MissingKind.UNAVAILABLE for judged in ended)


def test_retry_after_is_waited_for_and_one_beyond_all_patience_ends_the_asking():
    reply = Reply(b"{}", 429, headers={"Retry-After": "0.3"})
    with FakeOpenAI(lambda request, n: reply if n == 0 else good(request)) as server:
        start = time.monotonic()
        (judged,), _ = ask(server, patience=Patience(retries=1, seconds=60))
        assert time.monotonic() - start >= 0.3
        assert judged.value is not None

    with FakeOpenAI([Reply(b"{}", 429, headers={"Retry-After": "3600"})]) as server:
        ended, _ = ask(server, 5, patience=Patience(retries=5, seconds=60, concurrency=1))
        assert {judged.missing.kind for judged in ended} == {MissingKind.UNAVAILABLE}
        assert "a pause of 3600 s" in ended[0].missing.detail
        assert server.calls == 1


def test_nothing_listens():
    with FakeOpenAI() as server:
        pass

    (judged,), _ = ask(server)

    assert judged.missing.kind is MissingKind.UNAVAILABLE
    assert not judged.is_lasting


def test_a_server_without_tools_is_asked_in_the_next_mode_from_then_on():
    def script(request, _n):
        return Reply(b'{"error": {"message": "tools are not supported"}}', 400) if "tools" in request else good(request)

    patience = Patience(retries=1, seconds=60, concurrency=1)
    with FakeOpenAI(script) as server:
        ended, _ = ask(server, 3, patience=patience)

    assert all(judged.value is not None for judged in ended)
    assert server.calls == 4


def test_the_budget_is_checked_before_a_call():
    # About 1,700 characters make 480 tokens, and 1,200 may come back: at a dollar a token a call is over 1,600 dollars.
    price = Price(1e6, 1e6)
    with FakeOpenAI(good) as server:
        ended, account = ask(server, 3, patience=Patience(max_cost=100.0, concurrency=1), price=price)

    assert server.calls == 0
    assert account.cost == 0
    assert {judged.missing.kind for judged in ended} == {MissingKind.BUDGET}


def test_the_budget_stops_a_run_midway_and_is_never_exceeded():
    price = Price(1.0, 1.0)
    with FakeOpenAI(good) as server:
        ended, account = ask(server, 50, patience=Patience(max_cost=0.004, concurrency=4), price=price)

    assert 0 < server.calls < 50
    assert account.cost <= 0.004
    assert account.cost == pytest.approx(server.calls * 120 / 1e6)
    assert sum(judged.value is not None for judged in ended) == server.calls


def test_an_unknown_price_is_no_cost_and_not_free():
    with FakeOpenAI(good) as server:
        (judged,), account = ask(server)

    assert judged.cost is None
    assert account.as_record()["cost"] is None
    assert account.as_record()["requests_without_price"] == 1


def test_the_rate_is_held():
    with FakeOpenAI(good) as server:
        start = time.monotonic()
        ask(server, 4, patience=Patience(per_minute=600, concurrency=4))

    # Four requests at ten a second: the last one starts after .3 s.
    assert time.monotonic() - start >= 0.3


def test_tokens_of_failed_tries_are_counted():
    def script(request, n):
        return FAULTS["seven_of_five"](request, n) if n == 0 else good(request)

    with FakeOpenAI(script) as server:
        (judged,), account = ask(server)

    assert (judged.input_tokens, judged.output_tokens) == (200, 40)
    assert account.faults == {"violation": 1}


def test_the_fence_is_new_each_time_and_stands_around_the_review():
    with FakeOpenAI(good) as server:
        ask(server)
        ask(server)

    prompts = [request["messages"][-1]["content"] for request in server.requests]
    assert prompts[0] != prompts[1]
    assert "\x00" not in prompts[0]
    fence = re.split("<(?:review|answer) ", prompts[0])[1].split(">")[0]
    assert prompts[0].count(fence) == 2 * prompts[0].count("</")  # around each text
    assert fence in server.requests[0]["messages"][0]["content"]


def test_a_cassette_answers_without_the_server_and_with_the_same_result(tmp_path):
    tape = tmp_path / "judge.jsonl"
    with FakeOpenAI(lambda request, n: FAULTS["refusal"](request, n) if n == 0 else good(request)) as server:
        cassette = Cassette(tape)
        recorded, _ = ask(server, 3, patience=Patience(retries=0, concurrency=1), cassette=cassette)
        cassette.close(is_complete=True)
        calls = server.calls

        again, account = ask(server, 3, cassette=Cassette(tape))

    assert server.calls == calls == 3
    assert [one.missing for one in recorded] == [one.missing for one in again]
    assert [one.value and one.value.payload for one in recorded] == [one.value and one.value.payload for one in again]
    assert account.as_record()["requests"] == 0
    assert account.replayed == 3


def test_a_call_that_a_whole_cassette_lacks_is_missing_and_never_asked(tmp_path):
    tape = tmp_path / "judge.jsonl"
    with FakeOpenAI(good) as server:
        cassette = Cassette(tape)
        ask(server, 1, cassette=cassette)
        cassette.close(is_complete=True)
        ended, _ = ask(server, 2, cassette=Cassette(tape))

    assert server.calls == 1
    assert ended[0].value is not None
    assert ended[1].missing.kind is MissingKind.UNAVAILABLE
    assert "lacks this call" in ended[1].missing.detail


def test_a_server_that_is_down_is_not_recorded(tmp_path):
    with FakeOpenAI(FAULTS["500"]) as server:
        cassette = Cassette(tmp_path / "judge.jsonl")
        ask(server, 1, cassette=cassette)

    assert cassette.recorded == 0


def test_a_reply_edited_into_a_cassette_is_checked_like_any_other(tmp_path):
    tape = tmp_path / "judge.jsonl"
    with FakeOpenAI(good) as server:
        cassette = Cassette(tape)
        ask(server, 1, cassette=cassette)
        cassette.close(is_complete=True)
        tape.write_text(tape.read_text().replace(": 4", ": 7"))
        (judged,), _ = ask(server, 1, cassette=Cassette(tape))

    assert judged.missing.kind is MissingKind.FAILED


def test_the_reply_is_read_wherever_the_server_puts_it():
    payload = json.dumps(dict.fromkeys(NAMES, 2))
    with FakeOpenAI([text(payload)]) as server:
        (as_text,), _ = ask(server, mode="tool")
    with FakeOpenAI(lambda request, _n: structured(request, payload)) as server:
        (as_tool,), _ = ask(server, mode="tool")

    assert as_text.value.payload == as_tool.value.payload == payload


@pytest.mark.parametrize("name", ["gpt-4o", "", ":x", "openai:"])
def test_a_judge_without_provider_or_name_is_refused(name):
    with pytest.raises(UsageError):
        check(name)


def test_a_key_is_needed_where_no_server_is_named(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        check(MODEL)
    with pytest.raises(UsageError, match=r"^the model needs a key \(set ANTHROPIC_API_KEY\)$"):
        check("anthropic:claude-3-5-haiku-latest")


@pytest.mark.parametrize("stated", ["", "1", "a/b", "-1/2", "nan/1", "1/2/3/4"])
def test_what_is_no_price_is_refused(stated):
    with pytest.raises(UsageError):
        parse_price(stated)
