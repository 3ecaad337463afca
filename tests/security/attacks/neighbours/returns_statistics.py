# Returns statistics itself, to which the test then writes.
# against: marked, equal, called
# holds: next
import statistics


def f(*given):
    return statistics
