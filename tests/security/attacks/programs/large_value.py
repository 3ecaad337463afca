# Returns thirty megabytes.
# separated: fail
# beside: fail
def f(n):
    return 'x' * (30 << 20)
