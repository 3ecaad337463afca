"""Answers in replies that are written in languages without a parser of ours."""

import pytest

from markbook.testcode.extraction import extract_answer


def test_an_answer_that_repeats_some_of_the_prompts_imports_has_the_others_too():
    prompt = "using System;\nusing System.Diagnostics;\nclass Problem {\n    public static int Twice(int x) {\n"
    reply = (
        "```csharp\nusing System;\nclass Problem {\n    public static int Twice(int x) {\n        return 2 * x;\n    }\n"
        "    public static void Main() { }\n}\n```\n"
    )

    text, _, _ = extract_answer(reply, prompt, "    }\n    public static void Main(string[] args) { } }\n")

    assert text == (
        "using System.Diagnostics;\nusing System;\nclass Problem {\n    public static int Twice(int x) {\n"
        "        return 2 * x;\n"
    )


def test_a_definition_ends_where_its_brace_does_though_the_prompt_leaves_that_brace_to_the_answer():
    prompt = "import std.math;\n/*\n twice\n*/\nint twice(int x) \n"
    tests = "unittest { }\nvoid main(){}\n"
    same = "```d\nimport std.math;\n\nint twice(int x) {\n    return 2 * x;\n}\n\nvoid main() {\n}\n```\n"
    below = same.replace("(int x) {", "(int x)\n{")

    found = [extract_answer(reply, prompt, tests) for reply in (same, below)]

    assert found == [
        ("import std.math;\n\nint twice(int x) {\n    return 2 * x;\n}\n", "fence", "whole"),
        ("import std.math;\n\nint twice(int x)\n{\n    return 2 * x;\n}\n", "fence", "whole"),
    ]


def test_a_line_that_only_looks_like_an_import_is_not_taken_from_the_prompt():
    prompt = 'import (\n    "testing"\n)\n\n// use it\nfunc twice(x int) int {\n'

    text, _, _ = extract_answer(
        "```go\nfunc twice(x int) int {\n  return 2 * x\n}\n```", prompt, "func TestTwice() { }\n"
    )

    assert text == 'import (\n    "testing"\n)\n\n// use it\nfunc twice(x int) int {\n  return 2 * x\n}\n'


@pytest.mark.parametrize("package", ["main", "twice_test"])
@pytest.mark.parametrize("imports", ['import "fmt"\nimport "strings"\n', 'import (\n\t"fmt"\n\t"os"\n\t"strings"\n)\n'])
def test_a_whole_program_in_go_has_one_package_and_each_import_that_is_used_once(package, imports):
    before = 'package twice_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\n// twice\n'
    code = "func half(s string) string {\n\treturn strings.ToUpper(s)\n}\n\nfunc twice(t string) string {\n\treturn half(t)\n}\n"
    own = "\nfunc main() {\n\tfmt.Println(twice(os.Args[1]))\n}\n"

    text, _, form = extract_answer(
        f"```go\npackage {package}\n\n{imports}\n{code}{own}```",
        before + "func twice(s string) string {\n",
        "func Test() { }\n",
    )

    assert form == "whole"
    assert text == before + 'import "strings"\n\n\n' + code


def test_a_lua_module_does_not_return_before_the_tests():
    prompt = "-- twice\nlocal function twice(x)\n"
    code = "local function twice(n)\n  return 2 * n\nend\n"

    text, _, form = extract_answer(f"```lua\n{code}\nreturn twice\n```", prompt, "lu = require('luaunit')\n")

    assert (text.rstrip("\n"), form) == (code.rstrip("\n"), "whole")


JAVA = "import java.util.*;\nimport org.javatuples.*;\nclass Problem {\n    // twice\n    public static long twice(String string) {\n"
JAVA_TESTS = "    }\n    public static void main(String[] args) { }\n}\n"


def test_a_whole_program_without_the_prompts_imports_has_its_class_once():
    reply = (
        "```java\nclass Problem {\n    public static long twice(String string) {\n        return 2;\n    }\n}\n```\n"
    )

    text, _, form = extract_answer(reply, JAVA, JAVA_TESTS)

    assert form == "whole"
    assert text == (
        "import java.util.*;\nimport org.javatuples.*;\nclass Problem {\n"
        "    public static long twice(String string) {\n        return 2;\n"
    )


