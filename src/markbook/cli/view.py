"""`markbook view`."""

from __future__ import annotations

import click


@click.command("view")
@click.argument("folder", type=click.Path(), default="generated", metavar="[DIR]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of 127.0.0.1 [default: a free one].")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
def command(folder: str, port: int, *, open_browser: bool) -> int:
    """Browse the runs in a folder in a local page, until interrupted.

    Lists runs, filters attempts, opens one with its code and tests, and sets two side by side. It answers this
    machine only, to whoever has the printed address, and writes nothing.
    """
    from markbook.errors import OutputError, UsageError
    from markbook.report.browse.server import Server
    from markbook.store.find import latest_run

    path = latest_run(folder)
    if not path.is_dir():
        raise UsageError("there is no such folder", at=folder, hint="name the folder that runs were written to")
    try:
        server = Server(path, port)
    except OSError as error:
        raise OutputError(f"port {port} cannot be used: {error.strerror or error}") from error
    with server:
        click.echo(server.address)
        click.echo("Press Ctrl-C to stop.", err=True)
        if open_browser:
            import webbrowser

            webbrowser.open(server.address)
        server.serve_forever()
    return 0
