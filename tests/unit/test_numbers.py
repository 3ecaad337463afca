"""How numbers look in what people read: one exam shows one score alike everywhere, and one module decides it."""

from __future__ import annotations

import ast
import html
import json
import re
from pathlib import Path

import pytest
from support import review_kit
from support.exam_kit import write_rows

import markbook
from markbook.text.format import NOTHING, Scale, format_interval, format_number, format_p, format_percent
from markbook.types import Interval

SOURCE = Path(markbook.__file__).parent
TESTS = ["assert f(1) == 2", "assert f(2) == 3"]
RIGHT, WRONG = "def f(x):\n    return x + 1\n", "def f(x):\n    return 0\n"


def test_a_number_an_interval_a_share_and_a_p_have_one_form_each():
    assert [format_number(value) for value in (0.43949, 1.0, None)] == ["0.44", "1.00", NOTHING]
    assert (format_number(0.5, 1, signed=True), format_number(-0.5, 1, signed=True)) == ("+0.5", "-0.5")
    assert [format_interval(*ends) for ends in ((0.4385, 1.0), (None, 1.0), (None, None))] == [
        "[0.44, 1.00]", NOTHING, NOTHING,
    ]  # fmt: skip
    assert [format_percent(share) for share in (0.43949, None)] == ["43.9 %", NOTHING]
    assert [format_p(p) for p in (0.00001, 0.0321, 1.0, None)] == ["<.0001", ".0321", "1", NOTHING]


@pytest.mark.parametrize(("limits", "texts"), [
    ((0.0, 1.0), ("43.9", "+43.9", "[21.4, 66.7]", "43.9 [21.4, 66.7]", "+43.9 [+21.4, +66.7]")),
    ((0.0, 5.0), ("0.44", "+0.44", "[0.21, 0.67]", "0.44 [0.21, 0.67]", "+0.44 [+0.21, +0.67]")),
])  # fmt: skip
def test_a_scale_decides_by_the_range_and_an_interval_has_the_digits_of_its_value(limits, texts):
    scale, low, high = Scale(limits), 0.21429, 0.66667
    ends = Interval(low, high, "wilson")

    assert (
        scale.value(0.43949), scale.gap(0.43949), scale.spread(low, high), scale.with_interval(0.43949, ends),
        scale.with_interval(0.43949, ends, signed=True),
    ) == texts  # fmt: skip
    assert (scale.with_interval(0.43949, None), scale.with_interval(None, None)) == (texts[0], NOTHING)
    assert (scale.with_interval(0.43949, None, signed=True), scale.with_interval(None, ends, signed=True)) == (
        texts[1],
        NOTHING,
    )


@pytest.fixture(scope="module")
def exam(tmp_path_factory):
    """Return the output folder and the run of an exam of two models: 5 of 22 problems right, and 21 of 22."""
    folder = tmp_path_factory.mktemp("numbers")
    rows = [{"task_id": str(n), "entry_point": "f", "prompt": "def f(x):\n", "test": "def check(candidate):\n    assert candidate(1) == 2\n", "canonical_solution": "    return x + 1\n"} for n in range(22)]  # fmt: skip
    answers = [
        {"task_id": str(n), "model": model, "completion": "    return x + 1\n" if n < right else "    return 0\n"}
        for model, right in (("low", 5), ("high", 21))
        for n in range(22)
    ]
    args = ("exam", "--benchmark", write_rows(folder / "b.jsonl", rows), "--solutions", write_rows(folder / "a.jsonl", answers), "--output", folder / "out")  # fmt: skip
    code, said, noted = review_kit.markbook(*map(str, args))
    assert code == 0, noted
    return said, next((folder / "out").glob("evaluation_*"))


def test_one_exam_shows_a_score_and_its_interval_alike_in_every_place(exam, tmp_path):
    said, run = exam
    # 5 of 22 is 22.727..., by Wilson 10.12 to 43.44; the documented files have 22.73.
    score, interval = "22.7", "[10.1, 43.4]"
    _, compared, _ = review_kit.markbook("compare", str(run))
    review_kit.markbook("site", str(run), "--output", str(tmp_path / "site"))
    page = html.unescape((run / "report.html").read_text(encoding="utf-8"))

    board = html.unescape((tmp_path / "site" / "index.html").read_text(encoding="utf-8"))
    places = {"exam": said, "compare": compared, "page": page, "site": board}
    for name, text in places.items():
        assert re.search(rf"(?<![\d.]){re.escape(score)}(?![\d%])", text), name
        assert interval in text, name
    document = (run / "low" / "evaluation_summary.md").read_text(encoding="utf-8")
    assert "22.73 %" in document
    assert "[10.12, 43.44] (wilson)" in document
    assert json.loads((run / "low" / "test_results_score.json").read_text())["total"] == 22.73


