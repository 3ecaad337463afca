"""What must not change the figures of a report or a comparison, in whatever form they are printed: order, names, format, direction, a twin, a gap."""

import csv
import html
import io
import json
import re
import shutil

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from support.review_kit import markbook
from test_results_laws import ANSWERS, SHARES, mark, sheets, write_table

from markbook.report.exports import render_report
from markbook.results.comparison import compare_sheet, headline, tables
from markbook.results.kind import open_results
from markbook.results.sheet import Cell, Sheet
from markbook.store import open_run

FORMS = ("md", "html", "latex", "csv", "json", "junit", "every-eval-ever")
LAW = settings(
    max_examples=10,
    phases=(Phase.generate,),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?![\w.]*\w)")


@st.composite
def scores(draw, models=("A", "B", "C")):
    """Return rows of a table: some models' marks of some items, two of which all have; others may be missing."""
    items = [f"q{letter}" for letter in "abcdefgh"[: draw(st.integers(3, 8))]]
    rows = []
    for place, item in enumerate(items):
        for model in models:
            mark = draw(SHARES if place < 2 else st.one_of(SHARES, SHARES, st.none()))
            rows.append({"item": item, "model": model, "score": mark})
    return rows


def texts(path, form):
    """Return the files of a report by name, as text."""
    made = render_report(form, open_results(open_run(path)))
    made = {name: text for name, text in made.items() if not isinstance(text, bytes)}  # pictures
    return {name: text if isinstance(text, str) else "".join(text) for name, text in made.items()}


