"""Rewards in the shapes of trainers, and from a server's address."""

import asyncio
import math
import os
import runpy
import sys
from pathlib import Path

import pytest
from test_server import RIGHT, SLEEP, TESTS, Running, item, settings

from markbook.errors import IncompleteError, UsageError
from markbook.rewards import Rewarder
from markbook.rewards.trainers import TRLReward, VerifiersReward, VerlReward

WRONG = "def f(x):\n    return 1\n"
LOCAL = {"workers": 1, "isolation": "weak", "timeout": 5}


def test_trl_gets_a_number_a_row_and_none_where_nothing_was_measured():
    with TRLReward(invalid="mask", retries=0, **{**LOCAL, "seconds": 1.5, "timeout": 50}) as reward:
        chat = [{"role": "assistant", "content": f"```python\n{WRONG}```"}]
        columns = {"tests": [TESTS] * 3, "entry_point": ["f"] * 3, "level": [1, 2, 3]}
        found = reward(prompts=["p"] * 3, completions=[RIGHT, chat, SLEEP], **columns)
        assert (found, reward.mask) == ([1.0, 0.5, None], [True, True, False])


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


@pytest.mark.parametrize(("invalid", "wanted"), [("nan", math.nan), ("mask", math.nan), (-1, -1.0)])
def test_a_reward_without_a_value_becomes_what_the_user_says(invalid, wanted):
    with VerlReward(invalid=invalid, retries=0, **{**LOCAL, "seconds": 0.3, "timeout": 50}) as score:
        got = score("mine", SLEEP, {"tests": TESTS})
        assert got["valid"] is False
        assert got["score"] == pytest.approx(wanted, nan_ok=True)


def test_a_reward_without_a_value_ends_the_training_by_default():
    with VerlReward(retries=0, **{**LOCAL, "seconds": 0.3, "timeout": 50}) as score:
        with pytest.raises(IncompleteError, match="timeout: not marked within its deadline"):
            score("mine", SLEEP, {"tests": TESTS})
        assert score.mask == [False]
    with pytest.raises(UsageError, match="neither 'raise', 'nan', 'mask' nor a number"):
        VerlReward(invalid="zero")


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


def test_the_example_runs(capsys, monkeypatch):
    path = Path(__file__).parent.parent / "examples" / "rewards" / "trainers.py"
    monkeypatch.setattr(sys, "argv", [os.fspath(path)])
    runpy.run_path(os.fspath(path), run_name="__main__")
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "TRL       [1.0, 0.5]"
    assert said[-1] == "verifiers 1.0"
