"""`markbook label`: who sees what, what is kept, what `judge correct` makes of it, and a hundred labels in a browser."""

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlencode

import numpy as np
import pytest
from support.browsers import Watched, axe_source, serious_faults
from support.exam_kit import answer, hold, problem
from support.load import PATIENCE
from support.made_files import task_row, task_run
from support.review_kit import markbook

from markbook.errors import DataError, StorageError, UsageError
from markbook.judge.labels import Label, LabelItem, agreement, draw, draw_name, read_labels
from markbook.judge.rubrics import Criterion, Rubric
from markbook.report.html import label_script
from markbook.report.label_pages import LabelPages
from markbook.report.label_session import LabelBook, Said, SittingOptions, open_sitting
from markbook.report.local_server import COOKIE, LocalServer
from markbook.stats import corrected_mean
from markbook.store.disk import Disk

QUALITY = Rubric("quality", "Mark it.", (Criterion("mark", "How good is it?"),), ("answer",))
BETTER = Rubric("better", "Which is better?", (), ("answer",), is_pairwise=True)


@pytest.fixture
def run(tmp_path):
    """Forty items, answered by two models, with the judge's scores 0 to 1."""
    rows = [
        task_row(at, (at % 11) / 10 if model == "zebra-1" else 0.5, model=model, text=f"{side} answer {at}")
        for at in range(40)
        for model, side in (("zebra-1", "some"), ("yak-2", "other"))
    ]
    return task_run(tmp_path / "run", rows).folder


class Client:
    """A rater's browser without a script."""

    def __init__(self, server, rater):
        self.server, self.cookie = server, f"{COOKIE}={server.tokens[rater]}"

    def ask(self, method, path, form=None, **headers):
        link = http.client.HTTPConnection(*self.server.server_address, timeout=PATIENCE)
        given = {"Cookie": self.cookie, "Host": self.server.host, **headers}
        if form is not None:
            given["Content-Type"] = "application/x-www-form-urlencoded"
        link.request(method, path, body=None if form is None else urlencode(form), headers=given)
        answer = link.getresponse()
        body = answer.read().decode()
        link.close()
        return answer.status, body

    def label(self, value, name="mark.mark"):
        _, page = self.ask("GET", "/")
        token = re.search(r'name="item" value="(\w+)"', page).group(1)
        return self.ask("POST", "/label", {"item": token, name: value})


@contextmanager
def sitting(run, *raters, rubric=QUALITY, **options):
    """Open a sitting and serve it."""
    with open_sitting(SittingOptions(str(run), raters, rubric=rubric, **options)) as (session, _):
        server = LocalServer(LabelPages(session), who=raters, script=label_script(), takes_forms=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield session, [Client(server, rater) for rater in raters]
        finally:
            server.shutdown()
            server.server_close()
            thread.join(PATIENCE)


def rows_of(folder, rater):
    return [json.loads(line) for line in (folder / "labels" / f"{rater}.jsonl").read_text().splitlines()]


def test_the_stated_probability_is_the_one_with_which_items_are_drawn():
    items = [LabelItem(str(at), score=at / 20) for at in range(21)]
    counts, sums = Counter(), []

    for seed in range(3000):
        found = draw(items, 6, seed=seed)
        counts.update(one.item.id for one in found)
        sums.append(sum(1 / one.probability for one in found))

    # Items of score 0 and 1 have half of the mean weight; score .5 weighs .5 + .5 x .5 / mean(sqrt(s (1 - s))) = 1.16.
    assert counts["10"] / counts["0"] == pytest.approx(1.16 / 0.5, rel=0.1)
    assert np.mean(sums) == pytest.approx(21, abs=3 * np.std(sums) / 3000**0.5)


def test_a_larger_draw_holds_the_smaller_one_and_all_is_certain():
    items = [LabelItem(str(at), score=at / 20) for at in range(21)]

    small, large, every = (draw(items, count, seed=4) for count in (5, 12, 50))

    assert [one.item for one in large[:5]] == [one.item for one in small]
    assert (len(every), {one.probability for one in every}) == (21, {1.0})
    assert len({one.probability for one in draw(items, 5, share=0.0)}) == 1


def test_labels_of_useful_items_are_corrected_without_bias():
    rng = np.random.default_rng(5)
    scores = rng.beta(0.6, 0.6, 800)
    truth = (rng.random(800) < scores**2).astype(float)  # the judge says too much
    items = [LabelItem(str(at), score=float(score)) for at, score in enumerate(scores)]
    errors = []

    for seed in range(80):
        chances = {int(one.item.id): one.probability for one in draw(items, 100, seed=seed)}
        labels = [float(truth[at]) if at in chances else None for at in range(800)]
        found = corrected_mean(scores, labels, probabilities=[chances.get(at, 1.0) for at in range(800)])
        errors.append((found.value - truth.mean()) / found.se)

    assert abs(scores.mean() - truth.mean()) > 0.1
    assert abs(np.mean(errors)) < 3 / 80**0.5
    assert np.mean(np.abs(errors) < 1.98) > 0.88


def test_a_rater_sees_neither_model_nor_score_and_has_an_order_of_his_own(run):
    with sitting(run, "ann", "bob") as (_, clients):
        pages = [[client.ask("GET", f"/at/{place}")[1] for place in range(80)] for client in clients]

    for page in (page for pages_of in pages for page in pages_of):
        assert "zebra" not in page
        assert "yak" not in page
        assert "bleu" not in page
        assert not re.search(r"0\.\d", page.split("<main")[1])
    orders = [[re.search(r"(some|other) answer \d+", page).group() for page in pages_of] for pages_of in pages]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]
    assert orders[0] != sorted(orders[0])


