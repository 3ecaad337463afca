"""C++, by g++."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Mapping

from markbook.languages.claims import Comparison
from markbook.languages.language import Alone, Ending, Failures, Headers, Language, Library

_READS = (
    "".join(f"#undef {word}\n" for word in ("if", "for", "char", "int", "long", "void", "unsigned", "__asm__"))
    + "#undef __builtin_puts\n"
    + '{ char markbook_said[33] = {0}; long markbook_read_{nonce}(int, void *, unsigned long) __asm__("read");\n'
    "  markbook_read_{nonce}(0, markbook_said, 32); int markbook_differs_{nonce} = 0;\n"
    "  for (int markbook_at = 0; markbook_at < 32; markbook_at++)\n"
    '    markbook_differs_{nonce} |= markbook_said[markbook_at] ^ "{nonce}"[markbook_at];\n'
    "  if (markbook_differs_{nonce} == 0) { {claim} }\n"
    '  __builtin_puts("{token}"); }'
)
"""Needs no header: what a program forgot to include is not to be there for our sake. Nothing that an answer may define, a
macro or a function, is told which of the two runs this is."""
_ASSERT = Comparison(
    statement=r"^[ \t]*assert\s*\((?P<inner>.*)\);[ \t]*$",
    separator="==",
    claim="assert(1 == 2);",
    end=r"\s*(?:return\s+0\s*;)?\s*\}\s*",
)

_GUARD = "\n" + "".join(
    f"#undef {word}\n" for word in ("__assert_fail", "__extension__", "if", "else", "sizeof", "static_cast")
)
"""Words that `assert` is made of, as the compiler knows them."""
_WORDS = "\n" + "".join(f"#undef {word}\n" for word in ("if", "else", "for", "while", "do", "return", "exit", "abort"))
"""Words by which tests fail."""
_VALUE = r"(?P<value>(?:[^();{}]|\((?:[^();{}]|\((?:[^();{}]|\([^();{}]*\))*\))*\))+)"
_WAY = r"(?:\breturn\b(?!\s*\(?0\)?\s*;)|(?:\bstd\s*::\s*)?\bexit\b(?=\s*\())"
_MEANS = (
    "{\n#undef if\n#undef return\n#undef EXIT_SUCCESS\n#undef EXIT_FAILURE\n"
    "#define EXIT_SUCCESS 0\n#define EXIT_FAILURE 1\nif ({value}) return 1; }"
)
"""What the status is told by means what it says, whatever an answer makes of these words."""
_STATUS = (
    rf"{_WAY}{_VALUE};(?=\s*(?:return\s+0\s*;\s*)?\}}\s*\Z)",
    _MEANS,
)
_FAILS = (
    r"[;{}]\s*(?:return\s*\(?\s*(?:-?[1-9]\d*|EXIT_FAILURE)|exit\s*\(\s*(?:-?[1-9]\d*|EXIT_FAILURE))\s*\)?\s*;\s*\}\s*\Z",
    "the tests' main always fails at its end: let it return where a test fails, and reach its end where all pass",
)
ENDING = Ending(
    text=_READS,
    claim="__builtin_abort();",
    claims=(("assert", "assert(1 == 2);"),),
    comparisons=(_ASSERT,),
    guards=(("assert", _GUARD), ("", _WORDS)),
    status=_STATUS,
    never=(_FAILS,),
    where="body",
)
"""That of C too."""
BUILD_ENVIRONMENT = {"SOURCE_DATE_EPOCH": "946684800"}
"""What `__TIME__` says: a program is not to know for how long it has been there. That of C too."""

_NAMES = (
    "algorithm any array atomic bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits clocale cmath"
    " codecvt complex condition_variable csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar"
    " cwchar cwctype deque exception filesystem forward_list fstream functional future initializer_list iomanip ios"
    " iosfwd iostream istream iterator limits list locale map memory memory_resource mutex new numeric optional ostream"
    " queue random ratio regex set shared_mutex sstream stack stdexcept streambuf string string_view strstream"
    " system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector"
    " bits/stdc++.h assert.h ctype.h errno.h fenv.h float.h inttypes.h limits.h locale.h math.h setjmp.h signal.h"
    " stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h time.h wchar.h wctype.h"
)
"""The headers of C++17 and C."""


def cpp() -> Language:
    """Return the language."""
    return Language(
        name="cpp",
        title="C++",
        aliases=("c++", "cxx", "cc", "g++"),
        source="main.cpp",
        suffixes=("cpp", "cc", "cxx", "c++"),
        alone=Alone(build=("{g++}", "-std=gnu++17", "-O2", "-o", "main", "{sources}")),
        commands=("g++",),
        version=("-dumpfullversion",),
        package="g++",
        build=("{g++}", "-std=c++17", "{head}", "{linker}", "-o", "main", "main.cpp", "{libraries}"),
        build_environment=BUILD_ENVIRONMENT,
        headers=Headers(
            names=frozenset(_NAMES.split()),
            command=("{g++}", "-std=c++17", "-x", "c++-header", "-o", "{made}", "{header}"),
            option="-include{header}",
            suffix=".gch",
        ),
        words=_words,
        libraries=(
            Library("boost/", "/usr/include/boost", "libboost-dev"),
            Library("openssl/", "/usr/include/openssl", "libssl-dev"),
        ),
        run=("{build}/main",),
        programs=("main",),
        drop=("main.cpp",),
        ending=ENDING,
        failures=Failures(tests=r"Assertion .* failed|terminate called|[Aa]ssert"),
        self_test=(
            "int twice(int x) { return 2 * x; }\n",
            "int twice(int x) { return x; }\n",
            "#include <cassert>\nint main() { assert(twice(2) == 4); return 0; }\n",
        ),
    )


def _words(text: str) -> Mapping[str, str]:
    """Return the linker, the one of the two that is faster where it is here, and what a program's headers want linked."""
    return {"head": "", "linker": linker(), "libraries": "-lcrypto" if "<openssl/" in text else ""}


@functools.cache
def linker() -> str:
    """Return the compiler's word for the faster linker, nothing where it is not here."""
    return "-fuse-ld=gold" if shutil.which("ld.gold") else ""
