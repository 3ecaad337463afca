"""TypeScript, by tsc and node."""

from __future__ import annotations

from markbook.languages.definitions.javascript import ENDING, FAILURES, QUICK, QUIET
from markbook.languages.language import Batch, Language

_TRANSLATE = """
const fs = require('fs'), path = require('path');
const ts = require(path.resolve(process.argv[1], '../../lib/typescript.js'));
const compilerOptions = { target: ts.ScriptTarget.ES2020, module: ts.ModuleKind.CommonJS };
const translated = text => ts.transpileModule(text, { compilerOptions }).outputText;
"""
"""Types decide nothing about what is made of a program, so none are looked up."""
_ONE = _TRANSLATE + "fs.writeFileSync('main.js', translated(fs.readFileSync('main.ts', 'utf8')));"
_MANY = (
    _TRANSLATE
    + """
const given = fs.readFileSync(0);
const put = data => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(data.length);
  fs.writeSync(1, Buffer.concat([length, data]));
};
for (let at = 0; at < given.length;) {
  const length = given.readInt32BE(at);
  const text = given.toString('utf8', at + 4, at + 4 + length);
  at += 4 + length;
  try {
    const made = Buffer.from(translated(text));
    fs.writeSync(1, Buffer.from([70, 0, 0, 0, 1]));
    put(Buffer.from('main.js'));
    put(made);
  } catch (error) {  // such as one whose brackets are deeper than the compiler can follow
    fs.writeSync(1, Buffer.from('E'));
    put(Buffer.from(`error: ${error}`));
  }
}
"""
)


def typescript() -> Language:
    """Return the language. As its benchmarks do, a program runs whatever its types say, if anything was made of it."""
    return Language(
        name="typescript",
        title="TypeScript",
        aliases=("ts",),
        source="main.ts",
        suffixes=("ts",),
        commands=("tsc", "node"),
        package="node-typescript nodejs",
        build=("{node}", "-e", _ONE, "{tsc}"),
        batch=Batch(files={}, command=("{node}", "-e", _MANY, "{tsc}")),
        run=("{node}", *QUICK, "{build}/main.js"),
        drop=("main.ts",),
        folders=("/usr/share/nodejs",),
        environment=QUIET,
        prelude="declare var require: any;\ndeclare var process: any;\n",
        ending=ENDING,
        failures=FAILURES,
        runtime_bytes=512 << 20,
        processes=128,
        self_test=(
            "function twice(x: number): number { return 2 * x; }\n",
            "function twice(x: number): number { return x; }\n",
            "const assert = require('node:assert');\nassert.deepEqual(twice(2), 4);\n",
        ),
    )
