"""Julia."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language


def julia() -> Language:
    """Return the language."""
    return Language(
        name="julia",
        title="Julia",
        aliases=("jl",),
        source="main.jl",
        commands=("julia",),
        package="julia",
        run=("{julia}", "--startup-file=no", "--history-file=no", "{build}/main.jl"),
        folders=("/usr/share/julia", "/etc/julia"),
        ending=Ending(
            text=(
                'markbook_said = read(stdin, String); markbook_held = "{nonce}"\n'
                'try\n  {claim}\ncatch\n  global markbook_held = "{token}"\nend\n'
                'println("\\n", markbook_held, markbook_said)'
            ),
            claim='error("claim")',
            claims=(("@test", "@test(1 == 2)"),),
            catches=True,
        ),
        failures=Failures(
            tests=r"Test Failed|did not pass|AssertionError", names=r"UndefVarError", syntax=r"syntax: |ParseError"
        ),
        processes=128,
        self_test=(
            "twice(x) = 2x\n",
            "twice(x) = x\n",
            "using Test\n@testset begin\n  @test(twice(2) == 4)\nend\n",
        ),
    )
