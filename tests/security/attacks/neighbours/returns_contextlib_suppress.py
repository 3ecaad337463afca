# Returns contextlib.suppress itself, to which the test then writes.
# against: marked, equal, called
# holds: next
import contextlib


def f(*given):
    return contextlib.suppress
