"""Tier 2: which judges are asked, how patiently, and at what cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markbook.errors import UsageError
from markbook.judge.assess import Settings
from markbook.judge.cassette import Cassette
from markbook.judge.client import Asks, Judge, Patience
from markbook.judge.live import LiveJudge
from markbook.pipeline.review_config import ReviewConfig
from markbook.prices import Price, listed_price, parse_price


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """Who is asked, and how patiently."""

    settings: Settings
    patience: Patience = field(default_factory=Patience)
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
            "max_retries": self.patience.max_retries,
            "token_weights": self.settings.token_weights,
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


def make_plan(models: Sequence[str], config: ReviewConfig, options: JudgeOptions, *, reviews: int = 0) -> JudgePlan:
    """Return the plan for these judges; what is not said comes from the configuration.

    Args:
        models: one judge, or a panel.
        config: its retries, deadline, seed and budget a review.
        options: the rest.
        reviews: how many there are, to turn the configuration's budget a review into the run's.

    Raises:
        UsageError: a judge twice, or a price that is none.
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
    budget = options.max_cost
    if budget is None and config.cost_per_review is not None and reviews and _has_price(models, price):
        budget = config.cost_per_review * reviews
    patience = Patience(
        max_retries=config.max_retries,
        seconds=config.judge_seconds,
        per_minute=options.per_minute,
        concurrency=options.workers,
        max_cost=budget,
        mode=mode,
    )
    return JudgePlan(settings, patience, options.base_url, options.cassette, price)


def _price_of(model: str) -> Price | None:
    """Return the listed price of `PROVIDER:NAME`."""
    provider, _, name = model.partition(":")
    return listed_price(provider, name)


def _has_price(models: Sequence[str], price: Price | None) -> bool:
    return price is not None or all(_price_of(model) is not None for model in models)


@asynccontextmanager
async def open_judges(plan: JudgePlan) -> AsyncIterator[tuple[dict[str, Judge], Cassette | None]]:
    """Open every judge of a plan with one cassette between them.

    Raises:
        UsageError: a judge has no name, key or price that the plan needs.
        ExtraMissingError: the `judge` extra is not installed and the cassette does not make up for it.
    """
    cassette = Cassette(plan.cassette) if plan.cassette is not None else None
    async with AsyncExitStack() as stack:
        judges = {}
        for model in plan.settings.models:
            live: Asks | None = None
            price = plan.price or _price_of(model)
            if cassette is None or not cassette.is_whole:
                if plan.patience.max_cost is not None and price is None:
                    raise UsageError(
                        f"no price is known for {model}, so --max-cost cannot be held",
                        hint="state it with --judge-price IN/OUT",
                    )
                live = await stack.enter_async_context(
                    LiveJudge(model, base_url=plan.base_url, seconds=plan.patience.seconds)
                )
            judges[model] = Judge(model, live, plan.patience, cassette=cassette, price=price)
        yield judges, cassette
