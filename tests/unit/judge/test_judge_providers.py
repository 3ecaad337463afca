"""Judges of OpenAI, Anthropic and Google through their own SDKs, which read replies made of the SDKs' own types."""

import json
from dataclasses import replace

import pytest
from support.fake_openai import FakeOpenAI
from support.wire_formats import PROVIDERS, TOOL

from markbook import measure
from markbook.plugins import create
from markbook.types import Attempt, Item, Sample

MARKS = {
    "solves_reason": "It does.", "solves_quotes": ["x"], "solves": 4, "correct_reason": "So it is.", "correct_quotes": [], "correct": 4,
    "usable_reason": "Yes.", "usable_quotes": [], "usable": 4,
}  # fmt: skip
LOWER = MARKS | {"solves": 1, "correct": 1, "usable": 1}


@pytest.fixture(params=PROVIDERS, ids=str)
def provider(request, monkeypatch):
    monkeypatch.setenv(request.param.key, "a-key")
    return request.param


def judged(provider, script, **options):
    """Return what a judge of this provider says of one answer, and the requests."""
    with FakeOpenAI(script, path=provider.path) as server:
        (found,) = measure("judge", ["x"], questions=["Q?"], rubric="helpfulness", models=provider.model, base_url=server.base_url,
                           **{"retries": 0, **options})  # fmt: skip
    return found, server.requests


def test_a_call_of_the_tool_is_the_reply(provider):
    found, requests = judged(provider, lambda *_: provider.reply({"tool": MARKS}))

    assert found.value == 0.75
    assert found.stats["evidence"]["solves"] == {"reason": "It does.", "quotes": ["x"]}
    assert TOOL in json.dumps(requests[0])
    assert len(requests) == 1


def test_words_and_thoughts_beside_the_call_are_no_reply(provider):
    pieces = ({"thinking": json.dumps(LOWER)}, {"text": f"I would say {json.dumps(LOWER)}."}, {"tool": MARKS})
    if str(provider) == "openai":
        pieces = pieces[1:]  # its thoughts are not sent

    assert judged(provider, lambda *_: provider.reply(*pieces))[0].value == 0.75


def test_json_as_text_counts_where_it_is_the_whole_reply(provider):
    found, requests = judged(provider, lambda *_: provider.reply({"text": json.dumps(MARKS)}), mode="native")
    prose, _ = judged(provider, lambda *_: provider.reply({"text": f"Here: {json.dumps(MARKS)}"}), mode="native")
    thought, _ = judged(
        provider, lambda *_: provider.reply({"thinking": json.dumps(MARKS)}, {"text": ""}), mode="native"
    )

    assert found.value == 0.75
    assert "solves_reason" in json.dumps(requests[0])
    assert (prose.value, prose.missing.kind.value) == (None, "failed")
    assert (thought.value, thought.missing.kind.value) == (None, "failed")


def test_two_calls_that_contradict_one_another_are_none(provider):
    found, _ = judged(provider, lambda *_: provider.reply({"tool": MARKS}, {"tool": LOWER}))
    alike, _ = judged(provider, lambda *_: provider.reply({"tool": MARKS}, {"tool": MARKS}))

    assert (found.value, found.missing.kind.value) == (None, "failed")
    assert alike.value == 0.75


@pytest.mark.parametrize("which", [0, 1])
def test_a_refusal_is_missing_and_never_a_mark(provider, which):
    found, _ = judged(provider, lambda *_: provider.refusal[which]())

    assert (found.value, found.missing.kind.value) == (None, "failed")


@pytest.mark.parametrize("marks", [{"solves": 4}, MARKS | {"solves": 7}, MARKS | {"solves": "4"}, {}])
def test_marks_that_are_none_are_asked_for_again(provider, marks):
    found, requests = judged(provider, lambda _, n: provider.reply({"tool": marks if n == 0 else MARKS}), retries=1)

    assert (found.value, len(requests)) == (0.75, 2)


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_busy_server_is_asked_again(provider, status):
    found, requests = judged(
        provider, lambda _, n: provider.error(status, "busy") if n == 0 else provider.reply({"tool": MARKS}), retries=1
    )

    assert (found.value, len(requests)) == (0.75, 2)


def test_a_refused_key_is_not_tried_again_and_never_shown(provider):
    found, requests = judged(provider, lambda *_: provider.error(401, "no such key: a-key"), retries=3)

    assert (found.missing.kind.value, len(requests)) == ("unavailable", 1)


def test_a_way_of_asking_that_is_not_known_is_left(provider):
    def script(request, _n):
        if TOOL in json.dumps(request):
            return provider.error(400, "tools are not supported by this model")
        return provider.reply({"text": json.dumps(MARKS)})

    found, requests = judged(provider, script)

    assert (found.value, len(requests)) == (0.75, 2)


def test_tokens_are_counted_once_with_those_out_of_a_cache(provider):
    with FakeOpenAI(lambda *_: provider.reply({"tool": MARKS}), path=provider.path) as server:
        metric = create(
            "metrics", "judge", rubric="helpfulness", models=provider.model, base_url=server.base_url, price="1/10"
        )
        metric.measure([Item(Sample("1", "Q?"), Attempt("1", "x"))])

    account = metric.memory.accounts[provider.model]
    assert (account["input_tokens"], account["output_tokens"], account["requests"]) == (100, 20, 1)


def test_a_cassette_replays_what_the_provider_said(provider, tmp_path):
    options = {"cassette": tmp_path / "c.jsonl"}
    live, _ = judged(provider, lambda *_: provider.reply({"tool": MARKS}), **options)
    again, requests = judged(provider, lambda *_: provider.reply({"tool": LOWER}), **options)

    assert live == again
    assert requests == []


def test_a_model_that_takes_no_temperature_is_asked_without_one_and_the_user_is_told(monkeypatch):
    provider = PROVIDERS[1]
    monkeypatch.setenv(provider.key, "a-key")
    newer = replace(provider, model="anthropic:claude-sonnet-5-5")

    with pytest.warns(UserWarning, match="'temperature'.* not supported"):
        found, requests = judged(newer, lambda *_: provider.reply({"tool": MARKS}))

    assert found.value == 0.75
    assert "temperature" not in requests[0]
