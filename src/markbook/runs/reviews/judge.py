"""Tier 2: which judges are asked, how patiently, and at what cost."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from markbook.errors import UsageError
from markbook.judge.assess import Settings
from markbook.judge.client import Judge
from markbook.model import connect
from markbook.model.asker import Patience
from markbook.model.cassette import Cassette, is_whole
from markbook.model.prices import Price, parse_price
from markbook.runs.reviews.config import ReviewConfig


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """Who is asked, and how patiently."""

    settings: Settings
    patience: Patience = field(default_factory=lambda: Patience(concurrency=4, retries=2, seconds=30.0))
    base_url: str = ""
    cassette: Path | None = None
    price: Price | None = None

    def as_record(self) -> dict[str, Any]:
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

    def asked(self) -> dict[str, Any]:
        """Return them by the names of the command's options, without secrets and without what was not said."""
        record = asdict(self) | {"base_url": connect.without_secrets(self.base_url)}
        record["cassette"] = None if self.cassette is None else os.fspath(self.cassette)
        return {_OPTIONS.get(name, name): value for name, value in record.items() if value is not None}


def make_plan(models: Sequence[str], config: ReviewConfig, options: JudgeOptions, *, reviews: int = 0) -> JudgePlan:
    """Return the plan for these judges; what is not said comes from the configuration.

    Args:
        models: one judge, or a panel.
        config: its retries, deadline, seed and budget a review.
        options: the rest.
        reviews: how many there are, to turn the configuration's budget a review into the run's.

    Raises:
        UsageError: a judge twice, a price that is none, or as `check_plan`.
        ExtraMissingError: as `check_plan`.
    """
    if len(set(models)) < len(models):
        raise UsageError("a judge stands twice in the panel", hint="use --samples for several answers of one judge")
    single = options.samples == 1
    # Token probabilities come with the text of a reply, not with a tool call.
    mode = "native" if options.token_weights and options.mode == "auto" else options.mode
    settings = Settings(
        models=tuple(models),
        samples=options.samples,
        temperature=options.temperature if options.temperature is not None else (0.0 if single else 0.7),
        seed=config.seed,
        mode=mode,
        token_weights=options.token_weights,
        profile=config.profile,
    )
    price = parse_price(options.price) if options.price else None
    prices = [connect.price_of(model, options.base_url, price) for model in models]
    budget = options.max_cost
    if budget is None and config.cost_per_review is not None and reviews and None not in prices:
        budget = config.cost_per_review * reviews
    patience = Patience(options.workers, options.per_minute, config.max_retries, config.judge_seconds, budget)
    plan = JudgePlan(settings, patience, options.base_url, options.cassette, price)
    check_plan(plan)
    return plan


def check_plan(plan: JudgePlan) -> None:
    """Find out before any work whether every judge can be asked; nothing is sent, and a replay needs none.

    Raises:
        UsageError: an unknown provider, no key, an address that does not go with it, a budget without a price.
        ExtraMissingError: the `judge` extra is not installed and the cassette does not make up for it.
    """
    if plan.cassette is not None and is_whole(plan.cassette):
        return
    for model in plan.settings.models:
        if plan.patience.max_cost is not None and connect.price_of(model, plan.base_url, plan.price) is None:
            raise UsageError(
                f"no price is known for {model}, so --max-cost cannot be held",
                hint="state it with --judge-price IN/OUT",
            )
        connect.check(model, plan.base_url)


@asynccontextmanager
async def open_judges(
    plan: JudgePlan, spent: Mapping[str, float] | None = None
) -> AsyncIterator[tuple[dict[str, Judge], Cassette | None]]:
    """Open every judge of a plan with one cassette between them.

    Args:
        plan: who is asked, and how patiently.
        spent: US dollars that each judge has cost in the run so far, where that is resumed.

    Raises:
        UsageError: a judge has no name, key or price that the plan needs.
        ExtraMissingError: the `judge` extra is not installed and the cassette does not make up for it.
    """
    check_plan(plan)
    cassette = Cassette(plan.cassette) if plan.cassette is not None else None
    async with AsyncExitStack() as stack:
        judges = {}
        for model in plan.settings.models:
            client: Any = None
            if cassette is None or not cassette.is_whole:
                client = await stack.enter_async_context(connect.connected(model, plan.base_url, plan.patience.seconds))
            judges[model] = Judge(
                model,
                client,
                plan.patience,
                cassette=cassette,
                price=connect.price_of(model, plan.base_url, plan.price),
                mode=plan.settings.mode,
                spent=(spent or {}).get(model, 0.0),
            )
        yield judges, cassette
