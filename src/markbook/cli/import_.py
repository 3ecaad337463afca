"""`markbook import`."""

from __future__ import annotations

import json

import click

from markbook.cli.options import map_option

_EXAMPLES = """
\b
Examples:
  markbook import logs/2026-01-01.eval -o generated
  markbook import lm_eval_output/ -o generated   (every result below it)
  markbook import answers.csv -o generated \\
      --map item=id,model=system,score=correct
"""


@click.command("import", epilog=_EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=click.Path(), metavar="RESULTS...")
@click.option("-o", "--output", required=True, type=click.Path(), help="Folder in which each becomes a run folder.")
@map_option
@click.option("--json", "as_json", is_flag=True, help="Print the run folders as JSON.")
def command(results: tuple[str, ...], output: str, columns: dict[str, str] | None, *, as_json: bool) -> int:
    """Keep other tools' results as runs of our own, with their inputs and answers cut to what is shown.

    Comparing, reporting and viewing need no import: they read the files where they lie.
    """
    from markbook.errors import DataError
    from markbook.runs.conductor import conduct
    from markbook.runs.foreign import ImportOptions
    from markbook.store.foreign import foreign_paths

    folders = []
    for result in results:
        paths = foreign_paths(result, columns)
        if not paths:
            raise DataError(
                "no reader knows any results here", at=result, hint="see `markbook list foreign`; a table with --map"
            )
        for path in paths:
            options = ImportOptions(results=path, columns=columns or {}, output=output)
            folders.append(str(conduct("import", options).folder))
    click.echo(json.dumps({"runs": folders}, indent=2) if as_json else "\n".join(folders))
    return 0
