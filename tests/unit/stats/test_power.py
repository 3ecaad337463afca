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
from markbook.results.pairs import estimate_difference
from markbook.results.sheet import Cell, Sheet
from markbook.results.summary import summarise_values, summarise_warnings
from markbook.stats import mean_interval, pass_at_k_summary
from markbook.stats.difference import tango_interval
from markbook.stats.intervals import NARROW
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
        # Of ten differences, one that lies far off leaves open what could be shown.
        assert least is not None or size < 10 or (size == 10 and name.startswith("one in ten far off")), size
        assert share is None or 0.72 < share < 0.91, (size, least, share)


def test_of_two_on_four_samples_no_number_is_advised_that_can_settle_nothing(tmp_path):
    # five samples have no p below 2 / 2^5 = .0625, and six have one of .03
    found = compared(tmp_path, a=[1, 1, 1, 0], b=[0, 0, 0, 0])

    said = int(found["next_step"].split("about ")[1].split()[0])
    assert said >= 6
    assert found["pairs"][0]["minimum_detectable_effect"] is None


@pytest.mark.parametrize(("n", "few"), [(50, 8), (100, 10), (100, 48), (200, 90), (1000, 45)])
def test_what_could_be_shown_where_all_that_differ_are_better_is_what_signs_show(tmp_path, n, few):
    better = [0.2 + 0.2 * at / (few - 1) for at in range(few)]
    found = compared(tmp_path, a=[*better, *[0] * (n - few)], b=[0] * n)

    # As many differ by as much, to both sides: of 1000 with 45 that differ 0.12 points were said, which are found in 7 of 100 cases.
    surplus = found["pairs"][0]["minimum_detectable_effect"] / 0.3
    assert 0.79 < sign_power(n, (few / n + surplus) / 2, (few / n - surplus) / 2, 0.05) < 0.86


@pytest.mark.parametrize("n", [8, 10])
@pytest.mark.parametrize("far", [0.9, 0.3])
def test_what_one_sample_that_differs_far_more_than_the_others_could_show_is_not_said(tmp_path, n, far):
    near = [0.02 * (at - (n - 0.5) / 2) / n for at in range(n)]
    gaps = [far, *near[1:]]

    found = compared(tmp_path, a=[0.5 + gap / 2 for gap in gaps], b=[0.5 - gap / 2 for gap in gaps])
    _, shown, _ = markbook(
        "compare",
        tmp_path / "a.jsonl",
        tmp_path / "b.jsonl",
        "--map",
        "item=item,model=model,score=score",
        "--format",
        "md",
    )

    assert found["pairs"][0]["minimum_detectable_effect"] is None
    assert "No MDE is given if a few samples differ by far more than the others" in shown
    usual = compared(tmp_path, a=[0.5 + gap / 2 for gap in near], b=[0.5 - gap / 2 for gap in near])
    assert usual["pairs"][0]["minimum_detectable_effect"] > 0


@pytest.mark.parametrize("n", [3, 6, 10])
def test_of_ten_models_no_number_is_advised_below_what_holm_can_decide(n):
    marks = {f"m{at}": {f"s{row}": Cell(float(row < n * at / 9)) for row in range(n)} for at in range(10)}

    found = compare_sheet(Sheet("m", marks))

    # of 45 pairs the least p of eleven samples, 2^-10 x 45 = .044, is the first below .05
    step = found.to_json()["next_step"]
    assert "about" not in step or int(step.split("about ")[1].split()[0]) >= 11
    assert all(pair.mde is None for pair in found.pairs)


def test_a_difference_lies_inside_what_the_range_allows(tmp_path):
    found = compared(tmp_path, a=[1, 1, 1, 1, 1], b=[1, 0, 0, 0, 0])

    (pair,) = found["pairs"]
    assert pair["difference"] == pytest.approx(0.8)
    # Tango: the ends are roots of the polynomial of `score_polynomial`; t would be .8 -+ 2.776 x .447 / sqrt(5), up to 1.36
    assert pair["interval"]["low"] == pytest.approx(0.0179, abs=1e-3)
    assert pair["interval"]["high"] == pytest.approx(0.9638, abs=1e-3)


