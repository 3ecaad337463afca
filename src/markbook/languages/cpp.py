"""C++, by g++."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language

READS = (
    '{ char markbook_said[33] = {0}; long markbook_read(int, void *, unsigned long) __asm__("read");\n'
    "  markbook_read(0, markbook_said, 32);\n"
    '  if (__builtin_memcmp(markbook_said, "{nonce}", 32) == 0) { {claim} }\n'
    '  __builtin_puts("{token}"); }'
)
"""Needs no header: what a program forgot to include is not to be there for our sake."""


def cpp() -> Language:
    """Return the language."""
    return Language(
        name="cpp",
        title="C++",
        aliases=("c++", "cxx", "cc", "g++"),
        source="main.cpp",
        commands=("g++",),
        version=("-dumpfullversion",),
        package="g++",
        build=("{g++}", "-std=c++17", "-o", "main", "main.cpp"),
        run=("{build}/main",),
        programs=("main",),
        drop=("main.cpp",),
        ending=Ending(
            text=READS,
            claim="__builtin_abort();",
            claims=(("assert", "assert(1 == 2);"),),
            where="body",
        ),
        failures=Failures(tests=r"Assertion .* failed|terminate called|[Aa]ssert"),
        self_test=(
            "int twice(int x) { return 2 * x; }\n",
            "int twice(int x) { return x; }\n",
            "#include <cassert>\nint main() { assert(twice(2) == 4); return 0; }\n",
        ),
    )
