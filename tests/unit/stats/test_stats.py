"""The statistics against libraries (fixtures), hand-worked numbers, and their laws."""

import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest
import scipy  # its parts are loaded by the test that asks for them
from hypothesis import given, settings, strategies as st
from support.load import PATIENCE

from bench import coverage
from markbook import stats
from markbook.results.summary import estimate_mean
from markbook.stats import arrays
from markbook.stats.difference import sign_flip_ps
from markbook.stats.intervals import NARROW, _resampled_means, bca_parameters, mean_of_means, wilson_interval


@pytest.fixture(scope="session")
def fixture_cases(shared_data):
    """Return a reader of one fixture file: (cases, tolerance of each)."""

    def read(name):
        data = json.loads((shared_data / "stats-fixtures" / f"{name}.json").read_text(encoding="utf-8"))
        cases = [(case, case.get("tolerance_abs", data["tolerance_abs"])) for case in data["cases"]]
        assert cases
        return cases

    return read


def close(found, wanted, tolerance):
    assert found == pytest.approx(wanted, abs=tolerance, rel=0)


def test_proportion_intervals_agree_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("proportion_intervals"):
        options = {"confidence": 1 - case["alpha"]}
        x, n = case["x"], case["n"]

        wilson = stats.wilson_interval(x, n, **options)
        edged = stats.jeffreys_interval(x, n, **options)
        plain = stats.jeffreys_interval(x, n, edge=False, **options)

        close([wilson.low, wilson.high], case["wilson"], tolerance)
        close([edged.low, edged.high], case["jeffreys_brown_edge"], tolerance)
        close([plain.low, plain.high], case["jeffreys"], tolerance)
        close(wilson.value, case["p"], tolerance)


def test_pass_at_k_agrees_with_exact_rationals(fixture_cases):
    for case, tolerance in fixture_cases("pass_at_k"):
        for k, wanted in case["pass_at"].items():
            found = [stats.pass_at_k(n, c, int(k)).value for n, c in zip(case["n"], case["c"], strict=True)]
            summary = stats.pass_at_k_summary(case["n"], case["c"], int(k))

            assert [value is None for value in found] == [value is None for value in wanted["per_problem"]]
            pairs = zip(found, wanted["per_problem"], strict=True)
            for one, two in ((one, two) for one, two in pairs if two is not None):
                close(one, two, tolerance)
            if wanted.get("defined_for_all", True):
                close([summary.value, summary.se], [wanted["mean"], wanted["se_over_problems"]], tolerance)
            else:
                assert summary.value is None
                assert summary.stats["n_undefined"] == wanted["n_undefined"]
                assert str(wanted["n_undefined"]) in summary.note


def test_clustered_error_agrees_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("clustered_se"):
        cr1 = stats.clustered_standard_error(case["score"], case["cluster"])
        cr0 = stats.clustered_standard_error(case["score"], case["cluster"], correction="CR0")

        close([cr1.value, cr1.se], [case["mean"], case["se_cluster_CR1"]], tolerance)
        close([cr0.se, cr0.stats["se_iid"]], [case["se_cluster_CR0"], case["se_iid"]], tolerance)
        assert (cr1.n, cr1.stats["n_clusters"]) == (case["n"], case["n_clusters"])


def test_design_effect_agrees_with_the_fixture(fixture_cases):
    for case, tolerance in fixture_cases("clustered_se"):
        found = stats.clustered_standard_error(case["score"], case["cluster"])

        close(found.stats["design_effect"], case["design_effect"], max(tolerance, 1e-9))


def test_paired_difference_agrees_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("paired_difference"):
        found = stats.paired_difference(case["a"], case["b"])
        flipped = stats.sign_flip_test(case["a"], case["b"])

        close([found.value, found.se], [case["mean_diff"], case["se_diff"]], tolerance)
        close([found.low, found.high], case["ci95_t"], tolerance)
        close([found.p, flipped.p], [case["p_t"], case["p_signflip_exact"]], tolerance)
        close(found.stats["correlation"], case["corr"], tolerance)
        close(found.stats["se_unpaired"], case["se_unpaired"], tolerance)


def test_mcnemar_agrees_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("mcnemar"):
        found = stats.mcnemar_exact(case["only_a"], case["only_b"])

        close([found.p, found.stats["p_mid"]], [case["p_exact"], case["p_midp"]], tolerance)


def test_adjusted_p_agree_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("multiple_comparisons"):
        close(stats.holm(case["p"]), case["holm"], tolerance)
        close(stats.benjamini_hochberg(case["p"]), case["bh"], tolerance)


