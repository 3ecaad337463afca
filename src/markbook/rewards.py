"""Verdicts for training: marked in isolation by an exam's rules, a number or a reason.

async with Rewarder(benchmark="HumanEval.jsonl.gz") as rewarder:
    results = await rewarder.mark([{"task_id": "HumanEval/0", "code": reply}])
"""

from __future__ import annotations

import asyncio
import math
import statistics
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from markbook.errors import MarkbookError, UsageError
from markbook.row_keys import ITEM_KEYS
from markbook.serve.items import with_prompt
from markbook.serve.records import Order, Reward
from markbook.serve.rewarder import Rewarder

# Rewards in the shapes that trainers call: TRL, verl, verifiers.
#
# A trainer computes with numbers, so every adapter is told what a reward without a value becomes: `invalid="raise"` (the
# default, after the retries), `"nan"`, `"mask"` (what leaves the row out, where the trainer knows such a thing, else NaN) or a
# number of your own. Each keeps `mask` beside: which of the rewards of the last call are verdicts.


_T = TypeVar("_T")
Invalid = str | float
"""What a reward without a value becomes."""


class NoReward(BaseException):
    """There is no reward, and the training is to end.

    It is not an `Exception`: verifiers, and verl's managers `prime` and `rate_limited`, make 0 of each of those.
    """


@contextmanager
def no_zero() -> Iterator[None]:
    """Let no error of ours, of the server's or in the data pass for a reward of 0.

    Raises:
        NoReward: there was one.
    """
    try:
        yield
    except Exception as error:
        message = str(error) if isinstance(error, MarkbookError) else f"{type(error).__name__}: {error}"
        raise NoReward(message) from error


class _Background:
    """An event loop in a thread, for callers that have none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="markbook-rewards", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def run_shared(self, work: Coroutine[Any, Any, _T]) -> _T:
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

    async def _mark_items(self, items: Sequence[Mapping[str, object]]) -> list[Reward]:
        rewards = await self._rewarder.mark(items)
        for _ in range(self._retries):
            again = [
                number
                for number, reward in enumerate(rewards)
                if reward.missing is not None and reward.missing.kind.is_ours
            ]
            if not again:
                break
            for number, reward in zip(
                again, await self._rewarder.mark([items[number] for number in again]), strict=True
            ):
                rewards[number] = reward
        return rewards

    def mark_items(self, items: Sequence[Mapping[str, object]]) -> list[Reward]:
        """Return the rewards of items; what could not be marked was tried again."""
        rewards = self._background.run(self._mark_items(items))
        self.mask = [reward.valid for reward in rewards]
        return rewards

    async def mark_items_async(self, items: Sequence[Mapping[str, object]]) -> list[Reward]:
        """Do so in the caller's event loop."""
        rewards = await self._background.run_shared(self._mark_items(items))
        self.mask = [reward.valid for reward in rewards]
        return rewards

    def number(self, reward: Reward) -> float:
        """Return what a trainer computes with.

        Raises:
            NoReward: it has no value, and that is to end the training.
        """
        if reward.reward is not None:
            return reward.reward
        if self._invalid == "raise":
            raise NoReward(_why(reward))
        return math.nan if isinstance(self._invalid, str) else float(self._invalid)


def _why(reward: Reward) -> str:
    assert reward.missing is not None
    return f"no reward for {reward.id!r}: {reward.missing.kind.value}: {reward.message}"


def completion_text(completion: Any) -> str | None:
    """Return the text of a completion: a string, or the last message of the model's in a list; None where there is none."""
    if isinstance(completion, str):
        return completion
    if not isinstance(completion, Sequence):
        raise UsageError(f"a completion is a text or a list of messages, not {type(completion).__name__}")
    messages = [message for message in completion if _part(message, "role") in (None, "assistant")]
    return _content(_part(messages[-1], "content")) if messages else None


