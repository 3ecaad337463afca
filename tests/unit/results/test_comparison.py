"""Several models on the same samples."""

import json
import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support.exam_kit import answer, hold, problem
from support.review_kit import markbook

from markbook import stats
from markbook.errors import DataError
from markbook.results.alignment import merge_sheets
from markbook.results.comparison import compare_sheet, tables
from markbook.results.gates import check_worse
from markbook.results.leaderboard import letters
from markbook.results.pairs import estimate_difference
from markbook.results.sheet import Cell, Sheet
from markbook.text.format import Scale, format_p
from markbook.types import Missing, MissingKind


def passes(**models):
    """Return a sheet of all-or-nothing marks, from strings such as `1101`; `.` is a missing value."""
    gone = Cell(None, Missing(MissingKind.FAILED, "down"))
    marks = {
        model: {
            f"t{at}": gone if mark == "." else Cell(float(mark), passed=mark == "1") for at, mark in enumerate(line)
        }
        for model, line in models.items()
    }
    return Sheet("exam_score", marks, meta={f"t{at}": {"topic": "even" if at % 2 == 0 else "odd"} for at in range(200)})


def test_difference_interval_and_p_are_those_of_the_statistics():
    rng = Random(3)
    a = [rng.random() for _ in range(70)]
    b = [max(0.0, x - rng.random() / 4) for x in a]
    sheet = Sheet("m", {"a": dict(zip("ab", (), strict=False)), "b": {}})
    sheet = Sheet("m", {name: {f"{i:02}": Cell(v) for i, v in enumerate(vs)} for name, vs in (("a", a), ("b", b))})

    pair = compare_sheet(sheet).pair("a", "b")

    wanted = stats.paired_difference(a, b)
    assert pair.difference == wanted
    assert pair.p == pytest.approx(stats.sign_flip_test(a, b).p, abs=0.005)
    assert pair.better == "a"
    # The differences lean a little to one side, to which fewer are found.
    exact = stats.minimum_detectable_effect(70, wanted.stats["sd"], method="t").value
    assert exact < pair.mde < 1.01 * exact
    assert pair.mcnemar_p is None
    strict = compare_sheet(sheet, alpha=0.001).pair("a", "b")
    exact = stats.minimum_detectable_effect(70, wanted.stats["sd"], alpha=0.001, method="t")
    assert exact.value < strict.mde < 1.02 * exact.value


def test_equal_differences_have_nothing_that_they_could_detect():
    marks = {name: {str(at): Cell(at / 200 + more) for at in range(100)} for name, more in (("a", 0.1), ("b", 0.2))}

    (pair,) = compare_sheet(Sheet("m", marks)).pairs

    assert (pair.difference.stats["sd"], pair.sd, pair.mde) == (0.0, None, None)


def test_mcnemar_is_on_all_tests_passed():
    found = compare_sheet(passes(a="1111110000", b="1000000001")).pair("a", "b")

    assert (found.only_first, found.only_second) == (5, 1)
    # of 64 patterns of six discordant samples, 2 (1 + 6) are at least as uneven
    assert found.mcnemar_p == pytest.approx(14 / 64)
    assert found.p == pytest.approx(14 / 64)
    assert found.verdict() == "not distinguishable"
    assert found.better is None


def test_p_is_adjusted_over_all_pairs_by_holm():
    rng = Random(1)
    lines = {
        name: "".join("01"[rng.random() < share] for _ in range(120))
        for name, share in zip("abcd", (0.9, 0.8, 0.6, 0.5), strict=True)
    }

    found = compare_sheet(passes(**lines))

    assert len(found.pairs) == 6
    assert [pair.p_adjusted for pair in found.pairs] == stats.holm([pair.p for pair in found.pairs])


def test_ranking_is_by_mean_with_groups_of_those_that_cannot_be_told_apart():
    found = compare_sheet(passes(weak="0" * 50, good="1" * 45 + "0" * 5, twin="1" * 44 + "0" * 5 + "1"))

    assert [standing.model for standing in found.standings] == ["good", "twin", "weak"]
    assert [standing.rank for standing in found.standings] == [1, 1, 3]
    assert found.groups() == [["good", "twin"], ["weak"]]
    assert found.pair("weak", "good").better == "good"


