# Returns a number of a million digits.
# separated: fail
# beside: fail
def f(n):
    return 10 ** 10**6
