"""`markbook compare --html` and `view`'s comparison of runs: what changed, and both answers to it."""

import html
import json
import re
from pathlib import Path

import pytest
from support.browsers import Watched, axe_source, serious_faults
from support.exam_kit import answer, hold, problem
from support.made_runs import exam_run as made
from support.payloads import HTML
from support.review_kit import markbook as command
from test_compare_inputs import WORDS, run
from test_user_tasks import serving

from markbook.errors import DataError
from markbook.report.board import find_change
from markbook.report.browser import BrowseServer, NotFound, RunSite
from markbook.results.sheet import Cell, Sheet
from markbook.types import Missing, MissingKind

RIGHT, WRONG, OTHER = (f"def f(x):\n    return {value}\n" for value in ("x", "x + 1", "x + 2"))
TESTS = [{"assertion": "func(1) == 1"}, {"assertion": "func(-1) == -1"}]


@pytest.fixture
def days(tmp_path):
    """The same model on two days: it solves b, no longer a, still not c, and d both times."""
    found = []
    for name, texts in (("monday", (RIGHT, WRONG, WRONG, RIGHT)), ("tuesday", (WRONG, RIGHT, OTHER, RIGHT))):
        answers = [answer(task, text) for task, text in zip("abcd", texts, strict=True)]
        found.append(hold(tmp_path / name, [problem(task, tests=TESTS) for task in "abcd"], answers, name=name))
    return found


def changes(page):
    """Return what the page says of each sample: its change and the result of each model."""
    found = {}
    for block in re.findall(r'<details class="problem".*?</summary>', page, re.DOTALL):
        name, change = re.findall(r'class="(?:id|tag)">(.*?)</span>', block)
        found[name] = change, [" ".join(mark) for mark in re.findall(r'class="who">(.*?)</span> (.*?)</span>', block)]
    return found


def write_page(*arguments):
    code, out, err = command("compare", *arguments, "--html", "page.html")
    assert code == 0, err
    return out, err, Path("page.html").read_text(encoding="utf-8")


def test_two_runs_of_a_model_show_what_changed_and_both_answers(folder, days):
    out, err, page = write_page(*(run.folder for run in days))

    assert "gpt (monday) and gpt (tuesday) do not differ significantly" in out
    assert "page: page.html" in err
    assert changes(page) == {
        "a": ("regressed", ["gpt (monday) passed 100.0", "gpt (tuesday) failed 0.0"]),
        "b": ("improved", ["gpt (monday) failed 0.0", "gpt (tuesday) passed 100.0"]),
        "c": ("still wrong", ["gpt (monday) failed 0.0", "gpt (tuesday) failed 0.0"]),
        "d": ("right in both", ["gpt (monday) passed 100.0", "gpt (tuesday) passed 100.0"]),
    }
    text = re.sub(r"<[^>]*>", "", page)
    assert re.search(r"<h1>Comparison of gpt \(monday\) and gpt \(tuesday\)</h1>", page)
    assert "return x + 2" in text
    assert text.count("func(-1) == -1") >= 4
    assert "From gpt (monday) (passed) to gpt (tuesday)" in text


def test_two_runs_of_several_models_show_what_changed_in_each_model(folder, tmp_path):
    texts = {"monday": {"gpt": (RIGHT, WRONG, WRONG), "qwen": (RIGHT, RIGHT, WRONG)},
             "tuesday": {"gpt": (WRONG, RIGHT, WRONG), "qwen": (RIGHT, RIGHT, RIGHT)}}  # fmt: skip
    found = []
    for name, models in texts.items():
        answers = [
            answer(task, text, model) for model in models for task, text in zip("abc", models[model], strict=True)
        ]
        found.append(hold(tmp_path / name, [problem(task, tests=TESTS) for task in "abc"], answers, name=name))

    _, _, page = write_page(*(run.folder for run in found))

    table = page.split("<caption>From monday to tuesday, by model</caption>")[1].split("</table>")[0]
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in table.split("</tr>")[1:-1]]
    assert rows == [
        ["gpt", "regressed", "1", "a"],
        ["gpt", "improved", "1", "b"],
        ["gpt", "still", "wrong", "1", "c"],
        ["qwen", "improved", "1", "c"],
    ]
    assert {name: change for name, (change, _) in changes(page).items()} == {
        "a": "regressed", "b": "improved", "c": "improved"
    }  # fmt: skip


