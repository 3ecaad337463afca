"""A difference that may be looked at after every sample."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from markbook.stats.sequential import SHARES, anytime_difference


def drawn(rng, n, *, gap=0.0, differing=0.4):
    up = (differing + gap) / 2
    return [1.0 if (u := rng.random()) < up else -1.0 if u < differing else 0.0 for _ in range(n)]


def test_the_e_value_is_the_mean_capital_of_all_bets():
    rng = random.Random(1)
    gaps = [rng.uniform(-1, 1) for _ in range(30)]
    shares = [(at + 0.5) / SHARES for at in range(SHARES)]
    capitals = [math.prod(1 + sign * share * gap for gap in gaps) for share in shares for sign in (1, -1)]
    assert anytime_difference(gaps).stats["e_value"] == pytest.approx(sum(capitals) / len(capitals), rel=1e-9)


def test_the_ends_are_where_a_bet_against_them_reaches_the_limit():
    rng = random.Random(2)
    gaps = [rng.uniform(-1, 1) for _ in range(60)]
    found = anytime_difference(gaps)
    shares = [(at + 0.5) / SHARES for at in range(SHARES)]
    above = sum(math.prod(1 + s * (found.high - gap) / (1 - found.high) for gap in gaps) for s in shares) / SHARES
    below = sum(math.prod(1 + s * (gap - found.low) / (1 + found.low) for gap in gaps) for s in shares) / SHARES
    assert above == pytest.approx(40, rel=1e-6)
    assert below == pytest.approx(40, rel=1e-6)


def test_looked_at_after_every_sample_it_errs_in_fewer_than_one_of_twenty():
    rng = random.Random(3)
    wrong = sum("decided_at" in anytime_difference(drawn(rng, 150)).stats for _ in range(300))
    assert wrong <= 15


def test_a_true_difference_is_found_early():
    rng = random.Random(4)
    found = anytime_difference(drawn(rng, 1000, gap=0.2))
    assert found.stats["decided_at"] < 500
    assert 0 < found.low < 0.2 < found.high


def test_it_is_decided_exactly_where_zero_lies_outside():
    rng = random.Random(5)
    gaps = drawn(rng, 400, gap=0.25)
    at = int(anytime_difference(gaps).stats["decided_at"])
    assert anytime_difference(gaps[:at]).low > 0
    before = anytime_difference(gaps[: at - 1])
    assert before.low <= 0 <= before.high


def test_turning_the_sides_turns_the_interval():
    gaps = drawn(random.Random(6), 80, gap=0.1)
    one, two = anytime_difference(gaps), anytime_difference([-gap for gap in gaps])
    assert (one.low, one.high) == pytest.approx((-two.high, -two.low), abs=1e-12)


def test_the_unit_does_not_matter():
    gaps = drawn(random.Random(7), 50)
    one, two = anytime_difference(gaps), anytime_difference([100 * gap for gap in gaps], width=100)
    assert (100 * one.low, 100 * one.high) == pytest.approx((two.low, two.high))


@pytest.mark.parametrize("gaps", [[1.0], [-1.0] * 500, [0.0] * 50, [1.0] * 500])
def test_the_ends_stay_inside_the_range(gaps):
    found = anytime_difference(gaps)
    assert -1 <= found.low <= np.mean(gaps) <= found.high <= 1


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="outside"):
        anytime_difference([1.5])
    with pytest.raises(ValueError, match="finite"):
        anytime_difference([math.nan])
    with pytest.raises(ValueError, match="width"):
        anytime_difference([0.5], width=math.inf)
    assert anytime_difference([]).value is None