def test_a_label_is_on_the_disk_with_its_probability(run):
    with sitting(run, "ann", count=20) as (session, (ann,)):
        assert ann.label("4")[0] == 303
        _, page = ann.ask("GET", "/")
        first = session.order("ann")[0]

    assert "1 of 20 labelled" in page
    assert rows_of(run, "ann") == [
        {"id": first.item.id, "system": first.item.system, "rater": "ann", "label": 0.75, "marks": {"mark": 4},
         "probability": first.probability, "draw": session.draw, "rubric": f"quality-{QUALITY.digest}"}
    ]  # fmt: skip


def test_cannot_say_is_no_label_and_one_can_go_back(run):
    with sitting(run, "ann", count=5) as (_, (ann,)):
        ann.label("1", "cannot")
        _, page = ann.ask("GET", "/")
        back = re.search(r'class="back" href="(/at/\d+)"', page).group(1)
        token = re.search(r'name="item" value="(\w+)"', ann.ask("GET", back)[1]).group(1)
        assert "Your saved label: cannot say" in ann.ask("GET", back)[1]
        ann.ask("POST", "/label", {"item": token, "mark.mark": "5"})

    assert [row["label"] for row in rows_of(run, "ann")] == [None, 1.0]
    (kept,) = read_labels([run / "labels"]).labels
    assert kept.label == 1.0


def test_of_two_answers_the_better_one_counts_whatever_its_side(run):
    with sitting(run, "ann", rubric=BETTER, pair=("zebra-1", "yak-2"), count=30) as (_, (ann,)):
        sides = []
        for _ in range(30):
            page = ann.ask("GET", "/")[1]
            sides.append(page.index("some answer") < page.index("other answer"))
            ann.label("first" if sides[-1] else "second", "winner")
        page = ann.ask("GET", "/")[1]

    assert 5 < sum(sides) < 25
    rows = rows_of(run, "ann")
    assert {row["label"] for row in rows} == {1.0}
    assert {(row["system"], row["against"]) for row in rows} == {("zebra-1", "yak-2")}
    assert "All 30 items are labelled" in page


