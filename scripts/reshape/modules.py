"""Move and merge modules by a plan. usage: move.py ROOT PLAN [--write]

PLAN lines:  target.module: old.module old.module ...   (without `markbook.`); `#` comments; a line `target = docstring` gives its docstring;
a line `old.module:name -> new_name` renames what would collide. A package that is left with nothing but an `__init__` becomes a module.
"""

import ast, sys, re, collections, pathlib, builtins, shutil

ROOT = pathlib.Path(sys.argv[1])
PLAN = pathlib.Path(sys.argv[2])
WRITE = "--write" in sys.argv
SRC = ROOT / "src"


def modpath(name):
    p = SRC / pathlib.Path(*name.split("."))
    return p / "__init__.py" if (p / "__init__.py").exists() else p.with_suffix(".py")


def all_modules():
    out = {}
    for p in SRC.rglob("*.py"):
        parts = list(p.relative_to(SRC).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts = parts[:-1]
        out[".".join(parts)] = p
    return out


MODS = all_modules()
FORCED = {}  # (old module, name) -> new name
plan = {}
docs = {}
for line in PLAN.read_text().splitlines():
    line = re.split(r"(?:^|\s)#\s", line)[0].strip()
    if not line:
        continue
    if " -> " in line:
        left, new = line.split(" -> ")
        FORCED[tuple(("markbook." + left.strip()).split(":"))] = new.strip()
        continue
    if " = " in line and ":" not in line.split(" = ")[0]:
        t, d = line.split(" = ", 1)
        docs["markbook." + t.strip()] = d.strip()
        continue
    t, _, olds = line.partition(":")
    plan["markbook." + t.strip()] = ["markbook." + o for o in olds.split()]
MAP = {}
for t, olds in plan.items():
    for o in olds:
        if o not in MODS:
            print("NO SUCH MODULE", o)
            continue
        if o in MAP:
            print("TWICE", o)
        MAP[o] = t
errors = []


def err(*a):
    errors.append(" ".join(map(str, a)))


for t in plan:
    if t in MODS and t not in MAP:
        err("target exists and is not in the plan:", t)


def module_of(path):
    for n, p in MODS.items():
        if p == path:
            return n
    return None


PATHMOD = {p: n for n, p in MODS.items()}


class File:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.name = PATHMOD.get(path)
        self.tree = ast.parse(self.text)
        b = self.text.encode()
        self.bytes = b
        self.offs = [0]
        for l in b.split(b"\n"):
            self.offs.append(self.offs[-1] + len(l) + 1)
        self.edits = []  # (start,end,bytes)

    def pos(self, line, col):
        return self.offs[line - 1] + col

    def span(self, n):
        return self.pos(n.lineno, n.col_offset), self.pos(n.end_lineno, n.end_col_offset)

    def pkg(self):
        if self.name is None:
            return None
        parts = self.name.split(".")
        return parts if self.path.name == "__init__.py" else parts[:-1]

    def resolve(self, n):
        if not n.level:
            return n.module or ""
        pkg = self.pkg()
        return ".".join(pkg[: len(pkg) - n.level + 1] + ([n.module] if n.module else []))

    def edit(self, s, e, new):
        self.edits.append((s, e, new.encode() if isinstance(new, str) else new))

    def apply(self):
        out = self.bytes
        for s, e, new in sorted(self.edits, key=lambda x: (x[0], x[1]), reverse=True):
            out = out[:s] + new + out[e:]
        return out.decode()


FILES = [
    File(p)
    for d in ("src", "tests", "bench", "scripts", "examples")
    for p in sorted((ROOT / d).rglob("*.py"))
    if "__pycache__" not in str(p) and "attacks/" not in str(p) and "/honest/" not in str(p) and "scripts/reshape" not in str(p)
]
BYNAME = {f.name: f for f in FILES if f.name}


# --- top-level names per module in merges, collisions -> renames
def toplevel(tree):
    names = {}
    for n in tree.body:
        if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names[n.name] = n
        elif isinstance(n, ast.Assign):
            for t in n.targets:
                for x in ast.walk(t):
                    if isinstance(x, ast.Name):
                        names[x.id] = n
        elif isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name):
            names[n.target.id] = n
        elif isinstance(n, (ast.If, ast.Try)):
            for m in ast.walk(n):
                if isinstance(m, ast.Assign):
                    for t in m.targets:
                        if isinstance(t, ast.Name):
                            names[t.id] = m
    return names