def test_a_whole_program_may_name_its_parameters_otherwise():
    reply = "```java\nimport java.util.*;\nclass Problem {\n    public static long twice(String input) {\n        return twice2(input);\n    }\n}\n```\n"

    text, _, form = extract_answer(reply, JAVA, JAVA_TESTS)

    assert form == "whole"
    assert text.count("class Problem") == 1
    assert text.count("public static long twice(") == 1
    assert text.endswith("        return twice2(input);\n")  # the brace that ends it is the tests'


def test_the_end_mark_of_php_does_not_hide_the_tests():
    prompt = "<?php\n// twice\nfunction twice($x) {\n"

    text, _, _ = extract_answer(
        "```php\n<?php\nfunction twice($n) {\n    return 2 * $n;\n}\n?>\n```\n", prompt, "\ncandidate();\n"
    )

    assert text == "<?php\nfunction twice($n) {\n    return 2 * $n;\n}\n"


@pytest.mark.parametrize(
    "more", ["}\n", "}\n\nint other(int x) {\n    return 3;\n}\n", "}\nint main() {\n    return 0;\n}\n"]
)
def test_a_completion_ends_at_the_brace_that_the_tests_begin_with(more):
    prompt, tests = "// twice\nint twice(int x) {\n", "}\nint main() { }\n"
    body = "    if (x) {\n        x *= 2;\n    }\n    return x;\n"

    found = [extract_answer(reply, prompt, tests) for reply in (body + more, f"```cpp\n{body}{more}```\n")]

    assert [text for text, _, _ in found] == [prompt + body] * 2
    assert [form for _, _, form in found] == ["completion"] * 2


@pytest.mark.parametrize("more", ["}\nreturn x;\n", "} else {\n    return 3;\n}\nreturn x;\n"])
def test_a_brace_that_the_completion_itself_opens_does_not_end_it(more):
    body = f"if (x) {{\n    x *= 2;\n{more}"  # not indented, so its braces stand where that of the definition does

    text, _, _ = extract_answer(body, "int twice(int x) {\n", "}\nint main() { }\n")

    assert text == "int twice(int x) {\n" + body


HELPERS = {
    "go": ("package main\n\n// twice\nfunc twice(x int) int {\n", "    return help(x)\n}\n", "func help(x int) int {\n    return 2 * x\n}\n"),
    "js": ("// twice\nfunction twice(x) {\n", "  return help(x);\n}\n", "const two = 2;\nfunction help(x) {\n  return two * x;\n}\n"),
    "php": ("<?php\n// twice\nfunction twice($x) {\n", "    return help($x);\n}\n", "function help($x) {\n    return 2 * $x;\n}\n"),
    "lua": ("-- twice\nlocal function twice(x)\n", "    return help(x)\nend\n", "function help(x)\n    return 2 * x\nend\n"),
}  # fmt: skip
"""By language: a prompt, a completion, and a definition behind it that it uses."""


def squeeze(text):
    return "".join(f"{line}\n" for line in text.split("\n") if line.strip())


@pytest.mark.parametrize("name", HELPERS)
@pytest.mark.parametrize(
    "rest", ["", "other(1)\n", "function other(x) {\n  ret", "func other() int {\n  return twice(", "print(twice(2"]
)
def test_an_answer_ends_with_its_definition_and_keeps_what_it_uses_from_behind(name, rest):
    prompt, body, helper = HELPERS[name]
    before, last = prompt[: prompt.rstrip().rfind("\n") + 1], prompt.rstrip().rpartition("\n")[2] + "\n"

    completed = [extract_answer(f"{body}\n{more}{rest}", prompt, "\ntest()\n")[0] for more in ("", helper)]
    repeated, _, form = extract_answer(f"```\n{last}{body}\n{helper}{rest}```\n", prompt, "\ntest()\n")

    completed, repeated = [squeeze(text) for text in completed], squeeze(repeated)
    assert completed == [squeeze(prompt + body), squeeze(before + helper + last + body)]
    assert form == "whole"
    assert helper in repeated
    assert name == "lua" or repeated.endswith(helper + last + body)


