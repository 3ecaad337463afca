"""The page: whole, inert, readable by everybody."""

import base64
import hashlib
import re
import sys
from collections import Counter
from html.parser import HTMLParser

import pytest
from support.browsers import Watched, axe_source, chromium, serious_faults
from support.load import PATIENCE
from support.made_files import review_row, review_run, task_row, task_run
from support.payloads import HTML

from markbook.report import exports
from markbook.report.exports import html, markdown_report
from markbook.report.html import environment, highlight, whole_names
from markbook.results.kind import open_results
from markbook.runs.exam.sections import MOST_PROBLEMS
from markbook.runs.exam.view import MODEL, OUTCOME, SAMPLE, attempt_record, sample_record
from markbook.store import Manifest, RunWriter, open_run
from markbook.types import Attempt, ErrorKind, Isolation, Outcome, ProblemType, Sample, Test, TestResult, Verdict

FIVE = {"gpt-4": 0.9, "claude-3": 0.8, "llama": 0.6, "coder": 0.5, "tiny": 0.2}


def page_of(run):
    return html()(open_results(run, partial=True))["report.html"]


class Parsed(HTMLParser):
    """Elements and attributes of a document, as a browser would find them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.found = Counter(), Counter(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.found.append((tag, dict(attrs)))
        for name, _ in attrs:
            self.attributes[tag, name] += 1


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    from support import made_runs

    run = made_runs.exam_run(tmp_path_factory.mktemp("page"), models=FIVE, problems=40, attempts=2, absent=0.1)
    return page_of(run)


@pytest.fixture(scope="module")
def page_file(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


def test_policy_admits_exactly_the_style_and_script_inside(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1).replace("&#39;", "'")
    parts = {}
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        parts[tag] = f"{tag}-src 'sha256-{digest}'"

    assert policy == f"default-src 'none'; {parts['script']}; {parts['style']}; base-uri 'none'; form-action 'none'"


def test_page_refers_to_nothing_outside_itself(page):
    parsed = Parsed(page)

    links = [value for _, attrs in parsed.found for name, value in attrs.items() if name in ("href", "src", "action")]
    assert all(link.startswith("#") for link in links)
    assert not [name for _, name in parsed.attributes if name == "style" or name.startswith("on")]
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {"http://www.w3.org/2000/svg"}


def test_every_chart_stands_in_one_section_with_its_table(page):
    sections = re.findall(r"<section .*?</section>", page, re.DOTALL)
    charted = [section for section in sections if '<figure class="chart"' in section]

    ids = [re.search('id="([^"]*)"', section).group(1) for section in charted]
    assert ids == ["scores", "differences", "topic", "complexity", "problem-type", "passes", "errors"]
    assert all(section.count("<figure") == 1 and "<table" in section for section in charted)
    assert all(section.index("<figure") < section.index("<table") for section in charted)


def test_page_is_small_before_data(exam_run):
    tiny = page_of(exam_run(models={"a": 1.0, "b": 0.0}, problems=1))

    assert len(tiny.encode()) < 500_000


def test_same_journal_gives_the_same_bytes(exam_run):
    run = exam_run()

    assert page_of(run) == page_of(run)


def test_a_single_model_has_a_page_without_comparison(exam_run):
    text = page_of(exam_run(models={"alone": 0.5}))

    assert 'id="differences"' not in text
    assert "models differ" not in text


def test_a_run_without_any_attempt_has_a_page(exam_run):
    text = page_of(exam_run(models={"a": 0.5, "b": 0.5}, absent=1.1))

    assert "absent" in text
    assert "0 of 24" in text


def test_problem_shows_prompt_tests_verdicts_error_and_difference(page):
    (first,) = re.findall(r'<details class="problem" id="problem-1".*?</details>', page, re.DOTALL)

    for words in ("Write f0(x)", "f0(x) == 0 + x", "<h3>Tests</h3>", 'class="k">def</span>'):
        assert words in first
    assert re.search(r'class="r-(passed|failed)"', first)
    assert 'class="code diff"' in page
    assert "name &#39;totl&#39; is not defined" in page


def test_the_page_has_its_charts_without_any_extra(exam_run, monkeypatch):
    monkeypatch.setattr(exports, "need", missing_package)

    run = exam_run()

    assert page_of(run).count("<svg") == 2 * page_of(run).count("<figure") > 0
    text = markdown_report()(open_results(run, partial=True))["report.md"]
    assert "pip install 'markbook[report]'" in text
    assert "Scores, 0 to 100" in text


def missing_package(module, *, extra):
    from markbook.errors import ExtraMissingError

    raise ExtraMissingError(f"{module} is not installed", hint=extra)


def test_large_runs_show_the_telling_problems_and_stay_small(exam_run):
    run = exam_run(models=FIVE, problems=MOST_PROBLEMS + 200)

    text = page_of(run)

    assert text.count('<details class="problem"') == MOST_PROBLEMS
    assert f"most informative of {MOST_PROBLEMS + 200} problems" in text


@pytest.mark.parametrize("code", ["def f(:\n  '''", 'x = "\\', "\x1b[2J", "<b>&amp;</b>", "'" * 999, '"""' * 333, ""])
def test_highlighting_escapes_and_never_fails(code):
    shown = highlight(code)

    plain = re.sub(r"</?span[^>]*>", "", shown)
    assert "<" not in plain
    assert "\x1b" not in shown


