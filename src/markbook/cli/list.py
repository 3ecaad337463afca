"""`markbook list`: what there is to choose from."""

from __future__ import annotations

import json

import click

from markbook.cli.options import completing
from markbook.errors import MarkbookError

_KINDS = ("metrics", "tasks", "loaders", "traces", "engines", "generators", "reports", "runs", "foreign", "languages")


@click.command("list")
@click.argument("kind", metavar="|".join(_KINDS), shell_complete=completing(lambda: _KINDS))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(kind: str, *, as_json: bool) -> None:
    """List built-ins and installed plugins of one kind."""
    if kind not in _KINDS:
        from markbook.errors import UsageError, suggest

        raise UsageError(f"there is no list of {kind!r}", hint=suggest(kind, list(_KINDS)))
    rows = _rows(kind)
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    if not rows:
        click.echo(f"no {kind}", err=True)
        return
    hidden = {"target", "signature", "options"} | (set() if any(row["problem"] for row in rows) else {"problem"})
    columns = [key for key in rows[0] if key not in hidden]
    widths = {key: max(len(key), *(len(_text(row.get(key))) for row in rows)) for key in columns}
    click.echo("  ".join(f"{key:<{widths[key]}}" for key in columns).rstrip())
    for row in rows:
        click.echo("  ".join(f"{_text(row.get(key)):<{widths[key]}}" for key in columns).rstrip())


def _rows(kind: str) -> list[dict[str, object]]:
    from markbook import plugins
    from markbook.config.loading import ready_tasks
    from markbook.languages import find, language

    if kind == "tasks":
        # The ready tasks and groups, and whatever package brings some that cannot be used.
        rows: list[dict[str, object]] = [
            {"name": name, "file": path.name, "problem": ""} for name, path in ready_tasks().items()
        ]
        broken = ((name, plugins.find_problem("tasks", name)) for name in plugins.names("tasks"))
        return rows + [{"name": name, "file": "", "problem": problem} for name, problem in broken if problem]
    rows = [dict(row) for row in plugins.describe(kind)]
    if kind == "languages":
        for row in rows:
            name = str(row["name"])
            try:
                row |= {"title": language(name).title, "version": find(name).version, "problem": ""}
            except MarkbookError as error:  # its toolchain is not here: the hint begins with what to install
                row |= {"title": "", "version": None, "problem": error.hint.partition(";")[0] or error.message}
        return rows
    if kind == "metrics":
        return [_with_metric(row) for row in rows]
    # A plugin that cannot be loaded is listed with its reason: it must not hide the others.
    return [{**row, "problem": plugins.find_problem(kind, str(row["name"]))} for row in rows]


def _with_metric(row: dict[str, object]) -> dict[str, object]:
    """Add what only the metric itself knows; a plugin that cannot be made is listed with the reason."""
    import inspect

    from markbook import plugins

    name = str(row["name"])
    try:
        # Some metrics cannot be made without an option, so each states one by which it can.
        metric = plugins.create("metrics", name, **plugins.example_options("metrics", name))
        options = list(inspect.signature(plugins.factory("metrics", name)).parameters)
    except MarkbookError as error:
        return {**row, "range": None, "direction": None, "version": None, "problem": str(error)}
    about = {"name": name, "range": list(metric.range), "direction": metric.direction, "version": metric.version}
    about |= {"signature": metric.signature, "options": options}
    return {**about, "package": row["package"], "target": row["target"], "problem": ""}


def _text(value: object) -> str:
    if isinstance(value, list):
        return "..".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
    return "" if value is None else str(value)
