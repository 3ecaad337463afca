"""Rust, by rustc."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from markbook.languages.claims import Comparison
from markbook.languages.language import Alone, Ending, Failures, Language, Library, Places, Prepared, Where
from markbook.languages.toolchain import SYSTEM

_CRATES = {"use rand::": "rand", "use regex::": "regex", "use md5": "md5"}
"""What HumanEval-X's programs import, by how they say so; Debian has their sources."""
_MANIFEST = """[package]
name = "markbook_crates"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[dependencies]
md5 = "*"
rand = "*"
regex = { version = "*", default-features = false, features = ["std", "unicode"] }
"""
_REGISTRY = """[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "/usr/share/cargo/registry"
[profile.dev]
debug = false
"""
_END = r"\s*\}\s*(?:\}\s*)?"
_KEEP = 'RUSTC="{rustc}" "{cargo}" build --offline --target-dir made && mv made/debug/deps/*.rlib "{kept}"'
_PREPARED = Prepared(
    files={"Cargo.toml": _MANIFEST, "lib.rs": "", ".cargo/config.toml": _REGISTRY},
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
        Comparison(r"^[ \t]*assert_eq!\((?P<inner>.*)\);[ \t]*$", ",", "assert_eq!(1, 2);", _END),
        Comparison(r"^[ \t]*assert!\((?P<inner>.*)\);[ \t]*$", "==", "assert!(1 == 2);", _END),
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
        where=_where,
        words=_words,
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


def _where(tests: str) -> Where:
    return "inner body" if "#[test]" in tests and _MODULE.search(tests) else "body"


def _words(text: str) -> dict[str, str]:
    """Return how tests that are marked as such are built and run."""
    tests = "#[test]" in text
    crates = {crate: f"--extern={crate}" if word in text else "" for word, crate in _CRATES.items()}
    return {
        "mode": "--test" if tests else "--crate-type=bin",
        "quiet": "--nocapture" if tests else "",
        "crates": "-L{kept}" if any(crates.values()) else "",
        **crates,
    }
