"""Rules of reports that have one place: a second copy of any of them fails here."""

import re

import pytest
from support.paths import ROOT

from markbook.report.html import environment
from markbook.results.sheet import find_status

SOURCE = ROOT / "src" / "markbook"
TERMINALS = {"cli/trace/terminal.py"}
"""Commands whose terminal tables have columns of their own making; others use `text.Table`."""


def modules_with(pattern):
    paths = (path for path in SOURCE.rglob("*.py") if re.search(pattern, path.read_text("utf-8")))
    return {path.relative_to(SOURCE).as_posix() for path in paths}


def test_every_html_page_is_rendered_by_one_environment_that_escapes():
    assert modules_with(r"(?<!\w)Environment\(") == {"report/html.py"}
    assert modules_with(r"(?<!\w)Markup\(") == {"report/html.py"}
    assert environment().autoescape is True
    assert environment().from_string("{{ words }}").render(words="<b>\x1b") == "&lt;b&gt;\\x1b"


def test_markdown_and_terminal_tables_are_laid_out_in_one_place():
    assert modules_with(r'---\|"|\| ---') == {"text/table.py"}
    assert modules_with(r"rich\.table") - TERMINALS == {"text/table.py"}


def test_every_run_is_watched_and_every_table_printed_by_one_terminal():
    assert modules_with(r"(?<!\w)Console\(") - TERMINALS == {"cli/terminal.py", "text/table.py"}
    assert {name for name in modules_with(r"\(Watcher\)") if name.startswith("cli/")} == {"cli/terminal.py"}
    assert modules_with(r"def on_interrupt|def did\(") == {"cli/terminal.py", "runs/kind.py"}


@pytest.mark.parametrize(
    ("name", "place"),
    [("MOST_BYTES = 2_500_000", "report/page.py"), ("Literal\\[.passed., .scored.", "results/sheet.py")],
)
def test_the_cap_of_a_page_and_the_words_for_an_attempt_are_said_once(name, place):
    assert modules_with(name) == {place}


def test_a_status_is_returned_by_one_function():
    assert modules_with(r'"(?:scored|partial)" if .* else|return "(?:scored|partial|absent|empty)"') == {
        "results/sheet.py"
    }


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        ({"all_passed": True}, "passed"),
        ({"all_passed": False, "any_passed": True}, "partial"),
        ({"all_passed": False}, "failed"),
        ({}, "scored"),
        ({"is_complete": False}, "partial"),
        ({"is_empty": True, "all_passed": False}, "empty"),
        ({"is_broken": True, "is_empty": True}, "error"),
        ({"is_absent": True, "is_broken": True}, "absent"),
    ],
)
def test_the_word_for_an_attempt(facts, status):
    assert find_status(**facts) == status


def test_no_template_formats_a_number_by_itself():
    templates = [*(SOURCE / "report" / "templates").rglob("*.j2"), *(SOURCE / "cli").rglob("*.j2")]

    assert len(templates) > 10
    assert [path.name for path in templates if re.search(r'"%|:\.\d|round\(', path.read_text("utf-8"))] == []
