"""D, by ldc2, with its unit tests."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language


def d() -> Language:
    """Return the language. The unit tests of a program run before its `main`."""
    return Language(
        name="d",
        title="D",
        source="main.d",
        commands=("ldc2",),
        package="ldc",
        build=("{ldc2}", "-unittest", "-of=main", "main.d"),
        run=("{build}/main", "--DRT-testmode=run-main"),
        programs=("main",),
        drop=("main.d", "main.o"),
        folders=("/etc/ldc2.conf",),
        ending=Ending(
            text=(
                "{ import core.stdc.stdio : fread, stdin, printf; char[33] said = 0; fread(said.ptr, 1, 32, stdin);\n"
                "  bool held = true; try { {claim} } catch (Throwable) { held = false; }\n"
                '  printf("\\n%s%s\\n", held ? "{nonce}".ptr : "{token}".ptr, said.ptr); }'
            ),
            claim="assert(1 == 2);",
            where="body",
            catches=True,
        ),
        failures=Failures(tests=r"AssertError|Assertion failure|FAILED unittests", build=r"Error:"),
        self_test=(
            "int twice(int x) { return 2 * x; }\n",
            "int twice(int x) { return x; }\n",
            "unittest { assert(twice(2) == 4); }\nvoid main(){}\n",
        ),
    )
