"""Perl."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language, Library


def perl() -> Language:
    """Return the language. A test of its benchmarks that fails exits with 1 and says nothing of it."""
    return Language(
        name="perl",
        title="Perl",
        aliases=("pl",),
        source="main.pl",
        commands=("perl",),
        package="perl",
        run=("{perl}", "{build}/main.pl"),
        folders=("/usr/share/perl", "/usr/share/perl5", "/etc/perl"),
        ending=Ending(
            text=(
                "{ my $markbook_said = ''; CORE::read(STDIN, $markbook_said, 32); my $markbook_held = '{nonce}';\n"
                "  eval { {claim} 1 } or $markbook_held = '{token}';\n"
                '  CORE::print("\\n$markbook_held$markbook_said\\n"); }'
            ),
            claim='die "claim";',
            claims=(("eq_deeply", 'eq_deeply([1], [2]) or die "claim";'),),
            catches=True,
        ),
        failures=Failures(
            tests=r"\A(?:ok!)*\Z", names=r"Undefined subroutine", syntax=r"syntax error|Execution of .* aborted"
        ),
        libraries=(Library("Test::Deep", "/usr/share/perl5/Test/Deep.pm", "libtest-deep-perl"),),
        self_test=(
            "sub twice { return 2 * $_[0]; }\n",
            "sub twice { return $_[0]; }\n",
            "exit 1 unless twice(2) == 4;\n",
        ),
    )