USED = {
    "go": {
        "use(one)": "const (\n    one = 1\n    two = 2\n)",
        "max2(x, x)": "func max2[T int | float64](a, b T) T {\n    return a\n}",
        "more(ints{x})": "type ints []int\n\nfunc (h ints) Len() int { return len(h) }\n\nfunc more(h ints) int {\n    return h.Len()\n}",
        "x + last": "var last int\n\nfunc init() {\n    last = 1\n}",
    },
    "js": {
        "x + STEP": "const { STEP } = { STEP: 1 };",
        "x + b": "const [a, b] = [1, 2];",
        "x + table.one": "var table = {};\n(function () {\n  table.one = 1;\n})();",
        "x + twice.step": "twice.step = 1;",
        "x + Shape.one": "class Shape {\n  static one = 1;\n}",
    },
    "php": {"$x + STEP": "define('STEP', 1);"},
    "rs": {
        "P { v: x }.clone().v": "#[derive(Clone)]\nstruct P {\n    v: i64,\n}",
        "P::new(x)": "struct P<T> {\n    v: T,\n}\n\nimpl<T: Copy + Into<i64>> P<T> {\n    fn new(v: T) -> T { v }\n}\n\nimpl core::fmt::Display for P<i64> {\n}",
        "x + STEP as i64": "const STEP: u8 = 1;",
        "x + STEPS[0] as i64": "static STEPS: [u8; 1] = [1];",
        "HashMap::new().len()": "use std::collections::HashMap;",
        "help(x)": "fn help<T>(n: T) -> i64\nwhere\n    T: Into<i64>,\n{\n    n.into()\n}",
    },
    "cpp": {
        "x + steps[0]": "int steps[] = {1, 2};",
        "help(x)": "#define STEP 1\nlong\nhelp(long x)\n{\n    return x + STEP;\n}",
    },
    "r": {"as.binary(x)": "as.binary <- function(n) {\n  n\n}"},
    "sh": {'add "$1"': "add() {\n    echo $(( $1 + 1 ))\n}"},
}  # fmt: skip
"""By language: what an answer says, and what stands behind it that it needs for that."""
BEGUN = {
    "go": "package main\n\n// twice\nfunc twice(x int) int {\n", "js": "// twice\nfunction twice(x) {\n", "php": "<?php\n// twice\nfunction twice($x) {\n",
    "rs": "fn twice(x: i64) -> i64 {\n", "cpp": "// twice\nlong twice(long x) {\n", "r": "# twice\ntwice <- function(x) {\n", "sh": "#!/bin/bash\n# twice\ntwice() {\n",
}  # fmt: skip
UNUSED = {
    "go": "func TestTwice(t *testing.T) {\n    if twice(1) != 2 {\n        t.Error(one)\n    }\n}", "js": "let x = 3;\nconst sum = twice(x);\nconsole.log(sum);\nif (sum) {\n  console.log(STEP);\n}",
    "php": "$x = 3;\n$sum = twice($x);\necho STEP;", "rs": "fn main() {\n    println!(twice(STEP));\n}", "cpp": "int main() {\n    return twice(1);\n}", "r": "x <- c(1, 2)\nprint(twice(x))",
    "sh": 'if [ "$1" ]; then\n    twice "$1"\nfi\necho "$(add 2)"',
}  # fmt: skip


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, parts in USED.items() for call in parts])
def test_what_an_answer_needs_from_behind_its_end_is_kept_and_its_own_tests_are_not(name, call):
    prompt, part = BEGUN[name], USED[name][call]
    before, last = prompt[: prompt.rstrip().rfind("\n") + 1], prompt.rstrip().rpartition("\n")[2] + "\n"
    body = f"    return {call}\n}}\n"

    text, _, form = extract_answer(f"```\n{prompt}{body}\n{part}\n\n{UNUSED[name]}\n```\n", prompt, "\ntest()\n")

    assert (squeeze(text), form) == (squeeze(f"{before}{part}\n{last}{body}"), "whole")