def test_bootstrap_agrees_with_enumeration_and_libraries(fixture_cases):
    for case, tolerance in fixture_cases("bootstrap_mean"):
        if case["kind"] == "degenerate":
            found = stats.bootstrap_mean(case["x"])
            assert (found.value, found.low, found.high) == (case["mean"], None, None)
            assert "no variation" in found.note
            continue
        options = {"confidence": 1 - case["alpha"], "n_resamples": 20_000, "seed": 1}
        percentile = stats.bootstrap_mean(case["x"], method="percentile", **options)
        if case["kind"] == "exact_enumeration_n6":
            array = np.array(case["x"])
            bias, acceleration = bca_parameters(array, _resampled_means(array, 0, 0))
            close([percentile.low, percentile.high], case["percentile_exact"], tolerance)
            close([bias, acceleration], [case["bca_z0_exact"], case["bca_acceleration"]], tolerance)
        else:
            bca = stats.bootstrap_mean(case["x"], **options)
            t = stats.t_interval(case["x"])
            close([percentile.low, percentile.high], case["percentile_scipy"], tolerance)
            close([bca.low, bca.high], case["bca_scipy"], tolerance)
            close([t.low, t.high], case["t_interval"], 1e-9)


def test_newcombe_agrees_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("newcombe_difference"):
        found = stats.newcombe_difference(case["x1"], case["n1"], case["x2"], case["n2"])

        close([found.value, found.low, found.high], [case["diff"], *case["newcombe95"]], tolerance)


def test_power_agrees_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("power_mde"):
        args = (case["n_items"], case["sd_of_paired_diff"])
        options = {"alpha": case["alpha"], "power": case["power"]}

        normal = stats.minimum_detectable_effect(*args, **options)
        exact = stats.minimum_detectable_effect(*args, method="t", **options)

        close([normal.value, exact.value], [case["mde_normal"], case["mde_t"]], tolerance)
        assert stats.items_needed(0.02, args[1], **options) == case["n_for_2pts_normal"]


def test_bradley_terry_agrees_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("bradley_terry"):
        found = stats.bradley_terry(case["wins"])
        gap = found.difference(0, 1)

        close(found.value, case["strength_centered"], tolerance)
        close(found.se, case["se_centered"], tolerance)
        close([gap.value, gap.se], [case["diff_01"]["est"], case["diff_01"]["se"]], tolerance)


def test_agreement_agrees_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("judge_agreement"):
        raters, few = case["raters"], {"n_resamples": 20}
        if case["cohen_kappa_12"] is None:
            for found in (stats.cohen_kappa(raters[0], raters[1]), stats.krippendorff_alpha(raters)):
                assert found.value is None
                assert "no variation" in found.note
            continue
        one, two = raters[:2]
        close(stats.cohen_kappa(one, two, **few).value, case["cohen_kappa_12"], tolerance)
        close(stats.cohen_kappa(one, two, "linear", **few).value, case["cohen_kappa_12_linear"], tolerance)
        close(stats.cohen_kappa(one, two, "quadratic", **few).value, case["cohen_kappa_12_quadratic"], tolerance)
        counts = [[list(unit).count(label) for label in case["labels"]] for unit in zip(*raters, strict=True)]
        close(stats.fleiss_kappa(counts, **few).value, case["fleiss_kappa"], tolerance)
        gaps = [
            [None if gone else value for value, gone in zip(row, mask, strict=True)]
            for row, mask in zip(raters, case["missing_mask"], strict=True)
        ]
        for name, wanted in case["krippendorff_alpha"].items():
            level, _, which = name.partition("_")
            found = stats.krippendorff_alpha(raters if which == "full" else gaps, level, **few)
            close(found.value, wanted, tolerance)
        for kind, wanted in case["icc_single"].items():
            close(stats.icc(raters, kind, **few).value, wanted, tolerance)


def test_weight_sensitivity_agrees_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("weight_sensitivity"):
        found = stats.weight_sensitivity(case["scores"], case["seed_weights"], draws=200_000, seed=3)

        assert list(found.ranks) == case["rank_by_seed_weights"]
        close(np.array(found.rank_probability), np.array(case["rank_probability"]), tolerance)
        # The stated weights sum to 1.002 and are normalised.
        close(found.value, [raw / 1.002 for raw in case["composite_raw"]], 1e-9)


def test_exam_score_interval_agrees_with_libraries(fixture_cases):
    for case, tolerance in fixture_cases("exam_score"):
        found = stats.t_interval(case["per_problem"])

        close([found.value, found.se], [case["score"], case["se"]], tolerance)
        close([found.low, found.high], case["ci95_t"], tolerance)


# ---- what is undefined says so ----


def test_one_value_has_no_interval_and_says_so():
    for found in (stats.t_interval([0.5]), stats.bootstrap_mean([0.5]), stats.mean_interval([0.5])):
        assert (found.value, found.low, found.high) == (0.5, None, None)
        assert "n < 2" in found.note