def test_one_task_shows_a_score_and_its_interval_alike_in_every_place(tmp_path):
    # Right, right, wrong: 2 of 3, by Wilson 20.8 to 93.9.
    rows = write_rows(tmp_path / "rows.jsonl", [{"id": str(n), "q": "?", "a": "a"} for n in range(3)])
    (tmp_path / "t.yaml").write_text(
        f"name: t\nversion: 1\ndata: {{path: {rows.name}, id: id}}\nprompt: '{{{{ q }}}}'\nreference: '{{{{ a }}}}'\n"
        "metrics: [exact_match, rougeL]\n"
    )
    answers = write_rows(
        tmp_path / "a.jsonl", [{"id": str(n), "text": text} for n, text in enumerate(("a", "a", "a b"))]
    )
    code, said, noted = review_kit.markbook(
        "run", str(tmp_path / "t.yaml"), "--predictions", str(answers), "--output", str(tmp_path / "out")
    )
    assert code == 0, noted
    (run,) = (tmp_path / "out").glob("evaluation_*")
    page = html.unescape((run / "report.html").read_text(encoding="utf-8"))
    _, attempt, _ = review_kit.markbook("show", str(run), "2")

    for name, text in {"run": said, "page": page, "summary.md": (run / "summary.md").read_text()}.items():
        assert re.search(r"66\.7(?![\d%])", text), name
        assert "[20.8, 93.9]" in text, name
        assert "0.667" not in text, name
    assert "(exact_match 0.0, rougel 66.7)" in attempt
    # One of two words is right, and that is all of the reference.
    assert "precision 50.0 %, recall 100.0 %" in page
    assert json.loads((run / "summary.json").read_text())["tasks"]["t"]["metrics"]["exact_match"]["value"] == 2 / 3


def test_reviews_of_two_systems_share_the_scale_of_a_metric():
    from markbook.runs.reviews.reports import metric_scale

    def summary(*ends):
        return {"systems": {str(end): {"metrics": {"tier1.time_score": {"range": [0.0, end]}}} for end in ends}}

    assert metric_scale(summary(1.0), "tier1.time_score").value(0.5) == "50.0"
    # The documented formula leaves 0..1 for one of the two.
    assert metric_scale(summary(1.0, 1.3), "tier1.time_score").value(0.5) == "0.50"
    assert metric_scale(summary(1.0), "tier1.execution_time").value(5.0) == "5.00"


def test_what_is_not_there_is_one_sign(tmp_path):
    from markbook.cli.exam_terminal import _score_table

    record = {"total": None, "statistics": {"total": {"interval": None, "attempted_score": None}}, "summary": {"solutions_provided": 0, "total_problems": 1}, "verdicts": {"separated_share": None}}  # fmt: skip
    (cells,) = _score_table({"m": record}, {}).rows

    assert cells == ("m", NOTHING, NOTHING, NOTHING, "0/1", NOTHING)


SHOWS = ("cli", "report", "results", "runs", "judge", "testing.py", "text/format.py", "text/table.py")
"""What people read is written there."""
NO_SCORES = {"report/charts.py", "cli/trace/page.py", "cli/options.py"}
"""Coordinates, a trace's seconds, and prices."""
ELSEWHERE = re.compile(
    r"second|start|began|latency|cost|rate|target|time|share|width|height|len\(|done|total|REVIEW_CHARS"
)
"""Seconds, costs, progress and lengths are not scores."""


def test_no_second_place_decides_how_a_score_looks():
    """An f-string that formats a score by itself would show it another way than the place beside it."""
    own = []
    for room in SHOWS:
        paths = (SOURCE / room).rglob("*.py") if (SOURCE / room).is_dir() else [SOURCE / room]
        for path in paths:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
                    spec, value = ast.unparse(node.format_spec), ast.unparse(node.value)
                    name = str(path.relative_to(SOURCE))
                    if re.search(r"\.\d[f%]", spec) and not ELSEWHERE.search(value) and name not in NO_SCORES:
                        own.append(f"{name}:{node.lineno}: {value}")

    assert own == []
