# Allocates more than it may.
# separated: fail
# beside: fail
def f(n):
    return [0] * 10**10
