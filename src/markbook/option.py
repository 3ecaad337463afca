"""How an option is declared: once, as a field of the record that the work reads it from.

Theory of operation
-------------------
A record of options (`RunOptions`, `ExamOptions`, `JudgeOptions`, ...) is a dataclass whose fields are made by `option`. What
else there is to know of a field hangs on it as an `Option`: its flags, the values it takes, its help text and the section of
the help page, whether it can change a result, where run.json keeps it, and what it would do that no run folder may decide.
Everything else is derived from that:

- `markbook.cli.options.options_of` makes the command's parameters, and `Grouped` the sections of its help page;
- `fill_from_run` takes up with `--resume` what the user does not state again, and checks whether it may be trusted;
- `RunOptions.identity` and `collect_kept` say what run.json holds;
- `record_from` makes the record out of a command's values.

Only the command line imports click: this module names ranges and choices in words of its own, so that `import markbook` and
runs started from Python stay light. The typed keyword arguments of `markbook.exam` and others have to be written out, because
type checkers read them without running anything; a test compares them with the fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from markbook.errors import UsageError

_T = TypeVar("_T")

MARKED = "Input"
ASKING_MODELS = "Model"
ASKING_JUDGES = "Judges"
TASKS_MAY = "Permissions of tasks"
RULES = "Limits and scoring"
SCORES = "Scoring"
GATES = "Gates"
GATES_AND_STOPPING = "Gates and early stopping"
MACHINE = "Execution"
THE_RUN = "Run folder"
PRINTED = "Output"
SECTIONS = (
    MARKED, ASKING_MODELS, ASKING_JUDGES, TASKS_MAY, RULES, SCORES, GATES, GATES_AND_STOPPING, MACHINE, THE_RUN, PRINTED,
)  # fmt: skip
"""The sections of help pages, the most wanted first."""


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Finite numbers between two bounds."""

    low: float | None = None
    high: float | None = None
    above_low: bool = False
    """Whether the lower bound itself is refused."""


@dataclass(frozen=True, slots=True)
class CountRange:
    """Integers between two bounds; all of them without bounds."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class WordChoice:
    """Some words."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PathValue:
    """The name of a file or folder: as text, or as a `Path`."""

    is_text: bool = True


@dataclass(frozen=True, slots=True)
class RunValue:
    """A run folder, or `latest`, which means the newest one at the moment of asking."""


@dataclass(frozen=True, slots=True)
class Switch:
    """Yes where it is stated; needed only where the default is neither yes nor no."""


Values = NumberRange | CountRange | WordChoice | PathValue | RunValue | Switch
PATH, FILE, RUN, SWITCH = PathValue(), PathValue(is_text=False), RunValue(), Switch()


def choice(literal: Any) -> WordChoice:
    """Return the words of a `Literal` type."""
    return WordChoice(get_args(literal))


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What is declared of one option beside its type and default."""

    flags: tuple[str, ...] = ()
    """As on the command line; one name without dashes is an argument; none: not an option of commands."""
    help: str = ""
    section: str = ""
    after: str = ""
    """The parameter of the same section that it is listed behind, if not in the order of the fields."""
    values: Values | None = None
    """None: text, or yes or no where that is the default."""
    metavar: str | None = None
    repeats: bool = False
    shows_default: bool = False
    """Whether its help states the default; by itself where that is a word or a number."""
    completes: str = ""
    """What shells complete it with: a kind of plugin, or `tasks`."""
    parameter: str = ""
    """The command's name for it where that is not the field's."""
    inverts: bool = False
    """Whether the command states the contrary of the field: `--no-dedupe` for `dedupe`."""
    sets: str = ""
    """The option of the metric `judge` that it sets."""
    changes_results: bool = True
    """A run is resumed only with the same value."""
    kept: str = ""
    """Which part of run.json has it under the command's name, or its whole place: `asking`, `config.stop`."""
    danger: Callable[[Any], str] = lambda _value: ""
    """What this value would do that no run folder may decide, such as `would be executed`; empty if nothing."""
    decode: Callable[[Any], Any] = lambda value: value
    """From what run.json says to what the command line says."""


def option(default: Any, *flags: str, **declared: Any) -> Any:
    """Return a field of a record of options; `declared` are the fields of `Option`."""
    declared.setdefault("shows_default", default not in (None, "", ()) and not isinstance(default, bool))
    return dataclasses.field(default=default, metadata={"option": Option(flags=flags, **declared)})


