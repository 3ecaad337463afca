"""Which judges are asked, how patiently, and at what cost: the same for reviews, tasks and single files."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from markbook.errors import UsageError
from markbook.judge.assess import JudgeSettings
from markbook.judge.client import JudgeClient
from markbook.model import connect
from markbook.model.asker import Patience
from markbook.model.cassette import Cassette, is_whole
from markbook.model.prices import Price, parse_price

RETRIES, SECONDS = 2, 30.0
_AT_SERVER = re.compile(
    r"(?P<model>[^@]+(?:@(?!https?://)[^@]*)*)@(?P<url>https?://.+?)(?:@(?P<key>[A-Z_][A-Z0-9_]*))?"
)
"""A judge that has a server of its own: `PROVIDER:NAME@URL`, or `PROVIDER:NAME@URL@KEY_VARIABLE`."""


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
    found = _AT_SERVER.fullmatch(stated)
    return (stated, None) if found is None else (found["model"], Server(found["url"], found["key"] or ""))


def plain_judge(stated: str) -> str:
    """Return what a run keeps of a judge: no user name, password or query of its server's address.

    >>> plain_judge("openai:a@http://me:secret@host/v1?key=x@LOCAL_KEY")
    'openai:a@http://host/v1@LOCAL_KEY'
    """
    model, server = split_judge(stated)
    if server is None:
        return stated
    return "@".join(filter(None, (model, connect.without_secrets(server.url), server.key_variable)))


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """Who is asked, and how patiently."""

    settings: JudgeSettings
    patience: Patience = field(default_factory=lambda: Patience(concurrency=4, retries=RETRIES, seconds=SECONDS))
    base_url: str = ""
    cassette: Path | None = None
    price: Price | None = None
    servers: tuple[tuple[str, Server], ...] = ()
    """Of judges that have one of their own, by model."""

    def server(self, model: str) -> Server | None:
        """Return a judge's own server."""
        return dict(self.servers).get(model)

    def address(self, model: str) -> str:
        """Return where a judge is asked; empty for its provider's own address."""
        server = self.server(model)
        return self.base_url if server is None else server.url

    def key(self, model: str) -> str | None:
        """Return the key that a judge's own server is sent; None where the provider's usual one goes.

        A server that is not the provider's own gets that key only where it was named for it.

        Raises:
            UsageError: the variable that should hold it does not.
        """
        server = self.server(model)
        if server is None:
            return None
        if not server.key_variable:
            return "" if connect.is_foreign(connect.split_name(model)[0], server.url) else None
        key = os.environ.get(server.key_variable, "")
        if not key:
            raise UsageError(
                f"the environment variable {server.key_variable}, which should hold the key of {model}, is not set",
                hint="leave its name out for a server that asks for no key",
            )
        return key

    def as_record(self) -> dict[str, object]:
        """Return what can change an answer, for the manifest; not where the judge is, nor how long to wait."""
        return {
            "models": list(self.settings.models),
            "samples": self.settings.samples,
            "temperature": self.settings.temperature,
            "seed": self.settings.seed,
            "max_tokens": self.settings.max_tokens,
            "mode": self.settings.mode,
            "part_chars": self.settings.part_chars,
            "max_retries": self.patience.retries,
            "token_weights": self.settings.token_weights,
        }


_OPTIONS = {
    "mode": "judge_mode",
    "per_minute": "requests_per_minute",
    "workers": "judge_workers",
    "price": "judge_price",
}


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """What a command or a caller may say about its judges."""

    base_url: str = ""
    cassette: Path | None = None
    samples: int = 1
    temperature: float | None = None
    """None: 0 for one sample, else 0.7."""
    mode: str = "auto"
    per_minute: float | None = None
    workers: int = 4
    max_cost: float | None = None
    """US dollars for the whole run."""
    price: str = ""
    token_weights: bool = False

    def to_options(self) -> dict[str, object]:
        """Return them by the names of the command's options, without secrets and without what was not said."""
        record: dict[str, object] = asdict(self) | {"base_url": connect.without_secrets(self.base_url)}
        record["cassette"] = None if self.cassette is None else os.fspath(self.cassette)
        return {_OPTIONS.get(name, name): value for name, value in record.items() if value is not None}


