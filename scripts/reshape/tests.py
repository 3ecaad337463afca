"""Move the tests to where their sources are, and their kits to tests/support: python scripts/reshape/tests.py (in the root)."""

import re
import subprocess
from pathlib import Path

ROOT = Path.cwd()
TESTS = ROOT / "tests"
KITS = ("browsers codebleu_kit command_kit crash_disk docs_checks docs_kit docs_shelf exam_kit fake_openai foreign_files fuzz_targets honest_kit "
        "language_forgers language_forgers_ts language_tampering made_files made_runs metric_kit payloads review_kit trace_logs verdict_kit wild_kit wire_formats").split()
folders = {}
for line in Path("scripts/reshape/tests.txt").read_text().splitlines():
    folder, names = line.split(": ")
    folders |= dict.fromkeys((f"test_{name}" for name in names.split()), folder)
for path in TESTS.glob("test_*.py"):
    if path.stem not in folders:
        print("no place for", path.name)
        folders[path.stem] = "commands"


def move(old, new):
    new.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "mv", str(old), str(new)], check=True)


for name, folder in folders.items():
    if (TESTS / f"{name}.py").exists():
        move(TESTS / f"{name}.py", TESTS / folder / f"{name}.py")
for name in KITS:
    if (TESTS / f"{name}.py").exists():
        move(TESTS / f"{name}.py", TESTS / "support" / f"{name}.py")
for name in ("attacks", "honest"):
    if (TESTS / name).exists() and not (TESTS / "security" / name).exists():
        move(TESTS / name, TESTS / "security" / name)

PATHS = TESTS / "support" / "paths.py"
if not PATHS.exists():
    PATHS.write_text('"""Where things lie, for tests in any folder."""\n\nfrom pathlib import Path\n\nTESTS = Path(__file__).resolve().parents[1]\nROOT = TESTS.parent\nSHARED = ROOT.parent / "shared"\n"""The folder of real benchmarks, answers and reference values beside the checkout."""\n')
kits = "|".join(KITS)
paths = [p for p in TESTS.rglob("*.py") if "attacks" not in p.parts and "honest" not in p.parts]
for path in [*paths, *(ROOT / "bench").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]:
    old = text = path.read_text()
    text = re.sub(rf"^(\s*)from ({kits}) import", r"\1from support.\2 import", text, flags=re.M)
    text = re.sub(rf"^(\s*)import ({kits})(?= as |$)", r"\1from support import \2", text, flags=re.M)
    text = re.sub(r"^import ((?:(?:%s), )+(?:%s))$" % (kits, kits), r"from support import \1", text, flags=re.M)
    if path in paths and path.name not in ("paths.py", "test_plugins_broken.py"):
        text = re.sub(r"Path\(__file__\)(?:\.resolve\(\))?\.parents\[3\]", "ROOT.parent", text)
        text = re.sub(r"Path\(__file__\)(?:\.resolve\(\))?(?:\.parents\[1\]|\.parent\.parent)", "ROOT", text)
        text = re.sub(r"^ROOT = ROOT\n", "", text, flags=re.M)
        if path.parent != TESTS / "support" or path.stem not in ("levels", "byte_code", "paths"):
            text = re.sub(r"Path\(__file__\)\.parent(?!s)(?! *\.parent)", "TESTS", text)
        if path.name != "paths.py" and path.name not in ("conftest.py",) and text != old:
            names = [n for n in ("ROOT", "SHARED", "TESTS") if re.search(rf"(?<![\w.\"']){n}(?![\w\"'])", text) and not re.search(rf"^{n} = ", text, flags=re.M) and not re.search(rf"import .*\b{n}\b", text)]
            if names and "support.paths" not in text and path.stem not in ("levels", "byte_code"):
                line = f"from support.paths import {', '.join(names)}\n"
                at = re.search(r"^(from|import) .*\n", text, flags=re.M)
                text = text[: at.start()] + line + text[at.start():]
    text = text.replace('TESTS / "attacks"', 'TESTS / "security" / "attacks"').replace('TESTS / "honest"', 'TESTS / "security" / "honest"')
    if text != old:
        path.write_text(text)

everywhere = {f"tests/{name}.py": f"tests/{folder}/{name}.py" for name, folder in folders.items()}
everywhere |= {f"tests/{name}.py": f"tests/support/{name}.py" for name in KITS}
listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
for name in filter(None, listed):
    path = ROOT / name
    if name.startswith(("scripts/reshape/", "CHANGELOG", "tests/data", "tests/fuzz_corpus", "examples/exam")) or not path.is_file():
        continue
    try:
        text = old = path.read_text()
    except UnicodeDecodeError:
        continue
    text = re.sub(r"tests/(?:test_)?\w+\.py", lambda m: everywhere.get(m[0], m[0]), text)
    text = re.sub(r"(?<!security/)\btests/(attacks|honest)\b", r"tests/security/\1", text)
    text = text.replace('"tests" / "attacks"', '"tests" / "security" / "attacks"')
    if name == "pyproject.toml":
        used = sorted({f"tests/{f}" for f in folders.values()})
        text = text.replace('pythonpath = ["tests"]', "pythonpath = [\n" + "".join(f'  "{f}",\n' for f in ["tests", *used]) + "]")
    if name.startswith("bench/"):
        text = text.replace('(ROOT / "tests").glob(pattern)', '(ROOT / "tests").rglob(pattern)')
        text = text.replace('sys.path.insert(0, str(ROOT / "tests"))', 'sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "security")]')
    if name == "tests/support/byte_code.py":
        text = text.replace('tests.glob("test_*.py")', 'tests.rglob("test_*.py")')
    if name == "tests/conftest.py":
        text = text.replace('\nSHARED = ROOT.parent / "shared"\n', "").replace("from support import byte_code, levels\n", "from support import byte_code, levels\nfrom support.paths import SHARED\n")
    if name == "bench/reliability.py":
        text = text.replace('sorted({path.name for', 'sorted({path for').replace('found[name] = _run_file(name)', 'found[name.name] = _run_file(name)').replace('Counter(case["end"] for case in found[name])', 'Counter(case["end"] for case in found[name.name])').replace('print(f"{name:36}', 'print(f"{name.name:36}').replace("def _run_file(name: str)", "def _run_file(name: Path)").replace('f"tests/{name}"', "str(name)")
    if name.endswith("test_store_faults.py"):
        text = text.replace("sys.path.insert(0, sys.argv[3])", "sys.path[:0] = sys.argv[3:]").replace("TESTS]", 'TESTS, TESTS / "unit" / "store"]')
    text = re.sub(rf"\"from ({kits}) import", r'"from support.\1 import', text)
    if name.endswith("test_levels.py"):
        text = text.replace('HERE.glob("test_*.py")', 'HERE.rglob("test_*.py")')
    if name.endswith("docs/test_docs.py"):
        text = text.replace("(TESTS / test)", '(TESTS / "docs" / test)')
    if text != old:
        path.write_text(text)
