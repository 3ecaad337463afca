"""Verdicts for training: marked in isolation by an exam's rules, a number or a reason.

async with Rewarder(benchmark="HumanEval.jsonl.gz") as rewarder:
    results = await rewarder.mark([{"task_id": "HumanEval/0", "code": reply}])
"""

from __future__ import annotations

from markbook.rewards.records import Order, Reward
from markbook.rewards.rewarder import Rewarder

__all__ = ["Order", "Reward", "Rewarder"]
