"""Rename local variables and parameters by table, each in its own scope.

    python scripts/reshape/locals.py --list PATH...            functions with vague names, with the lines that say what they hold
    python scripts/reshape/locals.py --suggest PATH...         the same as lines of a table, guessed from types, calls and loops
    python scripts/reshape/locals.py --apply TABLE [--write]   rename; without --write only say what would not be done

A line of a table is `module:function old new`; `function` is `Class.method` or `outer.inner`, `old` may be `old#2` where a
function has several variables of that name (a comprehension or a loop of its own each), `new` may be `-` (leave it) or several
names `a|b|c`, of which the first that is free is taken (`--settled FILE` writes a table with those that were).
"""

import ast
import collections
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scopes import BUILTINS, FUNCTIONS, Source, shape, usable  # noqa: E402

HERE = pathlib.Path(__file__).parent
ROOT = pathlib.Path.cwd()
VAGUE = set("found one kept told said given held made place whole each asked wanted left taken known seen shown".split())
PLACES = ("src", "tests", "bench", "scripts", "examples")
PLAIN = {"contextmanager", "staticmethod", "classmethod", "cache", "lru_cache", "override", "asynccontextmanager", "wraps", "no_type_check"}


def module_name(path):
    parts = list(pathlib.Path(path).resolve().relative_to(ROOT / "src").with_suffix("").parts)
    return ".".join(parts[1:-1] if parts[-1] == "__init__" else parts[1:])


# --- variables of a function
class Unit:
    """One variable: its occurrences, the scope, and for a loop's own variable the loop."""

    def __init__(self, owner, scope, name, occurrences, loop=None):
        self.owner, self.scope, self.name, self.occurrences, self.loop = owner, scope, name, occurrences, loop
        self.number = 0

    @property
    def parameter(self):
        return any(o.kind == "arg" for o in self.occurrences) and self.scope is self.owner

    @property
    def first(self):
        return min((o.node.lineno, o.node.col_offset) for o in self.occurrences if o.store)


def in_body(node, loop):
    """Whether a name stands in the target or the body of a loop."""
    return any(node is inner for part in [loop.target, *loop.body] for inner in ast.walk(part))


def split(source, owner, scope, name, occurrences):
    """A variable as loops have it for their own, or whole."""
    if scope.kind == "function" and all(o.kind in ("name",) for o in occurrences):
        targets = [l for o in occurrences if o.store for l in o.loops if any(o.node is n for n in ast.walk(l.target))]
        stores = [o for o in occurrences if o.store]
        groups = collections.OrderedDict()
        for o in occurrences:
            chain = [l for l in o.loops if l in targets] or [
                l for l in targets if in_body(o.node, l)
            ]  # names in closures have no loops of their own
            if not chain:
                return [Unit(owner, scope, name, occurrences)]
            groups.setdefault(id(chain[0]), (chain[0], []))[1].append(o)
        if stores:
            return [Unit(owner, scope, name, os, loop) for loop, os in groups.values()]
    return [Unit(owner, scope, name, occurrences)]


def units(source):
    """All variables of functions, by function scope: name -> units in the order of the text."""
    variables = collections.OrderedDict()
    for o in source.occurrences:
        if o.home is not None and o.home.kind not in ("module", "class"):
            variables.setdefault((o.home.index, o.name), []).append(o)
    result = collections.defaultdict(lambda: collections.defaultdict(list))
    for (index, name), occurrences in variables.items():
        scope = source.scopes[index]
        owner = scope.owner
        if owner is None or not any(o.store for o in occurrences):
            continue
        result[owner][name] += split(source, owner, scope, name, occurrences)
    for names in result.values():
        for name, some in names.items():
            some.sort(key=lambda u: u.first)
            for number, unit in enumerate(some, 1):
                unit.number = number
    return result


