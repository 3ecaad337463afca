"""Rewards in the shapes of trainers, and from a server's address."""

import asyncio
import http.server
import json
import math
import os
import runpy
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from support.exam_kit import write_rows
from support.load import allowed
from support.paths import ROOT
from test_server import RIGHT, SLEEP, TESTS, Running, item, settings

from markbook.errors import IncompleteError, UsageError
from markbook.rewards import (
    NoReward,
    Rewarder,
    TRLReward,
    VerifiersReward,
    VerlReward,
    _item,
    _neutral,
    _select_known,
    _truth,
    completion_text,
)
from markbook.serve.records import Reward
from markbook.types import Missing, MissingKind

pytestmark = pytest.mark.usefixtures("kept_workers")

WRONG = "def f(x):\n    return 1\n"
LOCAL = {"workers": 1, "isolation": "weak", "timeout": 5}


def test_trl_gets_a_number_a_row_and_one_without_advantage_where_nothing_was_measured():
    with TRLReward(invalid="mask", retries=0, **{**LOCAL, "seconds": 1.5, "timeout": 50}) as reward:
        chat = [{"role": "assistant", "content": f"```python\n{WRONG}```"}]
        columns = {"tests": [TESTS] * 4, "entry_point": ["f"] * 4, "level": [1, 2, 3, 4]}
        found = reward(prompts=["p", "p", "p", "q"], completions=[RIGHT, chat, SLEEP, WRONG], **columns)
        # TRL adds up with nansum: None and NaN would be a 0, below the mean of the prompt (1 + 0.5) / 2
        assert (found, reward.mask) == ([1.0, 0.5, 0.75, 0.5], [True, True, False, True])
    late = Reward("0", None, Missing(MissingKind.TIMEOUT, "late"))
    with pytest.raises(NoReward, match="nor for any other completion of its prompt"):
        _neutral(["p", "q"], [late, Reward("1", 1.0)])


@pytest.mark.parametrize("invalid", ["nan", math.nan])
def test_trl_is_given_no_nan_for_it_takes_that_for_0(invalid):
    with pytest.raises(UsageError, match="TRL counts NaN as a reward of 0"):
        TRLReward(invalid=invalid)


def test_verl_gets_a_score_and_whether_it_is_one():
    with VerlReward(**LOCAL) as score:
        truth = {"tests": TESTS, "entry_point": "f"}
        assert score("mine", WRONG, truth, extra_info=None) == {"score": 0.5, "valid": True, "acc": False}
        got = score.batch(["a"] * 2, [RIGHT, WRONG], [truth, '["f(1) == 1"]'], [None] * 2)
        assert [one["score"] for one in got] == [1.0, 1.0]
        assert asyncio.run(score.single("mine", RIGHT, truth))["acc"] is True


def test_verifiers_awaits_a_number():
    with VerifiersReward(**LOCAL) as rubric:
        assert asyncio.run(rubric.reward(prompt="p", completion=RIGHT, answer=TESTS, state={}, info={})) == 1.0
        assert asyncio.run(rubric.reward(completion=WRONG, info={"tests": TESTS})) == 0.5


class Data(SimpleNamespace):
    """A task's row, as a model of pydantic's has it."""

    def model_dump(self):
        return dict(vars(self))


def rollout(reply, **fields):
    """Return a trace of verifiers' newer interface: the task's data and what the model said last."""
    return SimpleNamespace(task=SimpleNamespace(type="Mine", data=Data(prompt="p", **fields)), last_reply=reply)


def test_verifiers_newer_interface_gives_a_trace():
    with VerifiersReward(**LOCAL) as marks:
        scored = [
            asyncio.run(marks.trace_reward(trace, **columns))
            for trace, columns in (
                (rollout(RIGHT, tests=TESTS, idx=3), {}),
                (rollout(f"```python\n{WRONG}```", answer=json.dumps({"tests": TESTS})), {}),
                (rollout(WRONG, hidden=1), {"tests": TESTS}),
            )
        ]
    assert scored == [1.0, 0.5, 0.5]


@pytest.mark.parametrize("fields", [{"tests": []}, {"hidden": 1}, {"tests": TESTS, "kind": "nothing"}])
def test_no_fault_is_a_0_in_verifiers_newer_interface(fields):
    with VerifiersReward(retries=0, **LOCAL) as marks, pytest.raises(NoReward):
        asyncio.run(marks.trace_reward(rollout(RIGHT, **fields)))