def test_lower_is_better_turns_ranking_and_verdict():
    marks = {"near": {str(i): Cell(0.1 + i / 1000) for i in range(30)}, "far": {str(i): Cell(0.6) for i in range(30)}}

    found = compare_sheet(Sheet("edit_distance", marks, direction="lower"))

    assert [standing.model for standing in found.standings] == ["near", "far"]
    assert found.pair("far", "near").better == "near"
    assert found.pair("far", "near").difference.value > 0
    assert found.wins["near"]["far"] == 30


def test_missing_values_are_left_out_of_the_pair_and_counted():
    found = compare_sheet(passes(a="1110", b="10.."))

    assert found.pairs[0].n == 2
    assert found.pairs[0].n_missing == 2
    assert found.n_common == 2
    by_model = {standing.model: standing.summary for standing in found.standings}
    assert dict(by_model["b"].n_missing) == {"failed": 2}
    assert by_model["b"].bounds == (0.25, 0.75)
    assert "2 of 4" in found.notes[0]


def test_samples_that_one_model_alone_solved_are_named():
    found = compare_sheet(passes(a="1100", b="1010", c="1000"))

    assert found.only_solved_by == {"a": ("t1",), "b": ("t2",), "c": ()}
    assert found.solved_by_none == ("t3",)
    (table,) = (table for table in tables(found) if table.title == "Solved by one model only, or by none")
    assert table.rows == (("a", "1", "t1"), ("b", "1", "t2"), ("no model", "1", "t3"))
    assert table.note == "A model solves a sample if all tests pass in every attempt."
    (table,) = (table for table in tables(compare_sheet(passes(a="10", b="10"))) if table.title.startswith("Solved"))
    assert table.rows == (("no model", "1", "t1"),)


def test_a_comparison_shows_its_result_and_its_ranking_in_the_python_shell():
    shown = repr(compare_sheet(passes(a="1" * 20, b="0" * 20))).splitlines()

    assert shown[0].startswith("a (100.0) is better than b by ")
    assert [line.split() for line in shown if line.startswith("  1 ")] == [
        ["1", "a", "100.0", "[83.9,", "100.0]", "20", "of", "20", "1", "a"]
    ]
    assert max(map(len, shown)) <= 100


def test_topics_have_their_own_differences():
    found = compare_sheet(passes(a="10101010", b="00000000"))

    assert found.by_topic["even"]["a"].value == 1.0
    assert found.by_topic["odd"]["a"].n == 4
    assert found.pair("b", "a").by_topic["even"].value == -1.0


def test_turning_a_pair_turns_everything():
    found = compare_sheet(passes(a="11110", b="00101"))

    there, back = found.pair("a", "b"), found.pair("b", "a")

    assert back.difference.value == -there.difference.value
    assert (back.difference.low, back.difference.high) == (-there.difference.high, -there.difference.low)
    assert (back.only_first, back.only_second) == (there.only_second, there.only_first)
    with pytest.raises(KeyError):
        found.pair("a", "x")


def test_equal_differences_still_have_an_interval():
    # 20 times the same: u = Wilson's upper end of 0 in 20 = z^2 / (20 + z^2)
    z2 = 1.959963984540054**2
    share = z2 / (20 + z2)

    worse, same = (
        estimate_difference([0.0] * 20, [1.0] * 20, 1.0, 0.95),
        estimate_difference([1.0] * 20, [1.0] * 20, 1.0, 0.95),
    )

    assert (worse.low, worse.high) == pytest.approx((-1.0, -1.0 + 2 * share))
    assert (same.low, same.high) == pytest.approx((-share, share))


def test_one_sample_has_no_interval_and_cannot_distinguish():
    found = compare_sheet(passes(a="1", b="0")).pairs[0]

    assert found.difference.low is None
    assert not found.distinguishable
    assert found.mde is None


