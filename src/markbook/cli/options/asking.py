"""Options of the commands that ask a model for answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from markbook.cli.options.number import Number
from markbook.cli.options.resume import KeptOption, sent_a_key

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