ASKING = "asking"
"""Where run.json keeps how a model is asked."""
run_option = partial(option, section=THE_RUN, changes_results=False)
input_option = partial(option, section=MARKED)
source_option = partial(input_option, values=PATH, changes_results=False, kept="sources")
machine_option = partial(option, section=MACHINE, changes_results=False)
rule_option = partial(option, section=RULES)
asking_option = partial(option, section=ASKING_MODELS)
model_option = partial(asking_option, changes_results=False, kept="config")
patience_option = partial(asking_option, changes_results=False, kept=ASKING)

_PLAIN = Option()


def declaration(field: dataclasses.Field[Any]) -> Option:
    """Return what is declared of a field; a plain one is not an option of commands and can change a result."""
    declared: Option = field.metadata.get("option", _PLAIN)
    return declared


def parameter_name(field: dataclasses.Field[Any]) -> str:
    """Return what commands call a field."""
    return declaration(field).parameter or field.name


def place_in_record(name: str, declared: Option) -> str:
    """Return where run.json keeps a parameter, such as `config.timeout`; empty where it does not."""
    kept = declared.kept or ("config" if declared.changes_results else "")
    return kept if "." in kept or not kept else f"{kept}.{name}"


def record_from(kind: type[_T], values: Mapping[str, object], **more: Any) -> _T:
    """Return the record of those values that are its options, such as a command's parameters, and of some more."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]  # every record of options is a dataclass
    own = {
        field.name: not values[name] if declaration(field).inverts else values[name]
        for field in fields
        if (name := parameter_name(field)) in values
    }
    return kind(**own | more)


def values_of_command(record: Any, names: Iterable[str] | None = None) -> dict[str, object]:
    """Return a record's values by the command's names, as JSON has them, without those that are not stated."""
    values = {parameter_name(field): getattr(record, field.name) for field in dataclasses.fields(record)}
    chosen = values if names is None else {name: values[name] for name in names}
    plain: dict[str, object] = {}
    for name, value in chosen.items():
        if isinstance(value, Sequence) and not isinstance(value, str):
            plain[name] = list(value)
        elif value is not None:
            plain[name] = str(value) if isinstance(value, Path) else value
    return plain


# What a value would do that no run folder may decide: whoever goes on with a foreign run has to state it again.


def would(words: str) -> Callable[[Any], str]:
    """Return the danger of an option that is one whenever it is stated."""
    return lambda value: f"would {words}" if value else ""


def would_send_key(url: str) -> str:
    """Return what an address would get that is not this machine's own; empty for one that is."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    try:
        host = urlsplit(url).hostname or ""
        is_here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_here = False
    return "" if is_here or not url else "would be sent your key and all texts"


def would_write(path: str | Path | None) -> str:
    """Return what would happen to a file that is not there."""
    return "" if path is None or Path(path).is_file() else "would be written"


# Defaults that the commands share with what they configure; here, so that help is printed without the records of a run.

Profile = Literal["documented", "corrected"]
"""Whether documented formulas are computed to the letter, or with their mistakes mended."""
DAY = 86_400.0
"""Seconds: more no system can wait for twenty times over, which is what a loaded one may take."""
TIME_LIMIT = 60.0
"""CPU seconds of an attempt where neither the user nor the problem says: the default of every `--timeout` and `timeout`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one attempt may use. Each limit has its own kind in the outcome.

    Raises:
        UsageError: the seconds are not above 0 and at most a day.
    """

    seconds: float = TIME_LIMIT
    """CPU time."""
    wall_seconds: float | None = None
    """Wall time of what sleeps; None means 3 times `seconds` + 2. What computes has more (see `wall_limits`)."""
    memory_bytes: int = 2 << 30
    output_bytes: int = 4 << 20
    file_bytes: int = 64 << 20
    processes: int = 64
    """Threads and processes together."""

    def __post_init__(self) -> None:
        """Refuse a time that is none, or that no system can wait for."""
        if not 0 < self.seconds <= DAY:
            raise UsageError(f"a time limit of {self.seconds:g} seconds", hint=f"above 0 and at most {DAY:g}")


@dataclass(frozen=True, slots=True)
class Patience:
    """How much is done for one answer: the one place of these defaults."""

    concurrency: int = 8
    """Requests at a time."""
    per_minute: float | None = None
    """The most requests a minute."""
    retries: int = 5
    """Further requests after the first, whatever went wrong: transport and structure together, redirects included."""
    seconds: float = 120.0
    """The deadline of one request as a whole, however slowly bytes drip in; waiting for a turn is not part of it."""
    max_cost: float | None = None
    """US dollars for the whole run; checked before a request with the most that it may cost."""


PATIENCE = Patience()
"""What a model is given that answers."""
JUDGE_PATIENCE = Patience(concurrency=4, retries=2, seconds=30.0)
"""What a judge is given, whose replies are short."""
