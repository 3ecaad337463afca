"""Options that several commands share."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from markbook.cli.options.help import Grouped
from markbook.cli.options.number import Number
from markbook.types import DAY

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from markbook.results.compare import Baseline
    from markbook.store import Run

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
    from markbook.config import ready_tasks

    return list(ready_tasks())


def run_names() -> list[str]:
    """Return the runs that a RUN may be here: the newest, and those in the folder that runs are written to."""
    from markbook.store.find import HOME, LATEST, runs_in

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
    from markbook.store.find import existing_run

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
        DataError: it is no run, damaged, not finished, or of another command.
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
    from markbook.results.compare import hold_against, sheets_of
    from markbook.results.signatures import differences

    allowed = baseline.allow_different_measures
    pairs = hold_against(run, baseline.run, metric=metric, seed=seed, allow_different_measures=allowed)
    if allowed and (words := differences(sheets_of([run, baseline.run], metric))):
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
