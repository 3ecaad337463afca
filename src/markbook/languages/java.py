"""Java, by javac and java of one JDK."""

from __future__ import annotations

import glob
import os
import re
import shutil

from markbook.languages.language import Ending, Failures, Language, Library, Places
from markbook.languages.toolchain import SYSTEM, prefix_of

_QUICK = ("-Xmx1024m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")
_TUPLES = "/usr/share/java/javatuples.jar"
"""Debian's libjavatuples-java: what MultiPL-E's programs import."""


_TEST = """public class Main { public static void main(String[] a) {
  if (new Solution().twice(2) != 4) throw new AssertionError();
}
}
"""


def java() -> Language:
    """Return the language."""
    return Language(
        name="java",
        title="Java",
        source="Main.java",
        commands=("javac", "java"),
        version=("-version",),
        package="default-jdk-headless",
        build=(
            "{javac}",
            *(f"-J{flag}" for flag in _QUICK),
            "-proc:none",
            "-implicit:none",
            "-nowarn",
            "-encoding",
            "UTF-8",
            "-cp",
            f".:{_TUPLES}",
            "-d",
            ".",
            "Main.java",
        ),
        run=("{java}", *_QUICK, "-ea", "-cp", "{build}:" + _TUPLES, "{main}"),
        drop=("Main.java",),
        folders=("/usr/share/java",),
        ending=Ending(
            text=(
                "{ byte[] markbookSaid = new byte[32]; try { System.in.read(markbookSaid); }"
                " catch (java.io.IOException markbookError) { throw new RuntimeException(markbookError); }\n"
                '  if (new String(markbookSaid).equals("{nonce}")) { {claim} }\n'
                '  System.out.println("\\n{token}"); }'
            ),
            claim='throw new AssertionError("claim");',
            claims=(("assert", "assert 1 == 2;"),),
            where="inner body",
        ),
        failures=Failures(tests=r"java\.lang\.AssertionError", build=r"\berror:"),
        locate=_locate,
        words=_words,
        libraries=(Library("org.javatuples", _TUPLES, "libjavatuples-java"),),
        processes=256,
        self_test=(
            "class Solution { int twice(int x) { return 2 * x; } }\n",
            "class Solution { int twice(int x) { return x; } }\n",
            _TEST,
        ),
    )


def _locate() -> Places | None:
    compiler = shutil.which("javac")
    if compiler is None:
        return None
    real = os.path.realpath(compiler)
    home = prefix_of(real)
    runner = os.path.join(home, "bin", "java")
    if not os.path.exists(runner):
        return None
    # its settings lie in /etc, where nothing else of that folder is to be seen
    own = [path for path in sorted(glob.glob("/etc/java-*-openjdk")) if os.path.isdir(path)]
    inside = any(home.startswith(f"{folder}/") for folder in SYSTEM)
    libraries = os.path.join(home, "lib")
    return Places(
        {"javac": real, "java": runner},
        tuple(own) if inside else (home, *own),
        {"JAVA_HOME": home, "LD_LIBRARY_PATH": f"{libraries}:{libraries}/jli:{libraries}/server"},
    )


def _words(text: str) -> dict[str, str]:
    """Return the class whose `main` is run: that of the tests."""
    classes = re.findall(r"^\s*(?:public\s+|final\s+|abstract\s+)*class\s+(\w+)", text, re.MULTILINE)
    return {"main": next((name for name in ("Main", "Problem") if name in classes), classes[-1] if classes else "Main")}