def test_pairs_are_drawn_by_the_difference_of_their_scores_where_both_have_one(tmp_path):
    scores = {"zebra-1": [at / 11 for at in range(12)], "yak-2": [0.5] * 12}
    scores["zebra-1"][3] = scores["yak-2"][4] = None
    rows = [
        task_row(at, score, model=model, text=f"{model} answers {at}")
        for model, values in scores.items()
        for at, score in enumerate(values)
    ]
    path = task_run(tmp_path / "run", rows).folder
    # Half of the difference plus .5: of the first pair .5 + (0 - .5) / 2 = .25, of the last .5 + (1 - .5) / 2 = .75.
    halves = {at: 0.5 + (at / 11 - 0.5) / 2 for at in range(12) if at not in (3, 4)}
    pairs = draw([LabelItem(str(at), "zebra-1", "yak-2", half) for at, half in halves.items()], 5)

    with open_sitting(SittingOptions(str(path), ("ann",), BETTER, pair=("zebra-1", "yak-2"), count=5)) as (
        session,
        notes,
    ):
        assert session.draw == draw_name(pairs)
    assert notes == ["2 of 12 items have no bleu: left out"]


def test_a_tie_is_half(run):
    with sitting(run, "ann", rubric=BETTER, pair=("zebra-1", "yak-2")) as (_, (ann,)):
        ann.label("tie", "winner")

    assert rows_of(run, "ann")[0]["label"] == 0.5


def test_several_criteria_are_weighed_as_the_rubric_says(run):
    rubric = Rubric("two", "Mark.", (Criterion("a", "A?", 3.0), Criterion("b", "B?", 1.0)), ("answer",), scale=(0, 3))
    with sitting(run, "ann", rubric=rubric) as (_, (ann,)):
        token = re.search(r'name="item" value="(\w+)"', ann.ask("GET", "/")[1]).group(1)
        assert ann.ask("POST", "/label", {"item": token, "mark.a": "3"})[0] == 404
        assert ann.ask("POST", "/label", {"item": token, "mark.a": "3", "mark.b": "9"})[0] == 404
        assert ann.ask("POST", "/label", {"item": token, "mark.a": "3", "mark.b": "1"})[0] == 303

    # (3 x 3 / 3 + 1 x 1 / 3) / 4
    assert rows_of(run, "ann")[0]["label"] == pytest.approx(10 / 12)


def test_agreement_is_told_every_ten_items(run):
    with sitting(run, "ann", "bob", count=12) as (session, (ann, bob)):
        marks = {session.token(one.item): str(at % 5 + 1) for at, one in enumerate(session.order("ann"))}
        for client in (ann, bob):
            for _ in range(10 if client is ann else 12):
                token = re.search(r'name="item" value="(\w+)"', client.ask("GET", "/")[1]).group(1)
                client.ask("POST", "/label", {"item": token, "mark.mark": marks[token]})
        shown = bob.ask("GET", "/")[1]

    assert "The same in 10 of 10 items that two have labelled; Krippendorff&#39;s alpha 1.00" in shown


def test_others_files_in_the_folder_count_for_the_agreement(run):
    with sitting(run, "ann", count=12) as (_, (ann,)):
        for _ in range(12):
            ann.label("3")
    with sitting(run, "bob", count=12) as (_, (bob,)):
        for _ in range(12):
            bob.label("3")
        shown = bob.ask("GET", "/")[1]

    assert "The same in 12 of 12 items" in shown or "The same in 10 of 10 items" in shown


def test_labelling_goes_on_where_it_was_and_a_larger_draw_restates_probabilities(run):
    with sitting(run, "ann", count=10) as (_, (ann,)):
        for _ in range(6):
            ann.label("2")
    before = {row["id"]: row["probability"] for row in rows_of(run, "ann")}
    with sitting(run, "ann", count=30) as (session, (ann,)):
        assert "6 of 30 labelled" in ann.ask("GET", "/")[1]
        ann.label("2")

    kept = read_labels([run / "labels"]).labels
    assert len(kept) == 7
    assert {one.draw for one in kept} == {session.draw}
    assert all(one.probability > before.get(one.id, 0) for one in kept)
    with pytest.raises(UsageError, match="not in this draw"), sitting(run, "ann", count=3, seed=9):
        pass


def test_a_torn_last_line_is_taken_off_and_nothing_else(run):
    with sitting(run, "ann", count=5) as (_, (ann,)):
        ann.label("2")
        ann.label("3")
    path = run / "labels" / "ann.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"draw": "0", "id": "7", "lab')

    with sitting(run, "ann", count=5) as (_, (ann,)):
        assert "2 of 5 labelled" in ann.ask("GET", "/")[1]

    assert path.read_bytes() == whole


