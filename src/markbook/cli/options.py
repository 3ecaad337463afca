"""Options that several commands share."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])

TERMINATED = 143


class Spread(click.Command):
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


def resume_option(function: _F) -> _F:
    """Add `--resume RUN`."""
    return click.option(
        "--resume",
        type=click.Path(),
        metavar="RUN",
        help="Go on with this run folder (evaluation_*); give the other arguments as before.",
    )(function)


def json_option(function: _F) -> _F:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout instead of tables.")(function)


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """Turn SIGTERM into an orderly end with exit code 143: the run is marked interrupted and can be resumed."""

    def end(_number: int, _frame: FrameType | None) -> None:
        sys.exit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
