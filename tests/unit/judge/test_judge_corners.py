"""Judges and labels at corners: what a file holds is read as it says, or it is said why not."""

import doctest
import json
import re
import time
import tracemalloc

import numpy as np
import pytest
from support.fake_openai import FakeOpenAI, fill, schema_of, structured
from support.made_files import task_row, task_run
from support.review_kit import markbook

from markbook import measure
from markbook.errors import DataError
from markbook.judge import assess
from markbook.judge.assess import deviation_over_samples, panel_agreement
from markbook.judge.client import quotes_found, weigh
from markbook.judge.correction import check_rubrics
from markbook.judge.labels import Label, agreement, read_labels
from markbook.judge.probes import agreement as with_people
from markbook.judge.rubrics import Criterion, Rubric, read_rubric
from markbook.report.label_session import SittingOptions, open_sitting

TONE = "name: tone\ntask: Mark the tone.\nscale: [0, 4]\nreads: [answer]\ncriteria: [{name: tone, question: Is it kind?}]\n"


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def corrected(tmp_path, rows, labels, *more):
    code, out, err = markbook("judge", "correct", "--judged", written(tmp_path / "j", rows),
                              "--labels", written(tmp_path / "l", labels), *more, "--json")  # fmt: skip
    return json.loads(out), code, err


def marks_4(request, _n=0):
    reply = fill(schema_of(request))
    if "winner" in reply:
        reply["winner"] = "A"
    return structured(request, json.dumps({**reply, "tone": 4} if "tone" in reply else reply))


@pytest.fixture
def check(tmp_path):
    """Return a function that examines a judge on rows, and what its report says."""
    (tmp_path / "tone.yaml").write_text(TONE)

    def run(rows, *more, rubric="tone.yaml"):
        with FakeOpenAI(marks_4) as server:
            code, out, err = markbook(
                "judge", "check", "--judge", "openai:m", "--rows", written(tmp_path / "rows.jsonl", rows),
                "--rubric", tmp_path / rubric, "--json", "--base-url", server.base_url, *more,
            )  # fmt: skip
        return (json.loads(out) if out else None), code, err

    return run


PAIRED = [
    {"id": f"q{at}", "system": system, "score": (at % 7 + (system == "A")) / 8} for at in range(60) for system in "AB"
]
MARKED = [
    {"id": f"q{at}", "system": system, "label": (at % 3 + (system == "A") * at % 2) / 4}
    for at in range(40)
    for system in "AB"
]


def test_a_comparison_of_an_unknown_item_is_a_stranger_and_costs_no_label(tmp_path):
    stray = {"id": "nobody", "system": "A", "against": "B", "label": 1}

    report, code, _ = corrected(tmp_path, PAIRED, [*MARKED, stray], "--systems", "A", "B")

    assert (code, report["what"], report["labels"]) == (0, "A - B", 40)
    assert report["problems"] == ["1 labels belong to no judged row"]


def test_of_both_kinds_of_labels_the_more_frequent_is_used_and_that_is_said(tmp_path):
    duels = [{"id": f"q{at}", "system": "A", "against": "B", "label": at % 2} for at in range(40, 43)]

    report, code, _ = corrected(tmp_path, PAIRED, [*MARKED, *duels], "--systems", "A", "B")

    assert (code, report["what"], report["labels"]) == (0, "A - B", 40)
    assert report["problems"] == [
        "3 items are labelled by comparing both answers and 40 by marking each: only those labelled by marking each are used"
    ]


def test_a_raters_last_word_counts_whichever_way_round_two_systems_are_named(tmp_path):
    first = [{"id": f"q{at}", "system": "A", "against": "B", "label": at % 2, "rater": "ann"} for at in range(20)]
    later = [{"id": f"q{at}", "system": "B", "against": "A", "label": 1, "rater": "ann"} for at in range(19)]

    report, _, _ = corrected(tmp_path, PAIRED, [*first, *later], "--systems", "A", "B")

    # B is better in all, by the last word, but for q19, of which there is one word only
    assert report["stats"]["labels_mean"] == pytest.approx(1 / 20)
    assert len(read_labels([tmp_path / "l"]).labels) == 20


