"""Write the reference pages of the site from the program itself: help texts, docstrings, parts behind the door, schemas."""

from __future__ import annotations

import ast
import dataclasses
import html
import inspect
import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

import markbook
from markbook import cli, stats
from markbook.option import declaration
from markbook.plugins import names
from markbook.runs.exam.exam_options import ExamOptions
from markbook.runs.tasks.task_options import TaskOptions

ROOT = Path(__file__).resolve().parents[1]
_WIDTH = 110
_LINE = 60
"""Characters of a signature on one line."""
_PARTS = {
    "metrics": "Names for `score`, `measure` and task files; the pages under Metrics describe each.",
    "loaders": "Formats of benchmarks and papers, detected by content.",
    "traces": "Formats of agent logs, detected by content.",
    "foreign": "Results of other tools, read in place.",
    "languages": "Languages of programs.",
    "reports": "Formats of `report --format`.",
    "engines": "Where work runs.",
    "generators": "Clients that query a model for completions.",
    "runs": "Kinds of run.",
}


def write(folder: Path) -> None:
    """Write all pages of the reference."""
    folder.mkdir(parents=True, exist_ok=True)
    pages: Mapping[str, Callable[[], str]] = {
        "commands": commands,
        "python": python,
        "statistics": statistics,
        "parts": parts,
        "task_file": task_file,
    }
    for name, page in pages.items():
        (folder / f"{name}.md").write_text(page(), encoding="utf-8")


def commands() -> str:
    """Return the page with the help of every command."""
    lines = ["# Commands", "", "The output of `--help` for each command.", ""]
    for name, command in _all_commands():
        context = click.Context(command, info_name=name, terminal_width=_WIDTH, max_content_width=_WIDTH)
        lines += [f"## {name}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def _all_commands() -> Iterator[tuple[str, click.Command]]:
    def below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command, info_name=name)
            for each in command.list_commands(context):
                found = command.get_command(context, each)
                assert found is not None
                yield from below(f"{name} {each}", found)

    return below("markbook", cli.cli)


def python() -> str:
    """Return the page with the public names of the package."""
    lines = ["# Python", "", "All names that `markbook` exports. Everything else may change.", ""]
    for name in sorted(name for name in markbook.__all__ if not name.startswith("__")):
        lines += _entry(f"markbook.{name}", getattr(markbook, name))
    for function, options in (("exam", ExamOptions), ("run_task", TaskOptions)):
        lines += [f"## Options of markbook.{function}", "", _prose(inspect.getdoc(options) or ""), ""]
        said: dict[str, str] = {}
        for kind in reversed([kind for kind in options.__mro__ if dataclasses.is_dataclass(kind)]):
            own = [field for field in dataclasses.fields(kind) if field.name in kind.__annotations__]
            # The help of an option that a command inverts says the contrary.
            said |= {field.name: declaration(field).help for field in own if not declaration(field).inverts}
            said |= _field_words(kind)
        lines += [f"- `{name}`: {html.escape(words, quote=False)}" for name, words in said.items() if words]
        lines.append("")
    return "\n".join(lines)


def statistics() -> str:
    """Return the page with the public names of `markbook.stats`."""
    lines = ["# Statistics in Python", "", "`from markbook import stats`: each returns a small record.", ""]
    for name in sorted(stats.__all__):
        lines += _entry(f"stats.{name}", getattr(stats, name))
    return "\n".join(lines)


def _entry(name: str, thing: Any) -> list[str]:
    lines = [f"## {name}", ""]
    if inspect.isfunction(thing) or inspect.isclass(thing):
        lines += ["```python", f"{name}{_signature(thing)}", "```", ""]
    lines += [_prose(inspect.getdoc(thing) or ""), ""]
    if inspect.isclass(thing):
        lines += list(_members(thing))
    return lines


