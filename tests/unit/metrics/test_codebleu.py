"""CodeBLEU: parts, repairs, languages, and equality with the package that most people use."""

import json
import re
import sys
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st
from support.codebleu_kit import ADD, score

import markbook
from markbook.cli import main
from markbook.errors import MarkbookError
from markbook.metrics.code import codebleu, parsers

RENAMED = "def plus(x, y):\n    result = x + y\n    return result\n"


def test_identical_code_scores_one():
    assert score(ADD, ADD).value == pytest.approx(1.0, abs=1e-12)


def test_renaming_keeps_syntax_and_data_flow():
    found = score(RENAMED, ADD)

    assert found.stats["syntax"] == 1.0
    assert found.stats["dataflow"] == 1.0
    assert found.value < 1.0


def test_an_empty_candidate_scores_zero_and_not_a_quarter():
    assert score("", ADD).value == 0.0


def test_a_reference_without_data_flow_drops_that_part_and_scales_the_weights():
    found = score("pass", "pass")

    assert found.stats["dropped"] == ["dataflow"]
    assert "dataflow" not in found.stats
    assert sum(found.stats["weights"].values()) == pytest.approx(1.0)


def test_a_candidate_equal_to_one_of_two_references_scores_one():
    assert score(ADD, ["x = 1\ny = x\n", ADD]).value == pytest.approx(1.0, abs=1e-12)


def test_an_empty_reference_is_missing():
    assert score(ADD, "").missing.kind == "undefined"


def test_words_that_do_not_parse_share_no_syntax():
    found = score("some rannnndom words in length more than 3", "def test ( ) :\n pass")

    assert found.value == 0.0
    assert found.stats["candidate_parses"] is False


def test_the_documented_profile_is_plain_bleu():
    plain = markbook.measure("bleu", [ADD], [RENAMED], convention="hf")[0]

    assert score(ADD, RENAMED, profile="documented").value == plain.value


@pytest.mark.parametrize("options", [{"lang": "cobol"}, {"weights": (1, 2)}, {"profile": "x"}])
def test_impossible_options_are_refused(options):
    with pytest.raises(MarkbookError):
        score(ADD, ADD, **options)


LOOPS = {
    "java": "class A { int f(int n) { int s = 0; for (int i = 0; i < n; i++) { s = s + i; } return s; } }",
    "javascript": "function f(n) { let s = 0; for (let i = 0; i < n; i++) { s = s + i; } return s; }",
    "go": "package a\nfunc f(n int) int { s := 0\nfor i := 0; i < n; i++ { s = s + i }\nreturn s }",
    "c": "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { s = s + i; } return s; }",
    "cpp": "int f(int n) { int s = 0; for (int i = 0; i < n; i++) { s = s + i; } return s; }",
    "rust": "fn f(n: i32) -> i32 { let mut s = 0; for i in 0..n { s = s + i; } s }",
    "c_sharp": "class A { int f(int n) { int s = 0; for (int i = 0; i < n; i++) { s = s + i; } return s; } }",
    "php": "<?php function f($n) { $s = 0; for ($i = 0; $i < $n; $i++) { $s = $s + $i; } return $s; }",
    "ruby": "def f(n)\n  s = 0\n  i = 0\n  while i < n\n    s = s + i\n    i += 1\n  end\n  s\nend",
    "python": "def f(n):\n    s = 0\n    for i in range(n):\n        s = s + i\n    return s",
}


@pytest.mark.parametrize("lang", sorted(LOOPS))
def test_every_language_has_a_data_flow_that_sees_the_sum(lang):
    code = LOOPS[lang]
    same, other = (
        score(code, code, lang=lang),
        score(code.replace("+ i", "+ n").replace("+ $i", "+ $n"), code, lang=lang),
    )

    assert same.value == pytest.approx(1.0, abs=1e-12)
    assert same.stats["dropped"] == []
    assert other.stats["syntax"] == 1.0
    assert other.stats["dataflow"] < 1.0


