"""`markbook get`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from markbook.cli.options import completing, json_option

if TYPE_CHECKING:
    from markbook.files.hub import HubData

_EXAMPLES = """
\b
Examples:
  markbook get humaneval
  markbook get gsm8k -o data/gsm8k.jsonl
  markbook get allenai/openbookqa --config main --split validation --show
"""


def _list_known() -> list[str]:
    from markbook.files.hub import KNOWN

    return [*KNOWN]


@click.command("get", epilog=_EXAMPLES)
@click.argument("name", required=False, metavar="NAME|OWNER/NAME", shell_complete=completing(_list_known))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write [default: NAME.jsonl].")
@click.option("--config", default="", metavar="PART", help="Of a data set with several: which.")
@click.option("--split", default="", metavar="SPLIT", help="Which of its splits [default: test].")
@click.option("--show", is_flag=True, help="Say where it lies and under which licence, and fetch no row.")
@json_option
def command(name: str | None, output: Path | None, config: str, split: str, *, show: bool, as_json: bool) -> int:
    """Fetch a known benchmark, or any data set of the Hugging Face hub, as a file of JSON Lines.

    Its licence, its commit and the digest of what was written are shown. Without NAME: what is known by a short name.
    This and `markbook run --allow-download` are the only ways in which Markbook fetches data.
    """
    from markbook.errors import UsageError
    from markbook.files.hub import KNOWN, find

    if name is None:
        _list(as_json=as_json)
        return 0
    hub_data = KNOWN.get(name)
    if hub_data is None and "/" not in name:
        from markbook.plugins import suggest

        raise UsageError(
            f"{name!r} is known by no short name", hint=f"{suggest(name, [*KNOWN])}; any data set goes by OWNER/NAME"
        )
    target = output or Path(f"{name.replace('/', '_')}.jsonl")
    if not show and target.exists():
        raise UsageError(f"{target} is there already", hint="name another file with --output")
    repository = hub_data.repository if hub_data else name
    data = find(
        repository, config or (hub_data.config if hub_data else ""), split or (hub_data.split if hub_data else "test")
    )
    about: dict[str, object] = {"data": data.address, "revision": data.revision, "files": list(data.files)}
    about["licence"] = data.licence or "its card states none"
    if not show:
        about |= _save_rows(data, target)
    if as_json:
        click.echo(json.dumps(about, indent=2))
        return 0
    from markbook.text import terminal

    for key, value in about.items():
        click.echo(f"{key:<9} {terminal(', '.join(value) if isinstance(value, list) else str(value))}")
    if not show and hub_data is not None:
        click.echo(f"\nUse it:\n  {hub_data.command.format(shlex.quote(str(target)))}")
    return 0


def _list(*, as_json: bool) -> None:
    """Print what is known by a short name."""
    from markbook.files.hub import KNOWN

    if as_json:
        listed = [
            {"name": name, "data": repository.repository, "about": repository.about}
            for name, repository in KNOWN.items()
        ]
        click.echo(json.dumps(listed, indent=2))
        return
    for name, repository in KNOWN.items():
        click.echo(f"{name:<16}{repository.repository:<34}{repository.about}")


def _save_rows(data: HubData, target: Path) -> dict[str, object]:
    """Write the rows and return what there is to say of the file."""
    from markbook.errors import OutputError
    from markbook.files.hub import save

    try:
        rows, digest = save(data, target)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}", hint="name another with --output") from None
    return {"file": str(target), "rows": rows, "sha256": digest}
