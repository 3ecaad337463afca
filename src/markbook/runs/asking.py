"""Asking a model, whatever kind of run asks it: who is asked, what for, and the replies, each kept on disk first.

Theory of operation
-------------------
`Replies` stands between a kind of run and a generator. It knows the replies that the journal has, asks the generator for
the others only, and writes each reply down in the turn of the event loop in which it came: many replies that come at once
share one commit (`SharedCalls`), because a sync of the disk takes longer than a reply. Questions that brought nothing are
not remembered as answered, so a resumed run asks them again, but what they cost counts against the budget for good.
The generator may be another package's: `_OfOthers` holds it to one reply a question and makes a reason of none.
"""

from __future__ import annotations

import inspect
import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

from markbook import plugins
from markbook.config import Sampling
from markbook.errors import DataError, StorageError, UsageError, suggest
from markbook.model import GenerationSettings, ModelReply, PromptRequest
from markbook.report.words import TokenUsage
from markbook.runs.kind import Progress, Start, Watcher
from markbook.runs.options import ASKS_MODELS, AskingOptions
from markbook.store import RunWriter
from markbook.store.journal import StoredRow
from markbook.text.schema import make_check
from markbook.types import Key, Missing, MissingKind

# Who answers: a model, or a generator of another package by its name.


def connect_generator(options: AskingOptions) -> Any:
    """Return what asks the model (`markbook.model.Generator`), with those of the options that it takes; None where answers exist.

    Raises:
        UsageError: no such generator, no provider in the name, a limit out of range, a budget for a model of unknown price.
        ConfigError: it cannot be made.
    """
    if options.model is None:
        return None
    options_given = {
        "model": options.model,
        "base_url": options.base_url,
        "concurrency": options.concurrency,
        "per_minute": options.per_minute,
        "retries": options.retries,
        "seconds": options.request_seconds,
        "max_cost": options.max_cost,
        "price": options.price,
    }
    if not options.generator:
        return plugins.create("generators", ASKS_MODELS, **options_given)
    factory = plugins.factory("generators", options.generator, allow_code=True)
    # Another package's factory may know fewer options, and is called with those that it names.
    parameters = inspect.signature(factory).parameters.values()
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        options_given = {
            parameter.name: options_given[parameter.name] for parameter in parameters if parameter.name in options_given
        }
    return _OfOthers(options.generator, plugins.create_typed("generators", options.generator, **options_given))