CONSTRUCTS = r"""
x = [i for i in y if (i)]
a, b = f(x)
a.b = c + d
a[i] = [x for x in y]
a.b = "text"
a.b = c.d = x
a[(b, c)] = (d, e)
x, y = y, x
x = *a, b
(x) = 1
((x, y), z) = q
x: list[int] = []
x: int
x += (y)
def f(a, /, b=1, *c, d: int = 2, **e) -> tuple[int, ...]: return (a)
def f(a=[], b=(), c=d): return a, b, c
def f(*args: *Ts): pass
class A(): pass
class A(B, metaclass=C): x = 1
@a.b(c)\nasync def f():\n  async with a as b, c: await d
for i, x in enumerate(y): pass
for x in y:\n  break\nelse:\n  z = x
while x: x = f(x)
if a: b = 1\nelif c: b = 2\nprint(b)
if (\n  # why\n  a\n): pass
print ((a), (b))
f(x for x in y)
f((x for x in y))
foo\n(a).b()
x = (  # note (here\n  a, "(")
x = [  # note\n  (a)]
x = f(\n  (a))
x = lambda a, *b, c=1: (yield)
x = a if b else not c
x = a not in b is not c < d
x = -1 ** ~2
x = {**a, "b": 1}
x = a[1:2, ::3][b][...]
try:\n  pass\nexcept (A, B) as c:\n  pass\nexcept:\n  raise D from c\nelse:\n  pass\nfinally:\n  pass
with (a, b): pass
import a.b as c, d
from ..a import (b as c, d)
from . import *
global x, y
del a, b[0]
assert x, "y"
x = 'a' "b" 'c'
y = b'd' b"e"
x = '\s \t' r'\t'
x = f'a{b!r:>{c}}' 'd' f"{e}\t{{"
x = (y := 3), 1_000, 0xFF, 1e5, 1j, None, True, ...
x = a + \\n  b
match (x):\n case [a, *_] | {'a': 1, **r}: pass\n case A(b, c=-1) if d: pass\n case e, f.g: pass\n case (h, 1+2j): pass
"""


def _inner(node):
    """Return the node and every node in it that has children."""
    return [node, *(inner for child in node.children if child.child_count for inner in _inner(child))]


@pytest.mark.parametrize("code", [ADD, RENAMED, LOOPS["python"], *CONSTRUCTS.strip().split("\n")])
def test_sub_trees_are_alike_where_their_s_expressions_are(code):
    code = code.replace(r"\n", "\n")
    bare = re.sub(r"  # .*", "", code)  # comments are no part of what is compared

    tree = parsers.language("python").parser.parse(bare.encode())
    told = Counter(str(node) for node in _inner(tree.root_node))

    found = codebleu.CodeReader("python").candidate(code)
    assert found.parses
    assert sorted(found.syntax.values()) == sorted(told.values())


def test_a_comment_and_a_docstring_are_no_part_of_the_syntax_or_the_flow():
    noted = 'def add(a, b):\n    """Add."""\n    # sum\n    total = a + b\n    return total\n'

    one = score(noted, ADD)

    assert one.stats["syntax"] == one.stats["dataflow"] == 1.0
    assert score(ADD, noted).stats["syntax"] == 1.0


def test_without_the_extra_the_install_line_is_named(monkeypatch, tmp_path, capsys):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"candidate": ADD, "reference": ADD}) + "\n", "utf-8")
    monkeypatch.setitem(sys.modules, "tree_sitter_python", None)
    parsers.language.cache_clear()
    parsers.version.cache_clear()

    with pytest.raises(SystemExit, match="3"):
        main(["score", "codebleu", str(file)])

    assert "this needs the package 'tree_sitter_python' (pip install 'markbook[code]')" in capsys.readouterr().err


def _rows(shared_data):
    path = shared_data / "metric-fixtures" / "code.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if any(one.strip() for one in row["references"]) and len(row["references"]) == 1]


TABS = {"s-code-0160"}
"""The package's comment remover writes a tab as spaces beside the indent, and so takes the code apart."""
NON_ASCII = {"s-code-0161"}
"""The package reads characters by byte places, and finds no data flow in such code."""
OTHER_GRAMMAR = {"s-code-0190", "s-code-0194", "s-code-0195", "s-code-0210", "s-code-0221"}
"""Code that does not parse, which the grammar of the stored values (0.21) mends in another way than 0.25."""
COMMENTS_LEFT = {"s-code-0192"}
"""An unclosed bracket stops the package's comment remover; comments and docstring then count as code."""


def _is(value, expected):
    return value == pytest.approx(expected, abs=1e-9)


def test_parts_equal_the_package_but_in_eight_rows_each_for_a_known_reason(shared_data):
    rows = _rows(shared_data)
    texts = [row["candidate"] for row in rows], [row["references"] for row in rows]
    syntax, flow = set(), set()

    for row, one in zip(rows, markbook.measure("codebleu", *texts), strict=True):
        told = row["expected"]["codebleu"]
        assert _is(one.stats["ngram"], told["ngram_match_score"])
        assert _is(one.stats["weighted_ngram"], told["weighted_ngram_match_score"])
        if not _is(one.stats["syntax"], told["syntax_match_score"]):
            syntax.add(row["id"])
        if not any(_is(one.stats.get("dataflow", 0.0), value) for value in told["dataflow_values_over_8_hash_seeds"]):
            flow.add(row["id"])

    assert len(rows) > 90
    assert syntax == TABS | COMMENTS_LEFT | OTHER_GRAMMAR - {"s-code-0195"}
    assert flow - RANDOM == NON_ASCII | COMMENTS_LEFT | {"s-code-0190", "s-code-0195"}