def test_no_value_has_no_mean():
    for found in (stats.t_interval([]), stats.bootstrap_mean([]), stats.clustered_standard_error([], [])):
        assert found.value is None
        with pytest.raises(ValueError, match="no value"):
            float(found)


def test_equal_partial_scores_have_no_interval_and_equal_passes_have_wilsons():
    assert stats.mean_interval([0.5] * 9).low is None

    whole = stats.mean_interval([1.0] * 20)

    # Wilson at 20 of 20: 20/(20 + z^2), z = 1.95996
    assert whole.low == pytest.approx(20 / (20 + 1.959963984540054**2))
    assert (whole.high, whole.method) == (1.0, "wilson")


@pytest.mark.parametrize("bad", [[math.nan], [math.inf, 1.0]])
def test_not_a_number_is_refused(bad):
    with pytest.raises(ValueError, match="finite"):
        stats.t_interval(bad)


@pytest.mark.parametrize(
    "call",
    [
        lambda: stats.wilson_interval(3, 2),
        lambda: stats.wilson_interval(0, 0),
        lambda: stats.pass_at_k(2, 3, 1),
        lambda: stats.pass_at_k(2, 1, 0),
        lambda: stats.pass_at_k_summary([1], [], 1),
        lambda: stats.mcnemar_exact(-1, 0),
        lambda: stats.holm([1.5]),
        lambda: stats.paired_difference([1], [1, 2]),
        lambda: stats.paired_difference([], [], confidence=95),
        lambda: stats.t_interval([0, 1], confidence=95),
        lambda: stats.bootstrap_mean([0, 1], method="basic"),
        lambda: stats.clustered_standard_error([1, 2], [1]),
        lambda: stats.clustered_standard_error([1, 2], [1, 2], correction="CR9"),
        lambda: stats.minimum_detectable_effect(1, 0.5),
        lambda: stats.minimum_detectable_effect(9, 0.5, power=2),
        lambda: stats.minimum_detectable_effect(9, 0.5, method="guess"),
        lambda: stats.items_needed(0, 0.5),
        lambda: stats.bradley_terry([[0, 1]]),
        lambda: stats.bradley_terry([[0, -1], [1, 0]]),
        lambda: stats.bradley_terry([[0, 1], [1, 0]], prior=-1),
        lambda: stats.cohen_kappa([1], [1, 2]),
        lambda: stats.cohen_kappa([1, 2], [1, 2], "cubic"),
        lambda: stats.fleiss_kappa([[1, 1], [3, 0]]),
        lambda: stats.krippendorff_alpha([[1, 2], [1, 2]], clusters=[1]),
        lambda: stats.krippendorff_alpha([[1, 2]]),
        lambda: stats.krippendorff_alpha([[1, 2], [1, 2]], "cardinal"),
        lambda: stats.icc([[1, 2], [1, 2]], "ICC9"),
        lambda: stats.weight_sensitivity([[1, 2]], [0, 0]),
        lambda: stats.weight_sensitivity([[1, 2]], [1]),
        lambda: stats.weight_sensitivity([[math.nan, 2]], [1, 1]),
    ],
)
def test_wrong_arguments_are_refused(call):
    with pytest.raises(ValueError, match=r"\w"):
        call()


def test_a_model_that_never_loses_is_unbounded_unless_a_prior_is_stated():
    wins = [[0, 5], [0, 0]]

    plain, held = stats.bradley_terry(wins), stats.bradley_terry(wins, prior=0.5)

    assert plain.value == (None, None)
    assert "unbounded" in plain.note
    assert plain.difference(0, 1).value is None
    # One pair: the strength gap is the log-odds of 5.5 wins against 0.5.
    assert held.difference(0, 1).value == pytest.approx(math.log(11))
    assert "prior 0.5" in held.method
    assert held.rank_probability[0][0] > 0.5


def test_missing_p_stays_missing_and_does_not_count():
    assert stats.holm([0.01, None, 0.04]) == [0.02, None, 0.04]
    assert stats.benjamini_hochberg([None]) == [None]


def test_units_with_a_missing_rating_are_left_out_and_counted():
    found = stats.icc([[1, 2, 3, None, 5, 4], [1, 2, 3, 4, 5, 3]])

    assert found.n == 5
    assert "1 units" in found.note


def test_single_cluster_has_no_interval():
    found = stats.clustered_standard_error([0.1, 0.9], ["a", "a"])

    assert found.low is None
    assert "fewer than 2 clusters" in found.note


