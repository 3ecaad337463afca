"""CodeBLEU's data flow in each language: which constructs move a value, each by a pair of programs made by hand."""

import re

import pytest

import markbook

WRAPPED = {
    "python": "def f(a, c):\n    {}\n    return b\n",
    "java": "class A {{ int f(int a, int c) {{ {} return b; }} }}",
    "javascript": "function f(a, c) {{ {} return b; }}",
    "go": "package p\nfunc f(a int, c int) int {{ {}\nreturn b }}",
    "c": "int f(int a, int c) {{ {} return b; }}",
    "cpp": "int f(int a, int c) {{ {} return b; }}",
    "rust": "fn f(a: i32, c: i32) -> i32 {{ {} b }}",
    "c_sharp": "class A {{ int f(int a, int c) {{ {} return b; }} }}",
    "php": "<?php function f($a, $c) {{ {} return $b; }}",
    "ruby": "def f(a, c)\n  {}\n  b\nend",
}
"""A function of two values; what stands in it moves `a`, or the 7 that replaces it, to `b`."""

MOVES = {
    ("python", "declared"): "b = @",
    ("python", "assigned"): "b = 1\n    b = @",
    ("python", "augmented"): "b = 1\n    b += @",
    ("python", "paired"): "b, d = @, c",
    ("python", "branch"): "b = c\n    if c:\n        b = @",
    ("python", "loop"): "b = c\n    while c:\n        b = @",
    ("python", "each"): "b = c\n    for d in range(@):\n        b = d",
    ("python", "comprehension"): "b = [d for d in range(@)]",
    ("java", "declared"): "int b = @;",
    ("java", "assigned"): "int b; b = @;",
    ("java", "augmented"): "int b = 1; b += @;",
    ("java", "branch"): "int b = c; if (c > 1) { b = @; } else { b = c; }",
    ("java", "loop"): "int b = c; while (c > 1) { b = @; }",
    ("java", "counted"): "int b = c; for (int i = 0; i < c; i++) { b = @; }",
    ("java", "each"): "int b = c; for (int d : g(@)) { b = d; }",
    ("javascript", "declared"): "let b = @;",
    ("javascript", "assigned"): "let b; b = @;",
    ("javascript", "augmented"): "let b = 1; b += @;",
    ("javascript", "branch"): "let b = c; if (c > 1) { b = @; } else { b = c; }",
    ("javascript", "loop"): "let b = c; while (c > 1) { b = @; }",
    ("javascript", "counted"): "let b = c; for (let i = 0; i < c; i++) { b = @; }",
    ("javascript", "each"): "let b = c; for (const d of g(@)) { b = d; }",
    ("go", "declared"): "b := @",
    ("go", "assigned"): "var b int\nb = @",
    ("go", "augmented"): "b := 1\nb += @",
    ("go", "paired"): "b, d := @, c",
    ("go", "branch"): "b := c\nif c > 1 { b = @ } else { b = c }",
    ("go", "counted"): "b := c\nfor i := 0; i < c; i++ { b = @ }",
    ("go", "each"): "b := c\nfor _, d := range g(@) { b = d }",
    ("c", "declared"): "int b = @;",
    ("c", "assigned"): "int b; b = @;",
    ("c", "augmented"): "int b = 1; b += @;",
    ("c", "branch"): "int b = c; if (c > 1) { b = @; } else { b = c; }",
    ("c", "loop"): "int b = c; do { b = @; } while (c > 1);",
    ("c", "counted"): "int b = c; for (int i = 0; i < c; i++) { b = @; }",
    ("cpp", "declared"): "int b = @;",
    ("cpp", "assigned"): "int b; b = @;",
    ("cpp", "augmented"): "int b = 1; b += @;",
    ("cpp", "branch"): "int b = c; if (c > 1) { b = @; } else { b = c; }",
    ("cpp", "loop"): "int b = c; while (c > 1) { b = @; }",
    ("cpp", "counted"): "int b = c; for (int i = 0; i < c; i++) { b = @; }",
    ("cpp", "each"): "int b = c; for (int d : g(@)) { b = d; }",
    ("rust", "declared"): "let b = @;",
    ("rust", "assigned"): "let b; b = @;",
    ("rust", "augmented"): "let mut b = 1; b += @;",
    ("rust", "branch"): "let mut b = c; if c > 1 { b = @; } else { b = c; }",
    ("rust", "loop"): "let mut b = c; while c > 1 { b = @; }",
    ("rust", "each"): "let mut b = c; for d in 0..@ { b = d; }",
    ("c_sharp", "declared"): "int b = @;",
    ("c_sharp", "assigned"): "int b; b = @;",
    ("c_sharp", "augmented"): "int b = 1; b += @;",
    ("c_sharp", "branch"): "int b = c; if (c > 1) { b = @; } else { b = c; }",
    ("c_sharp", "loop"): "int b = c; while (c > 1) { b = @; }",
    ("c_sharp", "counted"): "int b = c; for (int i = 0; i < c; i++) { b = @; }",
    ("c_sharp", "each"): "int b = c; foreach (var d in g(@)) { b = d; }",
    ("php", "assigned"): "$b = @;",
    ("php", "augmented"): "$b = 1; $b += @;",
    ("php", "branch"): "$b = $c; if ($c > 1) { $b = @; } else { $b = $c; }",
    ("php", "loop"): "$b = $c; while ($c > 1) { $b = @; }",
    ("php", "counted"): "$b = $c; for ($i = 0; $i < $c; $i++) { $b = @; }",
    ("php", "each"): "$b = $c; foreach (g(@) as $d) { $b = $d; }",
    ("ruby", "assigned"): "b = @",
    ("ruby", "augmented"): "b = 1\n  b += @",
    ("ruby", "branch"): "b = c\n  if c > 1\n    b = @\n  elsif c > 2\n    b = 3\n  else\n    b = c\n  end",
    ("ruby", "loop"): "b = c\n  while c > 1\n    b = @\n  end",
    ("ruby", "each"): "b = c\n  for d in g(@)\n    b = d\n  end",
}

