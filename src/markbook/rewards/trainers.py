"""Rewards in the shapes that trainers call: TRL, verl, verifiers.

A trainer computes with numbers, so every adapter is told what a reward without a value becomes: `invalid="raise"` (the
default, after the retries), `"nan"`, `"mask"` (None where the shape knows it, else NaN) or a number of your own. Each
keeps `mask` beside: which of the rewards of the last call are verdicts.
"""

# ruff: noqa: ARG002 - trainers pass more than a reward needs

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Self, TypeVar

from markbook.errors import IncompleteError, UsageError
from markbook.rewards.records import Reward
from markbook.rewards.rewarder import Rewarder

_T = TypeVar("_T")
Invalid = str | float
"""What a reward without a value becomes."""
ItemOf = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""From a completion and its row's columns to an item."""


class _Background:
    """An event loop in a thread, for callers that have none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="markbook-rewards", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def shared(self, work: Coroutine[Any, Any, _T]) -> _T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Adapter:
    """A rewarder that is called from anywhere; close it, or use it in a `with` statement."""

    def __init__(self, *, invalid: Invalid = "raise", retries: int = 2, **options: Any) -> None:
        """Start a rewarder with these options.

        Args:
            invalid: what a reward without a value becomes: `raise`, `nan`, `mask` or a number.
            retries: how often what could have been marked and was not is tried again.
            **options: of `Rewarder`.
        """
        if isinstance(invalid, str) and invalid not in ("raise", "nan", "mask"):
            raise UsageError(f"invalid={invalid!r} is neither 'raise', 'nan', 'mask' nor a number")
        self._invalid = invalid
        self._retries = retries
        self.mask: list[bool] = []
        """Which rewards of the last call are verdicts on the code."""
        self._background = _Background()
        self._rewarder = Rewarder(**options)
        self._background.run(self._rewarder.__aenter__())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the rewarder."""
        self._background.run(self._rewarder.__aexit__(None, None, None))
        self._background.close()

    async def _marked(self, items: Sequence[Mapping[str, object]]) -> list[Reward]:
        found = await self._rewarder.mark(items)
        for _ in range(self._retries):
            again = [number for number, one in enumerate(found) if one.missing is not None and one.missing.kind.is_ours]
            if not again:
                break
            for number, one in zip(again, await self._rewarder.mark([items[number] for number in again]), strict=True):
                found[number] = one
        return found

    def marked(self, items: Sequence[Mapping[str, object]]) -> list[Reward]:
        """Return the rewards of items; what could not be marked was tried again."""
        found = self._background.run(self._marked(items))
        self.mask = [one.valid for one in found]
        return found

    async def amarked(self, items: Sequence[Mapping[str, object]]) -> list[Reward]:
        """Do so in the caller's event loop."""
        found = await self._background.shared(self._marked(items))
        self.mask = [one.valid for one in found]
        return found

    def number(self, reward: Reward, *, masked: float | None = math.nan) -> float | None:
        """Return what a trainer computes with.

        Args:
            reward: the reward.
            masked: what the shape has for a row that is left out.

        Raises:
            IncompleteError: there is no value, and that is to end the training.
        """
        if reward.reward is not None:
            return reward.reward
        if self._invalid == "raise":
            assert reward.missing is not None
            raise IncompleteError(f"no reward for {reward.id!r}: {reward.missing.kind.value}: {reward.message}")
        if isinstance(self._invalid, str):
            return math.nan if self._invalid == "nan" else masked
        return float(self._invalid)


def text_of(completion: Any) -> str:
    """Return the text of a completion: a string, or the last message of a list."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and completion and isinstance(completion[-1], Mapping):
        return str(completion[-1].get("content") or "")
    raise UsageError(f"a completion is a text or a list of messages, not {type(completion).__name__}")


_COLUMNS = ("tests", "entry_point", "canonical", "prompt_code", "kind", "benchmark", "task_id", "timeout")


def _item(text: str, columns: Mapping[str, object]) -> dict[str, object]:
    """Return the item that columns of these names make."""
    named = {name: columns[name] for name in _COLUMNS if columns.get(name) is not None}
    if "prompt_code" in named:
        named["prompt"] = named.pop("prompt_code")
    return {"code": text, **named}


class TRLReward(Adapter):
    """A function for TRL's `reward_funcs`: `GRPOTrainer(reward_funcs=[TRLReward(...)], ...)`.

    The data set's columns `tests` (with `entry_point`), or `benchmark` and `task_id`, say by what a completion is marked.
    With `invalid="mask"` a row without a reward is None, which TRL leaves out.
    """

    __name__ = "markbook"

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return the rewards of a batch."""
        there = {name: values for name, values in columns.items() if name in _COLUMNS}
        items = [
            {"id": str(number), **_item(text_of(completion), {name: values[number] for name, values in there.items()})}
            for number, completion in enumerate(completions)
        ]
        return [self.number(reward, masked=None) for reward in self.marked(items)]


class VerlReward(Adapter):
    """A function for verl: `custom_reward_function.path` names a module that holds one, `compute_score`.

    `ground_truth` is an item without its code (an object or its JSON), a list of tests, or a test program.
    """

    def __call__(
        self, data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        """Return the score of one answer, with `valid` beside it."""
        return self._scored(self.marked([_truth(solution_str, ground_truth)])[0])

    async def single(
        self, data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        """Do so in an event loop, for verl's asynchronous loops."""
        return self._scored((await self.amarked([_truth(solution_str, ground_truth)]))[0])

    def batch(
        self,
        data_sources: Sequence[str],
        solution_strs: Sequence[str],
        ground_truths: Sequence[Any],
        extra_infos: Any = None,
    ) -> list[dict[str, object]]:
        """Return the scores of a batch, for verl's batch reward manager."""
        items = [_truth(text, truth) for text, truth in zip(solution_strs, ground_truths, strict=True)]
        return [self._scored(reward) for reward in self.marked(items)]

    def _scored(self, reward: Reward) -> dict[str, object]:
        passed = reward.reward is not None and reward.passed == reward.total
        return {"score": self.number(reward), "valid": reward.valid, "acc": passed}


def _truth(text: str, truth: Any) -> dict[str, object]:
    import json

    if isinstance(truth, str) and truth.lstrip()[:1] in ("{", "["):
        try:
            truth = json.loads(truth)
        except ValueError as error:
            raise UsageError(f"the ground truth is no JSON: {error}") from None
    return _item(text, truth if isinstance(truth, Mapping) else {"tests": truth})


class VerifiersReward(Adapter):
    """A function for a rubric of verifiers: `Rubric(funcs=[VerifiersReward(...).reward])`.

    `answer` is what `VerlReward` takes for `ground_truth`; `info` may say it too.
    """

    async def reward(
        self, completion: Any, answer: Any = "", info: Mapping[str, object] | None = None, **_: Any
    ) -> float | None:
        """Return the reward of one rollout."""
        item = _truth(text_of(completion), answer) if answer else _item(text_of(completion), info or {})
        return self.number((await self.amarked([item]))[0])