@pytest.mark.parametrize("lang", ["python", "java"])
def test_values_equal_those_that_the_package_tests_itself_by(shared_data, lang):
    cases = json.loads((shared_data / "text-metrics" / "codebleu_k4black.json").read_text("utf-8"))[lang]
    for case in cases:
        found = score(case["prediction"], case["reference"], lang=lang)

        if "rannnndom" in case["prediction"]:  # .25 there, because a data flow of 0 counts as 1
            assert found.value == 0.0
        else:
            assert found.value == pytest.approx(case["codebleu"], rel=0.01)


TASK_65 = {("codellama", "output_0"), ("codellama", "output_3"), ("meta-llama", "output_0"), ("meta-llama", "output_3")}
"""Its reference is indented with tabs (see `TABS`)."""


def test_parts_equal_eighty_published_values_but_where_the_package_differs_from_itself(shared_data):
    path = shared_data / "text-metrics" / "tpc_ees_code_pairs.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [row["prediction"] for row in rows], [row["reference"] for row in rows]
    syntax, flow = set(), set()

    for row, one in zip(rows, markbook.measure("codebleu", *texts), strict=True):
        name = (row["model"], row["task_id"], row["output"])
        assert _is(one.stats["ngram"], row["ngram_match_score"])
        assert _is(one.stats["weighted_ngram"], row["weighted_ngram_match_score"])
        if not _is(one.stats["syntax"], row["syntax_match_score"]):
            syntax.add(name)
        if not _is(one.stats["dataflow"], row["dataflow_match_score"]):
            flow.add(name)

    assert syntax == {("codellama", 18, "output_0")}  # prose and code, mended in another way
    other_grammar = {("meta-llama", 20, "output_0")}
    assert flow == {(model, 65, output) for model, output in TASK_65} | other_grammar | RANDOM_PUBLISHED


RANDOM = {"s-code-0209"}
"""Rows where eight hash seeds gave the package several values, and ours is not among them."""
RANDOM_PUBLISHED = {
    *(("codellama", 18, "output_3"), ("codellama", 57, "output_0"), ("codellama", 61, "output_0")),
    *(("meta-llama", 20, "output_3"), ("meta-llama", 57, "output_3"), ("meta-llama", 61, "output_0")),
    *(("meta-llama", 63, "output_3"), ("meta-llama", 68, "output_3")),
}
"""Rows where the package's value depends on the hash seed; ours is one of those that it gives under 24 seeds."""


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_score_between_zero_and_one_or_are_missing(candidate, reference):
    found = score(candidate, reference)

    assert (found.value is None) != (found.missing is None)
    assert found.value is None or 0.0 <= found.value <= 1.0


def test_deep_nesting_is_no_crash():
    deep = "x = " + "-" * 5000 + "1"

    assert score(deep, ADD).value is not None
    assert score(ADD, deep).value is not None


@pytest.mark.parametrize("loops", [15, 19, 40])
def test_loops_in_loops_do_not_take_for_ever(loops):
    heads = "".join("    " * i + f"while name{i} < {i}:\n" for i in range(loops))
    code = heads + "    " * loops + "name0 = name1\n"

    found = markbook.measure("codebleu", [code], [code])[0]

    assert found.stats["dropped"] == []
    assert found.value == 1.0


@pytest.mark.parametrize("code", ["x = " + "(" * 150 + "y" + ")" * 150, "x = " + " + ".join(["y"] * 3000)])
def test_deep_programs_have_a_value(code):
    assert markbook.measure("codebleu", [code], [code])[0].value is not None


def test_phps_foreach_moves_values_although_its_grammar_names_no_field():
    code = "<?php foreach ($rows as $row) { $last = $row; }"

    assert markbook.measure("codebleu", [code], [code], lang="php")[0].stats["dataflow"] == 1.0
    other = code.replace("$rows", "[]")
    assert markbook.measure("codebleu", [other], [code], lang="php")[0].stats["dataflow"] < 1.0


def test_php_without_its_opening_tag_is_php_all_the_same():
    code = "function f($a) { $b = $a + 1; return $b; }"

    found = markbook.measure("codebleu", ["<?php " + code], [code], lang="php")[0]
    assert found.stats["syntax"] == found.stats["dataflow"] == 1.0


def test_a_c_sharp_declaration_moves_a_value():
    code = "class A { int f(int a) { int b = a; return b; } }"
    renamed = code.replace("b", "c")

    assert markbook.measure("codebleu", [renamed], [code], lang="c_sharp")[0].stats["dataflow"] == 1.0
    assert markbook.measure("codebleu", [code.replace("= a", "= 7")], [code], lang="c_sharp")[0].stats["dataflow"] < 1.0
