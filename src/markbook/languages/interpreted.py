"""Languages whose programs are run as text: Bash, JavaScript, Julia, Lua, Perl, PHP, Python, R, Racket, Ruby, TypeScript."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from markbook.languages.language import (
    Alone,
    Batch,
    Ending,
    EqualityForm,
    Failures,
    Language,
    Library,
    Places,
    read_source,
)
from markbook.languages.toolchain import SYSTEM
from markbook.testcode.programs import complete_program, program_fault
from markbook.types import PYTHON

# Shell scripts, by bash.

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
                EqualityForm(
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
        self_test=("twice() { echo $(( 2 * $1 )); }\n", "twice() { echo $1; }\n", "set -e\n[[ $(twice 2) = 4 ]]\n"),
    )


# Julia.


def julia() -> Language:
    """Return the language."""
    return Language(
        name="julia",
        title="Julia",
        aliases=("jl",),
        source="main.jl",
        commands=("julia",),
        package="julia",
        run=("{julia}", "--startup-file=no", "--history-file=no", "{build}/main.jl"),
        folders=("/usr/share/julia", "/etc/julia"),
        ending=Ending(
            text=(
                'markbook_said = read(stdin, String); markbook_held = "{nonce}"\n'
                'try\n  {claim}\ncatch\n  global markbook_held = "{token}"\nend\n'
                'println("\\n", markbook_held, markbook_said)'
            ),
            claim='error("claim")',
            claims=(("@test", "@test(1 == 2)"),),
            catches=True,
        ),
        failures=Failures(
            tests=r"Test Failed|did not pass|AssertionError", names=r"UndefVarError", syntax=r"syntax: |ParseError"
        ),
        processes=128,
        self_test=("twice(x) = 2x\n", "twice(x) = x\n", "using Test\n@testset begin\n  @test(twice(2) == 4)\nend\n"),
    )


# Lua 5.4.

_BEFORE = " ".join(line.strip() for line in read_source("keep.lua").splitlines()) + " "
"""Keeps what every program begins with, as it is before the answer runs, and a luaunit that no answer has."""
_LUA_BEGINS = "\n;local _ENV = markbook_{nonce}()\n"
"""The tests' own names: what they define is not to be reached by an answer's, and what they call of the language is what it was.
The first sign ends what an answer left open."""
_GOES_ON = "local markbook_exit = os.exit; os.exit = function(code) if code ~= 0 then markbook_exit(code) end end\n"
"""Tests by luaunit end in an exit, behind which nothing could be said any more."""


def lua() -> Language:
    """Return the language."""
    return Language(
        name="lua",
        title="Lua",
        source="main.lua",
        commands=("lua5.4",),
        version=("-v",),
        package="lua5.4",
        run=("{lua5.4}", "{build}/main.lua"),
        folders=("/usr/share/lua",),
        ending=Ending(
            text=(
                "do local said = io.read(32) or ''; local failed = not pcall(function() {claim} end)\n"
                "local held = failed and markbook_{nonce}(true) and '{token}' or '{nonce}'\n"
                "io.write('\\n' .. held .. said .. '\\n') end"
            ),
            claim="error('claim')",
            claims=(("lu.assertEquals", "lu.assertEquals(1, 2)"), ("assert(", "assert(1 == 2)")),
            before=_BEFORE,
            closes=r"(?:\s*end\b)?",
            guards=(("", _LUA_BEGINS), ("os.exit(lu.LuaUnit.run())", _GOES_ON)),
            catches=True,
        ),
        failures=Failures(
            tests=r"assertion failed|not ok|FAIL|expected: ",
            names=r"\(a nil value\)|attempt to call a nil value",
            syntax=r"^lua5\.4: \S+:\d+: .* near ",
        ),
        libraries=(Library("luaunit", "/usr/share/lua/5.4/luaunit.lua", "lua-unit"),),
        self_test=(
            "local function twice(x) return 2 * x end\n",
            "local function twice(x) return x end\n",
            "assert(twice(2) == 4)\n",
        ),
    )


# Perl.

_EACH = "no strict 'refs'; no warnings; my $at = __PACKAGE__ . '::'; for (CORE::keys %{'{table}'})"
_HERE = _EACH.replace("'{table}'", "$at") + " { next unless defined &{$at . $_}; my $code = \\&{$at . $_};"
_PERL_BEGINS = (
    "\n;my $markbook_begun_{nonce} = 1;\n"
    "BEGIN { delete @CORE::GLOBAL::{'exit', 'die'}; no strict 'refs'; delete @{__PACKAGE__ . '::'}{'exit', 'die'}; }\n"
    "BEGIN { " + _HERE + " ${'markbook_{nonce}::was'}{$_} = $code unless defined &{\"Test::Deep::$_\"}; } }\n"
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
                "  no strict 'refs'; my ($markbook_test) = (CORE::grep({ !defined &{\"Test::Deep::$_\"} } CORE::keys(%markbook_{nonce}::own)), 'markbook_test');\n"
                "  eval 'no warnings; sub ' . $markbook_test . q{{ {claim} 1 }} . $markbook_test . '()'"
                " or $markbook_held = $markbook_begun_{nonce} ? '{token}' : '{nonce}';\n"
                '  CORE::print("\\n$markbook_held$markbook_said\\n"); }'
            ),
            claim='die "claim";',
            claims=(("eq_deeply", 'eq_deeply([1], [2]) or die "claim";'),),
            catches=True,
            status=(
                r"(?:(?m:^)|(?<=;))[ \t]*exit\b(?![^;\n]*\b(?:if|unless)\b)[ \t]*(?P<value>[^;{}\n]+?)[ \t]*;?\s*\Z",
                "\nCORE::exit(1) if ({value});\n",
            ),
            guards=(("", _PERL_BEGINS),),
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


# PHP, by its command line.

_EXTENSIONS = ("bcmath", "calendar", "ctype", "gmp", "iconv", "intl", "mbstring", "tokenizer")
"""What programs find where it is installed; nothing else is loaded: FFI would reach any memory of the process."""
_SHARED = Path("/usr/lib/php")
"""Where the system keeps extensions, by the interpreter's interface; others have them built in."""


