"""Asking a model, whatever kind of run asks it: who is asked, what for, and the replies, each kept on disk first."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from markbook.config import Sampling
from markbook.errors import UsageError
from markbook.model import ModelReply, PromptRequest
from markbook.model.connect import split_name
from markbook.model.lean import COMPLETIONS
from markbook.plugins import suggest
from markbook.runs.generators import make_generator
from markbook.runs.kind import Start, Step, Watcher
from markbook.runs.options import AskingOptions
from markbook.runs.shared_calls import SharedCalls
from markbook.store import RunWriter

COMPLETION, UNANSWERED = "completion", "unanswered"
"""The kinds of journal row that hold what a model replied, and what questions cost that brought nothing."""
_NUMBERS = {
    "temperature": ("temperature", float),
    "top_p": ("top_p", float),
    "max_gen_toks": ("max_tokens", int),
    "max_new_tokens": ("max_tokens", int),
    "max_tokens": ("max_tokens", int),
    "seed": ("seed", int),
}
_STOPS, _IGNORED = "until", "do_sample"
Key = tuple[str | int, ...]


class Usage(TypedDict):
    """What a model's replies cost, as run.json holds it; a sum with an unknown part is unknown."""

    replies: int
    failed: int
    requests: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    cost_at_most: float | None
    replies_without_price: int


def goes_on(options: AskingOptions) -> bool:
    """Whether a model's server continues texts instead of answering in turns; another package's generator never does."""
    return not options.generator and split_name(options.model or "")[0] == COMPLETIONS


def generator_of(options: AskingOptions) -> Any:
    """Return what asks the model (`markbook.model.Generator`); None where the answers exist.

    Raises:
        UsageError: no provider in the name, a limit out of range, a budget for a model of unknown price.
    """
    if options.model is None:
        return None
    return make_generator(options)


def check_generator(generator: Any) -> None:
    """Find out whether the model can be asked, where there is one and it can tell.

    Raises:
        UsageError: an unknown provider, no key, an address that is none or at which nothing listens.
    """
    getattr(generator, "check", lambda: None)()


class Replies:
    """A model's replies, each kept on disk before the next step."""

    def __init__(self, journal: RunWriter, generator: Any, watch: Watcher, total: int) -> None:
        """Take up what a resumed run had; nothing of that is asked again.

        Args:
            journal: of the run.
            generator: asks the model.
            watch: is told of each reply.
            total: how many questions there are in all.
        """
        self._journal, self._generator, self._watch = journal, generator, watch
        self._replies = {row.key: _reply_of(row.key, row.data) for row in journal.rows(COMPLETION)}
        self._committed = SharedCalls(journal.commit)
        done = len(self._replies)
        watch.on_start(
            journal.folder, Start(total, done, done, f"{total} questions", doing="asking", did="asked", well="answered")
        )
        # Questions that brought nothing have cost something too, each time that they were asked.
        lost = list(journal.rows(UNANSWERED))
        spent = (row.data.get("cost_at_most") for row in itertools.chain(journal.rows(COMPLETION), lost))
        generator.spent = sum(cost or 0.0 for cost in spent)
        self._times = itertools.count(len(lost))

    def replies_to(self, requests: Sequence[PromptRequest]) -> dict[Key, ModelReply]:
        """Return the replies to questions; the model is asked those that nobody asked it yet."""
        waiting = [request for request in requests if request.key not in self._replies]
        if waiting:
            self._generator.generate(waiting, self._keep)
        return {request.key: self._replies[request.key] for request in requests}

    def _keep(self, reply: ModelReply) -> None:
        self._replies[reply.key] = reply
        if reply.missing is None:
            self._journal.add(COMPLETION, reply.key, reply.as_record())
            self._committed.soon()
        elif reply.cost_at_most:
            record = {"requests": reply.requests, "cost_at_most": reply.cost_at_most}
            self._journal.add(UNANSWERED, (*reply.key, next(self._times)), record, remember=False)
            self._committed.soon()
        why = "" if reply.missing is None else reply.missing.detail
        self._watch.did(Step(" ".join(map(str, reply.key)), reply.missing is None, why))


def _reply_of(key: Key, data: Mapping[str, Any]) -> ModelReply:
    names = ("text", "raw", "finish", "input_tokens", "output_tokens", "cost", "cost_at_most", "requests", "seconds")
    return ModelReply(key, **{name: data[name] for name in names if name in data})


def usage_of(replies: Sequence[ModelReply]) -> Usage:
    """Return what replies cost, those that brought nothing too."""
    answered = [reply for reply in replies if reply.missing is None]
    replies_asked = [reply for reply in replies if reply.requests or reply.cost_at_most or reply.missing is None]

    def total(name: str, of: Sequence[ModelReply]) -> Any:
        values = [getattr(reply, name) for reply in of]
        return None if not values or any(value is None for value in values) else sum(values)

    return {
        "replies": len(answered),
        "failed": len(replies) - len(answered),
        "requests": sum(reply.requests for reply in replies),
        "input_tokens": total("input_tokens", answered),
        "output_tokens": total("output_tokens", answered),
        "cost": total("cost", replies_asked),
        "cost_at_most": total("cost_at_most", replies_asked),
        "replies_without_price": sum(reply.cost is None for reply in replies_asked),
    }


def timings(replies: Mapping[Key, ModelReply]) -> Iterator[str]:
    """Yield the lines of `timings.jsonl`: how long each reply took, kept out of the deterministic files."""
    for key in sorted(replies, key=lambda reply_key: tuple(map(str, reply_key))):
        if replies[key].requests:
            record = {"key": list(key), "seconds": replies[key].seconds, "requests": replies[key].requests}
            yield json.dumps(record, ensure_ascii=False) + "\n"


def sampling_with(sampling: Sampling, text: str) -> Sampling:
    """Return how a model is asked, with `KEY=VALUE,...` over what the task says.

    Raises:
        UsageError: an unknown key, a value out of range.
    """
    changed: dict[str, float | None] = {}
    stops: list[str] = []
    for pair in text.split(","):
        key, sign, value = (part.strip() for part in pair.partition("="))
        if key == _STOPS and sign:
            stops.append(value)
        elif key in _NUMBERS and sign:
            name, kind = _NUMBERS[key]
            changed[name] = _number(key, value, kind)
        elif key != _IGNORED or not sign:
            hint = suggest(key, [*_NUMBERS, _STOPS]) if sign else "KEY=VALUE,KEY=VALUE"
            raise UsageError(f"--gen-kwargs: {pair.strip()!r} says nothing that a server is told", hint=hint)
    changed_sampling = replace(sampling, **changed)  # type: ignore[arg-type]  # each is of its field's type, by the table above
    return replace(changed_sampling, stop=tuple(stops)) if stops else changed_sampling


def _number(key: str, value: str, kind: type[float]) -> float:
    try:
        number = kind(value)
    except ValueError:
        number = -1
    least = 1 if key.startswith("max") else 0
    if not least <= number < float("inf") or (key == "top_p" and not 0 < number <= 1):
        raise UsageError(f"--gen-kwargs: {key} cannot be {value!r}")
    return number
