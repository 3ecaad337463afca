"""Options that several commands share."""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import click

from markbook.types import DAY

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from markbook.results.compare import Baseline
    from markbook.store import Run


# A number on the command line.


class Number(click.FloatRange):
    """A finite number within a range: click takes NaN for one that lies in every range, and infinity in every open one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; fail as click does where it is none, not finite or out of the range."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


# Help pages of commands with many options: in sections, the most wanted first.

Sections = Mapping[str, Sequence[str]]
"""Titles with the parameters under each."""

_RUN = ("output", "resume", "name", "tags", "notes")
_SHOWN = ("as_json", "verbose", "strict")
_GATES = ("fail_under", "fail_if_worse", "against", "stop_when", "allow_different_measures")
_MACHINE = ("workers", "engine", "isolation", "python")
_ASKING = (
    "model", "generator", "base_url", "samples", "gen_kwargs", "system", "turns", "num_fewshot", "concurrency", "per_minute", "retries",
    "request_seconds", "max_cost", "price",
)  # fmt: skip

EXAM: Sections = {
    "What is marked": ("benchmark", "solutions", "format", "extract", "check_benchmark", "skip_unavailable"),
    "Asking a model": _ASKING,
    "Limits and rules": (
        "timeout", "adaptive", "memory_mb", "error_policy", "profile", "all_tests", "fresh_tests", "in_process", "seed",
    ),
    "Gates and stopping": _GATES,
    "This machine": (*_MACHINE, "no_dedupe", "reuse_verdicts"),
    "The run": _RUN,
    "What is printed": _SHOWN,
}  # fmt: skip
RUN: Sections = {
    "What is marked": ("predictions", "data", "limit", "contexts", "missing", "profile", "seed"),
    "Asking a model": _ASKING,
    "Asking judges": (
        "judges", "judge_url", "cassette", "judge_samples", "judge_temperature", "judge_mode", "judge_token_weights",
        "judge_retries", "judge_timeout", "judge_per_minute", "judge_workers", "judge_max_cost", "judge_price",
    ),
    "What tasks may do": ("allow_code", "allow_unsafe_code", "allow_download", "timeout"),
    "Gates and stopping": _GATES,
    "This machine": _MACHINE,
    "The run": _RUN,
    "What is printed": _SHOWN,
}  # fmt: skip
REVIEW: Sections = {
    "What is marked": ("papers", "reviews", "traces", "tool_reference", "limit"),
    "Asking judges": (
        "judges", "base_url", "cassette", "samples", "temperature", "judge_mode", "max_retries", "judge_timeout",
        "requests_per_minute", "judge_workers", "max_cost", "judge_price", "token_weights",
    ),
    "Scores": ("config_file", "policy", "similarity", "calibrate", "rescored", "profile", "seed"),
    "Gates": _GATES,
    "This machine": _MACHINE,
    "The run": _RUN,
    "What is printed": (*_SHOWN, "log_file"),
}  # fmt: skip


class Grouped(click.Command):
    """A command whose options are shown in sections; those of no section come last."""

    sections: ClassVar[Sections] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        records = {
            str(parameter.name): (_short(record[0]), record[1])
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        for title, names in self.sections.items():
            if rows := [records.pop(name) for name in names if name in records]:
                with formatter.section(title):
                    formatter.write_dl(rows)
        if records:
            with formatter.section("Options"):
                formatter.write_dl([*records.values()])


def _short(names: str) -> str:
    """Return an option's names with a word for its value that leaves room for what it means."""
    for long, short in (("INTEGER RANGE", "N"), ("FLOAT RANGE", "X"), ("INTEGER", "N"), ("[|", "[")):
        names = names.replace(long, short)
    return names


_F = TypeVar("_F", bound=Callable[..., Any])

TERMINATED = 143


