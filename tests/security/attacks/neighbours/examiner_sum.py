# Returns a range that takes for ever to add up.
# against: length
# holds: next
# canonical: with
def f(*given):
    return range(10 ** 18)