@pytest.mark.parametrize("models", [{}, {"a": "101"}])
def test_one_model_is_nothing_to_compare(models):
    with pytest.raises(DataError, match=r"nothing to compare|no model"):
        compare_sheet(passes(**models))


def test_models_without_a_common_sample_are_refused():
    sheet = Sheet("m", {"a": {"x": Cell(1.0)}, "b": {"y": Cell(1.0)}})

    with pytest.raises(DataError, match="share no sample"):
        compare_sheet(sheet)


def test_json_holds_no_nan_and_names_both_models():
    record = compare_sheet(passes(a="1110101", b="1010001", c="0000000")).to_json()

    text = json.dumps(record, allow_nan=False)
    assert json.loads(text)["pairs"][0]["model_a"] == "a"
    assert {(p["model_a"], p["model_b"]) for p in record["pairs"]} == {("a", "b"), ("a", "c"), ("b", "c")}
    wanted = {"difference", "interval", "p", "p_adjusted", "mcnemar_p", "minimum_detectable_effect", "verdict", "n"}
    assert wanted <= set(record["pairs"][0])
    assert set(record["pairs"][0]["interval"]) == {"low", "high", "method", "confidence"}


def test_same_seed_gives_the_same_record():
    rng = np.random.default_rng(2)
    marks = {m: {str(i): Cell(float(v)) for i, v in enumerate(rng.random(80))} for m in "abc"}

    assert compare_sheet(Sheet("m", marks)).to_json() == compare_sheet(Sheet("m", marks)).to_json()


def test_two_runs_of_one_model_are_kept_apart():
    one, two = passes(a="101", b="111"), passes(a="111")

    both = merge_sheets([("run1", one), ("run2", two)])

    assert both.models == ["a (run1)", "b", "a (run2)"]
    with pytest.raises(DataError, match="different metrics"):
        merge_sheets([("run1", one), ("run2", Sheet("bleu", {"a": {"x": Cell(1.0)}}))])


def test_tables_say_not_distinguishable_and_escape_names():
    found = compare_sheet(passes(**{"<b>|evil": "1101", "plain": "1100", "third": "0000"}))

    shown = tables(found)
    page = found._repr_html_()
    text = "\n".join(table.markdown() for table in shown)

    assert [table.title for table in shown] == [
        "Ranking by exam_score",
        "Paired differences",
        "Wins",
        "Solved by one model only, or by none",
        "By topic",
    ]
    assert "not distinguishable" in text
    assert "<b>" not in page
    assert "<b>" not in text
    assert "&lt;b&gt;\\|evil" in text


def test_many_models_show_neighbours_and_the_best_only():
    rng = Random(4)
    lines = {f"m{at}": "".join(rng.choice("01") for _ in range(30)) for at in range(9)}
    found = compare_sheet(passes(**lines))

    short, whole = tables(found)[1], tables(found, all_pairs=True)[1]

    assert len(whole.rows) == 36
    assert len(short.rows) == 15
    assert "21 more pairs" in short.note


def test_frames_have_one_row_a_pair():
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("polars", reason="polars is not installed")
    found = compare_sheet(passes(a="1101", b="1100", c="0000"))

    assert list(found.to_pandas()["model_a"]) == ["a", "a", "b"]
    assert found.to_polars().height == 3


def test_numbers_for_people():
    assert format_p(0.00001) == "<.0001"
    assert format_p(0.0321) == ".0321"
    assert format_p(None) == "\u2013"
    assert Scale((0, 1)).gap(0.031) == "+3.1"
    assert Scale((1, 5)).value(3.5) == "3.50"


names = st.integers(2, 7)


@given(names, st.data())
@settings(max_examples=80, deadline=None)
def test_models_share_a_letter_exactly_if_they_are_not_distinguishable(size, data):
    models = [f"m{at}" for at in range(size)]
    every = [(a, b) for at, a in enumerate(models) for b in models[at + 1 :]]
    apart = data.draw(st.sets(st.sampled_from(every)))

    found = letters(models, apart)

    for a, b in every:
        assert bool(set(found[a]) & set(found[b])) == ((a, b) not in apart)