def test_the_report_of_an_exam_says_which_run_it_is_of(days):
    run = days[0]
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", (run.folder / "report.html").read_text(encoding="utf-8")))

    assert facts["Run"] == "monday"
    assert facts["Started"] == run.manifest["started"][:16].replace("T", " ") + " UTC"
    assert facts["Made by"] == f"markbook exam {run.manifest['markbook']}"
    assert facts["Inputs (SHA-256)"] == ", ".join(
        f"{name} {digest[:12]}" for name, digest in sorted(run.manifest["inputs"].items())
    )


def test_the_lists_are_filtered_by_change_in_a_browser(folder, days, browser):
    write_page(*(run.folder for run in days))
    with Watched(browser, (folder / "page.html").as_uri()) as seen:
        page = seen.page
        page.select_option("#f-topic", label="regressed")
        assert page.locator(".problem:visible .id").all_inner_texts() == ["a"]
        page.click(".problem:visible summary")
        assert page.locator(".problem:visible pre.code:not(.diff)").count() == 2
        assert seen.complaints == []
        assert serious_faults(page, axe_source(folder)) == []


def test_rows_that_are_paired_by_content_show_their_answers(folder):
    one, two = run(folder, "one", WORDS, WORDS[:2]), run(folder, "two", WORDS[::-1], WORDS[1:4])
    _, _, page = write_page(one, two)

    assert [change for change, _ in changes(page).values()] == (
        ["regressed"] * 2 + ["improved"] + ["still wrong"] + ["right in both"] * 8
    )
    # a row that is the first of one run and the last of the other shows what each of them said of it
    (block,) = (block for block in page.split('<details class="problem"')[1:] if f"Say {WORDS[2]}." in block)
    texts = [
        re.sub("<[^>]*>", "", text) for text in re.findall(r'<pre class="text"[^>]*Answer.*?</pre>', block, re.DOTALL)
    ]
    assert texts[:2] == [WORDS[2], "no"]


@pytest.mark.parametrize(
    ("values", "change"),
    [
        ((0.0, 1.0), "improved"),
        ((0.6, 0.3), "regressed"),
        ((0.5, 0.5), "changed nothing"),
        ((1.0, 1.0), "right in both"),
        ((None, 1.0), "not in both"),
        ((1.0, 0.0, 1.0), "models differ"),
        ((0.4, 0.4, 0.4), "all alike"),
        ((0.0, 0.0), "still wrong"),
        ((0.0, 0.0, 0.0), "solved by none"),
        ((0.4, None, 0.4), "not in all"),
    ],
)
@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_a_change_is_counted_towards_the_better_end(values, change, direction):
    lost = Missing(MissingKind.FAILED, "no")
    turned = [None if value is None else value if direction == "higher" else 1 - value for value in values]
    marks = {str(at): {"s": Cell(value, lost if value is None else None)} for at, value in enumerate(turned)}

    assert find_change(Sheet("m", marks, direction=direction), "s") == change


def test_a_sample_that_a_run_does_not_have_is_in_neither_list_of_changes():
    sheet = Sheet("m", {"a": {"s": Cell(1.0), "t": Cell(0.0, passed=False)}, "b": {"t": Cell(0.0, passed=False)}})

    assert [find_change(sheet, sample) for sample in ("s", "t")] == ["not in both", "still wrong"]


def test_words_of_models_stay_words(folder):
    runs = [made(folder / name, models={HTML[0]: skill}, words=lambda text: HTML[1] + text, code=lambda *_: HTML[2])
            for name, skill in (("x", 0.9), ("y", 0.2))]  # fmt: skip
    _, _, page = write_page(*(run.folder for run in runs))

    assert page.count("<script") == 1
    assert "<img" not in page
    assert html.escape(HTML[0])[:12] in page


def test_a_page_is_bounded_whatever_the_runs_hold(folder):
    runs = [made(folder / name, models={name: skill}, problems=700, code=lambda *_: "x = 1\n" * 400)
            for name, skill in (("x", 0.9), ("y", 0.2))]  # fmt: skip
    _, _, page = write_page(*(run.folder for run in runs))

    assert 400 < page.count('<details class="problem"') < 600
    assert "most informative of 700 samples" in page
    runs = [made(folder / name, models={name: skill}, problems=700) for name, skill in (("v", 0.9), ("w", 0.2))]
    assert write_page(*(run.folder for run in runs))[2].count('<details class="problem"') == 600