def exported(tree):
    names = set(toplevel(tree))
    for n in tree.body:
        if isinstance(n, ast.ImportFrom):
            names.update(x.asname or x.name for x in n.names)
    return names


RENAME = {}  # (old module, name) -> new name
DROP = set()  # (old module, name): identical definition earlier in the merge
for t, olds in plan.items():
    seen = {}
    for o in olds:
        f = BYNAME.get(o)
        if not f:
            continue
        for name, node in toplevel(f.tree).items():
            if (o, name) in FORCED:
                RENAME[(o, name)] = FORCED[o, name]
                seen[FORCED[o, name]] = (o, node)
            elif name in seen:
                o2, node2 = seen[name]
                if ast.dump(node) == ast.dump(node2):
                    DROP.add((o, name))
                else:
                    leaf = o.rsplit(".", 1)[1].strip("_")
                    new = f"_{leaf}_{name.lstrip('_')}" if name.startswith("_") else None
                    if name.isupper() or name.lstrip("_").isupper():
                        new = f"_{leaf.upper()}_{name.lstrip('_')}" if name.startswith("_") else None
                    if (
                        name.startswith("_")
                        and name.lstrip("_")[:1].isupper()
                        and not name.isupper()
                        and not name.lstrip("_").isupper()
                    ):
                        new = "_" + leaf.title().replace("_", "") + name.lstrip("_")
                    if new is None:
                        err("PUBLIC COLLISION", t, name, o2, o)
                        continue
                    RENAME[(o, name)] = new
                    seen[new] = (o, node)
            else:
                seen[name] = (o, node)


# --- what one part of a merge imports and another defines, or imports from elsewhere
def imports_by_name(f):
    out = {}
    blocks = [f.tree.body] + [
        n.body for n in f.tree.body if isinstance(n, ast.If) and isinstance(n.test, ast.Name) and n.test.id == "TYPE_CHECKING"
    ]
    for n in [m for b in blocks for m in b]:
        if isinstance(n, ast.ImportFrom):
            base = f.resolve(n)
            for a in n.names:
                out[a.asname or a.name] = (MAP.get(base, base), a.name, MAP.get(base + "." + a.name))
        elif isinstance(n, ast.Import):
            for a in n.names:
                out[a.asname or a.name.split(".")[0]] = ("", a.name, None)
    return out


for t, olds in plan.items():
    parts = [BYNAME[o] for o in olds if o in BYNAME]
    defined = {}
    for f in parts:
        for name in toplevel(f.tree):
            defined.setdefault(RENAME.get((f.name, name), name), f.name)
    imported = {}
    for f in parts:
        for name, source in imports_by_name(f).items():
            if name == "TYPE_CHECKING" or source[0] == t or source[2] == t:
                continue
            if name in defined:
                err("IMPORT HIDES DEFINITION", t, name, "imported by", f.name, "from", source[0], "defined in", defined[name])
            if name in imported and imported[name][0] != source and imported[name][0][1] != source[1]:
                err("IMPORTS DIFFER", t, name, f.name, source, *imported[name])
            imported.setdefault(name, (source, f.name))


def locals_binding(f, name):
    """Is the name bound anywhere below module level (argument, assignment, import)?"""
    for n in ast.walk(f.tree):
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            a = n.args
            for x in (
                a.posonlyargs
                + a.args
                + a.kwonlyargs
                + ([a.vararg] if a.vararg else [])
                + ([a.kwarg] if a.kwarg else [])
            ):
                if x.arg == name:
                    return True
            if not isinstance(n, ast.Lambda):
                for m in ast.walk(n):
                    if isinstance(m, ast.Name) and m.id == name and isinstance(m.ctx, (ast.Store, ast.Del)):
                        return True
        elif isinstance(n, ast.comprehension):
            for m in ast.walk(n.target):
                if isinstance(m, ast.Name) and m.id == name:
                    return True
    return False


