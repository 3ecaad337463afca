"""Which variable each name in a file is: scopes as Python resolves them, with the bytes where each name stands."""

import ast
import builtins
import keyword
import pathlib
import re

BUILTINS = frozenset(dir(builtins))
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Scope:
    """One scope: `kind` is module, class, function, lambda or comprehension."""

    def __init__(self, kind, node, parent):
        self.kind, self.node, self.parent = kind, node, parent
        self.bound, self.globals, self.nonlocals = set(), set(), set()
        self.index = 0

    def inside(self, other):
        scope = self
        while scope is not None:
            if scope is other:
                return True
            scope = scope.parent
        return False

    @property
    def owner(self):
        """The function in which this scope lies, itself included."""
        scope = self
        while scope is not None and scope.kind != "function":
            scope = scope.parent
        return scope


class Occurrence:
    """A place where a name stands: `home` is the scope whose variable it is, None for builtins."""

    def __init__(self, name, kind, node, scope, loops, store):
        self.name, self.kind, self.node, self.scope = name, kind, node, scope
        self.loops, self.store, self.home = loops, store, None


class Source:
    """A file, its tree, its scopes and all occurrences of names."""

    def __init__(self, path, text=None):
        self.path = pathlib.Path(path)
        self.text = self.path.read_text(encoding="utf-8") if text is None else text
        self.bytes = self.text.encode()
        self.tree = ast.parse(self.text)
        self.starts = [0]
        for line in self.bytes.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.module = Scope("module", self.tree, None)
        self.scopes = [self.module]
        self.occurrences = []
        self.functions = {}  # qualname -> function scope (the first of that name)
        self.joined = {}  # id of a name inside an f-string -> the outermost f-string
        self._loops = []
        self._body(self.tree.body, self.module, "")
        for occurrence in self.occurrences:
            occurrence.home = self._resolve(occurrence)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.JoinedStr) and id(node) not in self.joined:
                for inner in ast.walk(node):
                    self.joined.setdefault(id(inner), node)

    # --- spans
    def span(self, node):
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def line(self, number):
        return self.text.split("\n")[number - 1]

    # --- building
    def _scope(self, kind, node, parent):
        scope = Scope(kind, node, parent)
        scope.index = len(self.scopes)
        self.scopes.append(scope)
        return scope

    def _add(self, name, kind, node, scope, store):
        if store:
            scope.bound.add(name)
        self.occurrences.append(Occurrence(name, kind, node, scope, tuple(self._loops), store))

    def _body(self, nodes, scope, qualname):
        for node in nodes:
            self._visit(node, scope, qualname)

    def _visit(self, node, scope, q):
        if node is None:
            return
        if isinstance(node, FUNCTIONS):
            self._add(node.name, "def", node, scope, True)
            for part in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults, node.returns]:
                self._visit(part, scope, q)
            name = f"{q}.{node.name}" if q else node.name
            inner = self._scope("function", node, scope)
            inner.qualname = name
            self.functions.setdefault(name, inner)
            self._arguments(node.args, scope, inner, q)
            outer, self._loops = self._loops, []
            self._body(node.body, inner, name)
            self._loops = outer
        elif isinstance(node, ast.Lambda):
            for part in [*node.args.defaults, *node.args.kw_defaults]:
                self._visit(part, scope, q)
            inner = self._scope("lambda", node, scope)
            self._arguments(node.args, scope, inner, q)
            self._visit(node.body, inner, q)
        elif isinstance(node, ast.ClassDef):
            self._add(node.name, "def", node, scope, True)
            for part in [*node.decorator_list, *node.bases, *[k.value for k in node.keywords]]:
                self._visit(part, scope, q)
            inner = self._scope("class", node, scope)
            self._body(node.body, inner, f"{q}.{node.name}" if q else node.name)
        elif isinstance(node, COMPREHENSIONS):
            self._visit(node.generators[0].iter, scope, q)
            inner = self._scope("comprehension", node, scope)
            for place, generator in enumerate(node.generators):
                self._visit(generator.target, inner, q)
                if place:
                    self._visit(generator.iter, inner, q)
                self._body(generator.ifs, inner, q)
            for part in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
                self._visit(part, inner, q)
        elif isinstance(node, ast.NamedExpr):
            outer = scope
            while outer.kind == "comprehension":
                outer = outer.parent
            outer.bound.add(node.target.id)
            self.occurrences.append(Occurrence(node.target.id, "name", node.target, outer, tuple(self._loops), True))
            self._visit(node.value, scope, q)
        elif isinstance(node, ast.Name):
            self._add(node.id, "name", node, scope, not isinstance(node.ctx, ast.Load))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._visit(node.iter, scope, q)
            self._loops.append(node)
            self._visit(node.target, scope, q)
            self._body(node.body, scope, q)
            self._loops.pop()
            self._body(node.orelse, scope, q)
        elif isinstance(node, ast.ExceptHandler):
            self._visit(node.type, scope, q)
            if node.name:
                self._add(node.name, "except", node, scope, True)
            self._body(node.body, scope, q)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)):
            if node.name:
                self._add(node.name, "match", node, scope, True)
            self._visit(getattr(node, "pattern", None), scope, q)
        elif isinstance(node, ast.MatchMapping):
            self._body([*node.keys, *node.patterns], scope, q)
            if node.rest:
                self._add(node.rest, "match", node, scope, True)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self._add(alias.asname or alias.name.split(".")[0], "import", alias, scope, True)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            (scope.globals if isinstance(node, ast.Global) else scope.nonlocals).update(node.names)
            for name in node.names:
                self._add(name, "declared", node, scope, False)
        else:
            for child in ast.iter_child_nodes(node):
                self._visit(child, scope, q)

    def _arguments(self, args, outer, inner, q):
        for arg in [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]:
            if arg is not None:
                self._visit(arg.annotation, outer, q)
                self._add(arg.arg, "arg", arg, inner, True)

    def _resolve(self, occurrence):
        name, scope, first = occurrence.name, occurrence.scope, True
        while scope is not None:
            if name in scope.globals:
                return self.module
            if name in scope.nonlocals:
                pass
            elif name in scope.bound and (scope.kind != "class" or first):
                return scope
            first = False
            scope = scope.parent
        return None

    # --- edits
    def places(self, occurrence):
        """The bytes of the name itself; None where they cannot be seen."""
        node, name = occurrence.node, occurrence.name.encode()
        start, end = self.span(node)
        if occurrence.kind == "arg":
            end = start + len(name)
        elif occurrence.kind == "except":
            start = self.span(node.type)[1]
            match = re.compile(rb"[\s)]*\bas\s+(" + name + rb")\b").match(self.bytes, start)
            return match.span(1) if match else None
        elif occurrence.kind == "match":
            if isinstance(node, ast.MatchMapping):
                match = re.compile(rb"\*\*\s*(" + name + rb")\b").search(self.bytes, start, end)
                return match.span(1) if match else None
            start = end - len(name)
        elif occurrence.kind == "declared":
            match = re.compile(rb"\b" + name + rb"\b").search(self.bytes, start, end)
            return match.span() if match else None
        elif occurrence.kind == "def":
            match = re.compile(rb"(?:def|class)\s+(" + name + rb")\b").search(self.bytes, start)
            return match.span(1) if match else None
        elif occurrence.kind == "import":
            return None
        if self.bytes[start:end] == name and not self._doubtful(node):
            return start, end
        return self._in_joined(occurrence)

    def _doubtful(self, node):
        import sys

        return sys.version_info < (3, 12) and id(node) in self.joined

    def _in_joined(self, occurrence):
        """Names in f-strings before Python 3.12, whose positions are wrong: the n-th of that name in the fields is meant."""
        outer = self.joined.get(id(occurrence.node))
        if outer is None:
            return None
        start, end = self.span(outer)
        hits = []
        for a, b in fields(self.bytes, start, end):
            hits += [
                m.span() for m in re.finditer(rb"(?<![\w.\"'])" + occurrence.name.encode() + rb"\b(?![\"'])(?!=[^=])", self.bytes[a:b])
                for m in [Moved(m, a)]
            ]
        nodes = [n for n in ordered(outer) if isinstance(n, ast.Name) and n.id == occurrence.name]
        if len(hits) != len(nodes):
            return None
        return hits[[id(n) for n in nodes].index(id(occurrence.node))]


