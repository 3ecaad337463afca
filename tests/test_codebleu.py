"""CodeBLEU: parts, repairs, languages, and equality with the package that most people use."""

import json

import pytest
from hypothesis import given, settings, strategies as st

import markbook
from markbook.errors import MarkbookError
from markbook.metrics._code_flow import edges
from markbook.metrics._code_grammars import GRAMMARS
from markbook.metrics._code_parsers import parse
from markbook.metrics._code_tree import subtrees
from markbook.metrics.codebleu import _python

ADD = "def add(a, b):\n    total = a + b\n    return total\n"
RENAMED = "def plus(x, y):\n    result = x + y\n    return result\n"


def score(candidate, references, **options):
    return markbook.measure("codebleu", [candidate], [references], **options)[0]


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


@pytest.mark.parametrize("options", [{"lang": "cobol"}, {"weights": (1, 2)}, {"parser": "x"}, {"profile": "x"}])
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


@pytest.mark.parametrize("candidate", [ADD, RENAMED, LOOPS["python"], "x = [i for i in y if (i)]", "a, b = f(x)"])
def test_ast_and_tree_sitter_give_one_tree(candidate):
    mine = _python(candidate)
    theirs = parse("python", candidate)

    assert subtrees(mine) == subtrees(theirs)
    assert edges(mine, GRAMMARS["python"]) == edges(theirs, GRAMMARS["python"])


def _rows(shared_data):
    path = shared_data / "metric-fixtures" / "code.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if any(one.strip() for one in row["references"]) and len(row["references"]) == 1]


# The package reads characters by byte offset (unicode) and mends tabs and broken code by another grammar version.
BENT = {"tabs", "unicode-identifiers"}


@pytest.mark.parametrize("parser", ["ast", "tree-sitter"])
def test_parts_equal_the_package_where_it_is_well_defined(shared_data, parser):
    rows = _rows(shared_data)
    found = markbook.measure(
        "codebleu", [row["candidate"] for row in rows], [row["references"] for row in rows], parser=parser
    )

    compared = 0
    for row, one in zip(rows, found, strict=True):
        told = row["expected"]["codebleu"]
        assert one.stats["ngram"] == pytest.approx(told["ngram_match_score"], abs=1e-9)
        assert one.stats["weighted_ngram"] == pytest.approx(told["weighted_ngram_match_score"], abs=1e-9)
        if row["expected"]["ast_facts"].get("parses") and not BENT & set(row["tags"]):
            compared += 1
            assert one.stats["syntax"] == pytest.approx(told["syntax_match_score"], abs=1e-9)
            if told["deterministic"]:
                assert one.stats.get("dataflow", 0.0) == pytest.approx(told["dataflow_match_score"], abs=1e-9)
    assert compared > 40


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


@pytest.mark.parametrize("parser", ["ast", "tree-sitter"])
@pytest.mark.parametrize("loops", [15, 19, 40])
def test_loops_in_loops_drop_the_data_flow_in_place_of_taking_for_ever(parser, loops):
    heads = "".join("    " * i + f"while name{i} < {i}:\n" for i in range(loops))
    code = heads + "    " * loops + "name0 = name1\n"

    found = markbook.measure("codebleu", [code], [code], parser=parser)[0]

    assert found.stats["dropped"] == ["dataflow"]
    assert found.value == 1.0


@pytest.mark.parametrize("parser", ["ast", "tree-sitter"])
@pytest.mark.parametrize("code", ["x = " + "(" * 150 + "y" + ")" * 150, "x = " + " + ".join(["y"] * 3000)])
def test_deep_programs_have_a_value(parser, code):
    assert markbook.measure("codebleu", [code], [code], parser=parser)[0].value is not None


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
