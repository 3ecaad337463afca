"""Asking models: retries, pauses, deadlines, budgets, and what is kept."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from support.fake_openai import FAULTS, FakeOpenAI, Reply as Wire, text

from markbook import plugins
from markbook.errors import UsageError
from markbook.model import GenerationSettings, PromptRequest
from markbook.model.asker import Pace
from markbook.model.budget import Budget, Price, Weight, listed_price, parse_price
from markbook.model.http import parse_retry_after
from markbook.types import MissingKind


def requests(count, **settings):
    return [
        PromptRequest(("t", str(n), 0), f"question {n}", "be brief", GenerationSettings(**settings))
        for n in range(count)
    ]


def ask(script, count=1, *, wanted=None, **options):
    """Return the replies by number, and what the server received."""
    with FakeOpenAI(script) as server:
        generator = plugins.create(
            "generators", "model", model="openai:fake-model", base_url=server.base_url, **{"retries": 2, **options}
        )
        found = {}
        generator.generate(wanted or requests(count), lambda reply: found.__setitem__(int(reply.key[1]), reply))
        return found, server.requests


def test_a_reply_is_kept_with_its_tokens_and_an_unknown_price_is_unknown():
    found, received = ask(
        lambda _r, _n: text("hello"), wanted=requests(1, temperature=0.0, max_tokens=9, stop=("X",), seed=5)
    )

    assert found[0].text == "hello"
    assert (found[0].input_tokens, found[0].output_tokens, found[0].cost) == (100, 20, None)
    assert (found[0].finish, found[0].requests) == ("stop", 1)
    sent = received[0]
    assert (sent["temperature"], sent["max_tokens"], sent["stop"], sent["seed"]) == (0.0, 9, ["X"], 5)
    assert [message["content"] for message in sent["messages"]] == ["be brief", "question 0"]


def test_a_stated_price_gives_the_cost():
    found, _ = ask(lambda _r, _n: text("hello"), price="10/100")

    assert found[0].cost == pytest.approx(100 * 10e-6 + 20 * 100e-6)


def test_a_reply_is_cut_at_a_stop_text_and_kept_raw_too():
    found, _ = ask(lambda _r, _n: text("one\n\ntwo"), wanted=requests(1, stop=("\n\n",)))

    assert (found[0].text, found[0].raw) == ("one", "one\n\ntwo")


@pytest.mark.parametrize("fault", ["429_seconds", "429_date", "500", "broken_body", "html_200", "no_choices", "cut"])
def test_a_server_that_fails_once_is_asked_again(fault):
    found, received = ask(lambda r, n: FAULTS[fault](r, n) if n == 0 else text("at last"))

    assert found[0].text == "at last"
    assert (found[0].requests, len(received)) == (2, 2)


@pytest.mark.parametrize("fault", ["429_seconds", "500", "broken_body", "html_200", "no_choices", "cut"])
def test_a_server_that_always_fails_gives_a_reason_and_never_a_text(fault):
    found, received = ask(FAULTS[fault], retries=1)

    assert found[0].missing.kind is MissingKind.UNAVAILABLE
    assert found[0].missing.detail
    assert (found[0].text, found[0].cost, len(received)) == ("", None, 2)


@pytest.mark.parametrize(("fault", "cost"), [("500", 0.0), ("429_seconds", 0.0), ("broken_body", None), ("cut", None)])
def test_an_error_costs_nothing_and_what_brought_no_bill_an_unknown_sum(fault, cost):
    found, _ = ask(FAULTS[fault], retries=1, price="10/100")

    assert found[0].cost == cost
    # Twice what the question and 4,096 tokens can cost.
    assert found[0].cost_at_most == pytest.approx(0.0 if cost == 0 else 2 * (18 / 2 + 64) * 10e-6 + 2 * 4096 * 100e-6)


def test_a_drip_that_never_ends_meets_the_deadline_of_the_whole_request():
    found, received = ask(FAULTS["slow_drip"], retries=0, seconds=0.5)

    assert found[0].missing.kind is MissingKind.TIMEOUT
    assert len(received) == 1


def test_a_refused_key_stops_the_run_at_once():
    found, received = ask(FAULTS["401"], 20, concurrency=1)

    assert len(received) == 1
    assert {reply.missing.kind for reply in found.values()} == {MissingKind.UNAVAILABLE}
    assert len(found) == 20


def test_a_server_that_is_down_is_not_asked_a_hundred_times():
    found, received = ask(FAULTS["html_200"], 100, concurrency=1, retries=0)

    assert len(received) == 10
    assert len(found) == 100


def test_a_pause_that_the_server_asks_for_is_kept():
    script = [Wire(b"{}", 429, headers={"Retry-After": "0.4"}), text("ok")]
    times = []

    def timed(_request, number):
        times.append(time.monotonic())
        return script[min(number, 1)]

    found, _ = ask(timed, concurrency=1)

    assert found[0].text == "ok"
    assert times[1] - times[0] >= 0.35


def test_a_pause_holds_for_every_request():
    async def waited():
        pace = Pace(None)
        pace.close_for(0.2)
        start = await _now()
        await asyncio.gather(*(pace.turn() for _ in range(3)))
        return await _now() - start

    assert asyncio.run(waited()) >= 0.19


async def _now():
    return asyncio.get_running_loop().time()


def test_a_pause_beyond_all_patience_is_a_reason():
    found, received = ask(lambda _r, _n: Wire(b"{}", 429, headers={"Retry-After": "86400"}))

    assert found[0].missing.kind is MissingKind.UNAVAILABLE
    assert len(received) == 1


def test_no_more_requests_run_at_a_time_than_allowed():
    running, peak = set(), []

    def script(_request, number):
        running.add(number)
        peak.append(len(running))
        time.sleep(0.05)
        running.discard(number)  # before the reply is sent, as the next question may come at once
        return Wire(text("x").body)

    with FakeOpenAI(script) as server:
        generator = plugins.create("generators", "model", model="openai:m", base_url=server.base_url, concurrency=3)
        generator.generate(requests(12), lambda _reply: None)

    assert 1 < max(peak) <= 3


def test_the_rate_is_kept():
    async def starts():
        pace = Pace(per_minute=1200)  # one every 50 ms
        found = []
        for _ in range(4):
            await pace.turn()
            found.append(await _now())
        return found

    found = asyncio.run(starts())

    assert found[3] - found[0] >= 0.14


def test_the_budget_is_never_exceeded_and_what_is_left_out_says_so():
    found, received = ask(
        lambda _r, _n: text("x"), wanted=requests(50, max_tokens=20), price="0/50", max_cost=0.0105, concurrency=4
    )

    spent = sum(reply.cost for reply in found.values() if reply.missing is None)
    assert len(received) == 10
    assert spent <= 0.0105
    assert {reply.missing.kind for reply in found.values() if reply.missing} == {MissingKind.BUDGET}


def test_what_a_resumed_run_spent_counts():
    price = Price(0, 1_000_000)

    assert asyncio.run(Budget(1.0, price, spent=0.5).hold(Weight(10, 1))) is None
    assert asyncio.run(Budget(2.0, price, spent=0.5).hold(Weight(10, 1))) == 1.0


def test_who_does_not_fit_beside_the_others_waits_for_what_they_leave():
    async def both():
        budget = Budget(1.5, Price(0, 1_000_000))
        held = await budget.hold(Weight(10, 1))
        other = asyncio.create_task(budget.hold(Weight(10, 1)))
        await asyncio.sleep(0)
        budget.settle(held, 0.25)
        return await other

    assert asyncio.run(both()) == 1.0


def test_a_budget_for_an_unknown_price_is_refused_before_anything_is_asked():
    with pytest.raises(UsageError, match="--max-cost cannot be kept"):
        ask(lambda _r, _n: text("x"), max_cost=1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "gpt"}, "names no model"),
        ({"model": "openai:x", "concurrency": 0}, "above 0"),
        ({"model": "openai:x", "price": "cheap"}, "is not a price"),
        ({"model": "openai:x", "price": "-1/2"}, "is not a price"),
    ],
)
def test_a_wrong_option_is_refused(options, words):
    with pytest.raises(UsageError, match=words):
        plugins.create("generators", "model", **options)


def test_a_model_without_a_key_is_refused(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    generator = plugins.create("generators", "model", model="openai:gpt-4o-mini")

    with pytest.raises(UsageError, match="needs a key"):
        generator.generate(requests(1), lambda _reply: None)


def test_an_unknown_provider_is_refused():
    generator = plugins.create("generators", "model", model="nobody:m")

    with pytest.raises(UsageError, match="unknown provider 'nobody'"):
        generator.generate(requests(1), lambda _reply: None)


def test_a_running_loop_is_no_obstacle():
    async def inside():
        return ask(lambda _r, _n: text("x"))[0][0].text

    assert asyncio.run(inside()) == "x"


def test_a_caller_that_fails_ends_the_run_with_its_own_error():
    def fail(_reply):
        raise OSError("disk full")

    with FakeOpenAI(lambda _r, _n: text("x")) as server:
        generator = plugins.create("generators", "model", model="openai:m", base_url=server.base_url)
        with pytest.raises(OSError, match="disk full"):
            generator.generate(requests(5), fail)


def test_half_a_character_in_a_reply_is_replaced():
    body = text("x").body.replace(b'"x"', b'"a\\ud800b"')

    found, _ = ask(lambda _r, _n: Wire(body))

    assert found[0].text == "a\ufffdb"


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [("3", 3.0), ("0.5", 0.5), ("-1", None), ("inf", None), ("nan", None), ("soon", None), (None, None)],
)
def test_retry_after_is_seconds(stated, seconds):
    assert parse_retry_after(stated, datetime.now(UTC)) == seconds


def test_retry_after_is_a_date():
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert parse_retry_after(format_datetime(now + timedelta(seconds=7), usegmt=True), now) == 7
    assert parse_retry_after(format_datetime(now - timedelta(seconds=7), usegmt=True), now) == 0


def test_listed_prices_come_from_the_table_of_the_extra():
    known = listed_price("openai", "gpt-4o-mini")

    assert known == parse_price("0.15/0.6/0.075")
    assert listed_price("openai", "no-such-model") is None


def test_replay_answers_from_its_table_and_what_it_lacks_is_absent():
    generator = plugins.create("generators", "replay", texts={("t", "0", 0): "a"})
    found = []

    generator.generate(requests(2), found.append)

    assert [(reply.text, reply.missing and reply.missing.kind) for reply in found] == [
        ("a", None),
        ("", MissingKind.ABSENT),
    ]