def test_a_page_that_cannot_be_written_is_said(folder, days):
    code, _, err = command("compare", *(run.folder for run in days), "--html", folder / "nowhere" / "page.html")

    assert code != 0
    assert "the page cannot be written" in err


def test_view_compares_ticked_runs_and_a_run_with_the_one_before(folder, days):
    site = RunSite(folder)
    listed = site.page("/", {})
    numbers = {
        name: re.search(rf'value="(\d+)" aria-label="Compare {name}"', listed)[1] for name in ("monday", "tuesday")
    }
    for name, day_run in zip(("monday", "tuesday"), days, strict=True):
        manifest = day_run.folder / "run.json"
        day = {"monday": "2026-01-05T10:00:00+00:00", "tuesday": "2026-01-06T10:00:00+00:00"}[name]
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "started": day}))
    site = RunSite(folder)

    both = f"{numbers['monday']},{numbers['tuesday']}"
    assert f'href="/changes?at={both}"' in site.page(f"/run/{numbers['tuesday']}", {})
    assert "/changes" not in site.page(f"/run/{numbers['monday']}", {})
    for order in (both, ",".join(both.split(",")[::-1])):
        assert {name: change for name, (change, _) in changes(site.changes({"at": order})).items()} == {
            "a": "regressed", "b": "improved", "c": "still wrong", "d": "right in both",
        }  # fmt: skip
    with pytest.raises(NotFound, match="Tick the runs"):
        site.changes({})
    with pytest.raises(DataError):
        site.changes({"at": numbers["monday"]})


def test_ticked_runs_are_compared_in_a_browser_in_three_clicks(folder, days, browser):
    with serving(BrowseServer(folder)) as server, Watched(browser, server.address, offline=False) as seen:
        for box in seen.page.locator("input[name=at]").all():
            box.check()
        seen.page.click("button:has-text('Compare selected runs')")
        assert seen.page.locator("h1").inner_text() == "Comparison of gpt (monday) and gpt (tuesday)"
        assert seen.page.locator("tr:has-text('regressed') td").all_inner_texts()[-2:] == ["1", "a"]
        seen.page.click("tr:has-text('regressed') a")
        assert seen.page.locator(".problem[open] .id").all_inner_texts() == ["a"]
        seen.page.select_option("#f-topic", label="still wrong")
        assert seen.page.locator(".problem:visible .id").all_inner_texts() == ["c"]
        assert seen.complaints == []


def test_a_refused_comparison_is_a_page_with_the_reason_and_a_way_back(folder, days, browser):
    with serving(BrowseServer(folder)) as server, Watched(browser, server.address, offline=False) as seen:
        seen.page.locator("tr:has-text('monday') input[name=at]").check()
        seen.page.click("button:has-text('Compare selected runs')")
        assert seen.page.locator("h1").inner_text() == "This page cannot be shown"
        assert "only the model 'gpt' is here" in seen.page.locator("[role=alert]").inner_text()
        seen.page.click("nav a")
        assert seen.page.locator("h1").inner_text() == "Runs"


def test_of_several_attempts_the_worst_is_shown_whenever_it_was_marked(folder, tmp_path):
    half, error = "def f(x):\n    return 1\n", "def f(x):\n    raise ValueError\n"
    runs = []
    for name, texts in (("monday", (error, half, RIGHT)), ("tuesday", (RIGHT, half))):
        answers = [answer("a", text, sample=at) for at, text in enumerate(texts)]
        runs.append(hold(tmp_path / name, [problem(task, tests=TESTS) for task in "ab"], answers, name=name).folder)

    page = write_page(*runs)[2]

    assert changes(page)["a"] == ("improved", ["gpt (monday) error 50.0", "gpt (tuesday) partial 75.0"])
    heads = ["gpt (monday): error, 0 of 2 tests", "gpt (tuesday): partial, 1 of 2 tests"]
    assert re.findall(r"<h3>(gpt.*?)</h3>", page) == heads