def score_polynomial(only_a, only_b, n, z):
    """The polynomial whose roots are the ends of Tango's interval (Yang, Sun, Hardin 2013): found without iteration."""
    g, d, m = z * z, only_a - only_b, only_a + only_b
    return [
        n**2 * (n / g + 1) ** 2,
        -n * d * (n / g + 1) * (4 * n / g + 1),
        2 * n * d**2 * (3 * n / g + 2) / g - n**2 * (m / g + 1),
        n * d * (2 * m / g + 1) - d**3 * (4 * n / g + 1) / g,
        d**2 * (d**2 / g - m) / g,
    ]


@pytest.mark.parametrize(
    ("only_a", "only_b", "n"), [(4, 0, 5), (3, 1, 6), (12, 2, 50), (40, 20, 160), (0, 5, 100), (9, 3, 2500)]
)
def test_the_interval_of_pairs_that_are_right_or_wrong_is_tangos(only_a, only_b, n):
    low, high = tango_interval(only_a, only_b, n)

    roots = np.roots(score_polynomial(only_a, only_b, n, 1.959963984540054))
    real = sorted(float(root.real) for root in roots if abs(root.imag) < 1e-7)
    assert min(abs(low - root) for root in real) < 1e-6
    assert min(abs(high - root) for root in real) < 1e-6
    assert low < (only_a - only_b) / n < high


@pytest.mark.parametrize("n", [6, 12, 20, 50])
@pytest.mark.parametrize("shares", [(0.4, 0.0), (0.65, 0.35), (0.2, 0.1), (0.1, 0.0), (0.9, 0.1)])
def test_differences_of_pairs_are_covered_or_warned_of(n, shares):
    plus, minus = shares
    covered = unwarned = 0.0
    for only_a in range(n + 1):
        for only_b in range(n + 1 - only_a):
            chance = math.comb(n, only_a) * math.comb(n - only_a, only_b) * plus**only_a * minus**only_b
            chance *= max(0.0, 1 - plus - minus) ** (n - only_a - only_b)
            if chance < 1e-7:
                continue
            second = [0.0] * only_a + [1.0] * (n - only_a)
            first = [1.0] * only_a + [0.0] * only_b + [1.0] * (n - only_a - only_b)
            found = estimate_difference(first, second, 1.0, 0.95)
            covered += chance * (found.low - 1e-9 <= plus - minus <= found.high + 1e-9)
            unwarned += chance * (NARROW not in found.note)

    # t covers 91.6 % at n = 6, 93.2 at 12, 92.8 at 20 and 87.9 at 50
    assert covered >= 0.93 or unwarned < 0.1
    assert n < 11 or unwarned > 0.999


def test_warnings_are_said_together_those_of_earlier_versions_too():
    notes = [
        ("a", f"{NARROW}: few"),
        ("b", "no variation"),
        ("c", f"one; {NARROW}: few"),
        ("d", "the interval may be too short: x"),
    ]

    assert summarise_warnings(notes) == f"a, c: {NARROW}: few. d: the interval may be too short: x."


def test_few_samples_of_which_half_differ_have_a_warning_in_table_and_record(tmp_path):
    found = compared(tmp_path, a=[1, 1, 1, 0, 1, 1], b=[0, 0, 0, 1, 1, 1])
    _, out, _ = markbook("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--map",
                         "item=item,model=model,score=score")  # fmt: skip

    warning = "the interval may be too narrow: 6 samples are few where half or more differ"
    assert found["pairs"][0]["interval"]["method"] == "tango"
    assert found["pairs"][0]["note"] == warning
    assert f"a − b: {warning}." in " ".join(out.split())


