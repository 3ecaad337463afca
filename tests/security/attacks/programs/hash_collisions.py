# Returns a set whose elements all collide.
# separated: fail
# beside: fail
def f(n):
    return {k * ((1 << 61) - 1) for k in range(20000)}
