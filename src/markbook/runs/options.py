"""What every kind of run may be asked, and the one way from names and values to a record of options."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, TypeVar

from markbook.errors import UnknownOptionError, UsageError, suggest
from markbook.option import (
    GATES_AND_STOPPING,
    PATH,
    PATIENCE,
    PRINTED,
    RUN,
    CountRange,
    NumberRange,
    WordChoice,
    asking_option,
    declaration,
    machine_option,
    model_option,
    option,
    patience_option,
    run_option,
    would_send_key,
)

_T = TypeVar("_T")
ASKS_MODELS = "model"
"""The generator that asks the model which is named; what is meant where no other is."""


def workers_option(help: str) -> Any:
    """Return the field of `--workers`; each kind says what its workers do."""
    return machine_option(None, "--workers", values=CountRange(1), help=help)


def strict_option(help: str) -> Any:
    """Return the field of `--strict`; each kind says what it refuses."""
    return option(False, "--strict", help=help, section=PRINTED, changes_results=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run of any kind may be asked; a kind adds its inputs and what else it wants to know.

    A field can change a result unless it says otherwise.
    """

    workers: int | None = workers_option("Parallel workers [default: one per core].")
    engine: str = machine_option(
        "local",
        "--engine",
        completes="engines",
        metavar="local|ray",
        help="Where the work runs: this machine, or a Ray cluster (see docs/engines.md). The results are the same.",
    )
    output: str | os.PathLike[str] = run_option(
        "generated", "-o", "--output", values=PATH, help="Folder for the run folder."
    )
    resume: str | os.PathLike[str] | None = run_option(
        None,
        "--resume",
        values=RUN,
        help="Continue this run folder (evaluation_*); all other arguments are taken from it.",
    )
    """A run folder to go on with instead; what can change a result must be what it was."""
    name: str = run_option("", "--name", metavar="TEXT", help="Name of the run in lists and reports.")
    tags: Sequence[str] = run_option((), "--tag", repeats=True, metavar="TEXT", help="Tag (repeatable).")
    notes: str = run_option("", "--notes", metavar="TEXT", help="Free-text notes.")
    strict: bool = strict_option("Refuse (exit 65) if any row would be skipped.")
    reports: Sequence[str] = option(("html",), changes_results=False)
    """The report plugins that the finished run is given; `markbook report` makes others later."""

    def identity(self) -> dict[str, object]:
        """Return the options that can change a result."""
        fields = dataclasses.fields(self)
        return {field.name: getattr(self, field.name) for field in fields if declaration(field).changes_results}

    def collect_kept(self, part: str) -> dict[str, object]:
        """Return the options that run.json keeps under this name."""
        fields = dataclasses.fields(self)
        return {field.name: getattr(self, field.name) for field in fields if declaration(field).kept == part}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingOptions(RunOptions):
    """How a model is asked, whatever kind of run asks it."""

    model: str | None = model_option(
        None, "--model", metavar="PROVIDER:NAME", help="The model to query, such as openai:gpt-4o-mini."
    )
    """`PROVIDER:NAME`; None where the answers exist."""
    generator: str = model_option(
        "",
        "--generator",
        metavar="NAME",
        help="A generator plugin to use instead of a model API (`markbook list generators`); --model names its model.",
        # run.json of a run that is resumed may come from anybody, and such a name is code.
        danger=lambda name: "would import what it names" if ":" in name else "",
    )
    base_url: str = model_option(
        "",
        "--base-url",
        metavar="URL",
        help="URL of the model's server; with openai:NAME any OpenAI-compatible one (vLLM, Ollama, llama.cpp).",
        # An address out of a foreign run.json would be sent the user's key.
        danger=would_send_key,
    )
    samples: int | None = asking_option(
        None,
        "-n",
        "--samples",
        values=CountRange(1, 10_000),
        metavar="N",
        help="Completions per prompt [default: 1, or the task's value].",
    )
    """Answers per question; None for one, or what a task says."""
    gen_kwargs: str = asking_option(
        "", "--gen-kwargs", metavar="KEY=VALUE,...", help="Generation parameters, such as temperature=0.7,until=END."
    )
    """What a model is told beside the prompt, over what a task says: `temperature=0.7,max_gen_toks=100`."""
    system: str = asking_option("", "--system", metavar="TEXT", help="System message; precedes the task's own.")
    """The system message, before what a task says; of a model that continues texts, their beginning."""
    concurrency: int = patience_option(
        PATIENCE.concurrency, "--concurrency", values=CountRange(1), help="Concurrent requests."
    )
    per_minute: float | None = patience_option(
        None,
        "--requests-per-minute",
        parameter="per_minute",
        values=NumberRange(0, above_low=True),
        help="Maximum requests per minute.",
    )
    retries: int = patience_option(
        PATIENCE.retries, "--retries", values=CountRange(0), help="HTTP retries per completion."
    )
    request_seconds: float = patience_option(
        PATIENCE.seconds,
        "--request-timeout",
        parameter="request_seconds",
        values=NumberRange(0.1),
        help="Timeout per request in seconds.",
    )
    max_cost: float | None = patience_option(
        None, "--max-cost", values=NumberRange(0), metavar="USD", help="Maximum cost of the run."
    )
    price: str = patience_option(
        "", "--price", metavar="IN/OUT", help="Prices in US dollars per million tokens, if none is listed."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingOptions(AskingOptions):
    """How a run of answers that may exist already is isolated, and when it has seen enough."""

    against: str | os.PathLike[str] | None = option(
        None,
        "--against",
        values=RUN,
        help="Baseline of --stop-when: an earlier run, or another tool's results.",
        section=GATES_AND_STOPPING,
        changes_results=False,
        kept="sources",
    )
    """A finished run to be held against, where `stop_when` says so; its marks and the rule are in the manifest's config."""
    stop_when: str = option(
        "",
        "--stop-when",
        metavar="decided|precise:X",
        help="Evaluate samples in random order and stop early: when the difference from --against is significant "
        "(decided), or when its interval is +-X or narrower (precise:X). Both stay valid under repeated looks.",
        section=GATES_AND_STOPPING,
        changes_results=False,
        kept="config.stop",
        # run.json keeps the rule beside the digest of the baseline's marks.
        decode=lambda stop: stop["when"],
    )
    """`decided` or `precise:0.03`; empty to do all."""
    allow_different_measures: bool = option(
        False,
        "--allow-different-measures",
        help="Also compare numbers that were measured differently (another judge, rubric, options), with a note.",
        section=GATES_AND_STOPPING,
        changes_results=False,
    )
    isolation: Literal["auto", "strict", "weak"] = machine_option(
        "auto",
        "--isolation",
        values=WordChoice(("auto", "strict", "weak")),
        help="Minimum isolation: auto requires level B, strict level A, weak accepts any; see `markbook doctor`.",
    )


_Asking = TypeVar("_Asking", bound=AskingOptions)


def with_answerer(options: _Asking, *, has_answers: bool, of: str) -> _Asking:
    """Return the options with a name for whoever answers where only a generator is named; `of` is the option that names answers.

    Raises:
        UsageError: neither answers nor a model or generator, or both.
    """
    if options.generator == ASKS_MODELS:
        # Named outright it is still the default, and a run must not become another one by that.
        options = dataclasses.replace(options, generator="")
    if options.generator and options.model is None:
        # Results need a name for whoever answered.
        options = dataclasses.replace(options, model=options.generator)
    if has_answers == (options.model is not None):
        raise UsageError(f"name the answers or the model: one of {of} and --model (or --generator)")
    return options


# The same as keyword arguments of functions, for type checkers; a test compares them with the fields.


class RunSettings(TypedDict, total=False):
    """The fields of `RunOptions` as keyword arguments, but for those that a function names itself."""

    workers: int | None
    engine: str
    strict: bool
    name: str
    tags: Sequence[str]
    notes: str


class AskingSettings(RunSettings, total=False):
    """The fields of `AskingOptions` as keyword arguments, but for the model and its address."""

    samples: int | None
    gen_kwargs: str
    system: str
    generator: str
    concurrency: int
    per_minute: float | None
    retries: int
    request_seconds: float
    max_cost: float | None
    price: str


class StoppingSettings(AskingSettings, total=False):
    """The fields of `StoppingOptions` as keyword arguments, but for the model and its address."""

    against: str | os.PathLike[str] | None
    stop_when: str
    allow_different_measures: bool
    isolation: Literal["auto", "strict", "weak"]


def make_options(kind: type[_T], options: Mapping[str, object], function: str) -> _T:
    """Return the record of these options.

    Raises:
        UnknownOptionError: it has no such option, with the nearest one.
    """
    # The TypeError of the dataclass would name neither the caller's function nor the option that was meant.
    refuse_unknown(options, list(inspect.signature(kind).parameters), function)
    return kind(**options)


def refuse_unknown(options: Iterable[str], known_names: Sequence[str], function: str) -> None:
    """Refuse keyword arguments that a function does not have.

    Raises:
        UnknownOptionError: there is one, with the nearest name.
    """
    for name in options:
        if name not in known_names:
            raise UnknownOptionError(f"{function}() has no option {name!r}", hint=suggest(name, list(known_names)))
