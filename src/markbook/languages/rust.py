"""Rust, by rustc."""

from __future__ import annotations

import os
import shutil
import subprocess

from markbook.languages.language import Ending, Failures, Language, Library, Places, Where
from markbook.languages.toolchain import SYSTEM


def rust() -> Language:
    """Return the language."""
    return Language(
        name="rust",
        title="Rust",
        aliases=("rs",),
        source="main.rs",
        commands=("rustc",),
        package="rustc",
        build=(
            "{rustc}",
            "--edition",
            "2021",
            "-A",
            "warnings",
            "{mode}",
            "-C",
            "debuginfo=0",
            "-o",
            "main",
            "main.rs",
        ),
        run=("{build}/main", "{quiet}"),
        programs=("main",),
        drop=("main.rs",),
        ending=Ending(
            text=(
                "{ use std::io::Read as _; let mut markbook_said = String::new();\n"
                "  let _ = std::io::stdin().read_to_string(&mut markbook_said);\n"
                '  if markbook_said == "{nonce}" { {claim} }\n'
                '  println!("\\n{token}"); }'
            ),
            claim='panic!("claim");',
            claims=(("assert_eq!", "assert_eq!(1, 2);"), ("assert!", "assert!(1 == 2);")),
            where="body",
        ),
        failures=Failures(tests=r"assertion .*failed", build=r"^error", memory=r"memory allocation of"),
        locate=_locate,
        where=_where,
        words=_words,
        libraries=(Library("use rand::", "", ""), Library("use regex::", "", ""), Library("use md5", "", "")),
        build_seconds=120.0,
        self_test=(
            "fn twice(x: i32) -> i32 { 2 * x }\n",
            "fn twice(x: i32) -> i32 { x }\n",
            "fn main() { assert_eq!(twice(2), 4); }\n",
        ),
    )


def _locate() -> Places | None:
    found = shutil.which("rustc")
    if found is None:
        return None
    try:  # the command may only stand for one of several toolchains
        said = subprocess.run([found, "--print", "sysroot"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    root = os.path.realpath(said.stdout.strip())
    compiler = os.path.join(root, "bin", "rustc")
    if not os.path.exists(compiler) or shutil.which("cc") is None:  # it links by the C compiler
        return None
    outside = not any(f"{root}/".startswith(f"{folder}/") for folder in SYSTEM) and root != "/usr"
    return Places({"rustc": compiler}, (root,) if outside else ())


def _where(tests: str) -> Where:
    return "inner body" if "#[test]" in tests else "body"


def _words(text: str) -> dict[str, str]:
    """Return how tests that are marked as such are built and run."""
    tests = "#[test]" in text
    return {"mode": "--test" if tests else "--crate-type=bin", "quiet": "--nocapture" if tests else ""}
