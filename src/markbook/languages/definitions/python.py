"""Python as a program: one text and one interpreter, without the examiner that answers in Python usually meet."""

from __future__ import annotations

import os
import sys

from markbook.languages.language import Alone, Ending, Failures, Language, Places
from markbook.languages.toolchain import SYSTEM
from markbook.text.claimless import program_fault
from markbook.text.suites import complete_program
from markbook.types import PYTHON


def python() -> Language:
    """Return the language."""
    return Language(
        name="python",
        title="Python",
        aliases=tuple(name for name in PYTHON if name != "python"),
        source="main.py",
        suffixes=("py", "py3"),
        unlike="#!.*python2",
        alone=Alone(
            build=(),
            run=("{python3}", "-s", "{alone}", "-B", "{build}/main.py"),
            words=lambda _text, names: {"alone": "-P" if len(names) == 1 else ""},
            environment={"PYTHONHASHSEED": "0"},
        ),
        commands=("python3",),
        package="python3",
        run=("{python3}", "-I", "-B", "{build}/main.py"),
        ending=Ending(
            text=(
                "import sys as markbook_sys\n"
                "markbook_said, markbook_held = markbook_sys.stdin.read(32), '{nonce}'\n"
                "try:\n    {claim}\nexcept BaseException:\n    markbook_held = '{token}'\n"
                "markbook_sys.stdout.write('\\n' + markbook_held + markbook_said + '\\n')"
            ),
            claim="assert 1 == 2",
            catches=True,
        ),
        failures=Failures(tests=r"^AssertionError", names=r"^NameError", syntax=r"^(?:Syntax|Indentation|Tab)Error"),
        locate=_locate,
        completed=_complete_tests,
        self_test=("def twice(x):\n    return 2 * x\n", "def twice(x):\n    return x\n", "assert twice(2) == 4\n"),
    )


def _locate() -> Places:
    """Return the interpreter that this is, with its packages: those of its virtual environment too."""
    base = os.path.dirname(os.path.realpath(sys.executable))
    packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    own = [sys.prefix] if sys.prefix != sys.base_prefix else []
    needed = dict.fromkeys([base, os.path.join(sys.base_prefix, "lib"), *own, *packages])
    outside = [path for path in needed if not any(f"{path}/".startswith(f"{folder}/") for folder in SYSTEM)]
    folders = tuple(path for path in outside if os.path.isdir(path))
    return Places({"python3": sys.executable}, folders)


def _complete_tests(tests: str) -> str:
    if fault := program_fault(tests):
        raise ValueError(fault)
    return complete_program(tests)
