"""usage: rename.py ROOT RENAMES [--write]. Lines: `old new` or `module:old new`."""

import ast, sys, re, pathlib, collections

ROOT = pathlib.Path(sys.argv[1])
WRITE = "--write" in sys.argv
SRC = ROOT / "src"


def allm():
    out = {}
    for p in SRC.rglob("*.py"):
        parts = list(p.relative_to(SRC).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts = parts[:-1]
        out[".".join(parts)] = p
    return out


MODS = allm()
PM = {p: n for n, p in MODS.items()}
errors = []


def err(*a):
    errors.append(" ".join(map(str, a)))


class F:
    def __init__(s, path):
        s.path = path
        s.text = path.read_text()
        s.bytes = s.text.encode()
        s.tree = ast.parse(s.text)
        s.name = PM.get(path)
        s.offs = [0]
        for l in s.bytes.split(b"\n"):
            s.offs.append(s.offs[-1] + len(l) + 1)
        s.edits = {}

    def span(s, n):
        return s.offs[n.lineno - 1] + n.col_offset, s.offs[n.end_lineno - 1] + n.end_col_offset

    def pkg(s):
        parts = s.name.split(".")
        return parts if s.path.name == "__init__.py" else parts[:-1]

    def resolve(s, n):
        if not n.level:
            return n.module or ""
        if not s.name:
            return ""
        p = s.pkg()
        return ".".join(p[: len(p) - n.level + 1] + ([n.module] if n.module else []))

    def edit(s, a, b, new):
        s.edits[(a, b)] = new.encode()

    def apply(s):
        out = s.bytes
        for (a, b), new in sorted(s.edits.items(), reverse=True):
            out = out[:a] + new + out[b:]
        return out.decode()


FILES = [
    F(p)
    for d in ("src", "tests", "bench", "scripts", "examples")
    for p in sorted((ROOT / d).rglob("*.py"))
    if "__pycache__" not in str(p) and "attacks/" not in str(p) and "/honest/" not in str(p) and "scripts/reshape" not in str(p)
]
BY = {f.name: f for f in FILES if f.name}


def defs(f):
    """functions and classes of a module, and methods"""
    top = [
        m
        for n in f.tree.body
        for m in (n.body if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING" else [n])
    ]
    mod = {n.name for n in top if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    meth = {
        m.name
        for n in ast.walk(f.tree)
        if isinstance(n, ast.ClassDef)
        for m in n.body
        if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    return mod, meth


FUNCS = {}
METHS = {}
D = {f.name: defs(f) for f in FILES if f.name}
for line in pathlib.Path(sys.argv[2]).read_text().splitlines():
    line = line.split("#")[0].strip()
    if not line:
        continue
    k, new = line.split()
    mod, _, old = k.rpartition(":")
    hit = False
    for name, (fs, ms) in D.items():
        if mod and name != "markbook." + mod:
            continue
        if old in fs:
            FUNCS[(name, old)] = new
            hit = True
        if old in ms:
            METHS.setdefault(old, {})[name] = new
            hit = True
    if not hit:
        err("NOT FOUND", k)
# re-exports
changed = True
while changed:
    changed = False
    for f in FILES:
        if not f.name:
            continue
        for n in ast.walk(f.tree):
            if isinstance(n, ast.ImportFrom):
                base = f.resolve(n)
                for a in n.names:
                    if (base, a.name) in FUNCS and a.asname in (None, a.name) and (f.name, a.name) not in FUNCS:
                        FUNCS[(f.name, a.name)] = FUNCS[(base, a.name)]
                        changed = True


def bound_locally(f, name):
    for n in ast.walk(f.tree):
        if isinstance(n, ast.arg) and n.arg == name:
            return True
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, (ast.Store, ast.Del)):
            return True
    return False


def bound_top(f, name):
    for n in f.tree.body:
        if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)) and n.name == name:
            return True
    for n in ast.walk(f.tree):
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            for a in n.names:
                if (a.asname or a.name.split(".")[0]) == name:
                    return True
    return False


def rename_name(f, old, new):
    if bound_locally(f, old):
        err("LOCAL BINDING of old", f.path.relative_to(ROOT), old)
    if bound_locally(f, new) or bound_top(f, new):
        err("NEW IS BOUND", f.path.relative_to(ROOT), old, new)
    for n in ast.walk(f.tree):
        if isinstance(n, ast.Name) and n.id == old:
            f.edit(*f.span(n), new)
        elif (
            isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
            and n.name == old
            and n in f.tree.body
            or isinstance(n, ast.ClassDef)
            and n.name == old
        ):
            s, _ = f.span(n)
            m = re.compile(rb"\b(def|class)\s+" + old.encode() + rb"\b").search(f.bytes, s)
            f.edit(m.end() - len(old), m.end(), new)
    rename_in_strings(f, old, new)


def rename_in_strings(f, old, new):
    """Names of classes in annotations and type arguments that are written as strings."""
    if not old.lstrip("_")[:1].isupper():
        return
    holders = [
        x
        for n in ast.walk(f.tree)
        for x in (
            [n.slice]
            if isinstance(n, ast.Subscript)
            else [n.annotation]
            if isinstance(n, (ast.arg, ast.AnnAssign)) and n.annotation
            else [n.returns]
            if isinstance(n, ast.FunctionDef) and n.returns
            else n.args[:1]
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "cast"
            else []
        )
    ]
    for holder in holders:
        for n in ast.walk(holder):
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and re.search(rf"\b{old}\b", n.value):
                s, e = f.span(n)
                f.edit(s, e, re.sub(rf"\b{old}\b", new, f.bytes[s:e].decode()))


for f in FILES:
    done = set()
    for (mod, old), new in FUNCS.items():
        if mod == f.name and old in D[mod][0]:
            rename_name(f, old, new)
            done.add(old)
    mods = {}  # alias -> module
    for n in ast.walk(f.tree):
        if isinstance(n, ast.ImportFrom):
            base = f.resolve(n)
            for a in n.names:
                full = base + "." + a.name
                if full in MODS and (base, a.name) not in FUNCS:
                    mods[a.asname or a.name] = full
                if (base, a.name) in FUNCS:
                    new = FUNCS[(base, a.name)]
                    s, e = f.span(a)
                    if a.asname == a.name:
                        f.edit(s, e, f"{new} as {new}")
                    elif a.asname:
                        f.edit(s, s + len(a.name), new)
                    elif (
                        bound_locally(f, a.name)
                        or bound_locally(f, new)
                        or (bound_top(f, new) and (f.name, a.name) not in FUNCS)
                    ):
                        f.edit(s, e, f"{new} as {a.name}")
                        print("  alias kept", f.path.relative_to(ROOT), a.name, new)
                    else:
                        f.edit(s, e, new)
                        if a.name not in done:
                            done.add(a.name)
                            for m in ast.walk(f.tree):
                                if isinstance(m, ast.Name) and m.id == a.name:
                                    f.edit(*f.span(m), new)
                            rename_in_strings(f, a.name, new)
    for n in ast.walk(f.tree):
        if (
            isinstance(n, ast.Attribute)
            and isinstance(n.value, ast.Name)
            and n.value.id in mods
            and (mods[n.value.id], n.attr) in FUNCS
        ):
            _, e = f.span(n)
            f.edit(e - len(n.attr), e, FUNCS[(mods[n.value.id], n.attr)])
        elif (
            isinstance(n, ast.Attribute)
            and n.attr in METHS
            and not (isinstance(n.value, ast.Name) and n.value.id in mods)
        ):
            news = set(METHS[n.attr].values())
            if len(news) > 1:
                err("METHOD of several", f.path.relative_to(ROOT), n.attr)
            new = next(iter(news))
            _, e = f.span(n)
            f.edit(e - len(n.attr), e, new)
        elif (
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute)
            and n.func.attr == "setattr"
            and len(n.args) >= 2
            and isinstance(n.args[1], ast.Constant)
            and isinstance(n.args[0], ast.Name)
        ):
            old = n.args[1].value
            m = mods.get(n.args[0].id)
            if (m, old) in FUNCS:
                s, e = f.span(n.args[1])
                f.edit(s + 1, e - 1, FUNCS[(m, old)])
            elif old in METHS:
                s, e = f.span(n.args[1])
                f.edit(s + 1, e - 1, next(iter(METHS[old].values())))
        elif isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name in METHS and n not in f.tree.body:
            inclass = any(isinstance(c, ast.ClassDef) and n in c.body for c in ast.walk(f.tree))
            if inclass:
                new = METHS[n.name].get(f.name) or next(iter(METHS[n.name].values()))
                s, _ = f.span(n)
                m = re.compile(rb"def\s+" + n.name.encode() + rb"\b").search(f.bytes, s)
                f.edit(m.end() - len(n.name), m.end(), new)