def without_pictures(page):
    """Return what a page says in words and tables."""
    page = re.sub(r"<(style|script|svg|head)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def sorted_json(value):
    if isinstance(value, dict):
        return {key: sorted_json(one) for key, one in sorted(value.items())}
    if isinstance(value, float):
        return round(value, 9)  # sums in another order differ in their last digit
    return sorted(map(sorted_json, value), key=json.dumps) if isinstance(value, list) else value


def figures(form, files):
    """Return what a report says whatever the order: its numbers and verdicts, rows or cases, sorted."""
    found = {}
    for name, text in files.items():
        if form == "json":
            found[name] = sorted_json(json.loads(text))
        elif form in ("csv", "junit"):
            found[name] = sorted(text.splitlines())
        elif form == "every-eval-ever":
            lines = text.splitlines() if name.endswith("jsonl") else [text]
            found[name] = sorted(json.dumps(sorted_json(json.loads(line)), sort_keys=True) for line in lines)
        else:
            words = without_pictures(text) if form == "html" else text
            found[name] = (
                sorted(NUMBER.findall(words)),
                sorted(re.findall(r"is better|differ significantly|distinguishable", words)),
            )
    return found


def all_figures(folder, rows):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (path,) = write_table(folder, "jsonl", rows)
    return {each: figures(each, texts(path, each)) for each in FORMS}


def replaced(value, words):
    """Return a structure with words exchanged for others in all of its texts and keys."""
    text = json.dumps(value)
    return json.loads(re.sub("|".join(words), lambda one: words[one.group()], text))


@given(scores(), st.randoms(use_true_random=False))
@LAW
def test_the_order_of_rows_changes_no_figure_of_any_report(tmp_path, rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)

    # Times and digests of the file itself are not figures of its content.
    one, other = (without_digests(all_figures(tmp_path / "x", each)) for each in (rows, shuffled))

    assert one == other


def without_digests(value):
    return json.loads(re.sub(r"\b[0-9a-f]{32,}\b", "digest", json.dumps(value)))


@given(scores())
@LAW
def test_other_ids_change_no_figure_of_any_report(tmp_path, rows):
    words = {f"q{letter}": f"z{letter}" for letter in "abcdefgh"}
    renamed = [{**row, "item": words[row["item"]]} for row in rows]

    one = without_digests(all_figures(tmp_path / "x", rows))
    other = without_digests(all_figures(tmp_path / "x", renamed))

    assert replaced(one, words) == other


@given(scores())
@settings(LAW, max_examples=4)
def test_the_same_rows_in_another_format_have_the_same_figures_in_every_report(tmp_path, rows):
    known = [row for row in rows if row["score"] is not None]  # an empty cell and null are missing for other reasons
    found = {}
    for form in ("jsonl", "json", "csv", "parquet"):
        shutil.rmtree(tmp_path / form, ignore_errors=True)
        (tmp_path / form).mkdir()
        (path,) = write_table(tmp_path / form, form, known)
        found[form] = {each: figures(each, texts(path, each)) for each in ("md", "html", "latex", "csv", "junit")}

    assert all(each == found["jsonl"] for each in found.values())


def rows_of(text):
    """Return the first row of cells of each model in a Markdown report's first table."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] in "ABC" and cells[0] not in found:
            found[cells[0]] = cells
    return found


@given(scores())
@LAW
def test_a_twin_of_a_model_changes_no_line_of_another(tmp_path, rows):
    twins = [*rows, *({**row, "model": "twin"} for row in rows if row["model"] == "A")]
    for name, each in (("one", rows), ("two", twins)):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        (tmp_path / name).mkdir()
        write_table(tmp_path / name, "jsonl", each)

    before, after = (texts(tmp_path / name / "t.jsonl", "md")["report.md"] for name in ("one", "two"))

    assert set(rows_of(before)) == {"A", "B", "C"}
    assert rows_of(after) == rows_of(before)
    twin = next(line for line in after.splitlines() if line.startswith("| twin |"))
    assert [cell.strip() for cell in twin.strip("|").split("|")][1:] == rows_of(before)["A"][1:]


@given(scores(), st.integers(1, 5))
@LAW
def test_what_is_missing_is_counted_in_every_line_and_moves_none(tmp_path, rows, added):
    gaps = [{"item": f"gone{at}", "model": model, "score": None} for at in range(added) for model in "ABC"]
    for name, each in (("one", rows), ("two", [*rows, *gaps])):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        (tmp_path / name).mkdir()
        write_table(tmp_path / name, "jsonl", each)

    before, after = (rows_of(texts(tmp_path / name / "t.jsonl", "md")["report.md"]) for name in ("one", "two"))

    for model, cells in before.items():
        scored, items = map(int, cells[3].split(" of "))
        lost = items - scored + added
        assert after[model] == [*cells[:3], f"{scored} of {items + added}", f"{lost} undefined"]


def cells_of(sheet):
    """Return a comparison's headline without its score, and its pairs' cells by the two models, each from both sides."""
    found = compare_sheet(sheet)
    said = headline(found)
    pairs = {}
    for table in tables(found, all_pairs=True)[1:2]:
        for row in table.rows:
            first, second, *rest = map(str, row)
            pairs[first, second] = rest[2:]  # the difference and its interval have a sign
    return re.sub(r" \(\d[\d.]*\)", "", said.text), said.step, {frozenset(key): cells for key, cells in pairs.items()}


@given(sheets())
@settings(max_examples=40, deadline=None)
def test_scores_turned_round_with_their_direction_are_told_in_the_same_words(sheet):
    marks = {
        model: {
            sample: cell if cell.value is None else Cell(1 - cell.value, passed=cell.passed)
            for sample, cell in cells.items()
        }
        for model, cells in sheet.marks.items()
    }

    text, step, pairs = cells_of(sheet)
    turned = cells_of(Sheet(sheet.metric, marks, sheet.range, "lower"))

    assert turned[0].replace("has the lower mean", "has the higher mean") == text
    assert turned[1:] == (step, pairs)


@given(scores(models=("A", "B")), st.sampled_from(["md", "csv", "json"]))
@LAW
def test_the_order_of_arguments_changes_no_figure_of_a_comparison(tmp_path, rows, form):
    paths = []
    for model in "AB":
        shutil.rmtree(tmp_path / model, ignore_errors=True)
        (tmp_path / model).mkdir()
        paths += write_table(tmp_path / model, "jsonl", [row for row in rows if row["model"] == model])

    outputs = []
    for order in (paths, paths[::-1]):
        code, out, err = markbook("compare", *order, "--format", form)
        assert code == 0, err
        outputs.append(out)

    assert comparable(outputs[0], form) == comparable(outputs[1], form)


def comparable(text, form):
    """Return a printed comparison whatever model of a pair stands first."""
    if form == "csv":
        return sorted(
            tuple(sorted(value.lstrip("+-") for value in row.values())) for row in csv.DictReader(io.StringIO(text))
        )
    if form == "json":
        found = json.loads(text)
        ranking = {
            one["model"]: {key: one[key] for key in ("rank", "rank_range", "summary")} for one in found["ranking"]
        }
        return ranking, [{key: pair[key] for key in ("p", "p_adjusted", "n", "better")} for pair in found["pairs"]]
    return sorted(number.lstrip("+-") for number in NUMBER.findall(text))


@pytest.mark.parametrize("workers", [1, 2])
@given(st.randoms(use_true_random=False))
@settings(LAW, max_examples=2)
def test_neither_the_order_of_answers_nor_the_workers_change_a_figure_of_a_runs_reports(tmp_path, workers, random):
    shuffled = list(ANSWERS)
    random.shuffle(shuffled)
    found = []
    for name, rows, count in (("a", ANSWERS, 1), ("b", shuffled, workers)):
        mark("run", tmp_path / name, rows, count)
        (run,) = [path.parent for path in (tmp_path / name / "out").glob("*/run.json")]
        minute = json.loads((run / "run.json").read_text())["started"][:16].replace("T", " ")
        files = {form: texts(run, form) for form in ("md", "latex", "csv", "junit")}
        files["md"] = {file: text.replace(minute, "MINUTE") for file, text in files["md"].items()}
        text = json.dumps({form: figures(form, made) for form, made in files.items()})
        found.append(text.replace(str(tmp_path / name), "FOLDER").replace(run.name, "RUN"))

    assert found[0] == found[1]