def test_a_file_that_holds_something_else_is_left_alone(run):
    path = run / "labels" / "ann.jsonl"
    path.parent.mkdir()
    path.write_text('{"name": "my only copy"')

    with pytest.raises(DataError, match="not a file of labels"), sitting(run, "ann"):
        pass

    assert path.read_text() == '{"name": "my only copy"'


class FullDisk(Disk):
    """Takes half of a line and no more."""

    def write(self, file, data):
        super().write(file, data[: len(data) // 2])
        raise OSError(28, "No space left on device")


def test_a_full_disk_loses_nothing_and_says_so(tmp_path):
    book = LabelBook(tmp_path, "ann")
    book.put(Label("1", 0.5, rater="ann"))
    whole = book.path.read_bytes()
    book.disk = FullDisk()

    with pytest.raises(StorageError, match="No space left"):
        book.put(Label("2", 0.5, rater="ann"))

    assert book.path.read_bytes() == whole
    assert [key[0] for key in book.labels] == ["1"]


def test_a_form_of_another_page_or_person_is_refused(run):
    with sitting(run, "ann", count=5) as (_, (ann,)):
        token = re.search(r'name="item" value="(\w+)"', ann.ask("GET", "/")[1]).group(1)
        form = {"item": token, "mark.mark": "5"}
        assert ann.ask("POST", "/label", form, Origin="http://evil.test")[0] == 403
        assert ann.ask("POST", "/label", form, Host="evil.test")[0] == 421
        assert ann.ask("POST", "/label", form, Cookie="markbook_token=wrong")[0] == 403
        assert ann.ask("POST", "/label", {**form, "x": "y" * 20_000})[0] == 413
        assert ann.ask("POST", "/label", {str(n): "" for n in range(60)})[0] == 400
        assert ann.ask("POST", "/label", {**form, "item": "0" * 16})[0] == 404
        assert ann.ask("POST", "/", form)[0] == 404
        assert ann.ask("GET", "/at/99")[0] == 404
        assert ann.ask("GET", "/?" + "&".join(f"{n}=" for n in range(60)))[0] == 400
        for address in ("http://[/", "http://[::1/label"):
            assert ann.ask("GET", address)[0] == 400
            assert ann.ask("POST", address, {})[0] == 400

    assert rows_of(run, "ann") == []


def test_hostile_answers_stay_words(tmp_path):
    from support.payloads import HTML

    rows = [task_row(at, 0.5, text=text, words=text) for at, text in enumerate(HTML)]
    run = task_run(tmp_path / "run", rows).folder
    with sitting(run, "ann") as (_, (ann,)):
        pages = [ann.ask("GET", f"/at/{place}")[1] for place in range(len(HTML))]

    for page in pages:
        assert page.count("<script") == 1
        assert "<img" not in page
        assert "\x00" not in page


def test_two_cannot_label_into_one_folder(run):
    with sitting(run, "ann"):
        code, _, err = markbook("label", run, "--rater", "ann")

    assert code == 75
    assert "in use" in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--rater", "../x"), "not a rater's name"),
        (("--rater", "a", "--rater", "a"), "named twice"),
        (("--rater", "a", "--pair", "zebra-1", "lion"), "no model 'lion'"),
        (("--rater", "a", "--pair", "zebra-1", "zebra-1"), "with itself"),
        (("--rater", "a", "--rubric", "preference"), "--pair A B"),
        (("--rater", "a", "--rubric", "helpfulness", "--pair", "zebra-1", "yak-2"), "does not go with --pair"),
        (("--rater", "a", "--scale", "0", "100"), "more marks than there are keys"),
        (("--rater", "a", "--scale", "5", "1"), "must rise"),
        (("--rater", "a", "--score", "tone"), "no metric 'tone'"),
    ],
)
def test_what_cannot_be_meant_is_refused(run, more, words):
    code, _, err = markbook("label", run, *more)

    assert (code, words in err) == (2, True), err