def test_what_completes_a_benchmarks_task_has_its_prompts_imports_as_in_an_exam(tmp_path):
    prompt = 'from typing import List\n\n\ndef top(xs: List[int]) -> int:\n    """Return the largest."""\n'
    row = {"task_id": "T/0", "prompt": prompt, "entry_point": "top", "canonical_solution": "    return max(xs)\n", "test": "def check(candidate):\n    assert candidate([1, 3, 2]) == 3\n"}  # fmt: skip
    path = write_rows(tmp_path / "b.jsonl", [row])
    reply = "```python\ndef top(xs: List[int]) -> int:\n    return max(xs)\n```"

    with TRLReward(benchmark=path, **LOCAL) as reward:
        assert reward(prompts=["p"], completions=[reply], task_id=["T/0"]) == [1.0]
    with VerlReward(benchmark=path, **LOCAL) as score:
        assert score("mine", reply, {"task_id": "T/0"})["score"] == 1.0
        assert score("mine", reply, {"tests": ["top([1, 3, 2]) == 3"], "prompt_code": prompt})["score"] == 1.0


def test_a_server_that_does_not_answer_is_named_at_once(caplog):
    async def main():
        async with Rewarder(url="http://127.0.0.1:9", seconds=2) as rewarder:
            return await rewarder.mark([{"code": RIGHT, "tests": TESTS}] * 2)

    found = asyncio.run(main())

    assert [one.missing.kind.value for one in found] == ["unavailable"] * 2
    (said,) = [record.getMessage() for record in caplog.records if record.name == "markbook.serve.rewarder"]
    assert said.startswith("http://127.0.0.1:9: the server cannot be reached: ConnectError")
    assert said.endswith("; asking again for 2 seconds")


@pytest.mark.parametrize(("invalid", "wanted"), [("nan", math.nan), ("mask", math.nan), (-1, -1.0)])
def test_a_reward_without_a_value_becomes_what_the_user_says(invalid, wanted):
    with VerlReward(invalid=invalid, retries=0, **{**LOCAL, "seconds": 0.3, "timeout": 50}) as score:
        got = score("mine", SLEEP, {"tests": TESTS})
        assert got["valid"] is False
        assert got["score"] == pytest.approx(wanted, nan_ok=True)
        assert math.isnan(got["acc"])  # the mean of it is what verl's validation shows


def test_a_reward_without_a_value_ends_the_training_by_default():
    with VerlReward(retries=0, **{**LOCAL, "seconds": 0.3, "timeout": 50}) as score:
        with pytest.raises(NoReward, match="timeout: not marked within its deadline"):
            score("mine", SLEEP, {"tests": TESTS})
        assert score.mask == [False]
    with pytest.raises(UsageError, match="neither 'raise', 'nan', 'mask' nor a number"):
        VerlReward(invalid="zero")


class Rubric:
    """What verifiers makes of a reward function: every Exception is a 0."""

    def __init__(self, function):
        self._function = function

    async def score(self, **state):
        try:
            return float(await self._function(**state))
        except Exception:  # noqa: BLE001 - as there
            return 0.0


@pytest.mark.parametrize(
    "state",
    [
        {"completion": SLEEP, "answer": TESTS},
        {"completion": RIGHT, "answer": ""},
        {"completion": RIGHT, "answer": '{"tests": ['},
        {"completion": RIGHT, "answer": {"tests": TESTS, "langauge": "python"}},
        {"completion": RIGHT, "answer": {"tests": TESTS, "code": RIGHT}},
        {"completion": 5, "answer": TESTS},
        {"completion": [{"role": "tool", "content": RIGHT}], "answer": TESTS},
        {"completion": [{"role": "assistant", "content": [{"type": "image"}]}], "answer": TESTS},
    ],
)
def test_no_fault_is_a_0_where_a_rubric_makes_0_of_every_exception(state):
    with VerifiersReward(retries=0, **{**LOCAL, "seconds": 0.5, "timeout": 50}) as rubric, pytest.raises(NoReward):
        asyncio.run(Rubric(rubric.reward).score(prompt="p", state={}, **state))


TWICE = "twice() { echo $(( 2 * $1 )); }\n"
BASH = {"language": "bash", "tests": ["set -e\n[[ $(twice 2) = 4 ]]\n"]}