# --- guesses
IRREGULAR = {"indices": "index", "matrices": "matrix", "vertices": "vertex", "children": "child", "entries": "entry", "data": "", "people": "person",
             "analyses": "analysis", "axes": "axis", "series": "", "bus": "", "status": "", "this": "", "address": "", "process": "", "class": "", "has": "",
             "processes": "process", "statuses": "status", "classes": "class_", "losses": "loss", "passes": "", "addresses": "address", "guesses": "guess",
             "accesses": "access", "matches": "match", "branches": "branch", "searches": "search", "batches": "batch", "caches": "cache", "taxes": "tax",
             "boxes": "box", "prefixes": "prefix", "suffixes": "suffix", "hashes": "digest", "bytes": "byte", "sizes": "size", "lens": "", "args": "argument", "ids": "identifier", "kwargs": "",
             "benches": "bench", "speeches": "speech", "patches": "patch", "switches": "switch", "sketches": "sketch", "kinds": "kind"}
DULL = VAGUE | {"self", "cls", "list", "dict", "set", "tuple", "sorted", "str", "int", "float", "bool", "get", "object", "any", "all", "none", "items", "values", "keys", "next", "iter", "zip", "map", "len", "max", "min", "sum"}
WRAPPERS = {"sorted", "reversed", "list", "tuple", "set", "enumerate", "iter", "frozenset", "dict", "chain", "islice", "cast", "OrderedDict"}
VERBS = "read get make build find list collect compute load parse render format choose group open write count take draw score estimate summarise describe digest split check run".split()


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")


def singular(word):
    last = word.rpartition("_")[2]
    front = word[: len(word) - len(last)]
    if last in IRREGULAR:
        return front + IRREGULAR[last] if IRREGULAR[last] else ""
    if last.endswith("ies") and len(last) > 4:
        return front + last[:-3] + "y"
    if last.endswith("s") and not last.endswith("ss"):
        return front + last[:-1]
    return ""


def plural(word):
    return word[:-1] + "ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else word + ("es" if word.endswith(("s", "x", "ch")) else "s")


def base(node):
    """The word by which an expression is called."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, (ast.Subscript, ast.Starred, ast.Await)):
        return base(node.value)
    if isinstance(node, ast.Call):
        word = base(node.func)
        if word in ("values", "keys", "items", "copy", "get", "pop", "strip", "split", "splitlines") and isinstance(node.func, ast.Attribute):
            inner = base(node.func.value)
            return plural("line") if word == "splitlines" else inner if word not in ("get", "pop", "split") else singular(inner)
        if word in WRAPPERS and node.args:
            return base(node.args[-1] if word == "cast" else node.args[0])
        front, _, rest = word.strip("_").partition("_")
        if word[:1].isupper():
            return snake(word)
        return rest if front in VERBS and rest else word.strip("_")
    if isinstance(node, ast.BoolOp):
        return base(node.values[0])
    if isinstance(node, ast.IfExp):
        return base(node.body)
    return ""


def from_annotation(node):
    if node is None:
        return ""
    text = ast.unparse(node).strip("'\"").replace(" | None", "")
    match = re.fullmatch(r"(list|Sequence|Iterable|Iterator|tuple|Collection|set|frozenset)\[(?:\w+\.)*(\w+)(, \.\.\.)?\]", text)
    if match and match[2][:1].isupper():
        return plural(snake(match[2]))
    match = re.fullmatch(r"(?:\w+\.)*(\w+)", text)
    if match and match[1][:1].isupper() and match[1] not in ("Any", "Path", "Callable", "Mapping", "Sequence"):
        return snake(match[1])
    return {"Path": "path"}.get(text, "")


class Types:
    """What functions return, by their name where that is one type in the whole tree."""

    def __init__(self, sources):
        returned, fields = collections.defaultdict(set), collections.defaultdict(set)
        for source in sources:
            for node in ast.walk(source.tree):
                if isinstance(node, FUNCTIONS) and node.returns is not None:
                    returned[node.name].add(ast.unparse(node.returns))
                elif isinstance(node, ast.ClassDef):
                    for field in node.body:
                        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                            fields[field.target.id].add(ast.unparse(field.annotation))
        self.returned = {name: next(iter(some)) for name, some in returned.items() if len(some) == 1}
        self.fields = {name: next(iter(some)) for name, some in fields.items() if len(some) == 1}

    def kind(self, node, unit):
        """The annotation of an expression's type, or nothing."""
        if isinstance(node, (ast.Await, ast.Starred)):
            return self.kind(node.value, unit)
        if isinstance(node, ast.Call):
            word = base_name(node.func)
            if word in ("sorted", "list", "tuple", "reversed") and node.args:
                return self.kind(node.args[0], unit)
            if word in ("values", "get", "pop") and isinstance(node.func, ast.Attribute):
                inner = self.kind(node.func.value, unit)
                match = re.fullmatch(r"(?:dict|Mapping|\w*Mapping)\[\w+, (.*)\]", inner)
                return (f"list[{match[1]}]" if word == "values" else match[1]) if match else ""
            if word[:1].isupper():
                return word
            return self.returned.get(word, "")
        if isinstance(node, ast.Subscript):
            inner = self.kind(node.value, unit)
            match = re.fullmatch(r"(?:dict|Mapping)\[\w+, (.*)\]", inner) or re.fullmatch(r"(?:list|Sequence|tuple)\[(\w+)(?:, \.\.\.)?\]", inner)
            return match[1] if match and not isinstance(node.slice, ast.Slice) else inner if isinstance(node.slice, ast.Slice) else ""
        if isinstance(node, ast.Attribute):
            return self.fields.get(node.attr, "") or self.returned.get(node.attr, "")
        if isinstance(node, ast.Name):
            args = unit.owner.node.args
            for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]:
                if arg.arg == node.id and arg.annotation is not None:
                    return ast.unparse(arg.annotation)
            for statement in ast.walk(unit.owner.node):
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.target.id == node.id:
                    return ast.unparse(statement.annotation)
                if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name) and statement.targets[0].id == node.id and not isinstance(statement.value, ast.Name):
                    return self.kind(statement.value, unit) if statement.value is not node else ""
        return ""