out = {}
# docstrings, comments, __all__ and docs: by word where the old name is the same everywhere
glob = {}
for (m, o), n in FUNCS.items():
    if o[:1].isupper():
        continue  # `Row` in prose may be any row
    glob.setdefault(o, set()).add(n)
for o, d in METHS.items():
    glob.setdefault(o, set()).update(d.values())
one = {o: next(iter(n)) for o, n in glob.items() if len(n) == 1}
TICK = (
    re.compile(r"`([\w./:]*?)\b(" + "|".join(map(re.escape, sorted(one, key=len, reverse=True))) + r")\b")
    if one
    else None
)


FENCE = re.compile(r"^( *)```(?:python|py|pycon)\b.*?^\1```", re.M | re.S)


def code_in_docs(t):
    """Blocks of Python in documentation: names that are imported there from their module."""

    def block(m):
        text = m[0]
        for i in re.finditer(r"from ([\w.]+) import (\([^)]*\)|[^\n]*)", m[0]):
            for name in re.findall(r"\w+", i[2]):
                if (i[1], name) in FUNCS:
                    text = re.sub(rf"(?<![\w.]){name}\b", FUNCS[i[1], name], text)
        return text

    return FENCE.sub(block, t)


def words(t):
    return TICK.sub(lambda m: "`" + m[1] + one[m[2]], t) if TICK else t


for f in FILES:
    t = words(f.apply())
    for (m, o), n in FUNCS.items():
        if m == f.name:
            t = t.replace(f'"{o}"', f'"{n}"') if "__all__" in t or f.path.name == "__init__.py" else t
        t = t.replace(f'{m}.{o}"', f'{m}.{n}"').replace(f'{m}:{o}"', f'{m}:{n}"')
    if t != f.text:
        out[f.path] = t
for d in ("docs", "README.md", "CONTRIBUTING.md", "pyproject.toml"):
    p = ROOT / d
    for q in [p] if p.is_file() else sorted(p.rglob("*.md")):
        t = q.read_text()
        n = words(code_in_docs(t))
        for (m, o), nn in FUNCS.items():
            n = n.replace(f'{m}:{o}"', f'{m}:{nn}"')
        if n != t:
            out[q] = n
for e in sorted(set(errors)):
    print(e)
print(len(FUNCS), "functions", len(METHS), "methods", len(out), "files")
if WRITE:
    for p, t in out.items():
        p.write_text(t)
