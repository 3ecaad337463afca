"""The leaderboard as static pages."""

from __future__ import annotations

import random
import re

import pytest
from click.testing import CliRunner
from support.browsers import Watched, axe_source, chromium, serious_faults
from support.exam_kit import answer, hold, problem
from support.foreign_files import evalplus
from support.made_runs import exam_run

from markbook.cli import cli
from markbook.errors import OutputError
from markbook.results.compare import read_sheets
from markbook.results.leaderboard import leaderboard
from markbook.results.sheet import Cell, Sheet
from markbook.stats.difference import holm, paired_difference
from markbook.types import Missing, MissingKind


def run_cli(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args])


def made(tmp_path, models=3):
    return [evalplus(tmp_path, model) for model in range(models)]


def many(models=24, items=80):
    rng = random.Random(5)
    marks = {}
    for model in range(models):
        cells = {}
        for item in range(items):
            lost = rng.random() < 0.1
            value = float(rng.random() < 0.2 + 0.6 * model / models)
            cells[f"i{item}"] = Cell(None, Missing(MissingKind.FAILED, "x")) if lost else Cell(value)
        marks[f"m{model}"] = cells
    return Sheet("acc", marks)


def test_it_shows_groups_intervals_and_what_is_scored(tmp_path):
    paths = made(tmp_path)
    result = run_cli("site", *paths, "-o", tmp_path / "out", "--title", "Sums")
    assert result.exit_code == 0, result.exception
    text = (tmp_path / "out/index.html").read_text()
    assert "<h1>Sums</h1>" in text
    assert text.count("18 of 20") == 3
    assert text.count("2 failed") == 3
    board = leaderboard(read_sheets(paths))
    for one in board.standings:
        assert f"{100 * one.summary.value:.1f}" in text
        page = (tmp_path / f"out/models/{one.model}.html").read_text()
        assert page.count("1 failed") == 2
    links = re.findall(r'href="((?:models|items)/[^"]+)"', text)
    assert len(links) == 3 + 20
    assert all((tmp_path / "out" / link).is_file() for link in links)


def test_the_same_runs_give_the_same_bytes_and_a_new_site_replaces_the_old(tmp_path):
    paths = made(tmp_path)
    run_cli("site", *paths, "-o", tmp_path / "one")
    run_cli("site", *paths, "-o", tmp_path / "two")

    def read(name):
        folder = tmp_path / name
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert read("one") == read("two")
    run_cli("site", *paths[:2], "-o", tmp_path / "two")
    assert read("one").keys() - read("two").keys() == {"models/model-2.html"}


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/index.html").write_text("mine")
    result = run_cli("site", *made(tmp_path), "-o", tmp_path / "out")
    assert isinstance(result.exception, OutputError)
    assert (tmp_path / "out/index.html").read_text() == "mine"


def test_the_groups_of_many_models_are_those_of_the_paired_t_test():
    sheet = many()
    board = leaderboard(sheet)
    assert board.method == "paired t tests on common samples"
    names = [one.model for one in board.standings]
    pairs, ps = [], []
    for at, first in enumerate(names):
        for second in names[at + 1 :]:
            both = [
                (sheet.marks[first][item].value, sheet.marks[second][item].value)
                for item in sheet.samples
                if sheet.marks[first][item].value is not None and sheet.marks[second][item].value is not None
            ]
            pairs.append((first, second))
            ps.append(paired_difference(*zip(*both, strict=True)).p)
    group = {one.model: set(one.group) for one in board.standings}
    apart = {pair for pair, p in zip(pairs, holm(ps), strict=True) if p is not None and p < 0.05}
    assert 0 < len(apart) < len(pairs)
    assert {pair for pair in pairs if not group[pair[0]] & group[pair[1]]} == apart


def test_hostile_names_stay_words_and_in_the_folder(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('item,model,score\n../../x,"<script>alert(1)</script>",1\n"<b>",../../y,0\n../../x,../../y,1\n')
    path.write_text(path.read_text() + '"<b>","<script>alert(1)</script>",1\n')
    result = run_cli("site", path, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    assert {one.name for one in tmp_path.iterdir()} == {"t.csv", "out"}
    for page in (tmp_path / "out").rglob("*.html"):
        assert "<script" not in page.read_text()
        assert "<b>" not in page.read_text()


def test_in_a_browser_it_is_legible_and_without_faults(tmp_path):
    run_cli("site", *made(tmp_path), "-o", tmp_path / "out")
    with chromium() as browser:
        source = axe_source(tmp_path)
        with Watched(browser, (tmp_path / "out/index.html").as_uri()) as seen:
            for path in ("index.html", "models/model-0.html", "items/" + next((tmp_path / "out/items").iterdir()).name):
                seen.page.set_viewport_size({"width": 400, "height": 800})
                seen.page.goto((tmp_path / "out" / path).as_uri())
                assert serious_faults(seen.page, source) == [], path
                assert seen.page.evaluate("document.documentElement.scrollWidth") <= 400, path


@pytest.mark.parametrize("models", [1, 61])
def test_one_model_and_very_many_have_their_letters(models):
    board = leaderboard(many(models=models, items=30))
    assert all(one.group for one in board.standings)


def test_intervals_are_named_by_the_level_that_they_have(tmp_path):
    run_cli("site", *made(tmp_path), "-o", tmp_path / "site", "--alpha", "0.01")

    pages = [tmp_path / "site" / "index.html", next((tmp_path / "site" / "models").glob("*.html"))]
    for text in (page.read_text() for page in pages):
        assert "99 % CI" in text
        assert "95 %" not in text


def test_a_samples_facts_are_called_as_in_the_other_pages(tmp_path):
    run = hold(tmp_path, [problem("t/1")], [answer("t/1", "def f(x):\n    return x\n")])

    assert run_cli("site", run.folder, "-o", tmp_path / "site").exit_code == 0

    (page,) = (tmp_path / "site" / "items").glob("*.html")
    names = re.findall(r"<dt>(.*?)</dt>", page.read_text(encoding="utf-8"))
    assert "Problem type" in names
    assert not any("_" in name for name in names)


def test_the_page_of_a_problem_has_its_complexity_as_a_number(tmp_path):
    run = exam_run(tmp_path / "run", models={"a": 0.9, "b": 0.2}, problems=2)

    assert run_cli("site", run.folder, "-o", tmp_path / "out").exit_code == 0

    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "out" / "items").iterdir()]
    assert ["<dt>Complexity</dt><dd>1</dd>" in page or "<dt>Complexity</dt><dd>2</dd>" in page for page in pages] == [
        True,
        True,
    ]
