# Returns numbers so large that writing or dividing them takes for ever.
# against: printed, ordered, summed, assertions
# holds: next
# canonical: with
from decimal import Decimal
from fractions import Fraction

_all = [1 << 30_000_000, Decimal('1e999999999'), Fraction(1 << 2_000_000, (1 << 1_999_999) + 1)]


def f(*given):
    _all.append(_all.pop(0))
    return _all[0]
