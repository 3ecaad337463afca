"""Go: a test function, by `go test`."""

from __future__ import annotations

import glob
import re

from markbook.languages.language import Alone, Ending, Failures, Language, Library, Prepared

_AROUND = {
    "GO111MODULE": "off",
    "GOPATH": "/usr/share/gocode",
    "GOCACHE": "{kept}/cache",
    "GOFLAGS": "",
    "CGO_ENABLED": "0",
    "GOMAXPROCS": "2",
}
_ALL = """package main

import (
    "net/http"
    "os/user"
    "testing"
)

func TestAll(t *testing.T) { _, _ = user.Current(); _ = http.StatusOK }
"""
_TESTIFY = """package main

import (
    "testing"

    "github.com/stretchr/testify/assert"
)

func TestAll(t *testing.T) { assert.Equal(t, 1, 1) }
"""
_WARM = "cd std && {go} test -c -vet=off -o main; cd ../testify && {go} test -c -vet=off -o main; true"
_MAIN = ("TestMain", "func TestMain(m *testing.M) { markbookFlags{nonce}(); markbookOs{nonce}.Exit(m.Run()) }")
"""With it no answer can have one, which would decide what the program exits with."""
_END = """package {package}

import (
    markbookAtomic{nonce} "sync/atomic"
    markbookFlag{nonce} "flag"
    markbookIo{nonce} "io"
    markbookOs{nonce} "os"
    "testing"
    {imports}
)

{uses}
{entry}

var markbookWanted{nonce}, markbookBegun{nonce} int32

func markbookWants{nonce}() bool { markbookAtomic{nonce}.AddInt32(&markbookWanted{nonce}, 1); return true }

func markbookBegins{nonce}() { markbookAtomic{nonce}.AddInt32(&markbookBegun{nonce}, 1) }

func markbookRun{nonce}(t *testing.T, name string, part func(*testing.T)) bool {
    markbookWants{nonce}()
    return t.Run(name, func(t *testing.T) { markbookBegins{nonce}(); part(t) })
}

func markbookFlags{nonce}() {
    markbookOs{nonce}.Args = markbookOs{nonce}.Args[:1]
    for _, name := range []string{"run", "skip", "list", "bench"} {
        markbookFlag{nonce}.Set("test." + name, "")
    }
}

func markbookEnd{nonce}(t *testing.T) {
    t.Helper()
    said, _ := markbookIo{nonce}.ReadAll(markbookOs{nonce}.Stdin)
    if string(said) == "{nonce}" {
        t.Errorf("expected '%s', got '%s'", "1", "2")
    }
    if markbookAtomic{nonce}.LoadInt32(&markbookBegun{nonce}) >= markbookAtomic{nonce}.LoadInt32(&markbookWanted{nonce}) {
        markbookOs{nonce}.Stdout.WriteString("\\n{token}\\n")
    }
}
"""
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
            files={"std/main_test.go": _ALL, "testify/main_test.go": _TESTIFY},
            command=("/bin/sh", "-c", _WARM),
            environment=_AROUND,
            wanted=("stretchr/testify", '"net', '"os/user"') if _has_library() else ("",),
        ),
        ending=Ending(
            text="markbookEnd{nonce}(t)",
            claim="",
            where="body",
            counted=_COUNTED,
            files={"end_test.go": _END},
            entry=_MAIN,
        ),
        failures=Failures(tests=r"--- FAIL|Error Trace|expected '", build=r"^\S+\.go:\d+"),
        words=_words,
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


def _words(text: str) -> dict[str, str]:
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


def _has_library() -> bool:
    """Whether the standard library lies there compiled, as it does before Go 1.20."""
    return bool(glob.glob("/usr/lib/go-*/pkg/linux_*/fmt.a"))