def test_a_language_and_a_prompt_are_kept_in_every_shape():
    with TRLReward(**LOCAL) as reward:
        columns = {name: [value] for name, value in BASH.items()}
        assert reward(prompts=["p"], completions=[TWICE], **columns) == [1.0]
        # without a column for it the prompt itself may be the code that a completion goes on with
        assert reward(prompts=["def f(x):\n"], completions=["    return 2 * x\n"], tests=[["f(3) == 6"]]) == [1.0]
        # an answer that leaves out the prompt's imports has them, also where the prompt is a chat
        head = "from math import prod\ndef f(x):\n"
        chats = [[{"role": "system", "content": "Answer in Python."}, {"role": "user", "content": content}] for content in (head, [{"type": "text", "text": head}, {"type": "image"}])]  # fmt: skip
        prompts = [head, *chats, [*chats[0], {"role": "assistant", "content": "Here it is:"}], [{"role": "system", "content": head}]]  # fmt: skip
        whole = "def f(x):\n    return prod([2, x])\n"
        assert reward(prompts, [whole] * 5, tests=[["f(3) == 6"]] * 5) == [1.0, 1.0, 1.0, 1.0, 0.0]
    with VerifiersReward(**LOCAL) as marks:
        for prompt in prompts[:2]:
            assert asyncio.run(marks.reward(prompt=prompt, completion=whole, answer=["f(3) == 6"])) == 1.0
            task = SimpleNamespace(data=Data(prompt=prompt, tests=["f(3) == 6"]))
            assert asyncio.run(marks.trace_reward(SimpleNamespace(task=task, last_reply=whole))) == 1.0
    wanted = {"completion": TWICE, **BASH}
    assert _truth(TWICE, BASH) == _truth(TWICE, json.dumps(BASH)) == wanted
    assert _item(TWICE, _select_known({**BASH, "split": "train"})) == wanted


HEAD = 'def f(x):\n    """Double x."""\n'
BROKEN_PROMPTS = {
    "Python 2": f'print "x"\n{HEAD}',
    "half a character": f"\ud800\n{HEAD}",
    "words before": f"Complete this.\n{HEAD}",
    "a fence": f"Complete this.\n```python\n{HEAD}```",
}


@pytest.mark.parametrize("name", BROKEN_PROMPTS)
def test_what_completes_a_prompt_that_is_no_python_has_no_reward_and_other_answers_theirs(name):
    answers = [
        "    return 2 * x\n",
        f"{HEAD}    return 2 * x\n",
        "def f(x):\n    return x\n",
        "def f(x:\n",
        "def g(x):\n    return 1\n",
    ]

    with TRLReward(invalid="mask", retries=0, **LOCAL) as reward:
        rewards = reward([BROKEN_PROMPTS[name]] * 5, answers, tests=[["f(3) == 6"]] * 5, entry_point=["f", *[None] * 4])

        assert (reward.mask, rewards[1:]) == ([False, True, True, True, True], [1.0, 0.0, 0.0, 0.0])


class Array:
    """What numpy and pandas make of a list."""

    def __init__(self, *values):
        self._values = list(values)

    def tolist(self):
        return self._values


def test_tables_may_fill_what_a_row_has_not():
    tests = Array({"assertion": "f(1) == 1", "setup": None, "inspection": Array("return")})
    with VerlReward(**LOCAL) as score:
        truth = {"tests": tests, "entry_point": "f", "kind": None}
        assert score("mine", RIGHT, truth, reward_router_address="x")["score"] == 1.0


