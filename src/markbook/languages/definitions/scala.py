"""Scala, by scalac and scala on a JVM."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language, Library

_TEST = "object Problem { def main(args: Array[String]) = { assert(new Solution().twice(2) == 4)\n}\n}\n"


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
            _TEST,
        ),
    )
