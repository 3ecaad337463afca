# Returns decimal.Decimal itself, to which the test then writes.
# against: marked, equal, called
# holds: next
import decimal


def f(*given):
    return decimal.Decimal
