"""C, by gcc."""

from __future__ import annotations

from markbook.languages.definitions.cpp import BUILD_ENVIRONMENT, ENDING, linker
from markbook.languages.language import Alone, Failures, Language


def c() -> Language:
    """Return the language."""
    return Language(
        name="c",
        title="C",
        source="main.c",
        suffixes=("c",),
        alone=Alone(build=("{gcc}", "-std=gnu17", "-O2", "-o", "main", "{sources}", "-lm")),
        commands=("gcc",),
        version=("-dumpfullversion",),
        package="gcc",
        build=("{gcc}", "-std=gnu17", "{linker}", "-o", "main", "main.c", "-lm"),
        build_environment=BUILD_ENVIRONMENT,
        words=lambda _text: {"linker": linker()},
        run=("{build}/main",),
        programs=("main",),
        drop=("main.c",),
        ending=ENDING,
        failures=Failures(tests=r"Assertion .* failed|[Aa]ssert"),
        self_test=(
            "int twice(int x) { return 2 * x; }\n",
            "int twice(int x) { return x; }\n",
            "#include <assert.h>\nint main(void) { assert(twice(2) == 4); return 0; }\n",
        ),
    )