def test_raters_agree_whichever_way_round_two_systems_are_named():
    labels = [Label(f"q{at}", at % 2, "A", "B", "ann") for at in range(10)]
    labels += [Label(f"q{at}", 1 - at % 2, "B", "A", "bob") for at in range(10)]

    found = agreement(labels)

    assert (found.alpha.value, found.same, found.shared) == (1.0, 10, 10)


def test_labels_without_a_reason_are_no_reason_that_raters_share():
    labels = [Label("a", 0.2, rater="ann"), Label("a", 0.9, rater="bob"),
              Label("b", 0.0, rater="ann", reason="late"), Label("b", 0.0, rater="bob", reason="late")]  # fmt: skip

    found = agreement(labels)

    assert (found.same, found.shared) == (1, 2)
    assert found.alpha.value < 1


@pytest.mark.parametrize("lacking", [{}, {"c": None}])
def test_rows_that_name_no_cluster_stand_by_themselves(tmp_path, lacking):
    rows = [{"id": str(at), "score": at % 7 / 7} for at in range(80)]
    labels = [{"id": str(at), "label": at % 3 / 2} for at in range(40)]
    half = [{**row, **({"c": f"own{at}"} if at % 2 else lacking)} for at, row in enumerate(rows)]

    own, _, _ = corrected(tmp_path, [{**row, "c": row["id"]} for row in rows], labels, "--cluster", "c")
    report, _, _ = corrected(tmp_path, half, labels, "--cluster", "c")

    assert report["corrected"]["interval"] == own["corrected"]["interval"]


def test_rows_that_name_no_stratum_or_group_are_told(tmp_path):
    rows = [
        {"id": str(at), "score": at % 7 / 7, **({"s": "ab"[at % 2]} if at < 60 else {"s": None})} for at in range(80)
    ]
    labels = [{"id": str(at), "label": at % 3 / 2} for at in range(0, 80, 2)]

    report, _, _ = corrected(tmp_path, rows, [*labels, *({"id": str(at), "label": 0.5} for at in range(1, 60, 4))],
                             "--stratum", "s", "--by", "s")  # fmt: skip

    assert report["problems"] == [
        "20 of 80 items say nothing under 's': they are a part of their own",
        "10 labelled items say nothing under 's': they are in no group",
    ]
    assert [group["group"] for group in report["errors_by_group"]] == ["a", "b"]


def test_a_label_that_is_too_large_is_refused_with_its_place(tmp_path):
    rows = [{"id": str(at), "score": 0.5} for at in range(20)]

    code, _, err = markbook("judge", "correct", "--judged", written(tmp_path / "j", rows),
                            "--labels", written(tmp_path / "l", [{"id": "0", "label": 1e305}]))  # fmt: skip

    assert (code, "l:1: a label is 1e+305: it must be a number" in err) == (2, True), err


def test_labels_written_as_texts_are_told_with_their_lines(check):
    rows = [{"id": at, "candidate": f"text {at}", "label": "0.5" if at else 0.5} for at in range(4)]

    report, _, err = check(rows)

    assert report["reviews"] == 1
    assert "rows.jsonl:2: a label is '0.5': it must be a number, or null where nobody can say: row skipped" in err


def test_a_file_of_labels_written_as_texts_says_what_is_wrong_with_the_first(check):
    _, code, err = check([{"id": at, "candidate": f"text {at}", "label": "0.5"} for at in range(4)])

    assert (code, "no row that a judge can be examined on" in err) == (2, True)
    assert "rows.jsonl:1: a label is '0.5': it must be a number, or null where nobody can say" in err


def test_rows_of_the_id_0_belong_together(check):
    rows = [{"id": at % 4, "candidate": f"text {at}"} for at in range(12)]

    report, code, err = check(rows, "--pairs", "100")

    assert code == 0, err
    assert report["order"]["pairs"] == 12


def test_an_answer_that_is_the_number_0_is_judged(check):
    report, code, err = check([{"id": at, "candidate": at} for at in range(2)])

    assert (code, report["reviews"]) == (0, 2), err


