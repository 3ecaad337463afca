# Returns collections.OrderedDict itself, to which the test then writes.
# against: marked, equal, called
# holds: next
import collections


def f(*given):
    return collections.OrderedDict