@pytest.mark.parametrize("values", [[1.0, 0.0], [0.1, 0.2, 0.7], [1e9, 1e9 + 1]])
def test_clusters_that_do_not_differ_say_nothing_of_the_error(values):
    clusters = [cluster for cluster in "abcd" for _ in values]

    found = stats.clustered_standard_error(values * 4, clusters)
    paired = stats.paired_difference(values * 4, [0.0] * len(clusters), clusters=clusters)

    assert (found.low, found.high, found.note) == (None, None, "every cluster has the same mean: no interval")
    assert (paired.low, paired.se, paired.p, paired.note) == (None, None, None, found.note)


@pytest.mark.parametrize("n", [5, 100])
def test_perfect_agreement_has_no_interval(n):
    marks = [1 + at % 5 for at in range(n)]
    counts = [[2 * (mark == one) for one in range(1, 6)] for mark in marks]

    for found in (
        stats.cohen_kappa(marks, marks, "quadratic"),
        stats.fleiss_kappa(counts),
        stats.krippendorff_alpha([marks, marks]),
        stats.icc([marks, marks]),
    ):
        assert found.value == pytest.approx(1.0)
        assert (found.low, found.high, found.se) == (None, None, None)
        assert "no variation between resamples: no interval" in found.note


def test_ratings_of_one_text_by_several_criteria_are_resampled_together():
    one = [1, 2, 3, 4, 5, 2, 3, 4, 1, 5]
    two = [1, 3, 3, 4, 4, 2, 1, 4, 2, 5]
    plain = stats.krippendorff_alpha([one, two])

    # Four criteria that always say the same tell no more than one does.
    found = stats.krippendorff_alpha(
        [[mark for mark in marks for _ in range(4)] for marks in (one, two)],
        clusters=[at for at in range(10) for _ in range(4)],
    )

    assert found.n == 40
    assert found.value == pytest.approx(plain.value, abs=0.05)
    assert found.high - found.low == pytest.approx(plain.high - plain.low, rel=0.1)
    few = stats.krippendorff_alpha([[1, 2] * 4, [1, 2, 1, 1] * 2], clusters=[0, 0, 1, 1, 2, 2, 3, 3])
    assert (few.low, few.note) == (None, "n < 5 clusters: no interval")


def test_paired_difference_widens_when_items_are_related():
    a = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5]
    b = [0.0] * 12

    plain = stats.paired_difference(a, b)
    clustered = stats.paired_difference(a, b, clusters=[index // 3 for index in range(12)])

    assert clustered.value == plain.value
    assert clustered.se > plain.se
    assert clustered.stats["n_clusters"] == 4


def test_correlation_of_tiny_differences_does_not_vanish():
    found = stats.paired_difference([0.0, 1.0, 0.5], [0.0, 1e-140, 0.5e-140])

    assert found.stats["correlation"] == pytest.approx(1.0)


@pytest.mark.parametrize("tiny", [1e-300, 8e-273, 1e-149, 1e-100])
def test_tiny_values_neither_warn_nor_fail(tiny):
    values = [0.0, tiny, tiny / 2]

    for found in (
        stats.mean_interval(values),
        stats.clustered_standard_error(values, [1, 2, 3]),
        stats.t_interval(values),
    ):
        assert found.low is None or found.low <= found.high


@pytest.mark.parametrize("n", [3, 6, 60])
def test_values_whose_squares_no_float_holds_have_a_mean_and_no_interval(n):
    values = [1e308, 1e308, -1e308] * (n // 3)

    for found in (stats.t_interval(values), stats.mean_interval(values, limits=(-math.inf, math.inf))):
        assert found.value == pytest.approx(1e308 / 3)
        assert (found.low, found.high, found.note) == (None, None, "values above 1e+150: no interval")


# ---- laws ----

scores = st.floats(0, 1, allow_nan=False)


@given(st.lists(scores, max_size=80))
@settings(max_examples=60, deadline=None)
def test_the_chosen_interval_holds_the_mean_and_stays_inside_the_range(values):
    found = stats.mean_interval(values, n_resamples=199)

    if found.low is not None:
        assert 0 <= found.low <= found.high <= 1
        assert found.method in {"wilson", "wilson-t", "t", "bca-expanded"}
    else:
        assert found.note


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_swapping_the_models_flips_the_difference_and_keeps_p(pairs):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]

    there, back = stats.paired_difference(a, b), stats.paired_difference(b, a)

    assert there.value == -back.value
    assert stats.sign_flip_test(a, b).p == pytest.approx(stats.sign_flip_test(b, a).p)


@given(st.lists(st.booleans(), min_size=1, max_size=14), st.data())
@settings(max_examples=40, deadline=None)
def test_sign_flip_of_passes_is_exact_mcnemar(a, data):
    b = data.draw(st.lists(st.booleans(), min_size=len(a), max_size=len(a)))
    only_a = sum(x and not y for x, y in zip(a, b, strict=True))
    only_b = sum(y and not x for x, y in zip(a, b, strict=True))

    assert stats.sign_flip_test(a, b).p == pytest.approx(stats.mcnemar_exact(only_a, only_b).p)


@given(st.integers(1, 60), st.data())
def test_pass_at_k_is_the_share_of_k_subsets_with_a_right_one(n, data):
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))

    assert stats.pass_at_k(n, c, k).value == pytest.approx(float(scipy.stats.hypergeom.sf(0, n, c, k)), abs=1e-9)


