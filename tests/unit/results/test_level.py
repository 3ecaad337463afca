"""The level of intervals and of claims stands in one place, and what is printed says the level that was used."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter

from support.exam_kit import answer, problem, write_rows
from support.paths import ROOT

from markbook.text.format import format_level
from markbook.types import CONFIDENCE, SIGNIFICANCE, Interval

SOURCE = ROOT / "src" / "markbook"
OTHER = {
    "measurements.py": {0.95: 1},  # the level itself
    "row_keys.py": {0.95: 1},  # a share of rows
    "stats/intervals.py": {0.05: 1},  # how near to an end is near
    "serve/marking.py": {0.025: 1, 0.05: 1},  # edges of a histogram of seconds
    "results/noise.py": {0.05: 1},  # differences that repeats are planned for
    "sandbox/guest/examination/examiner.py": {0.05: 1},  # seconds, and shares of them
    "sandbox/guest/execution.py": {0.05: 1},
    "sandbox/guest/zygote.py": {0.05: 1},
    "sandbox/guest/explained.py": {0.05: 1},
    "serve/rewarder.py": {0.05: 1},
    "store/journal.py": {0.05: 1},
}
"""Numbers that look like the level and are something else."""

AT_90 = """
import importlib.util, sys
from pathlib import Path
spec = importlib.util.find_spec("markbook.measurements")
source = Path(spec.origin).read_text("utf-8")
module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
exec(compile(source.replace("CONFIDENCE = 0.95", "CONFIDENCE = 0.9"), spec.origin, "exec"), module.__dict__)
from markbook.cli import main
import contextlib, io, json
said = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main(words)
    said.append(out.getvalue())
print(json.dumps(said))
"""
"""A program that does commands at another level, and says what each has printed."""


def numbers_in(path):
    return Counter(
        node.value
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value in (0.95, 0.975, 0.025, 0.05)
    )


def test_the_level_is_typed_once_and_in_no_words():
    numbers = {path.relative_to(SOURCE).as_posix(): dict(numbers_in(path)) for path in SOURCE.rglob("*.py")}
    paths = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.j2")]
    typed = {path.name for path in paths for line in path.read_text("utf-8").splitlines() if re.search(r"95 ?%", line)}

    assert {name: found for name, found in numbers.items() if found} == OTHER
    assert typed == {"format.py"}  # the example in the docstring of `format_level`
    assert CONFIDENCE + SIGNIFICANCE == 1


def test_the_words_are_those_of_the_intervals_shown():
    at_90, at_95 = Interval(0, 1, "t", 0.9), Interval(0, 1, "t")

    assert format_level([at_90, None]) == "90 %"
    assert format_level([at_90.to_record(), at_95]) == "90 % or 95 %"
    assert format_level([None]) == format_level() == f"{100 * CONFIDENCE:g} %"
    assert format_level(usual=0.999) == "99.9 %"


def call(*commands, cwd):
    words = json.dumps([[*map(str, command)] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", AT_90], input=words, capture_output=True, cwd=cwd, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    return json.loads(done.stdout)


def test_at_another_level_no_table_page_or_report_says_95(tmp_path):
    benchmark = write_rows(tmp_path / "b.jsonl", [problem(f"p{n}") for n in range(8)])
    answers = [
        answer(f"p{n}", f"def f(x):\n    return x + {int(n >= right)}\n", model)
        for model, right in (("first", 7), ("second", 4), ("third", 2))
        for n in range(8)
    ]
    solutions = write_rows(tmp_path / "s.jsonl", answers)
    exam = ("exam", "--benchmark", benchmark, "--solutions", solutions, "--isolation", "weak", "-o", tmp_path / "exam")
    call(exam, cwd=tmp_path)
    exams = next((tmp_path / "exam").rglob("run.json")).parent
    (tmp_path / "rows.jsonl").write_text(
        "".join(f'{{"candidate": "a b {n}", "reference": "a b {n % 3}"}}\n' for n in range(12)), "utf-8"
    )
    reports = [("report", exams, "--format", form, "-o", tmp_path / form) for form in ("html", "md", "latex")]
    reads = (("compare", exams), ("score", "jaccard", "rows.jsonl"), *reports, ("site", exams, "-o", tmp_path / "site"))
    printed = dict(zip(("compare", "score"), call(*reads, cwd=tmp_path), strict=False))
    pages = [path for path in tmp_path.rglob("*") if path.suffix in (".html", ".md", ".tex")]
    printed |= {path.relative_to(tmp_path).as_posix(): path.read_text("utf-8") for path in pages}

    assert len(pages) > 8
    assert [name for name, words in printed.items() if re.search(r"(?<![\d.])95(&nbsp;|\\| )*%", words)] == []
    assert all("90 % CI" in printed[name] for name in ("compare", "score", "site/index.html", "html/report.html"))
    assert '"confidence": 0.9,' in "".join(path.read_text("utf-8") for path in exams.rglob("*score*.json"))