def test_the_answer_of_another_language_is_found_behind_a_draft_and_a_final_mark():
    prompt, wrong, right = (
        "fn f(n: i64) -> i64 {\n",
        "fn f(n: i64) -> i64 {\n    n\n}\n",
        "fn f(n: i64) -> i64 {\n    n + 1\n}\n",
    )

    for head in ("", "Final answer:\n", "## Final Solution\n\n", "<answer>\n"):
        text, _, _ = extract_answer(f"```rust\n{wrong}```\n\n{head}```rust\n{right}```\n", prompt, "\ntest()\n")
        assert text == (right if head else wrong)
    for thought in (f"<THINK>\n```\n{wrong}```\n</THINK>\n", f"analysisOr\n```\n{wrong}```\nassistantfinal"):
        assert extract_answer(f"{thought}```rust\n{right}```\n", prompt, "\ntest()\n")[0] == right


def test_tests_of_an_answers_own_are_not_kept_because_they_loop():
    prompt = "package main\nfunc twice(x int) int {\n"
    body = "    for i := 0; i < 1; i++ {\n    }\n    return 2 * x\n}\n"
    own = "\nfunc TestTwice(t *testing.T) {\n    for i := 0; i < 3; i++ {\n        twice(i)\n    }\n}\n"

    text, _, _ = extract_answer(f"```go\nfunc twice(x int) int {{\n{body}{own}```", prompt, "func TestTwice() { }\n")

    assert text == prompt + body


def test_a_whole_answer_in_a_class_ends_with_the_class_and_a_method_that_it_uses_stays():
    prompt = "import java.util.*;\nclass Solution {\n    // twice\n    public int twice(int x) {\n"
    method = "    public int twice(int x) {\n        return help(x);\n    }\n"
    helper = "    private int help(int x) {\n        return 2 * x;\n    }\n"
    own = "    public static void main(String[] args) {\n    }\n"

    text, _, _ = extract_answer(
        f"```java\nclass Solution {{\n{method}{helper}{own}}}\n```", prompt, "public class Main { }\n"
    )

    assert text == f"import java.util.*;\nclass Solution {{\n{helper}{method}}}\n"


CPP = ("// twice\nint twice(int x) {\n", "}\nint main() { }\n")
BASH = ("#!/bin/bash\n# twice\ntwice() {\n", '}\n\ncandidate() {\n    twice "$@"\n}\n')
OF_JAVA = (JAVA, JAVA_TESTS)


@pytest.mark.parametrize(
    ("benchmark", "line"),
    [
        (CPP, 'std::string open = "{";'),
        (CPP, 'std::string open = "\\"{";'),
        (CPP, "if (c == '{') c = '\\'';"),
        (CPP, "char quote = '\"'; // a {"),
        (CPP, "// it doesn't close what { opens"),
        (CPP, "/* neither {\n   nor { */"),
        (CPP, 'auto raw = R"x({)" { )x";'),
        (CPP, "int million = 1'000'000; // {"),
        (CPP, "int x = 3 / 2; char open = '\\x7b';"),
        (CPP, "template <typename T> void f(); // it's {"),
        (OF_JAVA, 'String open = "{", close = "{";'),
        (OF_JAVA, "if (string.charAt(0) == '{') return 0;"),
        (OF_JAVA, 'String text = """\n    {\n    """;'),
        (OF_JAVA, "/** {@code { } */"),
        (BASH, "local open='{'"),
        (BASH, 'local open="{" # it is a {'),
        (BASH, "# what's a {?"),
        (BASH, "local count=${#1} last=${1#*\\}}"),
    ],
)
def test_braces_in_texts_and_comments_do_not_move_the_end_of_a_completion(benchmark, line):
    prompt, tests = benchmark
    inset = " " * (4 if benchmark is OF_JAVA else 0)
    body = f"{inset}    {line}\n{inset}    return 2;\n"

    text, _, form = extract_answer(f"{body}{inset}}}\nwhat comes behind it {{\n}}\n", prompt, tests)

    assert (text, form) == (prompt + body, "completion")


@pytest.mark.parametrize("line", ['auto text = R"(\n}\n)";', "/*\n}\n*/"])
def test_a_brace_in_a_text_or_comment_does_not_end_a_definition_that_repeats_the_prompt(line):
    prompt, tests = CPP
    body = f"int twice(int x) {{ // {{\n{line}\n    return 2;\n"

    text, _, form = extract_answer(f"```cpp\n{body}}} // twice\nint main() {{\n}}\n```\n", prompt, tests)

    assert (text, form) == (body, "whole")
