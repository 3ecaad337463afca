"""`markbook get` and `markbook import`: known benchmarks, and other tools' results."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from markbook.cli.options import Grouped, completing, json_option, map_option
from markbook.errors import DataError, OutputError, UsageError, suggest

# `markbook import`.

_EXAMPLES = """
\b
Examples:
  markbook import logs/2026-01-01.eval -o generated
  markbook import lm_eval_output/ -o generated   # every result below it
  markbook import answers.csv -o generated \\
      --map item=id,model=system,score=correct
"""


@click.command("import", cls=Grouped, epilog=_EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True), metavar="RESULTS...")
@click.option("-o", "--output", required=True, type=click.Path(), help="Folder for the run folders.")
@map_option
@click.option("--json", "as_json", is_flag=True, help="Print the run folders as JSON.")
def import_command(results: tuple[str, ...], output: str, columns: dict[str, str] | None, *, as_json: bool) -> int:
    """Convert other tools' results to run folders; inputs and answers are cut to 2,000 characters.

    `compare`, `report` and `view` need no import: they read the files directly.
    """
    from markbook.foreign.reading import check_map
    from markbook.runs.conductor import conduct
    from markbook.runs.foreign import ImportOptions
    from markbook.store.reader import foreign_paths

    paths: list[Path] = []
    for result in results:
        if not (files := foreign_paths(result, columns)):
            raise DataError(
                "no known format of results here", at=result, hint="see `markbook list foreign`; a table with --map"
            )
        paths += files
    check_map(paths, columns)
    # A run each: results below one folder may be of different tools and samples.
    requests = [ImportOptions(results=path, columns=columns or {}, output=output) for path in paths]
    folders = [str(conduct("import", request).folder) for request in requests]
    click.echo(json.dumps({"runs": folders}, indent=2) if as_json else "\n".join(folders))
    return 0


# `markbook get`.

_GET_EXAMPLES = """
\b
Examples:
  markbook get humaneval
  markbook get gsm8k -o data/gsm8k.jsonl
  markbook get allenai/openbookqa --config main --split validation --show
"""


def _list_known() -> list[str]:
    from markbook.files.hub import KNOWN

    return [*KNOWN]


def _is_there(path: Path) -> bool:
    """Whether something is at a path; newer Pythons say of a path that no file can have that nothing is there."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}", hint="name another with --output") from None
    return True


@click.command("get", cls=Grouped, epilog=_GET_EXAMPLES)
@click.argument("name", required=False, metavar="NAME|OWNER/NAME", shell_complete=completing(_list_known))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write [default: NAME.jsonl].")
@click.option("--config", default="", metavar="PART", help="Config of a dataset that has several.")
@click.option("--split", default="", metavar="SPLIT", help="Split of the dataset [default: test].")
@click.option("--show", is_flag=True, help="Print the source and licence of the dataset without downloading it.")
@json_option
def command(name: str | None, output: Path | None, config: str, split: str, *, show: bool, as_json: bool) -> int:
    """Download a known benchmark, or any dataset of the Hugging Face hub, as a file of JSON Lines.

    Prints its licence, its commit and the digest of the file. Without NAME, lists the known short names.
    Only this command and `markbook run --allow-download` download data.
    """
    from markbook.files.hub import KNOWN, find, save

    if name is None:
        if as_json:
            known = [{"name": name, "data": data.repository, "about": data.about} for name, data in KNOWN.items()]
            click.echo(json.dumps(known, indent=2))
        else:
            for short, about_data in KNOWN.items():
                click.echo(f"{short:<16}{about_data.repository:<34}{about_data.about}")
        return 0
    hub_data = KNOWN.get(name)
    if hub_data is None and "/" not in name:
        raise UsageError(
            f"unknown benchmark {name!r}", hint=f"{suggest(name, [*KNOWN])}; any dataset can be given as OWNER/NAME"
        )
    target = output or Path(f"{name.replace('/', '_')}.jsonl")
    # Before anything is fetched: nothing of the user's is overwritten, and no download is for nothing.
    if not show and _is_there(target):
        raise UsageError(f"{target} is there already", hint="name another file with --output")
    repository = hub_data.repository if hub_data else name
    data = find(
        repository, config or (hub_data.config if hub_data else ""), split or (hub_data.split if hub_data else "test")
    )
    about: dict[str, object] = {"data": data.address, "revision": data.revision, "files": list(data.files)}
    about["licence"] = data.licence or "its card states none"
    if not show:
        try:
            rows, digest = save(data, target)
        except OSError as error:
            raise OutputError(
                f"{target} cannot be written: {error.strerror}", hint="name another with --output"
            ) from None
        about |= {"file": str(target), "rows": rows, "sha256": digest}
    if as_json:
        click.echo(json.dumps(about, indent=2))
        return 0
    from markbook.text import terminal

    for key, value in about.items():
        click.echo(f"{key:<9} {terminal(', '.join(value) if isinstance(value, list) else str(value))}")
    if not show and hub_data is not None:
        click.echo(f"\nUse it:\n  {hub_data.command.format(shlex.quote(str(target)))}")
    return 0
