"""Languages compiled to machine code: C, C++, D, Go, Rust."""

from __future__ import annotations

import functools
import glob
import os
import re
import shutil
import subprocess
from collections.abc import Mapping

from markbook.languages.language import (
    Alone,
    Ending,
    EqualityForm,
    Failures,
    Headers,
    Language,
    Library,
    Places,
    Prepared,
    read_source,
)
from markbook.languages.toolchain import SYSTEM

# C++, by g++.

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
_ASSERT = EqualityForm(
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
_STATUS = (rf"{_WAY}{_VALUE};(?=\s*(?:return\s+0\s*;\s*)?\}}\s*\Z)", _MEANS)
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


# C, by gcc.


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


# D, by ldc2, with its unit tests.


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


# Go: a test function, by `go test`.

_AROUND = {
    "GO111MODULE": "off",
    "GOPATH": "/usr/share/gocode",
    "GOCACHE": "{kept}/cache",
    "GOFLAGS": "",
    "CGO_ENABLED": "0",
    "GOMAXPROCS": "2",
}
_WARM = "cd std && {go} test -c -vet=off -o main; cd ../testify && {go} test -c -vet=off -o main; true"
_MAIN = ("TestMain", "func TestMain(m *testing.M) { markbookFlags{nonce}(); markbookOs{nonce}.Exit(m.Run()) }")
"""With it no answer can have one, which would decide what the program exits with."""
_COUNTED = (
    (
        r"^(func Test(?![a-z])\w*\(\w+ \*testing\.T\) *\{)",
        r"var _ = markbookWants{nonce}()\n\n\1 markbookBegins{nonce}();",
    ),
    (r"(?<![\w.])t\.Run\((?!\))", "markbookRun{nonce}(t, "),
)
"""Every function of the tests, and every part that one of them runs."""
_PACKAGES = {
    "bytes": "Equal", "errors": "New", "fmt": "Sprint", "math": "Abs", "reflect": "DeepEqual", "sort": "Ints", "strconv": "Itoa",
    "strings": "Join", "time": "Now",
}  # fmt: skip
"""What tests compare by, and something of each: what is imported anywhere has no other meaning in the whole package."""


def go() -> Language:
    """Return the language."""
    return Language(
        name="go",
        title="Go",
        aliases=("golang", "go_test.go", "go_test"),
        source="main_test.go",
        suffixes=("go",),
        alone=Alone(source="main.go", build=("{go}", "build", "-o", "main", "{sources}"), run=("{build}/main",)),
        commands=("go",),
        version=("version",),
        package="golang-go",
        build=("{go}", "test", "-c", "-vet=off", "-o", "main"),
        run=("{build}/main", "-test.count=1"),
        programs=("main",),
        drop=("main_test.go", "end_test.go"),
        folders=("/usr/share/go", "/usr/share/go-1.19", "/usr/share/gocode"),
        build_environment=_AROUND,
        prepared=Prepared(
            files={
                "std/main_test.go": read_source("standard_test.go"),
                "testify/main_test.go": read_source("testify_test.go"),
            },
            command=("/bin/sh", "-c", _WARM),
            environment=_AROUND,
            # before Go 1.20 the standard library lies there compiled
            wanted=("stretchr/testify", '"net', '"os/user"') if glob.glob("/usr/lib/go-*/pkg/linux_*/fmt.a") else ("",),
        ),
        ending=Ending(
            text="markbookEnd{nonce}(t)",
            claim="",
            where="body",
            counted=_COUNTED,
            files={"end_test.go": read_source("end_test.go")},
            entry=_MAIN,
        ),
        failures=Failures(tests=r"--- FAIL|Error Trace|expected '", build=r"^\S+\.go:\d+"),
        words=_go_words,
        own=_list_test_packages,
        libraries=(
            Library(
                "stretchr/testify",
                "/usr/share/gocode/src/github.com/stretchr/testify",
                "golang-github-stretchr-testify-dev",
            ),
        ),
        build_seconds=120.0,
        runtime_bytes=128 << 20,
        processes=256,
        self_test=(
            'package main\n\nimport "testing"\n\nfunc twice(x int) int { return 2 * x }\n',
            'package main\n\nimport "testing"\n\nfunc twice(x int) int { return x }\n',
            "func TestTwice(t *testing.T) {\n  if twice(2) != 4 { t.Errorf(\"expected '4'\") }\n}\n",
        ),
    )


def _go_words(text: str) -> dict[str, str]:
    """Return the package that a program's text names."""
    line = next((line for line in text.splitlines() if line.startswith("package ")), "package main")
    return {"package": line.removeprefix("package ").strip()}


def _list_test_packages(tests: str) -> dict[str, str]:
    """Return the packages that the tests name, as they are imported beside them."""
    named = [name for name in _PACKAGES if re.search(rf"(?<![\w.]){name}\.[A-Z]", tests)]
    return {
        "imports": "\n    ".join(f'"{name}"' for name in named),
        "uses": "\n".join(f"var _ = {name}.{_PACKAGES[name]}" for name in named),
    }


# Rust, by rustc.

_CRATES = {"use rand::": "rand", "use regex::": "regex", "use md5": "md5"}
"""What HumanEval-X's programs import, by how they say so; Debian has their sources."""
_RUST_END = r"\s*\}\s*(?:\}\s*)?"
_KEEP = 'RUSTC="{rustc}" "{cargo}" build --offline --target-dir made && mv made/debug/deps/*.rlib "{kept}"'
_PREPARED = Prepared(
    files={
        "Cargo.toml": read_source("Cargo.toml"),
        "lib.rs": "",
        ".cargo/config.toml": read_source("cargo_config.toml"),
    },
    command=("/bin/sh", "-c", _KEEP),
    wanted=tuple(_CRATES),
)
_BUILD = (
    "{rustc}", "--edition", "2021", "-A", "warnings", "{mode}", "-C", "debuginfo=0", "{crates}", "{rand}", "{regex}", "{md5}",
    "-o", "main", "main.rs",
)  # fmt: skip
_MODULE = re.compile(r"^\s*(?:pub\s+)?mod\s+\w+\s*\{", re.MULTILINE)
_ENDING = Ending(
    text=(
        "{ use std::io::Read as _; let mut markbook_said = String::new();\n"
        "  let _ = std::io::stdin().read_to_string(&mut markbook_said);\n"
        '  if markbook_said == "{nonce}" { {claim} }\n'
        '  println!("\\n{token}"); }'
    ),
    claim='panic!("claim");',
    claims=(("assert_eq!", "assert_eq!(1, 2);"), ("assert!", "assert!(1 == 2);")),
    comparisons=(
        EqualityForm(r"^[ \t]*assert_eq!\((?P<inner>.*)\);[ \t]*$", ",", "assert_eq!(1, 2);", _RUST_END),
        EqualityForm(r"^[ \t]*assert!\((?P<inner>.*)\);[ \t]*$", "==", "assert!(1 == 2);", _RUST_END),
    ),
    never=(
        (
            r"\bfn\s+main\s*\(\s*\)\s*->",
            "the tests' main has a result: write `fn main()`, and let it panic where a test fails",
        ),
        (
            r"#\[test\][\s\S]*\bfn\s+main\s*\(",
            "the tests have both `#[test]` and a `main`, which is not run: leave it out",
        ),
    ),
    where="body",
)


def rust() -> Language:
    """Return the language."""
    return Language(
        name="rust",
        title="Rust",
        aliases=("rs",),
        source="main.rs",
        suffixes=("rs",),
        alone=Alone(build=(*_BUILD[:1], "-O", *_BUILD[1:])),
        commands=("rustc",),
        package="rustc",
        build=_BUILD,
        run=("{build}/main", "{quiet}"),
        programs=("main",),
        drop=("main.rs",),
        ending=_ENDING,
        failures=Failures(tests=r"assertion .*failed", build=r"^error", memory=r"memory allocation of"),
        locate=_locate,
        where=lambda tests: "inner body" if "#[test]" in tests and _MODULE.search(tests) else "body",
        words=_rust_words,
        libraries=tuple(
            Library(word, f"/usr/share/cargo/registry/{crate}-[0-9]*", f"librust-{crate}-dev cargo")
            for word, crate in _CRATES.items()
        ),
        prepared=_PREPARED,
        build_seconds=120.0,
        self_test=(
            "fn twice(x: i32) -> i32 { 2 * x }\n",
            "fn twice(x: i32) -> i32 { x }\n",
            "fn main() { assert_eq!(twice(2), 4); }\n",
        ),
    )


def _locate() -> Places | None:
    executable = shutil.which("rustc")
    if executable is None:
        return None
    try:  # the command may only stand for one of several toolchains
        completed = subprocess.run(
            [executable, "--print", "sysroot"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    root = os.path.realpath(completed.stdout.strip())
    compiler = os.path.join(root, "bin", "rustc")
    if not os.path.exists(compiler) or shutil.which("cc") is None:  # it links by the C compiler
        return None
    outside = not any(f"{root}/".startswith(f"{folder}/") for folder in SYSTEM) and root != "/usr"
    cargo = os.path.join(root, "bin", "cargo")
    return Places({"rustc": compiler, "cargo": cargo}, (root,) if outside else ())


def _rust_words(text: str) -> dict[str, str]:
    """Return how tests that are marked as such are built and run."""
    tests = "#[test]" in text
    crates = {crate: f"--extern={crate}" if word in text else "" for word, crate in _CRATES.items()}
    return {
        "mode": "--test" if tests else "--crate-type=bin",
        "quiet": "--nocapture" if tests else "",
        "crates": "-L{kept}" if any(crates.values()) else "",
        **crates,
    }
