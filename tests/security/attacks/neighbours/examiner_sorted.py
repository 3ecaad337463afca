# Returns a range that takes all memory to sort.
# against: sorts, array
# holds: next
# canonical: with
def f(*given):
    return range(10 ** 11)