def hostile_run(folder, payloads, models):
    """Write a run in which every foreign text field is a payload, another one for each field and problem."""

    def words(place):
        return payloads[place % len(payloads)]

    samples = [
        Sample(
            f"{at} {words(at)}",
            words(at + 1),
            tests=(
                Test(setup=words(at + 2), assertion=words(at + 3), pattern=words(at + 4), inspection=(words(at + 5),)),
            ),
            meta={"topic": words(at % 6), "complexity": words(at % 3)},
            problem_type=tuple(ProblemType)[at % 3],
        )
        for at in range(len(payloads))
    ]
    config = {"error_policy": "zero", "seed": 0, "benchmark_name": words(9), "models": models, "profile": words(8)}
    with RunWriter.create(folder, Manifest("exam", config, {})) as writer:
        for place, sample in enumerate(samples):
            writer.add(SAMPLE, (place,), sample_record(sample))
        for model in models:
            writer.add(MODEL, (model,), {"source": words(1), "attempts": len(samples), "planned": [1] * len(samples)})
        for number, model in enumerate(models):
            for at, sample in enumerate(samples):
                failed = (at + number) % 3
                outcome = Outcome(
                    (TestResult(not failed, Verdict.SEPARATED, words(at + 6), words(at + 7)),),
                    ErrorKind.OTHER if failed == 1 else None,
                    words(at + 8) if failed == 1 else "",
                    words(at + 9) if failed == 1 else "",
                    limit=words(at + 10) if failed == 2 else "",
                    isolation=Isolation.A,
                    flags=(words(at + 11),),
                )
                attempt = Attempt(sample.id, f"x = 1 # {number}\n{words(at + 12)}", model)
                writer.add(OUTCOME, (model, sample.id, 0), attempt_record(attempt, outcome))
        writer.finish("done")
    return open_run(writer.folder)


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def hostile_pages(tmp_path_factory):
    """Return pages whose every field is hostile: 50 payloads in 12 fields of a problem, 18 as model names."""
    folder = tmp_path_factory.mktemp("hostile")
    groups = [HTML[at : at + 6] for at in (0, 6, 40)]
    return [page_of(hostile_run(folder / str(at), HTML, models)) for at, models in enumerate(groups)]


def test_payloads_make_no_new_element_and_no_new_attribute(hostile_pages, tmp_path):
    harmless = page_of(
        hostile_run(tmp_path / "plain", [f"word {at}" for at in range(len(HTML))], [f"m{at}" for at in range(6)])
    )
    wanted = Parsed(harmless)

    for text in hostile_pages:
        found = Parsed(text)
        assert set(found.attributes) <= set(wanted.attributes)
        for tag in set(found.tags) | set(wanted.tags):
            if tag not in ("span", "line", "text", "wbr"):  # as the words are long or short
                assert found.tags[tag] == wanted.tags[tag], tag
        assert not [name for _, name in found.attributes if name.startswith("on")]


def test_payloads_run_nothing_in_a_browser(browser, hostile_pages, tmp_path):
    for number, text in enumerate(hostile_pages):
        path = tmp_path / f"{number}.html"
        path.write_text(text, encoding="utf-8")
        with Watched(browser, path.as_uri()) as seen:
            seen.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            seen.page.wait_for_timeout(200)
            assert seen.page.evaluate("window.owned") is None
            assert seen.page.evaluate("document.querySelectorAll('script').length") == 1
            assert seen.page.evaluate("document.querySelectorAll('iframe,object,embed,base,link,img').length") == 0
            assert (seen.dialogs, seen.complaints) == ([], [])
            assert seen.requests == [path.as_uri()]


def test_page_opens_offline_without_complaint_and_filters(browser, page_file):
    with Watched(browser, page_file) as seen:
        page = seen.page
        assert page.locator("figure.chart svg:visible").count() == 7
        assert page.locator(".problem:visible").count() == 40

        page.fill("#f-text", "strings_38 F38(")
        page.locator("#f-count", has_text="1 of 40 problems").wait_for(timeout=1000 * PATIENCE)
        page.fill("#f-text", "")
        page.select_option("#f-topic", label="closures")
        assert page.locator(".problem:visible").count() == 10
        page.select_option("#f-model", label="gpt-4")
        page.select_option("#f-status", "passed")
        assert 0 < page.locator(".problem:visible").count() < 10
        page.fill("#f-text", "nothing has these words")
        page.locator("#f-none").wait_for(timeout=1000 * PATIENCE)
        assert seen.complaints == []
        assert seen.requests == [page_file]