def test_a_run_without_texts_has_nothing_to_label(tmp_path):
    from support.made_files import review_row, review_run

    run = review_run(tmp_path / "r", [review_row("p1", "mas", 0.5, 0.7)]).folder

    code, _, err = markbook("label", run, "--rater", "ann")

    assert code == 2
    assert "keeps no text" in err


def test_reviews_are_labelled_by_the_file_that_was_reviewed(tmp_path):
    from support.review_kit import GENERATED, only_run, papers, reviews

    file = reviews(tmp_path)
    code, _, err = markbook(
        "review", "--papers", papers(tmp_path), "--reviews", file, "--output", tmp_path / "out", "--judge", "off"
    )
    run = only_run(tmp_path / "out")
    with sitting(run, "ann") as (session, (ann,)):
        pages = [ann.ask("GET", f"/at/{place}")[1] for place in range(len(session.order("ann")))]
    file.write_text(file.read_text().replace("sparse", "dense"))
    changed = markbook("label", run, "--rater", "bob")

    assert code in (0, 3), err
    assert any(GENERATED in page for page in pages)
    assert changed[0] == 2
    assert "keeps no text" in changed[2]


def test_raters_agree_as_far_as_they_say_the_same():
    labels = [Label(str(at), at % 2, rater="a") for at in range(6)]
    labels += [Label(str(at), at % 2 if at else 1, rater="b") for at in range(5)] + [Label("9", None, rater="b")]

    found = agreement(labels)

    assert (found.same, found.shared) == (4, 5)
    # observed disagreement 1/5; five labels of ten are 1: expected 2 x 5 x 5 / (10 x 9)
    assert found.alpha.value == pytest.approx(1 - 0.2 / (50 / 90))


