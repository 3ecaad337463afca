"""TypeScript, by tsc and node."""

from __future__ import annotations

from markbook.languages.javascript import ENDING, FAILURES, QUICK, QUIET
from markbook.languages.language import Failures, Language


def typescript() -> Language:
    """Return the language. As its benchmarks do, a program runs whatever its types say, if anything was made of it."""
    return Language(
        name="typescript",
        title="TypeScript",
        aliases=("ts",),
        source="main.ts",
        commands=("tsc", "node"),
        package="node-typescript nodejs",
        build=(
            "/bin/sh",
            "-c",
            "{node} {tsc} --target es2020 --module commonjs --lib es2020,dom --types '' main.ts; test -f main.js",
        ),
        run=("{node}", *QUICK, "{build}/main.js"),
        drop=("main.ts",),
        folders=("/usr/share/nodejs",),
        environment=QUIET,
        prelude="declare var require: any;\ndeclare var process: any;\n",
        ending=ENDING,
        failures=Failures(tests=FAILURES.tests, quiet=FAILURES.quiet, build=r"error TS\d+"),
        processes=128,
        self_test=(
            "function twice(x: number): number { return 2 * x; }\n",
            "function twice(x: number): number { return x; }\n",
            "const assert = require('node:assert');\nassert.deepEqual(twice(2), 4);\n",
        ),
    )