def plan_panel(
    models: Sequence[str],
    options: JudgeOptions,
    *,
    seed: int = 0,
    retries: int = RETRIES,
    seconds: float = SECONDS,
    profile: str = "corrected",
) -> JudgePlan:
    """Return the plan for these judges; nothing is checked yet, nothing sent.

    Args:
        models: one judge, or a panel; `PROVIDER:NAME`, with `@URL` or `@URL@KEY_VARIABLE` for one with a server of its own.
        options: how they are asked.
        seed: of the judges.
        retries: further requests for one judgement.
        seconds: the deadline of one request.
        profile: as `JudgeSettings` has it.

    Raises:
        UsageError: no judge, a judge twice, a price that is none.
    """
    if not models:
        raise UsageError("there is no judge to ask", hint="name one with --judge PROVIDER:NAME, or `models`")
    judges = dict.fromkeys(map(split_judge, models))
    names = [model for model, _ in judges]
    if len(set(names)) < len(models):
        raise UsageError("a judge stands twice in the panel", hint="use --samples for several answers of one judge")
    single = options.samples == 1
    # Token probabilities come with the text of a reply, not with a tool call.
    mode = "native" if options.token_weights and options.mode == "auto" else options.mode
    settings = JudgeSettings(
        models=tuple(names),
        samples=options.samples,
        temperature=options.temperature if options.temperature is not None else (0.0 if single else 0.7),
        seed=seed,
        mode=mode,
        token_weights=options.token_weights,
        profile=profile,
    )
    price = parse_price(options.price) if options.price else None
    patience = Patience(options.workers, options.per_minute, retries, seconds, options.max_cost)
    servers = tuple((model, server) for model, server in judges if server is not None)
    return JudgePlan(settings, patience, options.base_url, options.cassette, price, servers)


def check_plan(plan: JudgePlan) -> None:
    """Find out before any work whether every judge can be asked; nothing is sent, and a replay needs none.

    Raises:
        UsageError: an unknown provider, no key, an address that does not go with it, a budget without a price.
        ExtraMissingError: the `judge` extra is not installed and the cassette does not make up for it.
    """
    if plan.cassette is not None and is_whole(plan.cassette):
        return
    for model in plan.settings.models:
        if plan.patience.max_cost is not None and connect.price_of(model, plan.address(model), plan.price) is None:
            raise UsageError(
                f"no price is known for {model}, so --max-cost cannot be held",
                hint="state it with --judge-price IN/OUT",
            )
        connect.check(model, plan.address(model), plan.key(model))


@asynccontextmanager
async def open_judges(
    plan: JudgePlan, spent: Mapping[str, float] | None = None, cassette: Cassette | None = None
) -> AsyncIterator[tuple[dict[str, JudgeClient], Cassette | None]]:
    """Open every judge of a plan with one cassette between them.

    Args:
        plan: who is asked, and how patiently.
        spent: US dollars that each judge has cost in the run so far, where that is resumed.
        cassette: one that is open already, for whoever asks several times with one.

    Raises:
        UsageError: a judge has no name, key or price that the plan needs.
        ExtraMissingError: the `judge` extra is not installed and the cassette does not make up for it.
    """
    check_plan(plan)
    if cassette is None and plan.cassette is not None:
        cassette = Cassette(plan.cassette)
    async with AsyncExitStack() as stack:
        judges = {}
        for model in plan.settings.models:
            client: Any = None
            if cassette is None or not cassette.is_whole:
                opened = connect.connect(model, plan.address(model), plan.patience.seconds, plan.key(model))
                client = await stack.enter_async_context(opened)
            judges[model] = JudgeClient(
                model,
                client,
                plan.patience,
                cassette=cassette,
                price=connect.price_of(model, plan.address(model), plan.price),
                mode=plan.settings.mode,
                spent=(spent or {}).get(model, 0.0),
            )
        yield judges, cassette
