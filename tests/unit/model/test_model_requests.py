"""One client for every model: how many requests go out, when, where to, and what they may cost. By command."""

import asyncio
import json
import time

import pytest
from support.fake_openai import FakeOpenAI, Reply, completion, fill, good, schema_of, text
from support.review_kit import GENERATED, TRACE, markbook, only_run, papers, reviews, rows_of

PAIR = ("--similarity", "cosine,jaccard")


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE", "AZURE_OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", "secret")
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-06-01")


def inputs(folder, count=4):
    """Reviews of a paper that is not there: one question each, constructiveness."""
    rows = [
        {"paper_id": "nine", "system": "mas", "review": f"{GENERATED} {n}", "execution_time": 1} for n in range(count)
    ]
    return "--papers", papers(folder), "--reviews", reviews(folder, rows), *PAIR


def review(folder, server, *more, count=4, judge="openai:m"):
    """Run `markbook review`; return exit code, the rows in order, run.json, stdout and stderr."""
    where = () if server is None else ("--base-url", server.base_url)
    code, out, err = markbook(
        "review", *inputs(folder, count), "--judge", judge, *where, "--output", folder / "out", *more
    )
    run = only_run(folder / "out")
    return code, list(rows_of(run).values()), json.loads((run / "run.json").read_text()), out, err


def marks(rows):
    return [row["tier2"]["constructiveness"] for row in rows]


def tasks(folder, server, *more, count=12, model="openai:m"):
    """Run `markbook run --model`; return exit code, run.json, stdout and stderr."""
    (folder / "rows.jsonl").write_text("".join(json.dumps({"word": f"w{n}"}) + "\n" for n in range(count)))
    (folder / "task.yaml").write_text(
        "name: echo\ndata: {path: rows.jsonl}\nprompt: 'say {{ word }}'\nreference: '{{ word }}'\n"
        "metrics: [exact_match]\n"
    )
    where = () if server is None else ("--base-url", server.base_url)
    code, out, err = markbook(
        "run", folder / "task.yaml", "--model", model, *where, "--output", folder / "runs", "--workers", 1, *more
    )
    return code, json.loads((only_run(folder / "runs") / "run.json").read_text()), out, err


# Waiting for a turn


def test_a_wait_for_a_turn_is_no_part_of_the_deadline(tmp_path):
    with FakeOpenAI(good) as server:
        more = ("--judge-requests-per-minute", 100, "--judge-timeout", 1.5, "--judge-workers", 4)
        code, rows, *_ = review(tmp_path, server, *more, count=5)

    # The fifth question waits 2.4 s for its turn.
    assert (code, marks(rows), server.calls) == (0, [0.75] * 5, 5)


def test_a_pause_that_a_server_asks_for_is_no_part_of_the_deadline(tmp_path):
    def script(request, n):
        return Reply(b"{}", 429, headers={"Retry-After": "2"}) if n == 0 else good(request)

    with FakeOpenAI(script) as server:
        code, rows, *_ = review(tmp_path, server, "--judge-timeout", 1, count=2)

    assert (code, marks(rows)) == (0, [0.75] * 2)


def test_a_turn_that_is_given_up_is_given_back():
    from markbook.model.asker import Pace

    async def wait():
        pace = Pace(per_minute=600)
        await pace.turn()
        given_up = [asyncio.create_task(pace.turn()) for _ in range(20)]
        await asyncio.sleep(0.01)
        for task in given_up:
            task.cancel()
        start = time.monotonic()
        await pace.turn()
        return time.monotonic() - start

    # Twenty turns would be two seconds.
    assert asyncio.run(wait()) < 0.5


# How many requests


PROVIDERS = {
    "openai:m": "OPENAI_BASE_URL",
    "anthropic:m": "ANTHROPIC_BASE_URL",
    "azure:m": "AZURE_OPENAI_ENDPOINT",
    "ollama:m": "OLLAMA_BASE_URL",
    "google:m": "GOOGLE_GEMINI_BASE_URL",
}


@pytest.mark.parametrize("model", PROVIDERS)
def test_every_providers_requests_are_bounded_alike(tmp_path, monkeypatch, model):
    with FakeOpenAI([Reply(b'{"error": {"message": "oops"}}', 500)]) as server:
        monkeypatch.setenv(PROVIDERS[model], server.base_url)
        code, *_ = review(tmp_path, None, "--judge-retries", 1, count=2, judge=model)

    assert (code, server.calls) == (3, 4)


