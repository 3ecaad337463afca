"""Tier 2: the plan for a run's judges, with what its configuration says where the caller says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markbook.judge.panel import JudgeOptions, JudgePlan, check_plan, plan_panel
from markbook.model import connect
from markbook.runs.reviews.config import ReviewConfig


def make_plan(models: Sequence[str], config: ReviewConfig, options: JudgeOptions, *, reviews: int = 0) -> JudgePlan:
    """Return the plan for these judges; what is not said comes from the configuration.

    Args:
        models: one judge, or a panel.
        config: its retries, deadline, seed and budget a review.
        options: the rest.
        reviews: how many there are, to turn the configuration's budget a review into the run's.

    Raises:
        UsageError: as `plan_panel` and `check_plan`.
        ExtraMissingError: as `check_plan`.
    """
    plan = plan_panel(
        models,
        options,
        seed=config.seed,
        retries=config.max_retries,
        seconds=config.judge_seconds,
        profile=config.profile,
    )
    prices = [connect.price_of(model, plan.address(model), plan.price) for model in plan.settings.models]
    if options.max_cost is None and config.cost_per_review is not None and reviews and None not in prices:
        plan = replace(plan, patience=replace(plan.patience, max_cost=config.cost_per_review * reviews))
    check_plan(plan)
    return plan
