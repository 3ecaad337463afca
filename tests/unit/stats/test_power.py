"""What a comparison says that samples would show: it is found as often as it says."""

import json
import math

import numpy as np
import pytest
import scipy  # its parts are loaded by the test that asks for them
from support.exam_kit import answer, problem, write_rows
from support.review_kit import markbook

from bench import power as simulated
from markbook.results.comparison import compare_sheet
from markbook.results.sheet import Cell, Sheet
from markbook.results.summary import summarise_values
from markbook.stats import mean_interval, pass_at_k_summary
from markbook.stats.power import Differences, detectable_difference, items_to_show, sign_power, t_power


def compared(tmp_path, **models):
    """Compare models' scores through the command."""
    files = []
    for model, scores in models.items():
        file = tmp_path / f"{model}.jsonl"
        rows = ({"item": str(at), "model": model, "score": score} for at, score in enumerate(scores))
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files.append(file)
    code, out, err = markbook("compare", *files, "--map", "item=item,model=model,score=score", "--json")
    assert code == 0, err
    return json.loads(out)


def summed_power(n, plus, minus, alpha):
    """The same by summing over how many differ, with scipy's binomials."""
    differing, power = plus + minus, 0.0
    for m in range(1, n + 1):
        ks = [k for k in range(m // 2 + 1) if 2 * scipy.stats.binom.cdf(k, m, 0.5) < alpha]
        if ks:
            tails = scipy.stats.binom.cdf(ks[-1], m, plus / differing) + scipy.stats.binom.sf(
                m - ks[-1] - 1, m, plus / differing
            )
            power += scipy.stats.binom.pmf(m, n, differing) * tails
    return power


@pytest.mark.parametrize(
    ("n", "plus", "minus", "alpha"),
    [(10, 0.3, 0.0, 0.05), (36, 0.4, 0.1, 0.05), (90, 0.1, 0.05, 0.001), (5, 1.0, 0.0, 0.05), (6, 1.0, 0.0, 0.05), (50, 0, 0.2, 0.05)],
)  # fmt: skip
def test_power_of_signs_is_the_sum_over_binomials(n, plus, minus, alpha):
    assert sign_power(n, plus, minus, alpha) == pytest.approx(summed_power(n, plus, minus, alpha), abs=1e-9)


@pytest.mark.parametrize(
    ("degrees", "shift", "alpha"), [(2, 3, 0.05), (9, 2.8, 0.01), (99, 2.8, 0.05), (1500, 2.8, 0.001)]
)
def test_power_of_t_is_that_of_the_noncentral_distribution(degrees, shift, alpha):
    critical = scipy.stats.t.isf(alpha / 2, degrees)
    exact = 1 - scipy.special.nctdtr(degrees, shift, critical) + scipy.special.nctdtr(degrees, shift, -critical)

    assert t_power(degrees, shift, alpha) == pytest.approx(exact, abs=0.002)


@pytest.mark.parametrize("name", simulated.REGIMES)
def test_what_is_advised_and_called_detectable_is_found_in_four_of_five_cases(name):
    n, settled, by_size = simulated.measure(name, 400)

    # 400 trials: a standard error of 2 points
    assert n is not None
    assert 0.72 < settled < 0.94
    for size, (least, share) in by_size.items():
        assert (least is None) == (share is None)
        assert least is not None or size < 10, size
        assert share is None or 0.72 < share < 0.91, (size, least, share)


def test_of_two_on_four_samples_no_number_is_advised_that_can_settle_nothing(tmp_path):
    # five samples have no p below 2 / 2^5 = .0625, and six have one of .03
    found = compared(tmp_path, a=[1, 1, 1, 0], b=[0, 0, 0, 0])

    said = int(found["next_step"].split()[1])
    assert said >= 6
    assert found["pairs"][0]["minimum_detectable_effect"] is None


@pytest.mark.parametrize("n", [3, 6, 10])
def test_of_ten_models_no_number_is_advised_below_what_holm_can_decide(n):
    marks = {f"m{at}": {f"s{row}": Cell(float(row < n * at / 9)) for row in range(n)} for at in range(10)}

    found = compare_sheet(Sheet("m", marks))

    # of 45 pairs the least p of eleven samples, 2^-10 x 45 = .044, is the first below .05
    step = found.to_json()["next_step"]
    assert "About" not in step or int(step.split()[1]) >= 11
    assert all(pair.mde is None for pair in found.pairs)


def test_a_difference_lies_inside_what_the_range_allows(tmp_path):
    found = compared(tmp_path, a=[1, 1, 1, 1, 1], b=[1, 0, 0, 0, 0])

    (pair,) = found["pairs"]
    assert pair["difference"] == pytest.approx(0.8)
    # t: .8 -+ 2.776 x .447 / sqrt(5)
    assert pair["interval"]["low"] == pytest.approx(0.2447, abs=1e-3)
    assert pair["interval"]["high"] == 1.0


def test_sizes_follow_from_the_decision_of_many_pairs():
    differences = Differences(100, 0.1, 0.53, 0.3, 1.0, is_one_size=True, largest=1.0)

    alone = items_to_show(differences, 0.1, most=10_000)
    among_ten = items_to_show(differences, 0.1, alpha=0.005, most=10_000)

    assert sign_power(alone, 0.2, 0.1, 0.05) >= 0.8
    assert among_ten > 1.5 * alone
    assert items_to_show(differences, 0.001, most=10_000) is None


def test_clusters_leave_as_many_degrees_as_there_are_of_them():
    few = detectable_difference(Differences(240, 0.1, 1.0, clusters=4))
    many = detectable_difference(Differences(240, 0.1, 1.0, clusters=240))

    # noncentral t with 239 degrees is all but normal: 2.81 / sqrt(240)
    assert many == pytest.approx(2.81 / math.sqrt(240), rel=0.01)
    assert few > 1.5 * many
    assert np.isfinite(few)


def test_no_range_of_ranks_is_narrower_than_the_letters(tmp_path):
    found = compared(tmp_path, a=[1, 1, 1], b=[0, 0, 1], c=[0, 0, 0])

    assert {tuple(one["group"]) for one in found["ranking"]} == {("a",)}
    assert [one["rank_range"] for one in found["ranking"]] == [[1, 3]] * 3


def test_an_interval_that_rests_on_few_marks_has_a_warning_beside_it(tmp_path):
    # 97 of 100 at 1, the other three somewhere: such intervals cover 89 %
    found = compared(tmp_path, a=[1] * 97 + [0.2, 0.7, 0.9], b=[at % 10 / 10 for at in range(100)])
    notes = {one["model"]: one["summary"]["note"] for one in found["ranking"]}
    code, out, _ = markbook("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--map",
                            "item=item,model=model,score=score")  # fmt: skip

    assert notes == {"a": "the interval may be too short: it rests on few values away from 1", "b": ""}
    assert code == 0
    assert "a: the interval may be too short: it rests on few values away from 1." in " ".join(out.split())


@pytest.mark.parametrize(
    ("sizes", "words"), [([29, 1, 1, 1, 1, 1], "by their sizes the 6 clusters count as 1.4"), ([8] * 6, "")]
)
def test_few_clusters_of_unequal_size_are_warned_of(sizes, words):
    clusters = [str(at) for at, size in enumerate(sizes) for _ in range(size)]
    values = [at % 3 % 2 for at in range(len(clusters))]

    found = summarise_values(values, clusters=clusters)

    # 34^2 / (29^2 + 5) = 1.37
    assert found.note == (f"the interval may be too short: {words}" if words else "")


def test_few_clusters_of_sizes_that_differ_are_warned_of():
    values = [at % 3 / 2 for at in range(62)]

    unlike = summarise_values(values, clusters=["a"] * 20 + ["b"] * 20 + ["c"] * 12 + ["d"] * 10)
    nearly_alike = summarise_values(values, clusters=["a"] * 17 + ["b"] * 17 + ["c"] * 14 + ["d"] * 14)

    # Kish: 62 squared over 400 + 400 + 144 + 100, and over 289 + 289 + 196 + 196, which is 3.96
    assert unlike.note == "the interval may be too short: by their sizes the 4 clusters count as 3.7"
    assert nearly_alike.note == ""


def test_what_is_rare_in_few_clusters_is_warned_of():
    clusters = [str(at // 10) for at in range(200)]

    found = summarise_values([0 if at < 6 else 1 for at in range(200)], clusters=clusters)

    assert found.note == "the interval may be too short: it rests on few clusters with values away from 1"


def test_marks_without_a_worst_and_best_are_warned_of_where_few_or_skewed():
    endless = (0.0, math.inf)

    few = summarise_values([1.0, 2.0, 4.0], range=endless)
    not_enough = summarise_values([1.0 + at / 10 for at in range(19)], range=endless)
    skewed = summarise_values([1.0 + at / 10 for at in range(20)] + [50.0], range=endless)
    a_little_skewed = summarise_values([(at / 100) ** 5 for at in range(100)], range=endless)  # skewness 1.67
    even = summarise_values([1.0 + at / 10 for at in range(20)], range=endless)

    assert few.note == "the interval may be too short: 3 values are few in a range without ends"
    assert not_enough.note == "the interval may be too short: 19 values are few in a range without ends"
    assert skewed.note == "the interval may be too short: the 21 values are skewed"
    assert a_little_skewed.note == "the interval may be too short: the 100 values are skewed"
    assert even.note == ""


def test_intervals_of_many_marks_near_an_end_lean_inwards():
    values = [1.0] * 194 + [0.1, 0.4, 0.5, 0.6, 0.7, 0.9]

    many = mean_interval(values)

    assert many.method == "wilson-t"
    assert many.high < 1
    assert many.value - many.low > 1.2 * (many.high - many.value)


def test_pass_at_k_near_the_ceiling_has_its_warning_in_the_exams_record():
    found = pass_at_k_summary([10] * 100, [10] * 97 + [1, 5, 6], 5)

    assert found.note == "the interval may be too short: it rests on few values away from 1"


def test_the_warning_stands_beside_the_numbers_of_score_run_and_exam(tmp_path):
    warning = "the interval may be too short: it rests on few values away from 1."
    said = ["one two three four"] * 11 + ["one two three"]
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"candidate": text, "reference": said[0]}) + "\n" for text in said))
    (tmp_path / "t.yaml").write_text(
        "name: t\ndata: {path: rows.jsonl}\nprompt: q\nreference: '{{ reference }}'\nmetrics: [rouge1]\n"
    )
    predictions = tmp_path / "p.jsonl"
    predictions.write_text(
        "".join(json.dumps({"doc_id": at, "prediction": text}) + "\n" for at, text in enumerate(said))
    )

    scored = markbook("score", "rouge1", rows)
    ran = markbook("run", tmp_path / "t.yaml", "--predictions", predictions, "--output", tmp_path / "out")

    tests = [{"assertion": f"func({one}) == {one}"} for one in range(4)]
    problems = write_rows(tmp_path / "b.jsonl", [problem(f"p{at}", tests=tests) for at in range(12)])
    part = "def f(x):\n    return x if x < {} else -1\n"
    answers = write_rows(tmp_path / "a.jsonl", [answer(f"p{at}", part.format(4 if at else 3)) for at in range(12)])

    held = markbook("exam", "--benchmark", problems, "--solutions", answers, "--isolation", "weak", "--output",
                    tmp_path / "exam")  # fmt: skip

    assert (held[0], f"gpt: {warning}" in " ".join((held[1] + held[2]).split())) == (0, True), held
    assert (scored[0], f"rouge1: {warning}" in scored[1]) == (0, True), scored
    assert (ran[0], f"rouge1: {warning}" in " ".join((ran[1] + ran[2]).split())) == (0, True), ran
