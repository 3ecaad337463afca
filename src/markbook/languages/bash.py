"""Shell scripts, by bash."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language


def bash() -> Language:
    """Return the language. A test that fails ends the script with 1 and says nothing."""
    return Language(
        name="bash",
        title="Bash",
        aliases=("sh", "shell"),
        source="main.sh",
        commands=("bash",),
        package="bash",
        run=("{bash}", "{build}/main.sh"),
        ending=Ending(
            text=(
                "builtin read -r -N 32 markbook_said || builtin true\n"
                'if [[ "$markbook_said" = "{nonce}" ]]; then\n  {claim}\nfi\n'
                "builtin printf '\\n{token}\\n'"
            ),
            claim="[[ 1 = 2 ]]; builtin test $? = 0 || builtin exit 1",
            claims=(("set -e", "[[ 1 = 2 ]]"),),
        ),
        failures=Failures(tests=r"\A\Z", names=r"command not found", syntax=r"syntax error"),
        self_test=(
            "twice() { echo $(( 2 * $1 )); }\n",
            "twice() { echo $1; }\n",
            "set -e\n[[ $(twice 2) = 4 ]]\n",
        ),
    )
