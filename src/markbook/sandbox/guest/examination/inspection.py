"""What is decided about a solution's text, away from the process in which the solution runs."""

from __future__ import annotations

import ast
import re


def parse(text: str) -> ast.Module | None:
    """Return the syntax tree, or None if the text is no Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_PLACE = frozenset(("ctx", "lineno", "col_offset", "end_lineno", "end_col_offset"))


def nodes(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes of a tree, parents first, but for those that say how a name is used. Faster than `ast.walk`."""
    found_nodes = [tree]
    for node in found_nodes:
        for name, value in vars(node).items():
            if name in _PLACE:
                continue
            if type(value) is list:
                found_nodes.extend(part for part in value if isinstance(part, ast.AST))
            elif isinstance(value, ast.AST):
                found_nodes.append(value)
    return found_nodes


def defined_names(text: str, *, kind: str) -> list[str]:
    """Return the public names that the solution itself defines at top level: functions, or for `class` classes."""
    tree = parse(text)
    kinds = (ast.ClassDef,) if kind == "class" else (ast.FunctionDef, ast.AsyncFunctionDef)
    names_defined = [node.name for node in (tree.body if tree else []) if isinstance(node, kinds)]
    return list(dict.fromkeys(name for name in names_defined if not name.startswith("_")))


def uses(tree: ast.Module, names: list[str]) -> str:
    """Return the first of the names that the solution does not use, or an empty string.

    A name is a keyword (`lambda`, `yield from`), a called or imported name, or `module.attribute` of an import.
    """
    names_used = _collect_used_names(tree)
    return next((name for name in names if " ".join(name.split()) not in names_used), "")


_KEYWORDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.YieldFrom: ("yield from",),
    ast.Yield: ("yield",),
    ast.Lambda: ("lambda",),
    ast.Await: ("await",),
    ast.AsyncFunctionDef: ("async", "async def", "def"),
    ast.AsyncFor: ("async", "async for", "for"),
    ast.AsyncWith: ("async", "async with", "with"),
    ast.FunctionDef: ("def",),
    ast.ClassDef: ("class",),
    ast.With: ("with",),
    ast.For: ("for",),
    ast.comprehension: ("for", "in"),
    ast.While: ("while",),
    ast.If: ("if",),
    ast.IfExp: ("if", "else"),
    ast.Try: ("try",),
    ast.ExceptHandler: ("except",),
    ast.Raise: ("raise",),
    ast.Return: ("return",),
    ast.Assert: ("assert",),
    ast.Global: ("global",),
    ast.Nonlocal: ("nonlocal",),
    ast.Delete: ("del",),
    ast.Pass: ("pass",),
    ast.Break: ("break",),
    ast.Continue: ("continue",),
    ast.Import: ("import",),
    ast.ImportFrom: ("from", "import"),
    ast.Match: ("match", "case"),
    ast.And: ("and",),
    ast.Or: ("or",),
    ast.Not: ("not",),
    ast.In: ("in",),
    ast.NotIn: ("not in",),
    ast.Is: ("is",),
    ast.IsNot: ("is not",),
}


def _collect_used_names(tree: ast.Module) -> set[str]:
    names_used: set[str] = set()
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        names_used.update(_KEYWORDS.get(type(node), ()))
        if isinstance(node, ast.Import):
            for alias in node.names:
                names_used.add(alias.name)
                local = alias.asname or alias.name.partition(".")[0]
                modules[local] = alias.name if alias.asname else local
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names_used.update((alias.name, f"{node.module or ''}.{alias.name}"))
                modules[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
        elif isinstance(node, ast.If | ast.For | ast.While | ast.Try) and node.orelse:
            names_used.add("else")
        if isinstance(node, ast.Try) and node.finalbody:
            names_used.add("finally")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _add_name(node.func, modules, names_used)
        for decorator in getattr(node, "decorator_list", ()):
            _add_name(decorator, modules, names_used)
        if isinstance(node, ast.Attribute):
            dotted = _join_dotted(node)
            head, _, rest = dotted.partition(".")
            if head in modules:
                names_used.update((dotted, f"{modules[head]}.{rest}"))
    return names_used


def _add_name(node: ast.expr, modules: dict[str, str], names_used: set[str]) -> None:
    dotted = _join_dotted(node)
    if dotted:
        names_used.update((dotted, dotted.rpartition(".")[2], modules.get(dotted, dotted)))
    elif isinstance(node, ast.Attribute):
        names_used.add(node.attr)


def _join_dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def compile_pattern(pattern: str) -> tuple[re.Pattern[str] | None, str]:
    """Return the pattern compiled, or None and why it is broken."""
    try:
        return re.compile(pattern), ""
    except (re.error, RecursionError, OverflowError) as error:
        return None, f"bad pattern {pattern!r}: {error}"


def inspect(text: str, tree: ast.Module | None, names: list[str], pattern: re.Pattern[str] | None) -> str:
    """Return why the text fails the inspection, or an empty string."""
    if names:
        absent = uses(tree, names) if tree is not None else names[0]
        if absent:
            return f"the solution does not use {absent!r}"
    if pattern is not None and not pattern.search(text):
        return f"the solution does not match {pattern.pattern!r}"
    return ""


def speaks_of_random(text: str) -> bool:
    """Whether a text names a module of Python's that draws numbers, by itself or by another."""
    return "random" in text or "statistics" in text
