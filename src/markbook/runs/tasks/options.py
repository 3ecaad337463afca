"""How tasks are run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markbook.config import ContextMode
from markbook.runs.options import RunOptions, aside
from markbook.runs.tasks.scoring.metrics import Profile

ASKING = "asking"
"""Where run.json keeps how a model is asked."""
JUDGING = "judging"
"""Where run.json keeps how judges are asked; what of it can change a value is in the metrics' signatures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions(RunOptions):
    """How tasks are run. The first group can change a result, the second cannot."""

    limit: int | None = None
    """Rows of each task at most."""
    samples: int | None = None
    """Answers per row, instead of what the task says."""
    num_fewshot: int | None = None
    """Worked examples before each question, instead of what the task says."""
    gen_kwargs: str = ""
    """What a model is told beside the prompt, over what the task says: `temperature=0.7,max_gen_toks=100`."""
    system: str = ""
    """The system message, before what the task says; of a model that continues texts, their beginning."""
    turns: bool = False
    """Whether worked examples are asked as turns of their own, and a description as the system message."""
    contexts: tuple[ContextMode, ...] = ()
    """Run each task in these context modes, and compare them."""
    profile: Profile = "corrected"
    seed: int = 0
    missing: Literal["exclude", "worst", "fail"] = "exclude"
    """How a missing value counts in a mean."""
    timeout: float = 60.0
    """CPU seconds for one answer's tests."""
    allow_code: bool = False
    """Whether what a task file names may be run: a Python file beside it, `package.module:factory`."""

    tasks: Sequence[str | os.PathLike[str]] = aside(())
    """YAML files or names of ready tasks; what they say is in the manifest's config, and so are the model and its server."""
    predictions: str | os.PathLike[str] | None = aside(None)
    """A file of answers, or a folder with one file a task."""
    data: str | os.PathLike[str] | None = aside(None)
    """A file of rows to use instead of the one that the tasks name."""
    model: str | None = aside(None)
    generator: str = aside("")
    """Who answers instead of a model: a generator plugin; what it is called stands in the manifest's config."""
    against: str | os.PathLike[str] | None = aside(None)
    """A finished run to be held against, where `stop_when` says so; its marks and the rule are in the manifest's config."""
    stop_when: str = aside("")
    """`decided` or `precise:0.03`; empty to do all."""
    base_url: str = aside("")
    isolation: Literal["auto", "strict", "weak"] = aside("auto")
    concurrency: int = aside(8, kept=ASKING)
    per_minute: float | None = aside(None, kept=ASKING)
    retries: int = aside(5, kept=ASKING)
    request_seconds: float = aside(120.0, kept=ASKING)
    max_cost: float | None = aside(None, kept=ASKING)
    price: str = aside("", kept=ASKING)
    judges: tuple[str, ...] = aside((), kept=JUDGING)
    """Who judges, where a task has the metric `judge`; empty: whom its own options name."""
    judge_url: str = aside("", kept=JUDGING)
    cassette: str | os.PathLike[str] | None = aside(None, kept=JUDGING)
    judge_samples: int | None = aside(None, kept=JUDGING)
    judge_max_cost: float | None = aside(None, kept=JUDGING)
    judge_price: str = aside("", kept=JUDGING)
    judge_temperature: float | None = aside(None, kept=JUDGING)
    judge_mode: str = aside("", kept=JUDGING)
    """How the structured reply is asked for; empty: what the task says, else `auto`."""
    judge_token_weights: bool | None = aside(None, kept=JUDGING)
    judge_retries: int | None = aside(None, kept=JUDGING)
    judge_timeout: float | None = aside(None, kept=JUDGING)
    judge_per_minute: float | None = aside(None, kept=JUDGING)
    judge_workers: int | None = aside(None, kept=JUDGING)