def name_edits(f, old, new):
    """Rename a module level name within a file."""
    if old == new:
        return
    if locals_binding(f, old):
        err("LOCAL of the same name", f.path, old, "->", new)
    for n in ast.walk(f.tree):
        if isinstance(n, ast.Name) and n.id == old:
            s, e = f.span(n)
            f.edit(s, e, new)
        elif (
            isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)) and n.name == old and n in f.tree.body
        ):
            s, e = f.span(n)
            m = re.compile(rb"\b(def|class)\s+" + old.encode() + rb"\b").search(f.bytes, s)
            f.edit(m.end() - len(old), m.end(), new)
        elif isinstance(n, ast.Global) and old in n.names:
            err("GLOBAL", f.path, old)
    # strings in annotations such as "Name" are not seen


def fmt_from(mod, names):
    return f"from {mod} import " + ", ".join(n if not a or a == n else f"{n} as {a}" for n, a in names)


GUEST = "markbook.sandbox.guest"


def newpkg(f):
    n = MAP.get(f.name, f.name)
    if f.path.name == "__init__.py" and n == f.name:
        return n.split(".")
    return n.split(".")[:-1]


def emit(f, m):
    if not (f.name and f.name.startswith(GUEST) and (m + ".").startswith(GUEST + ".")):
        return m
    pkg = newpkg(f)
    t = m.split(".")
    k = 0
    while k < len(pkg) and k < len(t) and pkg[k] == t[k]:
        k += 1
    return "." * (len(pkg) - k + 1) + ".".join(t[k:])


for f in FILES:
    own_new = MAP.get(f.name) if f.name else None
    in_guest = f.name and f.name.startswith("markbook.sandbox.guest")
    for (o, name), new in list(RENAME.items()):
        if o == f.name:
            name_edits(f, name, new)
    done_alias = set()
    for n in ast.walk(f.tree):
        if isinstance(n, ast.ImportFrom):
            base = f.resolve(n)
            if not base.startswith("markbook"):
                continue
            keep = []
            out = collections.OrderedDict()
            changed = False
            removed = False
            for a in n.names:
                full = base + "." + a.name
                if full in MAP and (full in MODS) and not (base in BYNAME and a.name in exported(BYNAME[base].tree)):
                    new = MAP[full]
                    parent, leaf = new.rsplit(".", 1)
                    used = a.asname or a.name
                    changed = True
                    if new == own_new:
                        # module attribute use of what is here now
                        removed = True
                        if used in done_alias:
                            continue
                        done_alias.add(used)
                        if locals_binding(f, used):
                            err("LOCAL shadows module alias", f.path, used)
                        for m in ast.walk(f.tree):
                            if isinstance(m, ast.Attribute) and isinstance(m.value, ast.Name) and m.value.id == used:
                                s, e = f.span(m)
                                nm = RENAME.get((full, m.attr), m.attr)
                                f.edit(s, e, nm)

                        continue
                    if a.asname:
                        out.setdefault(parent, []).append((leaf, a.asname))
                    elif leaf == a.name:
                        out.setdefault(parent, []).append((leaf, None))
                    else:
                        out.setdefault(parent, []).append((leaf, None))
                        if used not in done_alias:
                            done_alias.add(used)
                            if (
                                locals_binding(f, used)
                                or leaf in toplevel(f.tree)
                                or locals_binding(f, leaf)
                                or hasattr(builtins, leaf)
                            ):
                                out[parent][-1] = (leaf, used)  # keep the old word for it here
                            else:
                                for m in ast.walk(f.tree):
                                    if isinstance(m, ast.Name) and m.id == used:
                                        s, e = f.span(m)
                                        f.edit(s, e, leaf)
                        else:
                            # a second import of it in this file (a late one): same choice
                            if (
                                locals_binding(f, used)
                                or leaf in toplevel(f.tree)
                                or locals_binding(f, leaf)
                                or hasattr(builtins, leaf)
                            ):
                                out[parent][-1] = (leaf, used)
                    # renamed private attributes
                    for m in ast.walk(f.tree):
                        if (
                            isinstance(m, ast.Attribute)
                            and isinstance(m.value, ast.Name)
                            and m.value.id == used
                            and (full, m.attr) in RENAME
                        ):
                            s, e = f.span(m)
                            f.edit(e - len(m.attr), e, RENAME[(full, m.attr)])
                elif base in MAP and base in MODS and not (full in MODS):
                    new = MAP[base]
                    changed = True
                    nm = RENAME.get((base, a.name), a.name)
                    if new == own_new:
                        removed = True
                        if a.asname and a.asname != nm:
                            name_edits(f, a.asname, nm)
                        elif not a.asname and nm != a.name:
                            name_edits(f, a.name, nm)
                        continue
                    out.setdefault(new, []).append((nm, a.asname or (a.name if nm != a.name else None)))
                else:
                    keep.append((a.name, a.asname))
            if keep and n.level and newpkg(f) != f.pkg():
                changed = True
            if changed:
                s, e = f.span(n)
                indent = " " * n.col_offset
                stmts = []
                if keep and n.level and newpkg(f) != f.pkg():
                    stmts.append(fmt_from(emit(f, base), keep))
                elif keep:
                    stmts.append(
                        (
                            "from "
                            + ("." * n.level)
                            + (n.module or "")
                            + " import "
                            + ", ".join(x if not y else f"{x} as {y}" for x, y in keep)
                        )
                    )
                for m, ns in out.items():
                    stmts.append(fmt_from(emit(f, m), ns))
                if not stmts:
                    stmts = ["pass"] if n.col_offset else [""]
                f.edit(s, e, ("\n" + indent).join(stmts))
        elif isinstance(n, ast.Import):
            for a in n.names:
                if a.name in MAP and a.name != MAP[a.name]:
                    err("plain import", f.path, a.name)

