# Returns functools.partial itself, to which the test then writes.
# against: marked, equal, called
# holds: next
import functools


def f(*given):
    return functools.partial