def prompt_text(prompt: Any) -> str:
    """Return the text that a model was asked with: a string, or the user's last message in a list; empty where there is none."""
    messages = prompt if isinstance(prompt, Sequence) and not isinstance(prompt, str) else ()
    contents = [_part(message, "content") for message in messages if _part(message, "role") == "user"]
    content = contents[-1] if contents else prompt
    parts = content if isinstance(content, list | tuple) else ()
    texts = [content] if isinstance(content, str) else [_part(part, "text") for part in parts]
    return "".join(text for text in texts if isinstance(text, str))  # what else stands there is a picture, say


def _part(message: Any, name: str) -> Any:
    """Return a part of a message, which is an object or, in newer trainers, a record."""
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _content(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of parts."""
    if isinstance(content, str) or content is None:
        return content or ""
    texts = [_part(part, "text") for part in content] if isinstance(content, Sequence) else [None]
    texts_known = [text for text in texts if isinstance(text, str)]
    if len(texts_known) < len(texts):
        raise UsageError("a message's content is neither a text nor a list of texts")
    return "".join(texts_known)


_COLUMNS = (
    "tests", "entry_point", "canonical", "prompt_code", "kind", "benchmark", "task_id", "language", "timeout", "memory_mb",
    "deadline",
)  # fmt: skip


def _item(text: str | None, columns: Mapping[str, object]) -> dict[str, object]:
    """Return the item that columns make, all of which are fields of one."""
    if any(key in columns for key in ITEM_KEYS):
        raise UsageError("what says by what to mark holds 'code' or 'completion'", hint="that is the model's to give")
    named = {name: _plain(value) for name, value in columns.items() if value is not None}
    if "prompt_code" in named:
        named["prompt"] = named.pop("prompt_code")
    return {**named, "completion": text}  # it has its prompt's imports, as in an exam


def _select_known(columns: Mapping[str, _T]) -> dict[str, _T]:
    """Return those of a row's columns that say by what it is marked."""
    return {name: columns[name] for name in _COLUMNS if name in columns}


def _plain(value: Any) -> Any:
    """Return a value of a table without that table's own types."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


class TRLReward(Adapter):
    """A function for TRL's `reward_funcs`: `GRPOTrainer(reward_funcs=[TRLReward(...)], ...)`.

    The data set's columns `tests` (with `entry_point`), or `benchmark` and `task_id`, say by what a completion is marked.
    TRL adds rewards up and counts None and NaN as 0: before 1.6 always, since then where another function has a reward
    for the row. So with `invalid="mask"` a row without a reward gets the mean of those of its prompt: its advantage is 0, and it
    moves nothing; where none of a prompt's rows has one, the training ends.
    """

    __name__ = "markbook"

    def __init__(self, *, invalid: Invalid = "raise", **options: Any) -> None:
        """Start a rewarder; the arguments are those of `Adapter`.

        Raises:
            UsageError: `invalid` is what TRL takes for 0.
        """
        if invalid == "nan" or invalid != invalid:  # noqa: PLR0124 - NaN is not itself
            raise UsageError("TRL counts NaN as a reward of 0", hint="invalid='mask' leaves the row out")
        super().__init__(invalid=invalid, **options)

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        """Return the rewards of a batch."""
        with no_zero():
            there = _select_known(columns)
            items = [
                {
                    "id": str(number),
                    **with_prompt(
                        _item(completion_text(completion), {name: there[name][number] for name in there}),
                        prompt_text(prompt),
                    ),
                }
                for number, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
            ]
            rewards = self.mark_items(items)
            if self._invalid != "mask":
                return [self.number(reward) for reward in rewards]
            return _neutral(list(map(repr, prompts)), rewards)


def _neutral(prompts: Sequence[str], rewards: Sequence[Reward]) -> list[float]:
    """Return rewards, those that are missing as the mean of their prompt's."""
    rewards_by_prompt: dict[str, list[float]] = {}
    for prompt, reward in zip(prompts, rewards, strict=True):
        rewards_by_prompt.setdefault(prompt, []).extend([] if reward.reward is None else [reward.reward])
    for prompt, reward in zip(prompts, rewards, strict=True):
        if not rewards_by_prompt[prompt]:
            raise NoReward(f"{_why(reward)}; nor for any other completion of its prompt")
    means = {prompt: statistics.fmean(values) for prompt, values in rewards_by_prompt.items()}
    return [
        means[prompt] if reward.reward is None else reward.reward
        for prompt, reward in zip(prompts, rewards, strict=True)
    ]


class VerlReward(Adapter):
    """A function for verl: `custom_reward_function.path` names a module that holds one, `compute_score`.

    `ground_truth` is an item without its code (an object or its JSON), a list of tests, or a test program.
    """

    def __call__(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, object] | None = None,
        **_: object,
    ) -> dict[str, object]:
        """Return the score of one answer, with `valid` beside it."""
        with no_zero():
            return self._to_score(self.mark_items([_truth(solution_str, ground_truth)])[0])

    async def single(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, object] | None = None,
        **_: object,
    ) -> dict[str, object]:
        """Do so in an event loop, for verl's asynchronous loops."""
        with no_zero():
            return self._to_score((await self.mark_items_async([_truth(solution_str, ground_truth)]))[0])

    def batch(
        self,
        data_sources: Sequence[str],
        solution_strs: Sequence[str],
        ground_truths: Sequence[Any],
        extra_infos: Any = None,
        **_: object,
    ) -> list[dict[str, object]]:
        """Return the scores of a batch, for verl's batch reward manager."""
        with no_zero():
            items = [_truth(text, truth) for text, truth in zip(solution_strs, ground_truths, strict=True)]
            return [self._to_score(reward) for reward in self.mark_items(items)]

    def _to_score(self, reward: Reward) -> dict[str, object]:
        """Return a score; `acc`, which verl's validation takes the mean of, is NaN where there is none."""
        passed = math.nan if reward.reward is None else reward.passed == reward.total
        return {"score": self.number(reward), "valid": reward.valid, "acc": passed}