# --- textual references elsewhere
DOTTED = sorted((o for o in MAP if MAP[o] != o), key=len, reverse=True)
PAT = re.compile(r"\b(" + "|".join(re.escape(o) for o in DOTTED) + r")\b(?![\w])") if DOTTED else None


def textual(t):
    def new(m):
        following = re.match(r"\.(\w+)", t[m.end() : m.end() + 80])
        if following and f"{m[1]}.{following[1]}" in MODS:
            return m[0]  # a module of this package that stays, not the package itself
        return MAP[m[1]]

    return PAT.sub(new, t) if PAT else t


SLASH = {}
for o in DOTTED:
    p = MODS[o].relative_to(SRC).as_posix()
    new = MAP[o].replace(".", "/") + ".py"
    SLASH[p] = new


def paths(t):
    for p, new in SLASH.items():
        t = t.replace(p, new)
    return t


out = {}
for f in FILES:
    if f.name in MAP:
        continue
    t = f.apply()
    if f.name is None or True:
        # strings such as "markbook.load.samples" in code
        t = textual(t)
        t = paths(t)
    if t != f.text:
        out[f.path] = t
delete = set()
for t, olds in plan.items():
    header = None
    runtime = []
    typing = []
    bodies = []
    target = modpath(t) if t in MODS else SRC / pathlib.Path(*t.split(".")).with_suffix(".py")
    for o in olds:
        f = BYNAME.get(o)
        if not f:
            continue
        new = textual(f.apply())
        tree = ast.parse(new)
        b = new.encode()
        offs = [0]
        for l in b.split(b"\n"):
            offs.append(offs[-1] + len(l) + 1)
        cut = []  # line ranges to delete
        doc = ast.get_docstring(tree, clean=False)
        lines = new.split("\n")
        for i, n in enumerate(tree.body):
            if (
                i == 0
                and isinstance(n, ast.Expr)
                and isinstance(n.value, ast.Constant)
                and isinstance(n.value.value, str)
            ):
                cut.append((n.lineno, n.end_lineno))
            elif isinstance(n, ast.ImportFrom) and n.module == "__future__":
                cut.append((n.lineno, n.end_lineno))
            elif isinstance(n, (ast.Import, ast.ImportFrom)):
                seg = "\n".join(lines[n.lineno - 1 : n.end_lineno])
                runtime.append(seg)
                cut.append((n.lineno, n.end_lineno))
            elif (
                isinstance(n, ast.If) and isinstance(n.test, ast.Name) and n.test.id == "TYPE_CHECKING" and not n.orelse
            ):
                rest = []
                for m in n.body:
                    seg = "\n".join(lines[m.lineno - 1 : m.end_lineno])
                    if isinstance(m, (ast.Import, ast.ImportFrom)):
                        typing.append(seg)
                    else:
                        rest.append(m)
                if not rest:
                    cut.append((n.lineno, n.end_lineno))
                else:
                    first = [m for m in n.body if isinstance(m, (ast.Import, ast.ImportFrom))]
                    for m in first:
                        cut.append((m.lineno, m.end_lineno))
            elif (
                isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and n.targets[0].id == "TYPE_CHECKING"
            ):
                cut.append((n.lineno, n.end_lineno))
            elif (
                isinstance(n, ast.Assign)
                and len(n.targets) == 1
                and isinstance(n.targets[0], ast.Name)
                and (o, n.targets[0].id) in DROP
            ):
                end = n.end_lineno
                nxt = tree.body[i + 1] if i + 1 < len(tree.body) else None
                if (
                    isinstance(nxt, ast.Expr)
                    and isinstance(nxt.value, ast.Constant)
                    and isinstance(nxt.value.value, str)
                ):
                    end = nxt.end_lineno
                cut.append((n.lineno, end))
            elif isinstance(n, (ast.FunctionDef, ast.ClassDef)) and (o, n.name) in DROP:
                cut.append((min([n.lineno] + [d.lineno for d in n.decorator_list]), n.end_lineno))
        kill = set()
        for s, e in cut:
            kill.update(range(s, e + 1))
        body = "\n".join(l for k, l in enumerate(lines, 1) if k not in kill).strip("\n")
        bodies.append((o, doc, body))
        if MODS[o] != target:
            delete.add(MODS[o])
    doc = docs.get(t) and f'"""{docs[t]}"""'
    # without a sentence of the plan: the docstring of the part that had this name
    main = next((o for o in olds if o.rsplit(".", 1)[-1] == t.rsplit(".", 1)[-1]), olds[0])
    if doc is None:
        first = BYNAME[main]
        n = first.tree.body[0]
        s, e = first.span(n)
        doc = first.bytes[s:e].decode() if isinstance(n, ast.Expr) else '""""""'
    parts = [doc, "", "from __future__ import annotations", ""]
    seen = set()
    bound = {}
    slim_runtime = []
    for seg in runtime:
        m = ast.parse(seg).body[0]
        if isinstance(m, ast.ImportFrom) and m.module != "__future__":
            # a record that one part takes from its module and another from the package that passes it on
            names = []
            for x in m.names:
                used = x.asname or x.name
                before = bound.setdefault(used, (m.module, x.name))
                if before == (m.module, x.name) or before[1] != x.name or m.level or "noqa" in seg:
                    names.append(x)
            if not names:
                continue
            if len(names) < len(m.names):
                seg = fmt_from(m.module, [(x.name, x.asname) for x in names])
        slim_runtime.append(seg)
    runtime = slim_runtime
    for seg in runtime:
        if seg not in seen:
            seen.add(seg)
            parts.append(seg)
    if any("TYPE_CHECKING" in toplevel(BYNAME[o].tree) for o in olds if o in BYNAME):
        parts += ["", "TYPE_CHECKING = False"]
    if typing:
        parts += ["", "if TYPE_CHECKING:"]
        have = set()
        for seg in runtime:
            for m in ast.walk(ast.parse(seg)):
                if isinstance(m, (ast.ImportFrom, ast.Import)):
                    have.update(x.asname or x.name for x in m.names)
        slim = []
        import textwrap as tw

        for seg in typing:
            m = ast.parse(tw.dedent(seg)).body[0]
            if isinstance(m, ast.ImportFrom):
                ns = [x for x in m.names if (x.asname or x.name) not in have]
                if not ns:
                    continue
                seg = "    " + fmt_from("." * m.level + (m.module or ""), [(x.name, x.asname) for x in ns])
            slim.append(seg)
        for seg in slim:
            if seg.strip() not in {x.strip() for x in seen}:
                seen.add(seg)
                parts.append(seg if seg.startswith(" ") else "    " + seg)
        if parts[-1] == "if TYPE_CHECKING:":
            parts.pop()
    for k, (o, d, body) in enumerate(bodies):
        parts.append("")
        parts.append("")
        if len(bodies) > 1 and (o != main or docs.get(t)) and d:
            # all of it: what a part's docstring explains is not lost
            parts += [f"# {x}".rstrip() for x in d.strip().split("\n")]
            parts.append("")
        parts.append(body)
    out[target] = "\n".join(parts).rstrip() + "\n"
