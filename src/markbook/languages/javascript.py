"""JavaScript, by node."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language

_CONSOLE = (
    "console.assert = (holds, ...words) => {\n"
    "  if (!holds) { throw new Error(['Assertion failed', ...words].join(' ')) }\n}\n"
)
"""What a false `console.assert` is to mean: by itself it only prints, and an answer could have replaced it."""
ENDING = Ending(
    text=(
        "{ const said = require('fs').readFileSync(0, 'utf8'); let held = '!';\n"
        "  try { {claim} } catch { held = ''; }\n"
        "  process.stdout.write('\\n{token}' + held + said + '\\n'); }"
    ),
    claim="throw new Error('claim');",
    claims=(
        ("assert.deepEqual", "assert.deepEqual([1, 2], [1, 3]);"),
        ("console.assert", "console.assert(1 === 2);"),
        ("assert", "assert(1 === 2);"),
    ),
    catches=True,
    guards=(("console.assert", _CONSOLE),),
)
FAILURES = Failures(
    tests=r"AssertionError|Assertion failed",
    names=r"^(?:Uncaught )?ReferenceError",
    syntax=r"^SyntaxError",
)
QUIET = {"OPENSSL_CONF": "/dev/null", "NODE_OPTIONS": ""}
"""Settings of the machine that no program needs are not there to be read."""
QUICK = ("--max-old-space-size=1024", "--no-warnings")


def javascript() -> Language:
    """Return the language."""
    return Language(
        name="javascript",
        title="JavaScript",
        aliases=("js", "node", "mjs", "cjs"),
        source="main.js",
        commands=("node",),
        package="nodejs",
        run=("{node}", *QUICK, "{build}/main.js"),
        environment=QUIET,
        ending=ENDING,
        failures=FAILURES,
        processes=128,
        self_test=(
            "const twice = x => 2 * x;\n",
            "const twice = x => x;\n",
            "const assert = require('node:assert');\nassert.deepEqual(twice(2), 4);\n",
        ),
    )
