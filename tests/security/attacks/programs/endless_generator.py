# Returns a generator that never ends.
# separated: fail
# beside: fail
def f(n):
    import itertools
    return (k * k for k in itertools.count())
