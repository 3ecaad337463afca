"""What a report has for papers: charts as files, tables in LaTeX."""

import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner
from support.load import PATIENCE
from support.payloads import HTML

from markbook.cli.report import command
from markbook.text import Table
from markbook.text.escape import latex
from markbook.text.table import latex_table

LATEX = [
    r"\input{/etc/passwd}",
    r"\write18{rm -rf}",
    "}\\end{tabular}\\input x{",
    "$x$",
    "50% off & more #1_2^3~",
    "a\\\\b",
    "[1]",
    "\n\nx",
    "---",
    "``x''",
]


def report(run, *args):
    return CliRunner().invoke(command, [str(run.folder), *map(str, args)], standalone_mode=False)


def test_every_chart_of_a_report_is_a_file(exam_run, tmp_path):
    pytest.importorskip("vl_convert")
    found = report(exam_run(attempts=2), "--figures", tmp_path / "figures")

    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    stems = {"scores", "differences", "topic", "complexity", "problem-type", "passes", "errors"}
    assert names == sorted(f"{stem}.{kind}" for stem in stems for kind in ("svg", "png"))
    assert found.return_value == 0
    for path in (tmp_path / "figures").glob("*.svg"):
        drawn = path.read_text(encoding="utf-8")
        assert ET.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
        assert "currentColor" not in drawn
    assert (tmp_path / "figures" / "scores.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_tables_in_latex_hold_the_reports_numbers(exam_run, tmp_path):
    run = exam_run()
    report(run, "--format", "latex", "--output", tmp_path)
    text = (tmp_path / "report.tex").read_text(encoding="utf-8")
    score = run  # the page's own first table
    from markbook.results.kind import open_results

    first = open_results(score).page().sections[0].tables[0]
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") >= 4
    assert rf"{first.rows[0][0]} & {first.rows[0][1]} & " in text
    assert r"\label{tab:scores}" in text
    assert text.splitlines()[2].startswith("% ")


@pytest.mark.parametrize("words", [*LATEX, *HTML[::5]])
def test_foreign_words_are_no_latex(words):
    import re

    said = latex(words)
    plain = re.sub(r"\\text[a-z]+\{\}|\\[{}$&#%_]|\{[-@\[\]]\}|\$-\$", "", said)

    assert not set(plain) & set("\\{}$&#%_^~")
    assert "\n" not in said


def test_hostile_tables_are_set_by_latex_itself(tmp_path):
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex is installed")
    rows = tuple((words, words) for words in LATEX)
    head = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{textcomp,booktabs}\begin{document}"
    (tmp_path / "t.tex").write_text(head + latex_table(Table("t", ("a", "b"), rows), "t") + r"\end{document}")
    done = subprocess.run(
        [program, "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0