def test_odd_patterns_of_differences_fall_back_to_runs_of_neighbours():
    models = [f"m{at:02}" for at in range(24)]
    apart = {(models[at], models[at + 1]) for at in range(0, 24, 2)}  # 2^12 maximal sets

    found = letters(models, apart)

    assert all(not set(found[a]) & set(found[b]) for a, b in apart)
    assert max(len(letter) for group in found.values() for letter in group) == 1


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=25))
@settings(max_examples=40, deadline=None)
def test_a_difference_lies_in_its_interval(values):
    found = estimate_difference([a for a, _ in values], [b for _, b in values], 1.0, 0.95)

    assert found.low - 1e-12 <= found.value <= found.high + 1e-12
    assert math.isfinite(found.low)


def test_a_cell_has_a_value_or_a_reason():
    with pytest.raises(ValueError, match="exactly one"):
        Cell(None)
    with pytest.raises(ValueError, match="exactly one"):
        Cell(1.0, Missing(MissingKind.FAILED))


def test_models_that_share_nothing_leave_the_others_compared():
    found = compare_sheet(passes(x="1101..", y="1000..", dead="......"))

    assert [(pair.first, pair.second, pair.n) for pair in found.pairs] == [("x", "y", 4)]
    assert found.unpaired == (("x", "dead"), ("y", "dead"))
    assert found.to_json()["unpaired"] == [["x", "dead"], ["y", "dead"]]
    assert "'x' and 'dead'; 'y' and 'dead'" in " ".join(found.notes)
    assert [(one.model, one.group, one.rank_low) for one in found.standings] == [
        ("x", ("a",), 1), ("y", ("a",), 1), ("dead", (), None)
    ]  # fmt: skip
    with pytest.raises(KeyError):
        found.pair("x", "dead")


def test_where_no_two_models_share_a_sample_there_is_nothing_to_compare():
    with pytest.raises(DataError, match="no two models share a sample with a value"):
        compare_sheet(passes(x="1..", y=".1.", z="..1"))
    apart = replace(passes(x="1.", y=".1"), notes=("Samples without a counterpart: 1 of 1 in x.",))
    with pytest.raises(DataError, match="'x' and 'y' share no sample with a value") as found:
        compare_sheet(apart)
    assert "benchmark or task. Samples without" in str(found.value)


def test_a_candidate_without_a_common_sample_cannot_be_held_against_its_baseline():
    found = compare_sheet(passes(x="1101", y="1000", dead="...."))

    assert check_worse(found, [("x", "y")])[0].first == "x"
    with pytest.raises(DataError, match="'dead' cannot be held against 'x'"):
        check_worse(found, [("dead", "x")])


def test_more_models_than_are_compared_two_by_two_have_their_scores_and_no_comparison(tmp_path, monkeypatch):
    for module in ("results.comparison", "runs.exam.score_tables", "runs.exam.sections"):
        monkeypatch.setattr(f"markbook.{module}.MOST_COMPARED", 2)
    right, wrong = "def f(x):\n    return x\n", "def f(x):\n    return 0\n"
    answers = [answer("p", right if model == "a" else wrong, model) for model in "abc"]

    run = hold(tmp_path, [problem("p")], answers)
    record = json.loads(run.read("model_comparison.json"))
    code, _, err = markbook("compare", run.folder)

    assert record["overall_scores"] == {"a": 100.0, "b": 0.0, "c": 0.0}
    assert (record["comparison"], record["comparison_note"]) == (
        None, "3 models are not compared two by two: 2 are the most",
    )  # fmt: skip
    assert "3 models are not compared two by two" in run.read("report.html")
    assert "| 1 | a | 100.0" in run.read("model_comparison_summary.md")
    assert (code, "3 models are not compared two by two: 2 are the most" in err) == (2, True), err
