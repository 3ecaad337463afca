"""`markbook doctor`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from markbook.cli.options import json_option

if TYPE_CHECKING:
    from markbook.doctor import Finding

_LEVELS = {
    "A": "namespaces, read-only root, landlock, seccomp, resource limits",
    "B": "landlock, seccomp, resource limits",
    "C": "seccomp, resource limits: files of the user can be read and deleted",
    "D": "resource limits only: protects against accidents",
    "": "the sandbox does not start",
}


@click.command("doctor")
@json_option
def command(*, as_json: bool) -> int:
    """Say how well solutions are isolated on this machine, layer by layer, and what is installed.

    Exits with 3 where `--isolation auto` would refuse to run.
    """
    from markbook.doctor import examine

    finding = examine()
    if as_json:
        click.echo(json.dumps({**finding.record(), "fit": finding.is_fit}, indent=2, ensure_ascii=False))
    else:
        _show(finding)
    return 0 if finding.is_fit else 3


def _show(finding: Finding) -> None:
    click.echo(f"Python      {finding.python}")
    click.echo(f"System      {finding.system}, {finding.processors} usable processors")
    click.echo(f"Isolation   {finding.isolation or 'none'}: {_LEVELS[finding.isolation]}")
    for layer in finding.layers:
        click.echo(
            f"  {'ok    ' if layer.ok else 'FAILED'}  {layer.name}{f'  ({layer.detail})' if layer.detail else ''}"
        )
    if finding.problem:
        click.echo(f"  FAILED  {finding.problem}")
    click.echo("Extras")
    for name, is_there in finding.extras.items():
        click.echo(
            f"  {'ok    ' if is_there else 'absent'}  {name}"
            + ("" if is_there else f"  (pip install 'markbook[{name}]')")
        )
    click.echo("Languages")
    for name, version in finding.languages.items():
        click.echo(f"  {'ok    ' if version else 'absent'}  {name}  ({version or _install(name)})")
    click.echo("Write access")
    for name, can in finding.writable.items():
        click.echo(f"  {'ok    ' if can else 'FAILED'}  {name}")


def _install(name: str) -> str:
    from markbook.errors import MarkbookError
    from markbook.languages import language

    try:
        return f"apt install {language(name).package}"
    except MarkbookError as error:
        return error.message