def test_pass_at_k_of_many_attempts_needs_no_huge_integers():
    assert stats.pass_at_k(100_000, 1000, 100).value == pytest.approx(
        float(scipy.stats.hypergeom.sf(0, 100_000, 1000, 100)), abs=1e-9
    )


def test_drawn_sign_flips_come_near_the_exact_ones_and_repeat_with_their_seed():
    rng = np.random.default_rng(5)
    gaps = rng.normal(0.3, 1, 17)

    one = stats.sign_flip_test(gaps, np.zeros(17), seed=1)
    again = stats.sign_flip_test(gaps, np.zeros(17), seed=1)

    signs = np.array(list(itertools.product((-1, 1), repeat=17)))
    exact = float((np.abs(signs @ gaps) >= abs(gaps.sum()) - 1e-9).mean())
    assert one.p == again.p
    assert one.p == pytest.approx(exact, abs=0.01)


def test_sign_flips_of_many_pairs_equal_those_of_each():
    rng = np.random.default_rng(6)
    gaps = rng.normal(0, 1, (40, 3))

    together = sign_flip_ps(gaps, n_resamples=2000)

    assert together == [sign_flip_ps(gaps[:, [one]], n_resamples=2000)[0] for one in range(3)]


def test_same_seed_same_interval():
    values = [0.1, 0.4, 0.9, 1.0, 0.3, 0.2, 0.8, 0.7]

    assert stats.bootstrap_mean(values, seed=7) == stats.bootstrap_mean(values, seed=7)
    assert stats.cohen_kappa([1, 2, 3, 1, 2], [1, 2, 3, 2, 2]) == stats.cohen_kappa([1, 2, 3, 1, 2], [1, 2, 3, 2, 2])


def test_importing_the_statistics_loads_no_numpy():
    code = "import sys, markbook.stats; print(sorted({'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)

    assert done.stdout.strip() == "[]"


# ---- coverage of a nominal 95 % interval ----


def exact_coverage(interval, n, p):
    return sum(float(scipy.stats.binom.pmf(x, n, p)) for x in range(n + 1) if (e := interval(x)).low <= p <= e.high)


def test_wilson_covers_where_walds_interval_does_not():
    covered = exact_coverage(lambda x: stats.wilson_interval(x, 20), 20, 0.98)

    # Wald covers .332 here; Wilson .940.
    assert covered == pytest.approx(0.940, abs=0.001)


@pytest.mark.parametrize(("n_tasks", "rows", "p"), [(4, 20, 0.99), (10, 50, 0.98), (57, 100, 0.97), (57, 20, 0.03)])
def test_the_interval_of_many_tasks_means_covers_near_an_end(n_tasks, rows, p):
    right = np.random.default_rng(0).binomial(rows, p, (1000, n_tasks)).tolist()
    means = [wilson_interval(x, rows) for x in range(rows + 1)]

    found = [mean_of_means([(means[x].value, means[x].low, means[x].high) for x in tasks]) for tasks in right]

    assert sum(low <= p <= high for low, high in found) >= 930


def test_few_degrees_are_left_where_one_cluster_has_half_of_all():
    # the mean is 1/2; sums of residuals -1, 1/2, 1/2; 1 / (1/2) + 2 (1/4) / (3/4) = 8/3
    # design effect 3/2 = 1 + (6/4 - 1) rho: items of a cluster are alike, so a sum's covariance is n_g n_k (d - h_g - h_k + 3/8):
    # 3/2, 7/8, 7/8, with the first -3/4, between the others -1/8; over 1 - h the trace is 16/3, that of the square 160/9
    values, clusters = [0, 0, 1, 1], ["a", "a", "b", "c"]
    found = stats.clustered_standard_error(values, clusters, correction="CR2")
    paired = stats.paired_difference(values, [0.0] * 4, clusters=clusters)

    close([found.se, found.stats["degrees"]], [math.sqrt(8 / 3) / 4, 1.6], 1e-12)
    close([paired.se, paired.stats["degrees"], paired.low], [found.se, 1.6, found.low], 1e-12)
    assert (found.method, paired.method) == ("cluster-cr2", "paired-cr2")


