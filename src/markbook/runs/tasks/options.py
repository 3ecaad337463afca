"""How tasks are run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markbook.config import ContextMode
from markbook.runs.options import AskingOptions, AskingSettings, aside
from markbook.runs.tasks.scoring.metrics import Profile

JUDGING = "judging"
"""Where run.json keeps how judges are asked; what of it can change a value is in the metrics' signatures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions(AskingOptions):
    """How tasks are run. The first group can change a result, the second cannot."""

    limit: int | None = None
    """Rows of each task at most."""
    num_fewshot: int | None = None
    """Worked examples before each question, instead of what the task says."""
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
    allow_unsafe_code: bool = aside(False)
    """Whether code of a task that says `unsafe_code: true` may be run: it runs what models write, outside the sandbox."""
    allow_download: bool = aside(False)
    """Whether a data set of the Hugging Face hub that a task names may be fetched; its rows are known by their digest."""

    tasks: Sequence[str | os.PathLike[str]] = aside(())
    """YAML files or names of ready tasks; what they say is in the manifest's config, and so are the model and its server."""
    predictions: str | os.PathLike[str] | None = aside(None)
    """A file of answers, or a folder with one file a task."""
    data: str | os.PathLike[str] | None = aside(None)
    """A file of rows to use instead of the one that the tasks name."""
    against: str | os.PathLike[str] | None = aside(None)
    """A finished run to be held against, where `stop_when` says so; its marks and the rule are in the manifest's config."""
    stop_when: str = aside("")
    """`decided` or `precise:0.03`; empty to do all."""
    allow_different_measures: bool = aside(False)
    """Whether that run may have been measured differently."""
    isolation: Literal["auto", "strict", "weak"] = aside("auto")
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


class TaskSettings(AskingSettings, total=False):
    """The fields of `TaskOptions` as keyword arguments of `run_task`, but for those that it names itself."""

    limit: int | None
    num_fewshot: int | None
    turns: bool
    contexts: tuple[ContextMode, ...]
    profile: Profile
    seed: int
    missing: Literal["exclude", "worst", "fail"]
    timeout: float
    allow_code: bool
    allow_unsafe_code: bool
    allow_download: bool
    reports: Sequence[str]
    against: str | os.PathLike[str] | None
    stop_when: str
    allow_different_measures: bool
    isolation: Literal["auto", "strict", "weak"]
    judges: tuple[str, ...]
    judge_url: str
    cassette: str | os.PathLike[str] | None
    judge_samples: int | None
    judge_max_cost: float | None
    judge_price: str
    judge_temperature: float | None
    judge_mode: str
    judge_token_weights: bool | None
    judge_retries: int | None
    judge_timeout: float | None
    judge_per_minute: float | None
    judge_workers: int | None
