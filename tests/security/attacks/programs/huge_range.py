# Returns a range of a hundred thousand million numbers.
# separated: fail
# beside: fail
def f(n):
    return range(10**11)
