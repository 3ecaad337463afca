"""Private module functions that are called once: list them, or paste the safe ones into their caller.

    python scripts/reshape/inline.py --list PATH...                       name, lines, caller, and whether it can be pasted or why not
    python scripts/reshape/inline.py --apply PATH... [--write] [--most 50] [--skip FILE]

Pasted are: a single `return EXPR` into any call; a body into `_f(...)` (no return), into `x = _f(...)` (one return, the last
statement) and into `return _f(...)` (any returns, the last statement returns or raises). A line of FILE is `module:_name`.
"""

import ast
import pathlib
import re
import subprocess
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scopes import COMPREHENSIONS, FUNCTIONS, Source  # noqa: E402

ROOT = pathlib.Path.cwd()
SIMPLE = (ast.Name, ast.Constant)
ATOMS = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.JoinedStr)
PURE = {"len", "str", "int", "float", "repr", "tuple", "list", "set", "sorted", "sum", "min", "max", "isinstance", "zip", "enumerate", "any", "all", "dict", "round", "abs", "range", "bool", "type"}
BRANCHES = (ast.If, ast.For, ast.While, ast.AsyncFor, ast.ExceptHandler, ast.match_case, ast.Try)


class No(Exception):
    """Why a function cannot be pasted."""


def module_name(path):
    parts = list(path.resolve().relative_to(ROOT / "src").with_suffix("").parts)
    return ".".join(parts[1:-1] if parts[-1] == "__init__" else parts[1:])


def is_simple(node):
    return isinstance(node, SIMPLE) or (isinstance(node, ast.Attribute) and is_simple(node.value)) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def body_of(node):
    """The statements of a function without its docstring, and the docstring."""
    doc = ast.get_docstring(node)
    return (node.body[1:] if doc is not None else node.body), doc


