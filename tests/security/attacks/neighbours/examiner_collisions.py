# Answers with a set of numbers all of which have the same hash.
# against: subset, equal
# holds: next
# canonical: with
def f(*given):
    return {k * ((1 << 61) - 1) for k in range(1000)} | {0}


def g():
    pass