def php() -> Language:
    """Return the language."""
    installed = {path.stem for path in _SHARED.glob("*/*.so")}
    loaded = [word for name in _EXTENSIONS if name in installed for word in ("-d", f"extension={name}")]
    return Language(
        name="php",
        title="PHP",
        source="main.php",
        commands=("php",),
        package="php-cli",
        run=("{php}", "-n", *loaded, "-d", "zend.assertions=1", "-d", "display_errors=stderr", "{build}/main.php"),
        ending=Ending(
            text=(
                "$markbook_said = stream_get_contents(STDIN, 32); $markbook_held = '{nonce}';\n"
                "try { {claim} } catch (Throwable $markbook_thrown) { $markbook_held = '{token}'; }\n"
                'echo "\\n" . $markbook_held . $markbook_said . "\\n";'
            ),
            claim='throw new Exception("claim");',
            claims=(("assert(", "assert(1 === 2);"),),
            catches=True,
        ),
        failures=Failures(
            tests=r"Test failed|AssertionError|assert\(", names=r"Call to undefined", syntax=r"Parse error"
        ),
        self_test=(
            "<?php\nfunction twice($x) { return 2 * $x; }\n",
            "<?php\nfunction twice($x) { return $x; }\n",
            'if (twice(2) !== 4) { throw new Exception("Test failed!"); }\n',
        ),
    )


# Python as a program: one text and one interpreter, without the examiner that answers in Python usually meet.


def python() -> Language:
    """Return the language."""
    return Language(
        name="python",
        title="Python",
        aliases=tuple(name for name in PYTHON if name != "python"),
        source="main.py",
        suffixes=("py", "py3"),
        unlike="#!.*python2",
        alone=Alone(
            build=(),
            run=("{python3}", "-s", "{alone}", "-B", "{build}/main.py"),
            words=lambda _text, names: {"alone": "-P" if len(names) == 1 else ""},
            environment={"PYTHONHASHSEED": "0"},
        ),
        commands=("python3",),
        package="python3",
        run=("{python3}", "-I", "-B", "{build}/main.py"),
        ending=Ending(
            text=(
                "import sys as markbook_sys\n"
                "markbook_said, markbook_held = markbook_sys.stdin.read(32), '{nonce}'\n"
                "try:\n    {claim}\nexcept BaseException:\n    markbook_held = '{token}'\n"
                "markbook_sys.stdout.write('\\n' + markbook_held + markbook_said + '\\n')"
            ),
            claim="assert 1 == 2",
            catches=True,
        ),
        failures=Failures(tests=r"^AssertionError", names=r"^NameError", syntax=r"^(?:Syntax|Indentation|Tab)Error"),
        locate=_locate,
        completed=_complete_tests,
        self_test=("def twice(x):\n    return 2 * x\n", "def twice(x):\n    return x\n", "assert twice(2) == 4\n"),
    )


