"""Clients have their turns: nobody waits for all that another has handed in, be it many items, long ones, or the same."""

import asyncio

import pytest
from test_rewards import RIGHT, SLEEP, WRONG, item, order, until, with_pool

from markbook.sandbox.worker import Worker
from markbook.serve import sandbox_thread


def ending(tickets, name, ended):
    for ticket in tickets:
        ticket.future.add_done_callback(lambda _: ended.append(name))


def test_an_item_that_another_client_has_far_back_does_not_wait_for_all_before_it():
    async def body(pool):
        (running,) = pool.offer("greedy", [order(SLEEP, timeout=50)], 60)
        await until(lambda: pool.running == 1)
        ended = []
        many = pool.offer("greedy", [order(f"{RIGHT}# {number}\n") for number in range(20)], 60)
        same = pool.offer("modest", [order(f"{RIGHT}# 19\n")], 60)
        ending(many, "greedy", ended)
        ending(same, "modest", ended)
        pool.cancel([running])
        await asyncio.gather(*(ticket.future for ticket in [*many, *same]))
        return ended, pool.counts["measured"], same[0].future.result() is many[-1].future.result()

    ended, measured, is_shared = with_pool(body)
    assert (len(ended), measured, is_shared) == (21, 21, True)
    assert "modest" in ended[:4]


def test_a_single_item_passes_hundreds_of_another_client():
    async def body(pool):
        ended, before = [], []
        many = pool.offer("greedy", [order(f"{RIGHT}# {number}\n") for number in range(500)], 60)
        ending(many, "greedy", ended)
        for number in range(3):
            await until(lambda: len(ended) > 20 * number)  # noqa: B023
            (one,) = pool.offer("modest", [order(f"{WRONG}# {number}\n")], 60)
            count = len(ended)
            await one.future
            before.append(len(ended) - count)
        pool.cancel(many)
        return before

    # the turn under way, the next, and a turn that is over but has not been heard of
    assert max(with_pool(body)) <= 3 * sandbox_thread._AHEAD


def test_after_a_long_turn_a_lane_takes_one_at_a_time(monkeypatch):
    monkeypatch.setattr(sandbox_thread, "_LONG", 0.05)
    slow = "import time\ntime.sleep(0.06)\n"

    async def body(pool):
        ended = []
        many = pool.offer("greedy", [order(f"{slow}{RIGHT}# {number}\n") for number in range(30)], 60)
        ending(many, "greedy", ended)
        await until(lambda: len(ended) > sandbox_thread._AHEAD)
        count = len(ended)
        (one,) = pool.offer("modest", [order(RIGHT)], 60)
        await one.future
        pool.cancel(many)
        return len(ended) - count

    assert with_pool(body) <= 2


BY_ITSELF = """
class Number:
    def __init__(self, n):
        self.n = n
    def __eq__(self, other):
        return self.n == other
f = Number
"""


@pytest.mark.parametrize(("code", "begun"), [(RIGHT, [1, 1, 2, 3]), (BY_ITSELF, [1, 2, 3, 4])])
def test_answers_of_one_client_to_a_task_have_an_examiner_until_a_test_ran_with_an_answer(monkeypatch, code, begun):
    examiners, begin = [], Worker.examine_anew
    monkeypatch.setattr(Worker, "examine_anew", lambda *given: (examiners.append(1), begin(*given))[1])

    async def body(pool):
        examiners.clear()
        counts = []
        for number, client in enumerate("aaba"):
            (ticket,) = pool.offer(client, [order(f"{code}# {number}\n")], 30)
            await ticket.future
            counts.append(len(examiners))
        return counts

    assert with_pool(body) == begun


def test_a_verdict_on_many_tests_counts_for_several_in_the_cache():
    tests = [f"f({number}) == {number}" for number in range(256)]  # four and itself

    async def body(pool):
        for number in range(4):
            (ticket,) = pool.offer("a", [order(f"{RIGHT}# {number}\n", tests=tests)], 30)
            await ticket.future
        (small,) = pool.offer("a", [order(RIGHT)], 30)
        await small.future
        return len(pool._cache), pool._cached

    assert with_pool(body, cache=12) == (3, 11)


def test_seats_go_round_among_clients():
    pytest.importorskip("starlette", reason="pip install 'markbook[serve]'")
    from markbook.serve.guard import Refused
    from markbook.serve.run_code import SeatQueue

    async def main():
        seats, served = SeatQueue(["seat"], of_one=4, most=6), []
        first = seats.want("greedy")
        many = [seats.want("greedy") for _ in range(4)]
        with pytest.raises(Refused) as refused:
            seats.want("greedy")
        modest = [seats.want("modest"), seats.want("modest")]
        with pytest.raises(Refused):
            seats.want("third")
        names = {**dict.fromkeys(many, "greedy"), **dict.fromkeys(modest, "modest")}
        seats.leave("greedy", many[1])
        seats.leave("greedy", first)
        waiting = [one for one in names if one is not many[1]]
        while waiting:
            (got,) = [one for one in waiting if one.done()]
            served.append(names[got])
            waiting.remove(got)
            seats.leave(names[got], got)
        return served, refused.value.status, seats.is_idle

    served, status, is_idle = asyncio.run(main())
    assert (served, status, is_idle) == (["greedy", "modest", "greedy", "modest", "greedy"], 429, True)


def test_an_item_may_say_that_it_has_no_name():
    assert order(RIGHT, id=None).id == "items[0]"
    assert item(RIGHT)["id"] == "a"


def test_one_client_does_not_take_all_the_requests_that_are_answered_at_once():
    pytest.importorskip("starlette", reason="pip install 'markbook[serve]'")
    from markbook.serve.guard import Guard, GuardedApp

    async def main():
        said, hold = [], asyncio.Event()

        async def inner(scope, _receive, _send):
            said.append(dict(scope["headers"])[b"x-markbook-client"].decode())
            await hold.wait()

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            if message["type"] == "http.response.start":
                said.append(message["status"])

        app = GuardedApp(inner, Guard(at_once=4), lambda _request: None)
        for client in ("greedy",) * 5 + ("modest",) * 2:
            headers = [(b"host", b"localhost"), (b"x-markbook-client", client.encode())]
            scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
            tasks.append(asyncio.ensure_future(app(scope, receive, send)))
            await asyncio.sleep(0)
        hold.set()
        await asyncio.gather(*tasks)
        return said, app._under_way.total()

    tasks = []
    assert asyncio.run(main()) == (["greedy"] * 3 + [429] * 2 + ["modest", 429], 0)