def test_a_kept_answer_of_an_impossible_kind_is_missing_and_no_traceback(check, tmp_path):
    rows = [{"id": at, "candidate": f"text {at}"} for at in range(3)]
    tape = tmp_path / "tape.jsonl"
    check(rows, "--cassette", str(tape))
    lines = [json.loads(line) for line in tape.read_text().splitlines()]
    broken = [{**line, "answer": {"missing": {"kind": []}}} if "answer" in line else line for line in lines]
    written(tape, broken)

    report, code, err = check(rows, "--cassette", str(tape))

    assert (code, "Traceback" in err) == (3, False)
    assert list(report["unanswered"]) == ["failed: the kept answer is damaged"]


def test_drift_from_a_report_by_another_rubric_is_refused(check, tmp_path):
    rows = [{"id": at, "candidate": f"text {at}"} for at in range(3)]
    (tmp_path / "other.yaml").write_text(TONE.replace("Is it kind?", "How bad is it?"))
    earlier = tmp_path / "earlier.json"
    check(rows, "--output", str(earlier), rubric="other.yaml")

    _, code, err = check(rows, "--before", str(earlier))
    record = json.loads(earlier.read_text())
    earlier.write_text(json.dumps({name: value for name, value in record.items() if name != "rubric"}))
    report, old_code, _ = check(rows, "--before", str(earlier))

    assert (code, "was made by another rubric" in err) == (2, True), err
    assert (old_code, report["drift"]["note"]) == (0, "the earlier report does not say by which rubric it was made")


@pytest.mark.parametrize(("human", "kappa"), [([], None), ([3, 3], None), ([3, 4], 0.0)])
def test_a_constant_answers_kappa_is_none_where_nothing_varies(human, kappa):
    assert with_people(human, human, requested=2)["constant_answer"]["weighted_kappa"] == kappa


def test_deviation_is_over_samples_and_not_over_judges():
    assert deviation_over_samples([[0.1], [0.9], [0.5]]) is None
    # variances .02 and 0: the root of .01
    assert deviation_over_samples([[0.1, 0.3], [0.9, 0.9]]) == pytest.approx(0.1)


def test_deviation_of_one_sample_by_three_judges_is_absent(tmp_path):
    def says(request, _n=0):
        reply = fill(schema_of(request))
        return structured(request, json.dumps({**reply, "tone": {"a": 1, "b": 3, "c": 4}[request["model"]]}))

    (tmp_path / "tone.yaml").write_text(TONE)
    with FakeOpenAI(says) as server:
        (found,) = measure("judge", candidates=["text"], references=[["other"]], rubric=str(tmp_path / "tone.yaml"),
                           models=["openai:a", "openai:b", "openai:c"], base_url=server.base_url)  # fmt: skip

    assert (found.value, "deviation" in found.stats) == (0.75, False)


def test_a_key_that_stands_in_another_object_too_is_not_weighed():
    tokens = [{"token": '{"extra": {"good": ', "digits": {}}, {"token": "1", "digits": {"1": -0.1}},
              {"token": '}, "good": ', "digits": {}}, {"token": "5", "digits": {"5": -0.1}}, {"token": "}", "digits": {}}]  # fmt: skip
    nested = [*tokens[:2], {"token": '}, "good": 5.0}', "digits": {}}]

    assert weigh('{"extra": {"good": 1}, "good": 5}', tokens, "good") is None
    assert weigh('{"extra": {"good": 1}, "good": 5.0}', nested, "good") is None


def test_a_quote_of_punctuation_alone_is_found_nowhere():
    assert quotes_found(["...", '"', "abc."], ["abc"]) == 1


def test_examples_in_the_pairwise_docstring_hold():
    assert doctest.testmod(assess).failed == 0


def test_a_panels_agreement_takes_time_in_proportion_to_the_texts():
    rng = np.random.default_rng(0)

    def seconds(texts):
        panels = [{judge: {"tone": float(rng.uniform(1, 5))} for judge in "abc"} for _ in range(texts)]
        start = time.process_time()
        assert panel_agreement(panels, ["tone"])["interval"] is not None
        return time.process_time() - start

    seconds(50)
    # it built tables of every value against every other: 300 texts took 158 s, and four times the texts sixteen times that
    assert seconds(1200) < 20


