"""The command line: a command's module is imported only when it runs.

A command parses, calls one function, prints and exits. Data goes to stdout, progress to stderr.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import io
import logging
import os
import sys
from typing import NoReturn

import click

from markbook.cli.streams import LineFormatter, prepare
from markbook.errors import MarkbookError, suggest

_SECTIONS = {
    "Evaluate": {
        "exam": "Run code solutions against a benchmark's tests and score them.",
        "run": "Run YAML tasks: score existing predictions or query a model.",
        "review": "Evaluate generated peer reviews: similarity, LLM judge, agent traces.",
        "score": "Score the rows of a file with one or more metrics.",
        "trace": "Show an agent trace: timeline, agent graph, metrics.",
        "serve": "Serve a reward API for RL training.",
    },
    "Look at results": {
        "compare": "Compare models on the same samples, with intervals and paired tests.",
        "show": "Show one sample of a run: prompt, answers, verdicts, and why tests failed.",
        "view": "Browse runs in a local page.",
        "report": "Write a report of a finished run; nothing is executed again.",
        "site": "Write a leaderboard as static pages.",
        "noise": "Estimate run-to-run variance.",
        "import": "Convert another tool's results to a run folder.",
    },
    "Judges": {
        "judge": "Check an LLM judge, and correct its scores by human labels.",
        "label": "Label a run's answers blindly in a local page.",
    },
    "Set up": {
        "demo": "Evaluate three recorded models on the bundled benchmark.",
        "init": "Create a working template: an exam, a task or a review.",
        "get": "Download a known benchmark, with its licence and digest.",
        "schema": "Print the JSON schema of a file: benchmark, answers, task, review, results.",
        "list": "List available metrics, tasks, loaders, trace formats, engines, reports.",
        "doctor": "Check sandbox support and installed extras.",
    },
}
"""The commands by section of `--help`, each with its line there; the command `name` is `markbook.cli.<name>.command`, if `_HOMES` does not say otherwise."""

_COMMANDS = [name for section in _SECTIONS.values() for name in section]

_HOMES = {
    "demo": ("init", "demo_command"),
    "import": ("get", "import_command"),
    "noise": ("compare", "noise_command"),
    "site": ("report", "site_command"),
    "view": ("show", "view_command"),
}
"""The module and the name of a command that stands in another's module."""
INTERRUPTED = 130
_NOT_OURS = frozenset({errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP})
"""What the system says of a path that somebody named; any other of its errors that comes this far is a fault of ours."""


class _LazyGroup(click.Group):
    """A group that imports a command's module when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return _COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        # Imported here, one command at a time: `--help` and completion stay quick.
        module, name = _HOMES.get(cmd_name, (cmd_name, "command"))
        command = getattr(importlib.import_module(f"markbook.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            ctx.fail(f"No such command {args[0]!r} ({suggest(args[0], _COMMANDS)}).")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([*commands.items()])


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's callback
    if value:
        from markbook.installed import version

        click.echo(f"markbook {version()}")
        ctx.exit()


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="`markbook COMMAND --help` shows a command's options with examples.",
)
@click.option(
    "--version", is_flag=True, callback=_print_version, expose_value=False, is_eager=True, help="Print the version."
)
def cli() -> None:
    """Evaluate the output of language models and agents: code, text and agent runs."""


def _leave_at_once(code: int) -> NoReturn:
    """End the process with this code, whatever the interpreter thinks of an interrupt.

    A SIGINT that arrives while some string is executed makes Python end itself by the signal instead of by our exit
    code. Everything of ours is closed by now: context managers did it on the way here.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


_GARBAGE = 200_000
"""Objects between two looks for garbage in circles: imports alone make 150,000 that stay, and looking took a twentieth of the time."""


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit with the documented code (`markbook.errors` has the table)."""
    gc.set_threshold(_GARBAGE, 20, 20)
    prepare()
    if logging.lastResort is not None:
        # What a library logs without a handler goes through `lastResort`, and may hold foreign words too.
        logging.lastResort.setFormatter(LineFormatter())
    code: object = None
    is_interrupted = False
    try:
        # click in its standalone mode ends the process itself, with codes and words of its own.
        code = cli.main(args=args, prog_name="markbook", standalone_mode=False)
    except MarkbookError as error:
        from markbook.text import terminal

        click.echo(f"markbook: {terminal(str(error))}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        # Without a file's name the error is not about a path that the user gave.
        if error.errno not in _NOT_OURS or error.filename is None:
            raise
        from markbook.text import terminal

        named = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
        click.echo(f"markbook: {terminal(named, limit=300)}: {error.strerror}", err=True)
        sys.exit(MarkbookError.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("markbook: interrupted", err=True)
        is_interrupted = True
    except click.ClickException as error:
        from markbook.text import visible

        stream = io.StringIO()
        error.show(stream)
        # It may quote a file's name, which the shell filled in.
        click.echo(visible(stream.getvalue()), nl=False, err=True)
        if "unexpected extra argument" in str(error) and isinstance(error, click.UsageError) and error.ctx is not None:
            needed = [
                name.opts[0]
                for name in error.ctx.command.params
                if name.opts[0] in ("--benchmark", "--solutions", "--papers")
            ]
            click.echo(
                f"Files are named by options: {' FILE '.join(needed)} FILE" if needed else "", err=True, nl=bool(needed)
            )
        sys.exit(error.exit_code)
    if is_interrupted:
        gc.collect()  # only now the error holds nothing any more: what its frames held gives back semaphores and files
        _leave_at_once(INTERRUPTED)
    if args is None:  # the process ends: a last look for garbage would take a tenth of a short run
        gc.freeze()
    sys.exit(code if isinstance(code, int) else 0)  # commands without an exit code of their own return None
