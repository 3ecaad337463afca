# Returns json itself, to which the test then writes.
# against: marked, equal, called
# holds: next
import json


def f(*given):
    return json
