"""The sign-flip test that may be looked at after every sample of a number fixed beforehand."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from markbook.stats import anytime_mean, mcnemar_exact, sequential_sign_test
from markbook.stats.sequential import SequentialSigns


def decided(gaps, planned, **options):
    return sequential_sign_test(gaps, planned, **options).stats.get("decided_at")


@pytest.mark.parametrize("sizes", [[1.0] * 9, [1.0, 0.0, 0.5, 0.25, 0.75, 1 / 3, 1.0, 0.1, 0.9], [0.02] * 9])
def test_over_all_signs_it_decides_in_one_of_twenty_at_most(sizes):
    # Every one of the 2^9 ways in which the differences can be turned is as likely as any other.
    count = sum(
        decided([size * sign for size, sign in zip(sizes, signs, strict=True)], 9) is not None
        for signs in itertools.product((1, -1), repeat=9)
    )
    assert 0.01 < count / 2**9 <= 0.05


def test_the_last_look_takes_what_a_single_one_would_within_what_is_left():
    # 6 of 6 one way: p = 2 / 2^6 = .03125 in one look. By step 6 of 6 the whole .05 may be spent.
    assert mcnemar_exact(6, 0).p == 0.03125
    assert decided([1.0] * 6, 6) == 6
    assert decided([1.0] * 6, 100) is None  # .05 * .06^1.5 = .0007 may be spent by then
    assert decided([1.0] * 5, 5) is None  # 2 / 2^5 = .0625


def test_the_first_step_that_may_decide_is_where_the_spending_reaches_it():
    # n alike from the start: 2 / 2^n must not exceed .05 (n / 100)^1.5. n = 11: .00098 <= .00182; n = 10: .00195 > .00158.
    assert decided([1.0] * 100, 100) == 11


def test_turning_the_sides_decides_at_the_same_sample():
    rng = random.Random(1)
    gaps = [rng.choice((1.0, 1.0, 0.5, 0.0, -1.0)) for _ in range(200)]
    assert decided(gaps, 200) == decided([-gap for gap in gaps], 200)
    assert decided(gaps, 200) == decided([5 * gap for gap in gaps], 200, width=5)


def test_a_sample_without_a_pair_passes_and_counts_as_seen():
    test = SequentialSigns(20)
    found = [test.add(gap) for gap in [None] * 4 + [1.0] * 10]
    # 4 of them gone: 2 / 2^n <= .05 ((n + 4) / 20)^1.5, first at n = 8: .0078 <= .0232; n = 7: .0156 <= .0204, n = 6: .0313 > .0177
    assert test.decided_at == 11
    assert found.index(True) == 10


def test_looked_at_after_every_sample_it_keeps_its_error_and_finds_what_is_there():
    rng = np.random.default_rng(2)

    def runs(gap, count):
        u = rng.random((count, 228))
        return [decided(row, 228) for row in np.where(u < (0.3 + gap) / 2, 1.0, np.where(u < 0.3, -1.0, 0.0))]

    assert sum(at is not None for at in runs(0.0, 60)) <= 7  # 3 expected, 7 is 2.4 standard errors more
    assert sum(at is not None for at in runs(0.1, 40)) >= 20  # 28 expected


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="outside"):
        sequential_sign_test([1.5], 3)
    with pytest.raises(ValueError, match="planned"):
        sequential_sign_test([0.0] * 4, 3)
    with pytest.raises(ValueError, match="positive width"):
        SequentialSigns(0)


def test_a_mean_within_a_range_has_the_interval_of_its_difference_from_the_middle():
    rng = random.Random(3)
    values = [rng.choice((0.0, 1.0, 1.0)) for _ in range(60)]
    one, hundred = anytime_mean(values), anytime_mean([100 * value for value in values], limits=(0, 100))
    assert one.value == pytest.approx(sum(values) / 60)
    assert one.low < one.value < one.high
    assert (100 * one.low, 100 * one.high) == pytest.approx((hundred.low, hundred.high))
    assert anytime_mean([]).value is None
