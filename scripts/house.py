"""Figures of the code's structure and language, which may only become better.

    python scripts/house.py              print them, beside the recorded ones
    python scripts/house.py --record     record what has become better in scripts/house.json

A test of the suite fails where a figure is worse than the recorded one. What they mean:

- a module says one thing whole: few are short, few private functions have a single caller;
- locals say what they hold (`VAGUE` are words that do not), functions are verbs (`shown` is a participle), names do not
  end in `_of`, and prose says "is not a", not "is no";
- comments say why; a rule is silenced (`noqa`) seldom; no imports go in a circle, late and typing imports counted.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "scripts" / "house.json"
VAGUE = frozenset(
    [
        "found",
        "one",
        "kept",
        "told",
        "said",
        "given",
        "held",
        "made",
        "place",
        "whole",
        "each",
        "asked",
        "wanted",
        "left",
        "taken",
        "known",
        "seen",
        "shown",
    ]
)
_VERBS = frozenset(
    [
        "read",
        "put",
        "set",
        "cut",
        "run",
        "let",
        "hit",
        "split",
        "embed",
        "feed",
        "need",
        "seed",
        "speed",
        "shed",
        "exceed",
        "proceed",
    ]
)
_PARTICIPLE = re.compile(r"[a-z]+(ed|en|wn|ld|ept|ound|aid|old|ade)")
_DIALECT = re.compile(r"\b(?:is|was|are|were) no (?!longer\b|more\b)[a-z]")
HIGHER_IS_BETTER = ("comments_percent",)
_COMMENT = re.compile(r"^(?:[ ]*|.*\S[ ]{2})# (?!noqa|fmt:|type:|pragma)", re.MULTILINE)
_SHORT = 60


def measure(source: Path) -> dict[str, float]:
    """Return the figures of a tree of modules."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = {path: text.count("\n") for path, text in texts.items()}
    total = sum(lines.values())
    nodes = {path: list(ast.walk(tree)) for path, tree in trees.items()}
    functions = [node for listed in nodes.values() for node in listed if isinstance(node, _FUNCTION)]
    classes = Counter(
        node.name
        for listed in nodes.values()
        for node in listed
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    stems = Counter(path.stem for path in texts if path.stem != "__init__")
    dialect = sum(len(_DIALECT.findall(text)) for text in texts.values())
    return {
        "lines": total,
        "modules": len(texts),
        "modules_under_60_lines": sum(count < _SHORT for count in lines.values()),
        "private_functions_called_once": sum(_called_once(tree, nodes[path]) for path, tree in trees.items()),
        "vague_locals_percent": _percent(sum(bool(_names_bound(node) & VAGUE) for node in functions), len(functions)),
        "participle_functions": sum(_is_participle(node.name) for node in functions),
        "names_ending_in_of": sum(node.name.endswith("_of") for node in functions),
        "is_no_per_1000_lines": round(1000 * dialect / total, 2),
        "comments_percent": _percent(sum(map(_comments, texts.values())), total),
        "noqa": sum(text.count("# noqa") for text in texts.values()),
        "stems_more_than_twice": sum(count > 2 for count in stems.values()),
        "class_names_more_than_once": sum(count > 1 for count in classes.values()),
        "import_cycles": len(list(_cycles(_imports(source, nodes)))),
    }


def worse(figures: Mapping[str, float], recorded: Mapping[str, float]) -> list[str]:
    """Return a sentence for each figure that is worse than the recorded one."""
    return [
        f"{name} is {figures[name]:g}; it was {recorded[name]:g}"
        for name in recorded
        if (figures[name] < recorded[name]) == (name in HIGHER_IS_BETTER) and figures[name] != recorded[name]
    ]


_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def _percent(part: int, of: int) -> float:
    return round(100 * part / of, 1)


def _called_once(tree: ast.Module, nodes: list[ast.AST]) -> int:
    loads = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return sum(isinstance(node, _FUNCTION) and node.name[0] == "_" and loads[node.name] == 1 for node in tree.body)


def _names_bound(function: ast.AST) -> set[str]:
    nodes = list(ast.walk(function))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _is_participle(name: str) -> bool:
    word = name.strip("_")
    return "_" not in word and word not in _VERBS and bool(_PARTICIPLE.fullmatch(word))


def _comments(text: str) -> int:
    """Count the comments that are for readers, and not for tools."""
    return len(_COMMENT.findall(text))


def _imports(source: Path, nodes: Mapping[Path, list[ast.AST]]) -> dict[str, set[str]]:
    """Return which module imports which, wherever the import stands."""
    names = {}
    for path in nodes:
        parts = (source.name, *path.relative_to(source).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    imports: dict[str, set[str]] = {}
    for name, path in names.items():
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        targets = imports[name] = set()
        for node in nodes[path]:
            if not isinstance(node, ast.ImportFrom):
                continue
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                targets.add(f"{base}.{alias.name}" if f"{base}.{alias.name}" in names else base)
        targets &= set(names) - {name}
    return imports


def _cycles(imports: Mapping[str, set[str]]) -> Iterator[set[str]]:
    """Yield the sets of modules that import one another in a circle."""
    import networkx as nx

    graph = nx.DiGraph([(name, target) for name, targets in imports.items() for target in targets])
    return (part for part in nx.strongly_connected_components(graph) if len(part) > 1)


def main() -> int:
    """Print the figures; record those that are better where that is asked for."""
    figures = measure(ROOT / "src" / "markbook")
    recorded = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else figures
    for name, value in figures.items():
        print(f"{name:32} {value:>8g}   recorded {recorded.get(name, value):g}")
    problems = worse(figures, recorded)
    if "--record" in sys.argv[1:]:
        kept = {name.split(" ")[0] for name in problems}
        best = {name: recorded[name] if name in kept else value for name, value in figures.items()}
        RECORD.write_text(json.dumps(best, indent=2) + "\n", encoding="utf-8")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
