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
