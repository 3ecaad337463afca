"""Move single definitions between modules: `python scripts/reshape/pieces.py ROOT PIECES [--write]`, before `modules.py`.

Lines: `old.module:Name [Name ...] -> new.module` (without `markbook.`). What a definition needs is imported in its new module; the
old one imports it back where it still uses it. `ruff check --fix` then removes imports that nothing needs.
"""

import ast, sys, re, pathlib, collections

ROOT = pathlib.Path(sys.argv[1])
SRC = ROOT / "src"
DIRECTORIES = ("src", "tests", "bench", "scripts", "examples")


def path_of_module(name):
    p = SRC / pathlib.Path(*name.split("."))
    return p / "__init__.py" if (p / "__init__.py").exists() else p.with_suffix(".py")


def bound_by(node):
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def imports_of(tree):
    """name -> (statement without the other names, only for typing)"""
    out = {}

    def add(n, typing):
        if isinstance(n, ast.ImportFrom):
            for a in n.names:
                out[a.asname or a.name] = (
                    f"from {'.' * n.level}{n.module or ''} import {a.name}" + (f" as {a.asname}" if a.asname else ""),
                    typing,
                )
        elif isinstance(n, ast.Import):
            for a in n.names:
                out[(a.asname or a.name).split(".")[0]] = (
                    f"import {a.name}" + (f" as {a.asname}" if a.asname else ""),
                    typing,
                )

    for n in tree.body:
        add(n, False)
        if isinstance(n, ast.If) and isinstance(n.test, ast.Name) and n.test.id == "TYPE_CHECKING":
            for m in n.body:
                add(m, True)
    return out


def add_imports(text, statements):
    """Put imports after the last import at the top; those for typing into (or into a new) TYPE_CHECKING block."""
    tree = ast.parse(text)
    lines = text.split("\n")
    have = imports_of(tree)
    runtime = [s for s, typing in statements if not typing]
    typing = [s for s, t in statements if t]
    last = max(
        [n.end_lineno for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        or [tree.body[0].end_lineno if tree.body else 0]
    )
    block = next(
        (n for n in tree.body if isinstance(n, ast.If) and isinstance(n.test, ast.Name) and n.test.id == "TYPE_CHECKING"),
        None,
    )
    if typing and block:
        lines[block.lineno : block.lineno] = ["    " + s for s in typing]
    elif typing:
        lines[last:last] = ["", "if TYPE_CHECKING:", *["    " + s for s in typing]]
        if "TYPE_CHECKING" not in have:
            runtime.append("from typing import TYPE_CHECKING")
    lines[last:last] = runtime
    return "\n".join(lines)


moves = []
for line in pathlib.Path(sys.argv[2]).read_text().splitlines():
    line = line.split("#")[0].strip()
    if line:
        left, new = (x.strip() for x in line.split("->"))
        old, names = left.split(":")
        moves.append(("markbook." + old.strip(), names.split(), "markbook." + new))

for old, names, new in moves:
    p, q = path_of_module(old), path_of_module(new)
    text = p.read_text()
    tree = ast.parse(text)
    lines = text.split("\n")
    cut, pieces, used = [], [], set()
    for i, n in enumerate(tree.body):
        if not set(bound_by(n)) & set(names):
            continue
        end = n.end_lineno
        nxt = tree.body[i + 1] if i + 1 < len(tree.body) else None
        if isinstance(nxt, ast.Expr) and isinstance(nxt.value, ast.Constant) and isinstance(nxt.value.value, str):
            end = nxt.end_lineno
        start = min([n.lineno, *[d.lineno for d in getattr(n, "decorator_list", [])]])
        cut.append((start, end))
        pieces.append("\n".join(lines[start - 1 : end]))
        used |= {x.id for x in ast.walk(n) if isinstance(x, ast.Name)}
    if len(pieces) < len(names):
        print("NOT FOUND", old, names)
        continue
    own = {name for n in tree.body for name in bound_by(n)}
    for name in sorted(used & own - set(names)):
        print("NEEDS", old, name)
    have = imports_of(tree)
    rest = "\n".join(l for k, l in enumerate(lines, 1) if not any(s <= k <= e for s, e in cut))
    still = [
        name for name in names if any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(ast.parse(rest)))
    ]
    if still:
        rest = add_imports(rest, [(f"from {new} import {', '.join(still)}", False)])
    target = q.read_text() if q.exists() else '"""A function for each kind of run, for those who call from Python."""\n\nfrom __future__ import annotations\n'
    there = imports_of(ast.parse(target))
    # what moves here was imported from the old module before
    for name in names:
        target = re.sub(rf"^( *)from {re.escape(old)} import {name}$", r"\1pass", target, flags=re.M)
    bound = {name for n in ast.parse(target).body for name in bound_by(n)}
    target = add_imports(
        target, [have[name] for name in sorted(used) if name in have and name not in there and name not in bound]
    )
    # records stand before their first use at run time: after the last import and the constants above the first definition
    tree2 = ast.parse(target)
    first = next((n for n in tree2.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))), None)
    tlines = target.split("\n")
    at = min([first.lineno, *[d.lineno for d in first.decorator_list]]) - 1 if first else len(tlines)
    tlines[at:at] = ["\n\n".join(pieces), "", ""]
    target = "\n".join(tlines)
    p.write_text(rest)
    q.write_text(target)
    for directory in DIRECTORIES:
        for f in sorted((ROOT / directory).rglob("*.py")):
            if "__pycache__" in str(f) or f in (p, q) or "/honest/" in str(f) or "attacks/" in str(f):
                continue
            t = f.read_text()
            if old not in t:
                continue
            u = t
            for n in sorted(
                (n for n in ast.walk(ast.parse(t)) if isinstance(n, ast.ImportFrom) and n.module == old and not n.level),
                key=lambda n: -n.lineno,
            ):
                moved = [a for a in n.names if a.name in names]
                if not moved:
                    continue
                keep = [a for a in n.names if a.name not in names]
                indent = " " * n.col_offset
                statement = [
                    indent + f"from {m} import " + ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in which)
                    for m, which in ((old, keep), (new, moved))
                    if which
                ]
                ls = u.split("\n")
                ls[n.lineno - 1 : n.end_lineno] = statement
                u = "\n".join(ls)
            for name in names:
                u = u.replace(f'"{name}": "{old}"', f'"{name}": "{new}"').replace(f"{old}:{name}", f"{new}:{name}")
                u = u.replace(f"from {old} import {name}\\n", f"from {new} import {name}\\n").replace(
                    f'{old}.{name}"', f'{new}.{name}"'
                )
            if u != t:
                f.write_text(u)
    for f in [*sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("*.md"), ROOT / "pyproject.toml"]:
        t = u = f.read_text()
        for name in names:
            u = re.sub(rf"{re.escape(old)}([.:]){name}\b", rf"{new}\g<1>{name}", u)
            u = re.sub(rf"from {re.escape(old)} import {name}\b", f"from {new} import {name}", u)
        if u != t:
            f.write_text(u)
    print("moved", names, old, "->", new)