def test_every_providers_requests_are_bounded_alike_when_answers_are_generated(tmp_path, monkeypatch):
    with FakeOpenAI([Reply(b'{"error": {"message": "oops"}}', 500)]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        code, run, *_ = tasks(tmp_path, None, "--retries", 1, count=2, model="anthropic:m")

    assert (code, server.calls, run["usage"]["requests"]) == (3, 4, 4)


def test_a_redirect_is_a_request_like_any_other(tmp_path):
    with FakeOpenAI([Reply(b"", 307, headers={"Location": "/v1/chat/completions"})]) as server:
        code, _, run, _, err = review(tmp_path, server, "--judge-retries", 2, "--judge-workers", 1, count=4)

    assert (code, server.calls) == (3, 3)
    assert run["judge_account"]["openai:m"]["requests"] == 3
    assert "redirect" in err


def test_a_redirect_within_the_server_is_followed(tmp_path):
    def script(request, n):
        return Reply(b"", 307, headers={"Location": "/v2/chat/completions"}) if n == 0 else good(request)

    with FakeOpenAI(script) as server:
        code, rows, *_ = review(tmp_path, server, count=1)

    assert (code, marks(rows), server.calls) == (0, [0.75], 2)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_server_is_never_followed(tmp_path, status):
    with FakeOpenAI(good) as other:
        target = f"{other.base_url}/chat/completions"
        with FakeOpenAI([Reply(b"", status, headers={"Location": target})]) as server:
            code, _, _, _, err = review(tmp_path, server, count=3)

    assert (code, other.calls, server.calls) == (3, 0, 1)
    assert "another server" in err


def _prompted_only(request, _n):
    if "tools" in request or "response_format" in request:
        return Reply(b'{"error": {"message": "not supported"}}', 400)
    names = ("actionable_feedback", "balanced_critique", "improvement_guidance")
    return text(json.dumps(dict.fromkeys(names, 4)))


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_a_server_that_knows_prompted_replies_only_loses_nothing(tmp_path, retries):
    with FakeOpenAI(_prompted_only) as server:
        code, rows, *_ = review(tmp_path, server, "--judge-retries", retries, count=6)

    # Finding out how to ask takes two requests a run.
    assert (code, marks(rows), server.calls) == (0, [0.75] * 6, 8)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, '{"error": {"message": "no such key"}}'),
        (402, '{"error": {"message": "pay first"}}'),
        (403, '{"error": {"message": "not for you"}}'),
        (404, '{"error": {"message": "The model m does not exist", "code": "model_not_found"}}'),
        (429, '{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'),
    ],
)
def test_what_no_retry_can_mend_ends_the_asking_at_once_and_is_said(tmp_path, status, body):
    with FakeOpenAI([Reply(body.encode(), status)]) as server:
        code, _, run, _, err = review(tmp_path, server, count=12)
        asked = server.calls
        ended, _, _, said = tasks(tmp_path, server, "--concurrency", 1)

    assert (code, asked) == (3, 1)
    assert f"12 of 12 (unavailable: openai:m is not asked any more: status {status}: " in err
    assert run["status"] == "incomplete"
    assert (ended, server.calls - asked) == (3, 1)
    assert "no answer (12 of 12): openai:m is not asked any more" in said


def test_a_judge_that_is_down_is_not_asked_a_hundred_times(tmp_path):
    with FakeOpenAI([Reply(b'{"error": {"message": "oops"}}', 503)]) as server:
        code, *_ = review(tmp_path, server, "--judge-retries", 0, "--judge-workers", 1, count=40)

    assert (code, server.calls) == (3, 10)


# What requests cost


def test_a_request_that_timed_out_has_an_unknown_cost_and_counts_at_its_worst(tmp_path):
    def script(request, _n):
        return Reply(good(request).body, seconds=30)

    # 2,000 tokens may come back: at 100 dollars a million that is .2. What it reads costs about as much again.
    options = ("--judge-price", "100/100", "--judge-max-cost", 1.4, "--judge-timeout", 0.4, "--judge-retries", 0)
    with FakeOpenAI(script) as server:
        code, _, run, out, _ = review(tmp_path, server, *options, "--judge-workers", 1, count=8)
        judged = server.calls
        more = ("--price", "100/100", "--max-cost", 1, "--request-timeout", 0.4, "--retries", 0, "--concurrency", 1)
        _, generated, said, _ = tasks(tmp_path, server, *more, count=8)

    account = run["judge_account"]["openai:m"]
    assert (code, judged) == (3, 4)
    assert (account["cost"], account["requests_without_price"]) == (None, 4)
    assert 0.8 < account["cost_at_most"] <= 1.4
    assert "cost unknown (at most $1." in out
    # A reply without a limit is taken for 4,096 tokens: .42 dollars.
    assert server.calls - judged == 2
    assert generated["usage"]["cost"] is None
    assert 0.8 < generated["usage"]["cost_at_most"] <= 1
    assert "cost unknown (at most $0." in said


