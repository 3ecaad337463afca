"""The source itself: every module is used by another one, or is a door that users go through."""

import ast
import subprocess
import sys
import tomllib

from support.paths import ROOT

SOURCE = ROOT / "src"
DOORS = {
    "markbook.__main__",
    "markbook.documented",
    "markbook.metrics.adapters",
    "markbook.rewards",
    "markbook.testing",
    "markbook.traces.recorder",
}
"""What users import by its own name."""
PROGRAMS = {"markbook.text.child", "markbook.sandbox.guest.runner", "markbook.sandbox.guest.supervisor"}
"""What is started as a process of its own, by its file."""


def module_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def names_in(path, module):
    """Yield the dotted names that a module imports, and those that it names in texts (`-m`, import_module)."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("markbook."):
            yield node.value.partition(":")[0]


def test_no_module_is_a_dead_room():
    modules = {module_of(path): path for path in SOURCE.rglob("*.py")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = [value for group in project["entry-points"].values() for value in group.values()]
    commands = {f"markbook.cli.{path.stem}" for path in (SOURCE / "markbook" / "cli").iterdir()}
    used = {entry.partition(":")[0] for entry in [*entries, *project["scripts"].values()]} | DOORS | PROGRAMS | commands
    for module, path in modules.items():
        used.update(name for name in names_in(path, module) if name != module)

    dead = sorted(module for module, path in modules.items() if module not in used and path.name != "__init__.py")

    assert dead == []
    assert modules.keys() >= DOORS | PROGRAMS


def test_no_module_is_imported_by_a_text_past_the_layers():
    """`lint-imports` sees statements only: `import_module("markbook.runs")` in a lower layer would go unseen."""
    past = [
        f"{module_of(path)}: {node.args[0].value}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id)
        in ("import_module", "__import__")
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and str(node.args[0].value).startswith("markbook")
    ]

    assert past == []


def test_a_worker_of_tasks_imports_no_more_than_it_measures_with():
    """Each worker imports the module of what it is sent: with the rest of a run that took it a second of processor time."""
    program = "from markbook.runs.tasks.grading import measure_piece\nprint(measure_piece.__module__)\n"
    module = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    program = f"import sys, {module}\nprint(*sorted(name for name in sys.modules if name.startswith('markbook.')))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()

    packages = {name.split(".")[1] for name in loaded}
    assert packages.isdisjoint({"runs", "results", "judge", "programs", "sandbox", "report", "datasets", "cli"})
    assert module in loaded
