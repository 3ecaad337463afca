"""Shell scripts, by bash."""

from __future__ import annotations

from markbook.languages.claims import Comparison
from markbook.languages.language import Ending, Failures, Language

_CLAIM = "[[ 1 = 2 ]]"
_BEGINS = "\nmarkbook_a_{nonce}=${BASHOPTS##*extdebug*}\nmarkbook_b_{nonce}=${BASHOPTS##*expand_aliases*}\n"
"""Says that the tests begin. Nothing is said where commands may be skipped or words of the language replaced: an assignment
is what no function can stand for."""


def bash() -> Language:
    """Return the language. A test that fails ends the script with 1 and says nothing, or is the last and returns 1."""
    return Language(
        name="bash",
        title="Bash",
        aliases=("sh", "shell"),
        source="main.sh",
        suffixes=("sh",),
        commands=("bash",),
        package="bash",
        run=("{bash}", "{build}/main.sh"),
        ending=Ending(
            text=(
                "case $? in 0) ;; *) POSIXLY_CORRECT=1; \\exit 1 ;; esac\n"
                "markbook_begun=${markbook_a_{nonce}:?}${markbook_b_{nonce}:?}\n"
                "builtin read -r -N 32 markbook_said || builtin true\n"
                'if [[ "$markbook_said" = "{nonce}" ]]; then\n  {claim}\nfi\n'
                "POSIXLY_CORRECT=1\n\\unset -f builtin printf\n\\builtin printf '\\n{token}\\n'"
            ),
            claim=f"{_CLAIM}; builtin test $? = 0 || builtin exit 1",
            claims=(("set -e", _CLAIM),),
            comparisons=(
                Comparison(
                    statement=r"^[ \t]*\[\[ (?P<inner>\$\(\w+(?: \"[^\"$`\\\n]*\")*\) = \"[^\"$`\\\n]*\") \]\][ \t]*$",
                    separator=" = ",
                    claim=_CLAIM,
                    end=r"[\s\S]*",
                    is_constant=True,
                ),
            ),
            status=(r"(?:(?m:^)|(?<=;))[ \t]*exit[ \t]+(?P<value>[^\s;&|]+)[ \t]*;?\s*\Z", "\n[[ {value} -eq 0 ]]\n"),
            guards=(("", _BEGINS),),
        ),
        failures=Failures(tests=r"\A\Z", names=r"command not found", syntax=r"syntax error"),
        self_test=(
            "twice() { echo $(( 2 * $1 )); }\n",
            "twice() { echo $1; }\n",
            "set -e\n[[ $(twice 2) = 4 ]]\n",
        ),
    )