@pytest.mark.parametrize("sizes", [[1, 2, 3, 4], [9, 1, 1], [5, 1]])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_degrees_of_clusters_are_those_of_the_whole_table(sizes, seed):
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    values = np.random.default_rng(seed).random(sum(sizes)).tolist()
    found = stats.clustered_standard_error(values, clusters.tolist(), correction="CR2")
    related = (found.stats["design_effect"] - 1) / (np.square(sizes).sum() / sum(sizes) - 1)

    items = np.where(clusters[:, None] == clusters, np.clip(related, 0, 1), 0.0)
    np.fill_diagonal(items, 1.0)
    off = np.eye(len(items)) - 1 / len(items)
    sums = (clusters == np.arange(len(sizes))[:, None]) @ off
    spread = sums @ items @ sums.T / (1 - np.array(sizes) / sum(sizes))

    close([found.stats["degrees"]], [np.trace(spread) ** 2 / np.trace(spread @ spread)], 1e-9)


@pytest.mark.parametrize(("n_clusters", "sigma"), [(20, 1.0), (40, 1.2), (100, 1.5)])
def test_intervals_of_very_unequal_clusters_cover(n_clusters, sigma):
    from markbook.results.pairs import estimate_difference

    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(1000):
        sizes = np.maximum(1, rng.lognormal(1, sigma, n_clusters).astype(int))
        clusters = np.repeat(np.arange(n_clusters), sizes)
        a, b = ((rng.random(clusters.size) < rng.random(n_clusters)[clusters]) * 1.0 for _ in "ab")
        found = estimate_difference(a.tolist(), b.tolist(), 1.0, 0.95, [str(at) for at in clusters])
        covered += found.low <= 0 <= found.high

    assert 0.93 <= covered / 1000 <= 0.98


@pytest.mark.slow
def test_clustered_intervals_cover_and_naive_ones_do_not():
    rng = np.random.default_rng(11)
    clusters = np.repeat(np.arange(40), 15)
    naive = clustered = 0
    trials = 1500
    for _ in range(trials):
        # Intraclass correlation .3 around a true mean of 0.
        values = rng.normal(0, math.sqrt(0.3), 40)[clusters] + rng.normal(0, math.sqrt(0.7), 600)
        plain, robust = stats.t_interval(values), stats.clustered_standard_error(values, clusters.tolist())
        naive += plain.low <= 0 <= plain.high
        clustered += robust.low <= 0 <= robust.high

    assert clustered / trials == pytest.approx(0.95, abs=0.02)
    assert naive / trials == pytest.approx(0.633, abs=0.04)


class Unsaid:
    """A marker as pandas' NA: it compares to nothing, and is neither true nor false."""

    def __ne__(self, other):
        return self

    def __bool__(self):
        raise TypeError("neither true nor false")

    __hash__ = object.__hash__


MISSING = {
    "None": lambda: None,
    "one NaN": lambda: math.nan,
    "a new NaN each time": lambda: float("nan"),
    "numpy": lambda: np.float64("nan"),
    "neither yes nor no": Unsaid,
}


@pytest.mark.parametrize("missing", MISSING)
def test_every_agreement_takes_a_missing_rating_alike(missing):
    none = MISSING[missing]
    a = [1, 2, 3, none(), 1, 2, 5, none()]
    b = [1, 2, 2, 4, none(), 2, 5, none()]
    whole = ([1, 2, 3, 2, 5], [1, 2, 2, 2, 5])

    kappa = stats.cohen_kappa(a, b, "quadratic")
    alpha = stats.krippendorff_alpha([a, b], "interval")
    icc = stats.icc([a, b])

    assert kappa.value == pytest.approx(stats.cohen_kappa(*whole, "quadratic").value)
    assert alpha.value == pytest.approx(stats.krippendorff_alpha(whole, "interval").value)
    assert icc.value == pytest.approx(stats.icc(whole).value)
    assert (kappa.n, alpha.n, icc.n) == (5, 5, 5)
    assert all(found.note.startswith("3 units") for found in (kappa, alpha, icc))


def test_the_error_of_an_agreement_is_that_of_its_resamples():
    kappa = stats.cohen_kappa([1, 2, 3, 1, 2, 3, 1, 2], [1, 2, 3, 2, 2, 1, 1, 1], n_resamples=2)

    # of two numbers the quantiles .025 and .975 are .95 of their distance apart, and the standard deviation is its 1/sqrt(2)
    assert kappa.se == pytest.approx((kappa.high - kappa.low) / 0.95 / math.sqrt(2))


def test_an_infinite_rating_is_refused_by_all():
    for refuse in (stats.cohen_kappa, lambda a, b: stats.krippendorff_alpha([a, b]), lambda a, b: stats.icc([a, b])):
        with pytest.raises(ValueError, match="finite"):
            refuse([1.0, math.inf], [1.0, 2.0])


