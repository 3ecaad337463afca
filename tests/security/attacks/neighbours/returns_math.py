# Returns math itself, to which the test then writes.
# against: marked, equal, called
# holds: next
import math


def f(*given):
    return math
