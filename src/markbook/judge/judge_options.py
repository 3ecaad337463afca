"""What a command or a caller may say about judges, whoever asks them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from markbook.errors import ConfigError
from markbook.option import (
    ASKING_JUDGES,
    FILE,
    JUDGE_PATIENCE,
    CountRange,
    NumberRange,
    WordChoice,
    declaration,
    option,
    values_of_command,
    would_send_key,
    would_write,
)

_AT_SERVER = re.compile(
    r"(?P<model>[^@]+(?:@(?!https?://)[^@]*)*)@(?P<url>https?://.+?)(?:@(?P<key>[A-Z_][A-Z0-9_]*))?"
)
"""A judge that has a server of its own: `PROVIDER:NAME@URL`, or `PROVIDER:NAME@URL@KEY_VARIABLE`."""
JUDGE_ADDRESSES = "judge_addresses"
"""Where run.json holds the address of each judge: a run is not resumed with a judge at another one."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where one judge of a panel is asked."""

    url: str
    key_variable: str = ""
    """The environment variable that holds its key; empty for a server that asks for none."""


def split_judge(stated: str) -> tuple[str, Server | None]:
    """Return the model that a judge is, and the server of its own, if it has one.

    >>> split_judge("openai:a@http://127.0.0.1:8001/v1@LOCAL_KEY")
    ('openai:a', Server(url='http://127.0.0.1:8001/v1', key_variable='LOCAL_KEY'))
    >>> split_judge("openai:a")
    ('openai:a', None)
    """
    match = _AT_SERVER.fullmatch(stated)
    return (stated, None) if match is None else (match["model"], Server(match["url"], match["key"] or ""))


def plain_judge(stated: str) -> str:
    """Return what a run keeps of a judge: no user name, password or query of its server's address.

    >>> plain_judge("openai:a@http://me:secret@host/v1?key=x@LOCAL_KEY")
    'openai:a@http://host/v1@LOCAL_KEY'
    """
    from markbook.model import connect

    model, server = split_judge(stated)
    if server is None:
        return stated
    return "@".join(filter(None, (model, connect.without_secrets(server.url), server.key_variable)))


MODES = ("auto", "tool", "native", "prompted")
ASKED = "asked"
"""Where run.json of a review keeps what the command was asked."""


def _judge_option(default: Any, *flags: str, **declared: Any) -> Any:
    return option(default, *flags, section=ASKING_JUDGES, kept=ASKED, **declared)


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """What a command or a caller may say about its judges."""

    base_url: str = _judge_option(
        "",
        "--base-url",
        "--judge-url",
        parameter="base_url",
        help="URL of the judge's server, if not its provider's own.",
        danger=would_send_key,
    )
    cassette: Path | None = _judge_option(
        None,
        "--cassette",
        values=FILE,
        help="Record the judge's replies in this file, or replay them if it exists.",
        danger=would_write,
    )
    samples: int = _judge_option(
        1, "--judge-samples", values=CountRange(1, 100), help="Number of queries per judgement and judge."
    )
    temperature: float | None = _judge_option(
        None, "--judge-temperature", values=NumberRange(0, 2), help="Temperature (default: 0 for one sample, else 0.7)."
    )
    mode: str = _judge_option(
        "auto",
        "--judge-mode",
        parameter="judge_mode",
        values=WordChoice(MODES),
        help="How the structured reply is requested.",
        shows_default=False,
    )
    retries: int | None = _judge_option(
        None, "--judge-retries", parameter="max_retries", values=CountRange(0, 20),
        help=f"HTTP retries per judgement (default {JUDGE_PATIENCE.retries}).",
    )  # fmt: skip
    """None: what the caller's configuration says."""
    seconds: float | None = _judge_option(
        None,
        "--judge-timeout",
        parameter="judge_timeout",
        values=NumberRange(0, above_low=True),
        help=f"Timeout per request in seconds, queueing excluded (default {JUDGE_PATIENCE.seconds:g}).",
    )
    """None: what the caller's configuration says."""
    per_minute: float | None = _judge_option(
        None, "--judge-requests-per-minute", parameter="requests_per_minute", values=NumberRange(0, above_low=True),
        help="Maximum requests per minute to each judge.",
    )  # fmt: skip
    workers: int = _judge_option(
        JUDGE_PATIENCE.concurrency,
        "--judge-workers",
        parameter="judge_workers",
        values=CountRange(1, 64),
        help="Concurrent judgements.",
    )
    max_cost: float | None = _judge_option(
        None, "--judge-max-cost", values=NumberRange(0), help="Maximum cost of the judge in US dollars."
    )
    price: str = _judge_option(
        "",
        "--judge-price",
        parameter="judge_price",
        help="Prices IN/OUT in US dollars per million tokens, if none is listed.",
    )
    token_weights: bool = _judge_option(
        False, "--judge-token-weights", help="Weight scores by token probabilities, if the server returns them."
    )

    def check(self) -> None:
        """Find out whether a value lies outside of what is declared of its option: only the command line has seen to it.

        Raises:
            ConfigError: which one, and what it may be.
        """
        for name, declared in _DECLARED.items():
            value, values = getattr(self, name), declared.values
            if value is None and name in _MAY_BE_NONE:
                continue
            if isinstance(values, WordChoice) and value not in values.words:
                *words, last = values.words
                raise ConfigError(f"judge: {name} must be {', '.join(words)} or {last}, not {value!r:.40}")
            if not isinstance(values, NumberRange | CountRange):
                continue
            is_count, low, high = isinstance(values, CountRange), values.low, values.high
            is_open = isinstance(values, NumberRange) and values.above_low
            # NaN is in no range, since it compares as false; True is a number for Python alone.
            if (
                isinstance(value, bool)
                or not isinstance(value, int if is_count else int | float)
                or not (low is None or value > low or (value == low and not is_open))
                or not value <= (math.inf if high is None else high)
                or value == math.inf
            ):
                bounds = f"{'above' if is_open else 'from'} {low}{'' if high is None else f' to {high}'}"
                number = "a whole number" if is_count else "a number"
                raise ConfigError(f"judge: {name} must be {number} {bounds}, not {value!r:.40}")

    def to_options(self) -> dict[str, object]:
        """Return them by the names of the command's options, without secrets and without what was not said."""
        from markbook.model.connect import without_secrets

        return values_of_command(self) | {"base_url": without_secrets(self.base_url)}


_MAY_BE_NONE = frozenset({"temperature", "retries", "seconds", "per_minute", "max_cost", "cassette"})
_DECLARED = {field.name: declaration(field) for field in fields(JudgeOptions)}


def beside_a_model(default: Any, flag: str, name: str, **declared: Any) -> Any:
    """Return the field of an option of judges in a command whose plain names are those of the model that is asked.

    `name` is the field of `JudgeOptions` that it sets (`models` for who judges), `declared` what is said otherwise
    there.
    """
    values = _DECLARED[name].values if name in _DECLARED else None
    return option(
        default,
        flag,
        **{"values": values, "section": ASKING_JUDGES, "changes_results": False, "kept": "judging", "sets": name}
        | declared,
    )


def judges_would_send_key(judges: Sequence[str]) -> str:
    """Return what the servers of judges that have their own would get; empty if all are this machine's."""
    servers = [server for _, server in map(split_judge, judges) if server is not None]
    return next((danger for server in servers if (danger := would_send_key(server.url))), "")