class SpreadCommand(Grouped):
    """A command whose repeatable options take several values at once: `--solutions a b c`, as users write it.

    Click wants the option's name before each value; the names in `spread` are put there before it parses.
    """

    spread: Sequence[str] = ("--solutions",)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each further value, then parse as ever."""
        return super().parse_args(ctx, list(self._spread(args)))

    def _spread(self, args: list[str]) -> Iterator[str]:
        option = ""
        values = 0
        for arg in args:
            if arg.startswith("-") and arg != "-":
                option, values = (arg if arg in self.spread else ""), 0
            elif option:
                if values:
                    yield option
                values += 1
            yield arg


def completing(names: Callable[[], Iterable[str]], *, files: bool = False) -> Callable[..., list[CompletionItem]]:
    """Return what completes an argument by names, after the last comma of it, and by files where it may be one."""

    def complete(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        before, comma, begun = incomplete.rpartition(",")
        completions = [CompletionItem(before + comma + name) for name in names() if name.startswith(begun)]
        return [*completions, CompletionItem(incomplete, type="file")] if files else completions

    return complete


def metric_names() -> list[str]:
    """Return the names of all metrics, without importing one."""
    from markbook.plugins import names

    return names("metrics")


def task_names() -> list[str]:
    """Return the names of the ready tasks and groups."""
    from markbook.config.loading import ready_tasks

    return list(ready_tasks())


def run_names() -> list[str]:
    """Return the runs that a RUN may be here: the newest, and those in the folder that runs are written to."""
    from markbook.store.reader import HOME, LATEST, runs_in

    paths = [str(run) for run in runs_in(Path(HOME))] if Path(HOME).is_dir() else []
    return [LATEST, *reversed(paths)] if paths else []


def part_names(kind: str) -> Callable[[], list[str]]:
    """Return what names the parts of a kind: reports, loaders, engines."""

    def list_completions() -> list[str]:
        from markbook.plugins import names

        return names(kind)

    return list_completions


def is_given(name: str) -> bool:
    """Whether the user gave an option of the running command, rather than leaving it at its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, click.core.ParameterSource.DEFAULT, click.core.ParameterSource.DEFAULT_MAP)