def test_prompts_of_many_rows_are_not_held_at_once(tmp_path):
    text = "word " * 5000
    tape = tmp_path / "empty.jsonl"
    with FakeOpenAI(marks_4) as server:
        measure("judge", candidates=["a"], references=[["b"]], questions=["q"], rubric="preference", models="openai:a",
                base_url=server.base_url, cassette=str(tape))  # fmt: skip
    answers = [f"{at} {text}" for at in range(40)]
    tracemalloc.start()

    found = measure("judge", candidates=answers, references=[[text]] * 40, questions=["q"] * 40, rubric="preference",
                    models=["openai:a", "openai:b", "openai:c"], samples=5, cassette=str(tape))  # fmt: skip

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [one.value for one in found] == [None] * 40
    # 40 rows x 3 judges x 5 samples x 2 orders x 50 kB were 60 MB
    assert peak < 15_000_000


def test_label_says_how_many_answers_there_is_nothing_to_show_of(tmp_path):
    rows = [task_row(at, at % 3 / 2, text="" if at % 3 == 0 else "words") for at in range(30)]
    run = task_run(tmp_path / "run", rows).folder
    quality = Rubric("quality", "Mark it.", (Criterion("mark", "How good is it?"),), ("answer",))

    with open_sitting(SittingOptions(str(run), ("ann",), rubric=quality)) as (session, notes):
        drawn = len(session.order("ann"))

    assert drawn == 20
    assert any(note.startswith("10 samples have no answer to show and are not drawn") for note in notes)


def test_a_label_true_is_not_the_number_1(tmp_path):
    rows = [{"id": at, "score": at % 3 / 2} for at in range(30)]
    code, _, err = markbook("judge", "correct", "--judged", written(tmp_path / "j", rows),
                            "--labels", written(tmp_path / "l", [{"id": 0, "label": True}]))  # fmt: skip

    assert (code, "l:1: a label is True: it must be a number" in err) == (2, True), err


EMPTY = 60
"""Of 120 samples; the judge gives what is not empty .25 too much, an empty answer 0."""


@pytest.mark.parametrize("systems", [(), ("A", "B")])
def test_what_the_judge_gets_wrong_of_answers_is_not_taken_from_empty_ones(tmp_path, systems):
    models = systems or ("A",)
    rows = [
        task_row(at, 0.0 if model == "A" and at < EMPTY else 0.25 + at % 3 / 4, model=model,
                 text="" if model == "A" and at < EMPTY else "words")
        for at in range(120) for model in models
    ]  # fmt: skip
    run = task_run(tmp_path / "run", rows).folder
    # B's answers are judged .25 too high, A's half of them: people say A .25, B .25 on average
    labels = [
        {"id": f"{at}", "system": model, "label": at % 3 / 4, "probability": 0.5, "draw": "d"}
        for at in range(120)
        for model in models
        if (at % 2 == 0 if model == "A" else at % 4 < 2) and not (model == "A" and at < EMPTY)
    ]
    more = ["--systems", *systems] if systems else []

    code, out, err = markbook(
        "judge", "correct", "--judged", run, "--labels", written(tmp_path / "l", labels), *more, "--json"
    )

    report = json.loads(out)
    assert code == 0, err
    truth = 0.5 * 0.25 - (0.25 if systems else 0.0)
    assert report["corrected"]["value"] == pytest.approx(truth, abs=1e-9)
    low, high = (report["corrected"]["interval"][end] for end in ("low", "high"))
    assert low < truth < high
    if not systems:
        assert any(
            "60 items have no answer to label: their scores stand as they are" in one for one in report["problems"]
        )


def test_labels_of_empty_answers_count_as_drawn_among_all(tmp_path):
    rows = [
        task_row(at, 0.0 if at < EMPTY else 0.5 + at % 3 / 4, text="" if at < EMPTY else "words") for at in range(120)
    ]
    run = task_run(tmp_path / "run", rows).folder
    labels = [{"id": f"{at}", "label": 0.0 if at < EMPTY else at % 3 / 4} for at in range(0, 120, 4)]

    code, out, err = markbook(
        "judge", "correct", "--judged", run, "--labels", written(tmp_path / "l", labels), "--json"
    )

    assert code == 0, err
    assert json.loads(out)["problems"] == []


