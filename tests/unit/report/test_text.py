"""Hostile words stay words."""

import csv
import io
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given, strategies as st
from rich.console import Console

from markbook import text
from markbook.text.table import Spot, Table, plot

ATTACKS = [
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://a.test/x.png)",
    "a | b | c",
    "line\nbreak\r\nagain",
    "`code` ``` fence",
    '=HYPERLINK("http://a.test")',
    "@team &lt;b&gt; https://a.test www.a.test",
    "</script><script>alert(1)</script>",
    "\ud800 half",
    "\u2028\u2029",
]


def test_terminal_spells_out_controls_and_direction_changes():
    assert text.terminal("a\x1b[31mred\x07\u202e\n\tb") == "a\\x1b[31mred\\x07\\u202e  b"


@pytest.mark.parametrize("name", ["gpt-4_turbo", "Qwen2.5-Coder (32B), v1", "Ünïcode 模型 🙂", "a.b/c:d"])
def test_ordinary_names_come_out_unchanged(name):
    assert text.markdown(name) == name
    assert text.terminal(name) == name
    assert text.csv_cell(name) == name


@given(st.text() | st.sampled_from(ATTACKS))
@example("\ua7cb")  # not assigned in Python 3.11's Unicode: found by luck, kept
@example("\u0378\u0530\ufdd0\U0003fffe")
def test_terminal_text_is_one_printable_line(words):
    shown = text.terminal(words)

    assert all(char.isprintable() or char.isspace() or char in "\u200c\u200d" for char in shown)
    assert len((shown + "x").splitlines()) == 1
    shown.encode()


INTERVAL = re.compile(r"(?<![\]\[!\\])\[[-+]?\d[\d.]*%?, [-+]?\d[\d.]*%?\](?![(\[:])")


@given(st.text() | st.sampled_from(ATTACKS))
@example("[1, 2](x) [1, 2][x] [1, 2]: x ![1, 2] \\[1, 2] [^1, 2]")
def test_markdown_text_holds_no_markup(words):
    shown = text.markdown(words)

    assert "\n" not in shown
    assert "<" not in shown
    unescaped = re.sub(r"(?<=\w)@\d+(?![\w.])", "", INTERVAL.sub("", shown.replace("\\\\", "")))
    for mark in "`*[]|$@#":
        assert all(unescaped[at - 1] == "\\" for at in range(len(unescaped)) if unescaped[at] == mark)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("- item", "\\- item"),
        ("85.0", "85.0"),
        ("-0.5", "-0.5"),
        ("+12.5 [-1.0, 26.0]", "+12.5 [-1.0, 26.0]"),
        ("[78.2, 90.0]", "[78.2, 90.0]"),
        ("[78.2, 90.0](x)", "\\[78.2, 90.0\\](x)"),
        ("[a, b]", "\\[a, b\\]"),
        ("---", "\\---"),
        ("===", "\\==="),
        ("1)", "1\\)"),
        ("1. item", "1\\. item"),
        ("a|b", "a\\|b"),
        ("<b>", "&lt;b&gt;"),
        ("&lt;", "&amp;lt;"),
        ("R&D", "R&D"),
        ("pass@1, pass@10", "pass@1, pass@10"),
        ("a@1.test @1 a@b", "a\\@1.test \\@1 a\\@b"),
        ("_emphasis_ and snake_case", "\\_emphasis\\_ and snake_case"),
        ("https://a.test", "https\\://a.test"),
        ("*bold*", "\\*bold\\*"),
    ],
)
def test_markdown_escapes_what_would_be_markup(words, wanted):
    assert text.markdown(words) == wanted


@given(st.text(alphabet="`a| ", max_size=20))
def test_inline_code_has_a_fence_of_its_own(words):
    code = text.markdown_code(words)

    fence = code[: len(code) - len(code.lstrip("`"))]
    inside = code[len(fence) : -len(fence)]
    assert fence not in re.findall("`+", inside)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\uff1d1"])
def test_formulas_are_quoted_and_numbers_are_not(cell):
    assert str(text.csv_cell(cell)).startswith("'")
    assert text.csv_cell(-1.5) == -1.5
    assert text.csv_cell(None) is None


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d"])
@pytest.mark.parametrize("before", ["a;", "a;b;", "a\n", "a\t", 'a;"', 'a;""'])
def test_no_formula_begins_within_a_cell_for_a_spreadsheet_that_separates_otherwise(before, sign):
    sheet = io.StringIO()
    csv.writer(sheet, lineterminator="\n").writerow(["first", text.csv_cell(f"{before}{sign}1+1"), "last"])

    parts = re.split("[;\t\n]", sheet.getvalue())
    assert not any(part.lstrip('"').startswith(sign) for part in parts)


@pytest.mark.parametrize("cell", ["a; b", "for (i = 0; i < 9; i++)", "x;y;z", "a\n  -1", "a = b;"])
def test_cells_in_which_no_formula_begins_stay_as_they_are(cell):
    assert text.csv_cell(cell) == cell


@pytest.mark.parametrize("words", ATTACKS)
def test_csv_and_xml_read_back(words):
    sheet = io.StringIO()
    csv.writer(sheet).writerow([text.csv_cell(words), "after"])
    assert next(csv.reader(io.StringIO(sheet.getvalue())))[1] == "after"

    node = ET.Element("a", {"b": text.xml(words)})
    node.text = text.xml(words)
    assert ET.fromstring(ET.tostring(node)).tag == "a"


def test_cut_marks_what_was_cut():
    assert text.terminal("abcdef", limit=4) == "abc…"
    assert text.terminal("abcd", limit=4) == "abcd"


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_cell_of_a_table_is_lost_on_a_narrow_terminal(width):
    names = ("claude-3-opus", "starcoder2-15b", "phi-2-instruct", "gpt-4_2023-06", "codellama-34b-instruct")
    rows = tuple(
        (name, *(f"{at}{column}7" for column in range(5)), "not distinguishable") for at, name in enumerate(names)
    )
    table = Table("Wins", ("Row beats column", *names, "Verdict"), rows, numeric=frozenset(range(1, 6)))
    console = Console(width=width, file=io.StringIO(), color_system=None)

    console.print(table.rich())

    lines = console.file.getvalue().splitlines()
    cells = [line.split() for line in lines]
    assert max(map(len, lines)) <= width
    assert all(sum(f"{at}{column}7" in line for line in cells) == 1 for at in range(5) for column in range(5))


def test_a_dot_stands_where_its_value_lies_between_the_ends():
    rows = plot("Score", [Spot("a", 3.0), Spot("b", 6.0, 4.0, 9.0), Spot("c", None)], (2.0, 6.0), width=9).rows

    assert [row[2] for row in rows] == ["  o", "    |---o", ""]