def _one_run(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Resolve `latest` and a folder with one run while the arguments are read: afterwards there is a newer one."""
    if value is None:
        return None
    from markbook.store.reader import existing_run

    return str(existing_run(value))


def _run_option(flag: str, words: str) -> Callable[[_F], _F]:
    return click.option(
        flag,
        type=click.Path(),
        shell_complete=completing(run_names, files=True),
        callback=_one_run,
        metavar="RUN",
        help=words,
    )


def runs_argument(function: _F) -> _F:
    """Add `RUN...`, one at least: run folders, folders of them, other tools' results."""
    return click.argument(
        "runs",
        nargs=-1,
        required=True,
        type=click.Path(),
        metavar="RUN...",
        shell_complete=completing(run_names, files=True),
    )(function)


def output_option(function: _F) -> _F:
    """Add `-o`, `--output DIR`."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(),
        default="generated",
        show_default=True,
        help="Where the run folder is made.",
    )(function)


def resume_option(function: _F) -> _F:
    """Add `--resume RUN`."""
    return _run_option("--resume", "Go on with this run folder (evaluation_*); the other arguments are taken from it.")(
        function
    )


def label_options(function: _F) -> _F:
    """Add `--name`, `--tag` and `--notes`."""
    for option in (
        click.option("--notes", default="", metavar="TEXT", help="What is to be remembered of the run."),
        click.option("--tag", "tags", multiple=True, metavar="TEXT", help="A word to find the run by; several times."),
        click.option("--name", default="", metavar="TEXT", help="What the run is called in `markbook view`."),
    ):
        function = option(function)
    return function


def json_option(function: _F) -> _F:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout instead of tables.")(function)


def workers_option(what: str) -> Callable[[_F], _F]:
    """Add `--workers N`; `what` says whose number it is."""
    return click.option("--workers", type=click.IntRange(min=1), help=f"{what} run at once [default: one a core].")


def timeout_option(what: str) -> Callable[[_F], _F]:
    """Add `--timeout SECONDS`; `what` says for what they are."""
    return click.option(
        "--timeout", type=Number(min=0.1, max=DAY), default=60.0, show_default=True, help=f"CPU seconds {what}."
    )


def isolation_option(function: _F) -> _F:
    """Add `--isolation auto|strict|weak`."""
    return click.option(
        "--isolation",
        type=click.Choice(["auto", "strict", "weak"]),
        default="auto",
        show_default=True,
        help="auto refuses below level B, strict below A, weak runs with what there is; see `markbook doctor`.",
    )(function)


def python_option(what: str) -> Callable[[_F], _F]:
    """Add `--python PATH`; `what` says who may import its packages."""
    return click.option(
        "--python",
        "python",
        type=click.Path(),
        default="",
        help=f"Interpreter (3.11 or newer) whose packages {what} may import.",
    )


def engine_option(function: _F) -> _F:
    """Add `--engine NAME`."""
    return click.option(
        "--engine",
        shell_complete=completing(part_names("engines")),
        default="local",
        show_default=True,
        metavar="local|ray",
        help="Where the work runs: this machine, or a Ray cluster (see docs/engines.md). The results are the same.",
    )(function)


def _columns(_context: click.Context, _option: click.Parameter, value: str | None) -> dict[str, str] | None:
    if value is None:
        return None
    from markbook.foreign.tables import parse_columns

    return parse_columns(value)


def map_option(function: _F) -> _F:
    """Add `--map ROLE=COLUMN,...`."""
    return click.option(
        "--map",
        "columns",
        callback=_columns,
        metavar="ROLE=COLUMN,...",
        help="Which column of a CSV, JSON Lines or Parquet file says what. ROLE: item, model, score, repeat, cluster, input, output, error.",
    )(function)


def opened_runs(paths: Sequence[str], columns: Mapping[str, str] | None = None) -> list[Run]:
    """Return all runs that paths mean, other tools' results among them.

    Raises:
        DataError: a path means none.
    """
    from markbook.store import find_runs, open_run

    return [open_run(run_path, columns=columns) for path in paths for run_path in find_runs(path, columns)]


def fail_under_option(names: str) -> Callable[[_F], _F]:
    """Add `--fail-under NAME=X`; `names` says what a name may be."""
    return click.option(
        "--fail-under",
        multiple=True,
        metavar="NAME=X",
        help=f"Exit 1 if a mark is worse than X, such as 0.8 or 80%. NAME: {names}. Names are checked before any work.",
    )


def different_measures_option(function: _F) -> _F:
    """Add `--allow-different-measures`."""
    return click.option(
        "--allow-different-measures",
        is_flag=True,
        help="Compare also numbers that were measured differently (another judge, rubric, options); a note says so.",
    )(function)


def baseline_option(function: _F) -> _F:
    """Add `--fail-if-worse RUN`, and `--allow-different-measures`, which belongs to it and to `--against`."""
    function = different_measures_option(function)
    return _run_option(
        "--fail-if-worse",
        "Exit 1 if a model is worse than in this earlier run: the whole interval of the difference, as `markbook "
        "compare` shows it, lies on the worse side.",
    )(function)


def stopping_options(function: _F) -> _F:
    """Add `--against RUN` and `--stop-when RULE`."""
    stop = click.option(
        "--stop-when",
        default="",
        metavar="decided|precise:X",
        help="Do the samples in a drawn order and stop when the difference from --against is decided, or its interval "
        "is +-X or closer; both hold however often they are looked at.",
    )
    against = _run_option("--against", "The earlier run, or another tool's results, that --stop-when is about.")
    return stop(against(function))


def read_baseline(options: Mapping[str, Any], command: str) -> Baseline | None:
    """Return what `--fail-if-worse` names, read before any work.

    Raises:
        DataError: it is not a run, damaged, not finished, or of another command.
    """
    path = options["fail_if_worse"]
    if path is None:
        return None
    from markbook.results.compare import open_baseline

    return open_baseline(path, command, allow_different_measures=options["allow_different_measures"])


def hold_against_baseline(run: Run, baseline: Baseline | None, seed: int, metric: str | None = None) -> None:
    """Hold a finished run against its baseline, and say on stderr which models passed.

    Raises:
        GateFailed: a model is worse than before.
    """
    if baseline is None:
        return
    from markbook.results.compare import differences, hold_against, read_titled_sheets

    allowed = baseline.allow_different_measures
    pairs = hold_against(run, baseline.run, metric=metric, seed=seed, allow_different_measures=allowed)
    if allowed and (words := differences(read_titled_sheets([run, baseline.run], metric))):
        say(f"markbook: {words}")
    for pair in pairs:
        say(f"{pair.first} against {pair.second}: not shown to be worse")


def say(line: str) -> None:
    """Print a line on standard error, in which foreign words cannot move the cursor or begin another line."""
    from markbook.text import terminal

    click.echo(terminal(line), err=True)


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """Turn SIGTERM into an orderly end with exit code 143: the run is marked interrupted and can be resumed.

    It takes the way of Ctrl-C, which event loops know how to end by: an exception out of nowhere in one of their tasks
    would be reported as the task's own.
    """
    terminated = False

    def end(_number: int, frame: FrameType | None) -> None:
        nonlocal terminated
        terminated = True
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt  # Ctrl-C is ignored here, as on a build server
        interrupt(signal.SIGINT, frame)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if terminated:
            sys.exit(TERMINATED)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def cost_text(account: Mapping[str, object]) -> str:
    """Return what a model cost; what is not known is said to be so, with the most that it can be."""
    if account["cost"] is not None:
        return f"${account['cost']:.4f}"
    most = account.get("cost_at_most")
    return "cost unknown" if most is None else f"cost unknown (at most ${most:.4f})"


def usage_text(usage: Mapping[str, object]) -> str:
    """Return what a model's replies took, in a line."""
    tokens = "unknown" if usage["input_tokens"] is None else f"{usage['input_tokens']} + {usage['output_tokens']}"
    return f"{usage['replies']} replies, {usage['requests']} requests, tokens {tokens}, {cost_text(usage)}"


# `--resume RUN` alone: what the user does not give is what the run was started with.

EXECUTED = "would be executed"


@dataclass(frozen=True, slots=True)
class KeptOption:
    """An option that a run keeps."""

    name: str
    place: str
    """Where run.json has it: `config.timeout`."""
    danger: Callable[[Any], str] = lambda _value: ""
    """What this value would do that no run folder may decide, such as `would be executed`; empty if nothing."""
    turned: Callable[[Any], Any] = lambda value: value
    """From what the record says to what the option says."""


def fill_from_run(options: dict[str, object], command: str, options_kept: Sequence[KeptOption]) -> None:
    """Set what the user did not give to what the run to go on with was started with; nothing without `--resume`.

    A run folder may come from anybody. What it says is checked as if the user had written it, and what it names is
    neither executed nor written nor sent anything unless the user names it too.

    Raises:
        UsageError: the run was made by another command.
        ConfigError: the run was started with what only the user may say.
        click.BadParameter: the record holds a value that the option does not take.
    """
    run = options["resume"]
    if run is None:
        return
    from markbook.errors import DataError, UsageError

    manifest = _manifest(str(run))
    if manifest is None:
        return  # killed before there was a record, or no run folder: that is said where it is resumed
    if (other := manifest.get("command")) != command:
        raise UsageError(
            f"this run cannot be resumed with these arguments; it was made by `markbook {other}`",
            at=str(run),
            hint=f"markbook {other} --resume RUN goes on with it",
        )
    context = click.get_current_context()
    parameters = {parameter.name: parameter for parameter in context.command.params}
    for option in options_kept:
        part, _, name = option.place.partition(".")
        section = manifest.get(part)
        value = section.get(name) if isinstance(section, Mapping) else None
        if value is None or is_given(option.name):
            continue
        parameter = parameters[option.name]
        try:
            decoded = option.turned(value)
            checked = parameter.process_value(context, decoded)
        except (TypeError, ValueError, AttributeError, LookupError, OverflowError) as error:  # no command line gives it
            at = str(Path(str(run)) / "run.json")
            raise DataError(f"run.json is damaged: {option.place!r} is not what stands there", at=at) from error
        value = decoded if decoded == checked else checked  # 7 stays 7: as 7.0 it would be another run's
        _check_trust(option.danger(value), parameter.opts[0], value, str(run))
        options[option.name] = value


def _manifest(run: str) -> dict[str, object] | None:
    """Return what the run.json of a folder holds; None if there is none yet."""
    from markbook.errors import UsageError, suggest_path
    from markbook.store import open_manifest

    if not Path(run).is_dir():
        raise UsageError("there is no such run folder to resume", at=run, hint=suggest_path(run))
    return open_manifest(run)


def _check_trust(danger: str, flag: str, value: object, at: str) -> None:
    from markbook.errors import ConfigError

    if danger:
        named = flag if value is True else f"{flag} {str(value)!r}"
        raise ConfigError(
            f"the run was started with {named}, which {danger}", at=at, hint=f"give {flag} again if you trust it"
        )


def sent_a_key(url: str) -> str:
    """Return what an address would get that is not this machine's own; empty for one that is."""
    try:
        host = urlsplit(url).hostname or ""
        is_here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_here = False
    return "" if is_here or not url else "would be sent your key and all texts"


def judges_sent_a_key(judges: Sequence[str]) -> str:
    """Return what the servers of judges that have their own would get; empty if all are this machine's."""
    from markbook.judge.panel import split_judge

    servers = [server for _, server in map(split_judge, judges) if server is not None]
    return next((danger for server in servers if (danger := sent_a_key(server.url))), "")


def describe_overwrite(path: Path | None) -> str:
    """Return what would happen to a file that is not there."""
    return "" if path is None or path.is_file() else "would be written"


def collect_kept_options(options: Mapping[str, object], kept: Sequence[KeptOption], part: str) -> dict[str, object]:
    """Return what a run keeps of the options that it keeps in this part of its record."""
    from markbook.judge.panel import plain_judge
    from markbook.model.connect import without_secrets

    values: dict[str, object] = {}
    for option in kept:
        value = options[option.name]
        if option.place != f"{part}.{option.name}" or value is None:
            continue
        if option.name == "base_url" and isinstance(value, str):
            value = without_secrets(value)
        if option.name == "judges" and isinstance(value, tuple):
            value = tuple(map(plain_judge, value))
        values[option.name] = (
            list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value
        )
    return values