def noun(text):
    """A word for a value of a type, by its annotation."""
    try:
        return from_annotation(ast.parse(text, mode="eval").body) if text else ""
    except SyntaxError:
        return ""


def element(text):
    match = re.fullmatch(r"(?:list|Sequence|Iterable|Iterator|tuple|Collection|set|frozenset|Generator)\[((?:\w+\.)*\w+)(?:, (?:\.\.\.|None, None))?\]", text.replace(" | None", ""))
    return noun(match[1]) if match else ""


def guess(source, unit, types):
    """A better name for a variable, or nothing."""
    candidates = []
    nodes = {id(o.node) for o in unit.occurrences}
    for o in unit.occurrences:
        if o.kind == "arg":
            candidates.append(from_annotation(o.node.annotation))
        elif o.kind == "except":
            candidates.append("error")
    for node in ast.walk(unit.owner.node):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            iterated, target = node.iter, node.target
            if isinstance(iterated, ast.Call) and base(iterated.func) == "enumerate" and isinstance(target, ast.Tuple):
                iterated, target = iterated.args[0], target.elts[1]
            elif isinstance(iterated, ast.Call) and base(iterated.func) == "zip" and isinstance(target, ast.Tuple):
                for part, argument in zip(target.elts, iterated.args):
                    if id(part) in nodes:
                        candidates += [element(types.kind(argument, unit)), singular(base(argument))]
            elif isinstance(iterated, ast.Call) and base(iterated.func) == "items" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                if id(target.elts[1]) in nodes:
                    candidates.append(singular(base(iterated.func.value)))
                continue
            if id(target) in nodes:
                candidates += [element(types.kind(iterated, unit)), singular(base(iterated))]
        elif isinstance(node, ast.AnnAssign) and id(node.target) in nodes:
            candidates.append(from_annotation(node.annotation))
        elif isinstance(node, ast.Assign) and any(id(t) in nodes for t in node.targets) or isinstance(node, ast.NamedExpr) and id(node.target) in nodes:
            candidates.append(noun(types.kind(node.value, unit)))
            value = node.value
            if isinstance(value, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
                candidates.append(plural(noun(types.kind(value.elt, unit))) if noun(types.kind(value.elt, unit)) else "")
            called = value.value if isinstance(value, ast.Await) else value
            if not isinstance(called, ast.Call) or stripped(called):
                candidates.append(base(value))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            candidates += [noun(types.kind(i.context_expr, unit)) for i in node.items if i.optional_vars is not None and id(i.optional_vars) in nodes]
        elif isinstance(node, ast.Return) and node.value is not None and id(node.value) in nodes and unit.owner.node.returns is not None:
            candidates.append(from_annotation(unit.owner.node.returns))
    for word in candidates:
        if word and word not in DULL and usable(word) and len(word) > 2 and word != unit.name and not why_not(None, source, unit, word):
            return word
    return ""


def stripped(call):
    front, _, rest = base_name(call.func).strip("_").partition("_")
    return front in VERBS and bool(rest) or base_name(call.func)[:1].isupper()


# --- listing
def listing(paths, suggest):
    total = 0
    types = Types([Source(p) for p in sorted((ROOT / "src").rglob("*.py"))])
    for path in paths:
        source = Source(path)
        where = module_name(path)
        head = False
        per_function = units(source)
        for owner in sorted(per_function, key=lambda s: s.node.lineno):
            names = per_function[owner]
            vague = [u for name in names if name in VAGUE for u in names[name] if u.scope.kind != "lambda" or True]
            if not vague:
                continue
            if not head and not suggest:
                print(f"\n## {where}")
                head = True
            node = owner.node
            if not suggest:
                doc = (ast.get_docstring(node) or "").split("\n")[0][:100]
                print(f"{owner.qualname}({ast.unparse(node.args)[:150]}){' -> ' + ast.unparse(node.returns)[:40] if node.returns else ''}  # {doc}")
            for unit in sorted(vague, key=lambda u: u.first):
                total += 1
                key = unit.name + (f"#{unit.number}" if len(names[unit.name]) > 1 else "")
                word = guess(source, unit, types)
                if suggest:
                    print(f"{where}:{owner.qualname} {key} {word or '?'}")
                    continue
                lines = sorted({o.node.lineno for o in unit.occurrences if o.store} | set())
                uses = [n for n in sorted({o.node.lineno for o in unit.occurrences}) if n not in lines]
                some = sorted([*lines[:2], *uses[: max(1, 3 - len(lines))]])
                if unit.parameter:
                    some = uses[:2]
                print(f"  {total} {key} {word or '?'} | " + " | ".join(source.line(n).strip()[:105] for n in some))
    print(f"# {total} variables", file=sys.stderr)


# --- applying
def read_tables(*paths):
    """Renamed functions and moved modules, so that lines made before still find their function."""
    functions, modules = collections.defaultdict(set), {}
    for path in paths:
        for line in path.read_text().splitlines() if path.exists() else []:
            line = line.split("#")[0].strip()
            if line and ":" in line and path.name == "modules.txt":
                new, _, olds = line.partition(":")
                for old in olds.split():
                    modules[old] = new.strip()
            elif line and path.name != "modules.txt" and len(line.split()) == 2:
                old, new = line.split()
                functions[old.rpartition(":")[2]].add(new)
    return functions, modules


class Project:
    def __init__(self):
        self.functions, self.moved = read_tables(HERE / "names.txt", HERE / "participles.txt", HERE / "modules.txt")
        self.sources = {}
        for folder in PLACES:
            for path in sorted((ROOT / folder).rglob("*.py")):
                if not re.search(r"__pycache__|tests/attacks/\w+/|/honest/|scripts/reshape", str(path)):
                    self.sources[path] = Source(path)
        self.by_module = {module_name(p): s for p, s in self.sources.items() if str(p).startswith(str(ROOT / "src"))}
        self.by_qualname = collections.defaultdict(list)
        for module, source in self.by_module.items():
            for qualname in source.functions:
                self.by_qualname[qualname].append(module)
        contract = pathlib.Path("/work/shared/contract.md")
        text = contract.read_text() if contract.exists() else ""
        text += (ROOT / "pyproject.toml").read_text()
        text += "".join(p.read_text() for p in sorted((ROOT / "docs").rglob("*.md")) if p.name in ("plugins.md", "api.md", "python.md"))
        self.public = set(re.findall(r"\w+", text))
        self.calls = collections.defaultdict(list)  # name of what is called -> (source, call)
        self.spread = set()
        self.params = collections.Counter()
        for source in self.sources.values():
            for node in ast.walk(source.tree):
                if isinstance(node, ast.Call) and node.keywords:
                    for name in {base_name(node.func), *[base_name(a) for a in node.args]} - {""}:
                        self.calls[name].append((source, node))
                        if any(k.arg is None for k in node.keywords) and name == base_name(node.func):
                            self.spread.add(name)
                elif isinstance(node, FUNCTIONS):
                    for arg in [*node.args.args, *node.args.kwonlyargs]:
                        self.params[(node.name, arg.arg)] += 1
        self.edits = collections.defaultdict(dict)
        self.planned = {}
        self.variables = {}

    def units(self, source):
        if source.path not in self.variables:
            self.variables[source.path] = units(source)
        return self.variables[source.path]

    def find(self, where, qualname, olds):
        """The module in which a line's function is now, and its qualname."""
        modules = [where, self.moved.get(where, where)]
        tail = [where.rpartition(".")[2]]
        choices = [qualname]
        for part in set(qualname.split(".")):
            for new in self.functions.get(part, ()):
                choices += [re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", new, c) for c in list(choices)]
        # a method of a nested scope may have lost its class's old name: leave that to the report
        for module in modules:
            for choice in choices:
                if module in self.by_module and choice in self.by_module[module].functions:
                    return module, choice
        for choice in choices:
            has = [m for m in self.by_qualname.get(choice, ()) if any(o in self.names(m, choice) for o in olds)]
            near = [m for m in has if m.rpartition(".")[2] in tail]
            if len(near) == 1 or len(has) == 1:
                return (near or has)[0], choice
        return None

    def names(self, module, qualname):
        source = self.by_module[module]
        return self.units(source).get(source.functions[qualname], {})


def base_name(node):
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def why_not(project, source, unit, new):
    """Why a variable cannot have a new name; nothing where it can."""
    if not usable(new):
        return "a keyword or a builtin" if new in BUILTINS else "not a name"
    inside = [o for o in source.occurrences if o.scope.inside(unit.scope) or o.home is unit.scope]
    users = {o.scope for o in unit.occurrences}
    taken = []
    for o in inside:
        if o.name != new or o in unit.occurrences:
            continue
        home = o.home
        if home is not None and home is not unit.scope and home.inside(unit.scope) and not any(u.inside(home) for u in users):
            continue
        taken.append(o)
    if unit.loop is not None and taken and all(o.home is unit.scope for o in taken):
        others = split(source, unit.owner, unit.scope, new, [o for o in source.occurrences if o.name == new and o.home is unit.scope])
        if all(u.loop is not None and u.loop is not unit.loop and not in_body(u.loop.target, unit.loop) and not in_body(unit.loop.target, u.loop) for u in others):
            taken = []
    if taken:
        return f"{new} is bound or used there (line {taken[0].node.lineno})"
    if unit.scope.kind in ("comprehension", "lambda"):
        outer = [o for o in source.occurrences if o.name == new and o.home is unit.owner]
        if outer and not all(u.loop is not None and not in_body(unit.scope.node, u.loop) for u in split(source, unit.owner, unit.owner, new, outer)):
            return f"{new} is a variable of the function (line {outer[0].node.lineno})"
    if any(o.kind == "import" for o in unit.occurrences):
        return "an import"
    return ""


def too_wide(project, source, unit, new, edits):
    """Whether a line with an exemption would be broken by the formatter, so that the exemption stood elsewhere."""
    for number in {o.node.lineno for o in unit.occurrences}:
        line = source.line(number)
        if not re.search(r"# (?:type: ignore|noqa|fmt|pragma)", line):
            continue
        start, end = source.starts[number - 1], source.starts[number]
        before = [((a, b), text) for (a, b), text in [*project.edits.get(source.path, {}).items(), *edits] if start <= a < end]
        width = len(re.split(r"\s+# ", line)[0]) + sum(len(text) - (b - a) for (a, b), text in before)
        if width + (len(new) - len(unit.name)) * sum(o.node.lineno == number for o in unit.occurrences) > 120:
            return f"line {number} would be too long for its exemption"
    return ""


def keyword_edits(project, source, unit, new):
    """The keyword arguments by which a parameter is passed, or why they cannot be renamed."""
    node, old = unit.owner.node, unit.name
    name = unit.owner.qualname.split(".")
    method = len(name) > 1 and name[-2][:1].isupper()
    called = name[-2] if name[-1] == "__init__" else name[-1]
    for decorator in node.decorator_list:
        word = base_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if word not in PLAIN:
            return None, f"a parameter of a function decorated with {word}"
    if called in project.public and not called.startswith("_"):
        return None, "a parameter of a function that the contract, the plugin pages or pyproject.toml name"
    if node.args.kwarg is not None and unit.occurrences[0].node is node.args.kwarg:
        return [], ""
    if called in project.spread and not any(a.arg == old for a in node.args.posonlyargs):
        return None, "a parameter of a function that is called with **"
    sites = [(s, k) for s, call in project.calls.get(called, ()) for k in call.keywords if k.arg == old]
    if not sites:
        return [], ""
    defined = project.params[(node.name, old)]
    if defined > 1:
        if method:
            return None, f"{defined} methods have this name and this parameter, and it is passed by keyword"
        mine = [(s, k) for s, k in sites if refers(project, s, source, called)]
        unsure = [(s, k) for s, k in sites if refers(project, s, source, called) is None]
        if unsure:
            return None, f"passed by keyword where it is not clear which {called} is called"
        sites = mine
    return sites, ""


def refers(project, user, source, name):
    """Whether a name in a file is the function of that name in another: None if it is not clear."""
    if user is source:
        return True
    mine = "markbook." + module_name(source.path)
    for node in ast.walk(user.tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    module = node.module or ""
                    if node.level:
                        if not str(user.path).startswith(str(ROOT / "src")):
                            return None
                        parts = ("markbook." + module_name(user.path)).split(".")
                        parts = parts if user.path.name == "__init__.py" else parts[:-1]
                        module = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
                    return module == mine
    if any(isinstance(n, FUNCTIONS) and n.name == name for n in user.tree.body):
        return False
    return None


def docstring_edits(source, node, old, new):
    """Entries of `Args:` and names in backticks of the docstring."""
    if not (node.body and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant) and isinstance(node.body[0].value.value, str)):
        return {}
    start, end = source.span(node.body[0].value)
    text = source.bytes[start:end]
    edits = {}
    for pattern in (rb"(?m)^\s+\*{0,2}(" + old.encode() + rb")(?=\s*(?:\([^)]*\))?:\s)", rb"`(" + old.encode() + rb")`"):
        for match in re.finditer(pattern, text):
            edits[(start + match.start(1), start + match.end(1))] = new.encode()
    return edits


def apply(table, write):
    project = Project()
    wanted = collections.OrderedDict()
    refused, done, already, settled = [], 0, 0, []
    for number, line in enumerate(pathlib.Path(table).read_text().splitlines(), 1):
        line = line.split(" //")[0].strip()
        if not line or line.startswith("#"):
            continue
        parts = line.split()
        if len(parts) != 3 or ":" not in parts[0]:
            refused.append(f"line {number}: cannot be read: {line}")
            continue
        where, _, qualname = parts[0].partition(":")
        where = where.removeprefix("src/").removeprefix("markbook/").removesuffix(".py").replace("/", ".").removeprefix("markbook.")
        if parts[2] == "?":
            continue
        wanted.setdefault((where, qualname), {})[parts[1]] = parts[2]
    touched = set()
    for (where, qualname), names in wanted.items():
        olds = {old.partition("#")[0] for old in names}
        at = project.find(where, qualname, olds)
        if at is None:
            refused.append(f"{where}:{qualname} is not there")
            continue
        module, name = at
        source = project.by_module[module]
        mine = project.names(module, name)
        for old in sorted(olds):
            some = mine.get(old, [])
            lines = {k: v for k, v in names.items() if k.partition("#")[0] == old}
            if not some:
                already += 1
                continue
            numbered = [k for k in lines if "#" in k]
            if numbered and max(int(k.partition("#")[2]) for k in numbered) > len(some):
                refused.append(f"{module}:{name} {old}: {len(some)} variables of that name, the table knows others")
                continue
            plan = [(u, lines.get(f"{old}#{u.number}", lines.get(old))) for u in some]
            plan = [(u, new) for u, new in plan if new not in (None, "-", old)]
            edits, sites, problem, moved, chosen = [], [], "", [], []
            for unit, choices in plan:
                problem = ""
                for new in choices.split("|"):
                    reason = why_not(project, source, unit, new) or too_wide(project, source, unit, new, edits)
                    problem = problem or reason
                    if not reason:
                        problem = ""
                        break
                if not problem:
                    chosen.append((unit, new))
                    edits += [(spot, new.encode()) for o in unit.occurrences if (spot := source.places(o)) is not None]
                if not problem and unit.parameter:
                    found, problem = keyword_edits(project, source, unit, new)
                    sites += [(s, k, new) for s, k in found or ()]
                spots = [source.places(o) for o in unit.occurrences] if not problem else []
                if None in spots:
                    problem = "a place in an f-string or a pattern cannot be seen"
                if problem:
                    refused.append(f"{module}:{name} {old}#{unit.number} {new}: {problem}")
                    break
                for o in unit.occurrences:
                    moved.append(o)
                    o.name = new  # what comes next sees it
            if problem:
                for o in moved:
                    o.name = old
                continue
            for spot, new in edits:
                project.edits[source.path][spot] = new
            for unit, new in chosen:
                project.edits[source.path].update(docstring_edits(source, unit.owner.node, old, new) if unit.scope is unit.owner else {})
            for user, keyword, new in sites:
                start = user.span(keyword)[0]
                if user.bytes[start : start + len(old)] == old.encode():
                    project.edits[user.path][(start, start + len(old))] = new.encode()
                    keyword.arg = new
                else:
                    refused.append(f"!! {user.path.relative_to(ROOT)}:{keyword.value.lineno} keyword {old} of {name} is to be renamed by hand to {new}")
            done += len(plan)
            settled += [f"{where}:{qualname} {old}{'#' + str(u.number) if len(some) > 1 else ''} {new}" for u, new in chosen]
            touched.add(source.path)
    files = []
    for path, edits in sorted(project.edits.items()):
        source = project.sources[path]
        data = source.bytes
        for (start, end), new in sorted(edits.items(), reverse=True):
            data = data[:start] + new + data[end:]
        text = data.decode()
        try:
            after = Source(path, text)
        except SyntaxError as error:
            sys.exit(f"{path}: does not parse after the renames: {error}")
        before = shape(source)
        if before != shape(after):
            both = next(((a, b) for a, b in zip(before, shape(after)) if a != b), None)
            at = next((o for o, p in zip(source.occurrences, after.occurrences) if (o.name, o.home and o.home.index) != (p.name, p.home and p.home.index)), None)
            sys.exit(f"{path}: line {at.node.lineno if at else '?'}: a name would mean something else afterwards: {both}")
        if len(list(ast.walk(source.tree))) != len(list(ast.walk(after.tree))):
            sys.exit(f"{path}: the tree would be another")
        files.append((path, text))
    for line in refused:
        print(line)
    print(f"{done} variables renamed, {already} not there any more, {len(refused)} refused, {len(files)} files", file=sys.stderr)
    if "--settled" in sys.argv:
        pathlib.Path(sys.argv[sys.argv.index("--settled") + 1]).write_text("\n".join(settled) + "\n")
    if write:
        for path, text in files:
            path.write_text(text, encoding="utf-8")
        if files:
            subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *[str(p) for p, _ in files]], check=False)


def main():
    arguments = sys.argv[1:]
    if "--apply" in arguments:
        apply(arguments[arguments.index("--apply") + 1], "--write" in arguments)
        return
    paths = []
    for word in arguments:
        if not word.startswith("--"):
            path = pathlib.Path(word)
            paths += [path] if path.is_file() else sorted(path.rglob("*.py"))
    if not paths:
        sys.exit(__doc__)
    listing(paths, "--suggest" in arguments)


if __name__ == "__main__":
    main()
