"""Options of the commands that ask models: to answer, or to judge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import click

from markbook.cli.options import KeptOption, Number, sent_a_key

if TYPE_CHECKING:
    from markbook.judge.panel import JudgeOptions


# Options of the commands that ask a model for answers.

_F = TypeVar("_F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--model", metavar="PROVIDER:NAME", help="The model to ask instead, such as openai:gpt-4o-mini."),
    click.option(
        "--generator",
        default="",
        metavar="NAME",
        help="A generator plugin that answers instead (`markbook list generators`); --model is its name for the model.",
    ),
    click.option(
        "--base-url",
        default="",
        metavar="URL",
        help="Where the model's server is: with openai:NAME any OpenAI-compatible one (vLLM, Ollama, llama.cpp).",
    ),
    click.option(
        "-n",
        "--samples",
        "samples",
        type=click.IntRange(1, 10_000),
        metavar="N",
        help="Answers a question [default: one, or what a task says].",
    ),
    click.option(
        "--gen-kwargs",
        default="",
        metavar="KEY=VALUE,...",
        help="Told to the model, over a task: temperature=0.7,until=END.",
    ),
    click.option("--system", default="", metavar="TEXT", help="The system message, before what a task says."),
    click.option("--concurrency", type=click.IntRange(min=1), default=8, show_default=True, help="Requests at a time."),
    click.option(
        "--requests-per-minute",
        "per_minute",
        type=Number(min=0, min_open=True),
        help="The most requests a minute.",
    ),
    click.option(
        "--retries",
        type=click.IntRange(min=0),
        default=5,
        show_default=True,
        help="Further HTTP requests for one answer.",
    ),
    click.option(
        "--request-timeout",
        "request_seconds",
        type=Number(min=0.1),
        default=120.0,
        show_default=True,
        help="Seconds for one request as a whole.",
    ),
    click.option("--max-cost", type=Number(min=0), metavar="USD", help="What the whole run may cost."),
    click.option(
        "--price", default="", metavar="IN/OUT", help="US dollars for a million tokens, where no price is listed."
    ),
)

KEPT_ASKING = (
    *(KeptOption(name, f"config.{name}") for name in ("model", "samples", "gen_kwargs", "system")),
    KeptOption("generator", "config.generator", lambda name: "would import what it names" if ":" in name else ""),
    KeptOption("base_url", "config.base_url", sent_a_key),
    *(KeptOption(name, f"asking.{name}") for name in ("concurrency", "retries", "max_cost", "price")),
    *(KeptOption(name, f"asking.{name}") for name in ("per_minute", "request_seconds")),
)
"""What a run keeps of them, and where run.json has it."""


def asking_options(function: _F) -> _F:
    """Add how a model is asked: which, where, what for, how patiently and at what cost."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


# Options of the commands that ask a judge.

_FILE = click.Path(path_type=Path)
_COUNT, _RETRIES, _AT_ONCE = click.IntRange(1, 100), click.IntRange(0, 20), click.IntRange(1, 64)
_HEAT, _ABOVE = Number(0, 2), Number(min=0, min_open=True)
_MODES = ("auto", "tool", "native", "prompted")

_JUDGE_OPTIONS = (
    click.option("--base-url", default="", help="Where the judge's server is, if not at its provider's own address."),
    click.option("--cassette", type=_FILE, help="Record the judge's answers in this file; replay it if it is there."),
    click.option("--samples", type=_COUNT, default=1, show_default=True, help="Answers a question and judge."),
    click.option("--temperature", type=_HEAT, default=None, help="Of the judge; 0 for one sample, else 0.7."),
    click.option(
        "--judge-mode", type=click.Choice(_MODES), default="auto", help="How the structured reply is asked for."
    ),
    click.option(
        "--max-retries", type=_RETRIES, help="Further HTTP requests for one judgement, whatever went wrong (2)."
    ),
    click.option(
        "--judge-timeout", type=_ABOVE, help="Deadline of one request in seconds, waiting for a turn aside (30)."
    ),
    click.option("--requests-per-minute", type=_ABOVE, help="The most requests a minute to each judge."),
    click.option("--judge-workers", type=_AT_ONCE, default=4, show_default=True, help="Judgements under way at once."),
    click.option(
        "--max-cost", type=Number(min=0), help="Stop asking before the judge has cost this much (US dollars)."
    ),
    click.option("--judge-price", default="", help="IN/OUT in dollars for a million tokens, where no price is known."),
    click.option(
        "--token-weights", is_flag=True, help="Weigh marks by token probabilities, where the server gives them."
    ),
)


_RUN_OPTIONS = (
    click.option("--judge-samples", type=_COUNT, help="Answers a question and judge [default: 1]."),
    click.option("--judge-temperature", type=_HEAT, help="Of the judges [default: 0 for one sample, else 0.7]."),
    click.option(
        "--judge-mode",
        type=click.Choice(["", *_MODES]),
        default="",
        help="How the structured reply is asked for [default: auto].",
    ),
    click.option(
        "--judge-token-weights",
        is_flag=True,
        default=None,
        help="Weigh marks by token probabilities, where the server gives them.",
    ),
    click.option("--judge-retries", type=_RETRIES, help="Further HTTP requests for one judgement [default: 2]."),
    click.option("--judge-timeout", type=_ABOVE, help="Deadline of one request to a judge in seconds [default: 30]."),
    click.option(
        "--judge-requests-per-minute",
        "judge_per_minute",
        type=_ABOVE,
        help="The most requests a minute to each judge.",
    ),
    click.option("--judge-workers", type=_AT_ONCE, help="Judgements under way at once [default: 4]."),
    click.option("--judge-max-cost", type=Number(min=0), metavar="USD", help="What each judge may cost."),
    click.option("--judge-price", default="", metavar="IN/OUT", help="US dollars for a million tokens of the judges."),
)
"""Of a command that also asks a model: there the plain names are the model's."""


def run_judge_choices(function: _F) -> _F:
    """Add how judges are asked beside a model."""
    for option in reversed(_RUN_OPTIONS):
        function = option(function)
    return function


class JudgeChoices(TypedDict):
    """What `judge_choices` gives a command."""

    base_url: str
    cassette: Path | None
    samples: int
    temperature: float | None
    judge_mode: Literal["auto", "tool", "native", "prompted"]
    max_retries: int | None
    judge_timeout: float | None
    requests_per_minute: float | None
    judge_workers: int
    max_cost: float | None
    judge_price: str
    token_weights: bool


def judge_choices(function: _F) -> _F:
    """Add how judges are asked: where, how often, how patiently and at what cost."""
    for option in reversed(_JUDGE_OPTIONS):
        function = option(function)
    return function


def read_judge_options(options: JudgeChoices) -> JudgeOptions:
    """Return what the command line says about its judges."""
    from markbook.judge.panel import JudgeOptions

    return JudgeOptions(
        base_url=options["base_url"],
        cassette=options["cassette"],
        samples=options["samples"],
        temperature=options["temperature"],
        mode=options["judge_mode"],
        per_minute=options["requests_per_minute"],
        workers=options["judge_workers"],
        max_cost=options["max_cost"],
        price=options["judge_price"],
        token_weights=options["token_weights"],
    )