def test_a_resumed_run_knows_what_was_spent_before(tmp_path):
    down = [True]

    def script(request, _n):
        return Reply(good(request).body, seconds=30 if down[0] else 0)

    options = ("--judge-price", "100/100", "--judge-max-cost", 1.4, "--judge-timeout", 1, "--judge-retries", 0)
    with FakeOpenAI(script) as server:
        review(tmp_path, server, *options, "--judge-workers", 1, count=8)
        before, down[0] = server.calls, False
        again = ("--judge", "openai:m", "--base-url", server.base_url, "--resume", only_run(tmp_path / "out"))
        files = ("--papers", tmp_path / "papers", "--reviews", tmp_path / "reviews.jsonl", *PAIR)
        code, *_ = markbook("review", *files, *again, *options)

    assert (code, before, server.calls) == (3, 4, 4)


@pytest.mark.parametrize("way", ["review", "run"])
def test_a_name_at_another_address_has_no_listed_price(tmp_path, way):
    with FakeOpenAI(good) as server:
        if way == "review":
            _, _, run, *_ = review(tmp_path, server, count=1, judge="openai:gpt-4o-mini")
            cost = run["judge_account"]["openai:gpt-4o-mini"]["cost"]
            code, _, err = markbook(
                "review", *inputs_again(tmp_path), "--judge", "openai:gpt-4o-mini", "--base-url", server.base_url,
                "--judge-max-cost", 1, "--output", tmp_path / "other",
            )  # fmt: skip
            assert (code, "--judge-price IN/OUT" in err, (tmp_path / "other").exists()) == (2, True, False)
        else:
            _, run, *_ = tasks(tmp_path, server, count=1, model="openai:gpt-4o-mini")
            cost = run["usage"]["cost"]

    assert cost is None


def inputs_again(folder):
    return "--papers", folder / "papers", "--reviews", folder / "reviews.jsonl", *PAIR


def test_a_stated_price_is_worth_more_than_the_listed_one(tmp_path, monkeypatch):
    monkeypatch.setattr("markbook.model.connect.is_foreign", lambda *_: False)
    with FakeOpenAI(good) as server:
        _, _, run, *_ = review(tmp_path, server, "--judge-price", "10/100", count=1, judge="openai:gpt-4o-mini")

    assert run["judge_account"]["openai:gpt-4o-mini"]["cost"] == pytest.approx(100 * 10e-6 + 20 * 100e-6)


# Who is asked, and how


def test_a_wrong_judge_is_found_before_anything_is_measured(tmp_path):
    for judge, word in (("google-gla:m", "google"), ("opnai:gpt-4o", "openai"), ("gpt-4o", "PROVIDER:NAME")):
        code, _, err = markbook("review", *inputs(tmp_path / judge.replace(":", "-")), "--judge", judge, "--output", tmp_path / "out")  # fmt: skip
        assert (code, (tmp_path / "out").exists()) == (2, False)
        assert word in err, err


def test_an_address_goes_with_every_provider_that_can(tmp_path):
    def script(request, _n):
        schema = request["tools"][0]["input_schema"]
        content = [{"type": "tool_use", "id": "t", "name": "final_result", "input": fill(schema)}]
        usage = {"input_tokens": 100, "output_tokens": 20}
        record = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
        return Reply(json.dumps({**record, "stop_reason": "tool_use", "usage": usage}).encode())

    with FakeOpenAI(script, path="") as server:
        code, rows, *_ = review(tmp_path, server, count=2, judge="anthropic:m")

    assert (code, marks(rows), server.calls) == (0, [0.75] * 2, 2)


def test_an_address_that_a_provider_cannot_have_is_refused(tmp_path):
    args = ("review", *inputs(tmp_path), "--judge", "deepseek:m", "--base-url", "http://127.0.0.1:9/v1")
    code, _, err = markbook(*args, "--output", tmp_path / "out")

    assert (code, (tmp_path / "out").exists()) == (2, False)
    assert "openai:m" in err


