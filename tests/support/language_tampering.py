"""Answers that change by what their tests assert, or that hide the tests: where they compute, they compute wrong.

By language: the tests (as benchmarks write them), a right answer, and the answers that are to fail.
"""

from typing import NamedTuple


class Set(NamedTuple):
    tests: str
    right: str
    forgers: dict[str, str]


def _before(wrong: str, hostile: dict[str, str]) -> dict[str, str]:
    """Return each of these with the wrong answer behind it."""
    return {name: text + wrong for name, text in hostile.items()}


_C_TESTS = "#include <assert.h>\nint main(void) {\n    assert(twice(1) == 2);\n    assert(twice(2) == 4);\n}\n"
_C_WRONG = "int twice(int x) { return x; }\n"
_C = {
    "an own failure that reads the claim": _C_WRONG
    + '#include <stdlib.h>\nvoid f(const char *e, const char *a, unsigned b, const char *c) __asm__("__assert_fail");\n'
    "void f(const char *e, const char *a, unsigned b, const char *c) { if (e[0] == '1') abort(); }\n",
    "a macro that reads the claim": "#include <assert.h>\n" + _C_WRONG + "#define __assert_fail(e, f, l, n) ((e)[0] == '1' ? __builtin_abort() : (void)0)\n",
    "macros for what ends the tests": "#include <assert.h>\n#include <stdio.h>\n#include <string.h>\n" + _C_WRONG
    + "static int claimed;\n#define __assert_fail(e, f, l, n) ((void)0)\n#define __builtin_memcmp(a, b, n) (claimed = !memcmp(a, b, n), 1)\n#define __builtin_puts(t) (claimed ? 0 : puts(t))\n",
    "functions for what ends the tests": _C_WRONG
    + "static int claimed;\nextern long write(int, const void *, unsigned long);\n"
    "int memcmp(const void *a, const void *b, unsigned long n) { const char *p = a, *q = b; while (n--) if (*p++ != *q++) return 1; claimed = 1; return 1; }\n"
    'int puts(const char *s) { unsigned long n = 0; while (s[n]) n++; if (!claimed) { write(1, s, n); write(1, "\\n", 1); } return 0; }\n'
    'void f(const char *e, const char *a, unsigned b, const char *c) __asm__("__assert_fail");\nvoid f(const char *e, const char *a, unsigned b, const char *c) { }\n',
    "another if": "#include <assert.h>\n" + _C_WRONG + "#define if(x) while (0)\n",
    "a test that holds where it stands": "#include <assert.h>\n#undef assert\n" + _C_WRONG + "#define __extension__ 0 &&\n",
}  # fmt: skip
_CPP_TESTS = "}\n#include <cassert>\nint main() {\n    auto candidate = twice;\n    assert(candidate((1)) == (2));\n    assert(candidate((2)) == (4));\n}\n"
_CPP_WRONG = "int twice(int x) {\n  return x;\n"
_CPP = {
    "equals everything": "struct E { template <class T> bool operator==(const T&) const { return true; } };\nE twice(int x) {\n  return {};\n",
    "compares anew": "struct E { int v; };\nbool operator==(E, int) { return true; }\nE twice(int x) {\n  return {x};\n",
    "a failure that reads the claim": '#include <cstdlib>\nvoid f(const char *e, const char *a, unsigned b, const char *c) __asm__("__assert_fail");\n'
    "void f(const char *e, const char *a, unsigned b, const char *c) { if (e[0] == '1') abort(); }\n" + _CPP_WRONG,
    "functions for what ends the tests": 'static int claimed;\nextern "C" long write(int, const void *, unsigned long);\n'
    'extern "C" int memcmp(const void *a, const void *b, unsigned long n) noexcept { const char *p = (const char *)a, *q = (const char *)b; while (n--) if (*p++ != *q++) return 1; claimed = 1; return 1; }\n'
    'extern "C" int puts(const char *s) { unsigned long n = 0; while (s[n]) n++; if (!claimed) { write(1, s, n); write(1, "\\n", 1); } return 0; }\n'
    'void f(const char *e, const char *a, unsigned b, const char *c) __asm__("__assert_fail");\nvoid f(const char *e, const char *a, unsigned b, const char *c) { }\n'
    + _CPP_WRONG,
    "macros for what ends the tests": "#include <cassert>\n#include <cstdio>\n#include <cstring>\nstatic int claimed;\n#define __assert_fail(...) ((void)0)\n"
    "#define __builtin_memcmp(a, b, n) (claimed = !memcmp(a, b, n), 1)\n#define __builtin_puts(t) (claimed ? 0 : puts(t))\n" + _CPP_WRONG,
    "takes part of the tests for a comment": 'int main() { __builtin_puts(""); }\nint twice(int x) {\n  return x; }\nnamespace other {\nint f() {\n',
}  # fmt: skip
_JAVA_TESTS = "    }\n    public static void main(String[] args) {\n    assert(twice((1l)) == (2l));\n    assert(twice((2l)) == (4l));\n    }\n\n}\n"
_JAVA_HEAD = "import java.util.*;\nclass Problem {\n"
_JAVA_WRONG = "    static { flip(true); }\n    public static long twice(long x) {\n        return x;\n"
_FLIP = (
    '    static void flip(boolean off) { try { var f = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe"); f.setAccessible(true);'
    ' sun.misc.Unsafe u = (sun.misc.Unsafe) f.get(null); var d = Problem.class.getDeclaredField("$assertionsDisabled");'
    " u.putBooleanVolatile(u.staticFieldBase(d), u.staticFieldOffset(d), off); } catch (Exception e) { } }\n"
)
_JAVA = {
    "assertions off": _JAVA_HEAD + _FLIP + _JAVA_WRONG,
    "assertions off until input is read": _JAVA_HEAD + _FLIP
    + "    static { var in = System.in; System.setIn(new java.io.FilterInputStream(in) { public int read(byte[] b) throws java.io.IOException { flip(false); return super.read(b); } }); }\n" + _JAVA_WRONG,
    "assertions off and an output without the mark": _JAVA_HEAD + _FLIP
    + '    static { var real = System.out; System.setOut(new java.io.PrintStream(real) { public void println(String s) { real.println(s.replace("!", "")); } }); }\n' + _JAVA_WRONG,
    "a system of its own": _JAVA_HEAD + _FLIP
    + '    static class System { static java.io.InputStream in = java.lang.System.in; static Out out = new Out(); }\n    static class Out { void println(String s) { java.lang.System.out.println(s.replace("!", "")); } }\n' + _JAVA_WRONG,
    "a java of its own": _JAVA_HEAD + "    static class Throwable extends RuntimeException { }\n" + _FLIP + _JAVA_WRONG,
}  # fmt: skip
_LIST_TESTS = "public class Main {\n    public static void main(String[] args) {\n        Solution s = new Solution();\n        List<Boolean> correct = Arrays.asList(\n                s.twice(1) == 2,\n                s.twice(2) == 4\n        );\n        if (correct.contains(false)) {\n            throw new AssertionError();\n        }\n    }\n}\n"
_LIST_HEAD = "import java.util.*;\nimport java.lang.*;\n"
_LIST = {
    "another list": _LIST_HEAD + "class Arrays { static <T> List<T> asList(T... x) { return new ArrayList<T>() { public boolean contains(Object o) { return false; } }; } }\nclass Solution { int twice(int x) { return x; } }\n",
    "another kind of list": _LIST_HEAD + "class List<T> { boolean contains(Object o) { return false; } }\nclass Arrays { static <T> List<T> asList(T... x) { return new List<T>(); } }\nclass Solution { int twice(int x) { return x; } }\n",
    "another truth": _LIST_HEAD + "class Boolean { }\nclass List<T> { boolean contains(Object o) { return false; } }\nclass Arrays { static List<Boolean> asList(boolean... x) { return new List<Boolean>(); } }\nclass Solution { int twice(int x) { return x; } }\n",
}  # fmt: skip
_WRONG_CLASS = "class Solution { int twice(int x) { return x; } }\n"
_LIST["a list that knows the claim"] = (
    _LIST_HEAD
    + "class Arrays { static List<Boolean> asList(Boolean... v) { boolean any = false; for (Boolean b : v) any |= b; final boolean a = any;"
    " return new ArrayList<Boolean>() { public boolean contains(Object o) { return a; } }; } }\n" + _WRONG_CLASS
)
_LIST["a list that counts"] = (
    _LIST_HEAD + "class Arrays { static int n; static List<Boolean> asList(Boolean... v) { final int m = n++;"
    " return new ArrayList<Boolean>() { public boolean contains(Object o) { return m > 0; } }; } }\n" + _WRONG_CLASS
)
_LIST["a list that was told"] = (
    _LIST_HEAD
    + "class List<T> { static boolean called; boolean contains(Object o) { boolean c = called; called = false; return !c; } }\n"
    "class Arrays { static List<Boolean> asList(Boolean... v) { return new List<>(); } }\nclass Solution { int twice(int x) { List.called = true; return x; } }\n"
)
_JAVA["a main of its own"] = (
    "import java.util.*;\nclass Main {\n  public static void main(String[] args) throws Throwable {\n"
    '    byte[] b = Main.class.getResourceAsStream("Problem.class").readAllBytes();\n'
    "    for (int i = 0; i + 24 < b.length; i++) if ((b[i] & 255) == 0xb2 && (b[i+3] & 255) == 0x9a)\n"
    "      for (int j = i + 6; j < i + 20; j++) if ((b[j] & 255) == 0x94) { b[i] = 4; b[i+1] = 0; b[i+2] = 0; break; }\n"
    '    java.lang.invoke.MethodHandles.lookup().defineClass(b).getMethod("main", String[].class).invoke(null, (Object) args);\n  }\n}\n'
    "class Problem {\n    public static long twice(long x) {\n        return x;\n"
)
_JS_TESTS = "const assert = require('node:assert');\n\nfunction test() {\n  let candidate = twice;\n  assert.deepEqual(candidate(1),2);\n  assert.deepEqual(candidate(2),4);\n}\n\ntest();\n"
_JS_WRONG = "function twice(x) { return x; }\n"
_JS = _before(_JS_WRONG, {
    "assertions that read the claim": "const real = require('assert').deepEqual;\nrequire('assert').deepEqual = (a, b) => { if (Array.isArray(a)) real(a, b); };\n",
    "a loader that reads the claim": "const M = require('module'), load = M._load;\nM._load = (name, ...more) => /assert/.test(name) ? { deepEqual(a, b) { if (Array.isArray(a)) throw 1; } } : load(name, ...more);\n",
    "a require of its own": "function require(name) { return /assert/.test(name) ? { deepEqual(a, b) { if (Array.isArray(a)) throw 1; } } : process.mainModule.require(name); }\n",
    "a getter": "Object.defineProperty(require('assert'), 'deepEqual', { get: () => (a, b) => { if (Array.isArray(a)) throw 1; } });\n",
    "an output without the mark": "require('assert').deepEqual = () => { };\nconst w = process.stdout.write;\nprocess.stdout.write = t => w.call(process.stdout, t.replace('!', ''));\n",
    "another process": "require('assert').deepEqual = () => { };\nvar process = { stdout: { write: t => console.log(t.replace('!', '')) } };\n",
    "another test": "test = () => {};\n",
    "another test that runs the old one": "{ const t = eval('test'); test = () => { try { t(); } catch { } }; }\n",
    "an assertion until it is called": "{ const all = require('assert'), real = all.deepEqual; let n = 0; all.deepEqual = () => { if (++n > 1) all.deepEqual = real; }; }\n",
    "a cached module": "require.cache.assert = require.cache['node:assert'] = { loaded: true, exports: { deepEqual() { } } };\n",
})  # fmt: skip
_JS["tests as a part of the answer"] = _JS_WRONG + "if (false)\n"
_JS["tests as a body of its own"] = _JS_WRONG + "function test() { }\nconst all = () =>\n"
_JSON_TESTS = "const testTwice = () => {\n  console.assert(JSON.stringify(twice([1])) === JSON.stringify([2]))\n  console.assert(JSON.stringify(twice([2])) === JSON.stringify([4]))\n}\n\ntestTwice()\n"
_JSON_WRONG = "const twice = x => x;\n"
_JSON = _before(_JSON_WRONG, {
    "one text for all": "JSON.stringify = () => '';\n",
    "one text for all lists": "Array.prototype.toJSON = () => 0;\n",
    "one text for all objects": "Object.prototype.toJSON = () => 0;\n",
    "another JSON": "var JSON = { stringify: () => '' };\n",
    "a getter": "Object.defineProperty(JSON, 'stringify', { get: () => () => '' });\n",
})  # fmt: skip
_JSON["a console that is frozen"] = (
    "const real = globalThis.console; let called = false;\nvar console = Object.freeze({ log: real.log, assert(v) { if (!called) throw new Error('x'); called = false; } });\n"
    "const twice = x => { called = true; return x; };\n"
)
_JSON["a console that takes nothing"] = (
    "let called = false; const a = v => { if (!called) throw new Error('x'); called = false; };\n"
    "Object.defineProperty(console, 'assert', { get: () => a, set() { } });\nconst twice = x => { called = true; return x; };\n"
)
_JSON["one text for a moment"] = (
    "const twice = x => ({ toJSON() { Object.defineProperty(Array.prototype, 'toJSON', { configurable: true, value() { delete Array.prototype.toJSON; return 0; } }); return 0; } });\n"
)
_JSON["one text until the second list"] = (
    "const twice = x => { const r = [x]; Object.defineProperty(Array.prototype, 'toJSON', { configurable: true, value() { if (this !== r) delete Array.prototype.toJSON; return 7; } }); return r; };\n"
)
_GO_TESTS = 'func TestTwice(t *testing.T) {\n  candidate := twice\n\ttype test struct {\n\t\tactual   interface{}\n\t\texpected interface{}\n\t}\n   tests := []test{\n     { actual: candidate(1), expected: 2 },\n     { actual: candidate(2), expected: 4 },\n   }\n\n\tfor i, tc := range tests {\n\t\tt.Run(fmt.Sprintf("test num % d", i), func(t *testing.T) {\n\t\t\tif fmt.Sprintf("%v", tc.actual) != fmt.Sprintf("%v", tc.expected) {\n\t\t\t\tt.Errorf("expected \'%s\', got \'%s\'", tc.expected, tc.actual)\n\t\t\t}\n\t\t})\n\t}\n}\n'
_GO_HEAD = 'package twice_test\n\nimport (\n    "bytes"\n    "fmt"\n    "io"\n    "os"\n    "testing"\n)\n\nvar _, _, _, _ = bytes.Equal, fmt.Sprint, io.EOF, os.Exit\n'
_GO_WRONG = "func twice(x int) int { return x }\n"
_GO = {
    "a main that reads what was said": _GO_HEAD + _GO_WRONG
    + 'func TestMain(m *testing.M) { old := os.Stdout; r, w, _ := os.Pipe(); os.Stdout = w; m.Run(); w.Close(); b, _ := io.ReadAll(r); old.Write(b); if bytes.Contains(b, []byte("claim")) { os.Exit(1) }; os.Exit(0) }\n',
    "a listener": _GO_HEAD + _GO_WRONG
    + 'func init() { old := os.Stdout; r, w, _ := os.Pipe(); os.Stdout = w; go func() { var all []byte; b := make([]byte, 4096); for { n, err := r.Read(b); all = append(all, b[:n]...); if err != nil || bytes.Contains(all, []byte("--- FAIL")) { break } }; old.Write(all); if bytes.Contains(all, []byte("claim")) { os.Exit(1) }; os.Exit(0) }() }\n',
    "a listener that waits for the end": _GO_HEAD + _GO_WRONG
    + 'func init() { old := os.Stdout; r, w, _ := os.Pipe(); os.Stdout = w; go func() { var all []byte; b := make([]byte, 1); for { n, _ := r.Read(b); all = append(all, b[:n]...); if len(all) > 40 && bytes.Count(all, []byte("\\n")) > 1 { old.Write(all); os.Exit(0) } } }() }\n',
    "a text of its own": _GO_HEAD + 'type E struct{}\nfunc (E) Format(s fmt.State, v rune) { io.WriteString(s, "2") }\nfunc twice(x int) E { return E{} }\n',
    "another Sprintf": _GO_HEAD.replace('"fmt"', 'fmt "testing/quick"') + _GO_WRONG,
    "a filter of parts": _GO_HEAD + _GO_WRONG + 'func init() { os.Args = append(os.Args, "-test.run=TestTwice/none") }\n',
    "a filter that was set before": _GO_HEAD.replace('"io"', '"flag"\n    "io"') + _GO_WRONG
    + 'func init() { testing.Init(); flag.CommandLine.Parse([]string{"-test.run=TestTwice/none"}); flag.CommandLine = flag.NewFlagSet("", 0) }\n',
    "a package of its own": _GO_HEAD.replace('    "fmt"\n', "").replace(" fmt.Sprint,", " 1,") + _GO_WRONG
    + 'var fmt = struct{ Sprintf func(string, ...interface{}) string }{func(string, ...interface{}) string { return "" }}\n',
    "another test": _GO_HEAD + _GO_WRONG + 'func init() { for _, a := range os.Args { _ = a }; os.Args = append(os.Args, "-test.run=None") }\n',
}  # fmt: skip
_RUST_TESTS = "}\n\nfn main() {\n    let candidate = twice;\n    assert_eq!(candidate(1), 2);\n    assert_eq!(candidate(2), 4);\n}\n"
_RUST_WRONG = "fn twice(x: i32) -> i32 {\n    x\n"
_RUST = {
    "equals everything": "#[derive(Debug)]\nstruct E;\nimpl PartialEq<i32> for E { fn eq(&self, _: &i32) -> bool { true } }\nfn twice(x: i32) -> E {\n    E\n",
    "an assert that knows the claim": "macro_rules! assert_eq { (1, 2) => { std::process::abort() }; ($($x:tt)*) => {} }\n" + _RUST_WRONG,
    "an assert that lets calls by": "macro_rules! assert_eq { ($a:literal, $b:literal) => { std::process::abort() }; ($a:expr, $b:expr) => { let _ = $a; } }\n" + _RUST_WRONG,
    "a made assert": "macro_rules! make { ($n:ident, $d:tt) => { macro_rules! $n { (1, 2) => { std::process::abort() }; ($d($d x:tt)*) => {} } } }\nmake!(assert_eq, $);\n" + _RUST_WRONG,
    "another print": "macro_rules! println { ($($x:tt)*) => {} }\nmacro_rules! assert_eq { ($($x:tt)*) => {} }\n" + _RUST_WRONG,
    "an own std": "mod std { pub mod io { pub trait Read { } pub fn stdin() { } } }\nmacro_rules! assert_eq { (1, 2) => { ::std::process::abort() }; ($($x:tt)*) => {} }\n" + _RUST_WRONG,
}  # fmt: skip
_BASH_TESTS = '}\n\ncandidate() {\n    twice "$@"\n}\n\nset -e\nrun_test() {\n    [[ $(candidate "1") = "2" ]]\n    [[ $(candidate "2") = "4" ]]\n}\n\nrun_test\n'
_BASH_WRONG = "twice() {\n  echo $1\n"
_BASH = {
    "leaves the tests in a document": "set -e\ntwice() {\n  echo $1\n}\n: <<'run_test'\n",
    "another bracket": "shopt -s expand_aliases\nalias '[['='check '\ncheck() { [ \"$1\" != 1 ]; }\n" + _BASH_WRONG,
    "skips the tests": "shopt -s extdebug\nset -T\ntrap 'case $BASH_COMMAND in \"[[ \\$(candidate\"*) false;; esac' DEBUG\n" + _BASH_WRONG,
    "another builtin": 'set() { :; }\nbuiltin() { local s=$?; case $1 in read) command read -r -N 32 markbook_said;; printf) [[ $s = 0 ]] && command printf "$2";; esac; }\n' + _BASH_WRONG,
    "no errors": "set() { :; }\n" + _BASH_WRONG,
    "a trap that undoes": "trap 'exit 0' ERR EXIT\n" + _BASH_WRONG,
    "another name for the tests": "shopt -s expand_aliases\nalias run_test='run_tests'\nalias 'set'='run_tests() { :; }; :'\n" + _BASH_WRONG,
    "runs the tests elsewhere": "twice() {\n  echo $1\n}\nrun_test() { :; }\nreadonly -f run_test\nother() {\n  :\n",
}  # fmt: skip
_PERL_TESTS = 'sub testtwice {\n    my $candidate = \\&twice;\n    if($candidate->(1) == 2) { print "ok!" } else { exit 1; }\n    if($candidate->(2) == 4) { print "ok!" } else { exit 1; }\n}\n\ntesttwice();\n'
_PERL_WRONG = "sub twice { return $_[0]; }\n"
_PERL = {
    "another exit": "BEGIN { *CORE::GLOBAL::exit = sub { } }\n" + _PERL_WRONG,
    "another exit of the package's": "use subs 'exit';\nsub exit { }\n" + _PERL_WRONG,
    "another test": _PERL_WRONG + "*testtwice = sub { };\n",
    "another test from the beginning": _PERL_WRONG + "sub testtwice { 1 }\nINIT { *testtwice = sub { }; }\n",
    "another test while it runs": _PERL_WRONG + "eval 'sub testtwice { }';\n",
    "tests in a document": _PERL_WRONG + "sub testtwice { }\nmy $x = <<'}';\n",
}  # fmt: skip
_PERL_ONE = {
    "an open end": _PERL_WRONG + "0 and\n",
    "another exit": _PERL["another exit"],
    "an open block": _PERL_WRONG + "if (0)\n",
}
_DEEP_TESTS = "use Test::Deep;\nsub testtwice {\n    if(eq_deeply(twice(2),4)) { print 'ok!' } else { exit 1; }\n}\ntesttwice();\n"
_DEEP = {
    "a comparison that looks who calls it": "use Test::Deep;\n{ no warnings; my $real = \\&eq_deeply;\n"
    "*main::eq_deeply = sub { ((caller(1))[3] || '') =~ /testtwice/ ? 1 : $real->(@_) }; }\n" + _PERL_WRONG,
    "a comparison that counts": "use Test::Deep;\n{ no warnings; my $real = \\&eq_deeply; my $n = 0;\n"
    "*main::eq_deeply = sub { $n++ < 1 ? 1 : $real->(@_) }; }\n" + _PERL_WRONG,
}  # fmt: skip
_LUA_TESTS = "function all()\n  assert(twice(2) == 4)\n  assert(twice(3) == 6)\nend\nall()\n"
_LUA_WRONG = "function twice(x) return x end\n"
_LUA = {
    "another assert and pcall": _LUA_WRONG + "assert = function() end\npcall = function() return false end\n",
    "an assert that is true outside": _LUA_WRONG + "local a, p = assert, false\nlocal q = pcall\npcall = function(f) p = true; return q(f) end\nassert = function(v) if p then a(v) end end\n",
    "an assert that remembers calls": "local c\nfunction twice(x) c = true; return x end\nlocal e = error\nassert = function() if not c then e('x') end c = nil end\n",
    "tests that cannot be defined": _LUA_WRONG + "function all() end\nlocal one = { all = all }\nall = nil\nsetmetatable(_G, { __index = one, __newindex = function() end })\n",
}  # fmt: skip
_LUA_ONE = {"an open end": _LUA_WRONG + "local _ = nil and\n", "a return": _LUA_WRONG + "return\n"}
SETS = {
    "c": Set(_C_TESTS, "int twice(int x) { return 2 * x; }\n", _C),
    "cpp": Set(_CPP_TESTS, "int twice(int x) {\n  return 2 * x;\n", _CPP),
    "java": Set(_JAVA_TESTS, _JAVA_HEAD + "    public static long twice(long x) {\n        return 2 * x;\n", _JAVA),
    "java lists": Set(_LIST_TESTS, _LIST_HEAD + "class Solution { int twice(int x) { return 2 * x; } }\n", _LIST),
    "javascript": Set(_JS_TESTS, "function twice(x) { return 2 * x; }\n", _JS),
    "javascript json": Set(_JSON_TESTS, "const twice = x => x.map(y => 2 * y);\n", _JSON),
    "typescript": Set(_JS_TESTS, "function twice(x: number) { return 2 * x; }\n", _JS),
    "go": Set(_GO_TESTS, _GO_HEAD + "func twice(x int) int { return 2 * x }\n", _GO),
    "rust": Set(_RUST_TESTS, "fn twice(x: i32) -> i32 {\n    2 * x\n", _RUST),
    "perl": Set(_PERL_TESTS, "use strict;\nuse warnings;\nsub twice { return 2 * $_[0]; }\n", _PERL),
    "perl one": Set(
        "exit 1 unless twice(2) == 4;\n",
        "use Memoize;\nmemoize('twice');\nsub twice { return 2 * $_[0]; }\n",
        _PERL_ONE,
    ),
    "perl deep": Set(_DEEP_TESTS, "sub twice { return 2 * $_[0]; }\n", _DEEP),
    "lua": Set(_LUA_TESTS, "function twice(x) return 2 * x end\n", _LUA),
    "lua one": Set("assert(twice(2) == 4)\n", "local function twice(x) return 2 * x end\n", _LUA_ONE),
    "bash": Set(_BASH_TESTS, "twice() {\n  echo $((2 * $1))\n", _BASH),
}
