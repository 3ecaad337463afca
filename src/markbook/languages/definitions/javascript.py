"""JavaScript, by node."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language

_KEEPS = """;const markbook_{nonce} = (() => {
  const whole = (() => { }).constructor('return globalThis')(), own = whole.process.mainModule;
  const load = name => own.require(name), JSON = whole.JSON, described = whole.Object.getOwnPropertyDescriptor;
  const assert = load('assert'), loader = load('module'), said = load('fs').readFileSync;
  const write = whole.process.stdout.write.bind(whole.process.stdout), were = [];
  const value = (at, name) => { const one = described(at, name); return one && (one.get || one.value); };
  const keep = (at, name) => { were[were.length] = [at, name, value(at, name)]; };
  keep(whole, 'JSON'); keep(JSON, 'stringify'); keep(loader, '_load'); keep(loader.prototype, 'require');
  for (const at of [assert, assert.strict]) for (const name of whole.Object.getOwnPropertyNames(at)) keep(at, name);
  for (const kind of ['Object', 'Array', 'String', 'Number', 'Boolean', 'Map', 'Set', 'Function'])
    keep(whole[kind].prototype, 'toJSON');
  const holds = (held, words) => { if (!held) { throw new Error(`Assertion failed ${words || ''}`); } };
  const same = (json, tests) => {
    if (json !== JSON || (tests && tests !== assert && tests !== assert.strict)) return false;
    for (let at = 0; at < were.length; at++) if (value(were[at][0], were[at][1]) !== were[at][2]) return false;
    return true;
  };
  return { said, write, holds, same };
})(); """
_BEFORE = " ".join(line.strip() for line in _KEEPS.splitlines())
"""Keeps what tests assert by, and what we read and write by, as it is before the answer runs."""
_CONSOLE = "console.assert = markbook_{nonce}.holds;\n"
"""What a false `console.assert` is to mean: by itself it only prints, and an answer could have replaced it."""
ENDING = Ending(
    before=_BEFORE,
    text=(
        "{ const kept = markbook_{nonce}, said = kept.said(0, 'utf8'); let held = '{nonce}';\n"
        "  try { {claim} } catch {\n"
        "    if (kept.same(JSON, typeof assert === 'undefined' ? null : assert)) held = '{token}';\n"
        "  }\n"
        "  kept.write('\\n' + held + said + '\\n'); }"
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