def _signature(thing: Any) -> str:
    """Return the parameters of a function or class, one a line where they are many."""
    try:
        found = inspect.signature(thing)
    except ValueError:
        return "(...)"
    given: list[str] = []
    for each in found.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not any(word.startswith("*") for word in given):
            given.append("*")
        mark = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        kind = "" if each.annotation is each.empty else f": {_plain(each.annotation)}"
        given.append(f"{mark}{each.name}{kind}" + ("" if each.default is each.empty else f" = {each.default!r}"))
    back = "" if inspect.isclass(thing) else f" -> {_plain(found.return_annotation)}"
    line = f"({', '.join(given)}){back}"
    return line if len(line) < _LINE else "(\n" + "".join(f"    {each},\n" for each in given) + f"){back}"


def _plain(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _prose(doc: str) -> str:
    """Return a docstring as Markdown: headings of its sections in bold, indented lists as lists, the rest as it stands."""
    lines: list[str] = []
    for line in doc.splitlines():
        if line in ("Args:", "Raises:", "Returns:", "Yields:"):
            lines += [f"**{line[:-1]}**", ""]
        elif line.startswith("    ") and not line.startswith("     ") and ": " in line:
            name, _, words = line.strip().partition(": ")
            lines.append(f"- `{name}`: {html.escape(words, quote=False)}")
        elif line.startswith("     "):
            lines.append(f"  {html.escape(line.strip(), quote=False)}")
        elif line.startswith("    "):
            lines.append(html.escape(line.strip(), quote=False))
        else:
            lines.append(html.escape(line, quote=False))
    return "\n".join(lines)


def _members(kind: type) -> Iterator[str]:
    """Yield the fields of a record with the words under each, then its methods with their first sentence."""
    said = _field_words(kind)
    fields = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    for name in fields:
        yield f"- `{name}`{': ' + html.escape(said[name], quote=False) if name in said else ''}"
    if fields:
        yield ""
    for name, member in vars(kind).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        arguments = "" if isinstance(member, property) else "()"
        first = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
        yield f"- `.{name}{arguments}`: {html.escape(first, quote=False)}"
    yield ""


def _field_words(kind: type) -> dict[str, str]:
    """Return the strings that stand under the fields of a class."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            found[field.target.id] = " ".join(below.value.value.split())
    return found


def parts() -> str:
    """Return the page with the built-in plugins."""
    lines = ["# Plugins", "", "`markbook list KIND` also shows those of your own packages.", ""]
    for group, words in _PARTS.items():
        lines += [f"## {group}", "", words, "", ", ".join(f"`{name}`" for name in names(group)), ""]
    return "\n".join(lines)


def task_file() -> str:
    """Return the page with every key of a task file, from its JSON schema."""
    schema = json.loads((ROOT / "docs" / "task.schema.json").read_text(encoding="utf-8"))
    lines = [
        "# The task file",
        "",
        "All keys of a task file, from `task.schema.json`. [Tasks](../tasks.md) explains them.",
        "",
    ]
    kinds = {"A file": schema, **schema.get("$defs", {})}
    for title, kind in kinds.items():
        if "properties" not in kind:
            continue
        lines += [f"## {title}", "", "| key | type | default | what |", "|---|---|---|---|"]
        for key, value in kind["properties"].items():
            default = json.dumps(value["default"]) if "default" in value else ""
            words = " ".join(str(value.get("description", "")).split())
            lines.append(f"| `{key}` | {_type(value)} | {_cell(default)} | {_cell(words)} |")
        lines.append("")
    return "\n".join(lines)


def _type(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        return str(value["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in value:
        return " or ".join(_type(each) for each in value["anyOf"])
    if "enum" in value:
        return " or ".join(f"`{each}`" for each in value["enum"])
    kind = str(value.get("type", "any"))
    return f"list of {_type(value['items'])}" if kind == "array" and value.get("items") else kind


def _cell(text: str) -> str:
    return html.escape(text, quote=False).replace("|", "\\|")