for d in (
    "docs",
    "README.md",
    "CONTRIBUTING.md",
    "pyproject.toml",
    "Makefile",
    "mkdocs.yml",
    "CHANGELOG.md",
    "SECURITY.md",
    "llms.txt",
):
    p = ROOT / d
    for q in [p] if p.is_file() else sorted(p.rglob("*.md")):
        t = q.read_text()
        n = paths(textual(t))
        if n != t:
            out[q] = n


# --- cycles after
def newname(n):
    return MAP.get(n, n)


G = collections.defaultdict(set)
for f in FILES:
    if not f.name:
        continue
    for n in f.tree.body:
        if isinstance(n, ast.ImportFrom):
            base = f.resolve(n)
            for a in n.names:
                full = base + "." + a.name
                d = full if full in MODS else base
                if d in MODS and newname(d) != newname(f.name):
                    G[newname(f.name)].add(newname(d))
idx = {}
low = {}
st = []
on = set()
cyc = []
sys.setrecursionlimit(10000)


def sc(v):
    idx[v] = low[v] = len(idx)
    st.append(v)
    on.add(v)
    for w in G[v]:
        if w not in idx:
            sc(w)
            low[v] = min(low[v], low[w])
        elif w in on:
            low[v] = min(low[v], idx[w])
    if low[v] == idx[v]:
        c = []
        while True:
            w = st.pop()
            on.discard(w)
            c.append(w)
            if w == v:
                break
        if len(c) > 1:
            cyc.append(c)