class Message:
    """A message that is a record, as newer trainers have it."""

    def __init__(self, role, content):
        self.role, self.content = role, content


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("a", "a"),
        ([{"role": "assistant", "content": "a"}], "a"),
        ([{"content": "a"}], "a"),
        ([{"role": "assistant", "content": None}], ""),
        ([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], "ab"),
        ([{"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}], "a"),
        ([Message("assistant", "a"), Message("user", "b")], "a"),
        ([], None),
    ],
)
def test_the_text_of_a_completion_is_what_the_model_said_last(completion, text):
    assert completion_text(completion) == text


def test_a_server_marks_as_this_machine_does():
    server = Running(settings())
    items = [item(RIGHT), item(WRONG), item(None), item("def f(:\n")]

    async def marked(**options):
        async with Rewarder(**options) as rewarder:
            return await rewarder.mark(items)

    there = asyncio.run(marked(url=server.address, timeout=5))
    here = asyncio.run(marked(**LOCAL))
    assert [(one.reward, one.missing, one.error) for one in there] == [
        (one.reward, one.missing, one.error) for one in here
    ]
    server.drain()
    server.join()


def test_a_server_that_is_not_there_gives_a_reason_and_no_number():
    async def marked():
        async with Rewarder(url="http://127.0.0.1:9", seconds=0.2) as rewarder:
            return await rewarder.mark([item(RIGHT)])

    (found,) = asyncio.run(marked())
    assert (found.reward, found.missing.kind.value) == (None, "unavailable")


def test_a_server_that_refuses_is_quoted():
    server = Running(settings())

    async def marked():
        async with Rewarder(url=server.address) as rewarder:
            await rewarder.mark([{"code": "x"}])

    with pytest.raises(UsageError, match=r"the server refuses: items\[0\]: it has no tests"):
        asyncio.run(marked())
    server.drain()
    server.join()


def test_a_batch_that_is_more_than_a_server_takes_is_sent_in_parts():
    server = Running(settings())  # of one client six may wait
    items = [item(f"{RIGHT}# {number}\n") for number in range(20)]

    async def marked():
        async with Rewarder(url=server.address, seconds=60) as rewarder:
            return await rewarder.mark(items)

    assert [one.reward for one in asyncio.run(marked())] == [1.0] * 20
    server.drain()
    server.join()


@pytest.mark.parametrize(("said", "wait"), [("2", 2.0), ("Fri, 31 Dec 2027 23:59:59 GMT", 1.0), ("", 1.0), ("-3", 0.0)])
def test_a_proxy_may_say_when_to_come_back(said, wait):
    from markbook.serve.rewarder import _wait

    assert _wait(said) == wait


def test_what_is_no_address_is_said_at_once():
    with pytest.raises(UsageError, match="'localhost:8080' is not an address of a server"):
        Rewarder(url="localhost:8080")


def test_a_rewarder_that_was_not_started_says_so():
    with pytest.raises(UsageError, match="has not been started"):
        asyncio.run(Rewarder(workers=1).mark([item(RIGHT)]))


BAD = {
    "code": ({"code": "\ud800"}, "'code' holds half a character"),
    "tests": ({"tests": ["'\ud800'"]}, "'program' holds half a character"),
    "id": ({"id": "\ud800"}, "'id' holds half a character"),
    "key": ({"\ud800": 1}, "a field's name holds half a character"),
    "no tests": ({"tests": []}, "'tests' is empty"),
    "no benchmark": ({"tests": None, "entry_point": None, "benchmark": "quis", "task_id": "a"}, "there is no benchmark 'quis'"),
}  # fmt: skip


@pytest.mark.parametrize(("bad", "words"), BAD.values(), ids=BAD)
def test_a_bad_item_is_undefined_by_itself_here_and_on_a_server(servers, bad, words):
    items = [item(RIGHT)] * 65 + [{**item(RIGHT), **bad}, item(RIGHT, tests=tuple(TESTS))]

    here, there = mark_here(items), ask([server.address for server in servers], items)

    assert [reward.to_record() for reward in there] == [reward.to_record() for reward in here]
    assert [reward.reward for reward in there] == [1.0] * 65 + [None, 1.0]
    assert (there[65].missing.kind, there[65].id) == (MissingKind.UNDEFINED, "items[65]" if "id" in bad else "a")
    assert there[65].message.replace(".tests[0]", "").startswith(f"items[65]: {words}"), there[65].message


def test_a_bad_completion_does_not_end_training_on_a_server(servers):
    completions, tests = [RIGHT, f"{RIGHT}\ud800", WRONG], [TESTS] * 3
    with TRLReward(invalid="mask", url=servers[0].address, retries=0, seconds=60) as reward:
        assert reward(prompts=["p"] * 3, completions=completions, tests=tests) == [1.0, 0.75, 0.5]
        assert reward.mask == [True, False, True]


@pytest.mark.parametrize("url", [[], ()])
def test_an_empty_list_of_servers_starts_nothing_here(url):
    with pytest.raises(UsageError, match="url names no server"):
        Rewarder(url=url)


def test_what_a_full_pool_has_no_room_for_in_time_is_no_error():
    from markbook.programs.sandboxes import BoxSettings
    from markbook.serve.pool import Pool, PoolSettings
    from markbook.serve.rewarder import _Local

    async def main():
        pool = Pool(PoolSettings(box=BoxSettings(workers=1, isolation="weak"), queue=2))
        local = _Local(pool, "", 50.0)
        await local.open()
        try:
            return [pair[1] async for pair in local.stream([item(f"{RIGHT}# {n}") for n in range(3)], 0.2)]
        finally:
            await local.close()

    assert [(one.reward, one.missing.kind.value) for one in asyncio.run(main())] == [(None, "timeout")] * 3


def test_the_example_runs(capsys, monkeypatch):
    path = ROOT / "examples" / "rewards" / "trainers.py"
    monkeypatch.setattr(sys, "argv", [os.fspath(path)])
    runpy.run_path(os.fspath(path), run_name="__main__")
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "TRL       [1.0, 0.5]"
    assert said[-1] == "verifiers 1.0"


def ask(url, items, **options):
    return mark_here(items, **{"url": url, "seconds": 60, **options})


def mark_here(items, **options):
    async def main():
        async with Rewarder(**(options or LOCAL)) as rewarder:
            return await rewarder.mark(items)

    return asyncio.run(main())


@pytest.fixture(scope="module")
def servers():
    started = [Running(settings()) for _ in range(2)]
    yield started
    for server in started:
        server.drain()
        server.join()


def test_several_servers_share_the_work_and_one_that_is_gone_is_done_without(servers, caplog):
    items = [{key: value for key, value in item(f"{RIGHT}# {n}\n").items() if key != "id"} for n in range(70)]
    before = [server.pool.counts["measured"] for server in servers]

    rewards = ask([server.address for server in servers], items)

    assert [reward.reward for reward in rewards] == [1.0] * 70
    assert [reward.id for reward in rewards] == [f"items[{n}]" for n in range(70)]
    shares = [server.pool.counts["measured"] - count for server, count in zip(servers, before, strict=True)]
    assert sum(shares) == 70
    assert all(shares)
    assert [reward.reward for reward in ask(["http://127.0.0.1:9", servers[0].address], items[:3])] == [1.0] * 3
    assert "http://127.0.0.1:9: the server cannot be reached" in caplog.text


def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(servers):
    requests = []

    class Busy(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            requests.append(self.path)
            self.send_response(503)
            self.send_header("Retry-After", "600")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy) as busy:
        threading.Thread(target=busy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

        async def main():
            async with Rewarder(
                url=[f"http://127.0.0.1:{busy.server_port}", servers[0].address], seconds=60
            ) as rewarder:
                return [await rewarder.mark([item(f"{RIGHT}# busy {at}\n")]) for at in range(6)]

        rewards = asyncio.run(main())
        busy.shutdown()

    assert [reward.reward for (reward,) in rewards] == [1.0] * 6
    assert len(requests) == 1


def test_a_bad_item_is_named_by_its_place_among_all(servers):
    items = [item(RIGHT)] * 70

    with pytest.raises(UsageError, match=r"the server refuses: items\[66\]: unknown field 'teststs'"):
        ask(servers[0].address, [*items[:66], {**items[66], "teststs": 1}])
    with pytest.raises(UsageError, match=r"items\[1\]: it is not an object"):
        ask(servers[0].address, [items[0], None])


def test_an_items_deadline_that_is_too_long_is_said_at_once(servers):
    began = time.monotonic()

    with pytest.raises(UsageError, match=r"items\[0\]: 'deadline' is 1000000, and has to be a number above 0"):
        ask(servers[0].address, [item(RIGHT, deadline=1_000_000)])

    assert time.monotonic() - began < allowed(30)


OF_ANOTHER = Reward("another", 1.0).to_record()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        *((body, "cannot be read") for body in ('{"results": [1]}', '{"results": 1}', "[]", "{", "[" * 100_000)),
        (json.dumps({"results": [OF_ANOTHER]}), "'another' where 'a' was asked"),
    ],
)
def test_an_answer_of_another_server_is_a_sentence(body, words):
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            # what is left unread when the connection closes resets it, before the client has read the answer
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(IncompleteError, match=words):
            ask(f"http://127.0.0.1:{server.server_port}", [item(RIGHT)])


def test_a_null_in_an_item_is_what_its_rewarder_says():
    from markbook.serve.rewarder import Remote

    remote = Remote(["http://x"], "", "quiz", 7.0)

    assert remote._complete({"task_id": "a", "code": None, "timeout": None, "benchmark": None, "tests": None}, 3) == {
        "id": "items[3]", "timeout": 7.0, "benchmark": "quiz", "task_id": "a", "code": None,
    }  # fmt: skip