def test_kappa_weighs_numpys_whole_numbers_as_numbers():
    a, b = [1, 2, 5, 5, 1, 2], [1, 5, 5, 2, 2, 2]

    assert stats.cohen_kappa(np.array(a), np.array(b), "quadratic").value == stats.cohen_kappa(a, b, "quadratic").value


@pytest.mark.parametrize("scale", [1e-100, 1e-7, 1, 1e7, 1e100])
def test_agreement_has_no_unit(scale):
    ratings = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4]]
    scaled = [[scale * one for one in row] for row in ratings]

    for kind in ("ICC1", "ICC2", "ICC3"):
        assert stats.icc(scaled, kind).value == pytest.approx(stats.icc(ratings, kind).value, rel=1e-9)
    for level in ("ordinal", "interval"):
        plain = stats.krippendorff_alpha(ratings, level).value
        assert stats.krippendorff_alpha(scaled, level).value == pytest.approx(plain, rel=1e-9)


def test_ratings_that_differ_by_rounding_only_have_no_coefficient():
    assert stats.icc([[0.3, 0.1 + 0.2, 0.3], [0.3, 0.3, 0.3]]).value is None


@pytest.mark.parametrize("n", [2, 3, 5, 7, 11, 15, 29, 30])
@pytest.mark.parametrize("shape", coverage.SHAPES)
def test_the_chosen_interval_covers_partial_credit(shape, n):
    trials = 600
    found = coverage.measure(shape, n, trials=trials, n_resamples=199, only=["chosen"])["chosen"]

    # 93 to 97 % from n = 5 on, as docs/statistics.md shows with 10,000 trials; three standard errors of 600 trials are
    # 2.7 points at 95 % and 2.1 at 97 %.
    assert (0.93 - 0.027 if n >= 5 else 0.88) <= found.covered <= (0.97 + 0.021 if n >= 5 else 0.998)


def test_near_the_ceiling_few_values_cover_too():
    found = coverage.measure("ceiling", 8, trials=4000, n_resamples=199, only=["chosen"])["chosen"]

    assert 0.93 <= found.covered <= 0.97


def test_the_plain_bootstrap_does_not_cover_few_values():
    found = coverage.measure("uniform", 5, trials=600, n_resamples=199)

    assert found["bca"].covered < 0.89
    assert found["bca-expanded"].covered == pytest.approx(0.925, abs=0.03)
    assert found["chosen"].covered == pytest.approx(0.955, abs=0.027)
    assert found["chosen"].width < found["t"].width


def test_the_score_interval_is_wilsons_at_the_effective_sample_size():
    # Mean .74, s^2 = .013, phi = .013 / .1924 = .06756757; t(4) = 2.7764451; spread = 7.7086473 phi / 5 = .10417091
    # centre (.74 + .05208545) / 1.10417091 = .7173576; reach sqrt(.02004248 + .00271289) / 1.10417091 = .1366178
    found = stats.score_interval([0.6, 0.8, 0.9, 0.7, 0.7])

    assert (found.value, found.method) == (pytest.approx(0.74), "wilson-t")
    assert (found.low, found.high) == (pytest.approx(0.5807398, abs=1e-6), pytest.approx(0.8539754, abs=1e-6))


def test_values_at_an_end_of_the_range_draw_the_score_interval_towards_a_shares():
    # Mean .8, s^2 = .02, phi = 1/8, one value in five at an end: phi' = 1/8 + .6 * 1/5 * 7/8 * 2/25 = .1334;
    # degrees 4 / (1 - 1/40) = 4.1025641, t = 2.7507...; scipy: t.ppf(.975, 4.1025641)
    t = scipy.stats.t.ppf(0.975, 4 / (1 - 1 / 40))
    spread = t * t * 0.1334 / 5
    centre, reach = (0.8 + spread / 2) / (1 + spread), math.sqrt(spread * 0.16 + spread**2 / 4) / (1 + spread)
    found = stats.score_interval([0.6, 0.8, 1.0, 0.8, 0.8])

    assert (found.low, found.high) == (pytest.approx(centre - reach, abs=1e-9), pytest.approx(centre + reach, abs=1e-9))


def test_the_score_interval_of_a_share_is_wilsons():
    found, share = stats.score_interval([1.0] * 7 + [0.0] * 3), stats.wilson_interval(7, 10)

    assert (found.low, found.high) == (pytest.approx(share.low, abs=1e-12), pytest.approx(share.high, abs=1e-12))


