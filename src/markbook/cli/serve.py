"""`markbook serve`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from markbook.cli.options import Grouped, Number, options_of
from markbook.errors import UsageError
from markbook.plugins import need
from markbook.runs.exam.exam_options import ExamOptions

_EXAMPLES = """
\b
Examples:
  markbook serve --benchmarks benchmarks/
  markbook serve --host 0.0.0.0 --token-file token
  curl -s localhost:8080/v1/mark -H 'Content-Type: application/json' -d \\
    '{"items": [{"id": "a", "code": "f = abs", "tests": ["f(-1) == 1"]}]}'
"""


@click.command("serve", cls=Grouped, epilog=_EXAMPLES)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address; all but loopback need --token-file.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port; 0 for a free one.")
@options_of(ExamOptions, only=("workers",), workers="Parallel workers [default: one per core].")
@click.option("--benchmarks", type=click.Path(), help="Folder of benchmarks that requests may refer to.")
@click.option("--token-file", type=click.Path(), help="File with the token that clients must send.")
@options_of(ExamOptions, only=("timeout",), timeout="CPU seconds of a program, if its item sets no limit.")
@click.option("--deadline", type=Number(min=0.1), default=600.0, show_default=True, help="Maximum seconds per request.")
@click.option(
    "--queue",
    type=click.IntRange(min=1),
    default=4096,
    show_default=True,
    help="Maximum queued items; beyond it requests get status 429.",
)
@click.option(
    "--cache",
    type=click.IntRange(min=0),
    default=65536,
    show_default=True,
    help="Verdicts cached by content; 0 disables the cache.",
)
@click.option(
    "--grace", type=Number(min=0), default=30.0, show_default=True, help="Seconds to finish running work on shutdown."
)
@options_of(ExamOptions, only=("isolation",))
@options_of(ExamOptions, only=("python",), python="Interpreter (3.11 or newer) whose packages programs may import.")
@options_of(ExamOptions, only=("engine",))
def command(**options: Any) -> int:
    """Serve a reward API for RL training, until interrupted. Programs run isolated. A reward is a number, or null with a reason.

    POST /v1/mark, /v1/score, /run_code, /get_reward; GET /health, /metrics, /openapi.json, and a page that shows load.
    """
    for package in ("starlette", "uvicorn"):
        need(package, extra="serve")
    from markbook.programs.sandboxes import BoxSettings
    from markbook.serve.guard import Guard, is_loopback
    from markbook.serve.items import Defaults
    from markbook.serve.marking import ServerSettings
    from markbook.serve.pool import PoolSettings
    from markbook.serve.serve import bind, read_token, serve

    token = read_token(Path(options["token_file"])) if options["token_file"] else ""
    # Whoever reaches the port runs programs here: outside this machine a token is the only lock.
    if not token and not is_loopback(options["host"]):
        raise UsageError(
            f"{options['host']} lets clients on other machines run code without a token", hint="give --token-file"
        )
    box = BoxSettings(
        workers=options["workers"], isolation=options["isolation"], python=options["python"], adaptive=True
    )
    settings = ServerSettings(
        pool=PoolSettings(box=box, engine=options["engine"], queue=options["queue"], cache=options["cache"]),
        guard=Guard(token=token),
        defaults=Defaults(timeout=options["timeout"], most_timeout=max(600.0, options["timeout"])),
        benchmarks=Path(options["benchmarks"]) if options["benchmarks"] else None,
        deadline=options["deadline"],
    )
    # Bound before the server starts: with port 0 the system chooses the number, and it has to be printed.
    with bind(options["host"], options["port"]) as sock:
        host, port = sock.getsockname()[:2]

        def ready(_server: object) -> None:
            # An IPv6 address holds colons, which a URL takes for the port's unless it stands in brackets.
            address = f"[{host}]" if ":" in host else host
            click.echo(f"http://{address}:{port}")
            click.echo("Press Ctrl-C to stop.", err=True)

        asyncio.run(serve(settings, sock, grace=options["grace"], ready=ready))
    return 0