class Moved:
    def __init__(self, match, by):
        self._span = match.start() + by, match.end() + by

    def span(self):
        return self._span


def ordered(node):
    """The nodes below in the order of the text, comprehensions included."""
    if isinstance(node, COMPREHENSIONS):
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        children = [*parts, *node.generators]
    elif isinstance(node, ast.IfExp):
        children = [node.body, node.test, node.orelse]
    else:
        children = list(ast.iter_child_nodes(node))
    yield node
    for child in children:
        yield from ordered(child)


def fields(data, start, end):
    """The spans of the replacement fields of the f-strings in data[start:end] (string prefixes and quotes are data of no field)."""
    import io
    import tokenize

    text = data[start:end].decode()
    spans = []
    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    tokens = tokenize.generate_tokens(io.StringIO("(" + text + ")").readline)
    for token in tokens:
        if token.type != tokenize.STRING:
            continue
        prefix = re.match(r"\w*", token.string)[0]
        if "f" not in prefix.lower():
            continue
        at = lines[token.start[0] - 1] + token.start[1] - (1 if token.start[0] == 1 else 0)
        body = token.string
        i, depth, begin = len(prefix), 0, None
        quote = 3 if body[i : i + 3] in ('"""', "'''") else 1
        i += quote
        stop = len(body) - quote
        while i < stop:
            c = body[i]
            if depth == 0 and body[i : i + 2] in ("{{", "}}"):
                i += 2
                continue
            if c == "{":
                if depth == 0:
                    begin = i + 1
                depth += 1
            elif c == "}":
                depth -= 1
                if depth == 0:
                    a = start + len(text[: at + begin].encode())
                    b = start + len(text[: at + i].encode())
                    spans.append((a, b))
            i += 1
    return spans


def usable(name):
    return name.isidentifier() and not keyword.iskeyword(name) and name not in BUILTINS


def shape(source):
    """What a rename must leave alone: every name with the scope that it belongs to."""
    return [(o.name, o.home.index if o.home else None, o.kind) for o in source.occurrences]