@pytest.mark.parametrize(
    ("gaps", "words"),
    [
        # one-sided, 20 % differ: t covers 89 % of samples of 20
        ([0.0] * 17 + [0.3, 0.6, 0.9], "it rests on few differences away from 0"),
        ([0.0] * 3 + [0.3, -0.6, 0.9, 1.0], "7 differences are few where many are 0 or as large as can be"),
        ([(at / 60) ** 6 for at in range(60)], "the 60 values are skewed"),
        ([(at % 7 - 3) / 10 for at in range(30)], ""),
    ],
)
def test_differences_of_partial_credit_are_warned_of_where_few_or_skewed(tmp_path, gaps, words):
    found = compared(tmp_path, a=[max(0.0, gap) for gap in gaps], b=[max(0.0, -gap) for gap in gaps])

    assert found["pairs"][0]["note"] == (f"the interval may be too narrow: {words}" if words else "")


def test_related_differences_of_few_clusters_are_warned_of():
    clusters = [str(at // 5) for at in range(200)]
    gaps = [0.5 if at < 10 else 0.0 for at in range(200)]

    found = estimate_difference(gaps, [0.0] * 200, 1.0, 0.95, clusters)

    assert found.note == "the interval may be too narrow: it rests on few clusters with values away from 0"


@pytest.mark.parametrize(("rights", "k", "is_warned"), [([2, 5, 9], 2, True), ([2, 5, 9], 1, False)])
def test_pass_at_k_of_few_problems_is_warned_of(rights, k, is_warned):
    # pass@2 of 10 attempts at chances Beta(1, 1) covers 91 % of samples of 3 problems, pass@5 83 %
    found = pass_at_k_summary([10] * 3, rights, k)

    assert found.note == (f"the interval may be too narrow: 3 problems are few for pass@{k}" if is_warned else "")


def test_a_fifth_that_fails_says_nothing_of_the_rare_others_at_few_problems():
    few = pass_at_k_summary([10] * 20, [10] * 16 + [8, 0, 0, 0], 5)
    many = pass_at_k_summary([10] * 40, [10] * 32 + [8, 8] + [0] * 6, 5)

    assert few.note == "the interval may be too narrow: it rests on few values away from 1"
    assert many.note == ""


@pytest.mark.parametrize(
    ("means", "words"),
    [
        ([1, 1, 1, 1, 0.9, 0.5], "it rests on few values away from 1"),
        ([1] * 12 + [0.6, 0.7, 0.8], "it rests on few clusters with values away from 1"),
        ([0.3, 0.7] * 8, ""),
    ],
)
def test_clusters_of_which_many_are_at_an_end_are_warned_of(means, words):
    values = [mean for mean in means for _ in range(4)]
    found = summarise_values(values, clusters=[str(at // 4) for at in range(len(values))])

    assert found.note == (f"the interval may be too narrow: {words}" if words else "")
    assert found.interval.method == "cluster-wilson-t"
    assert found.value - found.interval.low > 1.2 * (found.interval.high - found.value) or not words


def test_few_clusters_with_many_values_at_an_end_are_warned_of():
    # every cluster has a half at 1: such intervals cover 88 to 92 %
    values = [1.0, 1.0, 0.9, 0.6] * 6

    found = summarise_values(values, clusters=[str(at // 4) for at in range(24)][::-1])
    unequal = summarise_values([*values[:-1], 0.2], clusters=[str(at // 4) for at in range(24)])

    assert "no interval" in found.note  # all clusters have the same mean
    assert unequal.note == "the interval may be too narrow: 6 clusters are few where many values are 1"


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

    assert notes == {"a": "the interval may be too narrow: it rests on few values away from 1", "b": ""}
    assert code == 0
    assert "a: the interval may be too narrow: it rests on few values away from 1." in " ".join(out.split())


@pytest.mark.parametrize(
    ("sizes", "words"), [([29, 1, 1, 1, 1, 1], "by their sizes the 6 clusters count as 1.4"), ([8] * 6, "")]
)
def test_few_clusters_of_unequal_size_are_warned_of(sizes, words):
    clusters = [str(at) for at, size in enumerate(sizes) for _ in range(size)]
    values = [at % 3 % 2 for at in range(len(clusters))]

    found = summarise_values(values, clusters=clusters)

    # 34^2 / (29^2 + 5) = 1.37
    assert found.note == (f"the interval may be too narrow: {words}" if words else "")


def test_few_clusters_of_sizes_that_differ_are_warned_of():
    values = [at % 3 / 2 for at in range(62)]

    unlike = summarise_values(values, clusters=["a"] * 20 + ["b"] * 20 + ["c"] * 12 + ["d"] * 10)
    nearly_alike = summarise_values(values, clusters=["a"] * 17 + ["b"] * 17 + ["c"] * 14 + ["d"] * 14)

    # Kish: 62 squared over 400 + 400 + 144 + 100, and over 289 + 289 + 196 + 196, which is 3.96
    assert unlike.note == "the interval may be too narrow: by their sizes the 4 clusters count as 3.7"
    assert nearly_alike.note == ""


def test_what_is_rare_in_few_clusters_is_warned_of():
    clusters = [str(at // 10) for at in range(200)]

    found = summarise_values([0 if at < 6 else 1 for at in range(200)], clusters=clusters)

    assert found.note == "the interval may be too narrow: it rests on few clusters with values away from 1"


def test_marks_without_a_worst_and_best_are_warned_of_where_few_or_skewed():
    endless = (0.0, math.inf)

    few = summarise_values([1.0, 2.0, 4.0], range=endless)
    not_enough = summarise_values([1.0 + at / 10 for at in range(19)], range=endless)
    skewed = summarise_values([1.0 + at / 10 for at in range(20)] + [50.0], range=endless)
    a_little_skewed = summarise_values([(at / 100) ** 5 for at in range(100)], range=endless)  # skewness 1.67
    even = summarise_values([1.0 + at / 10 for at in range(20)], range=endless)

    assert few.note == "the interval may be too narrow: 3 values are few in a range without ends"
    assert not_enough.note == "the interval may be too narrow: 19 values are few in a range without ends"
    assert skewed.note == "the interval may be too narrow: the 21 values are skewed"
    assert a_little_skewed.note == "the interval may be too narrow: the 100 values are skewed"
    assert even.note == ""


def test_intervals_of_many_marks_near_an_end_lean_inwards():
    values = [1.0] * 194 + [0.1, 0.4, 0.5, 0.6, 0.7, 0.9]

    many = mean_interval(values)

    assert many.method == "wilson-t"
    assert many.high < 1
    assert many.value - many.low > 1.2 * (many.high - many.value)


@pytest.mark.parametrize(
    ("rights", "k", "is_warned"),
    [
        # pass@5 of 10 is .976 or more from four right on: 12 of 20, and four with none right
        ([0] * 4 + [1, 2, 3, 3] + [5] * 12, 5, True),
        ([0] * 2 + [1] * 4 + [2] * 3 + [3] * 2 + [6] * 9, 5, True),  # 9 of 20 at the end
        ([0] * 7 + [1] + [6] * 12, 5, False),  # more than three tenths fail: counted as a share is
        ([0] * 2 + [1] * 4 + [2] * 3 + [3] * 2 + [9] * 9, 2, False),  # of two attempts that is a draw like others
    ],
)
def test_a_draw_of_hard_problems_does_not_hide_that_pass_at_k_is_skewed(rights, k, is_warned):
    found = pass_at_k_summary([10] * 20, rights, k)

    assert found.note == ("the interval may be too narrow: it rests on few values away from 1" if is_warned else "")


def test_pass_at_k_near_the_ceiling_has_its_warning_in_the_exams_record():
    found = pass_at_k_summary([10] * 100, [10] * 97 + [1, 5, 6], 5)

    assert found.note == "the interval may be too narrow: it rests on few values away from 1"


def test_the_warning_stands_beside_the_numbers_of_score_run_and_exam(tmp_path):
    warning = "the interval may be too narrow: it rests on few values away from 1."
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