@pytest.fixture
def judged_run(tmp_path):
    """Write a run of twenty answers whose tone a judge marks with 0 to 4 in turn; return its folder."""
    written(tmp_path / "rows.jsonl", [{"id": f"i{at}", "q": f"q{at}"} for at in range(20)])
    written(tmp_path / "said.jsonl", [{"id": f"i{at}", "prediction": f"answer {at} of {at % 5}"} for at in range(20)])
    (tmp_path / "tone.yaml").write_text(TONE)
    (tmp_path / "t.yaml").write_text(
        "name: t\ndata: {path: rows.jsonl, id: id}\nprompt: '{{ q }}'\n"
        "metrics: [{name: judge, options: {rubric: tone.yaml}}]\n"
    )

    def script(request, _n):
        mark = int(re.search(r"answer \d+ of (\d)", json.dumps(request["messages"])).group(1))
        return structured(request, json.dumps({**fill(schema_of(request)), "tone": mark}))

    with FakeOpenAI(script) as server:
        code, _, err = markbook("run", tmp_path / "t.yaml", "--predictions", tmp_path / "said.jsonl", "--judge",
                                f"openai:m@{server.base_url}", "--output", tmp_path / "out")  # fmt: skip
    assert code == 0, err
    return next((tmp_path / "out").glob("evaluation_*"))


