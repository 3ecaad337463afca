"""Languages that run on a virtual machine: Java, Scala, C#."""

from __future__ import annotations

import glob
import os
import re
import shutil

from markbook.languages.language import (
    Alone,
    Batch,
    Ending,
    EqualityForm,
    Failures,
    Language,
    Library,
    Places,
    read_source,
)
from markbook.languages.toolchain import SYSTEM, installed_prefix

# Java, by javac and java of one JDK.

_QUICK = ("-Xmx1024m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")
_TUPLES = "/usr/share/java/javatuples.jar"
"""Debian's libjavatuples-java: what MultiPL-E's programs import."""

_BUILD = (
    "{javac}", *(f"-J{flag}" for flag in _QUICK), "-proc:none", "-implicit:none", "-nowarn", "-encoding", "UTF-8",
    "-cp", f".:{_TUPLES}", "-d", ".", "Main.java",
)  # fmt: skip
_BUILD_ALONE = (*_BUILD[:-1], "{sources}")
_LIST = "List<Boolean> markbookList = Arrays.asList(true, false);"
_ENDING = Ending(
    # It names no class, for an answer may have one of that name, and no stream that it may have put into the place of another.
    text=read_source("end.java").rstrip(),
    claim='if (true) throw new AssertionError("claim");',
    claims=(
        ("correct.contains(false)", f"{_LIST} if (markbookList.contains(false)) throw new AssertionError();"),
        ("assert", "assert 1 == 2;"),
    ),
    where="inner body",
    catches=True,
)
_CLASS = re.compile(r"^\s*(?:public\s+|final\s+|abstract\s+|static\s+)*class\s+(\w+)", re.MULTILINE)
_TYPE = re.compile(r"^\s*(public\s+)?(?:final\s+|abstract\s+|strictfp\s+)*(?:class|enum|record)\s+(\w+)", re.MULTILINE)
_APART = re.compile(r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*[\s\S]*?\*/')
"""Texts and comments."""
_KNOWN = {
    "java.util": "ArrayList Arrays Collections HashMap HashSet LinkedList List Map Objects Optional Set",
    "java.lang": "AssertionError Boolean Character Double Float Integer Long Math Object String",
}
"""What tests compare by: an answer's class of that name is another."""
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
        suffixes=("java",),
        alone=Alone(build=_BUILD_ALONE, name=_name, words=lambda text, names: {"main": _main(text, names[0])}),
        commands=("javac", "java"),
        version=("-version",),
        package="default-jdk-headless",
        build=_BUILD,
        batch=Batch(
            # It compiles each of the texts that it is given, and keeps nothing of one for the next.
            files={"Compile.java": read_source("Compile.java")},
            command=("{java}", *_QUICK, "{build}/Compile.java", _TUPLES),
        ),
        run=("{java}", *_QUICK, "-ea", "-cp", "{build}:" + _TUPLES, "{main}"),
        drop=("Main.java",),
        folders=("/usr/share/java",),
        ending=_ENDING,
        failures=Failures(tests=r"java\.lang\.AssertionError", build=r"\berror:"),
        locate=_locate,
        words=_words,
        own=_list_test_classes,
        libraries=(Library("org.javatuples", _TUPLES, "libjavatuples-java"),),
        runtime_bytes=512 << 20,
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
    home = installed_prefix(real)
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
    """Return the class whose `main` is run, where the tests stand in one of the answer's."""
    classes = _CLASS.findall(text)
    return {"main": next((name for name in ("Problem", "Main") if name in classes), classes[-1] if classes else "Main")}


def _name(text: str) -> str:
    """Return what a file of a whole program has to be called: by its public class, if it has one."""
    return f"{next((name for is_public, name in _TYPE.findall(text) if is_public), 'Main')}.java"


def _main(text: str, source: str) -> str:
    """Return the class that is started: that of the file's name if it has a `main`, else the one before `main`."""
    before = text.partition("static void main")[0]
    classes = [name for _, name in _TYPE.findall(before)]
    stem = source.removesuffix(".java")
    return stem if stem in classes or not classes else classes[-1]


def _list_test_classes(tests: str) -> dict[str, str]:
    """Return the class of the tests whose `main` is run, and that what they name is the language's own."""
    code = _APART.sub('""', tests)
    classes = _CLASS.findall(code.partition("static void main")[0])
    names = {*re.findall(r"(?<![\w.])[A-Z]\w*", code)} - {*_CLASS.findall(code)}
    same = [
        f' && {name}.class == "".getClass().forName("{package}.{name}")'
        for package, package_names in _KNOWN.items()
        for name in package_names.split()
        if name in names
    ]
    return {"same": "".join(same), **({"main": classes[-1]} if classes else {})}


# Scala, by scalac and scala on a JVM.

_SCALA_TEST = "object Problem { def main(args: Array[String]) = { assert(new Solution().twice(2) == 4)\n}\n}\n"


def scala() -> Language:
    """Return the language."""
    return Language(
        name="scala",
        title="Scala",
        source="Main.scala",
        commands=("scala", "scalac"),
        version=("-version",),
        package="scala",
        build=("{scalac}", "-nowarn", "-d", ".", "Main.scala"),
        run=("{scala}", "-nc", "-classpath", "{build}", "Problem"),
        drop=("Main.scala",),
        folders=(
            "/usr/share/java",
            "/usr/share/scala-2.11",
            "/usr/share/maven-repo",
            "/etc/java-17-openjdk",
            "/etc/java",
        ),
        ending=Ending(
            text=(
                '{ val said = new Array[Byte](32); System.in.read(said); var held = "{nonce}"\n'
                '  try { {claim} } catch { case _: Throwable => held = "{token}" }\n'
                '  println("\\n" + held + new String(said)) }'
            ),
            claim="assert(1 == 2)",
            where="inner body",
            catches=True,
        ),
        failures=Failures(tests=r"assertion failed", build=r"\berror:"),
        libraries=(Library("org.scalatest", "/usr/share/java/scalatest*.jar", "scalatest"),),
        processes=256,
        self_test=(
            "class Solution { def twice(x: Int): Int = 2 * x }\n",
            "class Solution { def twice(x: Int): Int = x }\n",
            _SCALA_TEST,
        ),
    )


# C#, by Mono's compiler and runtime.

_CSHARP_TEST = """class Program { public static void Main(string[] args) {
  System.Diagnostics.Debug.Assert(new Solution().Twice(2) == 4);
}
}
"""
_CLAIM = "System.Diagnostics.Debug.Assert(1 == 2);"
_STATEMENT = r"^[ \t]*(?:System\.Diagnostics\.)?Debug\.Assert\((?P<inner>.*)\);[ \t]*$"


def csharp() -> Language:
    """Return the language. A `Debug.Assert` that fails is told by what it prints: the program goes on."""
    return Language(
        name="csharp",
        title="C#",
        aliases=("cs", "c#", "c_sharp"),
        source="main.cs",
        commands=("mono", "mcs"),
        package="mono-mcs mono-runtime libmono-system-core4.0-cil libmono-system-numerics4.0-cil",
        build=(
            "{mono}",
            "/usr/lib/mono/4.5/mcs.exe",
            "-nologo",
            "-d:DEBUG",
            "-r:System.Numerics.dll",
            "-out:main.exe",
            "main.cs",
        ),
        run=("{mono}", "{build}/main.exe"),
        drop=("main.cs",),
        folders=("/etc/mono",),
        environment={"MONO_TRACE_LISTENER": "Console.Error"},
        ending=Ending(
            text=(
                "{ var markbookSaid = new char[32]; System.Console.In.Read(markbookSaid, 0, 32);\n"
                '  if (new string(markbookSaid) == "{nonce}") { {claim} }\n'
                '  System.Console.WriteLine("\\n{token}"); }'
            ),
            claim='throw new System.Exception("claim");',
            claims=(("Debug.Assert", _CLAIM),),
            comparisons=(EqualityForm(_STATEMENT, "==", _CLAIM, r"\s*\}\s*\}\s*"),),
            where="inner body",
        ),
        failures=Failures(tests=r"^Fail:|Assert", build=r"error CS", quiet=r"^Fail:|^---- DEBUG ASSERTION FAILED"),
        processes=256,
        self_test=(
            "class Solution { public int Twice(int x) { return 2 * x; } }\n",
            "class Solution { public int Twice(int x) { return x; } }\n",
            _CSHARP_TEST,
        ),
    )
