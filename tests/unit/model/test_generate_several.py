"""Several answers to one question in one request (`n`), where the server gives them."""

import json
from collections import Counter

import pytest
from support.fake_openai import FakeOpenAI, Reply as Wire, text

from markbook import plugins
from markbook.model import GenerationSettings, PromptRequest
from markbook.types import MissingKind


def wire(texts, kind="chat"):
    def choice(place, said):
        inside = {"message": {"role": "assistant", "content": said}} if kind == "chat" else {"text": said}
        return {"index": place, "finish_reason": "stop", **inside}

    usage = {"prompt_tokens": 100, "completion_tokens": 10 * len(texts) + 1}
    body = {"choices": [choice(place, said) for place, said in enumerate(texts)], "usage": usage}
    return Wire(json.dumps(body).encode())


def wanted(rows, samples, **settings):
    return [
        PromptRequest(("t", str(row), n), f"q{row}", "", GenerationSettings(**settings))
        for row in range(rows)
        for n in range(samples)
    ]


def ask(script, requests, provider="openai", **options):
    found = []
    with FakeOpenAI(script) as server:
        options = {"retries": 2, "concurrency": 1, **options}
        generator = plugins.create("generators", "model", model=f"{provider}:fake", base_url=server.base_url, **options)
        generator.generate(requests, found.append)
        keys = [reply.key for reply in found]
        assert sorted(keys) == sorted(request.key for request in requests)  # each once
        return {reply.key: reply for reply in found}, server.requests


def several(request, _number, kind="chat"):
    return wire([f"answer {n}" for n in range(request.get("n", 1))], kind)


@pytest.mark.parametrize("provider", ["openai", "completions"])
def test_answers_to_one_question_are_asked_for_together(provider):
    kind = "chat" if provider == "openai" else "text"
    found, received = ask(lambda r, n: several(r, n, kind), wanted(3, 4), provider)

    assert [request["n"] for request in received] == [4, 4, 4]
    assert [found["t", "1", n].text for n in range(4)] == [f"answer {n}" for n in range(4)]
    assert [found["t", "1", n].requests for n in range(4)] == [1, 0, 0, 0]


def test_their_bill_is_shared_and_adds_up():
    found, _ = ask(several, wanted(1, 4), price="10/100")

    replies = list(found.values())
    assert sum(reply.input_tokens for reply in replies) == 100
    assert sorted(reply.output_tokens for reply in replies) == [10, 10, 10, 11]
    assert sum(reply.cost for reply in replies) == pytest.approx(100 * 10e-6 + 41 * 100e-6, rel=1e-12)
    assert sum(reply.cost_at_most for reply in replies) == pytest.approx(100 * 10e-6 + 41 * 100e-6, rel=1e-12)


@pytest.mark.parametrize("given", [1, 3])
def test_a_server_that_gives_fewer_is_asked_for_the_rest_one_by_one(given):
    script = lambda r, _n: wire(["x"] * min(given, r.get("n", 1)))  # noqa: E731
    found, received = ask(script, wanted(2, 4))

    assert [request.get("n") for request in received] == [4] + [None] * (8 - given)
    assert Counter(reply.text for reply in found.values()) == {"x": 8}


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_server_that_refuses_several_is_asked_for_one(status):
    script = lambda r, _n: Wire(b'{"error": "n must be 1"}', status) if "n" in r else text("x")  # noqa: E731
    found, received = ask(script, wanted(2, 3))

    assert {reply.text for reply in found.values()} == {"x"}
    assert sum("n" in request for request in received) == (2 if status == 500 else 1)


def test_a_question_that_is_refused_by_itself_does_not_end_it():
    script = lambda r, n: Wire(b'{"error": "too long"}', 400) if "q0" in str(r["messages"]) else several(r, n)  # noqa: E731
    found, received = ask(script, wanted(2, 3))

    assert [request.get("n") for request in received] == [3, None, 3]
    assert {found["t", "0", n].missing.kind for n in range(3)} == {MissingKind.UNAVAILABLE}
    assert {found["t", "1", n].text for n in range(3)} == {"answer 0", "answer 1", "answer 2"}


@pytest.mark.parametrize(("settings", "last"), [({"seed": 7}, 0), ({}, "x")])
def test_what_each_answer_has_of_its_own_is_asked_for_alone(settings, last):
    requests = [
        PromptRequest(("t", "0", n if last == 0 else f"x{n}"), "q", "", GenerationSettings(**settings))
        for n in range(3)
    ]
    _, received = ask(several, requests)

    assert [request.get("n") for request in received] == [None] * 3
    assert [request.get("seed") for request in received] == ([7, 8, 9] if settings else [None] * 3)


def test_no_more_than_a_few_dozen_are_asked_for_at_once():
    _, received = ask(several, wanted(1, 70))

    assert [request["n"] for request in received] == [32, 32, 6]


def test_a_budget_for_few_is_spent_on_few():
    # An answer costs at most (2 / 2 + 64) * 1e-6 + 100 * 1e-6 dollars; four at once do not fit.
    found, received = ask(several, wanted(1, 4, max_tokens=100), price="1/1", max_cost=200e-6)

    assert [request.get("n") for request in received] == [None]
    assert Counter(getattr(reply.missing, "kind", None) for reply in found.values()) == {None: 1, MissingKind.BUDGET: 3}