def _truth(text: str | None, truth: Any) -> dict[str, object]:
    import json

    if isinstance(truth, str) and truth.lstrip()[:1] in ("{", "["):
        try:
            truth = json.loads(truth)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the ground truth is not JSON: {error}") from None
    return _item(text, truth if isinstance(truth, Mapping) else {"tests": truth})


class VerifiersReward(Adapter):
    """What verifiers scores by: `reward` in a rubric, `trace_reward` in a task of its newer interface.

    `Rubric(funcs=[VerifiersReward(...).reward])`: `answer` is what `VerlReward` takes for `ground_truth`; `info` may say
    it too, beside fields of your own. Where tasks are classes with decorated rewards, which are called with a trace:

        marks = VerifiersReward(...)

        class Doubling(vf.Task):
            @vf.reward
            async def passes(self, trace) -> float:
                return await marks.trace_reward(trace)
    """

    async def reward(
        self, completion: Any, answer: Any = "", info: Mapping[str, object] | None = None, prompt: Any = "", **_: Any
    ) -> float:
        """Return the reward of one rollout."""
        with no_zero():
            text = completion_text(completion)
            item = _truth(text, answer) if answer else _item(text, _select_known(info or {}))
            return self.number((await self.mark_items_async([with_prompt(item, prompt_text(prompt))]))[0])

    async def trace_reward(self, trace: Any, **columns: object) -> float:
        """Return the reward of a rollout's last reply.

        Args:
            trace: the rollout.
            **columns: what says by what it is marked; else the fields of the task's data of these names, or its `answer`.
        """
        with no_zero():
            data = getattr(trace.task, "data", trace.task)
            fields = data.model_dump() if hasattr(data, "model_dump") else dict(vars(data))
            text, answer = trace.last_reply, fields.get("answer")
            by = columns or _select_known({name: value for name, value in fields.items() if value is not None})
            item = _truth(text, answer) if answer and not by else _item(text, by)
            item = with_prompt(item, prompt_text(fields.get("prompt")))
            return self.number((await self.mark_items_async([item]))[0])


__all__ = ["Order", "Reward", "Rewarder"]
