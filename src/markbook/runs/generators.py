"""Who answers: a model, or a generator of another package by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from markbook import plugins
from markbook.model import ModelReply, PromptRequest
from markbook.runs.options import ASKS_MODELS, AskingOptions
from markbook.types import Missing, MissingKind


def make_generator(options: AskingOptions) -> Any:
    """Return what answers, with those of the options that it takes.

    Raises:
        UsageError: no such generator, or a model that is none.
        ConfigError: it cannot be made.
    """
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
