"""Options that several commands share."""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, fields, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from markbook.errors import ConfigError, DataError, IncompleteError, UsageError, suggest_path
from markbook.option import (
    PRINTED,
    SECTIONS,
    CountRange,
    NumberRange,
    Option,
    PathValue,
    RunValue,
    Switch,
    Values,
    WordChoice,
    declaration,
    parameter_name,
    place_in_record,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from markbook.results.compare import Baseline
    from markbook.results.gates import Gate, GateMark
    from markbook.store import Run


_F = TypeVar("_F", bound=Callable[..., Any])

# A number on the command line.


class Number(click.FloatRange):
    """A finite number within a range: click takes NaN for one that lies in every range, and infinity in every open one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; fail as click does where it is none, not finite or out of the range."""
        # click's own range check compares, and every comparison with NaN is false, so NaN is refused by nobody
        # before.
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


# Parameters made of what records of options declare.


class DeclaredOption(click.Option):
    """An option with the section of the help page that it is listed in, and what else is declared of it."""

    def __init__(
        self, *args: Any, section: str = "", after: str = "", declared: Option | None = None, **attributes: Any
    ) -> None:
        super().__init__(*args, **attributes)
        self.declared = declared or Option(section=section, after=after, changes_results=False)


class DeclaredArgument(click.Argument):
    """An argument, and what is declared of it."""

    def __init__(self, *args: Any, declared: Option, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.declared = declared


def command_option(*names: str, section: str = "", after: str = "", **attributes: Any) -> Callable[[_F], _F]:
    """Add an option of a command that is none of its run: what it prints, which gates it holds."""
    return click.option(*names, cls=DeclaredOption, section=section, after=after, **attributes)


def options_of(*records: type[Any], only: Sequence[str] = (), section: str = "", **wordings: str) -> Callable[[_F], _F]:
    """Add the options that records of options declare.

    Args:
        *records: the dataclasses.
        only: the fields to add; all if empty.
        section: of the help page, where it is another one.
        **wordings: other help texts, by field, in a command that is not a run.
    """

    def add(function: _F) -> _F:
        every = [field for record in records for field in fields(record) if declaration(field).flags]
        chosen = [field for field in every if field.name in only or not only]
        # Decorators apply from the bottom up: reversed, the help page has the options in the order of the fields.
        for field in reversed(chosen):
            declared = declaration(field)
            declared = replace(
                declared, help=wordings.get(field.name, declared.help), section=section or declared.section
            )
            function = _parameter(field, declared)(function)
        return function

    return add


def _parameter(field: Field[Any], declared: Option) -> Callable[[_F], _F]:
    """Return the decorator that adds a field's option or argument to a command."""
    attributes: dict[str, Any] = {"metavar": declared.metavar, "type": _click_type(declared.values)}
    if declared.completes:
        complete = task_names if declared.completes == "tasks" else part_names(declared.completes)
        attributes["shell_complete"] = completing(complete, files=declared.completes == "tasks")
    if isinstance(declared.values, RunValue):
        attributes |= {"metavar": "RUN", "callback": _one_run, "shell_complete": completing(run_names, files=True)}
    name = parameter_name(field)
    if not declared.flags[0].startswith("-"):
        attributes["metavar"] = declared.flags[0]
        return click.argument(name, nargs=-1, cls=DeclaredArgument, declared=declared, **attributes)
    if isinstance(declared.values, Switch) or (declared.values is None and isinstance(field.default, bool)):
        attributes["is_flag"] = True
    return click.option(
        *declared.flags,
        name,
        cls=DeclaredOption,
        declared=declared,
        # A flag such as `--no-dedupe` is off where its field is True: what the user types is the opposite of what is
        # set.
        default=field.default is not True if declared.inverts else field.default,
        multiple=declared.repeats,
        show_default=declared.shows_default or None,
        help=declared.help,
        **attributes,
    )


def _click_type(values: Values | None) -> click.ParamType[Any] | None:
    """Return click's word for the values that an option takes; None where it follows from the default."""
    match values:
        case NumberRange():
            return Number(values.low, values.high, min_open=values.above_low)
        case CountRange(None, None):
            return click.INT
        case CountRange():
            return click.IntRange(values.low, values.high)
        case WordChoice():
            return click.Choice(values.words)
        case PathValue():
            return click.Path(path_type=None if values.is_text else Path)
        case RunValue():
            return click.Path()
        case _:
            return None


# Help pages of commands with many options: in sections, the most wanted first.


class Grouped(click.Command):
    """A command whose options are shown in sections of two or more; its own options come first, `--help` alone last."""

    @property
    def sections(self) -> Mapping[str, Sequence[str]]:
        """Titles with the parameters under each."""
        sections: dict[str, list[str]] = {title: [] for title in SECTIONS}
        later: list[tuple[str, list[str], str]] = []
        for parameter in self.params:
            if isinstance(parameter, DeclaredOption) and parameter.name and (section := parameter.declared.section):
                if parameter.declared.after:
                    later.append((parameter.name, sections[section], parameter.declared.after))
                else:
                    sections[section].append(parameter.name)
        # At the end, when the options that others stand behind all have their places.
        for name, names, before in later:
            names.insert(names.index(before) + 1, name)
        return {title: names for title, names in sections.items() if names}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        records = {
            str(parameter.name): record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        # Short words for the values; the longer one first, or "INTEGER" would be replaced within "INTEGER RANGE".
        for long, short in (("INTEGER RANGE", "N"), ("FLOAT RANGE", "X"), ("INTEGER", "N"), ("[|", "[")):
            records = {name: (flags.replace(long, short), words) for name, (flags, words) in records.items()}
        present = {title: [name for name in names if name in records] for title, names in self.sections.items()}
        sections = [
            (title, [records.pop(name) for name in names]) for title, names in present.items() if len(names) > 1
        ]
        sections.insert(0 if len(records) > 1 else len(sections), ("Options", [*records.values()]))
        for title, rows in sections:
            with formatter.section(title):
                formatter.write_dl(rows)


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
            # A dash alone is the value that means standard input.
            if arg.startswith("-") and arg != "-":
                option, values = (arg if arg in self.spread else ""), 0
            elif option:
                # The first value follows the option that the user wrote; each further one gets the option again.
                if values:
                    yield option
                values += 1
            yield arg


def completing(names: Callable[[], Iterable[str]], *, files: bool = False) -> Callable[..., list[CompletionItem]]:
    """Return what completes an argument by names, after the last comma of it, and by files where it may be one."""

    def complete(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        # Names may be given in one word with commas; only the last of them is being typed.
        before, comma, begun = incomplete.rpartition(",")
        completions = [CompletionItem(before + comma + name) for name in names() if name.startswith(begun)]
        return [*completions, CompletionItem(incomplete, type="file")] if files else completions

    return complete


def task_names() -> list[str]:
    """Return the names of the ready tasks and groups."""
    from markbook.config.loading import ready_tasks

    return list(ready_tasks())


def run_names() -> list[str]:
    """Return the runs that a RUN may be here: the newest, and those in the folder that runs are written to."""
    from markbook.store.reader import HOME, LATEST, runs_in

    paths = [str(run) for run in runs_in(Path(HOME))] if Path(HOME).is_dir() else []
    # `runs_in` gives the oldest first; completions begin with the newest.
    return [LATEST, *reversed(paths)] if paths else []


def part_names(kind: str) -> Callable[[], list[str]]:
    """Return what names the parts of a kind (metrics, reports, loaders, engines), without importing one."""

    def list_completions() -> list[str]:
        from markbook.plugins import names

        return names(kind)

    return list_completions


def is_given(name: str) -> bool:
    """Whether the user gave an option of the running command, rather than leaving it at its default."""
    # The value alone does not tell: a user may give the very value that is the default.
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, click.core.ParameterSource.DEFAULT, click.core.ParameterSource.DEFAULT_MAP)


def _one_run(_context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Resolve `latest` and a folder with one run while the arguments are read: afterwards there is a newer one."""
    if value is None or (parameter.name == "resume" and value == "latest"):
        return value  # the latest run to resume lies where `--output` says, which may come later
    from markbook.store.reader import existing_run

    return str(existing_run(value))


def verbose_option(words: str) -> Callable[[_F], _F]:
    """Add `--verbose`; `words` says what is then named."""
    return command_option("--verbose", section=PRINTED, is_flag=True, help=words)


def runs_argument(function: _F) -> _F:
    """Add `RUN...`, one at least: run folders, folders of them, other tools' results."""
    complete = completing(run_names, files=True)
    return click.argument(
        "runs", nargs=-1, required=True, type=click.Path(), metavar="RUN...", shell_complete=complete
    )(function)


def json_option(function: _F) -> _F:
    """Add `--json`."""
    return command_option(
        "--json", "as_json", section=PRINTED, is_flag=True, help="Print JSON on stdout instead of tables."
    )(function)


def map_option(function: _F) -> _F:
    """Add `--map ROLE=COLUMN,...`."""

    def read(_context: click.Context, _option: click.Parameter, value: str | None) -> dict[str, str] | None:
        if value is None:
            return None
        from markbook.foreign.tables import parse_columns

        return parse_columns(value)

    return click.option(
        "--map",
        "columns",
        callback=read,
        metavar="ROLE=COLUMN,...",
        help="Columns of a CSV, JSON Lines or Parquet file. ROLE: item, model, score, repeat, cluster, input, output, error; better=lower if lower is better.",
    )(function)


def open_all_runs(paths: Sequence[str], columns: Mapping[str, str] | None = None) -> list[Run]:
    """Return all runs that paths mean, other tools' results among them.

    Raises:
        DataError: a path means none.
        UsageError: columns are named, and none of them is a plain table.
    """
    from markbook.store import find_runs, open_run

    run_paths = [run_path for path in paths for run_path in find_runs(path, columns)]
    if columns:
        from markbook.foreign.reading import check_map

        check_map(run_paths, columns)
    return [open_run(run_path, columns=columns) for run_path in run_paths]


def fail_under_option(names: str, section: str = "") -> Callable[[_F], _F]:
    """Add `--fail-under NAME=X`; `names` says what a name may be."""
    return command_option(
        "--fail-under",
        section=section,
        multiple=True,
        metavar="NAME=X",
        help=f"Exit 1 if a score is worse than X, such as 0.8 or 80%. NAME: {names}. NAME and X are checked before any work.",
    )


def baseline_option(section: str) -> Callable[[_F], _F]:
    """Add `--fail-if-worse RUN`, to a section of the help page."""
    return click.option(
        "--fail-if-worse",
        cls=DeclaredOption,
        section=section,
        type=click.Path(),
        shell_complete=completing(run_names, files=True),
        callback=_one_run,
        metavar="RUN",
        help="Exit 1 if a model is significantly worse than in this earlier run or table: the interval of the difference, as in "
        "`markbook compare`, excludes 0.",
    )


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


def hold_run(
    run: Run, gates: Sequence[Gate], marks: Callable[[], Sequence[GateMark]], baseline: Baseline | None, seed: int,
    *, lacking: str, metric: str | None = None, hint: str = "",
) -> None:  # fmt: skip
    """Hold a run against its gates and its baseline, and say on stderr which models passed.

    `marks` makes what gates are about, of exact scores (a gate at a rounded threshold would err); `lacking` is what an
    incomplete run lacks, in words, and `hint` what to do about it where resuming it is not the way.

    Raises:
        IncompleteError: it lacks a part for a reason of ours: such numbers must not pass or fail anybody.
        GateFailed: a mark does not reach its threshold, or a model is worse than before.
    """
    from markbook.results.gates import check_worse, hold_gates, say_not_worse

    if run.status == "incomplete":
        hint = hint or f"`markbook {run.command} --resume {run.folder}` asks for what is lacking"
        raise IncompleteError(f"incomplete: {lacking}", at=str(run.folder), hint=hint)
    hold_gates(gates, marks() if gates else [])
    if baseline is None:
        return
    from markbook.results.compare import hold_against

    allowed = baseline.allow_different_measures
    comparison, pairs = hold_against(run, baseline.run, metric=metric, seed=seed, allow_different_measures=allowed)
    for note in comparison.notes:  # who fails wants to know of them, too
        say(f"markbook: {note}")
    for pair in check_worse(comparison, pairs):
        say(say_not_worse(pair))


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
        # Asked for now and not before the run: an event loop puts a handler of its own there while it works.
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


# `--resume RUN` alone: what the user does not give is what the run was started with.


def fill_from_run(options: dict[str, object], command: str) -> None:
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
    from markbook.store import open_manifest
    from markbook.store.reader import existing_run

    if run == "latest":
        folder = str(options["output"]) if is_given("output") else ""
        run = options["resume"] = str(existing_run(Path(folder, "latest")))

    # Said by itself: a mistyped path is another mistake than a folder that holds no run.
    if not Path(str(run)).is_dir():
        raise UsageError("there is no such run folder to resume", at=str(run), hint=suggest_path(str(run)))
    manifest = open_manifest(str(run))
    if manifest is None:
        if any(is_given(name) for name in options if name != "resume"):
            return  # killed before there was a record, or no run folder: that is said where it is resumed
        raise UsageError("no run.json says how it was started", at=str(run), hint="give the command's arguments again")
    if (other := manifest.get("command")) != command:
        raise UsageError(
            f"this run cannot be resumed with these arguments; it was made by `markbook {other}`",
            at=str(run),
            hint=f"markbook {other} --resume RUN goes on with it",
        )
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        declared: Option | None = getattr(parameter, "declared", None)
        address = "" if declared is None else place_in_record(name, declared)
        if declared is None or not address or is_given(name):
            continue
        part, _, key = address.partition(".")
        section = manifest.get(part)
        value = section.get(key) if isinstance(section, Mapping) else None
        if value is None:
            continue
        try:
            decoded = declared.decode(value)
            # null is valid JSON, and stands here in a list where no command line could put it.
            if isinstance(decoded, list | tuple) and None in decoded:
                raise TypeError("a value that nobody can give")
            # A path that is a number would be an open file of this process.
            if isinstance(parameter.type, click.Path) and isinstance(decoded, int):
                raise TypeError("a path that is a number")
            # As if it had been typed: type, range and callbacks of the option refuse what no command line could give.
            checked = parameter.process_value(context, decoded)
        except (TypeError, ValueError, AttributeError, LookupError, OverflowError) as error:  # no command line gives it
            at = str(Path(str(run)) / "run.json")
            raise DataError(f"run.json is damaged: {address!r} is not what stands there", at=at) from error
        value = decoded if decoded == checked else checked  # 7 stays 7: as 7.0 it would be another run's
        if danger := declared.danger(value):
            flag = parameter.opts[0]
            named = flag if value is True else f"{flag} {str(value)!r}"
            hint = f"give {flag} again if you trust it"
            raise ConfigError(f"the run was started with {named}, which {danger}", at=str(run), hint=hint)
        options[name] = value