class _OfOthers:
    """A generator of another package, held to what a run relies on: one reply to each request, and a reason for none."""

    def __init__(self, name: str, generator: Any) -> None:
        self._name, self._made = name, generator
        self.spent = 0.0
        """US dollars that the run has spent so far."""

    def check(self) -> None:
        """Let it find out whether it can answer, if it has a way to."""
        with plugins.plugin_errors("generators", self._name):
            getattr(self._made, "check", lambda: None)()

    def generate(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        """Call `on_reply` once for each request."""
        waiting = dict.fromkeys(request.key for request in requests)

        def take(reply: object) -> None:
            if not isinstance(reply, ModelReply):
                raise TypeError(f"it replies with {type(reply).__name__!r}, not with a markbook.model.ModelReply")
            if reply.key in waiting:  # a second reply to one request counts as little as one to none
                del waiting[reply.key]
                on_reply(reply)

        with plugins.plugin_errors("generators", self._name):
            self._made.generate(requests, take)
        for key in waiting:
            on_reply(
                ModelReply(key, missing=Missing(MissingKind.UNAVAILABLE, f"generator {self._name!r} gave no reply"))
            )


# Doing once for all that came at once.


class SharedCalls:
    """Puts off what many want done, and does it once for all of them."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._is_due = False

    def soon(self) -> None:
        """Do it before anything else is waited for: at the end of this turn of the event loop, without one at once.

        Raises:
            StorageError: without an event loop, what was done raised it.
        """
        import asyncio  # late, as the client below: a run whose answers exist asks nobody

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._act()
            return
        if not self._is_due:
            self._is_due = True
            loop.call_soon(self._now)

    def _now(self) -> None:
        self._is_due = False
        try:
            self._act()
        except StorageError:
            return  # nobody waits here to be told: the journal keeps it, and raises it again at the next row


JUDGEMENT, JUDGEMENT_GAP = "judgement", "judgement_gap"
"""The kinds of journal row of judges: an answer that stands, and one that a resumed run asks for again."""
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
_REPLY_FIELDS = {
    name: make_check(hint) for name, hint in get_type_hints(ModelReply).items() if name not in ("key", "missing")
}


def goes_on(options: AskingOptions) -> bool:
    """Whether a model's server continues texts instead of answering in turns; another package's generator never does."""
    from markbook.model.connect import COMPLETIONS, split_name

    return not options.generator and split_name(options.model or "")[0] == COMPLETIONS


def check_generator(generator: Any) -> None:
    """Find out whether the model can be asked, where there is one and it can tell.

    Raises:
        UsageError: an unknown provider, no key, an address that is none or at which nothing listens.
    """
    getattr(generator, "check", lambda: None)()


def read_fields(row: StoredRow, at: Path, *needed: str) -> dict[str, Any]:
    """Return what a journal's row keeps of a reply.

    Raises:
        DataError: it is not what a reply has.
    """
    values = {name: row.data[name] for name in _REPLY_FIELDS if name in row.data}
    wrong = next((name for name in (*needed, *values) if _REPLY_FIELDS[name](values.get(name)) is not None), None)
    if wrong is not None:
        key = " ".join(map(str, row.key))
        raise DataError(
            f"the journal's row of the reply to {key!r} is damaged: {wrong!r} is not what stands there", at=str(at)
        )
    return values


class Replies:
    """A model's replies, each kept on disk before the next step."""

    def __init__(self, journal: RunWriter, generator: Any, watch: Watcher, total: int) -> None:
        """Take up what a resumed run had; nothing of that is asked again. `watch` is told of each of `total` replies."""
        self._journal, self._generator, self._watch = journal, generator, watch
        self._replies = {
            row.key: ModelReply(row.key, **read_fields(row, journal.folder, "text")) for row in journal.rows(COMPLETION)
        }
        # One sync for all replies of a turn of the event loop: a sync takes longer than many a reply.
        self._committed = SharedCalls(journal.commit)
        done = len(self._replies)
        watch.on_start(
            journal.folder, Start(total, done, done, f"{total} questions", doing="asking", did="asked", well="answered")
        )
        # Questions that brought nothing have cost something too, each time that they were asked.
        lost = [read_fields(row, journal.folder).get("cost_at_most") for row in journal.rows(UNANSWERED)]
        spent = [*(reply.cost_at_most for reply in self._replies.values()), *lost]
        # Set before the first question, so that a budget holds over all resumes of a run together.
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
            # Under a number of its own: a question that fails in each resume has cost something each time.
            record = {"requests": reply.requests, "cost_at_most": reply.cost_at_most}
            self._journal.add(UNANSWERED, (*reply.key, next(self._times)), record, remember=False)
            self._committed.soon()
        why = "" if reply.missing is None else reply.missing.detail
        self._watch.did(Progress(" ".join(map(str, reply.key)), reply.missing is None, why))


def sum_field(replies: Sequence[ModelReply], name: str) -> Any:
    """Return the sum of a number over replies; a sum with an unknown part is unknown, and so is that of none."""
    values = [getattr(reply, name) for reply in replies]
    return None if not values or None in values else sum(values)


def sum_usage(replies: Sequence[ModelReply]) -> TokenUsage:
    """Return what replies cost, those that brought nothing too."""
    answered = [reply for reply in replies if reply.missing is None]
    replies_asked = [reply for reply in replies if reply.requests or reply.cost_at_most or reply.missing is None]

    return {
        "replies": len(answered),
        "failed": len(replies) - len(answered),
        "requests": sum(reply.requests for reply in replies),
        "input_tokens": sum_field(answered, "input_tokens"),
        "output_tokens": sum_field(answered, "output_tokens"),
        "cost": sum_field(replies_asked, "cost"),
        "cost_at_most": sum_field(replies_asked, "cost_at_most"),
        "replies_without_price": sum(reply.cost is None for reply in replies_asked),
    }


def sum_paid(journal: RunWriter) -> defaultdict[str, float]:
    """Return what each judge has cost in a run so far: a budget is for all of it, however often it is resumed."""
    paid = defaultdict[str, float](float)
    # Calls that brought nothing were paid for too, so both kinds count against the budget.
    for row in itertools.chain(journal.rows(JUDGEMENT), journal.rows(JUDGEMENT_GAP)):
        paid[str(row.data["model"])] += row.data.get("paid") or 0.0
    return paid


def timings(replies: Mapping[Key, ModelReply]) -> Iterator[str]:
    """Yield the lines of `timings.jsonl`: how long each reply took, kept out of the deterministic files."""
    for key in sorted(replies, key=lambda reply_key: tuple(map(str, reply_key))):
        if replies[key].requests:
            record = {"key": list(key), "seconds": replies[key].seconds, "requests": replies[key].requests}
            yield json.dumps(record, ensure_ascii=False) + "\n"


def make_settings(sampling: Sampling, seed: int, stop: tuple[str, ...] = ()) -> GenerationSettings:
    """Return how a model is asked, with a run's seed and the ends of a question where the sampling states none."""
    # Seed 0 is the run's default, not a wish: servers are told a seed only where somebody asked for one.
    own_seed = (seed or None) if sampling.seed is None else sampling.seed
    return GenerationSettings(
        sampling.temperature, sampling.top_p, sampling.max_tokens, sampling.stop or stop, own_seed
    )


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
            if not value:  # every text holds it: a server refuses it, or ends each reply before it begins
                raise UsageError(f"--gen-kwargs: {key} cannot be {value!r}")
            stops.append(value)
        elif key in _NUMBERS and sign:
            name, kind = _NUMBERS[key]
            try:
                number = kind(value)
            except ValueError:
                number = -1
            least = 1 if key.startswith("max") else 0
            if not least <= number < float("inf") or (key == "top_p" and not 0 < number <= 1):
                raise UsageError(f"--gen-kwargs: {key} cannot be {value!r}")
            changed[name] = number
        elif key != _IGNORED or not sign:
            hint = suggest(key, [*_NUMBERS, _STOPS]) if sign else "KEY=VALUE,KEY=VALUE"
            raise UsageError(f"--gen-kwargs: {pair.strip()!r} says nothing that a server is told", hint=hint)
    changed_sampling = replace(sampling, **changed)  # type: ignore[arg-type]  # each is of its field's type, by the table above
    return replace(changed_sampling, stop=tuple(stops)) if stops else changed_sampling