def own(node, kinds):
    """Nodes of a function that lie in no function of their own."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, kinds):
            yield child
        if not isinstance(child, (*FUNCTIONS, ast.Lambda)):
            yield from own(child, kinds)


def weight(node):
    branches = sum(isinstance(n, BRANCHES) for n in ast.walk(node)) + sum(bool(getattr(n, "orelse", None)) for n in ast.walk(node) if isinstance(n, (ast.If, ast.For, ast.While)))
    statements = sum(isinstance(n, ast.stmt) for n in ast.walk(node))
    return branches, statements


class Others:
    """Where private names are used outside their module: imports, attributes, strings that patch."""

    def __init__(self):
        self.imported, self.mentioned = set(), {}
        for folder in ("src", "tests", "bench", "scripts", "examples"):
            for path in sorted((ROOT / folder).rglob("*.py")):
                if "scripts/reshape" in str(path) or "attacks/" in str(path):
                    continue
                text = path.read_text(encoding="utf-8")
                for match in re.finditer(r"from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*)", text):
                    for name in re.findall(r"\b_\w+", match[2]):
                        self.imported.add((match[1].rpartition(".")[2], name))
                for name in re.findall(r"(?:[\w\])]\.|[\"'])(_[a-z]\w*)\b", text):
                    self.mentioned.setdefault(name, []).append((path, text))

    def use(self, path, name):
        stem = path.stem if path.stem != "__init__" else path.parent.name
        if (stem, name) in self.imported:
            return "imported elsewhere"
        for where, text in self.mentioned.get(name, ()):
            if where == path:
                continue
            for match in re.finditer(rf"\b(\w+)(?:\.|,\s*[\"']){name}\b", text):
                if match[1] == stem or re.search(rf"\b{stem} as {match[1]}\b", text):
                    return f"used in {where.relative_to(ROOT)}"
        return ""


def candidates(source):
    """Private module functions that are loaded once, with the place; as `count_shared_ngrams/tools/house` counts them."""
    loads = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            loads.setdefault(node.id, []).append(node)
    parents = {id(c): n for n in ast.walk(source.tree) for c in ast.iter_child_nodes(n)}
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_") and len(loads.get(node.name, ())) == 1:
            yield node, loads[node.name][0], parents


class Paste:
    """One function and the one call of it."""

    def __init__(self, source, node, use, parents, others, most):
        self.source, self.node, self.parents, self.most = source, node, parents, most
        self.body, self.doc = body_of(node)
        why = others.use(source.path, node.name)
        if why:
            raise No(why)
        call = parents[id(use)]
        if not (isinstance(call, ast.Call) and call.func is use):
            raise No("passed as a value")
        self.call = call
        chain = [call]
        while id(chain[-1]) in parents:
            chain.append(parents[id(chain[-1])])
        self.caller = next((n for n in chain if isinstance(n, FUNCTIONS)), None)
        self.statement = next(n for n in chain if isinstance(n, ast.stmt))
        self.inner = chain[: chain.index(self.statement)]
        if self.caller is node:
            raise No("calls itself")
        if self.caller is None:
            raise No("called by no function")
        if isinstance(self.caller, ast.AsyncFunctionDef) or any(isinstance(n, ast.ClassDef) and chain.index(n) < chain.index(self.caller) for n in chain if isinstance(n, ast.ClassDef)):
            raise No("called in an async function or in a class")
        if node.decorator_list:
            raise No("decorated")
        if any(True for _ in own(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal))):
            raise No("a generator, or has global names")
        if any(isinstance(n, (*FUNCTIONS, ast.ClassDef)) for s in self.body for n in ast.walk(s)):
            raise No("has functions of its own")
        text = self.text(node)
        if "# noqa" in text or "# type:" in text or "# pragma" in text or "# noqa" in self.text(self.statement):
            raise No("carries an exemption")
        if any(isinstance(n, ast.JoinedStr) for n in self.inner):
            raise No("called in an f-string")
        if self.doc and len(self.doc.strip().split("\n")) > 1:
            raise No("its docstring explains more than a line")
        self.scope = next(s for s in source.scopes if s.node is node)
        self.caller_scope = next(s for s in source.scopes if s.node is self.caller)
        self.bind()
        if len(self.body) == 1 and isinstance(self.body[0], ast.Return) and self.body[0].value is not None:
            self.kind = "expression"
            try:
                self.check_expression()
            except No:
                if not self.whole():
                    raise
                self.check_block()
        else:
            self.check_block()

    def text(self, node):
        start, end = self.source.span(node)
        return self.source.bytes[start:end].decode()

    def whole(self):
        """Whether the call is a statement's only value: what kind of paste that allows."""
        s, call = self.statement, self.call
        self.kind = ""
        if isinstance(s, ast.Expr) and s.value is call:
            self.kind = "statement"
        elif isinstance(s, ast.Return) and s.value is call:
            self.kind = "return"
        elif isinstance(s, (ast.Assign, ast.AnnAssign)) and s.value is call and (isinstance(s, ast.AnnAssign) or len(s.targets) == 1):
            self.kind = "assign"
        return bool(self.kind)

    def bind(self):
        """Which argument each parameter has."""
        a = self.node.args
        if a.vararg or a.kwarg or any(isinstance(x, ast.Starred) for x in self.call.args) or any(k.arg is None for k in self.call.keywords):
            raise No("stars in its parameters or arguments")
        positional = [*a.posonlyargs, *a.args]
        self.arguments = {p.arg: v for p, v in zip(positional, self.call.args)}
        self.arguments.update({k.arg: k.value for k in self.call.keywords})
        defaults = dict(zip([p.arg for p in reversed(positional)], reversed(a.defaults)))
        defaults.update({p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults) if d is not None})
        for name, default in defaults.items():
            if name not in self.arguments:
                if not isinstance(default, ast.Constant):
                    raise No("a default that is not a constant")
                self.arguments[name] = default
        occurrences = self.source.occurrences
        self.uses = {p: [o for o in occurrences if o.home is self.scope and o.name == p and o.kind != "arg"] for p in self.arguments}
        if any(o.kind != "name" for some in self.uses.values() for o in some):
            raise No("a parameter is bound again")
        self.rebound = [p for p, some in self.uses.items() if any(o.store for o in some)]
        mine = [o for o in occurrences if o.scope.inside(self.scope)]
        free = {o.name for o in mine if o.home is None or o.home.kind == "module"}
        bound_in_caller = {o.name for o in occurrences if o.home is not None and o.home.kind not in ("module", "class") and o.home.inside(self.caller_scope) and o.store}
        scope = self.caller_scope
        while scope is not None and scope.kind != "module":
            if free & scope.bound:
                raise No(f"the caller binds {sorted(free & scope.bound)[0]}")
            scope = scope.parent
        if free & bound_in_caller:
            raise No(f"the caller binds {sorted(free & bound_in_caller)[0]}")
        self.locals = {o.name for o in mine if o.home is not None and o.home.kind not in ("module",) and o.home.inside(self.scope) and o.store and o.kind != "arg"}
        self.caller_names = {o.name for o in occurrences if o.scope.inside(self.caller_scope)}

    def complex(self):
        return [p for p, v in self.arguments.items() if not is_simple(v) and self.uses[p]]

    def check_expression(self):
        value = self.body[0].value
        around = self.parents.get(id(self.call))
        wraps = {"list", "tuple", "set", "sorted", "frozenset"}
        if isinstance(value, ast.Call) and isinstance(around, ast.Call) and {getattr(value.func, "id", ""), getattr(around.func, "id", "")} <= wraps:
            raise No("a list of a list")
        if self.rebound:
            raise No("binds a name in its expression")
        names = {n.id for v in self.arguments.values() for n in ast.walk(v) if isinstance(n, ast.Name)}
        if any(isinstance(n, ast.NamedExpr) for n in ast.walk(value)):
            raise No("binds a name in its expression")
        if names & self.locals:
            raise No("an argument would be captured")
        if "#" in self.text(self.node).split(":", 1)[1] and re.search(r"(^|\s)#\s", self.text(self.node)):
            raise No("has comments")
        late = {id(n) for x in ast.walk(value) for part in late_parts(x) for n in ast.walk(part)}
        order = []
        for p in self.complex():
            if len(self.uses[p]) != 1:
                raise No("an argument that is no simple one is used more than once")
            if id(self.uses[p][0].node) in late:
                raise No("an argument would be evaluated later or more often")
            order.append(self.source.span(self.uses[p][0].node))
        if order != sorted(order):
            raise No("arguments would be evaluated in another order")
        for p, v in self.arguments.items():
            if not self.uses[p] and not is_simple(v):
                raise No("an argument with effects is not used")
        text = self.expression()
        flat = " ".join(text.split())
        start = self.text(self.statement)
        head_only = isinstance(self.statement, (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Match))
        line = self.source.line(self.statement.lineno) if head_only or "\n" not in start else ""
        if line:
            width = len(line) - len(self.text(self.call)) + len(flat)
        else:
            width = 999
        if width > 118 and not (self.whole() and flat.count("\n") <= 8 and len(flat) < 500):
            self.kind = "expression"
            raise No("the line would be too long")
        self.kind = "expression"
        if value.end_lineno - value.lineno > 8:
            raise No("the expression has more than eight lines")
        self.fit(value.end_lineno - value.lineno, value)

    def check_block(self):
        if not self.whole():
            self.check_hoist()
        returns = list(own(self.node, ast.Return))
        last = self.body[-1]
        if self.kind == "statement":
            if returns:
                raise No("returns early")
        elif self.kind in ("assign", "hoist"):
            if returns != [last] or last.value is None:
                raise No("returns before its end, and its value is assigned" if self.kind == "assign" else "returns before its end, in an expression")
        elif not isinstance(last, (ast.Return, ast.Raise)) or any(r.value is None for r in returns):
            raise No("does not always return, and its value is returned")
        if self.kind == "hoist":
            value = last.value
            length = len(self.source.line(self.statement.lineno)) - len(self.text(self.call)) + len(self.text(value))
            if value.lineno != value.end_lineno or length > 116 or self.call.lineno != self.call.end_lineno:
                raise No("what it returns does not fit into the expression")
        lasting = {o.name for o in self.source.occurrences if o.home is self.scope and o.store and o.kind != "arg"} - set(self.rebound)
        clash = lasting & (self.caller_names | {n.id for v in self.arguments.values() for n in ast.walk(v) if isinstance(n, ast.Name)})
        targets = {n.id for n in ast.walk(self.statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if clash and not (self.kind == "assign" and isinstance(last.value, ast.Name) and clash == targets == {last.value.id}):
            raise No(f"both bind {sorted(clash)[0]}")
        self.assigned = [p for p in self.arguments if p in self.rebound or (not is_simple(self.arguments[p]) and self.uses[p])]
        if clash & {n.id for v in self.arguments.values() for n in ast.walk(v) if isinstance(n, ast.Name)}:
            raise No(f"both bind {sorted(clash)[0]}")
        if set(self.assigned) & self.caller_names:
            raise No(f"both bind {sorted(set(self.assigned) & self.caller_names)[0]}")
        for p, v in self.arguments.items():
            if not self.uses[p] and not is_simple(v):
                raise No("an argument with effects is not used")
            if isinstance(v, (ast.Attribute, ast.Constant)) and len(self.uses[p]) > 3:
                self.assigned.append(p)
                if p in self.caller_names:
                    raise No(f"both bind {p}")
        for name in {n.id for v in self.arguments.values() for n in ast.walk(v) if isinstance(n, ast.Name)}:
            if name in self.locals:
                raise No(f"both bind {name}")
        start = self.body[0].lineno
        block = self.source.text.split("\n")[start - 1 : self.node.end_lineno]
        if any(isinstance(n, ast.Constant) and isinstance(n.value, (str, bytes)) and n.end_lineno != n.lineno and '"""' in self.text(n) for s in self.body for n in ast.walk(s)):
            raise No("a string of several lines")
        if self.statement.col_offset > 16:
            raise No("called too deep")
        self.fit(len(block) - 1, self.node)

    def check_hoist(self):
        """Whether statements can stand before the one that calls inside an expression."""
        statement = self.statement
        if not isinstance(statement, (ast.Return, ast.Assign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.Raise)):
            raise No("called where no statement can be put before")
        if isinstance(statement, ast.If) and self.text(statement).startswith("elif"):
            raise No("called where no statement can be put before")
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            raise No("called where no statement can be put before")
        part = statement.test if isinstance(statement, ast.If) else statement.iter if isinstance(statement, ast.For) else statement
        path = {id(n) for n in self.inner}
        if id(part) not in path and part is not statement:
            raise No("called where no statement can be put before")
        start = self.source.span(self.call)[0]
        for node in ast.walk(part):
            if id(node) in path and any(id(inner) in path for inner in late_parts(node)):
                raise No("called in a part that is not always evaluated")
            if isinstance(node, (ast.Call, ast.Subscript, ast.Await, ast.NamedExpr, *COMPREHENSIONS)) and id(node) not in path and hasattr(node, "lineno"):
                if isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (node.func.id in PURE or node.func.id[:1].isupper())):
                    continue
                if self.source.span(node)[0] < start and not isinstance(getattr(node, "ctx", None), ast.Store):
                    raise No("called after another call in its expression")
            if isinstance(node, (*COMPREHENSIONS, ast.Lambda)) and id(node) in path:
                raise No("called in a comprehension")
        self.kind = "hoist"

    def fit(self, more, part):
        lines = self.caller.end_lineno - self.caller.body[0].lineno + 1 + more
        if lines > self.most:
            raise No(f"its caller would have {lines} lines")
        branches, statements = (a + b for a, b in zip(weight(self.caller), weight(part)))
        if branches > 12 or statements > 45:
            raise No("its caller would be too complex")

    # --- text
    def replaced(self, start, end, names):
        """The bytes of a part of the function with its parameters replaced."""
        edits = []
        for p in names:
            value = self.arguments[p]
            new = self.text(value)
            for o in self.uses[p]:
                spot = self.source.places(o)
                if spot is None:
                    raise No("a parameter in an f-string")
                inside = id(o.node) in self.source.joined
                if inside and (set(new) & set("\"'\\\n{}") or not is_simple(value)):
                    raise No("an argument does not go into an f-string")
                if start <= spot[0] < end:
                    edits.append((spot, f"({new})" if not isinstance(value, ATOMS) else new))
        data = self.source.bytes
        out, at = b"", start
        for (a, b), new in sorted(edits):
            out += data[at:a] + new.encode()
            at = b
        return (out + data[at:end]).decode()

    def expression(self):
        value = self.body[0].value
        text = self.replaced(*self.source.span(value), self.arguments)
        if not isinstance(value, ATOMS) and not (isinstance(value, (ast.Tuple, ast.GeneratorExp)) and text.startswith("(")):
            text = f"({text})"
        return text

    def edits(self):
        """Spans of the file and their new text."""
        if self.kind == "expression":
            changes = [(*self.source.span(self.call), self.expression())]
        else:
            last = self.body[-1]
            first = self.body[0]
            start = self.source.starts[first.lineno - 1]
            # comments above the first statement belong to it
            above = first.lineno - 1
            floor = self.node.body[0].end_lineno if self.doc is not None else max([self.node.lineno, *[a.lineno for a in ast.walk(self.node.args) if isinstance(a, ast.arg)]])
            while above > floor and self.source.line(above).strip().startswith("#"):
                above -= 1
                start = self.source.starts[above]
            names = [p for p in self.arguments if p not in self.assigned]
            end = self.source.span(last)[1]
            if self.kind == "assign":
                text = self.replaced(start, self.source.span(last)[0], names)
                value = self.replaced(*self.source.span(last.value), names)
                target = self.text(self.statement.targets[0]) if isinstance(self.statement, ast.Assign) else f"{self.text(self.statement.target)}: {self.text(self.statement.annotation)}"
                if value == target:
                    text = text.rstrip() + "\n"
                else:
                    text += f"{target} = ({value})" if "\n" in value or not isinstance(last.value, ATOMS) else f"{target} = {value}"
            elif self.kind == "hoist":
                text = self.replaced(start, self.source.span(last)[0], names)
                value = self.replaced(*self.source.span(last.value), names)
                value = value if isinstance(last.value, ATOMS) else f"({value})"
                a, b = self.source.span(self.statement)
                c, d = self.source.span(self.call)
                tail = self.source.bytes[a:c].decode() + value + self.source.bytes[d:b].decode()
            else:
                text = self.replaced(start, end, names)
            # what stands behind the last statement on its line
            rest = self.source.bytes[end : self.source.starts[last.end_lineno] - 1].decode()
            if self.kind != "hoist":
                text += rest if rest.strip().startswith("#") else ""
            text = textwrap.dedent(text)
            before = [f"{p} = {self.text(self.arguments[p])}" for p in self.assigned]
            if self.doc and not self.doc.startswith(("Return ", "Whether ")):
                line = self.doc.strip().rstrip(".")
                before.insert(0, f"# {line[:1].upper()}{line[1:]}")
            indent = " " * self.statement.col_offset
            text = text.rstrip("\n")
            lines = [*before, *text.split("\n")]
            if self.kind == "hoist":
                while lines and not lines[-1].strip():
                    lines.pop()
            pasted = "\n".join((indent if n and l.strip() else "") + l for n, l in enumerate(lines))
            if self.kind == "hoist":
                pasted += f"\n{indent}{tail}"
            changes = [(*self.source.span(self.statement), pasted)]
        lines = self.source.text.split("\n")
        top = self.node.lineno - 1
        while top and lines[top - 1].startswith("#"):
            top -= 1
        bottom = self.node.end_lineno
        while bottom < len(lines) and not lines[bottom].strip():
            bottom += 1
        changes.append((self.source.starts[top], self.source.starts[min(bottom, len(self.source.starts) - 1)], ""))
        return changes


def late_parts(node):
    """Parts of an expression that are not evaluated exactly once, and at once."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    if isinstance(node, COMPREHENSIONS):
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return [*elements, *[g.iter for g in node.generators[1:]], *[c for g in node.generators for c in g.ifs], *([node.generators[0].iter] if isinstance(node, ast.GeneratorExp) else [])]
    if isinstance(node, ast.BoolOp):
        return node.values[1:]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Compare):
        return node.comparators[1:]
    return []


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    most = int(arguments[arguments.index("--most") + 1]) if "--most" in arguments else 50
    skip = set(pathlib.Path(arguments[arguments.index("--skip") + 1]).read_text().split()) if "--skip" in arguments else set((pathlib.Path(__file__).parent / "inline_skip.txt").read_text().split())
    values = {arguments[i + 1] for i, a in enumerate(arguments) if a in ("--most", "--skip")}
    paths = []
    for word in arguments:
        if not word.startswith("--") and word not in values:
            path = pathlib.Path(word)
            paths += [path] if path.is_file() else sorted(path.rglob("*.py"))
    if not paths:
        sys.exit(__doc__)
    others = Others()
    reasons, pasted, changed = {}, [], []
    for path in paths:
        source = Source(path.resolve())
        where = module_name(path)
        refused = set()
        first = True
        while True:
            done = False
            for node, use, parents in candidates(source):
                key = f"{where}:{node.name}"
                if key in refused:
                    continue
                size = node.end_lineno - node.lineno + 1
                try:
                    if key in skip:
                        raise No("skipped by the list")
                    paste = Paste(source, node, use, parents, others, most)
                    changes = paste.edits()
                except No as no:
                    refused.add(key)
                    reasons[key] = (size, str(no))
                    continue
                if "--list" in arguments:
                    print(f"{key} {size} lines -> {paste.caller.name} line {paste.call.lineno}: {paste.kind}")
                    refused.add(key)
                    continue
                data = source.bytes
                for start, end, new in sorted(changes, reverse=True):
                    data = data[:start] + new.encode() + data[end:]
                try:
                    after = Source(source.path, data.decode())
                except SyntaxError as error:
                    refused.add(key)
                    reasons[key] = (size, f"would not parse: {error}")
                    continue
                source, done, first = after, True, False
                pasted.append(key)
                reasons.pop(key, None)
                break
            if not done:
                break
        if not first:
            changed.append((path, source.text))
    if "--list" in arguments:
        for key, (size, why) in sorted(reasons.items(), key=lambda item: item[1][1]):
            print(f"{key} {size} lines: not pasted, {why}")
    else:
        print("\n".join(pasted))
    counts = {}
    for size, why in reasons.values():
        why = re.sub(r"(binds?|used in|would have|parse:) .*", r"\1 ...", why)
        counts[why] = counts.get(why, 0) + 1
    for why, number in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{number:5} {why}", file=sys.stderr)
    print(f"{len(pasted)} pasted, {len(reasons)} stay, {len(changed)} files", file=sys.stderr)
    if write:
        for path, text in changed:
            path.write_text(text, encoding="utf-8")
        if changed:
            subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *[str(p) for p, _ in changed]], check=False)


if __name__ == "__main__":
    main()
