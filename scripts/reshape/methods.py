"""Rename public methods whose name is also a field's elsewhere, by the types that mypy knows.

    python scripts/reshape/methods.py TABLE        a line is `module:Class.old new`; the files are written

The definitions are renamed first; then mypy says where the old name is asked of one of these classes, and that place is renamed,
until it says so no more. What is left of the old names in tests, and where a type is Any, is printed for the eye.
"""

import ast
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scopes import FUNCTIONS, Source  # noqa: E402

ROOT = pathlib.Path.cwd()
ERROR = re.compile(r'^(\S+?):(\d+):(\d+): error: (?:Item "[^"]*" of )?"?(?:type\[)?(\w+)[^"]*"?.* has no attribute "(\w+)"')


def module_path(module):
    path = ROOT / "src/markbook" / module.replace(".", "/")
    return path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"


def write(path, edits):
    data = path.read_bytes()
    for (start, end), new in sorted(edits.items(), reverse=True):
        data = data[:start] + new.encode() + data[end:]
    path.write_bytes(data)


def attributes(source, line, name):
    """The places of `.name` that begin or end on a line."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and node.attr == name and node.lineno <= line <= node.end_lineno:
            end = source.span(node)[1]
            if source.bytes[end - len(name) : end] == name.encode():
                yield node, (end - len(name), end)


def base_name(node):
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def inherited(bases, by_class, cls, old, seen=()):
    """The new name of a method in a class or in one that it derives from."""
    if (cls, old) in by_class:
        return by_class[cls, old]
    return next((new for b in bases.get(cls, ()) if b not in seen and (new := inherited(bases, by_class, b, old, (*seen, cls)))), None)


def main():
    table = {}
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            where, new = line.split()
            module, _, name = where.partition(":")
            cls, _, old = name.rpartition(".")
            table[(module, cls, old)] = new
    by_class = {(cls, old): new for (_, cls, old), new in table.items()}
    olds = {}
    for (_, _, old), new in table.items():
        olds.setdefault(old, set()).add(new)
    for (module, cls, old), new in table.items():
        path = module_path(module)
        if not path.exists():
            print("not there:", module)
            continue
        source = Source(path)
        edits = {}
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and node.name == cls:
                for method in node.body:
                    if isinstance(method, FUNCTIONS) and method.name == old:
                        match = re.compile(rb"def\s+(" + old.encode() + rb")\b").search(source.bytes, source.span(method)[0])
                        edits[match.span(1)] = new
        if not edits:
            print("not there:", module, cls, old)
        write(path, edits)
    bases = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, []).extend(base_name(b) for b in node.bases)
    for _ in range(8):
        told = subprocess.run([sys.executable, "-m", "mypy", "--show-column-numbers", "--no-pretty"], capture_output=True, text=True, check=False).stdout
        changes, rest = {}, []
        for line in told.splitlines():
            match = ERROR.match(line)
            if not match or match[5] not in olds:
                if ": error:" in line:
                    rest.append(line)
                continue
            path, number, column, cls, old = ROOT / match[1], int(match[2]), int(match[3]), match[4], match[5]
            new = inherited(bases, by_class, cls, old) or (next(iter(olds[old])) if len(olds[old]) == 1 else None)
            source = Source(path)
            places = list(attributes(source, number, old))
            exact = [p for n, p in places if n.lineno == number and len(source.bytes[source.starts[n.lineno - 1] : source.starts[n.lineno - 1] + n.col_offset].decode()) == column - 1]
            if new is None or not places:
                rest.append(line)
                continue
            for place in exact or [p for _, p in places]:
                changes.setdefault(path, {})[place] = new
        for path, edits in changes.items():
            write(path, edits)
        print(sum(map(len, changes.values())), "places renamed")
        if not changes:
            print("\n".join(rest))
            break
    for folder in ("src", "tests", "bench", "examples", "scripts"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "reshape" in str(path) or "attacks/" in str(path):
                continue
            if folder in ("tests", "bench", "examples"):
                text = path.read_text()
                after = re.sub(r"(?<!self)\.(\w+)\(", lambda m: f".{next(iter(olds[m[1]]))}(" if len(olds.get(m[1], ())) == 1 else m[0], text)
                if after != text:
                    path.write_text(after)
                    print("renamed by name alone:", path.relative_to(ROOT))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for name in re.findall(r"(?:\.|\")(\w+)\b(?=\(|\")", line):
                    if name in olds:
                        print(f"look at {path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")


if __name__ == "__main__":
    main()
