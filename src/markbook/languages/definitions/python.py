"""Python as a program: one text and one interpreter, without the examiner that answers in Python usually meet."""

from __future__ import annotations

import os
import sys

from markbook.languages.language import Ending, Failures, Language, Places
from markbook.languages.toolchain import SYSTEM
from markbook.text.claimless import program_fault
from markbook.text.suites import completed


def python() -> Language:
    """Return the language."""
    return Language(
        name="python",
        title="Python",
        aliases=("py", "python3"),
        source="main.py",
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
        completed=_completed,
        self_test=("def twice(x):\n    return 2 * x\n", "def twice(x):\n    return x\n", "assert twice(2) == 4\n"),
    )


def _locate() -> Places:
    """Return the interpreter that this is."""
    base = os.path.realpath(sys.executable)
    inside = any(base.startswith(f"{folder}/") for folder in SYSTEM)
    return Places({"python3": base}, () if inside else (base, os.path.join(sys.base_prefix, "lib")))


def _completed(tests: str) -> str:
    if fault := program_fault(tests):
        raise ValueError(fault)
    return completed(tests)