def test_judge_and_generator_send_their_limit_in_the_same_words(tmp_path):
    with FakeOpenAI(good) as server:
        review(tmp_path, server, count=1)
        tasks(tmp_path, server, count=1)

    judged, generated = server.requests
    assert judged["max_tokens"] == 2000
    assert "max_completion_tokens" not in judged
    assert "max_completion_tokens" not in generated


def test_the_judge_reads_the_planning_summary_that_is_documented(tmp_path):
    from markbook.trace import planning_summary
    from markbook.traces import read_trace

    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "nine.json").write_text(json.dumps(TRACE))
    with FakeOpenAI(good) as server:
        code, *_ = review(tmp_path, server, "--traces", folder, count=1)

    prompts = [request["messages"][-1]["content"] for request in server.requests]
    assert code == 0
    assert sum(planning_summary(read_trace(folder / "nine.json")).text in prompt for prompt in prompts) == 1


def test_two_contradicting_results_in_one_reply_count_as_none(tmp_path):
    def script(request, _n):
        calls = [
            {"id": f"c{mark}", "type": "function", "function": {"name": "final_result", "arguments": json.dumps(fill(schema_of(request), integer=mark))}}
            for mark in (5, 1)
        ]  # fmt: skip
        return completion({"content": None, "tool_calls": calls}, finish="tool_calls")

    with FakeOpenAI(script) as server:
        code, rows, *_ = review(tmp_path, server, "--judge-retries", 0, count=1)

    assert (code, marks(rows)) == (3, [None])
    assert "two results" in rows[0]["missing"]["tier2.constructiveness"]["detail"]


def test_the_same_result_twice_in_one_reply_is_one_result(tmp_path):
    def script(request, _n):
        arguments = json.dumps(fill(schema_of(request)))
        calls = [
            {"id": f"c{n}", "type": "function", "function": {"name": "final_result", "arguments": arguments}}
            for n in range(2)
        ]
        return completion({"content": None, "tool_calls": calls}, finish="tool_calls")

    with FakeOpenAI(script) as server:
        code, rows, *_ = review(tmp_path, server, count=1)

    assert (code, marks(rows)) == (0, [0.75])


@pytest.mark.parametrize(
    ("provider", "address", "expected"),
    [
        ("openai", "", False),
        ("openai", "https://api.openai.com/v1", False),
        ("openai-chat", "http://127.0.0.1:8000/v1", True),
        ("openai", "https://api.openai.com.example.org/v1", True),
        ("azure", "https://mine.openai.azure.com", False),
        ("google", "https://generativelanguage.googleapis.com", False),
        ("mistral", "", False),
        ("mistral", "https://proxy.example.org", True),
    ],
)
def test_a_providers_own_address_is_told_from_others(provider, address, expected):
    from markbook.model.connect import is_foreign

    assert is_foreign(provider, address) is expected


@pytest.mark.parametrize("year", ["99999999999999999999", "0"])
def test_a_pause_until_no_date_is_no_pause(tmp_path, year):
    slow = Reply(b"{}", 429, headers={"Retry-After": f"Mon, 01 Jan {year} 00:00:00 GMT"})
    with FakeOpenAI(lambda _, n: slow if n == 0 else text("x")) as server:
        code, record, _, err = tasks(tmp_path, server, "--retries", 1, count=1)

    assert (code, record["status"], server.calls) == (0, "done", 2), err


@pytest.mark.parametrize("count", [10**400, 10**13, -5, True, 1.5, "7"])
def test_a_count_of_tokens_that_cannot_be_costs_nothing_and_breaks_nothing(tmp_path, count):
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    body["usage"] = {"prompt_tokens": count, "completion_tokens": 2}
    with FakeOpenAI([Reply(json.dumps(body).encode())]) as server:
        code, record, _, err = tasks(tmp_path, server, "--price", "1/1", count=1)

    assert code == 0, err
    assert (record["usage"]["input_tokens"], record["usage"]["output_tokens"]) == (0, 2)
    assert record["usage"]["cost"] == pytest.approx(2e-6)


def test_an_address_of_numbers_is_kept_so_that_a_run_can_be_gone_on_with():
    from markbook.model.connect import without_secrets
    from markbook.option import would_send_key as sent_a_key

    kept = without_secrets("http://ann:pass@[::1]:8000/v1?key=s")

    assert (kept, sent_a_key(kept)) == ("http://[::1]:8000/v1", "")


def test_a_host_beyond_ascii_is_asked_by_its_name_on_the_wire():
    from markbook.model.http import Address

    assert Address.parse("http://b\u00fccher.example:81/v1").origin == "http://xn--bcher-kva.example:81"
