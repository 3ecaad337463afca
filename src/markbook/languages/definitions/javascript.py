"""JavaScript, by node."""

from __future__ import annotations

from markbook.languages.language import Ending, Failures, Language

_KEEPS = """;const markbook_{nonce} = (() => {
  const whole = (() => { }).constructor('return globalThis')(), own = whole.process.mainModule;
  const loader = own.require('module'), load = loader.createRequire(own.filename), assert = load('assert');
  const { Object, JSON: { stringify: text }, console: shown } = whole, said = load('fs').readFileSync;
  const write = whole.process.stdout.write.bind(whole.process.stdout), were = [];
  let begun = false, spoilt = false;
  const value = (at, name) => { const one = described(at, name); return one && (one.get || one.value); };
  const described = Object.getOwnPropertyDescriptor, put = Object.setPrototypeOf, JSON = put({ stringify }, whole.JSON);
  const keep = (at, name) => { were[were.length] = [at, name, value(at, name)]; };
  keep(whole, 'JSON'); keep(whole.JSON, 'stringify'); keep(loader, '_load'); keep(loader.prototype, 'require');
  for (const kind of ['Object', 'Array', 'String', 'Number', 'Boolean', 'Map', 'Set', 'Function'])
    keep(whole[kind].prototype, 'toJSON');
  Object.freeze(assert); Object.freeze(assert.strict);
  const intact = () => {
    for (let at = 0; at < were.length; at++) if (value(were[at][0], were[at][1]) !== were[at][2]) spoilt = true;
    return !spoilt;
  };
  function stringify(...given) { intact(); try { return text(...given); } finally { intact(); } }
  const holds = (held, words) => { if (!held) { throw new Error(`Assertion failed ${words || ''}`); } };
  const console = new whole.Proxy({}, {
    get: (_, name) => name === 'assert' ? holds : shown[name], set: (_, name, to) => { shown[name] = to; return true; }
  });
  const modules = put({ assert, 'node:assert': assert, 'assert/strict': assert.strict, 'node:assert/strict': assert.strict }, null);
  const require = put(name => modules[name] || load(name), load);
  const same = tests => intact() && begun && (!tests || tests === assert || tests === assert.strict);
  return { said, write, same, begin: () => { begun = true; return { console, JSON, require }; } };
})(); """
_BEFORE = " ".join(line.strip() for line in _KEEPS.splitlines())
"""Keeps what tests assert by, and what we read and write by, as it is before the answer runs."""
_BEGINS = "\n;(({ console, JSON, require }) => { (() => {\n"
"""The tests' own scope: what they declare there has no name that an answer could assign to, and what they assert by was bound
before the answer ran. The first sign ends what an answer left open."""
ENDING = Ending(
    before=_BEFORE,
    text=(
        "{ const kept = markbook_{nonce}, said = kept.said(0, 'utf8'); let held = '{nonce}';\n"
        "  try { {claim} } catch {\n"
        "    if (kept.same(typeof assert === 'undefined' ? null : assert)) held = '{token}';\n"
        "  }\n"
        "  kept.write('\\n' + held + said + '\\n'); }\n"
        "})(); })(markbook_{nonce}.begin());"
    ),
    claim="throw new Error('claim');",
    claims=(
        ("assert.deepEqual", "assert.deepEqual([1, 2], [1, 3]);"),
        ("console.assert", "console.assert(1 === 2);"),
        ("assert", "assert(1 === 2);"),
    ),
    closes=r"\s*\}?(?:\s*import\b[^'\"]*(['\"])[^'\"\n]*\1[^\n]*\n)*",
    catches=True,
    guards=(("", _BEGINS),),
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
        aliases=("js", "node", "nodejs", "mjs", "cjs"),
        source="main.js",
        suffixes=("js",),
        commands=("node",),
        package="nodejs",
        run=("{node}", *QUICK, "{build}/main.js"),
        environment=QUIET,
        ending=ENDING,
        failures=FAILURES,
        runtime_bytes=512 << 20,
        processes=128,
        self_test=(
            "const twice = x => 2 * x;\n",
            "const twice = x => x;\n",
            "const assert = require('node:assert');\nassert.deepEqual(twice(2), 4);\n",
        ),
    )