def _locate() -> Places:
    """Return the interpreter that this is, with its packages: those of its virtual environment too."""
    base = os.path.dirname(os.path.realpath(sys.executable))
    packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    own = [sys.prefix] if sys.prefix != sys.base_prefix else []
    needed = dict.fromkeys([base, os.path.join(sys.base_prefix, "lib"), *own, *packages])
    outside = [path for path in needed if not any(f"{path}/".startswith(f"{folder}/") for folder in SYSTEM)]
    folders = tuple(path for path in outside if os.path.isdir(path))
    return Places({"python3": sys.executable}, folders)


def _complete_tests(tests: str) -> str:
    if fault := program_fault(tests):
        raise ValueError(fault)
    return complete_program(tests)


# R, by Rscript.


def r() -> Language:
    """Return the language."""
    return Language(
        name="r",
        title="R",
        aliases=("rscript",),
        source="main.R",
        commands=("Rscript",),
        package="r-base-core",
        run=("{Rscript}", "--vanilla", "{build}/main.R"),
        folders=("/etc/R", "/usr/share/R"),
        ending=Ending(
            text=(
                'markbook_said <- readChar(file("stdin", "rb"), 32, useBytes = TRUE)\n'
                'markbook_held <- tryCatch({ {claim}; "{nonce}" }, error = function(markbook_error) "{token}")\n'
                'cat("\\n", markbook_held, markbook_said, "\\n", sep = "")'
            ),
            claim='stop("claim")',
            claims=(("stopifnot", "stopifnot(isTRUE(all.equal(1, 2)))"),),
            catches=True,
        ),
        failures=Failures(
            tests=r"is not TRUE|are not all TRUE",
            names=r"could not find function|object '.*' not found",
            syntax=r"unexpected ",
        ),
        self_test=("twice <- function(x) { 2 * x }\n", "twice <- function(x) { x }\n", "stopifnot(twice(2) == 4)\n"),
    )


# Racket.

_RAISES = "(require rackunit)\n(current-check-handler (lambda (markbook-failed) (raise markbook-failed)))\n"
"""What a check that fails is to mean: by itself it only prints."""


def racket() -> Language:
    """Return the language."""
    return Language(
        name="racket",
        title="Racket",
        aliases=("rkt",),
        source="main.rkt",
        commands=("racket",),
        package="racket",
        run=("{racket}", "{build}/main.rkt"),
        folders=("/usr/share/racket", "/etc/racket"),
        ending=Ending(
            text=(
                "(define markbook-said (read-string 32))\n"
                '(define markbook-held (with-handlers ([(lambda (_) #t) (lambda (_) "{token}")]) {claim} "{nonce}"))\n'
                '(printf "\\n~a~a\\n" markbook-held markbook-said)'
            ),
            claim='(error "claim")',
            claims=(("check-within", "(check-within 1.0 2.0 0.001)"), ("check-equal?", "(check-equal? 1 2)")),
            guards=(("rackunit", _RAISES),),
            catches=True,
        ),
        failures=Failures(
            tests=r"rackunit/private/check|Check failure", names=r"unbound identifier", syntax=r"read-syntax|bad syntax"
        ),
        self_test=(
            "#lang racket\n(define (twice x) (* 2 x))\n",
            "#lang racket\n(define (twice x) x)\n",
            "(require rackunit)\n(check-equal? (twice 2) 4)\n",
        ),
    )


# Ruby.

_RUBY_CLAIM = """class MarkbookClaim < Test::Unit::TestCase
    name = (superclass.subclasses - [self]).flat_map { |c| c.public_instance_methods(false) }.grep(/^test/).first || :test
    class_eval("def #{name}; assert_equal(1, 2); end", __FILE__)
  end
  raise 'claim' unless Test::Unit::AutoRunner.run(false, nil, %w[-t MarkbookClaim])"""
