"""How tasks are run: everything that `markbook run` and `markbook.run_task` may be asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from markbook.judge.judge_options import MODES, beside_a_model, judges_would_send_key
from markbook.option import (
    DAY,
    JUDGE_PATIENCE,
    PATH,
    SWITCH,
    TASKS_MAY,
    TIME_LIMIT,
    CountRange,
    NumberRange,
    Profile,
    WordChoice,
    asking_option,
    choice,
    declaration,
    input_option,
    option,
    source_option,
    would,
    would_send_key,
    would_write,
)
from markbook.runs.options import StoppingOptions, StoppingSettings, strict_option, workers_option

JUDGING = "judging"
"""Where run.json keeps how judges are asked; what of it can change a value is in the metrics' signatures."""
_ContextMode = Literal["full", "minimal", "none"]
_Missing = Literal["exclude", "worst", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions(StoppingOptions):
    """How tasks are run."""

    tasks: Sequence[str | os.PathLike[str]] = option(
        (), "TASK...", repeats=True, completes="tasks", changes_results=False, kept="sources"
    )
    """YAML files or names of ready tasks; what they say is in the manifest's config, and so are the model and its server."""
    predictions: str | os.PathLike[str] | None = source_option(
        None, "--predictions", help="Existing predictions: a file, a folder with one file per task, or a run."
    )
    data: str | os.PathLike[str] | None = source_option(
        None, "--data", help="Use the rows of this file instead of the tasks' own."
    )
    limit: int | None = input_option(None, "--limit", values=CountRange(1), help="Maximum rows per task.")
    contexts: tuple[_ContextMode, ...] = input_option(
        (),
        "--context",
        parameter="contexts",
        values=choice(_ContextMode),
        repeats=True,
        help="Run in these context modes; several are compared row by row.",
    )
    missing: _Missing = input_option(
        "exclude", "--missing", values=choice(_Missing), help="Missing values: left out of means, or the worst score."
    )
    profile: Profile = input_option(
        "corrected",
        "--profile",
        values=choice(Profile),
        help="documented: reproduce the numbers of the metrics document's code.",
    )
    seed: int = input_option(
        0, "--seed", values=CountRange(), help="Seed of the model (where supported) and of resampled intervals."
    )
    turns: bool = asking_option(
        False,
        "--turns",
        help="Send few-shot examples as chat turns, and the description as system message.",
        after="system",
    )
    num_fewshot: int | None = asking_option(
        None,
        "--num-fewshot",
        values=CountRange(0, 100),
        help="Few-shot examples per prompt [default: the task's value].",
        after="turns",
    )
    judges: tuple[str, ...] = beside_a_model(
        (),
        "--judge",
        "models",
        repeats=True,
        metavar="PROVIDER:NAME",
        help="The judge of metrics `judge`; repeat for a panel. PROVIDER:NAME@URL names its server.",
        danger=judges_would_send_key,
    )
    """Who judges, where a task has the metric `judge`; empty: whom its own options name."""
    judge_url: str = beside_a_model(
        "", "--judge-url", "base_url", metavar="URL", help="URL of the judges' server.", danger=would_send_key
    )
    cassette: str | os.PathLike[str] | None = beside_a_model(
        None,
        "--cassette",
        "cassette",
        values=PATH,
        help="Record the judges' replies in this file, or replay them if it exists.",
        danger=would_write,
    )
    judge_samples: int | None = beside_a_model(
        None, "--judge-samples", "samples", help="Number of queries per judgement and judge [default: 1]."
    )
    judge_temperature: float | None = beside_a_model(
        None, "--judge-temperature", "temperature", help="Temperature [default: 0 for one sample, else 0.7]."
    )
    judge_mode: str = beside_a_model(
        "",
        "--judge-mode",
        "mode",
        values=WordChoice(("", *MODES)),
        help="How the structured reply is requested [default: auto].",
    )
    """How the structured reply is asked for; empty: what the task says, else `auto`."""
    judge_token_weights: bool | None = beside_a_model(
        None,
        "--judge-token-weights",
        "token_weights",
        values=SWITCH,
        help="Weight scores by token probabilities, if the server returns them.",
    )
    judge_retries: int | None = beside_a_model(
        None, "--judge-retries", "retries", help=f"HTTP retries per judgement [default: {JUDGE_PATIENCE.retries}]."
    )
    judge_timeout: float | None = beside_a_model(
        None,
        "--judge-timeout",
        "seconds",
        help=f"Timeout per request to a judge in seconds [default: {JUDGE_PATIENCE.seconds:g}].",
    )
    judge_per_minute: float | None = beside_a_model(
        None,
        "--judge-requests-per-minute",
        "per_minute",
        parameter="judge_per_minute",
        help="Maximum requests per minute to each judge.",
    )
    judge_workers: int | None = beside_a_model(
        None, "--judge-workers", "workers", help="Concurrent judgements [default: 4]."
    )
    judge_max_cost: float | None = beside_a_model(
        None, "--judge-max-cost", "max_cost", metavar="USD", help="Maximum cost of each judge."
    )
    judge_price: str = beside_a_model(
        "", "--judge-price", "price", metavar="IN/OUT", help="Prices of the judges in US dollars per million tokens."
    )
    allow_code: bool = option(
        False,
        "--allow-code",
        help="Allow tasks to run code: `!function` in a Python file beside the task, a metric `package.module:factory`.",
        section=TASKS_MAY,
        # What only the user may allow: a resumed run's record alone does not turn it on.
        danger=would("run code that its tasks name"),
    )
    allow_unsafe_code: bool = option(
        False,
        "--allow-unsafe-code",
        help="With --allow-code: also allow tasks with `unsafe_code: true`, which run a model's code with your permissions.",
        section=TASKS_MAY,
        changes_results=False,
        kept="sources",
        danger=would("run a model's programs with your rights"),
    )
    allow_download: bool = option(
        False,
        "--allow-download",
        help="Allow tasks to download datasets from the Hugging Face hub.",
        section=TASKS_MAY,
        changes_results=False,
        kept="sources",
        danger=would("fetch data"),
    )
    timeout: float = option(
        TIME_LIMIT,
        "--timeout",
        values=NumberRange(0.1, DAY),
        help="CPU seconds for the tests of one completion.",
        section=TASKS_MAY,
    )
    workers: int | None = workers_option("Parallel workers for tests [default: one per core].")
    strict: bool = strict_option("Refuse (exit 65) if any row or answer would be skipped.")

    def judging(self) -> dict[str, object]:
        """Return what the user says of the judges, by the metric's own names."""
        return {
            name: value
            for field in fields(self)
            if (name := declaration(field).sets) and (value := getattr(self, field.name)) not in (None, "", ())
        }


class TaskSettings(StoppingSettings, total=False):
    """The fields of `TaskOptions` as keyword arguments of `run_task`, but for those that it names itself."""

    limit: int | None
    num_fewshot: int | None
    turns: bool
    contexts: tuple[_ContextMode, ...]
    profile: Profile
    seed: int
    missing: _Missing
    timeout: float
    allow_code: bool
    allow_unsafe_code: bool
    allow_download: bool
    reports: Sequence[str]
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
