"""Values become a summary that can be read honestly."""

import math

import pytest

from markbook.results.summary import MeasurementTally, summarise_values, worst_end
from markbook.types import Measurement, MissingKind


def test_a_mean_carries_interval_count_and_bounds():
    found = summarise_values([1, 1, 0, 1], n_missing={MissingKind.FAILED: 1})

    assert (found.value, found.n, dict(found.n_missing)) == (0.75, 4, {"failed": 1})
    assert found.interval.method == "wilson"
    # (3 + 0)/5 if the missing one failed, (3 + 1)/5 if it passed
    assert found.bounds == (0.6, 0.8)


def test_exam_counts_absent_as_zero_and_leaves_out_what_failed():
    found = summarise_values(
        [1.0, 0.5], n_missing={MissingKind.ABSENT: 1, MissingKind.FAILED: 1, MissingKind.TIMEOUT: 0}, policy="exam"
    )

    assert (found.value, found.n) == (0.5, 3)
    assert dict(found.n_missing) == {"absent": 1, "failed": 1}
    assert "1 missing counted as 0" in found.note


def test_worst_is_the_top_where_lower_is_better():
    found = summarise_values([0.0, 0.0], direction="lower", n_missing={"failed": 2}, policy="worst")

    assert found.value == 0.5
    assert worst_end((0, 1), "lower") == 1


def test_one_value_has_no_interval_and_the_note_says_so():
    found = summarise_values([0.4])

    assert found.interval is None
    assert "n < 2" in found.note


def test_nothing_scored_has_no_value():
    found = summarise_values([], n_missing={"unavailable": 3})

    assert (found.value, found.interval, found.n) == (None, None, 0)
    assert found.bounds == (0.0, 1.0)


def test_intervals_follow_the_range():
    found = summarise_values([3, 5, 4, 4, 2, 5, 5], range=(1, 5))

    assert found.interval.method == "wilson-t"
    assert 1 <= found.interval.low < 4 < found.interval.high <= 5


def test_partial_credit_in_a_range_has_one_method_at_any_number_of_values():
    values = [0.2, 0.6, 0.9] * 20
    methods = {n: summarise_values(values[:n]).interval.method for n in (2, 5, 30, 59, 60)}

    assert set(methods.values()) == {"wilson-t"}


def test_a_range_without_ends_takes_t_and_then_the_bootstrap():
    values, endless = [2.0, 6.0, 9.0] * 20, (float("-inf"), float("inf"))
    methods = {n: summarise_values(values[:n], range=endless).interval.method for n in (2, 5, 6, 59, 60)}

    assert methods == {2: "t", 5: "t", 6: "bca-expanded", 59: "bca-expanded", 60: "t"}


def test_clusters_widen_the_interval_and_refuse_invented_values():
    values, clusters = [1, 1, 1, 0, 0, 0, 1, 1, 1], list("aaabbbccc")

    found = summarise_values(values, clusters=clusters)

    # p = 2/3, se = sqrt(3/2) sqrt(1 + 4 + 1) / 9 = 1/3, t(2) = 4.303: t would be .67 -+ 1.43. The spread is (4.303/3)^2 / (2/9) = 9.26,
    # so Wilson's ends are (2/3 + 4.63 -+ sqrt(9.26 x 2/9 + 9.26^2/4)) / 10.26.
    assert found.interval.method == "cluster-wilson-t"
    assert found.interval.low == pytest.approx(0.0438, abs=1e-3)
    assert found.interval.high == pytest.approx(0.9887, abs=1e-3)
    with pytest.raises(ValueError, match="exclude"):
        summarise_values(values, clusters=clusters, policy="worst", n_missing={"failed": 1})


def test_an_infinite_range_has_no_worst_value():
    found = summarise_values(
        [3.0, 4.0], range=(0, math.inf), direction="lower", n_missing={"failed": 1}, policy="worst"
    )

    assert (found.value, found.n, found.bounds) == (3.5, 2, None)
    assert "no worst value" in found.note


@pytest.mark.parametrize("bad", [[1.5], [math.nan]])
def test_values_outside_the_range_are_refused(bad):
    with pytest.raises(ValueError, match="outside"):
        summarise_values(bad)


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="policy"):
        summarise_values([1.0], policy="ignore")


def test_unbounded_range_with_nothing_missing_has_the_value_as_both_bounds():
    found = summarise_values([1.0, 3.0], range=(0.0, float("inf")))

    assert found.bounds == (2.0, 2.0)


class Shares:
    """Hits over tries: a metric that is not the mean of its rows."""

    name, range, direction, averages, signature = "shares", (0.0, 1.0), "higher", False, "shares|v1"

    def summarise(self, measurements):
        counts = [one.stats for one in measurements if one.stats]
        return sum(one["hits"] for one in counts) / sum(one["tries"] for one in counts)

    def resample(self, measurements, draws):
        return []


def test_a_row_without_counts_in_front_loses_none_of_those_that_follow():
    tally = MeasurementTally(Shares())
    tally.add([Measurement("shares", 1.0)])
    tally.add(
        [Measurement("shares", hits / tries, stats={"hits": hits, "tries": tries}) for hits, tries in ((1, 4), (2, 4))]
    )

    assert tally.summary().value == 3 / 8  # 1 + 2 hits of 4 + 4 tries


class Lengths:
    """Whole numbers of any size, summed up exactly."""

    name, range, direction, averages, signature = "lengths", (0.0, 1.0), "higher", False, "lengths|v1"

    def summarise(self, measurements):
        return float(sum(one.stats["n"] for one in measurements) % 2)

    def resample(self, measurements, draws):
        return []


@pytest.mark.parametrize("others", [(3, 5), (3, 2.5)])
def test_whole_numbers_beyond_2_to_the_53rd_keep_their_last_digit(others):
    large = (1 << 53) + 1  # the first whole number that a double does not hold
    tally = MeasurementTally(Lengths())
    tally.add([Measurement("lengths", 0.0, stats={"n": n}) for n in (*others, large)])

    assert tally.summary().value == float((sum(others) + large) % 2)