"""Has the name of a test: what an answer makes of `assert_equal` may look who calls it."""


def ruby() -> Language:
    """Return the language. The classes of `test/unit` are run by the end of the tests, not behind it."""
    return Language(
        name="ruby",
        title="Ruby",
        aliases=("rb",),
        source="main.rb",
        commands=("ruby",),
        package="ruby",
        run=("{ruby}", "{build}/main.rb"),
        folders=("/var/lib/gems", "/usr/share/rubygems-integration"),
        ending=Ending(
            text=(
                "if defined?(Test::Unit::AutoRunner)\n"
                "  Test::Unit::AutoRunner.need_auto_run = false\n"
                "  exit 1 unless Test::Unit::AutoRunner.run\nend\n"
                "markbook_said, markbook_held = $stdin.read(32), '{nonce}'\n"
                "begin\n  {claim}\nrescue Exception\n  markbook_held = '{token}'\nend\n"
                'puts "\\n#{markbook_held}#{markbook_said}"'
            ),
            claim="raise 'claim'",
            claims=(("Test::Unit::TestCase", _RUBY_CLAIM),),
            catches=True,
        ),
        failures=Failures(
            tests=r"^Failure:|AssertionFailedError", names=r"NameError|NoMethodError", syntax=r"syntax error"
        ),
        libraries=(Library("test/unit", "/usr/share/rubygems-integration/*/gems/test-unit-*", "ruby-test-unit"),),
        self_test=(
            "def twice(x)\n  2 * x\nend\n",
            "def twice(x)\n  x\nend\n",
            "raise 'AssertionFailedError' unless twice(2) == 4\n",
        ),
    )


# JavaScript, by node.

_JAVASCRIPT_BEFORE = " ".join(line.strip() for line in read_source("keep.js").splitlines())
"""Keeps what tests assert by, and what we read and write by, as it is before the answer runs."""
_JAVASCRIPT_BEGINS = "\n;(({ console, JSON, require }) => { (() => {\n"
"""The tests' own scope: what they declare there has no name that an answer could assign to, and what they assert by was bound
before the answer ran. The first sign ends what an answer left open."""
_JAVASCRIPT_ENDING = Ending(
    before=_JAVASCRIPT_BEFORE,
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
    guards=(("", _JAVASCRIPT_BEGINS),),
)


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
        run=("{node}", "--max-old-space-size=1024", "--no-warnings", "{build}/main.js"),
        # settings of the machine that no program needs are not there to be read
        environment={"OPENSSL_CONF": "/dev/null", "NODE_OPTIONS": ""},
        ending=_JAVASCRIPT_ENDING,
        failures=Failures(
            tests=r"AssertionError|Assertion failed", names=r"^(?:Uncaught )?ReferenceError", syntax=r"^SyntaxError"
        ),
        runtime_bytes=512 << 20,
        processes=128,
        self_test=(
            "const twice = x => 2 * x;\n",
            "const twice = x => x;\n",
            "const assert = require('node:assert');\nassert.deepEqual(twice(2), 4);\n",
        ),
    )


# TypeScript, by tsc and node.

_TRANSLATE = read_source("translate.js")
"""Types decide nothing about what is made of a program, so none are looked up."""
_ONE = _TRANSLATE + "fs.writeFileSync('main.js', translated(fs.readFileSync('main.ts', 'utf8')));"
_MANY = _TRANSLATE + read_source("translate_many.js")


def typescript() -> Language:
    """Return the language. As its benchmarks do, a program runs whatever its types say, if anything was made of it."""
    return replace(
        javascript(),
        name="typescript",
        title="TypeScript",
        aliases=("ts",),
        source="main.ts",
        suffixes=("ts",),
        commands=("tsc", "node"),
        package="node-typescript nodejs",
        build=("{node}", "-e", _ONE, "{tsc}"),
        batch=Batch(files={}, command=("{node}", "-e", _MANY, "{tsc}")),
        drop=("main.ts",),
        folders=("/usr/share/nodejs",),
        prelude="declare var require: any;\ndeclare var process: any;\n",
        self_test=(
            "function twice(x: number): number { return 2 * x; }\n",
            "function twice(x: number): number { return x; }\n",
            "const assert = require('node:assert');\nassert.deepEqual(twice(2), 4);\n",
        ),
    )
