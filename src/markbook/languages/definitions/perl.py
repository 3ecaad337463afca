"""Perl."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language, Library

_EACH = "no strict 'refs'; no warnings; my $at = __PACKAGE__ . '::'; for (CORE::keys %{'{table}'})"
_HERE = _EACH.replace("'{table}'", "$at") + " { next unless defined &{$at . $_}; my $code = \\&{$at . $_};"
_BEGINS = (
    "\n;my $markbook_begun_{nonce} = 1;\n"
    "BEGIN { delete @CORE::GLOBAL::{'exit', 'die'}; no strict 'refs'; delete @{__PACKAGE__ . '::'}{'exit', 'die'}; }\n"
    "BEGIN { " + _HERE + " ${'markbook_{nonce}::was'}{$_} = $code; } }\n"
    "{ " + _EACH.replace("{table}", "markbook_{nonce}::own") + " { *{$at . $_} = ${'markbook_{nonce}::own'}{$_}; } }\n"
)
"""Says that the tests begin: they end a program by what Perl calls `exit` and `die`, and what they define is theirs again
before they run. The first sign ends what an answer left open."""
_ENDS = (
    "BEGIN { " + _HERE + " ${'markbook_{nonce}::own'}{$_} = $code"
    " unless $code == (${'markbook_{nonce}::was'}{$_} || 0); } }\n"
)
"""Keeps what the tests define, while nothing but the compiler has run."""


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
                _ENDS
                + "{ my $markbook_said = ''; CORE::read(STDIN, $markbook_said, 32); my $markbook_held = '{nonce}';\n"
                "  eval { {claim} 1 } or $markbook_held = $markbook_begun_{nonce} ? '{token}' : '{nonce}';\n"
                '  CORE::print("\\n$markbook_held$markbook_said\\n"); }'
            ),
            claim='die "claim";',
            claims=(("eq_deeply", 'eq_deeply([1], [2]) or die "claim";'),),
            catches=True,
            status=(
                r"(?:(?m:^)|(?<=;))[ \t]*exit\b(?![^;\n]*\b(?:if|unless)\b)[ \t]*(?P<value>[^;{}\n]+?)[ \t]*;?\s*\Z",
                "\nCORE::exit(1) if ({value});\n",
            ),
            guards=(("", _BEGINS),),
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