for v in list(G):
    if v not in idx:
        sc(v)
for c in cyc:
    err("CYCLE", " ".join(sorted(c)))
for e in errors:
    print(e)
print(len(RENAME), "renames", len(DROP), "dropped", len(out), "files written", len(delete), "deleted")
for k, v in RENAME.items():
    print("  rename", k[0][9:], k[1], "->", v)
big = [(t[9:], sum(len(BYNAME[o].text.splitlines()) for o in olds if o in BYNAME)) for t, olds in plan.items()]
print("over 500:", [x for x in big if x[1] > 500])
if WRITE:
    for p in delete:
        p.unlink()
    for p, t in out.items():
        p.parent.mkdir(parents=True, exist_ok=True)
        p.write_text(t)
    pkgs = set()
    for t in plan:
        d = (SRC / pathlib.Path(*t.split("."))).parent
        while d != SRC:
            pkgs.add(d)
            d = d.parent
    for d in pkgs:
        if not (d / "__init__.py").exists():
            (d / "__init__.py").write_text(f'"""The {d.name} package."""\n')
            print("new package", d)
    for d in sorted((d for d in SRC.rglob("*") if d.is_dir() and d.name != "__pycache__"), key=lambda d: -len(d.parts)):
        rest = [q for q in d.iterdir() if q.name != "__pycache__"]
        if [q.name for q in rest] == ["__init__.py"]:
            text = rest[0].read_text()
            shutil.rmtree(d)
            if text.count("\n") > 5:
                d.with_suffix(".py").write_text(text)
            print("no package any more", d.relative_to(SRC))
        elif not rest:
            shutil.rmtree(d)