def correct_by(tmp_path, run, rubrics, *more):
    labels = [{"id": f"i{at}", "label": at % 5 // 2 / 2, **({"rubric": rubrics[at % len(rubrics)]} if rubrics else {})}
              for at in range(20)]  # fmt: skip
    return markbook("judge", "correct", "--judged", run, "--labels", written(tmp_path / "l.jsonl", labels), *more)


def test_labels_by_the_judges_own_rubric_correct_it(tmp_path, judged_run):
    rubric = read_rubric(tmp_path / "tone.yaml")

    code, out, err = correct_by(tmp_path, judged_run, [f"tone-{rubric.digest}"])
    unnamed = correct_by(tmp_path, judged_run, [])

    assert code == 0, err
    # 0 0 .5 .5 1 in turn
    assert "labels alone  40.0" in out
    assert "(points of 100)" in out
    assert (unnamed[0], unnamed[1]) == (0, out)


def test_labels_by_another_rubric_than_the_judges_are_refused(tmp_path, judged_run):
    code, out, err = correct_by(tmp_path, judged_run, ["rude-0123456789abcdef"])

    assert (code, out) == (2, "")
    assert "l.jsonl:1: the label is by the rubric rude-0123456789abcdef, and the judge's score by tone-" in err


def test_labels_by_another_rubric_are_seen_in_plain_files_too(tmp_path, judged_run, check):
    rubric = read_rubric(tmp_path / "tone.yaml")
    rude, own = "rude-0123456789abcdef", f"tone-{rubric.digest}"
    lines = (judged_run / "results.jsonl").read_text().splitlines()
    judged = [{"id": row["id"], "score": row["metrics"]["judge"]} for row in map(json.loads, lines)]
    silent = written(tmp_path / "silent.jsonl", judged)
    speaking = written(tmp_path / "speaking.jsonl", [{**row, "rubric": own} for row in judged])
    as_file = judged_run / "results.jsonl"

    refused = [
        correct_by(tmp_path, path, [rude], *more) for path, *more in ((speaking,), (as_file, "--score", "judge"))
    ]
    taken = [correct_by(tmp_path, path, [own]) for path in (silent, speaking)]
    rows = [{"question": "?", "candidate": f"a{at}", "label": at % 2} for at in range(8)]
    _, checked, said = check([{**row, "rubric": rude} for row in rows])

    assert [code for code, *_ in refused] == [2, 2]
    assert all(f"the label is by the rubric {rude}, and the judge's score by tone-" in err for *_, err in refused)
    assert [(code, "do not say by which they are marked" in err) for code, _, err in taken] == [(0, True), (0, False)]
    assert (checked, f"rows.jsonl:1: the label is by the rubric {rude}, and the judge is asked by {own}" in said) == (
        2,
        True,
    )
    assert check([{**row, "rubric": own} for row in rows])[1] == 0


def test_labels_without_a_rubric_of_ones_own_are_taken_with_a_note(tmp_path, judged_run):
    code, out, err = correct_by(tmp_path, judged_run, ["quality-0123456789abcdef"])

    assert code == 0, err
    assert "labels alone  40.0" in out
    assert "(points of 100)" in out
    assert "the labels say how good an answer is, or whether it failed, and the judge marks by tone-" in err


def test_labels_by_the_whole_rubric_correct_no_part_of_it(tmp_path, judged_run):
    rubric = read_rubric(tmp_path / "tone.yaml")

    code, out, err = correct_by(tmp_path, judged_run, [f"tone-{rubric.digest}"], "--score", "judge.tone")

    assert (code, out) == (2, "")
    assert "l.jsonl:1: the label is by the whole rubric" in err


@pytest.mark.parametrize("pair", [{}, {"system": "A", "against": "B"}])
def test_labels_by_two_rubrics_are_refused(tmp_path, pair):
    judged = [{"id": at, "system": system, "score": at % 3 / 2} for at in range(30) for system in "AB"]
    labels = [{"id": at, "label": at % 2, "rubric": ("rude-01", "polite-02")[at // 15], "system": "A", **pair}
              for at in range(30)]  # fmt: skip
    code, out, err = markbook("judge", "correct", "--judged", written(tmp_path / "j", judged), "--labels",
                              written(tmp_path / "l", labels), *(["--systems", "A", "B"] if pair else []))  # fmt: skip

    assert (code, out) == (2, "")
    assert "l:16: the label is by the rubric polite-02, and others are by rude-01" in err


def test_labels_of_reviews_are_by_the_rubric_of_their_score():
    own = f"constructiveness-{read_rubric('constructiveness').digest}"

    def check(rubric):
        return check_rubrics({("a", ""): [Label("a", 1.0, rubric=rubric)]}, {}, ["tier2.constructiveness|profile:x"])

    assert check(own) == []
    with pytest.raises(DataError, match="the judge's score by constructiveness-"):
        check(f"helpfulness-{read_rubric('helpfulness').digest}")


PAIRS = [
    {"id": at, "system": system, "score": (at * 7 + (system == "A") * at) % 10 / 10}
    for at in range(100)
    for system in "AB"
]


@pytest.mark.parametrize("label", [5, -0.5, 1.0001])
def test_a_preference_outside_its_range_is_refused_with_its_place(tmp_path, label):
    labels = [{"id": at, "system": "B", "against": "A", "label": label if at == 7 else at % 3 / 2} for at in range(40)]

    code, out, err = markbook("judge", "correct", "--judged", written(tmp_path / "j", PAIRS), "--labels",
                              written(tmp_path / "l", labels), "--systems", "A", "B")  # fmt: skip

    assert (code, out) == (2, "")
    assert f"l:8: a label that compares two answers is {label}: it must be 0 to 1" in err


def test_the_labels_of_one_system_do_not_correct_the_mean_of_two(tmp_path):
    rows = [{"id": at, "system": name, "score": (at % 2 if name == "A" else 1)} for at in range(30) for name in "AB"]
    labels = [{"id": at, "system": "A", "label": at % 2} for at in range(20)]

    code, _, err = markbook(
        "judge", "correct", "--judged", written(tmp_path / "j", rows), "--labels", written(tmp_path / "l", labels)
    )

    assert (code, "no label is of the system 'B'" in err) == (2, True), err


def test_a_corrected_preference_lies_in_the_possible_range(tmp_path):
    labels = [{"id": at, "system": "A", "against": "B", "label": float(at != 7)} for at in range(20)]

    report, code, err = corrected(tmp_path, PAIRS, labels, "--systems", "A", "B")

    assert code == 0, err
    # 19 of 20: .95 +- .1 goes beyond 1
    assert report["corrected"]["interval"]["high"] == 1.0
    assert report["corrected"]["interval"]["low"] < report["corrected"]["value"] <= 1.0
    assert report["stats"]["labels_high"] == 1.0


def test_a_label_outside_the_range_of_the_runs_score_is_refused_with_its_place(tmp_path):
    run = task_run(tmp_path / "run", [task_row(at, at % 5 / 4) for at in range(30)]).folder
    labels = written(tmp_path / "l", [{"id": str(at), "label": 1 + at % 5} for at in range(20)])

    code, out, err = markbook("judge", "correct", "--judged", run, "--labels", labels)

    assert (code, out) == (2, "")
    assert "l:2: a label is 2, and the run's score lies from 0 to 1" in err