UPDATES = {
    "java": "int b = a; b++;",
    "javascript": "let b = a; b++;",
    "go": "b := a\nb++",
    "c": "int b = a; b++;",
    "cpp": "int b = a; ++b;",
    "c_sharp": "int b = a; b++;",
    "php": "$b = $a; $b++;",
}


def programs(lang, move):
    """Return the program, the same with another name for `a`, and the same with a number in its place."""
    sign = "$" if lang == "php" else ""
    head, tail = WRAPPED[lang].format("|").split("|")
    renamed = re.sub(r"\ba(?=,|: i32| int)", "first", head)
    return (
        head + move.replace("@", f"{sign}a") + tail,
        renamed + move.replace("@", f"{sign}first") + tail,
        (head + move.replace("@", "7") + tail),
    )


@pytest.mark.parametrize(("lang", "construct"), MOVES, ids=" ".join)
def test_a_value_moves_whatever_its_name_and_not_where_it_does_not(lang, construct):
    code, renamed, cut = programs(lang, MOVES[lang, construct])
    assert len({code, renamed, cut}) == 3

    same, other, without = markbook.measure("codebleu", [code, renamed, cut], [code] * 3, lang=lang)

    for one in (same, other, without):
        assert one.stats["candidate_parses"]
        assert one.stats["dropped"] == []
    assert same.stats["syntax"] == same.stats["dataflow"] == 1.0
    assert other.stats["syntax"] == other.stats["dataflow"] == 1.0
    assert without.stats["dataflow"] < 1.0


@pytest.mark.parametrize("lang", UPDATES)
def test_an_increment_moves_a_value(lang):
    code = WRAPPED[lang].format(UPDATES[lang])
    without = code.replace("++b", "c").replace("b++", "c")

    (one,) = markbook.measure("codebleu", [without], [code], lang=lang)

    assert one.stats["dataflow"] < 1.0


def test_every_language_is_covered():
    constructs = {lang: {construct for one, construct in MOVES if one == lang} for lang in WRAPPED}

    assert all({"assigned", "augmented", "branch"} <= found for found in constructs.values())
    assert all({"loop", "counted"} & found for found in constructs.values())


@pytest.mark.parametrize("lang", [lang for lang in WRAPPED if lang != "python"])
@pytest.mark.parametrize("broken", ["", "}", "((((", "not code at all", "\0", "\ud800"])
def test_broken_code_has_a_value_or_a_reason(lang, broken):
    code = WRAPPED[lang].format(MOVES[lang, "assigned"].replace("@", "7"))

    for one in markbook.measure("codebleu", [broken, code], [code, broken], lang=lang):
        assert (one.value is None) != (one.missing is None)


@pytest.mark.parametrize("lang", WRAPPED)
def test_deep_code_is_no_crash(lang):
    head, tail = WRAPPED[lang].format("|").split("|")
    move = MOVES[lang, "assigned"].replace("@", "(" * 50_000 + "1" + ")" * 50_000)

    (one,) = markbook.measure("codebleu", [head + move + tail], [head + move + tail], lang=lang)

    assert one.value is not None
    assert one.stats["dropped"] == ["syntax", "dataflow"]