@pytest.mark.parametrize(("width", "kind"), [(400, "narrow"), (1280, "wide")])
def test_charts_fit_the_screen_in_letters_of_their_size(browser, page_file, width, kind):
    with Watched(browser, page_file) as seen:
        seen.page.set_viewport_size({"width": width, "height": 900})
        found = seen.page.evaluate(
            "[...document.querySelectorAll('figure.chart svg')].filter(one => one.checkVisibility()).map(one => {"
            " const box = one.getBoundingClientRect();"
            " return [one.classList.contains('" + kind + "'), box.right, box.width / one.viewBox.baseVal.width]; })"
        )

    assert len(found) == 7
    for is_right_one, right, scale in found:
        assert is_right_one
        assert right <= width
        assert scale == pytest.approx(1.0, abs=0.05)


def test_page_is_reachable_by_keyboard(browser, page_file):
    with Watched(browser, page_file) as seen:
        page = seen.page
        order = []
        for _ in range(14):
            page.keyboard.press("Tab")
            order.append(
                page.evaluate("document.activeElement.className || document.activeElement.textContent.slice(0, 30)")
            )
        assert order[:3] == ["skip", "Scores", "Are the models different?"]
        assert "chart" in order
        page.focus(".problem summary")
        page.keyboard.press("Enter")
        assert page.evaluate("document.querySelector('.problem').open")


def test_a_link_to_a_problem_opens_it(browser, page_file):
    with Watched(browser, page_file + "#problem-7") as seen:
        assert seen.page.evaluate("document.getElementById('problem-7').open")


@pytest.mark.slow
def test_axe_finds_no_serious_fault_on_the_page_of_an_exam(browser, page_file, tmp_path):
    source = axe_source(tmp_path)
    with Watched(browser, page_file) as seen:
        seen.page.evaluate(
            "[...document.querySelectorAll('.problem')].forEach((one, at) => {"
            " if (at < 3) one.open = true; else if (at >= 8) one.remove(); })"
        )
        assert serious_faults(seen.page, source) == []


def test_page_fits_a_phone_and_prints(browser, page_file):
    with Watched(browser, page_file, width=360) as seen:
        seen.page.evaluate("document.querySelector('.problem').open = true")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360
        seen.page.emulate_media(media="print")
        assert seen.page.locator(".filters").is_hidden()
        assert seen.page.pdf()[:5] == b"%PDF-"


@pytest.mark.parametrize("writes", [True, False])
def test_templates_are_compiled_once_where_python_keeps_what_it_compiles(tmp_path, monkeypatch, writes):
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", not writes)
    compiled = []

    def render():
        environment.cache_clear()
        pages = environment()
        compiles = pages.compile
        monkeypatch.setattr(pages, "compile", lambda *given: compiled.append(given[1]) or compiles(*given))
        return str(pages.get_template("table.html.j2").render())

    try:
        assert render() == render()
    finally:
        environment.cache_clear()

    assert compiled == ["table.html.j2"] * (1 if writes else 2)
    assert len([*tmp_path.rglob("*.j2c")]) == writes


def test_models_without_a_card_are_counted(page):
    cards = re.search(r'<dl class="tiles">(.*?)</dl>', page, re.DOTALL)[1].count("<dt>")

    assert (cards, len(FIVE)) == (4, 5)
    assert '<p class="note">and 1 more below</p>' in page


def test_an_answer_is_shown_without_the_prompt_that_it_repeats(tmp_path):
    from support.exam_kit import answer, hold, problem

    prompt = 'def f(x):\n    """A prompt of <b>two lines</b>."""\n'
    answers = [answer("a", prompt + "    return x\n"), answer("b", "def f(x):\n    return x\n")]
    run = hold(tmp_path, [{**problem(name), "problem": prompt} for name in "ab"], answers)

    text = (run.folder / "report.html").read_text(encoding="utf-8")
    codes = re.findall(r'<pre class="code"[^>]*Answer of[^>]*>(.*?)</pre>', text, re.DOTALL)
    assert sorted(re.sub("<[^>]*>", "", code).strip() for code in codes) == ["def f(x):\n    return x", "return x"]
    assert text.count("After the prompt:") == 1


LONG = {"organisation/" + "a-very-long-name-" * 9: 0.7, "M" * 150: 0.4}