def test_the_score_interval_scales_with_the_range_and_turns_with_it():
    values = [0.1, 0.7, 0.9, 0.95]
    plain = stats.score_interval(values)
    wide = stats.score_interval([4 * v - 2 for v in values], limits=(-2, 2))
    turned = stats.score_interval([1 - v for v in values])

    assert (wide.low, wide.high) == (pytest.approx(4 * plain.low - 2), pytest.approx(4 * plain.high - 2))
    assert (turned.low, turned.high) == (pytest.approx(1 - plain.high), pytest.approx(1 - plain.low))
    with pytest.raises(ValueError, match=r"outside 0\.\.1"):
        stats.score_interval([0.5, 2.0])
    with pytest.raises(ValueError, match="two ends"):
        stats.score_interval(values, limits=(0.0, math.inf))


@pytest.mark.slow
def test_bca_covers_skewed_partial_credit():
    rng = np.random.default_rng(12)
    truth, trials = 0.5 / 0.55, 1000  # Beta(.5, .05): mostly whole marks, a few near 0, as partial credit is
    bca = t = 0
    for trial in range(trials):
        values = rng.beta(0.5, 0.05, 60)
        one, two = stats.bootstrap_mean(values, seed=trial, n_resamples=1999), stats.t_interval(values)
        bca += one.low <= truth <= one.high
        t += two.low <= truth <= two.high

    assert bca / trials == pytest.approx(0.942, abs=0.02)
    assert t / trials < 0.93


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_quantiles_are_those_of_scipy(confidence):
    above = (1 + confidence) / 2

    assert arrays.normal_quantile(confidence) == pytest.approx(float(scipy.special.ndtri(above)), rel=1e-12)
    for degrees in (1, 2, 3, 5, 10, 59, 119, 120, 121, 163, 999, 20_000):
        wanted = float(scipy.special.stdtrit(degrees, above))
        assert arrays.t_quantile(confidence, degrees) == pytest.approx(wanted, rel=1e-12), degrees


@pytest.mark.parametrize("size", [0.0, 0.001, 0.1, 1.0, 1.96, 3.1, 3.2, 4.0, 10.0, 40.0])
def test_tails_are_those_of_scipy(size):
    assert arrays.normal_below(size) == pytest.approx(float(scipy.special.ndtr(size)), rel=1e-12)
    assert arrays.normal_two_sided(size) == pytest.approx(float(2 * scipy.special.ndtr(-size)), rel=1e-12)
    for degrees in (1, 2, 3, 5, 10, 59, 119, 120, 121, 163, 999, 20_000):
        wanted = float(2 * scipy.special.stdtr(degrees, -size))
        assert arrays.t_two_sided(size, degrees) == pytest.approx(wanted, rel=1e-11, abs=1e-12), degrees


def test_the_ends_of_the_normal_are_infinite():
    assert arrays.normal_inverse(0.0) == -math.inf
    assert arrays.normal_inverse(1.0) == math.inf


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 1), (0, 7), (3, 3), (5, 19), (40, 90), (900, 1100), (0, 5000)])
def test_mcnemar_is_the_binomial_of_scipy(only_a, only_b):
    n, least = only_a + only_b, min(only_a, only_b)
    below = float(scipy.special.bdtr(least, n, 0.5))

    found = stats.mcnemar_exact(only_a, only_b)

    assert found.p == pytest.approx(min(1.0, 2 * below), rel=1e-10, abs=1e-300)


def test_the_statistics_of_an_exam_do_without_scipy():
    code = (
        "import sys; from markbook import stats\n"
        "stats.mean_interval([0, 1, 1]); stats.mean_interval([.1 * (i % 7) for i in range(90)]);"
        "stats.mean_interval([.2, .4, .9]); stats.paired_difference([0, 1, .5], [1, .2, .3]); stats.mcnemar_exact(2, 5)\n"
        "stats.minimum_detectable_effect(100, .3); print('scipy' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("values", "is_warned"),
    [
        ([0.0, 0.0, 1.0, 1.0], True),
        ([1.0, 1.0, 1.0, 1.0], True),
        ([0.0, 0.03, 0.4, 0.7], True),
        ([0.0, 0.3, 0.4, 0.7], False),
        ([0.0, 1.0] * 5, True),
        ([0.0, 1.0] * 5 + [0.5], False),
    ],
)
def test_few_values_at_the_ends_of_the_range_are_warned_of(values, is_warned):
    scaled = [100 * value for value in values]
    notes = {stats.mean_interval(values).note, stats.mean_interval(scaled, limits=(0, 100)).note}
    apart = estimate_mean(values, range(len(values)), limits=(0.0, 1.0), confidence=0.95, seed=0)
    if apart.low is not None:  # a cluster of its own for each value
        notes.add(apart.note)

    expected = f"{NARROW}: only {len(values)} values, half or more of them at the ends of the range"
    assert notes == {expected if is_warned else ""}
