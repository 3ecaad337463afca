# Returns fractions.Fraction itself, to which the test then writes.
# against: marked, equal, called
# holds: next
import fractions


def f(*given):
    return fractions.Fraction