@contextmanager
def labelling(run, *args):
    """Start the command as a user does; yield it with the raters' addresses."""
    words = [sys.executable, "-m", "markbook", "label", str(run), *map(str, args)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            raters = [args[at + 1] for at, word in enumerate(args) if word == "--rater"]
            yield process, dict(process.stdout.readline().split() for _ in raters)
        finally:
            process.kill()


def saved(page, count):
    """Wait until so many labels are saved."""
    page.locator(".progress", has_text=re.compile(rf"^{count} of")).wait_for(timeout=1000 * PATIENCE)


def press(page, times, key_of):
    """Label by keyboard, and wait for each label to be saved."""
    for _ in range(times):
        done, answer = page.evaluate(
            "[parseInt(document.querySelector('.progress').textContent), document.querySelector('main pre:last-of-type').textContent]"
        )
        page.keyboard.press(key_of(answer))
        saved(page, done + 1)


def quality(answer):
    """Say what the answer is worth: its number decides."""
    return str(int(answer.split()[-1]) % 5 + 1)


@pytest.mark.slow
def test_forty_labels_by_keyboard_killed_in_the_middle_and_two_raters_merged(tmp_path, browser):
    rows = [
        task_row(at, (at % 5) / 4 * 0.8, model=model, text=f"{side} answer {at}")
        for at in range(20)
        for model, side in (("zebra-1", "some"), ("yak-2", "other"))
    ]
    run = task_run(tmp_path / "run", rows).folder
    path = run / "labels" / "ann.jsonl"
    with labelling(run, "--rater", "ann") as (process, at), Watched(browser, at["ann"], offline=False) as seen:
        press(seen.page, 20, quality)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    assert len(path.read_text().splitlines()) == 20
    with labelling(run, "--rater", "ann", "--rater", "bob") as (_, at):
        with Watched(browser, at["ann"], offline=False) as seen:
            assert "20 of 40 labelled" in seen.page.content()
            press(seen.page, 20, quality)
            assert "All 40 items are labelled" in seen.page.content()
            assert seen.complaints == []
        with Watched(browser, at["bob"], offline=False) as seen:
            press(seen.page, 10, quality)
            assert "The same in 10 of 10 items" in seen.page.content()
            press(seen.page, 1, lambda _: "x")

    code, out, err = markbook("judge", "correct", "--judged", run, "--labels", run / "labels", "--json")

    report = json.loads(out)
    assert (code, report["labels"], report["items"], report["cannot_say"]) == (0, 40, 40, 1), err
    # The judge says .8 of what is so: .4 on average, where people say .5.
    assert report["stats"]["judge_mean"] == pytest.approx(0.4)
    assert report["corrected"]["interval"]["low"] < 0.5 < report["corrected"]["interval"]["high"]
    assert report["corrected"]["value"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.slow
def test_pairs_and_criteria_go_by_keyboard_too(run, tmp_path, browser):
    rubric = Rubric("two", "Mark.", (Criterion("a", "A?"), Criterion("b", "B?")), ("answer",), scale=(1, 10))
    with (
        sitting(run, "ann", rubric=rubric, labels=tmp_path / "a") as (_, (ann,)),
        Watched(browser, ann.server.get_address("ann"), offline=False) as seen,
    ):
        page = seen.page
        page.keyboard.press("0")  # ten
        page.keyboard.press("1")
        saved(page, 1)
        page.keyboard.press("b")
        page.wait_for_url("**/at/*")
        assert "Your saved label: a 10, b 1" in page.content()
        assert seen.complaints == []
    with (
        sitting(run, "ann", rubric=BETTER, pair=("zebra-1", "yak-2"), labels=tmp_path / "b") as (_, (ann,)),
        Watched(browser, ann.server.get_address("ann"), offline=False) as seen,
    ):
        seen.page.keyboard.press("0")
        saved(seen.page, 1)

    assert json.loads((tmp_path / "a" / "ann.jsonl").read_text())["label"] == pytest.approx(0.5)
    assert json.loads((tmp_path / "b" / "ann.jsonl").read_text())["label"] == 0.5


@pytest.mark.slow
def test_axe_finds_no_serious_fault_on_the_label_page(run, tmp_path, browser):
    source = axe_source(tmp_path)
    with (
        sitting(run, "ann", "bob") as (_, (ann, _bob)),
        Watched(browser, ann.server.get_address("ann"), offline=False) as seen,
    ):
        assert serious_faults(seen.page, source) == []


def test_a_torn_last_line_of_pair_labels_is_taken_off_too(run):
    with sitting(run, "ann", rubric=BETTER, pair=("zebra-1", "yak-2"), count=5) as (_, (ann,)):
        ann.label("first", "winner")
    path = run / "labels" / "ann.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])

    with sitting(run, "ann", rubric=BETTER, pair=("zebra-1", "yak-2"), count=5) as (_, (ann,)):
        assert "1 of 5 labelled" in ann.ask("GET", "/")[1]

    assert path.read_bytes() == whole


def test_who_rates_an_answer_is_not_told_why_it_failed(tmp_path):
    rows = [problem(str(n), tests=[{"assertion": "func(1) == 2"}]) for n in range(3)]
    held = hold(tmp_path, rows, [answer(row["task_id"], "def f(x):\n    return x\n") for row in rows])

    with sitting(held.folder, "ann", count=3) as (_, (ann,)):
        page = ann.ask("GET", "/")[1]

    assert "return x" in page
    assert "Why it failed" not in page


def test_labels_by_another_rubric_or_scale_are_no_labels_by_this_one(run):
    with sitting(run, "ann", count=5) as (_, (ann,)):
        ann.label("2")
    wider = replace(QUALITY, scale=(0, 8))

    with pytest.raises(UsageError, match="by another rubric or scale"), sitting(run, "ann", rubric=wider, count=5):
        pass

    with sitting(run, "ann", count=5) as (_, (ann,)):
        assert "1 of 5 labelled" in ann.ask("GET", "/")[1]


def test_one_goes_back_to_the_item_labelled_last_also_after_a_restart(run):
    with sitting(run, "ann", count=5) as (session, (ann,)):
        ann.label("2")
        ann.label("3")
        first = session.order("ann")[0].item
        session.take("ann", session.token(first), Said({"mark": 1}))
        before = session.last_place("ann")

    with sitting(run, "ann", count=5) as (session, _):
        assert session.last_place("ann") == before == 0
