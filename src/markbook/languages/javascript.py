"""JavaScript, by node."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language

ENDING = Ending(
    text=(
        "{ const said = require('fs').readFileSync(0, 'utf8');\n"
        "  if (said === '{nonce}') { {claim} }\n"
        "  process.stdout.write('\\n{token}\\n'); }"
    ),
    claim="throw new Error('claim');",
    claims=(
        ("assert.deepEqual", "assert.deepEqual([1, 2], [1, 3]);"),
        ("console.assert", "console.assert(1 === 2);"),
        ("assert", "assert(1 === 2);"),
    ),
)
FAILURES = Failures(
    tests=r"AssertionError|Assertion failed",
    names=r"^(?:Uncaught )?ReferenceError",
    syntax=r"^SyntaxError",
    quiet=r"^Assertion failed",
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