@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_break_and_cover_no_other_cell(browser, exam_run, tmp_path, width):
    path = tmp_path / "report.html"
    path.write_text(page_of(exam_run(models=LONG)), encoding="utf-8")

    with Watched(browser, path.as_uri(), width=width) as seen:
        cells = seen.page.evaluate(
            "[...document.querySelectorAll('section:not(#problems) :is(th, td)')].map(cell =>"
            " [cell.textContent, cell.scrollWidth - cell.clientWidth])"
        )
        scores = seen.page.evaluate(
            "(table => [table.scrollWidth, table.clientWidth])(document.querySelector('.scroll'))"
        )

    assert [text for text, beyond in cells if beyond > 1] == []
    assert width < 1280 or scores[0] == scores[1]  # nothing to scroll on a desktop


def test_two_names_from_right_to_left_stay_in_their_order(exam_run):
    first, second = "\u0646\u0645\u0648\u0630\u062c", "\u05d3\u05d2\u05dd \u05d0"
    text = page_of(exam_run(models={first: 0.9, second: 0.1}))

    charts = re.findall(r"<text [^>]*>([^<]*)</text>", text)
    assert f"{first}\u200e − {second}\u200e" in charts
    assert whole_names(f"{first} − {second}: a") == f"{first}\u200e − {second}\u200e: a"
    assert whole_names("\u200ea") == "\\u200ea"  # only our own marks are not spelled out


def test_prose_has_neither_colours_nor_unbroken_lines(tmp_path):
    prose = "Go left, and then on for 2 streets (see the map)."
    code = "def f(x):\n    return x and 2"
    rows = [task_row(at, 0.5, text=text) for at, text in enumerate((prose, code))]

    text = page_of(task_run(tmp_path, rows))

    assert f'<pre class="text" tabindex="0" role="group" aria-label="Answer of m"><code>{prose}</code></pre>' in text
    assert (
        '<pre class="code" tabindex="0" role="group" aria-label="Answer of m"><code><span class="k">def</span>' in text
    )


def test_headings_have_their_unit_and_their_number(exam_run):
    found = [part.split("<")[0] for part in re.split('<th scope="col"(?: class="num")?>', page_of(exam_run()))[1:]]

    assert {"Error rate, %", "Separated, %", "Topic", "Complexity", "Problem type"} <= set(found)
    assert '<th scope="row">level_' not in page_of(exam_run())


def test_counts_of_one_are_written_as_such(tmp_path):
    task = page_of(task_run(tmp_path / "a", [task_row(0, None), task_row(1, 0.5)]))
    review = page_of(review_run(tmp_path / "b", [review_row("p1", "s", 0.5, 0.5)]))

    assert "two: rows without an answer: 1 of 2." in task.replace("demo:", "two:")
    assert "unreadable rows: 1; unreadable answers: 0." in task
    assert "s: papers without a review: 1." in review


def test_a_review_in_the_report_says_why_a_value_is_missing(tmp_path):
    text = page_of(review_run(tmp_path, [review_row("p1", "s", 0.5, 0.5, words="the judge was off")]))

    assert '<p class="note">tier2.technical_accuracy: the judge was off (absent)</p>' in text


def test_the_start_of_a_run_names_its_time_zone(exam_run):
    assert re.search(r"<dt>Started</dt><dd>\d{4}-\d\d-\d\d \d\d:\d\d UTC</dd>", page_of(exam_run()))


def test_values_from_0_to_1_are_said_to_be_shown_as_0_to_100(tmp_path):
    told = "Scores from 0 to 1 are shown as 0 to 100."

    assert told in page_of(task_run(tmp_path / "a", [task_row(0, 0.5)]))
    assert told in page_of(review_run(tmp_path / "b", [review_row("p", "s", 0.5, 0.5)]))


def _luminance(colour):
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("paper", ["#ffffff", "#15181c"])
def test_intervals_in_charts_stand_out_from_the_page_by_three_to_one(exam_run, paper):
    text = page_of(exam_run(models={"a": 0.9, "b": 0.2}))
    lines = set(re.findall(r'<line [^>]*stroke="(#\w{6})"[^>]* stroke-opacity="([\d.]+)"', text))

    assert len(lines) >= 2
    for stroke, opacity in lines:
        ours, page = ([int(hexes[at : at + 2], 16) for at in (1, 3, 5)] for hexes in (stroke, paper))
        mixed = [float(opacity) * one + (1 - float(opacity)) * other for one, other in zip(ours, page, strict=True)]
        light, dark = sorted((_luminance(mixed), _luminance(page)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, (stroke, opacity)


def test_a_partial_score_has_the_digits_of_every_other_score(exam_run):
    details = re.findall(r"</span> partial ([\d.]+)</span>", page_of(exam_run(models={"a": 0.3})))

    assert set(details) == {"33.3", "66.7"}
