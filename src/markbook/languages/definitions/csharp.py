"""C#, by Mono's compiler and runtime."""

from __future__ import annotations

from markbook.languages.claims import Comparison
from markbook.languages.language import Ending, Failures, Language

_TEST = """class Program { public static void Main(string[] args) {
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
        aliases=("cs", "c#"),
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
            comparisons=(Comparison(_STATEMENT, "==", _CLAIM, r"\s*\}\s*\}\s*"),),
            where="inner body",
        ),
        failures=Failures(tests=r"^Fail:|Assert", build=r"error CS", quiet=r"^Fail:|^---- DEBUG ASSERTION FAILED"),
        processes=256,
        self_test=(
            "class Solution { public int Twice(int x) { return 2 * x; } }\n",
            "class Solution { public int Twice(int x) { return x; } }\n",
            _TEST,
        ),
    )
